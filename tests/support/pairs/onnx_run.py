"""Run an ONNX model on several inputs: by onnxruntime in a process apart, else by onnx's reference."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError

Feeds = Mapping[str, object]
Result = tuple[object, ...] | str
"""The outputs, or why it failed."""
SECONDS = 20.0
"""How long one run may take before its process is stopped."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What a model gave: by which runtime, and why it was not loaded or a result for each of the inputs."""

    runtime: str
    results: tuple[Result, ...] = ()
    refused: str = ""

    @property
    def runs(self) -> bool:
        """Whether it was loaded and gave something for one of the inputs at least."""
        return any(not isinstance(result, str) for result in self.results)


class Runner:
    """Runs models one after another; a crash of onnxruntime is a refusal."""

    def __init__(self, folder: Path) -> None:
        self._child = Child(SECONDS)
        self._folder = folder

    def close(self) -> None:
        """End the process."""
        self._child.__exit__(None)

    def run(self, model: bytes, feeds: Sequence[Feeds], runtime: str = "") -> Ran:
        """Run by the runtime that is named; by the reference where none is and onnxruntime gives nothing."""
        ran = self._onnxruntime(model, feeds) if runtime != "reference" else Ran("reference")
        if runtime == "onnxruntime" or ran.runs:
            return ran
        by_reference = _reference(model, feeds)
        return by_reference if runtime or by_reference.runs else ran

    def _onnxruntime(self, model: bytes, feeds: Sequence[Feeds]) -> Ran:
        try:
            session = self._child.load(model, folder=self._folder)
        except RefusedError as error:
            return Ran("onnxruntime", refused=str(error))
        results: list[Result] = []
        for given in feeds:
            try:
                results.append(tuple(session.run(given)))
            except RefusedError as error:
                results.append(str(error))
        return Ran("onnxruntime", tuple(results))


def _reference(model: bytes, feeds: Sequence[Feeds]) -> Ran:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            session = ReferenceEvaluator(onnx.ModelProto.FromString(model))
        except Exception as error:  # noqa: BLE001 -- onnx's reference raises what its Python raises
            return Ran("reference", refused=f"{type(error).__name__}: {error}")
        results: list[Result] = []
        for given in feeds:
            try:
                results.append(tuple(session.run(None, dict(given))))
            except Exception as error:  # noqa: BLE001 -- see above
                results.append(f"{type(error).__name__}: {error}")
    return Ran("reference", tuple(results))


def same(one: object, other: object) -> bool:
    """Bit for bit, any NaN as good as another; sequences, maps and absent optionals likewise."""
    if isinstance(one, (list, tuple)):
        return isinstance(other, (list, tuple)) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, Mapping):
        return isinstance(other, Mapping) and list(one) == list(other) and same([*one.values()], [*other.values()])
    if one is None or other is None:
        return one is other
    left, right = np.asarray(one), np.asarray(other)
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    return _bits(left) == _bits(right)


def _bits(array: np.ndarray) -> object:
    if array.dtype == object or array.dtype.kind in "US":
        return array.tolist()
    if array.dtype.kind in "fc" or array.dtype in _SMALL:
        array = np.where(np.isnan(array), array.dtype.type(np.nan), array)
    return array.tobytes()


_SMALL = tuple(map(np.dtype, (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)))
