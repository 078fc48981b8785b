"""The list of error messages: what it finds, and what holds of every message of the project."""

from __future__ import annotations

from pathlib import Path

import list_errors
import pytest

PLANTED = """
def f(path, n):
    raise GraphfixError(f"{path}: has {n!r}; give one")


def g():
    raise Refused("it is planted")
"""


def test_errors_and_reasons_are_found_with_their_places(tmp_path: Path) -> None:
    (tmp_path / "graphfix").mkdir()
    (tmp_path / "graphfix" / "planted.py").write_text(PLANTED)
    error, reason = list_errors.messages(tmp_path)
    assert (error.path, error.line, error.kind, error.text, error.is_reason) == (
        "graphfix/planted.py",
        3,
        "GraphfixError",
        "{path}: has {n!r}; give one",
        False,
    )
    assert (reason.text, reason.is_reason) == ("it is planted", True)


def faults(message: list_errors.Message) -> bool:
    """Whether a message is more than one line, ends in a full stop, or begins as a sentence does."""
    sentence = message.text.startswith(("Error", "Invalid", "Can't", "The ", "An ", "No "))
    return "\n" in message.text or message.text.endswith((".", "!", " ")) or sentence


@pytest.mark.ci
def test_every_message_is_one_line_in_the_form_of_all() -> None:
    assert [f"{each.path}:{each.line}" for each in list_errors.messages() if faults(each)] == []


@pytest.mark.parametrize("text", ["it fails.", "Error: x", "The file is bad", "a\nb"])
def test_another_form_is_seen(text: str) -> None:
    assert faults(list_errors.Message("m.py", 1, "GraphfixError", text))
