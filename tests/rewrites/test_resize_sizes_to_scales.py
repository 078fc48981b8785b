"""A linear Resize by its factors: what onnxruntime returns for both forms, what is proved, what stays."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper

import graphfix
from graphfix.graph.edits import Replace, vector
from graphfix.shapes.dim import Shape
from rewrites.tosa.resize_sizes_to_scales import plan
from tests.support import engine
from tests.support.checked import verify
from tests.support.notation import node
from tests.support.runtimes.onnx_runs import run


def resize(have: tuple[int, ...], want: tuple[int, ...], opset: int = 17, **attributes: object) -> ModelProto:
    """Y = Resize(x, , , want)."""
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", have), ("y", want))]
    given = {"mode": "linear", "coordinate_transformation_mode": "half_pixel", **attributes}
    made = helper.make_node("Resize", ["x", "", "", "s"], ["y"], **given)
    graph = helper.make_graph([made], "g", ends[:1], ends[1:], [numpy_helper.from_array(np.array(want), "s")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def fixed(folder: Path, model: ModelProto) -> tuple[Path, Path, graphfix.results.Outcome]:
    before, after = folder / "before.onnx", folder / "after.onnx"
    onnx.save(model, before)
    return before, after, graphfix.fix_file(before, after, target="tosa", check_result=True)


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])
def test_scales_are_proved(mode: str, tmp_path: Path) -> None:
    _, after, outcome = fixed(tmp_path, resize((1, 2, 3, 4), (1, 2, 7, 9), coordinate_transformation_mode=mode))
    assert outcome.rewrites["resize-sizes-to-scales"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    (node,) = onnx.load(after).graph.node
    assert len(node.input) == 3
    assert not graphfix.fix_file(after, tmp_path / "again.onnx", target="tosa").changed


def test_a_resize_by_scales_has_the_shape_and_the_numbers_of_the_one_by_sizes() -> None:
    before = resize((1, 2, 3, 4), (1, 2, 7, 9))
    loaded = engine.load(before)
    engine.fix(loaded, only=["resize-sizes-to-scales"])
    after = onnx.load_from_string(loaded.tobytes())
    (node,) = after.graph.node
    assert len(node.input) == 3
    (scales,) = [numpy_helper.to_array(each) for each in after.graph.initializer if each.name == node.input[2]]
    assert np.allclose(scales, [1, 1, 7 / 3, 9 / 4])
    x = np.random.default_rng(0).normal(size=(1, 2, 3, 4)).astype(np.float32)
    assert np.array_equal(run(before, x=x)[0], run(after, x=x)[0])


def test_what_an_exporter_says_without_meaning_anything_by_it_is_dropped(tmp_path: Path) -> None:
    said = {"keep_aspect_ratio_policy": "stretch", "antialias": 0, "exclude_outside": 0}
    _, after, outcome = fixed(tmp_path, resize((1, 2, 3, 4), (1, 2, 7, 9), 18, **said))
    assert outcome.rewrites["resize-sizes-to-scales"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    (node,) = onnx.load(after).graph.node
    assert not {"keep_aspect_ratio_policy", "antialias"} & {given.name for given in node.attribute}


@pytest.mark.ci
def test_random_sizes_give_the_same_bits() -> None:
    choose, done = Random(0), 0  # noqa: S311 - repeatable, no secret
    for _ in range(200):
        have = (1, 2, choose.randint(1, 40), choose.randint(1, 40))
        model = resize(have, (1, 2, choose.randint(1, 90), choose.randint(1, 90)))
        loaded = engine.load(model)
        done += engine.fix(loaded, target="tosa").rewrites["resize-sizes-to-scales"]
        x = np.random.default_rng(1).standard_normal(have).astype(np.float32)
        after = onnx.load_from_string(loaded.tobytes())
        assert run(model, x=x)[0].tobytes() == run(after, x=x)[0].tobytes(), have
    assert 100 < done < 200, "some quotients lead to other sizes: they stay"


@pytest.mark.parametrize(
    "model",
    [
        resize((1, 2, 3, 4), (1, 2, 7, 9), mode="cubic"),
        resize((1, 2, 3, 4), (1, 2, 7, 9), mode="nearest", coordinate_transformation_mode="align_corners"),
        resize((1, 2, 3, 4), (1, 2, 7, 9), 18, antialias=1),
    ],
    ids=["cubic", "nearest", "antialias"],
)
def test_what_stays_is_named(model: ModelProto, tmp_path: Path) -> None:
    onnx.save(model, tmp_path / "m.onnx")
    outcome = graphfix.check(tmp_path / "m.onnx", target="tosa")
    assert not outcome.rewrites["resize-sizes-to-scales"]
    assert "GF305" in {site.code for site in outcome.sites}


def test_other_scales_are_not_proved(tmp_path: Path) -> None:
    before, after, _ = fixed(tmp_path, resize((1, 2, 3, 4), (1, 2, 7, 9)))
    model = onnx.load(after)
    held = next(tensor for tensor in model.graph.initializer if tensor.dims == [4])
    scales = numpy_helper.to_array(held).copy()
    scales[2] = np.nextafter(scales[2], np.float32(9))
    held.CopyFrom(numpy_helper.from_array(scales, held.name))
    onnx.save(model, after)
    assert verify(before, after, proof="only").status == "undecided"


def test_factors_take_the_place_of_sizes() -> None:
    (edit,) = plan(node("y[1,3,8,10] = Resize(x[1,3,4,5], , , s:const:int64[4]{1,3,8,10}, mode='linear')"))
    assert isinstance(edit, Replace)
    made = edit.node
    assert (edit.code, made.op, made.shape, made.dtype) == ("GF304", "Resize", Shape((1, 3, 8, 10)), "float32")
    assert (made.operands[0], made.operands[2]) == (0, vector((1.0, 1.0, 2.0, 2.0), "float32"))
    assert made.attributes == (("mode", "linear"),)


@pytest.mark.parametrize(
    "text",
    [
        "y[1,3,8,10] = Resize(x[N,3,4,5], , , s:const:int64[4]{1,3,8,10}, mode='linear')",
        "y[1,3,8,10] = Resize(x[1,3,4,5], , , s:const:int64[2]{8,10}, mode='linear', axes=[2,3])",
        "y[1,3,8,10] = Resize(x[1,3,4,5], , , s:int64[4], mode='linear')",
        "y[1,3,8,10] = Resize(x[1,3,4,5], , , s:const:int64[4]{1,3,8,10}, mode='nearest')",
        "y[1,3,8,10] = Resize(x[1,3,4,5], , s:const[4]{1.0,1.0,2.0,2.0}, mode='linear')",
        (
            "y[1,3,8,10] = Resize(x[1,3,4,5], r[8], , s:const:int64[4]{1,3,8,10}, mode='linear', "
            "coordinate_transformation_mode='tf_crop_and_resize')"
        ),
    ],
    ids=["a free size", "some axes", "computed sizes", "another mode", "factors", "a part"],
)
def test_other_sizes_stay(text: str) -> None:
    assert list(plan(node(text))) == []
