"""What carrying edits out has in common in every format: all or none, fresh names, dead nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias, TypeVar

from graphfix.graph.edits import (
    Assume,
    Bypass,
    Canonicalize,
    DropMetadata,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Leave,
    Lift,
    New,
    Numbers,
    Refused,
    Replace,
    Restate,
    Source,
    StateShape,
    Stretch,
    Upgrade,
)
from graphfix.graph.protocols import Applier
from graphfix.graph.view import Node, Value, set_node
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Shape

NodeEdit: TypeAlias = Fold | Canonicalize | Evaluate | Replace | Inline
"""The edits of a whole node."""


@dataclass(slots=True, eq=False, repr=False)
class FreshNames:
    """Names for what edits add: `x`, `x_1`, `x_2` ..., each of them unique."""

    taken: set[str]
    """Every name that is in use."""
    reserved: str = ""
    """What no new name has in it, where the file has such names."""
    counters: dict[str, int] = field(default_factory=dict)
    """By stem: the last number that was tried."""

    def __call__(self, stem: str) -> str:
        """Return a name that nothing has, and take it."""
        if self.reserved:
            stem = stem.replace(self.reserved, "_")
        taken = self.taken
        size = len(taken)
        taken.add(stem)
        return stem if len(taken) > size else self._numbered(stem)  # to look first would take as long again

    def _numbered(self, stem: str) -> str:
        number = self.counters.get(stem, 0) + 1
        while (name := f"{stem}_{number}") in self.taken:
            number += 1
        self.counters[stem] = number
        self.taken.add(name)
        return name


class State(Protocol):
    """What the edits of one model share, as far as it is the same in every format."""

    dead: dict[Value, None]
    """Values that lost a reader: those that nobody reads in the end are removed."""
    quantizes: bool
    """Whether an operand may be quantized, which the looks of a node do not say."""

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Let the node read `value` as operand `index`."""

    def remove(self, node: Node) -> None:
        """Remove a node whose results nobody reads any more."""

    def is_gone(self, node: Node) -> bool:
        """Whether a node was removed."""

    def carry(self, node: Node) -> None:
        """Give the results of a carrier, and of those behind it, the shape of what it reads now."""


class Builder(Protocol):
    """What adds nodes and constants to one graph."""

    def new(self, new: New, operands: tuple[Value, ...], node: Node, /) -> Value:
        """Make one of the nodes that stand in the place of `node`, before it."""

    def new_constant(self, new: Numbers, node: Node, /) -> Value:
        """Make a constant that one of them reads."""


S = TypeVar("S", bound=State)
NOT_KNOWN = (
    "what it computes is not known before the model runs: bind the free sizes (--dim, --shape), "
    "or set the inputs that it depends on (--set)"
)
"""Why a node is not evaluated."""
Change: TypeAlias = Callable[[Node, Node], Node]
"""Carries one edit out on a node, which the second one is as it was before all of them; returns it as it is now."""


class Changing(Protocol):
    """A model that says whether it was changed."""

    changed: bool


def applier(
    model: Changing,
    state: S,
    edits: Sequence[Edit],
    check: Callable[[S, Node, Edit], None],
    lift: Callable[[S, Value, tuple[int, ...], Node], Value],
    stretch: Callable[[S, Node, Value, Stretch], Value],
    restate: Callable[[S, Value, Shape, Node], Value],
    carry_out: Callable[[S, Node, NodeEdit], Node],
) -> Applier:
    """What carries these edits out on a node, and on each that looks the same: what is theirs is looked up once.

    What was checked once is checked no more, but where something `quantizes`.

    `check`, `lift`, `stretch`, `restate` and `carry_out` are the format's. A stretch is by the sizes of the node's
    operands as they were before its edits.
    """
    changes = [_change(state, edit, lift, stretch, restate, carry_out) for edit in edits]
    alone = len(edits) == 1
    is_checked = False

    def apply(node: Node) -> Node:
        nonlocal is_checked
        if state.quantizes or not is_checked:
            for edit in edits:
                _check_source(state, edit)
                check(state, node, edit)
            is_checked = True
        before = node if alone else node.reading(node.operands)
        for change in changes:
            node = change(node, before)
        model.changed = True
        return node

    return apply


def _change(
    state: S,
    edit: Edit,
    lift: Callable[[S, Value, tuple[int, ...], Node], Value],
    stretch: Callable[[S, Node, Value, Stretch], Value],
    restate: Callable[[S, Value, Shape, Node], Value],
    carry_out: Callable[[S, Node, NodeEdit], Node],
) -> Change:
    match edit:
        case Lift(at, axes):
            return lambda node, _: state.put(node, at, lift(state, node.operand(at), axes, node))
        case Stretch(at):
            return lambda node, before: state.put(node, at, stretch(state, before, node.operand(at), edit))
        case Bypass():
            return lambda node, _: _bypassed(state, node, edit)
        case Restate(at, to):
            return lambda node, _: state.put(node, at, restate(state, node.operand(at), to, node))
        case Leave() | Assume() | Upgrade() | DropMetadata() | StateShape():
            return lambda node, _: node  # the engine reports the first two, the model carries the others out
        case _:
            return lambda node, _: carry_out(state, node, edit)


def _check_source(state: State, edit: Edit) -> None:
    """Raise Refused where an edit before this one took out or changed what the node is to read: it is planned again."""
    if not isinstance(edit, Bypass):
        return
    maker = edit.source.producer
    if not edit.source.was_read or (maker is not None and state.is_gone(maker)):
        raise Refused(f"'{edit.source.name}' is not what it was when this was planned")


def _bypassed(state: State, node: Node, edit: Bypass) -> Node:
    """Let the node read the source; a node that edits made for it alone goes at once."""
    old = node.operand(edit.operand)
    node = state.put(node, edit.operand, edit.source)
    state.carry(node)
    made = old.producer
    if made is not None and made.index < 0 and not old.is_used:
        state.remove(made)
    return node


@dataclass(frozen=True, slots=True)
class NewNodes:
    """What stands in the place of a node: each new node is made once, however often it is read."""

    builder: Builder
    node: Node
    made: dict[int, Value] = field(default_factory=dict)
    """By identity of what was planned."""

    def operands(self, last: New) -> tuple[Value, ...]:
        """Make what a new node reads, those first that others read, and return its operands."""
        pending = [last]
        while pending:
            new = pending[-1]
            missing = [each for each in new.operands if isinstance(each, New) and id(each) not in self.made]
            if missing:
                pending += reversed(missing)
                continue
            pending.pop()
            if new is not last and id(new) not in self.made:
                self.made[id(new)] = self.builder.new(new, tuple(map(self._value, new.operands)), self.node)
        return tuple(map(self._value, last.operands))

    def _value(self, source: Source) -> Value:
        match source:
            case int():
                return self.node.operand(source)
            case New():
                return self.made[id(source)]
            case Numbers():
                return self.builder.new_constant(source, self.node)
            case Value():
                return source


def bypass(state: State, node: Node, at: int) -> None:
    """Let everyone who reads the node's first result read its operand `at`, and remove the node."""
    source, result = node.operand(at), node.results[0]
    for reader, place in result.reads if result is not None else ():
        state.put(reader, place, source)
    state.remove(node)


def replace_node(state: State, old: Node, new: Node) -> Node:
    """Put a node in the place of another in the view; whatever that one read has lost a reader."""
    set_node(new)
    for operand in new.operands:
        if operand is not None:
            new.graph.note(new.index, operand)
    state.dead.update(dict.fromkeys(operand for operand in old.operands if operand is not None))
    return new


def remove_dead(state: State, is_removable: Callable[[Node], bool]) -> list[Value]:
    """Remove the nodes that only served what was edited; return the constants that only served it.

    `is_removable` says of a node none of whose results is read whether it may go.
    """
    constants: dict[Value, None] = {}
    pending = list(state.dead)
    while pending:
        value = pending.pop()
        node = value.producer
        if node is None and value.kind == "constant":
            constants[value] = None  # looked at once, however many of its readers go
        elif (
            node is not None
            and not any(result.is_used for result in node.results if result is not None)
            and is_removable(node)
        ):
            pending += [operand for operand in node.operands if operand is not None]
            state.remove(node)
    return [value for value in constants if not value.is_used]
