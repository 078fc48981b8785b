"""A proof is never wrong: faults planted into fixed models are not proved, unless the runs find nothing either."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import notation
import onnx
import proof_faults
import proof_faults_tflite
import pytest

from graphfix import api
from graphfix.results import GraphfixError
from graphfix.verify import verify
from graphfix.verify.proof import prove

MODELS = Path(__file__).parents[2] / "models"
UNSTABLE = {"random_output.onnx", "encoder.onnx"}
"""The first differs from run to run, the second is only slow: it has no kind of node that no other has."""
PLACES = 3
"""How many places a fault is planted at, in each model."""
UNRUN = {"per_channel_operand.tflite"}
"""LiteRT ends its process on it: whether a fault changes it can't be asked."""


@pytest.fixture(scope="module")
def fixed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[tuple[Path, Path]]]:
    """Every small model of a suffix, and what fix makes of it; those that are refused are left out."""
    folder = tmp_path_factory.mktemp("fixed")

    def pairs(suffix: str) -> list[tuple[Path, Path]]:
        made = []
        for path in sorted(MODELS.glob(f"*{suffix}")):
            output = folder / path.name
            try:
                if not output.exists() and path.name not in UNSTABLE:
                    api.fix_file(path, output, check_result=False)
            except GraphfixError:
                continue
            if output.exists():
                made.append((path, output))
        return made

    return pairs


def _unproved(before: Path, after: Path, *, tflite: bool) -> bool:
    """Whether a faulty file is not proved; where it is, both files must run to the same bits."""
    try:
        proof = prove(before, after, tflite=tflite)
    except GraphfixError:
        return True
    if proof.proved:
        verdict = verify(before, after, proof="without", runs=2)
        assert verdict.status == "equal", verdict
    return not proof.proved


@pytest.mark.parametrize("kind", proof_faults.FAULTS)
def test_no_fault_of_an_onnx_model_is_proved(
    kind: str, fixed: Callable[[str], list[tuple[Path, Path]]], tmp_path: Path
) -> None:
    found = 0
    faulty = tmp_path / "faulty.onnx"
    for before, after in fixed(".onnx"):
        model = onnx.load(after)
        for _ in _places(proof_faults.FAULTS[kind](model)):
            faulty.write_bytes(model.SerializeToString())
            found += _unproved(before, faulty, tflite=False)
    assert found


@pytest.mark.parametrize("kind", proof_faults_tflite.FAULTS)
def test_no_fault_of_a_tflite_model_is_proved(
    kind: str, fixed: Callable[[str], list[tuple[Path, Path]]], tmp_path: Path
) -> None:
    found = 0
    faulty = tmp_path / "faulty.tflite"
    for before, after in fixed(".tflite"):
        if "_int16" in before.stem or "_bool" in before.stem or before.name in UNRUN:
            continue  # the same graphs as without the ending
        model = proof_faults_tflite.unpacked(after.read_bytes())
        for _ in _places(proof_faults_tflite.FAULTS[kind](model)):
            faulty.write_bytes(proof_faults_tflite.packed(model))
            found += _unproved(before, faulty, tflite=True)
    assert found


def _places(fault: Iterator[None]) -> Iterator[None]:
    """The first places; the rest is not planted."""
    return islice(fault, PLACES)


def test_a_faulty_legacy_axis_in_the_first_file_is_not_proved(tmp_path: Path) -> None:
    before, after = MODELS / "legacy_axis.onnx", tmp_path / "after.onnx"
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
