"""What all runtimes share: names that are UTF-8, messages in one line, and a refusal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphfix.runtimes.session import RefusedError, one_line, utf8_name


def test_a_name_that_is_utf8_is_used_as_it_is(tmp_path: Path) -> None:
    for path in (tmp_path / "m.onnx", Path("m é.onnx")):
        with utf8_name(path) as name:
            assert name == str(path)


def test_another_name_has_a_link_for_as_long_as_it_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path(os.fsdecode(b"bad\xff.onnx"))
    path.write_bytes(b"model")
    with utf8_name(path) as name:
        assert name.encode()
        assert Path(name).is_symlink()
        assert Path(name).read_bytes() == b"model"
    assert not Path(name).parent.exists()
    assert path.exists()


@pytest.mark.parametrize(
    ("text", "line"),
    [("a\n  b\tc ", "a b c"), ("", ""), ("x" * 300, "x" * 300), ("x" * 301, f"{'x' * 297}...")],
    ids=["blanks", "nothing", "the longest", "longer"],
)
def test_a_message_is_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


def test_a_refusal_says_no_more_than_it_is_given() -> None:
    plain = RefusedError("no")
    assert str(plain) == "no"
    assert (plain.missing_kernel, plain.custom, plain.aborted, plain.stopped) == (False, "", False, False)
    for name, value in {"missing_kernel": True, "custom": "Frob", "aborted": True, "stopped": True}.items():
        refused = RefusedError("no", **{name: value})  # type: ignore[arg-type]
        assert vars(refused) == {**vars(plain), name: value}
