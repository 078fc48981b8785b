"""Small random models: one to six steps around operators that broadcast."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from tests.support.fuzz.onnx.ops import FIRST_EXPAND, fitting
from tests.support.fuzz.onnx.room import LETTERS, SIZES, Concrete, Draft, Known, Room, Source, elements, together

FLOAT = "float32"
UNION_SINCE = 11
"""Before this operator set onnxruntime takes the branches of an If to have one shape, where it can infer them."""


def step(room: Room) -> None:
    """One more node, or a few."""
    steps: list[Callable[[Room], object]] = [elementwise] * 9
    steps += [product, gemm, slope, expanded, reshaped, computed, unary, quantized, tiled]
    if room.outer is None:
        steps += [loop, branches]
    room.source.choose.choice(steps)(room)


def elementwise(room: Room) -> None:
    """An operator of numpy's rule."""
    choose = room.source.choose
    op = choose.choice(fitting(room.source.opset))
    operands = [room.any(*op.dtypes)]
    shape = operands[0].shape
    for at in range(1, op.arity or choose.randrange(1, 4)):
        dtype = operands[-1].dtype if op.name != "Where" or at > 1 else FLOAT
        operands.append(room.partner(shape, dtype))
        shape = together(shape, operands[-1].shape) or shape
    if op.name != "Where":
        choose.shuffle(operands)
    room.add(op.name, operands, shape, op.result or operands[-1].dtype, **op.attributes)


def product(room: Room) -> None:
    """A MatMul; rank 1 on either side too, then over a fixed size: onnxruntime leaves a sum over nothing unset."""
    odds, choose = room.source.odds, room.source.choose
    left = room.any(FLOAT)
    if not left.shape or left.shape[-1] == 0:
        left = room.leaf((2, 3), FLOAT)
    batch = room.part(left.shape[:-2] if len(left.shape) > 1 else (2,)) if len(left.shape) > 1 or odds(0.3) else ()
    columns = (choose.choice(SIZES),) if odds(0.8) or batch else ()
    shape = (*batch, left.shape[-1], *columns)
    fixed = len(shape) == 1 or len(left.shape) == 1
    right = room.constant(elements(shape, FLOAT, 5)) if fixed else room.leaf(shape, FLOAT)
    whole = together(batch, left.shape[:-2]) or ()
    room.add("MatMul", [left, right], (*whole, *left.shape[-2:-1], *columns), FLOAT)


def gemm(room: Room) -> None:
    """A Gemm with C, transposed or not."""
    odds, choose = room.source.odds, room.source.choose
    m, n, k = (choose.choice(SIZES) for _ in range(3))
    left, right = odds(0.3), odds(0.3)
    a = room.leaf((k, m) if left else (m, k), FLOAT)
    b = room.leaf((n, k) if right else (k, n), FLOAT)
    c = room.leaf(tuple(1 if odds(0.3) else size for size in (m, n)[choose.randrange(3) :]), FLOAT)
    room.add("Gemm", [a, b, c], (m, n), FLOAT, transA=int(left), transB=int(right))


def slope(room: Room) -> None:
    """A PRelu; its slope is broadcast onto the first operand."""
    x = room.any(FLOAT)
    cut = room.source.choose.randrange(len(x.shape) + 1)
    part = tuple(1 if room.source.odds(0.4) else size for size in x.shape[cut:])
    room.add("PRelu", [x, room.leaf(part, FLOAT)], x.shape, FLOAT)


def unary(room: Room) -> None:
    """A node that keeps the shape or moves its axes."""
    x = room.any(FLOAT, "int64")
    kind = room.source.choose.randrange(3)
    if kind == 0:
        room.add("Neg" if x.dtype == FLOAT else "Identity", [x], x.shape, x.dtype)
    elif kind == 1 or not x.shape:
        room.unsqueezed(x, room.source.choose.randrange(len(x.shape) + 1))
    else:
        room.add("Transpose", [x], x.shape[::-1], x.dtype)


def expanded(room: Room) -> None:
    """An Expand to a stated shape, or to the shape of another value."""
    if room.source.opset < FIRST_EXPAND:
        return
    x = room.any(FLOAT, "int64", "bool")
    other = room.partner(x.shape, x.dtype)
    to = together(x.shape, other.shape) or x.shape
    if room.source.odds(0.5):
        target = sizes(room, other)
    else:
        stated = room.part(to)
        to = together(x.shape, stated) or x.shape
        target = room.vector(stated)
    room.add("Expand", [x, target], to, x.dtype)


def sizes(room: Room, of: Known) -> Known:
    """The shape of a value as it is computed in real models: whole, or put together axis by axis."""
    shape = room.add("Shape", [of], (len(of.shape),), "int64")
    if not of.shape or room.source.odds(0.5):
        return shape
    parts = []
    for axis, size in enumerate(of.shape):
        if room.source.odds(0.2):
            parts.append(room.vector([size]))
        elif room.source.odds(0.5):
            parts.append(room.add("Gather", [shape, room.vector([axis])], (1,), "int64", axis=0))
        else:
            index = room.constant(np.asarray(axis, np.int64))
            parts.append(room.unsqueezed(room.add("Gather", [shape, index], (), "int64", axis=0), 0))
    return room.add("Concat", parts, (len(parts),), "int64", axis=0)


def computed(room: Room) -> None:
    """A Reshape by a computed shape, or a value filled by one."""
    x = room.any(FLOAT, "int64")
    if room.source.opset < 9 or room.source.odds(0.5):
        if 0 not in x.shape:  # a 0 in the target of a Reshape copies
            room.add("Reshape", [x, sizes(room, x)], x.shape, x.dtype)
        return
    filled = numpy_helper.from_array(np.ones(1, np.float32))
    room.add("ConstantOfShape", [sizes(room, x)], x.shape, FLOAT, value=filled)


def reshaped(room: Room) -> None:
    """A Reshape to a stated shape, with -1 and 0 in it."""
    x = room.any(FLOAT, "int64")
    shape = x.shape
    total = int(np.prod(shape))
    if not total or not shape:
        forms: list[tuple[Concrete, Concrete]] = [(shape or (1,), shape or (1,))]
    else:
        forms = [((-1,), (total,)), ((0, -1), (shape[0], total // shape[0]))]
        forms += [((1, *shape[:-1], -1), (1, *shape)), ((*shape[:-1], 1, -1), (*shape[:-1], 1, shape[-1]))]
    target, to = room.source.choose.choice(forms)
    room.add("Reshape", [x, room.vector(target)], to, x.dtype)


def tiled(room: Room) -> None:
    """A Tile: a broadcast where the repeated axes are 1."""
    x = room.any(FLOAT)
    odds, choose = room.source.odds, room.source.choose
    repeats = [choose.choice((1, 2)) if size == 1 or odds(0.1) else 1 for size in x.shape]
    shape = tuple(size * repeat for size, repeat in zip(x.shape, repeats, strict=True))
    room.add("Tile", [x, room.vector(repeats)], shape, x.dtype)


def quantized(room: Room) -> None:
    """A QuantizeLinear and a DequantizeLinear, or a quantized constant; per tensor or along an axis."""
    if room.source.opset < 10:
        return
    odds = room.source.odds
    x = room.any(FLOAT)
    along = bool(x.shape) and room.source.opset >= 13 and odds(0.5)
    axis = room.source.choose.randrange(len(x.shape)) if along else 0
    scale = np.full(x.shape[axis] if along else (), 0.5, np.float32)
    scales, zeros = room.constant(scale), room.constant(np.zeros(scale.shape, np.int8))
    attributes = {"axis": axis - len(x.shape) * odds(0.3)} if along else {}
    if odds(0.5):
        stored = room.constant(elements(x.shape, "int8", 1))
    else:
        stored = room.add("QuantizeLinear", [x, scales, zeros], x.shape, "int8", **attributes)
    room.add("DequantizeLinear", [stored, scales, zeros], x.shape, FLOAT, **attributes)


def branches(room: Room) -> None:
    """An If, its branches of one shape or of two ranks."""
    condition = room.constant(np.asarray(True)) if room.source.odds(0.4) else room.input((), "bool")
    x = room.any(FLOAT)
    bodies, shapes = [], []
    for _ in range(2):
        body = Room(room.source, room)
        other = body.partner(x.shape, FLOAT) if room.source.opset >= UNION_SINCE else x
        result = body.add("Add", [x, other], together(x.shape, other.shape) or x.shape, FLOAT)
        if room.source.opset >= UNION_SINCE and room.source.odds(0.25):
            result = body.unsqueezed(result, 0)
        bodies.append(body.graph(room.source.name("branch"), [result]))
        shapes.append(result.shape)
    room.add("If", [condition], shapes[0], FLOAT, then_branch=bodies[0], else_branch=bodies[1])


def loop(room: Room) -> None:
    """A Loop over one carried value, whose rank may grow from one iteration to the next."""
    x = room.any(FLOAT)
    times = room.source.choose.randrange(3)
    body = Room(room.source, room)
    at, going = Known(room.source.name("i"), (), "int64"), Known(room.source.name("g"), (), "bool")
    inner = Known(room.source.name("v"), x.shape, FLOAT)
    other = body.partner(x.shape, FLOAT)
    shape = together(x.shape, other.shape) or x.shape
    left = body.add("Mul", [inner, other], shape, FLOAT)
    if room.source.odds(0.2) and len(shape) < 3:
        left = body.unsqueezed(left, 0)
        shape = (1,) * times + shape
    on = body.add("Identity", [going], (), "bool")
    graph = body.graph(room.source.name("body"), [on, left], [at, going, inner])
    trips = room.constant(np.asarray(times, np.int64))
    room.add("Loop", [trips, None, x], shape if times else x.shape, FLOAT, body=graph)


def draft(seed: int) -> Draft:
    """The model of a seed."""
    choose = random.Random(seed)  # noqa: S311 -- models, no secrets
    source = Source(choose, choose.randrange(7, 27), {name: choose.choice(SIZES) for name in LETTERS})
    room = Room(source)
    for _ in range(choose.randrange(1, 7)):
        step(room)
    if all(node.op_type == "Constant" for node in room.nodes):
        room.add("Identity", [room.input((2,), FLOAT)], (2,), FLOAT)
    return Draft(_model(room), room.inputs, source.sizes)


def _model(room: Room) -> ModelProto:
    source = room.source
    old = source.opset <= 8 and source.odds(0.5)
    declared = [*room.declared]
    if old:  # before IR version 4 every initializer is an input
        stated = {value.name for value in declared}
        rest = [tensor for tensor in room.initializers if tensor.name not in stated]
        declared += [helper.make_tensor_value_info(it.name, it.data_type, it.dims) for it in rest]
    outputs = [helper.make_empty_tensor_value_info(name) for name in _ends(room)]
    graph = helper.make_graph(room.nodes, "fuzz", declared, outputs, room.initializers)
    imports = [helper.make_opsetid("", source.opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=3 if old else 8 if source.opset < 21 else 10)
    typed = onnx.shape_inference.infer_shapes(model)
    types = {value.name: value for value in (*typed.graph.value_info, *typed.graph.output)}
    for output in model.graph.output:
        output.CopyFrom(types.get(output.name, output))
        if source.odds(0.1):
            output.type.tensor_type.ClearField("shape")
    return typed if source.odds(0.25) else model


def _ends(room: Room) -> list[str]:
    """What nobody reads, and some of what is read too."""
    read = {name for node in room.nodes for name in (*node.input, *_captured(node))}
    made = [name for node in room.nodes if node.op_type != "Constant" for name in node.output]
    inner = [name for name in made if name in read]
    return [name for name in made if name not in read] + [name for name in inner if room.source.odds(0.15)]


def _captured(node: NodeProto) -> set[str]:
    bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return {name for body in bodies for inner in body.node for name in inner.input}
