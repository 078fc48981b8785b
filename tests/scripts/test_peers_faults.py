"""What verifiers are judged by: the runs of a witness, and faults that are known to show in the outputs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from peers.models import ZOO
from peers.verifying import planted, planted_onnx, planted_tflite, witness
from peers.verifying.faults import FAULTS, KINDS
from peers.verifying.inputs import Inputs
from peers.verifying.planted_tflite import File
from peers.verifying.record import APART, OTHER_BITS, SAME
from peers.verifying.verifiers import VERIFIERS
from peers.verifying.witness import Original, witnessed

from models.builders.tflite.text import model as tflite
from tests.support.notation import model
from tests.support.tiers import tiered

EXACT = tuple(each.name for each in VERIFIERS if each.tolerance == (0.0, 0.0))
EVERY = tuple(each.name for each in VERIFIERS)
SLOW = {"basic-pitch/nmp.tflite", "rapidocr-onnxruntime/ch_PP-OCRv4_rec_infer.onnx", "silero-vad/silero_vad.onnx"}
"""The real models whose faults take longest."""


def saved(folder: Path, text: str, name: str = "m") -> Path:
    path = folder / f"{name}.onnx"
    onnx.save(model(text), path)
    return path


def constant(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    """Change the first initializer of a file."""
    read = onnx.load(path)
    tensor = read.graph.initializer[0]
    tensor.CopyFrom(numpy_helper.from_array(change(numpy_helper.to_array(tensor)), tensor.name))
    onnx.save(read, path)


# --- the witness ------------------------------------------------------------------------------------------------------

SCALED = "y[2,3] = Mul(a[2,3], b:const[3])"


@pytest.mark.parametrize(
    ("factor", "status", "beyond"),
    [
        (1.0, SAME, ()),
        (1 + 1e-6, OTHER_BITS, EXACT),
        (1 + 5e-5, OTHER_BITS, (*EXACT[:-1], "polygraphy", EXACT[-1])),
        (1 + 5e-4, OTHER_BITS, EVERY),
        (1.5, APART, EVERY),
        (-1.0, APART, EVERY),
    ],
)
def test_how_far_outputs_are_apart_is_said_for_each_tolerance(
    tmp_path: Path, factor: float, status: str, beyond: tuple[str, ...]
) -> None:
    before, after = saved(tmp_path, SCALED, "a"), saved(tmp_path, SCALED, "b")
    constant(before, lambda value: np.full_like(value, 100.0))
    constant(after, lambda value: np.full_like(value, 100.0 * factor))
    found = Original(before, Inputs()).witness(after)
    assert (found.status, found.beyond) == (status, beyond)
    assert found.runs == 2


def test_a_size_that_was_free_is_seen_at_another_size(tmp_path: Path) -> None:
    before = saved(tmp_path, "y[N,3] = Reshape(a[N,3], s:const:int64[2]{-1,3})", "a")
    after = saved(tmp_path, "y[N,3] = Reshape(a[N,3], s:const:int64[2]{1,3})", "b")
    found = Original(before, Inputs()).witness(after)
    assert (found.status, found.runs) == (APART, 2)
    assert found.reason.startswith("does not run at a[2, 3]: ")


def test_what_runs_at_usual_sizes_alone_is_apart(tmp_path: Path) -> None:
    before = saved(tmp_path, "y[N] = Neg(a[N])", "a")
    fourth = "b[1] = Gather(a[N], i:const:int64[1]{3})\nz[1] = Sub(b, b)\n"
    after = saved(tmp_path, f"{fourth}c[N] = Add(a, z)\ny[N] = Neg(c)", "b")
    found = Original(before, Inputs({"a": [4]})).witness(after)
    assert (found.status, found.runs) == (APART, 3)


def test_what_does_not_load_or_ends_its_process_is_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved(tmp_path, SCALED)
    original = Original(before, Inputs())
    broken = tmp_path / "b.onnx"
    broken.write_bytes(before.read_bytes()[:40])
    assert (found := original.witness(broken)).status == APART
    assert found.reason.startswith("does not run: ")
    monkeypatch.setattr(Original, "witness", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    assert witnessed(original, before, 30).reason == "its run ended by SIGKILL"


def test_a_number_in_the_place_of_nan_is_apart_and_nan_is_nan(tmp_path: Path) -> None:
    before, after = saved(tmp_path, "y[2,3] = Sqrt(a[2,3])", "a"), saved(tmp_path, "y[2,3] = Abs(a[2,3])", "b")
    assert Original(before, Inputs()).witness(before).status == SAME
    assert Original(before, Inputs()).witness(after).reason == "apart by up to inf"


def test_what_a_random_model_returns_is_no_witness(tmp_path: Path) -> None:
    path = saved(tmp_path, "r[2,3] = RandomUniformLike(a[2,3])\ny[2,3] = Add(r, a)")
    with pytest.raises(RuntimeError, match="runs at no sizes"):
        Original(path, Inputs())


def test_inputs_are_filled_at_the_usual_sizes_with_the_usual_values() -> None:
    specs = {"x": (["N", 3, -1], np.float32), "sr": ([], np.int64), "ids": ([2], np.int32)}
    found = [*witness.feeds(specs, Inputs({"x": [1, 3, 4]}, {"sr": 16000}))]
    usual, doubled, small = [(1, 3, 4)] * 2, [(1, 3, 8), (2, 3, 4)], [(1, 3, 1), (2, 3, 2)]
    assert [each["x"].shape for each in found] == [*usual, *doubled, *small]
    assert {int(each["sr"]) for each in found} == {16000}
    assert found[0]["x"].min() >= 0 > found[1]["x"].min()
    assert 0 <= found[0]["ids"].min() <= found[0]["ids"].max() < 256


# --- faults -----------------------------------------------------------------------------------------------------------

ONNX = {
    "weight": "y[2,5] = MatMul(x[2,4], w:const[4,5])",
    "index": "y[3] = Gather(x[2,3], i:const:int64[]{1}, axis=0)",
    "axes": "y[2,3,3] = Transpose(x[2,3,3], perm=[0,2,1])",
    "operator": "y[2,3] = Add(x[2,3], b[3])",
    "order": "y[2,3] = Sub(x[2,3], b[3])",
    "axis": "y[3,3] = Mul(x[3,3], b:const[3])",
    "size": "y[N,3] = Reshape(x[N,3], s:const:int64[2]{-1,3})",
    "bound": "y[2,3] = Clip(x[2,3], l:const[]{0.0}, h:const[]{0.5})",
}
TFLITE = {
    "weight": "y[2,5] = FULLY_CONNECTED(x[2,4], w:const[5,4])",
    "scale": "y[2,5] = FULLY_CONNECTED(x[2,4], w:const[5,4])",
    "index": "y[3] = GATHER(x[2,3], i:const:int32[]{1}, axis=0)",
    "axes": "y[2,3,3] = TRANSPOSE(x[2,3,3], p:const:int32[3]{0,2,1})",
    "operator": "y[2,3] = ADD(x[2,3], b[2,3])",
    "order": "y[2,3] = SUB(x[2,3], b[2,3])",
    "axis": "y[1,3,3] = MUL(x[1,3,3], b:const[1,1,3])",
    "side": "y[2,4] = PAD(x[2,3], p:const:int32[2,2]{0,0,1,0})",
}


@pytest.mark.alike(3)
@pytest.mark.parametrize("kind", ONNX)
def test_a_fault_in_an_onnx_model_shows_and_leaves_its_interface(tmp_path: Path, kind: str) -> None:
    before = saved(tmp_path, ONNX[kind])
    path, found = planted._first(Original(before, Inputs()), before, kind, tmp_path)
    assert (found.status, found.beyond) == (APART, EVERY)
    one, other = onnx.load(before).graph, onnx.load(path).graph
    assert (list(one.input), list(one.output)) == (list(other.input), list(other.output))


@pytest.mark.alike(3)
@pytest.mark.parametrize("kind", TFLITE)
def test_a_fault_in_a_tflite_model_shows_and_leaves_its_interface(tmp_path: Path, kind: str) -> None:
    before = tmp_path / "m.tflite"
    before.write_bytes(tflite(TFLITE[kind]))
    path, found = planted._first(Original(before, Inputs()), before, kind, tmp_path)
    assert (found.status, found.beyond) == (APART, EVERY)

    def interface(file: File) -> list[tuple[int, ...]]:
        graph = file.model.subgraphs[0]
        return [file.shape(index) for index in (*graph.inputs, *graph.outputs)]

    assert interface(File.of(before.read_bytes())) == interface(File.of(path.read_bytes()))


def test_every_kind_fits_some_model_here_and_no_model_without_a_place_for_it() -> None:
    assert set(ONNX) | set(TFLITE) == set(KINDS)
    assert set(ONNX) == set(planted_onnx.KINDS)
    assert set(TFLITE) == set(planted_tflite.KINDS)
    plain, data = model("y[2,3] = Neg(x[2,3])"), tflite("y[2,3] = NEG(x[2,3])")
    assert not [kind for kind in ONNX for _ in planted_onnx.places(plain, kind)]
    assert not [kind for kind in TFLITE for _ in planted_tflite.places(data, kind)]


def test_a_fault_that_does_not_show_is_planted_elsewhere_or_refused(tmp_path: Path) -> None:
    text = "z[2,3] = Add(a[2,3], zero:const[3])\n{}"
    hidden = model(text.format("y[2,3] = Neg(z)"))
    hidden.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.zeros(3, np.float32), "zero"))
    shown = model(text.format("y[2,3] = Add(z, b[3])"))
    shown.graph.initializer[0].CopyFrom(hidden.graph.initializer[0])
    paths = [tmp_path / "hidden.onnx", tmp_path / "shown.onnx"]
    for each, path in zip((hidden, shown), paths, strict=True):
        onnx.save(each, path)
    with pytest.raises(planted.PlantingError, match=r"^hidden.onnx: a fault of kind 'operator' shows nowhere$"):
        planted._first(Original(paths[0], Inputs()), paths[0], "operator", tmp_path)
    path, _ = planted._first(Original(paths[1], Inputs()), paths[1], "operator", tmp_path)
    assert [node.op_type for node in onnx.load(path).graph.node] == ["Add", "Sub"]


def test_a_weight_that_a_body_holds_is_found_too() -> None:
    read = model("y[2,5] = MatMul(x[2,4], w:const[4,5])")
    body = onnx.GraphProto(name="b")
    body.CopyFrom(read.graph)
    outer = onnx.ModelProto()
    node = outer.graph.node.add(op_type="If", input=["c"], output=["y"])
    node.attribute.add(name="then_branch", type=onnx.AttributeProto.GRAPH).g.CopyFrom(body)
    assert len([*planted_onnx.places(outer, "weight")]) == 1


@pytest.mark.alike(2)
@pytest.mark.zoo
@pytest.mark.parametrize("name", tiered(FAULTS, lambda _: False, SLOW.__contains__))
def test_the_faults_of_the_real_models_show(tmp_path: Path, name: str) -> None:
    found = planted.planted(ZOO / name, name, tmp_path)
    assert {kind: replace(seen, runs=0, reason="", beyond=()) for kind, (_, seen) in found.items()} == {
        kind: witness.Witness(APART) for kind in FAULTS[name]
    }
