"""Collect the report of `graphfix doctor`: the versions of the packages, and whether each runtime and tool works.

A broken package can't break this module, because the module imports no runtime. Each runtime and each tool is tested by
`graphfix.runtimes.probe` in a separate process.
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
"""The time limit of one test. A test takes one second if the files are in memory, but a cold disk may be slow."""
_TOOLS = 3
"""A tool that a probe starts gets a third of the time limit.

A probe starts at most two tools, and needs the rest of the time to report the result.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """A test of one runtime or tool: the probe that runs it, and the packages that it needs."""

    probe: str
    """The name of the probe in graphfix.runtimes.probe."""
    name: str
    packages: Mapping[str, str]
    """Module that the probe imports -> package that contains the module."""
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
"""Extra -> a description of the feature that the extra adds."""


def examine(progress: Callable[[str], None] | None = None, *, seconds: float = SECONDS) -> Environment:
    """Test every runtime and tool, and return the results with the versions of Python and of all packages.

    `progress` is called with a short text before each test. `seconds` is the time limit of each test.
    """
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
    """Test one runtime or tool in a separate process, which is stopped after `seconds`, and return the result.

    The status is "works", "fails", or "absent" if a package of an extra is not installed. A missing package that
    graphfix always requires is "fails".
    """
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
    """Return the text with private folders and the user's name replaced by placeholders.

    `~` replaces the home folder, `<env>` the folder of the Python environment, `<python>` the folder of the Python
    installation, and `<user>` the user's name as part of a path.
    """
    folders = {sys.prefix: "<env>", sys.base_prefix: "<python>", _home(): "~"}
    for folder in sorted(folders, key=len, reverse=True):
        if len(folder) > 1:
            text = text.replace(folder, folders[folder])
    return re.sub(rf"(?<=[/\\]){re.escape(_user())}(?=[/\\]|\b)", "<user>", text) if _user() else text


def _requirements() -> Iterator[tuple[str | None, Package]]:
    """Yield each package that graphfix requires, with its extra or None.

    Yields nothing if graphfix is not installed.
    """
    for extra, name, versions, condition in extras.requirements():
        yield extra, Package(name, "; ".join(filter(None, (versions, condition))), _version(name))


def _version(package: str) -> str | None:
    """Return the installed version of a package, or None if the package is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _absent(question: Question) -> str:
    """Return a text that contains the command to install the first missing package; empty if no package is missing.

    A module is only looked up, not imported.
    """
    for module, package in question.packages.items():
        if importlib.util.find_spec(module) is None:
            how = extras.install_command(question.extra) if question.extra else f"pip install '{package}'"
            return f"not installed: {how}"
    return ""


def _answered(question: Question, seconds: float) -> str:
    """Run the probe in a separate process, and return why the runtime or tool does not work; empty if it works."""
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
    """Return the answer that a line of the probe's output contains, or an empty text if the line is not an answer."""
    return line.removeprefix(ANSWER).strip() if line.startswith(ANSWER) else ""


def _home() -> str:
    """Return the path of the home folder, or an empty text if the user has no home folder."""
    try:
        return str(Path.home())
    except RuntimeError:  # The user has no home folder.
        return ""


def _user() -> str:
    """Return the user's name, or an empty text if the user has only a number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):  # The user has a number but no name, for example in a container.
        return ""
