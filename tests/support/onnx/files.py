"""ONNX models to read and write: built by onnx's helper, or written by hand, record by record."""

from __future__ import annotations

import struct

import numpy as np
from onnx import GraphProto, ModelProto, NodeProto, SparseTensorProto, TensorProto, helper, numpy_helper


def number(value: int) -> bytes:
    """A varint, written by the book: seven bits a byte, the lowest first."""
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + number(value // 128)


def field(tag: int, body: bytes) -> bytes:
    """A length-delimited record."""
    return number(tag * 8 + 2) + number(len(body)) + body


def floats(name: str, count: int = 2048, seed: int = 0) -> TensorProto:
    values = np.random.default_rng(seed).standard_normal(count).astype(np.float32)
    return numpy_helper.from_array(values, name)


def graph(*initializers: TensorProto, nodes: list[NodeProto] | None = None, name: str = "g") -> GraphProto:
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 4]) for n in "xy")
    made = nodes if nodes is not None else [helper.make_node("Relu", ["x"], ["y"], name="relu")]
    return helper.make_graph(made, name, [x], [y], list(initializers))


def model(*initializers: TensorProto, nodes: list[NodeProto] | None = None) -> ModelProto:
    return helper.make_model(
        graph(*initializers, nodes=nodes), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )


def constant(tensor: TensorProto, result: str = "c") -> NodeProto:
    return helper.make_node("Constant", [], [result], value=tensor)


def in_main_graph() -> ModelProto:
    return model(floats("a"), floats("tiny", 3), floats("b", 5000, 1))


def in_branches() -> ModelProto:
    inner = helper.make_node("If", ["p"], ["q"], then_branch=graph(floats("t")), else_branch=graph(floats("e", seed=1)))
    loop = helper.make_node("Loop", ["", "p"], ["y"], body=graph(floats("w"), nodes=[inner], name="body"))
    return model(nodes=[loop])


def in_attributes() -> ModelProto:
    node = constant(floats("c"))
    several = helper.make_node("Several", [], ["s"], domain="own")
    several.attribute.append(helper.make_attribute("tensors", [floats("t0"), floats("t1", seed=1)]))
    several.attribute.append(helper.make_attribute("graphs", [graph(floats("g0")), graph(floats("g1", seed=1))]))
    return model(nodes=[node, several])


def in_functions() -> ModelProto:
    made = model()
    body = [constant(floats("f"), "k"), helper.make_node("Add", ["x", "k"], ["y"])]
    made.functions.append(helper.make_function("own", "F", ["x"], ["y"], body, [helper.make_opsetid("", 17)]))
    made.functions[0].attribute_proto.append(helper.make_attribute("default", floats("d", seed=2)))
    return made


def sparse(name: str) -> SparseTensorProto:
    indices = helper.make_tensor("", TensorProto.INT64, [2048], np.arange(2048, dtype=np.int64).tobytes(), raw=True)
    return helper.make_sparse_tensor(floats(name), indices, [4096])


def in_sparse_tensors() -> ModelProto:
    made = model(nodes=[helper.make_node("Constant", [], ["c"], sparse_value=sparse(""))])
    made.graph.sparse_initializer.append(sparse("s"))
    return made


def in_training_info() -> ModelProto:
    made = model(floats("a"))
    training = made.training_info.add()
    training.initialization.CopyFrom(graph(floats("i"), name="init"))
    training.algorithm.CopyFrom(graph(floats("j", seed=3), name="step"))
    training.update_binding.add(key="a", value="y")
    return made


def with_notes() -> ModelProto:
    made = model(floats("a"))
    made.metadata_props.add(key="author", value="x" * 9000)
    made.graph.metadata_props.add(key="k", value="v")
    note = made.graph.quantization_annotation.add(tensor_name="a")
    note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="s")
    made.graph.doc_string = "d" * 5000
    made.graph.initializer[0].doc_string = "e" * 5000
    return made


def in_typed_fields() -> ModelProto:
    return model(
        helper.make_tensor("f", TensorProto.FLOAT, [1500], np.linspace(0, 1, 1500)),
        helper.make_tensor("d", TensorProto.DOUBLE, [700], np.linspace(0, 1, 700)),
        helper.make_tensor("i32", TensorProto.INT32, [3000], range(-1500, 1500)),
        helper.make_tensor("i64", TensorProto.INT64, [3000], range(-10, 2990)),
        helper.make_tensor("u64", TensorProto.UINT64, [3000], range(3000)),
        helper.make_tensor("s", TensorProto.STRING, [1000], [f"word {i}".encode() for i in range(1000)]),
    )


VALUES = struct.pack("<2048f", *range(2048))
NAME, FLOAT_TYPE, DIMS = field(8, b"t"), b"\x10\x01", b"\x08\x80\x10"


def model_of(tensor: bytes) -> bytes:
    return b"\x08\x08" + field(7, field(5, tensor)) + field(8, b"\x10\x11")
