"""Calls of TFLite's operators as the proof's rules read them, from text: no file, no runtime.

An operand is `float32[N,3]` (a value of these sizes; `[*]` for an unknown rank), `int32{N,3}` (a vector of known
integers), `int32=N` (a scalar that is one) or empty (not given). `N-1` may be negative.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.records import Operator, Quantization, Tensor
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.tflite.reading.operands import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.core.sizes import Dims, Size, Sizes

QUANTIZED = Quantization((b"\0\0\0?", (0,), ()), None)


def sizes_of(table: TermTable, text: str) -> Sizes:
    """Return the sizes of a text such as `N,3,N-1`."""
    return tuple(size_of(table, each) for each in text.split(",") if each)


def size_of(table: TermTable, text: str) -> Size:
    """Return a number, a symbol, or a symbol and a number that is added."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    name, more = re.fullmatch(r"(\w+?)([+-]\d+)?", text).groups()  # type: ignore[union-attr]  # the tests' own text
    found = table.arithmetic.add(table.algebra.symbol((name,), name), int(more or 0))
    assert found is not None
    return found


def operand(table: TermTable, text: str, index: int) -> tuple[Tensor | None, ProofValue | None]:
    """Return a tensor, and its value."""
    if not text:
        return None, None
    dtype, mark, rest = re.fullmatch(r"(\w+)([\[{=])(.*?)[\]}]?", text).groups()  # type: ignore[union-attr]
    tensor = Tensor(f"x{index}", dtype, None, (), None, variable=False, payload=None)
    if mark != "[":
        return tensor, table.integers(sizes_of(table, rest), dtype, scalar=mark == "=")
    core, new = table.find_or_create_core(("input", index), f"x{index}")
    if new:
        core.sizes = None if rest == "*" else sizes_of(table, rest)
    return tensor, value_of(core)


def call(op: str, operands: Sequence[str], result: str = "int32", **options: object) -> Call:
    """Return a call; `result` is the type of its result."""
    table = TermTable(Algebra())
    pairs = [operand(table, text, at) for at, text in enumerate(operands)]
    inputs = tuple(-1 if tensor is None else at for at, (tensor, _) in enumerate(pairs))
    made = Tensor("y", result, None, (), None, variable=False, payload=None)
    operator = Operator(op, 1, inputs, (len(inputs),), options, (), ())
    return Call(table, operator, [view for _, view in pairs], [tensor for tensor, _ in pairs], made, op)


def shown(sizes: Dims) -> str:
    """Print sizes: `?` for one that is not known, `*` for an unknown rank."""
    return "*" if sizes is None else ",".join("?" if size is None else repr(size) for size in sizes)


def integers(view: ProofValue | None) -> str:
    """Print the known integers of a result: `{N,3}` of a vector, `=N` of a scalar; `not known` for any other."""
    if view is None or view.content is None or view.sizes is None:
        return "not known"
    text = ",".join(map(repr, view.content))
    return f"={text}" if view.sizes == () else f"{{{text}}}"
