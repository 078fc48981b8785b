"""Run the command `check`: check each model with its own options, print the findings, write the baseline."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path

from graphfix.api.loading import forget_models
from graphfix.batch import local_search
from graphfix.cli import answers, streams, terminal
from graphfix.cli.lint import known_findings
from graphfix.cli.lint.known_findings import KnownFindings
from graphfix.cli.lint.options import TEXT
from graphfix.cli.requests import request
from graphfix.cli.status import DONE, NO, WORST
from graphfix.cli.streams import Streams
from graphfix.report.findings.selection import CodeSelection, names_a_code
from graphfix.report.text import Entry, Failure, counted, findings
from graphfix.results import GraphfixError, Outcome
from graphfix.results.error_texts import hint
from graphfix.results.progress import Progress


def answer(options: Namespace) -> int:
    """Check each model and return the exit status. A model that fails does not stop the others."""
    with streams.opened(options, "models") as opened:
        return _checked(options, opened)


def _checked(options: Namespace, opened: Streams) -> int:
    models = local_search.models(options.models, options.exclude)
    asked = [_of(options, model) for model in models]
    _refuse(options, asked)  # before the work, not after it
    known_findings_file = known_findings.opened(options.baseline, options.write_baseline)
    entries = []
    for number, own in enumerate(asked, 1):
        entries.append(_entry(own, known_findings_file, (number, len(asked)), opened))
        forget_models()
    _print_all(options, entries)
    _remember(options, known_findings_file, entries)
    for path in options.report:
        from graphfix.report.forms import registry

        registry.write(path, entries, terminal.run_facts())
    worst = max((answers.status(entry) for entry in entries), key=WORST.index, default=DONE)
    return DONE if worst == NO and options.exit_zero else worst


def _of(options: Namespace, model: Path) -> Namespace:
    """Return the options for one model."""
    own: Namespace = options.settings.of(model)
    own.model = model
    own.form = "json" if own.json else own.form
    return own


def _check(options: Namespace, progress: Progress | None) -> Outcome:
    from graphfix.api import pipeline

    return pipeline.check(options.model, request(options, progress))


def _entry(options: Namespace, known_findings_file: KnownFindings, among: tuple[int, int], opened: Streams) -> Entry:
    """Check a model, remove the sites that do not count, and print its own lines."""
    made = opened.renamed_entry(answers.entry(options, opened.refusing_data_files(_check, [options.model]), among))
    if isinstance(made, Outcome):
        selection = CodeSelection(_codes(options.select), _codes(options.ignore))
        made = known_findings_file.counted(Path(made.source), made, selection)
    if options.form == TEXT or isinstance(made, Failure):
        clean = isinstance(made, Outcome) and not findings(made)
        answers.print_answer(options, made, short=clean and among[1] > 1)
    return made


def _codes(said: Sequence[str]) -> list[str]:
    return [code for codes in said for code in codes.split(",")]


def _refuse(options: Namespace, asked: Sequence[Namespace]) -> None:
    """Raise GraphfixError if a report or the baseline would replace a file that is read or written."""
    from graphfix.formats.neutral import publish

    answers.refuse_reports(options, [own.model for own in asked])
    for own in {(*own.report, own.target_file): own for own in asked}.values():
        answers.refuse_reports(own, [])  # its target file may be another one
    _refuse_codes(asked, list(_read_rewrites(asked)))
    if options.write_baseline is not None:
        files = [("a report", path) for path in options.report] + [("a model", own.model) for own in asked]
        files += [("a target file", own.target_file) for own in (options, *asked) if own.target_file is not None]
        files += [("the configuration", options.settings.file)] * (options.settings.file is not None)
        publish.refuse_overwrite(options.write_baseline, "the baseline", files)


def _read_rewrites(asked: Sequence[Namespace]) -> Iterator[str]:
    """Yield the finding codes of the user's own rewrites.

    Models with the same options for rewrites share the loaded rewrites.
    """
    alike: dict[tuple[str, ...], list[Namespace]] = {}
    for own in asked:
        alike.setdefault((*map(str, own.rewrites), " ", *own.only, " ", *own.skip), []).append(own)
    for first, *others in alike.values():
        yield from answers.read_rewrites(first)
        for other in others:
            other.rewrites = first.rewrites


def _refuse_codes(asked: Sequence[Namespace], own_codes: Sequence[str]) -> None:
    """Raise GraphfixError for a code that neither graphfix nor a rewrite of the user's own has."""
    from graphfix.report import pages

    finding_codes = (*pages.codes(), *own_codes)
    for code in dict.fromkeys(code for own in asked for code in (*_codes(own.select), *_codes(own.ignore))):
        if not names_a_code(code, finding_codes):
            how = hint(code, finding_codes, "; --rewrites FILE names a rewrite that has one")
            raise GraphfixError(f"no finding code begins with {code!r}{how}")


def _print_all(options: Namespace, entries: Sequence[Entry]) -> None:
    """Print the lines about all models together."""
    form = "json" if options.json else options.form
    if options.quiet:
        return
    if form != TEXT:
        from graphfix.report.forms import registry

        print(registry.TEXTS[form](entries), end="")
        return
    from graphfix.report import summary

    if not entries:
        print("no model to check: all that were named are excluded")
    if advice := summary.advice(entries):
        print(advice)
    if len(entries) > 1:
        print(summary.totals(entries))
    if options.statistics:
        print(summary.statistics(entries))


def _remember(options: Namespace, known_findings_file: KnownFindings, entries: Sequence[Entry]) -> None:
    """Write the baseline, or print how many of its findings no longer exist."""
    failed = any(isinstance(entry, Failure) for entry in entries)
    if known_findings_file.writes and failed:
        terminal.say(
            f"{options.write_baseline}: not written: a model could not be checked; mend it, or --exclude it",
            options.color,
        )
        return
    gone = 0 if known_findings_file.writes else known_findings_file.gone()
    said = known_findings_file.write() if known_findings_file.writes else ""
    if gone:
        again = f"--write-baseline {options.baseline} takes them out"
        said = f"{options.baseline}: {counted(gone, 'known finding')} can't be found any more; {again}"
    if said and not options.quiet:
        terminal.say(said, options.color, "doubt" if gone else "aside")
