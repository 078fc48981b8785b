"""`--bind-defaults`: every free size is bound, to the least at which the model runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest

from graphfix import api
from graphfix.api import default_sizes
from graphfix.api.default_sizes import ALONE, LADDER, POWERS
from graphfix.checker.runs.sizes import least_sizes
from graphfix.results import GraphfixError
from models.builders.tflite.text import model as tflite
from tests.support import engine
from tests.support.notation import model
from tests.support.places import ROOT

POOLED = "stride_h=2, stride_w=2, filter_height=3, filter_width=3, padding=VALID"
CASES = {
    "a batch is 1": ("y[N,3] = Neg(x[N,3])", ["x is [1,3]"]),
    "a sequence is 1": ("y[N,S,3] = Neg(x[N,S,3])", ["x is [1,1,3]"]),
    "one symbol is one size": ("y[N,S] = Add(x[N,S], m[M,S])", ["x is [1,1]", "m is [1,1]"]),
    "a window": ("y[*] = Conv(x[N,1,H,W], w:const[1,1,5,5])", ["x is [1,1,5,5]"]),
    "a window of one axis": ("y[*] = Conv(x[N,1,H,W], w:const[1,1,1,6])", ["x is [1,1,1,6]"]),
    "a multiple": ("y[*] = Reshape(x[N,S], s:const:int64[3]{0,6,-1})", ["x is [1,6]"]),
    "a sum": (
        "t[*] = Concat(past[N,P,4], new[N,S,4], axis=1)\ny[*] = Concat(t, mask[N,T,4], axis=2)",
        ["past is [1,1,4]", "new is [1,1,4]", "mask is [1,2,4]"],
    ),
    "TFLite's stored sizes": ("y[?,?,3] = NEG(x[?,?,3])", ["x is [1,1,3]"]),
    "TFLite: stored sizes that do not run": (f"y[?,?,?,3] = MAX_POOL_2D(x[?,?,?,3], {POOLED})", ["x is [1,3,3,3]"]),
}


def written(text: str, folder: Path) -> Path:
    op = text.split("= ", 2)[1].partition("(")[0]
    path = folder / ("m.tflite" if op.isupper() else "m.onnx")
    path.write_bytes(tflite(text) if op.isupper() else model(text).SerializeToString())
    return path


def bound(path: Path, **options: object) -> list[str]:
    outcome = api.check(path, bind_defaults=True, **options)  # type: ignore[arg-type]  # the test's own keywords
    return [line.removesuffix(", by default") for line in outcome.assumes if line.endswith(", by default")]


@pytest.mark.parametrize("case", CASES)
def test_the_least_size_that_runs_is_bound_and_reported(tmp_path: Path, case: str) -> None:
    text, expected = CASES[case]
    path = written(text, tmp_path)
    assert bound(path) == expected
    assert bound(path) == expected  # the same again


@pytest.mark.ci
def test_one_size_may_be_larger_than_the_others(tmp_path: Path) -> None:
    text = "y[*] = Conv(x[N,1,L], w:const[1,1,90])\nz[2,4] = Squeeze(v[2,K,4], a:const:int64[1]{1})"
    assert bound(written(text, tmp_path)) == ["x is [1,1,96]", "v is [2,1,4]"]


@pytest.mark.ci
def test_first_axes_take_part_where_nothing_else_runs(tmp_path: Path) -> None:
    text = "t[*] = Reshape(x[L], s:const:int64[3]{1,1,-1})\ny[*] = Conv(t, w:const[1,1,30])"
    assert bound(written(text, tmp_path), target="tosa") == ["x is [32]"]


def test_what_was_asked_for_stays(tmp_path: Path) -> None:
    path = written("y[*] = Conv(x[N,1,H,W], w:const[1,1,5,5])", tmp_path)
    assert bound(path, dims={"H": 9, "N": 2}) == ["x is [2,1,9,5]"]
    assert bound(path, shapes={"x": (2, 1, 9, 9)}) == []


def test_a_value_decides_too(tmp_path: Path) -> None:
    path = written("t[*] = Reshape(x[N,S], s:int64[2])\ny[*] = Add(t, b:const[4])", tmp_path)
    assert bound(path, values={"s": (-1, 4)}) == ["x is [1,4]"]


def test_sizes_that_run_and_that_tosa_can_not_have_are_passed_over(tmp_path: Path) -> None:
    """A window that is larger than its image is run by onnxruntime."""
    path = written("y[*] = MaxPool(x[N,1,H,8], kernel_shape=[2,2], strides=[2,2])", tmp_path)
    assert bound(path) == ["x is [1,1,2,8]"]


def test_where_no_runtime_loads_the_model_the_shape_rules_decide(tmp_path: Path) -> None:
    text = "t[*] = Conv(x[N,1,L], w:const[1,1,7])\ny[*] = odd.Thing(t)"
    proto = model(text)
    proto.opset_import.append(onnx.helper.make_opsetid("odd", 1))
    path = tmp_path / "m.onnx"
    onnx.save(proto, path)
    assert bound(path) == ["x is [1,1,7]"]


@pytest.mark.ci
def test_where_nothing_runs_the_rest_stays_free_and_the_error_says_so(tmp_path: Path) -> None:
    text = "y[*] = Reshape(x[N,S], s:const:int64[1]{7919})"
    path = written(text, tmp_path)
    assert bound(path) == ["x is [1,S]"]
    with pytest.raises(GraphfixError, match="--bind-defaults found none at which the model runs"):
        api.fix_file(path, tmp_path / "o.onnx", target="tosa", bind_defaults=True)


@pytest.mark.ci
@pytest.mark.parametrize("target", ["explicit", "tosa"])
def test_a_model_that_runs_at_size_0_alone_has_no_default(target: str, tmp_path: Path) -> None:
    path = written("y[*] = Reshape(x[N,4], s:const:int64[2]{0,4}, allowzero=1)", tmp_path)
    with pytest.raises(GraphfixError, match=r"4 elements do not fill .* give other sizes: x.N,4. .--shape or --dim."):
        api.fix_file(path, tmp_path / "o.onnx", target=target, bind_defaults=True)


def test_an_unknown_rank_stays_unknown(tmp_path: Path) -> None:
    path = written("y[*] = Add(x[N,S], k[*])", tmp_path)
    assert bound(path) == ["x is [1,S]"]


@pytest.mark.ci
def test_an_input_that_an_old_tflite_file_stores_as_a_scalar_is_one(tmp_path: Path) -> None:
    """Old converters write no has_rank, so the scalar looks like a tensor of unknown rank."""
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite("y[N,3] = MUL(x[N,3], m[])", has_rank=False))
    assert bound(path) == ["x is [1,3]", "m is []"]
    with pytest.raises(GraphfixError, match=r"bind: --shape x=1,3 --shape m= \(or"):
        api.fix_file(path, tmp_path / "o.tflite", target="tosa")
    outcome = api.fix_file(path, tmp_path / "o.tflite", target="tosa", bind_defaults=True)
    assert (outcome.sites_left, outcome.rewrites["equalize-ranks"]) == (0, 1)
    assert [str(value) for value in engine.load(tmp_path / "o.tflite").graphs[0].inputs] == ["x[1,3]", "m[]"]


@pytest.mark.ci
def test_the_result_is_fixed_and_proved_at_these_sizes(tmp_path: Path) -> None:
    path = written("t[*] = Conv(x[N,1,H,W], w:const[1,1,5,5])\ny[*] = Add(t, b:const[3])", tmp_path)
    outcome = api.fix_file(path, tmp_path / "o.onnx", target="tosa", bind_defaults=True)
    assert "x is [1,1,5,5], by default" in outcome.assumes
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"


@pytest.mark.ci
@pytest.mark.parametrize("name", ["swin_free_dynamo.onnx", "gpt2_past_legacy.onnx", "keyword_spotting_free.tflite"])
def test_exported_models_bind(name: str) -> None:
    path = ROOT / "models" / "exported" / name
    found = bound(path, target="tosa")
    assert found
    assert not any(letter in line.split(" is ")[1] for line in found for letter in "?*abcdefghijklmnopqrstuvwxyz")


@pytest.mark.ci
def test_a_proof_says_by_default_of_sizes_that_nobody_asked_for_and_nothing_of_static_ones(tmp_path: Path) -> None:
    path = written("y[*] = Add(x[N,3], b[2,1,1])", tmp_path)
    verdict = api.fix_file(path, tmp_path / "o.onnx", bind_defaults=True).verdict
    assert verdict is not None
    assert verdict.proof is not None
    assert [text for text in verdict.assumes if text.startswith(("x ", "b "))] == ["x is [1, 3], by default"]
    assert [text for text in verdict.proof["assumes"] if "as asked for" in text] == []


@pytest.mark.ci
def test_sizes_that_are_asked_for_are_told_as_such(tmp_path: Path) -> None:
    path = written("y[*] = Add(x[N,3], b[2,1,1])", tmp_path)
    verdict = api.fix_file(path, tmp_path / "o.onnx", shapes={"x": (5, 3)}).verdict
    assert verdict is not None
    assert "x is [5, 3], as asked for" in verdict.assumes


# --- without a runtime ------------------------------------------------------------------------------------------------


def candidates(labels: Mapping[str, Sequence[object]], known: Mapping[object, int]) -> list[tuple[object, object]]:
    """The sizes that are tried, each as the values of a and b, and so those that are tried below them."""

    def shown(sizes: Mapping[object, int]) -> tuple[int | None, ...]:
        assert sizes.get("N", 1) == known.get("N", 1) or sizes["a"] == sizes["N"]
        return tuple(sizes.get(name) for name in ("a", "b"))

    search = default_sizes._Search(lambda: pytest.fail("nothing is loaded"), labels, dict(known))
    return [(shown(sizes), [shown(each) for each in lower]) for sizes, lower in search._candidates()]


def test_sizes_are_tried_together_then_as_a_sum_then_alone_and_then_with_the_first_axes() -> None:
    found = candidates({"x": ["N", "a", 3], "y": ["N", "b"], "z": []}, {"N": 1})
    powers = [((size, size), [(less, less) for less in LADDER if size // 2 < less < size]) for size in POWERS]
    sums = [(2, 1), (1, 2), (4, 2), (3, 2), (2, 4), (2, 3)]
    others = [(size, size) for size in LADDER if size not in POWERS]
    alone = [*((size, 1) for size in ALONE), *((1, size) for size in ALONE)]
    assert found[: len(powers)] == powers
    rest = [*sums, *others, *alone, *((size, size) for size in POWERS)]
    assert found[len(powers) :] == [(sizes, []) for sizes in rest]


@pytest.mark.parametrize(
    ("labels", "known", "first", "count"),
    [
        ({"x": [3, "a"]}, {}, (1, None), len(LADDER)),
        ({"x": ["N", "a"]}, {"N": 1}, (1, None), len(LADDER) + len(POWERS)),
        ({"x": ["N", "a"]}, {"N": 1, "a": 7}, (7, None), 1 + len(LADDER) + len(POWERS)),
        ({"x": ["N"]}, {"N": 5}, (None, None), 1 + len(POWERS)),
        ({"x": [3]}, {}, (None, None), 1),
    ],
    ids=["one", "one behind a batch", "stored", "a batch alone", "none"],
)
def test_what_is_tried_where_one_size_is_free_or_none(
    labels: Mapping[str, Sequence[object]], known: Mapping[object, int], first: tuple[object, object], count: int
) -> None:
    found = default_sizes._Search(lambda: pytest.fail("nothing is loaded"), labels, dict(known))._candidates()
    tried = [sizes for sizes, _ in found]
    assert tuple(tried[0].get(name) for name in ("a", "b")) == first
    assert len(tried) == count


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], str] | None], list[int]]:
    """Puts a function of the last size in place of the runtime (None: it loads nothing); lists what it is asked."""

    def replaced(takes: Callable[[int], str] | None) -> list[int]:
        sizes: list[int] = []

        def answer(shapes: Mapping[str, Sequence[int]]) -> str:
            sizes.append(shapes["x"][-1])
            assert takes is not None
            return takes(sizes[-1])

        @contextmanager
        def running(*_: object) -> Iterator[Any]:
            yield None if takes is None else SimpleNamespace(takes=answer)

        monkeypatch.setattr(least_sizes, "running", running)
        return sizes

    return replaced


@pytest.mark.parametrize(
    ("takes", "size"),
    [
        (lambda size: "yes" if size >= 5 else "no", "5"),
        (lambda size: "yes" if size == 3 else "no", "3"),
        (lambda _: "NaN", "1"),
        (lambda size: "NaN" if size < 64 else "yes", "64"),
        (lambda size: "NaN" if size != 9 else "yes", "1"),
        (lambda size: "no" if size == 1 else "yes" if size == 9 else "NaN", "2"),
        (lambda size: "no" if size == 1 else "yes" if size == 3 else "NaN", "3"),
        (lambda size: "no" if size == 1 else "yes" if size == 5 else "NaN", "2"),
        (lambda _: "no", "S"),
    ],
    ids=["least", "odd", "NaN", "seventh", "eighth", "far", "seventh behind one", "eighth behind one", "never"],
)
def test_the_first_size_that_is_taken_is_bound_and_one_of_nan_where_the_next_few_are_no_better(
    tmp_path: Path,
    asked: Callable[[Callable[[int], str] | None], list[int]],
    takes: Callable[[int], str],
    size: str,
) -> None:
    asked(takes)
    assert bound(written("y[N,S] = Neg(x[N,S])", tmp_path)) == [f"x is [1,{size}]"]


def test_no_more_is_asked_when_seven_sizes_gave_nan(
    tmp_path: Path, asked: Callable[[Callable[[int], str] | None], list[int]]
) -> None:
    sizes = asked(lambda _: "NaN")
    bound(written("y[N,S] = Neg(x[N,S])", tmp_path))
    assert list(dict.fromkeys(sizes)) == list(POWERS)


@pytest.mark.parametrize(
    ("text", "has_rank", "target", "expected"),
    [
        ("y[N,3] = MUL(x[N,3], m[])", False, "explicit", ["x is [1,3]", "m is []"]),
        ("y[?,?,3] = MUL(x[?,?,3], m[])", False, "explicit", ["x is [1,1,3]", "m is []"]),
        ("y[?,?,?,3] = MAX_POOL_2D(x[?,?,?,3], " + POOLED + ")", True, "tosa", ["x is [1,3,3,3]"]),
        (
            "t[*] = Reshape(x[L], s:const:int64[3]{1,1,-1})\ny[*] = Conv(t, w:const[1,1,30])",
            True,
            "tosa",
            ["x is [32]"],
        ),
        ("y[N,S] = Add(x[N,S], k[*])", True, "explicit", ["x is [1,S]"]),
    ],
    ids=["a scalar", "a scalar and a free size", "stored sizes", "first axes", "an unknown rank"],
)
def test_where_nothing_is_loaded_the_shape_rules_decide(
    tmp_path: Path,
    asked: Callable[[Callable[[int], str] | None], list[int]],
    text: str,
    has_rank: bool,
    target: str,
    expected: list[str],
) -> None:
    asked(None)
    path = written(text, tmp_path)
    if not has_rank:
        path.write_bytes(tflite(text, has_rank=False))
    assert bound(path, target=target) == expected
