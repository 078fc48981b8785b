"""Operators by their definition in others: a GELU of float32 in element-wise operators, which round in other places.

What the first file calls by its name, and the second writes in the operators of the definition, computes the same
function; where it is rounded is no part of a definition, so that the runs have to hold each such place to its bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import pi
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from graphfix.checker.files.tflite.graphs import unique_names
from graphfix.checker.files.tflite.records import Operator
from graphfix.checker.proof import constant_folding
from graphfix.checker.proof.tflite.nodes import read
from graphfix.checker.proof.tflite.operands import Call
from graphfix.results import InexactSite

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from graphfix.checker.files.tflite.records import Model, Subgraph, Tensor
    from graphfix.checker.proof.constants import Constants
    from graphfix.checker.proof.terms import View

ACTIVATED: Final = ("fusedActivationFunction", 0)
OPERATORS: Final[Mapping[str, tuple[int, tuple[tuple[str, object], ...], str]]] = {
    "MUL": (21, (ACTIVATED,), "float32"),
    "ADD": (11, (ACTIVATED, ("potScaleInt16", True)), "float32"),
    "SUB": (28, (ACTIVATED, ("potScaleInt16", True)), "float32"),
    "DIV": (29, (ACTIVATED,), "float32"),
    "EXP": (33, (), "float32"),
    "ABS": (78, (), "float32"),
    "TANH": (0, (), "float32"),
    "GREATER_EQUAL": (45, (), "bool"),
    "SELECT_V2": (98, (), "float32"),
}
"""The operators of definitions: the table of their options, its fields as they are by default, the result's type."""


class UnreadError(Exception):
    """An operator of a definition is read in another way than by maps: the whole is no term then."""


class Definition(NamedTuple):
    """What the first file computes by an operator's name."""

    result: View
    operator: str
    """As a report names it."""
    value: str
    """The result's name."""


@dataclass(slots=True, eq=False)
class Definitions:
    """The definitions of the first file's operators, and where the second file writes them out."""

    defined: dict[View, Definition] = field(default_factory=dict)
    made: set[View] = field(default_factory=set)
    """What the first file computes in other operators: it is not taken for a definition."""
    sites: list[InexactSite] = field(default_factory=list)

    def see(
        self, constants: Constants, call: Call, result: View, place: tuple[Model, Subgraph], *, first: bool
    ) -> View:
        """Return an operator's result; of the second file's, what the first file computes by name where it is that."""
        if first:
            form = _form(constants, call)
            if form is None:
                self.made.add(result)
            else:
                self.defined.setdefault(form, Definition(result, call.description, _name(place[1], call)))
            return result
        found = self.defined.get(result)
        if found is None or result in self.made:
            return result
        model, graph = place
        at = next(at for at, each in enumerate(model.subgraphs) if each is graph)
        self.sites.append(InexactSite(found.operator, found.value, _name(graph, call), at))
        return found.result


def _name(graph: Subgraph, call: Call) -> str:
    """Name a result as runtimes do."""
    at = next(at for at, tensor in enumerate(graph.tensors) if tensor is call.result)
    return list(unique_names([tensor.name for tensor in graph.tensors]))[at]


class Value(NamedTuple):
    """What an operator of a definition reads or makes."""

    view: View
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class Maker:
    """Reads the operators of a definition as it reads those of a file."""

    constants: Constants
    call: Call

    def __call__(self, name: str, *operands: Value | float) -> Value:
        """Return what an operator makes; a float stands for a constant. Raises UnreadError."""
        kind, fields, dtype = OPERATORS[name]
        values = [self._constant(each) if isinstance(each, float) else each for each in operands]
        result = self.call.result._replace(dtype=dtype)
        operator = Operator(name, 1, (), (), dict(fields), (), (name, kind, 0, fields, (), (), ()))
        views, tensors = [value.view for value in values], [value.tensor for value in values]
        view = read(Call(self.call.table, operator, views, tensors, result, self.call.description))
        if view is None:
            raise UnreadError
        return Value(view, result)

    def _constant(self, number: float) -> Value:
        array = np.asarray(number, np.float32)
        view = constant_folding.as_constant(self.constants, array, self.call.description)
        return Value(view, self.call.result._replace(dtype="float32", dims=(), stored=()))


def _form(constants: Constants, call: Call) -> View | None:
    """Read an operator as its definition; None where it has none."""
    rule = DEFINED.get(call.operator.name)
    data, tensor = call.operand(0), call.inputs[0] if call.inputs else None
    if rule is None or data is None or tensor is None:
        return None
    if any(each.dtype != "float32" or each.quantization is not None for each in (tensor, call.result)):
        return None
    try:
        return rule(call, Maker(constants, call), Value(data, tensor)).view
    except UnreadError:
        return None


def _gelu(call: Call, make: Maker, x: Value) -> Value:
    """X times the normal distribution's integral up to x, or what is near to it: Hendrycks and Gimpel, 2016."""
    if call.option("approximate"):
        cubed = make("MUL", make("MUL", make("MUL", x, x), x), 0.044715)
        bent = make("TANH", make("MUL", make("ADD", x, cubed), (2 / pi) ** 0.5))
        return make("MUL", make("MUL", x, 0.5), make("ADD", bent, 1.0))
    # erfc of |x| / sqrt(2), halved: Abramowitz and Stegun, formula 7.1.26
    t = make("DIV", 1.0, make("ADD", make("MUL", make("ABS", x), 0.3275911 / 2**0.5), 1.0))
    sum_: Value | float = 1.061405429 / 2
    for number in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        sum_ = make("ADD", make("MUL", sum_, t), number / 2)
    tail = make("MUL", make("MUL", sum_, t), make("EXP", make("MUL", make("MUL", x, x), -0.5)))
    return make("MUL", x, make("SELECT_V2", make("GREATER_EQUAL", x, 0.0), make("SUB", 1.0, tail), tail))


DEFINED: Final[Mapping[str, Callable[[Call, Maker, Value], Value]]] = {"GELU": _gelu}
