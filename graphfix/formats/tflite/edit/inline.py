"""The body of a decided IF or WHILE in the place of the operator, and the subgraphs that nothing runs any more."""

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
"""The option that names the subgraph of a branch or of a loop's body."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An IF or WHILE of the main subgraph whose body takes its place when all other edits are carried out."""

    operator: Operator
    body: int
    """The subgraph of the branch, or of the loop's body."""
    trips: int | None = None
    """How often a loop runs it; None for an IF."""

    @property
    def read(self) -> tuple[int, ...]:
        """What may have no reader then: the condition, or what a loop is given and returns."""
        return self.operator.inputs[:1] if self.trips is None else (*self.operator.inputs, *self.operator.outputs)

    @property
    def operands(self) -> tuple[int, ...]:
        """What the body is given."""
        return self.operator.inputs[self.trips is None :]


def decide(container: Container, operator: Operator, edit: Inline) -> Decided:
    """The body of an IF or WHILE, where it can take the operator's place. Raises Refused where it can't."""
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
    """A body returns what its operators make, each once; a loop's may pass on what it is given at the same place."""
    made = {tensor for each in body.operators for tensor in each.outputs}
    passed = _passed(body, decided)
    others = [tensor for at, tensor in enumerate(body.outputs) if at not in passed]
    if not made.issuperset(others) or len(set(others)) < len(others):
        raise Refused("its branch returns what it is given, a constant, or one value twice")
    if any(at in passed and tensor in main.outputs for at, tensor in enumerate(decided.operator.outputs)):
        raise Refused("it returns what it is given as an output of the graph")


def _passed(body: Subgraph, decided: Decided) -> set[int]:
    """The places at which a loop returns its operand."""
    if decided.trips is None:
        return set()
    same = {at for at, pair in enumerate(zip(body.inputs, body.outputs, strict=False)) if pair[0] == pair[1]}
    return same if decided.trips else set(range(len(body.outputs)))


def _stateful(container: Container) -> set[int]:
    """The subgraphs that have a state, or run one that has."""
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
    return (tensor.type, read_scales(container.flat, tensor.quantization))


def inline(container: Container, decided: Sequence[Decided], idle: set[int]) -> None:
    """Put every decided body in the place of its operator, and drop the last subgraphs if nothing runs them now.

    `idle` has those that edits before left without anything that runs them, and gains those that these do.
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
    while kept - 1 in idle:  # the last ones: the others keep their numbers
        kept -= 1
    while invoked := [
        at for graph in graphs[:kept] for each in graph.operators for at in bodies(container.options(each))
    ]:
        if max(invoked) < kept:
            break
        kept = 1 + max(invoked)
    del graphs[kept:]


def _moved(main: Subgraph, one: Decided, body: Subgraph) -> list[Operator]:
    """The operators of a body on tensors of the main subgraph: its inputs and results are the operator's.

    Whoever reads a result that is only passed on reads the operand instead.
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
    """The parts of a body while they are copied into the main subgraph."""

    main: Subgraph
    body: Subgraph
    places: dict[int, int] = field(default_factory=dict)
    """By tensor of the body, where it is in the main subgraph."""
    constants: dict[int, int] = field(default_factory=lambda: {ABSENT: ABSENT})
    """The same of what no operator makes: all trips read one copy."""
    made: frozenset[int] = frozenset()
    names: set[str] = field(default_factory=set)
    suffix: str = ""
    """Of the names of a trip."""

    def __post_init__(self) -> None:
        """Note what is there."""
        self.names.update(tensor.name for tensor in self.main.tensors)
        self.made = frozenset(tensor for operator in self.body.operators for tensor in operator.outputs)

    def operator(self, operator: Operator) -> Operator:
        """A copy of an operator, on copies of the tensors that have none yet."""
        inputs, outputs = (tuple(map(self._tensor, ends)) for ends in (operator.inputs, operator.outputs))
        return replace(operator, inputs=inputs, outputs=outputs, changed=True)

    def _tensor(self, tensor: int) -> int:
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
    """The subgraphs that are called by signatures, or run by an operator of one that is."""
    reached = [0, *(signature.subgraph for signature in container.signatures)]
    for index in reached:
        for operator in container.subgraphs[index].operators:
            reached += [at for at in bodies(container.options(operator)) if at not in reached]
    return set(reached)
