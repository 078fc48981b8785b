"""TFLite models from the notation of models.builders.grammar: text becomes a .tflite file.

    y[2,3,4] = ADD(x[2,3,4], b:const[4])
    y:int8[2,3] = MUL(x:int8[2,3], s:const:int8[3])       quantized: scale 0.5, zero point 3 (uint8 128, int16 0)
    y[N,3] = SUB(x[N,3], s[])                             a symbol, `?` and -1 are free: signature -1, stored 1
    e[1,?,3] = EXPAND_DIMS(x[?,3], a:const:int32[]{0})    ints alone are int32
    z[2,3,5] = BATCH_MATMUL(a[2,3,4], b[5,4], adj_y=True) attributes by the schema's names, Python literals,
    z[2,3] = ADD(x[2,3], y[3], fused_activation_function=RELU)       or names of the schema's enumerations
    p[2] = PRELU(q[2], a[1], version=1)                   a version other than the converter's
    y[2] = CUSTOM.Name(x[2], custom_options=b'..')        a custom operator
    y[*] = ABS(x[*])                                      unranked: no shape, has_rank false
    s:variable[2,3]                                       a variable tensor: neither an input nor a constant

A value has dims or elements. What is read and neither made, constant nor variable is an input, in the order of the
text; what is made and never read is an output. Subgraphs are named in attributes:

    y[2] = IF(c:bool[], x[2], then=yes, else=no)
    i2:int32[], y[2] = WHILE(i:int32[], x[2], cond=test, body=step)
    CALL_ONCE(init=setup)
    subgraph yes:
    t[2] = NEG(x[2])
"""

from __future__ import annotations

import ast
import copy
import io
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers

from models.builders.grammar import Block, Line, Value, read
from models.builders.tflite.parts import Call, dims_of, elements_of, operator_version, payload, set_options

_ZERO_POINTS = {"int8": 3, "uint8": 128, "int16": 0}
_FIRST_CODE_ABOVE_A_BYTE = 127


@dataclass(frozen=True, slots=True)
class Quantized:
    """The scales of a tensor: one, or one for each index of the axis `dimension`."""

    scale: float | tuple[float, ...]
    zero_point: int | tuple[int, ...] = 0
    dimension: int = 0

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales, one or many."""
        return self.scale if isinstance(self.scale, tuple) else (self.scale,)

    @property
    def zero_points(self) -> tuple[int, ...]:
        """As many as there are scales."""
        given = self.zero_point
        return given if isinstance(given, tuple) else (given,) * len(self.scales)


@dataclass(frozen=True, slots=True)
class Signature:
    """A SignatureDef: its subgraph and what callers call the tensors; without names, the tensors' own."""

    subgraph: str = "main"
    inputs: Mapping[str, str] | None = None
    """Caller's name -> tensor's name."""
    outputs: Mapping[str, str] | None = None


def model(
    text: str,
    *,
    outputs: Sequence[str] | None = None,
    quantization: Mapping[str, Quantized | None] | None = None,
    share: Mapping[str, str] | None = None,
    signatures: Mapping[str, Signature] | None = None,
    metadata: Mapping[str, bytes] | None = None,
    archive: Mapping[str, bytes] | None = None,
    has_rank: bool = True,
) -> bytes:
    """Return the .tflite file of a text, the same bytes for the same arguments.

    `outputs` names the outputs of `main`; `quantization` sets other scales than the default, or None
    for none (the names count in every subgraph); `share` lets the constant of a name have the Buffer of
    another's (same bytes, other dims); `metadata` becomes Metadata entries; `archive` a ZIP behind the
    FlatBuffer, its offsets counted from the file's begin as TFLite's metadata has it; `has_rank=False` writes no
    has_rank, as old converters did. Raises ValueError where the text is not in the notation.
    """
    made = tree(
        text,
        outputs=outputs,
        quantization=quantization,
        share=share,
        signatures=signatures,
        metadata=metadata,
        has_rank=has_rank,
    )
    return with_archive(pack(made), archive or {})


def tree(
    text: str,
    *,
    outputs: Sequence[str] | None = None,
    quantization: Mapping[str, Quantized | None] | None = None,
    share: Mapping[str, str] | None = None,
    signatures: Mapping[str, Signature] | None = None,
    metadata: Mapping[str, bytes] | None = None,
    has_rank: bool = True,
) -> Any:  # noqa: ANN401 -- the object API has no types
    """Return the ModelT of a text, to be changed and then packed; the arguments are those of `model`."""
    blocks = read(text, integers="int32")
    if outputs is not None:
        blocks[0].declared_outputs = list(outputs)
    writer = _Writer([block.name for block in blocks], quantization or {}, share or {}, has_rank)
    writer.model.subgraphs = [writer.subgraph(block) for block in blocks]
    writer.model.signatureDefs = [
        _signature(key, signature, blocks, writer.indices) for key, signature in (signatures or {}).items()
    ] or None
    writer.model.metadata = [writer.metadata(name, data) for name, data in (metadata or {}).items()] or None
    return writer.model


def pack(made: Any) -> bytes:  # noqa: ANN401 -- the object API has no types
    """Return the file of a ModelT, the data of its buffers aligned to 16 bytes as the schema asks."""
    aligned = copy.copy(made)
    aligned.buffers = [
        buffer if buffer.data is None else SimpleNamespace(Pack=_aligned(bytes(buffer.data))) for buffer in made.buffers
    ]
    builder = flatbuffers.Builder(1024)
    builder.Finish(aligned.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _aligned(data: bytes) -> Any:  # noqa: ANN401 -- a Pack method of the object API
    def packed(builder: flatbuffers.Builder) -> int:
        builder.StartVector(1, len(data), 16)
        builder.head = builder.Head() - len(data)
        builder.Bytes[builder.Head() : builder.Head() + len(data)] = data
        vector = builder.EndVector()
        schema.BufferStart(builder)
        schema.BufferAddData(builder, vector)
        return int(schema.BufferEnd(builder))

    return packed


def with_archive(flat: bytes, files: Mapping[str, bytes]) -> bytes:
    """Append a ZIP of `files`, its offsets counted from the begin of the whole file; nothing for no files."""
    if not files:
        return flat
    whole = io.BytesIO(flat)
    with zipfile.ZipFile(whole, "a") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return whole.getvalue()


class _Writer:
    """A ModelT under construction: operator codes and buffers are shared by its subgraphs."""

    def __init__(
        self,
        subgraphs: Sequence[str],
        quantization: Mapping[str, Quantized | None],
        share: Mapping[str, str],
        has_rank: bool,
    ) -> None:
        self.subgraphs, self.quantization, self.share, self.has_rank = subgraphs, quantization, share, has_rank
        self.codes: dict[tuple[str, str, int], int] = {}
        self.indices: dict[str, dict[str, int]] = {}
        """Subgraph -> tensor's name -> its index."""
        self.model = schema.ModelT()
        self.model.version, self.model.description = 3, "graphfix"
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []

    def subgraph(self, block: Block) -> Any:  # noqa: ANN401 -- the object API has no types
        made = schema.SubGraphT()
        made.name = block.name
        index = self.indices[block.name] = {name: at for at, name in enumerate(block.values)}
        made.tensors = []
        for value in block.values.values():
            made.tensors.append(self._tensor(value, made.tensors, index))
        made.inputs = [index[name] for name in block.inputs]
        made.outputs = [index[name] for name in block.outputs]
        made.operators = [self._operator(line, block.values, index) for line in block.lines]
        return made

    def _tensor(self, value: Value, before: Sequence[Any], index: Mapping[str, int]) -> Any:  # noqa: ANN401 -- the object API has no types
        made = schema.TensorT()
        made.name = value.name
        made.type = getattr(schema.TensorType, value.dtype.upper())
        dims, elements = dims_of(value), elements_of(value)
        if dims is not None:
            made.shape = [1 if size < 0 else size for size in dims]
            made.hasRank = self.has_rank
            if -1 in dims:
                made.shapeSignature = list(dims)
        made.isVariable = value.kind == "variable"
        if value.name in self.share:
            made.buffer = before[index[self.share[value.name]]].buffer
        elif elements is not None:
            made.buffer = self._buffer(payload(value.dtype, elements))
        if (scales := self._scales(value)) is not None:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale, made.quantization.zeroPoint = list(scales.scales), list(scales.zero_points)
            made.quantization.quantizedDimension = scales.dimension
        return made

    def _scales(self, value: Value) -> Quantized | None:
        default = Quantized(0.5, _ZERO_POINTS[value.dtype]) if value.dtype in _ZERO_POINTS else None
        return self.quantization.get(value.name, default)

    def _buffer(self, data: bytes) -> int:
        made = schema.BufferT()
        made.data = data
        self.model.buffers.append(made)
        return len(self.model.buffers) - 1

    def metadata(self, name: str, data: bytes) -> Any:  # noqa: ANN401 -- the object API has no types
        made = schema.MetadataT()
        made.name, made.buffer = name, self._buffer(data)
        return made

    def _operator(self, line: Line, values: Mapping[str, Value], index: Mapping[str, int]) -> Any:  # noqa: ANN401 -- the object API has no types
        made = schema.OperatorT()
        op, _, custom = line.op.partition(".")
        attributes = dict(line.attributes)
        call = self._call(line, values)
        version = int(attributes.pop("version", operator_version(op, call)))
        made.opcodeIndex = self._code(op, custom, version)
        made.inputs = [-1 if name is None else index[name] for name in line.operands]
        made.outputs = [-1 if name is None else index[name] for name in line.results]
        if custom:
            made.customOptions = ast.literal_eval(attributes.pop("custom_options", "None"))
        if op in {"ADD", "SUB"} and call.is_of("int16"):
            attributes = {"pot_scale_int16": "False"} | attributes  # scales need not be powers of two
        set_options(made, op, attributes, self.subgraphs)
        return made

    def _code(self, op: str, custom: str, version: int) -> int:
        key = (op, custom, version)
        if op not in vars(schema.BuiltinOperator):
            raise ValueError(f"the schema has no operator {op}")
        if key not in self.codes:
            code = schema.OperatorCodeT()
            code.builtinCode = getattr(schema.BuiltinOperator, op)
            code.deprecatedBuiltinCode = min(code.builtinCode, _FIRST_CODE_ABOVE_A_BYTE)
            code.customCode, code.version = custom or None, version
            self.codes[key] = len(self.model.operatorCodes)
            self.model.operatorCodes.append(code)
        return self.codes[key]

    def _call(self, line: Line, values: Mapping[str, Value]) -> Call:
        given = [values[name] for name in line.operands if name is not None]
        made = [values[name] for name in line.results if name is not None]
        scales = [self._scales(value) for value in [*given[:2], *made[:1]]]
        known = [scale.scales[0] for scale in scales if scale is not None]
        return Call(
            tuple(value.dtype for value in given),
            tuple(dims_of(value) or () for value in given),
            quantized=bool(given) and self._scales(given[0]) is not None,
            per_channel=scales[:1] != [] and scales[0] is not None and len(scales[0].scales) > 1,
            ratio=known[0] * known[1] / known[2] if len(known) == 3 else 0,
            attributes=line.attributes,
        )


def _signature(
    key: str,
    signature: Signature,
    blocks: Iterable[Block],
    indices: Mapping[str, Mapping[str, int]],
) -> Any:  # noqa: ANN401 -- the object API has no types
    block = next(block for block in blocks if block.name == signature.subgraph)
    index = indices[signature.subgraph]
    made = schema.SignatureDefT()
    made.signatureKey, made.subgraphIndex = key, list(indices).index(signature.subgraph)
    made.inputs = list(_maps(signature.inputs or {name: name for name in block.inputs}, index))
    made.outputs = list(_maps(signature.outputs or {name: name for name in block.outputs}, index))
    return made


def _maps(names: Mapping[str, str], index: Mapping[str, int]) -> Iterator[Any]:
    for called, tensor in names.items():
        made = schema.TensorMapT()
        made.name, made.tensorIndex = called, index[tensor]
        yield made
