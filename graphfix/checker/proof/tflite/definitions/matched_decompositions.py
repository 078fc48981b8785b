"""Where the second file writes out by a definition what the first one calls by an operator's name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from graphfix.checker.files.tflite.graphs import unique_names
from graphfix.checker.proof.core.terms import View
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
"""The operators that are defined, and those of definitions."""
Place: TypeAlias = "tuple[Model, Subgraph]"


class Definition(NamedTuple):
    """What the first file computes by an operator's name."""

    result: View
    call: Call
    value: str
    """The result's name, where the definition is not exact."""
    axes: Mapping[int, int]
    """By axis of the definition's core that of the result's."""

    @property
    def exact(self) -> bool:
        """Whether the definition computes every bit."""
        return is_exact(self.call)


@dataclass(slots=True, eq=False)
class Definitions:
    """The definitions of the first file's operators, and where the second file writes them out."""

    defined: dict[Core, Definition] = field(default_factory=dict)
    """By the core of the definition."""
    made: set[Core] = field(default_factory=set)
    """What the first file computes in other operators: it is not taken for a definition."""
    inexact: dict[tuple[int, str], Definition] = field(default_factory=dict)
    """By subgraph and result those that are not exact."""
    operands: dict[tuple[int, str], tuple[View, Tensor] | None] = field(default_factory=dict)
    """What the second file has by the names of their operands."""
    sites: list[InexactSite] = field(default_factory=list)

    def see(self, constants: Constants, call: Call, result: View, place: Place, *, first: bool) -> View:
        """Return an operator's result; of the second file's, what the first file computes by name where it is that."""
        if first or call.operator.name in PASSING:
            written = form(constants, call)
            if written is not None and written == call.views[0]:
                return written  # it passes its operand on
            if first:
                self._enter(call, result, place, written)
                return result
        found = self.defined.get(result.core)
        if found is None or result.core in self.made:
            self._see_by_name(constants, call, result, place)
            return result
        call.table.assumes.update(dict.fromkeys(filter(None, [assumed(found.call)])))
        if not found.exact:
            self._note(found, call, place)
        axes = None if result.axes is None else tuple(None if at is None else found.axes[at] for at in result.axes)
        return View(found.result.core, axes, result.sizes)

    def _enter(self, call: Call, result: View, place: Place, written: View | None) -> None:
        """Enter what the first file computes, by its definition where it has one."""
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

    def _see_by_name(self, constants: Constants, call: Call, result: View, place: Place) -> None:
        """Note an inexact definition of an operand that is no term of the first file, by the names of both.

        Nothing is proved by that: where something before it is not, the runs have to know what is rounded otherwise.
        """
        if not self.inexact:
            return
        graph = _index(place)
        for tensor, view in zip(call.inputs, call.views, strict=True):
            if tensor is not None and view is not None and (graph, tensor.name) in self.operands:
                self.operands[graph, tensor.name] = view, tensor
        named = self.inexact.get((graph, call.result.name))
        operand = None if named is None or named.call.inputs[0] is None else named.call.inputs[0].name
        known = None if operand is None else self.operands[graph, operand]
        if named is None or known is None:
            return
        again = replace(call, operator=named.call.operator, views=[known[0]], inputs=[known[1]])
        if form(constants, again) == result:
            self._note(named, call, place)

    def _note(self, found: Definition, call: Call, place: Place) -> None:
        name = _name(place[1], call)
        self.sites.append(InexactSite(found.call.description, found.value, name, _index(place)))


def _axes(one: View, two: View) -> Mapping[int, int] | None:
    """Pair the axes of the cores of two equal values, where each view sees all of its core; None where one does not."""
    if one.axes is None or two.axes is None or one.sizes != two.sizes or not (_whole(one) and _whole(two)):
        return None
    pairs = list(zip(one.axes, two.axes, strict=True))
    if any((mine is None) != (other is None) for mine, other in pairs):
        return None
    return {mine: other for mine, other in pairs if mine is not None and other is not None}


def _whole(view: View) -> bool:
    """Whether each axis of the core is followed by one of the view, unless its size is 1."""
    followed = [axis for axis in view.axes or () if axis is not None]
    sizes = view.core.sizes
    return sizes is not None and sorted(followed) == [axis for axis, size in enumerate(sizes) if size != 1]


def _index(place: Place) -> int:
    model, graph = place
    return next(at for at, each in enumerate(model.subgraphs) if each is graph)


def _name(graph: Subgraph, call: Call) -> str:
    """Name a result as runtimes do."""
    at = next(at for at, tensor in enumerate(graph.tensors) if tensor is call.result)
    return list(unique_names([tensor.name for tensor in graph.tensors]))[at]
