"""Read a TFLite model into terms: its subgraphs, the bodies of control flow, and each operator with its operands."""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.records import WIDTHS
from graphfix.checker.proof.core.result import STORED_SHAPES, UnprovedError
from graphfix.checker.proof.core.sizes import all_known
from graphfix.checker.proof.core.terms import ProofValue, value_of
from graphfix.checker.proof.tflite.closed_world.new_forms import NARROWEST
from graphfix.checker.proof.tflite.definitions.matched_decompositions import CONCERNED, Definitions
from graphfix.checker.proof.tflite.definitions.sequence_lstm import has_own_state
from graphfix.checker.proof.tflite.explain import note_of
from graphfix.checker.proof.tflite.kernels.lookup_tables import chains
from graphfix.checker.proof.tflite.operators.joins import without_empty
from graphfix.checker.proof.tflite.operators.registry import STATELESS, computed, refined, unmoved, viewed
from graphfix.checker.proof.tflite.operators.repeating import ranked
from graphfix.checker.proof.tflite.operators.slices import split_part
from graphfix.checker.proof.tflite.operators.table import EACH, STATEFUL, UNARY
from graphfix.checker.proof.tflite.reading import loop_sizes
from graphfix.checker.proof.tflite.reading.control_flow import always_taken, as_trips, branch_taken, path_of
from graphfix.checker.proof.tflite.reading.node_signature import canonical, quantized, shared_name, stated
from graphfix.checker.proof.tflite.reading.nodes import beside_neutral, read
from graphfix.checker.proof.tflite.reading.operands import Call
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Model, Operator, Subgraph, Tensor
    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, TermTable
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.neutral.explain import Notes
    from graphfix.checker.proof.tflite.closed_world.known_operators import Known
    from graphfix.checker.proof.tflite.kernels.lookup_tables import Chain
    from graphfix.checker.proof.tflite.reading.loop_sizes import Spot

_DEEPEST = 64


def _read_as(tensor: Tensor, view: ProofValue | None) -> tuple[object, ...]:
    """Return the part of a key for an operand of an operator without a rule, besides the operand's elements.

    Recurrent operators write into an operand that is a variable, and refuse any other tensor as this operand.
    """
    return tensor.dtype, tensor.variable, quantized(tensor.quantization, view)


def _check_results(graph: Subgraph, operator: Operator, values: Mapping[int, ProofValue], description: str) -> None:
    """Raise UnprovedError if an operator writes to a tensor that another operator writes, or twice to one tensor.

    The same error is raised if a result is an input, a constant or a variable.

    Kernels write to the memory of a result in any case. Other operators then read different data in different kernel
    sets.
    """
    for at in operator.outputs:
        tensor = graph.tensors[at]
        if at in values or tensor.payload is not None or tensor.variable or tensor.odd:
            raise UnprovedError(f"{description} writes to {tensor.name!r}, which is something else")
    if len(operator.outputs) > 1 and len(set(operator.outputs)) < len(operator.outputs):
        raise UnprovedError(f"{description} writes to one tensor twice")


@dataclass(slots=True, eq=False)
class Reading:
    """The state of reading one of the two models."""

    table: TermTable
    constants: Constants
    model: Model
    inventory: Known
    first: bool
    effects: list[tuple[Core, Place]] = field(default_factory=list)
    occurrences: dict[object, int] = field(default_factory=dict)
    depth: int = 0
    notes: Notes | None = None
    """The notes of operators, for a report."""
    definitions: Definitions = field(default_factory=Definitions)
    unrolled: frozenset[int] = frozenset()
    """The loop bodies that are unrolled, by the index of their subgraph."""
    chains: dict[int, Mapping[int, Chain]] = field(init=False)
    """For each subgraph, by its identity: the chain of operators that each result may be computed in."""

    def __post_init__(self) -> None:
        """Find the chains of operators that XNNPACK may replace by lookup tables."""
        self.chains = {id(graph): chains(graph) for graph in self.model.subgraphs}

    def occurrence(self, key: object) -> int:
        """Return how many nodes with this key were read before. Two such nodes are two different values."""
        count = self.occurrences[key] = self.occurrences.get(key, -1) + 1
        return count

    def run(self, index: int, given: Sequence[ProofValue], path: str) -> tuple[ProofValue, ...]:
        """Read a subgraph with the values `given` as its inputs. Return its outputs. Raises UnprovedError.

        `index` is the subgraph, and `path` its name in reports.
        """
        if not 0 <= index < len(self.model.subgraphs) or self.depth > _DEEPEST:
            raise UnprovedError(f"there is no subgraph {index}, or it calls itself")
        graph = self.model.subgraphs[index]
        if len(given) != len(graph.inputs):
            raise UnprovedError(f"subgraph {index} has {len(graph.inputs)} inputs and is given {len(given)}")
        if self.depth:
            self.table.budget.read(len(graph.operators), path or f"subgraph {index}")
        values: dict[int, ProofValue] = dict(zip(graph.inputs, given, strict=True))
        self.depth += 1
        for place, operator in enumerate(graph.operators):
            views = [self.value(graph, index, tensor, values) for tensor in operator.inputs]
            label, before = f"{operator.name}#{place}", len(self.table.cores)
            _check_results(graph, operator, values, label)
            results = self._operator(graph, operator, views, label, path)
            if self.notes is not None:
                chain = self.chains[id(graph)].get(operator.outputs[0]) if operator.outputs else None
                note = partial(note_of, self.table.algebra, graph, operator, views, results, (path, label), chain)
                self.notes.take(results, before, note)
            values.update(zip(operator.outputs, results, strict=False))
        self.depth -= 1
        outputs = [self.value(graph, index, tensor, values) for tensor in graph.outputs]
        return tuple(view for view in outputs if view is not None)

    def value(self, graph: Subgraph, index: int, at: int, values: dict[int, ProofValue]) -> ProofValue | None:
        """Return a tensor's value: computed, a constant, or a variable. Returns None for a missing tensor (-1).

        `values` contains the values of the subgraph's tensors so far; a constant is added to it.
        """
        if at < 0:
            return None
        if at in values:
            return values[at]
        tensor = graph.tensors[at]
        if tensor.payload is not None or tensor.odd:
            values[at] = self._constant(tensor)
        elif tensor.variable:
            return self._variable(tensor, index, at)
        else:
            values[at] = self._empty(tensor)
        return values[at]

    def _variable(self, tensor: Tensor, index: int, at: int) -> ProofValue:
        """Return the present value of a variable. Each operator that may write to a variable changes it."""
        kind = (tensor.dtype, tensor.dims, tensor.stored, tensor.quantization)
        key = ("variable", index, at, kind, len(self.effects))
        core, new = self.table.find_or_create_core(key, f"variable {tensor.name!r}", counted=False)
        if new:
            core.sizes = self.table.named_sizes(core, tensor.dims)
        return value_of(core)

    def _empty(self, tensor: Tensor) -> ProofValue:
        """Return a constant without elements. Raises UnprovedError for any other tensor that no operator computes."""
        if 0 not in tensor.stored:
            raise UnprovedError(f"the tensor {tensor.name!r} is read before any operator produces it; check the model")
        self.inventory.lacks(tensor, first=self.first)
        return self.table.empty(tensor.dtype, tensor.stored)

    def _constant(self, tensor: Tensor) -> ProofValue:
        """Return the value of a constant of the file. Raises UnprovedError if its bytes are in another file."""
        if tensor.payload is None:
            raise UnprovedError(f"the constant {tensor.name!r} is in another file, which is not read")
        if tensor.odd:
            return self.constants.as_stored((tensor.dtype, tensor.odd), tensor.stored, tensor.payload, tensor.name)
        axis = None if tensor.quantization is None else tensor.quantization.axis
        width = WIDTHS.get(tensor.dtype, 0)
        return self.constants.view(tensor.dtype, tensor.stored, tensor.payload, width, tensor.name, axis)

    # --- operators --------------------------------------------------------------------------------------------

    def _operator(
        self, graph: Subgraph, operator: Operator, views: Sequence[ProofValue | None], description: str, path: str
    ) -> list[ProofValue]:
        """Return the results of an operator, with control flow resolved and formulas matched."""
        always = always_taken(operator, views)
        if always is not None:
            return branch_taken(self, operator, views, always, f"{path}/{description}")
        as_loop = partial(self._results, graph, operator, views, description, path)
        results = as_trips(self, graph, operator, views, f"{path}/{description}", as_loop) or as_loop()
        if operator.name not in CONCERNED or len(results) != 1:
            return results
        call = self._call(graph, operator, views, operator.outputs[0], description)
        return [self.definitions.see(self.constants, call, results[0], (self.model, graph), first=self.first)]

    def _results(
        self, graph: Subgraph, operator: Operator, views: Sequence[ProofValue | None], description: str, path: str
    ) -> list[ProofValue]:
        """Return the results of an operator. Operators without a rule for maps read whole operands."""
        operator, views = without_empty(graph, operator, views)
        bodies = self.bodies(operator, views, f"{path}/{description}")
        one = self._view_or_term(graph, operator, views, description) if bodies is None else None
        if one is not None:
            return [one]
        calls = [self._call(graph, operator, views, at, description) for at in operator.outputs]
        if operator.name in ("SPLIT", "SPLIT_V"):
            parts = all_known([split_part(call, len(calls), place) for place, call in enumerate(calls)])
            if parts:
                self.inventory.reads(graph, operator, calls, parts, first=self.first)
                return list(parts)
        parameters = tuple(
            None if at < 0 else _read_as(graph.tensors[at], view)
            for at, view in zip(operator.inputs, views, strict=True)
        )
        views = ranked(operator, views)
        stateful = self._stateful(graph, operator)
        given = tuple(stated(operator, graph.tensors[at]) for at in operator.outputs)
        key = (
            "whole",
            canonical(operator, views).key,
            operator.version,
            tuple(views),
            parameters,
            given,
            bodies,
            stateful,
        )
        results = []
        for index, call in enumerate(calls):
            core, new = self.table.find_or_create_core((*key, index), description)
            if new:
                core.sizes = self.table.named_sizes(core, refined(call, call.result.dims))
                self._stored()
            results.append(value_of(core))
            self.inventory.ranks(call, results[-1], first=self.first)
        for view in results[:1]:
            self.inventory.keeps(graph, operator, view.core, first=self.first)
        if stateful is not None or not results:  # An operator without results is executed too.
            core, _ = self.table.find_or_create_core((*key, "effect"), description)
            self.effects.append((core, self.table.algebra.place))
        return results

    def _call(
        self, graph: Subgraph, operator: Operator, views: Sequence[ProofValue | None], result: int, description: str
    ) -> Call:
        """Return the argument of rules for one result of an operator."""
        inputs = [graph.tensors[at] if at >= 0 else None for at in operator.inputs]
        chain = self.chains[id(graph)].get(result)
        return Call(self.table, operator, views, inputs, graph.tensors[result], description, chain)

    def _stored(self) -> None:
        """Record the assumption that the first file's stored shapes are right."""
        if self.first:
            self.table.assumptions[STORED_SHAPES] = None

    def _stateful(self, graph: Subgraph, operator: Operator) -> int | None:
        """Return how many operators with an effect were read before an operator that depends on effects, else None."""
        if operator.name in STATEFUL or operator.name.startswith("custom "):
            return len(self.effects)
        if has_own_state(self.model, graph, operator):
            return None
        pure = operator.name in EACH or operator.name in UNARY or operator.name in STATELESS
        if not pure and any(at >= 0 and graph.tensors[at].variable for at in operator.inputs):
            return len(self.effects)
        return None

    def bodies(self, operator: Operator, views: Sequence[ProofValue | None], place: str) -> tuple[object, ...] | None:
        """Read the subgraphs that an operator runs.

        Return a part of the operator's key; None if it runs no subgraph.

        The branches of an IF are read with its operands, other bodies with new terms as inputs. The key contains the
        numbers of the subgraphs too, because LiteRT runs the subgraph of a CALL_ONCE once, but would run a copy of it
        again.
        """
        if not operator.bodies:
            return None
        if operator.name == "IF" and views:
            given = [view for view in views[1:] if view is not None]
            both = ((key, at, ("if", views[0], key)) for key, at in operator.bodies)
            return tuple((key, at, self.body(at, given, taken, path_of(place, key))) for key, at, taken in both)
        owner = (operator.key, tuple(views))
        occurrence = self.occurrence(owner)
        found: list[object] = []
        same = loop_sizes.alike(self, operator, views)
        for key, at in operator.bodies:
            if not 0 <= at < len(self.model.subgraphs):
                raise UnprovedError(f"there is no subgraph {at}, which {operator.name} names")
            graph = self.model.subgraphs[at]
            # The condition and the body of a WHILE have the same state as inputs.
            what = "state" if operator.name == "WHILE" else key
            own = [self.parameter(graph, (owner, occurrence, what), index, same) for index in range(len(graph.inputs))]
            # The bodies of other operators are not always graphs of operators: LiteRT's SCATTER uses only the name of
            # the operator in its body.
            names = () if operator.name in ("WHILE", "CALL", "CALL_ONCE") else [each.name for each in graph.operators]
            found.append((key, at, *names, self.body(at, own, (owner, occurrence, key), path_of(place, key))))
        return tuple(found)

    def body(self, at: int, given: Sequence[ProofValue], place: object, path: str) -> tuple[ProofValue, ...]:
        """Read a body, and return its outputs. `place` identifies when the body runs, in both files in the same way."""
        algebra = self.table.algebra
        around, algebra.place = algebra.place, (*algebra.place, place)
        results = self.run(at, given, path)
        algebra.place = around
        return results

    def parameter(
        self, graph: Subgraph, owner: tuple[object, ...], place: int, same: Mapping[Spot, Spot] = MappingProxyType({})
    ) -> ProofValue:
        """Return an input of a body in any iteration. `same` maps a size to the earlier size that it always equals.

        `owner` identifies the operator that runs the body, and `place` is the position of the input.
        """
        tensor = graph.tensors[graph.inputs[place]]
        key = ("parameter", owner, place, tensor.dtype)
        core, new = self.table.find_or_create_core(key, f"input {place} of a body", counted=False)
        if new:
            core.sizes = self.table.named_sizes(core, tensor.dims)
            firsts = [same.get((place, axis), (place, axis)) for axis in range(len(core.sizes or ()))]
            earlier = [self.parameter(graph, owner, at).sizes if at < place else core.sizes for at, _ in firsts]
            if core.sizes is not None:
                core.sizes = tuple((sizes or ())[at] for sizes, (_, at) in zip(earlier, firsts, strict=True))
            self._stored()
        return value_of(core)

    def _view_or_term(
        self, graph: Subgraph, operator: Operator, views: Sequence[ProofValue | None], description: str
    ) -> ProofValue | None:
        """Return the result of an operator with a rule; None if the operator reads whole operands."""
        if len(operator.outputs) != 1 or self._stateful(graph, operator) is not None:
            return None
        call = self._call(graph, operator, views, operator.outputs[0], description)
        moved = computed(self.constants, call)
        if moved is None:
            moved = viewed(call) or unmoved(call)
        if moved is not None:
            self.inventory.reads(graph, operator, [call], [moved], first=self.first)
            return moved
        seen = read(call)
        if seen is not None:
            self.inventory.ranks(call, seen, first=self.first)
            if shared_name(call) is not None:
                self.inventory.reads(graph, operator, [call], [seen], first=self.first, computed=False)
            if seen.sizes is None or len(seen.sizes) > NARROWEST:
                self.inventory.maps(call, seen.core, first=self.first)
        return seen if seen is None else beside_neutral(call) or seen
