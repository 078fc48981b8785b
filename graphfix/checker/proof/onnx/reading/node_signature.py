"""A node's signature: what a runtime checks of a node before it runs, and whether the operator set allows it."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from google.protobuf.unknown_fields import UnknownFieldSet  # type: ignore[import-untyped]  # protobuf ships no stubs
from onnx import AttributeProto
from onnx.defs import OpSchema

from graphfix.checker.files.onnx.operators import MS, QUANTIZING, schema
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Pattern: TypeAlias = int | tuple[bool, ...]
"""How many names a node lists; where some are empty, which are given."""
Kinds: TypeAlias = "tuple[int | bytes | None, ...]"
"""Types of values, None for one that is not known."""
AttributeForm: TypeAlias = tuple[object, object]
"""The type of an attribute and what it holds; `ODD` and its bytes where it holds anything but a value of its type."""

ODD = "odd"
_OPTION = OpSchema.FormalParameterOption
_BESIDE = frozenset({"name", "type", "doc_string"})
_FIELDS: Mapping[int, str] = {
    AttributeProto.FLOAT: "f", AttributeProto.INT: "i", AttributeProto.STRING: "s", AttributeProto.TENSOR: "t",
    AttributeProto.GRAPH: "g", AttributeProto.SPARSE_TENSOR: "sparse_tensor", AttributeProto.TYPE_PROTO: "tp",
    AttributeProto.FLOATS: "floats", AttributeProto.INTS: "ints", AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors", AttributeProto.GRAPHS: "graphs",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors", AttributeProto.TYPE_PROTOS: "type_protos",
}  # fmt: skip
"""The field that holds the value of each type of attribute."""
_NUMBERS = frozenset(_FIELDS) - {
    AttributeProto.TENSOR, AttributeProto.TENSORS, AttributeProto.GRAPH, AttributeProto.GRAPHS,
    AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS,
}  # fmt: skip
"""Types of attributes that hold no tensor and no body."""


Keys: TypeAlias = tuple[int, tuple[object, ...], tuple[object, ...]]
"""The version of an operator's meaning; what a term begins with, without attributes that maps show and with all."""
Parts: TypeAlias = tuple[str, str, str, int, bool, tuple[tuple[str, AttributeForm], ...], Pattern, Pattern]
"""The fields of a NodeSignature."""


class NodeSignature(NamedTuple):
    """A node without its names. A runtime loads all nodes of one signature and equal operand types, or none."""

    op: str
    domain: str
    """As the file states it: the standard operator set has two names."""
    overload: str
    version: int
    """Of the operator set that the node's scope imports."""
    inside: bool
    """Whether it is in a body or a function."""
    attributes: tuple[tuple[str, AttributeForm], ...]
    """By name, in order."""
    operands: Pattern
    results: Pattern


@dataclass(slots=True, eq=False)
class SignatureMemo:
    """What is known of all nodes of one signature. Most nodes of a file have one of a few signatures."""

    signature: NodeSignature
    is_allowed: bool
    """Whether the operator set has the operator with all that the node states; its last names may be empty."""
    loads_with: dict[Kinds, bool] = field(default_factory=dict)
    """By the types of the operands whether the operator accepts them."""
    keys: dict[Kinds, Keys] = field(default_factory=dict)
    """The beginning of the nodes' terms, by the types of the operands, if nothing else decides it."""
    result_kinds: dict[tuple[Kinds, int], int | bytes | None] = field(default_factory=dict)
    """The type of the result at an index, by the types of the operands."""
    entered_types: set[Kinds] = field(default_factory=set)
    """The types of the operands of nodes that the first file has, or that the second file may have."""
    is_in_first: bool = False


class NodeForm(NamedTuple):
    """What a node of an operator may look like."""

    attributes: Mapping[str, object]
    """Type by name."""
    required: frozenset[str]
    operands: Sequence[tuple[object, int]]
    """Of each formal operand whether it may be absent or repeated, and how often it is repeated at least."""
    results: Sequence[tuple[object, int]]
    least: tuple[int, int]
    """Operands, results."""
    most: tuple[int, int]


def pattern(names: Sequence[str]) -> Pattern:
    """Return which names are given."""
    return len(names) if "" not in names else tuple(map(bool, names))


def ends_named(given: Pattern) -> bool:
    """Return whether the last name of a node's operands or results is not empty; True if there are no names."""
    return isinstance(given, int) or given[-1]


def attribute_form(attribute: AttributeProto) -> AttributeForm | None:
    """Return the form of an attribute; None for one that holds tensors or bodies, as its type says."""
    if attribute.type in _NUMBERS:
        return _number_form(attribute.SerializeToString(deterministic=True))
    return None if is_plain(attribute) else (ODD, attribute.SerializeToString(deterministic=True))


@lru_cache(maxsize=1 << 12)
def _number_form(data: bytes) -> AttributeForm:
    attribute = AttributeProto()
    attribute.ParseFromString(data)
    if not is_plain(attribute):
        return ODD, data
    field = _FIELDS[attribute.type]
    value = getattr(attribute, field)
    bare = AttributeProto()
    if isinstance(value, int | float | str | bytes):
        setattr(bare, field, value)
    else:
        bare.MergeFrom(attribute)
        for name in _BESIDE:
            bare.ClearField(name)
    return attribute.type, bare.SerializeToString(deterministic=True)


def is_plain(attribute: AttributeProto) -> bool:
    """Whether an attribute holds a value of its type, and nothing else."""
    held = {field.name for field, _ in attribute.ListFields()} - _BESIDE
    return held <= {_FIELDS.get(attribute.type)} and not len(UnknownFieldSet(attribute))


def allowed(signature: NodeSignature) -> bool:
    """Return whether a node's operator set has the operator, and everything that the node gives.

    Names of optional operands and results may be empty, also at the end; `ends_named` finds the latter.
    """
    op, domain, overload, version, _, attributes, operands, results = signature
    if overload:
        return False
    return _allowed(op, domain, version, tuple([(name, form[0]) for name, form in attributes]), (operands, results))


@cache
def _allowed(
    op: str, domain: str, version: int, attributes: tuple[tuple[str, object], ...], ends: tuple[Pattern, Pattern]
) -> bool:
    form = _node_form(op, domain, version)
    if form is None:
        return False
    given = dict(attributes)
    if not form.required <= given.keys() or any(form.attributes.get(name, ODD) != kind for name, kind in attributes):
        return False
    formals = form.operands, form.results
    return all(_fits(*each) for each in zip(formals, ends, form.least, form.most, strict=True))


def _fits(formals: Sequence[tuple[object, int]], given: Pattern, least: int, most: int) -> bool:
    """Return whether the operator accepts this number of names, and each empty name belongs to an optional parameter.

    An empty name at the end means the same as no name, except for a variadic parameter: a Split has as many parts as
    results, with or without a name.
    """
    named = (True,) * given if isinstance(given, int) else given
    if not least <= len(named) <= most:
        return False
    for at, there in enumerate(named):
        option, _ = formals[min(at, len(formals) - 1)]
        if not there and option != _OPTION.Optional:
            return False
    option, arity = formals[-1] if formals else (None, 0)
    return option != _OPTION.Variadic or len(named) - len(formals) + 1 >= arity or not arity


_TYPES = dict(AttributeProto.AttributeType.items())


_QUANTIZER = NodeForm(
    {"axis": AttributeProto.INT},
    frozenset(),
    [(_OPTION.Single, 1), (_OPTION.Single, 1), (_OPTION.Optional, 1)],
    [(_OPTION.Single, 1)],
    (2, 1),
    (3, 1),
)
"""The form of onnxruntime's quantizing operators, which onnx does not define. A lift of operand 0 moves the axis."""


@cache
def _node_form(op: str, domain: str, version: int) -> NodeForm | None:
    if domain == MS and (domain, op) in QUANTIZING:
        return _QUANTIZER
    known = schema(op, domain, version)
    if known is None or known.deprecated:
        return None
    types = {name: _TYPES[str(attribute.type).rpartition(".")[2]] for name, attribute in known.attributes.items()}
    return NodeForm(
        types,
        frozenset(name for name, attribute in known.attributes.items() if attribute.required),
        [(each.option, each.min_arity) for each in known.inputs],
        [(each.option, each.min_arity) for each in known.outputs],
        (known.min_input, known.min_output),
        (known.max_input, known.max_output),
    )
