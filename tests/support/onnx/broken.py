"""Small models made to measure, most of them broken in one way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.parser
from onnx import TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FLOAT = TensorProto.FLOAT
ADD = "g (float[2,3] x) => (float[2,3] y) <float[3] b = {1, 2, 3}> { y = Add(x, b) }"


def model(text: str) -> onnx.ModelProto:
    """A model from the text of its graph in onnx's own notation."""
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')


def edited(change: Callable[[onnx.ModelProto], object]) -> bytes:
    """The smallest model that broadcasts, after a change."""
    made = model(ADD)
    change(made)
    return made.SerializeToString()


def value(name: str, shape: list[int | str] | None, dtype: int = FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, dtype, shape)


def cyclic() -> onnx.ModelProto:
    return model("g (float[2] x) => (float[2] a) { [p] a = Add(x, b) [q] b = Add(x, a) }")


def with_raw(data: bytes) -> Callable[[onnx.ModelProto], object]:
    def change(made: onnx.ModelProto) -> None:
        tensor = made.graph.initializer[0]
        tensor.ClearField("float_data")
        tensor.raw_data = data

    return change


def functions(count: int, *, closed: bool = False) -> onnx.ModelProto:
    """A chain of local functions, each calling the next, the last one an Add or (closed) the first."""
    imports = [helper.make_opsetid("", 17), helper.make_opsetid("f", 1)]
    bodies = [helper.make_node(f"F{number + 1}", ["a", "b"], ["r"], domain="f") for number in range(count - 1)] + [
        helper.make_node("F0", ["a", "b"], ["r"], domain="f") if closed else helper.make_node("Add", ["a", "b"], ["r"])
    ]
    made = [
        helper.make_function("f", f"F{number}", ["a", "b"], ["r"], [body], imports)
        for number, body in enumerate(bodies)
    ]
    call = helper.make_node("F0", ["x", "z"], ["y"], domain="f")
    graph = helper.make_graph([call], "g", [value("x", [2, 3]), value("z", [3])], [value("y", [2, 3])])
    return helper.make_model(graph, opset_imports=imports, ir_version=8, functions=made)


def serialized_with(old: bytes, new: bytes) -> bytes:
    data = model(ADD.replace("b", "bb")).SerializeToString()
    assert data.count(old) > 0
    return data.replace(old, new)


def nested(depth: int) -> onnx.ModelProto:
    """If in If: the innermost adds a rank-1 constant."""
    other = helper.make_graph([helper.make_node("Identity", ["x"], ["e"])], "e", [], [value("e", None)])
    body = helper.make_graph([helper.make_node("Add", ["x", "b"], ["o0"])], "b0", [], [value("o0", None)])
    for level in range(1, depth + 1):
        node = helper.make_node("If", ["c"], [f"o{level}"], then_branch=body, else_branch=other)
        body = helper.make_graph([node], f"b{level}", [], [value(f"o{level}", None)])
    constant = helper.make_tensor("b", FLOAT, [3], [1.0, 2.0, 3.0])
    inputs = [value("x", [2, 3]), value("c", [], TensorProto.BOOL)]
    graph = helper.make_graph(body.node, "g", inputs, [value(f"o{depth}", [2, 3])], [constant])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def wrapped(depth: int) -> bytes:
    """What `nested` builds, by hand: the classes of protobuf refuse to build it."""

    def record(number: int, body: bytes) -> bytes:
        size, length = b"", len(body)
        while length > 127:
            size, length = size + bytes([length & 127 | 128]), length >> 7
        return bytes([number << 3 | 2]) + size + bytes([length]) + body

    graph = record(2, b"g")
    for _ in range(depth):
        attribute = record(1, b"then_branch") + record(6, graph) + b"\xa0\x01\x05"
        graph = record(1, record(4, b"If") + record(5, attribute))
    return b"\x08\x08" + record(7, graph) + record(8, b"\x10\x11")


def external(path: Path, location: str, length: int = 12, **more: str) -> Path:
    """A model whose constant lies in another file."""
    made = model(ADD)
    tensor = made.graph.initializer[0]
    tensor.ClearField("float_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in {"location": location, "length": str(length), **more}.items():
        tensor.external_data.add(key=key, value=text)
    path.write_bytes(made.SerializeToString())
    return path
