"""What operators the first TFLite file has, field by field: what of the second is none of them, nor of a new form."""

from __future__ import annotations

from operator import ge
from typing import TYPE_CHECKING, Final

from graphfix.checker.proof.core.sizes import add_once, reached
from graphfix.checker.proof.tflite.closed_world.new_forms import MOST_RANK, NARROWEST, NEW, plain
from graphfix.checker.proof.tflite.operators.table import EACH, UNARY
from graphfix.checker.proof.tflite.reading.node_signature import hybrid, type_of
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Subgraph, Tensor
    from graphfix.checker.proof.core.sizes import Place
    from graphfix.checker.proof.core.terms import Core, View
    from graphfix.checker.proof.tflite.reading.operands import Call

RANKS: Final[Mapping[str, int]] = {**dict.fromkeys((*EACH, "PRELU"), MOST_RANK), "BATCH_MATMUL": NARROWEST}
"""The most axes of an operator whose operands are not all of one shape: beyond them kernels refuse, or abort."""
MOVED: Final = frozenset("SLICE STRIDED_SLICE GATHER CONCATENATION RESHAPE EXPAND_DIMS PACK".split())
"""Operators that every kernel set runs on constants as on results, of one or more elements."""


@dataclass(slots=True, eq=False)
class Known:
    """What operators the first file has, and what is new in the second that is not on the list."""

    objections: list[str]
    """Of the table of terms."""
    written: dict[object, dict[tuple[bool, ...], list[Place]]] = field(default_factory=dict)
    """Those that are no terms, with all that they read: by which operands are constants, where they are executed."""
    spelled: set[tuple[object, ...]] = field(default_factory=set)
    """The same without what they read: operands by their types alone."""
    absent: set[tuple[str, str, tuple[int, ...]]] = field(default_factory=set)
    """The tensors of no elements that are read though nothing makes them."""
    constant: dict[Core, list[int]] = field(default_factory=dict)
    """Which operands were constants, as bits, by the term of the result: kernels need some when they prepare."""
    wide: set[tuple[Core, int]] = field(default_factory=set)
    """Terms over more axes than kernels broadcast, and how many."""
    stated: set[tuple[Core, tuple[int, ...]]] = field(default_factory=set)
    """Terms that are stated with another shape than they have, and with which."""

    def reads(
        self,
        graph: Subgraph,
        operator: Operator,
        calls: Sequence[Call],
        results: Sequence[View],
        *,
        first: bool,
        computed: bool = True,
    ) -> None:
        """Enter an operator that is no term, or not of one name; of the second file, say where it is not known."""
        spelled = _spelled(calls)
        held = tuple(at >= 0 and graph.tensors[at].payload is not None for at in operator.inputs)
        # Kernels compare the rank that is stored of a result with what they compute.
        ranks = tuple(len(call.result.stored) for call in calls)
        written = (spelled, tuple(calls[0].views), ranks)
        if first:
            self.spelled.add(spelled)
            add_once(self.written.setdefault(written, {}).setdefault(held, []), calls[0].table.algebra.place)
        elif not self._is_written(calls[0], written, held) and not (
            len(calls) == 1
            and (results[0].sizes is None or ranks == (len(results[0].sizes),))
            and self._may_be_new(calls[0], spelled, computed)
        ):
            self.objections.append(
                f"{calls[0].description} of the second file is none of the first, and may not be new"
            )

    def _is_written(self, call: Call, written: object, held: tuple[bool, ...]) -> bool:
        """Whether the first file has it; more operands of what moves elements may be constants than there."""
        return any(
            reached(places, call.table.algebra.place)
            for others, places in self.written.get(written, {}).items()
            if held == others or (call.operator.name in MOVED and all(map(ge, held, others)))
        )

    def _may_be_new(self, call: Call, spelled: object, computed: bool) -> bool:
        name = call.operator.name
        if spelled in self.spelled and (not computed or ((name in EACH or name in UNARY) and _narrow(call))):
            return True
        form = NEW.get(name)
        return form is not None and plain(call.operator, form) and form.fits(call)

    def maps(self, call: Call, core: Core, *, first: bool) -> None:
        """Enter a term whose operands may have other ranks in the second file: a kernel broadcasts over so many."""
        if not too_wide(call):
            return
        rank = max(len(view.sizes or ()) for view in call.views if view is not None)
        if first:
            self.wide.add((core, rank))
        elif (core, rank) not in self.wide:
            self.objections.append(f"{call.description} of the second file broadcasts over {rank} axes; kernels do not")

    def ranks(self, call: Call, view: View, *, first: bool) -> None:
        """Enter a result that the file states with another shape than it has: delegates go by what is stated."""
        if not _stated_otherwise(call, view):
            return
        stated = call.result.stored
        if first:
            self.stated.add((view.core, stated))
        elif (view.core, stated) not in self.stated:
            self.objections.append(
                f"the result of {call.description} of the second file has not the shape that is stated"
            )

    def lacks(self, tensor: Tensor, *, first: bool) -> None:
        """Enter a tensor of no elements that is read though nothing makes it: kernels may ask for its memory."""
        if first:
            self.absent.add((tensor.name, tensor.dtype, tensor.stored))
        elif (tensor.name, tensor.dtype, tensor.stored) not in self.absent:
            self.objections.append(f"nothing makes the tensor {tensor.name!r} of the second file, which is read")

    def keeps(self, graph: Subgraph, operator: Operator, core: Core, *, first: bool) -> None:
        """Enter a term that reads its operands exactly: constants stay so; beside hybrid ones none is new."""
        held, tensors = 0, graph.tensors
        for at in operator.inputs:
            held = 2 * held + (at >= 0 and tensors[at].payload is not None)
        known = self.constant.get(core)
        if first:
            self.constant[core] = [held] if known is None else [*known, held]
        elif known is not None and held not in known:
            mixed = hybrid([tensors[at] if at >= 0 else None for at in operator.inputs])
            if mixed or not any(held & other == other for other in known):
                self.objections.append(f"{core.description} of the second file reads other constants than in the first")


def _spelled(calls: Sequence[Call]) -> tuple[object, ...]:
    operator = calls[0].operator
    operands = tuple(None if tensor is None else type_of(tensor) for tensor in calls[0].inputs)
    return (operator.key, operator.version, operands, tuple(type_of(call.result) for call in calls))


def _stated_otherwise(call: Call, view: View) -> bool:
    """Whether the shape that the file states of a result is another than the one that is derived, or says more."""
    stored, dims, sizes = call.result.stored, call.result.dims or (), view.sizes
    if sizes is None or stored == sizes:
        return False
    return len(stored) != len(sizes) or any(dim not in (None, size) for dim, size in zip(dims, sizes, strict=False))


def _narrow(call: Call) -> bool:
    """Whether operands are of known ranks that kernels broadcast over."""
    return all(view is not None and view.sizes is not None for view in call.views) and not too_wide(call)


def too_wide(call: Call) -> bool:
    """Whether the kernel may not broadcast over so many axes; operands of one shape are no broadcast."""
    most = RANKS.get(call.operator.name)
    if most is None:
        return False
    shapes = [view.sizes for view in call.views if view is not None]
    if max([len(sizes or ()) for sizes in shapes], default=0) <= most:
        return False
    return call.operator.name == "BATCH_MATMUL" or any(sizes != shapes[0] for sizes in shapes)
