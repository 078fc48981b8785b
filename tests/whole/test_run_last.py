"""What graph optimizers behind graphfix make of explicit forms, and that they may stand in front of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import graphfix
from tests.support.fixed_files import FixedFiles
from tests.support.places import MODELS, zoo_paths

CLASSIFIER = [path for path in zoo_paths("onnx") if "cls_mobile" in path.name]
"""A classifier of text lines with free sizes, whose SE blocks multiply [N,C,1,1] by [N,C,H,W]."""
DETECTOR = MODELS / "exported" / "fcos_dynamo.onnx"
LANGUAGE_MODEL = MODELS / "exported" / "llama_past_dynamo_opset18.onnx"
LIMIT = 300
"""Seconds; an optimizer may also abort, so each runs in a process of its own."""


def slimmed(path: Path, folder: Path) -> Path:
    out = folder / f"slimmed_{path.name}"
    program = "import sys, onnxslim; onnxslim.slim(sys.argv[1], sys.argv[2])"
    subprocess.run([sys.executable, "-c", program, str(path), str(out)], check=True, timeout=LIMIT)
    return out


def simplified(path: Path, folder: Path) -> Path:
    out = folder / f"simplified_{path.name}"
    tool = os.environ.get("GRAPHFIX_ONNXSIM") or "onnxsim"
    subprocess.run([tool, str(path), str(out)], check=True, timeout=LIMIT, capture_output=True)
    return out


def found(path: Path) -> list[str]:
    return [site.code for site in graphfix.check(path).sites if site.status == "found"]


def runs(before: Path, after: Path) -> str:
    return graphfix.verify(before, after, proof="without", runs=2).status


def expands(path: Path) -> int:
    return sum(node.op_type == "Expand" for node in onnx.load(path).graph.node)


def test_the_zoo_has_the_model() -> None:
    assert len(CLASSIFIER) == 1


@pytest.mark.ci
@pytest.mark.onnxsim
def test_an_optimizer_takes_stretches_out_and_check_names_them(fixed: FixedFiles, tmp_path: Path) -> None:
    """`mean[batch,sequence,1] + Expand(epsilon[1,1,1])`: onnxsim takes the Expand out, of all five normalizations."""
    explicit, _ = fixed(LANGUAGE_MODEL, "explicit")
    assert found(explicit) == []
    undone = simplified(explicit, tmp_path)
    assert runs(explicit, undone) == "equal"
    assert expands(explicit) - expands(undone) == 5
    assert found(undone) == ["GF102"] * 5
    again = tmp_path / "again.onnx"
    graphfix.fix_file(undone, again, check_result=False)
    assert found(again) == []
    assert expands(again) == expands(explicit)


@pytest.mark.ci
def test_an_optimizer_hides_that_sizes_are_equal_and_check_names_where(fixed: FixedFiles, tmp_path: Path) -> None:
    """Every Expand is still there: onnxslim writes what they are made of anew, and two may stretch the other side."""
    explicit, _ = fixed(DETECTOR, "explicit")
    assert found(explicit) == []
    slim = slimmed(explicit, tmp_path)
    assert runs(explicit, slim) == "equal"
    assert expands(slim) == expands(explicit)
    assert found(slim) == ["GF204", "GF204", "GF103", "GF103"]  # it stores 4*a + 1*b + 1 for (a + 1)*(b + 1)*4
    again = tmp_path / "again.onnx"
    graphfix.fix_file(slim, again, check_result=False)
    assert found(again) == []


@pytest.mark.ci
@pytest.mark.zoo
@pytest.mark.parametrize("path", CLASSIFIER)
def test_an_optimizer_breaks_an_explicit_model_and_verify_and_check_say_so(
    path: Path, fixed: FixedFiles, tmp_path: Path
) -> None:
    """It folds the Shape of a convolution's result, whose sizes are free, to a constant with -1 in it."""
    explicit, _ = fixed(path, "explicit")
    assert found(explicit) == []
    broken = slimmed(explicit, tmp_path)
    verdict = graphfix.verify(explicit, broken, proof="without", runs=2)
    assert verdict.status == "different"
    assert "the second model fails where the first runs" in str(verdict.runs)
    assert expands(broken) == expands(explicit)
    assert len(found(broken)) > 20
    assert set(found(broken)) == {"GF103"}


@pytest.mark.ci
@pytest.mark.zoo
@pytest.mark.parametrize("path", CLASSIFIER)
def test_in_front_of_graphfix_it_breaks_nothing(path: Path, tmp_path: Path) -> None:
    slim, explicit = slimmed(path, tmp_path), tmp_path / "explicit.onnx"
    assert graphfix.verify(path, slim, proof="without", runs=2, atol=1e-5, rtol=1e-4).status == "equal"
    outcome = graphfix.fix_file(slim, explicit, runs=2)
    assert outcome.verdict is not None
    assert outcome.verdict.status in ("proved", "equal")
    assert found(explicit) == []
