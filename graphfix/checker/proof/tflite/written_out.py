"""Where the second file writes out by a definition what the first one calls by an operator's name."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from graphfix.checker.files.tflite.graphs import unique_names
from graphfix.checker.proof.terms import View
from graphfix.checker.proof.tflite.definitions import ASSUMING, INEXACT, form
from graphfix.results import InexactSite

if TYPE_CHECKING:
    from graphfix.checker.files.tflite.records import Model, Subgraph, Tensor
    from graphfix.checker.proof.constants import Constants
    from graphfix.checker.proof.terms import Core
    from graphfix.checker.proof.tflite.operands import Call

Place: TypeAlias = "tuple[Model, Subgraph]"


class Definition(NamedTuple):
    """What the first file computes by an operator's name."""

    result: View
    call: Call
    value: str
    """The result's name, where the definition is not exact."""

    @property
    def exact(self) -> bool:
        """Whether the definition computes every bit."""
        return self.call.operator.name not in INEXACT


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
        if first:
            self._enter(constants, call, result, place)
            return result
        found = self.defined.get(result.core)
        if found is None or result.core in self.made:
            self._see_by_name(constants, call, result, place)
            return result
        if found.exact:
            call.table.assumes.update(dict.fromkeys(filter(None, [ASSUMING.get(call.operator.name)])))
        else:
            self._note(found, call, place)
        return View(found.result.core, result.axes, result.sizes)

    def _enter(self, constants: Constants, call: Call, result: View, place: Place) -> None:
        """Enter what the first file computes, by its definition where it has one."""
        written = form(constants, call)
        if written is None or not _same_elements(written, result):
            self.made.add(result.core)
            return
        exact = call.operator.name not in INEXACT
        found = Definition(result, call, "" if exact else _name(place[1], call))
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


def _same_elements(one: View, two: View) -> bool:
    """Whether two views see all of their cores in one way: then the cores have the same elements where the views do."""
    sizes = one.core.sizes
    if one.axes is None or sizes is None or (one.axes, one.sizes, sizes) != (two.axes, two.sizes, two.core.sizes):
        return False
    return {axis for axis, size in enumerate(sizes) if size != 1} <= set(one.axes)


def _index(place: Place) -> int:
    model, graph = place
    return next(at for at, each in enumerate(model.subgraphs) if each is graph)


def _name(graph: Subgraph, call: Call) -> str:
    """Name a result as runtimes do."""
    at = next(at for at, tensor in enumerate(graph.tensors) if tensor is call.result)
    return list(unique_names([tensor.name for tensor in graph.tensors]))[at]
