"""What the TOSA tools made of a model, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.report.text import counted, findings, node_text, printable
from graphfix.results import Conversion, Gap, Outcome, Site

SHOWN = 6
"""How many operators, outputs or findings a line names."""
STOPPERS = ("GF301", "GF302", "GF305")
"""The findings that say that TOSA can't take something."""


def conversion_lines(outcome: Outcome) -> Iterator[str]:
    """What the converter, tosa-opt and the runs report: a sentence each, and the largest differences."""
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
    """What the converter and tosa-opt say, and what the runs show, where any were asked for: a sentence each."""
    ran = [] if done.status in ("converted", "refused") else [run_text(done)]
    return [converted_text(outcome, done), *ran]


def converted_text(outcome: Outcome, done: Conversion) -> str:
    """`valid TOSA 1.0, level 8k: 412 operators (tosa.add 12, ...), by torch-mlir 20261001`, or why not."""
    if done.status == "refused":
        return f"not converted: {printable(done.reason or 'no reason is given')}{_named(outcome)}"
    most = sorted(done.operators.items(), key=lambda item: -item[1])
    listed = ", ".join(f"{name} {number}" for name, number in most[:SHOWN])
    rest = ", ..." if len(most) > SHOWN else ""
    by = ", ".join(f"{name} {version}" for name, version in done.versions.items())
    number = counted(sum(done.operators.values()), "operator")
    return f"valid {done.specification}: {number} ({printable(listed)}{rest}), by {by}"


def run_text(done: Conversion) -> str:
    """`run: agrees over 3 runs beside LiteRT (reference kernels): at most 1.2e-06 of the range`, or why not."""
    beside = f" over {counted(done.runs, 'run')} beside {done.beside}" if done.runs else ""
    status = f"{'' if done.status == 'not run' else 'run: '}{done.status}{beside}"
    if done.reason:
        return f"{status}: {printable(done.reason)}"
    parts = [gap.relative for gap in done.gaps if gap.relative is not None]
    largest = f"at most {max(parts):.2g} of an output's range" if parts else "every output is constant"
    return f"{status}: {largest}"


def gap_text(gap: Gap) -> str:
    """`'scores': 1.2e-05, 7.6e-07 of its range`, and what else is known of the distance."""
    quanta = "" if gap.quanta is None else f", {gap.quanta:.2g} quanta"
    part = "constant" if gap.relative is None else f"{gap.relative:.2g} of its range"
    spread = "" if gap.spread is None else f", the runtime's own kernels {gap.spread:.2g} apart"
    return f"'{printable(gap.output)}': {gap.largest:.2g}, {part}{quanta}{spread}{'' if gap.within else ', too far'}"


GAPS = ("output", "largest difference", "part of its range", "within the tolerance")
"""The heads of a table of gaps."""


def gap_cells(gap: Gap) -> list[str]:
    """The cells of a gap's row behind the output's name."""
    part = "constant" if gap.relative is None else f"{gap.relative:.3g}"
    return [f"{gap.largest:.3g}", part, "yes" if gap.within else "no"]


def unconverted(outcome: Outcome) -> str | None:
    """Why `tosa` wrote nothing though the fixed model is right: one line, or None where that is not so."""
    done = outcome.conversion
    if done is None or outcome.output is not None:
        return None
    text = converted_text(outcome, done) if done.status == "refused" else run_text(done)
    hint = "; without --run it is written" if done.status == "not run" else ""
    return f"{printable(outcome.source)}: nothing written, {text}{hint}"


def _named(outcome: Outcome) -> str:
    """The findings of the fixed model that explain a refusal."""
    stoppers = [site for site in findings(outcome) if site.code in STOPPERS]
    stoppers = [site for site in stoppers if site.blocks] or stoppers
    finding_texts = list(dict.fromkeys(map(_finding, sorted(stoppers, key=lambda site: site.code, reverse=True))))
    if not finding_texts:
        return ""
    more = f", and {len(finding_texts) - SHOWN // 2} more" if len(finding_texts) > SHOWN // 2 else ""
    return f"; named beforehand: {'; '.join(finding_texts[: SHOWN // 2])}{more}"


def _finding(site: Site) -> str:
    return f"{site.code} {node_text(site)}: {printable(site.reason or '')}"
