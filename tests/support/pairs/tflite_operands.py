"""Changes of the operands and results of TFLite operators: fewer, more, absent, swapped, others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.support.pairs.tflite_fields import Change, array, operators_of, put, twin
from tests.support.pairs.tflite_file import Model, listed


def operand_dropped(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        held = listed(operator.inputs)
        for at in range(len(held)):
            yield from put(operator, inputs=array(held[:at] + held[at + 1 :]))


def operand_added(model: Model) -> Iterator[None]:
    for graph, operator in operators_of(model):
        held = listed(operator.inputs)
        for more in dict.fromkeys([-1, *held, 0, len(graph.tensors) - 1]):
            yield from put(operator, inputs=array([*held, more]))
            yield from put(operator, inputs=array([more, *held]))


def operand_absent(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        held = listed(operator.inputs)
        for at in range(len(held)):
            yield from put(operator, inputs=array([*held[:at], -1, *held[at + 1 :]]))


def operands_swapped(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        held = listed(operator.inputs)
        for one in range(len(held)):
            for two in range(one + 1, len(held)):
                other = list(held)
                other[one], other[two] = held[two], held[one]
                yield from put(operator, inputs=array(other))


def operand_doubled(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        held = listed(operator.inputs)
        for at in range(1, len(held)):
            yield from put(operator, inputs=array([*held[:at], held[0], *held[at + 1 :]]))


def operand_replaced(model: Model) -> Iterator[None]:
    for graph, operator in operators_of(model):
        held = listed(operator.inputs)
        for at, now in enumerate(held):
            for other in range(-2, len(graph.tensors) + 1):
                if other != now:
                    yield from put(operator, inputs=array([*held[:at], other, *held[at + 1 :]]))


def operand_by_a_twin(model: Model) -> Iterator[None]:
    """Another tensor of the same type, shape and buffer."""
    for graph, operator in operators_of(model):
        held = listed(operator.inputs)
        for at, now in enumerate(held):
            if now >= 0:
                graph.tensors.append(twin(graph.tensors[now]))
                yield from put(operator, inputs=array([*held[:at], len(graph.tensors) - 1, *held[at + 1 :]]))
                graph.tensors.pop()


def result_dropped(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        held = listed(operator.outputs)
        for at in range(len(held)):
            yield from put(operator, outputs=array(held[:at] + held[at + 1 :]))


def result_added(model: Model) -> Iterator[None]:
    for graph, operator in operators_of(model):
        held = listed(operator.outputs)
        graph.tensors.append(twin(graph.tensors[held[0] if held else 0]))
        graph.tensors[-1].buffer = 0
        for more in dict.fromkeys([len(graph.tensors) - 1, -1, *held]):
            yield from put(operator, outputs=array([*held, more]))
            yield from put(operator, outputs=array([more, *held]))
        graph.tensors.pop()


def result_absent(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        held = listed(operator.outputs)
        for at in range(len(held)):
            yield from put(operator, outputs=array([*held[:at], -1, *held[at + 1 :]]))


def results_swapped(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        held = listed(operator.outputs)
        if len(held) > 1:
            yield from put(operator, outputs=array(held[::-1]))


def result_replaced(model: Model) -> Iterator[None]:
    for graph, operator in operators_of(model):
        held = listed(operator.outputs)
        for at, now in enumerate(held):
            for other in range(len(graph.tensors)):
                if other != now:
                    yield from put(operator, outputs=array([*held[:at], other, *held[at + 1 :]]))


CHANGES: Mapping[str, Change] = {
    change.__name__: change
    for change in (
        operand_dropped,
        operand_added,
        operand_absent,
        operands_swapped,
        operand_doubled,
        operand_replaced,
        operand_by_a_twin,
        result_dropped,
        result_added,
        result_absent,
        results_swapped,
        result_replaced,
    )
}
