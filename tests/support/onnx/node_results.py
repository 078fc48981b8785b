"""What the view says of the results of one node, as text: `float32[N,4] int64[?]`."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

import graphfix
from graphfix.graph.view import Value
from tests.support.notation import model


def results(text: str, *, opset: int = 18) -> str:
    """Infer a model whose outputs have no stored type or shape; return the results of its last node."""
    proto = model(text, opset=opset)
    for output in proto.graph.output:
        output.type.Clear()
    *_, last = graphfix.load(proto).graphs[0].nodes
    return " ".join(shown(result) for result in last.results if result is not None)


def shown(result: Value) -> str:
    return f"{result.dtype}{result.shape}".replace(" ", "")


def cases(*texts: str) -> list[ParameterSet]:
    """Read `# name`, the text of a model over one line or more, and `-> results`, again and again."""
    found = []
    for block in "".join(texts).split("# ")[1:]:
        name, _, rest = block.partition("\n")
        text, _, expected = rest.partition("->")
        found.append(pytest.param(" ".join(text.split()), expected.strip(), id=name))
    return found
