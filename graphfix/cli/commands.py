"""The commands: hand the request over, print the answer on stdout, end with the status that says it."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from graphfix import report
from graphfix.cli import parser
from graphfix.engine.request import Progress, Request
from graphfix.results import GraphfixError, Outcome, OverwriteError

DONE, NO, FAILED, UNDECIDED = 0, 1, 2, 3
WORST = (DONE, NO, UNDECIDED, FAILED)
"""Of several models the one whose status stands last here decides."""
INTERRUPTED, PIPE_CLOSED = 130, 141
"""What a shell says of a program that an interrupt, or a pipe closed at its other end, has ended."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its status: 0 done, 1 the answer is no, 2 it could not be done, 3 not decided."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name that the terminal can't show is no reason to stop
    options = parser.parser().parse_args(argv)
    try:
        status = COMMANDS[options.command](options)
        sys.stdout.flush()
    except GraphfixError as error:
        _say(str(error))
        return FAILED
    except BrokenPipeError:
        _drop_stdout()
        return PIPE_CLOSED
    except OSError as error:
        _drop_stdout()
        _say(f"{error.filename or 'stdout'}: {error.strerror}")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


# --- the commands ------------------------------------------------------------------------------------------


def _fix(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.api import pipeline

    output = options.output or (options.model if options.in_place else None)
    if output is None:
        raise GraphfixError(f"{options.model}: say where the result goes: -o OUT, or --in-place")
    return pipeline.fix_file(options.model, output, _request(options, progress))


def _check(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.api import pipeline

    return pipeline.check(options.model, _request(options, progress))


def _verify(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.api import pipeline

    if options.proof == "only" and any(given is not None for given in (options.inputs, options.atol, options.rtol)):
        raise GraphfixError(f"{options.model}: --proof-only runs nothing: leave out --inputs, --atol and --rtol")
    return pipeline.verify(options.model, options.after, _request(options, progress))


def _tosa(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.tosa import command

    if options.run_on and not options.run:
        raise GraphfixError(f"{options.model}: --inputs says what to run on: say --run too")
    return command.fix_and_convert(options.model, options.output, _request(options, progress))


def _show(options: Namespace) -> int:
    from graphfix.api import pipeline

    request = _request(options, None)
    for line in pipeline.show(options.model, request, maps=options.maps, broadcasts_only=options.broadcasts_only):
        print(report.printable(line))
    return DONE


def _explain(options: Namespace) -> int:
    from graphfix import api

    print(api.explain(options.topic or "", target_file=options.target_file).rstrip("\n"))
    return DONE


def _request(options: Namespace, progress: Progress | None) -> Request:
    """What was asked: the parser keeps each option under the name of the request's field."""
    bound = {
        "dims": _once("--dim", options.dims),
        "shapes": _once("--shape", options.shapes),
        "values": _once("--set", options.values),
    }
    reports = tuple(getattr(options, "report", ()))
    return Request.of({**vars(options), **bound, "report": reports, "progress": progress})


def _once(option: str, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise GraphfixError(f"{option} {name}: given more than once; say it once")
    return dict(pairs)


# --- their answers -----------------------------------------------------------------------------------------


def _answer(options: Namespace) -> int:
    """Ask `fix`, `check`, `verify` or `tosa` about each model; the failure of one does not stop the others."""
    models: Sequence[Path] = options.models if options.command == "check" else [options.model]
    _refuse_reports(options, models)  # before the work, not after it
    ask = ASKS[options.command]
    entries: list[report.Entry] = []
    for model in models:
        options.model = model
        entries.append(_entry(options, ask))
        _print_answer(options, entries[-1])
    if options.json:
        print(report.json_text(entries), end="")
    elif len(entries) > 1 and not options.quiet:
        print(report.totals(entries))
    for path in options.report:
        report.write(path, entries)
    strict = getattr(options, "strict_proof", False)
    return max((_status(entry, strict=strict) for entry in entries), key=WORST.index)


def _refuse_reports(options: Namespace, models: Sequence[Path]) -> None:
    """Raise GraphfixError for a report that can't be written, or would replace a file that is read or written."""
    from graphfix.formats import publish

    named = {"the target file": "target_file", "the output": "output", "the second model": "after"}
    files = [(what, getattr(options, name, None)) for what, name in named.items()]
    files += [("the model", model) for model in models]
    files += [
        ("what the runs read", file) for file in (getattr(options, "inputs", None), *getattr(options, "run_on", ()))
    ]
    for path in options.report:
        report.refuse(path)
        publish.refuse_overwrite(path, "the report", ((what, file) for what, file in files if file is not None))


def _entry(options: Namespace, ask: Callable[[Namespace, Progress | None], Outcome]) -> report.Entry:
    try:
        with _progress(options) as progress:
            return ask(options, progress)
    except OverwriteError:
        raise
    except GraphfixError as error:
        return report.Failure(options.command, str(options.model), str(error))


def _print_answer(options: Namespace, entry: report.Entry) -> None:
    if isinstance(entry, report.Failure):
        sys.stdout.flush()  # where both streams are one, the lines stay in order
        _say(entry.error)
    elif not (options.json or options.quiet):
        print(report.table(entry))
    if isinstance(entry, Outcome) and _kept_back(entry, options):
        sys.stdout.flush()
        _say(report.unwritten(entry))


def _kept_back(outcome: Outcome, options: Namespace) -> bool:
    """Whether stderr must say why nothing was written: to those without the table, and always where `tosa` failed."""
    if outcome.command not in ("fix", "tosa") or outcome.output is not None:
        return False
    refused = outcome.conversion is not None and outcome.conversion.status == "refused"
    return refused or bool(options.json or options.quiet)


def _status(entry: report.Entry, *, strict: bool = False) -> int:
    if isinstance(entry, report.Failure):
        return FAILED
    if entry.conversion is not None:
        return CONVERTED[entry.conversion.status]
    if entry.command == "check":
        return NO if report.findings(entry) else DONE
    if entry.command == "fix" and entry.output is not None:
        return DONE
    different = entry.verdict is not None and entry.verdict.status in ("different", "contradicted")
    enough = ("proved",) if strict else ("equal", "proved")
    agreed = entry.command == "verify" and entry.verdict is not None and entry.verdict.status in enough
    return NO if different else DONE if agreed else UNDECIDED


CONVERTED: Mapping[str, int] = MappingProxyType(
    {
        "converted": DONE,
        "agrees": DONE,
        "differs": NO,
        "unpredictable": NO,
        "refused": FAILED,
        "not run": UNDECIDED,
    }
)
"""What `tosa` ends with."""
ASKS: Mapping[str, Callable[[Namespace, Progress | None], Outcome]] = MappingProxyType(
    {"fix": _fix, "check": _check, "verify": _verify, "tosa": _tosa}
)
COMMANDS: Mapping[str, Callable[[Namespace], int]] = MappingProxyType(
    {"fix": _answer, "check": _answer, "verify": _answer, "tosa": _answer, "show": _show, "explain": _explain}
)


# --- the streams -------------------------------------------------------------------------------------------


def _say(text: str) -> None:
    print(f"graphfix: {report.printable(text)}", file=sys.stderr)


@contextlib.contextmanager
def _progress(options: Namespace) -> Iterator[Progress | None]:
    """One line of stderr that is written over and gone at the end; nothing unless a person watches."""
    if options.quiet or not sys.stderr.isatty():
        yield None
        return
    columns = shutil.get_terminal_size().columns - 1

    def progress(text: str) -> None:
        print(f"\r\x1b[2K{report.printable(text)[:columns]}", end="", file=sys.stderr, flush=True)

    try:
        yield progress
    finally:
        print("\r\x1b[2K", end="", file=sys.stderr, flush=True)


def _drop_stdout() -> None:
    """Where stdout takes nothing more, let the interpreter's last flush go nowhere instead of failing."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
