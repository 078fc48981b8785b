"""Which edits of a node are refused before anything is changed, and by what is said; the model is a fake."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from onnx import NodeProto, helper

from graphfix.formats.onnx.edit import checks
from graphfix.graph.edits import Canonicalize, DropMetadata, Edit, Evaluate, Fold, Inline, Lift, Refused, Stretch
from graphfix.shapes.dim import Dim, Shape
from tests.support.notation import node

FREE = Shape((Dim(("N",)), 3))
NO_MOVE = "converters make a BROADCAST_TO of an Expand, which the target does not take"


class Without:
    """A scope that imports no standard operators."""

    @property
    def version(self) -> int:
        raise Refused("none is imported")


def why(text: str, edit: Edit, version: int | None = 18, *, movement: Any = None, quantizes: bool = False) -> str:  # noqa: ANN401
    asked = node(text)
    builder = Without() if version is None else SimpleNamespace(version=version, holds_initializers=True)
    state: Any = SimpleNamespace(
        builders={asked.graph: builder},
        movement=movement,
        quantizes=quantizes,
        views=SimpleNamespace(graphs=[asked.graph], tensors={}, evaluator=SimpleNamespace(array=lambda _: None)),
        message=lambda _: MESSAGE,
    )
    try:
        checks.check(state, asked, edit)
    except Refused as refused:
        return str(refused)
    return ""


MESSAGE = NodeProto(op_type="If", input=["c"], output=["y"])
MESSAGE.attribute.append(helper.make_attribute("then_branch", 3))
ADD, OPEN = "y[2,3] = Add(x[2,3], b[1,3])", "y[N,3] = Add(x[N,3], b[1,3])"
TO = Stretch(1, (0,), Shape((2, 3)))
OPEN_TO = Stretch(1, (0,), FREE)
GIVEN: dict[str, tuple[str, Edit, dict[str, Any], str]] = {
    "a lift": (ADD, Lift(1, (0,)), {}, ""),
    "a lift without standard operators": (ADD, Lift(1, (0,)), {"version": None}, "none is imported"),
    "a stretch": (ADD, TO, {}, ""),
    "a stretch without standard operators": (ADD, TO, {"version": None}, "none is imported"),
    "a stretch to a size that is not known": (OPEN, OPEN_TO, {"version": 8}, ""),
    "one before there is an Expand": (
        OPEN,
        OPEN_TO,
        {"version": 7},
        "opset 7 has no Expand, and a Tile needs sizes that are known",
    ),
    "one of a size that is not known, before there is an Expand": (
        OPEN,
        Stretch(0, (1,), Shape((2, 3))),
        {"version": 7},
        "opset 7 has no Expand, and a Tile needs sizes that are known",
    ),
    "one of known sizes": (ADD, TO, {"version": 7}, ""),
    "a stretch where no Expand may be": (ADD, TO, {"movement": {"Tile"}}, NO_MOVE),
    "a stretch where an Expand may be": (ADD, TO, {"movement": {"Tile", "Expand"}}, ""),
    "a stretch where nothing may move": (ADD, TO, {"movement": frozenset()}, NO_MOVE),
    "a tile that is to be an Expand": ("y[2,3] = Tile(x[1,3], r:const{2,1})", Canonicalize(Shape((2, 3))), {}, ""),
    "one in opset 8": (
        "y[2,3] = Tile(x[1,3], r:const{2,1})",
        Canonicalize(Shape((2, 3))),
        {"version": 8},
        "",
    ),
    "one in opset 7": (
        "y[2,3] = Tile(x[1,3], r:const{2,1})",
        Canonicalize(Shape((2, 3))),
        {"version": 7},
        "opset 7 has no Expand",
    ),
    "one where no Expand may be": (
        "y[2,3] = Tile(x[1,3], r:const{2,1})",
        Canonicalize(Shape((2, 3))),
        {"movement": {"Tile"}},
        NO_MOVE,
    ),
    "one without standard operators": (
        "y[2,3] = Tile(x[1,3], r:const{2,1})",
        Canonicalize(Shape((2, 3))),
        {"version": None},
        "none is imported",
    ),
    "an edit of the other format": (
        ADD,
        DropMetadata("m", "it is old", "GF304"),
        {},
        "it is an edit of TFLite files alone",
    ),
    "a fold of what nothing returns": (ADD, Fold(), {"version": None}, ""),
    "a branch that is no graph": (ADD, Inline("then_branch"), {"version": None}, "it has no body then_branch"),
    "a branch that is not there": (ADD, Inline("else_branch"), {"version": None}, "it has no body else_branch"),
    "a loop without standard operators": (ADD, Inline("body", trips=2), {"version": None}, "none is imported"),
}


@pytest.mark.parametrize(("text", "edit", "state", "said"), GIVEN.values(), ids=GIVEN)
def test_an_edit_that_can_not_be_made_is_refused_by_what_is_missing(
    text: str, edit: Edit, state: dict[str, Any], said: str
) -> None:
    assert why(text, edit, **state) == said


def test_a_result_that_nothing_reads_need_not_be_known() -> None:
    assert why(ADD, Evaluate("GF302")) == ""


@pytest.mark.parametrize("edit", [Lift(0, (0,)), Stretch(0, (1,), Shape((2, 3)))])
def test_where_nothing_is_quantized_nobody_looks_at_scales(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Shape | None, int]] = []
    monkeypatch.setattr(checks, "check_quantized", lambda value, to, version: asked.append((value.name, to, version)))
    why(ADD, edit)
    assert asked == []
    why(ADD, edit, 13, quantizes=True)
    assert asked == [("x", edit.to if isinstance(edit, Stretch) else None, 13)]
