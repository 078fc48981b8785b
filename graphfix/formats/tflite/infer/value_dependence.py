"""Find the tensors whose shapes follow from the sizes of the inputs alone: one run shows these shapes for all runs."""

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
"""Operators without a rule here whose results' shapes LiteRT computes from those of the operands."""


@dataclass(slots=True)
class _Known:
    """The tensors of which something follows from the sizes of the inputs alone."""

    shapes: set[int] = field(default_factory=set)
    elements: set[int] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    """The tensors in `elements` that follow from a size: shape arithmetic, of any element type."""


def determined(container: Container) -> frozenset[int]:
    """Return the tensors of the main subgraph whose shapes do not follow from the elements of inputs or variables.

    The results of custom operators, IF and WHILE are not included, and neither is what follows from them.
    """
    return frozenset(_known(container).shapes)


def computed(container: Container) -> tuple[frozenset[int], frozenset[int]]:
    """Return the results in the main subgraph whose elements follow from constants and sizes of the inputs alone.

    The second set has those of them that are shape arithmetic: integers, bools, and what follows from a size.
    """
    main = container.subgraphs[0]
    produced = {tensor for operator in main.operators for tensor in operator.outputs}
    inventory = _known(container)
    results = inventory.elements & produced
    integer_tensors = {tensor for tensor in results if TENSOR_TYPES[main.tensors[tensor].type][0] in INTEGER_TYPES}
    return frozenset(results), frozenset(integer_tensors | (results & inventory.sizes))


def _known(container: Container) -> _Known:
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
