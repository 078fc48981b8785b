"""Faults that a rewriter could make, planted into TFLite models one at a time: kind -> every model with it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

Fault = Callable[[Any], Iterator[None]]
"""Changes the model (of LiteRT's object API) at one place, yields, and changes it back; then the next place."""

CODES = schema.BuiltinOperator
ORDERED = {CODES.SUB, CODES.DIV, CODES.POW, CODES.LESS, CODES.GREATER, CODES.BATCH_MATMUL, CODES.FLOOR_DIV}
SIBLINGS = {CODES.ADD: CODES.SUB, CODES.SUB: CODES.MUL, CODES.MUL: CODES.ADD, CODES.MAXIMUM: CODES.MINIMUM,
            CODES.MINIMUM: CODES.MAXIMUM, CODES.SELECT: CODES.SELECT_V2, CODES.LOGICAL_AND: CODES.LOGICAL_OR,
            CODES.EQUAL: CODES.NOT_EQUAL, CODES.SUM: CODES.MEAN}  # fmt: skip


def unpacked(data: bytes) -> Any:  # noqa: ANN401 - the object API has no types
    return schema.ModelT.InitFromPackedBuf(data, 0)


def packed(model: Any) -> bytes:  # noqa: ANN401 - the object API has no types
    builder = flatbuffers.Builder(1 << 16)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def _set(holder: Any, name: str, value: object) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    kept = getattr(holder, name)
    setattr(holder, name, value)
    yield
    setattr(holder, name, kept)


def _code(model: Any, operator: Any) -> int:  # noqa: ANN401 - the object API has no types
    code = model.operatorCodes[operator.opcodeIndex]
    return int(max(code.builtinCode, code.deprecatedBuiltinCode))


def _operators(model: Any) -> Iterator[tuple[Any, Any, int]]:  # noqa: ANN401 - the object API has no types
    for graph in model.subgraphs:
        for operator in graph.operators:
            yield graph, operator, _code(model, operator)


def _read(model: Any) -> list[Any]:  # noqa: ANN401 - the object API has no types
    """Give the tensors that an operator reads or a subgraph gives: what fix leaves behind, nobody reads."""
    found = []
    for graph in model.subgraphs:
        read = {*(at for operator in graph.operators for at in operator.inputs), *graph.outputs} - {-1}
        found += [graph.tensors[at] for at in sorted(read)]
    return found


def _changed_constant(
    model: Any,  # noqa: ANN401 - the object API has no types
    codes: set[int],
    place: int,
    change: Callable[[list[int]], list[int] | None],
) -> Iterator[None]:
    for graph, operator, code in _operators(model):
        if code not in codes or len(operator.inputs) <= place:
            continue
        tensor = graph.tensors[operator.inputs[place]]
        buffer = model.buffers[tensor.buffer]
        if buffer.data is None or tensor.type != schema.TensorType.INT32:
            continue
        changed = change(np.frombuffer(bytes(bytearray(buffer.data)), np.int32).tolist())
        if changed is not None:
            yield from _set(buffer, "data", np.asarray(changed, np.int32).view(np.uint8))


def left_and_right_swapped(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for _, operator, code in _operators(model):
        if code in ORDERED and operator.inputs[0] != operator.inputs[1]:
            yield from _set(operator, "inputs", operator.inputs[[1, 0, *range(2, len(operator.inputs))]])


def tiled_to_another_size(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    yield from _changed_constant(model, {CODES.TILE}, 1, lambda counts: [*counts[:-1], counts[-1] + 1])
    yield from _changed_constant(model, {CODES.TILE}, 1, lambda counts: [counts[0] + 1, *counts[1:]])


def broadcast_to_another_size(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    yield from _changed_constant(model, {CODES.BROADCAST_TO}, 1, lambda sizes: [sizes[0] + 1, *sizes[1:]])


def lifted_on_the_wrong_side(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    yield from _changed_constant(model, {CODES.RESHAPE}, 1, lambda dims: dims[::-1] if dims != dims[::-1] else None)


def zero_in_a_reshape(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    yield from _changed_constant(model, {CODES.RESHAPE}, 1, lambda dims: [*dims[:-1], 0] if dims else None)


def another_axis_of_a_shape(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    yield from _changed_constant(model, {CODES.GATHER}, 1, lambda picks: [picks[0] + 1, *picks[1:]])


def constant_lifted_on_the_wrong_side(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for tensor in _read(model):
        held = model.buffers[tensor.buffer].data is not None and tensor.shape is not None
        if held and list(tensor.shape) != list(tensor.shape)[::-1]:
            yield from _set(tensor, "shape", tensor.shape[::-1].copy())


def bit_of_a_weight_flipped(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    used = {tensor.buffer for tensor in _read(model)}
    for index in sorted(used):
        buffer = model.buffers[index]
        if index and buffer.data is not None and len(buffer.data):
            changed = np.array(buffer.data, np.uint8)
            changed[-1] ^= 1
            yield from _set(buffer, "data", changed)


def another_operator(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for code in model.operatorCodes:
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        if number in SIBLINGS:
            kept = code.builtinCode, code.deprecatedBuiltinCode
            code.builtinCode = SIBLINGS[number]
            code.deprecatedBuiltinCode = min(SIBLINGS[number], 127)
            yield
            code.builtinCode, code.deprecatedBuiltinCode = kept


def activation_changed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for _, operator, _ in _operators(model):
        options = operator.builtinOptions
        if hasattr(options, "fusedActivationFunction"):
            yield from _set(options, "fusedActivationFunction", 3 - options.fusedActivationFunction)


def transposed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for _, operator, code in _operators(model):
        if code == CODES.BATCH_MATMUL:
            yield from _set(operator.builtinOptions, "adjX", not operator.builtinOptions.adjX)


def scale_changed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for tensor in _read(model):
        if tensor.quantization is not None and tensor.quantization.scale is not None:
            yield from _set(tensor.quantization, "scale", tensor.quantization.scale * np.float32(2))


def zero_point_changed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for tensor in _read(model):
        if tensor.quantization is not None and tensor.quantization.zeroPoint is not None:
            yield from _set(tensor.quantization, "zeroPoint", tensor.quantization.zeroPoint + 1)


def quantized_axis_not_shifted(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for graph in model.subgraphs:
        for tensor in graph.tensors:
            given = tensor.quantization
            if given is not None and given.scale is not None and len(given.scale) > 1:
                yield from _set(given, "quantizedDimension", given.quantizedDimension - 1)
                yield from _set(given, "quantizedDimension", given.quantizedDimension + 1)


STRETCHING = {CODES.TILE, CODES.BROADCAST_TO, CODES.RESHAPE, CODES.EXPAND_DIMS, CODES.SHAPE, CODES.BROADCAST_ARGS}


def _source(model: Any, graph: Any, at: int) -> int:  # noqa: ANN401 - the object API has no types
    """Where a tensor comes from, through lifts and stretches, which a reader that broadcasts does not tell."""
    made = {operator.outputs[0]: operator for operator in graph.operators if len(operator.outputs)}
    while at in made and _code(model, made[at]) in STRETCHING:
        at = made[at].inputs[0]
    return at


def operand_rewired(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    """Not of an operator that lifts or stretches, and not to the same value stretched."""
    for graph, operator, code in _operators(model):
        for index, at in enumerate(operator.inputs):
            for other in sorted({*operator.inputs.tolist(), *np.atleast_1d(graph.inputs).tolist()[:1]} - {at, -1}):
                if code in STRETCHING or _source(model, graph, other) == _source(model, graph, at):
                    continue
                changed = operator.inputs.copy()
                changed[index] = other
                yield from _set(operator, "inputs", changed)


def output_rewired(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for graph in model.subgraphs:
        for operator in graph.operators[:-1]:
            if not len(operator.outputs) or operator.outputs[0] == graph.outputs[0]:
                continue
            yield from _set(graph, "outputs", np.array([operator.outputs[0], *graph.outputs[1:]], np.int32))


def output_renamed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for at in (*model.subgraphs[0].outputs, *model.subgraphs[0].inputs):
        yield from _set(model.subgraphs[0].tensors[at], "name", b"another")


def input_type_changed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for at in (*model.subgraphs[0].inputs, *model.subgraphs[0].outputs):
        yield from _set(model.subgraphs[0].tensors[at], "type", schema.TensorType.UINT32)


def input_shape_changed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for at in model.subgraphs[0].inputs:
        tensor = model.subgraphs[0].tensors[at]
        if tensor.shape is not None and len(tensor.shape):
            yield from _set(tensor, "shapeSignature", tensor.shape + 1)


def bodies_swapped(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for _, operator, code in _operators(model):
        if code == CODES.IF:
            options = operator.builtinOptions
            kept = options.thenSubgraphIndex, options.elseSubgraphIndex
            options.thenSubgraphIndex, options.elseSubgraphIndex = kept[::-1]
            yield
            options.thenSubgraphIndex, options.elseSubgraphIndex = kept


def signature_changed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for signature in model.signatureDefs or ():
        yield from _set(signature, "signatureKey", b"another")
        for name in (*(signature.inputs or ()), *(signature.outputs or ())):
            yield from _set(name, "name", b"another")


def lifted_at_another_axis(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    yield from _changed_constant(model, {CODES.EXPAND_DIMS}, 1, lambda axes: [axes[0] + 1])
    yield from _changed_constant(model, {CODES.EXPAND_DIMS}, 1, lambda axes: [-1] if axes[0] >= 0 else [0])


def _operands(model: Any, code: int, place: int) -> Iterator[tuple[Any, Any]]:  # noqa: ANN401 - the object API has no types
    """Give the operators of a code and the operand at a place: (operator, tensor)."""
    for graph, operator, found in _operators(model):
        if found == code and len(operator.inputs) > place and operator.inputs[place] >= 0:
            yield operator, graph.tensors[operator.inputs[place]]


def condition_padded_in_front(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    """SELECT v1: a condition of rank 1, which follows axis 0, is aligned at the end: [2] -> [1,2], or as SELECT_V2."""
    for operator, tensor in _operands(model, CODES.SELECT, 0):
        if tensor.shape is not None and len(tensor.shape) == 1:
            if model.buffers[tensor.buffer].data is not None:
                yield from _set(tensor, "shape", np.int32([1, *tensor.shape]))
            code = copy.copy(model.operatorCodes[operator.opcodeIndex])
            code.builtinCode = code.deprecatedBuiltinCode = CODES.SELECT_V2
            model.operatorCodes.append(code)
            yield from _set(operator, "opcodeIndex", len(model.operatorCodes) - 1)
            model.operatorCodes.pop()


def condition_chooses_the_other(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for _, operator, code in _operators(model):
        if code in (CODES.SELECT, CODES.SELECT_V2) and operator.inputs[1] != operator.inputs[2]:
            yield from _set(operator, "inputs", operator.inputs[[0, 2, 1]])


def slope_of_another_axis(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for _, tensor in _operands(model, CODES.PRELU, 1):
        dims = [] if tensor.shape is None else tensor.shape.tolist()
        if model.buffers[tensor.buffer].data is not None and any(size != 1 for size in dims):
            yield from _set(tensor, "shape", np.int32([*dims, 1]))
            if dims != [*dims[1:], dims[0]]:
                yield from _set(tensor, "shape", np.int32([*dims[1:], dims[0]]))


def operand_of_a_body_rewired(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for graph in model.subgraphs[1:]:
        for operator in graph.operators:
            for index, at in enumerate(operator.inputs):
                others = {*np.atleast_1d(graph.inputs).tolist(), *operator.inputs.tolist()}
                for other in sorted(others - {at, -1, *operator.outputs.tolist()}):
                    changed = operator.inputs.copy()
                    changed[index] = other
                    yield from _set(operator, "inputs", changed)


def options_dropped(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    """Only of operators whose kernels read a field that is not 0."""
    for _, operator, code in _operators(model):
        fields = vars(operator.builtinOptions) if operator.builtinOptions is not None else {}
        if code not in (CODES.RESHAPE, CODES.CAST) and any(value for value in fields.values() if np.isscalar(value)):
            kept = operator.builtinOptions, operator.builtinOptionsType
            operator.builtinOptions, operator.builtinOptionsType = None, 0
            yield
            operator.builtinOptions, operator.builtinOptionsType = kept


def another_version(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    for code in model.operatorCodes:
        yield from _set(code, "version", 77)


def inner_type_changed(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    """The result of an operator that moves elements is said to hold others."""
    moving = {CODES.RESHAPE, CODES.EXPAND_DIMS, CODES.TILE, CODES.BROADCAST_TO, CODES.SQUEEZE}
    for graph, operator, code in _operators(model):
        if code in moving:
            yield from _set(graph.tensors[operator.outputs[0]], "type", schema.TensorType.UINT16)


def target_of_another_type(model: Any) -> Iterator[None]:  # noqa: ANN401 - the object API has no types
    """The target of a RESHAPE is of int64: the kernel reads the option in its place, or fails."""
    for _, tensor in _operands(model, CODES.RESHAPE, 1):
        buffer = model.buffers[tensor.buffer]
        if buffer.data is not None and tensor.type == schema.TensorType.INT32:
            wide = np.frombuffer(bytes(bytearray(buffer.data)), np.int32).astype(np.int64)
            kept, buffer.data = buffer.data, np.frombuffer(wide.tobytes(), np.uint8)
            yield from _set(tensor, "type", schema.TensorType.INT64)
            buffer.data = kept


FAULTS: Mapping[str, Fault] = {
    fault.__name__: fault
    for fault in (
        left_and_right_swapped, tiled_to_another_size, broadcast_to_another_size, lifted_on_the_wrong_side,
        zero_in_a_reshape, another_axis_of_a_shape, constant_lifted_on_the_wrong_side,
        bit_of_a_weight_flipped, another_operator, activation_changed, transposed, scale_changed, zero_point_changed,
        quantized_axis_not_shifted, operand_rewired, output_rewired, output_renamed, input_type_changed,
        input_shape_changed, bodies_swapped, signature_changed, lifted_at_another_axis, condition_padded_in_front,
        condition_chooses_the_other, slope_of_another_axis, operand_of_a_body_rewired, options_dropped,
        another_version, inner_type_changed, target_of_another_type,
    )
}  # fmt: skip
