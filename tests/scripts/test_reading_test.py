"""The script of the reading test: which texts it finds, draws and counts."""

from __future__ import annotations

from pathlib import Path

import pytest
import reading_test

SOURCE = '''"""What a module is for."""

LIMIT = 3
"""None of these: the most axes."""


class Shape:
    """A shape of its own."""

    def rank(self, deep: bool) -> int:
        """Return the rank."""
        # A scalar has no axes,
        # so its rank is 0.
        x = 1  # noqa: F841
        # too short here
        return x  # the number of all axes
    # --- this is a heading -----------------------------

def refuse() -> None:
    raise GraphfixError(f"{path}: no such axis")
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for room in reading_test.ROOMS:
        (tmp_path / room).mkdir()
    (tmp_path / "graphfix" / "shape.py").write_text(SOURCE, encoding="utf-8")
    return tmp_path


def test_texts_have_the_code_that_a_reader_sees(root: Path) -> None:
    found = {(each.kind, each.line, each.context, each.text) for each in reading_test.all_texts(root)}
    assert found == {
        ("docstring", 1, "# module graphfix/shape.py", "What a module is for."),
        ("docstring", 3, "LIMIT = 3", "None of these: the most axes."),
        ("docstring", 7, "class Shape:", "A shape of its own."),
        ("docstring", 10, "def rank(self, deep: bool) -> int:", "Return the rank."),
        ("comment", 12, "x = 1", "A scalar has no axes, so its rank is 0."),
        ("comment", 16, "return x", "the number of all axes"),
        ("message", 20, "GraphfixError", "{path}: no such axis"),
    }


def test_a_seed_draws_the_same_texts_again(root: Path) -> None:
    texts = list(reading_test.all_texts(root))
    assert reading_test.drawn(texts, 1, 3) == reading_test.drawn(texts, 1, 3)
    assert {tuple(reading_test.drawn(texts, seed, 3)) for seed in range(20)} > {tuple(reading_test.drawn(texts, 1, 3))}
    assert sorted(reading_test.drawn(texts, 1, 300), key=str) == sorted(texts, key=str)


def test_counts_of_what_is_avoided(root: Path) -> None:
    lines = [line.strip() for line in reading_test.counts(list(reading_test.all_texts(root)))]
    assert lines == [
        "2 comments",
        "4 docstrings",
        "1 messages",
        "4.8 words in a docstring, on average",
        "1 docstrings begin with What",
        "0 docstrings begin with Who",
        "0 docstrings begin with Whose",
        "0 docstrings begin with That",
        "1 times `of its own`",
        "1 times `none of`",
    ]


def test_only_the_key_has_places(root: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    words = ["--seed", "5", "--number", "2", "--root", str(root)]
    assert reading_test.main(words) == 0
    sheet = capsys.readouterr().out
    assert reading_test.main([*words, "--key", "--output", str(tmp_path / "key.md")]) == 0
    key = (tmp_path / "key.md").read_text(encoding="utf-8")
    assert sheet.count("## ") == key.count("## ") == 2
    assert "shape.py:" in key
    assert "shape.py:" not in sheet
