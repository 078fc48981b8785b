"""Write proven sizes into the file, for results without a rank and if stored shapes would look like a broadcast.

ADD(a[?,8,8], b[?,8,8])    a is stored as [1,8,1], its last size free; who reads stored shapes sees it stretched
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.infer.names import FREE, declared
from graphfix.formats.tflite.view import SubgraphView
from graphfix.graph.broadcast import taking_part
from graphfix.graph.view import Node, Value

MATRIX = 2
"""The axes of a product's operand that do not broadcast."""


def state_sizes(state: State) -> None:
    """Write the proven sizes of results that look stretched by what is stored and are not, in file and view alike."""
    for builder in state.builders.values():
        view = builder.subgraph
        if not any(tensor.signature is not None and FREE in declared(tensor) for tensor in view.record.tensors):
            continue
        assumed = set(view.facts.leaning)
        for node in view.graph.nodes:
            for value in _looking_stretched(view, node):
                inner = value.kind == "result" and value.stale is None and value not in view.graph.outputs
                if inner and view.tensors[value] not in assumed:
                    _state(view, value)


def state_shape(view: SubgraphView, value: Value) -> None:
    """Write the shape of a value into its record, sizes that are not known as free ones; none of unknown rank."""
    axes = value.shape.axes
    view.tensor(value).state(None if axes is None else [size if isinstance(size, int) else FREE for size in axes])
    view.record.changed = True


def _looking_stretched(view: SubgraphView, node: Node) -> Iterator[Value]:
    """The operands with a stored 1 where another one has a stored size that is not 1."""
    values = [value for _, value in taking_part(node)]
    last = MATRIX if node.row is not None and node.row.style == "matmul" else 0
    stored = [_aligned(view.tensor(value).shape, last) for value in values]
    for value, sizes in zip(values, stored, strict=True):
        if any(axis in sizes and sizes[axis] == 1 and other[axis] != 1 for other in stored for axis in other):
            yield value


def _aligned(shape: Sequence[int], last: int) -> dict[int, int]:
    """The stored sizes by their place from the right."""
    return {at - len(shape): size for at, size in enumerate(shape[: len(shape) - last])}


def _state(view: SubgraphView, value: Value) -> None:
    """A size that the signature leaves free is stated where the view has a number for it."""
    record, sizes = view.tensor(value), value.shape.axes
    free = declared(record)
    if sizes is None or record.signature is None or len(sizes) != len(free) or FREE not in free:
        return
    known = [size if isinstance(size, int) and had == FREE else None for size, had in zip(sizes, free, strict=True)]
    if all(size is None for size in known):
        return
    record.shape = tuple([old if size is None else size for size, old in zip(known, record.shape, strict=True)])
    record.signature = tuple([old if size is None else size for size, old in zip(known, record.signature, strict=True)])
    record.changed = view.record.changed = True
