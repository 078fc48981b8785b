"""Random ONNX models of the kinds whose sizes are easily told wrong, each with what is fed to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnx import FunctionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

from tests.support.runtimes.onnx_runs import run

Array = NDArray[Any]


class Case(NamedTuple):
    """A model whose every value is an output, and its inputs."""

    proto: ModelProto
    feeds: Mapping[str, Array]


class Builder:
    """A model in the making: nodes one after another, inputs with numbers or names for sizes, constants."""

    def __init__(self, random: Random, opset: int) -> None:
        self.random, self.opset = random, opset
        self.nodes: list[NodeProto] = []
        self.inputs: list[ValueInfoProto] = []
        self.constants: list[TensorProto] = []
        self.functions: list[FunctionProto] = []
        self.feeds: dict[str, Array] = {}
        self.names: dict[int, str] = {}
        self.count = 0
        self.domains = {"": opset}

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def input(self, array: Array, *, open_sizes: float = 0.5) -> str:
        """An input that declares some sizes by name; equal sizes may have one name."""
        name = self.name()
        dims = [
            (self.names.setdefault(size, f"S{size}") if self.random.random() < 0.7 else None)
            if self.random.random() < open_sizes
            else size
            for size in array.shape
        ]
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
        self.feeds[name] = array
        return name

    def constant(self, value: Any, dtype: Any = np.int64) -> str:
        """An initializer, or a Constant node."""
        name = self.name()
        tensor = numpy_helper.from_array(np.asarray(value, dtype), name)
        if self.random.random() < 0.7:
            self.constants.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return name

    def operand(self, value: Any, dtype: Any = np.int64) -> str:
        """A constant mostly, sometimes an input of the same value."""
        if self.random.random() < 0.85:
            return self.constant(value, dtype)
        return self.input(np.asarray(value, dtype), open_sizes=0.2)

    def node(self, op: str, inputs: Sequence[str], results: int = 1, domain: str = "", **attributes: Any) -> list[str]:
        names = [self.name() for _ in range(results)]
        self.nodes.append(helper.make_node(op, inputs, names, domain=domain, **attributes))
        return names

    def case(self) -> Case:
        """The model: every result is an output without a stated type."""
        outputs = [ValueInfoProto(name=name) for node in self.nodes for name in node.output if name]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.constants)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.domains.items()]
        proto = helper.make_model(graph, opset_imports=imports, ir_version=9, functions=self.functions)
        return Case(proto, self.feeds)


def floats(*dims: int) -> Array:
    return np.ones(dims, np.float32)


def sizes(random: Random, rank: int, low: int = 1, high: int = 9) -> list[int]:
    return [random.randint(low, high) for _ in range(rank)]


# --- sizes through integer arithmetic ---------------------------------------------------------------------------------

INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.INT16, TensorProto.INT8) + (
    TensorProto.UINT64,
    TensorProto.UINT32,
    TensorProto.UINT16,
    TensorProto.UINT8,
)
TYPES = (*INTEGERS, TensorProto.BOOL, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)
FACTORS = (0, 1, 2, 3, 5, 7, 64, 100, 127, 128, 255, 256, 257, 300, 1000, 65536, 2**31, -1, -2, -7)


def arithmetic(random: Random) -> Case:
    """A shape through casts and arithmetic of any type; what comes out is a size."""
    b = Builder(random, random.choice([13, 14, 18, 19, 21]))
    dims = [random.choice([0, 1, 2, 3, 5, 8, 100, 127, 200, 255, 256, 300]) for _ in range(random.randint(1, 3))]
    vector = b.node("Shape", [b.input(np.empty(dims, np.bool_), open_sizes=0.4)])[0]
    kind = TensorProto.INT64
    for _ in range(random.randint(1, 6)):
        step = random.choice(["cast", "cast", "back", "pair", "pair", "gather", "slice", "concat", "reshape", "round"])
        if step == "cast":
            kind = random.choice(TYPES)
            vector = b.node("Cast", [vector], to=kind)[0]
        elif step == "back":
            kind = random.choice([TensorProto.INT64, TensorProto.INT32])
            vector = b.node("Cast", [vector], to=kind)[0]
        elif step == "pair" and kind != TensorProto.BOOL:
            vector = _pair(b, vector, kind)
        elif step == "gather":
            at = random.choice([[0], [0, 0], [-1], 0])
            vector = b.node("Gather", [vector, b.operand(at)], axis=random.choice([0, -1]))[0]
            if at == 0:
                vector = b.node("Unsqueeze", [vector, b.constant([0])])[0]
        elif step == "slice":
            bounds = [[random.randint(-2, 3)], [random.randint(-2, 4)], [random.choice([0, -1])]]
            bounds.append([random.choice([1, 1, 2, -1])])
            vector = b.node("Slice", [vector, *map(b.operand, bounds)])[0]
        elif step == "concat":
            vector = b.node("Concat", [vector, vector], axis=random.choice([0, -1]))[0]
        elif step == "reshape":
            flat = b.node("Reshape", [vector, b.constant([1, -1])])[0]
            vector = b.node("Squeeze", [flat, b.constant([0])])[0]
        elif step == "round" and kind == TensorProto.INT64:
            vector = b.node("Mod", [vector, b.constant([random.choice([2, 3, 100])])])[0]
    if kind != TensorProto.INT64:
        vector = b.node("Cast", [vector], to=TensorProto.INT64)[0]
    first = b.node("Slice", [vector, b.constant([0]), b.constant([1])])[0]
    if not _small(b, first):
        return b.case()
    use = random.choice(["ConstantOfShape", "Expand", "Tile", "Reshape", "Range"])
    if use == "ConstantOfShape":
        b.node(use, [first], value=helper.make_tensor("", TensorProto.BOOL, [1], [True]))
    elif use == "Expand":
        b.node(use, [b.constant([True], np.bool_), first])
    elif use == "Tile":
        b.node(use, [b.input(floats(random.randint(0, 3))), first])
    elif use == "Reshape":
        b.node(
            use,
            [b.input(floats(random.choice([0, 1, 2, 6, 44]))), b.node("Concat", [first, b.constant([-1])], axis=0)[0]],
        )
    else:
        limit = b.node("Squeeze", [first, b.constant([0])])[0]
        b.node(use, [b.constant(0), limit, b.constant(random.choice([1, 2, 3]))])
    return b.case()


def _small(b: Builder, size: str) -> bool:
    """Whether the size, which runs as a part of the model, is one that memory has room for."""
    built = b.case()
    try:
        found = run(built.proto, **built.feeds)
    except Exception:  # noqa: BLE001 -- onnxruntime's own classes; then nothing is run later either
        return False
    held = dict(zip([output.name for output in built.proto.graph.output], found, strict=True))[size]
    return bool((held <= 10**6).all())


def _pair(b: Builder, vector: str, kind: int) -> str:
    op = b.random.choice(["Add", "Sub", "Mul", "Div"])
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    factor = np.asarray([b.random.choice(FACTORS)]).astype(dtype)
    if op == "Div" and not factor[0]:
        factor = np.asarray([3]).astype(dtype)
    shape: Any = factor if b.random.random() < 0.7 else factor[0]
    operands = [vector, b.constant(shape, dtype)]
    return b.node(op, operands if op == "Div" or b.random.random() < 0.7 else operands[::-1])[0]


# --- windows ----------------------------------------------------------------------------------------------------------


def pools(random: Random) -> Case:
    """Pools of every padding, with ceil_mode and dilations where the operator has them."""
    op = random.choice(["MaxPool", "AveragePool", "LpPool"])
    b = Builder(random, random.choice([7, 8, 9, 10, 11, 12, 13, 18, 19, 21, 22]))
    rank = random.randint(1, 3)
    extents = sizes(random, rank, 1, 4)
    held: dict[str, Any] = {"kernel_shape": extents}
    if random.random() < 0.8:
        held["strides"] = sizes(random, rank, 1, 4)
    dilating = {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[op]
    if b.opset >= dilating and random.random() < 0.5:
        held["dilations"] = sizes(random, rank, 1, 3)
    if b.opset >= (18 if op == "LpPool" else 10) and random.random() < 0.6:
        held["ceil_mode"] = 1
    padding = random.choice(["", "", "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if padding:
        held["auto_pad"] = padding
    if padding in ("", "NOTSET") and random.random() < 0.7:
        held["pads"] = [random.randint(0, extents[at % rank] - 1) for at in range(2 * rank)]
    image = b.input(floats(random.randint(0, 2), random.randint(1, 2), *sizes(random, rank, 1, 9)), open_sizes=0.2)
    results = 2 if op == "MaxPool" and b.opset >= 8 and random.random() < 0.3 else 1
    y = b.node(op, [image], results, **held)[0]
    b.node("Relu", [y])
    return b.case()


def convolutions(random: Random) -> Case:
    """Conv and ConvTranspose of every padding, with output_shape and output_padding."""
    transposed = random.random() < 0.75
    b = Builder(random, random.choice([7, 9, 11, 13, 18, 22]))
    rank, group = random.randint(1, 2), random.choice([1, 1, 2])
    extents, channels = sizes(random, rank, 1, 4), 2
    weight = [channels, random.randint(1, 2), *extents] if transposed else [2 * group, channels // group, *extents]
    held: dict[str, Any] = {"group": group} if random.random() < 0.8 or group > 1 else {}
    if random.random() < 0.4:
        held["kernel_shape"] = extents
    if random.random() < 0.8:
        held["strides"] = sizes(random, rank, 1, 4)
    if random.random() < 0.4:
        held["dilations"] = sizes(random, rank, 1, 3)
    padding = random.choice(["", "", "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if padding:
        held["auto_pad"] = padding
    if random.random() < (0.6 if padding in ("", "NOTSET") else 0.1):
        held["pads"] = sizes(random, 2 * rank, 0, 2)
    if transposed and random.random() < 0.4:
        held["output_padding"] = sizes(random, rank, 0, 2)
    if transposed and random.random() < 0.4:
        held["output_shape"] = sizes(random, rank, 1, 12)
    image = b.input(floats(random.randint(0, 2), channels, *sizes(random, rank, 1, 7)), open_sizes=0.2)
    kernel = b.constant(floats(*weight), np.float32) if random.random() < 0.7 else b.input(floats(*weight))
    y = b.node("ConvTranspose" if transposed else "Conv", [image, kernel], **held)[0]
    b.node("Relu", [y])
    return b.case()


def resizes(random: Random) -> Case:
    """Upsample and Resize by scales or sizes, at fractions, of every coordinate mode."""
    b = Builder(random, random.choice([7, 8, 9, 10, 10, 11, 12, 13, 18, 19, 22]))
    dims = [1, 1, *sizes(random, 2, 1, 12)] if random.random() < 0.8 else sizes(random, random.randint(1, 3), 1, 9)
    image = b.input(floats(*dims), open_sizes=0.15)
    fraction = [random.choice([1.0, 2.0, 0.5, 0.6, 1.5, 1 / 3, 0.1, 0.7, 1.1, 3.3333]) for _ in dims]
    scales = [1.0 if len(dims) == 4 and at < 2 else scale for at, scale in enumerate(fraction)]
    mode = random.choice(["nearest", "linear"])
    if b.opset < 9:
        b.node("Upsample", [image], scales=[max(1.0, scale) for scale in scales], mode=mode)
    elif b.opset == 9:
        b.node("Upsample", [image, b.operand([max(1.0, scale) for scale in scales], np.float32)], mode=mode)
    elif b.opset == 10:
        b.node("Resize", [image, b.operand(scales, np.float32)], mode=mode)
    else:
        _resize(b, image, dims, scales)
    return b.case()


def _resize(b: Builder, image: str, dims: Sequence[int], scales: Sequence[float]) -> None:
    random = b.random
    modes = ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"]
    if b.opset >= 19:
        modes.append("half_pixel_symmetric")
    held: dict[str, Any] = {"coordinate_transformation_mode": random.choice(modes)}
    held["mode"] = random.choice(["nearest", "linear", "cubic"] if len(dims) == 4 else ["nearest"])
    if held["mode"] == "nearest":
        held["nearest_mode"] = random.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    axes = list(range(len(dims)))
    if b.opset >= 18 and random.random() < 0.4:
        axes = sorted(random.sample(axes, random.randint(1, len(axes))))
        held["axes"] = [axis - len(dims) if random.random() < 0.3 else axis for axis in axes]
    roi = ""
    if held["coordinate_transformation_mode"] == "tf_crop_and_resize":
        roi = b.operand([0.1] * len(axes) + [0.8] * len(axes), np.float32)
    if random.random() < 0.5:
        b.node("Resize", [image, roi, b.operand([scales[axis] for axis in axes], np.float32)], **held)
        return
    wanted = [dims[axis] if len(dims) == 4 and axis < 2 else random.randint(1, 9) for axis in axes]
    if b.opset >= 18 and random.random() < 0.4:
        held["keep_aspect_ratio_policy"] = random.choice(["stretch", "not_larger", "not_smaller"])
    b.node("Resize", [image, roi, "", b.operand(wanted)], **held)


# --- ranges, functions, parameters ------------------------------------------------------------------------------------


def ranges(random: Random) -> Case:
    """Range of every element type."""
    b = Builder(random, random.choice([11, 13, 18]))
    dtype = random.choice([np.int64, np.int32, np.int16, np.float32, np.float32, np.float64])
    if np.issubdtype(dtype, np.integer):
        start, limit, step = (random.randint(-9, 9) for _ in range(3))
        bounds: list[float] = [start, limit, step or 2]
    else:
        bounds = [random.choice([0.0, 1.0, -3.0, 0.1, 0.3]), random.choice([1.0, 0.9, 5.0, -2.0, 0.7])]
        bounds.append(random.choice([1.0, 0.1, 0.3, -0.1, 0.2, -1.0, 0.7]))
    y = b.node("Range", [b.operand(bound, dtype) for bound in bounds])[0]
    shape = b.node("Shape", [y])[0]
    b.node("ConstantOfShape", [shape])
    return b.case()


OPERATORS = ("Relu", "Sigmoid", "Gelu", "Identity", "FastGelu", "Own", "Transpose", "Shape", "Flatten", "Softmax")


def functions(random: Random) -> Case:
    """Local functions, many with a built-in's name, in domains of every kind."""
    b = Builder(random, 20)
    domain = random.choice(["", "ai.onnx", "com.microsoft", "local", "local", "local"])
    name = random.choice(OPERATORS)
    rank = random.randint(1, 3)
    x = b.input(floats(*sizes(random, rank, 1, 4)))
    body = [
        [helper.make_node("Concat", ["p", "p"], ["r"], axis=random.choice([0, -1]))],
        [helper.make_node("Neg", ["p"], ["r"])],
        [helper.make_node("Transpose", ["p"], ["t"]), helper.make_node("Abs", ["t"], ["r"])],
        [helper.make_node("Shape", ["p"], ["s"]), helper.make_node("ConstantOfShape", ["s"], ["r"])],
        [helper.make_node("Constant", [], ["c"], value_ints=[-1]), helper.make_node("Reshape", ["p", "c"], ["r"])],
    ]
    made = helper.make_function(domain, name, ["p"], ["r"], random.choice(body), [helper.make_opsetid("", 20)])
    b.functions.append(made)
    if domain not in ("", "ai.onnx"):
        b.domains[domain] = 1
    y = b.node(name, [x], domain=domain)[0]
    again = b.node(name, [y], domain=domain)[0] if random.random() < 0.5 else y
    b.node("Neg", [again])
    return b.case()


def parameters(random: Random) -> Case:
    """PRelu, LayerNormalization and others with parameters that may be larger than what they are applied to."""
    b = Builder(random, random.choice([17, 18, 23]))
    op = random.choice(["PRelu", "PRelu", "LayerNormalization", "Clip", "BatchNormalization", "Gemm", "Where"])
    dims = sizes(random, random.randint(1, 4), 1, 3)
    small = [random.choice([size, 1]) for size in dims[random.randint(0, len(dims)) :]]
    if random.random() < 0.4:
        dims, small = [random.choice([size, 1]) for size in dims], dims
    x = b.input(floats(*dims))
    if op == "PRelu":
        y = b.node(op, [x, b.operand(floats(*small), np.float32)])[0]
    elif op == "LayerNormalization":
        scale = b.operand(floats(*small), np.float32)
        y = b.node(op, [x, scale], random.choice([1, 3]), axis=random.randint(-len(dims), len(dims) - 1))[0]
    elif op == "Clip":
        y = b.node(op, [x, b.operand(0, np.float32)])[0]
    elif op == "Gemm":
        y = b.node(op, [b.input(floats(2, 3)), b.input(floats(3, 4)), b.operand(floats(*small), np.float32)])[0]
    elif op == "Where":
        y = b.node(op, [b.constant(True, np.bool_), x, b.operand(floats(*small), np.float32)])[0]
    else:
        held = [b.operand(floats(dims[1] if len(dims) > 1 else 1), np.float32) for _ in range(4)]
        y = b.node(op, [x, *held])[0]
    b.node("Neg", [y])
    return b.case()


KINDS: Mapping[str, Callable[[Random], Case]] = {
    "sizes through integer arithmetic": arithmetic,
    "pools": pools,
    "convolutions": convolutions,
    "resizes": resizes,
    "ranges": ranges,
    "functions": functions,
    "parameters": parameters,
}
