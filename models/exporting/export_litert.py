"""Write the TFLite models of models/deployed as PyTorch's users make them today (development only).

    python -m models.exporting.export_litert [NAME ...] [--check | --run]

Folder litert_torch holds what litert-torch converts, litert_quantized what ai-edge-quantizer makes of these files and
of those of models/exported. NAME is the beginning of the names of files; without one, all are written. `--check`
writes nothing: the bytes are those of the committed file. All run each file in LiteRT; `--run` does nothing else, and
needs no PyTorch. The others need what graphfix needs, and
    pip install litert-torch==0.10.0 ai-edge-quantizer==0.10.0
No weights are downloaded: the models are tiny, and their weights a repeating pattern.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from models.exporting.from_keras.model import Export
from models.exporting.tflite_runs import run
from models.exporting.through_litert_torch.cases import CONVERTED, QUANTIZED, RECIPES, TORCH, source

SILENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "JAX_PLATFORMS": "cpu"}


def paths() -> dict[Path, Export]:
    """Return every file with what it is fed, in the order in which files are written."""
    converted = {TORCH / f"{name}.tflite": export for name, export in CONVERTED.items()}
    return converted | {QUANTIZED / f"{name}.tflite": source(base)[1] for name, (base, _) in RECIPES.items()}


def made(path: Path) -> bytes:
    """Convert or quantize one file. Raises what the converter and the quantizer raise."""
    if path.parent == TORCH:
        from models.exporting.through_litert_torch.convert import convert

        return convert(CONVERTED[path.stem])
    from models.exporting.through_litert_torch.quantize import quantize

    base, recipe = RECIPES[path.stem]
    return quantize(*source(base), recipe)


def exported(path: Path, export: Export, compare: bool) -> str:
    """Make one file, run it, and store or compare it; return what is wrong with it, or nothing.

    Raises what the tools and LiteRT raise.
    """
    written = made(path)
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / path.name
        fresh.write_bytes(written)
        run(export, fresh)
    if compare:
        same = path.exists() and path.read_bytes() == written
        return "" if same else "other bytes than the committed file"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written)
    return ""


def ran(path: Path, export: Export) -> str:
    """Run one committed file; return nothing. Raises what LiteRT raises."""
    run(export, path)
    return ""


def _line(path: Path, asked: argparse.Namespace) -> tuple[bool, str]:
    """Do what was asked with one file; return whether it is right, and a line on it."""
    export = paths()[path]
    try:
        wrong = ran(path, export) if asked.run else exported(path, export, asked.check)
    except Exception as error:  # noqa: BLE001 - the tools raise anything, and the other files are wanted
        wrong = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return not wrong, f"{path.parent.name}/{path.stem}: {wrong or 'ok'}"


def _lines(files: Sequence[Path], asked: argparse.Namespace) -> Iterator[tuple[bool, str]]:
    """Do what was asked, each file in a process of its own: the converter's counters begin anew in each."""
    if asked.run:
        yield from (_line(path, asked) for path in files)
        return
    import models.exporting.through_litert_torch.convert
    import models.exporting.through_litert_torch.quantize  # noqa: F401 - both take long, and the processes are forks

    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        for folder in (TORCH, QUANTIZED):  # the second reads what the first writes
            some = [path for path in files if path.parent == folder]
            yield from pool.imap(partial(_line, asked=asked), some, chunksize=1)


def strays(every: Mapping[Path, Export]) -> list[Path]:
    """Return the files of both folders that nothing makes."""
    return sorted({*TORCH.glob("*.tflite"), *QUANTIZED.glob("*.tflite")} - every.keys())


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, check or run the files; return 1 where one is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true")
    choice.add_argument("--run", action="store_true")
    asked = parser.parse_args(arguments)
    os.environ.update(SILENT)
    every = paths()
    files = [path for path in every if not asked.names or path.stem.startswith(tuple(asked.names))]
    failed = 0
    for right, line in _lines(files, asked):
        failed += not right
        print(line, flush=True)
    for path in strays(every):
        print(f"{path.parent.name}/{path.stem}: nothing makes this file")
    return int(failed > 0 or bool(strays(every)))


if __name__ == "__main__":
    sys.exit(main())
