"""A proof holds no weights: its memory does not grow with them, and still every bit of them is compared."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import bench_models
import bench_tflite
import onnx
import pytest

import graphfix
from tests.support.checked import verify

ROOT = Path(graphfix.__file__).parent.parent
TOTAL = 300_000_000
MOST = 150 << 20
RUNTIMES = {"onnxruntime", "ai_edge_litert.interpreter", "ai_edge_litert._pywrap_tensorflow_interpreter_wrapper"}
PROGRAM = """\
import sys
from pathlib import Path
from tests.support.checked import verify
print(verify(Path(sys.argv[1]), Path(sys.argv[2]), proof="only").status)
print(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1])
print(*sys.modules)
"""
pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(sys.platform != "linux", reason="the peak of one process is told by Linux's /proc alone"),
]


def asked(before: Path, after: Path) -> tuple[str, int, set[str]]:
    """Prove in a process of its own; give the status, its peak in bytes, and what it imported."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(before), str(after)],
        check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    status, peak, modules = done.stdout.splitlines()
    return status, int(peak) << 10, set(modules.split())


def end_of_the_last_weight(path: Path) -> bytes:
    """Give the last bytes of the last matrix of a model of the benchmark."""
    if path.suffix == ".onnx":
        return bytes(onnx.load(path).graph.initializer[-2].raw_data[-64:])
    behind = 3 * (12 + 4 + 4 * bench_tflite.layers(TOTAL).shapes[0][-1])  # bias, scale and shift: padding, length, data
    with path.open("rb") as file:
        file.seek(-behind - 64, os.SEEK_END)
        return file.read(64)


def flipped(path: Path, pattern: bytes) -> None:
    """Flip the highest bit of the last byte of the one place that holds these bytes."""
    data = path.read_bytes()
    assert data.count(pattern) == 1
    at = data.index(pattern) + len(pattern) - 1
    with path.open("r+b") as file:
        file.seek(at)
        file.write(bytes([data[at] ^ 128]))


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("m.onnx", bench_models.write_inline),
        ("m.tflite", lambda path, total: bench_tflite.write(path, bench_tflite.layers(total))),
    ],
    ids=["onnx", "tflite"],
)
def test_big_constants_are_compared_to_the_last_bit_and_not_held(
    name: str, write: Callable[[Path, int], None], tmp_path: Path
) -> None:
    before, after = tmp_path / name, tmp_path / f"fixed-{name}"
    write(before, TOTAL)
    assert before.stat().st_size >= TOTAL
    graphfix.fix_file(before, after, check_result=False)
    status, peak, modules = asked(before, after)
    assert status == "proved"
    assert peak < MOST
    assert not modules & RUNTIMES
    flipped(after, end_of_the_last_weight(before))
    assert verify(before, after, proof="only").status == "undecided"


def test_weights_that_are_all_one_number_are_not_held_either(tmp_path: Path) -> None:
    """Along every axis of them nothing changes, so all of them are read to find the least form."""
    width = 5_000_000
    paths = []
    for folder, unit in (("a", []), ("b", [1])):
        (tmp_path / folder).mkdir()
        dims = [*unit, 15, width]
        tensor = onnx.TensorProto(name="w", data_type=1, dims=dims, data_location=onnx.TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="data")
        x, y = (onnx.helper.make_tensor_value_info(value, 1, ["N", 15, width]) for value in "xy")
        graph = onnx.helper.make_graph([onnx.helper.make_node("Mul", ["x", "w"], ["y"])], "g", [x], [y], [tensor])
        paths.append(tmp_path / folder / "m.onnx")
        paths[-1].write_bytes(onnx.helper.make_model(graph, ir_version=8).SerializeToString())
        with (tmp_path / folder / "data").open("wb") as file:
            file.truncate(4 * 15 * width)
    status, peak, _ = asked(*paths)
    assert status == "proved"
    assert peak < MOST
    with (tmp_path / "b" / "data").open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x80")
    status, peak, _ = asked(*paths)
    assert status == "undecided"
    assert peak < MOST
