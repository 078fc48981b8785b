"""Write the before/after table of docs/before-tosa.md: every real model through the TOSA tools, as it is and fixed.

    python scripts/tosa_table.py                  all models, the table into docs/before-tosa.md (about 10 minutes)
    python scripts/tosa_table.py nmp silero       only the models whose path holds one of the words, printed

Needs the zoo (scripts/fetch_zoo.py) and the extra `tosa`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from tosa_zoo import ONNX, SEEDS, ZOO, Case, page

from graphfix.results import GraphfixError
from graphfix.runtimes import tosa
from graphfix.runtimes.session import RefusedError
from graphfix.tosa.command import tosa_file

if TYPE_CHECKING:
    from graphfix.results import Conversion, Outcome

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "before-tosa.md"
BEGIN, END = "<!-- table: made by scripts/tosa_table.py -->", "<!-- end of the table -->"
HEADS = (
    "model",
    "as it is",
    "after `--target tosa`",
    "operators",
    "`.tosa` bytes",
    "worst difference, of the range",
    "s",
)


def main() -> int:
    """Make the rows; say on stderr which model is worked on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    words = parser.parse_args().words
    models = [path for path in sorted(ZOO.glob("*/*.tflite")) + sorted(ZOO.glob("*/*.onnx")) if _wanted(path, words)]
    rows = []
    for path in models:
        print(path.relative_to(ZOO), file=sys.stderr)
        rows.append(_row(path))
    lines = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}", *(f"| {' | '.join(row)} |" for row in rows)]
    lines += ["", ", ".join(f"{name} {version}" for name, version in tosa.versions().items()) + "."]
    if words:
        print("\n".join(lines))
    else:
        _write("\n".join(lines))
    return 0


def _wanted(path: Path, words: list[str]) -> bool:
    return not words or any(word in str(path) for word in words)


def _row(path: Path) -> list[str]:
    name = str(path.relative_to(ZOO))
    with tempfile.TemporaryDirectory() as scratch:
        before = _as_it_is(path, Path(scratch))
        started = time.perf_counter()
        try:
            outcome = _fixed(path, Path(scratch))
        except GraphfixError as error:
            return [name, before, f"no: {error}", "", "", "", ""]
        spent = f"{time.perf_counter() - started:.0f}"
        after = _after(outcome)
        size = Path(scratch, "m.tosa")
        bytes_ = str(size.stat().st_size) if size.exists() else ""
    done = outcome.conversion
    operators = str(sum(done.operators.values())) if done is not None and done.operators else ""
    return [name, before, after, operators, bytes_, _worst(done), spent]


def _as_it_is(path: Path, folder: Path) -> str:
    """What the tools say of the file, with nothing done to it."""
    try:
        tosa.convert(tosa.CONVERTERS[path.suffix[1:]], path, folder / "before.mlirbc")
        validation = tosa.validate(folder / "before.mlirbc")
    except RefusedError as error:
        return f"no: {_short(str(error))}"
    if validation.valid:
        return "valid"
    return f"no: {_short(validation.errors[0])}"


def _fixed(path: Path, folder: Path) -> Outcome:
    case = ONNX.get(str(path.relative_to(ZOO)), Case())
    inputs = []
    if case.page:
        shape = tuple(map(int, case.shapes[case.page].split(",")))
        for seed in SEEDS:
            inputs.append(folder / f"{seed}.npz")
            np.savez(inputs[-1], **{case.page: page(seed, shape)})
    bind = case.bound
    outcome = tosa_file(path, folder / "m.tosa", **bind, run=True, inputs=inputs)
    if outcome.conversion is not None and outcome.conversion.status == "not run":
        return tosa_file(path, folder / "m.tosa", **bind, check_result=False)
    return outcome


def _after(outcome: Outcome) -> str:
    done = outcome.conversion
    if done is None:
        return f"no: {outcome.verdict.reason if outcome.verdict else 'not written'}"
    if done.status == "refused":
        named = [site for site in outcome.sites if site.code == "GF305" and site.status == "left"]
        # the whole numbers in front of an operator that stops everything are no separate reason
        stoppers = dict.fromkeys(site.op for site in named if "int64" not in (site.reason or ""))
        return f"no: {', '.join(stoppers) or _short(done.reason or '')}"
    if done.status in ("agrees", "converted"):
        custom = [name.partition(":")[2] for name in done.operators if name.startswith("tosa.custom:")]
        return f"valid; custom: {', '.join(custom)}" if custom else "valid"
    return f"{done.status}: {done.reason}"


def _worst(done: Conversion | None) -> str:
    if done is None or not done.gaps:
        return ""
    parts = [gap.relative for gap in done.gaps if gap.relative is not None]
    if parts:
        return f"{max(parts):.1e}"
    return f"{max(gap.largest for gap in done.gaps):.1e} (one element)"


def _short(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")[:100]


def _write(table: str) -> None:
    head, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    DOCUMENT.write_text(f"{head}{BEGIN}\n\n{table}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
