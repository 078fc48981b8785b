"""Inputs from an .npz and from ONNX test data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper

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
