"""Match operators of the first file with formulas that the second file contains instead of them."""

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
"""Operators that have a formula, and operators that occur in formulas."""
Place: TypeAlias = "tuple[Model, Subgraph]"


class Definition(NamedTuple):
    """An operator of the first file that has a formula. `result` is the operator's result."""

    result: ProofValue
    call: Call
    value: str
    """The name of the operator's result if the formula is inexact, else empty."""
    axes: Mapping[int, int]
    """For each axis of the core of the formula, the axis of the core of the operator's result."""

    @property
    def exact(self) -> bool:
        """Return whether the formula computes every bit of the result."""
        return is_exact(self.call)


@dataclass(slots=True, eq=False)
class Definitions:
    """The formulas of the first file's operators, and their matches in the second file."""

    defined: dict[Core, Definition] = field(default_factory=dict)
    """The operator of the first file, by the core of its formula."""
    made: set[Core] = field(default_factory=set)
    """Cores that operators of the first file compute, and that are no formulas. They are not matched."""
    inexact: dict[tuple[int, str], Definition] = field(default_factory=dict)
    """Operators with inexact formulas, by (subgraph, name of the result)."""
    operands: dict[tuple[int, str], tuple[ProofValue, Tensor] | None] = field(default_factory=dict)
    """By (subgraph, name of an operand of an inexact formula), the operand's value in the second file, or None."""
    sites: list[InexactSite] = field(default_factory=list)

    def see(self, constants: Constants, call: Call, result: ProofValue, place: Place, *, first: bool) -> ProofValue:
        """Return the result of an operator.

        A formula in the second file returns the result of the first file's operator.

        `result` is the result as read without formulas. Called for each operator in `CONCERNED` with one result. An
        operator of the first file is recorded with its formula.
        """
        if first or call.operator.name in PASSING:
            written = form(constants, call)
            if written is not None and written == call.views[0]:
                return written  # The operator returns its operand unchanged.
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
        """Record a result of the first file, under its formula (`written`) if it has a formula."""
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
        """Record an inexact formula of the second file whose operand differs from that in the first file.

        The operator and its operand are found by the names of result and operand. The record proves nothing. But the
        runs learn which results round differently, even if an earlier operator is not proved.
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
        """Record that the second file computes an operator of the first file by an inexact formula."""
        name = _name(place[1], call)
        self.sites.append(InexactSite(found.call.description, found.value, name, _index(place)))


def _axes(one: ProofValue, two: ProofValue) -> Mapping[int, int] | None:
    """Return, for each axis of the core of `one`, the axis of the core of `two`, for two values of equal elements.

    Returns None if only one of the values is stretched along an axis, or if a value does not follow all axes of its
    core.
    """
    if one.axes is None or two.axes is None or one.sizes != two.sizes or not (_whole(one) and _whole(two)):
        return None
    pairs = list(zip(one.axes, two.axes, strict=True))
    if any((mine is None) != (other is None) for mine, other in pairs):
        return None
    return {mine: other for mine, other in pairs if mine is not None and other is not None}


def _whole(view: ProofValue) -> bool:
    """Return whether the value follows each axis of its core exactly once.

    Axes of size 1 of the core are an exception: the value must not follow these.
    """
    followed = [axis for axis in view.axes or () if axis is not None]
    sizes = view.core.sizes
    return sizes is not None and sorted(followed) == [axis for axis, size in enumerate(sizes) if size != 1]


def _index(place: Place) -> int:
    """Return the index of a subgraph in its model."""
    model, graph = place
    return next(at for at, each in enumerate(model.subgraphs) if each is graph)


def _name(graph: Subgraph, call: Call) -> str:
    """Return the name by which runtimes report the result of a call."""
    at = next(at for at, tensor in enumerate(graph.tensors) if tensor is call.result)
    return unique_names(graph)[at]
