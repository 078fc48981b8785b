"""Models in which an explicit broadcast would have the shape that onnx infers wrongly of another value.

`KINDS` has nodes for lines of docs/load-inference.md. A model computes `v` by such a node, and beside it the sum of `z`
and a scalar. If the scalar is expanded to the shape of `z`, onnxruntime may put the result into the buffer of `v`.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import onnxruntime
from onnx import ModelProto, parser

Array: TypeAlias = "np.ndarray[Any, Any]"
PLACES = ("main", "if", "loop", "function")
CONSTANTS = {
    "zero": "int64[1] zero = {0}", "three": "int64[1] three = {3}", "back": "int64[1] back = {-1}",
    "far": "int64[1] far = {2147483647}", "farther": "int64[1] farther = {9223372036854775807}",
    "start": "float start = {0.1}", "limit": "float limit = {3.4}", "step": "float step = {0.3}",
    "slope": "float[2,1,1] slope = {1, 2}", "two_six": "int64[2] two_six = {2, 6}", "none": "float[0] none = {}",
    "scale": "float[4] scale = {1, 1, 2.6, 1}", "one_empty": "float[5,1,0,5] one_empty = {}",
    "minus": "int64[1] minus = {-1}", "g": "float[2,4] g = {1,1,1,1,1,1,1,1}",
}  # fmt: skip


class Kind(NamedTuple):
    """A node whose result is inferred wrongly."""

    inputs: dict[str, tuple[int, ...]]
    node: str
    told: tuple[int, ...]
    right: tuple[int, ...]
    opset: int = 18


POOL = "kernel_shape = [3], strides = [3], pads = [1, 1], ceil_mode = 1"
SAME = 'auto_pad = "SAME_UPPER"'
KINDS = {
    "max-pool": Kind({"x": (1, 1, 5)}, f"MaxPool <{POOL}> (x)", (1, 1, 3), (1, 1, 2)),
    "average-pool": Kind({"x": (1, 1, 5)}, f"AveragePool <{POOL}> (x)", (1, 1, 3), (1, 1, 2), 17),
    "lp-pool": Kind({"x": (1, 1, 5)}, f"LpPool <{POOL}> (x)", (1, 1, 3), (1, 1, 2), 20),
    "dilated-pool": Kind(
        {"x": (1, 1, 9)}, f"MaxPool <kernel_shape = [3], dilations = [2], {SAME}, strides = [2]> (x)", (1, 1, 5),
        (1, 1, 4), 22,
    ),
    "padded-pool": Kind(
        {"x": (1, 2, 5)}, 'MaxPool <kernel_shape = [3], auto_pad = "VALID", pads = [2, 2]> (x)', (1, 2, 7), (1, 2, 3)
    ),
    "rounded-pool": Kind(
        {"x": (1, 1, 8)}, f"AveragePool <kernel_shape = [2], strides = [4], ceil_mode = 1, {SAME}> (x)", (1, 1, 3),
        (1, 1, 2), 19,
    ),
    "transposed": Kind(
        {"x": (1, 1, 4), "w": (1, 1, 3)}, f"ConvTranspose <{SAME}, strides = [2], output_padding = [1]> (x, w)",
        (1, 1, 9), (1, 1, 8),
    ),
    "transposed-shape": Kind(
        {"x": (1, 2, 2), "w": (2, 2, 1)}, f"ConvTranspose <{SAME}, output_shape = [1]> (x, w)", (1, 2), (1, 2, 1)
    ),
    "slice": Kind({"x": (4,)}, "Slice(x, three, far, zero, back)", (0,), (4,), 13),
    "slope": Kind({"x": (1, 3)}, "PRelu(x, slope)", (1, 3), (2, 1, 3), 16),
    "einsum": Kind({"x": (1,), "w": (2,)}, 'Einsum <equation = "a,a->a"> (x, w)', (1,), (2,)),
    "range": Kind({}, "Range(start, limit, step)", (12,), (11,)),
    "unsqueeze": Kind({"x": (5, 2)}, "Unsqueeze <axes = [-1]> (x)", (5, 2), (5, 2, 1), 10),
    "upsample": Kind({"x": (1, 1, 5, 1)}, "Upsample(x, scale)", (1, 1, 12, 1), (1, 1, 13, 1), 9),
    "resize": Kind(
        {"x": (1, 1)},
        'Resize <axes = [1, -2], keep_aspect_ratio_policy = "not_larger", mode = "linear"> (x, none, none, two_six)',
        (2, 2), (1, 2), 18,
    ),
    "empty": Kind({"x": (2, 0)}, "ReduceMax <keepdims = 1, axes = [-1]> (x)", (2, 1), (2, 0), 13),
    "noop": Kind({"x": (1, 2)}, "ReduceMin <keepdims = 1, noop_with_empty_axes = 2> (x)", (1, 2), (1, 1), 19),
    "product": Kind({"x": (1, 3, 2, 0)}, "MatMul(x, one_empty)", (5, 3, 2, 5), (1, 3, 2, 5)),
}  # fmt: skip
"""By name. `told` is the shape that onnx infers, `right` that of onnxruntime's result."""


def text_of(shape: tuple[int | str, ...] | tuple[int, ...]) -> str:
    """Return a shape as onnx's parser reads it."""
    return ",".join(map(str, shape))


def body_of(kind: Kind, shape: tuple[int, ...], *, expands: bool) -> str:
    """Return the nodes that compute `y` from `z`; `expands` makes the broadcast explicit."""
    target = f"t = Constant <value = int64[{len(shape)}] {{{text_of(shape)}}}> ()" if expands else ""
    addend = "e = Expand(s, t) y = Add(z, e)" if expands else "y = Add(z, s)"
    if math.prod(kind.right) <= math.prod(kind.told):  # `e` is too big for the buffer of `a`
        return f"v = {kind.node} a = Exp(v) s = ReduceSum <keepdims = 0> (a) {target} {addend}"
    # `v` is too big for the buffer of `e`: onnxruntime computes `y` first, though it is listed last
    nodes = f"v = {kind.node} a = Exp(v) r = ReduceSum <keepdims = 0> (a)"
    return f"{nodes} s = ReduceSum <keepdims = 0> (z) {target} {addend}"


def meeting(
    kind: Kind, *, shape: tuple[int, ...] | None = None, place: str = "main", expands: bool = False, free: bool = False
) -> ModelProto:
    """Return a model; `z` has the wrong shape if no other is given. `free`: the sizes of `x` are N0, N1 ...

    `place` says where the nodes are: in the main graph, in both branches of an If, in a Loop or in a function.
    """
    shape = kind.told if shape is None else shape
    sizes: dict[str, tuple[int | str, ...]] = {**kind.inputs, "z": shape}
    if free:
        sizes["x"] = tuple(f"N{axis}" for axis in range(len(kind.inputs["x"])))
    nodes = body_of(kind, shape, expands=expands)
    words = set(re.findall(r"\w+", nodes))
    constants = [name for name in CONSTANTS if name in words]
    held = ", ".join(CONSTANTS[name] for name in constants)
    inputs = ", ".join(f"float[{text_of(of)}] {name}" for name, of in sizes.items())
    output, result, functions, imports = f"float[{text_of(shape)}]", "r", "", ""
    match place:
        case "main":
            result = "y"
        case "if":
            branches = f"then_branch = b () => ({output} y) {{ {nodes} }}, "
            branches += f"else_branch = c () => ({output} y2) {{ {_renamed(nodes)} }}"
            inputs, nodes = f"{inputs}, bool go", f"r = If(go) <{branches}>"
        case "loop":
            inside = "on2 = Identity(on) " + re.sub(r"\bz\b", "z2", nodes)
            body = f"b (int64 i, bool on, {output} z2) => (bool on2, {output} y) {{ {inside} }}"
            inputs, nodes = f"{inputs}, int64 n", f"r = Loop(n, , z) <body = {body}>"
        case "function":
            given, imports = ", ".join([*sizes, *constants]), ', "own" : 1'
            functions = f'<domain: "own", opset_import: ["" : {kind.opset}]> f ({given}) => (y) {{ {nodes} }}'
            nodes = f"r = own.f({given})"
    head = f'<ir_version: 8, opset_import: ["" : {kind.opset}{imports}]>'
    graph = f"g ({inputs}) => ({output} {result}) {f'<{held}>' if held else ''} {{ {nodes} }}"
    made: ModelProto = parser.parse_model(f"{head} {graph} {functions}")
    return made


def _renamed(nodes: str) -> str:
    """Return the same nodes with other names of results, and a Neg in place of the Exp; texts in quotes stay."""
    results = "|".join(dict.fromkeys(re.findall(r"(\w+) = (?=[A-Z])", nodes)))
    parts = nodes.split('"')
    parts[::2] = [re.sub(rf"\b({results})\b", r"\g<1>2", part) for part in parts[::2]]
    return '"'.join(parts).replace("Exp(", "Neg(")


def feeds_of(kind: Kind, place: str = "main", shape: tuple[int, ...] | None = None) -> dict[str, Array]:
    """Return an input of ones for each input of a model."""
    sizes = {**kind.inputs, "z": kind.told if shape is None else shape}
    made: dict[str, Array] = {name: np.ones(of, np.float32) for name, of in sizes.items()}
    if place == "if":
        made["go"] = np.array(True)
    if place == "loop":
        made["n"] = np.array(2)
    return made


def run(model: bytes, feeds: dict[str, Array], *, optimized: bool = False) -> list[Array] | str:
    """Run a model; return its results, or the error of the load or of the run."""
    options = onnxruntime.SessionOptions()
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        results: list[Array] = session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no class of their own above them
        return str(error)
    return results
