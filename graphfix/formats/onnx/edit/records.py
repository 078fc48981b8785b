"""New nodes and value infos as the records of a graph that they are in the file: none is a message first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from graphfix.formats.insertion import rearrange
from graphfix.formats.onnx.file import wire
from graphfix.formats.onnx.file.messages import Holder
from graphfix.formats.onnx.file.proto import GraphProto, NodeProto, ValueInfoProto
from graphfix.formats.onnx.file.tensors import attribute_of
from graphfix.graph.view import Node


@lru_cache(maxsize=4096)
def head(tag: bytes, size: int) -> bytes:
    """What stands before a body of this size."""
    return tag + wire.encode(size)


def _tag(field: int) -> bytes:
    return wire.encode(wire.tag_of(field, wire.LEN))


INPUT, OUTPUT = _tag(NodeProto.INPUT_FIELD_NUMBER), _tag(NodeProto.OUTPUT_FIELD_NUMBER)
NAME, OPERATOR = _tag(NodeProto.NAME_FIELD_NUMBER), _tag(NodeProto.OP_TYPE_FIELD_NUMBER)
ATTRIBUTE, DOMAIN = _tag(NodeProto.ATTRIBUTE_FIELD_NUMBER), _tag(NodeProto.DOMAIN_FIELD_NUMBER)
NODE, VALUE_INFO = _tag(GraphProto.NODE_FIELD_NUMBER), _tag(GraphProto.VALUE_INFO_FIELD_NUMBER)
VALUE_NAME = _tag(ValueInfoProto.NAME_FIELD_NUMBER)


def records(nodes: Sequence[Node], templates: Mapping[int, NodeProto]) -> Iterator[bytes | None]:
    """Every node of a graph in order: the record of a new one, None for one of the file."""
    for node in nodes:
        if node.index >= 0:
            yield None
        else:
            body = _body(node, templates.get(node.index))
            yield head(NODE, len(body)) + body


def _body(node: Node, template: NodeProto | None) -> bytes:
    """A new node; `template`: the message that it is a copy of but for its names."""
    if template is not None:
        return _copied(node, template)
    parts: list[bytes] = []
    for value in node.operands:
        text = b"" if value is None else value.name.encode()
        parts += (head(INPUT, len(text)), text)
    for value in node.results:
        if value is not None:
            text = value.name.encode()
            parts += (head(OUTPUT, len(text)), text)
    text = node.name.encode()
    parts += (head(NAME, len(text)), text, _text(OPERATOR, node.op))
    if node.attributes or node.domain:
        parts.append(_rest(node))
    return b"".join(parts)


def _copied(node: Node, template: NodeProto) -> bytes:
    message = NodeProto()
    message.CopyFrom(template)
    message.name = node.name
    message.input[:] = ["" if value is None else value.name for value in node.operands]
    message.output[:] = [value.name for value in node.results if value is not None]
    body: bytes = message.SerializeToString(deterministic=True)
    return body


@lru_cache(maxsize=4096)
def _text(tag: bytes, text: str) -> bytes:
    data = text.encode()
    return head(tag, len(data)) + data


def _rest(node: Node) -> bytes:
    """The attributes and the domain."""
    made = [attribute_of(key, value) for key, value in node.attributes.items()]
    parts = [attribute.SerializeToString(deterministic=True) for attribute in made]
    body = b"".join([head(ATTRIBUTE, len(part)) + part for part in parts])
    return body + (_text(DOMAIN, node.domain) if node.domain else b"")


def value_info_record(name: str, declared: bytes) -> bytes:
    """What declares a value; `declared`: a value info without a name."""
    text = name.encode()
    start = head(VALUE_NAME, len(text))
    return b"%b%b%b%b" % (head(VALUE_INFO, len(start) + len(text) + len(declared)), start, text, declared)


def write(
    holder: Holder,
    made: Sequence[Node],
    templates: Mapping[int, NodeProto],
    keys: Sequence[int],
    value_infos: bytes | bytearray,
) -> None:
    """Make messages of new nodes and value infos, in a graph that is edited on or is inside another one.

    `keys` sort the nodes, the file's first.
    """
    for node in made:
        holder.node.add().MergeFromString(_body(node, templates.get(node.index)))
    holder.MergeFromString(bytes(value_infos))
    rearrange(holder.node, keys)
