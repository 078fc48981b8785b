"""The DequantizeLinear nodes of the file that read constants: those that make the same are found without a search."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable

from graphfix.formats.onnx.view import Views, bytes_of
from graphfix.graph.quantizers import DEQUANTIZE, is_quantizer
from graphfix.graph.view import Graph, Node, Value
from graphfix.results.onnx_messages import TensorProto
from graphfix.results.records import dataclass, field

Key = tuple[object, ...]
"""The domain, the operands behind the first, the attributes, and the element type and the dims of the constant."""


@dataclass(slots=True)
class _Group:
    """The nodes of one key: they make the same where the bytes of their constants are the same."""

    digests: dict[int, bytes | None] = field(default_factory=dict)
    """By place; None where nobody has asked for the constant, or it can't be read."""
    unread: set[int] = field(default_factory=set)
    """The places of those whose constants nobody has asked for."""
    places: dict[bytes, list[int]] = field(default_factory=dict)
    """By digest, in order."""

    def enter(self, place: int) -> None:
        """Enter a node whose constant is not read yet."""
        self.digests[place] = None
        self.unread.add(place)

    def read(self, place: int, digest: bytes | None) -> None:
        """Note the digest of a node's constant."""
        self.unread.discard(place)
        self.digests[place] = digest
        if digest is not None:
            insort(self.places.setdefault(digest, []), place)

    def leave(self, place: int) -> None:
        """Forget a node that is not of this key any more."""
        self.unread.discard(place)
        digest = self.digests.pop(place)
        if digest is not None:
            places = self.places[digest]
            del places[bisect_left(places, place)]


@dataclass(slots=True, eq=False, repr=False)
class DequantizedConstants:
    """The DequantizeLinear nodes of one graph by what they make of constants; a constant is read at most once.

    Kept true by `changed`: whoever puts another node in a place of the graph notes the place.
    """

    graph: Graph
    views: Views
    changed: set[int] = field(default_factory=set)
    """The places of nodes that are to be looked at anew."""
    _keys: dict[int, Key] = field(default_factory=dict)
    """By place."""
    _groups: dict[Key, _Group] = field(default_factory=dict)
    _digests: dict[int, tuple[TensorProto, bytes | None]] = field(default_factory=dict)
    """By the identity of a tensor, which is held so that no other gets it; None where it can't be read."""

    def __post_init__(self) -> None:
        self.changed.update(node.index for node in self.graph.nodes if is_quantizer(node, DEQUANTIZE))

    def first(
        self, node: Node, data_type: int, dims: tuple[int, ...], digest: Callable[[], bytes | None], before: int
    ) -> Value | None:
        """Return what the first other node in front of `before` makes, as `node` would, of a constant with this digest.

        The digest is asked for only where a node makes something of a constant of this type and these dims.
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
        # a node that is replaced as a whole notes nothing: it is of no key any more
        found = next((place for place in places if place != node.index and self._key_of(place) == key), before)
        return self.graph.nodes[found].results[0] if found < before else None

    def digest(self, tensor: TensorProto) -> bytes | None:
        """Return the digest of a tensor's elements, None where they can't be read; read once, whatever its dims."""
        memo = self._digests.get(id(tensor))
        if memo is None:
            memo = self._digests[id(tensor)] = tensor, digest_of(self.views, tensor)
        return memo[1]

    def _enter(self, place: int) -> None:
        """Enter a node as it is now, in the place of what it was."""
        key = self._keys.pop(place, None)
        if key is not None:
            self._groups[key].leave(place)
        key = self._key_of(place)
        if key is not None:
            self._keys[place] = key
            self._groups.setdefault(key, _Group()).enter(place)

    def _key_of(self, place: int) -> Key | None:
        """Return the key of a node as it is now, None where it reads no constant."""
        node = self.graph.nodes[place]
        tensor = self._constant(node)
        return _key(node, tensor.data_type, tuple(tensor.dims)) if tensor is not None else None

    def _constant(self, node: Node) -> TensorProto | None:
        source = node.operands[0] if is_quantizer(node, DEQUANTIZE) else None
        return self.views.tensors.get(source) if source is not None else None


def digest_of(views: Views, tensor: TensorProto) -> bytes | None:
    """Return the digest of a tensor's elements; None where they can't be read."""
    array = views.elements(tensor)
    from hashlib import sha256  # few models have such constants

    return sha256(bytes_of(array)).digest() if array is not None else None


def _key(node: Node, data_type: int, dims: tuple[int, ...]) -> Key:
    attributes = frozenset((name, repr(value)) for name, value in node.attributes.items())
    return node.domain, node.operands[1:], attributes, data_type, dims
