"""TFLite files of more bytes than a reference reaches: their payloads lie behind the tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from flat_files import add_model, packed, schema, unpacked

ROOT = Path(__file__).parents[3]
SCRIPT = """
import resource, sys
from pathlib import Path
from graphfix.formats.tflite.file import read
container = read(Path(sys.argv[1]))
container.note("key", "text")
container.save(Path(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
def test_a_file_of_more_than_2_gib_is_written_in_little_memory(tmp_path: Path) -> None:
    values = np.array([5, 6, 7], np.float32).tobytes()
    made = add_model()
    made.buffers[1] = schema.BufferT()
    made.buffers[1].offset, made.buffers[1].size = 2_500_000_000, len(values)
    with (tmp_path / "m.tflite").open("wb") as file:
        file.write(packed(made))
        file.seek(2_500_000_000)  # a hole: it takes no room and reads as zeros
        file.write(values)
    arguments = [sys.executable, "-c", SCRIPT, str(tmp_path / "m.tflite"), str(tmp_path / "out.tflite")]
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 80 * 1024
    with (tmp_path / "out.tflite").open("rb") as file:
        found = unpacked(file.read(1 << 16)).buffers[1]
        file.seek(found.offset)
        assert (found.size, file.read(12)) == (12, values)
        assert file.read() == b""
    (tmp_path / "out.tflite").unlink()
