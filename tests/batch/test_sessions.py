"""What the processes of a session need: what they hold, and not the files that they have mapped."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psutil

from graphfix.batch import sessions


def test_a_mapped_file_is_not_counted_and_what_is_held_is(tmp_path: Path) -> None:
    (tmp_path / "big").write_bytes(bytes(200 << 20))
    code = (
        "import mmap, sys\n"
        "file = open(sys.argv[1], 'rb')\n"
        "held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)\n"
        "total = sum(held[::4096])\n"
        "more = b'x' * (50 << 20)\n"
        "print(flush=True)\n"
        "input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "big")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        process.stdout.readline()
        used = sessions.used(process.pid)
        assert psutil.Process(process.pid).memory_info().rss > 200 << 20
        process.kill()
    assert 50 << 20 < used < 90 << 20
