"""Random TFLite models of one kind of operator each, whose results' sizes the file leaves free."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

Kind = Callable[[random.Random], str]
"""A model's text; what is made at last is `y`, with `?` for each of its sizes."""


def of(sizes: Sequence[object]) -> str:
    return f"[{','.join(map(str, sizes))}]"


def free(rank: int) -> str:
    return of(["?"] * rank)


def held(name: str, numbers: Sequence[int], dtype: str = "int32", shape: Sequence[int] | None = None) -> str:
    """A constant."""
    dims = "" if not numbers and shape is None else of(shape if shape is not None else [len(numbers)])
    return f"{name}:const:{dtype}{dims or '[0]'}{{{','.join(map(str, numbers))}}}"


def sizes(choose: random.Random, least: int = 1, most: int = 4, largest: int = 6) -> list[int]:
    return [choose.randint(1, largest) for _ in range(choose.randint(least, most))]


def window(choose: random.Random, *, dilated: bool) -> str:
    options = {"padding": choose.choice(("SAME", "VALID"))}
    options |= {f"stride_{axis}": str(choose.randint(1, 4)) for axis in "hw"}
    if dilated:
        options |= {f"dilation_{axis}_factor": str(choose.randint(1, 3)) for axis in "hw"}
    return ", ".join(f"{key}={value}" for key, value in options.items())


def image(choose: random.Random, channels: int) -> str:
    return f"x{of([choose.randint(1, 2), choose.randint(1, 12), choose.randint(1, 12), channels])}"


def pool(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        extent = f"filter_height={choose.randint(1, 5)}, filter_width={choose.randint(1, 5)}"
        return f"y{free(4)} = {op}({image(choose, 2)}, {extent}, {window(choose, dilated=False)})"

    return made


def convolution(choose: random.Random) -> str:
    weights = f"w:const{of([3, choose.randint(1, 4), choose.randint(1, 4), 2])}"
    return f"y{free(4)} = CONV_2D({image(choose, 2)}, {weights}, b:const[3], {window(choose, dilated=True)})"


def depthwise(choose: random.Random) -> str:
    weights = f"w:const{of([1, choose.randint(1, 4), choose.randint(1, 4), 4])}"
    options = f"depth_multiplier=2, {window(choose, dilated=True)}"
    return f"y{free(4)} = DEPTHWISE_CONV_2D({image(choose, 2)}, {weights}, b:const[4], {options})"


def transpose_conv(choose: random.Random) -> str:
    weights = f"w:const{of([3, choose.randint(1, 4), choose.randint(1, 4), 2])}"
    rows, columns, stride = choose.randint(1, 12), choose.randint(1, 12), choose.randint(1, 3)
    data = f"x{of([1, -(-rows // stride), -(-columns // stride), 2])}"
    options = f"padding=SAME, stride_h={stride}, stride_w={stride}"
    return f"y{free(4)} = TRANSPOSE_CONV({held('t', [1, rows, columns, 3])}, {weights}, {data}, {options})"


def resize(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        target = held("t", [choose.randint(1, 9), choose.randint(1, 9)])
        return f"y{free(4)} = {op}({image(choose, 2)}, {target})"

    return made


def strided_slice(choose: random.Random) -> str:
    shape = sizes(choose, 1, 4)
    count = choose.randint(1, len(shape))
    begin, end = ([choose.randint(-7, 7) for _ in range(count)] for _ in range(2))
    stride = [choose.choice((1, 1, 2, 3, -1, -2)) for _ in range(count)]
    masks = {f"{name}_mask": choose.randrange(1 << count) * choose.randint(0, 1) for name in ("begin", "end")}
    shrink = choose.choice((0, 0, choose.randrange(1 << count)))
    new = choose.choice((0, 0, 0, choose.randrange(1 << count))) & ~shrink
    ellipsis = choose.choice((0, 0, 0, 1 << choose.randrange(count))) & ~shrink & ~new
    for at in range(count):
        if shrink >> at & 1:
            begin[at], stride[at] = choose.randrange(shape[at]), 1
            end[at] = begin[at] + 1
    masks |= {"shrink_axis_mask": shrink, "new_axis_mask": new, "ellipsis_mask": ellipsis}
    made = sum(new >> at & 1 and not ellipsis >> at & 1 for at in range(count))
    rank = len(shape) + made - shrink.bit_count()
    options = ", ".join(f"{key}={value}" for key, value in masks.items())
    operands = f"x{of(shape)}, {held('b', begin)}, {held('e', end)}, {held('s', stride)}"
    return f"y{free(rank)} = STRIDED_SLICE({operands}, {options})"


def slices(choose: random.Random) -> str:
    shape = sizes(choose)
    begin = [choose.randrange(size) for size in shape]
    count = [choose.choice((-1, choose.randint(0, size - at))) for size, at in zip(shape, begin, strict=True)]
    return f"y{free(len(shape))} = SLICE(x{of(shape)}, {held('b', begin)}, {held('s', count)})"


def ranges(choose: random.Random) -> str:
    start, limit, step = choose.randint(-9, 9), choose.randint(-9, 30), choose.choice((-3, -1, 1, 2, 7))
    numbers = [held(name, [number], shape=[]) for name, number in zip("abc", (start, limit, step), strict=True)]
    return f"y:int32[?] = RANGE({', '.join(numbers)})"


def float_ranges(choose: random.Random) -> str:
    numbers = [choose.uniform(-3, 3), choose.uniform(-3, 9), choose.choice((0.1, 0.3, 0.7, 1.5, -0.4))]
    texts = [f"{name}:const:float32[]{{{number!r}}}" for name, number in zip("abc", numbers, strict=True)]
    return f"y[?] = RANGE({', '.join(texts)})"


def cast_sizes(choose: random.Random) -> str:
    """A size that goes through another type, and is then what a FILL is asked for."""
    size = choose.choice((1, 3, 130, 200, 257, 300))
    kind = choose.choice(("int8", "uint8", "bool", "int16", "float32", "int64"))
    op, number = choose.choice((("ADD", 1), ("MUL", 1), ("SUB", 1), ("MAXIMUM", 2), ("FLOOR_DIV", 2)))
    return f"""
    s:int32[1] = SHAPE(x[{size}], out_type=INT32)
    c:{kind}[1] = CAST(s, in_data_type=INT32, out_data_type={kind.upper()})
    d:int32[1] = CAST(c, in_data_type={kind.upper()}, out_data_type=INT32)
    e:int32[1] = {op}(d, {held("k", [number])})
    y[?] = FILL(e, v:const[]{{1.0}})
    """


def wrapped_sizes(choose: random.Random) -> str:
    """Products that leave int32 on the way to a size."""
    size, factor = choose.choice((2, 3, 7)), choose.choice((3, 1 << 20, 1 << 30, 2147483647, 70000 * 30000))
    back = choose.choice((1 << 20, 1 << 28, 1 << 30))
    return f"""
    s:int32[1] = SHAPE(x[{size}], out_type=INT32)
    c:int32[1] = MUL(s, {held("k", [factor])})
    d:int32[1] = FLOOR_DIV(c, {held("m", [back])})
    e:int32[1] = MAXIMUM(d, {held("n", [1])})
    f:int32[1] = MINIMUM(e, {held("o", [9])})
    y[?] = FILL(f, v:const[]{{1.0}})
    """


def size_arithmetic(choose: random.Random) -> str:
    shape = sizes(choose, 2, 4)
    at, cut = choose.randrange(len(shape)), choose.randint(1, len(shape))
    op = choose.choice(("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "FLOOR_DIV", "DIV", "FLOOR_MOD"))
    return f"""
    s:int32{of([len(shape)])} = SHAPE(x{of(shape)}, out_type=INT32)
    g:int32[1] = GATHER(s, {held("i", [at])}, axis=0)
    h:int32{of([cut])} = STRIDED_SLICE(s, {held("b", [0])}, {held("e", [cut])}, {held("t", [1])})
    a:int32[1] = {op}(g, {held("k", [choose.randint(1, 5)])})
    m:int32[1] = MAXIMUM(a, {held("n", [0])})
    p:int32{of([1 + cut])} = CONCATENATION(m, h, axis=0)
    y{free(1 + cut)} = FILL(p, v:const[]{{1.0}})
    """


def tile(choose: random.Random) -> str:
    shape = sizes(choose, 1, 3)
    times = held("t", [choose.randint(0, 3) for _ in shape])
    return f"y{free(len(shape))} = TILE(x{of(shape)}, {times})"


def split_v(choose: random.Random) -> str:
    parts = [choose.randint(1, 4) for _ in range(choose.randint(1, 3))]
    shape = sizes(choose, 1, 3)
    axis = choose.randrange(len(shape))
    shape[axis] = sum(parts)
    if choose.random() < 0.5:
        parts[choose.randrange(len(parts))] = -1
    results = ", ".join(f"p{at}{free(len(shape))}" for at in range(len(parts)))
    axis -= len(shape) * choose.randint(0, 1)
    operands = f"x{of(shape)}, {held('n', parts)}, {held('a', [axis], shape=[])}"
    return f"{results} = SPLIT_V({operands}, num_splits={len(parts)})"


def split(choose: random.Random) -> str:
    count, shape = choose.randint(1, 3), sizes(choose, 1, 3)
    axis = choose.randrange(len(shape))
    shape[axis] = count * choose.randint(1, 3)
    results = ", ".join(f"p{at}{free(len(shape))}" for at in range(count))
    return f"{results} = SPLIT({held('a', [axis], shape=[])}, x{of(shape)}, num_splits={count})"


def pack(choose: random.Random) -> str:
    shape, count = sizes(choose, 0, 3), choose.randint(1, 3)
    axis = choose.randint(-len(shape) - 1, len(shape))
    operands = ", ".join(f"x{at}{of(shape)}" for at in range(count))
    return f"y{free(len(shape) + 1)} = PACK({operands}, axis={axis}, values_count={count})"


def unpack(choose: random.Random) -> str:
    shape = sizes(choose, 1, 3, 3)
    axis = choose.randint(-len(shape), len(shape) - 1)
    results = ", ".join(f"p{at}{free(len(shape) - 1)}" for at in range(shape[axis]))
    return f"{results} = UNPACK(x{of(shape)}, axis={axis}, num={shape[axis]})"


def blocks(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        block = [choose.randint(1, 3), choose.randint(1, 3)]
        around = [choose.randint(0, 2) for _ in range(4)]
        out = [choose.randint(1, 3), choose.randint(1, 3)]
        if op == "SPACE_TO_BATCH_ND":
            spatial = [max(block[at] * out[at] - sum(around[2 * at : 2 * at + 2]), 1) for at in range(2)]
            batch = choose.randint(1, 2)
        else:
            spatial, batch = [size + 3 for size in out], math.prod(block) * choose.randint(1, 2)
        shape = [batch, *spatial, choose.randint(1, 3)]
        return f"y{free(4)} = {op}(x{of(shape)}, {held('b', block)}, {held('p', around, shape=[2, 2])})"

    return made


def depths(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        block = choose.randint(1, 3)
        spatial, channels = [choose.randint(1, 3), choose.randint(1, 3)], choose.randint(1, 3)
        if op == "SPACE_TO_DEPTH":
            spatial = [size * block for size in spatial]
        else:
            channels *= block * block
        return f"y{free(4)} = {op}(x{of([2, *spatial, channels])}, block_size={block})"

    return made


def pad(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        shape = [size + 2 for size in sizes(choose, 1, 4)]
        around = held("p", [choose.randint(0, 2) for _ in range(2 * len(shape))], shape=[len(shape), 2])
        more = ", v:const[]{1.0}" if op == "PADV2" else ", mode=REFLECT" if op == "MIRROR_PAD" else ""
        return f"y{free(len(shape))} = {op}(x{of(shape)}, {around}{more})"

    return made


def one_hot(choose: random.Random) -> str:
    shape = sizes(choose, 1, 3)
    depth, axis = held("d", [choose.randint(1, 5)], shape=[]), choose.randint(-1, len(shape))
    values = "on:const[]{1.0}, off:const[]{0.0}"
    return f"y{free(len(shape) + 1)} = ONE_HOT(x:int32{of(shape)}, {depth}, {values}, axis={axis})"


def where(choose: random.Random) -> str:
    return f"y:int64[?,?] = WHERE(x:bool{of(sizes(choose, 1, 3))})"


def gather(choose: random.Random) -> str:
    shape, batch = sizes(choose, 1, 3), 0
    axis = choose.randint(-len(shape), len(shape) - 1)
    indices = sizes(choose, 0, 2)
    if len(shape) > 1 and choose.random() < 0.3:
        batch, axis, indices = 1, choose.randint(1, len(shape) - 1), [shape[0], *indices]
    zeros = held("i", [0] * math.prod(indices), shape=indices)
    rank = len(shape) + len(indices) - 1 - batch
    return f"y{free(rank)} = GATHER(x{of(shape)}, {zeros}, axis={axis}, batch_dims={batch})"


def gather_nd(choose: random.Random) -> str:
    shape, outer = sizes(choose, 1, 3), sizes(choose, 0, 2)
    depth = choose.randint(1, len(shape))
    zeros = held("i", [0] * math.prod([*outer, depth]), shape=[*outer, depth])
    return f"y{free(len(outer) + len(shape) - depth)} = GATHER_ND(x{of(shape)}, {zeros})"


def concatenation(choose: random.Random) -> str:
    shape = sizes(choose, 1, 4)
    axis = choose.randint(-len(shape), len(shape) - 1)
    operands = []
    for at in range(choose.randint(1, 3)):
        shape[axis] = choose.randint(1, 4)
        operands.append(f"x{at}{of(shape)}")
    return f"y{free(len(shape))} = CONCATENATION({', '.join(operands)}, axis={axis})"


def transpose(choose: random.Random) -> str:
    shape = sizes(choose)
    order = list(range(len(shape)))
    choose.shuffle(order)
    return f"y{free(len(shape))} = TRANSPOSE(x{of(shape)}, {held('p', order)})"


def reduction(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        shape, keeps = sizes(choose), choose.random() < 0.5
        axes = choose.sample(range(len(shape)), choose.randint(1, len(shape)))
        rank = len(shape) - (0 if keeps else len(axes))
        axes = [axis - len(shape) * choose.randint(0, 1) for axis in axes]
        dtype = ":bool" if op in ("REDUCE_ANY", "REDUCE_ALL") else ""
        return f"y{dtype}{free(rank)} = {op}(x{dtype}{of(shape)}, {held('a', axes)}, keep_dims={keeps})"

    return made


def arg_reduction(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        shape = sizes(choose)
        axis = held("a", [choose.randint(-len(shape), len(shape) - 1)], shape=[])
        return f"y:int32{free(len(shape) - 1)} = {op}(x{of(shape)}, {axis}, output_type=INT32)"

    return made


def expand_dims(choose: random.Random) -> str:
    shape = sizes(choose, 0, 4)
    axis = held("a", [choose.randint(-len(shape) - 1, len(shape))], shape=[])
    return f"y{free(len(shape) + 1)} = EXPAND_DIMS(x{of(shape)}, {axis})"


def squeeze(choose: random.Random) -> str:
    shape = [choose.choice((1, 1, 3)) for _ in range(choose.randint(1, 4))]
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    axes = choose.sample(ones, choose.randint(0, len(ones)))
    rank = len(shape) - (len(axes) or len(ones))
    axes = [axis - len(shape) * choose.randint(0, 1) for axis in axes]
    return f"y{free(rank)} = SQUEEZE(x{of(shape)}, squeeze_dims={axes})"


def reshape(choose: random.Random) -> str:
    shape = sizes(choose, 0, 4)
    target = [*shape, *[1] * choose.randint(0, 2)]
    choose.shuffle(target)
    while len(target) > 1 and choose.random() < 0.5:
        target[:2] = [target[0] * target[1]]
    if target and choose.random() < 0.5:
        target[choose.randrange(len(target))] = -1
    if choose.random() < 0.3 and target:
        return f"y{free(len(target))} = RESHAPE(x{of(shape)}, new_shape={target})"
    return f"y{free(len(target))} = RESHAPE(x{of(shape)}, {held('t', target)}, new_shape={target})"


def broadcast_to(choose: random.Random) -> str:
    shape = sizes(choose, 1, 4)
    narrow = [choose.choice((1, size)) for size in shape][choose.randint(0, len(shape) - 1) :]
    return f"y{free(len(shape))} = BROADCAST_TO(x{of(narrow)}, {held('t', shape)})"


def elementwise(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        shape = sizes(choose, 0, 4)
        two = [[choose.choice((1, size)) for size in shape][choose.randint(0, len(shape)) :] for _ in range(2)]
        rank = max(map(len, two))
        return f"y{free(rank)} = {op}(x{of(two[0])}, z{of(two[1])})"

    return made


def select(choose: random.Random) -> str:
    shape = sizes(choose, 1, 4)
    shapes = [[choose.choice((1, size)) for size in shape][choose.randint(0, len(shape)) :] for _ in range(3)]
    rank = max(map(len, shapes))
    return f"y{free(rank)} = SELECT_V2(c:bool{of(shapes[0])}, x{of(shapes[1])}, z{of(shapes[2])})"


def products(choose: random.Random) -> str:
    batch = sizes(choose, 0, 2, 3)
    rows, depth, columns = (choose.randint(1, 4) for _ in range(3))
    adjoint = choose.random() < 0.5, choose.random() < 0.5
    left = [rows, depth][:: -1 if adjoint[0] else 1]
    right = [depth, columns][:: -1 if adjoint[1] else 1]
    other = [choose.choice((1, size)) for size in batch][choose.randint(0, len(batch)) :]
    options = f"adj_x={adjoint[0]}, adj_y={adjoint[1]}"
    return f"y{free(len(batch) + 2)} = BATCH_MATMUL(x{of([*batch, *left])}, z{of([*other, *right])}, {options})"


def fully_connected(choose: random.Random) -> str:
    shape, units, keeps = sizes(choose, 1, 3), choose.randint(1, 4), choose.random() < 0.5
    weights = f"w:const{of([units, shape[-1]])}"
    rank = len(shape) if keeps else 2
    return f"y{free(rank)} = FULLY_CONNECTED(x{of(shape)}, {weights}, b:const{of([units])}, keep_num_dims={keeps})"


def top_k(choose: random.Random) -> str:
    shape = sizes(choose, 1, 3)
    count = held("k", [choose.randint(1, shape[-1])], shape=[])
    return f"y{free(len(shape))}, i:int32{free(len(shape))} = TOPK_V2(x{of(shape)}, {count})"


def same(op: str, more: str = "") -> Kind:
    def made(choose: random.Random) -> str:
        shape = sizes(choose, 1, 4)
        return f"y{free(len(shape))} = {op}(x{of(shape)}{more})"

    return made


def arguments(choose: random.Random) -> str:
    shape = sizes(choose, 1, 4)
    other = [choose.choice((1, size)) for size in shape][choose.randint(0, len(shape) - 1) :]
    return f"""
    r:int32{of([len(shape)])} = BROADCAST_ARGS({held("s", shape)}, {held("t", other)})
    y{free(len(shape))} = FILL(r, v:const[]{{1.0}})
    """


def spectrum(choose: random.Random) -> str:
    shape = [*sizes(choose, 0, 2, 2), choose.choice((1, 2, 4)), choose.choice((2, 4, 8))]
    lengths = held("n", [choose.choice((1, 2, 4)), choose.choice((2, 4, 8))])
    return f"y:complex64{free(len(shape))} = RFFT2D(x{of(shape)}, {lengths})"


def segments(op: str) -> Kind:
    def made(choose: random.Random) -> str:
        shape, count = sizes(choose, 1, 3), choose.randint(1, 5)
        ids = held("i", [choose.randint(-1, count - 1) for _ in range(shape[0])])
        return f"y{free(len(shape))} = {op}(x{of(shape)}, {ids}, {held('n', [count], shape=[])})"

    return made


def segment_sum(choose: random.Random) -> str:
    shape = sizes(choose, 1, 3)
    ids = sorted(choose.randint(0, at // 2) for at in range(shape[0]))
    ranks = {row: rank for rank, row in enumerate(dict.fromkeys(ids))}
    return f"y{free(len(shape))} = SEGMENT_SUM(x{of(shape)}, {held('i', [ranks[row] for row in ids])})"


def segmented_shape(choose: random.Random) -> str:
    """Products of some of a shape's sizes, as einsum makes them."""
    shape, count = sizes(choose, 2, 4), choose.randint(1, 3)
    ids = held("i", [choose.randint(0, count) for _ in shape])
    return f"""
    s:int32{of([len(shape)])} = SHAPE(x{of(shape)}, out_type=INT32)
    t:int32[{count + 1}] = UNSORTED_SEGMENT_PROD(s, {ids}, n:const:int32[]{{{count + 1}}})
    y{free(count + 1)} = RESHAPE(x, t)
    """


def ranges_of_sizes(choose: random.Random) -> str:
    """From one size to another, in whole numbers or in floats."""
    start, count, step = choose.randint(0, 4), choose.randint(0, 6), choose.choice((1, 1, 2, 3))
    lines = [
        f"{name}{stage}:int32{dims} = {call}"
        for name, size in (("a", start), ("b", start + count))
        for stage, dims, call in (
            ("s", "[1]", f"SHAPE({name}x[{size}], out_type=INT32)"),
            ("q", "[]", f"SQUEEZE({name}s, squeeze_dims=[0])"),
        )
    ]
    if choose.random() < 0.5:
        return "\n".join([*lines, f"y:int32[?] = RANGE(aq, bq, {held('d', [step], shape=[])})"])
    casts = [f"{name}f[] = CAST({name}q, in_data_type=INT32, out_data_type=FLOAT32)" for name in "ab"]
    return "\n".join([*lines, *casts, f"y[?] = RANGE(af, bf, d:const[]{{{step}.0}})"])


def padded_blocks(choose: random.Random) -> str:
    """An axis that is padded to a whole number of blocks, cut into them, and put together again."""
    size, block = choose.randint(1, 9), choose.randint(1, 4)
    return f"""
    s:int32[3] = SHAPE(x[2,{size},3], out_type=INT32)
    n:int32[1] = STRIDED_SLICE(s, {held("b", [1])}, {held("e", [2])}, {held("u", [1])})
    m:int32[1] = NEG(n)
    r:int32[1] = FLOOR_MOD(m, {held("k", [block])})
    p:int32[2] = CONCATENATION({held("o", [0])}, r, axis=0)
    q:int32[1,2] = RESHAPE(p, {held("h", [1, 2])}, new_shape=[1,2])
    v:int32[1,2] = STRIDED_SLICE(q, {held("f", [0, 0])}, {held("g", [1, 2])}, {held("j", [1, 1])})
    w[?,?,3] = SPACE_TO_BATCH_ND(x, {held("l", [block])}, v)
    z[?,?,3] = NEG(w)
    y[?,?,3] = BATCH_TO_SPACE_ND(z, {held("c", [block])}, v)
    """


def packed_reshape(choose: random.Random) -> str:
    """A RESHAPE to sizes that are picked one by one and packed."""
    shape = sizes(choose, 2, 4)
    order = choose.sample(range(len(shape)), len(shape))
    picked = [f"p{at}:int32[] = GATHER(s, i{at}:const:int32[]{{{axis}}}, axis=0)" for at, axis in enumerate(order)]
    parts = [f"p{at}" for at in range(len(shape))]
    if choose.random() < 0.5:
        parts[choose.randrange(len(parts))] = "left:const:int32[]{-1}"
    joined = choose.randint(0, len(parts) - 1)
    lines = [f"s:int32{of([len(shape)])} = SHAPE(x{of(shape)}, out_type=INT32)", *picked]
    if joined and "left:const:int32[]{-1}" not in parts[:2]:
        lines.append("both:int32[] = MUL(p0, p1)")
        parts[:2] = ["both"]
    count = len(parts)
    lines.append(f"t:int32[{count}] = PACK({', '.join(parts)}, axis=0, values_count={count})")
    return "\n".join([*lines, f"y{free(count)} = RESHAPE(x, t)"])


def select_rows(choose: random.Random) -> str:
    shape = sizes(choose, 1, 3)
    condition = choose.choice((shape, shape[:1]))
    return f"y{free(len(shape))} = SELECT(c:bool{of(condition)}, x{of(shape)}, z{of(shape)})"


def diagonal(choose: random.Random) -> str:
    shape = sizes(choose, 1, 3)
    return f"y{free(len(shape) + 1)} = MATRIX_DIAG(x{of(shape)})"


def scatter(choose: random.Random) -> str:
    shape, count = sizes(choose, 1, 3), choose.randint(1, 3)
    depth = choose.randint(1, len(shape))
    indices = held("i", [0] * (count * depth), shape=[count, depth])
    return f"y{free(len(shape))} = SCATTER_ND({indices}, x{of([count, *shape[depth:]])}, {held('s', shape)})"


def embedding(choose: random.Random) -> str:
    table = sizes(choose, 2, 3)
    ids = held("i", [choose.randrange(table[0]) for _ in range(choose.randint(1, 5))])
    return f"y{free(len(table))} = EMBEDDING_LOOKUP({ids}, w:const{of(table)})"


RANDOM: Mapping[str, Kind] = {
    **{op: segments(op) for op in (f"UNSORTED_SEGMENT_{how}" for how in ("SUM", "PROD", "MAX", "MIN"))},
    "SEGMENT_SUM": segment_sum, "segments of a shape": segmented_shape, "RANGE of sizes": ranges_of_sizes,
    "blocks of a padded axis": padded_blocks, "RESHAPE to what is packed": packed_reshape, "SELECT": select_rows,
    "MATRIX_DIAG": diagonal, "SCATTER_ND": scatter, "EMBEDDING_LOOKUP": embedding,
    **{op: pool(op) for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")},
    **{op: resize(op) for op in ("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")},
    **{op: blocks(op) for op in ("SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND")},
    **{op: depths(op) for op in ("SPACE_TO_DEPTH", "DEPTH_TO_SPACE")},
    **{op: pad(op) for op in ("PAD", "PADV2", "MIRROR_PAD")},
    **{op: reduction(op) for op in "MEAN SUM REDUCE_PROD REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL".split()},
    **{op: arg_reduction(op) for op in ("ARG_MAX", "ARG_MIN")},
    **{op: elementwise(op) for op in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "POW", "SQUARED_DIFFERENCE")},
    **{op: same(op) for op in "NEG SOFTMAX LOG_SOFTMAX L2_NORMALIZATION RELU LOGISTIC".split()},
    "CUMSUM": same("CUMSUM", ", a:const:int32[]{0}"), "REVERSE_V2": same("REVERSE_V2", ", a:const:int32[1]{0}"),
    "CONV_2D": convolution, "DEPTHWISE_CONV_2D": depthwise, "TRANSPOSE_CONV": transpose_conv,
    "STRIDED_SLICE": strided_slice, "SLICE": slices, "RANGE": ranges, "RANGE of floats": float_ranges,
    "sizes through another type": cast_sizes, "sizes that wrap": wrapped_sizes,
    "sizes that are computed": size_arithmetic,
    "TILE": tile, "SPLIT": split, "SPLIT_V": split_v, "PACK": pack, "UNPACK": unpack, "ONE_HOT": one_hot,
    "WHERE": where, "GATHER": gather, "GATHER_ND": gather_nd, "CONCATENATION": concatenation, "TRANSPOSE": transpose,
    "EXPAND_DIMS": expand_dims, "SQUEEZE": squeeze, "RESHAPE": reshape, "BROADCAST_TO": broadcast_to,
    "SELECT_V2": select, "BATCH_MATMUL": products, "FULLY_CONNECTED": fully_connected, "TOPK_V2": top_k,
    "BROADCAST_ARGS": arguments, "RFFT2D": spectrum,
}  # fmt: skip
"""By the operator, or by what is done with sizes."""
