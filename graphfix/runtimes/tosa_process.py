"""A process that a TOSA tool has for itself: what it answered, how it ended and what it complained of."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphfix.runtimes.session import RefusedError, one_line

_ERROR = re.compile(r"(?P<where>.*?)(?:: )?\berror: (?P<what>.*)")
_PLACED = re.compile(r"(?P<where>loc\(.*?\)): (?P<what>.*)")
_OPERATOR = re.compile(r"'(?P<name>[\w.]+)' op (?P<what>.*)")
_QUOTED = re.compile(r'loc\([^"]*"([^"]+)"')
_ASSERTION = re.compile(r"(Assertion .* failed|LLVM ERROR: .*|CHECK FAIL.*|REQUIRE\(\) fails.*|Check failed: .*)")
_LONGEST_LINE = 4096
"""Of a line only so much is read: MLIR's notes print whole weights."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A process that has ended."""

    cause: str
    """Why it ended badly: a signal's name or an exit status; empty where it ended well."""
    killed: bool
    """Whether a signal ended it."""
    errors: tuple[str, ...]
    """What it complained of on its standard error, each complaint once, in order."""
    last: str
    """The last line it printed."""


def asked(tool: str, verb: str, arguments: tuple[object, ...], seconds: float) -> Any:  # noqa: ANN401 - the verb's answer
    """Have `graphfix.runtimes.tosa_worker` do one thing in a process of its own, and give its answer.

    Raises RefusedError in the tool's own words; `aborted` where the process died or was stopped.
    """
    with tempfile.TemporaryDirectory() as scratch:
        answer = Path(scratch) / "answer"
        command = [sys.executable, "-P", "-m", "graphfix.runtimes.tosa_worker", verb, str(answer)]
        ended = finished(tool, command, given=pickle.dumps(arguments, protocol=5), seconds=seconds)
        if ended.killed or not answer.exists():
            complaint = ended.errors[0] if ended.errors else ended.last
            how = f"{tool} aborts the process ({ended.cause})" if ended.killed else f"{tool} fails"
            raise RefusedError(one_line(f"{how}: {complaint}" if complaint else how), aborted=True)
        kind, value = pickle.loads(answer.read_bytes())  # noqa: S301 - our own child wrote it
    if kind == "refused":
        raise RefusedError(one_line(f"{tool}: {ended.errors[0] if ended.errors else value}"))
    return value


def finished(
    tool: str, command: Sequence[str], *, given: bytes = b"", folder: Path | None = None, seconds: float
) -> Ended:
    """Run a command to its end, in `folder` or nowhere. Raises RefusedError, `aborted`, after `seconds`.

    Its PATH is an empty folder: the reference model calls a debugger on its own corpse, LLVM a symbolizer.
    """
    with tempfile.TemporaryDirectory() as scratch:
        log = Path(scratch) / "log"
        python = os.pathsep.join(filter(None, map(os.path.abspath, sys.path)))
        environment = {**os.environ, "PYTHONPATH": python, "PATH": scratch}
        with log.open("wb") as printed:
            try:
                ended = subprocess.run(  # noqa: S603 - programs that this package or its tools installed
                    command,
                    input=given,
                    stdout=printed,
                    stderr=printed,
                    cwd=folder or scratch,
                    env=environment,
                    timeout=seconds,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                stopped = f"{tool} was stopped: no answer within {seconds:g} seconds"
                raise RefusedError(stopped, aborted=True) from None
        errors, last = _complaints(log)
    return Ended(_cause(ended.returncode), ended.returncode < 0, errors, last)


def _complaints(log: Path) -> tuple[tuple[str, ...], str]:
    """Read the errors of MLIR's diagnostics, each once, and the last line."""
    last, found = "", []
    with log.open(encoding="utf-8", errors="replace") as printed:
        for line in printed:
            last = line[:_LONGEST_LINE].strip() or last
            found.append(_complaint(line[:_LONGEST_LINE]))
    return tuple(dict.fromkeys(filter(None, found))), last


def _complaint(line: str) -> str:
    """Give what a line complains of, and the place where it names one; nothing where it does not complain.

    loc("y"("m.tflite":0:0)): error: 'tfl.prelu' op 'alpha' should ...   ->  tfl.prelu: 'alpha' should ... at 'y'
    <unknown>:0: error: loc("nn"): 'tosa.const' op is not aligned ...    ->  tosa.const: is not aligned ... at 'nn'
    """
    error = _ERROR.match(line)
    if error is None:
        assertion = _ASSERTION.search(line)
        return one_line(assertion[1]) if assertion else ""
    placed = _PLACED.match(error["what"])
    where, what = (placed["where"], placed["what"]) if placed else (error["where"], error["what"])
    operator = _OPERATOR.match(what)
    text = one_line(f"{operator['name']}: {operator['what']}" if operator else what)
    place = _QUOTED.match(where)
    return f"{text} at '{place[1]}'" if place else text


def _cause(status: int) -> str:
    if status >= 0:
        return f"exit status {status}" if status else ""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
