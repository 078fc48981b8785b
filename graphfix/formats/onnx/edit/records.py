"""Serialize new nodes and value infos directly as protobuf records of a graph, without a message object for each.

The records are built as Latin-1 text, in which each character is one byte. One f-string then joins the constant parts
and the names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeVar

from graphfix.formats.neutral.insertion import rearrange
from graphfix.formats.onnx.file import wire
from graphfix.formats.onnx.file.messages import Holder
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.graph.view import NO_ATTRIBUTES, Node
from graphfix.results.onnx_messages import GraphProto, NodeProto, ValueInfoProto

K = TypeVar("K")


def text_of(data: bytes) -> str:
    """Return bytes as Latin-1 text: one character for each byte."""
    return data.decode("latin-1")


def bytes_of(text: str) -> bytes:
    """Return the bytes of a Latin-1 text: one byte for each character."""
    return text.encode("latin-1")


class Known(dict[K, str]):
    """A dict that computes the text of a missing key once.

    A function with functools.cache takes three times as long.
    """

    def __init__(self, make: Callable[[K], str]) -> None:
        """Store the function that computes the text of a key."""
        self.make = make

    def __missing__(self, key: K) -> str:
        """Compute and store the text of a key that is looked up for the first time."""
        return self.setdefault(key, self.make(key))


SIZES: Final = Known[int](lambda size: text_of(wire.encode(size)))
"""The encoded length of a record's body, by the number of bytes."""


def _tag(field: int) -> str:
    return text_of(wire.encode(wire.tag_of(field, wire.LEN)))


INPUT, OUTPUT = _tag(NodeProto.INPUT_FIELD_NUMBER), _tag(NodeProto.OUTPUT_FIELD_NUMBER)
NAME, OPERATOR = _tag(NodeProto.NAME_FIELD_NUMBER), _tag(NodeProto.OP_TYPE_FIELD_NUMBER)
ATTRIBUTE, DOMAIN = _tag(NodeProto.ATTRIBUTE_FIELD_NUMBER), _tag(NodeProto.DOMAIN_FIELD_NUMBER)
NODE, VALUE_INFO = _tag(GraphProto.NODE_FIELD_NUMBER), _tag(GraphProto.VALUE_INFO_FIELD_NUMBER)
VALUE_NAME = _tag(ValueInfoProto.NAME_FIELD_NUMBER)
OPERATORS: Final = Known[str](lambda op: _field(OPERATOR, op))
"""The encoded field `op_type`, by the operator's name."""


def records(nodes: Sequence[Node], templates: Mapping[int, NodeProto]) -> Iterator[bytes | None]:
    """Yield every node of a graph in order: serialized new nodes, or None for a node of the file.

    Consecutive new nodes are one bytes object.

    The last item is the records of the new nodes at the end, which may be empty. `templates` contains the message of
    which a new node is a copy, by the node's index.
    """
    new = ""
    for node in nodes:
        if node.index < 0:
            body = _body(node, templates.get(node.index))
            new += f"{NODE}{SIZES[len(body)]}{body}"
            continue
        if new:
            yield bytes_of(new)
            new = ""
        yield None
    yield bytes_of(new)


def _body(node: Node, template: NodeProto | None) -> str:
    """Return a new node, serialized. `template` is the message of which the node is a copy, or None."""
    name, results = node.name, node.results
    if template is not None or len(results) != 1 or results[0] is None or results[0].name != name:
        return _from_message(node, template)
    reads = ""
    for value in node.operands:
        read = "" if value is None else value.name
        reads = f"{reads}{INPUT}{SIZES[len(read)]}{read}"
    size = SIZES[len(name)]
    body = f"{reads}{OUTPUT}{size}{name}{NAME}{size}{name}{OPERATORS[node.op]}"
    if not body.isascii():  # A name that is not ASCII may have more bytes than characters.
        return _from_message(node, None)
    return body if node.attributes is NO_ATTRIBUTES and not node.domain else body + _rest(node)


def _from_message(node: Node, template: NodeProto | None) -> str:
    """Return a new node, serialized by protobuf. Only few nodes need this slower way."""
    message = NodeProto(op_type=node.op)
    if template is not None:
        message.CopyFrom(template)
    message.name = node.name
    message.input[:] = ["" if value is None else value.name for value in node.operands]
    message.output[:] = [value.name for value in node.results if value is not None]
    body = text_of(message.SerializeToString(deterministic=True))
    return body if template is not None else body + _rest(node)


def encoded(name: str) -> str:
    """Return the UTF-8 bytes of a name as Latin-1 text."""
    return text_of(name.encode())


def _field(tag: str, value: str) -> str:
    body = encoded(value)
    return f"{tag}{SIZES[len(body)]}{body}"


def _rest(node: Node) -> str:
    """Return the attributes and the domain of a node, serialized."""
    made = [attribute_of(key, value) for key, value in node.attributes.items()]
    parts = [text_of(attribute.SerializeToString(deterministic=True)) for attribute in made]
    body = "".join([f"{ATTRIBUTE}{SIZES[len(part)]}{part}" for part in parts])
    return body + (_field(DOMAIN, node.domain) if node.domain else "")


def value_info_head(size: int, declared: str) -> str:
    """Return the bytes of a value info that precede the value's name.

    `declared` is the serialized rest of the value info, which follows the name. `size` is the length of the `encoded`
    name.
    """
    head = f"{VALUE_NAME}{SIZES[size]}"
    return f"{VALUE_INFO}{SIZES[len(head) + size + len(declared)]}{head}"


def write(
    holder: Holder,
    made: Sequence[Node],
    templates: Mapping[int, NodeProto],
    keys: Sequence[int],
    value_infos: bytes,
) -> None:
    """Add new nodes and value infos to the message of a graph. `keys` sort all nodes, with those of the file first.

    This is needed for a graph that is edited further, or that is a body.
    """
    for node in made:
        holder.node.add().MergeFromString(bytes_of(_body(node, templates.get(node.index))))
    holder.MergeFromString(value_infos)
    rearrange(holder.node, keys)
