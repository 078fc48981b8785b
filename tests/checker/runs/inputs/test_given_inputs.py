"""Inputs from an .npz and from ONNX test data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

from graphfix.checker.runs.inputs.given_inputs import expectation, load
from graphfix.checker.runs.inputs.interface import Interface, TensorSpec
from graphfix.results import GraphfixError
from tests.support.by_runs import verify
from tests.support.written import Written

TEXT = "g (float[N,2] x, int64[N] i) => (float[N,2] y) { t = Gather(x, i) y = Mul(t, b) }"
X = np.float32([[1, 2], [3, 4], [5, 6]])
I = np.int64([2, 0, 1])  # noqa: E741 - the model's name


def test_an_npz_gives_the_inputs_and_their_sizes(written: Written, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=X, i=I)
    before, after = written(TEXT, b=np.float32([2])), written(TEXT, b=np.float32([[2, 3]]))
    verdict = verify(before, after, inputs=tmp_path / "a.npz")
    assert verdict.status == "different"
    assert verdict.first_difference == {
        "tensor": "y", "producer": "Mul#1", "index": [0, 1], "before": 12.0, "after": 18.0, "count": 3,
    }  # fmt: skip
    same = verify(before, before, inputs=tmp_path / "a.npz")
    assert [(run.optimizations, dict(run.bindings), run.status) for run in same.runs] == [
        ("off", {"N": 3}, "equal"),
        ("on", {"N": 3}, "equal"),
    ]


def data_set(folder: Path, y: np.ndarray) -> Path:
    folder.mkdir()
    for name, value in (("input_0", X), ("input_1", I), ("output_0", y)):
        (folder / f"{name}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    return folder


def test_a_test_data_set_gives_inputs_and_expected_outputs(written: Written, tmp_path: Path) -> None:
    model = written(TEXT, b=np.float32([2]))
    met = verify(model, model, inputs=data_set(tmp_path / "met", X[I] * 2))
    assert (met.status, met.runs[0].reason) == ("equal", None)
    missed = verify(model, model, inputs=data_set(tmp_path / "missed", X[I] * 3))
    assert missed.status == "equal"
    assert "both models: the output 'y' is not what the data set expects" in str(missed.runs[0].reason)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "no value for the input 'i'"),
        ({"x": X, "i": I, "z": I}, "no input 'z'"),
        ({"x": X.astype(np.float64), "i": I}, "float64"),
        ({"x": X[0], "i": I}, "rank 1"),
        ({"x": X[:, :1], "i": I}, r"\[3, 1\]"),
    ],
    ids=["missing", "unknown", "another type", "another rank", "another size"],
)
def test_inputs_that_do_not_fit_are_refused_by_name(
    written: Written, tmp_path: Path, arrays: dict[str, np.ndarray], message: str
) -> None:
    model = written(TEXT, b=np.float32([2]))
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(GraphfixError, match=message):
        verify(model, model, inputs=tmp_path / "a.npz")


def test_what_is_no_input_file_is_refused_in_one_line(written: Written, tmp_path: Path) -> None:
    model = written(TEXT, b=np.float32([2]))
    (tmp_path / "text.npz").write_text("not an archive")
    np.save(tmp_path / "one.npy", X)
    (tmp_path / "empty").mkdir()
    (tmp_path / "cut.npz").write_bytes(b"PK\x03\x04 and no more")
    for name in ("text.npz", "one.npy", "empty", "cut.npz", "absent.npz"):
        with pytest.raises(GraphfixError, match=name) as refused:
            verify(model, model, inputs=tmp_path / name)
        assert "\n" not in str(refused.value)


# --- without a run ----------------------------------------------------------------------------------------------------

F32, I64 = np.dtype(np.float32), np.dtype(np.int64)
SPEC_X, SPEC_I = TensorSpec("x", "tensor", F32, ("N", 2)), TensorSpec("i", "tensor", I64, ("N",), alias="index")
MODEL = Interface((SPEC_X, SPEC_I), (), (TensorSpec("y", "tensor", F32, ("N", 2)),), (SPEC_X, SPEC_I))


def saved(folder: Path, **arrays: np.ndarray) -> Path:
    np.savez(folder / "a.npz", **arrays)
    return folder / "a.npz"


def fed(feeds: Mapping[str, object]) -> dict[str, object]:
    return {name: np.asarray(value).tolist() for name, value in feeds.items()}


def test_the_values_have_the_own_names_of_the_inputs_and_give_the_sizes(tmp_path: Path) -> None:
    for name in ("i", "index"):
        case = load(saved(tmp_path, x=X, **{name: I}), MODEL)
        assert (dict(case.sizes), case.expected) == ({"N": 3}, {})
        assert fed(case.feeds) == {"x": X.tolist(), "i": [2, 0, 1]}
    case = load(saved(tmp_path, x=X, i=I[:2]), MODEL)
    assert dict(case.sizes) == {"N": 3}  # the first one counts; the runtime says that the other is wrong
    whole = load(data_set(tmp_path / "set", X * 2), MODEL)
    assert fed(whole.feeds) == {"x": X.tolist(), "i": [2, 0, 1]}
    assert fed(whole.expected) == {"y": (X * 2).tolist()}
    assert dict(whole.sizes) == {"N": 3}
    (tmp_path / "none").mkdir()
    assert load(tmp_path / "none", Interface((), (), (), ())).feeds == {}


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": X}, "no value for the input 'i'; add it under that name"),
        ({"i": I}, "no value for the input 'x'; add it under that name"),
        ({"x": X, "i": I, "": I}, "there is no input ''; inputs: x, i"),
        ({"x": X, "i": X}, "'i' is float32, the model takes int64; convert it"),
        ({"x": X[0], "i": I}, "'x' has rank 1, the model takes ['N', 2]; reshape it"),
        ({"x": X[:, :1], "i": I}, "'x' is [3, 1], the model takes ['N', 2]; give these sizes"),
        ({"x": np.array(["a", "b"]), "i": I}, "'x' is str32, the model takes float32; convert it"),
    ],
)
def test_what_does_not_fit_is_one_line(arrays: dict[str, np.ndarray], said: str, tmp_path: Path) -> None:
    path = saved(tmp_path, **arrays)
    with pytest.raises(GraphfixError) as refused:
        load(path, MODEL)
    assert str(refused.value) == f"{path}: {said}"


def test_a_folder_without_a_first_input_is_no_data_set(tmp_path: Path) -> None:
    with pytest.raises(GraphfixError) as refused:
        load(tmp_path, MODEL)
    assert str(refused.value) == f"{tmp_path}: no input_0.pb in it; name a test_data_set folder"


def test_an_input_without_a_type_or_a_rank_takes_any_and_texts_are_objects(tmp_path: Path) -> None:
    specs = (
        TensorSpec("u", "tensor", None, ("A",)),
        TensorSpec("r", "tensor", F32, None),
        TensorSpec("t", "tensor", np.dtype(object), ("B",)),
    )
    model = Interface(specs, (), (), specs)
    case = load(saved(tmp_path, u=I, r=X, t=np.array(["a", "b"])), model)
    assert dict(case.sizes) == {"A": 3, "B": 2}
    with pytest.raises(GraphfixError, match="'t' is int64, the model takes object"):
        load(saved(tmp_path, u=I, r=X, t=I), model)


def test_a_constant_need_not_be_given_and_is_no_other(tmp_path: Path) -> None:
    model = replace(MODEL, inputs=(SPEC_X,), constant=((SPEC_I, I),))
    for arrays in ({"x": X}, {"x": X, "i": I}, {"x": X, "index": I}):
        assert fed(load(saved(tmp_path, **arrays), model).feeds) == {"x": X.tolist(), "i": [2, 0, 1]}
    with pytest.raises(GraphfixError, match="'i' has another value than --set gives it; leave out one of the two"):
        load(saved(tmp_path, x=X, i=I + 1), model)


@pytest.mark.parametrize(
    ("got", "wanted", "near"),
    [
        ([X, I], [X, I], True),
        ((X, I), [X, I], True),
        ([X, I], [X, I + 1], False),
        ([X], [X, X], False),
        ([X, X], [X], False),
        (X, [X], False),
        (X, list(X), False),
        (None, None, True),
        (None, X, False),
        (X, None, False),
        (X, X * np.float32(1.0009), True),
        (X, X * np.float32(1.002), False),
        (np.zeros(2), np.full(2, 9e-8), True),
        (np.zeros(2), np.full(2, 2e-7), False),
        (np.float32([np.nan]), np.float32([np.nan]), True),
        (X, X[:1], False),
        (np.array(["a"]), np.array(["a"], object), True),
        (np.array(["a", "b"]), np.array(["a", "c"]), False),
        (np.array([True, False]), np.array([True, True]), False),
    ],
)
def test_an_output_is_near_what_is_expected(got: object, wanted: object, near: bool) -> None:
    said = None if near else "the output 'y' is not what the data set expects (rtol 0.001, atol 1e-07)"
    assert expectation({"x": 1, "y": got, "z": 1}, {"x": 1, "y": wanted}) == said
