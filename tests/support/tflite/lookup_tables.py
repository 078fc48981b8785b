"""Small TFLite models of which XNNPACK makes one lookup table, each with forms of which it makes none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from models.builders.tflite.text import Quantized, model
from tests.support.runtimes.litert_groups import Job, run

if TYPE_CHECKING:
    from collections.abc import Mapping

SCALE: Final = Quantized(0.1, 3)
PINNED: Final = {"TANH": Quantized(1 / 128, 0), "LOGISTIC": Quantized(1 / 256, -128)}
"""How kernels ask a result to be quantized."""
BEFORE: Final = {
    "ADD": "a:int8[2,3] = ADD(x, j:const:int8[1]{7})",
    "SUB": "a:int8[2,3] = SUB(j:const:int8[1]{7}, x)",
    "TANH": "a:int8[2,3] = TANH(x)",
    "LOGISTIC": "a:int8[2,3] = LOGISTIC(x)",
    "QUANTIZE": "a:int8[2,3] = QUANTIZE(x)",
}
"""Nodes of 8 bits that begin a chain, whose result is a."""
OF_BYTES: Final = ("ADD", "SUB", "MUL")
OF_FLOATS: Final = ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
THERE_AND_BACK: Final = (
    "r:{0}[1,2,3] = RESHAPE({1}, to:const:int32[3]{{1,2,3}})\ns:{0}[2,3] = RESHAPE(r, back:const:int32[2]{{2,3}})"
)
"""Two nodes that compute nothing, and end a chain."""
NOT_A_NUMBER: Final = {
    "SQRT": "g:float32[2,3] = SQRT(f)",
    "RSQRT": "g:float32[2,3] = RSQRT(f)",
    "LOG": "g:float32[2,3] = LOG(f)",
}
SPECIAL: Final = (-128, -100, -1, 3, 4, 100)
"""Elements of the input of which some have no root and no logarithm."""


def file(lines: str, *, begins: str = "", inputs: str = "x:int8[2,3]") -> bytes:
    """Return a model with an int8 input; all values of 8 bits are quantized alike, but for what a kernel asks for."""
    named = {name: SCALE for name in "xajkcyzrs" if f"{name}:int8" in lines or f"{name}:int8" in inputs}
    named |= {name: SCALE for name in ("whole",) if f"{name}:const:int8" in lines}
    if begins in PINNED:
        named |= {name: PINNED[begins] for name in "ars" if name in named}
    named |= {name: SCALE for name in "jk" if f"{name}:const:int8" in lines}
    return model(f"subgraph main({inputs}):\n{lines}", quantization=named)


def of_bytes(begins: str, op: str, constant: str, rank: int) -> dict[str, bytes]:
    """Return a chain of two nodes of 8 bits as it is, and in forms that are no table; `constant`: its shape."""
    result = ",".join(["1"] * (rank - 2) + ["2", "3"])
    last = f"y:int8[{result}] = {op}({{}}, k:const:int8[{constant}]{{{{5}}}})"
    moved = THERE_AND_BACK.format("int8", "a")
    files = {
        "one table": f"{BEFORE[begins]}\n{last.format('a')}",
        "there and back": f"{BEFORE[begins]}\n{moved}\n{last.format('s')}",
    }
    if "j:const" in BEFORE[begins]:
        whole = BEFORE[begins].replace("j:const:int8[1]{7}", "whole:const:int8[2,3]{7,7,7,7,7,7}")
        files["stretched"] = f"{whole}\n{last.format('a')}"
    return {name: file(lines, begins=begins) for name, lines in files.items()}


def of_floats(op: str, constant: str, rank: int) -> dict[str, bytes]:
    """Return a chain with a node of floats inside as it is, and in forms that are no table."""
    result = ",".join(["1"] * (rank - 2) + ["2", "3"])
    first, last = "f:float32[2,3] = DEQUANTIZE(x)", f"y:int8[{result}] = QUANTIZE(g)"
    node = f"g:float32[{result}] = {op}({{}}, k:const:float32[{constant}]{{{{0.5}}}})"
    moved = THERE_AND_BACK.format("float32", "f")
    files = {
        "one table": f"{first}\n{node.format('f')}\n{last}",
        "there and back": f"{first}\n{moved}\n{node.format('s')}\n{last}",
    }
    return {name: file(lines) for name, lines in files.items()}


def of_nan(root: str, op: str) -> dict[str, bytes]:
    """Return a chain in which MAXIMUM or MINIMUM reads a NaN as it is, and in a form that is no table."""
    lines = ["f:float32[2,3] = DEQUANTIZE(x)", NOT_A_NUMBER[root]]
    last = f"h:float32[2,3] = {op}({{}}, k:const:float32[1]{{{{0.5}}}})\ny:int8[2,3] = QUANTIZE(h)"
    moved = THERE_AND_BACK.format("float32", "g")
    files = {
        "one table": "\n".join([*lines, last.format("g")]),
        "there and back": "\n".join([*lines, moved, last.format("s")]),
    }
    return {name: file(text) for name, text in files.items()}


def read_later(op: str, *, floats: bool, behind: str = "") -> dict[str, bytes]:
    """Return a table whose result of the wrong rank is multiplied by z[2,3], and the same with z lifted.

    `behind` is one more operator of floats in the table.
    """
    if floats:
        node = f"g:float32[1,2,3] = {op}(f, k:const:float32[1,1,1]{{0.5}})"
        more = f"h:float32[1,2,3] = {behind}(g)\n" if behind else ""
        chain = f"f:float32[2,3] = DEQUANTIZE(x)\n{node}\n{more}c:int8[1,2,3] = QUANTIZE({'h' if behind else 'g'})"
    else:
        chain = f"{BEFORE['ADD']}\nc:int8[1,2,3] = {op}(a, k:const:int8[1,1,1]{{5}})"
    files = {
        "as it is": f"{chain}\ny:int8[1,2,3] = MUL(c, z)",
        "lifted": f"{chain}\nr:int8[1,2,3] = RESHAPE(z, to:const:int32[3]{{1,2,3}})\ny:int8[1,2,3] = MUL(c, r)",
    }
    return {name: file(lines, inputs="x:int8[2,3], z:int8[2,3]") for name, lines in files.items()}


BROKEN = {
    **{f"{begins} {op}": of_bytes(begins, op, "1,1,1", 3) for begins in BEFORE for op in OF_BYTES},
    **{f"float {op}": of_floats(op, "1,1,1", 3) for op in OF_FLOATS},
    **{f"{root} {op}": of_nan(root, op) for root in NOT_A_NUMBER for op in ("MAXIMUM", "MINIMUM")},
    **{f"{op} read later": read_later(op, floats=False) for op in OF_BYTES},
    **{f"float {op} read later": read_later(op, floats=True) for op in ("ADD", "SUB", "MUL", "DIV")},
    "float ADD, LOGISTIC read later": read_later("ADD", floats=True, behind="LOGISTIC"),
}
"""Files whose results differ by XNNPACK alone."""
KEPT = {
    **{f"{begins} {op}": of_bytes(begins, op, "1,1", 2) for begins in BEFORE for op in OF_BYTES},
    **{f"float {op}": of_floats(op, "1,1", 2) for op in OF_FLOATS if op not in ("MAXIMUM", "MINIMUM")},
}
"""The same forms with constants of no more axes than the operand."""


def differs(files: Mapping[str, bytes]) -> dict[str, bool]:
    """Run each form in XNNPACK, and return which one's result is not that of the first."""
    feed = np.array(SPECIAL, np.int8).reshape(2, 3)
    later = (feed,) * (1 + (b"z\0" in next(iter(files.values()))))
    runs = [ran for (ran,) in run([[Job(content, "AUTO", later)] for content in files.values()])]
    assert all(ran.fine for ran in runs), runs
    first = runs[0].outputs[0]
    return {name: not np.array_equal(first, ran.outputs[0]) for name, ran in zip(files, runs, strict=True)}
