"""Write a normalization of float32 by its definition (ONNX only; only with target tosa, or where it is named).

    RMSNormalization(x[2,3,8], s[8])               ->  x / Sqrt(ReduceMean(x * x) + epsilon) * s
    GroupNormalization(x[2,6,4,4], s[6], b[6])     ->  r * Reshape(s, [1,6,1,1]) + Reshape(b, [1,6,1,1])
                                                       g = Reshape(x, [2,num_groups,-1]);  d = g - ReduceMean(g)
                                                       r = Reshape(d / Sqrt(ReduceMean(d * d) + epsilon), [2,6,4,4])

torch-mlir has no form for these operators. onnxruntime's kernels round in other places, so the rewrite is inexact. Runs
of both models compare the result of each such operator, which may differ by 1e-4 of its largest magnitude. Sizes must
be numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from graphfix.graph.edits import Edit, New, Replace, Source, reshape, scalar, vector
from graphfix.graph.view import Node
from graphfix.shapes.dim import Shape, Undecided
from rewrites.attention.nodes import each

ON = frozenset({("", "RMSNormalization"), ("", "GroupNormalization")})
CODE = "GF304"
FLOAT = "float32"
INEXACT = "it is rounded in other places than in onnxruntime's kernel: it may differ by 1e-4 of its largest magnitude"
EACH_CHANNEL = 21
"""The first version in which a GroupNormalization has a scale for each channel. The version before it is deprecated."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a normalization whose operands are all float32.

    Raises Undecided if a size is not a number.
    """
    operands = [value for value in node.operands if value is not None]
    plain = node.attributes.get("stash_type", 1) == 1 and node.version >= EACH_CHANNEL
    if node.results[0] is None or not plain or any(value.dtype != FLOAT for value in operands):
        return
    if free := dict.fromkeys(str(value) for value in operands if not value.ranked.static):
        raise Undecided(f"the sizes of {', '.join(free)} are not all numbers")
    form = _by_root if node.op == "RMSNormalization" else _by_group
    yield Replace(form(node, node.operand(0).ranked.numbers), CODE, INEXACT)


def _by_root(node: Node, sizes: tuple[int, ...]) -> New:
    """Return the new nodes for an RMSNormalization."""
    axis = node.attributes.get("axis", -1)
    first = axis % len(sizes) if isinstance(axis, int) else 0
    return each("Mul", sizes, _normalized(node, 0, sizes, first), 1)


def _by_group(node: Node, sizes: tuple[int, ...]) -> New:
    """Return the new nodes for a GroupNormalization."""
    groups = node.attributes["num_groups"]
    if not isinstance(groups, int) or not groups or sizes[1] % groups:
        raise Undecided(f"{groups} groups of {sizes[1]} channels")
    split = (sizes[0], groups, sizes[1] // groups * prod(sizes[2:]))
    data = reshape(node, 0, split, FLOAT)
    centered = each("Sub", split, data, _mean(data, split, 2))
    made = reshape(node, _normalized(node, centered, split, 2), sizes, FLOAT)
    beside = (1, sizes[1], *(1 for _ in sizes[2:]))
    scaled = each("Mul", sizes, made, reshape(node, 1, beside, FLOAT))
    return each("Add", sizes, scaled, reshape(node, 2, beside, FLOAT))


def _normalized(node: Node, data: Source, sizes: tuple[int, ...], first: int) -> New:
    """Return the data divided by the root of the mean of the squares over all axes from `first` on."""
    epsilon = node.attributes.get("epsilon", 1e-5)
    mean = _mean(each("Mul", sizes, data, data), sizes, first)
    kept = mean.shape.numbers
    number = scalar(float(epsilon) if isinstance(epsilon, int | float) else 0.0, mean.shape, FLOAT)
    return each("Div", sizes, data, each("Sqrt", kept, each("Add", kept, mean, number)))


def _mean(data: Source, sizes: tuple[int, ...], first: int) -> New:
    """Return the mean over all axes from `first` on, which keep the size 1."""
    axes = tuple(range(first, len(sizes)))
    kept = Shape((*sizes[:first], *(1 for _ in axes)))
    return New("ReduceMean", (data, vector(axes)), kept, FLOAT, (("keepdims", 1),))
