"""`fix`, `verify` and `tosa`: ask about a model, print the answer, return the status that says it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from graphfix.cli import streams, terminal
from graphfix.cli.requests import request
from graphfix.cli.status import DONE, FAILED, LEFT, NO, UNDECIDED
from graphfix.report.table import headline, table, unwritten
from graphfix.report.text import Entry, Failure, findings
from graphfix.results import GraphfixError, Outcome, OverwriteError
from graphfix.results.progress import Progress


def _fix(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.api import pipeline

    output = options.output or (options.model if options.in_place else None)
    if options.dry_run or options.diff:
        if options.diff and options.json:
            raise GraphfixError(f"{options.model}: --diff and --json can't be combined: leave one out")
        return pipeline.plan_file(options.model, output, request(options, progress))
    if output is None:
        raise GraphfixError(f"{options.model}: no output is given: add -o OUT, or --in-place")
    made = pipeline.fix_file(options.model, output, request(options, progress))
    if made.sites_left and (options.isolated or options.settings.file is not None):
        # the choices of the file are among the options: `check` must not read others beside them
        return replace(made, check_options=("--isolated", *made.check_options))
    return made


def _verify(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.api import pipeline

    if options.proof == "only" and any(given is not None for given in (options.inputs, options.atol, options.rtol)):
        raise GraphfixError(f"{options.model}: --proof-only runs nothing: leave out --inputs, --atol and --rtol")
    return pipeline.verify(options.model, options.after, request(options, progress))


def _tosa(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.tosa import command

    if options.run_on and not options.run:
        raise GraphfixError(f"{options.model}: --inputs is used only by runs: add --run")
    return command.fix_and_convert(options.model, options.output, request(options, progress))


def answer(options: Namespace) -> int:
    """Ask `fix`, `verify` or `tosa` about a model."""
    models = [name for name in ("model", "after") if hasattr(options, name)]
    with streams.opened(options, *models) as opened:
        refuse_reports(options, [options.model])  # before the work, not after it
        read_rewrites(options)
        made = opened.renamed_entry(entry(options, opened.refusing_data_files(ASKS[options.command], [options.model])))
        with opened.table(has_model=not (isinstance(made, Outcome) and made.dry_run)):
            print_answer(options, made, is_piped=opened.output is not None)
        write_reports(options, [made])
        opened.publish()
    result = status(made, strict=getattr(options, "strict_proof", False))
    return DONE if getattr(options, "exit_zero", False) and _is_accepted(made, result) else result


def write_reports(options: Namespace, entries: Sequence[Entry]) -> None:
    """Print the document of --json, and write the reports. Raises GraphfixError."""
    if options.json:
        from graphfix.report.forms.json import json_text

        print(json_text(entries), end="")
    for path in options.report:
        from graphfix.report.forms import registry  # imported here because few commands write reports

        registry.write(path, entries, terminal.run_facts())


def _is_accepted(entry: Entry, result: int) -> bool:
    """Return whether `fix --exit-zero` replaces this status by 0: sites are left, or a dry run would edit."""
    return result == LEFT or (result == NO and isinstance(entry, Outcome) and entry.dry_run)


def refuse_reports(options: Namespace, models: Sequence[Path], made: Path | None = None) -> None:
    """Raise GraphfixError for a report that can't be written, or would replace a file that is read or written.

    `made` is a folder that the command makes before it writes a report.
    """
    from graphfix.formats.neutral import publish

    attributes = {"the target file": "target_file", "the output": "output", "the second model": "after"}
    attributes |= {"the baseline": "baseline"}
    files = [(what, getattr(options, name, None)) for what, name in attributes.items()]
    files.append(("the configuration", options.settings.file))
    files += [("the model", model) for model in models]
    files += [
        ("what the runs read", file) for file in (getattr(options, "inputs", None), *getattr(options, "run_on", ()))
    ]
    for path in options.report:
        from graphfix.report.forms import registry

        folder_is_made = made is not None and publish.is_one_file(path.parent, made)
        registry.refuse(path, len(models), folder_is_made=folder_is_made)
        publish.refuse_overwrite(path, "the report", ((what, file) for what, file in files if file is not None))


def read_rewrites(options: Namespace) -> Sequence[str]:
    """Run the files of the user's own rewrites, once for the whole command; return their finding codes.

    Raises GraphfixError for what is not a rewrite.
    """
    if not (getattr(options, "rewrites", ()) or getattr(options, "only", ()) or getattr(options, "skip", ())):
        return ()
    from graphfix.api import own_rewrites

    options.rewrites = owns = list(own_rewrites.load(options.rewrites))
    own_rewrites.check_names(owns, (*options.only, *options.skip))
    return own_rewrites.codes(owns)


def entry(
    options: Namespace, ask: Callable[[Namespace, Progress | None], Outcome], among: tuple[int, int] = (1, 1)
) -> Entry:
    """Return the outcome of a model, or the failure. `among` is (number of the model, number of models).

    Raises OverwriteError and OSError.
    """
    number, models = among
    name = f"{options.model.name} ({number} of {models})" if models > 1 else options.model.name
    try:
        with terminal.watched(options, name) as progress:
            return ask(options, progress)
    except (OverwriteError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 - a fault of graphfix is a failure of this model, with status 2
        terminal.trace(error, options)
        return Failure.of(options.command, str(options.model), error)


def print_answer(options: Namespace, entry: Entry, *, short: bool = False, is_piped: bool = False) -> None:
    """Print the table on stdout, or its first line if `short`, and errors on stderr.

    `is_piped`: the written model goes to stdout.
    """
    if isinstance(entry, Failure):
        sys.stdout.flush()  # where both streams are one, the lines stay in order
        terminal.say(entry.error, options.color)
    elif not (options.json or options.quiet):
        for line in _lines(options, entry, short=short, is_piped=is_piped):
            print(line)
    if isinstance(entry, Outcome) and _kept_back(entry, options):
        sys.stdout.flush()
        terminal.say(unwritten(entry), options.color)


def _lines(options: Namespace, outcome: Outcome, *, short: bool, is_piped: bool) -> Iterable[str]:
    """Return the answer for stdout: the diff if it was asked for, else the table, or its first line if `short`."""
    paint = terminal.paint(options.color, sys.stdout)
    if getattr(options, "diff", False):
        from graphfix.report.diff import diff_lines

        return diff_lines(outcome, paint)
    if short:
        return [headline(outcome, paint)]
    return [table(outcome, paint, is_complete=options.verbose, is_piped=is_piped)]


def _kept_back(outcome: Outcome, options: Namespace) -> bool:
    """Return whether stderr must explain why nothing was written.

    It must if the table is not printed, and always if the conversion to TOSA was refused.
    """
    refused = outcome.conversion is not None and outcome.conversion.status == "refused"
    return wrote_nothing(outcome) and (refused or bool(options.json or options.quiet))


def wrote_nothing(outcome: Outcome) -> bool:
    """Return whether a file should have been written, but was not."""
    return outcome.command in ("fix", "tosa") and outcome.output is None and not outcome.dry_run


def status(entry: Entry, *, strict: bool = False) -> int:
    """Return the exit status for an entry; with `strict`, only a proof is good enough."""
    if isinstance(entry, Failure):
        return FAILED
    if entry.conversion is not None:
        return CONVERTED[entry.conversion.status]
    if entry.command == "check":
        return NO if findings(entry) else DONE
    if entry.command == "fix" and entry.dry_run:
        return NO if entry.changed else DONE
    if entry.command == "fix" and entry.output is not None:
        return LEFT if entry.sites_left else DONE
    different = entry.verdict is not None and entry.verdict.is_no
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
"""By status of a conversion: the exit status of `tosa`."""
ASKS: Mapping[str, Callable[[Namespace, Progress | None], Outcome]] = MappingProxyType(
    {"fix": _fix, "verify": _verify, "tosa": _tosa}
)
