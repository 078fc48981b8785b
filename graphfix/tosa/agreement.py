"""Run a converted model and its original on the same seeded inputs, and compare their outputs."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from graphfix.api import format_of
from graphfix.checker.runs.comparing.difference import has_number, nothing_compared, only_nan
from graphfix.checker.runs.comparing.unwritten_variables import unwritten_outputs
from graphfix.checker.runs.static_model import StaticModel, fed_like, onnx_session, static_onnx, static_tflite
from graphfix.engine import binding
from graphfix.engine.request import Request
from graphfix.results import Conversion, Gap, InputValue
from graphfix.results.progress import Progress
from graphfix.results.records import dataclass
from graphfix.runtimes import tosa
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import ModelDetails, RefusedError, Session
from graphfix.tosa.judge import TOLERANCE, Apart, Judged, Limits, judged
from graphfix.tosa.plain_weights import dequantized

Array = np.ndarray[Any, Any]
Feeds = Mapping[str, object]

RUNS = 3
_LITERT_KERNELS = ("reference", "builtin", "xnnpack")
"""The kernel sets in order. The converted model is compared with the first set that supports all operators.

If TOSA's outputs are not near to that set's, they are compared with those of the other sets, too.
"""
_HINT = "give inputs that mean something (--inputs), or say what is near enough (--atol, --rtol)"


@dataclass(frozen=True, slots=True)
class _Original:
    """The original model, loaded, with the fixed model's inputs that the converted model accepts."""

    session: Session
    model: StaticModel
    beside: str
    others: tuple[Callable[[], Session], ...]
    """Functions that load the original with other kernels. The call unloads the previous session."""

    @property
    def steps(self) -> Sequence[float | None]:
        """For each output, the difference of two neighbouring quantized numbers; None if it is not quantized."""
        return self.model.steps or (None,) * len(self.session.outputs)

    def as_computed(self, outputs: Sequence[object]) -> list[Array]:
        """Return outputs as arrays; convert an output back to float16 if the model's last Cast widened it."""
        arrays = [np.asarray(value) for value in outputs]
        with np.errstate(over="ignore"):
            return [
                array.astype(np.float16) if name in self.model.float16_outputs else array
                for name, array in zip(self.session.outputs, arrays, strict=True)
            ]


@dataclass(slots=True)
class _Worst:
    """The largest difference of one output over all runs so far."""

    largest: float = 0.0
    relative: float | None = None
    within: bool = True
    apart: Apart | None = None
    """The difference of the kernel sets from each other, if several kernel sets were run; else None."""
    number: bool | None = None
    """Whether a run of the original returned an element that is not NaN; None if no run returned an element."""

    def widen(self, found: Judged) -> None:
        """Add the result of another run."""
        self.largest, self.within = max(self.largest, found.largest), self.within and found.within
        if found.relative is not None:
            self.relative = max(self.relative or 0.0, found.relative)


def agreement(done: Conversion, original: Path, fixed: Path, converted: Path, request: Request) -> Conversion:
    """Run the TOSA flatbuffer `converted` in the reference model and `original` in its runtime; compare the outputs.

    The result is `done` with the status of the comparison. The sizes are those that `fixed` declares. There are three
    runs, with the seeds `seed`, `seed` + 1 and `seed` + 2 of the request. Floats are those of `uniform`, and integers
    are bounded by the axes that they index. If the request has `run_on` (.npz files or ONNX test_data_set folders),
    there is one run for each of them instead. A refusal of a runtime is the status "not run". Raises GraphfixError for
    inputs that do not fit.
    """
    values, done = binding.requested(original, request).values, replace(done, tolerance=TOLERANCE)
    with Child() as child, TemporaryDirectory() as folder:
        try:
            original_facts = (
                _tflite(child, original, fixed, values, Path(folder))
                if format_of(fixed) == "tflite"
                else _onnx(child, original, fixed, values, request.data_roots)
            )
            return _compared(done, original_facts, converted, _cases(original_facts, request), request)
        except RefusedError as error:
            return replace(done, status="not run", reason=str(error))


def _cases(original: _Original, request: Request) -> list[Feeds]:
    """Return the inputs of each run: those of the request's files, or seeded ones."""
    if request.run_on:
        return [original.model.given(path) for path in request.run_on]
    return [uniform(original.model, request.seed + number) for number in range(RUNS)]


def uniform(model: StaticModel, seed: int) -> Feeds:
    """Return seeded inputs of a static model, with floats uniform in -1..1.

    If a float input is directly quantized, its range is that of the quantized type. All other inputs are made as for
    verification.
    """
    feeds = model.seeded(seed)
    for spec in model.interface.inputs:
        if spec.dtype is not None and spec.dtype.kind == "f" and spec.name not in model.limits.intervals:
            source = np.random.default_rng([seed, zlib.crc32(spec.name.encode())])
            shape = np.shape(np.asarray(feeds[spec.name]))
            low, high = model.ranges.get(spec.name, (-1, 1))
            feeds[spec.name] = np.asarray(source.uniform(low, high, shape)).astype(spec.dtype)
    return feeds


# --- the originals --------------------------------------------------------------------------------------------------


def _tflite(child: Child, original: Path, fixed: Path, values: Mapping[str, InputValue], folder: Path) -> _Original:
    """Load the original in LiteRT, with the first kernel set that supports all of its operators.

    Raises RefusedError.

    `values` are the inputs that the user set to constants, and `folder` is a temporary folder.
    """
    note, plain = "", folder / "plain.tflite"
    if dequantized(original, plain):
        original, note = plain, ", weights dequantized"
    first: RefusedError | None = None
    for kernels in _LITERT_KERNELS:
        try:
            reported = child.load_tflite(fixed, kernels).interface
            session = child.load_tflite(original, kernels)
            model = static_tflite(fixed, reported, session.interface, values)
            _refuse_unwritten(original, session.interface)
            others = [partial(child.load_tflite, original, each) for each in _LITERT_KERNELS if each != kernels]
            return _Original(session, model, f"LiteRT ({kernels} kernels{note})", tuple(others))
        except RefusedError as error:
            first = first or error
    raise first or RefusedError("LiteRT has no kernels")


def _refuse_unwritten(original: Path, interface: ModelDetails) -> None:
    """Raise RefusedError if an output of the original depends on a variable that no operator has written."""
    for why in unwritten_outputs(original, interface).values():
        raise RefusedError(why.cause)


def _onnx(
    child: Child, original: Path, fixed: Path, values: Mapping[str, InputValue], data_root: Sequence[Path]
) -> _Original:
    """Load the original in onnxruntime, without optimizations. Raises RefusedError.

    `values` are the inputs that the user set to constants.
    """
    session = fed_like(onnx_session(child, original, data_root), original, fixed)
    model = static_onnx(fixed, original, values)

    def optimized() -> Session:
        return fed_like(onnx_session(child, original, data_root, optimized=True), original, fixed)

    return _Original(session, model, "onnxruntime (optimizations off)", (optimized,))


# --- the differences ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Run:
    """The outputs of both models for one set of inputs: `wanted` of the original, `got` of the converted model."""

    feeds: Feeds
    wanted: list[list[Array]]
    """The outputs of the original, by kernel set."""
    got: Sequence[Array]


def _compared(
    done: Conversion, original: _Original, converted: Path, cases: Sequence[Feeds], request: Request
) -> Conversion:
    """Run both models on all cases, and return the conversion with the status of the comparison.

    The first unpredictable run ends the comparison.
    """
    done = replace(done, runs=len(cases), beside=original.beside)
    names, limits, progress = original.session.outputs, Limits(request.atol, request.rtol), request.progress
    worst = {name: _Worst() for name in names}
    runs: list[_Run] = []
    for number, feeds in enumerate(cases, 1):
        progress(f"running {original.beside}", number - 1, len(cases))
        wanted = original.as_computed(original.session.run(feeds))
        progress("running the TOSA reference model", number - 1, len(cases))
        answer = tosa.run(converted, [np.asarray(feeds[name]) for name in original.model.arguments])
        if len(answer.outputs) != len(names):
            raise RefusedError(f"the TOSA file has {len(answer.outputs)} outputs, the original {len(names)}")
        runs.append(_Run(feeds, [wanted], original.as_computed(answer.outputs)))
        _judge(original, runs[-1:], limits, worst)
        numbers = [has_number(want) for want in wanted]
        for name, number_seen in zip(names, numbers, strict=True):
            worst[name].number = worst[name].number or number_seen
        # An unpredictable run does not count if its inputs are seeded and all outputs of the original are NaN.
        if answer.status == "unpredictable" and (request.run_on or any(numbers)):
            reason = _undefined(answer.reason)
            return replace(done, status="unpredictable", reason=reason, gaps=_gaps(original, worst), runs=number)
    if any(not found.within for found in worst.values()):
        worst = _beside_others(original, runs, limits, worst, progress)
    differing = [name for name, found in worst.items() if not found.within]
    unseen = only_nan([{name: found.number for name, found in worst.items()}])
    done = replace(done, gaps=_gaps(original, worst))
    if differing:
        return replace(done, status="differs", reason=f"{_more_than(limits)}: {', '.join(differing)}; {_HINT}")
    if unseen:
        return replace(done, status="not run", reason=nothing_compared(unseen))
    return replace(done, status="agrees")


def _undefined(met: str | None) -> str:
    """Return a text about an operator without a defined result; `met` is the reference model's message, or None."""
    name, _, what = (met or "").removeprefix("Op").partition(": ")
    operator = f"tosa.{name.lower()}" if name else "an operator"
    return f"{operator} met values for which TOSA defines no result{f': {what}' if what else ''}"


def _more_than(limits: Limits) -> str:
    """Return the beginning of a reason: an output differs by more than the user's limits, or the default limit."""
    if limits.atol is None and limits.rtol is None:
        return f"differs by more than {TOLERANCE:g} of its range"
    return f"differs by more than atol {limits.atol or 0:g}, rtol {limits.rtol or 0:g}"


def _judge(original: _Original, runs: Sequence[_Run], limits: Limits, worst: Mapping[str, _Worst]) -> None:
    """Compare the outputs of the runs, and add the differences to `worst`."""
    for run in runs:
        for at, found in enumerate(worst.values()):
            wanted = [outputs[at] for outputs in run.wanted]
            found.widen(judged(wanted, run.got[at], limits, original.steps[at], found.apart))


def _beside_others(
    original: _Original, runs: Sequence[_Run], limits: Limits, worst: Mapping[str, _Worst], progress: Progress
) -> dict[str, _Worst]:
    """Run the original with the runtime's other kernels, and return the comparison of all runs with all kernel sets.

    A kernel set that refuses the model or a run is skipped.
    """
    for load in original.others:
        progress("asking the runtime's other kernels")
        try:
            session = load()
            answers = [original.as_computed(session.run(run.feeds)) for run in runs]
        except RefusedError:
            continue
        for run, answer in zip(runs, answers, strict=True):
            run.wanted.append(answer)
    again = {
        name: _Worst(number=found.number, apart=Apart.of([[outputs[at] for outputs in run.wanted] for run in runs]))
        for at, (name, found) in enumerate(worst.items())
    }
    _judge(original, runs, limits, again)
    return again


def _gaps(original: _Original, worst: Mapping[str, _Worst]) -> tuple[Gap, ...]:
    """Return the differences of all outputs as records of the result."""
    return tuple(
        Gap(
            name,
            found.largest,
            found.relative,
            found.within,
            spread=None if found.apart is None else found.apart.largest,
            quanta=step and found.largest / step,
        )
        for (name, found), step in zip(worst.items(), original.steps, strict=True)
    )
