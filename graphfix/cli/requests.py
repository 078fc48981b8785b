"""Convert the options of a command into the request that `api` accepts."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from graphfix.engine.option_texts import PARSERS, parse_fields
from graphfix.engine.request import Request
from graphfix.results import GraphfixError
from graphfix.results.progress import Progress


def request(options: Namespace, progress: Progress | None) -> Request:
    """Return the request for parsed options. Raises GraphfixError for an option that is given twice for one name.

    The parser stores each option under the name of the request's field.
    """
    bound = parse_fields(
        {
            "dims": _once("--dim", options.dims),
            "shapes": _once("--shape", options.shapes),
            "same": options.same,
            "values": _once("--set", options.values),
        }
    )
    texts = dict.fromkeys(PARSERS)
    reports = tuple(getattr(options, "report", ()))
    drawn = any(map(_is_drawn, reports))
    return Request.of({**vars(options), **texts, **bound, "report": reports, "excerpt": drawn, "progress": progress})


def _is_drawn(report: Path) -> bool:
    from graphfix.report.forms.registry import needs_excerpt  # imported here because few commands write reports

    return needs_excerpt(report)


def _once(option: str, pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    names = [name for name, _ in pairs]
    for name in names:
        if names.count(name) > 1:
            raise GraphfixError(f"{option} {name}: given more than once; give it once")
    return dict(pairs)
