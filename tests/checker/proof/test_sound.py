"""A proof is never wrong: faults planted into fixed models are not proved, in two models of each kind at least."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from pathlib import Path

import onnx
import pytest

from graphfix import api
from graphfix.results import GraphfixError
from tests.support import notation
from tests.support.checked import verify
from tests.support.faults.models import MODELS as MADE
from tests.support.faults.onnx import planted as onnx_faults
from tests.support.faults.tflite import planted as tflite_faults
from tests.support.fixed_files import FixedFiles
from tests.support.places import MODELS, committed_models, model_id
from tests.support.proving import prove
from tests.support.tiers import is_covering

UNSTABLE = {"operators/random_output.onnx", "encoder.onnx"}
"""The first differs from run to run, the second is only slow: it has no kind of node that no other has."""
PLACES = 3
"""How many places a fault is planted at, in each model."""
AT_LEAST = 2
"""In how many models a fault of each kind is found; among those of plain `pytest`, in one."""
NO_FAULTS: Mapping[tuple[str, str], str] = {
    (".onnx", "attribute_dropped"): "it said what is the default, or the axis of a scale of one element",
    (
        ".onnx",
        "stretched_by_the_wrong_operand",
    ): "the other's sizes are among those that meet in the reader, or are 1: it broadcasts",
    (".tflite", "another_operator"): "SELECT and SELECT_V2 are one where the condition is a scalar or has all axes",
}
"""Kinds of change that leave some models what they are, and how. The runs then have to find the same."""
RARE = 8
"""How often, at most."""
SCOPE = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.ci)], ids=["cover", "all"])
"""Faults are planted into the cover of the committed models, or into all of them."""

Pairs = Sequence[tuple[Path, Path]]


@pytest.fixture(scope="module")
def pairs(fixed: FixedFiles, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Pairs]:
    """Every small model of a suffix, and what fix makes of it; those that are refused are left out."""
    folder = tmp_path_factory.mktemp("made")
    return cache(lambda suffix: list(_pairs(fixed, folder, suffix)))


def _pairs(fixed: FixedFiles, folder: Path, suffix: str) -> Iterator[tuple[Path, Path]]:
    targets = {
        path: "explicit" for path in committed_models(suffix.removeprefix(".")) if model_id(path) not in UNSTABLE
    }
    for name, data in MADE.items():
        if name.endswith(suffix):
            (folder / name).write_bytes(data)
            targets[folder / name] = "ranks"
    for path, target in targets.items():
        if path.stem.endswith(("_int16", "_bool")) and not is_covering(path):
            continue  # the same graphs as without the ending
        with suppress(GraphfixError):
            yield path, fixed(path, target)[0]


def _proved(before: Path, after: Path) -> bool:
    try:
        return prove(before, after, tflite=before.suffix == ".tflite").proved
    except GraphfixError:
        return False


def _judged(kind: str, pairs: Pairs, planted: Callable[[Path], Iterator[bytes]], faulty: Path, *, every: bool) -> None:
    """Each fault is found, or is none: then its kind is known for that, and both files run to the same bits."""
    found, alike, suffix = set(), 0, faulty.suffix
    for before, after in pairs if every else [pair for pair in pairs if is_covering(pair[0]) or pair[0].name in MADE]:
        for data in planted(after):
            faulty.write_bytes(data)
            if not _proved(before, faulty):
                found.add(before.name)
                continue
            alike += 1
            assert (suffix, kind) in NO_FAULTS, f"{kind} of {before.name} is proved"
            verdict = verify(before, faulty, proof="without", runs=2)
            assert verdict.status == "equal", f"{kind} of {before.name} is proved, and runs say {verdict.status}"
    assert len(found) >= (AT_LEAST if every else 1)
    assert alike <= RARE


@SCOPE
@pytest.mark.parametrize("kind", onnx_faults.FAULTS)
def test_no_fault_of_an_onnx_model_is_proved(
    kind: str, every: bool, pairs: Callable[[str], Pairs], tmp_path: Path
) -> None:
    def planted(after: Path) -> Iterator[bytes]:
        model = onnx.load(after)
        for _ in islice(onnx_faults.FAULTS[kind](model), PLACES):
            yield model.SerializeToString()

    _judged(kind, pairs(".onnx"), planted, tmp_path / "faulty.onnx", every=every)


@SCOPE
@pytest.mark.parametrize("kind", tflite_faults.FAULTS)
def test_no_fault_of_a_tflite_model_is_proved(
    kind: str, every: bool, pairs: Callable[[str], Pairs], tmp_path: Path
) -> None:
    def planted(after: Path) -> Iterator[bytes]:
        model = tflite_faults.unpacked(after.read_bytes())
        for _ in islice(tflite_faults.FAULTS[kind](model), PLACES):
            yield tflite_faults.packed(model)

    _judged(kind, pairs(".tflite"), planted, tmp_path / "faulty.tflite", every=every)


@pytest.mark.ci
@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_each_model_without_a_fault_is_proved(suffix: str, pairs: Callable[[str], Pairs]) -> None:
    assert [before.name for before, after in pairs(suffix) if not _proved(before, after)] == []


@pytest.mark.parametrize("kind", onnx_faults.FAULTS)
def test_a_model_has_one_fault_at_a_time(kind: str, pairs: Callable[[str], Pairs]) -> None:
    for _, after in pairs(".onnx"):
        model = onnx.load(after)
        kept = model.SerializeToString(deterministic=True)
        assert all(model.SerializeToString(deterministic=True) != kept for _ in onnx_faults.FAULTS[kind](model))
        assert model.SerializeToString(deterministic=True) == kept


def test_a_faulty_legacy_axis_in_the_first_file_is_not_proved(tmp_path: Path) -> None:
    before, after = MODELS / "legacy" / "axis.onnx", tmp_path / "after.onnx"
    api.fix_file(before, after, check_result=False)
    model = onnx.load(before)
    for node in model.graph.node:
        for attribute in node.attribute:
            if attribute.name == "axis":
                attribute.i = 0 if attribute.i else 1
    misread = tmp_path / "misread.onnx"
    misread.write_bytes(model.SerializeToString())
    assert prove(before, after).proved
    assert not prove(misread, after).proved


@pytest.mark.parametrize("body", ["e = Expand(b[], s)\nz = Neg(e)", "z = Expand(b[], s)"])
def test_a_stretch_by_the_shape_of_another_value_of_unknown_rank_is_not_proved(body: str, tmp_path: Path) -> None:
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path, by in zip(paths, ("x[*]", "y[*]"), strict=True):
        onnx.save(notation.model(f"p = Neg(x[*])\nq = Neg(y[*])\ns = Shape({by})\n{body}"), path)
    assert not prove(*paths).proved
    assert prove(paths[0], paths[0]).proved
