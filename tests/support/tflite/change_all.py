"""An edit for tests that asks for all that a container gives and changes something of each kind."""

from __future__ import annotations

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import Operator, Options, Tensor
from tests.support.tflite.flat_files import (
    schema,
)

B = schema.BuiltinOperator


def change_all(container: Container) -> None:
    """Ask for all that the container gives, and change something of each kind."""
    graph = container.subgraphs[0]
    for operator_ in graph.operators:
        container.options(operator_)
        operator_.inputs = operator_.inputs[::-1]
    for tensor_ in graph.tensors:
        tensor_.shape, tensor_.signature = (1, *tensor_.shape), None
    for index in range(len(container.buffers)):
        assert len(container.data(index)) == container.size(index)
    graph.tensors.append(Tensor("new", (1, 2), (-1, 2), True, 0, container.add_buffer(bytes(8))))
    graph.operators.append(Operator(container.code(B.PACK, 2), (-1,), (-1,), options=Options(59, ((1, "i", 2),))))
    graph.changed = True
    container.note("key", "text")
