"""The function behind `graphfix tosa`: it fixes a model for TOSA, verifies, converts, validates and can run it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from graphfix.api import arguments, format_of, loading, pipeline
from graphfix.engine.request import NONE, Dims, Request, Same, Shapes, Values
from graphfix.formats.neutral import publish
from graphfix.results import FileFacts, GraphfixError, Outcome
from graphfix.results.files.regular_files import file_path
from graphfix.results.progress import Progress
from graphfix.targets.tosa import questions
from graphfix.tosa import convert

if TYPE_CHECKING:
    from graphfix.graph.protocols import Step

BYTECODE = ".mlirbc"
WRITTEN = frozenset({"converted", "agrees"})
"""The statuses of a conversion whose files are written."""


def tosa_file(
    source: str | Path,
    output: str | Path,
    *,
    data_root: str | Path | Sequence[str | Path] = (),
    dims: Dims = NONE,
    shapes: Shapes = NONE,
    same: Same = (),
    trust_stored: bool | None = None,
    values: Values = NONE,
    signature: str | None = None,
    drop_set_inputs: bool = False,
    narrow_inputs: bool = False,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    rewrites: Sequence[ModuleType | Step | str | Path] = (),
    bind_defaults: bool = False,
    max_expand_bytes: int | None = None,
    check_result: bool = True,
    run: bool = False,
    inputs: Sequence[Path] = (),
    seed: int = 0,
    atol: float | None = None,
    rtol: float | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Fix one file for the target `tosa`, verify it, convert and validate it, and run it if `run` is True.

    Two files are written: the TOSA flatbuffer `output`, and beside it the MLIR bytecode that it was made from, with the
    suffix `.mlirbc`. Both appear together, and only if every requested step succeeded. The fixed model is verified
    against the original by a proof and by runs, unless `check_result` is False. `inputs` are files for the runs of the
    converted model, in place of seeded inputs. Raises GraphfixError if a tool is not installed.
    """
    request = arguments.request(locals(), inputs=None, run_on=inputs)
    return fix_and_convert(file_path("tosa_file", source), file_path("tosa_file", output), request)


def _original(source: Path, folder: Path, request: Request) -> Path:
    """Return the file that the converted model is compared with: the source, or the requested signature as a file.

    A TFLite model of several signatures is several functions, but TOSA has one function. So a signature must be
    requested. Raises GraphfixError.
    """
    if format_of(source) != "tflite":
        return source
    from graphfix.formats.tflite import signature

    if request.signature is not None:
        signature.extract(source, request.signature, folder / "original.tflite")
        return folder / "original.tflite"
    why = loading.several_signatures(source, request)
    if why is not None:
        raise GraphfixError(f"{source}: {why}")
    return source


def _of_the_fix(request: Request) -> Request:
    """Return the request for fixing the model.

    Its result must be bit for bit equal, so `atol` and `rtol` are removed.

    They only apply to the converted model.
    """
    return replace(request, target="tosa", target_file=None, stop_where_blocked=True, atol=None, rtol=None)


def fix_and_convert(source: Path, output: Path, request: Request) -> Outcome:
    """Fix and convert a model as the request states; both output files appear together. Raises GraphfixError."""
    bytecode = output.with_suffix(BYTECODE)
    if bytecode == output:
        raise GraphfixError(f"{output}: the bytecode gets this name; name the TOSA file, such as {output.stem}.tosa")
    for path in (output, bytecode):
        publish.refuse(source, path, in_place=False)
        publish.refuse_overwrite(path, "the output", (("what the runs read", file) for file in request.run_on))
    for path in request.run_on:  # The runs read these files last, so a wrong name is reported before all other work.
        if not path.exists():
            raise GraphfixError(f"{path}: no such file; --inputs takes an .npz file or a test_data_set folder")
    tool = convert.converter(format_of(source))
    with publish.scratch_folder(output) as folder:
        original = _original(source, folder, request)
        files = convert.Files(original, folder / f"fixed{source.suffix}", folder / "made.mlirbc", folder / "made.tosa")
        fixed = pipeline.rewrite_file(source, files.fixed, _of_the_fix(request))
        outcome = replace(fixed, command="tosa", output=None, files=fixed.files[:1])
        if fixed.output is None:
            blocked = any(site.blocks for site in fixed.sites)
            return replace(outcome, conversion=convert.blocked(tool)) if blocked else outcome
        files = replace(files, narrow=not (request.only or questions.leaves_int64(outcome.sites)))
        done, seconds = convert.convert(files, tool, request)
        outcome = replace(outcome, conversion=done, seconds={**fixed.seconds, **seconds})
        if done.status not in WRITTEN:
            return outcome
        publish.publish_pair((files.bytecode, bytecode), (files.tosa, output))
    if outcome.files:
        made = FileFacts(output.stat().st_size, sum(done.operators.values()))
        outcome = replace(outcome, files=[*outcome.files, made])
    return replace(outcome, output=str(output), conversion=replace(done, bytecode=str(bytecode)))
