"""A call: one node as the rules read it, with its operands and attributes, and the environment that defines names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from onnx import AttributeProto, TensorProto, helper

from graphfix.checker.proof.core.result import UnprovedError, UnsortedError
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import integer_type, value_of
from graphfix.checker.proof.neutral.constant_folding import is_constant
from graphfix.checker.proof.onnx.reading.node_signature import Kinds, NodeSignature, SignatureMemo
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import NodeProto

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import ProofValue, TermTable
    from graphfix.checker.proof.onnx.reading.stored_sizes import StoredSizes

NodesReader: TypeAlias = "Callable[[Sequence[NodeProto], int, dict[str, ProofValue]], ProofValue]"
"""Reads nodes of the standard operator set of a version on these values; returns the result of the last node."""
_NUMBERS = {
    "value_int": (AttributeProto.INT, "i", TensorProto.INT64),
    "value_ints": (AttributeProto.INTS, "ints", TensorProto.INT64),
    "value_float": (AttributeProto.FLOAT, "f", TensorProto.FLOAT),
    "value_floats": (AttributeProto.FLOATS, "floats", TensorProto.FLOAT),
    "value_string": (AttributeProto.STRING, "s", TensorProto.STRING),
    "value_strings": (AttributeProto.STRINGS, "strings", TensorProto.STRING),
}
"""The attributes that a Constant node may have in place of a tensor: attribute type, protobuf field, and element type.
"""


COUNTED_BACK_SINCE = 11
INDEX_TYPES = frozenset({"int32", "int64"})
_NOTHING = SignatureMemo(NodeSignature("", "", "", 0, False, (), 0, 0), is_allowed=False)


@dataclass(slots=True)
class Call:
    """One node as the rules read it, in its present form: operator, operands, attributes and names of results.

    `views` are the values of the operands; None for an operand that is absent.
    """

    label: str
    """The node's name, or `Op#index` if it has no name."""
    domain: str
    op: str
    version: int
    """The version of the operator set that the node's graph imports."""
    meaning_version: int
    """The version of the operator's meaning. Versions of one meaning share this number."""
    views: Sequence[ProofValue | None]
    operand_names: Sequence[str]
    """The names of the operands; empty for an operand that is absent."""
    result_names: Sequence[str]
    """The names of the results; empty for a result that is not used."""
    attributes: Mapping[str, AttributeProto]
    description: str
    table: TermTable = field(repr=False)
    """The terms of both files, where results are entered."""
    mapped_key: tuple[object, ...] = field(default=())
    """The beginning of a term that reads by maps: the operator, and the attributes that the maps do not express."""
    exact_key: tuple[object, ...] = field(default=())
    """The beginning of a term that reads exactly: the operator and all its attributes."""
    signature_memo: SignatureMemo = field(default=_NOTHING, repr=False)
    """Cached facts about the node's signature in the file. The other fields describe the present form of the node."""
    operand_types: Kinds = ()
    """The types of the operands in the file; None for each unknown type."""
    scope: Environment | None = field(default=None, repr=False)
    """The environment that defines the operands' names."""

    def operand(self, index: int) -> ProofValue | None:
        """Return operand `index`; None if the node does not have it, even if the operator requires it."""
        return self.views[index] if index < len(self.views) else None

    def operands_by_name(self, *names: str) -> dict[str, ProofValue]:
        """Return the operands that are present, by name.

        `names` contains a name for each operand, in order. An operand whose name there is empty is skipped.
        """
        return {name: view for name, view in zip(names, self.views, strict=False) if name and view is not None}

    def sizes(self, index: int) -> Sizes | None:
        """Return the shape of operand `index`; None if the operand is absent or its rank is unknown."""
        view = self.operand(index)
        return None if view is None else view.sizes

    def rank(self, index: int) -> int | None:
        """Return the rank of operand `index`; None if the operand is absent or its rank is unknown."""
        sizes = self.sizes(index)
        return None if sizes is None else len(sizes)

    def integer(self, name: str, default: int) -> int:
        """Return the integer attribute `name`, or `default` if the node does not have it."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.i

    def flag(self, name: str, *, default: bool = False) -> bool | None:
        """Return an integer attribute as a boolean; None for any number but 0 and 1.

        Runtimes interpret such a number in two ways. `default` is returned if the node does not have the attribute.
        """
        return {0: False, 1: True}.get(self.integer(name, int(default)))

    def text(self, name: str, default: bytes = b"") -> bytes:
        """Return the string attribute `name` as bytes, or `default` if the node does not have it."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.s

    def number(self, name: str, default: float) -> float:
        """Return the float attribute `name`, or `default` if the node does not have it."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.f

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return the attribute `name` that is a list of integers; None if the node does not have it."""
        attribute = self.attributes.get(name)
        return None if attribute is None else tuple(attribute.ints)

    def content(self, index: int) -> Sizes | None:
        """Return the elements of operand `index`, a scalar or vector of known integers; None for any other value."""
        view = self.operand(index)
        return None if view is None else view.content

    def int64_vector(self, index: int) -> Sizes | None:
        """Return the elements of operand `index`, a vector of int64; None if they are not known as terms.

        Return None also for another type or rank. Such operands are target shapes and repeats.
        """
        view = self.operand(index)
        return None if view is None or integer_type(view) != "int64" or self.rank(index) != 1 else view.content

    def index_vector(self, index: int) -> Sizes | None:
        """Return the elements of operand `index`, a vector of int32 or int64; None if they are not known as terms.

        Return None also for another type or rank. Such operands are bounds and axes.
        """
        view = self.operand(index)
        return None if view is None or integer_type(view) not in INDEX_TYPES or self.rank(index) != 1 else view.content

    def stored_operands(self) -> tuple[int, ...]:
        """Return the indices of the constant operands that the file stores, as tensors or attributes.

        Constants that nodes compute are omitted.
        """
        return tuple(
            [at for at, view in enumerate(self.views) if view is not None and is_constant(view) and self._is_stored(at)]
        )

    def _is_stored(self, index: int) -> bool:
        """Return whether the file stores operand `index`.

        Return True also for an operand without a name, because it was an attribute.
        """
        name = self.operand_names[index] if index < len(self.operand_names) else ""
        return not name or self.scope is None or self.scope.is_stored(name)

    def with_trusted_sizes(self, index: int, dims: Dims) -> Dims:
        """Return the dims of result `index`, with trusted sizes that the first file stores in place of unknown sizes.

        This applies only to named results in the main graph of the first file. `dims` is returned unchanged otherwise.
        """
        scope = self.scope
        if scope is None or scope.trusted_sizes is None or self.table.closed or not self.result_names[index]:
            return dims
        return scope.trusted_sizes.complete(self.result_names[index], dims)

    def lowest_axis(self, rank: int) -> int:
        """Return the lowest axis that the operator set allows for this rank: -rank, or 0 before operator set 11."""
        return -rank if self.version >= COUNTED_BACK_SINCE else 0

    def target_shape(self, index: int) -> Sizes | None:
        """Return the elements of operand `index`, a target shape such as that of a Reshape.

        Return None if an element is unknown, or is a term that may be negative. A negative element does not state its
        own size, so a term must be a size. Negative numbers are returned.
        """
        given = self.int64_vector(index)
        is_size = self.table.arithmetic.is_size
        return given if all(isinstance(size, int) or is_size(size) for size in given or ()) else None

    def partial_vector(self, index: int) -> Dims:
        """Return the elements of an int64 vector, with None for each unknown element; None if no element is known."""
        view, given = self.operand(index), self.int64_vector(index)
        if given is not None or view is None:
            return given
        return view.core.elements if view == value_of(view.core) else None

    def partial_target_shape(self, index: int) -> Dims:
        """Return a target shape, with None for each element that is unknown or is a term that may be negative.

        Return None if no element is known.
        """
        elements, is_size = self.partial_vector(index), self.table.arithmetic.is_size
        if elements is None:
            return None
        return tuple(
            [size if isinstance(size, int) or (size is not None and is_size(size)) else None for size in elements]
        )

    def axes(self) -> tuple[int, ...] | None:
        """Return the axes of a Squeeze or Unsqueeze, from the attribute or operand 1.

        Return None if they are absent or not constant.
        """
        given = self.integers("axes")
        return numbers(self.int64_vector(1)) if given is None else given


@dataclass(slots=True, eq=False)
class Environment:
    """The values that the nodes of one graph can read by name, and the operator sets that this graph imports.

    For a body, `outer` is the environment of the surrounding graph. `depth` is the number of surrounding bodies and
    functions, and `path` is their description for reports.
    """

    versions: Mapping[str, int]
    outer: Environment | None = None
    values: dict[str, ProofValue] = field(default_factory=dict)
    call_attributes: Mapping[str, AttributeProto] = field(default_factory=dict)
    """In a function: the attributes of the call, with the function's defaults for attributes that are not passed."""
    declared_attributes: frozenset[str] | None = None
    """In a function: the names of the attributes that the function declares."""
    absent_operands: frozenset[str] = frozenset()
    """In a function: the names of the operands that the call does not pass."""
    depth: int = 0
    path: str = "main"
    is_of_file: bool = True
    """Whether the nodes belong to the file. They do not if they are the formula of an operator."""
    trusted_sizes: StoredSizes | None = None
    """In the first file's main graph: the stored sizes that are trusted where no rule derives the size."""
    stored: set[str] = field(default_factory=set)
    """The names of values that the file stores: initializers, and results of Constant nodes.

    In a function, also the operands that the file stores.
    """

    def is_stored(self, name: str) -> bool:
        """Return whether the file stores the value `name` as a constant, so that runtimes read it before they run."""
        owner = self._owner(name)
        return owner is not None and name in owner.stored

    def has_value(self, name: str) -> bool:
        """Return whether this graph, or a graph around it, has a value of this name."""
        return self._owner(name) is not None

    def find(self, name: str) -> ProofValue:
        """Return the value `name` of the innermost graph that has it. Raises UnsortedError if no graph has it."""
        owner = self._owner(name)
        if owner is None:
            raise UnsortedError(f"the value {name!r} is read before any node produces it; check the model")
        return owner.values[name]

    def _owner(self, name: str) -> Environment | None:
        """Return the innermost environment that has a value of this name; None if there is none."""
        environment: Environment | None = self
        while environment is not None and name not in environment.values:
            environment = environment.outer
        return environment


def attributes_of(node: NodeProto, environment: Environment) -> dict[str, AttributeProto]:
    """Return the attributes of a node by name. In a function, references are replaced by attributes of the call.

    A reference to an attribute that the call does not pass is dropped. Raises UnprovedError for two attributes of one
    name, and for a name that is not UTF-8. Raises it also for a reference outside a function, to an undeclared
    attribute, or to an attribute of another type.
    """
    found: dict[str, AttributeProto] = {}
    seen: set[str] = set()
    for attribute in node.attribute:
        name = attribute.name
        if not isinstance(name, str):
            raise UnprovedError(f"the name {name!r} of an attribute is not UTF-8; check the model")
        if name in seen:
            raise UnprovedError(f"a node {node.op_type} has two attributes {name!r}")
        seen.add(name)
        if not attribute.ref_attr_name:
            found[name] = attribute
        elif (given := _referenced(attribute, environment)) is not None:
            own = AttributeProto()
            own.CopyFrom(given)
            own.name = name
            found[name] = own
    return found


def _referenced(attribute: AttributeProto, environment: Environment) -> AttributeProto | None:
    """Return the attribute of a call to which an attribute in the function refers; None if the call does not pass it.

    Raises UnprovedError if the function does not declare the attribute, or if the types differ.
    """
    name = attribute.ref_attr_name
    if environment.declared_attributes is None or name not in environment.declared_attributes:
        raise UnprovedError(f"the attribute {attribute.name!r} stands for {name!r}, and no function around it has that")
    given = environment.call_attributes.get(name)
    if given is not None and attribute.type not in (given.type, AttributeProto.UNDEFINED):
        raise UnprovedError(f"the attribute {attribute.name!r} stands for {name!r}, which is of another type")
    return given


def trimmed(outputs: Sequence[str]) -> Sequence[str]:
    """Return the names of results up to the last name that is not empty."""
    count = len(outputs)
    while count and not outputs[count - 1]:
        count -= 1
    return outputs[:count]


def domain_of(domain: str) -> str:
    """Return the domain of an operator set, with the empty string for both names of the standard set."""
    return "" if domain == "ai.onnx" else domain


def tensor_of(name: str, attribute: AttributeProto) -> TensorProto | None:
    """Return an attribute of a Constant node that contains numbers or strings, as a tensor.

    For example, `value_ints` with 1 and 2 becomes an int64 tensor of shape [2]. Return None for any other attribute.
    """
    kind, field_name, dtype = _NUMBERS.get(name, (None, "", TensorProto.UNDEFINED))
    if attribute.type != kind:
        return None
    content = getattr(attribute, field_name)
    values, dims = (list(content), [len(content)]) if name.endswith("s") else ([content], [])
    return helper.make_tensor("", dtype, dims, values)
