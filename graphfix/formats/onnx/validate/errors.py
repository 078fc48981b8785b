"""Errors for a model that breaks the rules of the format: the fault and its place, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphfix.results import GraphfixError
from graphfix.results.onnx_messages import NodeProto

SHOWN: Final = 60
"""The largest number of characters of a name in an error."""


class MalformedModelError(GraphfixError):
    """The file can be parsed as an ONNX model, but breaks the rules of the format, so it has no meaning."""


class UnsortedError(MalformedModelError):
    """A node reads a value that no earlier node computes. A later node may compute it."""


class UnknownVersionError(GraphfixError):
    """The model uses a version of the standard operators that is newer than graphfix's table of schemas."""


def place(node: NodeProto, index: int, path: str) -> str:
    """Return the graph and the node for an error: `main: Add 'sum'`."""
    return f"{path}: {node_text(node, index)}"


def node_text(node: NodeProto, index: int) -> str:
    """Return the operator and the node's name in quotes, or `Op#index` if it has no name."""
    return f"{short(node.op_type)} {shown(node.name or f'{node.op_type}#{index}')}"


def shown(name: str | bytes) -> str:
    """Return a name in quotes, cut if it is too long for an error."""
    return short(repr(name))


def short(text: str) -> str:
    """Return the text, cut after SHOWN characters if it is longer."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def check_texts(names: Sequence[str], where: str) -> None:
    """Raise MalformedModelError if a name is not UTF-8. protobuf returns bytes for such a name."""
    try:
        "".join(names)
    except TypeError:
        wrong = next(name for name in names if not isinstance(name, str))
        raise MalformedModelError(f"{where}: the name {shown(wrong)} is not UTF-8") from None


def text(name: str, where: str) -> str:
    """Return the name. Raises MalformedModelError if the name is not UTF-8."""
    check_texts([name], where)
    return name
