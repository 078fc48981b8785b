"""New nodes and value infos as the records of a graph that they are in the file: none is a message first.

They are put together as text, in which each character is a byte: what is fixed is fitted around names in one go.
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
    """Bytes as text."""
    return data.decode("latin-1")


def bytes_of(text: str) -> bytes:
    """Text as the bytes that it is."""
    return text.encode("latin-1")


class Known(dict[K, str]):
    """What is made of a key once, and looked up from then on: a function with a cache takes three times as long."""

    def __init__(self, make: Callable[[K], str]) -> None:
        """Make nothing yet."""
        self.make = make

    def __missing__(self, key: K) -> str:
        """Make what is asked for the first time."""
        return self.setdefault(key, self.make(key))


SIZES: Final = Known[int](lambda size: text_of(wire.encode(size)))
"""What says the size of a body."""


def _tag(field: int) -> str:
    return text_of(wire.encode(wire.tag_of(field, wire.LEN)))


INPUT, OUTPUT = _tag(NodeProto.INPUT_FIELD_NUMBER), _tag(NodeProto.OUTPUT_FIELD_NUMBER)
NAME, OPERATOR = _tag(NodeProto.NAME_FIELD_NUMBER), _tag(NodeProto.OP_TYPE_FIELD_NUMBER)
ATTRIBUTE, DOMAIN = _tag(NodeProto.ATTRIBUTE_FIELD_NUMBER), _tag(NodeProto.DOMAIN_FIELD_NUMBER)
NODE, VALUE_INFO = _tag(GraphProto.NODE_FIELD_NUMBER), _tag(GraphProto.VALUE_INFO_FIELD_NUMBER)
VALUE_NAME = _tag(ValueInfoProto.NAME_FIELD_NUMBER)
OPERATORS: Final = Known[str](lambda op: _field(OPERATOR, op))
"""By name of an operator: the field that says it."""


def records(nodes: Sequence[Node], templates: Mapping[int, NodeProto]) -> Iterator[bytes | None]:
    """Every node of a graph in order: the records of new ones in a row, None for one of the file."""
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
    """A new node; `template`: the message that it is a copy of but for its names."""
    name, results = node.name, node.results
    if template is not None or len(results) != 1 or results[0] is None or results[0].name != name:
        return _from_message(node, template)
    reads = ""
    for value in node.operands:
        read = "" if value is None else value.name
        reads = f"{reads}{INPUT}{SIZES[len(read)]}{read}"
    size = SIZES[len(name)]
    body = f"{reads}{OUTPUT}{size}{name}{NAME}{size}{name}{OPERATORS[node.op]}"
    if not body.isascii():  # a name may have more bytes than letters
        return _from_message(node, None)
    return body if node.attributes is NO_ATTRIBUTES and not node.domain else body + _rest(node)


def _from_message(node: Node, template: NodeProto | None) -> str:
    """What the message of a node says: nearly all nodes can do without."""
    message = NodeProto(op_type=node.op)
    if template is not None:
        message.CopyFrom(template)
    message.name = node.name
    message.input[:] = ["" if value is None else value.name for value in node.operands]
    message.output[:] = [value.name for value in node.results if value is not None]
    body = text_of(message.SerializeToString(deterministic=True))
    return body if template is not None else body + _rest(node)


def encoded(name: str) -> str:
    """The bytes of a name as text."""
    return text_of(name.encode())


def _field(tag: str, value: str) -> str:
    body = encoded(value)
    return f"{tag}{SIZES[len(body)]}{body}"


def _rest(node: Node) -> str:
    """The attributes and the domain."""
    made = [attribute_of(key, value) for key, value in node.attributes.items()]
    parts = [text_of(attribute.SerializeToString(deterministic=True)) for attribute in made]
    body = "".join([f"{ATTRIBUTE}{SIZES[len(part)]}{part}" for part in parts])
    return body + (_field(DOMAIN, node.domain) if node.domain else "")


def value_info_head(size: int, declared: str) -> str:
    """What stands in front of the name of a declared value, and `declared` behind it: a value info without a name.

    `size` is that of the name as `encoded`.
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
    """Make messages of new nodes and value infos, in a graph that is edited on or is inside another one.

    `keys` sort the nodes, the file's first.
    """
    for node in made:
        holder.node.add().MergeFromString(bytes_of(_body(node, templates.get(node.index))))
    holder.MergeFromString(value_infos)
    rearrange(holder.node, keys)
