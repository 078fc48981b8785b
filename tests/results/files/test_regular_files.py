"""Which paths lead to an open file of this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphfix.results import GraphfixError
from graphfix.results.files import regular_files
from graphfix.results.files.regular_files import is_descriptor, refuse_stream


@pytest.mark.parametrize(
    ("path", "open_file"),
    [
        ("/dev/fd/63", True),
        ("/proc/1/fd/0", True),
        ("/proc/1/task/2/fd/3", True),
        ("/proc/none/fd/0", False),
        ("/proc/self2/fd/0", False),
        ("/dev/null", False),
        ("/none/fd/0", False),
        ("/dev/fd", False),
    ],
)
def test_a_file_of_the_folder_of_open_files_is_one(path: str, open_file: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_files.os.path, "realpath", str)
    assert is_descriptor(Path(path)) == open_file


def test_a_link_to_an_open_file_is_one_and_a_ring_of_links_is_none(tmp_path: Path) -> None:
    first, second, ring, plain = (tmp_path / name for name in ("first", "second", "ring", "plain"))
    plain.write_bytes(b"")
    second.symlink_to("first")
    first.symlink_to("plain")
    assert not is_descriptor(second)
    first.unlink()
    first.symlink_to("/dev/fd/0")
    assert is_descriptor(second)
    with pytest.raises(GraphfixError, match="this is an open file of the process"):
        refuse_stream(second)
    ring.symlink_to("ring")
    assert not is_descriptor(ring)
    refuse_stream(ring)
