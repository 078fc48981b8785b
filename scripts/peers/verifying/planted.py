"""Plant faults into models of the zoo: pairs of which is known that they differ (a process of its own).

    python -P -m peers.verifying.planted < ASKED

Each fault is put into the first place where it shows in the outputs by more than any tolerance hides, and where the
model still runs at its usual sizes; its interface stays as it is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import onnx

from peers.verifying import inputs, planted_onnx, planted_tflite
from peers.verifying.faults import FAULTS
from peers.verifying.record import APART, Witness
from peers.verifying.witness import Original, witnessed

LIMIT = 20


class PlantingError(Exception):
    """A fault shows at no place of its model."""


def planted(model: Path, name: str, folder: Path) -> dict[str, tuple[Path, Witness]]:
    """Write the model with each of its faults into a folder; return them by kind. Raises PlantingError."""
    original = Original(model, inputs.of(name))
    return {kind: _first(original, model, kind, folder) for kind in FAULTS[name]}


def _first(original: Original, model: Path, kind: str, folder: Path) -> tuple[Path, Witness]:
    path = folder / f"fault-{kind}{model.suffix}"
    for data in _places(model, kind):
        path.write_bytes(data)
        found = witnessed(original, path, LIMIT)
        if found.status == APART and found.runs:
            return path, found
    raise PlantingError(f"{model.name}: a fault of kind {kind!r} shows nowhere")


def _places(model: Path, kind: str) -> Iterator[bytes]:
    if model.suffix == ".onnx":
        return (each.SerializeToString() for each in planted_onnx.places(onnx.load(model), kind))
    return planted_tflite.places(model.read_bytes(), kind)


def main(text: str) -> str:
    """Plant what fits a model; text and answer are JSON."""
    asked = json.loads(text)
    found = planted(Path(asked["model"]), asked["name"], Path(asked["folder"]))
    return json.dumps({kind: {"path": str(path), "witness": asdict(seen)} for kind, (path, seen) in found.items()})


if __name__ == "__main__":
    sys.stdout.write(main(sys.stdin.read()))
