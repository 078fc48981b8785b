"""A memo of the nodes of one graph: a node that is like an earlier node is read without applying the rules again.

For the operators listed below, and for nodes without attributes, the rules depend only on the forms of the operands. A
form is everything that these rules read of a value. If the rules may read a constant's elements or look into a term,
the form contains the value's core, so that no other value has this form.

The memo stores what the rules returned, by the operator and the forms of the operands: a term of the operands, or an
operand read by another map. For the next such node it creates the same result from the new operands.

A memo serves one graph of one file. The rules also record which sizes must fit there, and they did so for the first
node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.proof.core.iteration_space import LoopNest
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import CONSTANTS, Core, ProofValue
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
Rules: TypeAlias = "Callable[[NodeProto, int, tuple[Names, Names]], Sequence[ProofValue | None]]"
"""Reads a node by the rules and returns its results.

The arguments are the node, its position in the graph, and the names of its operands and of its results.
"""

_MAPPED = frozenset(op for domain, op in (onnx_ops.EACH.keys() | onnx_ops.UNARY) - TWO_WAYS if not domain)
"""Operators whose results are terms that read by maps, and for which the table stores nothing but these terms."""
_MOVING = frozenset("Identity Reshape Unsqueeze Squeeze Flatten Expand".split())
"""Operators whose result may be operand 0 read by another map. Their rules may read the elements of other operands."""
_SHAPE = "Shape"
_REPEATED = _MAPPED | _MOVING | {_SHAPE}
_EXACTLY = "whole"
_OPAQUE = frozenset(
    {"input", "parameter", _EXACTLY, EACH, "onto", "onto exactly", "product", "product exactly", "gemm"}
)
"""The kinds of terms into which the rules for these operators do not look."""
_MOST_OPERANDS = 2
_tuple = tuple.__new__
"""Creates a value faster than its class does. The class's defaults take as long as the rest of `_from_memo`."""
_NO_MORE: frozenset[Extent] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class ValueForm:
    """Everything that the rules read of a value, except its identity. Equal forms are one object.

    `axes` and `sizes` are the value's map and shape, `core_sizes` is the shape of its core, and `kind` is the element
    type.
    """

    axes: Axes
    sizes: Sizes
    core_sizes: Sizes | None
    kind: int | bytes
    core_or_is_constant: Core | bool
    """The core of the value, if the rules may read more of it; otherwise, whether the value is a constant.

    Such a constant has several different elements.
    """


@dataclass(frozen=True, slots=True, eq=False)
class MemoEntry:
    """The result that the rules returned for a node, in a form that can be created again for other operands.

    If `nest` is set, the result is a term of the operands' cores. Else, if `view` is set, the result is always that
    value. Otherwise the result reads the core of operand `operand` by the map in `form`.
    """

    form: ValueForm
    """The form of the result."""
    nest: LoopNest | None = None
    """The iteration space and maps by which the term reads the operands' cores; None if the result is no such term."""
    is_pair: bool = False
    """Whether the term has two operands."""
    operand: int = 0
    """The index of the operand whose core the result reads, if neither `nest` nor `view` is set."""
    view: ProofValue | None = None
    """The result itself, if the forms alone determine it."""


@dataclass(slots=True, eq=False)
class NodeMemo:
    """The nodes of one graph that were read so far, by operator and forms of the operands."""

    table: TermTable
    values: dict[str, ProofValue]
    """The values of the graph by name. Values of graphs around this graph are not in it."""
    names_without_value: set[str]
    """Names of the graph that have no value."""
    stores_entries: bool
    """Whether entries are stored. They are not if the rules have to read each node."""
    _forms: dict[str, ValueForm] = field(default_factory=dict)
    """The form of each value for which `_form_of` was called, by the value's name."""
    _distinct_forms: dict[MemoKey, ValueForm] = field(default_factory=dict)
    _entries: dict[MemoKey, MemoEntry] = field(default_factory=dict)
    """Entries by operator and the operands' forms."""

    def read(self, nodes: Iterable[NodeProto], rules: Rules) -> None:
        """Read the nodes in their order and enter their results into `values`.

        Each node is read from the memo, or else by `rules`. Raises UnprovedError if two values have one name.
        """
        entry_of, form_of, from_memo = self._entries.get, self._forms.get, self._from_memo
        for index, node in enumerate(nodes):
            operands, results = node.input[:], node.output[:]
            entry = entry_of((node.op_type, *map(form_of, operands)))
            if entry is None or not _is_bare(node) or not from_memo(entry, node, index, operands, results):
                self._by_rules(node, index, (operands, results), rules)

    def _from_memo(self, entry: MemoEntry, node: NodeProto, index: int, operands: Names, results: Names) -> bool:
        """Enter the result of a node by an entry of the memo.

        Return False if the rules have to read the node. That is so unless it has exactly one named result with an
        unused name, and `_term` returns a core. `index` is the node's position in the graph. `operands` and `results`
        are names.
        """
        values, form, view = self.values, entry.form, entry.view
        name = results[0] if len(results) == 1 else ""
        if not name or name in values or name in self.names_without_value:
            return False
        if view is None:
            core: Core | None = values[operands[entry.operand]].core
            if entry.nest is not None:
                core = self._term(entry, (values[operands[0]].core, values[operands[-1]].core), node, index)
            if core is None:
                return False
            view = _tuple(ProofValue, (core, form.axes, form.sizes, _NO_MORE))
        values[name], self._forms[name] = view, form
        return True

    def _term(self, entry: MemoEntry, ends: tuple[Core, Core], node: NodeProto, index: int) -> Core | None:
        """Return the core of a node of one or two operands; None if the rules have to read the node.

        Return None if both operands are one core, if the core exists with another type, or if the core is a product.
        Several operators can compute one product, which the rules have to distinguish. `ends` are the cores of the
        first and the last operand.
        """
        key: MemoKey = (EACH, entry.nest, *ends) if entry.is_pair else (EACH, entry.nest, ends[0])
        core, table = self.table.cores.get(key), self.table
        if entry.is_pair and ends[0] is ends[1]:
            return None
        if core is None:
            core = table.create_core(key, described(node.op_type, node.name, index))
            core.sizes, core.dtype = entry.form.core_sizes, entry.form.kind
        elif core.dtype != entry.form.kind or core in table.product_ops:
            return None
        else:
            table.record_reuse(core)
        return core

    def _by_rules(self, node: NodeProto, index: int, ends: tuple[Names, Names], rules: Rules) -> None:
        """Read a node by the rules, and store what they returned if later nodes may be read like it.

        The memo is tried once more first, because the forms of the operands may become known only here. Raises
        UnprovedError if a result has the name of another value of the graph. `ends` are the names of operands and
        results.
        """
        (operands, names), op = ends, node.op_type
        repeats = self.stores_entries and op in _REPEATED and len(operands) <= _MOST_OPERANDS and _is_bare(node)
        # The forms are read before the results are entered. A result in a body may have the name of an operand that
        # belongs to the graph around the body.
        forms = [form for name in operands if (form := self._form_of(name)) is not None] if repeats else []
        repeats = repeats and len(forms) == len(operands) > 0
        entry = self._entries.get((op, *forms)) if repeats else None
        if entry is not None and self._from_memo(entry, node, index, operands, names):
            return
        cores = tuple([self.values[name].core for name in operands]) if repeats else ()
        results = rules(node, index, ends)
        for name, view in zip_longest(names, results[: len(names)]):
            if name in self.values or name in self.names_without_value:
                raise UnprovedError(f"two values have the name {name!r}: runtimes do not agree on which is read")
            if name and view is not None:
                self.values[name] = view
            elif name:
                self.names_without_value.add(name)
        if repeats and len(names) == 1:
            self._learn(op, forms, cores, self.values.get(names[0]))

    # --- forms and entries --------------------------------------------------------------------------------------------

    def _learn(self, op: str, forms: Sequence[ValueForm], cores: tuple[Core, ...], result: ProofValue | None) -> None:
        """Store what the rules returned for a node, if the forms of the operands determine it.

        `forms` and `cores` belong to the operands, and `result` is None if the node has no result. If two operands have
        one core, nothing is stored.
        """
        form = None if result is None else self._form(result)
        if result is None or form is None or len(set(cores)) < len(cores):
            return
        entry = _entry_of(op, forms, cores, result, form)
        if entry is not None:
            self._entries[(op, *forms)] = entry

    def _form_of(self, name: str) -> ValueForm | None:
        """Return the form of the value `name` of the graph, and cache it.

        Return None for an empty name, for a value of another graph, and if the rank or type is unknown.
        """
        earlier_form = self._forms.get(name)
        view = self.values.get(name) if earlier_form is None and name else None
        if view is not None and (found := self._form(view)) is not None:
            self._forms[name] = earlier_form = found
        return earlier_form

    def _form(self, view: ProofValue) -> ValueForm | None:
        """Return the form of a value; None if its rank or type is unknown, because it may become known later."""
        core, axes, sizes = view.core, view.axes, view.sizes
        if axes is None or sizes is None or core.dtype is None:
            return None
        core_or_present: Core | bool = core
        if core.content is None and core.key[0] in _OPAQUE:
            core_or_present = False
        elif core.content is None and is_constant(view) and any(axis is not None for axis in axes):
            core_or_present = True
        key = axes, sizes, core.sizes, core.dtype, core_or_present
        found = self._distinct_forms.get(key)
        if found is None:
            found = self._distinct_forms[key] = ValueForm(*key)
        return found


def _is_bare(node: NodeProto) -> bool:
    """Return whether a node has no domain (the standard operator set), attributes, overload or device settings."""
    return not (node.attribute or node.domain or node.overload or node.device_configurations)


def _entry_of(
    op: str, forms: Sequence[ValueForm], cores: tuple[Core, ...], result: ProofValue, form: ValueForm
) -> MemoEntry | None:
    """Return how operands of these forms determine the result as a `MemoEntry`.

    Return None if other operands of these forms may have another result.

    `cores` are the operands' cores. `result` is the value that the rules returned, and `form` is its form.
    """
    if all(isinstance(each.core_or_is_constant, Core) for each in forms):
        # Every form contains its core, so the node repeats an earlier node. Operands that are read exactly are an
        # exception: the result also depends on whether the file stores them.
        return None if result.core.key[0] == _EXACTLY else MemoEntry(form, view=result)
    if all(map(_is_literal, forms)):
        return None
    if op == _SHAPE:
        return None if result.content is None else MemoEntry(form, view=result)
    if op in _MOVING:
        are_cores = all(isinstance(each.core_or_is_constant, Core) for each in forms[1:])
        return MemoEntry(form) if are_cores and result.core is cores[0] else None
    key = result.core.key
    if key[0] == EACH and key[2:] == cores and isinstance(key[1], LoopNest):
        return MemoEntry(form, key[1], is_pair=len(cores) == _MOST_OPERANDS)
    # The result is an operand if the operator combines that operand with a neutral constant, such as x + -0.0.
    return MemoEntry(form, operand=cores.index(result.core)) if result.core in cores else None


def _is_literal(form: ValueForm) -> bool:
    """Return whether the elements of a value may be known as numbers, so that rules may compute with them."""
    if not isinstance(form.core_or_is_constant, Core):
        return form.core_or_is_constant
    content = form.core_or_is_constant.content
    return form.core_or_is_constant.key[0] in CONSTANTS and (content is None or numbers(content) is not None)
