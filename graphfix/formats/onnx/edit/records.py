"""New nodes and value infos as the records of a graph that they are in the file: none is a message first.

They are put together as text, in which each character is a byte: what is fixed is fitted around names in one go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from graphfix.formats.insertion import rearrange
from graphfix.formats.onnx.file import wire
from graphfix.formats.onnx.file.messages import Holder
from graphfix.formats.onnx.file.proto import GraphProto, NodeProto, ValueInfoProto
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.graph.view import Node


def text_of(data: bytes) -> str:
    """Bytes as text."""
    return data.decode("latin-1")


def bytes_of(text: str) -> bytes:
    """Text as the bytes that it is."""
    return text.encode("latin-1")


@cache
def varint(size: int) -> str:
    """What says the size of a body."""
    return text_of(wire.encode(size))


def _tag(field: int) -> str:
    return text_of(wire.encode(wire.tag_of(field, wire.LEN)))


INPUT, OUTPUT = _tag(NodeProto.INPUT_FIELD_NUMBER), _tag(NodeProto.OUTPUT_FIELD_NUMBER)
NAME, OPERATOR = _tag(NodeProto.NAME_FIELD_NUMBER), _tag(NodeProto.OP_TYPE_FIELD_NUMBER)
ATTRIBUTE, DOMAIN = _tag(NodeProto.ATTRIBUTE_FIELD_NUMBER), _tag(NodeProto.DOMAIN_FIELD_NUMBER)
NODE, VALUE_INFO = _tag(GraphProto.NODE_FIELD_NUMBER), _tag(GraphProto.VALUE_INFO_FIELD_NUMBER)
VALUE_NAME = _tag(ValueInfoProto.NAME_FIELD_NUMBER)


def records(nodes: Sequence[Node], templates: Mapping[int, NodeProto]) -> Iterator[bytes | None]:
    """Every node of a graph in order: the records of new ones in a row, None for one of the file."""
    new = ""
    for node in nodes:
        if node.index < 0:
            body = _body(node, templates.get(node.index))
            new += f"{NODE}{varint(len(body))}{body}"
            continue
        if new:
            yield bytes_of(new)
            new = ""
        yield None
    yield bytes_of(new)


def _body(node: Node, template: NodeProto | None) -> str:
    """A new node; `template`: the message that it is a copy of but for its names."""
    if template is not None:
        return _copied(node, template)
    body = ""
    for value in node.operands:
        name = "" if value is None else value.name if value.name.isascii() else _encoded(value.name)
        body += f"{INPUT}{varint(len(name))}{name}"
    for value in node.results:
        if value is not None:
            name = value.name if value.name.isascii() else _encoded(value.name)
            body += f"{OUTPUT}{varint(len(name))}{name}"
    name = node.name if node.name.isascii() else _encoded(node.name)
    body += f"{NAME}{varint(len(name))}{name}{_field(OPERATOR, node.op)}"
    return body + _rest(node) if node.attributes or node.domain else body


def _encoded(name: str) -> str:
    return text_of(name.encode())


def _copied(node: Node, template: NodeProto) -> str:
    message = NodeProto()
    message.CopyFrom(template)
    message.name = node.name
    message.input[:] = ["" if value is None else value.name for value in node.operands]
    message.output[:] = [value.name for value in node.results if value is not None]
    return text_of(message.SerializeToString(deterministic=True))


@lru_cache(maxsize=4096)
def _field(tag: str, value: str) -> str:
    body = _encoded(value)
    return f"{tag}{varint(len(body))}{body}"


def _rest(node: Node) -> str:
    """The attributes and the domain."""
    made = [attribute_of(key, value) for key, value in node.attributes.items()]
    parts = [text_of(attribute.SerializeToString(deterministic=True)) for attribute in made]
    body = "".join([f"{ATTRIBUTE}{varint(len(part))}{part}" for part in parts])
    return body + (_field(DOMAIN, node.domain) if node.domain else "")


def value_info_record(name: str, declared: str) -> str:
    """The text of what declares a value; `declared`: that of a value info without a name."""
    name = name if name.isascii() else _encoded(name)
    body = f"{VALUE_NAME}{varint(len(name))}{name}{declared}"
    return f"{VALUE_INFO}{varint(len(body))}{body}"


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
