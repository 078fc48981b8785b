"""Compile int8 models with Vela before and after `--target ethos-u`: what is on the NPU, and the estimated cycles.

    python scripts/vela_table.py [--vela VELA] [--write docs/targets.md] [WORD ..]

Models are those of models/ whose operators compute int8 and those that vela_tables/models.py makes, or those whose
name holds a WORD. Each is compiled as it is, with its free sizes bound to default ones and nothing else done to it, and
fixed. The exit status is 1 where an operator of the original moves from the NPU to the CPU, where Vela refuses what it
took before, or where the cycles rise though the same operators are on the NPU: those rows are named at the end.

Needs ethos-u-vela (pip install ethos-u-vela==5.2.0, in an environment of its own or not): `--vela` names its
executable, or GRAPHFIX_VELA does, or it is on the PATH.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap

from vela_tables.measure import (
    ACCELERATORS,
    SAME,
    VARIABLE,
    Difference,
    Operator,
    Placed,
    compare,
    executable,
    operators,
    place,
)
from vela_tables.measure import version as vela_version
from vela_tables.models import HANDMADE, MODELS, TARGET, Variants, handmade, int8_models, variants

from graphfix import GraphfixError

BEGIN, END = "<!-- table: made by scripts/vela_table.py -->", "<!-- end of the table -->"
LONGEST = 100
GROUPS = {
    "handmade": "hand-made (scripts/vela_tables/models.py)",
    "exported": "models/exported",
    "zoo": "the zoo",
    "committed": "the other models of models/",
}


@dataclass(frozen=True)
class Cell:
    """A model on one accelerator."""

    total: int
    """Operators of the original."""
    before: Placed
    bound: Placed
    after: Placed
    difference: Difference = SAME
    """Between the original and the fixed model."""
    from_bound: Difference = SAME
    """Between the original with its sizes bound and the fixed model: what the rewrites do."""

    @property
    def faults(self) -> Iterator[str]:
        """What must not be, in words."""
        if self.after.error and not (self.before.error and self.bound.error):
            yield f"refused after: {_short(self.after.error)}"
        moved = self.difference.moved or self.from_bound.moved
        if moved:
            yield f"from the NPU to the CPU: {_named(moved)}"
        elif self.rise:
            yield f"cycles rise by {self.rise}"

    @property
    def rise(self) -> int:
        """By how many cycles the rewrites let the estimate rise, where the same operators of the original are in it."""
        if self.bound.error or self.after.error or self.from_bound.returned:
            return 0
        return max(0, self.after.cycles - self.bound.cycles)

    @property
    def returned(self) -> Sequence[Operator]:
        """What the rewrites, not the bound sizes alone, got back from the CPU."""
        return self.from_bound.returned

    @property
    def text(self) -> tuple[str, str, str]:
        """What is on the NPU, what is new on the CPU, and the cycles."""
        steps = [self.before, *([self.bound] if self.bound is not self.before else []), self.after]
        shown = [_short(each.error) if each.error else None for each in steps]
        left = [len(each.cpu) for each in steps]
        left[-1] -= len(self.difference.added)
        not_applied = [why or str(self.total - count) for why, count in zip(shown, left, strict=True)]
        cycles = [str(each.cycles) if not each.error else "-" for each in steps]
        return _arrows(not_applied), _counted(self.difference.added), _arrows(cycles)


@dataclass(frozen=True)
class Row:
    """A model on each accelerator, or why it was not fixed."""

    name: str
    cells: Mapping[str, Cell] = field(default_factory=dict)
    error: str = ""

    @property
    def changed(self) -> bool:
        """Whether there is anything to tell."""
        return bool(self.error) or any(
            "→" in text or cell.before.error for cell in self.cells.values() for text in cell.text
        )


def measured(vela: Path, name: str, data: bytes, target: str = TARGET, **options: str) -> Row:
    """Compile a model in its three forms for each accelerator."""
    try:
        forms = variants(data, target, **options)
    except GraphfixError as error:
        return Row(name, error=str(error))
    return Row(name, {accelerator: cell(vela, forms, accelerator) for accelerator in ACCELERATORS})


def cell(vela: Path, forms: Variants, accelerator: str) -> Cell:
    """Compile the three forms of a model; forms of the same bytes are compiled once."""
    before = place(vela, forms.original, accelerator)
    bound = before if forms.bound == forms.original else place(vela, forms.bound, accelerator)
    after = bound if forms.fixed == forms.bound else place(vela, forms.fixed, accelerator)
    total = len(operators(forms.original))
    if after.error:
        return Cell(total, before, bound, after)
    own = SAME if before.error else compare(forms.original, before, forms.fixed, after)
    rewritten = SAME if bound.error else compare(forms.original, bound, forms.fixed, after, given=forms.bound)
    return Cell(total, before, bound, after, own, rewritten)


def sources(group: str) -> dict[str, bytes]:
    """Return the models of a group by name."""
    if group == "handmade":
        return {name: handmade(name) for name in HANDMADE}
    return {path.relative_to(MODELS).as_posix(): path.read_bytes() for path in int8_models(group)}


def main() -> int:
    """Measure, print or write the tables, and name the faults."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vela", type=Path, default=executable(), help=f"the executable ({VARIABLE}, or on the PATH)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the tables between the markers of this file")
    parser.add_argument("words", metavar="WORD", nargs="*")
    given = parser.parse_args()
    if given.vela is None:
        parser.error(f"no vela on the PATH: --vela or {VARIABLE} names it (pip install ethos-u-vela)")
    groups = {
        title: {name: d for name, d in sources(group).items() if not given.words or any(w in name for w in given.words)}
        for group, title in GROUPS.items()
    }
    rows: dict[str, list[Row]] = {}
    with ThreadPoolExecutor(2) as pool:
        for title, some in groups.items():
            rows[title] = list(pool.map(lambda item: measured(given.vela, *item), some.items()))
    text = "\n".join(page(rows, vela_version(given.vela)))
    if given.write is None:
        print(text)
    else:
        head, _, rest = given.write.read_text(encoding="utf-8").partition(BEGIN)
        given.write.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    return int(any(each.faults for some in rows.values() for row in some for each in row.cells.values()))


def page(rows: Mapping[str, Sequence[Row]], version: str) -> list[str]:
    """Return the lines of the tables: a row for a model where anything changes; the others are named."""
    every = [row for some in rows.values() for row in some]
    lines = [f"ethos-u-vela {version}, its own defaults for memories and clocks; {len(every)} models.", ""]
    faults = [
        f"- {row.name}, {accelerator}: {fault}"
        for row in every
        for accelerator, cell in row.cells.items()
        for fault in cell.faults
    ]
    for title, some in rows.items():
        lines += _table(title, some)
    return [*lines, "What got worse:" if faults else "Nothing got worse.", *([""] if faults else []), *faults]


def _table(title: str, rows: Sequence[Row]) -> list[str]:
    if not rows:
        return [f"**{title}**: no model that computes int8.", ""]
    heads = ["model", "operators"]
    heads += [head for name in ACCELERATORS for head in (f"{name}: on the NPU", "new on the CPU", "cycles")]
    lines = [f"**{title}**", "", f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    changed = [row for row in rows if row.changed or title == GROUPS["exported"]]
    for row in changed:
        cells = [text for cell in row.cells.values() for text in cell.text]
        totals = {cell.total for cell in row.cells.values()}
        cells = [row.name, *map(str, totals), *cells] if row.cells else [row.name, "", _short(row.error)]
        lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    same = [row.name for row in rows if row not in changed]
    return [
        *lines,
        "",
        *(wrap(f"Nothing changes for {'; '.join(same)}.", 120) if same else []),
        *([""] if same else []),
    ]


def _arrows(values: Sequence[str]) -> str:
    return values[0] if len(set(values)) == 1 else " → ".join(values)


def _named(operators: Sequence[Operator]) -> str:
    return ", ".join(f"{op} '{name}'" for op, name in operators)


def _counted(operators: Sequence[Operator]) -> str:
    names = [op for op, _ in operators]
    return ", ".join(f"{names.count(op)} {op}" for op in dict.fromkeys(names))


def _short(text: str) -> str:
    text = text.splitlines()[0] if text else ""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


if __name__ == "__main__":
    sys.exit(main())
