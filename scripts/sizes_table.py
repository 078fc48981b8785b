"""Fix exported models and count what sizes that are not known cost: the tables of docs/sizes.md.

    python scripts/sizes_table.py [--target TARGET] [--tree LABEL=FOLDER]... [--rows] [WORD ...]

Of each model of models/exported (whose name begins with a WORD): how many nodes have a site, how many of them are
stretched by what a shape is at run time (GF103), how many of these stretch at none of the sizes that the original is
run at, where their sizes were lost, which sites are left, and what proof and runs say. --tree measures other checkouts,
a column each (several may be named: the one before and the one after a change). --rows adds a row for each model.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import checkouts

SCRIPTS = Path(__file__).resolve().parent
FOLDER = SCRIPTS.parent / "models" / "exported"
FORMATS = ("onnx", "tflite")
AT_RUN_TIME = "GF103"
EQUAL, EXCUSED, DIFFERENT, NOT_COMPARED = "equal", "equal but for listed exceptions", "different", "not compared"
RUNS = (EQUAL, EXCUSED, DIFFERENT, NOT_COMPARED)
"""What the runs of a model say; not compared is what its runtime refuses, or what differs from itself."""


@dataclass
class Counts:
    """What was counted of one model, or of several."""

    models: int = 0
    nodes: int = 0
    """With a site."""
    at_run_time: int = 0
    never_used: int = 0
    """Those that no size stretches that the model is used at."""
    never: int = 0
    """Those that no size of the sweep stretches either."""
    unseen: int = 0
    """Those in bodies, which nothing observes."""
    causes: Counter[str] = field(default_factory=Counter)
    left: Counter[str] = field(default_factory=Counter)
    proofs: Counter[str] = field(default_factory=Counter)
    runs: Counter[str] = field(default_factory=Counter)
    unproved: list[str] = field(default_factory=list)
    different: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __add__(self, other: Counts) -> Counts:
        """Return the sums."""
        return Counts(**{name: getattr(self, name) + getattr(other, name) for name in vars(self)})


def measure(path: Path, tree: Path, target: str) -> Counts:
    """Fix one model with the graphfix of a checkout, and look at what its report names."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, f"fixed{path.suffix}")
        arguments = ["-m", "graphfix", "fix", str(path), "-o", str(out), "--target", target, "--json"]
        done = checkouts.python(tree, arguments)
    try:
        report = json.loads(done.stdout)
        sites, verdict = report["sites"], report["verdict"]
    except (json.JSONDecodeError, KeyError):
        return Counts(models=1, failed=[f"{path.name}: {(done.stderr or done.stdout).strip()[-200:]}"])
    found = Counts(models=1, nodes=len({(site["graph"], site["node"]) for site in sites}))
    found.left.update(_general(site["reason"]) for site in sites if site["status"] == "left")
    _judge(found, path.name, verdict)
    waiting = [site for site in sites if site["code"] == AT_RUN_TIME and site["status"] == "changed"]
    if waiting:
        _look(found, path, tree, waiting, verdict["runs"])
    return found


def _judge(found: Counts, name: str, verdict: Mapping[str, Any]) -> None:
    """Count what proof and runs say."""
    proof = verdict["proof"] or {"status": "undecided", "reason": verdict["reason"]}
    found.proofs[proof["status"]] += 1
    if proof["status"] != "proved":
        found.unproved.append(f"{name}: {proof['reason']}")
    said = _runs(verdict)
    found.runs[said] += 1
    if said == NOT_COMPARED:
        found.not_compared.append(f"{name}: {verdict['reason']}")
    if said == DIFFERENT or verdict["status"] == "contradicted":
        found.different.append(f"{name}: {verdict['status']}, {verdict['reason']}")


def _runs(verdict: Mapping[str, Any]) -> str:
    """Say what the runs without the runtime's optimizations, which round otherwise, came to."""
    statuses = {run["status"] for run in verdict["runs"] if run["optimizations"] == "off"}
    if verdict["status"] == "different":
        return DIFFERENT
    if "different" in statuses:
        return EXCUSED
    return EQUAL if "equal" in statuses and verdict["reason"] is None else NOT_COMPARED


def _look(
    found: Counts, path: Path, tree: Path, waiting: Sequence[Mapping[str, Any]], runs: Sequence[Mapping[str, Any]]
) -> None:
    """Count of the stretches at run time how many are any, and where their sizes were lost."""
    places = sorted({(site["graph"], site["node"]) for site in waiting})
    found.at_run_time = len(places)
    causes = checkouts.python(tree, ["-m", "sizes_tables.lost", path], json.dumps(places))
    found.causes.update(json.loads(causes.stdout))
    bindings = {json.dumps(run["bindings"], sort_keys=True) for run in runs if run["status"] == "equal"}
    asked = {"sites": waiting, "bindings": [json.loads(each) for each in sorted(bindings)]}
    seen = checkouts.python(tree, ["-m", "sizes_tables.observed", path], json.dumps(asked))
    lines = [json.loads(line) for line in seen.stdout.splitlines()]
    if not any(line["used"] for line in lines):
        found.failed.append(f"{path.name}: the original was not observed: {seen.stderr.strip()[-200:]}")
    watched = {tuple(place) for line in lines for place in line["seen"]}
    swept = {tuple(place) for line in lines for place in line["stretched"]}
    used = {tuple(place) for line in lines if line["used"] for place in line["stretched"]}
    found.unseen = len(set(places) - watched)
    found.never_used = len(watched - used)
    found.never = len(watched - swept)


def _general(reason: str) -> str:
    """Return a reason without the names, shapes and numbers of one model."""
    return re.sub(r"\b\d+\b", "N", re.sub(r"'[^']*'|\(.*\)|\[[^]]*\]", "..", reason))


# --- the tables -------------------------------------------------------------------------------------------------------


def _part(count: int, total: int) -> str:
    return f"{count} ({100 * count / total:.1f} %)" if total else str(count)


def _ran(name: str, one: Counts) -> str:
    return str(one.runs[name])


ROWS: dict[str, Callable[[Counts], str]] = {
    "models": lambda one: str(one.models),
    "nodes with a site": lambda one: str(one.nodes),
    "stretched at run time (GF103)": lambda one: _part(one.at_run_time, one.nodes),
    "... in a body, not observed": lambda one: str(one.unseen),
    "... that stretch at no size that the model is used at": lambda one: _part(one.never_used, one.nodes),
    "... nor at any size of the sweep": lambda one: _part(one.never, one.nodes),
    "sites left": lambda one: str(one.left.total()),
    "proved": lambda one: str(one.proofs["proved"]),
    "not proved": lambda one: str(one.proofs.total() - one.proofs["proved"]),
    **{f"runs: {name}": partial(_ran, name) for name in RUNS},
    "failed": lambda one: str(len(one.failed)),
}


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *rows])


def counted(title: str, columns: Mapping[str, Counter[str]]) -> str:
    """Return a table of what was counted, the most frequent in the last column first."""
    names = {name for column in columns.values() for name in column}
    order = sorted(names, key=lambda name: ([-column[name] for column in reversed([*columns.values()])], name))
    rows = [[name.replace("|", "\\|"), *(str(column[name]) for column in columns.values())] for name in order]
    return table([title, *columns], rows)


def tables(found: Mapping[str, Mapping[Path, Counts]], each_model: bool) -> str:
    """Return all tables: a column for each tree and format, and what the last tree does not do."""
    sums = {
        f"{format_}, {label}": sum((one for path, one in by_path.items() if path.suffix == f".{format_}"), Counts())
        for format_ in FORMATS
        for label, by_path in found.items()
    }
    sums = {head: one for head, one in sums.items() if one.models}
    parts = [
        table(["", *sums], [[name, *(read(one) for one in sums.values())] for name, read in ROWS.items()]),
        counted("nodes with GF103 whose sizes were lost at", {head: one.causes for head, one in sums.items()}),
        counted("sites left because", {head: one.left for head, one in sums.items()}),
    ]
    last = {head: one for head, one in sums.items() if head.endswith(f", {[*found][-1]}")}
    for what in ("unproved", "different", "not_compared", "failed"):
        parts += [
            f"{head}, {what.replace('_', ' ')}:\n" + _listed(getattr(one, what))
            for head, one in last.items()
            if getattr(one, what)
        ]
    if each_model:
        rows = [
            [label, path.name, *(read(one) for name, read in ROWS.items() if name != "models")]
            for label, by_path in found.items()
            for path, one in by_path.items()
        ]
        parts.append(table(["tree", "model", *(name for name in ROWS if name != "models")], rows))
    return "\n\n".join(parts)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line[:400]}" for line in lines)


def main() -> int:
    """Measure, and print the tables; progress goes to stderr."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--target", default="explicit", choices=("explicit", "ranks"))
    checkouts.add_option(parser)
    parser.add_argument("--rows", action="store_true", help="a row for each model too")
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    trees = checkouts.chosen(asked.tree)
    models = sorted(path for format_ in FORMATS for path in FOLDER.glob(f"*.{format_}"))
    models = [path for path in models if not asked.words or path.name.startswith(tuple(asked.words))]
    found: dict[str, dict[Path, Counts]] = {label: {} for label in trees}
    work = [(label, tree, path) for path in models for label, tree in trees.items()]
    with ThreadPoolExecutor(asked.jobs) as pool:
        done = pool.map(lambda one: measure(one[2], one[1], asked.target), work)
        for number, ((label, _, path), counts) in enumerate(zip(work, done, strict=True), 1):
            print(f"\r{number}/{len(work)} {path.name:50.50}", end="", file=sys.stderr, flush=True)
            found[label][path] = counts
    print(file=sys.stderr)
    print(tables(found, asked.rows))
    return 1 if any(one.failed or one.different for by_path in found.values() for one in by_path.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
