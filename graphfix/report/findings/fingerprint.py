"""A name for a site that stays the same from run to run, whatever else is found: baselines and SARIF match by it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

from graphfix.results import Site


def fingerprints(sites: Sequence[Site]) -> Iterator[str]:
    """Yield 32 hexadecimal digits for each site, in the same order.

    It holds the code, the node, its operator and scope, and the operand: no shape, no reason and no version, so that
    other sizes, or another wording, are the same finding. Sites that agree in all of it are counted.
    """
    seen = Counter[tuple[str, str, str, str, int | None]]()
    for site in sites:
        key = (site.code, site.graph, site.node, site.op, site.operand)
        seen[key] += 1
        text = "\0".join(map(str, (*key, seen[key])))
        yield sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
