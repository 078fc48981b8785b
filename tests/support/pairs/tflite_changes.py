"""Small changes of a TFLite model, each a named kind, by LiteRT's object API.

A change is a generator: the model stands changed at each yield, and is put back behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_fields import put, twin
from tests.support.pairs.tflite_file import BITS, CODES, KINDS, NAMES, Model, listed

Change = Callable[[Model], Iterator[None]]
LAST_CODE = max(NAMES)
UNKNOWN = (LAST_CODE + 1, 250, 300, 1000, -1)
"""Builtin codes that no runtime has."""
TYPES = [number for name, number in vars(KINDS).items() if not name.startswith("_")]


def _operators(model: Model) -> list[tuple[Model, Model]]:
    return [(graph, operator) for graph in model.subgraphs for operator in graph.operators or ()]


def _tensors(model: Model) -> list[tuple[Model, Model]]:
    return [(graph, tensor) for graph in model.subgraphs for tensor in graph.tensors or ()]


def array(values: Any) -> np.ndarray:  # noqa: ANN401 -- numbers
    """A vector of tensors' indices."""
    return np.asarray(values, np.int32)


# --- operands and results ---------------------------------------------------------------------------------------------


def operand_dropped(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        held = listed(operator.inputs)
        for at in range(len(held)):
            yield from put(operator, inputs=array(held[:at] + held[at + 1 :]))


def operand_added(model: Model) -> Iterator[None]:
    for graph, operator in _operators(model):
        held = listed(operator.inputs)
        for more in dict.fromkeys([-1, *held, 0, len(graph.tensors) - 1]):
            yield from put(operator, inputs=array([*held, more]))
            yield from put(operator, inputs=array([more, *held]))


def operand_absent(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        held = listed(operator.inputs)
        for at in range(len(held)):
            yield from put(operator, inputs=array([*held[:at], -1, *held[at + 1 :]]))


def operands_swapped(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        held = listed(operator.inputs)
        for one in range(len(held)):
            for two in range(one + 1, len(held)):
                other = list(held)
                other[one], other[two] = held[two], held[one]
                yield from put(operator, inputs=array(other))


def operand_doubled(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        held = listed(operator.inputs)
        for at in range(1, len(held)):
            yield from put(operator, inputs=array([*held[:at], held[0], *held[at + 1 :]]))


def operand_replaced(model: Model) -> Iterator[None]:
    for graph, operator in _operators(model):
        held = listed(operator.inputs)
        for at, now in enumerate(held):
            for other in range(-2, len(graph.tensors) + 1):
                if other != now:
                    yield from put(operator, inputs=array([*held[:at], other, *held[at + 1 :]]))


def operand_by_a_twin(model: Model) -> Iterator[None]:
    """Another tensor of the same type, shape and buffer."""
    for graph, operator in _operators(model):
        held = listed(operator.inputs)
        for at, now in enumerate(held):
            if now >= 0:
                graph.tensors.append(twin(graph.tensors[now]))
                yield from put(operator, inputs=array([*held[:at], len(graph.tensors) - 1, *held[at + 1 :]]))
                graph.tensors.pop()


def result_dropped(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        held = listed(operator.outputs)
        for at in range(len(held)):
            yield from put(operator, outputs=array(held[:at] + held[at + 1 :]))


def result_added(model: Model) -> Iterator[None]:
    for graph, operator in _operators(model):
        held = listed(operator.outputs)
        graph.tensors.append(twin(graph.tensors[held[0] if held else 0]))
        graph.tensors[-1].buffer = 0
        for more in dict.fromkeys([len(graph.tensors) - 1, -1, *held]):
            yield from put(operator, outputs=array([*held, more]))
            yield from put(operator, outputs=array([more, *held]))
        graph.tensors.pop()


def result_absent(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        held = listed(operator.outputs)
        for at in range(len(held)):
            yield from put(operator, outputs=array([*held[:at], -1, *held[at + 1 :]]))


def results_swapped(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        held = listed(operator.outputs)
        if len(held) > 1:
            yield from put(operator, outputs=array(held[::-1]))


def result_replaced(model: Model) -> Iterator[None]:
    for graph, operator in _operators(model):
        held = listed(operator.outputs)
        for at, now in enumerate(held):
            for other in range(len(graph.tensors)):
                if other != now:
                    yield from put(operator, outputs=array([*held[:at], other, *held[at + 1 :]]))


# --- operators --------------------------------------------------------------------------------------------------------


def options_dropped(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        if operator.builtinOptions is not None:
            yield from put(operator, builtinOptions=None, builtinOptionsType=0)
        if operator.builtinOptions2 is not None:
            yield from put(operator, builtinOptions2=None, builtinOptions2Type=0)


def options_of_another_type(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        for name in ("AddOptions", "ReshapeOptions", "NegOptions", "ConcatenationOptions", "CastOptions"):
            number = getattr(schema.BuiltinOptions, name)
            if number != operator.builtinOptionsType:
                made = getattr(schema, f"{name}T")()
                yield from put(operator, builtinOptions=made, builtinOptionsType=number)
        yield from put(operator, builtinOptionsType=operator.builtinOptionsType ^ 1)
        yield from put(operator, builtinOptionsType=200)


def options_of_the_second_union(model: Model) -> Iterator[None]:
    for _, operator in _operators(model):
        for name in ("DilateOptions", "StablehloConcatenateOptions", "StablehloShiftLeftOptions"):
            number = getattr(schema.BuiltinOptions2, name)
            made = getattr(schema, f"{name}T")()
            yield from put(operator, builtinOptions2=made, builtinOptions2Type=number)


def code_of_another_operator(model: Model) -> Iterator[None]:
    for code in model.operatorCodes:
        for number in (*range(LAST_CODE + 1), *UNKNOWN):
            if number != max(code.builtinCode, code.deprecatedBuiltinCode):
                low = number if 0 <= number < CODES.PLACEHOLDER_FOR_GREATER_OP_CODES else 127
                yield from put(code, builtinCode=number, deprecatedBuiltinCode=low)


def code_written_otherwise(model: Model) -> Iterator[None]:
    """One of the two fields alone, which readers take the greater one of."""
    for code in model.operatorCodes:
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        for low in (0, number, 127, -1):
            if low < 128:
                yield from put(code, deprecatedBuiltinCode=low)
        yield from put(code, builtinCode=0)
        yield from put(code, customCode=b"Custom")


def version_of_an_operator(model: Model) -> Iterator[None]:
    for code in model.operatorCodes:
        for version in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 77, -1):
            if version != code.version:
                yield from put(code, version=version)


def _new_code(number: int, version: int = 1, custom: bytes | None = None) -> Model:
    made = schema.OperatorCodeT()
    made.builtinCode, made.deprecatedBuiltinCode = number, min(max(number, -128), 127)
    made.version, made.customCode = version, custom
    return made


def unused_code_added(model: Model) -> Iterator[None]:
    held = model.operatorCodes
    for number, version, custom in (
        (CODES.NEG, 1, None), (CODES.NEG, 99, None), (CODES.CUSTOM, 1, b"Unknown"), (CODES.CUSTOM, 1, None),
        (CODES.DELEGATE, 1, None), (CODES.CALL, 1, None), (CODES.STABLEHLO_SORT, 1, None), (CODES.CUSTOM, 1, b"FlexAdd"),
        *((number, 1, None) for number in UNKNOWN),
    ):  # fmt: skip
        made = _new_code(number, version, custom)
        yield from put(model, operatorCodes=[*held, made])
        yield from put(model, operatorCodes=held)
    yield from put(model, operatorCodes=[*held, twin(held[0])])


def unused_code_dropped(model: Model) -> Iterator[None]:
    used = {operator.opcodeIndex for _, operator in _operators(model)}
    if len(model.operatorCodes) - 1 not in used:
        yield from put(model, operatorCodes=model.operatorCodes[:-1])


def operators_in_another_order(model: Model) -> Iterator[None]:
    for graph in model.subgraphs:
        held = graph.operators or []
        for at in range(len(held) - 1):
            yield from put(graph, operators=[*held[:at], held[at + 1], held[at], *held[at + 2 :]])


def operator_dropped(model: Model) -> Iterator[None]:
    for graph in model.subgraphs:
        held = graph.operators or []
        for at in range(len(held)):
            yield from put(graph, operators=held[:at] + held[at + 1 :])


def operator_doubled(model: Model) -> Iterator[None]:
    """A copy that nobody reads, with results of its own, and one that makes the same results again."""
    for graph in model.subgraphs:
        for at, operator in enumerate(graph.operators or []):
            held, count = graph.operators, len(graph.tensors)
            yield from put(graph, operators=[*held[: at + 1], twin(operator), *held[at + 1 :]])
            copied = twin(operator)
            outputs = listed(operator.outputs)
            graph.tensors += [twin(graph.tensors[each]) for each in outputs]
            copied.outputs = array(range(count, count + len(outputs)))
            yield from put(graph, operators=[*held, copied])
            yield from put(graph, operators=[copied, *held])
            del graph.tensors[count:]


def unused_operator_added(model: Model) -> Iterator[None]:
    """One that reads the first input, of many codes: some fail, some have an effect, some no runtime has."""
    graph = model.subgraphs[0]
    if not graph.tensors:
        return
    source = next(iter(listed(graph.inputs)), 0)
    numbers = (
        CODES.NEG, CODES.ABS, CODES.SHAPE, CODES.RANK, CODES.RESHAPE, CODES.SQUEEZE, CODES.CUSTOM, CODES.CAST,
        CODES.LOGICAL_NOT, CODES.ZEROS_LIKE, CODES.WHERE, CODES.STABLEHLO_SORT, CODES.ADD, CODES.TILE,
        CODES.EXPAND_DIMS, CODES.BROADCAST_TO, 250,
    )  # fmt: skip
    for number in numbers:
        graph.tensors.append(twin(graph.tensors[source]))
        graph.tensors[-1].name, graph.tensors[-1].buffer = b"extra", 0
        model.operatorCodes.append(_new_code(number))
        made = schema.OperatorT()
        made.opcodeIndex = len(model.operatorCodes) - 1
        made.inputs, made.outputs = array([source]), array([len(graph.tensors) - 1])
        yield from put(graph, operators=[*(graph.operators or []), made])
        made.inputs = array([source, source])
        yield from put(graph, operators=[made, *(graph.operators or [])])
        graph.tensors.pop()
        model.operatorCodes.pop()


# --- tensors ----------------------------------------------------------------------------------------------------------


def type_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in _tensors(model):
        for number in (*TYPES, 40):
            if number != tensor.type:
                yield from put(tensor, type=number)


def shape_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in _tensors(model):
        dims = listed(tensor.shape)
        others = [[], [1, *dims], [*dims, 1], dims[::-1], dims[1:], [int(np.prod(dims))], [*dims, 0], [1] * 9]
        for at in range(len(dims)):
            others += [[*dims[:at], size, *dims[at + 1 :]] for size in (dims[at] + 1, 1, 0, -1, 2**31 - 1)]
        for other in others:
            if other != dims:
                yield from put(tensor, shape=array(other))
        yield from put(tensor, shape=None)
        yield from put(tensor, shape=None, hasRank=False)


def signature_of_a_shape(model: Model) -> Iterator[None]:
    for _, tensor in _tensors(model):
        dims = listed(tensor.shape)
        for other in (None, dims, [-1] * len(dims), [-1, *dims[1:]], [*dims, 1], [*dims, -1], [], [size + 1 for size in dims]):
            yield from put(tensor, shapeSignature=None if other is None else array(other))


def buffer_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in _tensors(model):
        for other in (*range(len(model.buffers)), len(model.buffers), 1000):
            if other != tensor.buffer:
                yield from put(tensor, buffer=other)


def buffer_of_a_tensor_new(model: Model) -> Iterator[None]:
    """A buffer for a tensor that had none: of the right length, and of others."""
    for _, tensor in _tensors(model):
        bits = BITS.get(tensor.type, 8)
        size = -(-int(np.prod([abs(each) for each in listed(tensor.shape)] or [1])) * bits // 8)
        for length in {0, 1, size, size + 1} if size < 10_000 else ():
            made = schema.BufferT()
            made.data = np.ones(length, np.uint8)
            model.buffers.append(made)
            yield from put(tensor, buffer=len(model.buffers) - 1)
            model.buffers.pop()


def scales_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in _tensors(model):
        if tensor.quantization is not None:
            yield from put(tensor, quantization=None)
        rank = len(listed(tensor.shape))
        for scale, zero, axis in (
            ([0.5], [0], 0), ([1.0], [0], 0), ([0.25], [3], 0), ([], [], 0), ([0.5], [], 0), ([], [0], 0),
            ([0.5, 0.25], [0, 0], 0), ([0.5, 0.25], [0, 0], 1), ([0.5, 0.25, 1.0], [0, 0, 0], rank - 1),
            ([0.5, 0.25], [0], 7), ([0.0], [0], 0), ([-1.0], [0], 0), ([float("nan")], [0], 0), ([0.5], [2**40], 0),
        ):  # fmt: skip
            made = schema.QuantizationParametersT()
            made.scale, made.zeroPoint = np.asarray(scale, np.float32), np.asarray(zero, np.int64)
            made.quantizedDimension = axis
            yield from put(tensor, quantization=made)


def sparsity_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in _tensors(model):
        if tensor.sparsity is not None:
            yield from put(tensor, sparsity=None)
            continue
        yield from put(tensor, sparsity=schema.SparsityParametersT())
        dense = schema.SparsityParametersT()
        dense.traversalOrder = array(range(len(listed(tensor.shape))))
        dense.dimMetadata = []
        for size in listed(tensor.shape):
            axis = schema.DimensionMetadataT()
            axis.format, axis.denseSize = schema.DimensionType.DENSE, size
            dense.dimMetadata.append(axis)
        yield from put(tensor, sparsity=dense)


def variant_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in _tensors(model):
        made = schema.VariantSubTypeT()
        made.shape = array([1])
        yield from put(tensor, variantTensors=[made])


def unused_tensor_added(model: Model) -> Iterator[None]:
    for graph in model.subgraphs:
        for shape, number, buffer in (
            ([2], KINDS.FLOAT32, 0), ([-1], KINDS.FLOAT32, 0), ([2**31 - 1] * 3, KINDS.FLOAT32, 0), ([2], 40, 0),
            ([2], KINDS.FLOAT32, 999), ([2], KINDS.STRING, 0), ([], KINDS.RESOURCE, 0), ([2], KINDS.VARIANT, 0),
            ([3], KINDS.INT4, len(model.buffers) - 1), ([99], KINDS.INT4, len(model.buffers) - 1),
            ([99], KINDS.FLOAT32, len(model.buffers) - 1), ([1] * 20, KINDS.FLOAT32, 0), ([0], KINDS.FLOAT32, 0),
        ):  # fmt: skip
            made = schema.TensorT()
            made.name, made.shape, made.type, made.buffer, made.hasRank = b"unused", array(shape), number, buffer, True
            yield from put(graph, tensors=[*(graph.tensors or []), made])
            made.isVariable = True
            yield from put(graph, tensors=[*(graph.tensors or []), made])


def tensors_renamed(model: Model) -> Iterator[None]:
    for graph, tensor in _tensors(model):
        names = {other.name for other in graph.tensors}
        for other in (b"renamed", b"", None, *sorted(name for name in names - {tensor.name} if name)):
            yield from put(tensor, name=other)


# --- buffers ----------------------------------------------------------------------------------------------------------


def bits_of_a_buffer(model: Model) -> Iterator[None]:
    for buffer in model.buffers:
        held = np.asarray(listed(buffer.data), np.uint8)
        for at in {0, held.size // 2, held.size - 1} if held.size else ():
            for bit in (1, 128):
                other = held.copy()
                other[at] ^= bit
                yield from put(buffer, data=other)


def length_of_a_buffer(model: Model) -> Iterator[None]:
    for buffer in model.buffers:
        held = np.asarray(listed(buffer.data), np.uint8)
        for other in (None, held[:0], held[:-1], held[: held.size // 2], np.append(held, held[:1]), np.append(held, held)):
            yield from put(buffer, data=other)


def place_of_a_buffer(model: Model) -> Iterator[None]:
    """An offset and a size, beside the data or in their place."""
    for buffer in model.buffers:
        for offset, size in ((1, 0), (0, 4), (1, 1), (16, 4), (100, 8), (2**40, 4), (4, 2**40)):
            yield from put(buffer, offset=offset, size=size)
            yield from put(buffer, offset=offset, size=size, data=None)


def buffer_added(model: Model) -> Iterator[None]:
    made = schema.BufferT()
    held = model.buffers
    yield from put(model, buffers=[*held, made])
    made.data = np.ones(7, np.uint8)
    yield from put(model, buffers=[*held, made])
    yield from put(model, buffers=[made, *held])
    made.offset = 99
    yield from put(model, buffers=[*held, made])
    yield from put(model, buffers=held[:-1])
    yield from put(model, buffers=held[::-1])
    yield from put(model, buffers=[])
    yield from put(model, buffers=None)


# --- subgraphs, signatures, metadata, the file ------------------------------------------------------------------------


def face_of_a_subgraph(model: Model) -> Iterator[None]:
    """Inputs and outputs in another order, fewer, more, twice."""
    for graph in model.subgraphs:
        for side in ("inputs", "outputs"):
            held = listed(getattr(graph, side))
            others = [held[:-1], held[1:], held[::-1], [], [-1, *held], [*held, len(graph.tensors)]]
            others += [[*held, at] for at in range(len(graph.tensors or []))]
            others += [[at, *held[1:]] for at in range(len(graph.tensors or []))]
            for other in others:
                if other != held:
                    yield from put(graph, **{side: array(other)})


def subgraph_added(model: Model) -> Iterator[None]:
    held = model.subgraphs
    empty = schema.SubGraphT()
    for each in (empty, twin(held[0]), twin(held[-1])):
        each.name = b"extra"
        yield from put(model, subgraphs=[*held, each])
    yield from put(model, subgraphs=[twin(held[0]), *held])
    broken = twin(held[0])
    for operator in broken.operators or ():
        operator.opcodeIndex = 99
    yield from put(model, subgraphs=[*held, broken])
    fails = twin(held[0])
    for operator in fails.operators or ():
        operator.inputs = array([])
    yield from put(model, subgraphs=[*held, fails])


def subgraph_dropped(model: Model) -> Iterator[None]:
    if len(model.subgraphs) > 1:
        yield from put(model, subgraphs=model.subgraphs[:-1])
        yield from put(model, subgraphs=model.subgraphs[::-1])


def signature_added(model: Model) -> Iterator[None]:
    held = model.signatureDefs or []
    made = schema.SignatureDefT()
    made.signatureKey, made.inputs, made.outputs = b"added", [], []
    yield from put(model, signatureDefs=[*held, made])
    for index in (99, 2**31):
        made.subgraphIndex = index
        yield from put(model, signatureDefs=[*held, made])
    name = schema.TensorMapT()
    name.name, name.tensorIndex = b"x", 999
    made.subgraphIndex, made.inputs = 0, [name]
    yield from put(model, signatureDefs=[*held, made])


def signature_dropped(model: Model) -> Iterator[None]:
    held = model.signatureDefs or []
    if held:
        yield from put(model, signatureDefs=held[1:] or None)
        yield from put(model, signatureDefs=[*held, twin(held[0])])
        yield from put(model, signatureDefs=held[::-1])
        yield from put(held[0], inputs=(held[0].inputs or [])[1:])
        yield from put(held[0], outputs=(held[0].outputs or [])[1:])
        yield from put(held[0], inputs=(held[0].inputs or [])[::-1])


def metadata_changed(model: Model) -> Iterator[None]:
    held = model.metadata or []
    if held:
        yield from put(model, metadata=None)
    for name, buffer in ((b"note", 0), (b"note", 999), (b"min_runtime_version", 0), (None, 0), (b"reduced_precision_support", 0)):
        made = schema.MetadataT()
        made.name, made.buffer = name, buffer
        yield from put(model, metadata=[*held, made])


def external_buffers(model: Model) -> Iterator[None]:
    group, made = schema.ExternalBufferGroupT(), schema.ExternalBufferT()
    group.name, made.id, made.group, made.length = b"weights.bin", 1, 0, 4
    yield from put(model, externalBufferGroups=[group], externalBuffers=[made])
    for _, tensor in _tensors(model):
        kept = tensor.externalBuffer
        tensor.externalBuffer = 1
        yield from put(model, externalBufferGroups=[group], externalBuffers=[made])
        tensor.externalBuffer = kept


def schema_version(model: Model) -> Iterator[None]:
    for version in (0, 1, 2, 4, 255):
        yield from put(model, version=version)


CHANGES: Mapping[str, Change] = {
    change.__name__: change
    for change in (
        operand_dropped, operand_added, operand_absent, operands_swapped, operand_doubled, operand_replaced,
        operand_by_a_twin, result_dropped, result_added, result_absent, results_swapped, result_replaced,
        options_dropped, options_of_another_type, options_of_the_second_union, code_of_another_operator,
        code_written_otherwise, version_of_an_operator, unused_code_added, unused_code_dropped,
        operators_in_another_order, operator_dropped, operator_doubled, unused_operator_added, type_of_a_tensor,
        shape_of_a_tensor, signature_of_a_shape, buffer_of_a_tensor, buffer_of_a_tensor_new, scales_of_a_tensor,
        sparsity_of_a_tensor, variant_of_a_tensor, unused_tensor_added, tensors_renamed, bits_of_a_buffer,
        length_of_a_buffer, place_of_a_buffer, buffer_added, face_of_a_subgraph, subgraph_added, subgraph_dropped,
        signature_added, signature_dropped, metadata_changed, external_buffers, schema_version,
    )
}  # fmt: skip
