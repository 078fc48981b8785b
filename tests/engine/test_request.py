"""The choices of a request as words of a command line, which `check` of the output repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphfix.engine.request import Request, choice_options


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({}, ()),
        ({"trust_stored": True}, ("--trust-stored",)),
        ({"trust_stored": False}, ("--no-trust-stored",)),
        ({"keep_fusions": True}, ("--keep-fusions",)),
        ({"keep_fusions": False}, ()),
        ({"max_expand_bytes": 0}, ("--max-expand-bytes", "0")),
        ({"only": ["equalize-ranks", "pow-to-mul"]}, ("--only", "equalize-ranks", "--only", "pow-to-mul")),
        ({"data_root": Path()}, ("--data-root", ".")),
        ({"target": "ranks", "seed": 1, "dims": {"N": 4}}, ("--target", "ranks")),
    ],
    ids=str,
)
def test_choices_that_are_no_defaults_are_options(choices: dict[str, Any], words: tuple[str, ...]) -> None:
    assert choice_options(Request(**choices)) == words
