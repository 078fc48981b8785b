"""Decide which nodes the second file may have, so that a runtime that loads the first file loads the second file.

A node of the second file is allowed in one of three cases. It equals a node of the first file, field by field. Or the
proof compares its operator as a term, and the node is written in full, as its operator set defines it. Or it is one of
the forms below, with element types for which every maintained runtime has a kernel. Any other unusual part of the
second file must be in the first file too.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, NamedTuple

from onnx import TensorProto

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.files.onnx.operators import schema
from graphfix.checker.proof.onnx.closed_world.names import SizeNames
from graphfix.checker.proof.onnx.closed_world.operator_types import accepted, is_open
from graphfix.checker.proof.onnx.reading.node_signature import (
    NodeSignature,
    Parts,
    Pattern,
    SignatureMemo,
    ends_named,
    is_allowed_signature,
)
from graphfix.checker.proof.onnx.reading.operands import domain_of
from graphfix.checker.proof.onnx.reading.types import dtype, type_name
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.core.terms import ProofValue, TermTable
    from graphfix.checker.proof.onnx.reading.node_signature import Kinds
    from graphfix.checker.proof.onnx.reading.operands import Call


class NewForm(NamedTuple):
    """The element types with which the second file may have an operator where the first file has no such node."""

    types: frozenset[str]
    """Element types for which every maintained runtime has a kernel, in each operator set that allows them."""
    of: int | None = 0
    """The operand that must have one of these types; None for the result."""


_SIGNED = frozenset("int8 int16 int32 int64".split())
_INTEGERS = _SIGNED | frozenset("uint8 uint16 uint32 uint64".split())
_FLOATS = frozenset("float16 float32 float64".split())
_PLAIN = _INTEGERS | _FLOATS | {"bool", "string"}
_STORED = _PLAIN | {"bfloat16"}
_BYTES = frozenset("float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz".split())
_HALF_BYTES = frozenset("int4 uint4".split())
_BOOL = frozenset({"bool"})
_COMMON = _FLOATS | frozenset("int32 int64".split())

FORMS: Mapping[str, NewForm] = {
    # Data-movement operators: they add, drop and stretch axes, or do nothing.
    **dict.fromkeys("Reshape Unsqueeze Squeeze Flatten".split(), NewForm(_STORED)),
    **dict.fromkeys("Expand Tile".split(), NewForm(_PLAIN)),
    "Identity": NewForm(_STORED | _BYTES),
    "Dropout": NewForm(_FLOATS),
    "Resize": NewForm(frozenset("float32 float16 int32 int8 uint8".split())),
    # Constants, and values that are computed from sizes and constants.
    "Constant": NewForm(_STORED | _BYTES | _HALF_BYTES, None),
    "ConstantOfShape": NewForm(_STORED - {"string"}, None),
    "Shape": NewForm(_STORED),
    "Size": NewForm(_PLAIN),
    **dict.fromkeys("Gather Slice Concat Split".split(), NewForm(_STORED)),
    "Transpose": NewForm(_STORED | _BYTES | _HALF_BYTES),
    "Cast": NewForm(_STORED | _BYTES | _HALF_BYTES),
    "CastLike": NewForm(_PLAIN),
    "Range": NewForm(_COMMON - {"float16"} | {"int16"}),
    "NonZero": NewForm(frozenset("bool float32 float16 int32 int64 uint8".split())),
    # onnxruntime has no kernels for int8 and uint32 before 1.31
    "Where": NewForm(frozenset("string float32 float16 float64 int32 int64 uint8".split()), 1),
    **dict.fromkeys("Add Sub Mul Div Mod Abs Less LessOrEqual Greater GreaterOrEqual".split(),
                    NewForm(_INTEGERS | _FLOATS)),
    "Sign": NewForm(_INTEGERS | _FLOATS | {"bfloat16"}),
    "Equal": NewForm(_PLAIN),
    "Neg": NewForm(_SIGNED | _FLOATS),
    **dict.fromkeys("Floor Ceil".split(), NewForm(_FLOATS)),
    "Sqrt": NewForm(frozenset({"float32", "float64"})),
    **dict.fromkeys("And Or Xor Not".split(), NewForm(_BOOL)),
    # onnxruntime 1.23 has no kernels for int8 and uint8; newer versions have them
    **dict.fromkeys("Max Min".split(), NewForm(frozenset("int32 int64 uint32 uint64 float32 float16".split()))),
    **dict.fromkeys("ReduceMax ReduceMin".split(), NewForm(_COMMON | {"bool", "int8", "uint8"})),
    **dict.fromkeys("ReduceSum ReduceProd".split(), NewForm(_COMMON)),
    "If": NewForm(_STORED | _BYTES, None),
    # Operators that the proof reads as the operators that define them.
    "PRelu": NewForm(frozenset({"float32", "float16"})),
    "Pow": NewForm(_COMMON),
    **dict.fromkeys("Softmax LogSoftmax".split(), NewForm(_FLOATS)),
    "Hardmax": NewForm(frozenset({"float32", "float16"})),
    "Einsum": NewForm(frozenset({"float32"})),
    "SequenceAt": NewForm(_STORED, None),
    "ReverseSequence": NewForm(_PLAIN),
}  # fmt: skip
"""The form that may be new, by the operator of the standard set.

The proof reads these operators without a term of their own kind, or as other operators.
"""


@dataclass(slots=True, eq=False)
class ClosedWorld:
    """The parts of the first file, and the first part of the second file that is neither among them nor on a list."""

    closed: bool = False
    """Whether the first file has been read completely."""
    nodes: dict[tuple[object, ...], SignatureMemo] = field(default_factory=dict)
    """A memo about all nodes of one signature, by the parts of the signature."""
    types: set[tuple[str, str, Kinds]] = field(default_factory=set)
    """Operators of the first file with the types of their operands."""
    patterns: set[tuple[str, str, Pattern, Pattern]] = field(default_factory=set)
    """Operators of the first file, with the pattern of their operands and results that have names."""
    oddities: set[object] = field(default_factory=set)
    size_names: SizeNames = field(default_factory=SizeNames)
    reason: str | None = None
    """Why the second file may not load."""

    def refuse(self, reason: str) -> None:
        """Record a part that no second file may have, even if the first file has it.

        In the first file it is ignored.
        """
        if self.closed and self.reason is None:
            self.reason = reason

    def require_in_first(self, key: object, reason: str) -> None:
        """Record a part that a runtime may refuse.

        The second file may have it only if the first file has it (equal `key`).
        """
        if not self.closed:
            self.oddities.add(key)
        elif self.reason is None and key not in self.oddities:
            self.reason = reason

    def signature_memo(self, parts: Parts) -> SignatureMemo:
        """Return the memo of a signature, which stores what is known about all nodes of this signature."""
        found = self.nodes.get(parts)
        if found is None:
            signature = NodeSignature(*parts)
            found = self.nodes[parts] = SignatureMemo(signature, is_allowed_signature(signature))
        return found

    def enter(self, call: Call, results: Sequence[ProofValue | None]) -> None:
        """Record a node with its results, if its signature was not recorded with operands of these types before.

        For the second file, check whether the node may stop the file from loading.
        """
        node, kinds = call.signature_memo, call.operand_types
        operator = (node.signature.op, domain_of(node.signature.domain), kinds)
        node.entered_types.add(kinds)
        if not self.closed:
            node.is_in_first = True
            self.types.add(operator)
            self.patterns.add((*operator[:2], node.signature.operands, node.signature.results))
        elif self.reason is None:
            fault = self._fault(call, results, are_inputs_known=operator in self.types and None not in kinds)
            self.reason = None if fault is None else f"{call.description} of the second file {fault}"

    def _fault(self, call: Call, results: Sequence[ProofValue | None], *, are_inputs_known: bool) -> str | None:
        """Return why a node may not load, as a phrase; None if it loads.

        `are_inputs_known` is True if the first file has the operator with operands of these types.
        """
        node, kinds = call.signature_memo, call.operand_types
        op, domain, version = node.signature.op, node.signature.domain, node.signature.version
        if not (node.is_in_first or self._is_full(node)):
            return "is written as no node of the first, and not in full as its operator set says"
        if not (node.is_in_first or are_inputs_known or domain in _SPECIFIED):
            return "has operands of other types than any of its operator in the first"
        is_defined = domain in _SPECIFIED and schema(op, domain, version) is not None
        if is_defined and not accepted(op, domain, version, kinds):
            return "has operands of types that its operator set refuses"
        form = None if domain or are_inputs_known else FORMS.get(op)
        if form is not None and any(view is not None and is_open(view.core) for view in call.views):
            return "has an operand of a type that is not known"
        if form is not None and not self._has_kernels(form, kinds, results):
            return "is of a type that not every runtime has a kernel for"
        return None

    def _is_full(self, node: SignatureMemo) -> bool:
        """Return whether a node is written in full, as its operator set defines the operator.

        The last names of its operands or results may be empty only if the first file has such a node.
        """
        signature = node.signature
        if any(name in _HINTS for name, _ in signature.attributes):
            return False
        ends = signature.operands, signature.results
        is_plain = all(map(ends_named, ends)) or (signature.op, domain_of(signature.domain), *ends) in self.patterns
        return is_plain and node.is_allowed

    def enter_growth(self, table: TermTable, call: Call, results: Sequence[ProofValue | None]) -> None:
        """Record a node with a large result whose shape, apart from unit axes, is the shape of no term.

        The second file may have such a node only if the first file has one with a result of this shape.
        """
        for view in results:
            sizes = None if view is None else view.sizes
            if sizes is None or not is_large(sizes):
                continue
            kept = _without_units(sizes)
            if not self.closed or all(kept != _without_units(core.sizes or ()) for core in table.cores.values()):
                self.require_in_first(
                    ("grown", kept), f"{call.description} of the second file makes a value larger than any before"
                )

    def _has_kernels(self, form: NewForm, kinds: Kinds, results: Sequence[ProofValue | None]) -> bool:
        """Return whether every runtime that loads the first file has a kernel for the form with these types.

        An unknown type is ignored.
        """
        if form.of is None:
            found = [dtype(view.core) for view in results if view is not None]
        else:
            found = list(kinds[form.of : form.of + 1])
        names = {type_name(kind) if isinstance(kind, int) else "" for kind in found if kind is not None}
        return names <= form.types or (names == {_COMPUTED} and self._computes())

    def _computes(self) -> bool:
        """Return whether the first file broadcasts values of bfloat16."""
        number = TensorProto.BFLOAT16
        return any((domain, op) in onnx_ops.EACH and number in kinds for op, domain, kinds in self.types)


_SPECIFIED = frozenset({"", "ai.onnx.ml"})
"""Domains whose operators onnx defines, except for operators that onnxruntime adds to these domains.

A node of an added operator has a signature of the first file, and is a term. Its operands are values that the same
operator reads in the first file, so their types occur in the first file too.
"""


def is_large(sizes: Sizes | None) -> bool:
    """Return whether some runtime may lack the memory for a value of these sizes. Only sizes that are numbers count."""
    return sizes is not None and prod([size for size in sizes if isinstance(size, int)]) > _FEW


def _without_units(sizes: Sizes) -> Sizes:
    return tuple(size for size in sizes if size != 1)


GROWING = frozenset({"Expand", "Tile", "ConstantOfShape", "Resize", "Range"})
"""Operators whose results may be larger than their operands."""
_FEW = 1 << 24
"""The number of elements for which every runtime is assumed to have memory."""
_HINTS = frozenset({"consumed_inputs"})
"""Attributes that have no meaning, and that some runtimes do not support."""
_COMPUTED = "bfloat16"
"""The type that onnxruntime's CPU kernels only copy.

A runtime that computes with this type has kernels for all forms.
"""
