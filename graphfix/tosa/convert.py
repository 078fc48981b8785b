"""Convert a fixed model to a TOSA file: conversion, validation, and runs if they are requested."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graphfix.api.steps import timed
from graphfix.engine.request import Request
from graphfix.results import Conversion, GraphfixError
from graphfix.results.records import dataclass
from graphfix.runtimes import tosa
from graphfix.runtimes.extras import install_command
from graphfix.runtimes.session import RefusedError

SPECIFICATION = f"TOSA {tosa.SPECIFICATION}, level {tosa.LEVEL}"
BLOCKED = "no converter takes what is named beforehand, so none was asked"
_CUSTOM = "tosa.custom:"


@dataclass(frozen=True, slots=True)
class Files:
    """The files of one conversion."""

    original: Path
    fixed: Path
    bytecode: Path
    tosa: Path
    narrow: bool = False
    """Whether every int64 of the fixed model is known to fit into int32."""


def converter(format_: str) -> str:
    """Return the name of the tool that converts a format.

    Raises GraphfixError if that tool or tosa-opt is not installed.
    """
    tool = tosa.CONVERTERS[format_]
    installed = tosa.versions()
    missing = [name for name in (tool, tosa.TOSA_TOOLS) if name not in installed]
    if missing:
        verb = "are" if len(missing) > 1 else "is"
        raise GraphfixError(f"{' and '.join(missing)} {verb} not installed: {install_command('tosa')}")
    return tool


def blocked(tool: str) -> Conversion:
    """Return the result for a model that no converter accepts as it is, so no converter was started."""
    return Conversion("refused", tool, reason=BLOCKED, specification=SPECIFICATION, versions=_versions(tool))


def _versions(tool: str) -> dict[str, str]:
    """Return the versions of the converter and of the TOSA tools."""
    return {name: version for name, version in tosa.versions().items() if name in (tool, tosa.TOSA_TOOLS)}


def convert(files: Files, tool: str, request: Request) -> tuple[Conversion, dict[str, float]]:
    """Convert `files.fixed`, validate it strictly, and compare it with `files.original` if the request has `run`.

    Returns the result, and the seconds of each step. Writes `files.bytecode` and, if the module conforms, `files.tosa`.
    A model that can't be converted raises no error: the status of the result is `refused`, with the tool's own reason.
    """
    done = Conversion("converted", tool, specification=SPECIFICATION, versions=_versions(tool))
    seconds: dict[str, float] = {}
    try:
        request.progress(f"converting with {tool}")
        with timed(seconds, "convert"):
            tosa.convert(tool, files.fixed, files.bytecode, narrow=files.narrow)
        request.progress("validating with tosa-opt")
        with timed(seconds, "validate"):
            validation = tosa.validate(files.bytecode, files.tosa)
    except RefusedError as error:
        return replace(done, status="refused", reason=str(error)), seconds
    if not validation.valid:
        more = len(validation.errors) - 1
        reason = f"tosa-opt: {validation.errors[0]}{f' (and {more} more)' if more else ''}"
        return replace(done, status="refused", reason=reason), seconds
    done = replace(done, operators=validation.operators)
    if request.run:
        with timed(seconds, "run"):
            done = _run(done, files, request)
    return done, seconds


def _run(done: Conversion, files: Files, request: Request) -> Conversion:
    """Return the conversion with the result of the comparison. A model with custom operators is not run."""
    from graphfix.tosa.agreement import agreement

    custom = ", ".join(name.removeprefix(_CUSTOM) for name in done.operators if name.startswith(_CUSTOM))
    if custom:
        reason = f"it holds custom operators, which only their owner runs: {custom}"
        return replace(done, status="not run", reason=reason)
    return agreement(done, files.original, files.fixed, files.tosa, request)
