"""Finish a TFLite model after the last edit: drop dead operators and unused new parts, and write proven sizes.

A size is written for a result without a rank, and for a result whose stored shape would look like a broadcast:

ADD(a[?,8,8], b[?,8,8]) a is stored as [1,8,1] with a free last size, so a reader of stored shapes would see a stretch
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphfix.formats.neutral import editing
from graphfix.formats.tflite.edit.state import State
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, NEW, Subgraph
from graphfix.formats.tflite.infer.names import FREE, declared
from graphfix.formats.tflite.view import SubgraphView
from graphfix.graph.broadcast import MATRIX, taking_part
from graphfix.graph.view import Node, Value

REMOVABLE = frozenset(
    "SHAPE BROADCAST_ARGS DEQUANTIZE PACK STRIDED_SLICE SLICE GATHER CONCATENATION CAST RESHAPE EXPAND_DIMS SQUEEZE"
    " REDUCE_PROD RANGE MUL ADD SUB DIV MAXIMUM MINIMUM FILL RFFT2D"
    " TILE BROADCAST_TO STABLEHLO_BROADCAST_IN_DIM EQUAL SELECT_V2".split()
)
"""Operators without side effects, which are removed if they only served an edited node; other operators stay."""


def drop_dead(state: State) -> None:
    """Remove the operators whose results were only used by nodes or operands that edits replaced."""
    editing.remove_dead(state, lambda node: _is_removable(state, node))


def _is_removable(state: State, node: Node) -> bool:
    """Return whether an operator may be removed if its results are not read.

    The operator must have no side effect and must not be removed already. If no operator may be removed from the file,
    only new operators are removed.
    """
    return (
        (node.op in REMOVABLE or state.is_known(node))
        and node.index not in state.builders[node.graph].order.gone
        and (node.index < 0 or state.container.insertion_blocker is None)
    )


def drop_tensors(subgraph: Subgraph) -> None:
    """Drop the new tensors that no operator reads or writes.

    Example: a constant that was first lifted, then stretched.
    """
    used_tensors = {tensor for operator in subgraph.operators for tensor in (*operator.inputs, *operator.outputs)}
    kept = [at for at, tensor in enumerate(subgraph.tensors) if tensor.place != NEW or at in used_tensors]
    if len(kept) == len(subgraph.tensors):
        return
    moved = {old: new for new, old in enumerate(kept)}
    moved[ABSENT] = ABSENT
    subgraph.tensors = [subgraph.tensors[at] for at in kept]
    for operator in subgraph.operators:
        operator.inputs = tuple(moved[tensor] for tensor in operator.inputs)
        operator.outputs = tuple(moved[tensor] for tensor in operator.outputs)


def drop_codes(container: Container) -> None:
    """Drop the operator codes that lost their last operator, because LiteRT refuses a file with a code without kernel.

    Operators that were not edited keep the index of their code. So new codes are moved into the freed slots, freed
    slots at the end are deleted, and any other freed slot repeats the last code. A code that no operator of the
    original file used stays.
    """
    codes = container.codes
    operators = [operator for subgraph in container.subgraphs for operator in subgraph.operators]
    used = {operator.code for operator in operators}
    free = set(range(len(codes))) - used - container.parts.unused_codes
    new = sorted((at for at in used if codes[at].place == NEW), reverse=True)
    moved = {at: slot for slot, at in zip(sorted(free), new, strict=False) if slot < at}
    for at, slot in moved.items():
        codes[slot] = codes[at]
    for operator in operators:
        operator.code = moved.get(operator.code, operator.code)
    free = (free - set(moved.values())) | set(moved)
    del codes[1 + max(set(range(len(codes))) - free, default=-1) :]
    for slot in free & set(range(len(codes))):
        codes[slot] = codes[-1]


def drop_buffers(container: Container) -> None:
    """Drop the new buffers that no tensor and no metadata entry uses."""
    used_buffers = {tensor.buffer for subgraph in container.subgraphs for tensor in subgraph.tensors}
    used_buffers.update(buffer for _, buffer in container.metadata)
    kept = [at for at, buffer in enumerate(container.buffers) if buffer.data is None or at in used_buffers]
    if len(kept) == len(container.buffers):
        return
    moved = {old: new for new, old in enumerate(kept)}
    container.buffers[:] = [container.buffers[at] for at in kept]
    for subgraph in container.subgraphs:
        for tensor in subgraph.tensors:
            tensor.buffer = moved[tensor.buffer]
    container.metadata[:] = [(name, moved[buffer]) for name, buffer in container.metadata]


def state_sizes(state: State) -> None:
    """Write proven sizes into the file and the view, for results whose stored shapes wrongly look stretched.

    Outputs of the graph are skipped, and so are results whose shapes depend on stored shapes that are only assumed.
    """
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
    """Write the shape of a value into its record. Unknown sizes become free sizes; an unknown rank stores no shape."""
    axes = value.shape.axes
    view.tensor(value).state(None if axes is None else [size if isinstance(size, int) else FREE for size in axes])
    view.record.changed = True


def _looking_stretched(view: SubgraphView, node: Node) -> Iterator[Value]:
    """Yield the operands that have a stored 1 on an axis where another operand has a stored size other than 1."""
    values = [value for _, value in taking_part(node)]
    last = MATRIX if node.row is not None and node.row.style == "matmul" else 0
    stored = [_aligned(view.tensor(value).shape, last) for value in values]
    for value, sizes in zip(values, stored, strict=True):
        if any(axis in sizes and sizes[axis] == 1 and other[axis] != 1 for other in stored for axis in other):
            yield value


def _aligned(shape: Sequence[int], last: int) -> dict[int, int]:
    """Return the stored sizes by axis, counted from the right (-1 is the last axis).

    The `last` innermost axes are left out.
    """
    return {at - len(shape): size for at, size in enumerate(shape[: len(shape) - last])}


def _state(view: SubgraphView, value: Value) -> None:
    """Replace the free sizes of a tensor's record by the numbers that the view has for them."""
    record, sizes = view.tensor(value), value.shape.axes
    free = declared(record)
    if sizes is None or record.signature is None or len(sizes) != len(free) or FREE not in free:
        return
    known_sizes = [
        size if isinstance(size, int) and had == FREE else None for size, had in zip(sizes, free, strict=True)
    ]
    if all(size is None for size in known_sizes):
        return
    record.shape = tuple([old if size is None else size for size, old in zip(known_sizes, record.shape, strict=True)])
    record.signature = tuple(
        [old if size is None else size for size, old in zip(known_sizes, record.signature, strict=True)]
    )
    record.changed = view.record.changed = True
