"""How a notebook shows an outcome and a verdict: a frame with the page, whose script can't reach the notebook."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

import graphfix  # noqa: F401 -- the import gives both classes their method
from graphfix.api import notebooks
from graphfix.results import Outcome, Site, Verdict

SITE = Site("GF101", 'a"<&', "Add", "main", 0, (3,), (1, 3), "found")


def shown(of: Any) -> str:  # noqa: ANN401 -- either class
    """The page in the frame."""
    text: str = of._repr_html_()
    found = re.fullmatch(
        r'<iframe title="graphfix" sandbox="allow-scripts" style="[\w:%;# ]+" srcdoc="([^"]*)"></iframe>', text
    )
    assert found is not None
    assert "<" not in found[1]
    return unescape(found[1])


def test_an_outcome_and_a_verdict_are_pages_in_a_frame() -> None:
    assert "m.onnx" in shown(Outcome("check", "m.onnx", "onnx", sites=(SITE,)))
    page = shown(Verdict("proved"))
    assert "before" in page
    assert "after" in page
    assert "proved" in page


@pytest.mark.parametrize(("sites", "said"), [(2, None), (3, "2 sites are listed here, and 1 more are not")])
def test_a_frame_lists_so_many_sites_and_says_how_many_more_there_are(
    monkeypatch: pytest.MonkeyPatch, sites: int, said: str | None
) -> None:
    monkeypatch.setattr(notebooks, "MOST_SITES", 2)
    names = [f"node_{number}" for number in range(sites)]
    found = tuple(Site("GF101", name, "Add", "main", 0, (3,), (1, 3), "found") for name in names)
    page = shown(Outcome("check", "m.onnx", "onnx", sites=found, notes=("a note of its own",)))
    assert "a note of its own" in page
    assert [name for name in names if name in page] == names[:2]
    assert (said or "sites are listed here") in page if said else "are listed here" not in page
