"""Sizes that follow from others in a run of an ONNX model: sizes of constants and of elementwise results.

The shape of an elementwise result is the broadcast of its operands' shapes, or onnxruntime fails. So a run needs to
observe only the values at which chains of elementwise operators begin. All other sizes are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.operators import EACH, LEGACY_END, UNARY
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import onnx

    from graphfix.checker.runs.witness import Sizes

STANDARD = ("", "ai.onnx")
BROADCASTING = frozenset(op for (domain, op), attribute_names in EACH.items() if domain == "" and not attribute_names)
"""Operators whose result has the broadcast shape of all operands."""
PRESERVING = frozenset(op for domain, op in UNARY if domain == "") - {"BitCast", "Cast", "CastLike"}
"""Operators whose result has the shape of operand 0.

A cast is excluded, so a chain begins at it: its operand may be int4 or float8, whose shape onnxruntime can't observe.
"""


@dataclass(frozen=True, slots=True)
class DerivedSizes:
    """Computes the sizes of wanted values from the sizes of inputs and of observed values."""

    observed: tuple[str, ...]
    """The names of values whose sizes must be observed, because they do not follow from other sizes."""
    _constants: Mapping[str, Sizes] = field(repr=False)
    _steps: Sequence[tuple[str, tuple[str, ...]]] = field(repr=False)
    """(elementwise result, operands whose broadcast shape it has), in the order of execution."""

    def __call__(self, value_sizes: Mapping[str, Sizes]) -> dict[str, Sizes]:
        """Return the sizes of constants, and all sizes that follow from them and from `value_sizes`.

        `value_sizes` contains the sizes of inputs and of observed values, which the result omits.
        """
        sizes: dict[str, Sizes | None] = {**self._constants, **value_sizes}
        # cached because large models have few distinct combinations of shapes
        broadcasts: dict[tuple[Sizes | None, ...], Sizes | None] = {}
        for result, operands in self._steps:
            shapes = tuple([sizes.get(name) for name in operands])
            if shapes not in broadcasts:
                broadcasts[shapes] = _broadcast(shapes)
            sizes[result] = broadcasts[shapes]
        return {name: size for name, size in sizes.items() if size is not None and name not in value_sizes}


def derived_sizes(model: onnx.ModelProto, wanted: Collection[str]) -> DerivedSizes:
    """Return how the sizes of all wanted values of the main graph follow from few observed ones.

    A node that reads a value from a later node or from a sparse initializer has no derived size.
    """
    constants = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    laws = list(_laws(model, {*constants, *(value.name for value in model.graph.input)}))
    needed, observed, steps = set(wanted), list[str](), list[tuple[str, tuple[str, ...]]]()
    for node, operands in reversed(laws):
        results = [name for name in node.output if name in needed]
        stored = _stored(node) if results else None
        if stored is not None:
            constants[results[0]] = stored
        elif operands is None:
            observed += reversed(results)
        elif results:
            needed.update(operands)
            steps.append((results[0], operands))
    return DerivedSizes(tuple(observed[::-1]), constants, steps[::-1])


def _laws(model: onnx.ModelProto, value_names: set[str]) -> Iterator[tuple[onnx.NodeProto, tuple[str, ...] | None]]:
    """Yield each node with the operands whose broadcast shape its result has, or with None if no rule applies."""
    elementwise = _elementwise(model)
    for node in model.graph.node:
        operands: tuple[str, ...] | None = None
        if node.op_type in elementwise and node.domain in STANDARD:
            operands = tuple(node.input)[: 1 if node.op_type in PRESERVING else None]
        yield node, operands if operands is not None and value_names.issuperset(operands) else None
        value_names.update(filter(None, node.output))


def _elementwise(model: onnx.ModelProto) -> frozenset[str]:
    """Return the elementwise operators whose rule applies in a file.

    The set is empty for old operator sets, and it excludes operators that the file defines as functions.
    """
    if any(entry.domain in STANDARD and entry.version < LEGACY_END for entry in model.opset_import):
        return frozenset()
    return (BROADCASTING | PRESERVING) - {function.name for function in model.functions if function.domain in STANDARD}


def _stored(node: onnx.NodeProto) -> Sizes | None:
    """Return the dims of a Constant node that contains a tensor; None for other nodes."""
    if node.op_type != "Constant" or node.domain not in STANDARD or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    return tuple(attribute.t.dims) if attribute.name == "value" else None


def _broadcast(shapes: Sequence[Sizes | None]) -> Sizes | None:
    """Return the broadcast shape by numpy's rule; None if a shape is unknown or if the shapes do not broadcast."""
    ranked_shapes = [shape for shape in shapes if shape is not None]
    if len(ranked_shapes) < len(shapes) or not ranked_shapes:
        return None
    rank = max(map(len, ranked_shapes))
    axes = zip(*((1,) * (rank - len(shape)) + shape for shape in ranked_shapes), strict=True)
    sizes = [set(axis) - {1} for axis in axes]
    return tuple([next(iter(size), 1) for size in sizes]) if all(len(size) <= 1 for size in sizes) else None
