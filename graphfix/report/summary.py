"""Print the end of a `check`: how many models are clean, findings by code, and the next command to run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from graphfix.report import pages
from graphfix.report.text import Entry, Failure, counted, findings, own_codes, printable
from graphfix.results import Outcome


def totals(entries: Sequence[Entry]) -> str:
    """Return the last line of a `check` of several models."""
    failed = sum(isinstance(entry, Failure) for entry in entries)
    found = sum(isinstance(entry, Outcome) and bool(findings(entry)) for entry in entries)
    suppressed = sum(entry.suppressed for entry in entries if isinstance(entry, Outcome))
    parts = [f"{len(entries) - failed - found} clean", f"{found} with findings"]
    parts += [f"{failed} could not be checked"] * bool(failed) + [
        f"{counted(suppressed, 'finding')} in the baseline"
    ] * bool(suppressed)
    return f"{counted(len(entries), 'model')}: {', '.join(parts)}"


def advice(entries: Sequence[Entry]) -> str:
    """Return the commands with which a user continues after a `check` with findings; "" if there are none."""
    shown_findings = [site for entry in entries if isinstance(entry, Outcome) for site in findings(entry)]
    if not shown_findings:
        return ""
    found = sum(site.status == "found" for site in shown_findings)
    fix = f"{counted(found, 'finding')} can be fixed: `graphfix fix MODEL -o OUT` with the same options; " * bool(found)
    is_free = any(site.code == "GF302" and site.op == "input" for site in shown_findings)
    bind = "`--bind-defaults` (or --dim, --shape) binds the free sizes; " * is_free
    return f"{bind}{fix}`graphfix explain {shown_findings[0].code}` says what a code means"


def statistics(entries: Sequence[Entry]) -> str:
    """Return the number of findings of each code in all models, the most frequent code first, one line each."""
    codes = Counter(site.code for entry in entries if isinstance(entry, Outcome) for site in findings(entry))
    rows = sorted(codes.items(), key=lambda row: (-row[1], row[0]))
    width = max((len(str(number)) for _, number in rows), default=1)
    own = own_codes(entries)
    names = {code: printable(own.get(code) or pages.title(code).removeprefix(f"{code} ")) for code, _ in rows}
    lines = [f"{number:>{width}}  {code}  {names[code]}" for code, number in rows]
    return "\n".join(lines or ["0  findings"])
