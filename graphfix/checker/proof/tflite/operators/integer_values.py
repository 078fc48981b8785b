"""TFLite's arithmetic on shapes: vectors of known integers are read as what they hold, and are no terms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.schema import TYPES
from graphfix.checker.proof.core.sizes import right_aligned
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, integer_type
from graphfix.checker.proof.neutral import integer_values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.arithmetic import Arithmetic
    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import View
    from graphfix.checker.proof.tflite.reading.operands import Call

PAIR, TRIPLE = 2, 3


def _shape(call: Call) -> View | None:
    view = call.views[0]
    if view is None or view.sizes is None or TYPES.get(call.integer("outType")) != call.result.dtype:
        return None
    return _narrowed(call, view.sizes)


def _narrowed(call: Call, terms: Sizes, *, scalar: bool = False) -> View | None:
    """Return sizes in the result's type."""
    if call.result.dtype == "int32" and not all(isinstance(term, int) for term in terms):
        call.table.assumes["sizes are below 2**31"] = None
    return call.result_integers(terms, scalar=scalar)


def _rank(call: Call) -> View | None:
    view = call.views[0]
    return None if view is None or view.sizes is None else call.result_integers((len(view.sizes),), scalar=True)


def _cast(call: Call) -> View | None:
    content, view = call.content(0), call.views[0]
    return None if content is None or view is None else _narrowed(call, content, scalar=view.sizes == ())


def _gather(call: Call) -> View | None:
    content, indices, picks = call.content(0), call.known_integers(1), call.operand(1)
    if content is None or indices is None or picks is None or call.integer("axis") or call.integer("batchDims"):
        return None
    if call.views[0] is None or call.views[0].sizes == () or not all(0 <= index < len(content) for index in indices):
        return None
    return call.result_integers(tuple(content[index] for index in indices), scalar=picks.sizes == ())


def _concatenation(call: Call) -> View | None:
    parts = [call.vector(index) for index in range(len(call.views))]
    if call.integer("axis") not in (0, -1) or call.integer("fusedActivationFunction"):
        return None
    known = [part for part in parts if part is not None]
    return call.result_integers(tuple(term for part in known for term in part)) if len(known) == len(parts) else None


def _pack(call: Call) -> View | None:
    parts = [call.content(index) for index in range(len(call.views))]
    if any(view is None or view.sizes != () for view in call.views) or call.integer("axis"):
        return None
    known = [part for part in parts if part is not None]
    if len(known) < len(parts) or call.integer("valuesCount") != len(parts):
        return None
    return call.result_integers(tuple(term for part in known for term in part))


def _strided_slice(call: Call) -> View | None:
    content, parts = call.vector(0), [call.known_integers(index) for index in (1, 2, 3)]
    if content is None or any(call.vector(index) is None for index in (1, 2, 3)):
        return None
    if any(tensor is None or tensor.dtype != "int32" for tensor in call.inputs[1:4]):
        return None
    begin, end, stride = (part[0] if part is not None and len(part) == 1 else None for part in parts)
    if begin is None or end is None or stride is None or stride < 1:
        return None
    masks = [call.integer(name) for name in ("beginMask", "endMask", "shrinkAxisMask")]
    if call.integer("ellipsisMask") or call.integer("newAxisMask") or call.integer("offset") or max(masks) > 1:
        return None
    start = None if call.integer("beginMask") else begin
    if call.integer("shrinkAxisMask"):
        at = 0 if start is None else start
        return call.result_integers((content[at],), scalar=True) if -len(content) <= at < len(content) else None
    return call.result_integers(content[start : None if call.integer("endMask") else end : stride])


def _slice(call: Call) -> View | None:
    content, begin, size = call.vector(0), call.known_integers(1), call.known_integers(2)
    kinds = {None if tensor is None else tensor.dtype for tensor in call.inputs[1:]}
    if call.vector(1) is None or call.vector(2) is None or len(kinds) != 1:
        return None
    if content is None or begin is None or size is None or len(begin) != 1 or len(size) != 1:
        return None
    if begin[0] < 0 or size[0] < -1:
        return None
    end = len(content) if size[0] < 0 else begin[0] + size[0]
    return call.result_integers(content[begin[0] : end]) if end <= len(content) else None


def split_part(call: Call, count: int, place: int) -> View | None:
    """Return one part of the known integers that SPLIT or SPLIT_V cuts a vector into; None where it is not known."""
    split = call.operator.name == "SPLIT"
    data, axis = (1, 0) if split else (0, 2)
    if call.integer("numSplits") != count:
        return None
    whole, tensor = call.vector(data), call.inputs[data] if data < len(call.inputs) else None
    if (
        whole is None
        or tensor is None
        or tensor.dtype != call.result.dtype
        or call.known_integers(axis) not in ((0,), (-1,))
    ):
        return None
    sizes = _parts(len(whole), (len(whole) // count,) * count if split else call.known_integers(1))
    if len(sizes) != count:
        return None
    start = sum(sizes[:place])
    return call.result_integers(whole[start : start + sizes[place]])


def _parts(total: int, given: Sequence[int] | None) -> Sequence[int]:
    """Return the lengths of the parts, one of which may be -1; nothing where they are not known."""
    rest = total - sum(size for size in given or () if size >= 0)
    sizes = [rest if size == -1 else size for size in given or ()]
    return sizes if sum(sizes) == total and min(sizes, default=0) >= 0 else ()


def _broadcast_args(call: Call) -> View | None:
    one, two = call.target(0), call.target(1)
    if one is None or two is None:
        return None
    rank = max(len(one), len(two))
    pairs = zip(right_aligned(one, rank), right_aligned(two, rank), strict=True)
    return call.result_integers(tuple(map(call.table.algebra.broadcast_size, pairs)))


def _arithmetic(rule: str) -> Callable[[Call], View | None]:
    def counted(call: Call) -> View | None:
        if call.integer("fusedActivationFunction"):
            return None
        if any(call.content(index) is None for index in range(len(call.views))):
            return None
        return integer_values.computed(call.table, rule, call.views, call.result.dtype)

    return counted


def _range(call: Call) -> View | None:
    """RANGE of few numbers that are known to be in it."""
    ends = [call.content(index) for index in range(len(call.views))]
    kinds = {None if tensor is None else tensor.dtype for tensor in call.inputs}
    if len(ends) != TRIPLE or kinds != {call.result.dtype} or any(end is None or len(end) != 1 for end in ends):
        return None
    (start,), (limit,), (step,) = (end or (0,) for end in ends)
    count = integer_values.span_of(call.table.arithmetic, start, limit, step) if isinstance(step, int) else None
    if not isinstance(count, int) or not 0 < count <= MOST_ELEMENTS or not isinstance(step, int):
        return None
    elements = [call.table.arithmetic.add(start, step * at) for at in range(count)]
    known = tuple(element for element in elements if element is not None)
    return call.result_integers(known) if len(known) == count else None


def _product(call: Call) -> View | None:
    """REDUCE_PROD of a vector."""
    content, axes = call.vector(0), call.known_integers(1)
    if content is None or axes not in ((0,), (-1,)):
        return None
    whole = call.table.arithmetic.mul(*content)
    if whole is None:
        return None
    return _narrowed(call, (whole,), scalar=not call.option("keepDims"))


def _segments(call: Call) -> View | None:
    """UNSORTED_SEGMENT_PROD of a vector: the product of those that have one number, 1 where there is none."""
    content, rows, count = call.vector(0), call.known_integers(1), call.known_integers(2)
    typed = len(call.inputs) == TRIPLE and all(each is not None and each.dtype == "int32" for each in call.inputs[1:])
    if content is None or rows is None or count is None or not typed or len(rows) != len(content) or len(count) != 1:
        return None
    if not 0 < count[0] <= MOST_ELEMENTS or not all(0 <= row < count[0] for row in rows):
        return None
    columns = [[size for size, row in zip(content, rows, strict=True) if row == at] for at in range(count[0])]
    products = [call.table.arithmetic.mul(*column) if column else 1 for column in columns]
    known = tuple(size for size in products if size is not None)
    return _narrowed(call, known) if len(known) == len(products) else None


def _compared(relation: str) -> Callable[[Call], View | None]:
    """Rule for a comparison: known where it holds, or does not, for all sizes."""

    def rule(call: Call) -> View | None:
        if len(call.views) != PAIR or any(call.content(index) is None for index in range(PAIR)):
            return None
        arithmetic = call.table.arithmetic
        found = integer_values.paired(call.views[0], call.views[1], lambda a, b: _holds(arithmetic, relation, a, b))
        if found is None or call.result.dtype != "bool":
            return None
        return call.table.integers(
            found, "bool", scalar=all(view is not None and not view.sizes for view in call.views)
        )

    return rule


def _holds(arithmetic: Arithmetic, relation: str, one: Size, two: Size) -> Size | None:
    """Decide a relation, or name whether a size is 1."""
    known = integer_values.decided(arithmetic, relation, one, two)
    if known is None and relation == "equal" and two == 1 and arithmetic.least(one) >= 0:
        return arithmetic.algebra.symbol(("is 1", one), f"({one} is 1)")
    return known


def _chosen(arithmetic: Arithmetic, condition: Size, one: Size, two: Size) -> Size | None:
    """Return what a condition chooses: the first where the second is 1, else the second, is the broadcast of both.

    Where they do not broadcast it is the second, and the operator that both are operands of fails.
    """
    if isinstance(condition, int):
        return one if condition else two
    if condition.key != ("is 1", two) or arithmetic.least(one) < 0:
        return None
    return arithmetic.algebra.broadcast_size((one, two))


def _select(call: Call) -> View | None:
    """Choose by conditions that are known, or by whether sizes are 1."""
    views = [view for view in call.views if view is not None]
    if len(views) != TRIPLE or views[0].content is None or integer_type(views[0]) != "bool":
        return None
    contents = [views[0].content, call.content(1), call.content(2)]
    length = max(len(content or ()) for content in contents)
    if any(content is None or len(content) not in (1, length) for content in contents):
        return None
    columns = zip(*(integer_values.repeated(view, length) for view in views), strict=True)
    chosen = [_chosen(call.table.arithmetic, *column) for column in columns]
    known, scalar = tuple(size for size in chosen if size is not None), all(not view.sizes for view in views)
    if len(known) != length or (length == 1 and call.result.stored != (() if scalar else (1,))):
        return None  # of single elements LiteRT makes the shape that the file states
    return call.result_integers(known, scalar=scalar)


INTEGER_VALUES: Mapping[str, Callable[[Call], View | None]] = {
    "SHAPE": _shape, "RANK": _rank, "CAST": _cast, "GATHER": _gather, "CONCATENATION": _concatenation, "PACK": _pack,
    "STRIDED_SLICE": _strided_slice, "SLICE": _slice, "BROADCAST_ARGS": _broadcast_args, "ADD": _arithmetic("add"),
    "SUB": _arithmetic("sub"), "MUL": _arithmetic("mul"), "FLOOR_DIV": _arithmetic("div"), "DIV": _arithmetic("div"),
    "RANGE": _range, "REDUCE_PROD": _product, "UNSORTED_SEGMENT_PROD": _segments, "SELECT_V2": _select,
    "EQUAL": _compared("equal"), "GREATER": _compared("greater"), "LESS": _compared("less"),
    "GREATER_EQUAL": _compared("greater or equal"), "LESS_EQUAL": _compared("less or equal"),
    "FLOOR_MOD": _arithmetic("mod"), "MAXIMUM": _arithmetic("max"), "MINIMUM": _arithmetic("min"),
}  # fmt: skip
COMPARING = frozenset("EQUAL GREATER LESS GREATER_EQUAL LESS_EQUAL".split())
COUNTING = frozenset("ADD SUB MUL FLOOR_DIV DIV FLOOR_MOD MAXIMUM MINIMUM SELECT_V2".split()) | COMPARING
RETYPING = frozenset({"SHAPE", "RANK", "CAST", "SELECT_V2"}) | COMPARING
"""Those whose result is not of operand 0's type."""
ALIKE = frozenset("CONCATENATION PACK BROADCAST_ARGS ADD SUB MUL FLOOR_DIV DIV FLOOR_MOD MAXIMUM MINIMUM".split())
"""Those whose operands are all of one type."""
