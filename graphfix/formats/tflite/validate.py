"""Check that a TFLite file can be edited; a file that can't is refused with one line when it is read.

LiteRT refuses nearly all such files too, when it loads a model, allocates its tensors or runs it. But LiteRT runs a
model in which two operators produce one tensor, or in which a tensor is read before it is produced. The bytes of the
tensor are then undefined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod

from graphfix.formats.tflite.file.options import bodies
from graphfix.formats.tflite.file.records import ABSENT, Code, Operator, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import CODES, CUSTOM, OPERATORS, TENSOR_TYPES
from graphfix.formats.tflite.file.tables import Parts

RUNNERS = frozenset(
    CODES[name]
    for name in ("CALL", "CALL_ONCE", "IF", "WHILE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "STABLEHLO_WHILE")
)
"""The operators that run subgraphs."""
DEEPEST = 100
"""The greatest depth of subgraphs that call one another."""


SHOWN = 60
"""The most characters of a name or a shape that an error message shows."""


class MalformedModelError(Exception):
    """The model contradicts itself; the message contains the fault and its place."""


class OutsideError(MalformedModelError):
    """A part of the model lies outside of the file, because the file's end is missing."""


Options = Callable[[Operator], Mapping[str, object]]


def check(parts: Parts, size: int, options: Options) -> None:
    """Raise MalformedModelError for the first fault of the model. `size` is the number of bytes of the file.

    `options` returns the builtin options of an operator.
    """
    if not parts.subgraphs:
        raise MalformedModelError("it has no subgraph")
    _check_codes(parts)
    for span in (*parts.payloads, *parts.custom_spans):
        if span[1] > size:
            raise OutsideError(f"the bytes from {span[0]} to {span[1]} of a buffer or of options lie outside of it")
    for index, graph in enumerate(parts.subgraphs):
        where = f"subgraph {index} {_short(graph.name)}"
        _check_tensors(graph, parts, where)
        _check_operators(graph, len(parts.codes), where)
        _check_order(graph, parts, where)
    _check_names(parts)
    _check_calls(parts, options)


def _check_codes(parts: Parts) -> None:
    """Raise MalformedModelError if an operator code is unknown, or is a custom operator without a name."""
    for index, code in enumerate(parts.codes):
        if code.builtin not in OPERATORS:
            raise MalformedModelError(
                f"operator code {index} is builtin operator {code.builtin}, which LiteRT 2.3 has not"
            )
        if code.builtin == CUSTOM and not code.custom:
            raise MalformedModelError(f"operator code {index} is a custom operator without a name")


def _short(what: str | Sequence[int]) -> str:
    """Return a name in quotes or a shape in brackets, cut if it is too long for a line."""
    text = repr(what[:SHOWN]) if isinstance(what, str) else str(list(what[:SHOWN]))
    return text if len(what) <= SHOWN and len(text) <= 2 * SHOWN else f"{text[:SHOWN]}..."


# --- tensors --------------------------------------------------------------------------------------------------------


def _check_tensors(graph: Subgraph, parts: Parts, where: str) -> None:
    """Raise MalformedModelError for the first tensor with a fault."""
    for index, tensor in enumerate(graph.tensors):
        why = _tensor_fault(tensor, parts)
        if why is not None:
            raise MalformedModelError(f"{where}: tensor {index} {_short(tensor.name)} {why}")


def _tensor_fault(tensor: Tensor, parts: Parts) -> str | None:
    """Return the fault of a tensor, to be put behind its name, or None if it has none."""
    if tensor.type not in TENSOR_TYPES:
        return f"has element type {tensor.type}, which LiteRT 2.3 has not"
    if tensor.buffer >= len(parts.buffers):
        return f"has buffer {tensor.buffer}, but there are {len(parts.buffers)}"
    if tensor.shape and min(tensor.shape) < 0:
        return f"has the shape {_short(tensor.shape)}"
    if tensor.signature and (min(tensor.signature) < -1 or len(tensor.signature) != len(tensor.shape)):
        return f"has the shape {_short(tensor.shape)} and the shape_signature {_short(tensor.signature)}"
    return _quantization_fault(tensor) or _payload_fault(tensor, parts)


def _quantization_fault(tensor: Tensor) -> str | None:
    """Return a text if the scales of a tensor follow an axis that it does not have, or None if all is right."""
    found = tensor.quantization
    if found is None or found.scales < 2 or not tensor.shape:  # noqa: PLR2004  # one scale is for the whole tensor
        return None
    if not 0 <= found.dimension < len(tensor.shape):
        return f"is quantized along axis {found.dimension}, but its shape is {_short(tensor.shape)}"
    return None


def _payload_fault(tensor: Tensor, parts: Parts) -> str | None:
    """Return a text if a constant has fewer bytes than its shape needs, or None. LiteRT accepts more bytes."""
    bits = TENSOR_TYPES[tensor.type][1]
    if bits is None or tensor.sparse or not parts.buffers[tensor.buffer].present:
        return None
    start, stop = parts.payloads[tensor.buffer]
    needed = (prod(tensor.shape) * bits + 7) // 8
    if stop - start >= needed:
        return None
    return f"has {stop - start} bytes, but its shape {_short(tensor.shape)} needs {needed}"


# --- operators ------------------------------------------------------------------------------------------------------


def _check_operators(graph: Subgraph, codes: int, where: str) -> None:
    """Raise MalformedModelError if an index in the subgraph's inputs, outputs or operators is out of range.

    `codes` is the number of operator codes.
    """
    tensors = len(graph.tensors)
    _check_indices(graph.inputs, tensors, f"{where}: its inputs", 0)
    _check_indices(graph.outputs, tensors, f"{where}: its outputs", 0)
    for index, operator in enumerate(graph.operators):
        if operator.code >= codes:
            raise MalformedModelError(
                f"{where}: operator {index} has operator code {operator.code}, but there are {codes}"
            )
        _check_indices(operator.inputs, tensors, f"{where}: the inputs of operator {index}", ABSENT)
        _check_indices(operator.outputs, tensors, f"{where}: the outputs of operator {index}", ABSENT)


def _check_indices(indices: Sequence[int], count: int, whose: str, lowest: int) -> None:
    """Raise MalformedModelError if an index is not in the range `lowest` to `count` - 1. `whose` begins the message."""
    if indices and not (lowest <= min(indices) and max(indices) < count):
        wrong = next(index for index in indices if not lowest <= index < count)
        raise MalformedModelError(f"{whose} name tensor {wrong}, but there are {count}")


def _check_order(graph: Subgraph, parts: Parts, where: str) -> None:
    """Raise MalformedModelError unless each tensor is produced at most once, and before it is read.

    An input or a constant must not be produced at all.
    """
    producers: dict[int, int] = {}
    for index, operator in enumerate(graph.operators):
        for tensor in operator.outputs:
            other = producers.setdefault(tensor, index)
            if other != index and tensor != ABSENT:
                name = f"tensor {tensor} {_short(graph.tensors[tensor].name)}"
                raise MalformedModelError(f"{where}: operators {other} and {index} produce {name}")
    producers.pop(ABSENT, None)
    for tensor in producers.keys() & {*graph.inputs, *_constants(graph, parts)}:
        name = f"tensor {tensor} {_short(graph.tensors[tensor].name)}"
        raise MalformedModelError(f"{where}: operator {producers[tensor]} produces {name}, an input or a constant")
    for index, operator in enumerate(graph.operators):
        for tensor in operator.inputs:
            if producers.get(tensor, -1) >= index:
                name = f"tensor {tensor} {_short(graph.tensors[tensor].name)}"
                raise MalformedModelError(f"{where}: operator {index} reads {name}, which is not produced before it")


def _constants(graph: Subgraph, parts: Parts) -> Iterator[int]:
    """Return the indices of the tensors whose buffer has bytes."""
    return (index for index, tensor in enumerate(graph.tensors) if parts.buffers[tensor.buffer].present)


# --- what names a part by its index -----------------------------------------------------------------------------------


def _check_names(parts: Parts) -> None:
    """Raise MalformedModelError if metadata or a signature contains an index that is out of range."""
    for name, buffer in parts.metadata:
        if buffer >= len(parts.buffers):
            raise MalformedModelError(
                f"the metadata {_short(name)} has buffer {buffer}, but there are {len(parts.buffers)}"
            )
    for signature in parts.signatures:
        where = f"the signature {_short(signature.key)}"
        if signature.subgraph >= len(parts.subgraphs):
            count = len(parts.subgraphs)
            raise MalformedModelError(f"{where} has subgraph {signature.subgraph}, but there are {count}")
        tensors = [tensor for _, tensor in (*signature.inputs, *signature.outputs)]
        _check_indices(tensors, len(parts.subgraphs[signature.subgraph].tensors), f"{where}: its tensors", 0)


def _check_calls(parts: Parts, options: Options) -> None:
    """Raise MalformedModelError if an operator runs a subgraph that does not exist, or if subgraphs run themselves.

    Also raised if subgraphs call one another too deep (see `DEEPEST`).
    """
    calls = [_called(graph, parts.codes, options) for graph in parts.subgraphs]
    count = len(calls)
    for index, called in enumerate(calls):
        for other in called:
            if not 0 <= other < count:
                raise MalformedModelError(f"subgraph {index} has an operator that runs subgraph {other} of {count}")
    heights = [0] * count
    for _ in range(DEEPEST):
        now = [1 + max((heights[other] for other in called), default=-1) for called in calls]
        if now == heights:
            return
        heights = now
    index = heights.index(max(heights))
    raise MalformedModelError(
        f"subgraph {index} has an operator that runs itself, or subgraphs more than {DEEPEST} deep"
    )


def _called(graph: Subgraph, codes: Sequence[Code], options: Options) -> set[int]:
    """Return the indices of the subgraphs that the operators of a subgraph run."""
    runners = (operator for operator in graph.operators if codes[operator.code].builtin in RUNNERS)
    return {body for operator in runners for body in bodies(options(operator))}
