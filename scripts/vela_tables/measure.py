"""What Vela, the compiler for Arm's Ethos-U, makes of a TFLite model: placements and estimates (not run by itself).

An operator is told by the name of its first result, which graphfix keeps: a BROADCAST_TO that becomes a TILE is still
the original's operator. Two suffixes are seen through, where the name without them is not in the file: `_lifted`, as
graphfix calls what was computed of a constant, and `_int8`, as Vela calls a boolean that an Ethos-U85 stores.
"""

from __future__ import annotations

import csv
import os
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import ai_edge_litert.schema_py_generated as schema

ACCELERATORS = ("ethos-u55-128", "ethos-u85-256")
VARIABLE = "GRAPHFIX_VELA"
LONGEST_SECONDS = 300
_ON_NPU = "ethos-u"
"""The custom operator that Vela writes for what it places on the NPU."""
_NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if not name.startswith("_")}


class Operator(NamedTuple):
    """An operator of a file: its type, and the name of its first result."""

    op: str
    name: str


@dataclass(frozen=True)
class Placed:
    """What Vela made of a model."""

    cpu: tuple[Operator, ...] = ()
    """What it left outside of its own operator."""
    cycles: int = 0
    """Its estimate for one inference: of what is on the NPU alone, nothing is estimated for the CPU."""
    error: str = ""
    """Why there is no result."""


@dataclass(frozen=True)
class Difference:
    """Where the operators of an original are before and after; each list by name."""

    moved: tuple[Operator, ...]
    """From the NPU to the CPU."""
    returned: tuple[Operator, ...]
    """From the CPU to the NPU, or away."""
    added: tuple[Operator, ...]
    """On the CPU, and no operator of the original."""


SAME = Difference((), (), ())


def executable() -> Path | None:
    """Return the `vela` that the environment names, or the one on the PATH; None where it is not there."""
    found = shutil.which(os.environ.get(VARIABLE) or "vela")
    return Path(found) if found else None


@cache
def version(vela: Path) -> str:
    """Return the version of Vela."""
    ended = subprocess.run([vela, "--version"], capture_output=True, text=True, check=True)
    return ended.stdout.strip()


def operators(data: bytes) -> tuple[Operator, ...]:
    """Return the operators of a TFLite file, of all subgraphs."""
    model = schema.ModelT.InitFromPackedBuf(data)
    found = []
    for graph in model.subgraphs:
        for operator in graph.operators:
            code = model.operatorCodes[operator.opcodeIndex]
            builtin = max(code.builtinCode, code.deprecatedBuiltinCode)
            name = code.customCode.decode() if code.customCode else _NAMES[builtin]
            results = [graph.tensors[index].name.decode() for index in operator.outputs if index >= 0]
            found.append(Operator(name, results[0] if results else ""))
    return tuple(found)


def place(vela: Path, data: bytes, accelerator: str) -> Placed:
    """Compile a model for one accelerator, with Vela's defaults for its memories."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "m.tflite")
        source.write_bytes(data)
        command = [vela, source, "--accelerator-config", accelerator, "--output-dir", folder]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Placed(error=f"longer than {LONGEST_SECONDS} s")
        if ended.returncode:
            return Placed(error=_why(ended))
        made = operators(Path(folder, "m_vela.tflite").read_bytes())
        (summary,) = Path(folder).glob("m_summary_*.csv")
        (row,) = csv.DictReader(summary.read_text(encoding="utf-8").splitlines())
    return Placed(tuple(each for each in made if each.op != _ON_NPU), int(float(row["cycles_total"])))


def _why(ended: subprocess.CompletedProcess[str]) -> str:
    """The signal that ended it, or the first line of its error."""
    if ended.returncode < 0:
        return signal.Signals(-ended.returncode).name
    said = [line for line in ended.stderr.splitlines() if line.startswith("RuntimeError: ")]
    last = (ended.stderr or ended.stdout).strip().splitlines() or [f"exit status {ended.returncode}"]
    return (said or last[-1:])[0].removeprefix("RuntimeError: ").removeprefix("Compilation failed: Error: ")


def original_names(original: bytes, given: bytes, cpu: tuple[Operator, ...]) -> tuple[list[str], list[Operator]]:
    """Return the names of the original's operators that are on the CPU, and what else is there.

    `given` is the file that Vela was given: the original, or what graphfix made of it. What Vela adds is in neither.
    """
    own, present = Counter(name for _, name in operators(original)), {name for _, name in operators(given)}
    names, others = [], []
    for operator in cpu:
        name = operator.name if operator.name in present else operator.name.removesuffix("_int8")
        if name not in own and name.removesuffix("_lifted") not in present:
            name = name.removesuffix("_lifted")
        if own[name] > 0:
            own[name] -= 1
            names.append(name)
        else:
            others.append(operator)
    return names, others


def compare(original: bytes, before: Placed, fixed: bytes, after: Placed, *, given: bytes | None = None) -> Difference:
    """Return which operators of the original changed their place.

    `before` is of the original or, where that is another file, of `given`: the original with its sizes bound.
    """
    were, vela_before = original_names(original, original if given is None else given, before.cpu)
    now, others = original_names(original, fixed, after.cpu)
    types: dict[str, str] = {name: op for op, name in operators(original)}
    moved, returned = Counter(now) - Counter(were), Counter(were) - Counter(now)
    added = Counter(others) - Counter(vela_before)
    return Difference(
        tuple(Operator(types[name], name) for name in moved.elements()),
        tuple(Operator(types[name], name) for name in returned.elements()),
        tuple(added.elements()),
    )
