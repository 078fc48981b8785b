"""All that is inferred of a model: its main graph, the bodies inside it, and its local functions by their calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TensorProto

from graphfix.formats.onnx.file.messages import (
    INITIALIZER_ALONE_SINCE_IR,
    Step,
    declared,
    steps,
    subgraphs,
    write_dims,
)
from graphfix.formats.onnx.infer.fixpoint import CALL_BUDGET, infer
from graphfix.formats.onnx.infer.scope import GraphScope, SizeNames, agreed, enter_bodies, input_shape, scope_of
from graphfix.operators.row import standard
from graphfix.shapes.shape import Dim, Shape, Size, symbol

FunctionKey = tuple[str, str]
"""(domain, name)."""
OPAQUE = "graphfix.opaque"
"""The domain of a node that onnx must not look into: it has no schema, so its results stay unknown."""


@dataclass(slots=True)
class Facts:
    """The scopes of a model, and what was assumed of them."""

    main: GraphScope
    functions: dict[FunctionKey, GraphScope]
    """Those that are called; a function that nobody calls is not inferred."""
    assumes: list[str]

    def scopes(self) -> list[GraphScope]:
        """Every scope, an outer one before those inside it."""
        return [scope for top in (self.main, *self.functions.values()) for scope in top.walk()]


def analyse(proto: ModelProto, ranges: Mapping[str, Size], nodes: Sequence[Step] | None = None) -> Facts:
    """Infer the shapes of every value. `ranges` narrows symbols; `proto` is not changed."""
    main = scope_of(proto.graph, "main", None, _versions(proto.opset_import) or {"": 1}, nodes)
    holders: dict[str, list[str]] = {}
    declared_inputs = {value.name: dims for value in proto.graph.input if (dims := declared(value)) is not None}
    for name, dims in declared_inputs.items():
        for axis, size in enumerate(dims):
            if isinstance(size, str):
                holders.setdefault(size, []).append(f"{name}[{axis}]")
    names = SizeNames({name: ranges.get(name, symbol(name)) for name in holders})
    main.shapes.update({name: input_shape(name, dims, names.symbols) for name, dims in declared_inputs.items()})
    work = ModelProto()
    work.CopyFrom(proto)
    if proto.ir_version >= INITIALIZER_ALONE_SINCE_IR:
        _withhold_defaults(work.graph)
    if work.functions and _expanded(proto) > CALL_BUDGET:
        del work.functions[:]
    infer(main, work, names)
    functions = _functions(proto, main, names)
    assumes = [f"the dims named '{name}' are equal: {', '.join(at)}" for name, at in holders.items() if len(at) > 1]
    assumes += [
        f"the stored rank of '{name}' in {scope.path}" for scope in main.walk() for name in sorted(scope.assumed)
    ]
    return Facts(main, functions, assumes)


def _versions(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each operator set by its domain, "" for the standard one."""
    return {standard(entry.domain): entry.version for entry in imports}


def _withhold_defaults(graph: GraphProto) -> None:
    """Remove the initializers that are inputs too: onnx computes with them as if callers could not override them."""
    inputs = {value.name for value in graph.input}
    kept = [tensor for tensor in graph.initializer if tensor.name not in inputs]
    if len(kept) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(kept)


def _expanded(proto: ModelProto) -> int:
    """How many nodes onnx visits when it infers each call anew."""
    bodies = {(function.domain, function.name): function.node for function in proto.functions}
    sizes: dict[FunctionKey, int] = {}

    def size(nodes: Sequence[NodeProto]) -> int:
        total = 0
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in bodies and key not in sizes:
                sizes[key] = 0  # a function that calls itself is refused by every runtime: not followed twice
                sizes[key] = size(bodies[key])
            total += 1 + sizes.get(key, 0)
        return total + sum(size(body.node) for _, _, body in subgraphs(nodes))

    return size(proto.graph.node)


def _functions(proto: ModelProto, main: GraphScope, names: SizeNames) -> dict[FunctionKey, GraphScope]:
    """One scope a called function, callers before callees."""
    bodies = {(function.domain, function.name): function for function in proto.functions}
    if not bodies:
        return {}
    calls: dict[FunctionKey, list[tuple[GraphScope, NodeProto]]] = {key: [] for key in bodies}
    _collect(main, calls)
    done: dict[FunctionKey, GraphScope] = {}
    for key in _callers_first(proto):
        if not calls[key]:
            continue
        scope = done[key] = _function_scope(bodies[key])
        work = _standalone(bodies[key], scope, calls[key], proto)
        infer(scope, work, names)
        _collect(scope, calls)
    return done


def _collect(top: GraphScope, calls: Mapping[FunctionKey, list[tuple[GraphScope, NodeProto]]]) -> None:
    for scope in top.walk():
        for node in scope.nodes:
            if (node.domain, node.op_type) in calls:
                calls[node.domain, node.op_type].append((scope, node))


def _callers_first(proto: ModelProto) -> list[FunctionKey]:
    bodies = {(function.domain, function.name): function.node for function in proto.functions}
    order: list[FunctionKey] = []
    seen: set[FunctionKey] = set()

    def visit(nodes: Sequence[NodeProto]) -> None:
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in bodies and key not in seen:
                seen.add(key)
                visit(bodies[key])
                order.append(key)
        for _, _, body in subgraphs(nodes):
            visit(body.node)

    for key, nodes in bodies.items():
        if key not in seen:
            seen.add(key)
            visit(nodes)
            order.append(key)
    return order[::-1]


def _function_scope(function: FunctionProto) -> GraphScope:
    path = f"function {function.domain}.{function.name}" if function.domain else f"function {function.name}"
    scope = GraphScope(path, steps(function.node), None, None, _versions(function.opset_import))
    enter_bodies(scope)
    return scope


def _standalone(
    function: FunctionProto, scope: GraphScope, calls: Sequence[tuple[GraphScope, NodeProto]], proto: ModelProto
) -> ModelProto:
    """Return the function's body as a model, its inputs with the shapes that all its calls agree on."""
    work = ModelProto(ir_version=proto.ir_version, opset_import=function.opset_import)
    work.opset_import.add(domain=OPAQUE, version=1)
    work.graph.node.extend(function.node)
    if _expanded(proto) <= CALL_BUDGET:
        work.functions.extend(proto.functions)
    _substitute(work.graph.node, function, [node for _, node in calls])
    for index, name in enumerate(function.input):
        value = work.graph.input.add(name=name)
        shapes = [_operand(at, node, index) for at, node in calls]
        dtypes = {at.dtype(node.input[index]) for at, node in calls if index < len(node.input) and node.input[index]}
        value.type.tensor_type.elem_type = dtypes.pop() if len(dtypes) == 1 else TensorProto.UNDEFINED
        scope.shapes[name] = _input_shape(shapes, f"?{scope.path}:{name}")
        axes = scope.shapes[name].axes
        if axes is not None:
            write_dims(value.type.tensor_type, [None] * len(axes))
    for name in function.output:
        work.graph.output.add(name=name)
    return work


def _operand(scope: GraphScope, node: NodeProto, index: int) -> Shape | None:
    return scope.shape(node.input[index]) if index < len(node.input) and node.input[index] else None


def _input_shape(shapes: Sequence[Shape | None], term: str) -> Shape:
    """Return the shape that all calls agree on; what stays open is named after the input."""
    shape = agreed(shapes)
    if shape is None:
        return Shape(None, (term,))
    named = (Dim((f"{term}.{axis}",)) for axis in range(shape.rank))
    return Shape(
        tuple(
            size if isinstance(size, int) or size.parts else name for size, name in zip(shape.dims, named, strict=True)
        )
    )


def _substitute(nodes: Sequence[NodeProto], function: FunctionProto, calls: Sequence[NodeProto]) -> None:
    """Put the calls' attribute into the body where they agree; a node whose attribute stays open is opaque to onnx."""
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    for node in nodes:
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                _substitute(body.node, function, calls)
            if not attribute.ref_attr_name:
                continue
            wanted = attribute.ref_attr_name
            values = [_value(call, wanted, defaults) for call in calls]
            agreed = values[0]
            if agreed is None or any(other != agreed for other in values):
                node.domain = OPAQUE
                continue
            name = attribute.name
            attribute.CopyFrom(agreed)
            attribute.name = name


def _value(call: NodeProto, name: str, defaults: Mapping[str, AttributeProto]) -> AttributeProto | None:
    return next((attribute for attribute in call.attribute if attribute.name == name), defaults.get(name))
