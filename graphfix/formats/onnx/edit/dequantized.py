"""Index the DequantizeLinear nodes that read constants, so that equal results are found without a search."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

from graphfix.formats.onnx.view import Views, bytes_of
from graphfix.graph.quantizers import DEQUANTIZE, is_quantizer
from graphfix.graph.view import Graph, Node, Value
from graphfix.results.onnx_messages import TensorProto
from graphfix.results.records import dataclass, field

Key = tuple[object, ...]
"""The node's domain, its operands except the first, its attributes, and the element type and dims of its constant."""


@dataclass(slots=True)
class _Group:
    """The nodes with one key. Two of them compute the same values if the bytes of their constants are equal."""

    digests: dict[int, bytes | None] = field(default_factory=dict)
    """The digest of the constant of each node, by the node's index; None if it is not read yet or can't be read."""
    unread: set[int] = field(default_factory=set)
    """The indices of the nodes whose constants are not read yet."""
    places: dict[bytes, list[int]] = field(default_factory=dict)
    """The sorted indices of the nodes whose constant has this digest."""

    def enter(self, place: int) -> None:
        """Add the node with index `place`. Its constant is not read yet."""
        self.digests[place] = None
        self.unread.add(place)

    def read(self, place: int, digest: bytes | None) -> None:
        """Store the digest of the constant of the node with index `place`."""
        self.unread.discard(place)
        self.digests[place] = digest
        if digest is not None:
            insort(self.places.setdefault(digest, []), place)

    def leave(self, place: int) -> None:
        """Remove the node with index `place`, because its key changed."""
        self.unread.discard(place)
        digest = self.digests.pop(place)
        if digest is not None:
            places = self.places[digest]
            del places[bisect_left(places, place)]


@dataclass(slots=True, eq=False, repr=False)
class DequantizedConstants:
    """The DequantizeLinear nodes of one graph that read constants, indexed by result.

    A constant is read at most once.

    Code that replaces a node of the graph must add the node's index to `changed`.
    """

    graph: Graph
    views: Views
    changed: set[int] = field(default_factory=set)
    """The indices of nodes that must be indexed again."""
    _keys: dict[int, Key] = field(default_factory=dict)
    """The key of each node, by its index."""
    _groups: dict[Key, _Group] = field(default_factory=dict)
    _digests: dict[int, tuple[TensorProto, bytes | None]] = field(default_factory=dict)
    """By `id` of a tensor: the tensor and its digest, or None if it can't be read.

    The tensor is stored so that no other object gets its `id`.
    """

    def __post_init__(self) -> None:
        self.changed.update(node.index for node in self.graph.nodes if is_quantizer(node, DEQUANTIZE))

    def first(
        self, node: Node, data_type: int, dims: tuple[int, ...], digest: Callable[[], bytes | None], before: int
    ) -> Value | None:
        """Return the result of the first node before index `before` that computes the same as `node` would compute.

        The node must dequantize a constant of this type, with these dims and this digest, by the parameters of `node`.
        Returns None if there is no such node other than `node`. `digest` is called only if some node has the type, dims
        and parameters.
        """
        for place in sorted(self.changed):
            self._enter(place)
        self.changed.clear()
        key = _key(node, data_type, dims)
        group = self._groups.get(key)
        if group is None or len(group.digests) == (node.index in group.digests):
            return None
        wanted = digest()
        for place in sorted(group.unread):
            tensor = self._constant(self.graph.nodes[place])
            group.read(place, self.digest(tensor) if tensor is not None else None)
        places = group.places.get(wanted, ()) if wanted is not None else ()
        # A node that is replaced as a whole is not added to `changed`, so its key is computed again here.
        found = next((place for place in places if place != node.index and self._key_of(place) == key), before)
        return self.graph.nodes[found].results[0] if found < before else None

    def digest(self, tensor: TensorProto) -> bytes | None:
        """Return the digest of a tensor's elements; None if they can't be read. The elements are read once."""
        memo = self._digests.get(id(tensor))
        if memo is None:
            memo = self._digests[id(tensor)] = tensor, digest_of(self.views, tensor)
        return memo[1]

    def _enter(self, place: int) -> None:
        """Index the node with index `place` again, by its present key."""
        key = self._keys.pop(place, None)
        if key is not None:
            self._groups[key].leave(place)
        key = self._key_of(place)
        if key is not None:
            self._keys[place] = key
            self._groups.setdefault(key, _Group()).enter(place)

    def _key_of(self, place: int) -> Key | None:
        """Return the present key of the node with index `place`; None if it is not a DequantizeLinear of a constant."""
        node = self.graph.nodes[place]
        tensor = self._constant(node)
        return _key(node, tensor.data_type, tuple(tensor.dims)) if tensor is not None else None

    def _constant(self, node: Node) -> TensorProto | None:
        source = node.operands[0] if is_quantizer(node, DEQUANTIZE) else None
        return self.views.tensors.get(source) if source is not None else None


def digest_of(views: Views, tensor: TensorProto) -> bytes | None:
    """Return the SHA-256 digest of a tensor's elements; None if they can't be read."""
    array = views.elements(tensor)
    from hashlib import sha256  # Imported here, because few models have such constants.

    return sha256(bytes_of(array)).digest() if array is not None else None


def _key(node: Node, data_type: int, dims: tuple[int, ...]) -> Key:
    attributes = frozenset((name, repr(value)) for name, value in node.attributes.items())
    return node.domain, node.operands[1:], attributes, data_type, dims
