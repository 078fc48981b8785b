"""Where onnxruntime drops a rounding to float16, and the proof is complete, copies that keep every rounding judge."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import numpy as np
import onnx
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

from graphfix.checker import proof
from graphfix.checker.files.onnx.external_data import ExternalData
from graphfix.checker.proof.core.result import Proof
from graphfix.checker.runs.onnx import kept_casts
from graphfix.checker.runs.onnx.kept_casts import with_kept_casts
from graphfix.cli import commands
from graphfix.report.verdict import verdict_text
from graphfix.runtimes.onnx import onnxruntime
from tests.support.checked import verify

HALF, SINGLE = TensorProto.FLOAT16, TensorProto.FLOAT
NONE: Mapping[str, Sequence[float]] = MappingProxyType({})


def model(
    *nodes: NodeProto,
    path: Path,
    factors: int = HALF,
    constants: Mapping[str, Sequence[float]] = NONE,
    external: bool = False,
) -> Path:
    """A model of `a[M]`, `c[M]` and `x[N,M]` in float16, and `y[N,M]`."""
    inputs = [
        helper.make_tensor_value_info(name, dtype, dims)
        for name, dtype, dims in (("a", factors, ["M"]), ("c", factors, ["M"]), ("x", HALF, ["N", "M"]))
    ]
    tensors = [
        numpy_helper.from_array(np.asarray(given, np.int64 if isinstance(given[0], int) else np.float16), name)
        for name, given in constants.items()
    ]
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", HALF, ["N", "M"])], tensors)
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(built)
    onnx.save(built, path, save_as_external_data=external, location=f"{path.name}.data", size_threshold=0)
    return path


def node(op: str, operands: str, result: str, **attributes: object) -> NodeProto:
    return helper.make_node(op, operands.split(), [result], name=f"the_{op.lower()}", **attributes)


def product(path: Path, then: str = "Add") -> Path:
    return model(node("Mul", "a c", "m"), node(then, "x m", "y"), path=path)


def with_own_cast(path: Path) -> Path:
    return model(
        node("Mul", "a c", "m"), node("Cast", "m", "h", to=HALF), node("Add", "x h", "y"), path=path, factors=SINGLE
    )


def in_a_body(path: Path) -> Path:
    def body(op: str) -> onnx.GraphProto:
        nodes = [node("Mul", "a c", f"m{op}"), node(op, f"x m{op}", f"y{op}")]
        return helper.make_graph(nodes, op, [], [helper.make_tensor_value_info(f"y{op}", HALF, ["N", "M"])])

    steps = [
        node("ReduceSum", "x", "sum", keepdims=0),
        node("Cast", "sum", "choice", to=TensorProto.BOOL),
        node("If", "choice", "y", then_branch=body("Add"), else_branch=body("Sub")),
    ]
    return model(*steps, path=path)


MADE = {"a result of an operator": product, "a Cast": with_own_cast, "in a body": in_a_body}


def fixed(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, object]]:
    """Fix a file; return the status and the verdict."""
    argv = ["fix", str(path), "-o", str(path.with_name("fixed.onnx")), "--target", "explicit", "--json", *options]
    status = commands.main(argv)
    return status, json.loads(capsys.readouterr().out)["verdict"]


@pytest.mark.ci
@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_proved_model_is_written_and_the_verdict_names_the_exception(
    made: Callable[[Path], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, verdict = fixed(made(tmp_path / "m.onnx"), capsys)
    assert (status, verdict["status"]) == (0, "proved")
    (entry,) = verdict["exceptions"]
    assert entry["class"] == "dropped-cast"
    assert entry["site"] in ("Add 'the_add'", "If 'the_if'")
    assert any(run["status"] == "different" for run in verdict["runs"])


@pytest.mark.ci
def test_the_runs_say_that_they_differ_where_a_rounding_is_dropped(tmp_path: Path) -> None:
    before, after = product(tmp_path / "m.onnx"), written_out(tmp_path / "n.onnx")
    text = verdict_text(verify(before, after))
    assert "the outputs differ: y; with every rounding to float16 kept they are bit-equal" in text
    assert "1 exception of the runtime: dropped-cast at Add 'the_add'" in text


def test_the_exception_is_named_where_every_run_differs(tmp_path: Path) -> None:
    before, after = product(tmp_path / "m.onnx"), written_out(tmp_path / "n.onnx")
    verdict = verify(before, after, runs=1)
    assert [run.status for run in verdict.runs if run.optimizations == "off"] == ["different"]
    assert "bit-equal; 1 exception of the runtime: dropped-cast at Add 'the_add'" in verdict_text(verdict)


def written_out(path: Path, then: str = "Add", scale: str = "m") -> Path:
    """`product` with its broadcast written out."""
    steps = [
        node("Mul", "a c", "m"),
        node("Unsqueeze", f"{scale} axis", "u"),
        node("Shape", "x", "size"),
        node("Expand", "u size", "e"),
        node(then, "x e", "y"),
    ]
    return model(*steps, path=path, constants={"axis": [0]})


@pytest.mark.parametrize("proof_", ["without", "with"])
def test_without_a_complete_proof_the_difference_counts(tmp_path: Path, proof_: str) -> None:
    before, after = product(tmp_path / "m.onnx"), written_out(tmp_path / "n.onnx", "Sub" if proof_ == "with" else "Add")
    verdict = verify(before, after, proof="with" if proof_ == "with" else "without")
    assert verdict.status == "different"
    assert [entry["class"] for entry in verdict.exceptions] == []


FAULTS = {
    "another operator": lambda path: written_out(path, "Sub"),
    "another operand": lambda path: written_out(path, scale="a"),
    "no rounding of the product": lambda path: model(
        node("Cast", "a", "a32", to=SINGLE),
        node("Cast", "c", "c32", to=SINGLE),
        node("Mul", "a32 c32", "m"),
        node("Cast", "x", "x32", to=SINGLE),
        node("Add", "x32 m", "y32"),
        node("Cast", "y32", "y", to=HALF),
        path=path,
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_model_that_computes_something_else_is_different_even_if_the_proof_were_wrong(
    fault: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "prove", lambda *_, **__: Proof("proved"))
    before = written_out(tmp_path / "m.onnx")  # it runs with every rounding as it is
    verdict = verify(before, fault(tmp_path / "n.onnx"))
    assert verdict.status == "different"
    assert [entry["class"] for entry in verdict.exceptions] == []


@pytest.mark.parametrize("swapped", [False, True])
def test_models_of_other_outputs_are_different_whatever_is_proved(
    swapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "prove", lambda *_, **__: Proof("proved", assumes=tuple(proof.ABOUT_SIZE_0)))
    one, two = product(tmp_path / "m.onnx"), product(tmp_path / "n.onnx")
    more = onnx.load(two)
    more.graph.output.append(helper.make_tensor_value_info("m", HALF, ["M"]))
    onnx.save(more, two)
    verdict = verify(two, one) if swapped else verify(one, two)
    assert (verdict.status, verdict.exceptions) == ("different", ())


@pytest.mark.ci
def test_a_failure_is_never_excused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "prove", lambda *_, **__: Proof("proved"))
    before = product(tmp_path / "m.onnx")
    steps = [node("Mul", "a c", "m"), node("Reshape", "m five", "r"), node("Add", "x r", "y")]
    after = model(*steps, path=tmp_path / "n.onnx", constants={"five": [1, 5]})
    assert verify(before, after).status == "different"


def test_the_copy_rounds_what_the_file_rounds(tmp_path: Path) -> None:
    choose = np.random.default_rng(0)
    feeds = {
        name: choose.standard_normal(shape).astype(np.float16) for name, shape in (("a", 99), ("c", 99), ("x", (2, 99)))
    }
    wanted = feeds["x"] + feeds["a"] * feeds["c"]  # numpy rounds each result
    path = product(tmp_path / "m.onnx")
    (dropped,) = onnxruntime.load(path).run(feeds)
    copied = with_kept_casts(ExternalData.of(path))
    assert copied is not None
    (kept,) = onnxruntime.load(copied).run(feeds)
    assert (dropped != wanted).any()
    assert (kept == wanted).all()


@pytest.mark.ci
def test_weights_beside_the_file_are_found_by_the_copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [node("Mul", "a c", "m"), node("Add", "x m", "z"), node("Sub", "z s", "y")]
    path = model(*nodes, path=tmp_path / "m.onnx", constants={"s": [0.3]}, external=True)
    assert (tmp_path / "m.onnx.data").stat().st_size
    status, verdict = fixed(path, capsys)
    assert (status, verdict["status"]) == (0, "proved")
    assert [entry["class"] for entry in verdict["exceptions"]] == ["dropped-cast"]


def test_there_is_no_copy_of_what_has_no_float16_or_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    single = helper.make_tensor_value_info("x", SINGLE, ["N"])
    graph = helper.make_graph(
        [node("Neg", "x", "y")], "g", [single], [helper.make_tensor_value_info("y", SINGLE, ["N"])]
    )
    onnx.save(helper.make_model(graph), tmp_path / "s.onnx")
    assert with_kept_casts(ExternalData.of(tmp_path / "s.onnx")) is None
    path = product(tmp_path / "m.onnx")
    assert with_kept_casts(ExternalData.of(path)) is not None
    monkeypatch.setattr(kept_casts, "MOST_BYTES", 100)
    assert with_kept_casts(ExternalData.of(path)) is None


def test_names_of_the_copy_are_new(tmp_path: Path) -> None:
    path = model(node("Mul", "a c", "graphfix_raw0"), node("Add", "x graphfix_raw0", "y"), path=tmp_path / "m.onnx")
    copied = with_kept_casts(ExternalData.of(path))
    assert copied is not None
    results = [name for each in onnx.ModelProto.FromString(copied).graph.node for name in each.output]
    assert len(set(results)) == len(results) == 6
