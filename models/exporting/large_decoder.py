"""Write a language model of 3.6 GB as onnxruntime-genai's model builder writes it: for measurements, never committed.

    python -m models.exporting.large_decoder FOLDER [--type float32] [--layers 28] [--small] [--no-shapes] [--hub]

The graph is that of the builder's decoders (GroupQueryAttention with rotary embedding, Skip- and
SimplifiedLayerNormalization, MatMul); by default its sizes are those of a model of 1.5 billion parameters in float16.
The weights repeat one megabyte. `--hub` lays model and data out as links into a folder of blobs, as the cache of a
model hub does.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
import onnx
from onnx import TensorProto, helper

BLOCK = 1 << 20
"""Bytes of the pattern that the weights repeat."""


@dataclass(frozen=True)
class Sizes:
    """The sizes of a decoder."""

    layers: int = 28
    hidden: int = 1536
    heads: int = 12
    groups: int = 2
    inner: int = 8960
    words: int = 151_936
    positions: int = 32_768

    @property
    def head(self) -> int:
        """The size of a head."""
        return self.hidden // self.heads


@dataclass
class Graph:
    """What was written of a graph so far."""

    sizes: Sizes
    kind: int
    data: BinaryIO
    location: str
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    weights: list[TensorProto] = field(default_factory=list)
    shapes: list[onnx.ValueInfoProto] = field(default_factory=list)

    def weight(self, name: str, *dims: int) -> str:
        """Write a weight into the data file: numbers around 0, or ones for a normalization."""
        dtype = helper.tensor_dtype_to_np_dtype(self.kind)
        length = math.prod(dims) * dtype.itemsize
        if len(dims) == 1:
            block = np.ones(dims, dtype).tobytes()
        else:
            count = BLOCK // dtype.itemsize
            block = (np.random.default_rng(0).normal(size=count) / math.sqrt(dims[0])).astype(dtype).tobytes()
        start = self.data.tell()
        for written in range(0, length, len(block)):
            self.data.write(block[: length - written])
        tensor = TensorProto(name=name, dims=dims, data_type=self.kind, data_location=TensorProto.EXTERNAL)
        for key, value in (("location", self.location), ("offset", str(start)), ("length", str(length))):
            tensor.external_data.add(key=key, value=value)
        self.weights.append(tensor)
        return name

    def node(self, op: str, inputs: list[str], last: int | None = None, domain: str = "", **attributes: object) -> str:
        """Add a node whose result is [batch, sequence, last]; return the result's name."""
        name = f"/model/node_{len(self.nodes)}/{op}"
        self.nodes.append(helper.make_node(op, inputs, [f"{name}/output_0"], name, domain=domain, **attributes))
        if last is not None:
            self.declare(f"{name}/output_0", last)
        return f"{name}/output_0"

    def declare(self, name: str, last: int) -> None:
        """Store the shape of a value, as the builder does."""
        dims = ["batch_size", "sequence_length", last]
        self.shapes.append(helper.make_tensor_value_info(name, self.kind, dims))

    def product(self, operand: str, name: str, rows: int, columns: int) -> str:
        """Add a product with a weight."""
        return self.node("MatMul", [operand, self.weight(f"{name}.MatMul.weight", rows, columns)], columns)

    def skip(self, one: str, other: str, scale: str) -> tuple[str, str]:
        """Add a sum and its normalization; return both, the sum first."""
        normal = self.node(
            "SkipSimplifiedLayerNormalization",
            [one, other, self.weight(scale, self.sizes.hidden)],
            self.sizes.hidden,
            "com.microsoft",
            epsilon=1e-6,
        )
        total = normal.replace("output_0", "output_3")
        self.nodes[-1].output.extend(["", "", total])
        self.declare(total, self.sizes.hidden)
        return total, normal


def lengths(graph: Graph) -> tuple[str, str]:
    """Add the nodes that count the positions of a mask: of each sequence, and of all."""
    for name, dims, value in (("one", [1], [1]), ("axis", [], [1])):
        tensor = helper.make_tensor(name, TensorProto.INT64, dims, value)
        graph.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
    total = graph.node("ReduceSum", ["attention_mask", "one"], keepdims=0)
    last = graph.node("Cast", [graph.node("Sub", [total, "one"])], to=TensorProto.INT32)
    size = graph.node("Gather", [graph.node("Shape", ["attention_mask"]), "axis"], axis=0)
    return last, graph.node("Cast", [size], to=TensorProto.INT32)


def layer(graph: Graph, index: int, state: str, normal: str, shared: list[str]) -> tuple[str, str]:
    """Add one layer; return its sum and the normalization behind it."""
    sizes, name = graph.sizes, f"model.layers.{index}"
    packed = (sizes.heads + 2 * sizes.groups) * sizes.head
    query = graph.product(normal, f"{name}.attn.qkv_proj", sizes.hidden, packed)
    pasts = [f"past_key_values.{index}.{part}" for part in ("key", "value")]
    attention = graph.node(
        "GroupQueryAttention",
        [query, "", "", *pasts, *shared],
        sizes.hidden,
        "com.microsoft",
        num_heads=sizes.heads,
        kv_num_heads=sizes.groups,
        scale=1 / math.sqrt(sizes.head),
        do_rotary=1,
    )
    graph.nodes[-1].output.extend(f"present.{index}.{part}" for part in ("key", "value"))
    projected = graph.product(attention, f"{name}.attn.o_proj", sizes.hidden, sizes.hidden)
    state, normal = graph.skip(state, projected, f"{name}.post_attention_layernorm.weight")
    gate = graph.product(normal, f"{name}.mlp.gate_proj", sizes.hidden, sizes.inner)
    up = graph.product(normal, f"{name}.mlp.up_proj", sizes.hidden, sizes.inner)
    active = graph.node("Mul", [gate, graph.node("Sigmoid", [gate], sizes.inner)], sizes.inner)
    inner = graph.node("Mul", [active, up], sizes.inner)
    down = graph.product(inner, f"{name}.mlp.down_proj", sizes.inner, sizes.hidden)
    return graph.skip(state, down, f"model.layers.{index + 1}.input_layernorm.weight")


def values(graph: Graph) -> Iterator[tuple[str, onnx.ValueInfoProto]]:
    """Yield (input or output, its declaration)."""
    sizes = graph.sizes
    for name, length in (("input_ids", "sequence_length"), ("attention_mask", "total_sequence_length")):
        yield "input", helper.make_tensor_value_info(name, TensorProto.INT64, ["batch_size", length])
    logits = ["batch_size", "sequence_length", sizes.words]
    yield "output", helper.make_tensor_value_info("logits", graph.kind, logits)
    for index in range(sizes.layers):
        for part in ("key", "value"):
            for side, name, length in (
                ("input", f"past_key_values.{index}.{part}", "past_sequence_length"),
                ("output", f"present.{index}.{part}", "total_sequence_length"),
            ):
                dims = ["batch_size", sizes.groups, length, sizes.head]
                yield side, helper.make_tensor_value_info(name, graph.kind, dims)


def decoder(folder: Path, sizes: Sizes, kind: int, *, shapes: bool) -> Path:
    """Write model.onnx and model.onnx.data into a folder; return the model's path."""
    with (folder / "model.onnx.data").open("wb") as data:
        graph = Graph(sizes, kind, data, "model.onnx.data")
        counted = lengths(graph)
        table = graph.weight("model.embed_tokens.weight", sizes.words, sizes.hidden)
        state = graph.node("Gather", [table, "input_ids"], sizes.hidden)
        scale = graph.weight("model.layers.0.input_layernorm.weight", sizes.hidden)
        normal = graph.node(
            "SimplifiedLayerNormalization", [state, scale], sizes.hidden, epsilon=1e-6, axis=-1, stash_type=1
        )
        rotary = [graph.weight(name, sizes.positions, sizes.head // 2) for name in ("cos_cache", "sin_cache")]
        for index in range(sizes.layers):
            state, normal = layer(graph, index, state, normal, [*counted, *rotary])
        graph.product(normal, "lm_head", sizes.hidden, sizes.words)
        graph.nodes[-1].output[0] = "logits"
        del graph.shapes[-1]
    declared = [*values(graph)]
    proto = helper.make_graph(
        graph.nodes,
        "main_graph",
        [value for side, value in declared if side == "input"],
        [value for side, value in declared if side == "output"],
        graph.weights,
        value_info=graph.shapes if shapes else [],
    )
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    path = folder / "model.onnx"
    path.write_bytes(helper.make_model(proto, opset_imports=sets, ir_version=10).SerializeToString())
    return path


def as_in_a_hub(path: Path) -> None:
    """Replace model and data by links into `blobs`, beside the model's folder."""
    blobs = path.parent.parent / "blobs"
    blobs.mkdir(exist_ok=True)
    for file in (path, path.with_name(path.name + ".data")):
        file.rename(blobs / file.name)
        file.symlink_to(os.path.relpath(blobs / file.name, file.parent))


def main() -> None:
    """Write what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--type", choices=["float16", "float32"], default="float16")
    parser.add_argument("--layers", type=int, default=28)
    parser.add_argument("--small", action="store_true", help="sizes that run in a second")
    parser.add_argument("--no-shapes", action="store_true", help="store no shapes of inner values")
    parser.add_argument("--hub", action="store_true", help="links into a folder of blobs")
    asked = parser.parse_args()
    small = {"hidden": 64, "heads": 4, "inner": 96, "words": 128, "positions": 128} if asked.small else {}
    asked.folder.mkdir(parents=True, exist_ok=True)
    kind = TensorProto.FLOAT16 if asked.type == "float16" else TensorProto.FLOAT
    path = decoder(asked.folder, Sizes(layers=asked.layers, **small), kind, shapes=not asked.no_shapes)
    if asked.hub:
        as_in_a_hub(path)


if __name__ == "__main__":
    main()
