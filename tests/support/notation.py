"""The house's notation read back: text becomes nodes of a view, or an ONNX model.

    y[2,3,4] = Add(x[2,3,4], b:const[4])
    p = Pow(x[N,3], e:const[]{2.0})            elements in braces; ints are int64, others float32
    e = Expand(x[N,1], s:int64[2]{N,T})        what a computed vector holds, for plans only
    q = com.microsoft.QLinearAdd(a:uint8[2,4], ...)
    g = Gemm(a[M,K], b[K,4], , transA=1)       an absent operand is empty

A value is `name`, then `:const`, `:overridable` (an initializer that is an input too) or `:dtype` in any order,
then its dims: ints, symbols, `?`, or `[*]` for an unranked one. It is described where it is met first. No dims: `[*]`.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.checker
from onnx import ModelProto, TensorProto, helper

from graphfix import operators
from graphfix.graph.view import Graph, Kind, Node, Value
from graphfix.shapes.shape import Dim, Shape, Size, symbol

if TYPE_CHECKING:
    from collections.abc import Mapping


LINE = re.compile(r"(?P<results>.+?)\s*=\s*(?P<domain>(?:\w+\.)*)(?P<op>\w+)\((?P<operands>.*)\)")
VALUE = re.compile(r"(?P<name>[\w/]+)(?P<flags>(?::\w+)*)(?:\[(?P<dims>[^\]]*)\])?(?:\{(?P<elements>[^}]*)\})?")
FLOATS = {"float32": "FLOAT", "float64": "DOUBLE"}


@dataclass(frozen=True)
class Told:
    """One value as a text describes it."""

    name: str
    kind: Kind
    dtype: str
    dims: tuple[int | str | None, ...] | None
    elements: tuple[Any, ...] | None

    @property
    def code(self) -> int:
        return TensorProto.DataType.Value(FLOATS.get(self.dtype, self.dtype.upper()))

    @property
    def info(self) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(self.name, self.code, self.dims)

    @property
    def tensor(self) -> TensorProto:
        shape = [size for size in self.dims or () if isinstance(size, int)]
        count = int(np.prod(shape))
        elements = self.elements if self.elements is not None else [at % 5 + 1 for at in range(count)]
        return helper.make_tensor(self.name, self.code, shape, elements)


@dataclass(frozen=True)
class Line:
    """One operator as a text writes it."""

    domain: str
    op: str
    operands: tuple[Told | None, ...]
    results: tuple[Told | None, ...]
    attributes: dict[str, Any]


def _split(text: str) -> list[str]:
    """Cut at the commas that stand outside of brackets and quotes."""
    parts, depth, quoted = [""], 0, False
    for sign in text:
        quoted ^= sign == "'"
        depth += (sign in "[{(") - (sign in "]})")
        if sign == "," and not depth and not quoted:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts] if text.strip() else []


def _value(text: str, known: dict[str, Told]) -> Told | None:
    if not text:
        return None
    match = VALUE.fullmatch(text)
    assert match is not None, f"{text!r} is no value"
    name = match["name"]
    if name in known:
        return known[name]
    flags = set(filter(None, match["flags"].split(":")))
    elements = None if match["elements"] is None else tuple(map(_element, _split(match["elements"])))
    kind: Kind = "constant" if "const" in flags else "overridable" if "overridable" in flags else "input"
    default = "int64" if elements is not None and all(type(it) is int for it in elements) else "float32"
    dtype = next(iter(flags - {"const", "overridable"}), default)
    dims: tuple[int | str | None, ...] | None = None
    if match["dims"] is not None and match["dims"] != "*":
        dims = tuple(_dim(size) for size in _split(match["dims"]))
    elif elements is not None:
        dims = (len(elements),)
    known[name] = Told(name, kind, dtype, dims, elements)
    return known[name]


def _element(text: str) -> Any:  # noqa: ANN401 -- a number, a bool, or the name of a size
    return text if text.isidentifier() and text not in {"True", "False"} else ast.literal_eval(text)


def _dim(text: str) -> int | str | None:
    return int(text) if text.isdigit() else None if text == "?" else text


def _line(text: str, known: dict[str, Told]) -> Line:
    match = LINE.fullmatch(text.strip())
    assert match is not None, f"{text!r} is no node"
    parts = _split(match["operands"])
    attributes = dict(part.split("=", 1) for part in parts if re.match(r"\w+=", part))
    operands = tuple(_value(part, known) for part in parts if not re.match(r"\w+=", part))
    results = tuple(_value(part, known) for part in _split(match["results"]))
    values = {key: ast.literal_eval(value) for key, value in attributes.items()}
    return Line(match["domain"].rstrip("."), match["op"], operands, results, values)


# --- nodes of a view, for plans -------------------------------------------------------------------------------------


def node(text: str, *, opset: int = 18, ranges: Mapping[str, tuple[int, int]] | None = None) -> Node:
    """Build one node as a format would show it; `ranges` bounds symbols as `--dim N=2..64` does."""
    line = _line(text, {})
    graph = Graph("main")
    literals: dict[Value, tuple[Any, ...] | None] = {}
    graph.read_literal = literals.get
    graph.read_content = lambda value: _content(literals[value])
    values: dict[str, Value] = {}

    def value(told: Told | None, kind: Kind | None = None) -> Value | None:
        if told is None:
            return None
        if told.name not in values:
            shape = _shape(told, ranges or {})
            values[told.name] = Value(told.name, shape, told.dtype, kind or told.kind, graph)
            literals[values[told.name]] = told.elements
        return values[told.name]

    operands = tuple(value(told) for told in line.operands)
    results = tuple(value(told, "result") for told in line.results)
    version = 1 if line.domain else opset
    row = operators.row(line.domain, line.op, version)
    made = Node(line.op, line.domain, version, "", 0, graph, operands, results, line.attributes, row)
    graph.nodes.append(made)
    return made


def _content(elements: tuple[Any, ...] | None) -> Shape | None:
    """Give the shape that a vector holds."""
    if elements is None:
        return None
    return Shape(tuple(size if isinstance(size, int) else symbol(size) for size in elements))


def _shape(told: Told, ranges: Mapping[str, tuple[int, int]]) -> Shape:
    if told.dims is None:
        return Shape(None, (f"?{told.name}",))
    sizes: list[Size] = []
    for axis, size in enumerate(told.dims):
        if size is None:
            sizes.append(Dim((f"?{told.name}.{axis}",)))
        else:
            sizes.append(size if isinstance(size, int) else symbol(size, *ranges.get(size, (0, None))))
    return Shape(tuple(sizes))


# --- ONNX models ------------------------------------------------------------------------------------------------------


def model(text: str, *, opset: int = 18, ir: int = 9) -> ModelProto:
    """Build an ONNX model of a node a line: what is read and not made is an input, what is made and not read an output.

    Output shapes are stated where the text gives them; no other shape of a result is stored.
    """
    known: dict[str, Told] = {}
    lines = [_line(line, known) for line in text.strip().splitlines()]
    graph = onnx.GraphProto(name="main")
    made = {told.name for line in lines for told in line.results if told is not None}
    read = {told.name for line in lines for told in line.operands if told is not None}
    for told in known.values():
        if told.name in made:
            if told.name not in read:
                graph.output.append(told.info)
            continue
        if told.kind != "input":
            graph.initializer.append(told.tensor)
        if told.kind != "constant":
            graph.input.append(told.info)
    graph.node.extend(_proto(line) for line in lines)
    domains = sorted({line.domain for line in lines} - {""})
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir)


def _proto(line: Line) -> onnx.NodeProto:
    operands = [told.name if told is not None else "" for told in line.operands]
    results = [told.name if told is not None else "" for told in line.results]
    attributes = dict(line.attributes)
    if line.op == "Constant" and isinstance(attributes.get("value"), (list, tuple)):
        dims, elements = attributes["value"]
        code = TensorProto.INT64 if all(type(it) is int for it in elements) else TensorProto.FLOAT
        attributes["value"] = helper.make_tensor("", code, dims, elements)
    return helper.make_node(line.op, operands, results, domain=line.domain or None, **attributes)


def parsed(text: str, *, opset: int = 18, ir: int = 9) -> ModelProto:
    """Read onnx's own textual form of a graph and functions, for bodies and functions."""
    domains = sorted(set(re.findall(r'domain: "(\w+)"', text)))
    imports = ", ".join([f'"" : {opset}', *(f'"{domain}" : 1' for domain in domains)])
    return onnx.parser.parse_model(f"<ir_version: {ir}, opset_import: [{imports}]>\n{text}")
