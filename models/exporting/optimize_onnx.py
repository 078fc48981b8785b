"""Put models of models/exported through onnxruntime's own tools: models/deployed/optimized and quantized.

    python -m models.exporting.optimize_onnx [NAME ..] [--check | --run]

Written are the saved files of optimizing sessions, what onnxruntime.transformers makes by model type and in float16,
and what onnxruntime.quantization makes. --check writes again, compares the bytes, and runs; --run only runs what is
committed, at the sizes of sizes.json. A NAME is the beginning of a file's name. Written with onnxruntime 1.32, onnx
1.23, PyTorch 2.14 and sympy 1.14 (the model types need PyTorch); other versions give other bytes. For development only.
Files of recipe `all` hold convolutions in blocks of 16 channels: the CPU that writes them has AVX-512.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from models.exporting.deployed.files import DEPLOYED, Deployed, feeds_of, main, sizes_of
from models.exporting.deployed.onnxruntime_cases import OPTIMIZED, QUANTIZED, pairs

EXPORTED = DEPLOYED.parent / "exported"
TABLES = {"optimized": OPTIMIZED, "quantized": QUANTIZED}


def cases(table: Mapping[str, str]) -> dict[str, Deployed]:
    """Return the files of a table by name."""
    described = sizes_of(EXPORTED)
    return {
        name: Deployed(name, partial(_write, stem, recipe), *feeds_of(described[stem]))
        for name, (stem, recipe) in pairs(dict(table)).items()
    }


def _write(stem: str, recipe: str, target: Path) -> None:
    """Put a file of models/exported through a recipe."""
    from models.exporting.deployed.onnxruntime_recipes import RECIPES
    from models.exporting.silence import quiet

    inputs, sets = feeds_of(sizes_of(EXPORTED)[stem])
    feeds = [{name: feed.numbers(sizes) for name, feed in inputs.items()} for sizes in sets]
    with quiet():
        RECIPES[recipe](EXPORTED / f"{stem}.onnx", target, feeds)


def both(arguments: Sequence[str] | None = None) -> int:
    """Write, check or run the files of both folders; return the exit status."""
    statuses = [
        main(arguments, str(__doc__).partition("\n")[0], DEPLOYED / name, partial(cases, table))
        for name, table in TABLES.items()
    ]
    return max(statuses)


if __name__ == "__main__":
    sys.exit(both())
