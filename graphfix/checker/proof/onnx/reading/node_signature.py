"""The signature of a node: everything that a runtime checks of the node before it runs, without the names.

It also decides whether the operator set allows a node of this signature.
"""

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
"""The number of names that a node lists; if some are empty, a boolean for each name: True if it is not empty."""
Kinds: TypeAlias = "tuple[int | bytes | None, ...]"
"""Element types of values; None for each unknown type."""
AttributeForm: TypeAlias = tuple[object, object]
"""The type of an attribute and its content.

The type is `ODD` and the content the serialized attribute, if the attribute has anything beside a value of its type.
"""

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
"""The protobuf field that contains the value, for each type of attribute."""
_NUMBERS = frozenset(_FIELDS) - {
    AttributeProto.TENSOR, AttributeProto.TENSORS, AttributeProto.GRAPH, AttributeProto.GRAPHS,
    AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS,
}  # fmt: skip
"""Types of attributes that contain no tensor and no body."""


Keys: TypeAlias = tuple[int, tuple[object, ...], tuple[object, ...]]
"""The version of an operator's meaning, and two beginnings of its terms.

The first beginning omits attributes that indexing maps express. The second contains all attributes.
"""
Parts: TypeAlias = tuple[str, str, str, int, bool, tuple[tuple[str, AttributeForm], ...], Pattern, Pattern]
"""The fields of a NodeSignature."""


class NodeSignature(NamedTuple):
    """A node without its names.

    A runtime loads either all nodes of one signature and equal operand types, or no such node.
    """

    op: str
    domain: str
    """The domain as the file states it: the standard operator set has two names."""
    overload: str
    version: int
    """The version of the operator set that the node's graph imports."""
    inside: bool
    """Whether the node is in a body or a function."""
    attributes: tuple[tuple[str, AttributeForm], ...]
    """The names and forms of the attributes, sorted by name."""
    operands: Pattern
    results: Pattern


@dataclass(slots=True, eq=False)
class SignatureMemo:
    """Facts that are cached for all nodes of one signature. Most nodes of a file share a few signatures.

    `is_in_first` is True once the first file has a node of this signature.
    """

    signature: NodeSignature
    is_allowed: bool
    """Whether the operator set allows a node of this signature. Its last names may be empty."""
    loads_with: dict[Kinds, bool] = field(default_factory=dict)
    """Whether the operator accepts operands of these types."""
    keys: dict[Kinds, Keys] = field(default_factory=dict)
    """The beginnings of the nodes' terms, by the types of the operands, if nothing else determines them."""
    result_kinds: dict[tuple[Kinds, int], int | bytes | None] = field(default_factory=dict)
    """The type of a result, by the types of the operands and the index of the result."""
    entered_types: set[Kinds] = field(default_factory=set)
    """The types of operands with which the first file has such a node, or the second file may have one."""
    is_in_first: bool = False


class NodeForm(NamedTuple):
    """The attributes, operands and results that the definition of an operator allows for a node."""

    attributes: Mapping[str, object]
    """The type of each attribute, by name."""
    required: frozenset[str]
    operands: Sequence[tuple[object, int]]
    """For each formal operand, whether it is required, optional or variadic, and how often it occurs at least."""
    results: Sequence[tuple[object, int]]
    least: tuple[int, int]
    """The minimal numbers of operands and of results."""
    most: tuple[int, int]


def pattern(names: Sequence[str]) -> Pattern:
    """Return how many names there are; if some are empty, return for each name whether it is not empty."""
    return len(names) if "" not in names else tuple(map(bool, names))


def ends_named(given: Pattern) -> bool:
    """Return whether the last name of a node's operands or results is not empty; True if there are no names."""
    return isinstance(given, int) or given[-1]


def attribute_form(attribute: AttributeProto) -> AttributeForm | None:
    """Return the comparable form of an attribute: its type and its serialized value, without name and documentation.

    Return the form `ODD` with all bytes if the attribute has anything beside a value of its type. Return None for a
    regular attribute that contains tensors or bodies, because the caller has to compare these.
    """
    if attribute.type in _NUMBERS:
        return _number_form(attribute.SerializeToString(deterministic=True))
    return None if is_plain(attribute) else (ODD, attribute.SerializeToString(deterministic=True))


@lru_cache(maxsize=1 << 12)
def _number_form(data: bytes) -> AttributeForm:
    """Return the form of a serialized attribute whose type contains no tensors or bodies."""
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
    """Return whether an attribute contains a value of its type (or no value) and no other field."""
    field_names = {field.name for field, _ in attribute.ListFields()} - _BESIDE
    return field_names <= {_FIELDS.get(attribute.type)} and not len(UnknownFieldSet(attribute))


def is_allowed_signature(signature: NodeSignature) -> bool:
    """Return whether the node's operator set defines the operator with the node's attributes, operands and results.

    Names of optional operands and results may be empty, also at the end. Use `ends_named` to find an empty last name.
    """
    op, domain, overload, version, _, attributes, operands, results = signature
    if overload:
        return False
    return _allowed(op, domain, version, tuple([(name, form[0]) for name, form in attributes]), (operands, results))


@cache
def _allowed(
    op: str, domain: str, version: int, attributes: tuple[tuple[str, object], ...], ends: tuple[Pattern, Pattern]
) -> bool:
    """Return `is_allowed_signature` for parts of a signature.

    `attributes` are the names with the types, and `ends` are operands and results.
    """
    form = _node_form(op, domain, version)
    if form is None:
        return False
    given = dict(attributes)
    if not form.required <= given.keys() or any(form.attributes.get(name, ODD) != kind for name, kind in attributes):
        return False
    formals = form.operands, form.results
    return all(_fits(*each) for each in zip(formals, ends, form.least, form.most, strict=True))


def _fits(formals: Sequence[tuple[object, int]], given: Pattern, least: int, most: int) -> bool:
    """Return whether a parameter list accepts these names: enough, not too many, and empty ones only where optional.

    `formals` contains for each formal parameter its option and its minimal number of repetitions. `least` and `most`
    limit the number of names. An empty name at the end means the same as no name, except for a variadic parameter: a
    Split has as many parts as results, with or without names.
    """
    is_present = (True,) * given if isinstance(given, int) else given
    if not least <= len(is_present) <= most:
        return False
    for at, there in enumerate(is_present):
        option, _ = formals[min(at, len(formals) - 1)]
        if not there and option != _OPTION.Optional:
            return False
    option, arity = formals[-1] if formals else (None, 0)
    return option != _OPTION.Variadic or len(is_present) - len(formals) + 1 >= arity or not arity


_TYPES = dict(AttributeProto.AttributeType.items())


_QUANTIZER = NodeForm(
    {"axis": AttributeProto.INT},
    frozenset(),
    [(_OPTION.Single, 1), (_OPTION.Single, 1), (_OPTION.Optional, 1)],
    [(_OPTION.Single, 1)],
    (2, 1),
    (3, 1),
)
"""The form of onnxruntime's quantizing operators, which onnx does not define.

Adding leading axes to operand 0 shifts the axis that `axis` means.
"""


@cache
def _node_form(op: str, domain: str, version: int) -> NodeForm | None:
    """Return the form that an operator allows for its nodes.

    Return None if the operator set does not define the operator, or has deprecated it.
    """
    if domain == MS and (domain, op) in QUANTIZING:
        return _QUANTIZER
    operator_schema = schema(op, domain, version)
    if operator_schema is None or operator_schema.deprecated:
        return None
    types = {
        name: _TYPES[str(attribute.type).rpartition(".")[2]] for name, attribute in operator_schema.attributes.items()
    }
    return NodeForm(
        types,
        frozenset(name for name, attribute in operator_schema.attributes.items() if attribute.required),
        [(each.option, each.min_arity) for each in operator_schema.inputs],
        [(each.option, each.min_arity) for each in operator_schema.outputs],
        (operator_schema.min_input, operator_schema.min_output),
        (operator_schema.max_input, operator_schema.max_output),
    )
