"""Attributes that a node may not have, and names that are given: what is said of them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from onnx import ModelProto, NodeProto, helper

import graphfix
from graphfix.results import GraphfixError
from tests.support.onnx.broken import ADD, model


def with_attributes(op: str, *given: tuple[str, object]) -> NodeProto:
    made = helper.make_node(op, ["x"], ["z"])
    made.attribute.extend(helper.make_attribute(name, value) for name, value in given)
    return made


def loaded(node: NodeProto, replaced: bytes = b"") -> Sequence[str]:
    made: ModelProto = model(ADD)
    made.graph.node.append(node)
    data = made.SerializeToString()
    return [
        each.op
        for each in graphfix.load(data.replace(replaced, b"\xff" * len(replaced)) if replaced else data).graphs[0].nodes
    ]


REFUSED = {
    "an attribute twice": (with_attributes("Flatten", ("axis", 0), ("axis", 0)), b"", "has an attribute twice"),
    "an attribute twice, beside one that is needed": (
        with_attributes("Cast", ("to", 1), ("to", 1)),
        b"",
        "has an attribute twice",
    ),
    "an attribute that is missing": (with_attributes("Cast"), b"", "has no attribute 'to'"),
    "the first of two that are missing": (
        with_attributes("DepthToSpace"),
        b"",
        "has no attribute 'blocksize'",
    ),
    "an attribute whose name is no text": (
        with_attributes("Flatten", ("aaxxiiss", 0)),
        b"aaxxiiss",
        "is not UTF-8",
    ),
    "a name that is no text, twice": (
        with_attributes("Flatten", ("aaxxiiss", 0), ("aaxxiiss", 0)),
        b"aaxxiiss",
        "is not UTF-8",
    ),
}


@pytest.mark.parametrize(("node", "replaced", "words"), REFUSED.values(), ids=REFUSED)
def test_attributes_that_can_not_be_are_refused_by_the_node(node: NodeProto, replaced: bytes, words: str) -> None:
    with pytest.raises(GraphfixError) as caught:
        loaded(node, replaced)
    assert words in str(caught.value)
    assert f"main: {node.op_type} '{node.op_type}#1'" in str(caught.value)


def test_attributes_of_their_own_names_are_taken() -> None:
    assert loaded(with_attributes("Cast", ("to", 1))) == ["Add", "Cast"]
    assert loaded(with_attributes("Flatten")) == ["Add", "Flatten"]


RINGS = {
    "of two": (("u", "w"), ("w", "u")),
    "of one": (("u", "u"),),
    "of five": (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a")),
}


@pytest.mark.parametrize("ring", RINGS.values(), ids=RINGS)
def test_of_a_cycle_at_most_four_nodes_are_named(ring: Sequence[tuple[str, str]]) -> None:
    made = model(ADD)
    made.graph.node.extend(helper.make_node("Neg", [read], [name], name=f"makes {name}") for read, name in ring)
    with pytest.raises(GraphfixError) as caught:
        graphfix.load(made)
    named = str(caught.value).partition("the nodes form a cycle: ")[2].split(" -> ")
    assert len(named) == min(len(ring) + 1, 4)
    assert {part.partition("'")[2].partition("'")[0] for part in named} <= {f"makes {name}" for _, name in ring}
