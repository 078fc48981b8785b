"""Check that each operator of the second TFLite file is one of the first, or has a form that may be new."""

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
"""The most axes over which kernels broadcast. For operands of different shapes with more axes they refuse or abort."""
MOVED: Final = frozenset("SLICE STRIDED_SLICE GATHER CONCATENATION RESHAPE EXPAND_DIMS PACK".split())
"""Operators that every kernel set runs on constants as on results, of one or more elements."""


@dataclass(slots=True, eq=False)
class Known:
    """The operators of the first file, and objections to operators of the second."""

    objections: list[str]
    """Of the table of terms."""
    written: dict[object, dict[tuple[bool, ...], list[Place]]] = field(default_factory=dict)
    """Operators that are no terms, with their operands: by constness of the operands, the places where they run."""
    spelled: set[tuple[object, ...]] = field(default_factory=set)
    """The same operators with the types of their operands only."""
    absent: set[tuple[str, str, tuple[int, ...]]] = field(default_factory=set)
    """Tensors without elements that are read although no operator makes them."""
    constant: dict[Core, list[int]] = field(default_factory=dict)
    """By the term of the result: which operands were constants, as bits. Kernels need some constants to prepare."""
    wide: set[tuple[Core, int]] = field(default_factory=set)
    """Terms over more axes than kernels broadcast, with the number of axes."""
    stated: set[tuple[Core, tuple[int, ...]]] = field(default_factory=set)
    """Terms whose stated shape is not their shape, with the stated one."""

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
        """Record an operator that is no term, or has several names. For the second file, object to an unknown one."""
        spelled = _spelled(calls)
        are_constants = tuple(at >= 0 and graph.tensors[at].payload is not None for at in operator.inputs)
        # Kernels compare the rank that is stored of a result with what they compute.
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
        """Return whether the first file has the operator. If it moves elements, more operands may be constants."""
        return any(
            is_executed_with(places, call.table.algebra.place)
            for others, places in self.written.get(written, {}).items()
            if are_constants == others or (call.operator.name in MOVED and all(map(ge, are_constants, others)))
        )

    def _may_be_new(self, call: Call, spelled: object, computed: bool) -> bool:
        name = call.operator.name
        if spelled in self.spelled and (not computed or ((name in EACH or name in UNARY) and _narrow(call))):
            return True
        form = NEW.get(name)
        return form is not None and plain(call.operator, form) and form.fits(call)

    def maps(self, call: Call, core: Core, *, first: bool) -> None:
        """Record a term over many axes. Operands in the second file may have other ranks, which kernels may refuse."""
        if not too_wide(call):
            return
        rank = max(len(view.sizes or ()) for view in call.views if view is not None)
        why = f"{call.description} of the second file broadcasts over {rank} axes; kernels do not"
        self._enter(self.wide, (core, rank), why, first=first)

    def ranks(self, call: Call, view: ProofValue, *, first: bool) -> None:
        """Record a result whose stated shape is not its shape. Delegates rely on the stated one."""
        if not _stated_otherwise(call, view):
            return
        why = f"the result of {call.description} of the second file has not the shape that is stated"
        self._enter(self.stated, (view.core, call.result.stored), why, first=first)

    def lacks(self, tensor: Tensor, *, first: bool) -> None:
        """Record a tensor without elements that no operator makes. Kernels may need its memory."""
        why = f"nothing makes the tensor {tensor.name!r} of the second file, which is read"
        self._enter(self.absent, (tensor.name, tensor.dtype, tensor.stored), why, first=first)

    def _enter(self, parts: set[_Part], part: _Part, why: str, *, first: bool) -> None:
        """Record a part of the first file. For the second file, object to a part that the first file does not have."""
        if first:
            parts.add(part)
        elif part not in parts:
            self.objections.append(why)

    def keeps(self, graph: Subgraph, operator: Operator, core: Core, *, first: bool) -> None:
        """Record which operands of a term are constants: all stay constants, and hybrid operators get no more."""
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
    operator = calls[0].operator
    operands = tuple(None if tensor is None else type_of(tensor) for tensor in calls[0].inputs)
    return (operator.key, operator.version, operands, tuple(type_of(call.result) for call in calls))


def _stated_otherwise(call: Call, view: ProofValue) -> bool:
    """Return whether the stated shape of a result contradicts the derived one, or has more known sizes."""
    stored, dims, sizes = call.result.stored, call.result.dims or (), view.sizes
    if sizes is None or stored == sizes:
        return False
    return len(stored) != len(sizes) or any(dim not in (None, size) for dim, size in zip(dims, sizes, strict=False))


def _narrow(call: Call) -> bool:
    """Return whether operands have known ranks over which kernels broadcast."""
    return all(view is not None and view.sizes is not None for view in call.views) and not too_wide(call)


def too_wide(call: Call) -> bool:
    """Return whether a kernel may refuse to broadcast over so many axes. Operands of one shape are not broadcast."""
    most = RANKS.get(call.operator.name)
    if most is None:
        return False
    shapes = [view.sizes for view in call.views if view is not None]
    if max([len(sizes or ()) for sizes in shapes], default=0) <= most:
        return False
    return call.operator.name == "BATCH_MATMUL" or any(sizes != shapes[0] for sizes in shapes)
