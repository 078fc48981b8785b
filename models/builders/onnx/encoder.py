"""A transformer encoder as exporters write one: mask, scalar and bias broadcasts, symbolic sizes.

Embeddings, one pre-norm block (attention and a feed-forward net with Erf-GELU) and a last norm, at hidden
size 64 with 4 heads. Node and value names, Constant nodes beside initializers, Shape -> Gather -> Concat ->
Reshape chains and the decomposed LayerNormalization follow what PyTorch's exporter leaves in files of opset
17; the last norm is the operator itself. The weights are pseudo-random, so the outputs mean nothing.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HIDDEN, HEADS, FEED_FORWARD, VOCABULARY, POSITIONS = 64, 4, 128, 256, 64
_HEAD = HIDDEN // HEADS


def _weights(name: str, shape: tuple[int, ...], scale: float, offset: float = 0.0) -> TensorProto:
    """Return float32 weights within offset +- scale, made from a hash of their name.

    Sixteen-bit integers, a division by a power of two, one product and one sum: IEEE arithmetic rounds each
    alike on every machine, which no library's normal distribution promises.
    """
    count = math.prod(shape)
    integers = np.frombuffer(hashlib.shake_128(name.encode()).digest(2 * count), "<u2").astype(np.float32)
    unit = (integers - np.float32(32768)) / np.float32(32768)
    return numpy_helper.from_array((unit * np.float32(scale) + np.float32(offset)).reshape(shape), name)


_Attribute = int | float | list[int] | TensorProto


@dataclass(slots=True)
class _Writer:
    """Nodes and initializers in the order of writing; `scope` prefixes names as module paths do."""

    scope: str = ""
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[TensorProto] = field(default_factory=list)
    _used: dict[str, int] = field(default_factory=dict)

    def node(self, op: str, *inputs: str, output: str = "", **attributes: _Attribute) -> str:
        """Append one node, named after its scope and operator; return the name of its output."""
        stem = f"{self.scope}/{op}"
        seen = self._used.get(stem, 0)
        self._used[stem] = seen + 1
        name = f"{stem}_{seen}" if seen else stem
        output = output or f"{name}_output_0"
        made = helper.make_node(op, list(inputs), [output], name)
        made.attribute.extend(helper.make_attribute(key, value) for key, value in sorted(attributes.items()))
        self.nodes.append(made)
        return output

    def constant(self, value: np.ndarray) -> str:
        """Append a Constant node, as exporters do for every literal of the Python code."""
        return self.node("Constant", value=numpy_helper.from_array(value))

    def scalar(self, value: float) -> str:
        """Append a zero-dimensional float constant."""
        return self.constant(np.array(value, np.float32))

    def indices(self, *values: int) -> str:
        """Append a one-dimensional int64 constant."""
        return self.constant(np.array(values, np.int64))

    def weights(self, name: str, *shape: int, scale: float = 0.125, offset: float = 0.0) -> str:
        """Add an initializer."""
        self.initializers.append(_weights(name, shape, scale, offset))
        return name

    def size(self, value: str, axis: int) -> str:
        """Read one size of a value at run time, as a [1] tensor: Shape -> Gather -> Unsqueeze."""
        one = self.node("Gather", self.node("Shape", value), self.constant(np.array(axis, np.int64)), axis=0)
        return self.node("Unsqueeze", one, self.indices(0))


def _linear(to: _Writer, value: str, module: str, rows: int, columns: int) -> str:
    """Write x[batch,sequence,rows] @ w[rows,columns] + b[columns], the bias first as exporters do."""
    outer, to.scope = to.scope, f"{to.scope}/{module.rsplit('.', maxsplit=1)[-1]}"
    weight = to.weights(f"onnx::MatMul_{module}", rows, columns)
    product = to.node("MatMul", value, weight)
    total = to.node("Add", to.weights(f"{module}.bias", columns), product)
    to.scope = outer
    return total


def _norm(to: _Writer, value: str, module: str) -> str:
    """Write a LayerNormalization in the nine operators that exporters write before opset 17."""
    outer, to.scope = to.scope, f"{to.scope}/{module.rsplit('.', maxsplit=1)[-1]}"
    centred = to.node("Sub", value, to.node("ReduceMean", value, axes=[-1]))
    squares = to.node("Pow", centred, to.scalar(2.0))
    variance = to.node("Add", to.node("ReduceMean", squares, axes=[-1]), to.scalar(1e-5))
    normal = to.node("Div", centred, to.node("Sqrt", variance))
    gained = to.node("Mul", normal, to.weights(f"{module}.weight", HIDDEN, scale=0.25, offset=1.0))
    shifted = to.node("Add", gained, to.weights(f"{module}.bias", HIDDEN))
    to.scope = outer
    return shifted


def _heads(to: _Writer, value: str, order: list[int]) -> str:
    """Split [batch,sequence,64] into [batch,sequence,4,16] by sizes read at run time, and transpose."""
    parts = (to.size(value, 0), to.size(value, 1), to.indices(HEADS), to.indices(_HEAD))
    return to.node("Transpose", to.node("Reshape", value, to.node("Concat", *parts, axis=0)), perm=order)


def _attention(to: _Writer, value: str, mask: str) -> str:
    to.scope = "/encoder/layer.0/attention"
    query, key, content = (
        _linear(to, value, f"encoder.layer.0.attention.{name}", HIDDEN, HIDDEN) for name in ("query", "key", "value")
    )
    scores = to.node("MatMul", _heads(to, query, [0, 2, 1, 3]), _heads(to, key, [0, 2, 3, 1]))
    scaled = to.node("Div", scores, to.scalar(math.sqrt(_HEAD)))
    # [batch,4,sequence,sequence] + [batch,1,1,sequence]
    weights = to.node("Softmax", to.node("Add", scaled, mask), axis=-1)
    context = to.node("Transpose", to.node("MatMul", weights, _heads(to, content, [0, 2, 1, 3])), perm=[0, 2, 1, 3])
    merged = to.node("Concat", to.size(context, 0), to.size(context, 1), to.indices(HIDDEN), axis=0)
    joined = to.node("Reshape", context, merged)
    return _linear(to, joined, "encoder.layer.0.attention.output", HIDDEN, HIDDEN)


def _feed_forward(to: _Writer, value: str) -> str:
    to.scope = "/encoder/layer.0/ffn"
    hidden = _linear(to, value, "encoder.layer.0.ffn.up", HIDDEN, FEED_FORWARD)
    erf = to.node("Erf", to.node("Div", hidden, to.scalar(math.sqrt(2.0))))
    gelu = to.node("Mul", to.node("Mul", hidden, to.node("Add", erf, to.scalar(1.0))), to.scalar(0.5))
    return _linear(to, gelu, "encoder.layer.0.ffn.down", FEED_FORWARD, HIDDEN)


def _embeddings(to: _Writer) -> str:
    to.scope = "/embeddings"
    words = to.node("Gather", to.weights("embeddings.word.weight", VOCABULARY, HIDDEN), "input_ids")
    positions = np.arange(POSITIONS, dtype=np.int64).reshape(1, POSITIONS)
    to.initializers.append(numpy_helper.from_array(positions, "embeddings.position_ids"))
    ends = to.size("input_ids", 1)
    rows = to.node("Slice", "embeddings.position_ids", to.indices(0), ends, to.indices(1), to.indices(1))
    places = to.node("Gather", to.weights("embeddings.position.weight", POSITIONS, HIDDEN), rows)
    # [batch,sequence,64] + [1,sequence,64]
    return to.node("Add", words, places)


def _mask(to: _Writer) -> str:
    """Turn the mask [batch,sequence] into [batch,1,1,sequence]: 0 where a token counts, -10000 where not."""
    to.scope = ""
    wide = to.node("Unsqueeze", to.node("Unsqueeze", "attention_mask", to.indices(1)), to.indices(2))
    kept = to.node("Cast", wide, to=TensorProto.FLOAT)
    return to.node("Mul", to.node("Sub", to.scalar(1.0), kept), to.scalar(-10000.0))


def encoder_model() -> onnx.ModelProto:
    """Build it: input_ids, attention_mask [batch,sequence] -> last_hidden_state [batch,sequence,64]."""
    to = _Writer()
    mask = _mask(to)
    value = _embeddings(to)
    to.scope = "/encoder/layer.0"
    attended = _attention(to, _norm(to, value, "encoder.layer.0.attention_norm"), mask)
    to.scope = "/encoder/layer.0"
    value = to.node("Add", attended, value)
    fed = _feed_forward(to, _norm(to, value, "encoder.layer.0.ffn_norm"))
    to.scope = "/encoder/layer.0"
    value = to.node("Add", fed, value)
    to.scope = "/encoder/norm"
    gain = to.weights("encoder.norm.weight", HIDDEN, scale=0.25, offset=1.0)
    bias = to.weights("encoder.norm.bias", HIDDEN)
    to.node("LayerNormalization", value, gain, bias, output="last_hidden_state", axis=-1, epsilon=1e-5)
    ids = ("input_ids", "attention_mask")
    token_shape: list[str | int] = ["batch", "sequence"]
    graph = helper.make_graph(
        to.nodes,
        "main_graph",
        [helper.make_tensor_value_info(name, TensorProto.INT64, token_shape) for name in ids],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*token_shape, HIDDEN])],
        to.initializers,
    )
    imports = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, ir_version=8, opset_imports=imports, producer_name="graphfix")
