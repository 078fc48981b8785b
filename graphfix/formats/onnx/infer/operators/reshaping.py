"""Shape rules of the operators that move, cut or regroup elements. Source: the ONNX operator specification."""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.shapes.shape import UNKNOWN, Shape, Size, never_one, same, with_axes
from graphfix.shapes.terms import Terms, as_size, maybe_negative

NO_SIZE_IS_0 = "no size that a Reshape is given as a term is 0, which would stand for another"
IMAGE = 4
"""[batch, channels, height, width]."""


def unknowns(rank: int) -> Shape:
    """[?, ?, ...] of that rank."""
    return Shape((UNKNOWN,) * rank)


def unsqueeze(call: Call) -> Results:
    """Unit axes at the positions of the result that `axes` names."""
    dims, axes = call.dims(0), call.ints(1, "axes")
    if dims is None or axes is None:
        length = call.length(1)
        return NOTHING if dims is None or length is None else (unknowns(len(dims) + length),)
    rank = len(dims) + len(axes)
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) < len(axes):
        return NOTHING  # an axis twice, or one that is not there: the runtime's error
    return (with_axes(Shape(dims), sorted(places)),)


def squeeze(call: Call) -> Results:
    """Return the shape without the given axes; without axes, drop those of size 1 if no other size can be 1."""
    dims, axes = call.dims(0), call.ints(1, "axes")
    if dims is None:
        return NOTHING
    if axes is None and call.has(1):
        # several may name one axis twice
        return (unknowns(len(dims) - 1),) if dims and call.length(1) == 1 else NOTHING
    if not axes:
        known = all(size == 1 or never_one(size) for size in dims)
        return (Shape(tuple([size for size in dims if size != 1])),) if known else NOTHING
    gone = {axis % len(dims) for axis in axes if -len(dims) <= axis < len(dims)}
    if len(gone) < len(axes):
        return NOTHING
    return (Shape(tuple(size for axis, size in enumerate(dims) if axis not in gone)),)


def transpose(call: Call) -> Results:
    """Axes permuted; reversed without `perm`."""
    dims, perm = call.dims(0), call.list("perm")
    if dims is None:
        return NOTHING
    order = perm if perm is not None else tuple(reversed(range(len(dims))))
    return (Shape(tuple(dims[axis] for axis in order)),) if sorted(order) == list(range(len(dims))) else NOTHING


def reshape(call: Call) -> Results:
    """The target's sizes: 0 copies (unless allowzero), one -1 takes what is left; else only the rank is known."""
    given = call.list("shape")
    target = given if given is not None else call.elements(1)
    if target is None:
        length = call.length(1)
        return NOTHING if length is None else (unknowns(length),)
    source, keeps_zero = call.dims(0), call.flag("allowzero", 0)
    if keeps_zero is None:
        return (unknowns(len(target)),)
    copies = not keeps_zero
    target = tuple([UNKNOWN if not isinstance(size, int) and maybe_negative(size) else size for size in target])
    sizes = [_kept(call, source, axis, size) if copies else size for axis, size in enumerate(target)]
    if -1 in sizes:
        others = [size for size in sizes if size != -1]
        if not copies and any(size.lo <= 0 for size in others if not isinstance(size, int)):
            call.scope.assumes[NO_SIZE_IS_0] = None  # where it is, onnxruntime makes of -1 what else there is
        sizes[sizes.index(-1)] = UNKNOWN if 0 in others else _rest(call.terms, source, others)
    return NOTHING if any(isinstance(size, int) and size < 0 for size in sizes) else (Shape(tuple(sizes)),)


def _kept(call: Call, source: tuple[Size, ...] | None, axis: int, size: Size) -> Size:
    """What a size of the target means where 0 copies the source's; there must be one to copy.

    A named one may be 0 and mean the source's. Where that is 0 too, it means the same.
    """
    if source is None or axis >= len(source):
        return UNKNOWN if source is None or size == 0 else size
    copied = source[axis]
    if isinstance(size, int):
        return copied if size == 0 else size
    if size.lo <= 0 and size.parts and not _zero_with(call.terms, copied, size):
        call.scope.assumes[NO_SIZE_IS_0] = None
    return size


def _zero_with(terms: Terms, copied: Size, size: Size) -> bool:
    """Whether the source's size is 0 wherever the target's is."""
    return same(copied, size) or terms.quotient(copied, size) != UNKNOWN


def _rest(terms: Terms, source: tuple[Size, ...] | None, others: list[Size]) -> Size:
    """The size of the -1 axis: the product of the others divides the product of the source's."""
    if source is None:
        return UNKNOWN
    remaining = list(source)
    divisor: list[Size] = []
    for size in others:  # those without a name cancel nothing
        match = next((at for at, have in enumerate(remaining) if same(have, size)), None)
        if match is None:
            divisor.append(size)
        else:
            remaining.pop(match)
    whole, by = terms.mul(*remaining), terms.mul(*divisor)
    if isinstance(whole, int) and isinstance(by, int):
        return whole // by if by and whole % by == 0 else UNKNOWN
    if not isinstance(by, int):
        return as_size(terms.quotient(whole, by))
    return as_size(terms.floordiv(whole, by)) if by > 0 else UNKNOWN


def gather(call: Call) -> Results:
    """data[:axis] + indices + data[axis+1:]."""
    data, indices = call.dims(0), call.dims(1)
    if data is None or indices is None:
        return NOTHING
    axis = call.number("axis", 0)
    if not -len(data) <= axis < len(data):
        return NOTHING
    axis %= len(data)
    return (Shape((*data[:axis], *indices, *data[axis + 1 :])),)


def gather_elements(call: Call) -> Results:
    """One element an index."""
    return (call.shape(1),)


def gather_nd(call: Call) -> Results:
    """indices[:-1] + data[batch_dims + indices[-1]:]."""
    data, indices, batch = call.dims(0), call.dims(1), call.number("batch_dims", 0)
    if data is None or not indices or not isinstance(indices[-1], int) or batch < 0:
        return NOTHING
    if batch + indices[-1] > len(data) or batch >= len(indices):
        return NOTHING
    return (Shape((*indices[:-1], *data[batch + indices[-1] :])),)


def tile(call: Call) -> Results:
    """Each size times its repeats; a size that is repeated once stays what it is."""
    dims, repeats = call.dims(0), call.elements(1)
    if dims is None:
        return NOTHING
    if repeats is None or len(repeats) != len(dims) or call.version < 6:  # noqa: PLR2004 -- one axis before
        return (unknowns(len(dims)),)
    if any(isinstance(times, int) and times < 0 for times in repeats):
        return (unknowns(len(dims)),)
    return (Shape(tuple(as_size(call.terms.mul(*pair)) for pair in zip(dims, repeats, strict=True))),)


def flatten(call: Call) -> Results:
    """Two axes: what is before the axis, and the rest."""
    dims, axis = call.dims(0), call.number("axis", 1)
    if dims is None or not -len(dims) <= axis <= len(dims):
        return (unknowns(2),)
    axis += len(dims) if axis < 0 else 0
    return (Shape((as_size(call.terms.mul(*dims[:axis])), as_size(call.terms.mul(*dims[axis:])))),)


def depth_to_space(call: Call) -> Results:
    """[N,C,H,W] to [N,C/b/b,H*b,W*b]."""
    dims, block = call.dims(0), call.number("blocksize", 0)
    if dims is None or len(dims) != IMAGE or block < 1:
        return NOTHING if dims is None else (unknowns(len(dims)),)
    batch, channels, *sizes = dims
    terms = call.terms
    grown = [as_size(terms.mul(size, block)) for size in sizes]
    return (Shape((batch, divided(terms, channels, block * block), *grown)),)


def space_to_depth(call: Call) -> Results:
    """[N,C,H,W] to [N,C*b*b,H/b,W/b]."""
    dims, block = call.dims(0), call.number("blocksize", 0)
    if dims is None or len(dims) != IMAGE or block < 1:
        return NOTHING if dims is None else (unknowns(len(dims)),)
    batch, channels, *sizes = dims
    terms = call.terms
    cut = [divided(terms, size, block) for size in sizes]
    return (Shape((batch, as_size(terms.mul(channels, block * block)), *cut)),)


def divided(terms: Terms, size: Size, by: int) -> Size:
    """The quotient: with a rest the model fails."""
    return UNKNOWN if isinstance(size, int) and size % by else as_size(terms.floordiv(size, by))
