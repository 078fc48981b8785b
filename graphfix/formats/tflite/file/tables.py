"""Read the tables of a TFLite file as records, each with its position in the file."""

from __future__ import annotations

from graphfix.formats.neutral.files import Source
from graphfix.formats.tflite.file.reader import FlatBuffer, MalformedError
from graphfix.formats.tflite.file.records import Buffer, Code, Operator, Quantization, Signature, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import (
    BUFFER,
    EXTERNAL_GROUP,
    METADATA,
    MODEL,
    OPERATOR,
    OPERATOR_CODE,
    QUANTIZATION,
    SIGNATURE,
    SUBGRAPH,
    TENSOR,
    TENSOR_MAP,
    VERSION,
)
from graphfix.results.records import dataclass, field

FAULT = 1 << 21
"""The most bytes that the system maps when one byte is read: a huge page."""
HELD = 1 << 24
"""The most bytes of the memory map that may count as this process's memory before they are released."""


@dataclass(slots=True, eq=False)
class Parts:
    """The parts of a file, in the order of the file."""

    model: int
    """The position of the Model table."""
    codes: list[Code] = field(default_factory=list)
    code_places: list[int] = field(default_factory=list)
    """The positions of the file's operator codes, in the order of the file."""
    unused_codes: frozenset[int] = frozenset()
    """The operator codes that no operator of the file uses; they stay as they are."""
    subgraphs: list[Subgraph] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    payloads: list[tuple[int, int]] = field(default_factory=list)
    """For each buffer, where its bytes start and stop; (0, 0) for a buffer without bytes."""
    outside: list[int] = field(default_factory=list)
    """The buffers whose bytes lie behind the tables, at a position in the file (`Buffer.offset`)."""
    custom_outside: set[int] = field(default_factory=set)
    """Positions of the Operator tables whose options lie behind the tables (`large_custom_options_offset`)."""
    custom_spans: list[tuple[int, int]] = field(default_factory=list)
    """(start, stop) in the file of each operator's options that lie behind the tables."""
    signatures: list[Signature] = field(default_factory=list)
    signature_places: list[int] = field(default_factory=list)
    kept_signatures: list[tuple[int, int, frozenset[int]]] | None = None
    """The signatures that are written: position, subgraph, and the inputs that are dropped; None if none changes."""
    metadata: list[tuple[str, int]] = field(default_factory=list)
    metadata_places: list[int] = field(default_factory=list)
    metadata_read: list[tuple[str, int]] = field(default_factory=list)
    """The metadata entries that were read from the file, without those that were dropped since then."""
    metadata_count: int = 0
    """The number of metadata entries that were read from the file."""
    external: list[str] = field(default_factory=list)
    """The files beside the model that contain buffers of the model."""

    def drop_metadata(self, name: str) -> None:
        """Remove every metadata entry of this name; its buffer stays in the file."""
        kept = [at for at, (entry_name, _) in enumerate(self.metadata) if entry_name != name]
        of_the_file = [at for at in kept if at < len(self.metadata_read)]
        self.metadata_places = [self.metadata_places[at] for at in of_the_file]
        self.metadata_read = [self.metadata_read[at] for at in of_the_file]
        self.metadata = [self.metadata[at] for at in kept]


def read_parts(flat: FlatBuffer, source: Source) -> Parts:
    """Read every table that an edit may change. Raises MalformedError."""
    parts = Parts(flat.root())
    version, codes, subgraphs, _, buffers, _, metadata, signatures, groups, _ = flat.table(parts.model, MODEL)
    if version != VERSION:
        raise MalformedError(f"it has schema version {version}, not {VERSION}")
    for place in flat.references(codes):
        parts.code_places.append(place)
        parts.codes.append(_code(flat, place))
    payload_start, last = 0, 0
    for place in flat.references(buffers):
        # Each table of a buffer lies beside its payload; if payloads are long, each table is on another page.
        payload_start, last = payload_start + min(abs(place - last), FAULT), place
        if payload_start > HELD:
            source.forget(len(source.data))
            payload_start = 0
        _enter_buffer(flat, place, parts)
    for place in flat.references(subgraphs):
        parts.subgraphs.append(_subgraph(flat, place, parts))
    used = {operator.code for graph in parts.subgraphs for operator in graph.operators}
    parts.unused_codes = frozenset(range(len(parts.codes))) - used
    for place in flat.references(metadata):
        name, at = flat.table(place, METADATA)
        parts.metadata_places.append(place)
        parts.metadata.append((flat.text(name), at))
    parts.metadata_read, parts.metadata_count = list(parts.metadata), len(parts.metadata)
    for place in flat.references(signatures):
        parts.signature_places.append(place)
        parts.signatures.append(_signature(flat, place))
    parts.external.extend(flat.text(flat.table(place, EXTERNAL_GROUP)[0]) for place in flat.references(groups))
    source.forget(len(source.data))
    return parts


def read_tensor(flat: FlatBuffer, place: int) -> Tensor:
    """Read the Tensor table at `place`. Raises MalformedError."""
    (shape, number, buffer, name, quantization, variable, sparsity, signature, has_rank, _, external) = flat.table(
        place, TENSOR
    )
    return Tensor(
        flat.text(name),
        flat.integers(shape),
        flat.integers(signature) if signature else None,
        has_rank,
        number,
        buffer,
        variable,
        bool(sparsity),
        external,
        _quantization(flat, quantization) if quantization else None,
        place,
    )


def _quantization(flat: FlatBuffer, place: int) -> Quantization:
    """Read the QuantizationParameters table at `place`."""
    _, _, scale, _, _, _, dimension = flat.table(place, QUANTIZATION)
    return Quantization(place, flat.vector(scale, 4)[1] if scale else 0, dimension)


def read_scales(flat: FlatBuffer, quantization: Quantization | None) -> tuple[object, ...]:
    """Read how elements are quantized: scales, zero points, custom details, and the axis of several scales.

    The result is made to be compared. Return () if the tensor is not quantized. Scales are returned as the integers of
    their bits. Raises MalformedError.
    """
    if quantization is None:
        return ()
    _, _, scale, zero_point, kind, details, _ = flat.table(quantization.place, QUANTIZATION)
    bits = flat.integers(scale) if scale else ()
    zeros = flat.long_integers(zero_point) if zero_point else ()
    axis = quantization.dimension if len(bits) > 1 else None
    return (bits, zeros, kind, details, axis) if bits or kind else ()


def read_operator(flat: FlatBuffer, place: int) -> tuple[Operator, tuple[int, int]]:
    """Read the Operator table at `place`, and where in the file its large custom options start and stop.

    The second part is (0, 0) if there are no such options. Raises MalformedError.
    """
    values = flat.table(place, OPERATOR)
    offset, size = values[9], values[10]
    operator = Operator(values[0], flat.integers(values[1]), flat.integers(values[2]), place)
    return operator, (offset, offset + size) if offset > 1 else (0, 0)


def _code(flat: FlatBuffer, place: int) -> Code:
    """Read the OperatorCode table at `place`."""
    deprecated, custom, version, builtin = flat.table(place, OPERATOR_CODE)
    return Code(max(deprecated, builtin), version, flat.text(custom), place)


def _enter_buffer(flat: FlatBuffer, place: int, parts: Parts) -> None:
    """Read the Buffer table at `place` into `parts`."""
    data, offset, size = flat.table(place, BUFFER)
    if data:
        start, count = flat.vector(data, 1)
        parts.payloads.append((start, start + count))
    elif offset > 1:  # By the schema, the offsets 0 and 1 mean that there is no payload.
        parts.outside.append(len(parts.buffers))
        parts.payloads.append((offset, offset + size))
    else:
        parts.payloads.append((0, 0))
    # Tensors without a payload use buffer 0, so LiteRT never reads its bytes.
    parts.buffers.append(Buffer(place, bool(parts.buffers) and bool(data or offset > 1)))


def _subgraph(flat: FlatBuffer, place: int, parts: Parts) -> Subgraph:
    """Read the SubGraph table at `place`; options outside of the tables are added to `parts`."""
    tensors, inputs, outputs, operators, name, _ = flat.table(place, SUBGRAPH)
    graph = Subgraph(flat.text(name), [], [], flat.integers(inputs), flat.integers(outputs), place)
    graph.tensors.extend(read_tensor(flat, at) for at in flat.references(tensors))
    for at in flat.references(operators):
        operator, outside = read_operator(flat, at)
        graph.operators.append(operator)
        if outside != (0, 0):
            parts.custom_outside.add(at)
            parts.custom_spans.append(outside)
    return graph


def _signature(flat: FlatBuffer, place: int) -> Signature:
    """Read the SignatureDef table at `place`."""
    inputs, outputs, key, _, subgraph = flat.table(place, SIGNATURE)
    return Signature(flat.text(key), subgraph, _tensor_map(flat, inputs), _tensor_map(flat, outputs))


def _tensor_map(flat: FlatBuffer, position: int) -> tuple[tuple[str, int], ...]:
    """Read a vector of TensorMap tables: (name, index of the tensor) of each."""
    entries = (flat.table(place, TENSOR_MAP) for place in flat.references(position))
    return tuple((flat.text(name), tensor) for name, tensor in entries)
