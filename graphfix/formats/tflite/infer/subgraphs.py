"""Infer the subgraphs of a model in the order of execution; a body has the shapes that all its callers pass.

LiteRT resizes the inputs of a body to the caller's shapes. So a size in a body is a number only if all callers pass
that number. A size that a body returns is a number, or the size of an operand that the body passes through.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from graphfix import operators
from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, Operator
from graphfix.formats.tflite.file.schema import CUSTOM, OPERATORS, TENSOR_TYPES, UNSHAPED
from graphfix.formats.tflite.infer.call import Call, Results, Rule
from graphfix.formats.tflite.infer.operators import registry
from graphfix.formats.tflite.infer.scope import GraphScope, scope_of
from graphfix.operators.row import TFLITE, Row
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import UNRANKED, Dim, Incompatible, Shape, Size, same
from graphfix.shapes.terms import Terms

STATED = frozenset(form.op for form in operators.stretch_forms() if form.domain == TFLITE and form.by == "axes")
"""The operators whose result has the stored shape by definition."""
Kind: TypeAlias = tuple[str, Row | None, Rule | None]
"""An operator code: the builtin operator's name ("CUSTOM" for a custom one), its catalogue row and its shape rule."""
Known: TypeAlias = tuple[Shape, tuple[Size, ...] | None]
"""A value's shape, and its elements as far as they are inferred."""
Place: TypeAlias = tuple[int, int]
"""(index of a tensor, axis)."""


@dataclass(slots=True)
class Analysis:
    """One inference of a whole model."""

    container: Container
    narrowed: Mapping[Place, Size]
    """The sizes that callers choose for free sizes of the main subgraph's inputs: numbers, ranges, or equal symbols."""
    own_only: bool = False
    """Whether no stored shape of a result is assumed."""
    terms: Terms = field(default_factory=Terms)
    _scopes: dict[int, GraphScope] = field(default_factory=dict)
    _entered: dict[int, list[Shape]] = field(default_factory=dict)
    """For each body, the shapes of its inputs as far as all callers so far agree, by position."""
    _weakened: bool = False
    """Whether an inferred body has fewer known sizes now, so that its earlier callers must be inferred again."""
    _kinds: list[Kind] = field(default_factory=list)

    def run(self) -> list[GraphScope]:
        """Infer all subgraphs; return their states, by index.

        The main subgraph and those of SignatureDefs have their declared inputs. Bodies have the inputs that their
        callers pass.
        """
        self._kinds = [_kind(code.builtin, code.version) for code in self.container.codes]
        count = len(self.container.subgraphs)
        roots = dict.fromkeys((0, *(signature.subgraph for signature in self.container.signatures)))
        self._weakened = True
        while self._weakened:  # This ends, because in each round an input of a body loses a number or its rank.
            self._weakened = False
            self._scopes.clear()
            for index in roots:
                self._enter(index, None)
        for index in range(count):
            if index not in self._scopes:
                self._enter(index, None)  # No operator runs this subgraph.
        return [self._scopes[index] for index in range(count)]

    def evaluated(self, index: int, given: Sequence[Known]) -> list[Known]:
        """Return the shapes and elements of a subgraph's outputs for inputs with these shapes and elements.

        The result does not change what `run` infers for the subgraph.
        """
        self._kinds = self._kinds or [_kind(code.builtin, code.version) for code in self.container.codes]
        scope = scope_of(self.container, index, self.terms, own_only=self.own_only)
        subgraph = self.container.subgraphs[index]
        for tensor, (shape, elements) in zip(subgraph.inputs, given, strict=False):
            scope.shapes[tensor] = shape
            if elements is not None:
                scope.enter(tensor, elements)
        for operator in subgraph.operators:
            self._visit(scope, operator)
        return [(scope.shapes[tensor], scope.elements(tensor)) for tensor in subgraph.outputs]

    def _enter(self, index: int, operands: Sequence[Shape] | None) -> GraphScope:
        """Infer a subgraph that is run with these operands, or with its declared inputs if `operands` is None.

        Its inputs get what all callers so far have in common. If that does not change, the subgraph is not inferred
        again.
        """
        scope = scope_of(self.container, index, self.terms, own_only=self.own_only)
        inputs = self.container.subgraphs[index].inputs
        if operands is None:
            shapes = [self._declared_input(scope, tensor) for tensor in inputs]
            scope.sample(shapes)
        else:
            shapes = list(operands[: len(inputs)])
        before = self._entered.get(index)
        if operands is not None or before is not None:
            shapes = _joined(scope, inputs, [way for way in (before, shapes) if way is not None])
        if index in self._scopes:
            if shapes == before:
                return self._scopes[index]
            self._weakened = True
        self._entered[index] = shapes
        for tensor, shape in zip(inputs, shapes, strict=False):
            scope.shapes[tensor] = shape
            if operands is not None:
                scope.receive(tensor, shape)
        self._scopes[index] = scope
        for operator in self.container.subgraphs[index].operators:
            self._visit(scope, operator)
        return scope

    def _declared_input(self, scope: GraphScope, tensor: int) -> Shape:
        """Return the declared shape of an input; free sizes of the main subgraph are replaced as callers chose."""
        shape = scope.declared_shape(tensor)
        if scope.index or shape.axes is None or not self.narrowed:
            return shape
        sizes = [self.narrowed.get((tensor, axis), size) for axis, size in enumerate(shape.axes)]
        return Shape(tuple(sizes))

    def _visit(self, scope: GraphScope, operator: Operator) -> None:
        """Infer the results of one operator."""
        op, row, shape_rule = self._kinds[operator.code]
        call = Call(scope, op, row, operator)
        results = _computed(call, shape_rule) if shape_rule is not None else self._run_bodies(call)
        if not results and _any_unranked(scope, operator):
            # If an operand's rank is unknown, the result's rank is unknown too; the stored shape is not used.
            results = (UNRANKED,) * len(operator.outputs)
        trusted = scope.doubtful.isdisjoint(operator.inputs)
        for at, tensor in enumerate(operator.outputs):
            if tensor != ABSENT:
                computed = results[at] if at < len(results) else None
                scope.set_shape(tensor, computed, trusted, stated=op in STATED)
        if scope.assumed and not (trusted and scope.assumed.isdisjoint(operator.outputs)):
            scope.doubtful.update(operator.outputs)
        if op in registry.ELEMENT_RULES:
            registry.follow_elements(call)

    def _run_bodies(self, call: Call) -> Results:
        """Return the shapes of the results of an operator that runs subgraphs; nothing for any other operator."""
        controls = CONTROL.get(call.op)
        return controls(self, call) if controls is not None else ()

    def branches(self, call: Call) -> Results:
        """Return the shapes of the results of an IF: the sizes that both branches have in common."""
        operands = [_operand(call, at) for at in range(1, call.count)]
        each = [
            self._returned(self._enter(body, operands), operands)
            for option in ("then_subgraph_index", "else_subgraph_index")
            if (body := self._body(call, option)) is not None
        ]
        if len(each) <= 1:
            return ()
        return tuple([_common(call.scope, *way) for way in zip(call.operator.outputs, *each, strict=False)])

    def loop(self, call: Call) -> Results:
        """Return the shapes of the results of a WHILE: sizes that are equal before the first and after each trip."""
        operands = [_operand(call, at) for at in range(call.count)]
        test, body = self._body(call, "cond_subgraph_index"), self._body(call, "body_subgraph_index")
        if test is None or body is None:
            return ()
        # Each trip passes its outputs to the next trip as inputs.
        scope = self._enter(body, _outputs(self._enter(body, operands)))
        self._enter(test, self._entered[body])
        after = self._returned(scope, operands, turns=True)
        carried = zip(call.operator.outputs, operands, after, strict=False)
        return tuple([_common(call.scope, *way) for way in carried])

    def once(self, call: Call) -> Results:
        """Infer the subgraph of a CALL_ONCE, which has no operands and no results."""
        body = self._body(call, "init_subgraph_index")
        if body is not None:
            self._enter(body, ())
        return ()

    def decomposed(self, call: Call) -> Results:
        """Return the shapes of the results of a STABLEHLO_COMPOSITE: those that its decomposition returns."""
        body = self._body(call, "decomposition_subgraph_index")
        operands = [_operand(call, at) for at in range(call.count)]
        return () if body is None else tuple(self._returned(self._enter(body, operands), operands))

    def _body(self, call: Call, option: str) -> int | None:
        """Return the index of the subgraph that an option contains; None if there is no such subgraph."""
        body = call.option(option)
        return body if isinstance(body, int) and 0 <= body < len(self.container.subgraphs) else None

    def _returned(self, scope: GraphScope, operands: Sequence[Shape], *, turns: bool = False) -> list[Shape]:
        """Return the shapes of a body's outputs for its caller: numbers, and sizes of the caller's operands.

        All other sizes are unknown. If `turns`, the body is a loop's, and only operands that each trip passes on
        unchanged keep their sizes, because the proof infers no others either.
        """
        subgraph = self.container.subgraphs[scope.index]
        places = enumerate(zip(subgraph.inputs, operands, strict=False))
        outputs = subgraph.outputs
        full_operands = {
            tensor: operand for at, (tensor, operand) in places if not turns or outputs[at : at + 1] == (tensor,)
        }
        names: dict[Size, Size] = {}
        for tensor, operand in full_operands.items() if not turns else ():
            inside = scope.shapes[tensor].axes
            if inside is not None and operand.axes is not None and len(inside) == len(operand.axes):
                names.update(zip(inside, operand.axes, strict=True))
        return [
            full_operands[tensor] if tensor in full_operands else _translated(scope.shapes[tensor], names)
            for tensor in subgraph.outputs
        ]


Control: TypeAlias = Callable[[Analysis, Call], Results]
CONTROL: Mapping[str, Control] = {
    "IF": Analysis.branches,
    "WHILE": Analysis.loop,
    "CALL_ONCE": Analysis.once,
    "STABLEHLO_COMPOSITE": Analysis.decomposed,
}


def _kind(builtin: int, version: int) -> Kind:
    """Return the name, the catalogue row and the shape rule of an operator code."""
    if builtin == CUSTOM:
        return "CUSTOM", None, None
    op = OPERATORS[builtin]
    row = operators.row(TFLITE, op, version)
    return op, row, registry.shape_rule(op, row)


def _any_unranked(scope: GraphScope, operator: Operator) -> bool:
    """Return whether an operand of the operator has an unknown rank; resources and variants do not count."""
    return any(
        not scope.shapes[tensor].ranked and TENSOR_TYPES[scope.tensors[tensor].type][0] not in UNSHAPED
        for tensor in operator.inputs
        if tensor != ABSENT
    )


def _computed(call: Call, shape_rule: Rule) -> Results:
    """Return the shapes that the rule computes; nothing if the operands' shapes are incompatible."""
    try:
        return shape_rule(call)
    except Incompatible:
        return ()


def _operand(call: Call, index: int) -> Shape:
    """Return the shape of an operand; an unknown rank if the operand is absent."""
    shape = call.shape(index)
    return UNRANKED if shape is None else shape


def _outputs(scope: GraphScope) -> list[Shape]:
    """Return the shapes of a subgraph's outputs."""
    return [scope.shapes[tensor] for tensor in scope.container.subgraphs[scope.index].outputs]


def _translated(shape: Shape, names: Mapping[Size, Size]) -> Shape:
    """Return a shape with the symbols of a body replaced by the caller's sizes.

    A symbol without a size in the caller becomes an unknown size.
    """
    if shape.axes is None:
        return UNRANKED
    return Shape(tuple([size if isinstance(size, int) else names.get(size, Dim()) for size in shape.axes]))


def _joined(scope: GraphScope, inputs: Sequence[int], ways: Sequence[Sequence[Shape]]) -> list[Shape]:
    """Return the shapes of a body's inputs over all its callers (`ways`): numbers that all callers pass, else symbols.

    Sizes that are equal in each caller have the same symbol.
    """
    names: dict[tuple[object, ...], Dim] = {}
    shapes = []
    for tensor, *each in zip(inputs, *ways, strict=False):
        ranked = [shape.axes for shape in each if shape.axes is not None]
        if len(ranked) < len(each) or len(set(map(len, ranked))) > 1:
            shapes.append(UNRANKED)
            continue
        columns = enumerate(zip(*ranked, strict=True))
        shapes.append(Shape(tuple([_shared(names, column, scope.name(tensor, axis)) for axis, column in columns])))
    return shapes


def _shared(names: dict[tuple[object, ...], Dim], column: Sequence[Size], own: Dim) -> Size:
    """Return the number that all callers pass for one axis, else a symbol.

    `column` contains the size that each caller passes. Axes with equal columns share a symbol, which `names` contains;
    `own` is the symbol of this axis.
    """
    first = column[0]
    if isinstance(first, int) and all(size == first for size in column):
        return first
    key = tuple([size if isinstance(size, int) else size.parts for size in column])
    return own if () in key else names.setdefault(key, own)


def _common(scope: GraphScope, tensor: int, one: Shape, other: Shape) -> Shape:
    """Return the sizes that two shapes have in common; a size that differs becomes the symbol of the tensor's axis."""
    if one.axes is None or other.axes is None or len(one.axes) != len(other.axes):
        return UNRANKED
    pairs = enumerate(zip(one.axes, other.axes, strict=True))
    return Shape(tuple([a if same(a, b) else scope.name(tensor, axis) for axis, (a, b) in pairs]))
