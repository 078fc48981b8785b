"""What a target's movement operators do to lifts and stretches: those that a model has, and those that are added."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.notation import model
from tests.support.onnx import fixing as onnx_fixing
from tests.support.proving import prove
from tests.support.tflite import fixing as tflite_fixing

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = {
    "a BROADCAST_TO is a TILE": (
        "e[2,3,4] = BROADCAST_TO(x[1,1,4], s:const:int32[3]{2,3,4})\nz[2,3,4] = ABS(e)",
        "litert-gpu",
        ["e[2,3,4] = TILE(x[1,1,4], shape_2x3x1[3])", "z[2,3,4] = ABS(e[2,3,4])"],
    ),
    "of another rank it is lifted": (
        "e[2,4] = BROADCAST_TO(x[4], s:const:int32[2]{2,4})\nz[2,4] = ABS(e)",
        "ethos-u",
        [
            "x_lifted[1,4] = RESHAPE(x[4], shape_1xfree[2])",
            "e[2,4] = TILE(x_lifted[1,4], shape_2x1[2])",
            "z[2,4] = ABS(e[2,4])",
        ],
    ),
    "an EXPAND_DIMS is a RESHAPE": (
        "e[1,4] = EXPAND_DIMS(x[4], a:const:int32[]{0})\nz[1,4] = ABS(e)",
        "litert-gpu",
        ["e[1,4] = RESHAPE(x[4], constant[2])", "z[1,4] = ABS(e[1,4])"],
    ),
    "with a free size": (
        "e[N,1,4] = EXPAND_DIMS(x[N,4], a:const:int32[]{1})\nz[N,1,4] = ABS(e)",
        "litert-gpu",
        ["e[?,1,4] = RESHAPE(x[?,4], constant[3])", "z[?,1,4] = ABS(e[?,1,4])"],
    ),
    "a SQUEEZE is a RESHAPE": (
        "e[4] = SQUEEZE(x[1,4], squeeze_dims=[0])\nz[4] = ABS(e)",
        "litert-gpu",
        ["e[4] = RESHAPE(x[1,4], constant[1])", "z[4] = ABS(e[4])"],
    ),
    "where both are taken they stay": (
        "e[1,4] = EXPAND_DIMS(x[4], a:const:int32[]{0})\nz[1,4] = ABS(e)",
        "ethos-u",
        ["e[1,4] = EXPAND_DIMS(x[4], a[])", "z[1,4] = ABS(e[1,4])"],
    ),
    "a run-time operand without axes is lifted": (
        "z:int8[1,4] = ADD(x:int8[1,4], s:int8[])",
        "ethos-u",
        ["s_lifted[1,1] = RESHAPE(s[], shape_1x1[2])", "z[1,4] = ADD(x[1,4], s_lifted[1,1])"],
    ),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_lifts_and_stretches_are_written_in_what_the_target_takes(case: str, tmp_path: Path) -> None:
    text, target, after = WRITTEN[case]
    done = tflite_fixing.fixed(text, target=target)
    assert done.view == after
    before, written = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(done.before)
    written.write_bytes(done.data)
    assert prove(before, written, tflite=True).proved


LEFT = {
    "a stretch that StableHLO writes, for a target that neither repeats": (
        "a[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[2], broadcast_dimensions=[0])\ny[2,3] = ABS(a)",
        {"target_file": ["RESHAPE"]},
        "x[2] can be stretched to [2, 3] by TILE or BROADCAST_TO alone, and the target takes neither",
    ),
    "a lift for a target that does none": (
        "z[2,4] = ADD(y[2,4], x[4])",
        {"target_file": ["TILE"]},
        "x[4] can be lifted by RESHAPE or EXPAND_DIMS alone, and the target takes neither",
    ),
    "a lift of what has no elements": (
        "z[2,0,4] = ADD(y[2,0,4], x[0,4])",
        {"target_file": ["RESHAPE"]},
        "x[0,4] can be lifted by EXPAND_DIMS alone, which the target does not take",
    ),
    "a BROADCAST_TO to free sizes": (
        "s:int32[2] = SHAPE(y[N,4])\ne[N,4] = BROADCAST_TO(x[1,4], s)\nz[N,4] = ABS(e)",
        {"target": "litert-gpu"},
        "a TILE repeats by numbers",
    ),
    "an EXPAND_DIMS with two free sizes": (
        "e[1,N,M] = EXPAND_DIMS(x[N,M], a:const:int32[]{0})\nz[1,N,M] = ABS(e)",
        {"target": "litert-gpu"},
        "a RESHAPE leaves one size open",
    ),
    "an EXPAND_DIMS without elements": (
        "e[1,0,4] = EXPAND_DIMS(x[0,4], a:const:int32[]{0})\nz[1,0,4] = ABS(e)",
        {"target": "litert-gpu"},
        "a RESHAPE takes a 0 for a size that stays",
    ),
    "a SQUEEZE of an axis that may have another size": (
        "e[N] = SQUEEZE(x[N,M], squeeze_dims=[1])\nz[N] = ABS(e)",
        {"target": "litert-gpu"},
        "a RESHAPE does not ask for size 1",
    ),
    "a rank above the target's, beside it": (
        "s:int32[5] = SHAPE(y[N,1,1,1,4])\ne[N,1,1,1,4] = BROADCAST_TO(x[1,1,1,1,4], s)\nz[N,1,1,1,4] = ABS(e)",
        {"target": "litert-gpu"},
        "x[1,1,1,1,4] has rank 5: target litert-gpu ends at 4",
    ),
    "a lift with two free sizes": (
        "z[2,N,M] = ADD(y[2,N,M], x[N,M])",
        {"target": "litert-gpu"},
        "can be lifted by EXPAND_DIMS alone",
    ),
    "a stretch that only the run decides": (
        "z[N,4] = ADD(y[N,4], x[1,4])",
        {"target": "litert-gpu", "broadcasts": "explicit"},
        "can be stretched to [?, 4] by BROADCAST_TO alone",
    ),
}


def of_movement(folder: Path, movement: list[str]) -> Path:
    """A target file that says the movement alone."""
    path = folder / "t.toml"
    path.write_text(f"[limits]\nmovement = {movement}", encoding="utf-8")
    return path


@pytest.mark.parametrize("case", LEFT)
def test_what_only_another_operator_could_do_is_left_with_the_reason(case: str, tmp_path: Path) -> None:
    text, options, why = LEFT[case]
    if "target_file" in options:
        options = {"target_file": of_movement(tmp_path, options["target_file"])}
    done = tflite_fixing.fixed(text, **options)
    assert not done.outcome.changed
    (reason,) = {reason for _, _, reason in done.left if why in reason}
    free = ("?" in reason.partition(" by ")[0]) or "free" in reason
    assert ("bind" in reason) == free, "what would help where sizes are free, and there alone"
    places = [(site.code, site.node, site.operand, site.reason) for site in done.outcome.sites]
    assert len(set(places)) == len(places)
    assert not any("BROADCAST_TO" in line for line in done.view) or "BROADCAST_TO" in text


def test_a_stretch_that_is_asked_for_is_a_tile() -> None:
    done = tflite_fixing.fixed("z[2,4] = ADD(y[2,4], x[1,4])", target="litert-gpu", broadcasts="explicit")
    assert done.view == ["x_stretched[2,4] = TILE(x[1,4], shape_2x1[2])", "z[2,4] = ADD(y[2,4], x_stretched[2,4])"]


def test_sizes_that_are_known_are_not_asked_for() -> None:
    text = "z:complex128[2,4] = ADD(y:complex128[2,4], x:complex128[1,4])"  # no TILE repeats this type
    done = tflite_fixing.fixed(text, target="litert-gpu", broadcasts="explicit")
    reasons = {why for _, _, why in done.left}
    assert "x[1,4] can be stretched to [2, 4] by BROADCAST_TO alone, which the target does not take" in reasons


def test_a_target_without_tile_has_stretches_written_as_broadcast_to(tmp_path: Path) -> None:
    path = of_movement(tmp_path, ["RESHAPE", "BROADCAST_TO"])
    done = tflite_fixing.fixed("z[2,4] = ADD(y[2,4], x[1,4])", target_file=path)
    assert done.view == [
        "x_stretched[2,4] = BROADCAST_TO(x[1,4], shape_2x4[2])",
        "z[2,4] = ADD(y[2,4], x_stretched[2,4])",
    ]


def test_a_target_without_reshape_has_lifts_written_as_expand_dims(tmp_path: Path) -> None:
    path = of_movement(tmp_path, ["EXPAND_DIMS", "TILE"])
    done = tflite_fixing.fixed("z[2,4] = ADD(y[2,4], x[4])", target_file=path)
    assert [line.partition(" = ")[2].partition("(")[0] for line in done.view] == ["EXPAND_DIMS", "TILE", "ADD"]


def test_what_stablehlo_writes_is_lifted_and_repeated_in_what_the_target_takes() -> None:
    text = "a[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[2], broadcast_dimensions=[0])\ny[2,3] = ABS(a)"
    done = tflite_fixing.fixed(text, target="litert-gpu")
    assert [line.partition("(")[0] for line in done.view] == [
        "x_lifted[2,1] = RESHAPE",
        "a[2,3] = TILE",
        "y[2,3] = ABS",
    ]
    assert not done.left


def test_onnx_gains_no_expand_for_a_target_whose_converters_would_make_a_broadcast_to_of_it() -> None:
    text = "t[2,4] = Tile(b[1,4], r:const{2,1})\nz[2,4] = Add(t, c[1,4])"
    done = onnx_fixing.fixed(model(text), target="litert-gpu", broadcasts="explicit")
    assert not done.outcome.changed
    assert [why for _, _, why in done.left] == [
        "converters make a BROADCAST_TO of an Expand, which the target does not take"
    ]


def test_an_expand_that_an_onnx_model_has_is_named() -> None:
    done = onnx_fixing.fixed(model("e[2,4] = Expand(b[1,4], s:const{2,4})\nz[2,4] = Relu(e)"), target="ethos-u")
    assert not done.outcome.changed
    assert [(code, why) for code, _, why in done.left] == [
        (
            "GF304",
            "target ethos-u takes Reshape, Squeeze, Tile and Unsqueeze, no Expand: Vela leaves it to the CPU",
        )
    ]
