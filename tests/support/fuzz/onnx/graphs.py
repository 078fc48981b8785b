"""Small random models: one to six steps around operators that broadcast."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, helper, numpy_helper

from tests.support.fuzz.onnx.graph_builder import (
    LETTERS,
    SIZES,
    Concrete,
    Draft,
    GraphBuilder,
    Known,
    Source,
    elements,
    together,
)
from tests.support.fuzz.onnx.ops import FIRST_EXPAND, fitting

FLOAT = "float32"
UNION_SINCE = 11
"""Before this operator set onnxruntime takes the branches of an If to have one shape, where it can infer them."""


def step(builder: GraphBuilder) -> None:
    """One more node, or a few."""
    steps: list[Callable[[GraphBuilder], object]] = [elementwise] * 9
    steps += [product, gemm, slope, expanded, reshaped, computed, unary, quantized, tiled]
    if builder.outer is None:
        steps += [loop, branches]
    builder.source.choose.choice(steps)(builder)


def elementwise(builder: GraphBuilder) -> None:
    """An operator of numpy's rule."""
    choose = builder.source.choose
    op = choose.choice(fitting(builder.source.opset))
    operands = [builder.any(*op.dtypes)]
    shape = operands[0].shape
    for at in range(1, op.arity or choose.randrange(1, 4)):
        dtype = operands[-1].dtype if op.name != "Where" or at > 1 else FLOAT
        operands.append(builder.partner(shape, dtype))
        shape = together(shape, operands[-1].shape) or shape
    if op.name != "Where":
        choose.shuffle(operands)
    builder.add(op.name, operands, shape, op.result or operands[-1].dtype, **op.attributes)


def product(builder: GraphBuilder) -> None:
    """A MatMul; rank 1 on either side too, then over a fixed size: onnxruntime leaves a sum over nothing unset."""
    odds, choose = builder.source.odds, builder.source.choose
    left = builder.any(FLOAT)
    if not left.shape or left.shape[-1] == 0:
        left = builder.leaf((2, 3), FLOAT)
    batch = builder.part(left.shape[:-2] if len(left.shape) > 1 else (2,)) if len(left.shape) > 1 or odds(0.3) else ()
    columns = (choose.choice(SIZES),) if odds(0.8) or batch else ()
    shape = (*batch, left.shape[-1], *columns)
    fixed = len(shape) == 1 or len(left.shape) == 1
    right = builder.constant(elements(shape, FLOAT, 5)) if fixed else builder.leaf(shape, FLOAT)
    whole = together(batch, left.shape[:-2]) or ()
    builder.add("MatMul", [left, right], (*whole, *left.shape[-2:-1], *columns), FLOAT)


def gemm(builder: GraphBuilder) -> None:
    """A Gemm with C, transposed or not."""
    odds, choose = builder.source.odds, builder.source.choose
    m, n, k = (choose.choice(SIZES) for _ in range(3))
    left, right = odds(0.3), odds(0.3)
    a = builder.leaf((k, m) if left else (m, k), FLOAT)
    b = builder.leaf((n, k) if right else (k, n), FLOAT)
    c = builder.leaf(tuple(1 if odds(0.3) else size for size in (m, n)[choose.randrange(3) :]), FLOAT)
    builder.add("Gemm", [a, b, c], (m, n), FLOAT, transA=int(left), transB=int(right))


def slope(builder: GraphBuilder) -> None:
    """A PRelu; its slope is broadcast onto the first operand."""
    x = builder.any(FLOAT)
    cut = builder.source.choose.randrange(len(x.shape) + 1)
    part = tuple(1 if builder.source.odds(0.4) else size for size in x.shape[cut:])
    builder.add("PRelu", [x, builder.leaf(part, FLOAT)], x.shape, FLOAT)


def unary(builder: GraphBuilder) -> None:
    """A node that keeps the shape or moves its axes."""
    x = builder.any(FLOAT, "int64")
    kind = builder.source.choose.randrange(3)
    if kind == 0:
        builder.add("Neg" if x.dtype == FLOAT else "Identity", [x], x.shape, x.dtype)
    elif kind == 1 or not x.shape:
        builder.unsqueezed(x, builder.source.choose.randrange(len(x.shape) + 1))
    else:
        builder.add("Transpose", [x], x.shape[::-1], x.dtype)


def expanded(builder: GraphBuilder) -> None:
    """An Expand to a stated shape, or to the shape of another value."""
    if builder.source.opset < FIRST_EXPAND:
        return
    x = builder.any(FLOAT, "int64", "bool")
    other = builder.partner(x.shape, x.dtype)
    to = together(x.shape, other.shape) or x.shape
    if builder.source.odds(0.5):
        target = sizes(builder, other)
    else:
        stated = builder.part(to)
        to = together(x.shape, stated) or x.shape
        target = builder.vector(stated)
    builder.add("Expand", [x, target], to, x.dtype)


def sizes(builder: GraphBuilder, of: Known) -> Known:
    """The shape of a value as it is computed in real models: whole, or put together axis by axis."""
    shape = builder.add("Shape", [of], (len(of.shape),), "int64")
    if not of.shape or builder.source.odds(0.5):
        return shape
    parts = []
    for axis, size in enumerate(of.shape):
        if builder.source.odds(0.2):
            parts.append(builder.vector([size]))
        elif builder.source.odds(0.5):
            parts.append(builder.add("Gather", [shape, builder.vector([axis])], (1,), "int64", axis=0))
        else:
            index = builder.constant(np.asarray(axis, np.int64))
            parts.append(builder.unsqueezed(builder.add("Gather", [shape, index], (), "int64", axis=0), 0))
    return builder.add("Concat", parts, (len(parts),), "int64", axis=0)


def computed(builder: GraphBuilder) -> None:
    """A Reshape by a computed shape, or a value filled by one."""
    x = builder.any(FLOAT, "int64")
    if builder.source.opset < 9 or builder.source.odds(0.5):
        if 0 not in x.shape:  # a 0 in the target of a Reshape copies
            builder.add("Reshape", [x, sizes(builder, x)], x.shape, x.dtype)
        return
    filled = numpy_helper.from_array(np.ones(1, np.float32))
    builder.add("ConstantOfShape", [sizes(builder, x)], x.shape, FLOAT, value=filled)


def reshaped(builder: GraphBuilder) -> None:
    """A Reshape to a stated shape, with -1 and 0 in it."""
    x = builder.any(FLOAT, "int64")
    shape = x.shape
    total = int(np.prod(shape))
    if not total or not shape:
        forms: list[tuple[Concrete, Concrete]] = [(shape or (1,), shape or (1,))]
    else:
        forms = [((-1,), (total,)), ((0, -1), (shape[0], total // shape[0]))]
        forms += [((1, *shape[:-1], -1), (1, *shape)), ((*shape[:-1], 1, -1), (*shape[:-1], 1, shape[-1]))]
    target, to = builder.source.choose.choice(forms)
    builder.add("Reshape", [x, builder.vector(target)], to, x.dtype)


def tiled(builder: GraphBuilder) -> None:
    """A Tile: a broadcast where the repeated axes are 1."""
    x = builder.any(FLOAT)
    odds, choose = builder.source.odds, builder.source.choose
    repeats = [choose.choice((1, 2)) if size == 1 or odds(0.1) else 1 for size in x.shape]
    shape = tuple(size * repeat for size, repeat in zip(x.shape, repeats, strict=True))
    builder.add("Tile", [x, builder.vector(repeats)], shape, x.dtype)


def quantized(builder: GraphBuilder) -> None:
    """A QuantizeLinear and a DequantizeLinear, or a quantized constant; per tensor or along an axis."""
    if builder.source.opset < 10:
        return
    odds = builder.source.odds
    x = builder.any(FLOAT)
    along = bool(x.shape) and builder.source.opset >= 13 and odds(0.5)
    axis = builder.source.choose.randrange(len(x.shape)) if along else 0
    scale = np.full(x.shape[axis] if along else (), 0.5, np.float32)
    scales, zeros = builder.constant(scale), builder.constant(np.zeros(scale.shape, np.int8))
    attributes = {"axis": axis - len(x.shape) * odds(0.3)} if along else {}
    if odds(0.5):
        stored = builder.constant(elements(x.shape, "int8", 1))
    else:
        stored = builder.add("QuantizeLinear", [x, scales, zeros], x.shape, "int8", **attributes)
    builder.add("DequantizeLinear", [stored, scales, zeros], x.shape, FLOAT, **attributes)


def branches(builder: GraphBuilder) -> None:
    """An If, its branches of one shape or of two ranks."""
    condition = builder.constant(np.asarray(True)) if builder.source.odds(0.4) else builder.input((), "bool")
    x = builder.any(FLOAT)
    bodies, shapes = [], []
    for _ in range(2):
        body = GraphBuilder(builder.source, builder)
        other = body.partner(x.shape, FLOAT) if builder.source.opset >= UNION_SINCE else x
        result = body.add("Add", [x, other], together(x.shape, other.shape) or x.shape, FLOAT)
        if builder.source.opset >= UNION_SINCE and builder.source.odds(0.25):
            result = body.unsqueezed(result, 0)
        bodies.append(body.graph(builder.source.name("branch"), [result]))
        shapes.append(result.shape)
    builder.add("If", [condition], shapes[0], FLOAT, then_branch=bodies[0], else_branch=bodies[1])


def loop(builder: GraphBuilder) -> None:
    """A Loop over one carried value, whose rank may grow from one iteration to the next."""
    x = builder.any(FLOAT)
    times = builder.source.choose.randrange(3)
    body = GraphBuilder(builder.source, builder)
    at, going = Known(builder.source.name("i"), (), "int64"), Known(builder.source.name("g"), (), "bool")
    inner = Known(builder.source.name("v"), x.shape, FLOAT)
    other = body.partner(x.shape, FLOAT)
    shape = together(x.shape, other.shape) or x.shape
    left = body.add("Mul", [inner, other], shape, FLOAT)
    if builder.source.odds(0.2) and len(shape) < 3:
        left = body.unsqueezed(left, 0)
        shape = (1,) * times + shape
    on = body.add("Identity", [going], (), "bool")
    graph = body.graph(builder.source.name("body"), [on, left], [at, going, inner])
    trips = builder.constant(np.asarray(times, np.int64))
    builder.add("Loop", [trips, None, x], shape if times else x.shape, FLOAT, body=graph)


def draft(seed: int) -> Draft:
    """The model of a seed."""
    choose = random.Random(seed)  # noqa: S311 -- models, no secrets
    source = Source(choose, choose.randrange(7, 27), {name: choose.choice(SIZES) for name in LETTERS})
    builder = GraphBuilder(source)
    for _ in range(choose.randrange(1, 7)):
        step(builder)
    if all(node.op_type == "Constant" for node in builder.nodes):
        builder.add("Identity", [builder.input((2,), FLOAT)], (2,), FLOAT)
    return Draft(_model(builder), builder.inputs, source.sizes)


def _model(builder: GraphBuilder) -> ModelProto:
    source = builder.source
    old = source.opset <= 8 and source.odds(0.5)
    declared = [*builder.declared]
    if old:  # before IR version 4 every initializer is an input
        stated = {value.name for value in declared}
        rest = [tensor for tensor in builder.initializers if tensor.name not in stated]
        declared += [helper.make_tensor_value_info(it.name, it.data_type, it.dims) for it in rest]
    outputs = [helper.make_empty_tensor_value_info(name) for name in _ends(builder)]
    graph = helper.make_graph(builder.nodes, "fuzz", declared, outputs, builder.initializers)
    imports = [helper.make_opsetid("", source.opset)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=3 if old else 8 if source.opset < 21 else 10)
    typed = onnx.shape_inference.infer_shapes(model)
    types = {value.name: value for value in (*typed.graph.value_info, *typed.graph.output)}
    for output in model.graph.output:
        output.CopyFrom(types.get(output.name, output))
        if source.odds(0.1):
            output.type.tensor_type.ClearField("shape")
    return typed if source.odds(0.25) else model


def _ends(builder: GraphBuilder) -> list[str]:
    """What nobody reads, and some of what is read too."""
    read = {name for node in builder.nodes for name in (*node.input, *_captured(node))}
    made = [name for node in builder.nodes if node.op_type != "Constant" for name in node.output]
    inner = [name for name in made if name in read]
    return [name for name in made if name not in read] + [name for name in inner if builder.source.odds(0.15)]


def _captured(node: NodeProto) -> set[str]:
    bodies = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    return {name for body in bodies for inner in body.node for name in inner.input}
