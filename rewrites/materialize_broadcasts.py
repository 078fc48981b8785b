"""Stretch size-1 axes by an explicit node, so that no operator repeats an operand silently.

    Add(x[2,3,4], b[1,1,4])      ->  Add(x, Expand(b, [2,3,4]))
    Mul(a[N,1], c[N,T])          ->  Mul(Expand(a, Shape(c)), c)
    Add(a[N], c[M])              ->  Add(Expand(a, Shape(c)), Expand(c, Shape(a)))
    ADD(x[2,3,4], b[1,1,4])      ->  ADD(x, TILE(b, [2,3,1]))            TFLite
    BATCH_MATMUL(a[8,2,3], b[1,3,4])  ->  BATCH_MATMUL(a, TILE(b, [8,1,1]))

The third line is the run-time form: a size that is not known may be 1 when the model runs. Each operand is expanded by
the run-time shape of the others, which does nothing where the sizes agree and equals numpy's rule for all sizes, 0
included; sizes that can't meet still fail when the model runs. An operand that is provably never stretched is not
touched.

`--broadcasts keep` leaves all of this to `equalize-ranks`; `two-sided` stretches only where more than one operand of a
node would be: the one that costs fewest bytes, ties to the lowest index, all of them where sizes are not known;
`explicit` stretches every operand. `--unknown` says what happens where a size is not known: `expand` (the run-time
form), `keep` (left, reported), `assume` (sizes that are not known are taken to be equal, never 1 against another; the
assumption is written into the report and the model's metadata) or `error`.

Left as they are, with the reason: a Pow exponent of one element, the operands of an ONNX matrix product, the scale and
bias of a normalization, PRELU's alpha in TFLite; with `--keep-fusions` scalar and rank-1 constants. Left as a
finding: a result of more axes than the runtime broadcasts (GF301).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from graphfix.graph.broadcast import (
    Alignment,
    Party,
    align,
    exemption,
    fused,
    meeting,
    over_limit,
    product_axes,
    taking_part,
)
from graphfix.graph.edits import DEFAULT, Assume, AxisOf, Edit, Leave, Options, Stretch
from graphfix.graph.view import Node
from graphfix.results import GraphfixError
from graphfix.shapes.shape import Shape, Undecided, broadcast, never_one, same

Needs = dict[int, tuple[Party, tuple[str, ...]]]
"""By operand: per axis "no", "yes" or "maybe"."""
By = tuple[int | tuple[int | AxisOf, ...], ...]
"""What stretches an operand, as `edits.Stretch` says it."""


def plan(node: Node, options: Options = DEFAULT) -> Iterator[Edit]:
    """Stretch every operand that the options ask for."""
    if options.broadcasts == "keep":
        return
    if any(not value.shape.ranked for value in meeting(node)) and options.stretches_unknown:
        yield from _unranked(node, options)
        return
    alignment = align(node)
    if alignment is None:
        return
    needs: Needs = {}
    for party in alignment.parties:
        axes = alignment.stretches(party)
        if any(axis != "no" for axis in axes):
            needs[party.index] = (party, axes)
    left = list(_left(node, alignment, needs, options))
    yield from left
    if over_limit(node, alignment) is not None:
        return
    kept = {edit.operand for edit in left}
    needs = {index: need for index, need in needs.items() if index not in kept}
    for party, axes in _chosen(needs, alignment, options).values():
        yield from _stretched(node, alignment, party, axes, options)


def _left(node: Node, alignment: Alignment, needs: Needs, options: Options) -> Iterator[Leave]:
    """Those that the catalogue keeps as they are, and those of a result with too many axes."""
    limit = over_limit(node, alignment)
    for party, _ in needs.values():
        reason = exemption(party, party.operand.keep_dims) or fused(party, asked=options.keep_fusions)
        if reason is not None:
            yield Leave(party.index, reason, "GF102")
        elif limit is not None and party.value.shape.rank == alignment.rank:  # else equalize-ranks has left it
            yield Leave(party.index, limit, "GF301", "left")


def _chosen(needs: Needs, alignment: Alignment, options: Options) -> Needs:
    """With `two-sided`, the cheapest operands until at most one is stretched by the operator itself."""
    if options.broadcasts == "explicit":
        return needs
    wholes = {index: _whole(alignment, party) for index, (party, _) in needs.items()}
    unknown = any("maybe" in axes for _, axes in needs.values()) or not all(whole.static for whole in wholes.values())
    empty = 0 in alignment.result.dims  # nothing is saved, and some kernels fail on an empty operand that they stretch
    if len(needs) <= 1 or unknown or empty:
        return needs if len(needs) > 1 else {}
    costs = sorted((_bytes(party, wholes[index]), index) for index, (party, _) in needs.items())
    return {index: needs[index] for _, index in costs[:-1]}


def _whole(alignment: Alignment, party: Party) -> Shape:
    """The operand's shape after the stretch: a matrix product's batch axes, then its own matrix."""
    return Shape(alignment.result.dims + party.matrix)


def _bytes(party: Party, whole: Shape) -> int:
    digits = "".join(filter(str.isdigit, party.value.dtype))
    return prod(size for size in whole.dims if isinstance(size, int)) * max(int(digits or 8) // 8, 1)


def _stretched(node: Node, alignment: Alignment, party: Party, axes: Sequence[str], options: Options) -> Iterator[Edit]:
    value = party.value
    maybe = "maybe" in axes
    if maybe and options.unknown == "error":
        raise GraphfixError(
            f"{node.op} '{node.label}': operand {party.index} {value} may be stretched when the model runs; "
            "bind its dims (--dim, --shape) or choose another --unknown"
        )
    if maybe and options.unknown == "keep":
        reason = f"whether {value.shape} is stretched to {alignment.result} is known only at run time (--unknown keep)"
        yield Leave(party.index, reason, "GF103", "left")
        return
    if maybe and options.unknown == "assume":
        # the result's shape is the same before and after the other operands are stretched: a second run says the same
        sizes = f"operand {party.index} {value.shape} to {alignment.result}"
        text = f"{node.op} '{_lasting_name(node)}' never stretches an unknown size of {sizes}"
        yield Assume(party.index, text, "GF103")
        if "yes" not in axes:
            return
    by, to = _by(node, alignment, party)
    yield Stretch(party.index, by, to, "GF103" if maybe and options.unknown == "expand" else "GF102")


def _lasting_name(node: Node) -> str:
    """The name, or the first result's: the place of a node without a name is another one once nodes were added."""
    result = node.results[0] if node.results else None
    return node.name or (result.name if result is not None else node.label)


def _by(node: Node, alignment: Alignment, party: Party) -> tuple[By, Shape]:
    """Which operands' run-time shapes stretch this one, and the shape after: one that says all, else all that add."""
    shape = party.value.shape
    if party.matrix:
        return (_batches(alignment, party),), _whole(alignment, party)
    if not alignment.others:
        if node.row is not None and node.row.onto is not None:
            return (node.row.onto,), alignment.result
        return (product_axes(node),), alignment.result
    others = [(index, other) for index, other in alignment.others if index != party.index and other.rank]
    for index, other in others:
        if _is(broadcast(shape, other), alignment.result):
            return (index,), alignment.result
    chosen: list[int] = []
    reached = shape
    for index, other in others:
        further = broadcast(reached, other)
        if not _is(further, reached) or not _settled(other, shape):
            chosen.append(index)
            reached = further
    return tuple(chosen), reached


def _batches(alignment: Alignment, party: Party) -> tuple[int | AxisOf, ...]:
    """A whole shape, axis by axis: the batch axes of whichever operand has the result's size, then the own matrix.

    Raises Undecided where no operand has it: it is then the broadcast of several sizes.
    """
    batch = party.shape.rank
    matrix = [size if isinstance(size, int) else (party.index, batch + axis) for axis, size in enumerate(party.matrix)]
    return (*(_batch(alignment, axis) for axis in range(alignment.result.rank)), *matrix)


def _batch(alignment: Alignment, axis: int) -> int | AxisOf:
    size = alignment.result.dims[axis]
    if isinstance(size, int):
        return size
    for index, shape in alignment.others:
        own = axis - (alignment.result.rank - shape.rank)
        if own >= 0 and same(shape.dims[own], size):
            return index, own
    raise Undecided(f"batch axis {axis} is {size}, the broadcast of sizes that are known only at run time")


def _settled(other: Shape, shape: Shape) -> bool:
    """Whether `other` can't stretch `shape`: its axes are 1, or the same, or ours are never 1."""
    ours = (1,) * (other.rank - shape.rank) + shape.dims[max(shape.rank - other.rank, 0) :]
    return all(size == 1 or same(size, mine) or never_one(mine) for size, mine in zip(other.dims, ours, strict=True))


def _is(one: Shape, other: Shape) -> bool:
    return one.rank == other.rank and all(same(a, b) for a, b in zip(one.dims, other.dims, strict=True))


def _unranked(node: Node, options: Options) -> Iterator[Edit]:
    """A rank is not known: expand each operand by the shape of every other one."""
    pairs = list(taking_part(node))
    row = node.row
    if row is None or row.style not in ("multidirectional", "unidirectional"):
        for _, value in pairs:
            _ = value.ranked  # raises with the name of the operand whose rank is not known
        return
    whole = broadcast(*(value.shape for value in meeting(node)))
    if whole.parts and all(value.shape == whole for _, value in pairs):
        return
    onto = row.onto
    for operand, value in pairs:
        if operand.index == onto:
            continue
        party = Party(operand, value, value.shape)
        reason = exemption(party, operand.keep_dims) or fused(party, asked=options.keep_fusions)
        if reason is not None:
            yield Leave(operand.index, reason, "GF103")
            continue
        candidates = (
            [(other.index, of.shape) for other, of in pairs] if onto is None else [(onto, node.operand(onto).shape)]
        )
        by, to = _adding(value.shape, [(index, shape) for index, shape in candidates if index != operand.index])
        if by:
            yield Stretch(operand.index, by, to, "GF103")


def _adding(shape: Shape, others: Sequence[tuple[int, Shape]]) -> tuple[tuple[int, ...], Shape]:
    """Those whose shapes add something, and the shape that all of them give."""
    chosen = []
    for index, other in others:
        further = broadcast(shape, other)
        if not _adds_nothing(shape, further):
            chosen.append(index)
            shape = further
    return tuple(chosen), shape


def _adds_nothing(shape: Shape, further: Shape) -> bool:
    if shape.axes is None or further.axes is None:
        return shape == further and bool(shape.parts)
    return _is(shape, further)
