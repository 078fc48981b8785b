"""What an operator's own broadcasting makes redundant: text in, text out, in both formats; and what stays, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

from models.builders.tflite.text import model as model_tflite
from tests.support import engine
from tests.support.notation import model
from tests.support.onnx import fixing as onnx_fixing
from tests.support.proved import unproved
from tests.support.proving import prove
from tests.support.runtimes import litert_runs
from tests.support.runtimes.onnx_runs import run
from tests.support.tflite import fixing as tflite_fixing

FOLD = "fold-broadcasts"
ONES, ZEROS = ",".join(["1.0"] * 8), ",".join(["0.0"] * 8)
WHOLE_ONES = ",".join(["1"] * 8)
NEGATIVE = ",".join(["-0.0"] * 8)

GOES = {
    "an Expand": (
        "e[2,3,4] = Expand(b[4], s:const{2,3,4})\ny[2,3,4] = Add(x[2,3,4], e)",
        ["y[2,3,4] = Add(x[2,3,4], b[4])"],
    ),
    "a lift": (
        "r[1,1,4] = Reshape(b[4], s:const{1,1,4})\ny[2,3,4] = Add(x[2,3,4], r)",
        ["y[2,3,4] = Add(x[2,3,4], b[4])"],
    ),
    "an Unsqueeze of free sizes in front": (
        "u[1,N,M] = Unsqueeze(b[N,M], a:const{0})\ny[2,N,M] = Add(x[2,N,M], u)",
        ["y[2,N,M] = Add(x[2,N,M], b[N,M])"],
    ),
    "a Squeeze of axes in front": (
        "q[4] = Squeeze(b[1,1,4], a:const{0,1})\ny[2,3,4] = Add(x[2,3,4], q)",
        ["y[2,3,4] = Add(x[2,3,4], b[1,1,4])"],
    ),
    "a lift and an Expand behind it": (
        "r[1,4] = Reshape(b[4], t:const{1,4})\ne[2,4] = Expand(r, s:const{2,4})\ny[2,4] = Mul(e, x[2,4])",
        ["y[2,4] = Mul(b[4], x[2,4])"],
    ),
    "a run-time Expand to the shape of what it meets, and the Shape that only served it": (
        "s:int64[2] = Shape(a[N,4])\ne[N,4] = Expand(b[1,4], s)\ny[N,4] = Add(a, e)",
        ["y[N,4] = Add(a[N,4], b[1,4])"],
    ),
    "two of them, each by the shape of the other": (
        (
            "s:int64[1] = Shape(a[N])\nt:int64[1] = Shape(b[M])\ne[?] = Expand(b, s)\n"
            "f[?] = Expand(a, t)\ny[?] = Add(f, e)"
        ),
        ["y[?] = Add(a[N], b[M])"],
    ),
    "a Tile of an axis of size 1": (
        "t[3,4] = Tile(b[1,4], r:const{3,1})\ny[3,4] = Sub(x[3,4], t)",
        ["y[3,4] = Sub(x[3,4], b[1,4])"],
    ),
    "a product with ones": (
        f"o[2,4] = Mul(x[4], c:const[2,4]{{{ONES}}})\nz[2,4] = Mul(y[2,4], o)",
        ["z[2,4] = Mul(y[2,4], x[4])"],
    ),
    "a product with ones that stretches nothing, whoever reads it": (
        "o[2,4] = Mul(c:const[]{1.0}, x[2,4])\nz[2,4] = Neg(o)",
        ["z[2,4] = Neg(x[2,4])"],
    ),
    "a sum with -0.0": (
        f"o[2,4] = Add(x[2,4], c:const[2,4]{{{NEGATIVE}}})\nz[2,4] = Neg(o)",
        ["z[2,4] = Neg(x[2,4])"],
    ),
    "a difference with 0.0, and a quotient by 1": (
        "o[2,4] = Sub(x[2,4], c:const[]{0.0})\np[2,4] = Div(o, d:const[]{1.0})\nz[2,4] = Neg(p)",
        ["z[2,4] = Neg(x[2,4])"],
    ),
    "a sum with zeros of whole numbers": (
        "o:int32[2,4] = Add(x:int32[2,4], c:const:int32[]{0})\nz:int32[2,4] = Neg(o)",
        ["z[2,4] = Neg(x[2,4])"],
    ),
    "the unit axes in front of a constant": (
        "y[2,3,4] = Add(x[2,3,4], c:const[1,1,4])",
        ["y[2,3,4] = Add(x[2,3,4], c[4])"],
    ),
    "the axes along which nothing changes in a constant": (
        "y[2,2] = Add(x[2,2], c:const[2,2]{5.0,6.0,5.0,6.0})",
        ["y[2,2] = Add(x[2,2], c_restated[2])"],
    ),
    "a lift for the rank that a constant can have": (
        "r[1,4] = Reshape(x[4], t:const{1,4})\ny[1,4] = Add(r, c:const[]{3.0})",
        ["y[1,4] = Add(x[4], c[1,1])"],
    ),
    "the lift of what an Expand stretches": (
        "r[1,4] = Reshape(b[4], t:const{1,4})\ne[2,4] = Expand(r, s:const{2,4})\nz[2,4] = Neg(e)",
        ["e[2,4] = Expand(b[4], s[2])", "z[2,4] = Neg(e[2,4])"],
    ),
    "an Expand in front of a QuantizeLinear and a DequantizeLinear": (
        """
        e[2,4] = Expand(b[4], s:const{2,4})
        q:uint8[2,4] = QuantizeLinear(e, k:const[]{0.5}, z:const:uint8[]{0})
        d[2,4] = DequantizeLinear(q, k, z)
        y[2,4] = Add(x[2,4], d)
        """,
        [
            "q[4] = QuantizeLinear(b[4], k[], z[])",
            "d[4] = DequantizeLinear(q[4], k[], z[])",
            "y[2,4] = Add(x[2,4], d[4])",
        ],
    ),
}


@pytest.mark.parametrize(("text", "after"), GOES.values(), ids=GOES)
def test_what_the_reader_aligns_itself_goes(text: str, after: list[str], tmp_path: Path) -> None:
    done = onnx_fixing.fixed(text, target="compact")
    assert done.view == after
    before, written = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(done.before, before)
    onnx.save(done.after, written)
    assert prove(before, written).proved
    assert list(done.before.graph.input) == list(done.after.graph.input)
    assert list(done.before.graph.output) == list(done.after.graph.output)


STAYS = {
    "who reads it does not broadcast": (
        "e[2,4] = Expand(b[4], s:const{2,4})\nn[2,4] = Neg(e)",
        "Neg 'Neg#1' reads it, and does not broadcast it",
    ),
    "one of those who read it does not broadcast": (
        "e[2,4] = Expand(b[4], s:const{2,4})\ny[2,4] = Add(x[2,4], e)\nn[2,4] = Neg(e)",
        "Neg 'Neg#2' reads it, and does not broadcast it",
    ),
    "nothing else has the size": (
        "e[2,4] = Expand(b[4], s:const{2,4})\ny[2,4] = Add(e, z[4])",
        "Add 'Add#1' has no other operand of the sizes of its result",
    ),
    "both operands are one value": (
        "e[2,4] = Expand(b[4], s:const{2,4})\ny[2,4] = Add(e, e)",
        "Add 'Add#1' has no other operand of the sizes of its result",
    ),
    "whether the sizes fit is what the Expand asks": (
        "e[3,4] = Expand(b[N,4], s:const{3,4})\ny[3,4] = Add(x[M,4], e)",
        "that Add 'Add#1' has its shape without it is not known for all sizes",
    ),
    "the graph returns it": (
        "e[2,4] = Expand(b[4], s:const{2,4})",
        "its result is an output of the graph",
    ),
    "one exponent is raised to by another routine than several": (
        "e[2,4] = Expand(b:const[]{2.0}, s:const{2,4})\ny[2,4] = Pow(x[2,4], e)",
        "with less to read Pow 'Pow#1' may make other bits",
    ),
}


@pytest.mark.parametrize(("text", "reason"), STAYS.values(), ids=STAYS)
def test_what_does_more_stays_and_says_why(text: str, reason: str) -> None:
    done = onnx_fixing.fixed(text, target="compact")
    assert not done.outcome.changed
    assert [why for _, _, why in done.left] == [reason]


KEPT = {
    "a sum with 0.0, which makes 0.0 of -0.0": f"o[2,4] = Add(x[2,4], c:const[2,4]{{{ZEROS}}})\nz[2,4] = Reciprocal(o)",
    "a difference with -0.0": f"o[2,4] = Sub(x[2,4], c:const[2,4]{{{NEGATIVE}}})\nz[2,4] = Reciprocal(o)",
    "a difference from 0": "o[2,4] = Sub(c:const[2,4], x[2,4])\nz[2,4] = Neg(o)",
    "a unit axis that is not in front": "u[4,1] = Unsqueeze(b[4], a:const{1})\ny[2,4,3] = Add(x[2,4,3], u)",
    "a matrix that is not a stack": "y[2,3,5] = MatMul(x[2,3,4], c:const[1,4,5])",
    "a Reshape whose sizes are computed: a 0 would stand for another": (
        "r[1,N] = Reshape(b[N], s:int64[2])\ny[2,N] = Add(x[2,N], r)"
    ),
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_what_is_not_the_same_for_every_number_or_size_is_no_candidate(text: str) -> None:
    done = onnx_fixing.fixed(text, target="compact")
    operators = [node.op_type for node in done.after.graph.node]
    assert operators == [node.op_type for node in done.before.graph.node]


def test_a_sum_with_zeros_is_not_proved_to_be_its_operand_and_is_not(tmp_path: Path) -> None:
    text = f"o[2,4] = {{op}}(x[2,4], c:const[2,4]{{{{{ZEROS}}}}})\nz[2,4] = Reciprocal(o)"
    bare = model("z[2,4] = Reciprocal(x[2,4])")
    onnx.save(bare, tmp_path / "bare.onnx")
    x = np.full((2, 4), -0.0, np.float32)
    for op, same in (("Add", False), ("Sub", True)):
        summed = model(text.format(op=op))
        onnx.save(summed, tmp_path / "summed.onnx")
        assert prove(tmp_path / "summed.onnx", tmp_path / "bare.onnx").proved == same
        assert np.array_equal(run(summed, x=x), run(bare, x=x)) == same


def test_a_gemm_still_refuses_what_the_expand_refused() -> None:
    # C is stretched to [2,2], so that N is 2; a Gemm of C as it is takes any N
    text = "e[2,2] = Expand(c[1,1], t:const{2,2})\ny[2,N] = Gemm(a[2,3], b[3,N], e)"
    assert not onnx_fixing.fixed(text, target="compact").outcome.changed
    same = text.replace("N", "2")
    assert onnx_fixing.fixed(same, target="compact").view == ["y[2,2] = Gemm(a[2,3], b[3,2], c[1,1])"]


TFLITE = {
    "BROADCAST_TO": (
        "e[2,3,4] = BROADCAST_TO(b[4], s:const:int32[3]{2,3,4})\ny[2,3,4] = ADD(x[2,3,4], e)",
        ["y[2,3,4] = ADD(x[2,3,4], b[4])"],
    ),
    "TILE": (
        "e[2,4] = TILE(b[1,4], s:const:int32[2]{2,1})\ny[2,4] = MUL(e, x[2,4])",
        ["y[2,4] = MUL(b[1,4], x[2,4])"],
    ),
    "RESHAPE": (
        "r[1,1,4] = RESHAPE(b[4], s:const:int32[3]{1,1,4})\ny[2,3,4] = SUB(x[2,3,4], r)",
        ["y[2,3,4] = SUB(x[2,3,4], b[4])"],
    ),
    "EXPAND_DIMS of free sizes": (
        "r[1,?,?] = EXPAND_DIMS(b[N,M], s:const:int32[]{0})\ny[2,?,?] = SUB(x[2,N,M], r)",
        ["y[2,?,?] = SUB(x[2,?,?], b[?,?])"],
    ),
    "a product with ones": (
        (f"o:int32[2,4] = MUL(x:int32[4], c:const:int32[2,4]{{{WHOLE_ONES}}})\nz:int32[2,4] = MUL(y:int32[2,4], o)"),
        ["z[2,4] = MUL(y[2,4], x[4])"],
    ),
    "a constant that was written out in full": (
        "y[2,2] = ADD(x[2,2], c:const[2,2]{5.0,6.0,5.0,6.0})",
        ["y[2,2] = ADD(x[2,2], c_restated[2])"],
    ),
}


@pytest.mark.parametrize(("text", "after"), TFLITE.values(), ids=TFLITE)
def test_tflite(text: str, after: list[str], tmp_path: Path) -> None:
    done = tflite_fixing.fixed(text, target="compact")
    assert done.view == after
    before, written = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(done.before)
    written.write_bytes(done.data)
    assert prove(before, written, tflite=True).proved


@pytest.mark.parametrize(("op", "number"), [("MUL", 1.0), ("DIV", 1.0), ("ADD", -0.0), ("SUB", 0.0)])
def test_litert_cuts_infinities_off_beside_float_ones_and_zeros_so_they_stay(
    op: str, number: float, tmp_path: Path
) -> None:
    before = f"o[2] = {op}(x[2], c:const[]{{{number}}})\nz[2] = ABS(o)"
    done = tflite_fixing.fixed(before, target="compact")
    assert not done.outcome.changed
    bare = model_tflite("z[2] = ABS(x[2])")
    assert unproved(done.before, bare) is not None
    cut, whole = litert(tmp_path, (done.before, bare), np.array([np.inf, 1.0], np.float32), "reference")
    assert whole[0] == np.inf
    assert cut[0] == np.finfo(np.float32).max


def litert(folder: Path, models: Sequence[bytes], x: np.ndarray, kernels: str) -> list[np.ndarray]:
    """The output of each model at `x`."""
    paths = [folder / f"{at}.tflite" for at in range(len(models))]
    for path, data in zip(paths, models, strict=True):
        path.write_bytes(data)
    return [ran.outputs[0] for ran in litert_runs.run([litert_runs.Job(path, kernels, {"x": x}) for path in paths])]


def test_a_copy_beside_the_value_stays_in_a_product_of_8_bits_which_xnnpack_rounds_otherwise_as_a_square(
    tmp_path: Path,
) -> None:
    before = "v:int8[256] = BROADCAST_TO(x:int8[256], s:const:int32[1]{256})\ny:int8[256] = MUL(v, x)"
    for target in ("compact", "explicit", "ranks"):
        done = tflite_fixing.fixed(before, target=target)
        assert not done.outcome.changed
    square = model_tflite("y:int8[256] = MUL(x:int8[256], x)")
    assert unproved(done.before, square) is not None
    one, other = litert(tmp_path, (done.before, square), np.arange(-128, 128, dtype=np.int8), "xnnpack")
    assert not np.array_equal(one, other)


@pytest.mark.needs_release("ai-edge-litert>=2.2")  # XNNPACK of an older one keeps the rank
def test_a_constant_of_one_element_carries_no_rank_which_xnnpack_would_drop(tmp_path: Path) -> None:
    text = (
        "r:int8[1,8,3] = EXPAND_DIMS(x:int8[8,3], a:const:int32[]{0})\n"
        "y:int8[1,8,3] = ADD(r, c:const:int8[3]{1,1,1}, fused_activation_function=RELU)"
    )
    done = tflite_fixing.fixed(text, target="compact")
    assert done.view == ["y[1,8,3] = ADD(x[8,3], c_restated[1,1,3])"]
    x = np.ones((8, 3), np.int8)
    assert [out.shape for out in litert(tmp_path, (done.before, done.data), x, "xnnpack")] == [(1, 8, 3)] * 2
    dropped = model_tflite("y:int8[1,8,3] = ADD(x:int8[8,3], c:const:int8[1,1,1]{1}, fused_activation_function=RELU)")
    assert litert(tmp_path, (dropped,), x, "xnnpack")[0].shape == (8, 3), "LiteRT keeps the rank: take the rule out"


def test_which_zero_a_where_returns_goes_by_shapes_which_the_proof_assumes_away(tmp_path: Path) -> None:
    text = "e[2] = Expand(z[], s:const{2})\nv[2] = Where(c:bool[], w[2], e)\ny[2] = Neg(v)"
    done = onnx_fixing.fixed(text, target="compact")
    assert done.view == ["v[2] = Where(c[], w[2], z[])", "y[2] = Neg(v[2])"]
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, proto in zip(paths, (done.before, done.after), strict=True):
        onnx.save(proto, path)
    proof = prove(*paths)
    assert proof.proved
    assert any("sign of zero" in text for text in proof.assumes)


def test_quantized_ones_are_no_ones() -> None:
    text = "o:int8[2,4] = MUL(x:int8[2,4], c:const:int8[]{1})\nz:int8[2,4] = ABS(o)"
    done = tflite_fixing.fixed(text, target="compact")
    assert done.view[0].startswith("o[2,4] = MUL")


def test_a_variable_is_read_when_the_file_reads_it() -> None:
    text = "v:variable[4]\no[2,4] = BROADCAST_TO(v, s:const:int32[2]{2,4})\nz[2,4] = MUL(y[2,4], o)"
    done = tflite_fixing.fixed(text, target="compact")
    assert not done.outcome.changed
    assert [why for _, _, why in done.left] == ["'v' is a variable, which may be written before it is read here"]


@pytest.mark.parametrize("name", ["ranks", "explicit"])
def test_the_round_trip_is_what_folding_alone_makes(name: str) -> None:
    path = Path(__file__).parents[2] / "models" / "encoder.onnx"
    there = engine.load(path)
    engine.fix(there, target=name)
    back = engine.load(there.tobytes())
    engine.fix(back, target="compact")
    alone = engine.load(path)
    engine.fix(alone, target="compact")
    mine, theirs = (
        [str(node.op) for node in each.finish()[0].nodes if node.op != "Constant"] for each in (back, alone)
    )
    assert mine == theirs
