"""Values as hash-consed terms: what computes a value (its core), and the indexing map by which the core is seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.checker.proof.core.budget import Budget
from graphfix.checker.proof.core.iteration_space import Nest
from graphfix.checker.proof.core.sizes import add_once, broadcast_parts, reached, result_size
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.files.constant_bytes import Payload
    from graphfix.checker.proof.core.iteration_space import Axes, Frame
    from graphfix.checker.proof.core.sizes import Algebra, Place, Size, Sizes


class Core:
    """An input, a constant, or one result of an operator on certain uses: equal terms are one object."""

    # Few cores are constants or have no rank: what is only of those is none of the class until it is said of one.
    __slots__ = ("__dict__", "counted", "description", "dtype", "key", "matched", "number", "places", "sizes")
    content: Sizes | None = None
    elements: tuple[Size | None, ...] | None = None  # of a vector of int64 that is known in part
    payload: Payload | None = None
    shape_of: View | None = None
    shaped: Core | None = None

    def __init__(self, key: tuple[object, ...], number: int, description: str, *, counted: bool) -> None:
        """Enter a core; `description` is the node that made it, `counted` whether the other file must have it too."""
        self.key, self.number, self.description, self.counted = key, number, description, counted
        self.sizes: Sizes | None = None
        self.matched = False
        self.places: tuple[Place, ...] = ()
        self.dtype: int | bytes | None = None

    def __repr__(self) -> str:
        """Print the node that made it."""
        return self.description


class View(NamedTuple):
    """A value: element i of it is the core's element at `axes` of i (at 0 wherever the core's size is 1).

    Where the rank is not known `sizes` is None, and `axes` too unless the core's is known. Then `more` are the shapes
    that the core is stretched by, right-aligned: known ones, and values that have them.
    """

    core: Core
    axes: Axes | None
    sizes: Sizes | None
    more: frozenset[Extent] = frozenset()

    @property
    def content(self) -> Sizes | None:
        """The elements, where this is a scalar or vector of integers that are known as terms."""
        content, axes, sizes = self.core.content, self.axes, self.sizes
        if content is None or axes is None or sizes is None or len(axes) > 1:
            return None
        if not axes or axes[0] is not None:
            return content
        size = sizes[0]
        return content * size if isinstance(size, int) and size <= MOST_ELEMENTS else None


Extent: TypeAlias = "View | Sizes"
"""A shape: its sizes, or a value that has it where its rank is not known."""

CONSTANTS = frozenset({"constant", "integers"})
"""How the terms of constants with elements begin; their element type comes next."""
MOST_ELEMENTS = 64
"""Vectors of integers up to this length are read as shapes."""


def integer_type(view: View) -> str | None:
    """Return the type of integers that are known as terms."""
    key = view.core.key
    return str(key[1]) if key[0] in ("integers", "nothing") else None


class Split(NamedTuple):
    """What a sequence of parts was split from, and how."""

    data: View
    axis: int
    parts: tuple[int, ...]
    """The size of each along the axis."""
    keep: bool
    """Whether the parts have the axis."""


@dataclass(slots=True, eq=False)
class TermTable:
    """The terms of both files: two values are equal when they are one view of one core."""

    algebra: Algebra
    arithmetic: Arithmetic = field(init=False)
    """Of sizes, and of integers that are known as terms."""
    budget: Budget = field(default_factory=Budget)
    """The steps that are left, of both files."""
    cores: dict[tuple[object, ...], Core] = field(default_factory=dict)
    closed: bool = False
    """Whether the first file is read: what is entered from then on, it does not have."""
    unmatched: list[Core] = field(default_factory=list)
    """The operators' results that the second file has and the first one has not."""
    frames: dict[object, Frame] = field(default_factory=dict)
    """How operands of certain maps and sizes are read together, right-aligned: most nodes of a model are alike."""
    nests: dict[tuple[object, ...], Nest] = field(default_factory=dict)
    checks: dict[frozenset[Extent], list[Place]] = field(default_factory=dict)
    """Shapes, one of an unknown rank at least, that the first file's nodes see to fit, and where."""
    second_checks: dict[tuple[frozenset[Extent], Place], None] = field(default_factory=dict)
    """Which the second's do."""
    declared: dict[tuple[str, View], list[tuple[int, ...]]] = field(default_factory=dict)
    """The shapes that the first file declares of values by name; -1 is a size that it leaves open."""
    elements: set[tuple[str, View, bytes]] = field(default_factory=set)
    """The types that it declares of values by name which are no tensors, with the sizes of what they hold."""
    misdeclared: set[tuple[View, int | bytes]] = field(default_factory=set)
    """Types that the first file declares of values which have others: the second one may say no more."""
    parts: dict[Core, Sequence[Sizes]] = field(default_factory=dict)
    """The shapes of what sequences hold, where they are known."""
    splits: dict[Core, Split] = field(default_factory=dict)
    """What sequences were split from."""
    counts: dict[Core, Size] = field(default_factory=dict)
    """The integers of which floats are made."""
    first_operands: dict[tuple[object, ...], Core] = field(default_factory=dict)
    """By commutative operator and both operands: the operand 0 where the operator was read first."""
    product_ops: dict[Core, str] = field(default_factory=dict)
    """By which operator a product that several operators compute was written first."""
    routines: dict[Core, object] = field(default_factory=dict)
    """By result how the operands were stretched, where a runtime chooses its routine by that."""
    reaches: dict[Core, float] = field(default_factory=dict)
    """How large the numbers of a quantized result may be, where that is less than its type holds."""
    widened: dict[Core, Core] = field(default_factory=dict)
    """By value of int32: the one of int64 that holds the same numbers."""
    stored: dict[Core, set[tuple[int, ...]]] = field(default_factory=dict)
    """By result which of its operands the first file holds, and no node computes."""
    unsupported: set[str] = field(default_factory=set)
    """The values of the second file whose declared shape has a number that no rule derives."""
    objections: list[str] = field(default_factory=list)
    """What is in the second file, beside its terms, and neither in the first nor on a list of what may be new.

    The reason only where every node has a match.
    """
    notes: dict[str, None] = field(default_factory=dict)
    """What the first file declares wrongly and the second as it is."""
    assumes: dict[str, None] = field(default_factory=dict)
    """What the terms assume, each once."""

    def __post_init__(self) -> None:
        """Compute with the symbols of this proof."""
        self.arithmetic = Arithmetic(self.algebra)

    def core(self, key: tuple[object, ...], description: str, *, counted: bool = True) -> tuple[Core, bool]:
        """Find or enter a core; True when it is new and its sizes are to be set."""
        found = self.cores.get(key)
        if found is not None:
            self.meet(found)
            return found, False
        return self.enter(key, description, counted=counted), True

    def enter(self, key: tuple[object, ...], description: str, *, counted: bool = True) -> Core:
        """Enter a core that is not there yet."""
        made = self.cores[key] = Core(key, len(self.cores), description, counted=counted)
        self._placed(made)
        return made

    def meet(self, core: Core) -> None:
        """Enter that a core is there once more."""
        core.matched = self.closed
        self._placed(core)

    def _placed(self, core: Core) -> None:
        """Enter where the first file computes it; the second may do so only where the first does as well."""
        if not core.counted:
            return
        if not self.closed:
            if self.algebra.place not in core.places:
                core.places = (*core.places, self.algebra.place)
        elif not reached(core.places, self.algebra.place):
            self.unmatched.append(core)

    def nest(self, operator: tuple[object, ...], maps: tuple[Axes, ...], space: Sizes) -> Nest:
        """Return an operator over a space, the same object each time."""
        key = operator, maps, space
        found = self.nests.get(key)
        if found is None:
            found = self.nests[key] = Nest(operator, maps, space)
        return found

    def close(self) -> None:
        """Say that the first file is read."""
        self.closed = self.algebra.closed = True

    def check_fit(self, extents: frozenset[Extent]) -> frozenset[Extent]:
        """Enter that a node sees these shapes to fit, some of a rank that is not known."""
        checked = _without_leading_ones(extents)
        if len(checked) <= 1:
            return extents  # one shape fits itself
        if self.closed:
            self.second_checks[checked, self.algebra.place] = None
        else:
            add_once(self.checks.setdefault(checked, []), self.algebra.place)
        return extents

    def unmatched_check(self) -> str | None:
        """Name sizes or shapes that only the second file needs to fit."""
        sizes = self.algebra.unmatched_check()
        if sizes is not None:
            return repr(sizes)
        for extents, place in self.second_checks:
            if not reached(self.checks.get(extents, ()), place) and not any(
                _implies(other, extents) and reached(at, place) for other, at in self.checks.items()
            ):
                return ", ".join(sorted(map(shown, extents)))
        return None

    def result(self, key: tuple[object, ...], description: str, sizes: tuple[Size | None, ...] | None) -> View:
        """Return the result of an operator; a size that is None becomes a new symbol."""
        core, new = self.core(key, description)
        if new:
            core.sizes = self.named_sizes(core, sizes)
        return whole(core)

    def named_sizes(self, core: Core, sizes: tuple[Size | None, ...] | None) -> Sizes | None:
        """Name the sizes that are not known by the core and the axis."""
        if sizes is None:
            return None
        return tuple(
            self.algebra.symbol(("dim", core.number, axis)) if size is None else result_size(size)
            for axis, size in enumerate(sizes)
        )

    def integers(self, terms: Sizes, dtype: str, *, scalar: bool = False) -> View:
        """A vector of integers (or a scalar) whose elements are known as terms."""
        if not terms:
            return self.empty(dtype, (0,))
        folded = terms[:1] if len(set(terms)) == 1 else terms
        core, new = self.core(("integers", dtype, folded), f"{list(terms)}", counted=False)
        if new:
            core.content = folded
            core.sizes = () if len(folded) == 1 else (len(folded),)
        if scalar:
            return View(core, (), ())
        return View(core, (None,) if len(folded) == 1 else (0,), (len(terms),))

    def empty(self, dtype: str, sizes: Sizes) -> View:
        """See a constant without elements: none of its axes follows one, whatever their sizes."""
        core, new = self.core(("nothing", dtype), f"a constant of no elements {list(sizes)}", counted=False)
        if new:
            core.content = core.sizes = ()
        return View(core, (None,) * len(sizes), sizes)


def _implies(one: frozenset[Extent], two: frozenset[Extent]) -> bool:
    """Return whether the shapes of `two` fit wherever those of `one` do: [N,1] and [N,4] fit what [N,4] fits."""
    if two <= one:
        return True
    if not all(each in one for each in two if isinstance(each, View)):
        return False
    wide, narrow = _sizes_by_axis(one), _sizes_by_axis(two)
    return all(sizes <= wide.get(axis, {1}) for axis, sizes in narrow.items())


def _sizes_by_axis(extents: frozenset[Extent]) -> dict[int, set[Size]]:
    """Return which sizes meet on each axis, counted from the end, in the shapes of known rank; 1 among them."""
    found: dict[int, set[Size]] = {}
    for each in extents:
        for axis, size in enumerate(reversed(() if isinstance(each, View) else each)):
            found.setdefault(axis, {1}).update(broadcast_parts(size))
    return found


def _without_leading_ones(extents: frozenset[Extent]) -> frozenset[Extent]:
    """The shapes as far as they decide whether all fit: unit axes in front fit anything, and so does a scalar."""
    bare: set[Extent] = set()
    for each in extents:
        if isinstance(each, View):
            bare.add(each)
            continue
        first = next((axis for axis, size in enumerate(each) if size != 1), len(each))
        bare.add(each[first:])
    return frozenset(bare - {()})


def whole(core: Core) -> View:
    """See all of a core; axes of size 1 are followed by none."""
    if core.sizes is None:
        return View(core, None, None)
    return View(core, tuple(None if size == 1 else axis for axis, size in enumerate(core.sizes)), core.sizes)


def extent(view: View) -> Extent:
    """Name the shape of a value that nothing of unknown rank stretches.

    Where the rank is not known that is by the core whose shape it is: one operand's is that of its elementwise result.
    """
    if view.sizes is not None:
        return view.sizes
    return view if view.core.shaped is None else whole(view.core.shaped)


def composed(outer: View, inner: View) -> View:
    """See `inner` in the way in which `outer` sees its core: what a map over an elementwise operator is."""
    more = outer.more | inner.more
    if outer.axes is None or inner.axes is None:
        return View(inner.core, None, None, more)
    return View(inner.core, tuple(None if k is None else inner.axes[k] for k in outer.axes), outer.sizes, more)


def shown(value: Any) -> str:  # noqa: ANN401 - a use may be any term
    """Print a view as a report shows it: the core and the sizes, `x[2,3]`; `x[*]` where the rank is not known."""
    if not isinstance(value, View):
        return repr(value)
    if value.sizes is None:
        return f"{value.core.description}[*]"
    return f"{value.core.description}[{','.join(map(repr, value.sizes))}]"
