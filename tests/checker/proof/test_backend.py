"""What fix makes of the models of onnx's backend suite is proved."""

from __future__ import annotations

import pytest

from graphfix import api
from tests.support.onnx.backend_cases import all_cases
from tests.support.proved import unproved

STEPS = [pytest.param(10, marks=pytest.mark.ci), pytest.param(1, marks=pytest.mark.full)]
"""One in so many models of the suite."""


def left(target: str, *, step: int) -> tuple[int, list[str]]:
    """How many models of the suite are fixed for a target, and which of them are not proved."""
    count, found = 0, list[str]()
    for case in all_cases()[::step]:
        count += 1
        model = api.load(case.model)
        api.fix(model, target=target)
        reason = unproved(case.model.SerializeToString(), model.tobytes())
        if reason is not None:
            found.append(f"{case.name}: {reason}")
    return count, found


@pytest.mark.parametrize("target", ["explicit", "ranks"])
@pytest.mark.parametrize("step", STEPS)
def test_the_backend_suite_is_proved(step: int, target: str) -> None:
    count, found = left(target, step=step)
    assert found == []
    assert count > 1900 // step
