"""Which branch an If always takes: plans only, no format."""

from __future__ import annotations

import pytest

from graphfix.graph.edits import Inline
from graphfix.graph.view import Graph, Node
from rewrites.tosa.inline_decided_branches import plan
from tests.support.notation import node


@pytest.mark.parametrize(("value", "branch"), [(True, "then_branch"), (False, "else_branch")])
@pytest.mark.parametrize("dims", ["", "1"])
def test_a_constant_condition_decides(value: bool, branch: str, dims: str) -> None:
    assert list(plan(node(f"y[2] = If(c:const:bool[{dims}]{{{value}}})"))) == [Inline(branch)]


@pytest.mark.parametrize(("value", "branch"), [(True, "then_branch"), (False, "else_branch")])
def test_a_condition_that_is_known_decides(value: bool, branch: str) -> None:
    one = node("y[2] = If(c:bool[])")
    one.graph.read_known = {one.operand(0): (value,)}.get
    assert list(plan(one)) == [Inline(branch)]


@pytest.mark.parametrize(
    "text",
    ["y[2] = If(c:bool[])", "y[2] = If(c:overridable:bool[]{True})", "y[2] = If(c:bool[*])"],
    ids=["an input", "an initializer that can be overridden", "a condition of unknown rank"],
)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


def test_an_if_that_was_taken_apart_has_no_operands() -> None:
    assert list(plan(node("y[2] = If(c:const:bool[]{True})").reading(()))) == []


def test_a_body_may_never_run() -> None:
    inner = node("y[2] = If(c:const:bool[]{True})")
    body = Graph("main/if.then_branch", inner.graph)
    assert list(plan(Node("If", "", 18, "", 0, body, inner.operands, inner.results, {}, None))) == []
