"""Measure graphfix beside the tools that people use on the same models, as whole processes; write docs/benchmarks.md.

    python scripts/bench_peers.py                        all tables of the zoo (about 15 and 12 minutes), and the page
    python scripts/bench_peers.py --models nmp encoder   models whose name holds a word; the others keep their rows
                                                         (with --tables verification that table is of these alone)
    python scripts/bench_peers.py --quick --json out.json  three models, and nothing of docs/ is touched
    python scripts/bench_peers.py --tables verification  the table of the verifiers alone (about 12 minutes)
    python scripts/bench_peers.py --write                the page and the pictures, from docs/benchmarks.json alone

Both environments, graphfix from its wheel and the peers (scripts/peers/requirements.txt), are made in the cache folder
on the first call. Each model has one run of each peer that warms the cache, whose result is run beside the original;
then the peers take turns. Exit status: 0, 1 where a claim of the page does not hold, 2 where it could not be done.
"""

from __future__ import annotations

# The standard library alone: the kernel counts what the parent holds at the fork into the child's peak.
import argparse
import datetime as dt
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from peers import claims, environments, machine, measure, models, page, pictures, record
from peers.catalogue import NAMED, PEERS, Peer
from peers.clock import FailedError, floor
from peers.verifying import measuring
from peers.verifying.verifiers import VERIFIERS

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "docs" / "benchmarks.json"
REWRITING, VERIFICATION = TABLES = ("rewriting", "verification")


def main() -> int:
    """Measure, keep and write; say which claims do not hold."""
    asked = _arguments().parse_args()
    asked.tables = asked.tables or ([REWRITING] if asked.models else TABLES)
    kept = record.read(asked.json)
    try:
        for found in () if asked.write else measured(asked):
            kept = kept.merged(found)
            record.write(kept, asked.json)
    except (environments.EnvironmentFailedError, models.ModelError, FailedError, OSError) as error:
        print(f"bench_peers: {error}", file=sys.stderr)
        return 2
    if asked.json == KEPT:
        page.update(kept)
        pictures.update(kept)
    found = claims.claims(kept)
    print("\n".join(claim.line for claim in found))
    return 0 if all(claim.holds for claim in found) else 1


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=[], metavar="WORD", help="models whose name holds a word")
    parser.add_argument("--all", action="store_true", help="also what is made for a size (12 GB, an hour)")
    parser.add_argument("--quick", action="store_true", help=f"{', '.join(models.QUICK)} alone")
    parser.add_argument("--peers", nargs="+", metavar="NAME", help=f"of {', '.join(map(repr, NAMED))}")
    parser.add_argument("--runs", type=int, default=5, help="measured runs of each (default: 5; 3 of slow ones)")
    parser.add_argument("--limit", type=float, default=120, help="seconds that a run may take (default: 120)")
    parser.add_argument(
        "--json", type=Path, default=KEPT, help="where results are kept (default: docs/benchmarks.json)"
    )
    parser.add_argument("--envs", type=Path, default=environments.default_folder(), help="folder of the environments")
    parser.add_argument("--no-install", dest="install", action="store_false", help="take the environments as they are")
    parser.add_argument("--dir", type=Path, help="folder in which the models are put (default: the temporary one)")
    parser.add_argument(
        "--tables", nargs="+", choices=TABLES, help="which to measure (default: both, of some models the first)"
    )
    parser.add_argument(
        "--pair-limit", type=float, default=60, help="seconds that a verifier may take for a pair (default: 60)"
    )
    parser.add_argument("--write", action="store_true", help="measure nothing")
    return parser


def measured(asked: argparse.Namespace) -> Iterator[record.Results]:
    """Measure what is asked, and yield the results of each model, then those of the verifiers; progress goes to stderr.

    The verifiers come last: their pairs are made by modules that the process which measures peaks has no room for.
    """
    made = environments.made(asked.envs, asked.install)
    results = record.Results((), machine.described(), environments.versions(made, [*PEERS, *VERIFIERS]))
    if REWRITING in asked.tables:
        method = {"day": _today(), "runs": str(asked.runs), "limit": f"{asked.limit:g}", "floor": f"{floor():.0f}"}
        for row in _rewriting(asked, made):
            dated = replace(row, measured=record.measured(method["day"], results.machine))
            yield replace(results, rows=(dated,), method=method)
    if VERIFICATION in asked.tables:
        yield replace(results, verification=_verification(asked, made))


def _rewriting(asked: argparse.Namespace, made: Mapping[str, environments.Environment]) -> Iterator[record.Row]:
    """Time every peer on every model."""
    sources = [each for each in models.chosen(asked.models, asked.quick) if _wanted(each, asked)]
    request = measure.Asked(_peers(asked.peers), asked.runs, asked.limit, made, _progress)
    for number, source in enumerate(sources, 1):
        with tempfile.TemporaryDirectory(prefix="graphfix-peers-", dir=asked.dir) as folder:
            row = measure.row(source, request, Path(folder))
        _done(f"{number}/{len(sources)} {page.brief(row)}")
        yield row


def _verification(asked: argparse.Namespace, made: Mapping[str, environments.Environment]) -> Mapping[str, Any]:
    """Ask every verifier about what the tools make of the zoo."""
    sources = [each for each in models.chosen(asked.models, asked.quick) if each.group == models.FROM_ZOO]
    found = measuring.verification(sources, measuring.Asked(asked.pair_limit, made, _progress, _done, asked.dir))
    return replace(found, method={**found.method, "day": _today()}).as_json() if sources else {}


def _today() -> str:
    return dt.datetime.now(tz=dt.UTC).date().isoformat()


def _wanted(source: models.Source, asked: argparse.Namespace) -> bool:
    return asked.all or asked.quick or bool(asked.models) or source.group == models.FROM_ZOO


def _peers(names: Sequence[str] | None) -> Sequence[Peer]:
    unknown = [name for name in names or () if name not in NAMED]
    if unknown:
        raise models.ModelError(f"no peer is called {unknown[0]!r}; there are {', '.join(NAMED)}")
    return [NAMED[name] for name in names] if names else PEERS


def _progress(line: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _done(line: str) -> None:
    print(f"\r{line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
