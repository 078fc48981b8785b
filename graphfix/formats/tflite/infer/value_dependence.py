"""Find the tensors whose shapes depend only on the sizes of the inputs: one run shows their shapes for all runs."""

from __future__ import annotations

from graphfix import operators
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, Operator
from graphfix.formats.tflite.file.schema import CUSTOM, OPERATORS, TENSOR_TYPES
from graphfix.formats.tflite.infer.operators.registry import OPERATORS as DEFINITIONS
from graphfix.formats.tflite.infer.operators.registry import UNLISTED, shape_rule
from graphfix.formats.tflite.infer.scope import INTEGER_TYPES
from graphfix.operators.row import TFLITE
from graphfix.results.records import dataclass, field

RECURRENT = frozenset(
    "LSTM RNN SVDF UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_LSTM"
    " BIDIRECTIONAL_SEQUENCE_RNN".split()
)
"""Operators without a shape rule in graphfix. LiteRT computes their results' shapes from the operands' shapes."""


@dataclass(slots=True)
class _Known:
    """The tensors whose shapes or elements depend only on the sizes of the inputs."""

    shapes: set[int] = field(default_factory=set)
    elements: set[int] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    """The tensors in `elements` that are computed from a size: shape arithmetic, of any element type."""


def determined(container: Container) -> frozenset[int]:
    """Return the tensors of the main subgraph whose shapes do not depend on the elements of inputs or variables.

    The results of custom operators, IF and WHILE are not included, and neither is any tensor that is computed from
    them.
    """
    return frozenset(_known(container).shapes)


def computed(container: Container) -> tuple[frozenset[int], frozenset[int]]:
    """Return the results in the main subgraph whose elements depend only on constants and on sizes of the inputs.

    The second set contains those that are shape arithmetic: integers, bools, and all that is computed from a size.
    """
    main = container.subgraphs[0]
    produced = {tensor for operator in main.operators for tensor in operator.outputs}
    inventory = _known(container)
    results = inventory.elements & produced
    integer_tensors = {tensor for tensor in results if TENSOR_TYPES[main.tensors[tensor].type][0] in INTEGER_TYPES}
    return frozenset(results), frozenset(integer_tensors | (results & inventory.sizes))


def _known(container: Container) -> _Known:
    """Return the tensors of the main subgraph whose shapes or elements depend only on the sizes of the inputs."""
    main = container.subgraphs[0]
    produced = {tensor for operator in main.operators for tensor in operator.outputs}
    inventory = _Known({tensor for tensor in range(len(main.tensors)) if tensor not in produced})
    constants = inventory.shapes.difference(main.inputs)
    inventory.elements.update(tensor for tensor in constants if container.has_elements(main.tensors[tensor]))
    for operator in main.operators:
        code = container.codes[operator.code]
        if code.builtin != CUSTOM:
            _follow(inventory, operator, OPERATORS[code.builtin], code.version)
    return inventory


def _follow(inventory: _Known, operator: Operator, op: str, version: int) -> None:
    """Add the results of an operator if their shapes or elements depend only on the sizes of the inputs."""
    operands = [tensor for tensor in operator.inputs if tensor != ABSENT]
    definition = DEFINITIONS.get(op, UNLISTED)
    has_rule = op in RECURRENT or shape_rule(op, operators.row(TFLITE, op, version)) is not None
    if not has_rule or definition.has_data_dependent_shape or not inventory.shapes.issuperset(operands):
        return
    shape_operands = [operator.inputs[at] for at in definition.shape_operands if at < len(operator.inputs)]
    if not inventory.elements.issuperset(tensor for tensor in shape_operands if tensor != ABSENT):
        return
    results = [tensor for tensor in operator.outputs if tensor != ABSENT]
    inventory.shapes.update(results)
    is_size = definition.contents == "sizes"
    if is_size or (definition.contents != "random" and inventory.elements.issuperset(operands)):
        inventory.elements.update(results)
        if is_size or not inventory.sizes.isdisjoint(operands):
            inventory.sizes.update(results)
