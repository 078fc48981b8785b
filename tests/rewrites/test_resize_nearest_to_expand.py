"""When a nearest Resize repeats elements: plans, and what onnxruntime gives for both forms."""

from __future__ import annotations

import numpy as np
import pytest

from graphfix.graph.edits import Fold, Leave, New, Numbers, Replace
from graphfix.shapes.dim import Shape, Undecided
from rewrites.tosa.resize_nearest_to_expand import plan
from tests.support import engine
from tests.support.bits import random_bits, same_bits
from tests.support.named import rules
from tests.support.notation import model, node
from tests.support.onnx.fixing import fixed
from tests.support.runtimes.onnx_runs import run

PYTORCH = "coordinate_transformation_mode='pytorch_half_pixel'"
CUT = "coordinate_transformation_mode='asymmetric', nearest_mode='floor'"


def shape(*sizes: int) -> Numbers:
    return Numbers(sizes, (len(sizes),), "int64")


def test_each_axis_that_grows_is_split_stretched_and_joined() -> None:
    text = f"y[1,3,8,15] = Resize(x[1,3,4,5], , s:const[4]{{1.0,1.0,2.0,3.0}}, {CUT})"
    split = New("Reshape", (0, shape(1, 3, 4, 1, 5, 1)), Shape((1, 3, 4, 1, 5, 1)), "float32")
    wide = New("Expand", (split, shape(1, 3, 4, 2, 5, 3)), Shape((1, 3, 4, 2, 5, 3)), "float32")
    joined = New("Reshape", (wide, shape(1, 3, 8, 15)), Shape((1, 3, 8, 15)), "float32")
    assert list(plan(node(text))) == [Replace(joined, "GF304")]


def test_what_grows_nowhere_goes() -> None:
    text = f"y[1,1,4,4] = Resize(x[1,1,4,4], , s:const[4]{{1.0,1.0,1.0,1.0}}, {CUT})"
    assert list(plan(node(text))) == [Fold("GF304")]


KEPT = {
    "it interpolates": f"y[1,1,8,8] = Resize(x[1,1,4,4], , s:const[4]{{1.0,1.0,2.0,2.0}}, mode='linear', {CUT})",
    "a factor and a half": f"y[1,1,6,6] = Resize(x[1,1,4,4], , s:const[4]{{1.0,1.0,1.5,1.5}}, {CUT})",
    "a scale that the sizes hide": f"y[1,1,8,8] = Resize(x[1,1,4,4], , s:const[4]{{1.0,1.0,2.1,2.1}}, {CUT})",
    "it gets smaller": f"y[1,1,2,2] = Resize(x[1,1,4,4], , s:const[4]{{1.0,1.0,0.5,0.5}}, {CUT})",
    "no elements": f"y[1,0,8,8] = Resize(x[1,0,4,4], , s:const[4]{{1.0,1.0,2.0,2.0}}, {CUT})",
    "asymmetric and rounded": "y[1,1,8,8] = Resize(x[1,1,4,4], , s:const[4]{1.0,1.0,2.0,2.0}, "
    "coordinate_transformation_mode='asymmetric')",
    "half-pixel and cut": "y[1,1,8,8] = Resize(x[1,1,4,4], , s:const[4]{1.0,1.0,2.0,2.0}, nearest_mode='floor')",
    "neither scales nor sizes": f"y[1,1,8,8] = Resize(x[1,1,4,4], , s:const[0]{{}}, {CUT})",
    "a scale of another axis": f"y[1,1,8,4] = Resize(x[1,1,4,4], , s:const[4]{{1.0,1.0,2.0,2.0}}, {CUT})",
    "one axis is no whole number of times": f"y[1,1,8,6] = Resize(x[1,1,4,4], , s:const[4]{{1.0,1.0,2.0,1.5}}, {CUT})",
    "another rank": f"y[1,8] = Resize(x[1,1,4], , s:const[3]{{1.0,1.0,2.0}}, {CUT})",
    "corners": "y[1,1,8,8] = Resize(x[1,1,4,4], , s:const[4]{1.0,1.0,2.0,2.0}, "
    "coordinate_transformation_mode='align_corners', nearest_mode='floor')",
    "sizes that keep the aspect ratio": f"y[1,1,8,8] = Resize(x[1,1,4,4], , , z:const[4]{{1,1,8,8}}, {CUT}, "
    "keep_aspect_ratio_policy='not_larger')",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"y[N,1,8,8] = Resize(x[N,1,4,4], , s:const[4]{{1.0,1.0,2.0,2.0}}, {CUT})", "are not all numbers"),
        (f"y[N,1,8,8] = Resize(x[2,1,4,4], , s:const[4]{{1.0,1.0,2.0,2.0}}, {CUT})", "are not all numbers"),
        (f"y[1,1,8,8] = Resize(x[1,1,4,4], , s[4], {CUT})", "its scales 's' are computed when the model runs"),
    ],
    ids=["a size that is not known", "a size of the result that is not known", "computed scales"],
)
def test_what_is_not_known_is_undecided(text: str, reason: str) -> None:
    with pytest.raises(Undecided, match=reason):
        list(plan(node(text)))


def test_a_rank_that_leaves_no_room_is_left() -> None:
    text = f"y[1,1,1,1,4,8] = Resize(x[1,1,1,1,4,4], , s:const[6]{{1.0,1.0,1.0,1.0,1.0,2.0}}, {CUT})"
    (edit,) = plan(node(text))
    assert isinstance(edit, Leave)
    assert (edit.code, edit.operand) == ("GF301", None)


def test_a_rank_with_room_for_one_axis_more_is_stretched() -> None:
    text = f"y[1,1,1,4,8] = Resize(x[1,1,1,4,4], , s:const[5]{{1.0,1.0,1.0,1.0,2.0}}, {CUT})"
    (edit,) = plan(node(text))
    assert isinstance(edit, Replace)


def test_what_grows_nowhere_goes_at_any_rank() -> None:
    text = f"y[1,1,1,1,4,4] = Resize(x[1,1,1,1,4,4], , s:const[6]{{1.0,1.0,1.0,1.0,1.0,1.0}}, {CUT})"
    assert list(plan(node(text))) == [Fold("GF304")]


def test_each_turn_stretches_as_many_axes_as_there_is_room_for() -> None:
    text = f"y[2,2,2,4] = Resize(x[1,1,1,2], , s:const[4]{{2.0,2.0,2.0,2.0}}, {CUT})"
    (edit,) = plan(node(text))
    assert isinstance(edit, Replace)
    wide: list[Shape] = []
    each: object = edit.node
    while isinstance(each, New):
        wide += [each.shape] if each.op == "Expand" else []
        each = each.operands[0]
    assert wide[::-1] == [Shape((1, 2, 1, 2, 1, 2)), Shape((2, 2, 1, 2, 2, 2))]


def test_coordinates_are_read_from_the_first_opset_that_has_them() -> None:
    text = "y[1,1,8,8] = Resize(x[1,1,4,4], , s:const[4]{1.0,1.0,2.0,2.0}"
    assert len(list(plan(node(f"{text}, {CUT})", opset=11)))) == 1
    assert list(plan(node(f"{text}, coordinate_transformation_mode='align_corners')", opset=11))) == []


FORMS = {
    "asymmetric, cut": ("y[2,3,8,15] = Resize(x[2,3,4,5], , s:const[4]{1.0,1.0,2.0,3.0}, " + CUT + ")", 17),
    "half-pixel, rounded down": ("y[2,3,8,15] = Resize(x[2,3,4,5], , s:const[4]{1.0,1.0,2.0,3.0})", 17),
    "half-pixel, rounded up": (
        "y[2,3,8,15] = Resize(x[2,3,4,5], , s:const[4]{1.0,1.0,2.0,3.0}, nearest_mode='round_prefer_ceil')",
        17,
    ),
    "PyTorch's half-pixel, to sizes": (
        f"y[2,3,12,20] = Resize(x[2,3,4,5], , , s:const[4]{{2,3,12,20}}, {PYTORCH})",
        17,
    ),
    "one axis by seven": ("y[2,3,28,5] = Resize(x[2,3,4,5], , s:const[4]{1.0,1.0,7.0,1.0}, " + CUT + ")", 13),
    "batch and channels too": ("y[4,9,4,5] = Resize(x[2,3,4,5], , s:const[4]{2.0,3.0,1.0,1.0}, " + CUT + ")", 13),
    "the axes are named": ("y[2,3,8,15] = Resize(x[2,3,4,5], , s:const[2]{3.0,2.0}, axes=[3,2], " + CUT + ")", 18),
    "opset 10": ("y[2,3,8,15] = Resize(x[2,3,4,5], s:const[4]{1.0,1.0,2.0,3.0})", 10),
    "Upsample": ("y[2,3,8,15] = Upsample(x[2,3,4,5], s:const[4]{1.0,1.0,2.0,3.0})", 9),
    "five axes, one at a time": (
        "y[1,2,6,4,10] = Resize(x[1,2,3,2,5], , s:const[5]{1.0,1.0,2.0,2.0,2.0}, " + CUT + ")",
        17,
    ),
}


@pytest.mark.parametrize(("text", "opset"), FORMS.values(), ids=FORMS)
def test_both_forms_give_the_same_bits(text: str, opset: int) -> None:
    before = model(text, opset=opset)
    result = fixed(before, rewrites=rules("resize-nearest-to-expand"))
    assert result.counts == {"resize-nearest-to-expand": 1}
    assert {it.op_type for it in result.after.graph.node} == {"Reshape", "Expand"}
    nodes = engine.load(result.after).graphs[0].nodes
    assert max(value.shape.rank for it in nodes for value in it.results if value is not None) <= 6
    sizes = [dim.dim_value for dim in before.graph.input[0].type.tensor_type.shape.dim]
    x = random_bits("float32", int(np.prod(sizes))).reshape(sizes)
    assert same_bits(run(before, x=x)[0], run(result.after, x=x)[0])
