"""The Python face of `graphfix tosa`: a model fixed for TOSA, verified, converted, validated, and run if asked."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from graphfix import api
from graphfix.formats import publish as place
from graphfix.results import GraphfixError, Outcome
from graphfix.tosa import convert

BYTECODE = ".mlirbc"
WRITTEN = frozenset({"converted", "agrees"})
"""The conversions whose files appear."""


def tosa_file(
    source: str | Path,
    output: str | Path,
    *,
    dims: api.Texts = api.NONE,
    shapes: api.Texts = api.NONE,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    bind_defaults: bool = False,
    max_expand_bytes: int | None = None,
    check_result: bool = True,
    run: bool = False,
    inputs: Sequence[Path] = (),
    seed: int = 0,
    progress: api.Progress | None = None,
) -> Outcome:
    """Fix one file for the target `tosa`, verify that, convert and validate it, and run it where `run` says so.

    The TOSA flatbuffer `output`, and beside it the MLIR bytecode that it was made from, with the suffix `.mlirbc`,
    appear together, when everything that was asked for went well. The rewritten model is verified against the original
    by runs, unless `check_result` is False. Raises GraphfixError where a tool is not installed.
    """
    source, output = Path(source), Path(output)
    bytecode = output.with_suffix(BYTECODE)
    if bytecode == output:
        raise GraphfixError(f"{output}: the bytecode gets this name; name the TOSA file, such as {output.stem}.tosa")
    for path in (output, bytecode):
        place.refuse(source, path, in_place=False)
    for path in inputs:  # they are read at the end of it all: a slip in a name is told before
        if not path.exists():
            raise GraphfixError(f"{path}: no such file; --inputs takes an .npz file or a test_data_set folder")
    tool = convert.converter(api.format_of(source))
    with place.room(output) as folder:
        files = convert.Files(source, folder / f"fixed{source.suffix}", folder / "made.mlirbc", folder / "made.tosa")
        fixed = api.fix_file(
            source,
            files.fixed,
            target="tosa",
            dims=dims,
            shapes=shapes,
            only=only,
            skip=skip,
            bind_defaults=bind_defaults,
            max_expand_bytes=max_expand_bytes,
            check_result=check_result,
            seed=seed,
            progress=progress,
        )
        outcome = replace(fixed, command="tosa", output=None)
        if fixed.output is None:
            return outcome
        started = time.perf_counter()
        done = convert.convert(files, tool, run=run, seed=seed, inputs=inputs, progress=progress or _nothing)
        outcome = replace(
            outcome, conversion=done, seconds={**fixed.seconds, "tosa": round(time.perf_counter() - started, 6)}
        )
        if done.status not in WRITTEN:
            return outcome
        place.publish_pair((files.bytecode, bytecode), (files.tosa, output))
    return replace(outcome, output=str(output), conversion=replace(done, bytecode=str(bytecode)))


def _nothing(_: str) -> None:
    """Progress that nobody watches."""
