"""Measure graphfix beside other tools on the same models, as whole processes, and write docs/benchmarks.md.

    python scripts/bench_peers.py                        all tables of the zoo (about 15 and 12 minutes), and the page
    python scripts/bench_peers.py --models nmp encoder   models whose name contains a word; other models keep their rows
                                                         (with --tables verification that table has only these models)
    python scripts/bench_peers.py --quick --json out.json  three models, without a change of docs/
    python scripts/bench_peers.py --tables verification  only the table of the verifiers (about 12 minutes)
    python scripts/bench_peers.py --write                the page and the pictures, from docs/benchmarks.json alone

A peer is a tool that is measured beside graphfix. The first call creates two environments in the cache folder: graphfix
from its wheel, and the peers (scripts/peers/requirements.txt). Each peer first runs once on each model, which fills the
cache, and the result of this run is compared with the original. Then the peers take turns. Exit status: 0, or 1 if a
claim of the page is wrong, or 2 if the measurement failed.
"""

from __future__ import annotations

# Import only the standard library, because the kernel counts the parent's memory at the fork as part of the child's
# peak.
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
    """Measure, store the results, write the page, and print each claim with whether it is true.

    Return the exit status.
    """
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
    """Return the parser of the command line."""
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
    """Measure, and yield the results of each model, then those of the verifiers. Progress is printed on stderr.

    The verifiers are last, because their modules would enlarge the process that measures peaks of memory.
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
    """Time every peer on every selected model, and yield the row of each model."""
    sources = [each for each in models.chosen(asked.models, asked.quick) if _wanted(each, asked)]
    request = measure.Asked(_peers(asked.peers), asked.runs, asked.limit, made, _progress)
    for number, source in enumerate(sources, 1):
        with tempfile.TemporaryDirectory(prefix="graphfix-peers-", dir=asked.dir) as folder:
            row = measure.row(source, request, Path(folder))
        _done(f"{number}/{len(sources)} {page.brief(row)}")
        yield row


def _verification(asked: argparse.Namespace, made: Mapping[str, environments.Environment]) -> Mapping[str, Any]:
    """Run every verifier on the results of the tools for the zoo, and return the table as JSON.

    The table is empty if no model of the zoo is selected.
    """
    sources = [each for each in models.chosen(asked.models, asked.quick) if each.group == models.FROM_ZOO]
    found = measuring.verification(sources, measuring.Asked(asked.pair_limit, made, _progress, _done, asked.dir))
    return replace(found, method={**found.method, "day": _today()}).as_json() if sources else {}


def _today() -> str:
    """Return the date in UTC, such as 2026-01-31."""
    return dt.datetime.now(tz=dt.UTC).date().isoformat()


def _wanted(source: models.Source, asked: argparse.Namespace) -> bool:
    """Return whether a selected model is measured.

    A model that is not from the zoo is only measured with `--all`, `--quick` or `--models`.
    """
    return asked.all or asked.quick or bool(asked.models) or source.group == models.FROM_ZOO


def _peers(names: Sequence[str] | None) -> Sequence[Peer]:
    """Return the peers with these names, or all peers without names. Raise ModelError for an unknown name."""
    unknown = [name for name in names or () if name not in NAMED]
    if unknown:
        raise models.ModelError(f"no peer is called {unknown[0]!r}; there are {', '.join(NAMED)}")
    return [NAMED[name] for name in names] if names else PEERS


def _progress(line: str) -> None:
    """Replace the last line on stderr by `line`, if stderr is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)


def _done(line: str) -> None:
    """Print a final line on stderr, in place of the line of progress."""
    print(f"\r{line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
