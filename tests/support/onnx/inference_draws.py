"""Random calls of standard operators whose results' sizes are computed of attributes or of operands' values.

scripts/wrong_inference.py compares what is inferred of these calls at load with what a run returns. The variations of
tests/support/audit_trials.py rarely reach what is drawn here: huge bounds, odd equations, windows in the padding.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from onnx import AttributeProto, helper

from tests.support.onnx.contrib_calls.drawing import Call, Draw, Draws, scalar, vector

INT32, INT64 = 2**31 - 1, 2**63 - 1
BOUNDS = (-INT64 - 1, -INT64, -INT32 - 1, -INT32, -9, -3, -2, -1, 0, 1, 2, 3, 9, INT32, INT32 + 1, INT64)
MOST_SPATIAL = 3


def _window(draw: Draw, rank: int, **more: object) -> dict[str, object]:
    """Attributes of a sliding window over `rank` axes."""
    kernel = [draw.random.randint(1, 3) for _ in range(rank)]
    found: dict[str, object] = {"kernel_shape": kernel, **more}
    found |= draw.some(strides=[draw.random.randint(1, 4) for _ in range(rank)])
    roll = draw.random.random()
    if roll < 0.4:
        found["pads"] = [draw.random.randint(0, max(kernel[at % rank] - 1, 0)) for at in range(2 * rank)]
    if 0.35 < roll < 0.7:  # seldom beside pads
        found["auto_pad"] = draw.pick("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    return found


def _dilations(draw: Draw, rank: int) -> dict[str, object]:
    return draw.some(dilations=[draw.random.randint(1, 3) for _ in range(rank)])


def _pool(name: str, dilated: Mapping[int, bool], ceil: Mapping[int, bool]) -> Draws:
    def draw_pool(draw: Draw) -> Call:
        version, rank = draw.pick(*dilated), draw.random.randint(1, MOST_SPATIAL)
        attributes = _window(draw, rank)
        if ceil[version]:
            attributes |= draw.some(ceil_mode=1)
        if dilated[version]:
            attributes |= _dilations(draw, rank)
        results = (True, draw.chance(0.3)) if name == "MaxPool" and version > 7 else (True,)
        return Call([draw.numbers([1, 2, *draw.sizes(rank, 1, 9)])], attributes, results, version=version)

    return draw_pool


def _conv(draw: Draw) -> Call:
    rank, group = draw.random.randint(1, MOST_SPATIAL), draw.random.randint(1, 2)
    attributes = _window(draw, rank, group=group) | _dilations(draw, rank)
    weights = [2 * group, draw.size(1, 2), *attributes["kernel_shape"]]  # type: ignore[misc]  # a list
    if draw.chance(0.3):
        attributes.pop("kernel_shape")
    data = draw.numbers([draw.size(0, 2), weights[1] * group, *draw.sizes(rank, 1, 9)])
    return Call([data, draw.numbers(weights)], attributes, version=draw.pick(7, 11, 22))


def _conv_transpose(draw: Draw) -> Call:
    rank, group = draw.random.randint(1, MOST_SPATIAL), draw.random.randint(1, 2)
    attributes = _window(draw, rank, group=group)
    strides = attributes.get("strides", [1] * rank)
    attributes |= _dilations(draw, rank) if draw.chance(0.4) else {}
    if draw.chance(0.4):
        attributes["output_padding"] = [draw.random.randint(0, max(it - 1, 0)) for it in strides]  # type: ignore[attr-defined]
    sizes, kernel = draw.sizes(rank, 1, 5), attributes["kernel_shape"]
    if draw.chance(0.3):
        reach = [stride * (size - 1) + length for stride, size, length in zip(strides, sizes, kernel, strict=True)]  # type: ignore[call-overload]
        attributes["output_shape"] = [max(it - draw.pick(0, 0, 1, 2), 1) for it in reach]
    weights = [2 * group, draw.size(1, 2), *kernel]  # type: ignore[misc]  # a list
    if draw.chance(0.3):
        attributes.pop("kernel_shape")
    data = draw.numbers([draw.size(1, 2), weights[0], *sizes])
    return Call([data, draw.numbers(weights)], attributes, version=draw.pick(7, 11, 22))


def _slice(draw: Draw) -> Call:
    version, shape, kind = draw.pick(10, 11, 13), draw.sizes(draw.random.randint(1, 3)), draw.pick("int32", "int64")
    count = draw.random.randint(1, len(shape))
    chosen = draw.random.sample(range(len(shape)), count)
    axes = [axis - len(shape) if draw.chance(0.3) else axis for axis in chosen]
    limits = np.iinfo(kind)
    bounds = [it for it in BOUNDS if limits.min <= it <= limits.max]
    starts, ends = ([draw.pick(*bounds) for _ in range(count)] for _ in range(2))
    steps = [draw.pick(1, 1, 2, -1, -1, -2, -3, limits.max, limits.min + 1) for _ in range(count)]
    if draw.chance(0.3):  # backwards, to before the first element
        ends, steps = [draw.pick(limits.max, INT32, limits.min) for _ in range(count)], [-1] * count
    operands = [draw.numbers(shape), *(vector(*it, kind=kind) for it in (starts, ends, axes, steps))]
    if draw.chance(0.2) and count == len(shape):
        operands = operands[:3]
    elif draw.chance(0.2):
        operands = operands[:4]
    return Call(operands, constants=frozenset(range(1, len(operands))), version=version)


def _einsum(draw: Draw) -> Call:
    """A random equation: letters may occur twice in a term, terms may have an ellipsis, the result may be implicit."""
    letters = draw.pick("ij", "ijk", "abc", "aBc")
    terms = []
    for _ in range(draw.pick(1, 2, 2, 3)):
        term = [draw.random.choice(letters) for _ in range(draw.random.randint(0, 3))]
        if draw.chance(0.4):
            term.insert(draw.random.randint(0, len(term)), "...")
        terms.append(term)
    sizes = {letter: draw.size(1, 4) for letter in letters}
    middle = draw.sizes(draw.random.randint(0, 2), 1, 3)
    operands = []
    for term in terms:
        shape: list[int] = []
        for part in term:
            shape += draw.broadcast(middle) if part == "..." else [1 if draw.chance(0.1) else sizes[part]]
        operands.append(draw.numbers(shape))
    equation = draw.pick(",", ", ").join(map("".join, terms))
    if draw.chance():
        used = sorted({part for term in terms for part in term if part != "..."})
        result = draw.random.sample(used, draw.random.randint(0, len(used)))
        if draw.chance(0.5 if any("..." in term for term in terms) else 0):
            result.insert(draw.random.randint(0, len(result)), "...")
        equation += draw.pick("->", " -> ") + "".join(result)
    return Call(operands, {"equation": equation}, version=12)


def _resize(draw: Draw) -> Call:
    version, rank = draw.pick(10, 11, 13, 18, 19), draw.pick(2, 4, 4, 3)
    shape = draw.sizes(rank, 1, 7)
    attributes: dict[str, object] = draw.some(mode=draw.pick("nearest", "linear", "cubic"))
    factors = [draw.pick(0.3, 0.5, 0.6, 0.7, 1.0, 1.1, 1.5, 2.0, 2.6, 3.3, 0.9999, 1 / 3) for _ in shape]
    if rank > 2 and draw.chance(0.7):
        factors[:2] = [1.0, 1.0]
    if version == 10:
        return Call(
            [draw.numbers(shape), vector(*factors, kind="float32")], attributes, constants=frozenset([1]), version=10
        )
    attributes |= draw.some(
        coordinate_transformation_mode=draw.pick(
            "half_pixel",
            "asymmetric",
            "align_corners",
            "pytorch_half_pixel",
            "tf_crop_and_resize",
            "half_pixel_symmetric",
        ),
        nearest_mode=draw.pick("floor", "ceil", "round_prefer_floor"),
    )
    chosen = list(range(rank))
    if version >= 18:
        attributes |= draw.some(antialias=1)
        if draw.chance():
            chosen = draw.random.sample(range(rank), draw.random.randint(1, rank))
            attributes["axes"] = [axis - rank if draw.chance(0.2) else axis for axis in chosen]
        attributes |= draw.some(keep_aspect_ratio_policy=draw.pick("stretch", "not_larger", "not_smaller"))
    cropped = attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    area = [draw.pick(0.0, 0.1, 0.25) for _ in chosen] + [draw.pick(0.6, 0.75, 1.0) for _ in chosen]
    region = vector(*(area if cropped else []), kind="float32")
    if draw.chance(0.4):
        sizes = vector(*(draw.size(1, 9) for _ in chosen))
        return Call([draw.numbers(shape), region, vector(kind="float32"), sizes], attributes,
                    constants=frozenset([1, 2, 3]), version=version)  # fmt: skip
    attributes.pop("keep_aspect_ratio_policy", None)
    scales = vector(*(factors[axis] for axis in chosen), kind="float32")
    return Call([draw.numbers(shape), region, scales], attributes, constants=frozenset([1, 2]), version=version)


def _upsample(draw: Draw) -> Call:
    shape = draw.sizes(4, 1, 7)
    factors = [1.0, 1.0, *(draw.pick(1.0, 1.1, 1.5, 2.0, 2.6, 3.3, 4 / 3) for _ in range(2))]
    mode = draw.some(mode=draw.pick("nearest", "linear"))
    if draw.chance():
        return Call([draw.numbers(shape)], mode | {"scales": factors}, version=7)
    return Call([draw.numbers(shape), vector(*factors, kind="float32")], mode, constants=frozenset([1]), version=9)


def _range(draw: Draw) -> Call:
    kind = draw.pick("float32", "float64", "int32", "int64", "int16")
    whole = np.dtype(kind).kind == "i"
    low = draw.random.randint(-5, 5) if whole else draw.pick(0.0, 0.1, -1.0, 0.3)
    step = draw.pick(1, 2, -1, -2, 3, -7) if whole else draw.pick(0.1, 0.3, 0.7, -0.1, 1.0, 0.05, 1 / 3)
    high = low + step * draw.random.randint(-2, 30) + (draw.pick(0, 0, 1) if whole else 0)
    return Call([scalar(it, kind) for it in (low, high, step)], constants=frozenset(range(3)), version=11)


def _center_crop_pad(draw: Draw) -> Call:
    shape = draw.shape(1, 4)
    axes = draw.random.sample(range(len(shape)), draw.random.randint(1, len(shape)))
    given = draw.chance(0.6)
    attributes = {"axes": [axis - len(shape) if draw.chance(0.3) else axis for axis in axes]} if given else {}
    count = len(axes) if given else len(shape)
    sizes = [-draw.size(1, 2) if draw.chance(0.05) else size for size in draw.sizes(count, 1, 7)]
    return Call([draw.numbers(shape), vector(*sizes)], attributes,
                constants=frozenset([1]), version=18)  # fmt: skip


def _col2im(draw: Draw) -> Call:
    rank = draw.random.randint(1, 3)
    image, block = draw.sizes(rank, 2, 6), draw.sizes(rank, 1, 2)
    attributes = _dilations(draw, rank) | draw.some(
        pads=[draw.random.randint(0, 1) for _ in range(2 * rank)],
        strides=[draw.random.randint(1, 2) for _ in range(rank)],
    )
    pads, strides = attributes.get("pads", [0] * 2 * rank), attributes.get("strides", [1] * rank)
    dilations = attributes.get("dilations", [1] * rank)
    columns = 1
    for at in range(rank):
        reach = dilations[at] * (block[at] - 1) + 1  # type: ignore[index]  # a list
        columns *= max((image[at] + pads[at] + pads[at + rank] - reach) // strides[at] + 1, 0)  # type: ignore[index]
    data = draw.numbers([draw.size(0, 2), draw.size(1, 3) * int(np.prod(block)), columns])
    return Call([data, vector(*image), vector(*block)], attributes, constants=frozenset([1, 2]), version=18)


def _dft(draw: Draw) -> Call:
    version, rank = draw.pick(17, 20), draw.random.randint(1, 3)
    shape = [*draw.sizes(rank + 1, 1, 6), draw.pick(1, 2)]
    attributes: dict[str, object] = draw.some(onesided=draw.pick(0, 1), inverse=draw.pick(0, 1))
    axis = draw.random.randint(-len(shape), len(shape) - 2)
    length = draw.maybe(scalar(draw.size(1, 9), "int64"))
    operands: list[object] = [draw.numbers(shape), length]
    if version == 17:
        attributes |= draw.some(axis=axis)
    else:
        operands += [draw.maybe(scalar(axis, "int64"))]
    while operands[-1] is None:
        operands.pop()
    return Call(operands, attributes, constants=frozenset(range(1, len(operands))), version=version)


def _stft(draw: Draw) -> Call:
    length, frame = draw.size(4, 12), draw.size(2, 4)
    window = draw.maybe(draw.positive(frame))
    operands: list[object] = [
        draw.numbers([draw.size(1, 2), length, draw.pick(1, 2)]),
        scalar(draw.size(1, 3), "int64"),
        window,
    ]
    if window is None or draw.chance():
        operands.append(scalar(frame, "int64"))
    return Call(operands, draw.some(onesided=draw.pick(0, 1)), constants=frozenset([1, 3]), version=17)


def _recurrent(gates: int, results: int) -> Draws:
    def draw_recurrent(draw: Draw) -> Call:
        version, layout, hidden = draw.pick(7, 14, 22), draw.pick(0, 1), draw.size(1, 3)
        direction = draw.pick("forward", "reverse", "bidirectional")
        count = 2 if direction == "bidirectional" else 1
        length, batch, size = draw.size(1, 4), draw.size(1, 3), draw.size(1, 3)
        attributes: dict[str, object] = {"hidden_size": hidden, "direction": direction}
        attributes |= {"layout": layout} if version > 7 and draw.chance(0.8) else {}
        data = [batch, length, size] if attributes.get("layout") else [length, batch, size]
        rows = gates * hidden
        weights = [draw.numbers([count, rows, size]), draw.numbers([count, rows, hidden])]
        named = [draw.chance(0.7) for _ in range(results)]
        return Call(
            [draw.numbers(data), *weights],
            attributes,
            tuple(named) if any(named) else (True,) * results,
            version=version,
        )

    return draw_recurrent


def _unique(draw: Draw) -> Call:
    data = draw.numbers(draw.shape(1, 3), draw.pick("float32", "int64"))
    attributes = draw.some(sorted=draw.pick(0, 1), axis=draw.axis(data.ndim))
    return Call([data], attributes, draw.named(1, 3), version=11)


def _pad(draw: Draw) -> Call:
    version, shape = draw.pick(11, 13, 18, 19, 21, 23), draw.shape(1, 3)
    axes = list(range(len(shape)))
    operands: list[object] = [draw.numbers(shape)]
    if version >= 18 and draw.chance():
        axes = draw.random.sample(axes, draw.random.randint(1, len(shape)))
    pads = [draw.pick(0, 1, 2, -1, 3) for _ in range(2 * len(axes))]
    operands += [vector(*pads), None, vector(*axes)] if len(axes) < len(shape) else [vector(*pads)]
    modes = ("constant", "reflect", "edge", *(("wrap",) if version >= 19 else ()))
    return Call(operands, draw.some(mode=draw.pick(*modes)), constants=frozenset([1, 3]), version=version)


def _split(draw: Draw) -> Call:
    version, shape = draw.pick(11, 13, 18), draw.sizes(draw.random.randint(1, 3), 1, 9)
    axis, count = draw.axis(len(shape)), draw.random.randint(1, 4)
    size = shape[axis]
    cuts = sorted(draw.random.randint(0, size) for _ in range(count - 1))
    parts = [end - start for start, end in zip([0, *cuts], [*cuts, size], strict=True)]
    results, explicit = (True,) * count, draw.chance()
    attributes: dict[str, object] = {"axis": axis}
    if explicit and version == 11:
        attributes["split"] = parts
    elif explicit:
        return Call(
            [draw.numbers(shape), vector(*parts)], attributes, results, constants=frozenset([1]), version=version
        )
    if not explicit and version == 18:
        attributes["num_outputs"] = count
    return Call([draw.numbers(shape)], attributes, results, version=version)


def _reshape(draw: Draw) -> Call:
    version, shape = draw.pick(7, 13, 14, 19, 21, 23, 24), draw.shape(0, 4)
    total, target = int(np.prod(shape)), []
    for size in draw.random.sample(shape, len(shape)):
        target += [size] if draw.chance(0.8) else [1, size]
    if target and draw.chance():
        target[draw.random.randrange(len(target))] = -1
    if total and draw.chance(0.3):
        target = [draw.pick(0, it) if at < len(shape) and it == shape[at] else it for at, it in enumerate(target)]
    attributes = draw.some(allowzero=draw.pick(0, 1)) if version >= 14 else {}
    return Call([draw.numbers(shape), vector(*target)], attributes, constants=frozenset([1]), version=version)


def _max_unpool(draw: Draw) -> Call:
    rank, version = draw.random.randint(1, 3), draw.pick(9, 11, 22)
    attributes = {"kernel_shape": [2] * rank} | draw.some(
        strides=[2] * rank, pads=[draw.pick(0, 0, 1) for _ in range(2 * rank)]
    )
    shape = [1, 1, *draw.sizes(rank, 1, 3)]
    operands: list[object] = [draw.numbers(shape), np.arange(np.prod(shape), dtype=np.int64).reshape(shape)]
    if draw.chance():
        operands.append(vector(1, 1, *(2 * it + draw.pick(0, 1, 2) for it in shape[2:])))
    return Call(operands, attributes, constants=frozenset([2]), version=version)


def _reduce(version: int, *more: int) -> Draws:
    def draw_reduce(draw: Draw) -> Call:
        chosen, shape = draw.pick(version, *more), draw.shape(0, 4)
        axes = [axis - len(shape) * draw.pick(0, 1) for axis in range(len(shape)) if draw.chance(0.4)]
        attributes: dict[str, object] = draw.some(keepdims=draw.pick(0, 1))
        if chosen >= 18:
            attributes |= draw.some(noop_with_empty_axes=draw.pick(0, 1))
            operands = [draw.numbers(shape), vector(*axes)] if draw.chance(0.8) else [draw.numbers(shape)]
            return Call(operands, attributes, constants=frozenset([1]), version=chosen)
        return Call([draw.numbers(shape)], attributes | ({"axes": axes} if axes else {}), version=chosen)

    return draw_reduce


def _sequence_at(draw: Draw) -> Call:
    return Call([_tensors(draw), scalar(draw.pick(0, -1, 1), "int64")], constants=frozenset([1]), version=11)


def _tensors(draw: Draw) -> list[object]:
    """Two or three tensors of one rank, sometimes of one shape."""
    shape = draw.shape(1, 3)
    count = draw.random.randint(2, 3)
    return [draw.numbers(shape if draw.chance(0.8) else [max(it, 1) for it in shape]) for _ in range(count)]


def _concat_from_sequence(draw: Draw) -> Call:
    given = _tensors(draw)
    rank = np.ndim(given[0])  # type: ignore[arg-type]  # an array
    joined = draw.pick(0, 1)
    attributes = {"axis": draw.random.randint(-rank - joined, rank - 1 + joined)}
    return Call([given], attributes | draw.some(new_axis=joined), version=11)


def _split_to_sequence(draw: Draw) -> Call:
    shape = draw.sizes(draw.random.randint(1, 3), 1, 7)
    axis, attributes = draw.axis(len(shape)), draw.some(keepdims=draw.pick(0, 1))
    attributes["axis"] = axis
    roll = draw.random.random()
    if roll < 0.4:
        return Call([draw.numbers(shape)], attributes, version=11)
    if roll < 0.8:
        return Call(
            [draw.numbers(shape), scalar(draw.size(1, 3), "int64")], attributes, constants=frozenset([1]), version=11
        )
    first = draw.random.randint(0, shape[axis])
    parts = vector(first, shape[axis] - first)
    return Call([draw.numbers(shape), parts], attributes, constants=frozenset([1]), version=11)


def _typed(name: str, shape: list[int | str] | None = None) -> object:
    return helper.make_tensor_value_info(name, 1, shape)


def _if(draw: Draw) -> Call:
    """Two branches whose results have sizes of their own; the inference of If joins the two."""
    made = []
    rank = draw.random.randint(0, 3)
    for name in ("a", "b"):
        sizes = draw.sizes(rank if draw.chance(0.7) else draw.random.randint(0, 3), 1, 3)
        body = helper.make_node("ConstantOfShape", ["s"], ["y"])
        held = helper.make_tensor("s", 7, [len(sizes)], sizes)
        made.append(helper.make_graph([body], name, [], [_typed("y", draw.maybe(sizes, 0.3))], [held]))  # type: ignore[arg-type]
    return Call(
        [np.array(draw.chance())],
        {"then_branch": made[0], "else_branch": made[1]},
        version=draw.pick(7, 11, 13, 16, 19, 21, 23),
    )


def _loop(draw: Draw) -> Call:
    """A state that may grow, a state that stays, and what is stacked of each trip."""
    grow = draw.chance()
    nodes = [
        helper.make_node("Concat", ["x", "x"], ["z"], axis=0) if grow else helper.make_node("Identity", ["x"], ["z"]),
        helper.make_node("Identity", ["c"], ["d"]),
        helper.make_node("Identity", [draw.pick("x", "z")], ["w"]),
    ]
    shape = draw.sizes(draw.random.randint(1, 2), 1, 3)
    told = draw.chance(0.4)
    state = _typed("x", shape if told else None)  # type: ignore[arg-type]
    inputs = [helper.make_tensor_value_info("i", 7, []), helper.make_tensor_value_info("c", 9, []), state]
    outputs = [helper.make_tensor_value_info("d", 9, []), _typed("z"), _typed("w")]
    body = helper.make_graph(nodes, "body", inputs, outputs)  # type: ignore[arg-type]
    trips = draw.pick(0, 1, 2) if not grow or "x" not in nodes[2].input else draw.pick(0, 1)
    operands = [scalar(trips, "int64"), np.array(draw.chance(0.8)), draw.numbers(shape)]
    constants = frozenset([0, 1]) if draw.chance(0.7) else frozenset([0])
    return Call(operands, {"body": body}, (True, True), constants=constants, version=draw.pick(11, 13, 16, 19, 21, 23))


def _scan(draw: Draw) -> Call:
    """A state and the slices along an axis, stacked along an axis."""
    shape = draw.sizes(draw.random.randint(1, 3), 1, 4)
    state = draw.shape(0, 2)
    nodes = [helper.make_node("Identity", ["s"], ["t"]), helper.make_node("Identity", ["x"], ["w"])]
    if draw.chance(0.3):
        nodes[0] = helper.make_node("Unsqueeze", ["s"], ["t"], axes=[0])
        nodes[0] = (
            helper.make_node("Shape", ["x"], ["t"]) if draw.chance(0) else helper.make_node("Identity", ["s"], ["t"])
        )
    body = helper.make_graph(nodes, "body", [_typed("s"), _typed("x")], [_typed("t"), _typed("w")])  # type: ignore[list-item]
    attributes: dict[str, object] = {"body": body, "num_scan_inputs": 1}
    attributes |= draw.some(
        scan_input_axes=[draw.axis(len(shape))], scan_output_axes=[draw.axis(len(shape))], scan_input_directions=[1]
    )
    return Call(
        [draw.numbers(state), draw.numbers(shape)], attributes, (True, True), version=draw.pick(9, 11, 16, 19, 21, 23)
    )


def _window_function(draw: Draw) -> Call:
    return Call([scalar(draw.size(0, 9), draw.pick("int32", "int64"))], draw.some(periodic=draw.pick(0, 1)),
                constants=frozenset([0]), version=17)  # fmt: skip


def _constants_text(draw: Draw) -> Call:
    attribute = helper.make_attribute(
        "value_ints", draw.sizes(draw.random.randint(0, 3)), attr_type=AttributeProto.INTS
    )
    return Call(
        [], {"value_ints": attribute.ints} if attribute.ints else {"value_int": 3}, version=draw.pick(12, 13, 19)
    )


def _grid_sample(draw: Draw) -> Call:
    rank = draw.pick(2, 2, 3)
    grid = draw.sizes(rank + 1, 1, 4)
    data = [grid[0], draw.size(1, 2), *draw.sizes(rank, 1, 4)]
    return Call([draw.numbers(data), draw.numbers([*grid, rank])], version=draw.pick(16, 20, 22) if rank == 2 else 20)


def _affine_grid(draw: Draw) -> Call:
    rank, batch = draw.pick(2, 3), draw.size(1, 3)
    size = vector(batch, draw.size(1, 3), *draw.sizes(rank, 1, 4))
    return Call([draw.numbers([batch, rank, rank + 1]), size], draw.some(align_corners=draw.pick(0, 1)),
                constants=frozenset([1]), version=20)  # fmt: skip


def _one_hot(draw: Draw) -> Call:
    shape, depth = draw.shape(0, 3), draw.size(1, 5)
    count = scalar(depth, "int64") if draw.chance() else vector(depth)
    axis = draw.random.randint(-len(shape) - 1, len(shape))
    return Call([draw.numbers(shape, "int64"), count, vector(0, 1, kind="float32")], draw.some(axis=axis),
                constants=frozenset([1]), version=draw.pick(9, 11))  # fmt: skip


def _depth(space: int) -> Draws:
    def draw_depth(draw: Draw) -> Call:
        block = draw.random.randint(1, 3)
        sizes = draw.sizes(2, 0, 4)
        if space:
            shape = [draw.size(1, 2), draw.size(1, 3), *(it * block + draw.pick(0, 0, 1) for it in sizes)]
            return Call([draw.numbers(shape)], {"blocksize": block}, version=draw.pick(7, 13))
        channels = draw.size(1, 3) * block * block + draw.pick(0, 0, 1)
        return Call([draw.numbers([1, channels, *sizes])], {"blocksize": block}, version=draw.pick(7, 11, 13))

    return draw_depth


def _tile(draw: Draw) -> Call:
    shape = draw.shape(1, 3)
    repeats = [draw.pick(0, 1, 2, 3) for _ in shape]
    return Call([draw.numbers(shape), vector(*repeats)], constants=frozenset([1]), version=draw.pick(7, 13))


def _expand(draw: Draw) -> Call:
    shape = draw.shape(0, 3)
    target = [draw.pick(1, it) if it != 1 else draw.size() for it in shape]
    target = (
        [*draw.sizes(draw.random.randint(0, 2)), *target]
        if draw.chance()
        else target[draw.random.randint(0, len(target)) :]
    )
    return Call([draw.numbers(shape), vector(*target)], constants=frozenset([1]), version=draw.pick(8, 13))


def _squeeze(draw: Draw) -> Call:
    version, shape = draw.pick(11, 13, 21, 23, 24), [draw.pick(1, 1, 2) for _ in range(draw.random.randint(0, 4))]
    ones = [axis - len(shape) * draw.pick(0, 1) for axis, it in enumerate(shape) if it == 1 and draw.chance()]
    if version == 11 or not ones:
        return Call([draw.numbers(shape)], {"axes": ones} if ones and version == 11 else {}, version=version)
    return Call([draw.numbers(shape), vector(*ones)], constants=frozenset([1]), version=version)


def _unsqueeze(draw: Draw) -> Call:
    version, shape = draw.pick(7, 11, 13, 21, 23, 24), draw.shape(0, 3)
    count = draw.random.randint(1, 2)
    rank = len(shape) + count
    axes = [axis - rank * draw.pick(0, 1) for axis in draw.random.sample(range(rank), count)]
    if version <= 11:
        return Call([draw.numbers(shape)], {"axes": axes}, version=version)
    return Call([draw.numbers(shape), vector(*axes)], constants=frozenset([1]), version=version)


def _shape(draw: Draw) -> Call:
    version, data = draw.pick(7, 13, 15, 19, 21, 23, 24), draw.numbers(draw.shape(0, 4))
    bounds = draw.some(start=draw.pick(-9, -2, -1, 0, 1, 2, 9), end=draw.pick(-9, -2, -1, 0, 1, 2, 9))
    return Call([data], bounds if version >= 15 else {}, version=version)


def _rois(op: str) -> Draws:
    def draw_rois(draw: Draw) -> Call:
        data, count = draw.numbers([draw.size(1, 2), draw.size(1, 2), 5, 5]), draw.size(0, 3)
        if op == "MaxRoiPool":
            regions = np.array([[0, 0, 0, 3, 3]] * count, np.float32).reshape(count, 5)
            return Call([data, regions], {"pooled_shape": draw.sizes(2, 1, 3)}, version=draw.pick(7, 22))
        attributes = draw.some(output_height=draw.size(1, 3), output_width=draw.size(1, 3), sampling_ratio=2)
        return Call([data, np.array([[0, 0, 3, 3]] * count, np.float32).reshape(count, 4), np.zeros(count, np.int64)],
                    attributes, version=draw.pick(10, 16, 22))  # fmt: skip

    return draw_rois


def _prelu(draw: Draw) -> Call:
    """A slope that broadcasts to the operand, or seldom an operand that is stretched by the slope."""
    shape = draw.shape(0, 3)
    operands = [draw.numbers(shape), draw.numbers(draw.broadcast(shape))]
    return Call(operands[::-1] if draw.chance(0.2) else operands, version=draw.pick(7, 9, 16))


def _non_zero(draw: Draw) -> Call:
    return Call([draw.numbers(draw.shape(0, 3), draw.pick("float32", "bool", "int64"))], version=draw.pick(9, 13))


def _matmul(draw: Draw) -> Call:
    one, inner, batch = draw.size(), draw.size(), draw.sizes(draw.random.randint(0, 2))
    left = [inner] if draw.chance(0.2) else [*draw.broadcast(batch), one, inner]
    right = [inner] if draw.chance(0.2) else [*draw.broadcast(batch), inner, draw.size()]
    return Call([draw.numbers(left), draw.numbers(right)], version=draw.pick(7, 9, 13))


_REDUCED = "L1 L2 LogSum LogSumExp Max Mean Min Prod SumSquare".split()
DRAWS: Mapping[str, Draws] = {
    "MaxPool": _pool("MaxPool", {7: False, 8: False, 10: True, 11: True, 12: True, 22: True},
                     {7: False, 8: False, 10: True, 11: True, 12: True, 22: True}),
    "AveragePool": _pool("AveragePool", {7: False, 10: False, 11: False, 19: True, 22: True},
                         {7: False, 10: True, 11: True, 19: True, 22: True}),
    "LpPool": _pool("LpPool", {7: False, 11: False, 18: True, 22: True}, {7: False, 11: False, 18: True, 22: True}),
    "Conv": _conv, "ConvTranspose": _conv_transpose, "Slice": _slice, "Einsum": _einsum, "Resize": _resize,
    "Upsample": _upsample, "Range": _range, "CenterCropPad": _center_crop_pad, "Col2Im": _col2im, "DFT": _dft,
    "STFT": _stft, "GRU": _recurrent(3, 2), "LSTM": _recurrent(4, 3), "RNN": _recurrent(1, 2), "Unique": _unique,
    "Pad": _pad, "Split": _split, "Reshape": _reshape, "MaxUnpool": _max_unpool, "SequenceAt": _sequence_at,
    "ConcatFromSequence": _concat_from_sequence, "SplitToSequence": _split_to_sequence, "If": _if, "Loop": _loop,
    "Scan": _scan, "HannWindow": _window_function, "HammingWindow": _window_function,
    "BlackmanWindow": _window_function, "Constant": _constants_text, "GridSample": _grid_sample,
    "AffineGrid": _affine_grid, "OneHot": _one_hot, "SpaceToDepth": _depth(1), "DepthToSpace": _depth(0),
    "Tile": _tile, "Expand": _expand, "Squeeze": _squeeze, "Unsqueeze": _unsqueeze, "Shape": _shape,
    "RoiAlign": _rois("RoiAlign"), "MaxRoiPool": _rois("MaxRoiPool"), "MatMul": _matmul,
    "PRelu": _prelu,
    "NonZero": _non_zero,
    "ReduceSum": _reduce(7, 11), **{f"Reduce{name}": _reduce(7, 11, 13, 18) for name in _REDUCED},
}  # fmt: skip
"""By operator."""
