"""Shape rules of the operators that reduce axes. Source: the ONNX operator specification."""

from __future__ import annotations

from graphfix.formats.onnx.infer.call import NOTHING, Call, Results
from graphfix.formats.onnx.infer.operators.reshaping import unknowns
from graphfix.formats.onnx.infer.operators.slicing import placed
from graphfix.shapes.shape import Shape, Size


def reduce(call: Call) -> Results:
    """With keepdims=1 the reduced axes have size 1, else they go; no axes are all, unless the attribute says none."""
    dims = call.dims(0)
    if dims is None:
        return NOTHING
    keeps, idle, axes = call.flag("keepdims", 1), call.flag("noop_with_empty_axes", 0), call.ints(1, "axes")
    if keeps is None:
        return NOTHING
    if axes is None and call.has(1):
        return _reduced_by_unknown(call, len(dims), keeps=keeps)
    if not axes:
        if idle is not False:
            return (Shape(dims),) if idle else NOTHING
        axes = tuple(range(len(dims)))
    return _without(dims, axes, keeps=keeps)


def _reduced_by_unknown(call: Call, rank: int, *, keeps: bool) -> Results:
    if keeps:
        return (unknowns(rank),)
    # several may name one axis twice
    return (unknowns(rank - 1),) if rank and call.length(1) == 1 else NOTHING


def _without(dims: tuple[Size, ...], axes: tuple[int, ...], *, keeps: bool) -> Results:
    gone = placed(axes, len(dims))
    if gone is None or (0 in dims and min(axes, default=0) < 0):
        # onnxruntime does not reduce nothing along axes that count from the end
        return (unknowns(len(dims)),) if keeps else NOTHING
    if keeps:
        return (Shape(tuple([1 if at in gone else size for at, size in enumerate(dims)])),)
    return (Shape(tuple([size for at, size in enumerate(dims) if at not in gone])),)


def reduce_one(call: Call) -> Results:
    """ArgMax and ArgMin reduce one axis."""
    dims, keeps = call.dims(0), call.flag("keepdims", 1)
    if dims is None or keeps is None:
        return NOTHING
    return _without(dims, (call.number("axis", 0),), keeps=keeps)
