"""One pass of this program's rules over what onnx inferred, in the order of execution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from onnx import GraphProto, NodeProto, ValueInfoProto

from graphfix import operators
from graphfix.formats.onnx.file.messages import Dims, Step, body_of, declared, is_standard
from graphfix.formats.onnx.infer import integer_values, rules, rules_layout
from graphfix.formats.onnx.infer.loops import Loops, loop_carried
from graphfix.formats.onnx.infer.operands import Call
from graphfix.formats.onnx.infer.scope import GraphScope, SizeNames, agreed
from graphfix.shapes.shape import UNKNOWN, UNRANKED, Dim, Incompatible, Shape, Size


@dataclass(frozen=True, slots=True)
class Reported:
    """What onnx reports of one value."""

    dtype: int
    dims: Dims | None
    whole: Shape | None
    """The shape, where every size is a number or a symbol of an input: there is nothing to add."""


@dataclass(slots=True)
class ForwardPass:
    """One pass of this program's rules over onnx's result, in the order of execution."""

    names: SizeNames
    loops: Loops
    gains: dict[GraphScope, set[str]] = field(default_factory=dict)
    """By scope: the values of which more is known here than onnx reports."""
    unreported: set[GraphScope] = field(default_factory=set)
    """Bodies whose inputs' shapes onnx does not know yet."""
    types: dict[bytes, Reported] = field(default_factory=dict)
    """By serialized type: a big model has few distinct ones."""

    def run(self, main: GraphScope, inferred: GraphProto) -> None:
        """Fill every scope; note, by scope, the values whose shapes onnx should be given."""
        self._scope(main, inferred)

    def _scope(self, scope: GraphScope, inferred: GraphProto) -> None:
        self.gains[scope] = set()
        reported = self._reported(scope, inferred)
        held = inferred.node
        by_node: dict[int, list[tuple[str, GraphScope]]] = {}
        for (index, attribute), child in scope.children.items():
            by_node.setdefault(index, []).append((attribute, child))
        for index, step in enumerate(scope.steps):
            bodies = by_node.get(index, ())
            for attribute, child in bodies:
                self._body_inputs(scope, step.message, child)
                self._scope(child, body_of(held[index], attribute))
            self._node(scope, step, reported, [child for _, child in bodies])
        self._compare_stored(scope)

    def _reported(self, scope: GraphScope, inferred: GraphProto) -> dict[str, Reported]:
        """Return what onnx reports, by name; enter constants and inputs."""
        reported: dict[str, Reported] = {}
        dtypes, types = scope.dtypes, self.types
        for value in (*inferred.value_info, *inferred.output, *inferred.input):
            key = value.type.SerializeToString()
            known = types.get(key)
            if known is None:
                known = types[key] = self._type(value)
            name = value.name
            if known.dtype:
                dtypes[name] = known.dtype
            reported[name] = known
        if scope.graph is not None:
            self._constants(scope, scope.graph)
            for value in inferred.input:
                shape = scope.shapes.get(value.name)
                if shape is None:
                    self._enter(scope, value.name, reported[value.name].dims, None)
                elif shape.axes is not None and reported[value.name].dims is None and scope.outer is not None:
                    self.gains[scope].add(value.name)
                    self.unreported.add(scope)
        return reported

    def _type(self, value: ValueInfoProto) -> Reported:
        dims = declared(value)
        symbols = self.names.symbols
        sizes = [size if isinstance(size, int) or size is None else symbols.get(size) for size in dims or ()]
        known = tuple(size for size in sizes if size is not None)
        whole = Shape(known) if dims is not None and len(known) == len(dims) else None
        return Reported(value.type.tensor_type.elem_type, dims, whole)

    def _constants(self, scope: GraphScope, graph: GraphProto) -> None:
        overridable = {value.name for value in graph.input}
        for tensor in graph.initializer:
            scope.dtypes[tensor.name] = tensor.data_type
            if tensor.name in overridable:
                continue
            scope.shapes[tensor.name] = Shape(tuple(tensor.dims))
            integer_values.enter(scope, tensor.name, tensor)
        for sparse in graph.sparse_initializer:
            scope.dtypes[sparse.values.name] = sparse.values.data_type
            scope.shapes[sparse.values.name] = Shape(tuple(sparse.dims))

    def _body_inputs(self, scope: GraphScope, node: NodeProto, child: GraphScope) -> None:
        if child.graph is None:
            return
        for value in child.graph.input:
            child.dtypes[value.name] = value.type.tensor_type.elem_type
        for value, initial in loop_carried(node, child):
            child.shapes[value] = self.loops.enters(child, value, scope.shape(initial))

    def _loop(self, node: NodeProto, body: GraphScope) -> list[Shape | None]:
        """Return a Loop's results: the carried values, and the stacked scan outputs."""
        if body.graph is None:
            return []
        carried = loop_carried(node, body)
        outputs = [value.name for value in body.graph.output][1:]
        if body in self.unreported:
            self.loops.untried = True
        else:
            for (name, _), left in zip(carried, outputs, strict=False):
                self.loops.leaves(body, name, body.shapes[name], body.shape(left))
        scanned = [body.shape(name).axes for name in outputs[len(carried) :]]
        scans = [None if axes is None else rules_layout.unknowns(len(axes) + 1) for axes in scanned]
        return [*(self._outside(body.shapes[name], body) for name, _ in carried), *scans]

    @staticmethod
    def _outside(shape: Shape, body: GraphScope) -> Shape | None:
        """Return a carried shape as the loop's result: sizes that change inside have no name outside."""
        if shape.axes is None:
            return None
        inner = f"?{body.path}:"
        named = (isinstance(size, Dim) and any(part.startswith(inner) for part in size.parts) for size in shape.axes)
        return Shape(tuple(UNKNOWN if by_body else size for by_body, size in zip(named, shape.axes, strict=True)))

    def _node(self, scope: GraphScope, step: Step, reported: dict[str, Reported], bodies: list[GraphScope]) -> None:
        op, outputs = step.op, step.outputs
        if not step.domain and op in integer_values.FOLLOW:
            integer_values.node(scope, step.message, op, outputs[0])
        computed: Sequence[Shape | None] = ()
        if bodies and not step.domain:
            computed = self._loop(step.message, bodies[0]) if op == "Loop" else _joined(bodies) if op == "If" else ()
        elif _all_whole(scope.shapes, outputs, reported):
            return
        else:
            computed = self._by_rule(scope, step)
        for index, name in enumerate(outputs):
            if name:
                known = reported.get(name)
                dims = known.dims if known is not None else None
                self._enter(scope, name, dims, computed[index] if index < len(computed) else None, op == "Constant")

    @staticmethod
    def _by_rule(scope: GraphScope, step: Step) -> Sequence[Shape | None]:
        row = operators.row(step.domain, step.op, scope.versions.get(step.domain, 1))
        rule = rules.rule(step.domain, step.op, row)
        if rule is None:
            return ()
        try:
            return rule(Call(scope, row, step.inputs, {} if step.bare else integer_values.attributes(step.message)))
        except Incompatible:
            return ()

    def _enter(
        self, scope: GraphScope, name: str, reported: Dims | None, computed: Shape | None, constant: bool = False
    ) -> None:
        """Merge what onnx and the rules know of one value; note what onnx does not know yet."""
        if name in scope.shapes and constant:
            return
        if reported is None:
            scope.shapes[name] = self._unreported(scope, name, computed if computed is not None else UNRANKED)
            return
        axes = (
            computed.axes
            if computed is not None and computed.axes is not None and len(computed.axes) == len(reported)
            else (UNKNOWN,) * len(reported)
        )
        sizes = self._sizes(scope, name, reported, axes)
        if any(isinstance(size, int) and not isinstance(was, int) for size, was in zip(sizes, reported, strict=True)):
            self.gains[scope].add(name)
        scope.shapes[name] = Shape(sizes)

    def _unreported(self, scope: GraphScope, name: str, computed: Shape) -> Shape:
        """Return the shape of a value whose rank onnx does not know; unranked, it is named after the value."""
        if computed.axes is not None:
            self.gains[scope].add(name)
            return Shape(self._sizes(scope, name, (None,) * len(computed.axes), computed.axes))
        return computed if computed.parts and computed.valid else Shape(None, (f"?{self._prefix(scope)}{name}",))

    @staticmethod
    def _prefix(scope: GraphScope) -> str:
        return "" if scope.path == "main" else f"{scope.path}:"

    def _sizes(
        self, scope: GraphScope, name: str, reported: Sequence[int | str | None], computed: Sequence[Size]
    ) -> tuple[Size, ...]:
        return tuple(
            self._size(scope, name, axis, *pair) for axis, pair in enumerate(zip(reported, computed, strict=True))
        )

    def _size(self, scope: GraphScope, name: str, axis: int, reported: int | str | None, computed: Size) -> Size:
        if isinstance(reported, int):
            return reported
        known = self.names.size(reported) if reported is not None else None
        term = _better(known, computed)
        if term is None:
            term = Dim((f"?{self._prefix(scope)}{name}.{axis}",))
        if reported is not None and known is None:
            self.names.generated[reported] = term
        return term

    def _compare_stored(self, scope: GraphScope) -> None:
        """Compare the stored shapes with the computed ones; assume a stored rank where none could be computed."""
        for name in _assumed_ranks(scope):
            rank = len(scope.claims[name])
            scope.shapes[name] = Shape(self._sizes(scope, name, (None,) * rank, (UNKNOWN,) * rank))
            self.gains[scope].add(name)
            scope.assumed.add(name)
        for name, claim in scope.claims.items():
            shape = scope.shapes.get(name)
            if shape is not None and shape.axes is not None and _contradicts(shape.axes, claim):
                stored = ",".join("?" if size is None else str(size) for size in claim)
                scope.stale[name] = f"the stored shape [{stored}] of '{name}' contradicts the computed {shape}"


def _assumed_ranks(scope: GraphScope) -> list[str]:
    """List the values whose stored rank is assumed: those that nothing else can decide, else all without one."""
    if scope.path != "main":
        return []  # a body's values may change their rank from one call to the next
    shapes = scope.shapes
    blank = [name for name in scope.claims if name in shapes and shapes[name].axes is None]
    if not blank:
        return []
    waiting: set[str] = set()
    for node in scope.nodes:
        if is_standard(node.domain) and any(name and scope.shape(name).axes is None for name in node.input):
            waiting.update(node.output)  # a standard operator: its result follows once its operands are known
    return [name for name in blank if name not in waiting] or blank


def _better(known: Size | None, computed: Size) -> Size | None:
    """Return the more precise of two terms for one size, None when neither is known."""
    if isinstance(computed, int) or known is None:
        return computed if isinstance(computed, int) or computed.parts else None
    if isinstance(known, int) or not computed.parts or len(computed.parts) > 1:
        return known
    return computed


def _contradicts(computed: Sequence[Size], stored: Dims) -> bool:
    """Whether a stored shape can't be that of the value: another rank, or another number."""
    return len(computed) != len(stored) or any(
        isinstance(have, int) and isinstance(claim, int) and have != claim
        for have, claim in zip(computed, stored, strict=True)
    )


def _all_whole(shapes: dict[str, Shape], outputs: Sequence[str], reported: dict[str, Reported]) -> bool:
    """Enter the results of a node where onnx reports all of them in full; say whether it does."""
    for name in outputs:
        known = reported.get(name)
        if known is None or known.whole is None:
            return False
        shapes.setdefault(name, known.whole)
    return True


def _joined(bodies: Sequence[GraphScope]) -> list[Shape | None]:
    """Return an If's results: what both branches agree on; different ranks leave the result unranked."""
    outputs = [[body.shape(value.name) for value in body.graph.output] for body in bodies if body.graph is not None]
    return [agreed(pair) for pair in zip(*outputs, strict=False)]
