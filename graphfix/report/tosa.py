"""Print the result of the TOSA tools for a model."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.report.text import counted, findings, node_text, printable
from graphfix.results import Conversion, Gap, Outcome, Site

SHOWN = 6
"""The most operators, outputs or findings that a line lists."""
STOPPERS = ("GF301", "GF302", "GF305")
"""The finding codes of nodes that TOSA can't express."""


def conversion_lines(outcome: Outcome) -> Iterator[str]:
    """Yield the lines about the conversion: the converter's result, the runs, and the largest differences."""
    done = outcome.conversion
    if done is None:
        return
    converted, *ran = conversion_texts(outcome, done)
    yield converted
    custom = [name for name in done.operators if name.startswith("tosa.custom")]
    if custom:
        yield f"custom operators are kept: {printable(', '.join(custom))}"
    if ran:
        yield from ran
        yield from (f"  {gap_text(gap)}" for gap in done.gaps[:SHOWN])
        if len(done.gaps) > SHOWN:
            yield f"  ... and {len(done.gaps) - SHOWN} more; --report FILE.md lists all"


def conversion_texts(outcome: Outcome, done: Conversion) -> list[str]:
    """Return a sentence about the converter's result and, if runs were requested, one about the runs."""
    ran = [] if done.status in ("converted", "refused") else [run_text(done)]
    return [converted_text(outcome, done), *ran]


def converted_text(outcome: Outcome, done: Conversion) -> str:
    """Return the converter's result, or why the model was not converted.

    Example: `valid TOSA 1.0, level 8k: 412 operators (tosa.add 12, ...), by torch-mlir 20261001`.
    """
    if done.status == "refused":
        return f"not converted: {printable(done.reason or 'no reason is given')}{_named(outcome)}"
    most = sorted(done.operators.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name} {number}" for name, number in most[:SHOWN])
    rest = ", ..." if len(most) > SHOWN else ""
    by = ", ".join(f"{name} {version}" for name, version in done.versions.items())
    number = counted(sum(done.operators.values()), "operator")
    return f"valid {done.specification}: {number} ({printable(listed)}{rest}), by {by}"


def run_text(done: Conversion) -> str:
    """Return the result of the runs, or why there were none.

    Example: `run: agrees over 3 runs beside LiteRT (reference kernels): at most 1.2e-06 of an output's range`.
    """
    beside = f" over {counted(done.runs, 'run')} beside {done.beside}" if done.runs else ""
    status = f"{'' if done.status == 'not run' else 'run: '}{done.status}{beside}"
    if done.reason:
        return f"{status}: {printable(done.reason)}"
    parts = [gap.relative for gap in done.gaps if gap.relative is not None]
    largest = f"at most {max(parts):.2g} of an output's range" if parts else "every output is constant"
    return f"{status}: {largest}"


def gap_text(gap: Gap) -> str:
    """Return the differences of one output: `'scores': 1.2e-05, 7.6e-07 of its range`."""
    quanta = "" if gap.quanta is None else f", {gap.quanta:.2g} quanta"
    part = "constant" if gap.relative is None else f"{gap.relative:.2g} of its range"
    spread = "" if gap.spread is None else f", the runtime's own kernels {gap.spread:.2g} apart"
    return f"'{printable(gap.output)}': {gap.largest:.2g}, {part}{quanta}{spread}{'' if gap.within else ', too far'}"


GAPS = ("output", "largest difference", "part of its range", "within the tolerance")
"""The headings of a table of differences."""


def gap_cells(gap: Gap) -> list[str]:
    """Return the cells of a row of that table, without the output's name."""
    part = "constant" if gap.relative is None else f"{gap.relative:.3g}"
    return [f"{gap.largest:.3g}", part, "yes" if gap.within else "no"]


def unconverted(outcome: Outcome) -> str | None:
    """Return why `tosa` wrote nothing although the fixed model is right, in one line; None if that is not the case."""
    done = outcome.conversion
    if done is None or outcome.output is not None:
        return None
    text = converted_text(outcome, done) if done.status == "refused" else run_text(done)
    hint = "; without --run it is written" if done.status == "not run" else ""
    return f"{printable(outcome.source)}: nothing written, {text}{hint}"


def _named(outcome: Outcome) -> str:
    """Return the findings of the fixed model that explain why the converter refused it, as the end of a sentence."""
    stoppers = [site for site in findings(outcome) if site.code in STOPPERS]
    stoppers = [site for site in stoppers if site.blocks] or stoppers
    finding_texts = list(dict.fromkeys(map(_finding, sorted(stoppers, key=lambda site: site.code, reverse=True))))
    if not finding_texts:
        return ""
    more = f", and {len(finding_texts) - SHOWN // 2} more" if len(finding_texts) > SHOWN // 2 else ""
    return f"; named beforehand: {'; '.join(finding_texts[: SHOWN // 2])}{more}"


def _finding(site: Site) -> str:
    return f"{site.code} {node_text(site)}: {printable(site.reason or '')}"
