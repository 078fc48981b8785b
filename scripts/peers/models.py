"""Which models are measured: the zoo, and the sizes of scripts/bench.py, which its builders make."""

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
"""Bytes from which on a model is measured fewer times, and its result is not run."""


class ModelError(Exception):
    """A model is not there: one line."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model that is measured."""

    name: str
    group: str
    format: str
    path: Path | None = None
    """Where it lies; None where it has to be built."""
    row: bench.Row | None = None

    def placed_in(self, folder: Path, python: Path) -> Path:
        """Put the model into a folder, with its external data, as files of their own; build it where it has to be."""
        target = folder / (f"{self.row.name}.{self.format}" if self.row else Path(self.name).name)
        if self.path is not None:
            shutil.copyfile(self.path, target)
        elif self.row is not None:
            builder = ROOT / "scripts" / bench.BUILDERS[self.format]
            words = [Path(self.row.kind).stem, str(self.row.amount), str(target)]
            timed([str(python), str(builder), *words], BUILD_LIMIT)
        return target


def sources() -> Sequence[Source]:
    """Every model: the zoo's in the order of their size, then what is made."""
    found = (path for path in ZOO.rglob("*") if path.suffix in {".onnx", ".tflite"})
    zoo = sorted(found, key=lambda path: (path.suffix, path.stat().st_size, str(path)))
    return [*(Source(str(path.relative_to(ZOO)), FROM_ZOO, path.suffix[1:], path) for path in zoo), *_made()]


def _made() -> Iterator[Source]:
    """The rows of scripts/bench.py but for those of the zoo."""
    for row in bench.ROWS:
        if not row.kind.startswith("models/zoo/"):
            yield Source(row.name, MADE, row.format, None if row.amount else ROOT / row.kind, row)


def chosen(names: Sequence[str], quick: bool) -> Sequence[Source]:
    """Pick models whose name holds one of the words, a few (`quick`), or all. Raises ModelError."""
    every = sources()
    if quick:
        return [source for source in every if source.name in QUICK]
    for word in names:
        if not any(word in source.name for source in every):
            raise ModelError(f"no model's name holds {word!r}; there are {', '.join(each.name for each in every)}")
    return [source for source in every if not names or any(word in source.name for word in names)]


def size(path: Path) -> int:
    """Return the bytes of a model with its external data."""
    data = path.with_name(f"{path.name}.data")
    return path.stat().st_size + (data.stat().st_size if data.exists() else 0)


def clear(folder: Path, kept: frozenset[str]) -> int:
    """Remove what is new in a folder; return its bytes."""
    new = [Path(each.path) for each in os.scandir(folder) if each.name not in kept]
    total = sum(path.stat().st_size for path in new if path.is_file())
    for path in new:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return total
