"""Patterns of file names, letter by letter."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.batch.globs import Glob, Pattern, is_pattern, regex
from graphfix.results import GraphfixError


@pytest.mark.parametrize(
    ("pattern", "names", "others"),
    [
        ("*", ["a", "", ".a"], ["a/b"]),
        ("a*b", ["ab", "axb"], ["a/b", "axbc"]),
        ("**", ["a/b/c", "a"], []),
        ("***", ["a/b/c"], []),
        ("**/x", ["x", "a/x", "a/b/x"], ["ax", "a/bx"]),
        ("a/**/x", ["a/x", "a/b/x", "a/b/c/x"], ["ax", "b/a/x"]),
        ("a**/x", ["a/x", "ab/c/x"], ["x"]),
        ("?", ["a", "."], ["", "ab", "/"]),
        ("[ab]", ["a", "b"], ["c", "ab", "[ab]"]),
        ("[!ab]", ["c", "!"], ["a", "/"]),
        ("[a-c]x", ["bx"], ["dx", "-x"]),
        ("[]]", ["]"], ["[]]", "a"]),
        ("[!]]", ["a"], ["]"]),
        ("[a", ["[a"], ["a"]),
        ("[]", ["[]"], ["]"]),
        ("[!]", ["[!]"], ["a"]),
        ("[^a]", ["^", "a"], ["b"]),
        ("[a&&b]", ["a", "&", "b"], ["c"]),
        ("[.-0]", [".", "0"], ["/", "1"]),
        ("a.b", ["a.b"], ["axb"]),
        ("a+(b)", ["a+(b)"], ["aab"]),
        ("a\nb*", ["a\nb", "a\nb\n"], ["a b"]),
    ],
)
def test_a_pattern_names_whole_names(pattern: str, names: list[str], others: list[str]) -> None:
    assert [name for name in (*names, *others) if regex(pattern).fullmatch(name)] == names


@pytest.mark.parametrize(
    ("text", "path", "named"),
    [
        ("deep", "a/deep/m.onnx", True),
        ("deep", "a/deeper/m.onnx", False),
        ("*.onnx", "a/m.onnx", True),
        ("a/", "a/m.onnx", True),
        ("a/", "b/a/m.onnx", False),
        ("./a/m.onnx", "a/m.onnx", True),
        ("a/m.onnx", "a/m.onnx/n", True),
        ("a/m.onnx", "b/a/m.onnx", False),
        ("a/*", "a", False),
        ("../m.onnx", "../m.onnx", True),
    ],
)
def test_a_name_without_a_slash_is_of_any_folder(text: str, path: str, named: bool, tmp_path: Path) -> None:
    assert Glob(text).names_parts(path.split("/")) == named
    assert Glob(text, tmp_path).names(tmp_path / path) == named
    assert Glob(text).under(tmp_path).names(tmp_path / path) == named


@pytest.mark.parametrize(
    ("parts", "folder", "text", "depth", "of_models"),
    [
        (("a", "*.onnx"), ("a",), "*.onnx", 1, False),
        (("a", "b*", "c"), ("a",), "b*/c", 2, False),
        (("*",), (), "*", 1, True),
        (("a", "**", "m.onnx"), ("a",), "**/m.onnx", None, False),
        (("a", "x**"), ("a",), "x**", None, True),
    ],
)
def test_a_pattern_is_looked_for_below_its_first_wildcard(
    parts: tuple[str, ...], folder: tuple[str, ...], text: str, depth: int | None, of_models: bool
) -> None:
    made = Pattern.of("source", parts)
    assert (tuple(made.folder), made.text, made.depth, made.of_models) == (folder, text, depth, of_models)


def test_a_bad_range_is_an_error_of_its_source() -> None:
    with pytest.raises(GraphfixError, match=r"^here: a bad range of letters between \[ and \]; mend the pattern$"):
        Pattern.of("here", ("[z-a]",))
    with pytest.raises(ValueError, match="a bad range"):
        regex("[z-a]")


@pytest.mark.parametrize(("text", "magic"), [("a", False), ("a*", True), ("?", True), ("[a", True), ("a]", False)])
def test_what_a_shell_would_replace_is_a_pattern(text: str, magic: bool) -> None:
    assert is_pattern(text) == magic
