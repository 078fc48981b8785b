"""The law of `fix`, over models and targets: its status is that of `check` of the output, and a second run copies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx
import pytest

from graphfix import api
from graphfix.results import GraphfixError
from models.builders.tflite.text import model as tflite
from tests.support.fuzz.onnx import graphs as onnx_graphs
from tests.support.fuzz.tflite import graphs as tflite_graphs
from tests.support.law import NONE, TARGETS, Options, violations
from tests.support.onnx.backend_cases import all_cases
from tests.support.places import MODELS, committed_models, model_id, zoo_models
from tests.support.tiers import by_model

FEW = ("explicit", "tosa")
"""The targets of the smaller tiers: one that stretches, and the one with the most rewrites."""
INCOMPATIBLE = frozenset(
    "rfc/incompatible.onnx rfc/incompatible.tflite rfc/incompatible_both.onnx rfc/incompatible_both.tflite"
    " trait/bad_operands.onnx trait/three_incompatible.onnx".split()
)
"""The committed models whose shapes do not broadcast: `fix` refuses them."""
CI, FULL = pytest.mark.ci, pytest.mark.full

ONCE_BROKEN = {
    "a stretch of unknown rank to the run-time shape of another value": """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[N] x, bool c, float[M,1] b) => (float[] y) <int64[1] ax = {0}> {
           r = If (c) <else_branch: graph = e () => (float[] e) { e = Identity (x) },
                       then_branch: graph = t () => (float[] t) { t = Unsqueeze (x, ax) }>
           y = Add (r, b)
        }
    """,
    "a Tile is the stretch of operator set 7": """
        <ir_version: 8, opset_import: ["" : 7]>
        g (float[6] a, float[2,3,6] b) => (float[2,3,6] y) { y = Add (a, b) }
    """,
    "a Constant node that holds numbers in other attributes": """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[N,4] a) => (float[N,4] y) {
           k = Constant <value_float: float = 2> ()
           kk = Constant <value_ints: ints = [1, 2, 3, 4]> ()
           kc = Cast <to: int = 1> (kk)
           t = Mul (a, k)
           y = Add (t, kc)
        }
    """,
    "a stretch that reads a stretch whose shape this run restates": """
        <ir_version: 7, opset_import: ["" : 11]>
        g (float[3,3,1] x, bool[3,1] k) => (bool[3,3,2] y) <int64[3] to = {1,1,2}, int64[2] same = {3,1}> {
           a = Expand (x, same)
           s = Shape (a)
           b = Expand (k, s)
           y = Expand (b, to)
        }
    """,
    "a shape of more axes than elements of a vector are followed": f"""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[{"1," * 64}3] x, float[K] k) => (float[] y) {{ y = Add (x, k) }}
    """,
    "an Expand whose result is an output does nothing once its operand is lifted": """
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[3,2] x) => (float[1,3,2] y) <int64[3] to = {1,3,2}> { y = Expand (x, to) }
    """,
}


def broken(
    models: Iterable[tuple[str, Path]], targets: Iterable[str], folder: Path, choices: Options = NONE
) -> list[str]:
    """Return all violations; at least one model and target must have been tried."""
    chosen, tried, found = tuple(targets), 0, list[str]()
    for name, path in models:
        for target in chosen:
            lines = violations(path, target, folder, choices)
            tried += lines is not None
            found += [f"{name}: {line}" for line in lines or ()]
    assert tried
    return found


@pytest.mark.parametrize("what", ONCE_BROKEN)
def test_models_that_once_broke_the_law(what: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(onnx.parser.parse_model(ONCE_BROKEN[what]).SerializeToString())
    assert broken([(what, path)], TARGETS, tmp_path) == []


@pytest.mark.ci
def test_a_shape_that_default_sizes_decide_is_known_to_the_rewrites_that_follow(tmp_path: Path) -> None:
    path = MODELS / "explicit" / "run_time_form.tflite"
    assert broken([(path.name, path)], TARGETS, tmp_path) == []


STRETCHED = (
    "g (float[2,3] x) => (float[2,3] y) <float[1,3] c = {1,2,3}> { y = Add (x, c) }",
    """g (float[2,3] x, bool b, float[3] u) => (float[2,3] y) <int64[1] ax = {0}> {
       r = If (b) <else_branch: graph = e () => (float[] e) { e = Identity (u) },
                   then_branch: graph = t () => (float[] t) { t = Unsqueeze (u, ax) }>
       y = Add (x, r)
    }""",
    "g (float[2,M] x, float[2,N] u) => (float[2,K] y) <float[2,2] c = {1,2,3,4}> { y = Gemm (c, x, u) }",
)
"""A constant, a value of unknown rank to a known shape, and a value to a shape that a Concat makes of numbers too."""
OF_CONSTANTS = ("fold-shape-arithmetic", "concat-constant-operands")
FOLDED_AND_STRETCHED = {"only": [*OF_CONSTANTS, "equalize-ranks", "materialize-broadcasts"]}


@pytest.mark.parametrize(
    ("target", "choices"), [("tosa", {"broadcasts": "explicit"}), ("explicit", FOLDED_AND_STRETCHED)], ids=str
)
def test_known_results_become_constants_and_constants_are_stretched(
    target: str, choices: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    for text in STRETCHED:
        made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {text}')
        path.write_bytes(made.SerializeToString())
        assert violations(path, target, tmp_path, choices) == []


def test_the_reshape_of_a_known_output_is_a_constant(tmp_path: Path) -> None:
    """The GATHER stays, because its result is an output of the graph."""
    path = tmp_path / "m.tflite"
    text = """g:int32[2,3] = GATHER(k:const:int32[1,2,3]{1,2,3,4,5,6}, first:const:int32[]{0})
        y:int32[1,2,3] = ADD(x:int32[1,2,3], g)"""
    path.write_bytes(tflite(text, outputs=("g", "y")))
    assert violations(path, "tosa", tmp_path) == []


def test_a_concatenation_that_keeps_one_constant_is_a_constant(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    text = """s:int32[0] = SHAPE(x[])
        c:int32[1] = CONCATENATION(s, k:const:int32[1]{2}, axis=0)
        y:int32[2] = ADD(c, z:int32[2])"""
    path.write_bytes(tflite(text, outputs=("y",)))
    assert violations(path, "tosa", tmp_path) == []


def test_known_results_of_an_inlined_branch_are_constants(tmp_path: Path) -> None:
    """The random model has a SHAPE, two GATHER and a CONCATENATION of a constant in the branch of an IF."""
    assert broken(_random(".tflite", [611], tmp_path), ["tosa"], tmp_path) == []


@pytest.mark.ci
def test_known_results_of_a_model_that_litert_refuses_are_counted(tmp_path: Path) -> None:
    """LiteRT refuses a SELECT of the random model at the default sizes, and runs the SELECT_V2 in its place."""
    assert broken(_random(".tflite", [763], tmp_path), ["tosa"], tmp_path) == []


def test_an_operator_that_takes_the_place_of_another_is_stretched_as_itself(tmp_path: Path) -> None:
    path = MODELS / "operators" / "select_scalar.tflite"
    choices = {"only": ["select-v1-to-v2", "equalize-ranks", "materialize-broadcasts"]}
    assert violations(path, "explicit", tmp_path, choices) == []


def test_what_only_a_binding_decides_is_left_also_where_it_is_an_error(tmp_path: Path) -> None:
    path, fixed = tmp_path / "m.onnx", tmp_path / "fixed.onnx"
    made = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N,4] x, float[M,4] z) => (float[K,4] y) { y = Add (x, z) }'
    )
    path.write_bytes(made.SerializeToString())
    outcome = api.fix_file(path, fixed, same=[("N", "M")], unknown="error", check_result=False)
    assert outcome.sites_left == 2
    assert outcome.check_options == ("--unknown", "keep")


def test_rewrites_that_undo_each_other_are_refused(tmp_path: Path) -> None:
    for choices in (
        {"only": ["fold-broadcasts", "equalize-ranks"]},
        {"only": ["fold-broadcasts", "materialize-broadcasts"]},
    ):
        with pytest.raises(GraphfixError, match="fold-broadcasts takes out what"):
            api.fix_file(MODELS / "matmul.onnx", tmp_path / "fixed.onnx", **choices)
    both = {"only": ["fold-broadcasts", "materialize-broadcasts"], "broadcasts": "keep"}
    assert violations(MODELS / "matmul.onnx", "explicit", tmp_path, both) == []


@pytest.mark.alike(3)
@pytest.mark.parametrize("path", by_model(committed_models()))
def test_a_committed_model(path: Path, tmp_path: Path) -> None:
    if model_id(path) in INCOMPATIBLE:
        assert violations(path, "explicit", tmp_path) is None
        return
    assert broken([(path.name, path)], FEW, tmp_path) == []


@pytest.mark.full
@pytest.mark.parametrize("target", [target for target in TARGETS if target not in FEW])
def test_all_committed_models_for_the_other_targets(target: str, tmp_path: Path) -> None:
    assert broken([(path.name, path) for path in committed_models()], [target], tmp_path) == []


@pytest.mark.parametrize("targets", [pytest.param(FEW[:1], marks=CI), pytest.param(TARGETS[1:], marks=FULL)], ids=str)
@pytest.mark.parametrize("path", [*zoo_models("onnx"), *zoo_models("tflite")])
def test_a_real_model(path: Path, targets: tuple[str, ...], tmp_path: Path) -> None:
    assert broken([(path.name, path)], targets, tmp_path) == []


@pytest.mark.parametrize(
    ("every", "targets"),
    [pytest.param(40, FEW, marks=CI), pytest.param(1, TARGETS, marks=FULL)],
    ids=str,
)
def test_the_backend_suite(every: int, targets: tuple[str, ...], tmp_path: Path) -> None:
    assert broken(_backend(every, tmp_path), targets, tmp_path) == []


SEEDS = [
    pytest.param(range(6), marks=CI),
    pytest.param(range(6, 1000), marks=FULL),
]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_random_models(suffix: str, seeds: range, tmp_path: Path) -> None:
    assert broken(_random(suffix, seeds, tmp_path), TARGETS, tmp_path) == []


@pytest.mark.parametrize(
    ("name", "choices", "bindings"),
    [
        ("rfc/dynamic_2d_symbols.onnx", {}, {"same": [("N", "Q")]}),
        ("rfc/dynamic_2d_symbols.onnx", {}, {"dims": {"N": (2, 64)}}),
        ("rfc/dynamic_2d_symbols.onnx", {"unknown": "keep"}, {"same": [("N", "Q")]}),
        ("rfc/dynamic_2d_symbols.onnx", {"unknown": "assume"}, {}),
        ("rfc/dynamic_2d_symbols.onnx", {"broadcasts": "two-sided"}, {"dims": {"N": 4}}),
        ("matmul.onnx", {"only": ["materialize-broadcasts"]}, {}),
        ("matmul.onnx", {"skip": ["materialize-broadcasts"]}, {}),
        ("rfc/crossed_dynamic.tflite", {"unknown": "keep"}, {}),
        ("rfc/crossed_dynamic.tflite", {}, {"same": [("x0[0]", "x1[0]")]}),
        ("constants/shared.tflite", {"max_expand_bytes": 0}, {}),
        ("constants/shared.tflite", {"skip": ["equalize-ranks"]}, {}),
        ("constants/shared.tflite", {"max_expand_bytes": 8, "broadcasts": "two-sided"}, {}),
    ],
    ids=str,
)
def test_choices_are_repeated_and_bindings_are_not(
    name: str, choices: dict[str, object], bindings: dict[str, object], tmp_path: Path
) -> None:
    assert violations(MODELS / name, "explicit", tmp_path, choices, bindings) == []


CHOSEN_REWRITES = (
    {"skip": ["equalize-ranks"]},
    {"only": ["materialize-broadcasts"]},
    {"skip": ["equalize-ranks"], "broadcasts": "two-sided"},
    {"skip": ["equalize-ranks"], "unknown": "assume"},
    {"skip": ["materialize-broadcasts"]},
    {"only": ["normalize-expand"]},
    {"skip": ["normalize-expand"]},
)


@pytest.mark.parametrize("choices", CHOSEN_REWRITES, ids=str)
def test_some_of_the_rewrites_run(choices: dict[str, object], tmp_path: Path) -> None:
    """Each of these models broke the law, or was a crash, where equalize-ranks did not run."""
    for name in (
        "explicit/expand_forms.onnx",
        "exported/cross_features_free.tflite",
        "legacy/opset_7.onnx",
        "rfc_rank_expansion.onnx",
        "shapes/rank_6.tflite",
        "bodies/while_int16.tflite",
        "constants/shared_buffer.tflite",
    ):
        assert violations(MODELS / name, "explicit", tmp_path, choices) == []


@pytest.mark.parametrize("share", [pytest.param(len(CHOSEN_REWRITES), marks=CI), pytest.param(1, marks=FULL)])
@pytest.mark.parametrize("choices", CHOSEN_REWRITES, ids=str)
def test_some_of_the_rewrites_run_on_all_committed_models(
    choices: dict[str, object], share: int, tmp_path: Path
) -> None:
    """CI asks each model for one choice, in turn."""
    first = CHOSEN_REWRITES.index(choices) % share
    models = [path for path in committed_models() if model_id(path) not in INCOMPATIBLE][first::share]
    assert broken([(path.name, path) for path in models], FEW[:1], tmp_path, choices) == []


@pytest.mark.parametrize("choices", CHOSEN_REWRITES, ids=str)
@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_some_of_the_rewrites_run_on_random_models(suffix: str, choices: dict[str, object], tmp_path: Path) -> None:
    assert broken(_random(suffix, range(5), tmp_path), FEW[:1], tmp_path, choices) == []


def test_the_law_is_seen_to_be_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = MODELS / "rfc" / "dynamic_2d_symbols.onnx"
    assert violations(path, "ranks", tmp_path) == []
    monkeypatch.setattr("graphfix.api.pipeline._sites_left", lambda *_: 1)
    lines = violations(path, "ranks", tmp_path)
    assert lines is not None
    assert [line.partition(": ")[2].partition(",")[0] for line in lines] == [
        "fix ends with 4",
        "fix counts 1 sites left",
    ]


def _backend(every: int, folder: Path) -> Iterator[tuple[str, Path]]:
    path = folder / "m.onnx"
    for case in all_cases()[::every]:
        path.write_bytes(case.model.SerializeToString())
        yield case.name, path


def _random(suffix: str, seeds: Iterable[int], folder: Path) -> Iterator[tuple[str, Path]]:
    path = folder / f"m{suffix}"
    for seed in seeds:
        is_onnx = suffix == ".onnx"
        path.write_bytes(
            onnx_graphs.draft(seed).model.SerializeToString() if is_onnx else tflite_graphs.draft(seed).file()
        )
        yield f"seed {seed}", path
