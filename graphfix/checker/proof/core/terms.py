"""The table of terms: every value is a core (what computes the value) read by an indexing map.

Cores are hash-consed: two equal computations are one `Core` object, in both files of a proof.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.checker.proof.core.budget import Budget
from graphfix.checker.proof.core.iteration_space import LoopNest
from graphfix.checker.proof.core.sizes import add_once, broadcast_parts, is_executed_with, result_size
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.proof.core.iteration_space import Axes, BroadcastSpace
    from graphfix.checker.proof.core.sizes import Algebra, Place, Size, Sizes


class Core:
    """An input, a constant, or one result of an operator that reads certain values. Equal cores are one object.

    `key` is the term by which equal cores are found: a kind such as "constant", then the parts. `sizes` is the shape,
    or None if the rank is unknown. `matched` is True once the second file contains the core too. `places` are the
    places (bodies) of the first file that compute the core.
    """

    # Few cores use the attributes below, so they are class defaults until one core sets them.
    __slots__ = ("__dict__", "description", "dtype", "key", "matched", "must_match", "number", "places", "sizes")
    content: Sizes | None = None
    # The known elements of a partly known int64 vector; None for each unknown element.
    elements: tuple[Size | None, ...] | None = None
    payload: Payload | None = None
    shape_of: ProofValue | None = None
    shape_source: Core | None = None

    def __init__(self, key: tuple[object, ...], number: int, description: str, *, must_match: bool) -> None:
        """Create a core. `number` is the index in the table of terms.

        `description` names the node, input or constant. If `must_match`, the first file must contain the core wherever
        the second file does.
        """
        self.key, self.number, self.description, self.counted = key, number, description, must_match
        self.sizes: Sizes | None = None
        self.matched = False
        self.places: tuple[Place, ...] = ()
        self.dtype: int | bytes | None = None

    def __repr__(self) -> str:
        """Return the description: the node, input or constant behind the core."""
        return self.description


class ProofValue(NamedTuple):
    """A value of the proof: a core, and the indexing map by which the value reads the core.

    `axes` contains for each axis of the value the core's axis that it follows, or None for an axis along which the core
    is repeated. For a core b[3], the value with sizes (4, 3) and axes (None, 0) has the element b[j] at [i,j]. The core
    is read at 0 on its axes of size 1 and on those that no axis follows.

    If the value's rank is unknown, `sizes` is None. `axes` is None too, unless the core's own rank is known.
    `broadcast_shapes` then contains the shapes with which the core is broadcast, right-aligned: tuples of sizes, or
    values that have those shapes.
    """

    core: Core
    axes: Axes | None
    sizes: Sizes | None
    broadcast_shapes: frozenset[Extent] = frozenset()

    @property
    def content(self) -> Sizes | None:
        """The elements as terms, if this value is a scalar or vector of known integers. None for every other value.

        The result is also None if one element is repeated more than MOST_ELEMENTS times, or an unknown number of times.
        """
        content, axes, sizes = self.core.content, self.axes, self.sizes
        if content is None or axes is None or sizes is None or len(axes) > 1:
            return None
        if not axes or axes[0] is not None:
            return content
        size = sizes[0]
        return content * size if isinstance(size, int) and size <= MOST_ELEMENTS else None


Extent: TypeAlias = "ProofValue | Sizes"
"""A shape: its sizes, or a value that has this shape if the rank is unknown."""

CONSTANTS = frozenset({"constant", "integers"})
"""The first part of the key of a constant that has elements; the second part begins with the element type."""
MOST_ELEMENTS = 64
"""Vectors of integers up to this length are read element by element, because they may be shapes."""


def integer_type(view: ProofValue) -> str | None:
    """Return the element type of a value whose integers are known as terms; None for any other value.

    A constant without elements counts as such a value, whatever its element type.
    """
    key = view.core.key
    return str(key[1]) if key[0] in ("integers", "nothing") else None


class Split(NamedTuple):
    """How a sequence was made: the tensor that was split, the axis, and the sizes of the parts."""

    data: ProofValue
    axis: int
    parts: tuple[int, ...]
    """The size of each part along the axis."""
    keep: bool
    """Whether the parts keep the axis."""


@dataclass(slots=True, eq=False)
class TermTable:
    """The terms of both files. Two values are equal if they have the same core and equal maps and sizes.

    The first file is read first; after `close`, terms of the second file are compared with it.
    """

    algebra: Algebra
    arithmetic: Arithmetic = field(init=False)
    """Arithmetic on sizes, and on integers that are known as terms."""
    budget: Budget = field(default_factory=Budget)
    """The work that is left for both files together."""
    cores: dict[tuple[object, ...], Core] = field(default_factory=dict)
    closed: bool = False
    """Whether the first file has been read completely: a term that is created later is not in the first file."""
    unmatched: list[Core] = field(default_factory=list)
    """Results of operators that the second file computes and the first file does not."""
    broadcast_spaces: dict[object, BroadcastSpace] = field(default_factory=dict)
    """A cache: how operands of certain maps and sizes are broadcast together. Most nodes of a model are alike."""
    loop_nests: dict[tuple[object, ...], LoopNest] = field(default_factory=dict)
    checks: dict[frozenset[Extent], list[Place]] = field(default_factory=dict)
    """Sets of shapes that nodes of the first file need to fit together, with the bodies around those nodes.

    At least one rank of each set is unknown.
    """
    second_checks: dict[tuple[frozenset[Extent], Place], None] = field(default_factory=dict)
    """Sets of shapes that nodes of the second file need to fit together, each with the bodies around the node."""
    declared_shapes: dict[tuple[str, ProofValue], list[tuple[int, ...]]] = field(default_factory=dict)
    """The shapes that the first file declares for a value of this name; -1 is a size that the file does not declare."""
    declared_content_types: set[tuple[str, ProofValue, bytes]] = field(default_factory=set)
    """The types that the first file declares for values that are no tensors, with the sizes of the contained tensors.
    """
    wrong_declared_types: set[tuple[ProofValue, int | bytes]] = field(default_factory=set)
    """Wrong types that the first file declares for values. The second file may declare the same wrong types only."""
    sequence_shapes: dict[Core, Sequence[Sizes]] = field(default_factory=dict)
    """The known shapes of the tensors that a sequence contains, by the sequence's core."""
    sequence_splits: dict[Core, Split] = field(default_factory=dict)
    """How a sequence was made by splitting a tensor, by the sequence's core."""
    integers_of_floats: dict[Core, Size] = field(default_factory=dict)
    """The integer from which a float was converted, by the float's core."""
    first_operands: dict[tuple[object, ...], Core] = field(default_factory=dict)
    """Operand 0 where a commutative operator was read first, by the operator and its set of two operands."""
    product_ops: dict[Core, str] = field(default_factory=dict)
    """The operator that computed a product first, by the product's core. Several operators can compute one product."""
    routines: dict[Core, object] = field(default_factory=dict)
    """How the operands of a result were stretched, by the result's core, if the runtime chooses its routine by that."""
    quantized_limits: dict[Core, float] = field(default_factory=dict)
    """How large the numbers of a quantized result may be, by its core, if that is less than the element type allows."""
    int64_cores: dict[Core, Core] = field(default_factory=dict)
    """The int64 core that contains the same numbers as an int32 core, by the int32 core."""
    stored_operands: dict[Core, set[tuple[int, ...]]] = field(default_factory=dict)
    """The positions of operands that the first file stores as constants and no node computes, by the result's core."""
    unconfirmed_shapes: set[str] = field(default_factory=set)
    """Values of the second file whose declared shape contains a number that no rule infers."""
    objections: list[str] = field(default_factory=list)
    """Differences of the second file beside its terms that are not on a list of permitted changes.

    The first objection becomes the reason of the proof only if every node has a match.
    """
    notes: dict[str, None] = field(default_factory=dict)
    """Sentences about facts that the first file declares wrongly and the second file declares correctly."""
    assumptions: dict[str, None] = field(default_factory=dict)
    """The assumptions under which the terms are correct, each once."""

    def __post_init__(self) -> None:
        """Create the arithmetic for the symbols of this proof."""
        self.arithmetic = Arithmetic(self.algebra)

    def find_or_create_core(
        self, key: tuple[object, ...], description: str, *, counted: bool = True
    ) -> tuple[Core, bool]:
        """Find or create the core with this key. Return the core, and whether it is new.

        The caller must set the sizes of a new core.
        """
        found = self.cores.get(key)
        if found is not None:
            self.record_reuse(found)
            return found, False
        return self.create_core(key, description, counted=counted), True

    def create_core(self, key: tuple[object, ...], description: str, *, counted: bool = True) -> Core:
        """Create the core with this key, which must not be in the table yet."""
        made = self.cores[key] = Core(key, len(self.cores), description, must_match=counted)
        self._record_place(made)
        return made

    def record_reuse(self, core: Core) -> None:
        """Record that a file contains an existing core once more. In the second file this marks the core as matched."""
        core.matched = self.closed
        self._record_place(core)

    def _record_place(self, core: Core) -> None:
        """Record for a core of the first file that the body being read contains it. For the second file, check this.

        The second file may compute a core only where the first file computes it too. If it does not, the core is added
        to `unmatched`. A core that is not counted is ignored.
        """
        if not core.counted:
            return
        if not self.closed:
            if self.algebra.place not in core.places:
                core.places = (*core.places, self.algebra.place)
        elif not is_executed_with(core.places, self.algebra.place):
            self.unmatched.append(core)

    def loop_nest(self, operator: tuple[object, ...], maps: tuple[Axes, ...], space: Sizes) -> LoopNest:
        """Return the `LoopNest` of an operator with these maps over this space. Equal arguments return one object."""
        key = operator, maps, space
        found = self.loop_nests.get(key)
        if found is None:
            found = self.loop_nests[key] = LoopNest(operator, maps, space)
        return found

    def close(self) -> None:
        """Mark the first file as read: every later term belongs to the second file."""
        self.closed = self.algebra.is_first_read = True

    def check_fit(self, extents: frozenset[Extent]) -> frozenset[Extent]:
        """Record that a node needs these shapes to broadcast together; return `extents` unchanged.

        At least one of the shapes has an unknown rank. Nothing is recorded if at most one shape remains after leading
        unit axes are dropped, because one shape always fits.
        """
        checked = _without_leading_ones(extents)
        if len(checked) <= 1:
            return extents  # one shape fits itself
        if self.closed:
            self.second_checks[checked, self.algebra.place] = None
        else:
            add_once(self.checks.setdefault(checked, []), self.algebra.place)
        return extents

    def unmatched_check(self) -> str | None:
        """Return sizes or shapes, printed, that only the second file needs to fit; None if there are none.

        With sizes that do not fit, the second file would fail where the first file runs.
        """
        sizes = self.algebra.unmatched_check()
        if sizes is not None:
            return repr(sizes)
        for extents, place in self.second_checks:
            if not is_executed_with(self.checks.get(extents, ()), place) and not any(
                _implies(other, extents) and is_executed_with(at, place) for other, at in self.checks.items()
            ):
                return ", ".join(sorted(map(printed_value, extents)))
        return None

    def result(self, key: tuple[object, ...], description: str, sizes: tuple[Size | None, ...] | None) -> ProofValue:
        """Return the whole result of an operator with the term `key`. Each size that is None becomes a new symbol.

        `sizes` is None if the rank is unknown. If the core exists already, the result has that core's sizes.
        """
        core, new = self.find_or_create_core(key, description)
        if new:
            core.sizes = self.named_sizes(core, sizes)
        return value_of(core)

    def named_sizes(self, core: Core, sizes: tuple[Size | None, ...] | None) -> Sizes | None:
        """Return the sizes with a symbol for each unknown size; None if `sizes` is None.

        The symbol is identified by the core and the axis. A broadcast of sizes becomes the size that the result has.
        """
        if sizes is None:
            return None
        return tuple(
            self.algebra.symbol(("dim", core.number, axis)) if size is None else result_size(size)
            for axis, size in enumerate(sizes)
        )

    def integers(self, terms: Sizes, dtype: str, *, scalar: bool = False) -> ProofValue:
        """Return a constant vector (or scalar) whose integer elements are known as terms.

        `dtype` is the element type. If all elements are equal, the core contains one element, which the vector repeats.
        Without elements, the result is an empty vector.
        """
        if not terms:
            return self.empty(dtype, (0,))
        folded = terms[:1] if len(set(terms)) == 1 else terms
        core, new = self.find_or_create_core(("integers", dtype, folded), f"{list(terms)}", counted=False)
        if new:
            core.content = folded
            core.sizes = () if len(folded) == 1 else (len(folded),)
        if scalar:
            return ProofValue(core, (), ())
        return ProofValue(core, (None,) if len(folded) == 1 else (0,), (len(terms),))

    def empty(self, dtype: str, sizes: Sizes) -> ProofValue:
        """Return a constant without elements, of these sizes. All such constants of one type share one core.

        No axis follows an axis of that core.
        """
        core, new = self.find_or_create_core(
            ("nothing", dtype), f"a constant of no elements {list(sizes)}", counted=False
        )
        if new:
            core.content = core.sizes = ()
        return ProofValue(core, (None,) * len(sizes), sizes)


def _implies(fitting: frozenset[Extent], wanted: frozenset[Extent]) -> bool:
    """Return whether shapes `wanted` certainly fit together wherever shapes `fitting` do.

    For example, if x (of unknown rank) and [N,4] fit, then x and [N,1] fit too. False means that this is not known.
    """
    if wanted <= fitting:
        return True
    if not all(each in fitting for each in wanted if isinstance(each, ProofValue)):
        return False
    wide, narrow = _sizes_by_axis(fitting), _sizes_by_axis(wanted)
    return all(sizes <= wide.get(axis, {1}) for axis, sizes in narrow.items())


def _sizes_by_axis(extents: frozenset[Extent]) -> dict[int, set[Size]]:
    """Return the set of sizes that face each other on each axis, for the shapes of known rank.

    Axes are counted from the end, from 0. Every set contains 1.
    """
    found: dict[int, set[Size]] = {}
    for each in extents:
        for axis, size in enumerate(reversed(() if isinstance(each, ProofValue) else each)):
            found.setdefault(axis, {1}).update(broadcast_parts(size))
    return found


def _without_leading_ones(extents: frozenset[Extent]) -> frozenset[Extent]:
    """Return the shapes without leading unit axes, and without scalars: both fit every shape.

    Values, which represent shapes of unknown rank, are kept as they are.
    """
    bare: set[Extent] = set()
    for each in extents:
        if isinstance(each, ProofValue):
            bare.add(each)
            continue
        first = next((axis for axis, size in enumerate(each) if size != 1), len(each))
        bare.add(each[first:])
    return frozenset(bare - {()})


def value_of(core: Core) -> ProofValue:
    """Return the value that reads all of a core: axis i follows the core's axis i.

    An axis of size 1 follows no axis. If the core's rank is unknown, map and sizes are None.
    """
    if core.sizes is None:
        return ProofValue(core, None, None)
    return ProofValue(core, tuple(None if size == 1 else axis for axis, size in enumerate(core.sizes)), core.sizes)


def shape_or_value(view: ProofValue) -> Extent:
    """Return the shape of a value that is not stretched by a shape of unknown rank.

    If the rank is known, the shape is the tuple of sizes. Otherwise a value represents the shape. For the result of an
    elementwise operator of one operand, this value is the whole core of the operand, because both have one shape.
    """
    if view.sizes is not None:
        return view.sizes
    return view if view.core.shape_source is None else value_of(view.core.shape_source)


def compose_maps(outer: ProofValue, inner: ProofValue) -> ProofValue:
    """Return the core of `inner` read by both maps: first the map of `outer`, then the map of `inner`.

    `inner` must have the shape of the core of `outer`. For example, `outer` is the operand x[4,3] of a Relu, which
    repeats a core x[3], and `inner` is the Relu of that core. The result is the Relu of x[4,3]. If one map is unknown,
    the result has an unknown rank.
    """
    more = outer.broadcast_shapes | inner.broadcast_shapes
    if outer.axes is None or inner.axes is None:
        return ProofValue(inner.core, None, None, more)
    return ProofValue(inner.core, tuple(None if k is None else inner.axes[k] for k in outer.axes), outer.sizes, more)


def printed_value(value: Any) -> str:  # noqa: ANN401 - any term can be printed
    """Return a value as reports print it: `x[2,3]`, or `x[*]` if the rank is unknown.

    Print any other term by `repr`.
    """
    if not isinstance(value, ProofValue):
        return repr(value)
    if value.sizes is None:
        return f"{value.core.description}[*]"
    return f"{value.core.description}[{','.join(map(repr, value.sizes))}]"
