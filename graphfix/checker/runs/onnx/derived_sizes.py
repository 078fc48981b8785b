"""The sizes that follow from others in a run of an ONNX model: those of constants, and of elementwise results.

onnxruntime computes an elementwise result in the broadcast of the operands that it has, or fails. So what is observed
in a run are the values at which chains of such operators begin; the sizes of all others follow.
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
"""The result has the broadcast of all operands."""
PRESERVING = frozenset(op for domain, op in UNARY if domain == "") - {"BitCast", "Cast", "CastLike"}
"""The result has the size of operand 0. A cast begins a chain: its operand may be of int4 or float8, of which
onnxruntime observes no shape.
"""


@dataclass(frozen=True, slots=True)
class DerivedSizes:
    """How the sizes of wanted values follow from what is fed and from what is observed."""

    observed: tuple[str, ...]
    """The values whose sizes follow from no others."""
    _constants: Mapping[str, Sizes] = field(repr=False)
    _steps: Sequence[tuple[str, tuple[str, ...]]] = field(repr=False)
    """(an elementwise result, the operands that it has the broadcast of), in the order of execution."""

    def __call__(self, value_sizes: Mapping[str, Sizes]) -> dict[str, Sizes]:
        """Return all sizes that follow from known ones, without these."""
        sizes: dict[str, Sizes | None] = {**self._constants, **value_sizes}
        broadcasts: dict[tuple[Sizes | None, ...], Sizes | None] = {}  # big models have few distinct ones
        for result, operands in self._steps:
            shapes = tuple([sizes.get(name) for name in operands])
            if shapes not in broadcasts:
                broadcasts[shapes] = _broadcast(shapes)
            sizes[result] = broadcasts[shapes]
        return {name: size for name, size in sizes.items() if size is not None and name not in value_sizes}


def derived_sizes(model: onnx.ModelProto, wanted: Collection[str]) -> DerivedSizes:
    """Find what has to be observed so that the sizes of all wanted values of the main graph are known.

    Of what reads a value from elsewhere (a sparse initializer, a node behind it in the file) nothing follows.
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
    """Pair each node with the operands whose broadcast its one result has, or None where no law says so."""
    elementwise = _elementwise(model)
    for node in model.graph.node:
        operands: tuple[str, ...] | None = None
        if node.op_type in elementwise and node.domain in STANDARD:
            operands = tuple(node.input)[: 1 if node.op_type in PRESERVING else None]
        yield node, operands if operands is not None and value_names.issuperset(operands) else None
        value_names.update(filter(None, node.output))


def _elementwise(model: onnx.ModelProto) -> frozenset[str]:
    """Return the operators whose law holds in a file: none in old operator sets, none that it defines itself."""
    if any(entry.domain in STANDARD and entry.version < LEGACY_END for entry in model.opset_import):
        return frozenset()
    return (BROADCASTING | PRESERVING) - {function.name for function in model.functions if function.domain in STANDARD}


def _stored(node: onnx.NodeProto) -> Sizes | None:
    """Return the dims of a Constant that is stored as a tensor."""
    if node.op_type != "Constant" or node.domain not in STANDARD or len(node.attribute) != 1:
        return None
    attribute = node.attribute[0]
    return tuple(attribute.t.dims) if attribute.name == "value" else None


def _broadcast(shapes: Sequence[Sizes | None]) -> Sizes | None:
    """Return numpy's broadcast; None where a size is not known, or where they do not meet: no run has that."""
    ranked_shapes = [shape for shape in shapes if shape is not None]
    if len(ranked_shapes) < len(shapes) or not ranked_shapes:
        return None
    rank = max(map(len, ranked_shapes))
    axes = zip(*((1,) * (rank - len(shape)) + shape for shape in ranked_shapes), strict=True)
    sizes = [set(axis) - {1} for axis in axes]
    return tuple([next(iter(size), 1) for size in sizes]) if all(len(size) <= 1 for size in sizes) else None
