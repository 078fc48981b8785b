"""Run an exported file in LiteRT, at both sizes of its free axes; no TensorFlow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from models.exporting.from_keras.model import Export


def run(export: Export, path: Path) -> str:
    """Return what LiteRT says of the file: its operators and sizes, or what is wrong with it.

    Raises ValueError where an output is not finite or all its numbers are the same.
    """
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(str(path))
    names = interpreter.get_signature_list()
    if set(names) != set(export.model.signatures):
        raise ValueError(f"{path.name}: its signatures are {sorted(names)}")
    shapes = []
    for signature in names:
        runner = interpreter.get_signature_runner(signature)
        for feed in export.feeds(signature):
            details = runner.get_input_details()
            results = runner(**{key: stored(value, details[key]) for key, value in feed.items()})
            check(path.name, results)
            shapes.append(" ".join(str(list(one.shape)).replace(" ", "") for one in results.values()))
    return f"{len(interpreter._get_ops_details())} operators; " + " | ".join(shapes)  # noqa: SLF001


def stored(value: np.ndarray[Any, Any], details: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return a value as the input holds it: int8 or int16 by a scale and a zero point, or as it is."""
    if value.dtype.kind != "f" or details["dtype"] not in (np.int8, np.int16):
        return value
    scale, zero = details["quantization"]
    limits = np.iinfo(details["dtype"])
    held: np.ndarray[Any, Any] = np.clip(np.round(value / scale) + zero, limits.min, limits.max)
    return held.astype(details["dtype"])


def check(name: str, results: dict[str, np.ndarray[Any, Any]]) -> None:
    """Raise ValueError where a result is not finite, or every number of every result is the same."""
    for key, value in results.items():
        if value.dtype.kind == "f" and not np.isfinite(value).all():
            raise ValueError(f"{name}: {key} is not finite")
    if not any(value.size < 2 or np.ptp(value.astype(np.float64)) > 1e-6 for value in results.values()):
        raise ValueError(f"{name}: every result is constant")
