"""Infer the types of a whole model: its main graph, the bodies inside it, and the local functions from their calls.

Stored shapes are compared with the computed ones. Only if no rank is computed, the stored rank is assumed, and recorded
as an assumption. Stored names are not trusted, except the symbols of the graph's inputs. With `trust`, stored sizes
that the rules neither prove nor refute are trusted too (`stored_names`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from graphfix.formats.neutral.equal_sizes import NO_SUMS, Sum, place
from graphfix.formats.onnx.file.messages import INITIALIZER_ALONE_SINCE_IR, Steps, declared, steps, subgraphs
from graphfix.formats.onnx.infer.forward import ForwardPass
from graphfix.formats.onnx.infer.functions import Calls, FunctionKey, bound, local_functions
from graphfix.formats.onnx.infer.scope import (
    GraphScope,
    Known,
    agreed,
    enter_bodies,
    input_shape,
    scope_of,
    unknown_name,
    versions_of,
)
from graphfix.formats.onnx.infer.stored_faults import compare_stored
from graphfix.formats.onnx.infer.stored_names import Hypotheses, StoredNames
from graphfix.results.claims import StoredShape, StoredSize, assumptions, equal_dims
from graphfix.results.onnx_messages import FunctionProto, ModelProto, NodeProto
from graphfix.results.records import dataclass
from graphfix.shapes.dim import Dim, Shape, Size, symbol


@dataclass(slots=True)
class Facts:
    """The scopes of a model, and the assumptions of the inference."""

    main: GraphScope
    functions: dict[FunctionKey, GraphScope]
    """The functions that are called; a function without a call is not inferred."""
    assumes: list[str]
    stored: StoredNames
    """The sizes that the file states for inner values."""
    believed: Sequence[StoredSize | StoredShape] = ()

    def scopes(self) -> list[GraphScope]:
        """Return every scope, an outer one before those inside it."""
        return [scope for top in (self.main, *self.functions.values()) for scope in top.walk()]


def analyse(
    proto: ModelProto,
    ranges: Mapping[str, Size],
    nodes: Steps | None = None,
    sums: Mapping[str, Sum] = NO_SUMS,
    *,
    stored: StoredNames | None = None,
    trust: bool | None = None,
) -> Facts:
    """Infer the shapes of every value; `proto` is not changed.

    `ranges` gives terms for sizes of inputs, by symbol, or by `input[axis]` for a size without a symbol: a size with a
    range, or the size of another input. `sums` gives sizes that are sums of others in the same way.

    `trust`: None trusts the stored shapes of results of operators without a rule, and stored ranks that the rules leave
    open. True also trusts stored sizes that the rules neither prove nor refute. False trusts nothing. `stored` contains
    the sizes that the file had when it was read, if it was edited since.
    """
    main = scope_of(proto.graph, "main", None, versions_of(proto.opset_import) or {"": 1}, nodes)
    holders: dict[str, list[str]] = {}
    dims_of = {value.name: declared(value) for value in proto.graph.input}
    for name, dims in dims_of.items():
        for axis, size in enumerate(dims or ()):
            if isinstance(size, str):
                holders.setdefault(size, []).append(f"{name}[{axis}]")
    symbols = {name: ranges.get(name, symbol(name)) for name in holders}
    unnamed = {label: size for label, size in ranges.items() if label not in holders}
    forward = ForwardPass(
        Calls(local_functions(proto.functions)), proto.ir_version >= INITIALIZER_ALONE_SINCE_IR, trust
    )
    forward.calls.budget.allow(sum(len(scope.steps) for scope in main.walk()))
    forward.calls.budget.allow(sum(len(function.node) for function in proto.functions))
    for label, total in sums.items():
        of = {part: symbols.get(part) or unnamed.get(part) or _unnamed(part) for part in total.labels}
        (symbols if label in holders else unnamed)[label] = total.size(forward.terms, of.__getitem__)
    inputs = {
        name: Known(None if dims is None else input_shape(name, dims, symbols, unnamed), 0)
        for name, dims in dims_of.items()
    }
    stored = StoredNames.of(dims_of, main.claims) if stored is None else stored
    hypotheses = Hypotheses.over(
        stored, forward.terms, {name: input_value.shape for name, input_value in inputs.items()}
    )
    forward.hypotheses = hypotheses if trust is not False else None
    forward.read(main, inputs)
    functions = _functions(main, forward)
    assumes = [equal_dims(name, places) for name, places in holders.items() if len(places) > 1]
    assumes += [
        f"the stored rank of '{name}' in {scope.path}" for scope in main.walk() for name in sorted(scope.assumed)
    ]
    believed: list[StoredSize | StoredShape] = [*_shapes_believed(main, hypotheses), *hypotheses.believed]
    facts = Facts(main, functions, [*assumes, *forward.assumes, *assumptions(believed)], stored, believed)
    compare_stored(facts.scopes(), hypotheses)
    return facts


def _shapes_believed(main: GraphScope, hypotheses: Hypotheses) -> Iterator[StoredShape]:
    """Yield the stored shapes that are trusted, in the order of the nodes."""
    if not hypotheses.shapes:
        return
    for (domain, op), outputs in zip(main.steps.operators, main.steps.outputs, strict=True):
        for name in outputs:
            if name in hypotheses.shapes:
                yield StoredShape(name, f"{domain}.{op}" if domain else op, hypotheses.shapes[name])


def _unnamed(label: str) -> Dim:
    """Return the size of `input[axis]`, for which the file has no symbol."""
    name, axis = place(label) or (label, 0)
    return Dim((unknown_name(name, axis),))


def _functions(main: GraphScope, forward: ForwardPass) -> dict[FunctionKey, GraphScope]:
    """Return one scope for each called function, callers first, with the facts on which all its calls agree."""
    bodies = forward.calls.functions
    if not bodies:
        return {}
    calls: dict[FunctionKey, list[tuple[GraphScope, NodeProto]]] = {key: [] for key in bodies}
    _collect(main, calls)
    done: dict[FunctionKey, GraphScope] = {}
    for key in _callers_first(bodies):
        if not calls[key]:
            continue
        scope = done[key] = _function_scope(bodies[key])
        scope.bindings = bound(bodies[key], calls[key])
        forward.read(scope, _inputs(bodies[key], scope, calls[key]))
        _collect(scope, calls)
    return done


def _collect(top: GraphScope, calls: Mapping[FunctionKey, list[tuple[GraphScope, NodeProto]]]) -> None:
    for scope in top.walk():
        for operator, message in zip(scope.steps.operators, scope.steps.messages, strict=True):
            if operator in calls:
                calls[operator].append((scope, message))


def _callers_first(bodies: Mapping[FunctionKey, FunctionProto]) -> list[FunctionKey]:
    order: list[FunctionKey] = []
    seen: set[FunctionKey] = set()

    def visit(nodes: Iterable[NodeProto]) -> None:
        for node in nodes:
            key = (node.domain, node.op_type)
            if key in bodies and key not in seen:
                seen.add(key)
                visit(bodies[key].node)
                order.append(key)
            for _, _, body in subgraphs([node]):
                visit(body.node)

    for key, function in bodies.items():
        if key not in seen:
            seen.add(key)
            visit(function.node)
            order.append(key)
    return order[::-1]


def _function_scope(function: FunctionProto) -> GraphScope:
    path = f"function {function.domain}.{function.name}"
    scope = GraphScope(path, steps(function.node), None, None, versions_of(function.opset_import))
    scope.function = function
    scope.other_claims = scope.stored_shapes()
    enter_bodies(scope)
    return scope


def _inputs(
    function: FunctionProto, scope: GraphScope, calls: Sequence[tuple[GraphScope, NodeProto]]
) -> dict[str, Known]:
    """Return the facts on which all calls agree, by operand."""
    found: dict[str, Known] = {}
    for index, name in enumerate(function.input):
        operands = [(at, node.input[index] if index < len(node.input) else "") for at, node in calls]
        shapes = [at.shape(operand) if operand else None for at, operand in operands]
        dtypes = {at.dtype(operand) for at, operand in operands if operand}
        leans = any(at.leans(operand) for at, operand in operands)
        dtype = dtypes.pop() if len(dtypes) == 1 else 0
        found[name] = Known(_input_shape(shapes, f"?{scope.path}:{name}"), dtype, leans=leans)
    return found


def _input_shape(shapes: Sequence[Shape | None], term: str) -> Shape:
    """Return the shape on which all calls agree. Open sizes are named after the input."""
    shape = agreed(shapes)
    if shape is None:
        return Shape(None, (term,))
    sizes = (Dim((f"{term}.{axis}",)) for axis in range(shape.rank))
    return Shape(
        tuple(
            size if isinstance(size, int) or size.parts else name for size, name in zip(shape.dims, sizes, strict=True)
        )
    )
