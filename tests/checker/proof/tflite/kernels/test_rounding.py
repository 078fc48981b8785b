"""Kernels that compute an element otherwise by how many there are: what moves them to others is not proved."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.checker.proof.tflite.kernels.kernel_choice import ROUNDING
from models.builders.tflite.text import Quantized, model
from tests.support.proving import prove
from tests.support.runtimes.litert_runs import KERNELS, Job, run

if TYPE_CHECKING:
    from pathlib import Path


def _status(folder: Path, before: str, after: str) -> str:
    for name, text in (("before", before), ("after", after)):
        (folder / f"{name}.tflite").write_bytes(model(text))
    return prove(folder / "before.tflite", folder / "after.tflite", tflite=True).status


@pytest.mark.parametrize("operator", ["LOGISTIC", "HARD_SWISH", "GELU", "TANH", "ELU"])
def test_a_function_that_is_computed_in_packets_is_not_moved_behind_a_stretch(tmp_path: Path, operator: str) -> None:
    to = "const:int32[1]{9}"
    first = f"q[1] = {operator}(x[1])\ny[9] = BROADCAST_TO(q, t:{to})"
    second = f"q[9] = BROADCAST_TO(x[1], t:{to})\ny[9] = {operator}(q)"
    assert _status(tmp_path, first, second) == "not proved"
    assert _status(tmp_path, second, first) == "not proved"


def test_but_behind_unit_axes(tmp_path: Path) -> None:
    to = "const:int32[]{1}"
    first = f"q[2,3] = LOGISTIC(x[2,3])\ny[2,1,3] = EXPAND_DIMS(q, t:{to})"
    second = f"q[2,1,3] = EXPAND_DIMS(x[2,3], t:{to})\ny[2,1,3] = LOGISTIC(q)"
    assert _status(tmp_path, first, second) == "proved"


X, THREES = "x[2,3]", "e:const[2,3]{3.0,3.0,3.0,3.0,3.0,3.0}"


@pytest.mark.parametrize(
    ("first", "second", "answer"),
    [
        ((X, "e[]"), (X, "e[]"), "proved"),
        ((X, "e:const[]{3.0}"), (X, "e:const[1,1]{3.0}"), "proved"),
        ((X, "e:const[]{3.0}"), (X, THREES), "not proved"),
        ((X, "e:const[]{2.000001}"), (X, "e:const[3]{2.000001,2.000001,2.000001}"), "not proved"),
        ((X, "e:const[]{0.5}"), (X, "e:const[3]{0.5,0.5,0.5}"), "proved"),
        ((X, "e:const[]{-2.0}"), (X, "e:const[3]{-2.0,-2.0,-2.0}"), "proved"),
        ((X, "e:const[3]{3.0,3.0,3.0}"), (X, THREES), "proved"),
        (("x:int32[2,3]", "e:const:int32[]{3}"), ("x:int32[2,3]", "e:const:int32[3]{3,3,3}"), "not proved"),
        (("x:int32[2,3]", "e:const:int32[]{0}"), ("x:int32[2,3]", "e:const:int32[3]{0,0,0}"), "proved"),
        # the shapes of one element by one are the same, or differ in rank
        (("x[1,1]", "e:const[]{3.0}"), ("x[1,1]", "e:const[1]{3.0}"), "proved"),
        (("x[1,1]", "e:const[1]{3.0}"), ("x[1,1]", "e:const[1,1]{3.0}"), "not proved"),
        (("x[N,1]", "e:const[1]{3.0}"), ("x[N,1]", "e:const[1,1]{3.0}"), "not proved"),
        (("x[N,3]", "e:const[1]{3.0}"), ("x[N,3]", "e:const[1,1]{3.0}"), "proved"),
        (("x[N,1]", "e:const[1]{0.5}"), ("x[N,1]", "e:const[1,1]{0.5}"), "proved"),
    ],
    ids=str,
)
def test_one_whole_exponent_is_multiplied_out_where_the_shapes_differ(
    tmp_path: Path, first: tuple[str, str], second: tuple[str, str], answer: str
) -> None:
    kind = ":int32" if "int32" in first[0] else ""
    sizes = first[0].partition("[")[2].replace("N", "?")
    before, after = (f"y{kind}[{sizes} = POW({', '.join(operands)})" for operands in (first, second))
    assert _status(tmp_path, before, after) == answer
    assert _status(tmp_path, after, before) == answer


@pytest.mark.parametrize(
    ("base", "exponent", "stretched", "answer"),
    [
        ("x[2,N]", "e[1,M]", 0, "proved"),
        ("x[2,N]", "e[1,M]", 1, "not proved"),
        ("x[N,2]", "e[N,2]", 1, "proved"),
        ("x[1,N]", "e[M,1]", 0, "proved"),
        ("x[1,N]", "e[M,1]", 1, "not proved"),
        ("x[N,1]", "e[1,M]", 1, "not proved"),
    ],
)
def test_an_exponent_that_may_be_one_is_not_moved(
    tmp_path: Path, base: str, exponent: str, stretched: int, answer: str
) -> None:
    """Which of the operands is stretched by the shape of both."""
    operands = ["x", "e"]
    shapes = (
        f"a:int32[2] = SHAPE({base}, out_type=INT32)\nb:int32[2] = SHAPE({exponent}, out_type=INT32)\n"
        "t:int32[2] = BROADCAST_ARGS(a, b)\n"
    )
    first = f"{shapes}u[?,?] = BROADCAST_TO({operands[stretched]}, t)\nz[?,?] = ABS(u)\n"
    whole = [*operands]
    whole[stretched] = "u"
    one, two = (f"{first}y[?,?] = POW({', '.join(given)})" for given in (operands, whole))
    assert _status(tmp_path, one, two) == answer


@pytest.mark.parametrize(
    ("operator", "scale", "answer", "assumed"),
    [
        ("MUL", 0.5, "not proved", False),
        ("MUL", 200.0, "proved", False),
        ("ADD", 0.003, "not proved", False),
        ("ADD", 0.5, "proved", True),
    ],
)
def test_a_result_of_8_bits_that_leaves_16_goes_by_where_it_is(
    tmp_path: Path, operator: str, scale: float, answer: str, assumed: bool
) -> None:
    """Of operands with the scale 1. Halves of sums are rounded by where they are as well: that is assumed."""
    stretch = "u:uint8[2,31] = BROADCAST_TO(b:uint8[31], t:const:int32[2]{2,31})\nz:uint8[2,31] = ABS(u)\n"
    files = []
    for at, operand in enumerate(("b", "u")):
        text = f"{stretch}y:uint8[2,31] = {operator}(x:uint8[2,31], {operand})"
        scales = {name: Quantized(1.0, 128) for name in "xbuz"} | {"y": Quantized(scale, 128)}
        files.append(tmp_path / f"{at}.tflite")
        files[-1].write_bytes(model(text, quantization=scales))
    proof = prove(*files, tflite=True)
    assert proof.status == answer
    assert (ROUNDING in proof.assumes) == assumed


@pytest.mark.parametrize(
    ("operator", "scale", "answer"),
    [
        pytest.param("SUB", 1 / 256, "proved", id="a mask: of [0, 1] by a large number"),
        pytest.param("ADD", 1 / 256, "proved", id="a sum"),
        pytest.param("SUB", 1.0, "not proved", id="numbers that leave 16 bits"),
        pytest.param("MUL", 1 / 256, "not proved", id="a product, of which nothing is entered"),
    ],
)
def test_a_product_stays_in_16_bits_where_its_operand_is_small(
    tmp_path: Path, operator: str, scale: float, answer: str
) -> None:
    """Of a difference whose own scale is large, as converters write `(1 - mask) * -10000`."""
    stretch = "u:int8[2,31] = BROADCAST_TO(b:int8[31], t:const:int32[2]{2,31})\nz:int8[2,31] = ABS(u)\n"
    files = []
    for at, operand in enumerate(("b", "u")):
        text = f"{stretch}d:int8[2,31] = {operator}(x:int8[2,31], w:int8[2,31])\ny:int8[2,31] = MUL(d, {operand})"
        scales = {name: Quantized(scale, -128) for name in "xw"}
        scales |= {name: Quantized(40.0, 127) for name in "dbuzy"}
        files.append(tmp_path / f"{at}.tflite")
        files[-1].write_bytes(model(text, quantization=scales))
    assert prove(*files, tflite=True).status == answer
    values = np.resize(np.arange(-128, 128).astype(np.int8), (2, 31))
    feeds = {"x": values, "w": values[::-1].copy(), "b": np.full(31, -128, np.int8)}
    if answer == "proved":
        ran = run([Job(path, kernels, feeds) for path in files for kernels in KERNELS])
        assert all(each.fine for each in ran)
        assert all((each.outputs[-1] == ran[0].outputs[-1]).all() for each in ran)


def test_int4_is_not_broadcast_by_elements(tmp_path: Path) -> None:
    first = "y:int4[1,3] = BROADCAST_TO(x:int4[3], s:const:int32[2]{1,3})"
    second = "y:int4[1,3] = RESHAPE(x:int4[3], s:const:int32[2]{1,3})"
    assert _status(tmp_path, first, second) == "not proved"
