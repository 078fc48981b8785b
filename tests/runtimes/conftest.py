"""The processes of the runtimes as a user's are started, for the tests of those processes."""

from __future__ import annotations

import subprocess

import pytest

from graphfix.runtimes import pipes, process


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """No forks of a process that has the runtimes loaded."""
    monkeypatch.setattr(pipes, "subprocess", subprocess)
    monkeypatch.setattr(process, "subprocess", subprocess)
