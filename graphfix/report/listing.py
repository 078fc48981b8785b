"""Print the lines of `show`: `y[2,3] = Add(x[2,3], b[3]) # head/add`, complete, or in columns that fit a terminal.

A mark in front of a node shows how it broadcasts: `L` for a lifted operand, `S` for a stretched one, `?` for an operand
that may be stretched, `!` if that is unknown. With colours, the opening bracket of a lifted operand and the size of a
stretched axis are painted.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graphfix.report.colour import Paint, plain
from graphfix.report.text import counted, printable
from graphfix.results.listing import AxisMark, ListedNode, ListedValue, Listing
from graphfix.results.records import dataclass

GUTTER = 4
LIMITS = (None, 60, 48, 40, 32, 26, 22, 18)
"""The lengths to which names may be cut; the first one with which a line fits is used. None: names are not cut."""
SHORTEST = 10
"""The length to which names are cut if a line does not fit with any of LIMITS."""
NARROWEST = 60
"""The least width that is assumed for a terminal. In a narrower one, lines wrap."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """The widths of the columns for results, expressions and names, and of the whole line."""

    results: int
    expression: int
    name: int
    line: int


def listing_lines(listing: Listing, *, width: int | None = None, paint: Paint = plain) -> Iterator[str]:
    """Yield the lines of a listing: a heading for each graph, a line for each node, then the totals.

    Indented lines with the node's maps follow its line if maps were requested.

    With `width` (columns of the terminal), names are cut and columns aligned. Without it, lines are complete, and the
    line of a node does not depend on other nodes.
    """
    for scope in listing.scopes:
        columns = None if width is None else _columns(scope.nodes, max(width, NARROWEST))
        yield paint(f"{printable(scope.path)}:", "heading")
        yield from (f"{'':{GUTTER}}input {_typed(value, paint)}" for value in scope.inputs)
        for node in scope.nodes:
            yield from _lines(node, columns, paint)
            yield from (f"{'':{GUTTER + 4}}{printable(line)}" for line in node.maps)
        yield from (f"{'':{GUTTER}}output {_typed(value, paint)}" for value in scope.outputs)
    yield ""
    for total in _totals(listing):
        yield from [total] if width is None else textwrap.wrap(total, max(width, NARROWEST), subsequent_indent="  ")


def _typed(value: ListedValue, paint: Paint) -> str:
    return f"{_value(value, None, paint)} {printable(value.dtype)}"


def _lines(node: ListedNode, columns: _Columns | None, paint: Paint) -> Iterator[str]:
    """Yield the lines of a node: one, or with columns two if its operands do not fit into the first."""
    marks = _marks(node, paint)
    if columns is None:
        text = f"{marks}{_results(node.results, None, paint)} = {_expression(node, None, paint)}"
        yield text + (paint(f"    # {printable(node.name)}", "aside") if node.name else "")
        return
    results = f"{marks}{_fitted_results(node, columns.results, paint)} = "
    name = paint(f"  # {shortened_inside(printable(node.name), columns.name)}", "aside") if node.name else ""
    for limit in LIMITS:
        text = _expression(node, limit, plain)
        if len(text) <= columns.expression:
            pad = " " * (columns.expression - len(text)) if name else ""
            yield f"{results}{_expression(node, limit, paint)}{pad}{name}"
            return
    opened = shortened_inside(f"{printable(node.op)}(", columns.expression)
    yield f"{results}{opened.ljust(columns.expression) if name else opened}{name}"
    yield f"{'':{2 * GUTTER}}{_fitted_operands(node, columns.line - 2 * GUTTER - 1, paint)})"


def _columns(nodes: Sequence[ListedNode], width: int) -> _Columns:
    """Return the widths of a graph's columns: those of the longest texts if they fit, else shares of the line."""
    results = max((len(_results(node.results, None, plain)) for node in nodes), default=0)
    expression = max((len(_expression(node, None, plain)) for node in nodes), default=0)
    name = max((len(printable(node.name)) for node in nodes), default=0)
    room = width - GUTTER - len(" = ") - len("  # ") * (name > 0)
    if results + expression + name <= room:
        return _Columns(results, expression, name, width)
    last = min(name, room // 4)
    first = min(results, (room - last) * 3 // 5)
    middle = min(expression, room - first - last)
    return _Columns(first, middle, room - first - middle, width)


def _marks(node: ListedNode, paint: Paint) -> str:
    operands = [operand for operand in node.operands if operand is not None]
    marks = {mark for operand in operands for mark in operand.marks}
    text = paint("L" * any(operand.lifted for operand in operands), "lifted")
    text += paint("S" * ("stretched" in marks), "stretched") + paint("?" * ("maybe" in marks), "maybe")
    letters = any(operand.lifted for operand in operands) + ("stretched" in marks) + ("maybe" in marks)
    if node.unknown:
        text, letters = paint("!", "maybe"), 1
    return text + " " * (GUTTER - letters)


def _results(values: Sequence[ListedValue], limit: int | None, paint: Paint) -> str:
    return ", ".join(_value(replace(value, elements=None), limit, paint) for value in values)


def _expression(node: ListedNode, limit: int | None, paint: Paint) -> str:
    """Return `Add(x[2,3], b[3])`; for a constant without operands, its elements follow."""
    made = [value.elements for value in node.results if value.elements is not None] if not node.operands else []
    constant = paint(f" = {printable(made[0])}", "aside") if made else ""
    return f"{printable(node.op)}({_operands(node, limit, len(node.operands), paint)}){constant}"


def _operands(node: ListedNode, limit: int | None, shown: int, paint: Paint) -> str:
    operands = ["" if each is None else _value(each, limit, paint) for each in node.operands[:shown]]
    more = len(node.operands) - shown
    return ", ".join([*operands, f".. {more} more"] if more > 0 else operands)


def _value(value: ListedValue, limit: int | None, paint: Paint) -> str:
    """Return `b[1,3]`; the elements of a small constant follow: `b[1]=[2]`."""
    name = printable(value.name) if limit is None else shortened_inside(printable(value.name), limit)
    constant = "" if value.elements is None else paint(f"={printable(value.elements)}", "aside")
    if value.sizes is None:
        return f"{name}[*]{constant}"
    marks: Sequence[AxisMark] = value.marks or ["plain"] * len(value.sizes)
    sizes = [
        printable(size) if mark == "plain" else paint(printable(size), mark)
        for size, mark in zip(value.sizes, marks, strict=True)
    ]
    opened = paint("[", "lifted") if value.lifted else "["
    return f"{name}{opened}{','.join(sizes)}]{constant}"


def _fitted_results(node: ListedNode, width: int, paint: Paint) -> str:
    for limit in (*LIMITS, SHORTEST):
        text = _results(node.results, limit, plain)
        if len(text) <= width:
            return _results(node.results, limit, paint) + " " * (width - len(text))
    return shortened_inside(_results(node.results, SHORTEST, plain), width).ljust(width)


def _fitted_operands(node: ListedNode, width: int, paint: Paint) -> str:
    """Return the operands in the longest form that fits `width` characters.

    First names are cut, then elements are omitted, and at last operands are omitted.
    """
    most = len(node.operands)
    bare = replace(node, operands=[each and replace(each, elements=None) for each in node.operands])
    for form, limit, shown in (
        *((node, limit, most) for limit in LIMITS),
        *((bare, limit, most) for limit in (*LIMITS, 14, SHORTEST)),
        *((bare, SHORTEST, n) for n in range(min(most, 20), 0, -1)),
    ):
        if len(_operands(form, limit, shown, plain)) <= width:
            return _operands(form, limit, shown, paint)
    return shortened_inside(_operands(bare, SHORTEST, 1, plain), width)


def shortened_inside(text: str, width: int) -> str:
    """Return the text in at most `width` characters.

    Characters in the middle are omitted, and more of the end is kept.
    """
    if len(text) <= width:
        return text
    front = (width - 2) // 3
    return f"{text[:front]}..{text[len(text) - (width - 2 - front) :]}"


def _totals(listing: Listing) -> Iterator[str]:
    number = counted(listing.nodes, "node")
    total = number if listing.shown is None else f"{listing.shown} of {number} shown"
    operators = ", ".join(f"{printable(name)} {many}" for name, many in listing.operators.items())
    yield f"{total}: {operators}" if operators else total
    parts = [
        f"{many} {what}"
        for many, what in (
            (listing.lifted, "lifted (L)"),
            (listing.stretched, "stretched (S)"),
            (listing.maybe, "perhaps stretched (?)"),
        )
        if many
    ]
    unknown = f"; {counted(listing.unknown, 'node')} not known (!)" if listing.unknown else ""
    yield f"operands: {', '.join(parts) or 'none is lifted or stretched'}{unknown}"
