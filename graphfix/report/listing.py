"""The lines of `show`: `y[2,3] = Add(x[2,3], b[3])    # head/add`, whole, or in columns as wide as a terminal.

In front of a node stands what happens to its operands: `L` one is lifted, `S` stretched, `?` perhaps stretched, `!` not
known. In colours the opening bracket of a lifted operand and the size of a stretched axis are painted.
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
"""How long names may be, the longest that fits is taken; None: as long as they are."""
SHORTEST = 10
"""How long they may be where even that is too much."""
NARROWEST = 60
"""A terminal of fewer columns is taken for one of so many: lines wrap."""


@dataclass(frozen=True, slots=True)
class _Columns:
    """The widths of results, expressions and names."""

    results: int
    expression: int
    name: int
    line: int


def listing_lines(listing: Listing, *, width: int | None = None, paint: Paint = plain) -> Iterator[str]:
    """A heading for each scope, a line for each node, indented lines for its maps; counts at the end.

    Without `width` nothing is cut and no column is aligned, so that the line of a node depends on nothing else.
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
    """One line, or in columns two, where the operands do not fit into the first."""
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
    """The widths of a scope's columns: the natural ones where they fit, else a share of the line."""
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
    """`Add(x[2,3], b[3])`, with the elements of a constant that a node makes behind it."""
    made = [value.elements for value in node.results if value.elements is not None] if not node.operands else []
    constant = paint(f" = {printable(made[0])}", "aside") if made else ""
    return f"{printable(node.op)}({_operands(node, limit, len(node.operands), paint)}){constant}"


def _operands(node: ListedNode, limit: int | None, shown: int, paint: Paint) -> str:
    operands = ["" if each is None else _value(each, limit, paint) for each in node.operands[:shown]]
    more = len(node.operands) - shown
    return ", ".join([*operands, f".. {more} more"] if more > 0 else operands)


def _value(value: ListedValue, limit: int | None, paint: Paint) -> str:
    """`b[1,3]`, with the elements of a small constant operand behind it."""
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
    """The longest form that fits: names are cut first, then elements go, and operands are left out last."""
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
    """The text in at most so many letters: what is left out is in the middle, and more of the end stays."""
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
