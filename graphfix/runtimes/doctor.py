"""What of the installation works: versions as the packages declare them, and one question to each runtime and tool.

Nothing that may break is imported here: `graphfix.runtimes.probe` answers the questions, each in a process apart.
"""

from __future__ import annotations

import getpass
import importlib.util
import os
import platform
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from types import MappingProxyType

from graphfix.results.environment import Environment, Extra, Package, Probe
from graphfix.results.records import dataclass
from graphfix.results.runtime_facts import MEASURED, newer_than_measured
from graphfix.runtimes import extras
from graphfix.runtimes.probe import ANSWER, WORKS
from graphfix.runtimes.process import finished
from graphfix.runtimes.session import RefusedError, one_line

SECONDS = 120.0
"""How long a question may take: the answer comes within one where the files are in memory, a cold disk may be slow."""
_TOOLS = 3
"""A tool of a probe's may take this part of it: there are two at most, and the probe still has to say what happened."""


@dataclass(frozen=True, slots=True)
class Question:
    """What one probe asks, and of whom."""

    probe: str
    """Its name in graphfix.runtimes.probe."""
    name: str
    packages: Mapping[str, str]
    """What it imports -> the package that holds it."""
    extra: str | None = None


_LITERT = MappingProxyType({"ai_edge_litert": "ai-edge-litert"})
QUESTIONS = (
    Question("onnxruntime", "onnxruntime", {"onnxruntime": "onnxruntime"}),
    Question("onnx", "onnx's reference evaluator", {"onnx": "onnx"}),
    Question("tflite", "the reader of TFLite tables", {"tflite": "tflite", "flatbuffers": "flatbuffers"}),
    Question("litert-reference", "LiteRT with reference kernels", _LITERT),
    Question("litert-builtin", "LiteRT with default kernels", _LITERT),
    Question("litert-xnnpack", "LiteRT with XNNPACK", _LITERT),
    *(
        Question(package, name, {module: package}, "tosa")
        for package, module, name in (
            ("tosa-converter-for-tflite", "tosa_converter_for_tflite", "tosa-converter-for-tflite"),
            ("torch-mlir", "torch_mlir", "torch-mlir"),
            ("tosa-tools", "tosa_reference_model", "tosa-opt and the TOSA reference model"),
        )
    ),
)
ADDS: Mapping[str, str] = MappingProxyType(
    {
        "batch": "graphfix batch: URLs of object stores, and Dask clusters",
        "ir": "graphfix.adapters.onnx_ir: a pass of onnx-ir",
        "tosa": "graphfix tosa: convert to TOSA, validate, run",
    }
)
"""What each extra for users adds."""


def examine(progress: Callable[[str], None] | None = None, *, seconds: float = SECONDS) -> Environment:
    """Ask all that there is to ask; `progress` is told what is asked next."""
    asked = list(_requirements())
    added = {name: tuple(package for extra, package in asked if extra == name) for name in ADDS}
    probes = []
    for question in QUESTIONS:
        if progress is not None:
            progress(f"asking {question.name}")
        probes.append(ask(question, seconds=seconds))
    return Environment(
        python=f"{platform.python_version()} ({platform.python_implementation()})",
        platform=f"{platform.platform()}, {platform.machine()}",
        processors=os.cpu_count(),
        packages=tuple(package for extra, package in asked if extra is None),
        extras=tuple(Extra(name, ADDS[name], packages) for name, packages in added.items() if packages),
        probes=tuple(probes),
        newer=tuple(newer_than_measured({name: _version(name) or "" for name in MEASURED})),
    )


def ask(question: Question, *, seconds: float = SECONDS) -> Probe:
    """Ask one question in a process apart, which is stopped after `seconds`."""
    begun = time.monotonic()
    absent = _absent(question)
    reason = absent or _answered(question, seconds)
    return Probe(
        name=question.name,
        extra=question.extra,
        status="absent" if absent and question.extra else "fails" if reason else "works",
        reason=without_private_names(reason) or None,
        seconds=round(time.monotonic() - begun, 3),
    )


def without_private_names(text: str) -> str:
    """The text with the home folder, the Python environment's and the user's name written as `~`, `<env>`, `<user>`."""
    folders = {sys.prefix: "<env>", sys.base_prefix: "<python>", _home(): "~"}
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder, folders[folder])
    return re.sub(rf"(?<=[/\\]){re.escape(_user())}(?=[/\\]|\b)", "<user>", text) if _user() else text


def _requirements() -> Iterator[tuple[str | None, Package]]:
    """Yield each package that graphfix requires, with its extra or None; nothing if graphfix is not installed."""
    for extra, name, versions, condition in extras.requirements():
        yield extra, Package(name, "; ".join(filter(None, (versions, condition))), _version(name))


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _absent(question: Question) -> str:
    """Say what to install where a module can't be found; to look for it imports nothing."""
    for module, package in question.packages.items():
        if importlib.util.find_spec(module) is None:
            how = extras.install_command(question.extra) if question.extra else f"pip install '{package}'"
            return f"not installed: {how}"
    return ""


def _answered(question: Question, seconds: float) -> str:
    """Return why a runtime or a tool does not work, or nothing."""
    command = [sys.executable, "-P", "-m", "graphfix.runtimes.probe", question.probe, str(seconds / _TOOLS)]
    try:
        ended = finished(question.name, command, _answer, seconds=seconds)
    except RefusedError as error:
        return str(error)
    if ended.errors:
        return "" if ended.errors[-1] == WORKS else ended.errors[-1]
    how = "aborts the process" if ended.killed else "ends the process without an answer"
    cause = f"{how} ({ended.cause or 'exit status 0'})"
    return one_line(f"{cause}: {ended.last}" if ended.last else cause)


def _answer(line: str) -> str:
    return line.removeprefix(ANSWER).strip() if line.startswith(ANSWER) else ""


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # a user without a home folder
        return ""


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # a number without a name, as in a container
        return ""
