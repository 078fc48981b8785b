"""What fix makes of the models of onnx's backend suite is proved."""

from __future__ import annotations

import pytest

from graphfix import api
from tests.support.onnx.backend_cases import all_cases
from tests.support.proved import unproved


@pytest.mark.ci
@pytest.mark.parametrize("target", ["explicit", "ranks"])
def test_the_backend_suite_is_proved(target: str) -> None:
    found = []
    for case in all_cases():
        model = api.load(case.model)
        api.fix(model, target=target)
        reason = unproved(case.model.SerializeToString(), model.tobytes())
        if reason is not None:
            found.append(f"{case.name}: {reason}")
    assert found == []
    assert len(all_cases()) > 1900
