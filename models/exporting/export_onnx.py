"""Export the ONNX models of models/exported with both exporters of PyTorch. For development only.

    python -m models.exporting.export_onnx [NAME ..] [--check | --run]

Without an option the files are written, and sizes.json beside them: what each input is fed, and two sets of sizes.
--check exports again, compares the bytes, and runs what is committed; --run only runs it, and needs no PyTorch.
A NAME is of a file or of an architecture. Needs torch, transformers, onnxscript, onnx and onnxruntime
(written with torch 2.13 and transformers 5.23: other versions give other bytes). Exit status: 0, or 1 if one is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from models.exporting.feeds import Feed
from models.exporting.running import fault, run

FOLDER = Path(__file__).resolve().parents[1] / "exported"
SIZES = FOLDER / "sizes.json"
MOST_BYTES = 135_000


def _described(case: Any) -> dict[str, Any]:  # noqa: ANN401 - a Case, whose module needs PyTorch
    """What sizes.json says of a file."""
    return {"inputs": {name: asdict(feed) for name, feed in case.inputs.items()}, "sizes": list(case.sizes)}


def _sizes() -> dict[str, Any]:
    """What sizes.json says of all files."""
    return dict(json.loads(SIZES.read_text(encoding="utf-8"))) if SIZES.exists() else {}


def _store(described: dict[str, Any]) -> None:
    """Write sizes.json, a line for each file."""
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(described.items())]
    SIZES.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _ran(stem: str) -> str:
    """Run one committed file; return what is wrong with it, or nothing."""
    described = _sizes()[stem]
    feeds = {name: Feed(each["kind"], tuple(each["shape"]), each["high"]) for name, each in described["inputs"].items()}
    data = (FOLDER / f"{stem}.onnx").read_bytes()
    return fault(run(data, feeds, described["sizes"])) or ""


def _exported(case: Any, writing: Any) -> tuple[bytes, str]:  # noqa: ANN401 - Case and Writing need PyTorch
    """Export and run one file; return its bytes, and what is wrong with it."""
    from models.exporting.from_pytorch.writing import write

    made = write(case, writing)
    found = run(made.data, case.inputs, case.sizes)
    wrong = fault(found) or ""
    if len(made.data) > MOST_BYTES:
        wrong = wrong or f"{len(made.data)} bytes"
    for ours, theirs in zip(found, made.results, strict=True):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            same = one.shape == tuple(other.shape) and np.allclose(one, other.numpy(), rtol=1e-3, atol=1e-4)
            wrong = wrong or ("" if same else f"output {place} is {one.shape}, PyTorch computes {tuple(other.shape)}")
    return made.data, wrong


def _wanted(names: Sequence[str], *known: str) -> bool:
    """Whether a file is asked for."""
    return not names or any(name in known for name in names)


def _written(names: Sequence[str], check: bool) -> Iterator[tuple[str, str]]:
    """Export what is asked for, and store or compare it: each file with what is wrong with it."""
    from models.exporting.from_pytorch.cases import CASES

    for case in CASES:
        for writing in case.writings:
            stem = case.file_name(writing)
            if not _wanted(names, stem, case.name):
                continue
            path = FOLDER / f"{stem}.onnx"
            try:
                data, wrong = _exported(case, writing)
            except Exception as error:  # noqa: BLE001 - the exporters raise anything, and the other files are wanted
                yield stem, f"{type(error).__name__}: {str(error)[:300]}"
                continue
            if check and (not path.exists() or path.read_bytes() != data or _sizes().get(stem) != _reread(case)):
                wrong = wrong or "the committed file differs"
            if not check and not wrong:
                path.write_bytes(data)
                _store(_sizes() | {stem: _described(case)})
            yield stem, wrong
    if not names:
        made = {case.file_name(writing) for case in CASES for writing in case.writings}
        there = {path.stem for path in FOLDER.glob("*.onnx")} | _sizes().keys()
        yield from ((stem, "nothing makes this file") for stem in sorted(there - made))


def _reread(case: Any) -> Any:  # noqa: ANN401 - a Case, whose module needs PyTorch
    """What sizes.json says of a case, as it is read."""
    return json.loads(json.dumps(_described(case)))


def _each_run(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Run what is committed: each file with what is wrong with it."""
    for path in sorted(FOLDER.glob("*.onnx")):
        if _wanted(names, path.stem, path.stem.rpartition("_")[0]):
            yield path.stem, _ran(path.stem)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write, check or run the files; return the exit status."""
    parser = argparse.ArgumentParser(description="Export the ONNX models of models/exported.")
    parser.add_argument("names", nargs="*", metavar="NAME")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true")
    choice.add_argument("--run", action="store_true")
    asked = parser.parse_args(arguments)
    if not asked.run and os.environ.get("PYTHONHASHSEED") != "0":  # transformers walks sets of words
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606
    found: Callable[[], Iterator[tuple[str, str]]]
    found = (lambda: _each_run(asked.names)) if asked.run else (lambda: _written(asked.names, asked.check))
    FOLDER.mkdir(exist_ok=True)
    count = 0
    for stem, wrong in found():
        print(f"{stem}: {wrong or 'ok'}", flush=True)
        count += bool(wrong)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
