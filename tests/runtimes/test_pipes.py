"""What watches a process, and how its end is told: without a process."""

from __future__ import annotations

import signal
import threading

import pytest

from graphfix.runtimes import pipes
from graphfix.runtimes.pipes import Watch, cause


@pytest.mark.parametrize(
    ("seconds", "looks", "killed", "expired"),
    [
        (60.0, None, False, False),
        (60.0, [False, False], False, False),
        (60.0, [False, True], True, False),
        (0.0, None, True, True),
        (0.0, [False], True, True),
    ],
    ids=["in time", "in time, and looked at", "another reason", "too late", "too late, whatever is seen"],
)
def test_a_process_is_killed_once_when_the_time_is_over_or_for_another_reason(
    monkeypatch: pytest.MonkeyPatch, seconds: float, looks: list[bool] | None, killed: bool, expired: bool
) -> None:
    monkeypatch.setattr(pipes, "EVERY", 0.001)
    answers = iter(looks or [])
    kills: list[bool] = []
    done = threading.Event()

    def kill() -> None:
        kills.append(True)
        done.set()

    def look() -> bool:
        answer = next(answers, False)
        if not answer and not killed:
            done.set()
        return answer

    with Watch(kill, seconds, None if looks is None else look) as watch:
        if killed or looks is not None:
            assert done.wait(5)
    assert (watch.killed, watch.expired, kills) == (killed, expired, [True] * killed)


@pytest.mark.parametrize(
    ("status", "said"),
    [(0, "exit status 0"), (3, "exit status 3"), (-signal.SIGKILL, "SIGKILL"), (-250, "signal 250")],
)
def test_the_end_of_a_process_is_told_by_its_status_or_signal(status: int, said: str) -> None:
    assert cause(status) == said
