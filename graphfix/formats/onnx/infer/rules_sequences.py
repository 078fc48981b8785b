"""Shape rules of the recurrent operators and of Einsum. Source: the ONNX operator specification."""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.operators.sizes import positive
from graphfix.shapes.shape import UNKNOWN, Shape, Size, same

RANK = 3
"""[steps, batch, features]."""


def recurrent(call: Call) -> Results:
    """Y [steps,directions,batch,hidden] and the last states [directions,batch,hidden]; layout=1 has the batch first."""
    dims, hidden = call.dims(0), positive(call, "hidden_size")
    if dims is None or len(dims) != RANK:
        dims = (UNKNOWN,) * RANK
    directions = 2 if call.text("direction", "forward") == "bidirectional" else 1
    if call.flag("layout", 0) is None:
        return NOTHING
    if call.flag("layout", 0):
        batch, steps, _ = dims
        state = Shape((batch, directions, hidden))
        return (Shape((batch, steps, directions, hidden)), state, state)
    steps, batch, _ = dims
    state = Shape((directions, batch, hidden))
    return (Shape((steps, directions, batch, hidden)), state, state)


def einsum(call: Call) -> Results:
    """One axis a letter behind the arrow; without an arrow those that occur once, in the order of the alphabet."""
    equation = call.text("equation").replace(" ", "")
    terms, arrow, result = equation.partition("->")
    if not equation or "." in equation:
        return NOTHING
    if not arrow:
        result = "".join(sorted(letter for letter in set(terms) - {","} if terms.count(letter) == 1))
    sizes: dict[str, list[Size]] = {}
    for index, term in enumerate(terms.split(",")):
        dims = call.dims(index)
        known = dims if dims is not None and len(dims) == len(term) else (UNKNOWN,) * len(term)
        for letter, size in zip(term, known, strict=True):
            sizes.setdefault(letter, []).append(size)
    return (Shape(tuple([_agreed(sizes.get(letter, [])) for letter in result])),)


def _agreed(sizes: list[Size]) -> Size:
    """The size that all operands have under one letter: a 1 may be stretched."""
    return sizes[0] if sizes and all(same(size, sizes[0]) for size in sizes) else UNKNOWN
