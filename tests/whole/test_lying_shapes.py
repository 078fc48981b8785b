"""Models whose stored shapes lie: `fix` writes a file in which none does, and its law holds for it.

Each model is run with its lie too: it does not count if the runtime then refuses the model, or computes something else.
CI fixes each model with its lie (unverified), and with verification once: as it lies, without its broadcast, or without
its lie, by turns in each way of lying. `full` fixes each in all of these.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray

from graphfix.cli.commands import main
from models.builders.tflite import text as notation
from tests.support.bits import same_bits
from tests.support.lying import onnx_models, onnx_runs, tflite_models, tflite_runs
from tests.support.lying.templates import a_share, by_target, cases
from tests.support.pairs.tflite_file import code_of, unpacked
from tests.support.runtimes.onnx_runs import run

ONNX, TFLITE = cases(onnx_models.WAYS), cases(tflite_models.WAYS)


def onnx_outputs(model: onnx.ModelProto) -> list[NDArray[np.generic]]:
    """The outputs of all runs."""
    return [output for _, inputs in onnx_runs.feeds(model) for output in run(model, **inputs)]


def tflite_outputs(file: bytes) -> list[NDArray[np.generic]]:
    return [output for ran in tflite_runs.runs(file) for output in ran.outputs]


def fixed(path: Path, target: str, capsys: pytest.CaptureFixture[str]) -> Path:
    """Fix a file, and assert the law of `fix` for what it writes."""
    out, again = (path.with_name(f"{name}-{target}{path.suffix}") for name in ("fixed", "again"))
    status = main(["fix", str(path), "-o", str(out), "--target", target])
    said = "".join(capsys.readouterr())
    assert status in (0, 4), said
    assert "Traceback" not in said
    found = main(["check", str(out), "--target", target])
    assert found == {0: 0, 4: 1}[status], capsys.readouterr().out
    assert main(["fix", str(out), "-o", str(again), "--target", target]) == status
    assert again.read_bytes() == out.read_bytes()
    return out


def unverified(content: bytes, path: Path) -> Path:
    """Write a model and fix it without a proof or runs; return the fixed file."""
    path.write_bytes(content)
    out = path.with_stem(f"fixed-{path.stem}")
    assert main(["fix", str(path), "-o", str(out), "--no-verify"]) in (0, 4)
    return out


def assert_all_equal(one: list[NDArray[np.generic]], other: list[NDArray[np.generic]]) -> None:
    assert len(one) == len(other)
    assert all(map(same_bits, one, other))


# --- ONNX -------------------------------------------------------------------------------------------------------------


def written_onnx(
    model: onnx.ModelProto, target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> onnx.ModelProto:
    """Fix a model; assert that it computes the same bits, that no stored shape lies, and that right symbols stay."""
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    out = onnx.load(fixed(path, target, capsys))
    assert_all_equal(onnx_outputs(model), onnx_outputs(out))
    assert onnx_runs.contradictions(out) == []
    assert renamed(model, out) == []
    return out


def renamed(before: onnx.ModelProto, after: onnx.ModelProto) -> list[str]:
    """Return the values whose stored shape is right, and has not all of its symbols in the other model."""
    lies = {line.partition(" is stored")[0] for line in onnx_runs.contradictions(before)}
    kept = {f"{place}: {name}": shape for place, name, shape in onnx_runs.stored(after)}
    right = {f"{place}: {name}": shape for place, name, shape in onnx_runs.stored(before)}
    return [
        f"{value}: {shape}, now {kept.get(value)}"
        for value, shape in right.items()
        if value not in lies and [*filter(is_symbol, shape)] != [*filter(is_symbol, kept.get(value, ()))]
    ]


def is_symbol(size: object) -> bool:
    return isinstance(size, str)


@pytest.mark.parametrize("text", ONNX)
def test_an_onnx_model_that_lies_runs(text: str) -> None:
    """The lie changes nothing in the results; without it nothing is found."""
    for broadcasts in (True, False):
        lying, honest = (onnx_models.built(text, lies=lies, broadcasts=broadcasts) for lies in (True, False))
        assert onnx_runs.contradictions(lying)
        assert onnx_runs.contradictions(honest) == []
        assert_all_equal(onnx_outputs(lying), onnx_outputs(honest))
        assert_all_equal(onnx_outputs(lying), onnx_outputs(onnx_runs.without_stored(lying)))


@pytest.mark.parametrize("text", a_share(onnx_models.WAYS, 0))
def test_an_onnx_model_that_lies(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lying = onnx_models.built(text)
    out = written_onnx(lying, "explicit", tmp_path, capsys)
    assert set(operators(out)) - set(operators(lying))


@pytest.mark.ci
@pytest.mark.parametrize("text", ONNX)
def test_a_lie_keeps_no_broadcast_of_an_onnx_model(text: str, tmp_path: Path) -> None:
    lying, honest = (onnx_models.built(text, lies=lies).SerializeToString() for lies in (True, False))
    assert operators(onnx.load(unverified(lying, tmp_path / "lying.onnx"))) == operators(
        onnx.load(unverified(honest, tmp_path / "honest.onnx"))
    )


@pytest.mark.parametrize(("text", "target"), by_target(onnx_models.WAYS, ["ranks", "compact"]))
def test_an_onnx_model_that_lies_for_another_target(
    text: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written_onnx(onnx_models.built(text), target, tmp_path, capsys)


def operators(model: onnx.ModelProto) -> list[str]:
    """Return the operators of all graphs and functions, in the order of the nodes."""
    graphs = [*onnx_runs.graphs(model), *model.functions]
    return [node.op_type for graph in graphs for node in graph.node]


@pytest.mark.parametrize("text", a_share(onnx_models.WAYS, 1))
def test_an_onnx_model_that_lies_and_has_no_broadcast(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written_onnx(onnx_models.built(text, broadcasts=False), "explicit", tmp_path, capsys)


@pytest.mark.parametrize("text", a_share(onnx_models.WAYS, 2))
def test_an_honest_onnx_model(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a broadcast its symbols are kept; without one the file is copied."""
    written_onnx(onnx_models.built(text, lies=False), "explicit", tmp_path, capsys)
    twin = onnx_models.built(text, lies=False, broadcasts=False)
    out = written_onnx(twin, "explicit", tmp_path, capsys)
    assert out.SerializeToString() == twin.SerializeToString()


@pytest.mark.ci
@pytest.mark.parametrize("broadcasts", [True, False], ids=["with a broadcast", "without one"])
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in onnx_models.UNDERIVED.items()])
def test_a_number_that_nothing_derives_harms_nothing(
    text: str, *, broadcasts: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is left open only where a new node reads the value, or has the same shape."""
    model, path = onnx_models.built(text, broadcasts=broadcasts), tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    out = onnx.load(fixed(path, "explicit", capsys))
    assert_all_equal(onnx_outputs(model), onnx_outputs(out))
    assert len(onnx_runs.contradictions(out)) <= len(onnx_runs.contradictions(model))
    read = {name for node in out.graph.node if node.op_type in ("Expand", "Reshape") for name in node.input}
    assert not [line for line in onnx_runs.contradictions(out) if line.partition(" is")[0].removeprefix("g: ") in read]


def test_the_shape_of_an_iteration_number_is_no_lie(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The judge of bodies is not asked: onnx's evaluator always counts by scalars."""
    model, path = onnx_models.built(onnx_models.COUNTED), tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    out = onnx.load(fixed(path, "explicit", capsys))
    assert_all_equal(onnx_outputs(model), onnx_outputs(out))
    (body,) = (graph for graph in onnx_runs.graphs(out) if graph.name == "step")
    assert onnx_runs.dims(body.input[0]) == (1,)
    assert [onnx_runs.dims(info) for info in out.graph.value_info if info.name == "t"] == [("N", 4)]


def test_a_renamed_symbol_is_seen() -> None:
    before = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N,M] x) => (float[N,M] y) { y = Relu (x) }'
    )
    for name in ("K", ""):
        after = onnx.ModelProto()
        after.CopyFrom(before)
        after.graph.output[0].type.tensor_type.shape.dim[1].dim_param = name
        assert renamed(before, after) == [f"g: y: ('N', 'M'), now ('N', {name or None!r})"]
    assert renamed(before, before) == []


# --- TFLite -----------------------------------------------------------------------------------------------------------


def written_tflite(file: bytes, target: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> bytes:
    """Fix a file; assert that it computes the same bits, and that no stored shape lies."""
    path = folder / "m.tflite"
    path.write_bytes(file)
    out = fixed(path, target, capsys).read_bytes()
    assert_all_equal(tflite_outputs(file), tflite_outputs(out))
    assert tflite_runs.contradictions(out) == []
    assert restated(file, out) == []
    return out


def restated(before: bytes, after: bytes) -> list[str]:
    """Return the tensors whose stored shape is right, and is another one in the other file."""
    lies = {line.partition(" has ")[0] for line in tflite_runs.contradictions(before)}
    kept = tflite_runs.stored(after)
    right = {name: shape for name, shape in tflite_runs.stored(before).items() if name not in lies}
    return [f"{name}: {shape}, now {kept.get(name)}" for name, shape in right.items() if kept.get(name) != shape]


@pytest.mark.ci
@pytest.mark.parametrize("text", TFLITE)
def test_a_tflite_file_that_lies_runs(text: str) -> None:
    """The lie changes nothing in the results; without it nothing is found."""
    for broadcasts in (True, False):
        lying, honest = (tflite_models.built(text, lies=lies, broadcasts=broadcasts) for lies in (True, False))
        assert tflite_runs.contradictions(lying)
        assert tflite_runs.contradictions(honest) == []
        assert_all_equal(tflite_outputs(lying), tflite_outputs(honest))


@pytest.mark.parametrize("text", a_share(tflite_models.WAYS, 0))
def test_a_tflite_file_that_lies(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lying = tflite_models.built(text)
    out = written_tflite(lying, "explicit", tmp_path, capsys)
    assert len(unpacked(out).operatorCodes) > len(unpacked(lying).operatorCodes)


@pytest.mark.ci
@pytest.mark.parametrize("text", TFLITE)
def test_a_lie_keeps_no_broadcast_of_a_tflite_file(text: str, tmp_path: Path) -> None:
    lying, honest = (tflite_models.built(text, lies=lies) for lies in (True, False))
    assert codes(unverified(lying, tmp_path / "lying.tflite")) == codes(unverified(honest, tmp_path / "honest.tflite"))


def codes(path: Path) -> list[list[int]]:
    """Return the builtin codes of each subgraph's operators."""
    model = unpacked(path.read_bytes())
    return [[code_of(model, operator) for operator in graph.operators] for graph in model.subgraphs]


@pytest.mark.parametrize(("text", "target"), by_target(tflite_models.WAYS, ["ranks", "compact"]))
def test_a_tflite_file_that_lies_for_another_target(
    text: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written_tflite(tflite_models.built(text), target, tmp_path, capsys)


@pytest.mark.parametrize("text", a_share(tflite_models.WAYS, 1))
def test_a_tflite_file_that_lies_and_has_no_broadcast(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written_tflite(tflite_models.built(text, broadcasts=False), "explicit", tmp_path, capsys)


@pytest.mark.parametrize("text", a_share(tflite_models.WAYS, 2))
def test_an_honest_tflite_file(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written_tflite(tflite_models.built(text, lies=False), "explicit", tmp_path, capsys)
    twin = tflite_models.built(text, lies=False, broadcasts=False)
    assert written_tflite(twin, "explicit", tmp_path, capsys) == twin


@pytest.mark.ci
@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in tflite_models.BELIEVED.items()])
def test_a_size_that_only_the_runs_refute(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The edits rest on the lie: nothing is written, and the message names the tensor."""
    path, out = tmp_path / "m.tflite", tmp_path / "fixed.tflite"
    lying, honest = (tflite_models.built(text, lies=lies) for lies in (True, False))
    assert tflite_runs.contradictions(lying)
    assert tflite_runs.contradictions(honest) == []
    path.write_bytes(lying)
    assert main(["fix", str(path), "-o", str(out)]) == 1
    said = capsys.readouterr().out
    assert re.search(r"contradicted by the original's run: the view says \[.*\] of '[fku]'", said)
    assert not out.exists()
    written_tflite(honest, "explicit", tmp_path, capsys)


def test_a_tensor_that_is_restated_though_it_is_right_is_seen() -> None:
    before, after = (notation.model(f"y[?,{size}] = EXP(x[?,4])") for size in (4, 5))
    assert restated(before, before) == []
    assert restated(before, after) == ["0/y: ([1, 4], [-1, 4], True), now ([1, 5], [-1, 5], True)"]
