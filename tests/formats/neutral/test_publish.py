"""When two names lead to one file, and files that appear together or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from graphfix.formats.neutral import publish
from graphfix.formats.neutral.publish import is_one_file, publish_pair
from graphfix.results import GraphfixError


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


class InterruptedByTestError(Exception):
    """What comes in between, as an interrupt does."""


def pair(folder: Path) -> tuple[tuple[Path, Path], tuple[Path, Path]]:
    first, second = ((folder / f"{name}.tmp", folder / name) for name in ("first", "second"))
    first[0].write_bytes(b"1")
    second[0].write_bytes(b"2")
    return first, second


def test_two_files_appear_under_their_names(tmp_path: Path) -> None:
    publish_pair(*pair(tmp_path))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"first": b"1", "second": b"2"}


def test_where_the_second_of_two_files_can_not_be_written_the_first_goes(tmp_path: Path) -> None:
    first, second = pair(tmp_path)
    second[1].mkdir()
    with pytest.raises(GraphfixError, match="second: can't be written"):
        publish_pair(first, second)
    assert not first[1].exists()


@pytest.mark.parametrize("renamed", [True, False])
def test_what_comes_in_between_leaves_both_files_or_none(
    renamed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = pair(tmp_path)

    def rename(made: Path, output: Path) -> None:
        if made == first[0] or renamed:
            made.replace(output)
        if made == second[0]:
            raise InterruptedByTestError

    monkeypatch.setattr(publish, "rename", rename)
    with pytest.raises(InterruptedByTestError):
        publish_pair(first, second)
    assert (first[1].exists(), second[1].exists()) == (renamed, renamed)


def test_a_refusal_takes_the_first_file_away_though_a_second_was_never_made(tmp_path: Path) -> None:
    first, second = pair(tmp_path)
    second[0].unlink()
    with pytest.raises(GraphfixError, match="second: can't be written"):
        publish_pair(first, second)
    assert not first[1].exists()


@pytest.mark.parametrize("published", [True, False])
def test_what_is_made_on_the_way_goes_unless_it_was_published(published: bool, tmp_path: Path) -> None:
    output, beside = tmp_path / "out", tmp_path / "beside"
    with publish.scratch(output) as made:
        assert made[0].parent == tmp_path
        made[0].write_bytes(b"m")
        beside.write_bytes(b"b")
        made.append(beside)
        if published:
            publish.publish(made, output)
    assert sorted(path.name for path in tmp_path.iterdir()) == (["beside", "out"] if published else [])


def test_data_files_stay_where_an_interrupt_comes_behind_the_renaming(tmp_path: Path) -> None:
    output, beside = tmp_path / "out", tmp_path / "beside"
    beside.write_bytes(b"b")

    def published() -> None:
        with publish.scratch(output) as made:
            made[0].write_bytes(b"m")
            made.append(beside)
            made[0].replace(output)
            raise InterruptedByTestError

    with pytest.raises(InterruptedByTestError):
        published()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["beside", "out"]


def test_a_refusal_names_the_output_and_not_what_is_made_on_the_way(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with pytest.raises(GraphfixError) as caught, publish.scratch(output) as made:
        raise GraphfixError(f"{made[0]}: it is full")
    assert str(caught.value) == f"{output}: it is full"
    with pytest.raises(GraphfixError) as caught, publish.scratch_folder(output) as folder:
        raise GraphfixError(f"{folder}/draft.onnx: it is full")
    assert str(caught.value) == f"{output}: it is full"
    assert not list(tmp_path.iterdir())


def test_an_output_keeps_the_permissions_of_the_file_that_it_replaces(tmp_path: Path) -> None:
    made, output = tmp_path / "made", tmp_path / "out"
    made.write_bytes(b"m")
    output.write_bytes(b"o")
    output.chmod(0o640)
    publish.rename(made, output)
    assert (output.read_bytes(), stat.S_IMODE(output.stat().st_mode)) == (b"m", 0o640)


def test_what_is_read_is_not_written_over(tmp_path: Path) -> None:
    read = tmp_path / "m.onnx"
    read.write_bytes(b"m")
    publish.refuse_overwrite(tmp_path / "out", "the report", [("the model", read)])
    with pytest.raises(GraphfixError, match="the report is the table; choose another name"):
        publish.refuse_overwrite(read, "the report", [("the model", tmp_path / "other"), ("the table", read)])
