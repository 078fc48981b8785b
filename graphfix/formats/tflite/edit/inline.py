"""The subgraph of a decided IF in the place of the operator, and the subgraphs that nothing runs any more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.options import BODIES
from graphfix.formats.tflite.file.records import ABSENT, NEW, Operator, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import OPERATOR
from graphfix.formats.tflite.file.tables import read_scales
from graphfix.graph.edits import Refused

OPTIONS: Mapping[str, str] = MappingProxyType(
    {"then_branch": "then_subgraph_index", "else_branch": "else_subgraph_index"}
)
"""The option that names the subgraph of a branch."""


@dataclass(frozen=True, slots=True)
class Decided:
    """An IF of the main subgraph whose branch takes its place when all other edits are carried out."""

    operator: Operator
    body: int
    """The branch's subgraph."""


def decide(container: Container, operator: Operator, branch: str) -> Decided:
    """The branch of an IF, where it can take the operator's place. Raises Refused where it can't."""
    index = container.options(operator).get(OPTIONS[branch])
    if not isinstance(index, int) or not 0 < index < len(container.subgraphs):
        raise Refused("it names no subgraph for the branch")
    main, body = container.subgraphs[0], container.subgraphs[index]
    made = {tensor for each in body.operators for tensor in each.outputs}
    if any(tensor not in made for tensor in body.outputs) or len(set(body.outputs)) < len(body.outputs):
        raise Refused("its branch returns what it is given, a constant, or one value twice")
    if any(tensor.sparse or tensor.variable for tensor in body.tensors):
        raise Refused("its branch holds a variable or a sparse constant")
    if any("intermediates" in container.flat.fields(each.place, OPERATOR) for each in body.operators):
        raise Refused("an operator of its branch has intermediate tensors")
    ends = [*zip(operator.inputs[1:], body.inputs, strict=False), *zip(operator.outputs, body.outputs, strict=False)]
    if len(ends) != len(operator.inputs) - 1 + len(operator.outputs) or any(ABSENT in pair for pair in ends):
        raise Refused("its branch has other inputs or outputs than it")
    for outer, inner in ends:
        if _form(container, main.tensors[outer]) != _form(container, body.tensors[inner]):
            raise Refused("its branch quantizes an input or an output otherwise")
    return Decided(operator, index)


def _form(container: Container, tensor: Tensor) -> tuple[object, ...]:
    return (tensor.type, read_scales(container.flat, tensor.quantization))


def inline(container: Container, decided: Sequence[Decided]) -> None:
    """Put every decided branch in the place of its operator, and drop the last subgraphs if nothing runs them now."""
    if not decided:
        return
    main, before = container.subgraphs[0], _run(container)
    for one in decided:
        at = next(at for at, operator in enumerate(main.operators) if operator is one.operator)
        main.operators[at : at + 1] = _moved(main, one, container.subgraphs[one.body])
        main.changed = True
    after, graphs = _run(container), container.subgraphs
    while len(graphs) - 1 in before - after:  # the last ones: the others keep their numbers
        graphs.pop()


def _moved(main: Subgraph, one: Decided, body: Subgraph) -> list[Operator]:
    """The operators of a branch on tensors of the main subgraph: its inputs and results are the IF's."""
    places = {ABSENT: ABSENT}
    places.update(zip(body.inputs, one.operator.inputs[1:], strict=True))
    places.update(zip(body.outputs, one.operator.outputs, strict=True))
    names = {tensor.name for tensor in main.tensors}
    operators = []
    for operator in body.operators:
        for tensor in (*operator.inputs, *operator.outputs):
            if tensor not in places:
                places[tensor] = len(main.tensors)
                record = body.tensors[tensor]
                name = record.name
                while name in names:
                    name += "_"
                names.add(name)
                main.tensors.append(replace(record, name=name, place=NEW, changed=True))
        inputs, outputs = (tuple(places[tensor] for tensor in ends) for ends in (operator.inputs, operator.outputs))
        operators.append(replace(operator, inputs=inputs, outputs=outputs, changed=True))
    return operators


def _run(container: Container) -> set[int]:
    """The subgraphs that are called by signatures, or run by an operator of one that is."""
    reached = [0, *(signature.subgraph for signature in container.signatures)]
    for index in reached:
        for operator in container.subgraphs[index].operators:
            for name, value in container.options(operator).items():
                listed = value if isinstance(value, (tuple, list)) else (value,)
                reached += [at for at in listed if name in BODIES and isinstance(at, int) and at not in reached]
    return set(reached)
