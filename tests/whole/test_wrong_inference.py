"""`fix` beside sizes that onnx infers wrongly at load: sites are left with the reason, and the result runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

import graphfix
from graphfix.cli.commands import main
from graphfix.runtimes.onnx import shape_inference
from tests.support.onnx.meeting import KINDS, PLACES, feeds_of, meeting, run

FAILING = [name for name in KINDS if name not in ("transposed-shape", "unsqueeze")]
"""The others have as many elements as is inferred: any buffer fits."""
TARGETS = ("explicit", "ranks", "tosa", "compact")
PLACED = [(name, place) for name in FAILING for place in PLACES]


def results(model: bytes, name: str, place: str = "main") -> list[bytes]:
    """Return the bits of all results, which must be the same with and without optimizations."""
    found = [run(model, feeds_of(KINDS[name], place), optimized=optimized) for optimized in (False, True)]
    assert not any(isinstance(each, str) for each in found), found
    plain, optimized = ([np.asarray(value).tobytes() for value in each] for each in found)
    assert plain == optimized
    return plain


def fixed(model: onnx.ModelProto, folder: Path, **options: object) -> tuple[graphfix.Outcome, bytes]:
    """Return the outcome and the output of `fix` without its verification."""
    onnx.save(model, folder / "in.onnx")
    outcome = graphfix.fix_file(folder / "in.onnx", folder / "out.onnx", check_result=False, **options)  # type: ignore[arg-type]
    return outcome, (folder / "out.onnx").read_bytes()


def reasons(outcome: graphfix.Outcome) -> list[str]:
    """Return the reasons of the sites that are left because of the inference at load."""
    left = [site.reason or "" for site in outcome.sites if site.status == "left"]
    return [reason for reason in left if "inference at load takes" in reason]


@pytest.mark.parametrize(("name", "place"), PLACED)
def test_the_explicit_form_would_fail(name: str, place: str) -> None:
    before, after = (
        run(meeting(KINDS[name], place=place, expands=expands).SerializeToString(), feeds_of(KINDS[name], place))
        for expands in (False, True)
    )
    assert not isinstance(before, str)
    assert "re-use buffer" in str(after)


@pytest.mark.alike(3)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", KINDS)
def test_the_site_is_left_with_the_reason(name: str, place: str, tmp_path: Path) -> None:
    model = meeting(KINDS[name], place=place)
    outcome, output = fixed(model, tmp_path)
    assert outcome.sites_left
    if name != "slope":  # its broadcast has no explicit form, and the ranks behind it are not known
        assert reasons(outcome)
    assert results(output, name, place) == results(model.SerializeToString(), name, place)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["max-pool", "padded-pool", "transposed", "range", "resize", "upsample"])
def test_beside_another_shape_the_broadcast_is_made_explicit(name: str, place: str, tmp_path: Path) -> None:
    model = meeting(KINDS[name], place=place, shape=(7,))
    outcome, output = fixed(model, tmp_path)
    assert not reasons(outcome)
    assert outcome.sites_left == 0
    ran = run(output, feeds_of(KINDS[name], place, (7,)))
    assert not isinstance(ran, str)
    assert ran[0].shape == (7,)


@pytest.mark.ci
@pytest.mark.parametrize("name", KINDS)
def test_the_command_writes_a_result_that_runs(name: str, tmp_path: Path) -> None:
    target = TARGETS[list(KINDS).index(name) % len(TARGETS)]
    model = meeting(KINDS[name])
    onnx.save(model, tmp_path / "in.onnx")
    output = tmp_path / "out.onnx"
    status = main(["fix", str(tmp_path / "in.onnx"), "-o", str(output), "--target", target, "--runs", "1", "-q"])
    assert status in (0, 4)
    assert main(["check", str(output), "--target", target, "-q"]) == (1 if status else 0)
    assert results(output.read_bytes(), name) == results(model.SerializeToString(), name)


@pytest.mark.alike(3)
@pytest.mark.parametrize("name", [name for name in FAILING if "x" in KINDS[name].inputs])
@pytest.mark.parametrize("place", ["main", "if", "loop"])
def test_bound_sizes_leave_the_site_with_the_reason(name: str, place: str, tmp_path: Path) -> None:
    model = meeting(KINDS[name], place=place, free=True)
    bound = {f"N{axis}": str(size) for axis, size in enumerate(KINDS[name].inputs["x"])}
    outcome, output = fixed(model, tmp_path, dims=bound)
    assert outcome.sites_left
    if name != "slope":
        assert reasons(outcome)
    assert results(output, name, place) == results(model.SerializeToString(), name, place)


POOL = "MaxPool <ceil_mode = 1, kernel_shape = [3], pads = [1, 1], strides = [3]> (x)"
BESIDE = f"v = {POOL} a = Exp(v) s = ReduceSum <keepdims = 0> (a) e = Add(z, s) y = Neg(e)"
OTHER = f"else_branch = e () => (float[1,1,M] u) {{ p = {POOL} u = Neg(p) }}"
CHOSEN = f"""v = If(go) <then_branch = t () => (float[1,1,M] w) {{ w = {POOL} }}, {OTHER}>
    s = ReduceSum <keepdims = 0> (v) y = Add(z, s)"""


@pytest.mark.parametrize(("nodes", "inputs"), [(BESIDE, ""), (CHOSEN, ", bool go")], ids=["beside", "if"])
def test_sizes_that_alone_let_the_file_fail_are_not_bound(
    nodes: str, inputs: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    head, ran = '<ir_version: 8, opset_import: ["" : 18]>', []
    for size in ("N", "5"):
        text = f"{head} g (float[1,1,{size}] x, float[1,1,3] z{inputs}) => (float[1,1,3] y) {{ {nodes} }}"
        model = onnx.parser.parse_model(text)
        onnx.save(model, tmp_path / f"{size}.onnx")
        feeds = {**feeds_of(KINDS["max-pool"]), **({"go": np.array(True)} if inputs else {})}
        ran.append(run(model.SerializeToString(), feeds))
    assert not isinstance(ran[0], str)
    assert isinstance(ran[1], str)
    assert main(["fix", str(tmp_path / "N.onnx"), "-o", str(tmp_path / "out.onnx"), "--dim", "N=5"]) == 2
    assert "the sizes can't be bound" in capsys.readouterr().err
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.ci
@pytest.mark.parametrize("equation", ["a2,a2->a2", "a_,a->a", "a.,a->a"])
def test_sites_are_left_where_onnx_never_reads_an_equation_to_its_end(
    equation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shape_inference, "SECONDS", 1.0)
    nodes = f'v = Einsum <equation = "{equation}"> (x, w) s = ReduceSum <keepdims = 0> (v) y = Add(z, s)'
    head = '<ir_version: 8, opset_import: ["" : 18]>'
    text = f"{head} g (float[1] x, float[2] w, float[2,3] z) => (float[2,3] y) {{ {nodes} }}"
    outcome, _ = fixed(onnx.parser.parse_model(text), tmp_path)
    stopped = "onnx's inference was stopped: no answer within 1 seconds: what onnxruntime infers at load is not known"
    assert [site.reason for site in outcome.sites if site.status == "left"][:1] == [stopped]


NEGATIVE = {
    "expand": ("e = Expand (x, below) y = Slice (e, o, far, o, back)", "float[N,4] x"),
    "pool": ("e = MaxPool <kernel_shape = [7]> (x) y = Slice (e, o, far, last, back)", "float[1,1,3] x"),
    "pad": ("e = Pad (x, cut) y = Slice (e, o, far, o, back)", "float[4] x"),
}
"""Nodes on which onnx's inference aborts, since a Slice reads a negative size; and what they read."""


@pytest.mark.ci
@pytest.mark.parametrize("name", NEGATIVE)
def test_no_command_ends_with_onnx_inference(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes, read = NEGATIVE[name]
    suspect = "p = MaxPool <kernel_shape = [3], strides = [3], pads = [1, 1], ceil_mode = 1> (w) r = Add (p, z)"
    held = "int64[1] o = {0}, int64[1] last = {2}, int64[1] far = {9}, int64[1] back = {-1}, int64[2] cut = {-6,0}"
    inputs, told = f"{read}, float[1,1,5] w, float[1] z", f"{held}, int64[2] below = {{-3,1}}"
    graph = f"g ({inputs}) => (float[?] y, float[?,?,?] r) <{told}> {{ {nodes} {suspect} }}"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> {graph}')
    made.graph.output[0].type.tensor_type.ClearField("shape")
    before, after, lifted = (tmp_path / f"{each}.onnx" for each in ("before", "after", "lifted"))
    onnx.save(made, before)
    assert main(["check", str(before)]) == 1
    assert "onnx's inference aborts its process" in capsys.readouterr().out
    assert main(["fix", str(before), "-o", str(after)]) == 4
    assert after.read_bytes() == before.read_bytes()
    made.graph.node[-1].input[1] = "lift"
    made.graph.initializer.append(onnx.helper.make_tensor("ones", onnx.TensorProto.INT64, [3], [1, 1, 1]))
    made.graph.node.insert(0, onnx.helper.make_node("Reshape", ["z", "ones"], ["lift"]))
    onnx.save(made, lifted)
    assert main(["verify", str(before), str(lifted), "--proof-only"]) == 3
    assert "onnx's inference aborts its process" in capsys.readouterr().out
