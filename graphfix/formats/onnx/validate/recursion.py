"""Local functions that call themselves, or each other too deep."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Final

from onnx import FunctionProto, NodeProto

from graphfix.formats.onnx.validate.malformed import MalformedModelError, shown

CALL_DEPTH: Final = 100
"""Functions that call functions deeper than this are followed by no runtime either."""


def refuse_recursion(functions: Sequence[FunctionProto]) -> None:
    """A function that calls itself, over others or not, has no meaning in ONNX."""
    bodies = {(function.domain, function.name): function.node for function in functions}
    calls = {key: {call for call in _called(nodes) if call in bodies} for key, nodes in bodies.items()}
    try:
        order = list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        raise MalformedModelError(f"the function {shown(error.args[1][0][1])} calls itself") from None
    depth: dict[tuple[str, str], int] = {}
    for key in order:
        depth[key] = 1 + max((depth[call] for call in calls[key]), default=0)
    if depth and max(depth.values()) > CALL_DEPTH:
        raise MalformedModelError(
            f"its functions call each other {max(depth.values())} deep, at most {CALL_DEPTH} are followed"
        )


def _called(nodes: Iterable[NodeProto]) -> Iterator[tuple[str, str]]:
    for node in nodes:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _called(body.node)
