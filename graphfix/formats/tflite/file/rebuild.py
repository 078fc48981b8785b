"""Rebuild the tables of a changed model; all other tables stay in the old file and are referred to."""

from __future__ import annotations

from typing import Final

from graphfix.formats.tflite.file.reader import FlatBuffer
from graphfix.formats.tflite.file.records import NEW, Buffer, Code, Operator, Options, Quantization, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import (
    BUFFER,
    LARGEST_DEPRECATED,
    METADATA,
    MODEL,
    OPERATOR,
    OPERATOR_CODE,
    QUANTIZATION,
    SIGNATURE,
    SUBGRAPH,
    TENSOR,
    TENSOR_MAP,
    Layout,
)
from graphfix.formats.tflite.file.tables import Parts, read_operator, read_tensor
from graphfix.formats.tflite.file.writer import Bytes, Field, Integers, Moved, Table, Tables
from graphfix.results.records import dataclass

_UNIONS: Final = ("builtin_options_type", "builtin_options", "builtin_options_2_type", "builtin_options_2")
_VECTOR: Final = "*"


@dataclass(frozen=True, slots=True, eq=False)
class Rebuilder:
    """Builds new tables for the changed parts of one model."""

    flat: FlatBuffer
    parts: Parts

    def model(self) -> Table:
        """Return the new Model table: its fields as in the file, with new tables for the parts that changed."""
        parts = self.parts
        fields: dict[str, Field] = self.flat.fields(parts.model, MODEL)
        changed = [graph.place if self._kept(graph) else self._subgraph(graph) for graph in parts.subgraphs]
        if changed != list(self.flat.references(self.flat.fields(parts.model, MODEL)["subgraphs"])):
            fields["subgraphs"] = Tables(changed)
        if parts.kept_signatures is not None:
            fields["signature_defs"] = Tables([self._called(*kept) for kept in parts.kept_signatures])
        if [code.place for code in parts.codes] != parts.code_places:
            fields["operator_codes"] = Tables([_code(code) for code in parts.codes])
        if parts.outside or any(buffer.place == NEW for buffer in parts.buffers):
            outside = set(parts.outside)
            buffers = [self._buffer(buffer, at in outside) for at, buffer in enumerate(parts.buffers)]
            fields["buffers"] = Tables(buffers)
        if parts.metadata != parts.metadata_read or len(parts.metadata) < parts.metadata_count:
            fields["metadata"] = self._metadata()
        return Table(MODEL, fields)

    def _called(self, place: int, subgraph: int, dropped: frozenset[int]) -> Table:
        """Return a new table for a kept signature, with the subgraph's new index and without the dropped inputs."""
        stored = self.flat.fields(place, SIGNATURE)
        fields: dict[str, Field] = {**stored, "subgraph_index": subgraph}
        if dropped:
            entries = self.flat.references(stored["inputs"])
            kept = [entry for entry in entries if self.flat.table(entry, TENSOR_MAP)[1] not in dropped]
            fields["inputs"] = Tables(kept)
        return Table(SIGNATURE, fields)

    def _kept(self, graph: Subgraph) -> bool:
        """Return whether the subgraph's table in the file can be kept.

        It is rebuilt if the subgraph changed, or if an operator's options lie outside of the tables, so that their
        position changes.
        """
        outside = self.parts.custom_outside
        return not graph.changed and not (outside and any(found.place in outside for found in graph.operators))

    def _buffer(self, buffer: Buffer, outside: bool) -> Table | int:
        """Return a new table for a buffer, or the position of its table in the file if nothing changes.

        If `outside`, the bytes lie behind the tables, so their position changes.
        """
        if buffer.place == NEW:
            return Table(BUFFER, {"data": Bytes(buffer.data)} if buffer.data is not None else {})
        if not outside:
            return buffer.place
        fields: dict[str, Field] = self.flat.fields(buffer.place, BUFFER)
        fields["offset"] = Moved(self.flat.fields(buffer.place, BUFFER)["offset"])
        return Table(BUFFER, fields)

    def _metadata(self) -> Tables:
        """Return the metadata entries: those of the file that did not change by position, all others as new tables."""
        items: list[Table | int] = []
        for at, (name, buffer) in enumerate(self.parts.metadata):
            if at >= len(self.parts.metadata_read):
                items.append(Table(METADATA, {"name": Bytes(name.encode(), text=True), "buffer": buffer}))
            elif self.parts.metadata_read[at] == (name, buffer):
                items.append(self.parts.metadata_places[at])
            else:
                fields: dict[str, Field] = self.flat.fields(self.parts.metadata_places[at], METADATA)
                items.append(Table(METADATA, {**fields, "buffer": buffer}))
        return Tables(items)

    def _subgraph(self, graph: Subgraph) -> Table:
        """Return a new table for a changed subgraph."""
        fields = self._fields(graph.place, SUBGRAPH)
        fields["tensors"] = Tables([self._tensor(tensor) for tensor in graph.tensors])
        fields["operators"] = Tables([self._operator(operator) for operator in graph.operators])
        for name, indices in (("inputs", graph.inputs), ("outputs", graph.outputs)):
            stored = fields.get(name, 0)
            if not isinstance(stored, int) or self.flat.integers(stored) != indices:
                fields[name] = Integers("i", indices)
        return Table(SUBGRAPH, fields)

    def _fields(self, place: int, layout: Layout) -> dict[str, Field]:
        """Return the fields of a table as they are in the file; no fields for a new table."""
        return {} if place == NEW else self.flat.fields(place, layout)

    def _tensor(self, tensor: Tensor) -> Table | int:
        """Return a new table for a new or changed tensor, or the position of its table in the file."""
        if tensor.place != NEW and not tensor.changed:
            return tensor.place
        fields = self._fields(tensor.place, TENSOR)
        if tensor.place == NEW:
            fields["name"] = Bytes(tensor.name.encode(), text=True)
            fields["shape"] = Integers("i", tensor.shape)
            stored = None
        else:
            stored = read_tensor(self.flat, tensor.place)
            if stored.shape != tensor.shape:
                fields["shape"] = Integers("i", tensor.shape)
        self._signature(tensor, stored, fields)
        self._quantization(tensor.quantization, fields)
        fields["type"], fields["buffer"] = tensor.type, tensor.buffer
        fields["is_variable"], fields["has_rank"] = tensor.variable, tensor.has_rank
        fields["external_buffer"] = tensor.external
        return Table(TENSOR, _without_defaults(TENSOR, fields))

    def _signature(self, tensor: Tensor, stored: Tensor | None, fields: dict[str, Field]) -> None:
        """Set or remove the field `shape_signature` of a tensor; `stored` is the tensor as the file has it."""
        if tensor.signature is None:
            fields.pop("shape_signature", None)
        elif stored is None or stored.signature != tensor.signature:
            fields["shape_signature"] = Integers("i", tensor.signature)

    def _quantization(self, quantization: Quantization | None, fields: dict[str, Field]) -> None:
        """Set the quantization of a tensor; a new table is needed only if the axis of the scales changed."""
        if quantization is None:
            return
        stored: dict[str, Field] = self.flat.fields(quantization.place, QUANTIZATION)
        if stored.get("quantized_dimension", 0) == quantization.dimension:
            fields["quantization"] = quantization.place
            return
        fields["quantization"] = Table(QUANTIZATION, {**stored, "quantized_dimension": quantization.dimension})

    def _operator(self, operator: Operator) -> Table | int:
        """Return a new table for a new or changed operator, or the position of its table in the file."""
        outside = operator.place in self.parts.custom_outside
        if operator.place != NEW and not operator.changed and not outside:
            return operator.place
        fields = self._fields(operator.place, OPERATOR)
        fields["opcode_index"] = operator.code
        stored = None if operator.place == NEW else read_operator(self.flat, operator.place)[0]
        if stored is None or stored.inputs != operator.inputs:
            fields["inputs"] = Integers("i", operator.inputs)
        if stored is None or stored.outputs != operator.outputs:
            fields["outputs"] = Integers("i", operator.outputs)
        if outside:
            fields["large_custom_options_offset"] = Moved(
                self.flat.fields(operator.place, OPERATOR)["large_custom_options_offset"]
            )
        if operator.options is not None:
            _replace_options(operator.options, fields)
        return Table(OPERATOR, fields)


def _without_defaults(layout: Layout, fields: dict[str, Field]) -> dict[str, Field]:
    """Drop the numbers that are the schema's defaults, because readers use the default for a missing field."""
    defaults = dict(zip(layout.names, layout.defaults, strict=True))
    return {name: value for name, value in fields.items() if not isinstance(value, int) or value != defaults[name]}


def _code(code: Code) -> Table | int:
    """Return a new table for a new operator code, or the position of its table in the file."""
    if code.place != NEW:
        return code.place
    return Table(
        OPERATOR_CODE,
        {
            "deprecated_builtin_code": min(code.builtin, LARGEST_DEPRECATED),
            "version": code.version,
            "builtin_code": code.builtin,
        },
    )


def _replace_options(options: Options, fields: dict[str, Field]) -> None:
    """Replace all options in the fields of an operator by new builtin options."""
    for name in _UNIONS:
        fields.pop(name, None)
    if options.kind:
        fields["builtin_options_type"] = options.kind
        fields["builtin_options"] = _options(options)


def _options(options: Options) -> Table:
    """Return the table of new options, with a layout that is made from the options' own slots and formats."""
    forms = {slot: form for slot, form, _ in options.fields}
    slots = range(1 + max(forms, default=-1))
    names = tuple(str(slot) for slot in slots)
    layout = Layout("options", names, tuple(_slot_form(forms.get(slot, "b")) for slot in slots), (0,) * len(names))
    return Table(layout, {str(slot): _option(form, value) for slot, form, value in options.fields})


def _slot_form(form: str) -> str:
    """Return the format of an option's slot: "o" (a reference) for a vector."""
    return "o" if form.endswith(_VECTOR) else form


def _option(form: str, value: object) -> Field:
    """Return an option's value as a field. Raises TypeError if the value does not fit the format."""
    if form.endswith(_VECTOR):
        if not isinstance(value, tuple | list):
            raise TypeError(f"an option of format {form} is {value!r}, no sequence")
        return Integers(form.removesuffix(_VECTOR), value)
    if not isinstance(value, int | float):
        raise TypeError(f"an option of format {form} is {value!r}, no number")
    return value
