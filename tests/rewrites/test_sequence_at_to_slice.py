"""Parts of a split as slices: what onnxruntime returns for both forms, what is proved, what stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import graphfix
from graphfix.graph.edits import Replace, vector
from graphfix.shapes.dim import Shape, Undecided
from rewrites.tosa.sequence_at_to_slice import plan
from tests.support import engine
from tests.support.checked import verify
from tests.support.runtimes.onnx_runs import run

if TYPE_CHECKING:
    from pathlib import Path


def split_model(
    sizes: object, places: tuple[int, ...], *, axis: int = 1, keepdims: int = 1, free: bool = False
) -> onnx.ModelProto:
    """y0, y1 ... are parts of x[2,7], split by `sizes`: None, a number or a list."""
    given = ["x"] if sizes is None else ["x", "s"]
    nodes = [
        helper.make_node("SplitToSequence", given, ["parts"], axis=axis, keepdims=keepdims),
        *(helper.make_node("SequenceAt", ["parts", f"p{at}"], [f"y{at}"]) for at in range(len(places))),
    ]
    held = {f"p{at}": np.int64(place) for at, place in enumerate(places)}
    held |= {} if sizes is None else {"s": np.asarray(sizes, np.int64)}
    outputs = [helper.make_tensor_value_info(f"y{at}", TensorProto.FLOAT, None) for at in range(len(places))]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "M"] if free else [2, 7])
    graph = helper.make_graph(
        nodes, "g", [x], outputs, [numpy_helper.from_array(np.asarray(value), name) for name, value in held.items()]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


CASES = {
    "single elements": split_model(None, (0, 6)),
    "counted from the end": split_model(None, (-1, -7)),
    "without the axis": split_model(None, (0, 3), keepdims=0),
    "along the first axis": split_model(None, (0, 1), axis=0),
    "an axis from the end": split_model(None, (2,), axis=-1, keepdims=0),
    "equal parts and a rest": split_model(3, (0, 1, 2)),
    "parts of given sizes": split_model([1, 4, 2], (0, 1, 2)),
}


def fixed(folder: Path, model: onnx.ModelProto) -> tuple[Path, Path, graphfix.results.Outcome]:
    before, after = folder / "before.onnx", folder / "after.onnx"
    onnx.save(model, before)
    return before, after, graphfix.fix_file(before, after, target="tosa")


CASES_OF_SIZES = {
    **CASES,
    "no elements": split_model([0, 7], (0, 1)),
    "as many equal parts as fit": split_model(7, (0, -1)),
    "more in a part than there is": split_model(9, (0,)),
    "the second of two rows": split_model(None, (1, -2), axis=-2, keepdims=0),
}


@pytest.mark.parametrize("case", CASES_OF_SIZES)
def test_a_slice_holds_the_elements_of_the_part(case: str) -> None:
    model = CASES_OF_SIZES[case]
    loaded = engine.load(model)
    engine.fix(loaded, only=["sequence-at-to-slice"])
    after = onnx.load_from_string(loaded.tobytes())
    assert "SequenceAt" not in {node.op_type for node in after.graph.node}
    x = np.arange(14, dtype=np.float32).reshape(2, 7)
    for wanted, got in zip(run(model, x=x), run(after, x=x), strict=True):
        assert np.array_equal(wanted, got)


@pytest.mark.ci
@pytest.mark.parametrize("case", CASES)
def test_a_part_of_a_split_is_a_slice(case: str, tmp_path: Path) -> None:
    before, after, outcome = fixed(tmp_path, CASES[case])
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert not {node.op_type for node in onnx.load(after).graph.node} & {"SequenceAt", "SplitToSequence"}
    x = np.arange(14, dtype=np.float32).reshape(2, 7)
    for wanted, got in zip(*(run(onnx.load(path), x=x) for path in (before, after)), strict=True):
        assert wanted.shape == got.shape
        assert np.array_equal(wanted, got)


@pytest.mark.parametrize(
    "model",
    [
        split_model(None, (9,)),
        split_model(3, (3,)),
        split_model([1, 6], (-3,)),
        split_model([1, 6], (0, 1), keepdims=0),
    ],
    ids=["no such element", "no such part", "too far from the end", "an axis that may be dropped"],
)
def test_what_may_mean_another_thing_stays(model: onnx.ModelProto, tmp_path: Path) -> None:
    onnx.save(model, tmp_path / "m.onnx")
    assert graphfix.check(tmp_path / "m.onnx", target="tosa", only=["sequence-at-to-slice"]).sites == ()


def test_parts_of_a_free_size_stay_with_a_reason(tmp_path: Path) -> None:
    onnx.save(split_model(3, (0,), free=True), tmp_path / "m.onnx")
    (site,) = graphfix.check(tmp_path / "m.onnx", only=["sequence-at-to-slice"]).sites
    assert (site.code, site.status) == ("GF304", "left")
    assert "axis 1 are not known" in str(site.reason)


@pytest.mark.ci
@pytest.mark.parametrize("at", [0, 1, 2])
def test_another_slice_is_not_proved(at: int, tmp_path: Path) -> None:
    """Its start, its end or its axis is another."""
    before, after, _ = fixed(tmp_path, split_model([1, 4, 2], (1,)))
    model = onnx.load(after)
    (node,) = model.graph.node
    held = {tensor.name: tensor for tensor in model.graph.initializer}[node.input[1 + at]]
    changed = numpy_helper.to_array(held) - 1
    held.CopyFrom(numpy_helper.from_array(changed, "other"))
    node.input[1 + at] = "other"
    onnx.save(model, after)
    verdict = verify(before, after)
    assert verdict.status == "different"
    assert verdict.proof is not None
    assert verdict.proof["status"] == "not proved"


@pytest.mark.parametrize(("size", "each"), [(4096, None), (4096, 1), (8192, 2), (8191, 2)])
def test_as_many_parts_as_are_listed_are_taken(size: int, each: int | None) -> None:
    model = split_model(each, (-1,), axis=0)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = size
    (edit,) = plan(engine.load(model).graphs[0].nodes[-1])
    assert isinstance(edit, Replace)
    assert edit.node.op == "Slice"
    assert edit.node.operands[2] == vector([size])


@pytest.mark.parametrize(("size", "each"), [(4097, None), (4097, 1), (8193, 2)])
def test_more_parts_than_are_listed_stay_with_a_reason(size: int, each: int | None, tmp_path: Path) -> None:
    model = split_model(each, (-1,), axis=0)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = size
    onnx.save(model, tmp_path / "m.onnx")
    (site,) = graphfix.check(tmp_path / "m.onnx", only=["sequence-at-to-slice"]).sites
    assert (site.code, site.status) == ("GF304", "left")
    assert "axis 0 are not known" in str(site.reason)


@pytest.mark.parametrize("sizes", [0, [3, -1]], ids=["parts of no element", "a negative size"])
def test_sizes_that_no_split_takes_stay_with_a_reason(sizes: object, tmp_path: Path) -> None:
    onnx.save(split_model(sizes, (0,)), tmp_path / "m.onnx")
    (site,) = graphfix.check(tmp_path / "m.onnx", only=["sequence-at-to-slice"]).sites
    assert "axis 1 are not known" in str(site.reason)


@pytest.mark.parametrize("name", ["s", "p0"], ids=["the sizes", "the place"])
def test_a_number_of_the_run_is_not_taken(name: str, tmp_path: Path) -> None:
    model = split_model([1, 4, 2], (1,))
    (held,) = [tensor for tensor in model.graph.initializer if tensor.name == name]
    model.graph.input.append(helper.make_tensor_value_info(name, TensorProto.INT64, held.dims))
    model.graph.initializer.remove(held)
    onnx.save(model, tmp_path / "m.onnx")
    sites = graphfix.check(tmp_path / "m.onnx", only=["sequence-at-to-slice"]).sites
    assert [site.status for site in sites] == (["left"] if name == "s" else [])


def test_parts_of_no_element_of_no_element_are_undecided() -> None:
    model = split_model(0, (0,), axis=0)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 0
    with pytest.raises(Undecided, match="axis 0 are not known"):
        list(plan(engine.load(model).graphs[0].nodes[-1]))


@pytest.mark.parametrize(
    ("axis", "keepdims", "shape"), [(0, 1, (1, 7)), (1, 1, (2, 1)), (0, 0, (7,)), (1, 0, (2,)), (-2, 0, (7,))]
)
def test_a_part_has_the_sizes_of_the_other_axes(axis: int, keepdims: int, shape: tuple[int, ...]) -> None:
    *_, taken = engine.load(split_model(None, (1,), axis=axis, keepdims=keepdims)).graphs[0].nodes
    (edit,) = plan(taken)
    assert isinstance(edit, Replace)
    assert (edit.node.op, edit.node.shape) == ("Slice" if keepdims else "Squeeze", Shape(shape))
