"""Read an ONNX model into terms: graphs, the bodies of control flow, and functions, which are read at each call."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, TensorProto

from graphfix.verify.proof import onnx_ops
from graphfix.verify.proof.onnx_call import Call, plain
from graphfix.verify.proof.onnx_file import Source, width
from graphfix.verify.proof.onnx_loops import FLOW
from graphfix.verify.proof.onnx_meaning import meaning, telling
from graphfix.verify.proof.onnx_nodes import exact, single
from graphfix.verify.proof.onnx_schema import NOT_IMPORTED, domain_of, imported, loads, once, random
from graphfix.verify.proof.onnx_types import entered, stated
from graphfix.verify.proof.outcome import UnprovedError
from graphfix.verify.proof.terms import View, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from onnx import FunctionProto, GraphProto, ModelProto, NodeProto, SparseTensorProto

    from graphfix.verify.proof.constants import Constants
    from graphfix.verify.proof.onnx_shapes import Inference
    from graphfix.verify.proof.sizes import Place
    from graphfix.verify.proof.terms import Core, Table

_DEEPEST = 64
"""Nested calls and bodies; a function that calls itself is no model."""


@dataclass(slots=True, eq=False)
class Scope:
    """The values that a node can name, and what the operators of its graph mean."""

    versions: Mapping[str, int]
    outer: Scope | None = None
    values: dict[str, View] = field(default_factory=dict)
    graph: GraphProto | None = None
    given: Mapping[str, AttributeProto] = field(default_factory=dict)
    """In a function: the attributes of its call."""
    depth: int = 0

    def find(self, name: str) -> View:
        """Give a value by its name, from the innermost scope that has it."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise UnprovedError(f"the value {name!r} is read before any node gives it; check the model")


@dataclass(slots=True, eq=False)
class Reading:
    """One of the two models while it is read."""

    table: Table
    constants: Constants
    source: Source
    model: ModelProto
    inference: Inference | None
    """What onnx's inference says: of the first file only, since equal terms have equal shapes."""
    functions: dict[tuple[str, str, str], FunctionProto] = field(default_factory=dict)
    effects: list[tuple[Core, Place]] = field(default_factory=list)
    """Results that may differ from run to run, in the order of execution."""
    turns: dict[object, int] = field(default_factory=dict)
    calls: dict[object, tuple[View | None, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the functions."""
        self.functions = {(domain_of(each.domain), each.name, each.overload): each for each in self.model.functions}

    def turn(self, key: object) -> int:
        """Tell apart what has one key and is not one: how many there were before."""
        count = self.turns[key] = self.turns.get(key, -1) + 1
        return count

    # --- graphs -----------------------------------------------------------------------------------------------

    def run(self, graph: GraphProto, scope: Scope) -> tuple[View, ...]:
        """Read the nodes of a graph whose inputs are in the scope; give its outputs."""
        once(graph)
        for tensor in graph.initializer:
            if tensor.name not in scope.values:
                scope.values[tensor.name] = self.constant(tensor, tensor.name)
        for sparse in graph.sparse_initializer:
            if sparse.values.name not in scope.values:
                scope.values[sparse.values.name] = self.sparse(sparse)
        self.nodes(graph.node, scope)
        stated(self.table, (*graph.input, *graph.output), scope.values, run=scope.outer is not None)
        stated(self.table, graph.value_info, scope.values, run=False)
        return tuple(scope.find(output.name) for output in graph.output)

    def body(self, graph: GraphProto, outer: Scope, parameters: Sequence[View], place: object) -> tuple[View, ...]:
        """Read a body with these values as its inputs; `place` tells when it is executed, alike in both files."""
        if outer.depth > _DEEPEST:
            raise UnprovedError("bodies are nested too deeply to be read")
        if len(parameters) != len(graph.input):
            raise UnprovedError(f"the body {graph.name!r} has {len(graph.input)} inputs and is given {len(parameters)}")
        scope = Scope(outer.versions, outer, graph=graph, given=outer.given, depth=outer.depth + 1)
        scope.values.update(zip((each.name for each in graph.input), parameters, strict=True))
        algebra = self.table.algebra
        around, algebra.place = algebra.place, (*algebra.place, place)
        given = self.run(graph, scope)
        algebra.place = around
        if self.table.closed and any(output.name not in scope.values for output in graph.output):
            raise UnprovedError(f"the body {graph.name!r} gives a value of the graph around it, which no runtime takes")
        return given

    def nodes(self, nodes: Iterable[NodeProto], scope: Scope) -> None:
        """Read nodes in their order."""
        for index, node in enumerate(nodes):
            results = self.node(node, index, scope)
            for name, view in zip(node.output, results, strict=False):
                if name and view is not None:
                    scope.values[name] = view

    # --- nodes ------------------------------------------------------------------------------------------------

    def node(self, node: NodeProto, index: int, scope: Scope) -> Sequence[View | None]:
        """Give the results of a node."""
        views = [scope.find(name) if name else None for name in node.input]
        while views and views[-1] is None:
            views.pop()
        attributes = self._attributes(node, scope)
        function = self.functions.get((domain_of(node.domain), node.op_type, node.overload))
        if function is not None:
            return self._function(function, attributes, views, len(node.output), scope)
        call = self._call(node, index, scope, views, attributes)
        if call.op == "Constant" and not call.domain:
            return [self._constant_node(call)]
        if call.op in FLOW and not call.domain:
            return FLOW[call.op](self, call, scope)
        view = single(self.table, call)
        results = [view] if view is not None else self._whole(call, scope)
        entered(call, results)
        return results

    def _call(
        self,
        node: NodeProto,
        index: int,
        scope: Scope,
        views: Sequence[View | None],
        attributes: Mapping[str, AttributeProto],
    ) -> Call:
        domain, op = domain_of(node.domain), node.op_type
        version = scope.versions.get(domain, NOT_IMPORTED)
        told = f"{op} '{node.name}'" if node.name else f"{op}#{index}"
        since = meaning(op, domain, version, frozenset(attributes))
        call = Call(node, scope.graph, domain, op, version, since, views, attributes, told, self.table.assumes)
        telltale = telling(op, domain, version, attributes, len(node.output)) if attributes else {}
        call.key = (domain, op, since, self.attributes(telltale))
        call.full = call.key if len(telltale) == len(attributes) else (domain, op, since, self.attributes(attributes))
        return call

    def _whole(self, call: Call, scope: Scope) -> list[View]:
        """Read an operator's operands exactly; its bodies, where it has some, on values of any shape."""
        domain = call.domain
        graphs = [(name, graph) for name, given in sorted(call.attributes.items()) for graph in _graphs(given)]
        apart = domain not in onnx_ops.KNOWN_DOMAINS or random(call)
        if not graphs and not apart:
            return exact(self.table, call, self.inference)
        owner = (*call.full, tuple(call.views))
        turn = self.turn(owner)
        bodies = []
        for index, (name, graph) in enumerate(graphs):
            place = (owner, turn, name, index)
            own = [self.parameter(place, i, None) for i in range(len(graph.input))]
            bodies.append((name, self.body(graph, scope, own, place)))
        if not apart:
            return exact(self.table, call, self.inference, tuple(bodies))
        results = exact(self.table, call, self.inference, ("turn", turn, *bodies))
        done, _ = self.table.core(("done", owner, turn, tuple(bodies), len(results)), call.told)
        self.effects.append((done, self.table.algebra.place))
        return results

    def parameter(self, owner: tuple[object, ...], index: int, sizes: tuple[object, ...] | None) -> View:
        """Give an input of a body: a value of its own for each iteration."""
        core, new = self.table.core(("parameter", owner, index, sizes), f"input {index} of a body", counted=False)
        if new and sizes is not None:
            core.sizes = self.table.named(core, sizes)  # type: ignore[arg-type]  # sizes are opaque to the key only
        return whole(core)

    # --- functions --------------------------------------------------------------------------------------------

    def _function(
        self,
        function: FunctionProto,
        attributes: Mapping[str, AttributeProto],
        views: Sequence[View | None],
        outputs: int,
        scope: Scope,
    ) -> tuple[View | None, ...]:
        """Read a function on the operands of a call: what it computes, not that it is called, is the term."""
        if scope.depth > _DEEPEST:
            raise UnprovedError(f"the function {function.name!r} is nested too deeply to be read")
        name = (function.domain, function.name, function.overload)
        key = (name, self.attributes(attributes), tuple(views), self.table.algebra.place)
        known = self.calls.get(key)
        if known is not None:
            return known[:outputs]
        given = {each.name: each for each in function.attribute_proto} | dict(attributes)
        inner = Scope(imported(function.opset_import), given=given, depth=scope.depth + 1)
        for name, view in zip(function.input, views, strict=False):
            if view is not None:
                inner.values[name] = view
        before = len(self.effects)
        self._optional(function, inner)
        results = tuple(inner.values.get(name) for name in function.output)
        if len(self.effects) == before and not any(map(_graphs, attributes.values())):
            self.calls[key] = results
        return results[:outputs]

    def _optional(self, function: FunctionProto, inner: Scope) -> None:
        missing = [name for name in function.input if name not in inner.values]
        for name in missing:
            core, _ = self.table.core(("absent",), "an input that is not given", counted=False)
            inner.values[name] = whole(core)
        self.nodes(function.node, inner)
        stated(self.table, function.value_info, inner.values, run=False)

    # --- attributes and constants -----------------------------------------------------------------------------

    def _attributes(self, node: NodeProto, scope: Scope) -> dict[str, AttributeProto]:
        """Give the attributes of a node by name; in a function those that name the call's are the call's."""
        found: dict[str, AttributeProto] = {}
        for attribute in node.attribute:
            if not attribute.ref_attr_name:
                found[attribute.name] = attribute
            elif attribute.ref_attr_name in scope.given:
                own = AttributeProto()
                own.CopyFrom(scope.given[attribute.ref_attr_name])
                own.name = attribute.name
                found[attribute.name] = own
        return found

    def attributes(self, attributes: Mapping[str, AttributeProto]) -> tuple[object, ...]:
        """Give the comparable form of attributes, bodies left out; a tensor is the constant that it holds."""
        if not attributes:
            return ()
        return tuple((name, self._attribute(given)) for name, given in sorted(attributes.items()) if not _graphs(given))

    def _attribute(self, given: AttributeProto) -> object:
        if given.HasField("t") or given.tensors:
            tensors = [given.t] if given.HasField("t") else given.tensors
            return "tensors", tuple(self.constant(tensor, given.name) for tensor in tensors)
        if given.HasField("sparse_tensor"):
            return "sparse", self.sparse(given.sparse_tensor)
        return plain(given)

    def constant(self, tensor: TensorProto, told: str) -> View:
        """See a tensor of the file."""
        payload = self.source.payload(tensor)
        if payload is None:
            raise UnprovedError(f"the constant {told!r} is stored in a form that is not read")
        dtype = TensorProto.DataType.Name(tensor.data_type).lower()
        dtype = "float32" if dtype == "float" else dtype
        view = self.constants.view(dtype, tensor.dims, payload, width(tensor.data_type), told)
        view.core.dtype = tensor.data_type
        return view

    def sparse(self, sparse: SparseTensorProto) -> View:
        """See a sparse tensor of the file: as it is stored."""
        parts = self.constant(sparse.values, sparse.values.name), self.constant(sparse.indices, sparse.values.name)
        core, new = self.table.core(("sparse", parts, tuple(sparse.dims)), sparse.values.name, counted=False)
        if new:
            core.sizes = tuple(sparse.dims)
            core.dtype = sparse.values.data_type
        return whole(core)

    def _constant_node(self, call: Call) -> View:
        """Read a Constant node: a tensor, or numbers and strings that stand for one."""
        told = call.told
        if len(call.attributes) != 1 or not loads(call):
            raise UnprovedError(f"{told} holds not one constant; check the model")
        name, given = next(iter(call.attributes.items()))
        if name == "value":
            return self.constant(given.t, told)
        if name == "sparse_value":
            return self.sparse(given.sparse_tensor)
        kinds = {"value_int": TensorProto.INT64, "value_ints": TensorProto.INT64, "value_float": TensorProto.FLOAT,
                 "value_floats": TensorProto.FLOAT, "value_string": TensorProto.STRING,
                 "value_strings": TensorProto.STRING}  # fmt: skip
        if name not in kinds:
            raise UnprovedError(f"{told} holds no constant of a known form; check the model")
        value = onnx.helper.get_attribute_value(given)
        values = value if name.endswith("s") else [value]
        dims = [len(values)] if name.endswith("s") else []
        return self.constant(onnx.helper.make_tensor("", kinds[name], dims, list(values)), told)


def _graphs(attribute: AttributeProto) -> list[GraphProto]:
    return [attribute.g] if attribute.HasField("g") else list(attribute.graphs)
