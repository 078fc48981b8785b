"""Pairs of TFLite models that were proved once, and are not equal: what LiteRT makes of them, and what the proof."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema

from graphfix import api
from graphfix.checker.files.tflite.file import read
from graphfix.checker.proof.tflite.definitions.formulas import OVERFLOWING, SQUARED
from graphfix.checker.proof.tflite.definitions.sequence_lstm import has_own_state
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from models.builders.tflite.text import model as tflite
from tests.rewrites.test_unroll_sequence_lstm import text as lstm
from tests.support.faults.tflite.planted import packed, unpacked
from tests.support.proving import prove

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

VECTORS = "b:const:int32[2]{{{}}}, e:const:int32[2]{{{}}}, t:const:int32[2]{{{}}}"
CUT = f"c[*] = STRIDED_SLICE({{}}, {VECTORS}, ellipsis_mask=1{{}})"


class Pair(NamedTuple):
    """Two models, and what tells them apart."""

    before: str
    after: str
    feeds: Mapping[str, np.ndarray]


def ones(**sizes: tuple[int, ...]) -> dict[str, np.ndarray]:
    return {name: np.ones(size, np.float32) for name, size in sizes.items()}


def joined(other: str) -> tuple[str, str]:
    """A CONCATENATION that reads e, which has no elements, and one that reads f instead."""
    text = "subgraph main(x[2,3], e[0,3], {}) -> y, z:\ny[2,3] = CONCATENATION(x, {}, axis=0)\nz{} = NEG(f)"
    return text.format(other, "e", other[1:]), text.format(other, "f", other[1:])


SHAPE_IS_1 = "s:int32[1] = SHAPE(x[N], out_type=INT32)\nc:bool[1] = EQUAL(s, o:const:int32[1]{1})"
EVERY_OTHER = CUT.format("x[3]", "0,0", "0,3", "1,2", "") + "\n"
PAIRS = {
    "a sum of single numbers begins with 0": Pair(
        "s[1,4] = CUMSUM(x[1,4], a:const:int32[]{0})\ny[1,4] = NEG(s)",
        "y[1,4] = NEG(x[1,4])",
        {"x": np.full((1, 4), -0.0, np.float32)},
    ),
    "an empty operand of another rank": Pair(
        *joined("f[0]"), ones(x=(2, 3), e=(0, 3), f=(0,))
    ),
    "an empty operand with another size beside": Pair(
        *joined("f[0,5]"), ones(x=(2, 3), e=(0, 3), f=(0, 5))
    ),
    "an empty operand of another type": Pair(
        *joined("f:int32[0,3]"),
        {**ones(x=(2, 3), e=(0, 3)), "f": np.ones((0, 3), np.int32)},
    ),
    "a choice of single elements has the shape that the file states": Pair(
        "s[1,1] = SELECT_V2(c:const:bool[]{True}, a:const[]{1.0}, b:const[]{2.0})\ny[1,3] = ADD(x[3], s)",
        "y[3] = ADD(x[3], s:const[]{1.0})",
        ones(x=(3,)),
    ),
    "a choice of single whole numbers has the shape that the file states": Pair(
        f"{SHAPE_IS_1}\nt:int32[1,1] = SELECT_V2(c, s, s)\ny:int32[1,1] = NEG(t)",
        f"{SHAPE_IS_1}\nt:int32[1] = SELECT_V2(c, s, s)\ny:int32[1] = NEG(t)",
        ones(x=(1,)),
    ),
    "an ellipsis for no axis stands for one": Pair(
        CUT.format("k:const[3]{1.0,2.0,3.0}", "0,-1", "0,5", "1,1", ", shrink_axis_mask=2") + "\ny[3] = ADD(x[3], c)",
        "y[3] = ADD(x[3], c:const[]{3.0})",
        ones(x=(3,)),
    ),
    "the sizes of what an ellipsis for no axis leaves": Pair(
        EVERY_OTHER + "s:int32[1] = SHAPE(c, out_type=INT32)\ny:int32[1] = NEG(s)\nz[*] = NEG(c)",
        EVERY_OTHER + "y:int32[1] = NEG(s:const:int32[1]{2})\nz[*] = NEG(c)",
        ones(x=(3,)),
    ),
}  # fmt: skip


def ran(path: Path, feeds: Mapping[str, np.ndarray]) -> tuple[object, ...]:
    """What LiteRT's reference kernels return as `y`, or that they refuse the model."""
    with Child() as child:
        try:
            session = child.load_tflite(path, "reference")
            found = dict(zip(session.outputs, session.run(feeds), strict=True))
        except RefusedError:
            return ("refused",)
    y = np.asarray(found["y"])
    return y.shape, y.tobytes()


def files(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"{number}.tflite" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(tflite(text))
    return paths


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_litert_tells_apart_is_not_proved(pair: Pair, tmp_path: Path) -> None:
    paths = files(tmp_path, pair.before, pair.after)
    before, after = (ran(path, pair.feeds) for path in paths)
    assert before != after
    assert before != ("refused",)
    assert prove(*paths, tflite=True).status == "not proved"


def test_the_squares_of_complex_numbers_are_assumed_to_be_floats(tmp_path: Path) -> None:
    paths = files(
        tmp_path,
        "y[8] = COMPLEX_ABS(x:complex64[8])",
        "r[8] = REAL(x:complex64[8])\ni[8] = IMAG(x)\na[8] = MUL(r, r)\nb[8] = MUL(i, i)\n"
        "s[8] = ADD(a, b)\ny[8] = SQRT(s)",
    )
    proof = prove(*paths, tflite=True)
    assert (proof.status, SQUARED in proof.assumes) == ("bounded", True)


@pytest.mark.ci
@pytest.mark.parametrize(
    ("divisor", "assumed"), [("b:int32[3]", True), ("b:const:int32[]{-1}", True), ("b:const:int32[]{7}", False)]
)
def test_that_no_quotient_overflows_is_assumed_where_one_may(divisor: str, assumed: bool, tmp_path: Path) -> None:
    (before,) = files(tmp_path, f"y:int32[3] = FLOOR_DIV(x:int32[3], {divisor})")
    after = tmp_path / "after.tflite"
    api.fix_file(before, after, target="tosa")
    proof = prove(before, after, tflite=True)
    assert (proof.status, OVERFLOWING in proof.assumes) == ("proved", assumed)


def test_a_product_beyond_64_bits_is_no_error(tmp_path: Path) -> None:
    text = (
        "p:int64[] = REDUCE_PROD(c:const:int64[2]{65536,9223372036854775807}, a:const:int32[1]{0})\n"
        "q:bool[] = EQUAL(p, d:const:int64[]{65536})\ny:bool[3] = LOGICAL_AND(x:bool[3], q)"
    )
    assert prove(*files(tmp_path, text, text), tflite=True).status == "proved"


@pytest.mark.ci
def test_divisors_with_scales_are_not_read_by_another_operator(tmp_path: Path) -> None:
    """LiteRT's FLOOR_DIV does not look at them, its DIV takes one alone."""
    text = "y:int32[2,3] = FLOOR_DIV(x:int32[2,3], b:int32[2,3])"
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(tflite(text))
    api.fix_file(before, after, target="tosa")
    assert prove(before, after, tflite=True).status == "proved"
    for path in (before, after):
        model = unpacked(path.read_bytes())
        (tensor,) = (each for each in model.subgraphs[0].tensors if each.name == b"b")
        tensor.quantization = schema.QuantizationParametersT()
        tensor.quantization.scale = np.float32([0.5, 0.25])
        tensor.quantization.zeroPoint = np.int64([0, 0])
        tensor.quantization.quantizedDimension = 0
        path.write_bytes(packed(model))
    assert prove(before, after, tflite=True).status == "not proved"


def test_an_operator_that_another_subgraph_repeats_has_no_state_of_its_own(tmp_path: Path) -> None:
    text = lstm(time_major=True)
    data = text[text.index("x[") : text.index("]", text.index("x[")) + 1]
    head = f"subgraph main({data}) -> y:\n{text.replace(data, 'x')}\n"
    loop = (
        f"subgraph loop({data.replace('x', 'u', 1)}) -> w:\nw[*] = WHILE(u, cond=test, body=main)\n"
        f"subgraph test({data.replace('x', 'v', 1)}) -> b:\nb:bool[] = LESS(k:const:int32[]{{1}}, k)\n"
    )
    found = []
    for each in files(tmp_path, head, head + loop):
        with ExitStack() as stack:
            model = read(each, stack)[0]
            graph = model.subgraphs[0]
            (operator,) = (each for each in graph.operators if each.name == "UNIDIRECTIONAL_SEQUENCE_LSTM")
            found.append(has_own_state(model, graph, operator))
    assert found == [True, False]


def longer(path: Path, name: str, count: int) -> Path:
    """Append bytes to a constant's buffer."""
    model = unpacked(path.read_bytes())
    (tensor,) = (each for each in model.subgraphs[0].tensors if each.name == name.encode())
    buffer = model.buffers[tensor.buffer]
    buffer.data = np.concatenate([buffer.data, np.zeros(count, np.uint8)])
    path.write_bytes(packed(model))
    return path


LIFTED = (
    "y[2,4] = ADD(x[2,4], b:const[4]{1.0,2.0,3.0,4.0})",
    "r[1,4] = RESHAPE(b:const[4]{1.0,2.0,3.0,4.0}, s:const:int32[2]{1,4}, new_shape=[1,4])\ny[2,4] = ADD(x[2,4], r)",
)


def test_a_constant_with_bytes_behind_its_elements_is_not_read_by_another_operator(tmp_path: Path) -> None:
    """LiteRT loads it, and copies all of its bytes into the result of a RESHAPE, which has no room for them."""
    before, after = files(tmp_path, *LIFTED)
    assert prove(before, after, tflite=True).status == "proved"
    before, after = (longer(path, "b", 400) for path in (before, after))
    assert prove(before, before, tflite=True).status == "proved"
    assert prove(before, after, tflite=True).status == "not proved"


def test_an_input_on_a_constants_buffer_is_not_proved(tmp_path: Path) -> None:
    """LiteRT writes what is fed over the constant."""
    paths = files(tmp_path, *LIFTED)
    for path in paths:
        model = unpacked(path.read_bytes())
        tensors = {each.name: each for each in model.subgraphs[0].tensors}
        tensors[b"x"].buffer = len(model.buffers)
        model.buffers.append(schema.BufferT())
        model.buffers[-1].data = np.zeros(32, np.uint8)
        path.write_bytes(packed(model))
    assert prove(*paths, tflite=True).status == "not proved"
