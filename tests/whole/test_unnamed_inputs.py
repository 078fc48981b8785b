"""TFLite inputs without a name, or two with the same one, are called `t0`, `t1` wherever a name is asked for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphfix import api
from graphfix.results import GraphfixError
from models.builders.tflite.text import Signature, pack, tree
from models.builders.tflite.text import model as tflite

NAMES = {"empty": "", "none": None, "the same": "q"}


@pytest.fixture(params=NAMES.values(), ids=list(NAMES))
def unnamed(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Y = x + z, both of which have this name."""
    made = tree("y[?,3] = ADD(x[?,3], z[?,3])")
    for tensor in made.subgraphs[0].tensors:
        if tensor.name in ("x", "z"):
            tensor.name = request.param
    path = tmp_path / "m.tflite"
    path.write_bytes(pack(made))
    return path


@pytest.mark.ci
@pytest.mark.parametrize(
    "asked",
    [
        {"shapes": {"t0": (2, 3), "t1": (2, 3)}},
        {"dims": {"t0[0]": 2, "t1[0]": 2}},
        {"same": [("t0[0]", "t1[0]")]},
        {"values": {"t1": (1, 2, 3)}},
        {"bind_defaults": True},
    ],
    ids=str,
)
def test_they_are_bound_proved_and_run(unnamed: Path, tmp_path: Path, asked: dict[str, object]) -> None:
    after = tmp_path / "after.tflite"
    outcome = api.fix_file(unnamed, after, **asked)  # type: ignore[arg-type]  # the test's own keywords
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)
    if "bind_defaults" not in asked:
        assert api.verify(unnamed, after, **asked).status == "proved"  # type: ignore[arg-type]  # as above


def test_given_inputs_have_these_names(unnamed: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.npz"
    np.savez(data, t0=np.ones((2, 3), np.float32), t1=np.ones((2, 3), np.float32))
    assert api.verify(unnamed, unnamed, inputs=data, proof="without").status == "equal"


def test_show_prints_them(unnamed: Path) -> None:
    assert any("ADD(t0[2,3], t1[?,3])" in line for line in api.show(unnamed, shapes={"t0": (2, 3)}))


@pytest.mark.parametrize("proof", ["only", "without"])
@pytest.mark.parametrize(
    "asked", [{"shapes": {"t7": (2, 3)}}, {"dims": {"t7[0]": 2}}, {"same": [("t7[0]", "t1[0]")]}, {"values": {"t7": 1}}]
)
def test_errors_name_the_file_and_the_inputs(unnamed: Path, proof: str, asked: dict[str, object]) -> None:
    with pytest.raises(GraphfixError) as caught:
        api.verify(unnamed, unnamed, proof=proof, **asked)  # type: ignore[arg-type]  # the test's own keywords
    assert str(caught.value).startswith(f"{unnamed}: ")
    assert "t0" in str(caught.value)


@pytest.mark.ci
def test_what_a_signature_calls_an_input_is_a_name_too(tmp_path: Path) -> None:
    path, after = tmp_path / "m.tflite", tmp_path / "after.tflite"
    signatures = {"serve": Signature(inputs={"left": "x", "right": "z"}, outputs={"sum": "y"})}
    path.write_bytes(tflite("y[?,3] = ADD(x[?,3], z[?,3])", signatures=signatures))
    for asked in ({"shapes": {"left": (2, 3), "z": (2, 3)}}, {"dims": {"left[0]": 2, "right[0]": 2}}):
        outcome = api.fix_file(path, after, **asked)  # type: ignore[arg-type]  # the test's own keywords
        assert outcome.verdict is not None
        assert outcome.verdict.status == "proved"
        assert api.verify(path, after, **asked).status == "proved"  # type: ignore[arg-type]  # as above
