"""One-operator models on values of the operator's whole domain: TOSA beside the runtime, for both formats' audits.

A model is fixed for target tosa, converted, validated and run in the TOSA reference model; what it computes is held
against the runtime's own kernels. What differs, or does not convert, must be rewritten or named by the check
(`graphfix check --target tosa`): `scripts/tosa_values_tflite.py` and its like make the tables of docs from this.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import onnx

import graphfix
from graphfix.results import GraphfixError
from graphfix.runtimes import tosa
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from graphfix.targets.tosa import questions

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from graphfix.results import Outcome
    from graphfix.runtimes.session import ModelDetails
    from models.builders.grammar import Value

Array = np.ndarray[Any, Any]
Feeds: TypeAlias = "Mapping[str, Array]"
Status = Literal["agrees", "rewritten", "named", "needlessly named", "differs", "does not convert"]
WRONG = ("differs", "does not convert")
"""What must not be."""
LITERT = ("reference", "builtin")
RELATIVE, SMALLEST = {"float16": 4e-3}, {"float16": 1e-3}
"""How far a float may be off: a part of itself, and a small number; float32 by 1e-4 and 1e-6."""
OF_RANGE = 1e-3
"""How far a quantized number may be off, beside one step: a part of the range of its values."""
LARGEST = float(np.finfo(np.float32).max)
PROCESSES = 2

DOMAINS: Mapping[str, Sequence[float]] = {
    "float32": (
        -3e9, -4e4, -200.0, -70.5, -2.5, -1.5, -1.0, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1.0, 1.5, 2.5, 6.0, 63.7, 127.5,
        300.0, 4e4, 3e9,
    ),
    "float16": (-4e4, -200.0, -2.5, -1.5, -1.0, -0.5, -1e-3, -0.0, 0.0, 1e-3, 0.5, 1.0, 1.5, 2.5, 6.0, 63.7, 4e4),
    "int32": (
        -(2**31), -(2**31) + 1, -46341, -40000, -300, -129, -128, -7, -3, -2, -1, 0, 1, 2, 3, 7, 127, 128, 300, 32767,
        40000, 46341, 2**31 - 2, 2**31 - 1,
    ),
    "int8": (-128, -127, -100, -65, -64, -33, -7, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 31, 63, 64, 65, 100, 126, 127),
    "int16": (-(2**15), -(2**15) + 1, -30000, -16384, -1000, -129, -3, -1, 0, 1, 2, 3, 128, 1000, 16384, 30000, 32767),
    "uint8": (0, 1, 2, 3, 63, 64, 127, 128, 129, 200, 254, 255),
    "uint16": (0, 1, 2, 3, 127, 128, 255, 256, 1000, 32767, 32768, 40000, 65534, 65535),
    "uint32": (0, 1, 2, 3, 255, 65535, 65536, 2**31 - 1, 2**31, 3 * 10**9, 2**32 - 2, 2**32 - 1),
    "int64": (-(2**31), -300, -2, -1, 0, 1, 2, 3, 300, 2**31 - 1),
    "bool": (0, 1),
}  # fmt: skip
"""Negative numbers, ties, zeros of both signs, and what lies beyond the range of narrower types."""
NOT_FINITE = (np.nan, np.inf, -np.inf, 1.0, -1.0, 0.0, -0.0)
NEAR = (-4.0, -2.5, -1.0, -0.25, 0.0, 0.5, 0.75, 1.0, 2.0, 3.5)
"""For what sums up: there huge numbers hide the others."""
POSITIVE = (1e-6, 1e-3, 0.25, 0.5, 1.0, 1.5, 2.5, 63.7, 300.0, 4e4, 3e9)

NARROWED = {"near": NEAR, "positive": POSITIVE}
HEADS = ("operator", "types", "form", "what becomes of it")


@dataclass(frozen=True, slots=True)
class Case:
    """One operator, and what it is tried on."""

    operator: str
    types: str
    """As the table shows them."""
    data: bytes
    suffix: str
    feeds: tuple[Feeds, ...]
    note: str = ""
    """What the case is about, beside its types."""
    not_finite: tuple[Feeds, ...] = ()
    """NaN and infinities: what differs there is told, and is not wrong."""
    tolerance: float = 0.0
    """How far a float may be off: a part of the largest magnitude, where the runtime's own kernels round coarsely."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a case."""

    case: Case
    status: Status
    rewrites: tuple[str, ...] = ()
    reason: str = ""
    """Of the check, or of what is wrong."""
    not_finite: str = ""
    """What NaN and infinities became that is not what the runtime makes of them."""


@dataclass(slots=True)
class _Seen:
    """What the tools showed."""

    wrong: str = ""
    status: Literal["agrees", "differs", "does not convert"] = "agrees"
    not_finite: str = ""


def audit(cases: Iterable[Case]) -> list[Result]:
    """Try all cases, a few at a time; return the results in their order."""
    listed = list(cases)
    shares = [listed[start::PROCESSES] for start in range(PROCESSES)]
    with ThreadPoolExecutor(PROCESSES) as pool:
        found = {id(result.case): result for results in pool.map(_share, shares) for result in results}
    return [found[id(case)] for case in listed]


def _share(cases: Sequence[Case]) -> list[Result]:
    """Try these, one after the other: the runtime stays in one process."""
    with Child() as child:
        return [tried(child, case) for case in cases]


def tried(child: Child, case: Case) -> Result:
    """Fix, ask, convert, run, compare."""
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        path = Path(folder, f"m{case.suffix}")
        path.write_bytes(case.data)
        fixed = path.with_name(f"fixed{case.suffix}")
        try:
            outcome = graphfix.fix_file(path, fixed, target="tosa", check_result=False)
        except GraphfixError as error:
            return Result(case, "does not convert", reason=f"fix: {error}")
        seen = _seen(child, path, fixed, case, narrow=not questions.leaves_int64(outcome.sites))
    rewrites = tuple(name for name, count in outcome.rewrites.items() if count)
    finding_operators = _named(outcome)
    if finding_operators:
        status: Status = "needlessly named" if seen.status == "agrees" else "named"
        return Result(
            case, status, rewrites, finding_operators if seen.status != "agrees" else f"{finding_operators} (it agrees)"
        )
    if seen.status != "agrees":
        return Result(case, seen.status, rewrites, seen.wrong)
    return Result(case, "rewritten" if rewrites else "agrees", rewrites, "", seen.not_finite)


def _named(outcome: Outcome) -> str:
    found = (site for site in outcome.sites if site.status == "left" and site.code.startswith("GF3"))
    return next((f"{site.code} {site.op}: {site.reason}" for site in found), "")


def _seen(child: Child, path: Path, fixed: Path, case: Case, *, narrow: bool) -> _Seen:
    converted = fixed.with_suffix(".tosa")
    try:
        tosa.convert(tosa.CONVERTERS[case.suffix[1:]], fixed, fixed.with_suffix(".mlirbc"), narrow=narrow)
        validation = tosa.validate(fixed.with_suffix(".mlirbc"), converted)
    except RefusedError as error:
        return _Seen(str(error), "does not convert")
    if not validation.valid:
        return _Seen(validation.errors[0], "does not convert")
    try:
        gaps = [_apart(child, path, converted, feeds, case.tolerance) for feeds in case.feeds]
    except RefusedError as error:
        return _Seen(f"not run: {error}", "differs")
    wrong = next(filter(None, gaps), "")
    if wrong:
        return _Seen(wrong, "differs")
    try:
        distances = [_apart(child, path, converted, feeds, case.tolerance) for feeds in case.not_finite]
        beyond = next(filter(None, distances), "")
    except RefusedError as error:
        beyond = str(error)
    return _Seen(not_finite=beyond)


def _apart(child: Child, path: Path, converted: Path, feeds: Feeds, tolerance: float) -> str:
    """Say how TOSA differs from each of the runtime's kernel sets; nothing where it is near to one of them."""
    answers, inputs, quantized = _answers(child, path, feeds)
    computed = tosa.run(converted, [feeds[name] for name in inputs])
    gaps = [
        next(filter(None, map(_difference, answer, computed.outputs, quantized, [tolerance] * len(answer))), "")
        for answer in answers
    ]
    return "" if "" in gaps else gaps[0]


def _answers(child: Child, path: Path, feeds: Feeds) -> tuple[list[list[Array]], Sequence[str], Sequence[bool]]:
    """Return what each kernel set computes, the inputs in order, which outputs are quantized. Raises RefusedError."""
    if path.suffix == ".onnx":
        names = [value.name for value in onnx.load(path).graph.input]
        answer = [np.asarray(value) for value in child.load(path).run(feeds)]
        return [answer], names, [False] * len(answer)
    answers: list[list[Array]] = []
    details: ModelDetails | None = None
    refusal: RefusedError | None = None
    for kernels in LITERT:
        try:
            session = child.load_tflite(path, kernels)
            answers.append([np.asarray(value) for value in session.run(feeds)])
            details = session.interface
        except RefusedError as error:
            refusal = refusal or error
    if details is None:
        raise refusal or RefusedError("no kernels")
    return answers, [spec.name for spec in details.inputs], [bool(spec.scales) for spec in details.outputs]


def _difference(want: Array, got: Array, quantized: bool, tolerance: float) -> str:
    """Say where two values are apart: quantized ones by more than a step, floats by more than their last bits."""
    if want.shape != got.shape:
        return f"shape {list(got.shape)}, not {list(want.shape)}"
    if want.dtype.kind != "f":
        a, b = want.astype(np.int64), got.astype(np.int64)
        wrong = np.abs(a - b) > (max(1, OF_RANGE * np.ptp(a)) if quantized else 0)
    else:
        # LiteRT's arithmetic ends at the largest float where TOSA's is infinite
        a, b = (np.clip(each.astype(np.float64), -LARGEST, LARGEST) for each in (want, got))
        part, small = RELATIVE.get(want.dtype.name, 1e-4), SMALLEST.get(want.dtype.name, 1e-6)
        near = np.abs(a - b) <= part * np.abs(a) + small + tolerance * float(np.nan_to_num(np.abs(a)).max(initial=0))
        wrong = ~(near | (np.isnan(a) & np.isnan(b)))
    if not wrong.any():
        return ""
    at = int(np.argmax(wrong.ravel()))
    return f"{want.ravel()[at]} becomes {got.ravel()[at]} ({int(wrong.sum())} of {wrong.size})"


def spread(shape: Sequence[int], values: Sequence[float], place: int, dtype: str) -> Array:
    """An array of these values in turn; with those of other places all combinations of them, if it is long enough."""
    count = int(np.prod(shape, dtype=np.int64))
    indices = (np.arange(count) // len(values) ** place) % len(values)
    return np.asarray(values, np.float64)[indices].astype(dtype).reshape(shape)


def values_of(value: Value, given: Mapping[str, Sequence[float]], domain: str, place: int) -> Array:
    """The values of an input: given ones, or those of its type's domain."""
    dims = tuple(size for size in value.dims or () if isinstance(size, int))
    if value.name in given:
        return spread(dims, given[value.name], 0, value.dtype)
    narrowed = NARROWED.get(domain) if value.dtype in ("float16", "float32") else None
    return spread(dims, narrowed or DOMAINS[value.dtype], place, value.dtype)


# --- the table ------------------------------------------------------------------------------------------------------


def main(cases: Iterable[Case], document: Path, marks: tuple[str, str], doc: str | None) -> int:
    """Try the rows, or those of the operators that the command line names; write the table; say what is wrong."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    operators = parser.parse_args().operators
    results = audit(case for case in cases if not operators or case.operator in operators)
    if operators:
        print("\n".join(map(line, results)))
    else:
        _write(results, document, marks)
    wrong = [result for result in results if result.status in WRONG]
    print("\n".join(map(line, wrong)), file=sys.stderr)
    print(dict(Counter(result.status for result in results)), file=sys.stderr)
    return 1 if wrong else 0


def line(result: Result) -> str:
    """A row of the table."""
    cells = (result.case.operator, result.case.types, result.case.note, _became(result))
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _became(result: Result) -> str:
    text = {"agrees": "agrees", "rewritten": f"rewritten ({', '.join(result.rewrites)}): agrees"}.get(result.status, "")
    beyond = f"; NaN, infinities: {result.not_finite}" if result.not_finite else ""
    return (text or f"{result.status}: {result.reason}") + beyond


def _write(results: Sequence[Result], document: Path, marks: tuple[str, str]) -> None:
    lines = [f"| {' | '.join(HEADS)} |", f"|{' --- |' * len(HEADS)}", *map(line, results)]
    lines += ["", ", ".join(f"{name} {version}" for name, version in tosa.versions().items()) + "."]
    head, _, rest = document.read_text(encoding="utf-8").partition(marks[0])
    table = "\n".join(lines)
    document.write_text(f"{head}{marks[0]}\n\n{table}\n\n{marks[1]}{rest.partition(marks[1])[2]}", encoding="utf-8")
