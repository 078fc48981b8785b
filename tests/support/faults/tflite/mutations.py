"""Random changes of TFLite models, at the level of their objects: what a proof must not fall for."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

Model = Any
"""A model of LiteRT's object API, which has no types."""
Mutation = Callable[[Model, random.Random], bool]
"""Changes the model; False where it finds nothing to change."""

CODES, KINDS = schema.BuiltinOperator, schema.TensorType
SIBLINGS = (
    (CODES.ADD, CODES.SUB, CODES.MUL, CODES.DIV, CODES.MAXIMUM, CODES.MINIMUM, CODES.PRELU, CODES.SQUARED_DIFFERENCE),
    (CODES.RESHAPE, CODES.TILE, CODES.BROADCAST_TO, CODES.EXPAND_DIMS), (CODES.SELECT, CODES.SELECT_V2),
    (CODES.LESS, CODES.GREATER, CODES.EQUAL), (CODES.NEG, CODES.ABS, CODES.SQUEEZE), (CODES.SHAPE, CODES.RANK),
    (CODES.LOGICAL_AND, CODES.LOGICAL_OR),
)  # fmt: skip


def _operators(model: Model) -> list[tuple[Any, Any]]:
    return [(graph, operator) for graph in model.subgraphs for operator in graph.operators]


SIZES = {KINDS.INT32: 4, KINDS.INT64: 8}


def _constants(model: Model, *kinds: int) -> list[tuple[Any, Any]]:
    """Give (tensor, buffer), where the bytes are elements of the type."""
    return [
        (tensor, model.buffers[tensor.buffer])
        for graph in model.subgraphs
        for tensor in graph.tensors
        if model.buffers[tensor.buffer].data is not None
        and len(model.buffers[tensor.buffer].data)
        and (not kinds or tensor.type in kinds)
        and len(model.buffers[tensor.buffer].data) % SIZES.get(tensor.type, 1) == 0
    ]


def _tensors(model: Model) -> list[Any]:
    return [tensor for graph in model.subgraphs for tensor in graph.tensors]


def operand_rewired(model: Model, choose: random.Random) -> bool:
    held = [pair for pair in _operators(model) if len(pair[1].inputs)]
    graph, operator = choose.choice(held)
    changed = np.array(operator.inputs, np.int32)
    at = choose.randrange(len(changed))
    changed[at] = choose.choice([-1, *range(len(graph.tensors)), *range(len(graph.tensors))])
    differs = bool(changed[at] != operator.inputs[at])
    operator.inputs = changed
    return differs


def operands_swapped(model: Model, choose: random.Random) -> bool:
    held = [operator for _, operator in _operators(model) if len(operator.inputs) > 1]
    if not held:
        return False
    operator = choose.choice(held)
    one, two = choose.sample(range(len(operator.inputs)), 2)
    changed = np.array(operator.inputs, np.int32)
    changed[[one, two]] = changed[[two, one]]
    operator.inputs = changed
    return True


def operand_dropped(model: Model, choose: random.Random) -> bool:
    operator = choose.choice(_operators(model))[1]
    if not len(operator.inputs):
        return False
    operator.inputs = np.delete(operator.inputs, choose.randrange(len(operator.inputs)))
    return True


def results_exchanged(model: Model, choose: random.Random) -> bool:
    graph = choose.choice(model.subgraphs)
    if len(graph.operators) < 2:
        return False
    one, two = choose.sample(list(graph.operators), 2)
    one.outputs, two.outputs = two.outputs, one.outputs
    return True


def operators_reordered(model: Model, choose: random.Random) -> bool:
    graph = choose.choice(model.subgraphs)
    if len(graph.operators) < 2:
        return False
    choose.shuffle(graph.operators)
    return True


def operator_bypassed(model: Model, choose: random.Random) -> bool:
    """Its readers read its operand."""
    graph, operator = choose.choice(_operators(model))
    if len(operator.outputs) != 1 or not len(operator.inputs) or operator.inputs[0] < 0:
        return False
    for each in graph.operators:
        each.inputs = np.where(np.asarray(each.inputs) == operator.outputs[0], operator.inputs[0], each.inputs)
    return True


def constant_of_other_dims(model: Model, choose: random.Random) -> bool:
    held = _constants(model)
    if not held:
        return False
    tensor, _ = choose.choice(held)
    kept = [] if tensor.shape is None else list(map(int, tensor.shape))
    changed = choose.choice(
        [
            kept[::-1], [1, *kept], [*kept, 1], [size for size in kept if size != 1],
            choose.sample(kept, len(kept)), [int(np.prod(kept))],
        ]
    )  # fmt: skip
    tensor.shape = np.array(changed, np.int32)
    tensor.hasRank = True
    return changed != kept


def element_changed(model: Model, choose: random.Random) -> bool:
    held = _constants(model, KINDS.INT32, KINDS.INT64)
    if not held:
        return False
    tensor, buffer = choose.choice(held)
    elements = np.frombuffer(bytes(bytearray(buffer.data)), np.int32 if tensor.type == KINDS.INT32 else np.int64).copy()
    kept = elements.tobytes()
    elements[choose.randrange(elements.size)] = choose.choice([0, 1, 2, 3, 4, -1, elements[0]])
    buffer.data = np.frombuffer(elements.tobytes(), np.uint8)
    return bool(kept != elements.tobytes())


def bit_flipped(model: Model, choose: random.Random) -> bool:
    held = _constants(model, KINDS.FLOAT32, KINDS.INT8, KINDS.UINT8, KINDS.INT16)
    if not held:
        return False
    _, buffer = choose.choice(held)
    data = np.array(buffer.data, np.uint8)
    data[choose.randrange(data.size)] ^= 1 << choose.randrange(8)
    buffer.data = data
    return True


def vector_longer_or_shorter(model: Model, choose: random.Random) -> bool:
    held = [pair for pair in _constants(model, KINDS.INT32) if pair[0].shape is not None and len(pair[0].shape) == 1]
    if not held:
        return False
    tensor, buffer = choose.choice(held)
    elements = np.frombuffer(bytes(bytearray(buffer.data)), np.int32).tolist()
    at = choose.randrange(len(elements) + 1)
    if choose.random() < 0.5 and len(elements) > 1:
        elements = [*elements[:at], *elements[at + 1 :]]
    else:
        elements = [*elements[:at], choose.choice([0, 1, 2, 3, -1]), *elements[at:]]
    tensor.shape = np.array([len(elements)], np.int32)
    buffer.data = np.array(elements, np.int32).view(np.uint8)
    return True


def vector_of_another_type(model: Model, choose: random.Random) -> bool:
    held = _constants(model, KINDS.INT32, KINDS.INT64)
    if not held:
        return False
    tensor, buffer = choose.choice(held)
    old, new = (np.int32, np.int64) if tensor.type == KINDS.INT32 else (np.int64, np.int32)
    elements = np.frombuffer(bytes(bytearray(buffer.data)), old)
    buffer.data = np.frombuffer(elements.astype(new).tobytes(), np.uint8)
    tensor.type = KINDS.INT64 if tensor.type == KINDS.INT32 else KINDS.INT32
    return True


def buffers_swapped(model: Model, choose: random.Random) -> bool:
    held = _constants(model)
    if len(held) < 2:
        return False
    (one, _), (two, _) = choose.sample(held, 2)
    one.buffer, two.buffer = two.buffer, one.buffer
    return bool(one.buffer != two.buffer)


def option_changed(model: Model, choose: random.Random) -> bool:
    held = [
        (operator.builtinOptions, name)
        for _, operator in _operators(model)
        if operator.builtinOptions is not None
        for name, value in vars(operator.builtinOptions).items()
        if isinstance(value, (int, float))
    ]
    if not held:
        return False
    options, name = choose.choice(held)
    value = getattr(options, name)
    setattr(options, name, not value if isinstance(value, bool) else value + choose.choice([-1, 1]))
    return "ubgraph" not in name or 0 <= getattr(options, name) < len(model.subgraphs)


def options_dropped(model: Model, choose: random.Random) -> bool:
    operator = choose.choice(_operators(model))[1]
    if operator.builtinOptions is None:
        return False
    operator.builtinOptions, operator.builtinOptionsType = None, 0
    return True


def another_operator(model: Model, choose: random.Random) -> bool:
    code = choose.choice(model.operatorCodes)
    number = max(code.builtinCode, code.deprecatedBuiltinCode)
    group = next((group for group in SIBLINGS if number in group), None)
    if group is None:
        return False
    code.builtinCode = choose.choice(group)
    code.deprecatedBuiltinCode = min(code.builtinCode, 127)
    return bool(code.builtinCode != number)


def another_version(model: Model, choose: random.Random) -> bool:
    code = choose.choice(model.operatorCodes)
    kept, code.version = code.version, max(1, code.version + choose.choice([-1, 1, 2, 9]))
    return bool(kept != code.version)


def type_changed(model: Model, choose: random.Random) -> bool:
    tensor = choose.choice(_tensors(model))
    kept, tensor.type = tensor.type, choose.choice([KINDS.FLOAT32, KINDS.INT32, KINDS.INT64, KINDS.BOOL, KINDS.INT8])
    return bool(kept != tensor.type)


def shape_changed(model: Model, choose: random.Random) -> bool:
    tensor = choose.choice(_tensors(model))
    shape = [] if tensor.shape is None else list(map(int, tensor.shape))
    if shape and choose.random() < 0.8:
        shape[choose.randrange(len(shape))] = choose.randrange(4)
    else:
        shape.insert(0, choose.randrange(4))
    tensor.shape, tensor.shapeSignature = np.array(shape, np.int32), None
    return True


def signature_changed(model: Model, choose: random.Random) -> bool:
    tensor = choose.choice(_tensors(model))
    if tensor.shape is None or not len(tensor.shape):
        return False
    signature = np.array(tensor.shape, np.int32)
    signature[choose.randrange(len(signature))] = choose.choice([-1, 1, 2, 3])
    tensor.shapeSignature = signature
    return True


def quantization_changed(model: Model, choose: random.Random) -> bool:
    tensor = choose.choice(_tensors(model))
    given = copy.deepcopy(tensor.quantization) or schema.QuantizationParametersT()
    if given.scale is None or not len(given.scale):
        given.scale, given.zeroPoint = np.array([0.5], np.float32), np.array([0], np.int64)
    elif choose.random() < 0.3:
        given.scale, given.zeroPoint = None, None
    elif choose.random() < 0.5:
        given.scale = given.scale * np.float32(2)
    elif choose.random() < 0.5:
        given.zeroPoint = np.asarray(given.zeroPoint) + 1
    else:
        given.quantizedDimension += choose.choice([-1, 1])
    tensor.quantization = given
    return True


def renamed(model: Model, choose: random.Random) -> bool:
    graph = choose.choice(model.subgraphs)
    at = choose.choice([*graph.inputs, *graph.outputs])
    graph.tensors[at].name = b"another"
    return True


def outputs_rewired(model: Model, choose: random.Random) -> bool:
    graph = choose.choice(model.subgraphs)
    changed = np.array(graph.outputs, np.int32)
    at = choose.randrange(len(changed))
    changed[at] = choose.randrange(len(graph.tensors))
    differs = bool(changed[at] != graph.outputs[at])
    graph.outputs = changed
    return differs


def made_variable(model: Model, choose: random.Random) -> bool:
    tensor = choose.choice(_tensors(model))
    tensor.isVariable = not tensor.isVariable
    return True


def operator_doubled(model: Model, choose: random.Random) -> bool:
    """A second one, whose result nobody reads, of other operands."""
    graph, operator = choose.choice(_operators(model))
    made = copy.deepcopy(operator)
    changed = np.array(made.inputs, np.int32)
    if not len(changed):
        return False
    changed[choose.randrange(len(changed))] = choose.randrange(len(graph.tensors))
    made.inputs = changed
    made.outputs = []
    for at in operator.outputs:
        tensor = copy.deepcopy(graph.tensors[at])
        tensor.name, tensor.buffer = b"doubled", 0
        graph.tensors.append(tensor)
        made.outputs.append(len(graph.tensors) - 1)
    made.outputs = np.array(made.outputs, np.int32)
    graph.operators.append(made)
    return True


MUTATIONS: Mapping[str, Mutation] = {
    mutation.__name__: mutation
    for mutation in (
        operand_rewired, operands_swapped, operand_dropped, results_exchanged, operators_reordered, operator_bypassed,
        constant_of_other_dims, element_changed, bit_flipped, vector_longer_or_shorter, vector_of_another_type,
        buffers_swapped, option_changed, options_dropped, another_operator, another_version, type_changed,
        shape_changed, signature_changed, quantization_changed, renamed, outputs_rewired, made_variable,
        operator_doubled,
    )
}  # fmt: skip


def mutated(model: Model, choose: random.Random) -> tuple[str, Model]:
    """Give a model with one change or a few, and what they are."""
    made = copy.deepcopy(model)
    done: list[str] = []
    while len(done) < (1 if choose.random() < 0.75 else 2):
        name = choose.choice(sorted(MUTATIONS))
        if MUTATIONS[name](made, choose):
            done.append(name)
    return " ".join(done), made
