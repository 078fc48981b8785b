"""The processes of the runtimes are what is tested here: they are started as a user's are."""

from __future__ import annotations

import subprocess

import pytest

from graphfix.runtimes import process


@pytest.fixture(autouse=True)
def _started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "subprocess", subprocess)
