"""What fix makes of the models of onnx's backend suite is proved."""

from __future__ import annotations

import pytest

from graphfix import api
from tests.support.onnx.backend_cases import all_cases
from tests.support.proved import unproved

SAMPLE = 20
"""One in so many by default, all of them in the slow test."""


def left(target: str, *, every: int) -> tuple[int, list[str]]:
    """How many models of the suite are fixed for a target, and which of them are not proved."""
    count, found = 0, list[str]()
    for case in list(all_cases())[::every]:
        count += 1
        model = api.load(case.model)
        api.fix(model, target=target)
        reason = unproved(case.model.SerializeToString(), model.tobytes())
        if reason is not None:
            found.append(f"{case.name}: {reason}")
    return count, found


@pytest.mark.parametrize("target", ["explicit", "ranks"])
def test_a_sample_of_the_backend_suite_is_proved(target: str) -> None:
    count, found = left(target, every=SAMPLE)
    assert found == []
    assert count > 90


@pytest.mark.slow
@pytest.mark.parametrize("target", ["explicit", "ranks"])
def test_the_backend_suite_is_proved(target: str) -> None:
    count, found = left(target, every=1)
    assert found == []
    assert count > 1900
