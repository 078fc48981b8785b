"""Match operators of the first file with formulas that the second file has in their place."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from graphfix.checker.files.tflite.names import unique_names
from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.tflite.definitions.formulas import DEFINED, PASSING, assumed, form, is_exact
from graphfix.checker.proof.tflite.definitions.maker import OPERATORS
from graphfix.results import InexactSite
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.files.tflite.records import Model, Subgraph, Tensor
    from graphfix.checker.proof.core.terms import Core
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.tflite.reading.operands import Call

CONCERNED = frozenset({*DEFINED, *OPERATORS})
"""Operators that have a formula, and operators in formulas."""
Place: TypeAlias = "tuple[Model, Subgraph]"


class Definition(NamedTuple):
    """An operator of the first file that has a formula."""

    result: ProofValue
    call: Call
    value: str
    """The result's name if the formula is inexact, else empty."""
    axes: Mapping[int, int]
    """By axis of the formula's core, the axis of the result's core."""

    @property
    def exact(self) -> bool:
        """Whether the formula computes every bit."""
        return is_exact(self.call)


@dataclass(slots=True, eq=False)
class Definitions:
    """The formulas of the first file's operators, and their matches in the second file."""

    defined: dict[Core, Definition] = field(default_factory=dict)
    """By the core of the formula."""
    made: set[Core] = field(default_factory=set)
    """Cores that the first file computes without a formula. They are not matched."""
    inexact: dict[tuple[int, str], Definition] = field(default_factory=dict)
    """Inexact formulas by (subgraph, name of the result)."""
    operands: dict[tuple[int, str], tuple[ProofValue, Tensor] | None] = field(default_factory=dict)
    """By (subgraph, name of an operand of an inexact formula): that value in the second file."""
    sites: list[InexactSite] = field(default_factory=list)

    def see(self, constants: Constants, call: Call, result: ProofValue, place: Place, *, first: bool) -> ProofValue:
        """Return an operator's result. A formula in the second file returns the result of the first file's operator."""
        if first or call.operator.name in PASSING:
            written = form(constants, call)
            if written is not None and written == call.views[0]:
                return written  # the operator returns its operand
            if first:
                self._enter(call, result, place, written)
                return result
        found = self.defined.get(result.core)
        if found is None or result.core in self.made:
            self._see_by_name(constants, call, result, place)
            return result
        call.table.assumptions.update(dict.fromkeys(filter(None, [assumed(found.call)])))
        if not found.exact:
            self._note(found, call, place)
        axes = None if result.axes is None else tuple(None if at is None else found.axes[at] for at in result.axes)
        return ProofValue(found.result.core, axes, result.sizes)

    def _enter(self, call: Call, result: ProofValue, place: Place, written: ProofValue | None) -> None:
        """Record a result of the first file, under its formula if it has one."""
        axes = None if written is None else _axes(written, result)
        if written is None or axes is None:
            self.made.add(result.core)
            return
        exact = is_exact(call)
        found = Definition(result, call, "" if exact else _name(place[1], call), axes)
        self.defined.setdefault(written.core, found)
        operand = call.inputs[0]
        if not exact and operand is not None:
            graph = _index(place)
            self.inexact[graph, call.result.name] = found
            self.operands[graph, operand.name] = None

    def _see_by_name(self, constants: Constants, call: Call, result: ProofValue, place: Place) -> None:
        """Record an inexact formula whose operand differs from that in the first file, by names of operand and result.

        Nothing is proved by it. If an earlier operator is not proved, the runs still learn which results round
        differently.
        """
        if not self.inexact:
            return
        graph = _index(place)
        for tensor, view in zip(call.inputs, call.views, strict=True):
            if tensor is not None and view is not None and (graph, tensor.name) in self.operands:
                self.operands[graph, tensor.name] = view, tensor
        by_name = self.inexact.get((graph, call.result.name))
        operand = None if by_name is None or by_name.call.inputs[0] is None else by_name.call.inputs[0].name
        operand_value = None if operand is None else self.operands[graph, operand]
        if by_name is None or operand_value is None:
            return
        again = replace(call, operator=by_name.call.operator, views=[operand_value[0]], inputs=[operand_value[1]])
        if form(constants, again) == result:
            self._note(by_name, call, place)

    def _note(self, found: Definition, call: Call, place: Place) -> None:
        name = _name(place[1], call)
        self.sites.append(InexactSite(found.call.description, found.value, name, _index(place)))


def _axes(one: ProofValue, two: ProofValue) -> Mapping[int, int] | None:
    """Pair the axes of the cores of two equal values; None if a view does not show all of its core."""
    if one.axes is None or two.axes is None or one.sizes != two.sizes or not (_whole(one) and _whole(two)):
        return None
    pairs = list(zip(one.axes, two.axes, strict=True))
    if any((mine is None) != (other is None) for mine, other in pairs):
        return None
    return {mine: other for mine, other in pairs if mine is not None and other is not None}


def _whole(view: ProofValue) -> bool:
    """Return whether the view has an axis for each axis of the core, except for axes of size 1."""
    followed = [axis for axis in view.axes or () if axis is not None]
    sizes = view.core.sizes
    return sizes is not None and sorted(followed) == [axis for axis, size in enumerate(sizes) if size != 1]


def _index(place: Place) -> int:
    model, graph = place
    return next(at for at, each in enumerate(model.subgraphs) if each is graph)


def _name(graph: Subgraph, call: Call) -> str:
    """Return the name by which runtimes know a result."""
    at = next(at for at, tensor in enumerate(graph.tensors) if tensor is call.result)
    return unique_names(graph)[at]
