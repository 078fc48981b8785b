"""Runtimes look at constants as they load a model: what the file holds in place of what is computed is another thing.

And ranks that a runtime asks for: of the scales and zero points of columns, and types that only a kernel knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.support.proof_graphs import floats, ints
from tests.support.proving import prove

if TYPE_CHECKING:
    from tests.support.written import Written

MICROSOFT = ', "com.microsoft" : 1'
WHERE = "y = com.microsoft.QLinearWhere(k, x, s, {}, w, s, z, s, z)"
DATA = {
    "s": np.float32(0.5), "z": np.uint8(3), "w": np.arange(4, dtype=np.uint8), "zero": np.int64(0), "two": np.int64(2),
    "one": np.int64(1), "v0": ints(0), "v1": ints(1), "v2": ints(2), "b": np.arange(12, dtype=np.int8).reshape(4, 3),
    "zs": np.arange(3, dtype=np.int8), "zb": np.int8(1), "zv": np.array([1], np.int8), "to3": ints(1, 4, 3),
    "half": floats(0.5), "st": ints(16),
}  # fmt: skip


def _where(body: str) -> str:
    return f"g (bool[N,4] k, uint8[N,4] x) => (uint8[N,4] y) {{ {body} }}"


def _moved(body: str) -> str:
    return f"g (float[N,4] x) => (float[a,b] y) {{ {body} }}"


def _counted(body: str) -> str:
    return f"g (int64[N] x) => (int64[a] y) {{ {body} }}"


def _spectrum(body: str) -> str:
    return f"g (float[N,32,1] x) => (float[a,b,c] y) {{ {body} }}"


def _product(body: str) -> str:
    return f"g (uint8[N,M,4] x) => (int32[a,b,c] y) {{ {body} }}"


STORED_OTHERWISE = {
    "a zero point that onnxruntime reads as it loads": (_where(WHERE.format("z")),
                                                        _where("i = Identity(z) " + WHERE.format("i"))),
    "a vector that is refused as an end": (_counted("i = Identity(v2) y = Range(zero, i, one)"),
                                           _counted("y = Range(zero, v2, one)")),
    "a vector that is refused as a length": (_spectrum("i = Identity(st) y = DFT(x, i)"), _spectrum("y = DFT(x, st)")),
    "a scalar that is refused as a shape": (_moved("y = Expand(x, one)"), _moved("i = Identity(one) y = Expand(x, i)")),
    "zero points of columns, and a stack of one": (
        _product("y = MatMulInteger(x, b, z, zs)"), _product("r = Reshape(b, to3) y = MatMulInteger(x, r, z, zs)")),
}  # fmt: skip
ALIKE = {
    "a computed operand that is stretched": (_where(WHERE.format("z")), _where(
        "g = Shape(x) e = Expand(w, g) y = com.microsoft.QLinearWhere(k, x, s, z, e, s, z, s, z)")),
    "a scalar that is an end": (_counted("i = Identity(two) y = Range(zero, i, one)"),
                                _counted("y = Range(zero, two, one)")),
    "vectors that are bounds": (_moved("i = Identity(v1) y = Slice(x, v0, i, v1)"), _moved("y = Slice(x, v0, v1, v1)")),
    "a zero point of all columns": (
        _product("y = MatMulInteger(x, b, z, zv)"), _product("r = Reshape(b, to3) y = MatMulInteger(x, r, z, zv)")),
}  # fmt: skip


@pytest.mark.parametrize("name", STORED_OTHERWISE)
def test_what_runtimes_ask_of_constants_and_of_ranks_is_held(name: str, written: Written) -> None:
    before, after = (written(text, domains=MICROSOFT, **DATA) for text in STORED_OTHERWISE[name])
    assert not prove(before, after).proved


@pytest.mark.parametrize("name", ALIKE)
def test_within_the_contract_it_does_not_count_who_computes_an_operand(name: str, written: Written) -> None:
    before, after = (written(text, domains=MICROSOFT, **DATA) for text in ALIKE[name])
    assert prove(before, after).proved
    assert prove(after, before).proved


def test_a_constant_that_a_function_is_called_with_is_one_within_it(written: Written) -> None:
    function = (
        '<domain: "own", opset_import: ["" : 17]> Count (end) => (y) {'
        " zero = Constant <value_int = 0> () one = Constant <value_int = 1> () y = Range (zero, end, one) }"
    )
    domains = ', "own" : 1'
    before, after = (
        written(_counted(body), domains=domains, functions=function, **DATA)
        for body in ("i = Identity(v2) y = own.Count(i)", "y = own.Count(v2)")
    )
    assert not prove(before, after).proved
    assert prove(before, before).proved


@pytest.mark.parametrize("kind", ["INT4", "UINT4"])
def test_elements_of_half_a_byte_are_not_stretched_behind_another_domains_quantization(
    kind: str, written: Written
) -> None:
    quantized = f"n = Constant <value = {kind.lower()} n0 {{1}}> () q = com.microsoft.QuantizeLinear(x, half, n) "
    before, after = (
        written(_moved(quantized + body), opset=21, domains=MICROSOFT, **DATA)
        for body in (
            "d = com.microsoft.DequantizeLinear(q, half, n) y = Unsqueeze(d, v0)",
            "u = Unsqueeze(q, v0) y = com.microsoft.DequantizeLinear(u, half, n)",
        )
    )
    assert not prove(before, after).proved


@pytest.mark.parametrize("node", ["CastLike(x)", "QuantizeLinear(x)", "com.microsoft.QuantizeLinear(x)",
                                  "com.microsoft.DequantizeLinear(x)", "com.microsoft.QuantizeLinear()"])  # fmt: skip
def test_a_node_without_the_operands_that_say_its_type_is_read(node: str, written: Written) -> None:
    before, after = (written(_moved(f"q = {node} {rest}"), domains=MICROSOFT) for rest in ("y = Abs(q)", "y = Neg(q)"))
    assert not prove(before, after).proved
