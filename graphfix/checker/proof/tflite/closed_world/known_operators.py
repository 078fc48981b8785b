"""Check that each operator of the second TFLite file is in the first file, or has a form that may be new."""

from __future__ import annotations

from operator import ge
from typing import TYPE_CHECKING, Final, TypeVar

from graphfix.checker.proof.core.sizes import add_once, is_executed_with
from graphfix.checker.proof.tflite.closed_world.new_forms import MOST_RANK, NARROWEST, NEW, plain
from graphfix.checker.proof.tflite.operators.table import EACH, UNARY
from graphfix.checker.proof.tflite.reading.node_signature import hybrid, type_of
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Subgraph, Tensor
    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.tflite.reading.operands import Call

_Part = TypeVar("_Part")
RANKS: Final[Mapping[str, int]] = {**dict.fromkeys((*EACH, "PRELU"), MOST_RANK), "BATCH_MATMUL": NARROWEST}
"""The most axes over which kernels broadcast. Kernels refuse or abort for different shapes with more axes."""
MOVED: Final = frozenset("SLICE STRIDED_SLICE GATHER CONCATENATION RESHAPE EXPAND_DIMS PACK".split())
"""Operators that every kernel set runs equally on constants and on computed values, of one or more elements."""


@dataclass(slots=True, eq=False)
class Known:
    """The operators of the first file, and objections to operators of the second file."""

    objections: list[str]
    """The list of objections in the table of terms."""
    written: dict[object, dict[tuple[bool, ...], list[Place]]] = field(default_factory=dict)
    """Operators that have no term: for each operator with its operand values, the places (bodies) where it runs.

    The places are stored by which operands are constants.
    """
    spelled: set[tuple[object, ...]] = field(default_factory=set)
    """The operators of `written`, with the types of their operands instead of the operand values."""
    absent: set[tuple[str, str, tuple[int, ...]]] = field(default_factory=set)
    """Tensors without elements that are read although no operator computes them."""
    constant: dict[Core, list[int]] = field(default_factory=dict)
    """For each term, which operands are constants, as the bits of an integer.

    Kernels need some constants to prepare.
    """
    wide: set[tuple[Core, int]] = field(default_factory=set)
    """Terms over more axes than kernels broadcast, each with its number of axes."""
    stated: set[tuple[Core, tuple[int, ...]]] = field(default_factory=set)
    """Terms whose shape differs from the shape that the file states, each with the stated shape."""

    def reads(
        self,
        graph: Subgraph,
        operator: Operator,
        calls: Sequence[Call],
        results: Sequence[ProofValue],
        *,
        first: bool,
        computed: bool = True,
    ) -> None:
        """Record an operator of the first file.

        For the second file, add an objection to an operator that is unknown.

        Called for operators that have no term, and for operators that share a term with an operator of another name.
        For the latter, `computed` is False. `calls` contains a call for each result.
        """
        spelled = _spelled(calls)
        are_constants = tuple(at >= 0 and graph.tensors[at].payload is not None for at in operator.inputs)
        # Kernels compare the rank that the file states for a result with the rank that they compute.
        ranks = tuple(len(call.result.stored) for call in calls)
        written = (spelled, tuple(calls[0].views), ranks)
        if first:
            self.spelled.add(spelled)
            add_once(self.written.setdefault(written, {}).setdefault(are_constants, []), calls[0].table.algebra.place)
        elif not self._is_written(calls[0], written, are_constants) and not (
            len(calls) == 1
            and (results[0].sizes is None or ranks == (len(results[0].sizes),))
            and self._may_be_new(calls[0], spelled, computed)
        ):
            self.objections.append(
                f"{calls[0].description} of the second file is none of the first, and may not be new"
            )

    def _is_written(self, call: Call, written: object, are_constants: tuple[bool, ...]) -> bool:
        """Return whether the first file has the operator on equal operands, and runs it whenever the second file does.

        The same operands must be constants. For an operator that moves elements, further operands may be constants.
        """
        return any(
            is_executed_with(places, call.table.algebra.place)
            for others, places in self.written.get(written, {}).items()
            if are_constants == others or (call.operator.name in MOVED and all(map(ge, are_constants, others)))
        )

    def _may_be_new(self, call: Call, spelled: object, computed: bool) -> bool:
        """Return whether an operator of the second file is accepted although the first file does not have it.

        The operator is accepted if its form may be new. It is also accepted if the first file has an operator of the
        same types and options. An operator without a term must then be element-wise, and must not broadcast over too
        many axes.
        """
        name = call.operator.name
        if spelled in self.spelled and (not computed or ((name in EACH or name in UNARY) and _narrow(call))):
            return True
        form = NEW.get(name)
        return form is not None and plain(call.operator, form) and form.fits(call)

    def maps(self, call: Call, core: Core, *, first: bool) -> None:
        """Record a term that broadcasts over many axes.

        For the second file, object to a term that the first file lacks.

        Operands in the second file may have other ranks than in the first, and kernels may refuse these ranks.
        """
        if not too_wide(call):
            return
        rank = max(len(view.sizes or ()) for view in call.views if view is not None)
        why = f"{call.description} of the second file broadcasts over {rank} axes; kernels do not"
        self._enter(self.wide, (core, rank), why, first=first)

    def ranks(self, call: Call, view: ProofValue, *, first: bool) -> None:
        """Record a result whose stated shape is not its shape.

        For the second file, object if the first file lacks it.

        Delegates rely on the stated shape.
        """
        if not _stated_otherwise(call, view):
            return
        why = f"the result of {call.description} of the second file has not the shape that is stated"
        self._enter(self.stated, (view.core, call.result.stored), why, first=first)

    def lacks(self, tensor: Tensor, *, first: bool) -> None:
        """Record a tensor without elements that no operator computes.

        For the second file, object if the first file lacks it.

        Kernels may need the tensor's memory.
        """
        why = f"nothing makes the tensor {tensor.name!r} of the second file, which is read"
        self._enter(self.absent, (tensor.name, tensor.dtype, tensor.stored), why, first=first)

    def _enter(self, parts: set[_Part], part: _Part, why: str, *, first: bool) -> None:
        """Record a part of the first file.

        For the second file, add the objection `why` if the first file lacks the part.
        """
        if first:
            parts.add(part)
        elif part not in parts:
            self.objections.append(why)

    def keeps(self, graph: Subgraph, operator: Operator, core: Core, *, first: bool) -> None:
        """Record which operands of a term are constants.

        For the second file, object if an operand is not a constant any more.

        Operands that are not constants in the first file may become constants, except for hybrid operators (float32
        with integers of 8 bits or less).
        """
        stored_bytes, tensors = 0, graph.tensors
        for at in operator.inputs:
            stored_bytes = 2 * stored_bytes + (at >= 0 and tensors[at].payload is not None)
        memo = self.constant.get(core)
        if first:
            self.constant[core] = [stored_bytes] if memo is None else [*memo, stored_bytes]
        elif memo is not None and stored_bytes not in memo:
            mixed = hybrid([tensors[at] if at >= 0 else None for at in operator.inputs])
            if mixed or not any(stored_bytes & other == other for other in memo):
                self.objections.append(f"{core.description} of the second file reads other constants than in the first")


def _spelled(calls: Sequence[Call]) -> tuple[object, ...]:
    """Return an operator's options and version, and the types of its operands and results."""
    operator = calls[0].operator
    operands = tuple(None if tensor is None else type_of(tensor) for tensor in calls[0].inputs)
    return (operator.key, operator.version, operands, tuple(type_of(call.result) for call in calls))


def _stated_otherwise(call: Call, view: ProofValue) -> bool:
    """Return whether the stated shape of a result differs from the derived shape.

    A stated size that is unknown does not differ. A stated number differs from a derived term.
    """
    stored, dims, sizes = call.result.stored, call.result.dims or (), view.sizes
    if sizes is None or stored == sizes:
        return False
    return len(stored) != len(sizes) or any(dim not in (None, size) for dim, size in zip(dims, sizes, strict=False))


def _narrow(call: Call) -> bool:
    """Return whether all operands have known ranks over which every kernel broadcasts."""
    return all(view is not None and view.sizes is not None for view in call.views) and not too_wide(call)


def too_wide(call: Call) -> bool:
    """Return whether a kernel may refuse an operator because its operands broadcast over too many axes.

    Operands of one shape are not broadcast.
    """
    most = RANKS.get(call.operator.name)
    if most is None:
        return False
    shapes = [view.sizes for view in call.views if view is not None]
    if max([len(sizes or ()) for sizes in shapes], default=0) <= most:
        return False
    return call.operator.name == "BATCH_MATMUL" or any(sizes != shapes[0] for sizes in shapes)
