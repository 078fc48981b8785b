"""A converted model beside its original: both run on the same seeded inputs, and how far their outputs are apart."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphfix.api import format_of
from graphfix.checker.runs.only_nan import has_number, nothing_compared, only_nan
from graphfix.checker.runs.static_model import StaticModel, fed_like, static_onnx, static_tflite
from graphfix.checker.runs.unwritten_variables import unwritten_outputs
from graphfix.engine import binding
from graphfix.engine.request import Progress, Request
from graphfix.results import ConversionStatus, Gap, InputValue
from graphfix.runtimes import tosa
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import ModelDetails, RefusedError, Session

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, object]

TOLERANCE = 1e-3
"""How far an output may be from the original's, as a part of the range of its values."""
RUNS = 3
_OPEN = "an operator met values for which TOSA defines no result"
_LITERT_KERNELS = ("reference", "builtin")
"""Those compared with: the optimized kernels differ more from the reference ones than TOSA does (docs/decisions.md)."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What the runs showed."""

    status: ConversionStatus
    reason: str | None = None
    gaps: tuple[Gap, ...] = ()
    runs: int = 0
    beside: str = ""


@dataclass(frozen=True, slots=True)
class _Original:
    """A loaded original, and the inputs that the converted model takes."""

    session: Session
    model: StaticModel
    beside: str


@dataclass(slots=True)
class _Worst:
    """One output, at worst over the runs so far."""

    largest: float = 0.0
    relative: float | None = None
    within: bool = True
    number: bool | None = None
    """Whether some run showed anything but NaN; None where no run had an element."""


def agreement(original: Path, fixed: Path, converted: Path, request: Request) -> Agreement:
    """Run the TOSA flatbuffer `converted` in the reference model, and `original` at the sizes that `fixed` declares.

    Three runs with seeds `seed`, `seed` + 1, `seed` + 2 of the request: floats uniform in -1..1, whole numbers bounded
    by what they index; or a run on each of its `run_on`, .npz files or ONNX test_data_set folders. Raises GraphfixError
    for inputs that do not fit.
    """
    values = binding.parse(original, request).values
    with Child() as child:
        try:
            load = _tflite if format_of(fixed) == "tflite" else _onnx
            known = load(child, original, fixed, values)
            return _compared(known, converted, _cases(known, request), request.progress)
        except RefusedError as error:
            return Agreement("not run", str(error))


def _cases(known: _Original, request: Request) -> list[Feeds]:
    if request.run_on:
        return [known.model.given(path) for path in request.run_on]
    return [uniform(known.model, request.seed + number) for number in range(RUNS)]


def uniform(model: StaticModel, seed: int) -> Feeds:
    """Seeded inputs of a static model: floats uniform in -1..1, everything else as verification makes it."""
    feeds = model.seeded(seed)
    for spec in model.interface.inputs:
        if spec.dtype is not None and spec.dtype.kind == "f" and spec.name not in model.limits.intervals:
            source = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
            shape = np.shape(np.asarray(feeds[spec.name]))
            feeds[spec.name] = np.asarray(source.uniform(-1, 1, shape)).astype(spec.dtype)
    return feeds


# --- the originals --------------------------------------------------------------------------------------------------


def _tflite(child: Child, original: Path, fixed: Path, values: Mapping[str, InputValue]) -> _Original:
    """Load the original in LiteRT, on the first kernel set that has all of its kernels. Raises RefusedError."""
    first: RefusedError | None = None
    for kernels in _LITERT_KERNELS:
        try:
            reported = child.load_tflite(fixed, kernels).interface
            session = child.load_tflite(original, kernels)
            model = static_tflite(fixed, reported, session.interface, values)
            _refuse_unwritten(original, session.interface)
            return _Original(session, model, f"LiteRT ({kernels} kernels)")
        except RefusedError as error:
            first = first or error
    raise first or RefusedError("LiteRT has no kernels")


def _refuse_unwritten(original: Path, interface: ModelDetails) -> None:
    """Raise RefusedError where the original's outputs follow from a variable that nothing has written."""
    for why in unwritten_outputs(original, interface).values():
        raise RefusedError(why.cause)


def _onnx(child: Child, original: Path, fixed: Path, values: Mapping[str, InputValue]) -> _Original:
    """Load the original in onnxruntime, optimizations off. Raises RefusedError."""
    session = fed_like(child.load(original), original, fixed)
    return _Original(session, static_onnx(fixed, original, values), "onnxruntime (optimizations off)")


# --- the differences ------------------------------------------------------------------------------------------------


def _compared(known: _Original, converted: Path, cases: Sequence[Feeds], progress: Progress) -> Agreement:
    worst = {name: _Worst() for name in known.session.outputs}
    for number, feeds in enumerate(cases, 1):
        progress(f"run {number} of {len(cases)}: {known.beside}")
        wanted = known.session.run(feeds)
        progress(f"run {number} of {len(cases)}: the TOSA reference model")
        answer = tosa.run(converted, [np.asarray(feeds[name]) for name in known.model.arguments])
        if len(answer.outputs) != len(worst):
            raise RefusedError(f"the TOSA file has {len(answer.outputs)} outputs, the original {len(worst)}")
        for name, want, got in zip(worst, wanted, answer.outputs, strict=True):
            _widen(worst[name], np.asarray(want), got)
        if answer.status == "unpredictable":
            return Agreement("unpredictable", _OPEN, _gaps(worst), number, known.beside)
    differing = [name for name, found in worst.items() if not found.within]
    unseen = only_nan([{name: found.number for name, found in worst.items()}])
    if unseen and not differing:
        return Agreement("not run", nothing_compared(unseen), _gaps(worst), len(cases), known.beside)
    reason = f"differs by more than {TOLERANCE:g} of its range: {', '.join(differing)}" if differing else None
    return Agreement("differs" if differing else "agrees", reason, _gaps(worst), len(cases), known.beside)


def _gaps(worst: Mapping[str, _Worst]) -> tuple[Gap, ...]:
    return tuple(Gap(name, found.largest, found.relative, found.within) for name, found in worst.items())


def _widen(worst: _Worst, want: Array, got: Array) -> None:
    largest = distance(want, got)
    span, most = extent(want)
    constant = span == 0
    worst.number = worst.number or has_number(want)
    worst.largest = max(worst.largest, largest)
    worst.within = worst.within and largest <= TOLERANCE * (max(1.0, most) if constant else span)
    if not constant:
        worst.relative = max(worst.relative or 0.0, largest / span)


def distance(want: Array, got: Array) -> float:
    """The largest absolute difference; infinite where a shape, a NaN or an infinity has no counterpart."""
    if want.shape != got.shape:
        return float("inf")
    a, b = want.astype(np.float64), got.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if bool(same.all()):
        return 0.0
    with np.errstate(invalid="ignore"):
        gap = np.abs(a - b)[~same]
    return float("inf") if bool(np.isnan(gap).any()) else float(gap.max())


def extent(values: Array) -> tuple[float, float]:
    """The range of an array's finite values, and the largest of their magnitudes; zeros where it has none."""
    finite = values.astype(np.float64)[np.isfinite(values.astype(np.float64))]
    return (float(np.ptp(finite)), float(np.abs(finite).max())) if finite.size else (0.0, 0.0)
