"""What is equal is proved: every fixed model, and files that other tools have written anew."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, NodeProto

from graphfix import api
from graphfix.checker.proof import Proof
from graphfix.checker.proof.core.sizes import Algebra, result_size
from graphfix.results import GraphfixError
from tests.support.faults.tflite import planted as tflite_faults
from tests.support.fixed_files import FixedFiles
from tests.support.places import MODELS, committed_models, model_id
from tests.support.proving import prove
from tests.support.tiers import is_covering, tiered
from tests.support.written import Written

ALL = committed_models()
REWRITTEN = (
    "quantized/per_channel bodies/while bodies/if files/signatures operators/strings files/variable explicit/tile"
)


def proved(before: Path, after: Path) -> Proof:
    return prove(before, after, tflite=before.suffix == ".tflite")


@pytest.mark.alike(3)
@pytest.mark.parametrize("target", ["explicit", "ranks"])
@pytest.mark.parametrize("path", tiered(ALL, is_covering, name=model_id))
def test_a_fixed_model_is_proved(path: Path, target: str, fixed: FixedFiles) -> None:
    try:
        output, _ = fixed(path, target)
    except GraphfixError:
        assert model_id(path).startswith(("rfc/incompatible", "trait/bad", "trait/three_incompatible"))
        return
    assert proved(path, output).reason is None


TEXT = """g (float[N,4] x, float[4] b) => (float[N,4] z) {
    a = Add(x, w)
    m = Mul(x, b)
    s = Sub(a, m)
    z = Div(s, v)
}"""


@pytest.fixture
def model(written: Written) -> Path:
    rng = np.random.default_rng(3)
    return written(
        TEXT, w=rng.normal(size=(1, 4)).astype(np.float32), v=rng.normal(size=(500, 4))[:1].astype(np.float32)
    )


def _saved(model: ModelProto, path: Path) -> Path:
    path.write_bytes(model.SerializeToString())
    return path


def test_a_file_saved_by_onnx_is_proved(model: Path, tmp_path: Path) -> None:
    onnx.save(onnx.load(model), tmp_path / "saved.onnx")
    assert proved(model, tmp_path / "saved.onnx").proved


def test_weights_moved_to_another_file_and_back_are_proved(model: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.onnx"
    onnx.save(onnx.load(model), outside, save_as_external_data=True, location="weights", size_threshold=0)
    inside = _saved(onnx.load(outside), tmp_path / "inside.onnx")
    assert proved(model, outside).proved
    assert proved(outside, inside).proved
    bits = bytearray((tmp_path / "weights").read_bytes())
    bits[3] ^= 1
    (tmp_path / "weights").write_bytes(bits)
    assert not proved(model, outside).proved


def test_nodes_in_another_order_are_proved(model: Path, tmp_path: Path) -> None:
    proto = onnx.load(model)
    pending, held, done = list(proto.graph.node), {"x", "b", "w", "v"}, list[NodeProto]()
    while pending:
        ready = [node for node in pending if held.issuperset(node.input)]
        node = ready[-1]
        pending.remove(node)
        done.append(node)
        held.update(node.output)
    assert [node.op_type for node in done] != [node.op_type for node in proto.graph.node]
    del proto.graph.node[:]
    proto.graph.node.extend(done)
    assert proved(model, _saved(proto, tmp_path / "shuffled.onnx")).proved


def test_other_names_of_inner_values_are_proved(model: Path, tmp_path: Path) -> None:
    proto = onnx.load(model)
    for node in proto.graph.node:
        for names in (node.input, node.output):
            names[:] = [f"{name}_renamed" if name in "ams" else name for name in names]
    assert proved(model, _saved(proto, tmp_path / "renamed.onnx")).proved


@pytest.mark.parametrize("name", REWRITTEN.split())
def test_a_tflite_file_written_anew_is_proved(name: str, tmp_path: Path) -> None:
    before, made, after = MODELS / f"{name}.tflite", tmp_path / "fixed.tflite", tmp_path / "again.tflite"
    api.fix_file(before, made, check_result=False)
    after.write_bytes(tflite_faults.packed(tflite_faults.unpacked(made.read_bytes())))
    assert after.read_bytes() != made.read_bytes()
    assert proved(before, after).proved
    assert proved(made, after).proved


def test_a_constant_that_is_written_out_stretched_is_the_same_constant(written: Written) -> None:
    text = "g (float[3,4] x) => (float[3,4] y) { y = Add(x, w) }"
    row = np.float32([[1, 2, 3, 4]])
    assert prove(written(text, w=row[0]), written(text, w=np.repeat(row, 3, 0))).proved
    assert not prove(written(text, w=row[0]), written(text, w=np.float32([[1, 2, 3, 4]] * 2 + [[1, 2, 3, 5]]))).proved


def test_two_draws_of_random_numbers_are_not_one_value(written: Written) -> None:
    text = """g (float[3] x) => (float[3] y) {{
        a = RandomNormalLike(x)
        b = RandomNormalLike(x)
        y = Sub(a, {})
    }}"""
    assert not prove(written(text.format("b")), written(text.format("a"))).proved


def test_a_check_that_only_the_second_file_makes_is_not_proved(written: Written) -> None:
    text = "g (float[N] x, float[4] b, float[M] c) => (float[4] y) {{ {} y = Add(x, {}) }}"
    assert not prove(written(text.format("", "b")), written(text.format("s = Shape(c) e = Expand(b, s)", "e"))).proved


def test_sizes_that_meet_are_one_set_however_they_were_nested() -> None:
    algebra = Algebra()
    n, m = algebra.symbol(("n",)), algebra.symbol(("m",))
    assert algebra.broadcast_size((n, 1)) is n
    assert algebra.broadcast_size((n, algebra.broadcast_size((m, n)))) is algebra.broadcast_size((m, n))
    assert algebra.broadcast_size((n, 4)) is not algebra.broadcast_size((m, 4))
    assert result_size(algebra.broadcast_size((n, 4))) == 4
    assert result_size(algebra.broadcast_size((2, 3))) is algebra.broadcast_size((3, 2))  # nothing fits: no size
