"""Read a node that is like an earlier node of the graph as that node was read, without asking the rules again.

For the operators below, and a node without attributes, the rules return the same for all values of one form: a term of
the operands, or a view of one of them. So the memo keeps what the rules returned by the operator and the forms of the
operands. For the next such node it makes the same term, or view, of the new operands.

A form is everything that those rules read of a value. If they may read the elements of a constant, or look into a term,
the form is that value alone. A memo serves one graph of one file. The rules also enter sizes that have to fit there;
they did so for the first node.
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
MemoKey: TypeAlias = tuple[object, ...]
Rules: TypeAlias = "Callable[[NodeProto, int, tuple[Names, Names]], Sequence[View | None]]"
"""Reads a node by the rules. Takes the node, its index in the graph, and the names of its operands and results."""

_MAPPED = frozenset(op for domain, op in (onnx_ops.EACH.keys() | onnx_ops.UNARY) - TWO_WAYS if not domain)
"""Operators whose results are terms by maps, and for which the table keeps nothing but the terms."""
_MOVING = frozenset("Identity Reshape Unsqueeze Squeeze Flatten Expand".split())
"""Operators whose results may be views of operand 0. Their rules may read the elements of the other operands."""
_SHAPE = "Shape"
_REPEATED = _MAPPED | _MOVING | {_SHAPE}
_EXACTLY = "whole"
_OPAQUE = frozenset(
    {"input", "parameter", _EXACTLY, EACH, "onto", "onto exactly", "product", "product exactly", "gemm"}
)
"""The kinds of terms into which those rules do not look."""
_MOST_OPERANDS = 2
_tuple = tuple.__new__
"""Makes a view without the defaults of its class, which take as long as everything else in `_from_memo`."""
_NO_MORE: frozenset[Extent] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class ValueForm:
    """Everything that the rules read of a value, except its identity. Equal forms are one object."""

    axes: Axes
    sizes: Sizes
    core_sizes: Sizes | None
    kind: int | bytes
    held: Core | bool
    """The core of the value, if the rules may read more of it. Else whether it is a constant of several elements."""


@dataclass(frozen=True, slots=True, eq=False)
class MemoEntry:
    """What the rules returned for a node: a term of the operands, a view of an operand, or a fixed value."""

    form: ValueForm
    """The form of the result."""
    nest: Nest | None = None
    """The iteration space of the term over the operands' cores."""
    is_pair: bool = False
    """Whether the term has two operands."""
    operand: int = 0
    """If there is no nest, the index of the operand that the result is a view of."""
    view: View | None = None
    """The result itself, if the forms alone decide it."""


@dataclass(slots=True, eq=False)
class NodeMemo:
    """The nodes of one graph that were read, by operator and forms of operands."""

    table: TermTable
    values: dict[str, View]
    """The values of the graph by name. Values of the graphs around it have no form here."""
    unvalued: set[str]
    """Names of the graph that have no value."""
    learns: bool
    """Whether entries are kept. They are not if each node has to be read by the rules."""
    _forms: dict[str, ValueForm] = field(default_factory=dict)
    """The forms of values by name, after the first call of `_form_of`."""
    _distinct_forms: dict[MemoKey, ValueForm] = field(default_factory=dict)
    _entries: dict[MemoKey, MemoEntry] = field(default_factory=dict)
    """By operator and the operands' forms."""

    def read(self, nodes: Iterable[NodeProto], rules: Rules) -> None:
        """Read nodes in their order, each from the memo or by the rules. Raises UnprovedError."""
        entry_of, form_of, from_memo = self._entries.get, self._forms.get, self._from_memo
        for index, node in enumerate(nodes):
            operands, results = node.input[:], node.output[:]
            entry = entry_of((node.op_type, *map(form_of, operands)))
            if entry is None or not _is_bare(node) or not from_memo(entry, node, index, operands, results):
                self._by_rules(node, index, (operands, results), rules)

    def _from_memo(self, entry: MemoEntry, node: NodeProto, index: int, operands: Names, results: Names) -> bool:
        """Enter the result of a node by an entry of the memo; return False if the node has to be read by the rules."""
        values, form, view = self.values, entry.form, entry.view
        name = results[0] if len(results) == 1 else ""
        if not name or name in values or name in self.unvalued:
            return False
        if view is None:
            core: Core | None = values[operands[entry.operand]].core
            if entry.nest is not None:
                core = self._term(entry, (values[operands[0]].core, values[operands[-1]].core), node, index)
            if core is None:
                return False
            view = _tuple(View, (core, form.axes, form.sizes, _NO_MORE))
        values[name], self._forms[name] = view, form
        return True

    def _term(self, entry: MemoEntry, ends: tuple[Core, Core], node: NodeProto, index: int) -> Core | None:
        """Return the term of a node of one or two operands; None if the node has to be read by the rules.

        That is so for an operator of a value and itself, and for a product that another operator computes too.
        """
        key: MemoKey = (EACH, entry.nest, *ends) if entry.is_pair else (EACH, entry.nest, ends[0])
        core, table = self.table.cores.get(key), self.table
        if entry.is_pair and ends[0] is ends[1]:
            return None
        if core is None:
            core = table.enter(key, described(node.op_type, node.name, index))
            core.sizes, core.dtype = entry.form.core_sizes, entry.form.kind
        elif core.dtype != entry.form.kind or core in table.product_ops:
            return None
        else:
            table.meet(core)
        return core

    def _by_rules(self, node: NodeProto, index: int, ends: tuple[Names, Names], rules: Rules) -> None:
        """Read a node by the rules, unless the memo has it after the forms of its operands are known."""
        (operands, names), op = ends, node.op_type
        repeats = self.learns and op in _REPEATED and len(operands) <= _MOST_OPERANDS and _is_bare(node)
        # Before results are entered: one of a body may have the name of an operand, a value of the graph around it.
        forms = [form for name in operands if (form := self._form_of(name)) is not None] if repeats else []
        repeats = repeats and len(forms) == len(operands) > 0
        entry = self._entries.get((op, *forms)) if repeats else None
        if entry is not None and self._from_memo(entry, node, index, operands, names):
            return
        cores = tuple([self.values[name].core for name in operands]) if repeats else ()
        results = rules(node, index, ends)
        for name, view in zip_longest(names, results[: len(names)]):
            if name in self.values or name in self.unvalued:
                raise UnprovedError(f"two values have the name {name!r}: runtimes do not agree on which is read")
            if name and view is not None:
                self.values[name] = view
            elif name:
                self.unvalued.add(name)
        if repeats and len(names) == 1:
            self._learn(op, forms, cores, self.values.get(names[0]))

    # --- forms and entries --------------------------------------------------------------------------------------------

    def _learn(self, op: str, forms: Sequence[ValueForm], cores: tuple[Core, ...], result: View | None) -> None:
        """Keep what the rules returned for a node, if the forms of its operands decide it."""
        form = None if result is None else self._form(result)
        if result is None or form is None or len(set(cores)) < len(cores):
            return
        entry = _entry_of(op, forms, cores, result, form)
        if entry is not None:
            self._entries[(op, *forms)] = entry

    def _form_of(self, name: str) -> ValueForm | None:
        """Return the form of a value of the graph, and keep it; None for an operand without a name."""
        known = self._forms.get(name)
        view = self.values.get(name) if known is None and name else None
        if view is not None and (found := self._form(view)) is not None:
            self._forms[name] = known = found
        return known

    def _form(self, view: View) -> ValueForm | None:
        """Return the form of a value; None if its rank or type is unknown, because it may become known later."""
        core, axes, sizes = view.core, view.axes, view.sizes
        if axes is None or sizes is None or core.dtype is None:
            return None
        held: Core | bool = core
        if core.content is None and core.key[0] in _OPAQUE:
            held = False
        elif core.content is None and is_constant(view) and any(axis is not None for axis in axes):
            held = True
        key = axes, sizes, core.sizes, core.dtype, held
        found = self._distinct_forms.get(key)
        if found is None:
            found = self._distinct_forms[key] = ValueForm(*key)
        return found


def _is_bare(node: NodeProto) -> bool:
    """Return whether a node has nothing but an operator of the standard set, its name, and the names of values."""
    return not (node.attribute or node.domain or node.overload or node.device_configurations)


def _entry_of(
    op: str, forms: Sequence[ValueForm], cores: tuple[Core, ...], result: View, form: ValueForm
) -> MemoEntry | None:
    """Return how operands of these forms decide a result; None if other operands of these forms may have another."""
    if all(isinstance(each.held, Core) for each in forms):
        # The node is a repetition. For operands that are read exactly it also matters whether the file stores them.
        return None if result.core.key[0] == _EXACTLY else MemoEntry(form, view=result)
    if all(map(_is_literal, forms)):
        return None
    if op == _SHAPE:
        return None if result.content is None else MemoEntry(form, view=result)
    if op in _MOVING:
        known = all(isinstance(each.held, Core) for each in forms[1:])
        return MemoEntry(form) if known and result.core is cores[0] else None
    key = result.core.key
    if key[0] == EACH and key[2:] == cores and isinstance(key[1], Nest):
        return MemoEntry(form, key[1], is_pair=len(cores) == _MOST_OPERANDS)
    # An operator of a value and a neutral constant returns the value.
    return MemoEntry(form, operand=cores.index(result.core)) if result.core in cores else None


def _is_literal(form: ValueForm) -> bool:
    """Return whether the elements of a value may be known, so that rules may compute with them."""
    if not isinstance(form.held, Core):
        return form.held
    content = form.held.content
    return form.held.key[0] in CONSTANTS and (content is None or numbers(content) is not None)
