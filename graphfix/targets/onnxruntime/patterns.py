"""The patterns of `fusions` as records: lines, the order of the search, and the conditions on operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Literal, TypeAlias, cast

from graphfix.graph.view import Node, Value
from graphfix.results.records import dataclass
from graphfix.results.runtime_facts import Versions
from graphfix.shapes.dim import same
from graphfix.shapes.shape import same_shape
from graphfix.targets.onnxruntime.fusions import FUSIONS, RAREST, Fusion

Operator: TypeAlias = tuple[str, str]
"""An operator as (domain, name), such as ("", "Add")."""
Mark: TypeAlias = Literal["", "!", "~", "^"]
"""The part of a shape that must not change; `targets.onnxruntime.fusions` explains the marks."""
CLOSE = 1e-3
"""The largest relative difference from the pattern's number, so that the number matches in half precision, too."""
SEQUENCE, IMAGE = 3, 3
"""The number of axes of [batch, sequence, hidden], and the smallest number of axes of [batch, channels, .. pixels]."""
DEEP = 8
"""The largest number of nodes that are followed to find out whether a value is computed from constants."""
NO_OPS = {"Add": (0,), "Sub": (0,), "Mul": (1,), "Div": (1,)}
"""Operator -> the scalar operand with which onnxruntime removes the operator (0.0 also for -0.0)."""
LINE = re.compile(r"\s*(?P<results>[\w, ]+)(?P<shared>\*?) = (?P<op>[\w.]+)\((?P<operands>.*)\)")
OPERAND = re.compile(r"(?P<name>\w+)(?::(?P<kind>\w+))?(?P<mark>[!~^]?)(?P<since>[\d.]*)(?:\{(?P<number>.*)\})?")


@dataclass(frozen=True, slots=True)
class Outside:
    """The conditions of a pattern on one operand.

    Only an operand that no line of the pattern computes has conditions.
    """

    name: str
    kind: str | None
    mark: Mark
    number: float | None
    asked: Versions
    """The versions of onnxruntime whose matcher compares the marked part of the shape."""


@dataclass(frozen=True, slots=True)
class Line:
    """One node of a pattern."""

    operator: Operator
    operands: tuple[Outside, ...]
    orders: tuple[tuple[int, ...], ...]
    """One or two orders of operands: for each operand of the line, the index of the node's operand."""
    results: tuple[str, ...]
    shared: bool
    """Whether nodes outside the pattern may read the result, if their operator is one of the pattern's."""


@dataclass(frozen=True, slots=True)
class Step:
    """How the search finds the next line: it is the producer, or a reader, of a value that is already matched."""

    at: int
    line: Line
    by: str | None
    """The name of the matched value that leads to this line; None for the line at which the search begins."""
    is_reader: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """A fusion whose lines are parsed, with the order of its search."""

    name: str
    until: int | None
    """The last operator set in which the pattern is matched; None: no limit."""
    versions: Versions
    """The versions of onnxruntime that fuse the pattern."""
    lines: tuple[Line, ...]
    own: tuple[int, ...]
    """The indices of the lines whose operands the fusion protects: all lines but those of `Fusion.beside`."""
    links: Mapping[str, int]
    """Name that one line computes and another line reads -> index of the line that computes it."""
    steps: tuple[Step, ...]
    beginnings: tuple[int, ...]
    """For each step, a number of all steps up to it. Patterns that begin with equal steps have equal numbers."""
    operators: frozenset[Operator]
    before: frozenset[Operator]
    """The operators whose results the first searched line reads."""
    behind: frozenset[Operator]
    """The operators that read the results of the first searched line."""


# --- conditions on an operand from outside the pattern ----------------------------------------------------------------


def met(operand: Outside, value: Value, node: Node) -> bool:
    """Return whether a value that the node reads fulfils the pattern's conditions on an operand."""
    if operand.kind is not None and not KINDS[operand.kind](value, node):
        return False
    if operand.number is None:
        return True
    elements = value.elements
    number = elements[0] if elements else None
    return isinstance(number, (int, float)) and abs(number - operand.number) <= CLOSE * abs(operand.number)


def _rank(value: Value) -> int | None:
    """Return the rank of a value, or None if it is not known."""
    return value.shape.rank if value.shape.ranked else None


def _is_constant(value: Value, _: Node | None = None, depth: int = DEEP) -> bool:
    """Return whether a value is a constant of the file, or nodes compute it from constants only.

    onnxruntime replaces such nodes by constants before it fuses. `depth` limits how many nodes are followed.
    """
    producer = value.producer
    if value.kind == "constant" or producer is None:
        return value.kind == "constant"
    operands = [operand for operand in producer.operands if operand is not None]
    return bool(depth and operands) and all(_is_constant(operand, None, depth - 1) for operand in operands)


def _beside(value: Value, node: Node) -> Value | None:
    """Return the first operand of the node that is another value, or None."""
    return next((each for each in node.operands if each is not None and each is not value), None)


def _is_one(value: Value, node: Node) -> bool:
    """Return whether a value is a constant of one element that adds no axis to the result."""
    if not value.shape.ranked or not _is_constant(value) or any(size != 1 for size in value.shape.dims):
        return False
    other = _beside(value, node)
    rank = None if other is None else _rank(other)
    return rank is not None and value.shape.rank <= max(rank, 1)


def _is_made(value: Value, node: Node) -> bool:
    """Return whether a node computes the value, and no result of `node` is an output of the graph.

    onnxruntime removes an operation without effect only under these conditions.
    """
    return value.producer is not None and not any(result in node.graph.outputs for result in node.results)


def _is_scalar(value: Value, _: Node) -> bool:
    """Return whether a value is a constant of shape [] or [1]."""
    return value.shape.ranked and value.shape.dims in ((), (1,)) and _is_constant(value)


def _is_last(value: Value, node: Node) -> bool:
    """Return whether a value is [H] beside another operand [.., H]."""
    other = _beside(value, node)
    if other is None or _rank(value) != 1 or not _rank(other):
        return False
    return same(value.shape.dims[0], other.shape.dims[-1])


def _is_whole(value: Value, node: Node) -> bool:
    """Return whether a value has the shape of the result: three axes, the last of them a number."""
    result = node.results[0]
    if result is None or _rank(value) != SEQUENCE or not same_shape(value.shape, result.shape):
        return False
    return isinstance(value.shape.dims[-1], int)


def _is_channels(value: Value, node: Node) -> bool:
    """Return whether a value is a constant [C,1,1] or [1,C,1,1] beside [N,C,H,W]."""
    result = node.results[0]
    rank = None if result is None else _rank(result)
    if not value.shape.static or not _is_constant(value) or result is None or not rank or rank < IMAGE:
        return False
    sizes = (1,) * (rank - value.shape.rank) + value.shape.dims
    return (
        value.shape.rank >= rank - 1
        and sizes[1] == result.shape.dims[1]
        and all(size == 1 for axis, size in enumerate(sizes) if axis != 1)
    )


def _is_columns(value: Value, node: Node) -> bool:
    """Return whether a value is [N] beside another operand [..,N], and has a type that onnxruntime's Gemm supports."""
    return value.dtype in ("float32", "float16", "bfloat16") and _is_last(value, node)


def _is_row(value: Value, node: Node) -> bool:
    """Return whether a value has one or two axes (C of a Gemm), and a type that onnxruntime's Gemm supports."""
    return value.dtype in ("float32", "float16", "bfloat16") and _rank(value) in (1, 2) and bool(node.results)


KINDS: Mapping[str, Callable[[Value, Node], bool]] = {
    "constant": _is_constant,
    "one": _is_one,
    "scalar": _is_scalar,
    "number": lambda value, node: _is_scalar(value, node) and value.shape.rank == 0,
    "made": _is_made,
    "vector": lambda value, _: _rank(value) == 1 and _is_constant(value),
    "matrix": lambda value, _: _rank(value) == 2,  # noqa: PLR2004 -- what a matrix is
    "fixed": lambda value, _: value.shape.static and value.shape.rank != 2,  # noqa: PLR2004
    "float": lambda value, _: value.dtype.startswith("float") and value.dtype != "float64",
    "float64": lambda value, _: value.dtype == "float64",
    "last": _is_last,
    "whole": _is_whole,
    "channels": _is_channels,
    "columns": _is_columns,
    "row": _is_row,
}


def is_identity(node: Node) -> bool:
    """Return whether onnxruntime removes the node first: Identity, Dropout, a Cast to the same type, adding 0.

    The same applies to subtracting 0, and to multiplying or dividing by 1.
    """
    first = node.operands[0] if node.operands else None
    if node.domain or first is None or not node.results:
        return False
    if node.op == "Cast":
        return node.results[0] is not None and node.results[0].dtype == first.dtype
    if node.op in NO_OPS:
        by = node.operands[1] if len(node.operands) > 1 else None
        return (
            by is not None and by.kind == "constant" and by.shape.dims in ((), (1,)) and by.literal == NO_OPS[node.op]
        )
    return node.op in ("Identity", "Dropout")


# --- parsing of the patterns ------------------------------------------------------------------------------------------


@cache
def patterns() -> Mapping[Operator, Sequence[Pattern]]:
    """Return operator -> the patterns whose search begins at that operator."""
    found: dict[Operator, list[Pattern]] = {}
    numbers: dict[tuple[Step, ...], int] = {}
    for fusion in FUSIONS:
        pattern = _pattern(fusion, numbers)
        found.setdefault(pattern.steps[0].line.operator, []).append(pattern)
    return found


def _pattern(fusion: Fusion, numbers: dict[tuple[Step, ...], int]) -> Pattern:
    """Return a fusion as a parsed pattern.

    `numbers` assigns a number to each sequence of first steps, shared by all patterns.

    Raises ValueError if a pattern has a condition on an operand that one of its lines computes.
    """
    beside, own = _lines(fusion.beside), _lines(fusion.pattern)
    lines = beside + own
    read = {operand.name for line in lines for operand in line.operands}
    links = {name: at for at, line in enumerate(lines) for name in line.results if name in read}
    for operand in (operand for line in lines for operand in line.operands):
        if operand.name in links and (operand.kind or operand.mark or operand.number is not None):
            raise ValueError(f"{fusion.name}: {operand.name!r} is made by a line, and nothing can be asked of it")
    steps = tuple(_steps(lines, links))
    beginnings = tuple(numbers.setdefault(steps[:count], len(numbers)) for count in range(1, len(steps) + 1))
    first = steps[0].line
    before = {lines[links[operand.name]].operator for operand in first.operands if operand.name in links}
    behind = {line.operator for line in lines if any(each.name in first.results for each in line.operands)}
    return Pattern(
        fusion.name,
        fusion.until,
        fusion.versions,
        lines,
        tuple(range(len(beside), len(lines))),
        links,
        steps,
        beginnings,
        frozenset(line.operator for line in lines),
        frozenset(before),
        frozenset(behind),
    )


def _steps(lines: Sequence[Line], links: Mapping[str, int]) -> Sequence[Step]:
    """Return the lines in the order of the search, which begins at the rarest operator.

    Each step contains an already matched value that leads to its line. If several lines are next, the first line is
    chosen.
    """
    rarity = [RAREST.index(line.operator[1]) if line.operator[1] in RAREST else len(RAREST) for line in lines]
    first = rarity.index(min(rarity))
    steps = [Step(first, lines[first], None, is_reader=False)]
    left = [at for at in range(len(lines)) if at != first]
    while left:
        step_names = {
            name for step in steps for name in (*step.line.results, *(each.name for each in step.line.operands))
        }
        ways = (
            [(at, name, False) for at in left for name in lines[at].results if name in step_names],
            [
                (at, each.name, True)
                for at in left
                for each in lines[at].operands
                if each.name in step_names & links.keys()
            ],
        )
        at, name, is_reader = min(way for some in ways for way in some)
        steps.append(Step(at, lines[at], name, is_reader))
        left.remove(at)
    return steps


def _lines(pattern: str) -> tuple[Line, ...]:
    """Return the parsed lines of a pattern."""
    return tuple(_line(text) for text in pattern.splitlines() if text.strip())


def _line(text: str) -> Line:
    """Return one parsed line of a pattern. Raises ValueError if it can't be parsed."""
    parts = LINE.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is not a line of a pattern")
    domain, _, op = parts["op"].rpartition(".")
    either = "|" in parts["operands"]
    operands = tuple(_operand(each.strip()) for each in re.split(r"[,|]", parts["operands"]))
    order = tuple(range(len(operands)))
    results = tuple(name.strip() for name in parts["results"].split(","))
    return Line((domain, op), operands, (order, order[::-1]) if either else (order,), results, bool(parts["shared"]))


def _operand(text: str) -> Outside:
    """Return one parsed operand of a line. Raises ValueError if it can't be parsed."""
    parts = OPERAND.fullmatch(text)
    if parts is None:
        raise ValueError(f"{text!r} is not an operand of a pattern")
    mark, number = cast("Mark", parts["mark"]), parts["number"]
    return Outside(parts["name"], parts["kind"], mark, float(number) if number else None, Versions(parts["since"]))
