"""The errors of a model that breaks the format's rules: what is wrong and where, in one line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from graphfix.results import GraphfixError
from graphfix.results.onnx_messages import NodeProto

SHOWN: Final = 60
"""Characters of a name that an error shows."""


class MalformedModelError(GraphfixError):
    """The file is a protobuf of the right kind, but no model that could mean anything."""


class UnsortedError(MalformedModelError):
    """A node reads what no node before it makes: a later one may."""


class UnknownVersionError(GraphfixError):
    """The model uses operators of a version that the installed onnx does not have."""


def place(node: NodeProto, index: int, path: str) -> str:
    """Return the graph and the node, as an error names them."""
    return f"{path}: {node_text(node, index)}"


def node_text(node: NodeProto, index: int) -> str:
    """Return the operator and the node's name, or `Op#index`."""
    return f"{short(node.op_type)} {shown(node.name or f'{node.op_type}#{index}')}"


def shown(name: str | bytes) -> str:
    """Return a name in quotes."""
    return short(repr(name))


def short(text: str) -> str:
    """Return the text, or the beginning of one that is too long for a line."""
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def check_texts(names: Sequence[str], where: str) -> None:
    """Raise MalformedModelError for a name that is no UTF-8: protobuf returns bytes for it."""
    try:
        "".join(names)
    except TypeError:
        wrong = next(name for name in names if not isinstance(name, str))
        raise MalformedModelError(f"{where}: the name {shown(wrong)} is no UTF-8") from None


def text(name: str, where: str) -> str:
    """Return the name. Raises as `check_texts` does."""
    check_texts([name], where)
    return name
