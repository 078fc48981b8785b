"""Edits beside a value whose shape onnx infers wrongly at load: those that could let it share a buffer are refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graphfix.formats.onnx.load_inference.edit_checks import check_load
from graphfix.formats.onnx.load_inference.inferred_shapes import Told
from graphfix.formats.onnx.load_inference.wrong_shapes import Claim, LoadInference
from graphfix.graph.edits import (
    Canonicalize,
    DropMetadata,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Lift,
    New,
    Refused,
    Replace,
    Stretch,
)
from graphfix.graph.view import Graph, Node, Value
from graphfix.shapes.dim import Shape, Size, symbol
from tests.support.notation import node

N = symbol("N")
WIDE = Shape((1, 3))
MAX = New("Max", (0,), WIDE, "float32")
LIFT, STRETCH = Lift(1, (0,)), Stretch(1, (0,), Shape((2, 3)))


def added(text: str = "y[8] = Add(x[2,3], b[3])") -> Node:
    return node(text)


def inference(
    at: Node, told: Told, *, name: str = "v", shape: tuple[Size, ...] = (8,), of_output: bool = False
) -> LoadInference:
    """Onnx takes `told` for a value of the node's graph, which is of another shape."""
    claim = Claim(name, told, Shape(shape), of_output)
    return LoadInference({at.graph: {name: claim}}, {}, frozenset(), {})


def refusal(held: LoadInference, at: Node, edits: Sequence[Edit]) -> str:
    """Why the edits are refused; empty where they are not."""
    try:
        check_load(held, at, edits)
    except Refused as refused:
        return str(refused)
    return ""


SHARED = "a new value could share its buffer"
MADE: dict[str, tuple[Edit, Told, bool]] = {
    "a lifted value": (LIFT, (1, 3), True),
    "a lifted value of other sizes": (LIFT, (3, 1), False),
    "a stretched value": (STRETCH, (2, 3), True),
    "a stretch to other sizes": (STRETCH, (3, 3), False),
    "a stretch written otherwise": (Canonicalize(Shape((2, 3))), (2, 3), True),
    "a new node": (Replace(MAX, "GF304"), (1, 3), True),
    "a node that the new one reads": (
        Replace(New("Neg", (New("Abs", (0,), Shape((5,)), "float32"),), WIDE, "float32"), "GF304"),
        (5,),
        True,
    ),
    "a node of another result": (
        Replace(MAX, "GF304", others=((1, New("Abs", (0,), Shape((6,)), "float32")),)),
        (6,),
        True,
    ),
    "a new node of other sizes": (Replace(MAX, "GF304"), (5,), False),
    "the sizes of a free shape": (Stretch(1, (0,), Shape((N, 3))), (2,), True),
    "one size of a free shape": (Stretch(1, (0,), Shape((N, 3))), (1,), True),
    "the sizes of a static shape, which are constant": (STRETCH, (2,), False),
    "an unknown rank": (Stretch(1, (0,), Shape(None)), (None,), True),
    "a node that goes": (Fold(), (2, 3), False),
    "a result that becomes constant": (Evaluate("GF304"), (2, 3), False),
    "an edit of no node": (DropMetadata("key", "why", "GF304"), (2, 3), False),
}


@pytest.mark.parametrize(("edit", "told", "refused"), MADE.values(), ids=MADE)
def test_a_new_value_of_the_sizes_that_are_inferred_is_refused(edit: Edit, told: Told, *, refused: bool) -> None:
    at = added()
    assert (SHARED in refusal(inference(at, told), at, [edit])) == refused


def test_a_constant_that_is_lifted_is_no_new_value() -> None:
    at = added("y[8] = Add(x[2,3], b:const[3])")
    assert refusal(inference(at, (1, 3)), at, [LIFT]) == ""


@pytest.mark.parametrize("edit", [LIFT, STRETCH])
def test_beside_an_output_of_a_wrong_shape_values_are_made(edit: Edit) -> None:
    at = added()
    assert refusal(inference(at, (1, 3), of_output=True), at, [edit]) == ""


NEAR: dict[str, tuple[str, Edit, bool, bool]] = {
    "an operand": ("x", STRETCH, False, True),
    "the result": ("y", STRETCH, False, True),
    "a result that is an output": ("y", STRETCH, True, False),
    "a replaced result that is an output": ("y", Replace(MAX, "GF304"), True, True),
    "an operand that is an output too": ("x", STRETCH, True, True),
    "a node that goes": ("y", Fold(), False, False),
}


@pytest.mark.parametrize(("name", "edit", "of_output", "refused"), NEAR.values(), ids=NEAR)
def test_what_is_computed_from_a_wrong_shape_is_not_edited(
    name: str, edit: Edit, *, of_output: bool, refused: bool
) -> None:
    at = added()
    assert (SHARED in refusal(inference(at, (9,), name=name, of_output=of_output), at, [edit])) == refused


@pytest.mark.parametrize(("path", "refused"), [("main", False), ("function own.F", True)])
def test_a_free_size_of_a_function_may_be_any_where_it_is_inlined(path: str, *, refused: bool) -> None:
    at = added()
    at.graph.path = path
    edit = Stretch(1, (0,), Shape(None))
    assert (SHARED in refusal(inference(at, (9,)), at, [edit])) == refused
    assert refusal(inference(at, (None, 9)), at, [edit]) == ""
    assert refusal(inference(at, (9,)), at, [STRETCH]) == "", "its sizes are known"


def test_where_the_inference_fails_or_values_are_crowded_no_node_is_changed() -> None:
    at = added()
    failed = LoadInference({}, {}, frozenset(), {}, failure="onnx stopped")
    assert refusal(failed, at, [Fold()]) == "onnx stopped: what onnxruntime infers at load is not known"
    assert refusal(failed, at, [DropMetadata("key", "why", "GF304")]) == ""
    crowded = inference(at, (9,))
    crowded.crowded[at.graph] = crowded.wrong[at.graph]["v"]
    assert refusal(crowded, at, [Fold()]).endswith("another value may get its buffer")
    assert refusal(crowded, added(), [Fold()]) == ""


# --- bodies and what folding shows ------------------------------------------------------------------------------------


def inside(shape: tuple[Size, ...]) -> Graph:
    """A body with one value."""
    graph = Graph("main/If#0.then_branch")
    value = Value("u", Shape(shape), "float32", "result", graph, None, 0)
    graph.nodes = [Node("Op", "", 18, "", 0, graph, (), (value,), {}, None)]
    return graph


INLINED: dict[str, tuple[tuple[Size, ...], bool, str]] = {
    "a value of the sizes that are inferred": ((9,), False, "a value of the body could share its buffer"),
    "a value of other sizes": ((8,), False, ""),
    "beside an output": ((9,), True, ""),
}


@pytest.mark.parametrize(("shape", "of_output", "why"), INLINED.values(), ids=INLINED)
def test_a_body_is_not_put_beside_a_wrong_shape_of_its_sizes(
    shape: tuple[Size, ...], why: str, *, of_output: bool
) -> None:
    at = node("y[2,3] = If(c:bool[])")
    held = inference(at, (9,), of_output=of_output)
    held.inside = {(at.graph, 0): [inside(shape)]}
    found = refusal(held, at, [Inline("then_branch")])
    assert found.endswith(why)
    assert bool(found) == bool(why)


@pytest.mark.parametrize("ledger", ["wrong", "hidden"])
@pytest.mark.parametrize("deep", [False, True])
def test_a_body_with_a_wrong_shape_is_not_put_in_the_graph_around(ledger: str, *, deep: bool) -> None:
    at, body = node("y[2,3] = If(c:bool[])"), inside((8,))
    inner = inside((8,))
    claims = {(inner if deep else body): {"u": Claim("u", (9,), Shape((8,)))}}
    held = LoadInference({}, {}, frozenset(), {(at.graph, 0): [body], (body, 0): [inner]})
    setattr(held, ledger, claims)
    assert refusal(held, at, [Inline("then_branch")]).endswith(
        "a value of the graph around the body could share its buffer"
    )
    assert refusal(held, at, [Fold()]) == ""


def test_a_node_above_what_is_inferred_wrongly_once_sizes_are_stated_is_not_edited() -> None:
    at = added()
    hidden = {at.graph: {"v": Claim("v", (9,), Shape((8,)))}}
    held = LoadInference({}, hidden, frozenset({("main", "y")}), {})
    assert refusal(held, at, [Fold()]).endswith(", once the sizes in front of it are stated")
    other = LoadInference({}, hidden, frozenset({("main", "z"), ("main/b", "y")}), {})
    assert refusal(other, at, [Fold()]) == ""
