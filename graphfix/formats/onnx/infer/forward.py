"""The pass over a graph in the order of execution, which infers the shapes and types of each node's results.

The results follow from the rule of the operator. An operator without a rule has unknown results. A size that stays
unknown gets a term that is named after the value's axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from graphfix import operators
from graphfix.formats.onnx.file.attributes import attributes, attributes_of, held_by
from graphfix.formats.onnx.file.messages import Step
from graphfix.formats.onnx.infer import bodies, element_types, integer_values
from graphfix.formats.onnx.infer.call import Call
from graphfix.formats.onnx.infer.functions import Calls
from graphfix.formats.onnx.infer.operators import registry, sequences
from graphfix.formats.onnx.infer.scope import ABSENT, GraphScope, Known, TensorType
from graphfix.formats.onnx.infer.stored_names import Hypotheses
from graphfix.results.onnx_messages import AttributeProto, NodeProto, TensorProto
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Dim, Incompatible, Shape, Size
from graphfix.shapes.terms import Terms

Answer: TypeAlias = tuple[Sequence[Shape | None], Sequence[int]]
"""Shapes and element types by result.

If the list of types is too short, its last type is that of all further results.
"""
UNANSWERED: Answer = ((), ())
PlainAnswer: TypeAlias = tuple[Answer, TensorType | None]
"""An answer, and the type of the only result if nothing else must be recorded about the result."""
Alike: TypeAlias = dict[object, PlainAnswer]
"""The answers in one scope, by operator, number of results, and the type objects of the operands."""


@dataclass(slots=True, eq=False, repr=False)
class PlainNodes:
    """The answers of one analysis for nodes without attributes whose results follow from shapes and types alone.

    A model has few different ones, so each is computed once.
    """

    answer: Callable[[GraphScope, Step], Answer]
    """Computes the answer for a node."""
    _known: dict[object, PlainAnswer] = field(default_factory=dict)

    def find(self, scope: GraphScope, step: Step, alike: Alike) -> PlainAnswer:
        """Return the answer for a node, and enter it into `alike`, where other nodes of the scope look it up."""
        input_values = [scope.type_of(name) for name in step.inputs]
        look = (step.operator, len(step.outputs), *input_values)
        found = alike.get(look)
        if found is None:
            types = [(None if value is ABSENT else value.shape, value.dtype) for value in input_values]
            question = (step.operator, scope.versions.get(step.domain, 1), len(step.outputs), *types)
            found = alike[look] = self._known.get(question) or self._answered(scope, step, question)
        return found

    def _answered(self, scope: GraphScope, step: Step, question: object) -> PlainAnswer:
        """Compute the shapes and types for a node without attributes, and cache them with the key `question`."""
        answer = self.answer(scope, step)
        answer_entry = self._known[question] = answer, _only_result(step, answer)
        return answer_entry


def _only_result(step: Step, answer: Answer) -> TensorType | None:
    """Return the type of a node's only result, if nothing else must be recorded about that result.

    Return None if there are several results, if the rank, a size or the element type is unknown, or if the elements of
    the result must be followed.
    """
    shapes, codes = answer
    if not len(shapes) == len(codes) == len(step.outputs) == 1 or shapes[0] is None or not shapes[0].has_names:
        return None
    followed = step.op in sequences.FOLLOW or (step.op, codes[0]) in integer_values.FOLLOWED
    return None if not codes[0] or (followed and not step.domain) else TensorType(shapes[0], codes[0])


@dataclass(slots=True)
class ForwardPass:
    """One analysis of a model, scope by scope."""

    calls: Calls
    overridable: bool
    """Whether callers may override initializers that are inputs too."""
    trust: bool | None
    """How much the stored shapes are trusted; None, True and False are explained in `analysis.analyse`."""
    terms: Terms = field(default_factory=Terms)
    assumes: dict[str, None] = field(default_factory=dict)
    hypotheses: Hypotheses | None = None
    """The stored sizes that may be trusted; None if no stored shape is trusted."""
    leaning: bool = False
    """Whether any value so far depends on a stored shape."""
    _plain: PlainNodes = field(init=False)
    _claimed: dict[GraphScope, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the cache of the answers for plain nodes."""
        self._plain = PlainNodes(lambda scope, step: self._answer(scope, step, step.message))

    def read(self, scope: GraphScope, inputs: Mapping[str, Known]) -> None:
        """Infer the values of a scope and of the bodies inside it; `inputs` maps the scope's inputs to their facts.

        A scope that is read again loses what an earlier reading inferred.
        """
        scope.clear()
        scope.readings += 1
        if scope.path != "main":
            self.calls.budget.read(len(scope.steps))
        scope.terms, scope.assumes = self.terms, self.assumes
        overridable = self._constants(scope)
        for name, input_value in inputs.items():
            if name not in scope.tensors:
                self._input(scope, name, input_value, overridable.get(name, 0))
        for value in scope.graph.input if scope.graph is not None else ():
            name = value.name
            if name not in scope.types:
                self._enter(scope, name, None, self._claim(scope, name) or overridable.get(name, 0))
        inside: dict[int, list[GraphScope]] = {}
        for (index, _), child in scope.children.items():
            inside.setdefault(index, []).append(child)
        self._nodes(scope, inside)

    def _constants(self, scope: GraphScope) -> dict[str, int]:
        """Record the type of each initializer, except those that callers may override.

        Return the element types of the initializers that callers may override, by name.
        """
        overridden: dict[str, int] = {}
        if scope.graph is None:
            return overridden
        overridable = {value.name for value in scope.graph.input} if self.overridable else set()
        for tensor in scope.graph.initializer:
            name = tensor.name
            if name in overridable:
                overridden[name] = tensor.data_type
            else:
                scope.types[name] = TensorType(Shape(tuple(tensor.dims)), tensor.data_type)
                scope.tensors[name] = tensor
                integer_values.enter(scope, name, tensor)
        for sparse in scope.graph.sparse_initializer:
            name = sparse.values.name
            overridden[name] = sparse.values.data_type
            scope.types[name] = TensorType(Shape(tuple(sparse.dims)), sparse.values.data_type)
        return overridden

    def _input(self, scope: GraphScope, name: str, value: Known, stored_type: int) -> None:
        """Record the facts about an input of the scope."""
        self._enter(scope, name, value.shape, value.dtype or stored_type)
        if value.elements is not None:
            scope.elements[name] = value.elements
        if value.leans:
            scope.leaning.add(name)

    # --- nodes --------------------------------------------------------------------------------------------------------

    def _nodes(self, scope: GraphScope, inside: Mapping[int, Sequence[GraphScope]]) -> None:
        """Infer the nodes in their order; the answers for plain nodes are looked up."""
        steps, types, alone = scope.steps, scope.types, registry.SHAPES_ALONE
        alike: Alike = {}
        for index, (operator, _, inputs, outputs, bare) in enumerate(steps.rows()):
            found = alike.get((operator, len(outputs), *map(types.get, inputs))) if bare else None
            if found is None and bare and operator in alone:
                found = self._plain.find(scope, steps[index], alike)
            if found is None:
                self._node(scope, steps[index], inside.get(index, ()))
            elif found[1] is None or self.leaning or self.trust:
                self._results(scope, steps[index], found[0])
            elif outputs[0]:
                types[outputs[0]] = found[1]

    def _node(self, scope: GraphScope, step: Step, inside: Sequence[GraphScope]) -> None:
        """Infer the results of one node: a constant, a node with bodies, a call of a function, or an operator."""
        message = scope.resolved(step.message)
        if not step.domain and step.op == "Constant" and message is not None:
            self._constant(scope, message, step.outputs[0])
        elif inside:
            self._results(scope, step, self._over(scope, step, message, inside))
        elif (step.domain, step.op) in self.calls.functions:
            self._call(scope, step)
        elif message is None:
            self._results(scope, step, UNANSWERED)
        else:
            call = self._asked(scope, step, message)
            self._results(scope, step, self._answer(scope, step, message, call), message, call)

    def _answer(self, scope: GraphScope, step: Step, message: NodeProto, call: Call | None = None) -> Answer:
        """Return the shapes and element types of the results of a node without bodies, by the rules."""
        call = call or self._asked(scope, step, message)
        version = scope.versions.get(step.domain, 1)
        types = [scope.dtype(name) if name else 0 for name in step.inputs]
        node = None if step.bare else message
        codes = element_types.of_results(step.op, step.domain, version, types, node)
        rule = registry.shape_rule(step.domain, step.op, call.row)
        try:
            return () if rule is None else rule(call), codes
        except Incompatible:
            return (), codes

    @staticmethod
    def _asked(scope: GraphScope, step: Step, node: NodeProto | None) -> Call:
        """Return the `Call` that the operator's rules read."""
        version = scope.versions.get(step.domain, 1)
        row = operators.row(step.domain, step.op, version)
        attribute_map = (
            {} if node is None or step.bare else attributes_of(step) if node is step.message else attributes(node)
        )
        return Call(scope, row, step.op, version, step.inputs, len(step.outputs), attribute_map)

    def _results(
        self,
        scope: GraphScope,
        step: Step,
        answer: Answer,
        message: NodeProto | None = None,
        call: Call | None = None,
    ) -> None:
        """Record the shapes, types and elements of a node's results."""
        shapes, codes = answer
        for at, name in enumerate(step.outputs):
            if name:
                code = codes[at if at < len(codes) else -1] if codes else 0
                self._enter(scope, name, shapes[at] if at < len(shapes) else None, code, step)
        if self.leaning and any(scope.leans(name) for name in step.inputs):
            scope.leaning.update(name for name in step.outputs if name)
        if not step.outputs or (message is None and not step.bare):
            return
        op = step.op if not step.domain else registry.moves(step.domain, step.op)
        first = scope.types.get(step.outputs[0])
        if first is not None and (op, first.dtype) in integer_values.FOLLOWED:
            integer_values.follow(call or self._asked(scope, step, message), op, step.outputs[0])
        elif op in sequences.FOLLOW:
            sequences.follow(call or self._asked(scope, step, message), step.outputs[0])

    def _constant(self, scope: GraphScope, node: NodeProto, name: str) -> None:
        """Record the shape, type and elements of a Constant node's result."""
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                scope.tensors[name] = attribute.t
                integer_values.enter(scope, name, attribute.t)
                self._enter(scope, name, Shape(tuple(attribute.t.dims)), attribute.t.data_type)
                return
            if attribute.type == AttributeProto.SPARSE_TENSOR:
                sparse = attribute.sparse_tensor
                self._enter(scope, name, Shape(tuple(sparse.dims)), sparse.values.data_type)
                return
            code = _CONSTANTS.get(attribute.name)
            if code is not None:
                attribute_value = held_by(attribute)
                if attribute_value is None:
                    break
                self._enter(scope, name, Shape((len(attribute_value),) if attribute.name.endswith("s") else ()), code)
                if code == TensorProto.INT64 and all(isinstance(each, int) for each in attribute_value):
                    scope.elements[name] = attribute_value
                return
        self._enter(scope, name, None, 0)

    def _call(self, scope: GraphScope, step: Step) -> None:
        """Infer the function that a node calls, and record its results."""
        found = self.calls.results(self.read, scope, step.message)
        self._results(scope, step, ([value.shape for value in found], [known.dtype for known in found]))
        for name, known in zip(step.outputs, found, strict=False):
            if name and known.elements is not None:
                scope.elements[name] = known.elements

    # --- bodies -------------------------------------------------------------------------------------------------------

    def _over(self, scope: GraphScope, step: Step, message: NodeProto | None, inside: Sequence[GraphScope]) -> Answer:
        """Infer the bodies of a node (If, Loop, Scan), and return the shapes and types of the node's results."""
        call = self._asked(scope, step, message)
        op = "" if step.domain or message is None else step.op
        if op == "Loop":
            shapes = bodies.loop(scope, step, inside[0], self.read, self.calls.budget)
        elif op == "Scan":
            shapes = bodies.scan(scope, step, call, inside[0], self.read, self.calls.budget)
        else:
            for body in inside:
                self.read(body, {})
            shapes = bodies.joined(inside) if op == "If" else ()
        if self.leaning and any(body.leaning for body in inside):
            scope.leaning.update(name for name in step.outputs if name)
        if not op and message is not None:
            return self._answer(scope, step, message, call)
        return shapes, bodies.element_types(op, inside[0])

    # --- values -------------------------------------------------------------------------------------------------------

    def _enter(self, scope: GraphScope, name: str, computed: Shape | None, code: int, step: Step | None = None) -> None:
        """Record the shape and the element type of a value; unknown sizes get names.

        The declared shape and type are used only if nothing is computed. `step`: the node that makes the value.
        """
        if computed is None or computed.axes is None:
            shape = self._unranked(scope, name, computed, step)
        else:
            shape = computed if computed.has_names else _named(scope, name, computed.axes)
        if self.trust and self.hypotheses is not None and scope.path == "main":
            believed = self.hypotheses.believe(name, shape)
            if believed is not None:
                shape = believed
                scope.leaning.add(name)
                self.leaning = True
        scope.types[name] = TensorType(shape, code or self._claim(scope, name))

    def _unranked(self, scope: GraphScope, name: str, computed: Shape | None, step: Step | None) -> Shape:
        """Return the shape of a value whose rank no rule knows: in the main graph with the stored rank.

        If the operator has no rule, the stored sizes are believed, too. In a body nothing stored is believed, because
        the rank of a value may change from one execution to the next.
        """
        claim = scope.claims.get(name)
        if claim is not None and scope.path == "main" and self.hypotheses is not None:
            scope.leaning.add(name)
            self.leaning = True
            if step is not None and self._is_unknown(scope, step):
                return _named(scope, name, self.hypotheses.shape(name, claim))
            scope.assumed.add(name)
            return _named(scope, name, (Dim(),) * len(claim))
        if computed is not None and computed.parts and computed.valid:
            return computed
        return Shape(None, (_term(scope, name),))

    def _is_unknown(self, scope: GraphScope, step: Step) -> bool:
        """Return whether an operator is a custom one: not standard, without a rule, and not a function of the model."""
        if not step.domain or (step.domain, step.op) in self.calls.functions:
            return False
        row = operators.row(step.domain, step.op, scope.versions.get(step.domain, 1))
        return registry.shape_rule(step.domain, step.op, row) is None

    def _claim(self, scope: GraphScope, name: str) -> int:
        """Return the element type that the file declares for a value, or 0 if the file declares no type."""
        if scope.graph is None:
            return 0
        if scope not in self._claimed:
            infos = (*scope.graph.value_info, *scope.graph.output, *scope.graph.input)
            self._claimed[scope] = {info.name: info.type.tensor_type.elem_type for info in infos}
        return self._claimed[scope].get(name, 0)


_CONSTANTS = {
    "value_int": TensorProto.INT64,
    "value_ints": TensorProto.INT64,
    "value_float": TensorProto.FLOAT,
    "value_floats": TensorProto.FLOAT,
    "value_string": TensorProto.STRING,
    "value_strings": TensorProto.STRING,
}


def _term(scope: GraphScope, name: str) -> str:
    """Return the name for a value's sizes; a body that is read again gets new names, because its sizes may differ."""
    if scope.path == "main":
        return f"?{name}"
    return f"?{scope.path}:{name}" if scope.readings == 1 else f"?{scope.path}:{scope.readings}:{name}"


def _named(scope: GraphScope, name: str, axes: Sequence[Size]) -> Shape:
    """Return the shape with each unknown size named after its axis."""
    term = _term(scope, name)
    return Shape(
        tuple(
            [
                size if isinstance(size, int) or size.parts else Dim((f"{term}.{at}",), size.lo, size.hi)
                for at, size in enumerate(axes)
            ]
        )
    )
