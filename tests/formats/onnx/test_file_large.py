"""Models of more bytes than one protobuf message may have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graphfix.formats.onnx.file.container import read
from tests.support.onnx.files import field, number
from tests.support.places import ROOT


@pytest.mark.full
def test_a_model_of_more_than_2_gib_is_read_edited_and_written(tmp_path: Path) -> None:
    size = 1_200_000_000
    count = 2
    head = field(8, b"w") + b"\x10\x02\x08" + number(size)
    tensor = len(head) + 1 + len(number(size)) + size
    graph = count * (1 + len(number(tensor)) + tensor)
    starts = []
    with (tmp_path / "m.onnx").open("wb") as file:
        file.write(b"\x08\x08\x3a" + number(graph))
        for _ in range(count):
            file.write(b"\x2a" + number(tensor) + head + b"\x4a" + number(size))
            starts.append(file.tell())
            file.write(b"first")
            file.seek(size - 9, os.SEEK_CUR)  # a hole: it takes no room and reads as zeros
            file.write(b"last")
        file.write(field(8, b"\x10\x11"))
    assert (tmp_path / "m.onnx").stat().st_size > 2**31
    container = read(tmp_path / "m.onnx")
    assert [t.dims for t in container.proto.graph.initializer] == [[size]] * count
    container.proto.graph.initializer[0].dims.insert(0, 1)
    container.save(tmp_path / "out.onnx")
    again = read(tmp_path / "out.onnx")
    assert again.proto.graph.initializer[0].dims == [1, size]
    with (tmp_path / "out.onnx").open("rb") as file:
        # The dim takes two bytes more; canonical order then puts dims and type before the name, at the same length.
        assert file.read(3 + len(number(graph))) == b"\x08\x08\x3a" + number(graph + 2)
        for start in starts:
            file.seek(start + 2)
            assert file.read(5) == b"first"
            file.seek(start + 2 + size - 4)
            assert file.read(4) == b"last"
        file.seek(starts[-1] + 2 + size)
        assert file.read() == field(8, b"\x10\x11")


MEASURE = """
import resource, sys
from pathlib import Path
from graphfix.formats.onnx.file.container import read
read(Path(sys.argv[1])).save(Path(sys.argv[1] + ".out"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(path: Path) -> int:
    """KiB that a process of its own takes to read the model and write it."""
    done = subprocess.run([sys.executable, "-c", MEASURE, path], check=True, capture_output=True, cwd=ROOT)
    return int(done.stdout)


@pytest.mark.ci
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
def test_the_memory_taken_does_not_grow_with_the_payloads(tmp_path: Path) -> None:
    # Reading one byte of a mapped file maps 16 pages: tensors of half that size would map all of it.
    tensor = field(9, bytes(32768)) + b"\x10\x02\x08\x80\x80\x02"
    one = field(5, tensor)
    for name, count in (("small.onnx", 1), ("big.onnx", 4096)):
        with (tmp_path / name).open("wb") as file:
            file.write(b"\x08\x08\x3a" + number(count * len(one)))
            for _ in range(count):
                file.write(one)
            file.write(field(8, b"\x10\x11"))
    assert peak(tmp_path / "big.onnx") - peak(tmp_path / "small.onnx") < 60 * 1024
    assert (tmp_path / "big.onnx.out").stat().st_size == (tmp_path / "big.onnx").stat().st_size > 2**27
