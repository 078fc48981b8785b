"""A notebook shows an Outcome or a Verdict as the page of the HTML report, in a frame.

`graphfix.results` imports no other package of graphfix, so the method `_repr_html_` is added to its classes here.
`graphfix.api` calls `add_html` when it is imported, before any outcome exists.
"""

from __future__ import annotations

from dataclasses import replace

from graphfix.results import Outcome, Verdict

MOST_SITES = 1000
"""A frame lists at most this many sites, because a notebook stores the whole page in its file."""
STYLE = "width:100%;height:28rem;border:1px solid #8884"


def verdict_html(verdict: Verdict) -> str:
    """Return the report of a verdict as the HTML of a frame."""
    return outcome_html(Outcome("verify", "before", "", output="after", verdict=verdict))


def outcome_html(outcome: Outcome) -> str:
    """Return the report of one outcome as the HTML of a frame: its styles and scripts can't reach the notebook."""
    from html import escape

    from graphfix.report.html import page  # # imported only when it is called, because few programs are notebooks

    more = len(outcome.sites) - MOST_SITES
    if more > 0:
        note = f"{MOST_SITES:,} sites are listed here, and {more:,} more are not: a report file lists all"
        outcome = replace(outcome, sites=list(outcome.sites[:MOST_SITES]), notes=(*outcome.notes, note))
    text = escape(page([outcome]), quote=True)
    return f'<iframe title="graphfix" sandbox="allow-scripts" style="{STYLE}" srcdoc="{text}"></iframe>'


def add_html() -> None:
    """Add the method that notebooks call to both classes."""
    Outcome._repr_html_ = outcome_html  # type: ignore[attr-defined]
    Verdict._repr_html_ = verdict_html  # type: ignore[attr-defined]
