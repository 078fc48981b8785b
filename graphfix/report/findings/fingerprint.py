"""A fingerprint for a site that does not change between runs, whatever else is found. Baselines and SARIF use it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

from graphfix.results import Site


def fingerprints(sites: Sequence[Site]) -> Iterator[str]:
    """Yield a fingerprint of 32 hexadecimal digits for each site, in the same order.

    It is computed from the code, the node, its operator and graph, and the operand. Shapes, reasons and versions are
    not included, so a finding with other sizes or another wording has the same fingerprint. Sites that agree in all of
    these are numbered.
    """
    seen = Counter[tuple[str, str, str, str, int | None]]()
    for site in sites:
        key = (site.code, site.graph, site.node, site.op, site.operand)
        seen[key] += 1
        text = "\0".join(map(str, (*key, seen[key])))
        yield sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
