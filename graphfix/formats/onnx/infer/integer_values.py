"""The elements of small integer tensors: the sizes that shape arithmetic computes, as far as they can be followed.

Tensors of int64, int32 and bool are followed, with the arithmetic of their type. An element that leaves the range of
the type, or passes through another type, is unknown. In float32, integers are followed if they are moved, not if they
are computed. A symbolic size is assumed to fit into int32, and to be a number that float32 can represent.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from graphfix.formats.onnx.file.tensors import elements_of
from graphfix.formats.onnx.infer.call import Call
from graphfix.formats.onnx.infer.operators.integers import LIMIT
from graphfix.formats.onnx.infer.operators.registry import INTEGERS as RULES
from graphfix.formats.onnx.infer.scope import INTEGERS, GraphScope
from graphfix.results.onnx_messages import TensorProto
from graphfix.shapes.dim import UNKNOWN, Size
from graphfix.shapes.terms import ANY, Terms

WHOLE = (*INTEGERS, TensorProto.BOOL, TensorProto.DOUBLE, TensorProto.FLOAT)
"""The types of constants that are read. Exporters cast floats: before opset 9 a Constant node can't hold integers."""
MOST_AXES = 2
"""Pads are computed as a matrix; tensors of more axes are not followed."""
BITS: Mapping[int, int] = {TensorProto.INT64: 63, TensorProto.INT32: 31, TensorProto.BOOL: 1, TensorProto.FLOAT: 24}
"""By element type that is followed: the bits of its largest number."""
MOVES = frozenset(("Cast", "CastLike", "Identity", "Unsqueeze", "Squeeze", "Reshape", "Flatten"))
"""Operators that do not change the elements of float32."""
FOLLOWED = frozenset((op, dtype) for op in RULES for dtype in BITS if dtype != TensorProto.FLOAT or op in MOVES)
"""(operator, element type of its first result) of the nodes whose elements are followed."""


def enter(scope: GraphScope, name: str, tensor: TensorProto) -> None:
    """Record the elements of a small constant of integers."""
    if tensor.data_type not in WHOLE or len(tensor.dims) > MOST_AXES or prod(tensor.dims) > LIMIT:
        return
    if tensor.data_location == TensorProto.EXTERNAL:
        return
    elements = elements_of(tensor)
    if all(isinstance(each, int) or each.is_integer() for each in elements):
        scope.elements[name] = tuple(map(int, elements))


def follow(call: Call, op: str, result: str) -> None:
    """Record the elements of the first result of a node; `op` is the standard operator whose rule applies.

    The scope has the shape and the type of the result; FOLLOWED has the type.
    """
    scope = call.scope
    bits = BITS[scope.types[result].dtype]
    dims = scope.types[result].shape.axes
    if dims is None or len(dims) > MOST_AXES:
        return
    elements = RULES[op](call, result)
    if elements is None or len(elements) > LIMIT:
        return
    numbers = [size for size in dims if isinstance(size, int)]
    if prod(numbers) == len(elements) if len(numbers) == len(dims) else len(dims) == 1:
        scope.elements[result] = tuple([_within(call.terms, element, bits) for element in elements])


def _within(terms: Terms, element: Size, bits: int) -> Size:
    """Return an element that its type can hold. An element that would wrap is unknown, and so is its sign."""
    if isinstance(element, int):
        return element if -(1 << bits) <= element < 1 << bits else ANY
    return ANY if element == UNKNOWN or terms.factor(element) >> bits else element
