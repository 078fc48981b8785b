"""Tests that need the real models, or the tools of target tosa, say so; here they are skipped or refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.places import ROOT, ZOO


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose real models or tools are absent, or fail it where the environment says they are required."""
    if item.get_closest_marker("zoo") is not None:
        _demand_zoo(item)
    if item.get_closest_marker("tosa") is not None:
        _demand_tosa()


def _demand_zoo(item: pytest.Item) -> None:
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    needed = [value for value in parameters if isinstance(value, Path) and value.is_relative_to(ZOO)] or [ZOO]
    absent = [path for path in needed if not path.exists()]
    if absent:
        _absent("GRAPHFIX_ZOO", f"{absent[0].relative_to(ROOT)} is absent: run scripts/fetch_zoo.py")


def _demand_tosa() -> None:
    from graphfix.runtimes import tosa

    absent = sorted({tosa.CONVERTER, tosa.TORCH_MLIR, tosa.TOSA_TOOLS} - tosa.versions().keys())
    if absent:
        _absent("GRAPHFIX_TOSA", f"not installed: {', '.join(absent)} (extra tosa)")


def _absent(variable: str, reason: str) -> None:
    if os.environ.get(variable) == "required":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)
