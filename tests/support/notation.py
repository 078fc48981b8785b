"""The notation of models.builders.grammar as nodes of a view, or as an ONNX model.

    y[2,3,4] = Add(x[2,3,4], b:const[4])
    p = Pow(x[N,3], e:const[]{2.0})            ints alone are int64
    e = Expand(x[N,1], s:int64[2]{N,T})        what a computed vector holds, for plans only
    q = com.microsoft.QLinearAdd(a:uint8[2,4], ...)
    g = Gemm(a[M,K], b[K,4], , transA=1)       an absent operand is empty

A value may be `:overridable`, an initializer that is an input too. No dims: `[*]`.
"""

from __future__ import annotations

import ast
import math
import re
from typing import TYPE_CHECKING, Any

import onnx
import onnx.checker
from onnx import ModelProto, TensorProto, helper

from graphfix import operators
from graphfix.graph.view import Graph, Node, Value
from graphfix.shapes.dim import Dim, Shape, Size, symbol
from models.builders.grammar import Block, Line, read
from models.builders.grammar import Value as Described

if TYPE_CHECKING:
    from collections.abc import Mapping


FLOATS = {"float32": "FLOAT", "float64": "DOUBLE"}


def _block(text: str) -> Block:
    (block,) = read(text, integers="int64")
    return block


def _operator(line: Line) -> tuple[str, str]:
    """The domain and the operator."""
    domain, _, op = line.op.rpartition(".")
    return domain, op


def _attributes(line: Line) -> dict[str, Any]:
    return {key: ast.literal_eval(text) for key, text in line.attributes.items()}


# --- nodes of a view, for plans -------------------------------------------------------------------------------------


def node(text: str, *, opset: int = 18, ranges: Mapping[str, tuple[int, int]] | None = None) -> Node:
    """Build one node as a format would show it; `ranges` bounds symbols as `--dim N=2..64` does."""
    block = _block(text)
    (line,) = block.lines
    graph = Graph("main")
    values = {
        name: Value(name, _shape(it, ranges or {}), it.dtype, "result" if name in line.results else it.kind, graph)
        for name, it in block.values.items()
    }
    literals = {values[name]: it.elements for name, it in block.values.items()}
    graph.read_literal = literals.get
    graph.read_content = lambda value: _content(literals[value])
    operands, results = (tuple(name and values[name] for name in names) for names in (line.operands, line.results))
    domain, op = _operator(line)
    version = 1 if domain else opset
    row = operators.row(domain, op, version)
    made = Node(op, domain, version, "", 0, graph, operands, results, _attributes(line), row)
    graph.nodes.append(made)
    return made


def _content(elements: tuple[Any, ...] | None) -> Shape | None:
    """The shape that a vector holds."""
    if elements is None:
        return None
    return Shape(tuple(size if isinstance(size, int) else symbol(size) for size in elements))


def _shape(value: Described, ranges: Mapping[str, tuple[int, int]]) -> Shape:
    if value.dims is None:
        return Shape(None, (f"?{value.name}",))
    sizes: list[Size] = []
    for axis, size in enumerate(value.dims):
        if size is None:
            sizes.append(Dim((f"?{value.name}.{axis}",)))
        else:
            sizes.append(size if isinstance(size, int) else symbol(size, *ranges.get(size, (0, None))))
    return Shape(tuple(sizes))


# --- ONNX models ------------------------------------------------------------------------------------------------------


def model(text: str, *, opset: int = 18, ir: int = 9) -> ModelProto:
    """Build an ONNX model of a node a line: what is read and not made is an input, what is made and not read an output.

    Output shapes are declared where the text has them; no other shape of a result is stored.
    """
    block = _block(text)
    graph = onnx.GraphProto(name="main")
    made, outputs = {*block.made}, {*block.outputs}
    for name, value in block.values.items():
        if name in outputs:
            graph.output.append(_info(value))
        if name not in made and value.kind != "input":
            graph.initializer.append(_tensor(value))
        if name not in made and value.kind != "constant":
            graph.input.append(_info(value))
    graph.node.extend(_proto(line) for line in block.lines)
    domains = sorted({_operator(line)[0] for line in block.lines} - {""})
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir)


def _code(value: Described) -> int:
    return TensorProto.DataType.Value(FLOATS.get(value.dtype, value.dtype.upper()))


def _info(value: Described) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(value.name, _code(value), value.dims)


def _tensor(value: Described) -> TensorProto:
    shape = [size for size in value.dims or () if isinstance(size, int)]
    elements = value.elements if value.elements is not None else [at % 5 + 1 for at in range(math.prod(shape))]
    return helper.make_tensor(value.name, _code(value), shape, elements)


def _proto(line: Line) -> onnx.NodeProto:
    operands, results = ([name or "" for name in names] for names in (line.operands, line.results))
    domain, op = _operator(line)
    attributes = _attributes(line)
    if op == "Constant" and isinstance(attributes.get("value"), (list, tuple)):
        dims, elements = attributes["value"]
        code = TensorProto.INT64 if all(type(it) is int for it in elements) else TensorProto.FLOAT
        attributes["value"] = helper.make_tensor("", code, dims, elements)
    return helper.make_node(op, operands, results, domain=domain or None, **attributes)


def parsed(text: str, *, opset: int = 18, ir: int = 9) -> ModelProto:
    """Read onnx's own textual form of a graph and functions, for bodies and functions."""
    domains = sorted(set(re.findall(r'domain: "(\w+)"', text)))
    imports = ", ".join([f'"" : {opset}', *(f'"{domain}" : 1' for domain in domains)])
    return onnx.parser.parse_model(f"<ir_version: {ir}, opset_import: [{imports}]>\n{text}")
