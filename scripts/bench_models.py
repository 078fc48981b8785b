"""Write the ONNX models of the benchmarks, with random weights in pieces, so large models need little memory.

    python scripts/bench_models.py inline|external|nodes AMOUNT PATH

`inline` and `external` contain 64 layers x[batch,sequence,D] @ w[D,D] + b[D] with about AMOUNT bytes in total, in the
file or in PATH.data beside it. `nodes` contains AMOUNT Add and Mul nodes whose operands have ranks 0 to 4.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

LAYERS = 64

# Wire tags (field number << 3 | 2, so a length follows) of three fields: ModelProto.graph, GraphProto.initializer,
# TensorProto.raw_data.
_GRAPH, _INITIALIZER, _RAW_DATA = b"\x3a", b"\x2a", b"\x4a"


def _varint(number: int) -> bytes:
    """Encode a number as a protobuf varint."""
    groups = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([group | 0x80 for group in groups[:-1]] + groups[-1:])


def _width(total: int) -> int:
    """Return the least multiple of 32 as the width D, so that 64 matrices [D,D] of float32 have about `total` bytes."""
    return -(-math.isqrt(total // (4 * LAYERS)) // 32) * 32


def _weights(width: int) -> Iterator[TensorProto]:
    """Yield each layer's w[D,D] and b[D], with name and shape but without data."""
    for layer in range(LAYERS):
        yield TensorProto(name=f"layer.{layer}.weight", data_type=TensorProto.FLOAT, dims=[width, width])
        yield TensorProto(name=f"layer.{layer}.bias", data_type=TensorProto.FLOAT, dims=[width])


def _size(tensor: TensorProto) -> int:
    """Return the number of bytes of a float32 tensor's data."""
    size: int = 4 * math.prod(tensor.dims)
    return size


def _layers(width: int) -> onnx.GraphProto:
    """Return the graph of the layers, without initializers."""
    value = "x"
    graph = onnx.GraphProto(name="main_graph")
    shape: list[str | int] = ["batch", "sequence", width]
    for layer in range(LAYERS):
        product, total = f"/layer.{layer}/MatMul_output_0", f"/layer.{layer}/Add_output_0"
        weight, bias = f"layer.{layer}.weight", f"layer.{layer}.bias"
        graph.node.append(helper.make_node("MatMul", [value, weight], [product], f"/layer.{layer}/MatMul"))
        graph.node.append(helper.make_node("Add", [product, bias], [total], f"/layer.{layer}/Add"))
        value = total
    graph.input.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, shape))
    graph.output.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, shape))
    return graph


def _model() -> onnx.ModelProto:
    """Return a model without a graph."""
    imports = [helper.make_opsetid("", 17)]
    return onnx.ModelProto(ir_version=8, producer_name="graphfix", opset_import=imports)


def _write_random(file: BinaryIO, size: int, random: np.random.Generator) -> None:
    """Write `size` random bytes, at most 16 MiB at a time."""
    while size:
        piece = random.bytes(min(size, 1 << 24))
        file.write(piece)
        size -= len(piece)


def write_inline(path: Path, total: int) -> None:
    """Write a model whose weights are inside the file as raw_data.

    The file is written field by field, because a whole ModelProto would need the memory of all weights.
    """
    width = _width(total)
    graph = _layers(width).SerializeToString()
    heads = []
    for tensor in _weights(width):
        body = tensor.SerializeToString() + _RAW_DATA + _varint(_size(tensor))
        heads.append((_INITIALIZER + _varint(len(body) + _size(tensor)) + body, _size(tensor)))
    length = len(graph) + sum(len(head) + size for head, size in heads)
    random = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(_model().SerializeToString() + _GRAPH + _varint(length) + graph)
        for head, size in heads:
            file.write(head)
            _write_random(file, size, random)


def write_external(path: Path, total: int) -> None:
    """Write a model whose weights and biases are in PATH.data."""
    width = _width(total)
    model = _model()
    model.graph.CopyFrom(_layers(width))
    random = np.random.default_rng(0)
    data = path.with_name(f"{path.name}.data")
    with data.open("wb") as file:
        for tensor in _weights(width):
            entries = {"location": data.name, "offset": str(file.tell()), "length": str(_size(tensor))}
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in entries.items():
                tensor.external_data.add(key=key, value=value)
            model.graph.initializer.append(tensor)
            _write_random(file, _size(tensor), random)
    path.write_bytes(model.SerializeToString())


def write_nodes(path: Path, count: int) -> None:
    """Write a model of two chains with `count` nodes in total.

    One chain starts at v[5], and its second operands are constants of rank 0 or 1. The other chain starts at
    w[batch,3,4,5], and its second operands are values of the first chain, constants and an input.
    """
    shapes: list[list[int]] = [[], [1], [5], [4, 1], [4, 5], [3, 1, 1], [3, 4, 5], [1, 3, 1, 5]]
    random = np.random.default_rng(0)
    model = _model()
    graph = model.graph
    graph.name = "main_graph"
    for index in range(8 * len(shapes)):
        array = random.uniform(0.5, 1.5, shapes[index % len(shapes)]).astype(np.float32)
        graph.initializer.append(numpy_helper.from_array(array, f"c{index}"))
    constants = [tensor.name for tensor in graph.initializer]
    narrow = [tensor.name for tensor in graph.initializer if len(tensor.dims) < 2]
    row, block = "v", "w"
    for index, pick in enumerate(random.integers(1 << 16, size=count).tolist()):
        output = f"t{index}"
        if index % 4 == 0:
            row, operands = output, [row, narrow[pick % len(narrow)]]
        else:
            others = (row, "mask", *constants)
            block, operands = output, [block, others[pick % len(others)] if index % 4 > 1 else row]
        op = ("Add", "Mul")[pick >> 8 & 1]
        graph.node.append(helper.make_node(op, operands, [output], f"n{index}"))
    declared: dict[str, list[int | str]] = {"v": [5], "w": ["batch", 3, 4, 5], "mask": ["batch", 1, 1, 5]}
    graph.input.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, declared[name]) for name in declared)
    graph.output.append(helper.make_tensor_value_info(block, TensorProto.FLOAT, declared["w"]))
    path.write_bytes(model.SerializeToString())


KINDS = {"inline": write_inline, "external": write_external, "nodes": write_nodes}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write a model of the benchmark.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("amount", type=int, help="bytes of weights, or number of nodes")
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    KINDS[options.kind](options.path, options.amount)


if __name__ == "__main__":
    main()
