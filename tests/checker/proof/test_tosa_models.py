"""Every model that target tosa takes is proved, at the sizes that it was fixed for, but for those that are named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import onnx
import pytest
from proof_table import Sizes, fixed, proved

from graphfix.results import GraphfixError
from tests.support.by_runs import verify
from tests.support.faults.onnx import planted as onnx_faults
from tests.support.faults.tflite import planted as tflite_faults
from tests.support.places import MODELS, committed_models, model_id, zoo_models
from tests.support.proving import prove
from tests.support.tiers import by_model

ALL = committed_models()
REAL = [*zoo_models("onnx"), *zoo_models("tflite")]
UNDEFINED = {"operators/atan2_unequal.tflite"}
"""LiteRT reads behind the end of an operand: the model as it is computes nothing that a proof could compare."""


@pytest.mark.alike(2)
@pytest.mark.parametrize("path", by_model(path for path in ALL if model_id(path) not in UNDEFINED))
def test_a_model_that_is_fixed_for_tosa_is_proved(path: Path, tmp_path: Path) -> None:
    try:
        verdict = proved(path, tmp_path / path.name, "tosa")
    except GraphfixError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert "needs sizes" in refusal or "GF105" in refusal
        return
    assert verdict.proof is not None
    assert verdict.proof["reason"] is None


@pytest.mark.parametrize("name", sorted(UNDEFINED))
def test_what_the_first_file_leaves_open_is_not_proved(name: str, tmp_path: Path) -> None:
    assert proved(MODELS / name, tmp_path / "after.tflite", "tosa").status == "undecided"


@pytest.mark.full
@pytest.mark.parametrize("path", REAL)
def test_a_real_model_that_is_fixed_for_tosa_is_proved(path: Path, tmp_path: Path) -> None:
    """In CI that is asked of the real models that are converted too (tests/tosa/test_zoo.py)."""
    verdict = proved(path, tmp_path / path.name, "tosa")
    assert verdict.proof is not None
    assert verdict.proof["reason"] is None


# --- faults -------------------------------------------------------------------------------------------------------

UNRUN = {"operators/random_output.onnx", "encoder.onnx", "quantized/per_channel_operand.tflite"}
"""Different from run to run, slow, and one that ends LiteRT's process."""
PLACES = 3
"""How many places a fault is planted at, in each model."""
SOME = 12
"""In how many models CI plants a fault of a kind, of those with a place for it."""
WITHOUT_A_PLACE = {
    (".onnx", "stretched_by_the_wrong_operand"),
    (".onnx", "unsqueezed_at_another_axis"),
    (".onnx", "slope_of_another_axis"),
    (".onnx", "legacy_axis_misread"),
    (".tflite", "lifted_at_another_axis"),
    (".tflite", "condition_padded_in_front"),
}
"""The target leaves no shape that is known at run time only, and none of the nodes that these change."""
KINDS = [
    (suffix, kind)
    for suffix, faults in ((".onnx", onnx_faults.FAULTS), (".tflite", tflite_faults.FAULTS))
    for kind in faults
    if (suffix, kind) not in WITHOUT_A_PLACE
]


Made = Callable[[Path], tuple[Path, Sizes] | None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """What fix makes of a small model for target tosa, and the sizes; None where it refuses."""
    folder = tmp_path_factory.mktemp("made")

    @cache
    def make(path: Path) -> tuple[Path, Sizes] | None:
        after = folder / path.relative_to(MODELS)
        after.parent.mkdir(parents=True, exist_ok=True)
        try:
            return after, fixed(path, after, "tosa")
        except GraphfixError:
            return None

    return make


def candidates(suffix: str, kind: str) -> list[Path]:
    """The small models, for each kind of fault in another order, drawn by its name."""
    paths = [
        path
        for path in committed_models(suffix.removeprefix("."))
        if model_id(path) not in UNRUN and not path.stem.endswith(("_int16", "_bool"))
    ]
    Random(kind).shuffle(paths)  # noqa: S311 -- no secret
    return paths


def planted(kind: str, after: Path) -> Iterator[bytes]:
    """The file with a fault of a kind at one place after another."""
    tflite = after.suffix == ".tflite"
    model = tflite_faults.unpacked(after.read_bytes()) if tflite else onnx.load(after)
    faults = (tflite_faults if tflite else onnx_faults).FAULTS[kind](model)
    return (tflite_faults.packed(model) if tflite else model.SerializeToString() for _ in islice(faults, PLACES))


@pytest.mark.parametrize(
    "most", [pytest.param(SOME, id="some", marks=pytest.mark.ci), pytest.param(None, id="all", marks=pytest.mark.full)]
)
@pytest.mark.parametrize(("suffix", "kind"), KINDS)
def test_no_fault_in_a_model_that_is_fixed_for_tosa_is_proved(
    suffix: str, kind: str, most: int | None, made: Made, tmp_path: Path
) -> None:
    """Unless the runs find both files equal as well: an operand may be rewired to one that holds the same.

    CI plants each kind in `SOME` of the models that have a place for it, `full` in all.
    """
    faulty, places = tmp_path / f"faulty{suffix}", 0
    for before in candidates(suffix, kind):
        if places == most:
            break
        after = made(before)
        faults = [] if after is None else list(planted(kind, after[0]))
        places += bool(faults)
        for data in faults:
            faulty.write_bytes(data)
            assert after is not None
            try:
                proof = prove(before, faulty, shapes=after[1], tflite=suffix == ".tflite")
            except GraphfixError:
                continue
            if proof.proved:
                verdict = verify(before, faulty, shapes=after[1], runs=2)
                assert verdict.status == "equal", (before.name, verdict.reason)
    assert places
