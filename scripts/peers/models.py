"""The models that are measured: those of the zoo, and the rows of scripts/bench.py, whose models are built."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import bench

from peers.clock import timed

ROOT = Path(__file__).resolve().parents[2]
ZOO = ROOT / "models" / "zoo"
MADE, FROM_ZOO = "made", "zoo"
QUICK = ("encoder-230kb", "basic-pitch/nmp.onnx", "tflite-micro/sine_float.tflite")
BUILD_LIMIT = 900
BIG = 500_000_000
"""The size in bytes above which the results for a model are not run."""


class ModelError(Exception):
    """A model or a peer with the requested name does not exist; the message is one line."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model that is measured. `row` is its row of scripts/bench.py if it is not from the zoo."""

    name: str
    group: str
    format: str
    path: Path | None = None
    """The path of the file, or None if the model must be built."""
    row: bench.Row | None = None

    def placed_in(self, folder: Path, python: Path) -> Path:
        """Copy the model into a folder, or build it there, and return its path.

        `python` is the Python that runs the builder.
        """
        target = folder / (f"{self.row.name}.{self.format}" if self.row else Path(self.name).name)
        if self.path is not None:
            shutil.copyfile(self.path, target)
        elif self.row is not None:
            builder = ROOT / "scripts" / bench.BUILDERS[self.format]
            words = [Path(self.row.kind).stem, str(self.row.amount), str(target)]
            timed([str(python), str(builder), *words], BUILD_LIMIT)
        return target


def sources() -> Sequence[Source]:
    """Return all models: those of the zoo in the order of their format and size, then the others."""
    found = (path for path in ZOO.rglob("*") if path.suffix in {".onnx", ".tflite"})
    zoo = sorted(found, key=lambda path: (path.suffix, path.stat().st_size, str(path)))
    return [*(Source(str(path.relative_to(ZOO)), FROM_ZOO, path.suffix[1:], path) for path in zoo), *_made()]


def _made() -> Iterator[Source]:
    """Yield the rows of scripts/bench.py, without those whose model is from the zoo."""
    for row in bench.ROWS:
        if not row.kind.startswith("models/zoo/"):
            yield Source(row.name, MADE, row.format, None if row.amount else ROOT / row.kind, row)


def chosen(names: Sequence[str], quick: bool) -> Sequence[Source]:
    """Return the models whose name contains one of the words, or all models without words.

    `quick` returns only the models in `QUICK`. Raise ModelError if a word matches no model.
    """
    every = sources()
    if quick:
        return [source for source in every if source.name in QUICK]
    for word in names:
        if not any(word in source.name for source in every):
            raise ModelError(f"no model's name holds {word!r}; there are {', '.join(each.name for each in every)}")
    return [source for source in every if not names or any(word in source.name for word in names)]


def size(path: Path) -> int:
    """Return the number of bytes of a model with its external data."""
    data = path.with_name(f"{path.name}.data")
    return path.stat().st_size + (data.stat().st_size if data.exists() else 0)


def clear(folder: Path, kept: frozenset[str]) -> int:
    """Delete all files and folders inside `folder` except those in `kept`, and return the files' total bytes."""
    new = [Path(each.path) for each in os.scandir(folder) if each.name not in kept]
    total = sum(path.stat().st_size for path in new if path.is_file())
    for path in new:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return total
