"""Data files whose location, offset or length a runtime may read in another way: only the first file may have them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from graphfix.results import GraphfixError
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

WEIGHT = np.arange(400, dtype=np.float32).reshape(20, 20)
PLAIN = {"location": "w.bin", "offset": "0", "length": "1600"}


def saved(path: Path, entries: dict[str, str]) -> Path:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=WEIGHT.shape, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 20])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 20])]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", given, outputs, [tensor])
    made: ModelProto = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])
    onnx.save_model(made, path)
    return path


def answer(folder: Path, entries: dict[str, str]) -> str | None:
    """Say why a model with these entries is not proved equal to one with plain entries; None if it is."""
    (folder / "w.bin").write_bytes(WEIGHT.tobytes())
    one, two = saved(folder / "one.onnx", PLAIN), saved(folder / "two.onnx", entries)
    two.write_bytes(two.read_bytes() + b"2\x00")  # an empty doc string: no copy
    try:
        return prove(one, two).reason
    except GraphfixError as error:
        return str(error)


LOCATIONS = [
    "*/_ORT_MEM_ADDR_/*", "*/_ORT_MEM_ADDR_/*w.bin", "*/_ORT_IN_MEMORY_/*", "a/*/_ORT_MEM_ADDR_/*", "*", "w.bin*", "",
    "/etc/passwd", "/dev/zero", "/dev/null", "/proc/self/mem", "../w.bin", "a/../w.bin", "./../w.bin", "C:w.bin",
    "C:\\w.bin", "\\\\host\\w.bin", ".\\w.bin", "a\\..\\w.bin", "w.bin\0", "w.bin/", ".//w.bin", "a//b/../w.bin", ".",
]  # fmt: skip
NUMBERS = [
    {"offset": "-1"}, {"offset": "0x0"}, {"offset": "+0"}, {"offset": " 0"}, {"offset": "0.0"}, {"offset": "\u0660"},
    {"offset": "00"}, {"offset": ""}, {"length": "01600"}, {"length": "1600 "}, {"length": "1_600"}, {"length": "1e3"},
    {"length": "1596"}, {"length": "1601"}, {"length": "0"}, {"offset": "4"}, {"Location": "w.bin"}, {"size": "1600"},
]  # fmt: skip


@pytest.mark.parametrize("location", LOCATIONS, ids=repr)
def test_an_odd_location_is_refused(location: str, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    assert answer(tmp_path, {**PLAIN, "location": location}) is not None


@pytest.mark.parametrize("entries", NUMBERS, ids=str)
def test_odd_entries_are_refused(entries: dict[str, str], tmp_path: Path) -> None:
    assert answer(tmp_path, {**PLAIN, **entries}) is not None


@pytest.mark.parametrize("location", ["w.bin", "./w.bin"])
def test_a_plain_location_stays_proved(location: str, tmp_path: Path) -> None:
    assert answer(tmp_path, {**PLAIN, "location": location}) is None
    assert answer(tmp_path, {"location": location}) is None
