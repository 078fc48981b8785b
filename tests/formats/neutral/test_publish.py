"""When two names lead to one file."""

from __future__ import annotations

from pathlib import Path

from graphfix.formats.neutral.publish import is_one_file


def test_a_link_and_a_way_around_lead_to_one_file(tmp_path: Path) -> None:
    there, link = tmp_path / "m.onnx", tmp_path / "link.onnx"
    there.write_bytes(b"m")
    link.symlink_to(there)
    (tmp_path / "other.onnx").write_bytes(b"m")
    assert is_one_file(there, link)
    assert not is_one_file(there, tmp_path / "other.onnx")
    assert is_one_file(tmp_path / "new", tmp_path / "folder" / ".." / "new")
    assert not is_one_file(there, tmp_path / "new")


def test_a_name_that_can_not_be_looked_at_is_no_others(tmp_path: Path) -> None:
    impossible = tmp_path / "a\0b"
    assert is_one_file(impossible, impossible) is False
    assert is_one_file(tmp_path / "new", impossible) is False
