"""Read an ONNX model into terms: its graphs, the bodies of control flow, and a function's nodes at each call."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.files.onnx.graphs import graphs
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.terms import ProofValue, value_of
from graphfix.checker.proof.onnx.closed_world.declared import check_values, declared
from graphfix.checker.proof.onnx.closed_world.model_parts import declared_by, key_of
from graphfix.checker.proof.onnx.closed_world.names import (
    INLINED,
    enter_body_names,
    enter_devices,
    enter_graph_names,
    enter_node_names,
    own_names,
)
from graphfix.checker.proof.onnx.closed_world.new_nodes import GROWING
from graphfix.checker.proof.onnx.closed_world.operator_types import infer_types
from graphfix.checker.proof.onnx.closed_world.validate import imported, is_separate, unique_names
from graphfix.checker.proof.onnx.definitions.decompositions import DEFINED, defined
from graphfix.checker.proof.onnx.definitions.formulas import Definitions
from graphfix.checker.proof.onnx.explain import note_of
from graphfix.checker.proof.onnx.reading.calls import call_of, function_of, record_odd_call
from graphfix.checker.proof.onnx.reading.node_memo import Names, NodeMemo
from graphfix.checker.proof.onnx.reading.node_results import exact_results, folded_results, view_or_term
from graphfix.checker.proof.onnx.reading.operands import Environment, attributes_of
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto

    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, TermTable
    from graphfix.checker.proof.neutral.explain import Notes
    from graphfix.checker.proof.onnx.closed_world.model_parts import FunctionKey
    from graphfix.checker.proof.onnx.reading.constants import FileConstants
    from graphfix.checker.proof.onnx.reading.operands import Call
    from graphfix.checker.proof.onnx.reading.stored_sizes import StoredSizes

_FLOW = frozenset({"If", "Loop", "Scan"})
_DEEPEST = 64
"""The maximal depth of nested calls and bodies. It also stops a function that calls itself."""


@dataclass(slots=True, eq=False)
class Reading:
    """The state of reading one of the two ONNX models: its constants, functions, and stateful results so far.

    `called` contains the functions that nodes call. `occurrences` counts equal stateful nodes, and `calls` caches the
    results of function calls.
    """

    table: TermTable
    constants: FileConstants
    model: ModelProto
    functions: dict[tuple[str, str, str], FunctionProto] = field(default_factory=dict)
    called: set[FunctionKey] = field(default_factory=set)
    effects: list[tuple[Core, Place]] = field(default_factory=list)
    """Results that may differ from run to run, in the order of execution."""
    occurrences: dict[object, int] = field(default_factory=dict)
    calls: dict[object, tuple[ProofValue | None, ...]] = field(default_factory=dict)
    notes: Notes | None = None
    """Collects notes about nodes for a report; None if no caller needs them."""
    definitions: Definitions = field(default_factory=Definitions)
    """The formulas of operators of the first file."""
    unrolled: bool = False
    """Whether loops with a constant trip count are read trip by trip."""
    scopes: list[tuple[GraphProto, Environment]] = field(default_factory=list)
    """The graphs of the second file that were read, each with its environment."""
    inlined: bool = False
    """Whether the file may contain a name that begins like the names that runtimes create when they inline functions.
    """

    def __post_init__(self) -> None:
        """Index the model's functions by domain, name and overload."""
        self.functions = {key_of(each): each for each in self.model.functions}
        self.inlined = INLINED in self.constants.source.words

    def for_second_file(self, constants: FileConstants, model: ModelProto) -> Reading:
        """Create the reading of the second file, which shares the terms, notes and definitions of this one."""
        return Reading(
            self.table, constants, model, notes=self.notes, definitions=self.definitions, unrolled=self.unrolled
        )

    def occurrence(self, key: object) -> int:
        """Return how many nodes with this key were read before, and count this node.

        The count distinguishes nodes that compute different values although they are equal, such as random numbers.
        """
        count = self.occurrences[key] = self.occurrences.get(key, -1) + 1
        return count

    # --- graphs -----------------------------------------------------------------------------------------------

    def run(self, graph: GraphProto, environment: Environment) -> tuple[ProofValue, ...]:
        """Read the constants and nodes of a graph whose inputs are in `environment`; return the values of its outputs.

        Raises UnprovedError for a graph that runtimes may refuse or interpret differently.
        """
        unique_names(graph)
        world = self.constants.world
        enter_node_names(world, graph.name, graph.node, inlined=self.inlined)
        if environment.outer is not None:
            enter_body_names(world, graph, environment.outer)
        for tensor in graph.initializer:
            if tensor.name not in environment.values:
                environment.values[tensor.name] = self.constants.constant(tensor, tensor.name)
                environment.stored.add(tensor.name)
        for sparse in graph.sparse_initializer:
            if sparse.values.name not in environment.values:
                environment.values[sparse.values.name] = self.constants.sparse(sparse)
        self.nodes(graph.name, graph.node, environment)
        if self.table.closed:
            self.scopes.append((graph, environment))
        body = environment.outer is not None
        infos = declared((*graph.input, *graph.output)), declared(graph.value_info)
        enter_graph_names(world, graph, infos, environment.values, body=body, inlined=self.inlined)
        enter_names = partial(world.size_names.enter, world, graph.name)
        for each in infos:
            check_values(self.table, each, environment.values, enter_names)
        return tuple(environment.find(output.name) for output in graph.output)

    def body(
        self, graph: GraphProto, outer: Environment, parameters: Sequence[ProofValue], place: object | None, label: str
    ) -> tuple[ProofValue, ...]:
        """Read a body with the values `parameters` as its inputs; return the values of its outputs.

        `outer` is the environment of the surrounding graph. `place` is the condition under which the body runs, which
        is equal in both files; None if it always runs. `label` is the node and the attribute that contain the body.

        Raises UnprovedError if bodies are nested too deeply, or if the number of inputs is wrong. In the second file,
        an output of the body must not be a value of the surrounding graph.
        """
        if outer.depth > _DEEPEST:
            raise UnprovedError("bodies are nested too deeply to be read")
        if len(parameters) != len(graph.input):
            raise UnprovedError(f"the body {graph.name!r} has {len(graph.input)} inputs and is given {len(parameters)}")
        path = f"{outer.path}/{label}"
        environment = Environment(
            outer.versions, outer, call_attributes=outer.call_attributes, depth=outer.depth + 1, path=path
        )
        environment.declared_attributes = outer.declared_attributes
        environment.absent_operands = (
            outer.absent_operands.difference(own_names(graph)) if outer.absent_operands else outer.absent_operands
        )
        environment.values.update(zip((each.name for each in graph.input), parameters, strict=True))
        algebra = self.table.algebra
        around = algebra.place
        algebra.place = around if place is None else (*around, place)
        given = self.run(graph, environment)
        algebra.place = around
        if self.table.closed and any(output.name not in environment.values for output in graph.output):
            raise UnprovedError(
                f"the body {graph.name!r} returns a value of the graph around it, which no runtime takes"
            )
        return given

    def nodes(self, graph: str, nodes: Sequence[NodeProto], environment: Environment) -> None:
        """Read the nodes of a graph or function in their order, and enter their results into the environment.

        Raises UnprovedError, or TooLargeError if the nodes of bodies exceed the work that the proof may do.
        """
        if environment.depth:
            self.table.budget.read(len(nodes), environment.path)
        learns = self.notes is None and not (self.table.closed and self.definitions.defined)
        memo = NodeMemo(self.table, environment.values, set(environment.absent_operands), learns)
        memo.read(nodes, partial(self.node, graph, environment))

    def read_nodes(self, nodes: Sequence[NodeProto], version: int, values: dict[str, ProofValue]) -> ProofValue:
        """Read nodes of the standard operator set of this version, which are not in the file, such as a formula.

        The nodes read and extend `values`. Return the result of the last node.
        """
        environment = Environment({"": version}, values=values, is_of_file=False)
        notes, self.notes = self.notes, None  # The nodes are not nodes of the file.
        self.nodes(environment.path, nodes, environment)
        self.notes = notes
        return environment.values[nodes[-1].output[0]]

    # --- nodes ------------------------------------------------------------------------------------------------

    def node(
        self, graph: str, environment: Environment, node: NodeProto, index: int, ends: tuple[Names, Names]
    ) -> Sequence[ProofValue | None]:
        """Read one node: return its results, in the order of their names.

        A result is None if the called function does not produce it. `graph` is the graph's name and `index` the node's
        position. `ends` are the names of operands and results.
        """
        operands, names = ends
        enter_devices(self.constants.world, graph, node)
        values = environment.values
        if (
            environment.absent_operands
        ):  # An operand that a call of the function does not pass is an operand without a name.
            operands = ["" if name in environment.absent_operands else name for name in operands]
        views = [values.get(name) or environment.find(name) if name else None for name in operands]
        while views and views[-1] is None:
            views.pop()
        attributes = attributes_of(node, environment) if node.attribute else {}
        function = function_of(self.functions, node, environment.versions) if self.functions else None
        if function is not None:
            self.called.add(key_of(function))
            record_odd_call(self.constants, node, operands, function, attributes, environment)
            stored_bodies = frozenset(
                formal for formal, name in zip(function.input, operands, strict=False) if environment.is_stored(name)
            )
            return self._function(function, attributes, (views, stored_bodies), len(names), environment)
        call = call_of(self.constants, node, index, (operands, names), environment, views, attributes)
        before = len(self.table.cores)
        results = self._results(call, environment)
        if environment.is_of_file:
            results = self._with_formulas(call, results, environment)
        if call.operand_types not in call.signature_memo.entered_types and environment.is_of_file:
            self.constants.world.enter(call, results)
        if call.op in GROWING:
            self.constants.world.enter_growth(self.table, call, results)
        if self.notes is not None:
            self.notes.take(results, before, partial(note_of, self.table.algebra, call, environment.path, results))
        return results

    def _with_stored_shapes(
        self, call: Call, results: Sequence[ProofValue | None], stored: StoredSizes
    ) -> Sequence[ProofValue | None]:
        """Return the results of a node; if its operator has no rule, add the shapes that the first file stores.

        A result changes only if its rank is unknown and the file stores its shape. The proof then reports that it
        trusts this stored shape.
        """
        from graphfix.checker.proof.onnx import contrib  # Most models have no operators of other domains.

        if contrib.is_ruled(call):
            return results
        shown = list(results)
        # The names at the end may be empty.
        for at, (view, name) in enumerate(zip(results, call.result_names, strict=False)):
            if view is None or view.core.sizes is not None or not name:
                continue
            sizes = stored.shape(name, f"{call.domain}.{call.op}")
            if sizes is not None:
                view.core.sizes = self.table.named_sizes(view.core, sizes)
                shown[at] = value_of(view.core)
        return shown

    def _with_formulas(
        self, call: Call, results: Sequence[ProofValue | None], environment: Environment
    ) -> Sequence[ProofValue | None]:
        """Record an operator's formula in the first file, or recognize the formula in the second file.

        In the second file, a result that equals the formula of an operator of the first file is replaced by that
        operator's result. Return the results.
        """
        inside = environment.depth > 0
        if self.table.closed:
            return self.definitions.replaced(call, results, inside=inside) if self.definitions.defined else results
        self.definitions.enter(call, results, self.read_nodes, inside=inside)
        return results

    def _results(self, call: Call, environment: Environment) -> Sequence[ProofValue | None]:
        """Return the results of an operator: constants, moved data, or terms that read by maps or exactly."""
        if call.op == "Constant" and not call.domain:
            environment.stored.update(call.result_names)
            return [self.constants.node(call)]
        if call.op in _FLOW and not call.domain:
            from graphfix.checker.proof.onnx.reading.control_flow import FLOW

            return FLOW[call.op](self, call, environment)
        results: Sequence[ProofValue | None] | None = folded_results(self.constants.shared, call)
        if results is None:
            view = defined(call, self.read_nodes) if call.op in DEFINED else None
            view = view_or_term(call) if view is None else view
            results = self._exact_results(call, environment) if view is None else [view]
            if call.domain and environment.trusted_sizes is not None and not self.table.closed:
                results = self._with_stored_shapes(call, results, environment.trusted_sizes)
        if len(results) > 1 or not results or results[0] is None or results[0].core.dtype is None:
            infer_types(call, results)
        return results

    def _exact_results(self, call: Call, environment: Environment) -> list[ProofValue]:
        """Return the results of an operator that reads its operands exactly, without indexing maps.

        Bodies of the operator are read with inputs of unknown shape. If equal nodes may compute different values
        (random, stateful or unknown operators), each node has its own terms, and is recorded among the effects.
        """
        domain = call.domain
        found = [(name, graph) for name, given in sorted(call.attributes.items()) for graph in graphs(given)]
        separate = domain not in onnx_ops.KNOWN_DOMAINS or is_separate(call)
        if not found and not separate:
            return exact_results(call)
        owner = (*call.exact_key, tuple(call.views))
        occurrence = self.occurrence(owner)
        bodies = []
        for index, (name, graph) in enumerate(found):
            place = (owner, occurrence, name, index)
            own = [self.parameter(place, i, None) for i in range(len(graph.input))]
            bodies.append((name, self.body(graph, environment, own, place, f"{call.label}.{name}")))
        if not separate:
            return exact_results(call, tuple(bodies))
        results = exact_results(call, ("occurrence", occurrence, *bodies))
        done, _ = self.table.find_or_create_core(
            ("done", owner, occurrence, tuple(bodies), len(results)), call.description
        )
        self.effects.append((done, self.table.algebra.place))
        return results

    def parameter(self, owner: tuple[object, ...], index: int, sizes: tuple[object, ...] | None) -> ProofValue:
        """Return the value of input `index` of a body. It represents a different value in each iteration.

        `owner` identifies the body. `sizes` is the shape, in which each None becomes a new symbol; None if the rank is
        unknown.
        """
        core, new = self.table.find_or_create_core(
            ("parameter", owner, index, sizes), f"input {index} of a body", counted=False
        )
        if new and sizes is not None:
            core.sizes = self.table.named_sizes(core, sizes)  # type: ignore[arg-type]  # the key accepts any objects as sizes
        return value_of(core)

    # --- functions --------------------------------------------------------------------------------------------

    def _function(
        self,
        function: FunctionProto,
        attributes: Mapping[str, AttributeProto],
        given_operands: tuple[Sequence[ProofValue | None], frozenset[str]],
        outputs: int,
        environment: Environment,
    ) -> tuple[ProofValue | None, ...]:
        """Return the results of a function for the operands of one call, computed from the function's nodes.

        The terms contain what the function computes, not the call, so an inlined function has the same terms.
        `given_operands` are the operands, with the names of the formal operands that the file stores. `outputs` is the
        number of results that the node lists. Raises UnprovedError if functions are nested too deeply.
        """
        views, captured = given_operands
        if environment.depth > _DEEPEST:
            raise UnprovedError(f"the function {function.name!r} is nested too deeply to be read")
        name = (function.domain, function.name, function.overload)
        key = (name, self.constants.attributes(attributes), tuple(views), captured, self.table.algebra.place)
        memo = self.calls.get(key)
        if memo is not None:
            return memo[:outputs]
        given = {each.name: each for each in function.attribute_proto} | dict(attributes)
        path = f"function {function.domain}.{function.name}" if function.domain else f"function {function.name}"
        inner = Environment(
            imported(function.opset_import),
            call_attributes=given,
            declared_attributes=declared_by(function),
            depth=environment.depth + 1,
            path=path,
            stored=set(captured),
        )
        inner.values.update((name, view) for name, view in zip(function.input, views, strict=False) if view is not None)
        inner.absent_operands = frozenset(function.input) - inner.values.keys()
        before = len(self.effects)
        enter_node_names(self.constants.world, path, function.node, inlined=self.inlined)
        self.nodes(path, function.node, inner)
        enter_names = partial(self.constants.world.size_names.enter, self.constants.world, path)
        check_values(self.table, declared(function.value_info), inner.values, enter_names)
        results = tuple(inner.values.get(name) for name in function.output)
        if len(self.effects) == before and not any(map(graphs, attributes.values())):
            self.calls[key] = results
        return results[:outputs]
