"""Carry out edits on a model of either format: check them, apply them, choose fresh names, remove dead nodes."""

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
"""The edits that replace or remove a node as a whole."""


@dataclass(slots=True, eq=False, repr=False)
class FreshNames:
    """A generator of unique names for the values and nodes that edits add: `x`, `x_1`, `x_2` ..."""

    taken: set[str]
    """Every name that is in use in the file."""
    reserved: str = ""
    """A text that no new name may contain, because names of the file that contain it have a meaning.

    Empty: any text may.
    """
    counters: dict[str, int] = field(default_factory=dict)
    """For each stem, the last number that was appended to it."""

    def __call__(self, stem: str) -> str:
        """Return a name that is not in use yet, and mark it as used: `stem` itself, or `stem` with a number."""
        if self.reserved:
            stem = stem.replace(self.reserved, "_")
        taken = self.taken
        size = len(taken)
        taken.add(stem)
        # Looking the stem up before adding it would take twice as long.
        return stem if len(taken) > size else self._numbered(stem)

    def _numbered(self, stem: str) -> str:
        """Return `stem` with the first unused number appended (`x_1`, `x_2` ...), and mark the name as used."""
        number = self.counters.get(stem, 0) + 1
        while (name := f"{stem}_{number}") in self.taken:
            number += 1
        self.counters[stem] = number
        self.taken.add(name)
        return name


class State(Protocol):
    """The state that all edits of one model share, as far as it is the same in every format."""

    dead: dict[Value, None]
    """Values that lost a reader. In the end, those that no node reads are removed with their producers."""
    quantizes: bool
    """Whether the model quantizes.

    If so, edits are checked for each node, because alike nodes may differ in their quantization.
    """

    def put(self, node: Node, index: int, value: Value) -> Node:
        """Make the node read `value` as operand `index`, and return the node as it is now."""

    def remove(self, node: Node) -> None:
        """Remove a node whose results no node reads any more."""

    def is_gone(self, node: Node) -> bool:
        """Return whether the node was removed."""

    def carry(self, node: Node) -> None:
        """Copy the shape of the node's operand 0 to its result, if the node is a carrier.

        A carrier is a quantize or dequantize node, whose result has the shape of its operand. Carriers that read this
        result are updated too.
        """


class Builder(Protocol):
    """An object that adds nodes and constants to one graph."""

    def new(self, new: New, operands: tuple[Value, ...], node: Node, /) -> Value:
        """Add the planned node `new`, which reads `operands`, in front of the existing `node`; return its result."""

    def new_constant(self, new: Numbers, node: Node, /) -> Value:
        """Add the planned constant `new` for a new node in front of the existing `node`; return its value."""


S = TypeVar("S", bound=State)
NOT_KNOWN = (
    "what it computes is not known before the model runs: bind the free sizes (--dim, --shape), "
    "or set the inputs that it depends on (--set)"
)
"""The reason for which a node is not evaluated."""
Change: TypeAlias = Callable[[Node, Node], Node]
"""A function that carries one edit out on a node and returns the node after the edit.

Its arguments are the node as it is now, and the node as it was before all edits of its plan.
"""


class Changing(Protocol):
    """A model that records whether it was changed."""

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
    """Return a function that carries these edits out on a node. It can be called for each node with the same plan.

    Each edit is translated into a function once, when `applier` is called. The edits are checked on the first node
    only, or on every node if the model quantizes (`state.quantizes`).

    `check`, `lift`, `stretch`, `restate` and `carry_out` are functions of the format. A stretch reads the sizes of the
    node's operands as they were before its edits.
    """
    changes = [_change(state, edit, lift, stretch, restate, carry_out) for edit in edits]
    alone = len(edits) == 1
    is_checked = False

    def apply(node: Node) -> Node:
        """Check the edits if needed, carry them out on `node` in order, and return the node as it is now."""
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
    """Return a function that carries `edit` out on a node with the functions of the format."""
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
            # The engine reports Leave and Assume. The model carries out the edits of the file.
            return lambda node, _: node
        case _:
            return lambda node, _: carry_out(state, node, edit)


def _check_source(state: State, edit: Edit) -> None:
    """Raise Refused if an earlier edit removed or changed the value that a Bypass makes the node read.

    The node is then planned again.
    """
    if not isinstance(edit, Bypass):
        return
    maker = edit.source.producer
    if not edit.source.was_read or (maker is not None and state.is_gone(maker)):
        raise Refused(f"'{edit.source.name}' is not what it was when this was planned")


def _bypassed(state: State, node: Node, edit: Bypass) -> Node:
    """Make the node read the edit's source instead of its operand, and return the node.

    The old producer is removed at once if an edit made it and nothing else uses its result.
    """
    old = node.operand(edit.operand)
    node = state.put(node, edit.operand, edit.source)
    state.carry(node)
    made = old.producer
    if made is not None and made.index < 0 and not old.is_used:
        state.remove(made)
    return node


@dataclass(frozen=True, slots=True)
class NewNodes:
    """The new nodes that replace a node. Each new node is made once, even if several nodes read it."""

    builder: Builder
    node: Node
    made: dict[int, Value] = field(default_factory=dict)
    """The result of each new node that was made, by the identity (`id`) of the planned New."""

    def operands(self, last: New) -> tuple[Value, ...]:
        """Make every new node on which `last` depends, and return the operands of `last`.

        A new node is made after the new nodes that it reads.
        """
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
        """Return the value of a planned operand.

        An int is an operand of the planned node, a New must be made already, Numbers become a new constant, and a Value
        is returned unchanged.
        """
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
    """Make every reader of the node's first result read the node's operand `at` instead, and remove the node."""
    source, result = node.operand(at), node.results[0]
    for reader, place in result.reads if result is not None else ():
        state.put(reader, place, source)
    state.remove(node)


def replace_node(state: State, old: Node, new: Node) -> Node:
    """Replace the node `old` by `new` in the view, and note that the operands of `old` lost a reader. Return `new`."""
    set_node(new)
    for operand in new.operands:
        if operand is not None:
            new.graph.note(new.index, operand)
    state.dead.update(dict.fromkeys(operand for operand in old.operands if operand is not None))
    return new


def remove_dead(state: State, is_removable: Callable[[Node], bool]) -> list[Value]:
    """Remove the nodes that became unused by the edits, and return the constants that became unused.

    `is_removable` returns whether a node may be removed once its results are unused.
    """
    constants: dict[Value, None] = {}
    pending = list(state.dead)
    while pending:
        value = pending.pop()
        node = value.producer
        if node is None and value.kind == "constant":
            constants[value] = None  # A constant is looked at once, however many of its readers are removed.
        elif (
            node is not None
            and not any(result.is_used for result in node.results if result is not None)
            and is_removable(node)
        ):
            pending += [operand for operand in node.operands if operand is not None]
            state.remove(node)
    return [value for value in constants if not value.is_used]
