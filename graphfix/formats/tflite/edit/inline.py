"""Replace an IF or WHILE of known outcome by its body, and drop the subgraphs that no operator runs afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.options import bodies
from graphfix.formats.tflite.file.records import ABSENT, NEW, Operator, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import CUSTOM, OPERATOR, OPERATORS
from graphfix.formats.tflite.file.tables import read_scales
from graphfix.graph.edits import Inline, Refused
from graphfix.operators.tflite_reviewed import STATEFUL
from graphfix.results.records import dataclass, field

OPTIONS: Mapping[str, str] = MappingProxyType(
    {"then_branch": "then_subgraph_index", "else_branch": "else_subgraph_index", "body": "body_subgraph_index"}
)
"""For each branch name of an Inline edit, the builtin option that contains the subgraph's index."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An IF or WHILE of the main subgraph that is replaced by its body after all other edits are carried out."""

    operator: Operator
    body: int
    """The index of the subgraph that is inlined: a branch, or a loop's body."""
    trips: int | None = None
    """The number of times that a loop runs its body; None for an IF."""

    @property
    def read(self) -> tuple[int, ...]:
        """Return the tensors that may lose their last reader by this edit.

        For an IF this is the condition; for a loop these are its operands and results.
        """
        return self.operator.inputs[:1] if self.trips is None else (*self.operator.inputs, *self.operator.outputs)

    @property
    def operands(self) -> tuple[int, ...]:
        """Return the tensors that the body receives as inputs: all operands, without the condition of an IF."""
        return self.operator.inputs[self.trips is None :]


def decide(container: Container, operator: Operator, edit: Inline) -> Decided:
    """Return the body that replaces an IF or WHILE. Raises Refused if the operator can't be replaced."""
    index = container.options(operator).get(OPTIONS[edit.branch])
    if not isinstance(index, int) or not 0 < index < len(container.subgraphs):
        raise Refused("it names no subgraph for the branch")
    decided = Decided(operator, index, edit.trips)
    main, body = container.subgraphs[0], container.subgraphs[index]
    _check_outputs(main, body, decided)
    if any(tensor.sparse or tensor.variable for tensor in body.tensors):
        raise Refused("its branch holds a variable or a sparse constant")
    if any("intermediates" in container.flat.fields(each.place, OPERATOR) for each in body.operators):
        raise Refused("an operator of its branch has intermediate tensors")
    if edit.trips is not None and index in _stateful(container):
        raise Refused("an operator of its body has a state, or may have one")
    ends = [*zip(decided.operands, body.inputs, strict=False), *zip(operator.outputs, body.outputs, strict=False)]
    if len(ends) != len(decided.operands) + len(operator.outputs) or any(ABSENT in pair for pair in ends):
        raise Refused("its branch has other inputs or outputs than it")
    for outer, inner in ends:
        if _form(container, main.tensors[outer]) != _form(container, body.tensors[inner]):
            raise Refused("its branch quantizes an input or an output otherwise")
    return decided


def _check_outputs(main: Subgraph, body: Subgraph, decided: Decided) -> None:
    """Raise Refused unless operators of the body compute every output of the body, each tensor once.

    A loop's body may also return one of its inputs at the same position, if the loop's result there is not an output of
    the graph.
    """
    made = {tensor for each in body.operators for tensor in each.outputs}
    passed = _passed(body, decided)
    others = [tensor for at, tensor in enumerate(body.outputs) if at not in passed]
    if not made.issuperset(others) or len(set(others)) < len(others):
        raise Refused("its branch returns what it is given, a constant, or one value twice")
    if any(at in passed and tensor in main.outputs for at, tensor in enumerate(decided.operator.outputs)):
        raise Refused("it returns what it is given as an output of the graph")


def _passed(body: Subgraph, decided: Decided) -> set[int]:
    """Return the positions at which a loop returns its operand unchanged; empty for an IF.

    These are all positions if the loop runs zero times.
    """
    if decided.trips is None:
        return set()
    same = {at for at, pair in enumerate(zip(body.inputs, body.outputs, strict=False)) if pair[0] == pair[1]}
    return same if decided.trips else set(range(len(body.outputs)))


def _stateful(container: Container) -> set[int]:
    """Return the subgraphs that contain an operator with a state, or that run a subgraph which contains one."""
    found: set[int] = set()
    for index, subgraph in enumerate(container.subgraphs):
        codes = [container.codes[operator.code].builtin for operator in subgraph.operators]
        if any(builtin == CUSTOM or OPERATORS[builtin] in STATEFUL for builtin in codes):
            found.add(index)
    grown = -1
    while grown < len(found):
        grown = len(found)
        for index, subgraph in enumerate(container.subgraphs):
            if any(not found.isdisjoint(bodies(container.options(each))) for each in subgraph.operators):
                found.add(index)
    return found


def _form(container: Container, tensor: Tensor) -> tuple[object, ...]:
    """Return the element type and the quantization of a tensor, for a comparison."""
    return (tensor.type, read_scales(container.flat, tensor.quantization))


def inline(container: Container, decided: Sequence[Decided], idle: set[int]) -> None:
    """Replace each decided operator by its body, and drop the last subgraphs of the file if no operator runs them now.

    `idle` contains the subgraphs that lost their last caller by earlier edits; the subgraphs that lose it here are
    added.
    """
    if not decided:
        return
    main, before = container.subgraphs[0], _run(container)
    for one in decided:
        at = next(at for at, operator in enumerate(main.operators) if operator is one.operator)
        main.operators[at : at + 1] = _moved(main, one, container.subgraphs[one.body])
        main.changed = True
    idle |= before - _run(container)
    graphs = container.subgraphs
    kept = len(graphs)
    while kept - 1 in idle:  # Only subgraphs at the end are dropped, so that all other subgraphs keep their numbers.
        kept -= 1
    while invoked := [
        at for graph in graphs[:kept] for each in graph.operators for at in bodies(container.options(each))
    ]:
        if max(invoked) < kept:
            break
        kept = 1 + max(invoked)
    del graphs[kept:]


def _moved(main: Subgraph, one: Decided, body: Subgraph) -> list[Operator]:
    """Return copies of a body's operators on tensors of the main subgraph, once for each trip.

    The first trip reads the operands of the replaced operator, and the last trip writes its results. If a result is an
    operand that the loop returns unchanged, its readers read the operand instead.
    """
    trips, given, passed = 1 if one.trips is None else one.trips, one.operands, _passed(body, one)
    copies, operators = _Copies(main, body), []
    for trip in range(trips):
        copies.suffix = f"_{trip}" if trip else ""
        copies.places = {**copies.constants, **dict(zip(body.inputs, given, strict=True))}
        if trip == trips - 1:
            ends = enumerate(zip(body.outputs, one.operator.outputs, strict=True))
            copies.places.update(pair for at, pair in ends if at not in passed)
        operators += [copies.operator(operator) for operator in body.operators]
        given = tuple(copies.places[tensor] for tensor in body.outputs)
    moved = {result: one.operands[at] for at, result in enumerate(one.operator.outputs) if at in passed}
    for operator in (*main.operators, *operators) if moved else ():
        inputs = tuple(moved.get(tensor, tensor) for tensor in operator.inputs)
        operator.changed = operator.changed or inputs != operator.inputs
        operator.inputs = inputs
    return operators


@dataclass(slots=True)
class _Copies:
    """The state of one copy of a body into the main subgraph."""

    main: Subgraph
    body: Subgraph
    places: dict[int, int] = field(default_factory=dict)
    """For each tensor of the body, its index in the main subgraph during the present trip."""
    constants: dict[int, int] = field(default_factory=lambda: {ABSENT: ABSENT})
    """Like `places`, but only for tensors that no operator of the body computes: all trips share one copy."""
    made: frozenset[int] = frozenset()
    names: set[str] = field(default_factory=set)
    suffix: str = ""
    """The text that is appended to the names of tensors copied in this trip."""

    def __post_init__(self) -> None:
        """Collect the names of the main subgraph, and the tensors that operators of the body compute."""
        self.names.update(tensor.name for tensor in self.main.tensors)
        self.made = frozenset(tensor for operator in self.body.operators for tensor in operator.outputs)

    def operator(self, operator: Operator) -> Operator:
        """Return a copy of an operator, on tensors of the main subgraph; tensors without a copy are copied now."""
        inputs, outputs = (tuple(map(self._tensor, ends)) for ends in (operator.inputs, operator.outputs))
        return replace(operator, inputs=inputs, outputs=outputs, changed=True)

    def _tensor(self, tensor: int) -> int:
        """Return the index of a tensor's copy in the main subgraph; make the copy if there is none."""
        if tensor in self.places:
            return self.places[tensor]
        self.places[tensor] = new = len(self.main.tensors)
        if tensor not in self.made:
            self.constants[tensor] = new
        record = self.body.tensors[tensor]
        name = record.name + self.suffix
        while name in self.names:
            name += "_"
        self.names.add(name)
        self.main.tensors.append(replace(record, name=name, place=NEW, changed=True))
        return new


def _run(container: Container) -> set[int]:
    """Return the subgraphs that can run.

    These are the main subgraph, the subgraphs of signatures, and every subgraph that an operator of these runs.
    """
    reached = [0, *(signature.subgraph for signature in container.signatures)]
    for index in reached:
        for operator in container.subgraphs[index].operators:
            reached += [at for at in bodies(container.options(operator)) if at not in reached]
    return set(reached)
