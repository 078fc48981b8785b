"""Write the TFLite models of models/exported as users write and convert them (development only).

    python -m models.exporting.export_tflite [NAME ...] [--check | --run]

NAME is the beginning of the names of files; without one, all are written. `--check` writes nothing: the bytes of a new
conversion are those of the committed file. All run each file in LiteRT, at two sizes where axes are free; `--run` does
nothing else, and needs no TensorFlow. The others need what graphfix needs, and
    pip install tensorflow==2.21.0 tf-keras==2.21.0 transformers==4.49.0
    pip install --no-deps keras-hub==0.32.0 kagglehub==1.0.3 kagglesdk==0.1.37
No weights are downloaded: the models are tiny, and their weights a repeating pattern.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "exported"
SILENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "TF_ENABLE_ONEDNN_OPTS": "0"}


def export(name: str, compare: bool) -> tuple[str, str]:
    """Convert one model in a process of its own; return what is wrong with it (or nothing), and a line on it."""
    from models.exporting.from_keras.catalogue import EXPORTS
    from models.exporting.tflite_convert import convert
    from models.exporting.tflite_runs import run

    made, path = EXPORTS[name], FOLDER / f"{name}.tflite"
    try:
        written = convert(made)
        same = path.exists() and path.read_bytes() == written
        with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
            Path(file.name).write_bytes(written)
            line = f"{name}: {len(written) / 1024:.1f} KB, free {' '.join(made.free()) or '-'}, "
            line += run(made, Path(file.name))
        if not compare:
            path.write_bytes(written)
    except Exception as error:  # noqa: BLE001
        if os.environ.get("TRACE"):
            traceback.print_exc()
        return f"{name}: {type(error).__name__}: {told(str(error))}", ""
    return (f"{name}: other bytes than the committed file" if compare and not same else ""), line


def ran(name: str) -> tuple[str, str]:
    """Run one committed file; return what is wrong with it (or nothing), and a line on it."""
    from models.exporting.from_keras.catalogue import EXPORTS
    from models.exporting.tflite_runs import run

    try:
        return "", f"{name}: {run(EXPORTS[name], FOLDER / f'{name}.tflite')}"
    except Exception as error:  # noqa: BLE001 - LiteRT raises anything, and the other files are wanted
        return f"{name}: {type(error).__name__}: {str(error)[:400]}", ""


def told(message: str) -> str:
    """Return of a converter's message what it says is missing; another message's beginning."""
    missing = [line for line in message.splitlines() if line.startswith(("TF Select ops", "Custom ops"))]
    return "; ".join(missing) or message[:400]


def main(arguments: Sequence[str] | None = None) -> int:
    """Export the models named on the command line; return 1 where one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true")
    choice.add_argument("--run", action="store_true")
    asked = parser.parse_args(arguments)
    os.environ.update(SILENT)
    from models.exporting.from_keras.catalogue import EXPORTS

    names = [name for name in EXPORTS if not asked.names or name.startswith(tuple(asked.names))]
    failed = 0
    for wrong, line in map(ran, names) if asked.run else _exported(names, asked.check):
        failed += bool(wrong)
        print(wrong or line, flush=True)
    stray = {path.stem for path in FOLDER.glob("*.tflite")} - set(EXPORTS)
    for name in sorted(stray):
        print(f"{name}: no model of the catalogue makes it")
    return int(failed > 0 or bool(stray))


def _exported(names: Sequence[str], check: bool) -> Iterator[tuple[str, str]]:
    """Convert each model in a process of its own."""
    # A fork after the imports and before the first call: TensorFlow's counters begin anew in each child.
    import models.exporting.tflite_convert  # noqa: F401

    with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=1) as pool:
        yield from pool.imap(partial(export, compare=check), names, chunksize=1)


if __name__ == "__main__":
    sys.exit(main())
