"""A call: one node as the rules read it, with its operands and attributes, and the environment of its names."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from onnx import AttributeProto, TensorProto, helper

from graphfix.checker.proof.core.result import UnprovedError, UnsortedError
from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import integer_type, whole
from graphfix.checker.proof.neutral.constant_folding import is_constant
from graphfix.checker.proof.onnx.reading.node_signature import Kinds, NodeSignature, SignatureMemo
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import NodeProto

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import TermTable, View
    from graphfix.checker.proof.onnx.reading.stored_sizes import StoredSizes

Among: TypeAlias = "Callable[[Sequence[NodeProto], int, dict[str, View]], View]"
"""Reads nodes of a version of the standard operator set on these values; returns the result of the last node."""
_NUMBERS = {
    "value_int": (AttributeProto.INT, "i", TensorProto.INT64),
    "value_ints": (AttributeProto.INTS, "ints", TensorProto.INT64),
    "value_float": (AttributeProto.FLOAT, "f", TensorProto.FLOAT),
    "value_floats": (AttributeProto.FLOATS, "floats", TensorProto.FLOAT),
    "value_string": (AttributeProto.STRING, "s", TensorProto.STRING),
    "value_strings": (AttributeProto.STRINGS, "strings", TensorProto.STRING),
}
"""The attributes that a Constant node may have in place of a tensor: their type, their field, the tensor's type."""


COUNTED_BACK_SINCE = 11
INDEX_TYPES = frozenset({"int32", "int64"})
_NOTHING = SignatureMemo(NodeSignature("", "", "", 0, False, (), 0, 0), is_allowed=False)


@dataclass(slots=True)
class Call:
    """A node with its operands."""

    label: str
    """The node's name, or `Op#index` if it has none."""
    domain: str
    op: str
    version: int
    """The version of the operator set that the node's scope imports."""
    since: int
    """The version of the operator's meaning."""
    views: Sequence[View | None]
    inputs: Sequence[str]
    """The names of the operands; empty for an operand that is not given."""
    outputs: Sequence[str]
    """The names of the results; empty for a result that is not used."""
    attributes: Mapping[str, AttributeProto]
    description: str
    table: TermTable = field(repr=False)
    """The terms of both files, where results are entered."""
    key: tuple[object, ...] = field(default=())
    """The beginning of a term that reads by maps: the operator, and the attributes that the maps do not show."""
    full: tuple[object, ...] = field(default=())
    """The beginning of a term that reads exactly: the operator and all its attributes."""
    signature_memo: SignatureMemo = field(default=_NOTHING, repr=False)
    """What is known of the signature that the node has in the file; the other fields are those of its present form."""
    kinds: Kinds = ()
    """The types of the operands as the file has them; None for each unknown type."""
    scope: Environment | None = field(default=None, repr=False)
    """The environment in which the operands' names are found."""

    def operand(self, index: int) -> View | None:
        """Return an operand; None if it is not given, even if the operator needs it."""
        return self.views[index] if index < len(self.views) else None

    def named(self, *names: str) -> dict[str, View]:
        """Return the operands that are given, by names for all in order; one without a name is left out."""
        return {name: view for name, view in zip(names, self.views, strict=False) if name and view is not None}

    def sizes(self, index: int) -> Sizes | None:
        """Return the shape of an operand; None if it is not given or its rank is unknown."""
        view = self.operand(index)
        return None if view is None else view.sizes

    def rank(self, index: int) -> int | None:
        """Return the rank of an operand; None if it is unknown."""
        sizes = self.sizes(index)
        return None if sizes is None else len(sizes)

    def integer(self, name: str, default: int) -> int:
        """Return an integer attribute, or `default` if the node has none."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.i

    def flag(self, name: str, *, default: bool = False) -> bool | None:
        """Return an integer attribute that is 0 or 1; None for any other number, which runtimes read in two ways."""
        return {0: False, 1: True}.get(self.integer(name, int(default)))

    def text(self, name: str, default: bytes = b"") -> bytes:
        """Return a text attribute, or `default` if the node has none."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.s

    def number(self, name: str, default: float) -> float:
        """Return a float attribute, or `default` if the node has none."""
        attribute = self.attributes.get(name)
        return default if attribute is None else attribute.f

    def integers(self, name: str) -> tuple[int, ...] | None:
        """Return an attribute that is a list of integers; None if the node has none."""
        attribute = self.attributes.get(name)
        return None if attribute is None else tuple(attribute.ints)

    def content(self, index: int) -> Sizes | None:
        """Return the elements of an operand that is a vector of known integers or terms."""
        view = self.operand(index)
        return None if view is None else view.content

    def vector(self, index: int) -> Sizes | None:
        """Return the elements of an operand that has to be a vector of int64, such as a target or repeats."""
        view = self.operand(index)
        return None if view is None or integer_type(view) != "int64" or self.rank(index) != 1 else view.content

    def indices(self, index: int) -> Sizes | None:
        """Return the elements of an operand that has to be a vector of int32 or int64, such as bounds or axes."""
        view = self.operand(index)
        return None if view is None or integer_type(view) not in INDEX_TYPES or self.rank(index) != 1 else view.content

    def stored(self) -> tuple[int, ...]:
        """Return the indices of the operands that the file stores, as a tensor or an attribute."""
        return tuple(
            [at for at, view in enumerate(self.views) if view is not None and is_constant(view) and self._holds(at)]
        )

    def _holds(self, index: int) -> bool:
        name = self.inputs[index] if index < len(self.inputs) else ""
        return not name or self.scope is None or self.scope.holds(name)

    def completed(self, index: int, dims: Dims) -> Dims:
        """Return the dims of a result, in the main graph of the first file with the stored sizes that are believed."""
        scope = self.scope
        if scope is None or scope.believed is None or self.table.closed or not self.outputs[index]:
            return dims
        return scope.believed.complete(self.outputs[index], dims)

    def lowest(self, rank: int) -> int:
        """Return the lowest axis of a value of this rank: before operator set 11 axes are not counted from the end."""
        return -rank if self.version >= COUNTED_BACK_SINCE else 0

    def target(self, index: int) -> Sizes | None:
        """Return the elements of a target shape; None if one is a term that may be negative: it means another size."""
        given = self.vector(index)
        known = self.table.arithmetic.is_size
        return given if all(isinstance(size, int) or known(size) for size in given or ()) else None

    def partial_vector(self, index: int) -> Dims:
        """Return the elements of a vector of int64, with None for an unknown element; None if no element is known."""
        view, given = self.operand(index), self.vector(index)
        if given is not None or view is None:
            return given
        return view.core.elements if view == whole(view.core) else None

    def partial_target(self, index: int) -> Dims:
        """Return a target shape, with None for an element that is unknown or that may be negative.

        Returns None if no element is known.
        """
        elements, known = self.partial_vector(index), self.table.arithmetic.is_size
        if elements is None:
            return None
        return tuple(
            [size if isinstance(size, int) or (size is not None and known(size)) else None for size in elements]
        )

    def axes(self) -> tuple[int, ...] | None:
        """Return the axes of a Squeeze or Unsqueeze: an attribute, or operand 1; None if they are unknown."""
        given = self.integers("axes")
        return numbers(self.vector(1)) if given is None else given


@dataclass(slots=True, eq=False)
class Environment:
    """The values that a node can name, and the versions of the operator sets of its graph."""

    versions: Mapping[str, int]
    outer: Environment | None = None
    values: dict[str, View] = field(default_factory=dict)
    given: Mapping[str, AttributeProto] = field(default_factory=dict)
    """In a function: the attributes of the call."""
    declared: frozenset[str] | None = None
    """In a function: the names of the attributes that the function has."""
    absent: frozenset[str] = frozenset()
    """In a function: the names of the operands that the call does not pass."""
    depth: int = 0
    path: str = "main"
    of_file: bool = True
    """Whether its nodes are nodes of the file, and not the definition of one of them."""
    believed: StoredSizes | None = None
    """In the first file's main graph: the stored sizes that are believed where no rule derives the size."""
    stored: set[str] = field(default_factory=set)
    """The names of values that the file stores: initializers and results of Constant nodes."""

    def holds(self, name: str) -> bool:
        """Return whether the file stores a value, so that runtimes read it before they run."""
        owner = self._owner(name)
        return owner is not None and name in owner.stored

    def knows(self, name: str) -> bool:
        """Return whether this graph, or one around it, has a value of this name."""
        return self._owner(name) is not None

    def find(self, name: str) -> View:
        """Return a value by its name, from the innermost graph that has it. Raises UnsortedError if there is none."""
        owner = self._owner(name)
        if owner is None:
            raise UnsortedError(f"the value {name!r} is read before any node produces it; check the model")
        return owner.values[name]

    def _owner(self, name: str) -> Environment | None:
        """Return the innermost environment that has a value of this name."""
        environment: Environment | None = self
        while environment is not None and name not in environment.values:
            environment = environment.outer
        return environment


def attributes_of(node: NodeProto, environment: Environment) -> dict[str, AttributeProto]:
    """Return the attributes of a node by name; in a function, references are replaced by attributes of the call.

    Raises UnprovedError for two attributes of one name, and for a reference outside a function or to no attribute.
    """
    found: dict[str, AttributeProto] = {}
    seen: set[str] = set()
    for attribute in node.attribute:
        name = attribute.name
        if not isinstance(name, str):
            raise UnprovedError(f"the name {name!r} of an attribute is no UTF-8; check the model")
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
    """Return the attribute of a call to which a function's node refers; None if the call does not pass it."""
    name = attribute.ref_attr_name
    if environment.declared is None or name not in environment.declared:
        raise UnprovedError(f"the attribute {attribute.name!r} stands for {name!r}, and no function around it has that")
    given = environment.given.get(name)
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
    """Return the name of an operator set; empty for both names of the standard one."""
    return "" if domain == "ai.onnx" else domain


def tensor_of(name: str, attribute: AttributeProto) -> TensorProto | None:
    """Return the tensor that numbers or strings of a Constant node stand for; None for any other attribute."""
    kind, field_name, dtype = _NUMBERS.get(name, (None, "", TensorProto.UNDEFINED))
    if attribute.type != kind:
        return None
    held = getattr(attribute, field_name)
    values, dims = (list(held), [len(held)]) if name.endswith("s") else ([held], [])
    return helper.make_tensor("", dtype, dims, values)
