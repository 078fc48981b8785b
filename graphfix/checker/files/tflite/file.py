"""A TFLite file as the checker reads it: tensors and operators as plain values, constants as ranges of the file."""

from __future__ import annotations

import mmap
import struct
from typing import TYPE_CHECKING

from graphfix.checker.files import TFLITE_IDENTIFIER
from graphfix.checker.files.constant_bytes import SMALL, Opened, Payload, stored_bytes
from graphfix.checker.files.tflite.options import is_foreign, options_of
from graphfix.checker.files.tflite.records import Model, Operator, Quantization, Subgraph, Tensor
from graphfix.checker.files.tflite.schema import (
    CUSTOM,
    DETAILS,
    OPERATORS,
    TYPES,
    UnsupportedFieldError,
    fields,
    table_of_version,
)
from graphfix.checker.files.tflite.tables import Table, Tables
from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

# The fields of the schema's tables, numbered in the order in which the schema declares them.
_VERSION, _CODES, MODEL_SUBGRAPHS, _DESCRIPTION, _BUFFERS, _METADATA_BUFFER, _METADATA, _SIGNATURES = range(8)
_OLD_CODE, _CUSTOM_CODE, _CODE_VERSION, _NEW_CODE = range(4)
REQUIRED_PARTS = frozenset({_CODES, MODEL_SUBGRAPHS, _BUFFERS})
"""The vectors that runtimes require in a model. A missing vector is refused, an empty one is accepted."""
GRAPH_TENSORS, _INPUTS, _OUTPUTS, GRAPH_OPERATORS, _GRAPH_NAME, _GRAPH_DEBUG = range(6)
(
    TENSOR_SHAPE, _TYPE, _BUFFER, _NAME, _QUANTIZATION, _VARIABLE, _SPARSITY, _SIGNATURE, _HAS_RANK, _VARIANTS,
    _EXTERNAL,
) = range(11)  # fmt: skip
REQUIRED_OF_GRAPH = frozenset({GRAPH_TENSORS, _INPUTS, _OUTPUTS, GRAPH_OPERATORS})
"""The vectors that runtimes require in a subgraph. A missing vector is refused, an empty one is accepted."""
_MIN, _MAX, _SCALE, _ZERO_POINT, _DETAILS_TYPE, _DETAILS, _AXIS = range(7)
(
    _OPCODE, _OPERANDS, OPERATOR_RESULTS, _KIND, _OPTIONS, _CUSTOM_OPTIONS, _CUSTOM_FORMAT, _MUTATING, _INTERMEDIATES,
    _LARGE_OFFSET, _LARGE_SIZE, _KIND_2, _OPTIONS_2, _DEBUG,
) = range(14)  # fmt: skip
_DATA, _OFFSET, _SIZE = range(3)
_NAMED_INPUTS, _NAMED_OUTPUTS, _SIGNATURE_KEY, _DELEGATE, _SIGNATURE_SUBGRAPH = range(5)
_TENSOR_NAME, _TENSOR_INDEX = range(2)
_ENTRY_NAME, _ENTRY_BUFFER = range(2)
_BYTE, _SIGNED_BYTE, _UNSIGNED, _LONG, _FLAG = (struct.Struct(f"<{form}") for form in "BbIQ?")


def read(path: Path, stack: ExitStack, *, lenient: bool = False) -> tuple[Model, Opened]:
    """Read a TFLite file. Return the model, and the file, which stays open until `stack` is closed.

    Raises GraphfixError if the file is not a TFLite model. A field or kind that the schema does not define raises
    UnsupportedFieldError; if `lenient`, it is ignored.
    """
    opened = Opened.at(path, stack)
    try:
        data = stack.enter_context(mmap.mmap(opened.file.fileno(), 0, access=mmap.ACCESS_READ))
        return _model(Tables(data, lenient), opened), opened
    except OSError as error:
        raise GraphfixError(
            f"{path}: can't be read: {error.strerror}; give the path of a model that can be read"
        ) from None
    except (struct.error, IndexError, ValueError, TypeError, AttributeError) as error:
        why = error if isinstance(error, ValueError) else "it is cut short, or contradicts itself"
        raise GraphfixError(f"{path}: no TFLite model: {why}; get the file again") from None


def _model(tables: Tables, file: Opened) -> Model:
    """Return the model in the tables of a file. Raises ValueError or UnsupportedFieldError."""
    model = table_of_version(tables.root(), _SIGNATURES + 1, "the model")
    _refuse(model, model.ended(_DESCRIPTION) and model.is_plain(_METADATA_BUFFER, 4), "the description")
    codes = [_code(code) for code in model.each(_CODES)]
    payloads = [_payload(buffer, file) for buffer in model.each(_BUFFERS)]
    graphs = tuple(_subgraph(graph, codes, payloads) for graph in model.each(MODEL_SUBGRAPHS))
    for graph in graphs:
        _refuse_indices(graph)
    return Model(
        model.number(_VERSION, _UNSIGNED),
        tuple(codes),
        graphs,
        tuple(_signature(signature) for signature in model.each(_SIGNATURES)),
        tuple(_entry(entry, payloads) for entry in model.each(_METADATA)),
        _given(model),
        tables.data[4:8] == TFLITE_IDENTIFIER,
        min((start for buffer in model.each(_BUFFERS) if (start := _start_behind(buffer))), default=file.size),
    )


def _refuse_indices(graph: Subgraph) -> None:
    """Raise ValueError if a subgraph or operator refers to a tensor that the subgraph does not have.

    Only operands may be -1, which means a missing operand.
    """
    count = len(graph.tensors)
    ends = (*graph.inputs, *graph.outputs, *(at for operator in graph.operators for at in operator.outputs))
    operands = (at for operator in graph.operators for at in operator.inputs if at != -1)
    for at in (*ends, *operands):
        if not 0 <= at < count:
            raise ValueError(f"tensor {at} is named, and its subgraph has {count}")


def _code(code: Table) -> tuple[str, int]:
    """Return an operator code as (name, version). The name of a custom operator begins with "custom "."""
    table_of_version(code, _NEW_CODE + 1, "an operator code")
    _refuse(code, code.ended(_CUSTOM_CODE), "the name of an operator")
    number = max(code.number(_NEW_CODE), code.number(_OLD_CODE, _SIGNED_BYTE))
    version = code.number(_CODE_VERSION, default=1)
    if number == CUSTOM and code.offsets[_CUSTOM_CODE]:
        return f"custom {_text(code, _CUSTOM_CODE)}", version
    return OPERATORS.get(number, f"builtin {number}"), version


def _payload(buffer: Table, file: Opened) -> Payload | None:
    """Return the bytes of a buffer; None if the buffer has neither an inline vector nor an offset above 1.

    As in LiteRT, an inline vector takes precedence over an offset, even if the vector is empty. Raises ValueError if
    the bytes do not end inside the file.
    """
    table_of_version(buffer, _SIZE + 1, "a buffer")
    start, length = buffer.number(_OFFSET, _LONG), buffer.number(_SIZE, _LONG)
    if buffer.offsets[_DATA]:
        start, length = buffer.vector(_DATA)
    elif start <= 1:
        return None
    if not 0 <= start <= start + length <= file.size:
        raise ValueError(f"a buffer of {length} bytes at byte {start} is cut short")
    return Payload(file, start, length) if length > SMALL else stored_bytes(buffer.data[start : start + length])


def _start_behind(buffer: Table) -> int:
    """Return the byte at which a buffer behind the FlatBuffer begins; 0 for a buffer that is inline or empty."""
    start = buffer.number(_OFFSET, _LONG)
    return 0 if buffer.offsets[_DATA] or start <= 1 else start


def _subgraph(graph: Table, codes: list[tuple[str, int]], payloads: list[Payload | None]) -> Subgraph:
    """Return a subgraph. `codes` contains the model's operator codes, and `payloads` the bytes of its buffers."""
    table_of_version(graph, _GRAPH_DEBUG + 1, "a subgraph")
    tensors = tuple(_tensor(tensor, payloads) for tensor in graph.each(GRAPH_TENSORS))
    operators = tuple(_operator(operator, codes, tensors) for operator in graph.each(GRAPH_OPERATORS))
    ends = graph.numbers(_INPUTS), graph.numbers(_OUTPUTS)
    return Subgraph(tensors, operators, *ends, _text(graph, _GRAPH_NAME), _given(graph))


def _given(table: Table) -> frozenset[int]:
    """Return the slots of the fields that a table contains."""
    return frozenset(slot for slot, offset in enumerate(table.offsets) if offset)


def _tensor(tensor: Table, payloads: list[Payload | None]) -> Tensor:
    """Return a tensor.

    `payloads` contains the bytes of the model's buffers; buffer 0 means that the tensor has no bytes.
    """
    table_of_version(tensor, _EXTERNAL + 1, "a tensor")
    if tensor.offsets[_VARIANTS] and not tensor.tables.lenient:
        raise UnsupportedFieldError("a tensor of variants is not read")
    stored, signature = tensor.numbers(TENSOR_SHAPE), tensor.numbers(_SIGNATURE)
    if signature and min(signature) < -1 and not tensor.tables.lenient:
        raise UnsupportedFieldError("a tensor has a signature of a size below -1")
    buffer = tensor.number(_BUFFER, _UNSIGNED)
    payload = payloads[buffer] if buffer else None
    ranked = bool(stored or tensor.number(_HAS_RANK, _FLAG) or payload is not None)
    ranked = ranked and len(signature or stored) == len(stored)
    # LiteRT uses the stored shape. A size is known only if the signature's shape has the same size. If the ranks of the
    # two shapes differ, the rank is unknown.
    sizes = stored if not signature else (a if a == b else -1 for a, b in zip(signature, stored, strict=False))
    dims = tuple(None if dim < 0 else dim for dim in sizes) if ranked else None
    dtype = tensor.number(_TYPE, _SIGNED_BYTE)
    quantization = tensor.table(_QUANTIZATION)
    return Tensor(
        name=_text(tensor, _NAME),
        dtype=TYPES.get(dtype, str(dtype)),
        dims=dims,
        stored=stored,
        quantization=None if quantization is None else _quantization(quantization, stored),
        variable=bool(tensor.number(_VARIABLE, _FLAG)),
        payload=payload,
        odd=_odd(tensor) if tensor.offsets[_SPARSITY] or tensor.offsets[_EXTERNAL] else (),
        signature=() if not signature or signature == _as_stored(signature, stored) else signature,
    )


def _as_stored(signature: tuple[int, ...], stored: tuple[int, ...]) -> tuple[int, ...]:
    """Return the signature's shape that would agree with the stored shape and has the same free sizes (-1)."""
    return (
        tuple(-1 if size < 0 else own for size, own in zip(signature, stored, strict=False)) + stored[len(signature) :]
    )


def _odd(tensor: Table) -> tuple[object, ...]:
    """Return the marks of a sparse tensor and of an external buffer; () for a tensor that is neither."""
    odd: tuple[object, ...] = ()
    sparsity = tensor.table(_SPARSITY)
    if sparsity is not None:
        odd += ("sparse", ("SparsityParameters", tuple(fields(sparsity, "SparsityParameters").items())))
    external = tensor.number(_EXTERNAL, _UNSIGNED)
    return (*odd, "external", external) if external else odd


def _quantization(table: Table, shape: tuple[int, ...]) -> Quantization | None:
    """Return the quantization of a tensor; None if the table has neither scales nor details.

    `shape` is the stored shape.
    """
    table_of_version(table, _AXIS + 1, "the quantization of a tensor")
    if table.offsets[_MIN] or table.offsets[_MAX]:
        _refuse(table, table.is_plain(_MIN, 4) and table.is_plain(_MAX, 4), "the range")
    scales, kind = table.numbers(_SCALE, "I"), table.number(_DETAILS_TYPE, _BYTE)
    if not (scales or kind):
        return None
    details = table.table(_DETAILS) if kind else None
    custom = (kind, *(() if details is None else fields(details, DETAILS.get(kind)).items())) if kind else ()
    bits = struct.pack(f"<{len(scales)}I", *scales)
    axis, count, zeros = table.number(_AXIS), len(scales), table.numbers(_ZERO_POINT, "q")
    fits = 0 <= axis < len(shape) and (count <= 1 or shape[axis] == count)
    loads = not count or (len(zeros) == count and (fits or (axis == 0 and count == 1)))
    return Quantization((bits, zeros, custom), axis if count > 1 or kind else None, axis, loads)


def _operator(op: Table, codes: list[tuple[str, int]], tensors: tuple[Tensor, ...]) -> Operator:
    """Return an operator of a subgraph with these tensors. `codes` contains the model's operator codes."""
    table_of_version(op, _DEBUG + 1, "an operator")
    name, version = codes[op.number(_OPCODE, _UNSIGNED)]
    kinds = op.number(_KIND, _BYTE), op.number(_KIND_2, _BYTE)
    if is_foreign(name, *kinds) and not op.tables.lenient:
        raise UnsupportedFieldError(f"{name} has options of another operator, or of two")
    newer = op.table(_OPTIONS_2) if kinds[1] else None
    options = options_of(op.table(_OPTIONS) if kinds[0] else None, newer, *kinds)
    between = tuple([_between(tensors, at) for at in op.numbers(_INTERMEDIATES)])
    custom = _custom(op) if op.offsets[_CUSTOM_OPTIONS] or op.offsets[_LARGE_SIZE] else ()
    key = (name, *kinds, options.others, custom, op.numbers(_MUTATING, "?"), between)
    return Operator(
        name=name,
        version=version,
        inputs=op.numbers(_OPERANDS),
        outputs=op.numbers(OPERATOR_RESULTS),
        options=options.fields,
        bodies=options.bodies,
        key=key,
    )


def _between(tensors: tuple[Tensor, ...], at: int) -> tuple[str, Quantization | None] | None:
    """Return the type and quantization of an operator's intermediate tensor; None for an index below 0.

    An intermediate tensor describes values inside the kernel.
    """
    return None if at < 0 else (tensors[at].dtype, tensors[at].quantization)


def _custom(op: Table) -> tuple[object, ...]:
    """Return the options of a custom operator: (format, bytes inside the FlatBuffer, bytes behind it).

    LiteRT reads only one of the two byte strings. Raises ValueError if one is cut short.
    """
    start, size = op.number(_LARGE_OFFSET, _LONG), op.number(_LARGE_SIZE, _LONG)
    behind = op.data[start : start + size]
    if len(behind) < size:
        raise ValueError(f"options of {size} bytes at byte {start} are cut short")
    return op.number(_CUSTOM_FORMAT, _BYTE), op.content(_CUSTOM_OPTIONS), behind


def _signature(signature: Table) -> tuple[str, int, tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]:
    """Return a SignatureDef as (key, subgraph, inputs, outputs). Inputs and outputs are pairs (name, tensor)."""
    table_of_version(signature, _SIGNATURE_SUBGRAPH + 1, "a signature")
    _refuse(signature, bool(signature.offsets[_SIGNATURE_KEY] and signature.ended(_DELEGATE)), "the key of a signature")
    inputs, outputs = (
        tuple((_text(each, _TENSOR_NAME), each.number(_TENSOR_INDEX, _UNSIGNED)) for each in signature.each(slot))
        for slot in (_NAMED_INPUTS, _NAMED_OUTPUTS)
    )
    subgraph = signature.number(_SIGNATURE_SUBGRAPH, _UNSIGNED)
    return _text(signature, _SIGNATURE_KEY), subgraph, inputs, outputs


def _refuse(table: Table, is_complete: bool, what: str) -> None:
    """Raise UnsupportedFieldError if a part is incomplete, unless the reading is lenient.

    Runtimes refuse a file with an incomplete part, even if nothing reads the part. `what` is the name of the part in
    the message.
    """
    if not is_complete and not table.tables.lenient:
        raise UnsupportedFieldError(f"{what} of a file is not ended, which runtimes refuse")


def _entry(entry: Table, payloads: list[Payload | None]) -> tuple[str, Payload | None]:
    """Return a metadata entry as (name, content). The content is None if the buffer is missing or empty."""
    table_of_version(entry, _ENTRY_BUFFER + 1, "a metadata entry")
    at = entry.number(_ENTRY_BUFFER, _UNSIGNED)
    return _text(entry, _ENTRY_NAME), payloads[at] if at < len(payloads) else None


def _text(table: Table, slot: int) -> str:
    """Return a string field as text.

    Bytes that are not UTF-8 become escapes, so different names stay different. In a lenient reading they become the
    replacement character. Raises UnsupportedFieldError for a string without the 0 byte at its end.
    """
    found = table.string(slot)
    _refuse(table, found is not None, "a string")
    text = table.content(slot) if found is None else found
    return text.decode("utf-8", "replace" if table.tables.lenient else "backslashreplace")
