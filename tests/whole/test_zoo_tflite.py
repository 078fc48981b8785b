"""Real TFLite models, each fixed for both targets: verified, kept but for what was asked, and seen at run time."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.checker.verdict import COPIED
from tests.support import engine
from tests.support.fixed_files import FixedFiles
from tests.support.places import zoo_models
from tests.support.runtimes.litert_witness import Job, run
from tests.support.tflite import kept as kept_tflite
from tests.support.tflite.cut import without_custom
from tests.support.tflite.seen import BINDINGS, SETS, Change, is_free, stated_inputs, watched
from tests.support.tflite.tree import text, tree
from tests.support.tiers import quick_in_ci, some_in_ci

if TYPE_CHECKING:
    from tests.support.runtimes.litert_witness import Ran, Sizes

MODELS = zoo_models("tflite")
TARGETS = ("explicit", "ranks")
KERNEL_SETS = {"reference", "builtin", "xnnpack"}
CUSTOM = {
    "face_landmark_with_attention.tflite": {
        "Landmarks2TransformMatrix",
        "TransformLandmarks",
        "TransformTensorBilinear",
    },
    "selfie_segmentation.tflite": {"Convolution2DTransposeBias"},
    "selfie_segmentation_landscape.tflite": {"Convolution2DTransposeBias"},
}
"""The models with operators that LiteRT has no kernel for."""
BATCHES = (2, 3)
ONE_BATCH = {"face_landmark_with_attention.tflite"}
"""What LiteRT does not run at another batch: a RESHAPE in the original has the literal one."""


# --- what the command promises ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", quick_in_ci(MODELS))
def test_a_real_model_is_fixed_and_found_equal_on_every_kernel_set(path: Path, target: str, fixed: FixedFiles) -> None:
    out, outcome = fixed(path, target, verified=True)
    verdict = outcome.verdict
    assert verdict is not None
    assert verdict.status == "proved", verdict.reason
    assert out.exists()
    if not outcome.changed:
        assert verdict.reason == COPIED
        return  # a copy is not run
    assert {run.kernels for run in verdict.runs if run.status == "equal"} == KERNEL_SETS
    assert {name for name in CUSTOM.get(path.name, ()) if any(f"'{name}'" in line for line in verdict.assumes)} == (
        CUSTOM.get(path.name, set())
    )


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", MODELS)
def test_a_second_run_changes_nothing(path: Path, target: str, fixed: FixedFiles, tmp_path: Path) -> None:
    out, _ = fixed(path, target)
    assert not [site for site in graphfix.check(out, target=target).sites if site.status == "found"]
    again = graphfix.fix_file(out, tmp_path / "again.tflite", target=target, check_result=False)
    assert not again.changed
    assert (tmp_path / "again.tflite").read_bytes() == out.read_bytes()


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", MODELS)
def test_a_file_with_nothing_to_do_is_copied(path: Path, target: str, fixed: FixedFiles) -> None:
    out, outcome = fixed(path, target)
    assert outcome.changed == any(outcome.rewrites.values())
    assert (out.read_bytes() == path.read_bytes()) == (not outcome.changed)


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", MODELS)
def test_the_view_after_the_edits_is_that_of_the_written_file(path: Path, target: str, tmp_path: Path) -> None:
    derived = engine.load(path)
    engine.fix(derived, target=target)
    derived.save(tmp_path / "o.tflite")
    loaded = engine.load(tmp_path / "o.tflite")
    assert [graph.path for graph in derived.graphs] == [graph.path for graph in loaded.graphs]
    for mine, theirs in zip(derived.graphs, loaded.graphs, strict=True):
        assert [str(node) for node in mine.nodes] == [str(node) for node in theirs.nodes]


# --- what nobody named ------------------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", MODELS)
def test_what_no_site_names_is_kept(path: Path, target: str, fixed: FixedFiles) -> None:
    out, outcome = fixed(path, target)
    assert kept_tflite.differences(path.read_bytes(), out.read_bytes(), outcome.sites) == []


@pytest.mark.ci
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", MODELS)
def test_the_files_of_the_archive_behind_a_model_still_open(path: Path, target: str, fixed: FixedFiles) -> None:
    out, _ = fixed(path, target)
    assert archived(out.read_bytes()) == archived(path.read_bytes())


def archived(data: bytes) -> dict[str, bytes] | None:
    """The files of the ZIP behind a model; None where there is none."""
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return None
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.ci
@pytest.mark.zoo
def test_some_real_models_have_an_archive() -> None:
    paths = [parameter.values[0] for parameter in MODELS]
    assert sum(archived(path.read_bytes()) is not None for path in paths if isinstance(path, Path)) >= 10


# --- what is seen at run time -----------------------------------------------------------------------------------------


@pytest.mark.alike(2)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", quick_in_ci(MODELS))
def test_no_operator_of_a_real_model_broadcasts_at_run_time(
    path: Path, target: str, fixed: FixedFiles, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, outcome = fixed(path, target)
    (found,) = watched([Change(path, out, outcome.sites, target)], tmp_path)
    assert found.wrong == []
    assert all(found.ran[kernels] for kernels in SETS)
    assert len(found.sizes) == (BINDINGS if is_free(path) else 1)
    with capsys.disabled():
        for reason, count in found.excused.items():
            print(f"\n  {path.name} {target}: {count} x {' | '.join(map(str, reason))}", end="")  # noqa: T201 - the table


# --- other sizes ------------------------------------------------------------------------------------------------------


def batches(path: Path) -> list[Sizes]:
    """Every input at another size of its first axis."""
    return [{at: (batch, *shape[1:]) for at, shape in enumerate(stated_inputs(path)) if shape} for batch in BATCHES]


def at_batches(path: Path, folder: Path, *, every: bool) -> list[Ran]:
    """Each kernel set at a batch of its own, or at every one.

    XNNPACK has a kernel for a custom operator of MediaPipe's; without it the operator is cut out.
    """
    kinds = (("optimized", without_custom(path, folder)), ("xnnpack", path))
    if not every:
        return run([Job(str(file), sizes, kind) for sizes, (kind, file) in zip(batches(path), kinds, strict=True)])
    return run([Job(str(file), sizes, kernels) for sizes in batches(path) for kernels, file in kinds])


@pytest.mark.alike(2)
@pytest.mark.parametrize(("path", "every"), some_in_ci(quick_in_ci(MODELS), False, True))
def test_a_batch_that_a_model_takes_is_taken_after_ranks_or_the_report_of_explicit_names_the_input(
    path: Path, every: bool, fixed: FixedFiles, tmp_path: Path
) -> None:
    before = at_batches(path, tmp_path, every=every)
    assert (path.name in ONE_BATCH) == (not any(each.fine for each in before)), [each.error for each in before]
    wanted = [each.outputs for each in before]
    assert [each.outputs for each in at_batches(fixed(path, "ranks")[0], tmp_path, every=every)] == wanted
    out, outcome = fixed(path, "explicit")
    if [each.outputs for each in at_batches(out, tmp_path, every=every)] != wanted:
        lines = [line for line in outcome.assumes if "at its stored sizes" in line]
        assert [name for name in input_names(path) if not any(f"the input {name}" in line for line in lines)] == []


def input_names(path: Path) -> list[str]:
    graph = tree(path.read_bytes()).subgraphs[0]
    return [text(graph.tensors[index].name) for index in graph.inputs]
