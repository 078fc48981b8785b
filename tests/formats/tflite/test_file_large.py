"""TFLite files of more bytes than a reference reaches: their payloads lie behind the tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.places import ROOT
from tests.support.tflite.flat_files import add_model, buffer, packed, schema, unpacked

SCRIPT = """
import re, sys
from pathlib import Path
from graphfix.formats.tflite.file.container import read
container = read(Path(sys.argv[1]))
container.note("key", "text")
container.save(Path(sys.argv[2]))
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


def peak(source: Path, out: Path) -> int:
    """Write with a note, in a process of its own; give the most memory that it had, in KiB."""
    arguments = [sys.executable, "-c", SCRIPT, str(source), str(out)]
    return int(subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout)


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says how much memory a process had")
def test_a_file_of_many_weights_is_written_in_little_memory(tmp_path: Path) -> None:
    made = add_model()
    made.buffers += [buffer(np.zeros(1 << 18, np.float32)) for _ in range(256)]
    (tmp_path / "m.tflite").write_bytes(packed(made))
    assert peak(tmp_path / "m.tflite", tmp_path / "out.tflite") < 60 * 1024
    (tmp_path / "out.tflite").unlink()


@pytest.mark.full
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says how much memory a process had")
def test_a_file_of_more_than_2_gib_is_written_in_little_memory(tmp_path: Path) -> None:
    values = np.array([5, 6, 7], np.float32).tobytes()
    made = add_model()
    made.buffers[1] = schema.BufferT()
    made.buffers[1].offset, made.buffers[1].size = 2_500_000_000, len(values)
    made.buffers[2] = schema.BufferT()
    made.buffers[2].offset, made.buffers[2].size = 4096, 5  # the tables end before it
    with (tmp_path / "m.tflite").open("wb") as file:
        file.write(packed(made))
        file.seek(4096)
        file.write(b"1.5.0")
        file.seek(2_500_000_000)  # a hole: it takes no room and reads as zeros
        file.write(values)
    assert peak(tmp_path / "m.tflite", tmp_path / "out.tflite") < 60 * 1024
    with (tmp_path / "out.tflite").open("rb") as file:
        head = file.read(1 << 16)
        _, found, small, _ = unpacked(head).buffers
        assert head[small.offset :][: small.size] == b"1.5.0"
        file.seek(found.offset)
        assert (found.size, file.read(12)) == (12, values)
        assert file.read() == b""
    (tmp_path / "out.tflite").unlink()
