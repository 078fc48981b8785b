"""List the unknown sizes that decide how nodes broadcast, with the options that would decide them.

A node with a GF103 site has an axis on which several sizes come together that may be equal or 1. Nodes are grouped by
these sizes: free sizes of inputs, which `--same` can declare equal; a free size and a number; or computed sizes, which
become numbers when the free sizes are bound.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from graphfix.graph.broadcast import Alignment, align, has_ranks
from graphfix.graph.protocols import Model
from graphfix.graph.view import Node, Value
from graphfix.results import OpenSizes
from graphfix.results.records import dataclass, field
from graphfix.results.sites import Sites
from graphfix.shapes.dim import Dim, Incompatible, Size, Undecided, is_symbol

CODE, MATERIALIZE = "GF103", "materialize-broadcasts"
Meeting = frozenset[str | int]
"""The sizes that must fit each other on one axis: names of sizes in the view, and numbers."""
Nodes = dict[tuple[str, str], None]
"""An ordered set of nodes: the keys are (path of the graph, name of the node)."""
LONGEST = 60
"""The most characters of a size in a sentence; a longer one is replaced by `COMPUTED`."""
COMPUTED = "a computed size"
SUM = r"\?=\{[^{}]*\}(\+\{[^{}]*\})*(\+\d+)?"
"""A regular expression for a view's name of a size that is a sum: each summand a size or, once, a number."""


@dataclass(slots=True)
class Seen:
    """The nodes whose broadcast is undecided, grouped by the sizes that come together on an axis."""

    meetings: dict[Meeting, Nodes] = field(default_factory=dict)

    def see(self, node: Node, met: Iterable[Meeting]) -> None:
        """Record the sizes `met` that come together at a node, as its operands were before the node was edited."""
        for meeting in met:
            self.meetings.setdefault(meeting, {})[node.graph.path, node.label] = None


def meetings(node: Node) -> Sequence[Meeting]:
    """Return the sizes that come together on each axis on which an operand of the node may be stretched.

    Return an empty sequence if a rank is unknown or the operands can't be aligned.
    """
    alignment = aligned(node) if has_ranks(node) else None
    return () if alignment is None else tuple(_meetings(alignment))


def aligned(node: Node) -> Alignment | None:
    """Return how a node's operands broadcast; None if they do not, or if their shapes do not decide it."""
    try:
        return align(node)
    except (Undecided, Incompatible):
        return None


def open_sizes(model: Model, seen: Seen, sites: Sites) -> list[OpenSizes]:
    """Return the unknown sizes of a run, the ones on which most nodes depend first.

    For TFLite, a last entry lists the nodes that need a slow BROADCAST_TO because sizes are free; it is derived from
    the sites of the run.
    """
    names = _Names.of(model)
    same: list[tuple[set[str], Nodes]] = []
    others: dict[str, tuple[list[tuple[str, ...]], Nodes]] = {}
    for meeting, nodes in seen.meetings.items():
        atoms = {size for size in meeting if isinstance(size, str)}
        if len(meeting) == len(atoms) and atoms <= names.labels.keys():
            apart = [group for group in same if not group[0] & atoms]
            joined = [group for group in same if group[0] & atoms]
            members = atoms.union(*(group[0] for group in joined))
            same = [*apart, (members, {key: None for group in (*joined, (atoms, nodes)) for key in group[1]})]
        else:
            sizes, option = names.summed(meeting) or names.decided(meeting)
            listed, numbered = others.setdefault(option, ([], {}))
            listed.append(sizes)
            numbered.update(nodes)
    # Nodes with other undecided axes are not counted here: equal inputs alone would not decide their broadcast.
    rest = {node for _, nodes in others.values() for node in nodes}
    counted = [(members, len(nodes.keys() - rest)) for members, nodes in same]
    found = [names.equal(members, number) for members, number in counted if number and len(members) > 1]
    for option, (listed, nodes) in others.items():
        more = f" (and {len(listed) - 1} such)" if len(listed) > 1 else ""
        how = "if they are, say" if option.startswith("--same") else "numbers may decide it, say"
        text = f"{_depend(len(nodes), listed[0])}{more}; {how} {option}"
        found += [OpenSizes(len(nodes), listed[0], option, text)] if option else []
    slow = _slow(names, sites) if model.format == "tflite" else ()
    return [*sorted(found, key=lambda each: -each.nodes), *slow]


def _meetings(alignment: Alignment) -> Iterator[Meeting]:
    """Yield the sizes that come together on each axis on which an operand may be stretched."""
    shapes = [shape for _, shape in alignment.others] or [
        alignment.result,
        *(each.shape for each in alignment.operands),
    ]
    certain = [alignment.stretches(operand) for operand in alignment.operands]
    for axis in range(alignment.result.rank):
        if all(axes[axis] != "maybe" for axes in certain):
            continue
        places = ((shape, axis - alignment.result.rank + shape.rank) for shape in shapes)
        yield frozenset(name for shape, at in places if at >= 0 for name in _atoms(shape.dims[at]))


def _atoms(size: Size) -> tuple[str | int, ...]:
    if isinstance(size, Dim):
        return size.parts or (COMPUTED,)
    return () if size == 1 else (size,)


@dataclass(frozen=True, slots=True)
class _Names:
    """The names by which a user knows the free sizes of a model's inputs."""

    labels: Mapping[str, str]
    """By the view's name of a free size: its symbol in the file, or else the first `input[axis]` that has it."""
    firsts: Mapping[str, str]
    """By the view's name of a free size that is the first axis of an input: that `input[0]`."""
    bindable: frozenset[str]
    """The labels that `--dim` accepts."""
    shapes: str
    """The options that bind all inputs.

    They are a `--dim` for each symbol if every free size of an ONNX model has one, else a `--shape` for each input.
    """

    @classmethod
    def of(cls, model: Model) -> _Names:
        """Return the names for the inputs of the model's main graph."""
        labels: dict[str, str] = {}
        firsts: dict[str, str] = {}
        bindable: set[str] = set()
        free = [value for value in model.graphs[0].inputs if not value.shape.static]
        for value in free:
            for axis, size in enumerate(value.shape.axes or ()):
                if isinstance(size, Dim) and len(size.parts) == 1:
                    (name,), place = size.parts, f"{value.name}[{axis}]"
                    label = labels.setdefault(name, name if is_symbol(size.parts) else place)
                    if is_symbol(size.parts) or model.format == "tflite":
                        bindable.add(label)
                    if axis == 0:
                        firsts.setdefault(name, place)
        shapes = " ".join(f"--shape {shlex.quote(_open_shape(value))}" for value in free)
        if model.format == "onnx" and _all_have_symbols(free):  # a cache is many inputs, and few symbols
            shapes = " ".join(f"--dim {shlex.quote(f'{label}=<size>')}" for label in labels.values())
        return cls(labels, firsts, frozenset(bindable), shapes)

    def equal(self, members: set[str], nodes: int) -> OpenSizes:
        """Return the entry for free sizes of inputs that may be equal.

        `members` are the sizes' names in the view, `nodes` is the number of nodes that depend on them.
        """
        batch = members <= self.firsts.keys()
        called = self.firsts if batch else self.labels
        sizes = tuple(called[name] for name in called if name in members)
        option = f"--same {shlex.quote('='.join(sizes))}"
        why = "these inputs each have a free first axis: if they are one batch, say" if batch else "if they are, say"
        return OpenSizes(nodes, sizes, option, f"{_depend(nodes, sizes)}; {why} {option}")

    def summed(self, meeting: Meeting) -> tuple[tuple[str, ...], str] | None:
        """A free size and a sum of others that meet, and the option that makes them equal; None for anything else."""
        totals = [size for size in meeting if isinstance(size, str) and size in self.labels]
        sums = [size for size in meeting if isinstance(size, str) and re.fullmatch(SUM, size)]
        if len(totals) != 1 or len(sums) != 1 or len(meeting) != len(totals + sums):
            return None
        size_names = re.findall(r"\{([^{}]*)\}", sums[0])
        if not size_names or any(name not in self.labels or name == totals[0] for name in size_names):
            return None
        ordered = [label for name, label in self.labels.items() for _ in range(size_names.count(name))]
        number = re.search(r"\d+$", sums[0])
        sizes = self.labels[totals[0]], "+".join([*ordered, *([number[0]] if number is not None else [])])
        return sizes, f"--same {shlex.quote('='.join(sizes))}"

    def decided(self, meeting: Meeting) -> tuple[tuple[str, ...], str]:
        """Return the sizes of `meeting` as texts, and the options that bind all free sizes from which they follow."""
        used: dict[str, None] = {}
        written = [self._readable(size, used) for size in sorted(meeting, key=str)]
        sizes = tuple(text if len(text) <= LONGEST else COMPUTED for text in written)
        numbers = [size for size in meeting if isinstance(size, int)]
        if not used or not used.keys() <= self.bindable:
            return sizes, self.shapes
        one = numbers[0] if len(numbers) == len(used) == 1 and set(written) == {*used, str(numbers[0])} else "<size>"
        return sizes, " ".join(f"--dim {shlex.quote(f'{label}={one}')}" for label in used)

    def _readable(self, name: str | int, used: dict[str, None]) -> str:
        """Return a size as a text for users: `?={N}+1` becomes `N+1`.

        The labels of the free sizes that occur are added to `used`; so is "" if an occurring size is not a free size of
        an input.
        """
        if isinstance(name, int):
            return str(name)
        if name in self.labels:
            used[self.labels[name]] = None
            return self.labels[name]
        text = name.removeprefix("?").removeprefix("=")
        if not name.startswith("?="):
            used[""] = None
            value, dot, axis = text.rpartition(".")
            return f"{value}[{axis}]" if dot and axis.isdecimal() else text
        while (inner := re.search(r"\{([^{}]*)\}", text)) is not None:
            text = f"{text[: inner.start()]}{self._readable(inner[1], used)}{text[inner.end() :]}"
        return text


def _slow(names: _Names, sites: Sites) -> Iterator[OpenSizes]:
    """Yield an entry for the nodes whose operands a BROADCAST_TO stretches to free sizes (TFLite).

    BROADCAST_TO is slow in LiteRT. Yield nothing if there are no such nodes.
    """
    nodes = {
        (site.graph, name)
        for name, site in sites.rows()
        if site.rewrite == MATERIALIZE and site.after is not None and not all(isinstance(n, int) for n in site.after)
    }
    if nodes and names.shapes:
        text = "stretched to free sizes, which LiteRT does slowly (BROADCAST_TO): numbers save that, say"
        which = "node reads an operand" if len(nodes) == 1 else "nodes read an operand"
        sizes = tuple(names.labels.values())
        yield OpenSizes(len(nodes), sizes, names.shapes, f"{len(nodes)} {which} {text} {names.shapes}")


def _all_have_symbols(values: Iterable[Value]) -> bool:
    """Return whether every free size of these inputs has a symbol in the file."""
    sizes = [size for value in values for size in value.shape.axes or (Dim(),)]
    return all(is_symbol(size.parts) for size in sizes if isinstance(size, Dim))


def _open_shape(value: Value) -> str:
    sizes = value.shape.axes
    listed = (
        "<sizes>" if sizes is None else ",".join(str(size) if isinstance(size, int) else "<size>" for size in sizes)
    )
    return f"{value.name}={listed}"


def _depend(nodes: int, sizes: tuple[str, ...]) -> str:
    listed = list(dict.fromkeys(sizes))
    return f"{nodes} node{'s depend' if nodes > 1 else ' depends'} on whether {_and(listed)} are equal"


def _and(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))
