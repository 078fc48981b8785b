"""What tests may need beside the package: real models, TOSA tools, IREE, Vela, onnxsim, a browser; what is absent."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.support import browser
from tests.support.places import ROOT, ZOO, zoo_paths


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


NEEDS = (
    Need("zoo", "GRAPHFIX_ZOO", _zoo),
    Need("tosa", "GRAPHFIX_TOSA", _tosa),
    Need("iree", "GRAPHFIX_IREE", _iree),
    Need("vela", "GRAPHFIX_VELA", _vela),
    Need("browser", "GRAPHFIX_BROWSER", _browser),
    Need("onnxsim", "GRAPHFIX_ONNXSIM", _onnxsim),
    Need("explorer", "GRAPHFIX_EXPLORER", _explorer),
)


def missing(item: pytest.Item) -> str:
    """Why a test can't run here, or nothing. Of the zoo a test needs the models that it has as parameters, or all."""
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
