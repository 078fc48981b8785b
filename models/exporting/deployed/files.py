"""Write, compare and run the ONNX files of a folder of models/deployed, and say what each is fed (its sizes.json)."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from models.exporting.feeds import Array, Feed, Sizes
from models.exporting.running import fault

DEPLOYED = Path(__file__).resolve().parents[2] / "deployed"
MOST_BYTES = 135_000
"""The most bytes of a file, data files included."""


@dataclass(frozen=True)
class Deployed:
    """A file: its path in the folder without .onnx, what writes it, and its inputs at two sets of sizes or more."""

    name: str
    write: Callable[[Path], None]
    inputs: Mapping[str, Feed]
    sizes: Sequence[Sizes]

    def described(self) -> Any:  # noqa: ANN401 - what JSON can hold
        """Return what sizes.json says of the file, as it is read."""
        inputs = {name: asdict(feed) for name, feed in self.inputs.items()}
        return json.loads(json.dumps({"inputs": inputs, "sizes": list(self.sizes)}))


def sizes_of(folder: Path) -> dict[str, Any]:
    """Return what sizes.json says of all files of a folder."""
    path = folder / "sizes.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def store(folder: Path, described: Mapping[str, Any]) -> None:
    """Write sizes.json, a line for each file."""
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in sorted(described.items())]
    (folder / "sizes.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def feeds_of(described: Mapping[str, Any]) -> tuple[dict[str, Feed], list[Sizes]]:
    """Return the inputs and the sets of sizes that a line of sizes.json describes."""
    read = {name: Feed(each["kind"], tuple(each["shape"]), each["high"]) for name, each in described["inputs"].items()}
    return read, list(described["sizes"])


def run(path: Path, inputs: Mapping[str, Feed], sets: Sequence[Sizes]) -> list[list[Array]]:
    """Return the outputs for each set of sizes; floats are fed in the type that the input has.

    Raises what the runtime raises.
    """
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    types = {each.name: each.type for each in session.get_inputs()}
    if not types.keys() <= inputs.keys():
        raise ValueError(f"the inputs are {sorted(types)}, not {sorted(inputs)}")
    return [
        session.run(None, {name: _stored(inputs[name].numbers(each), types[name]) for name in types}) for each in sets
    ]


def _stored(value: Array, type_: str) -> Array:
    """Return numbers in the type of an input: float32 may be fed to one of float16."""
    return value.astype(np.float16) if type_ == "tensor(float16)" else value


def parts(path: Path) -> dict[str, bytes]:
    """Return the bytes of a file and of its data files, by name."""
    found = {each.name: each for each in (path, *path.parent.glob("model.onnx.data")) if each.exists()}
    alone = path.name != "model.onnx"
    return {name: each.read_bytes() for name, each in found.items() if name == path.name or not alone}


def _made(case: Deployed, folder: Path, compare: bool) -> str:
    """Write one file, run it, and store or compare it; return what is wrong with it, or nothing."""
    with tempfile.TemporaryDirectory() as name:
        fresh = Path(name) / Path(case.name + ".onnx").name
        case.write(fresh)
        wrong = fault(run(fresh, case.inputs, case.sizes)) or ""
        written = parts(fresh)
        if sum(map(len, written.values())) > MOST_BYTES:
            wrong = wrong or f"{sum(map(len, written.values()))} bytes"
        target = folder / f"{case.name}.onnx"
        if compare and (parts(target) != written or sizes_of(folder).get(case.name) != case.described()):
            wrong = wrong or "the committed file differs"
        if not compare and not wrong:
            target.parent.mkdir(parents=True, exist_ok=True)
            for part, data in written.items():
                (target.parent / part).write_bytes(data)
            store(folder, sizes_of(folder) | {case.name: case.described()})
    return wrong


def _every(cases: Sequence[Deployed], folder: Path, compare: bool) -> Iterator[tuple[str, str]]:
    """Write or compare each file: its name with what is wrong with it."""
    for case in cases:
        try:
            yield case.name, _made(case, folder, compare)
        except Exception as error:  # noqa: BLE001 - the tools raise anything, and the other files are wanted
            yield case.name, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def committed(folder: Path) -> list[str]:
    """Return the names of the files of a folder, in order."""
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.onnx"))


def _each_run(names: Sequence[str], folder: Path) -> Iterator[tuple[str, str]]:
    """Run what is committed: each file with what is wrong with it."""
    described = sizes_of(folder)
    for name in names:
        if name not in described:
            yield name, "sizes.json does not describe this file"
            continue
        try:
            yield name, fault(run(folder / f"{name}.onnx", *feeds_of(described[name]))) or ""
        except Exception as error:  # noqa: BLE001 - the runtime raises anything, and the other files are wanted
            yield name, f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


def main(
    arguments: Sequence[str] | None, description: str, folder: Path, cases: Callable[[], Mapping[str, Deployed]]
) -> int:
    """Write, check or run the files of a folder; return the exit status: 1 if one of them is wrong."""
    parser = ArgumentParser(description=description)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the beginning of the names of files")
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--check", action="store_true", help="write nothing, and compare with what is committed")
    choice.add_argument("--run", action="store_true", help="only run what is committed")
    asked = parser.parse_args(arguments)
    if not asked.run and os.environ.get("PYTHONHASHSEED") != "0":  # the tools walk sets of names
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606
    start = tuple(asked.names) or ("",)
    if asked.run:
        found = _each_run([name for name in committed(folder) if name.startswith(start)], folder)
    else:
        known = cases()
        found = _every([case for name, case in known.items() if name.startswith(start)], folder, asked.check)
    count = 0
    for name, wrong in found:
        print(f"{name}: {wrong or 'ok'}", flush=True)
        count += bool(wrong)
    if not asked.run and not asked.names:
        for stray in sorted({*committed(folder), *sizes_of(folder)} - known.keys()):
            print(f"{stray}: nothing makes this file")
            count += 1
    return 1 if count else 0
