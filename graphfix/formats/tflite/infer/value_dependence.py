"""Which tensors' shapes follow from the sizes of the inputs alone, so that one run shows them for every run."""

from __future__ import annotations

from graphfix import operators
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, Operator
from graphfix.formats.tflite.file.schema import CUSTOM, OPERATORS, TENSOR_TYPES
from graphfix.formats.tflite.infer.rules import BY_DATA, SHAPE_OPERANDS, rule
from graphfix.operators.row import TFLITE
from graphfix.results.records import dataclass, field

RECURRENT = frozenset(
    "LSTM RNN SVDF UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN BIDIRECTIONAL_SEQUENCE_LSTM"
    " BIDIRECTIONAL_SEQUENCE_RNN".split()
)
"""Operators without a rule here whose results' shapes LiteRT computes from those of the operands."""
SIZES = frozenset({"SHAPE", "RANK"})
"""Operators whose results are the sizes of an operand, whatever its elements are."""
WHOLE = frozenset({"int32", "int64", "bool"})
"""The element types of shapes and indices; quantized ones are weights."""
RANDOM = frozenset({"RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL"})


@dataclass(slots=True)
class _Known:
    """What follows from the sizes of the inputs alone, by tensor."""

    shapes: set[int] = field(default_factory=set)
    elements: set[int] = field(default_factory=set)
    sizes: set[int] = field(default_factory=set)
    """Those of `elements` that follow from a size: shape arithmetic, whatever its type."""


def determined(container: Container) -> frozenset[int]:
    """The tensors of the main subgraph whose shapes do not follow from the elements of inputs or variables.

    What custom operators, IF and WHILE return is not among them, nor is what follows from it.
    """
    return frozenset(_known(container).shapes)


def computed(container: Container) -> tuple[frozenset[int], frozenset[int]]:
    """The results in the main subgraph whose elements follow from constants and from the sizes of the inputs alone.

    The second set has those that are shape arithmetic: whole numbers and truth values, and what follows from a size.
    """
    main = container.subgraphs[0]
    produced = {tensor for operator in main.operators for tensor in operator.outputs}
    known = _known(container)
    results = known.elements & produced
    whole = {tensor for tensor in results if TENSOR_TYPES[main.tensors[tensor].type][0] in WHOLE}
    return frozenset(results), frozenset(whole | (results & known.sizes))


def _known(container: Container) -> _Known:
    main = container.subgraphs[0]
    produced = {tensor for operator in main.operators for tensor in operator.outputs}
    known = _Known({tensor for tensor in range(len(main.tensors)) if tensor not in produced})
    constants = known.shapes.difference(main.inputs)
    known.elements.update(tensor for tensor in constants if container.has_elements(main.tensors[tensor]))
    for operator in main.operators:
        code = container.codes[operator.code]
        if code.builtin != CUSTOM:
            _follow(known, operator, OPERATORS[code.builtin], code.version)
    return known


def _follow(known: _Known, operator: Operator, op: str, version: int) -> None:
    operands = [tensor for tensor in operator.inputs if tensor != ABSENT]
    has_rule = op in RECURRENT or rule(op, operators.row(TFLITE, op, version)) is not None
    if not has_rule or op in BY_DATA or not known.shapes.issuperset(operands):
        return
    held = [operator.inputs[at] for at in SHAPE_OPERANDS.get(op, ()) if at < len(operator.inputs)]
    if not known.elements.issuperset(tensor for tensor in held if tensor != ABSENT):
        return
    results = [tensor for tensor in operator.outputs if tensor != ABSENT]
    known.shapes.update(results)
    if op in SIZES or (op not in RANDOM and known.elements.issuperset(operands)):
        known.elements.update(results)
        if op in SIZES or not known.sizes.isdisjoint(operands):
            known.sizes.update(results)
