"""Nodes that are like one before are read as that one was, on their own values: no rule is asked again.

What the rules of the operators below make of a node without attributes is the same for all values of one form, but for
which values these are: a term of the operands, or a view of one of them. So what was made once is made again, as the
same terms, for a node of the same operator on operands of the same forms. A form is all that those rules look at: where
they may look at the elements of a constant, or into a term, it is that one alone. It holds for one graph of one file:
what the rules enter besides, of sizes that have to fit there, the first node has entered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.proof.core.iteration_space import Nest
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import CONSTANTS, Core, View
from graphfix.checker.proof.neutral.broadcast import EACH
from graphfix.checker.proof.neutral.constant_folding import is_constant
from graphfix.checker.proof.onnx.closed_world.routines import TWO_WAYS
from graphfix.checker.proof.onnx.reading.calls import described
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable

    from onnx import NodeProto

    from graphfix.checker.proof.core.iteration_space import Axes
    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.core.terms import Extent, TermTable

Names: TypeAlias = Sequence[str]
Like: TypeAlias = tuple[object, ...]
Rules: TypeAlias = "Callable[[NodeProto, int, tuple[Names, Names]], Sequence[View | None]]"
"""Reads a node, the one of this number in its graph, with the names of operands and results."""

_MAPPED = frozenset(op for domain, op in (onnx_ops.EACH.keys() | onnx_ops.UNARY) - TWO_WAYS if not domain)
"""Operators whose results are terms by maps, and of which nothing is kept beside the terms."""
_MOVING = frozenset("Identity Reshape Unsqueeze Squeeze Flatten Expand".split())
"""Operators whose results may be views of operand 0; they may look at the elements of the others."""
_SHAPE = "Shape"
_REPEATED = _MAPPED | _MOVING | {_SHAPE}
_EXACTLY = "whole"
_OPAQUE = frozenset(
    {"input", "parameter", _EXACTLY, EACH, "onto", "onto exactly", "product", "product exactly", "gemm"}
)
"""The terms into which those rules do not look."""
_MOST_OPERANDS = 2
_tuple = tuple.__new__
"""Makes a view without the defaults of its class, which take as long as all the rest."""
_NO_MORE: frozenset[Extent] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """What the rules know of a value, but for which one it is: equal forms are one object."""

    axes: Axes
    sizes: Sizes
    core_sizes: Sizes | None
    kind: int | bytes
    held: Core | bool
    """Whether it is a constant, of several elements; where more may be known of a value, its core."""


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What a node was read as."""

    form: Form
    """Of the result."""
    nest: Nest | None = None
    """A term of this nest over the operands' cores."""
    pair: bool = False
    """Whether there are two of them."""
    of: int = 0
    """Where there is no nest, the operand of which it is a view."""
    view: View | None = None
    """The result itself, where it follows from the forms alone."""


@dataclass(slots=True, eq=False)
class Alike:
    """The nodes of one graph, as far as they were read."""

    table: TermTable
    values: dict[str, View]
    """Those of the graph by name; values of the graphs around it have no form here."""
    unvalued: set[str]
    """Names that are taken, and have no value."""
    learns: bool
    """Whether nodes are taken as one before: not where each is asked for."""
    _forms: dict[str, Form] = field(default_factory=dict)
    """By name, once asked for."""
    _known: dict[Like, Form] = field(default_factory=dict)
    _told: dict[Like, Told] = field(default_factory=dict)
    """By operator and the operands' forms."""

    def read(self, nodes: Iterable[NodeProto], rules: Rules) -> None:
        """Read nodes in their order, each as one before it or by the rules. Raises UnprovedError."""
        told_of, form_of, again = self._told.get, self._forms.get, self._again
        for index, node in enumerate(nodes):
            operands, results = node.input[:], node.output[:]
            told = told_of((node.op_type, *map(form_of, operands)))
            if told is None or not _is_bare(node) or not again(told, node, index, operands, results):
                self._anew(node, index, (operands, results), rules)

    def _again(self, told: Told, node: NodeProto, index: int, operands: Names, results: Names) -> bool:
        """Enter what a node computes; False for one of which more is to be said than what it was told as."""
        values, form, view = self.values, told.form, told.view
        name = results[0] if len(results) == 1 else ""
        if not name or name in values or name in self.unvalued:
            return False
        if view is None:
            core: Core | None = values[operands[told.of]].core
            if told.nest is not None:
                core = self._term(told, (values[operands[0]].core, values[operands[-1]].core), node, index)
            if core is None:
                return False
            view = _tuple(View, (core, form.axes, form.sizes, _NO_MORE))
        values[name], self._forms[name] = view, form
        return True

    def _term(self, told: Told, ends: tuple[Core, Core], node: NodeProto, index: int) -> Core | None:
        """Return the term of a node on one operand or two; None for one of which the rules know more.

        They do of a value and itself, and of a product that another operator is beside.
        """
        key: Like = (EACH, told.nest, *ends) if told.pair else (EACH, told.nest, ends[0])
        core, table = self.table.cores.get(key), self.table
        if told.pair and ends[0] is ends[1]:
            return None
        if core is None:
            core = table.enter(key, described(node.op_type, node.name, index))
            core.sizes, core.dtype = told.form.core_sizes, told.form.kind
        elif core.dtype != told.form.kind or core in table.product_ops:
            return None
        else:
            table.meet(core)
        return core

    def _anew(self, node: NodeProto, index: int, ends: tuple[Names, Names], rules: Rules) -> None:
        """Read a node of which no operand has a form yet, or that is like none before it."""
        (operands, names), op = ends, node.op_type
        alike = self.learns and op in _REPEATED and len(operands) <= _MOST_OPERANDS and _is_bare(node)
        # Before results are entered: one of a body may have the name of an operand, a value of the graph around it.
        forms = [form for name in operands if (form := self._form_of(name)) is not None] if alike else []
        alike = alike and len(forms) == len(operands) > 0
        told = self._told.get((op, *forms)) if alike else None
        if told is not None and self._again(told, node, index, operands, names):
            return
        cores = tuple([self.values[name].core for name in operands]) if alike else ()
        results = rules(node, index, ends)
        for name, view in zip_longest(names, results[: len(names)]):
            if name in self.values or name in self.unvalued:
                raise UnprovedError(f"two values have the name {name!r}: runtimes do not agree on which is read")
            if name and view is not None:
                self.values[name] = view
            elif name:
                self.unvalued.add(name)
        if alike and len(names) == 1:
            self._learn(op, forms, cores, self.values.get(names[0]))

    # --- what follows from forms --------------------------------------------------------------------------------------

    def _learn(self, op: str, forms: Sequence[Form], cores: tuple[Core, ...], result: View | None) -> None:
        """Keep what the rules made of a node, where it follows from the forms of its operands."""
        form = None if result is None else self._form(result)
        if result is None or form is None or len(set(cores)) < len(cores):
            return
        told = _told(op, forms, cores, result, form)
        if told is not None:
            self._told[(op, *forms)] = told

    def _form_of(self, name: str) -> Form | None:
        """Return the form of a value of the graph, and keep it; an operand without a name is none."""
        known = self._forms.get(name)
        view = self.values.get(name) if known is None and name else None
        if view is not None and (found := self._form(view)) is not None:
            self._forms[name] = known = found
        return known

    def _form(self, view: View) -> Form | None:
        """Return the form of a value; None where its rank or its type is not known: they may be later."""
        core, axes, sizes = view.core, view.axes, view.sizes
        if axes is None or sizes is None or core.dtype is None:
            return None
        held: Core | bool = core
        if core.content is None and core.key[0] in _OPAQUE:
            held = False
        elif core.content is None and is_constant(view) and any(axis is not None for axis in axes):
            held = True
        key = axes, sizes, core.sizes, core.dtype, held
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Form(*key)
        return found


def _is_bare(node: NodeProto) -> bool:
    """Whether a node says nothing but its operator of the standard set, its name and those of values."""
    return not (node.attribute or node.domain or node.overload or node.device_configurations)


def _told(op: str, forms: Sequence[Form], cores: tuple[Core, ...], result: View, form: Form) -> Told | None:
    """Say how a result follows from operands of these forms; None where it may be another for other operands."""
    if all(isinstance(each.held, Core) for each in forms):
        # The same node once more. Of operands that are read exactly it counts too whether the file holds them.
        return None if result.core.key[0] == _EXACTLY else Told(form, view=result)
    if all(map(_is_literal, forms)):
        return None
    if op == _SHAPE:
        return None if result.content is None else Told(form, view=result)
    if op in _MOVING:
        known = all(isinstance(each.held, Core) for each in forms[1:])
        return Told(form) if known and result.core is cores[0] else None
    key = result.core.key
    if key[0] == EACH and key[2:] == cores and isinstance(key[1], Nest):
        return Told(form, key[1], pair=len(cores) == _MOST_OPERANDS)
    return Told(form, of=cores.index(result.core)) if result.core in cores else None  # beside a neutral constant


def _is_literal(form: Form) -> bool:
    """Whether the elements of a value may be known, and what is computed of them."""
    if not isinstance(form.held, Core):
        return form.held
    content = form.held.content
    return form.held.key[0] in CONSTANTS and (content is None or numbers(content) is not None)
