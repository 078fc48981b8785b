"""Choose sizes for free dims: distinct ones, all 1, all 2, all 0, larger ones, and sizes that models often require."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING

from graphfix.checker.files.binding_error import BindingError, check_shape
from graphfix.checker.files.equal_sizes import equal_sizes
from graphfix.results.axis_names import axis_fault
from graphfix.results.error_texts import no_dim
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from graphfix.checker.files.pair import Pair
    from graphfix.checker.runs.inputs.interface import Dim, Interface, TensorSpec

Sizes = dict[str, int]

MOST_TRIES = 96
"""The largest number of sets of sizes that are tried after a model refuses the first ones."""
MOST_ELEMENTS = 1 << 24
"""The largest number of elements of an input in a set of sizes that is tried."""
_PRIMES = (3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97)
# Sizes that models with few valid sizes often require: powers of two, multiples of 32, pictures, audio windows.
_LARGE = (64, 32, 224, 512, 320, 576, 160, 48, 128, 256, 96, 16)
_LIKELY = (3, 64, 224, 512)
_STEP = 32
# Odd, and still different from each other and from 1 after strides with a product of 32.
_LARGER, _LARGER_STEP, _LARGER_ELEMENTS = 37, 30, 4096


@dataclass(frozen=True, slots=True)
class Free:
    """The labels of a model's free dims in the order of its inputs, and the sizes that are fixed already (`given`).

    A label is the symbol of a dim, or `input[axis]` if the model declares none.
    """

    labels: tuple[str, ...]
    leading: frozenset[str]
    """Labels at axis 0 of an input, which are usually batch sizes."""
    given: Mapping[str, int]
    specs: tuple[TensorSpec, ...] = field(default=(), repr=False)
    equal: Mapping[str, str] = field(default_factory=dict)
    """Further label -> the label in `labels`, `given` or `sums` that has the same size."""
    sums: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    """Further label -> the terms whose sum is its size."""
    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Label -> the smallest and the largest size for the runs."""
    cases: Sequence[Mapping[str, int]] = ()
    """Partial assignments of sizes. Each principal set of sizes, except that of all 1, includes one of them.

    The model refuses most sets of sizes that include none.
    """

    def complete(self, sizes: Mapping[str, int]) -> Sizes:
        """Return the sizes of all labels, computed from those of free labels.

        Sizes that are fixed already have priority.

        A label that is a sum, such as `past + 1`, is computed from its terms.
        """
        within = {label: self.within_range(label, size) for label, size in sizes.items()}
        complete_sizes = self._with_equal({**within, **self.given})
        sums = {label: total for label in complete_sizes if (total := _sum_of(label, complete_sizes)) is not None}
        return self._with_equal({**complete_sizes, **sums, **self.given})

    def _with_equal(self, sizes: Sizes) -> Sizes:
        """Return the sizes with those of equal labels and of sums added."""
        with_equal = {**sizes, **{label: sizes[same] for label, same in self.equal.items() if same in sizes}}
        totals = {
            label: sum(part if isinstance(part, int) else with_equal[part] for part in parts)
            for label, parts in self.sums.items()
            if all(isinstance(part, int) or part in with_equal for part in parts)
        }
        return {**with_equal, **totals, **{label: totals[same] for label, same in self.equal.items() if same in totals}}

    def within_range(self, label: str, size: int) -> int:
        """Return the size, clamped to the range of the label."""
        low, high = self.ranges.get(label, (size, size))
        return min(max(size, low), high)

    def fits(self, sizes: Mapping[str, int]) -> bool:
        """Return whether every input has at most `MOST_ELEMENTS` elements under these sizes."""
        return all(math.prod(shape_of(spec, sizes)) <= MOST_ELEMENTS for spec in self.specs)


def shape_of(spec: TensorSpec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Return the shape of an input under these sizes: one int for each axis."""
    return tuple(dim if isinstance(dim, int) else sizes[dim] for dim in spec.dims or ())


def free_dims(before: Interface, after: Interface, pair: Pair) -> Free | str:
    """Return the free dims of two models, or a text that states why no sizes fit both models.

    The labels are those of the first model. The user's sizes apply to both models, and so do sizes that only the second
    model declares. Raise GraphfixError for an unknown symbol or input.
    """
    _check_names(before, after, pair.bindings, pair.shapes)
    input_dims = {spec.alias: spec.dims for spec in before.input_specs if spec.alias} | {
        p.name: p.dims for p in before.input_specs
    }
    equal = equal_sizes(pair, input_dims)
    names = equal.names
    given: Sizes = {names[label]: size for label, size in equal.numbers.items()}
    for dim, size in _demands(before, after, pair.bindings, pair.shapes):
        label = names.get(dim, dim) if isinstance(dim, str) else dim
        if isinstance(label, int):
            if label != size:
                return f"no size fits: a dim of {label} should be {size}"
        elif given.setdefault(label, size) != size:
            return f"no size fits: '{label}' should be {given[label]} and {size}"
    for label in equal.sums.keys() & given.keys():
        return f"no size fits: '{label}' is stated to be a sum, and is {given[label]}: give what it is the sum of"
    dims = [(d, axis) for p in before.inputs for axis, d in enumerate(p.dims or ()) if isinstance(d, str)]
    pairs = [(names.get(label, label), axis) for label, axis in dims]
    labels = tuple(dict.fromkeys(label for label, _ in pairs if label not in equal.sums))
    leading = frozenset(label for label, axis in pairs if axis == 0)
    free = tuple(n for n in labels if n not in given)
    narrowed = {names.get(label, label): ends for label, ends in pair.ranges.items()}
    return Free(free, leading, given, before.inputs, names, equal.sums, narrowed)


def principal(free: Free, runs: int) -> list[tuple[str, Sizes]]:
    """Return the first `runs` sets of sizes, as pairs (kind, sizes), best first.

    The order is: distinct sizes, all 1, all 2, all 0, further distinct sizes.

    Without free labels, return `runs` equal sets of the kind "given".
    """
    if not free.labels:
        return [("given", free.complete({}))] * runs
    wanted = [
        ("distinct", _distinct(free, 0)),
        ("1", _all(free, 1)),
        ("2", _all(free, 2)),
        ("0", _all(free, 0)),
    ]
    more = [("distinct", _distinct(free, start)) for start in range(1, runs)]
    cases = itertools.cycle(free.cases) if free.cases else itertools.repeat({})
    ordered = [(kind, sizes, next(cases) if kind != "1" else {}) for kind, sizes in (wanted + more)[:runs]]
    return [(kind, free.complete(_in_case(free, kind, sizes, case))) for kind, sizes, case in ordered]


def _in_case(free: Free, kind: str, sizes: Sizes, case: Mapping[str, int]) -> Sizes:
    """Return the sizes with those of a case inserted. For the kind "0", sizes outside the case are distinct, not 0."""
    return {**(_distinct(free, 0) if case and kind == "0" else sizes), **case}


def alternatives(free: Free, kind: str, base: Mapping[str, int] | None) -> Iterator[Sizes]:
    """Yield at most `MOST_TRIES` sets of sizes to try after a model refused a set of this kind.

    `base` are sizes that the model accepted; None if it accepted none so far.
    """
    if not free.labels:
        return
    tried = _searched(free) if base is None else _varied(free, kind, base)
    yield from itertools.islice(_fresh(free, tried), MOST_TRIES)


def likely(free: Free) -> Iterator[Sizes]:
    """Yield a few sets of sizes to try after a model refused distinct ones: 3 for most labels, large ones for some."""
    rest = [label for label in free.labels if label not in free.leading]
    groups = [rest, *([label] for label in free.labels), list(free.labels)]
    pairs = itertools.product(_LIKELY, filter(None, groups))
    yield from _fresh(free, ({**_all(free, 3), **dict.fromkeys(group, size)} for size, group in pairs))


def _fresh(free: Free, tried: Iterable[Sizes]) -> Iterator[Sizes]:
    """Yield each set of sizes once, completed for all labels. Skip sets whose inputs are too large."""
    seen: list[Sizes] = []
    for sizes in tried:
        complete = free.complete(sizes)
        if complete not in seen and free.fits(complete):
            seen.append(complete)
            yield complete


def _varied(free: Free, kind: str, base: Mapping[str, int]) -> Iterator[Sizes]:
    """Yield small changes of the accepted sizes `base`, for the kind "larger", "1", "2" or "0".

    For a number, the batch sizes are set to it together, then each label alone. Other kinds yield nothing.
    """
    if kind == "larger":
        yield from _larger(free, base)
    if kind in ("larger", "distinct"):
        return
    size = int(kind)
    batch = _batch(free, base)
    if batch and size > 1:
        yield {label: size if label in batch else size * base[label] for label in free.labels}
    if batch:
        yield {**base, **dict.fromkeys(batch, size)}
    for label in free.labels:
        yield {**base, label: size}


def _larger(free: Free, base: Mapping[str, int]) -> Iterator[Sizes]:
    """Yield the accepted sizes `base` with two sizes enlarged: the last two that are no batch sizes, if one is small.

    At small sizes, strides reduce axes to 1, and axes of size 1 hide wrong alignments. The number of elements stays
    small because a model may compute their square, for example attention between all positions.
    """
    first = [str(spec.dims[0]) for spec in free.specs if spec.dims and len(spec.dims) > 1]
    batches = {free.equal.get(dim, dim) for dim in first}
    inner = [label for label in free.labels if label not in batches]
    last = inner[-2:]
    if all(base[label] >= _LARGER for label in last):
        return
    stepped = {label: _LARGER + _LARGER_STEP * i for i, label in enumerate(last)}
    tries = [stepped, dict.fromkeys(last, _LARGE[0]), *[{label: _LARGE[0]} for label in last]]
    for sizes in (dict.fromkeys(_batch(free, base), 2) | stepped, *tries):
        larger = {**base, **sizes}
        if math.prod(larger[label] for label in inner) <= _LARGER_ELEMENTS:
            yield larger


def _batch(free: Free, base: Mapping[str, int]) -> list[str]:
    """Return the labels of batch sizes and of equal sizes, which may have to change together with them."""
    sizes = {base[label] for label in free.labels if label in free.leading}
    return [label for label in free.labels if base[label] in sizes]


def _searched(free: Free) -> Iterator[Sizes]:
    """Yield small sizes for most labels and large ones for some, as for pictures, recordings and sequences."""
    rest = [label for label in free.labels if label not in free.leading]
    groups = [rest, *([label] for label in free.labels[:6]), list(free.labels)]
    for group in filter(None, groups):
        yield from _mixed(free, group, _LARGE[0])
    yield _all(free, 3)
    for size, group in itertools.product(_LARGE[1:4], filter(None, groups)):
        yield from _mixed(free, group, size)
    for label in free.labels:
        yield {**_all(free, 3), label: 0}
    for size in _LARGE[4:]:
        yield from _mixed(free, rest or free.labels, size)


def _mixed(free: Free, group: Sequence[str], size: int) -> Iterator[Sizes]:
    """Yield sets of sizes that are `size` for a group of labels (equal, or in steps of 32) and small for the rest."""
    stepped = {label: size + _STEP * i for i, label in enumerate(group)}
    same = dict.fromkeys(group, size)
    for small in (_distinct(free, 0), _all(free, 3), _all(free, 1)):
        yield {**small, **stepped}
        yield {**small, **same}


def _distinct(free: Free, start: int) -> Sizes:
    """Return a different prime for each label, from number `start` of the list of primes.

    Primes repeat after 24 labels.
    """
    primes = itertools.cycle(_PRIMES)
    return dict(zip(free.labels, itertools.islice(primes, start, None), strict=False))


def _all(free: Free, size: int) -> Sizes:
    return dict.fromkeys(free.labels, size)


def _sum_of(label: str, sizes: Mapping[str, int]) -> int | None:
    """Return the size of a label that is written as a sum, such as `past_length + 1`. None if a term is unknown."""
    terms = [term.strip() for term in label.split("+")]
    if len(terms) == 1 or not all(term in sizes or re.fullmatch(r"\d+", term) for term in terms):
        return None
    return sum(sizes[term] if term in sizes else int(term) for term in terms)


def _demands(
    before: Interface, after: Interface, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> Iterator[tuple[Dim, int]]:
    """Yield (dim of the first model, size) for each size that the user, the second model or a constant requires."""
    for a, b in zip(before.inputs, after.inputs, strict=True):
        other = a.dims if b.dims is None else b.dims
        for dim, second in zip(a.dims or (), other or (), strict=False):
            if dim in bindings and isinstance(dim, str):
                yield dim, bindings[dim]
            if isinstance(second, int):
                yield dim, second
            elif second in bindings:
                yield dim, bindings[second]
        for dim, size in zip(a.dims or (), shapes.get(a.name, ()), strict=False):
            yield dim, size
    for spec, array in before.constant:
        yield from zip(spec.dims or (), array.shape, strict=False)


def _check_names(
    before: Interface, after: Interface, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> None:
    """Raise BindingError if the user bound a label that does not exist, or a shape that does not fit an input."""
    inputs = {spec.name: spec.dims for spec in before.input_specs}
    dims = {dim for interface in (before, after) for spec in interface.input_specs for dim in spec.dims or ()}
    for name in bindings:
        if name not in dims:
            labels = sorted(d for d in dims if isinstance(d, str))
            free_names = [d for d in labels if "[" not in d] or labels
            raise BindingError(axis_fault(name, inputs) or f"--dim {name}: {no_dim(name, free_names)}")
    for name, shape in shapes.items():
        check_shape(name, shape, inputs)
