"""Take one real model through the TOSA tools, as it is and fixed, and print what became of it as JSON.

    python -m tosa_tables.measure MODEL [SIGNATURE]        in scripts/

A model of the zoo is bound and fed as tosa_tables/zoo.py says; any other with `--bind-defaults`, an ONNX model with
`--narrow-inputs`. scripts/tosa_table.py runs this for each model, in a process of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphfix.results import GraphfixError
from graphfix.runtimes import tosa
from graphfix.runtimes.session import RefusedError
from graphfix.tosa.command import tosa_file
from tosa_tables.zoo import ONNX, SEEDS, ZOO, Case, page

if TYPE_CHECKING:
    from graphfix.results import Conversion, Outcome

STOPPERS = ("GF301", "GF302", "GF305")
"""The findings that say that TOSA can't take something."""
AGREES, VALID = "agrees", "valid"
LONGEST = 100


@dataclass(frozen=True)
class Row:
    """What became of a model."""

    as_it_is: str
    """`valid`, or why not: what the tools say of the file with nothing done to it."""
    fixed: str = ""
    """`proved`, `bounded` (proved but for rounding), `equal` by runs, or why it was not written."""
    became: str = ""
    """`agrees`; `valid` where it can't be run; else why not."""
    operators: int | None = None
    bytes: int | None = None
    worst: str = ""
    """The largest difference as a part of its output's range."""
    operator_names: tuple[str, ...] = ()
    """The operators that `check --target tosa` names."""
    seconds: float = 0.0


def measure(path: Path, signature: str | None = None) -> Row:
    """Take a model, or one of its signatures, through the tools, twice."""
    with tempfile.TemporaryDirectory() as scratch:
        before = _as_it_is(path, Path(scratch))
        started = time.perf_counter()
        try:
            outcome = _fixed(path, Path(scratch), signature)
        except GraphfixError as error:
            return Row(before, f"no: {_short(str(error))}", seconds=time.perf_counter() - started)
        spent, made = time.perf_counter() - started, Path(scratch, "m.tosa")
        size = made.stat().st_size if made.exists() else None
    done = outcome.conversion
    count = sum(done.operators.values()) if done is not None and done.operators else None
    operators = tuple(dict.fromkeys(s.op for s in outcome.sites if s.status == "left" and s.code in STOPPERS))
    return Row(before, _verified(outcome), _became(outcome), count, size, _worst(done), operators, spent)


def _as_it_is(path: Path, folder: Path) -> str:
    try:
        tosa.convert(tosa.CONVERTERS[path.suffix[1:]], path, folder / "before.mlirbc")
        validation = tosa.validate(folder / "before.mlirbc")
    except RefusedError as error:
        return f"no: {_short(str(error))}"
    return VALID if validation.valid else f"no: {_short(validation.errors[0])}"


def _fixed(path: Path, folder: Path, signature: str | None) -> Outcome:
    bind: dict[str, object] = {"bind_defaults": True, "narrow_inputs": path.suffix == ".onnx", "signature": signature}
    inputs = []
    if path.is_relative_to(ZOO):
        case = ONNX.get(str(path.relative_to(ZOO)), Case())
        bind = case.bound
        for seed in SEEDS if case.page else ():
            inputs.append(folder / f"{seed}.npz")
            shape = tuple(map(int, case.shapes[case.page].split(",")))
            np.savez(inputs[-1], **{case.page: page(seed, shape)})
    outcome = tosa_file(path, folder / "m.tosa", **bind, run=True, inputs=inputs)  # type: ignore[arg-type]  # its keywords
    if outcome.conversion is not None and outcome.conversion.status == "not run":
        return tosa_file(path, folder / "m.tosa", **bind)  # type: ignore[arg-type]  # as above
    return outcome


def _verified(outcome: Outcome) -> str:
    verdict = outcome.verdict
    if verdict is None:
        return "not asked"
    bounded = verdict.proof is not None and verdict.proof["status"] == "bounded"
    if verdict.status in ("equal", "proved"):
        return "bounded" if bounded else verdict.status
    return f"{verdict.status}: {_short(verdict.reason or '')}"


def _became(outcome: Outcome) -> str:
    done = outcome.conversion
    if done is None:
        return "not converted"
    if done.status == "converted":
        custom = [name.partition(":")[2] for name in done.operators if name.startswith("tosa.custom:")]
        return f"{VALID}; custom: {', '.join(custom)}" if custom else VALID
    return done.status if done.reason is None else f"{done.status}: {_short(done.reason)}"


def _worst(done: Conversion | None) -> str:
    if done is None or not done.gaps:
        return ""
    parts = [gap.relative for gap in done.gaps if gap.relative is not None]
    return f"{max(parts):.1e}" if parts else f"{max(gap.largest for gap in done.gaps):.1e} (one element)"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


if __name__ == "__main__":
    print(json.dumps(asdict(measure(Path(sys.argv[1]).absolute(), *sys.argv[2:]))))
