"""What tests may need beside the package: real models, tools, a browser, newer releases; what of it is absent.

`tests/conftest.py` asks `missing` for each test, leaves out those with a reason, and prints one line for each reason.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.support import browser
from tests.support.places import ROOT, ZOO, zoo_paths

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


@dataclass(frozen=True)
class Need:
    """A marker of tests, the variable that demands it, and what is absent here: one line, or nothing.

    The variable says `required`, or names the tool.
    """

    marker: str
    variable: str
    absent: Callable[[], str]


def _zoo() -> str:
    return _absent_models(zoo_paths())


@cache
def _tosa() -> str:
    from graphfix.runtimes import tosa

    absent = sorted({tosa.CONVERTER, tosa.TORCH_MLIR, tosa.TOSA_TOOLS} - tosa.versions().keys())
    return f"tosa: not installed: {', '.join(absent)} (extra tosa)" if absent else ""


def _iree() -> str:
    named = os.environ.get("GRAPHFIX_IREE")
    return "" if named else "iree: GRAPHFIX_IREE names no Python with iree-base-compiler and iree-base-runtime"


def _vela() -> str:
    found = shutil.which(os.environ.get("GRAPHFIX_VELA") or "vela")
    return "" if found else "vela: not on the PATH, nor named by GRAPHFIX_VELA (ethos-u-vela)"


def _onnxsim() -> str:
    found = shutil.which(os.environ.get("GRAPHFIX_ONNXSIM") or "onnxsim")
    return "" if found else "onnxsim: not on the PATH, nor named by GRAPHFIX_ONNXSIM"


def _browser() -> str:
    if importlib.util.find_spec("playwright") is None:
        return "browser: not installed: playwright (pip install -e '.[dev]')"
    return "" if browser.executable() else "browser: no chromium on the PATH, nor named by GRAPHFIX_BROWSER"


def _explorer() -> str:
    found = importlib.util.find_spec("model_explorer")
    return "" if found else "explorer: not installed (pip install --no-deps ai-edge-model-explorer)"


def avx512_absent() -> str:
    """Return why what needs a processor with AVX-512 is left out, or an empty string."""
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8") if Path("/proc/cpuinfo").exists() else ""
    return "" if "avx512f" in flags else "avx512: the processor has no AVX-512, or /proc/cpuinfo does not say so"


NEEDS = (
    Need("avx512", "GRAPHFIX_AVX512", avx512_absent),
    Need("zoo", "GRAPHFIX_ZOO", _zoo),
    Need("tosa", "GRAPHFIX_TOSA", _tosa),
    Need("iree", "GRAPHFIX_IREE", _iree),
    Need("vela", "GRAPHFIX_VELA", _vela),
    Need("browser", "GRAPHFIX_BROWSER", _browser),
    Need("onnxsim", "GRAPHFIX_ONNXSIM", _onnxsim),
    Need("explorer", "GRAPHFIX_EXPLORER", _explorer),
)


def of_16_channels(parameters: Iterable[ParameterSet]) -> list[ParameterSet]:
    """Mark the parameters of deployed models in onnxruntime's layout of 16 channels (recipe `all`).

    onnxruntime runs such a file only where the processor has AVX-512: it uses blocks of 8 channels elsewhere.
    """
    return [
        pytest.param(*each.values, id=each.id, marks=(*each.marks, pytest.mark.avx512))
        if str(each.id).removesuffix(".onnx").endswith("_all")
        else each
        for each in parameters
    ]


RELEASES = "GRAPHFIX_RELEASES"
"""The variable that makes a release that is too old an error; CI sets it, except with the lowest releases."""


@cache
def too_old(needed: str) -> str:
    """Return why the release of `needed`, such as `onnx>=1.23`, is too old, or an empty string.

    Raise UsageError where tests/constraints.txt is older too: no run of CI would ever include the test.
    """
    requirement = Requirement(needed)
    if not requirement.specifier.contains(_constrained()[requirement.name], prereleases=True):
        raise pytest.UsageError(f"a test needs {needed}, and tests/constraints.txt has an older release")
    installed = metadata.version(requirement.name)
    if requirement.specifier.contains(installed, prereleases=True):
        return ""
    return f"{requirement.name}: {installed} is installed, {requirement.specifier} is needed"


def by_release(ids: Iterable[str], releases: Mapping[str, str]) -> list[ParameterSet]:
    """Return a parameter for each id; those in `releases` need a release, such as `onnx>=1.23`."""
    return [
        pytest.param(each, id=each, marks=pytest.mark.needs_release(releases[each]) if each in releases else ())
        for each in ids
    ]


@cache
def _constrained() -> dict[str, Version]:
    """Return the release of each package in tests/constraints.txt."""
    lines = (ROOT / "tests" / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = (line.split("==") for line in lines if "==" in line and not line.startswith("#"))
    return {name: Version(release) for name, release in pins}


def missing(item: pytest.Item) -> str:
    """Return why a test can't run here, or an empty string.

    A test of the zoo needs the models that it has as parameters, or all.
    """
    old = next(filter(None, (too_old(*mark.args) for mark in item.iter_markers("needs_release"))), "")
    if old and os.environ.get(RELEASES):
        raise pytest.UsageError(f"{RELEASES}={os.environ[RELEASES]}, and {old} ({item.nodeid})")
    return old or _absent_tool(item)


def _absent_tool(item: pytest.Item) -> str:
    """Return which of `NEEDS` a test marks and this machine lacks, or an empty string."""
    for need in NEEDS:
        if item.get_closest_marker(need.marker) is None:
            continue
        parameters = item.callspec.params.values() if isinstance(item, pytest.Function) and _has(item) else ()
        models = [value for value in parameters if isinstance(value, Path) and value.is_relative_to(ZOO)]
        reason = _absent_models(models) if need.marker == "zoo" and models else need.absent()
        if reason:
            return reason
    return ""


def _has(item: pytest.Function) -> bool:
    return hasattr(item, "callspec")


def _absent_models(paths: Iterable[Path]) -> str:
    if not ZOO.exists():
        return f"zoo: {ZOO.relative_to(ROOT)} is absent (scripts/fetch_zoo.py)"
    absent = next((path for path in paths if not path.exists()), None)
    return f"zoo: {absent.relative_to(ROOT)} is absent (scripts/fetch_zoo.py)" if absent else ""
