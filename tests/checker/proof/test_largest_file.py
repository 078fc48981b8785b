"""Weights of more than 2 GiB that move into the model file: no runtime loads it. The files are sparse on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from onnx import ModelProto, TensorProto, helper

from graphfix.checker.files.onnx.skeleton import varint_bytes
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.neutral.compare import LARGEST_MESSAGE, check_size
from tests.support.proving import prove
from tests.support.tflite import flat_files

if TYPE_CHECKING:
    from pathlib import Path

GIB = 1 << 30
RAW_DATA, INITIALIZER, GRAPH = 9, 5, 7
"""The fields of TensorProto, GraphProto and ModelProto that lead to the bytes of a weight."""


def onnx_model(rows: int) -> ModelProto:
    """Return a model with a weight of `rows` times 1 MiB, which is left out."""
    given = [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 1 << 20])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.UINT8, [rows, 1 << 20])]
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", given, outputs)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 18)])


def weight(rows: int) -> TensorProto:
    return TensorProto(name="w", data_type=TensorProto.UINT8, dims=[rows, 1 << 20])


def write_inline(path: Path, rows: int) -> None:
    """Write a model whose weight is raw data: messages may come in parts, and the last one ends with the hole."""
    size = rows << 20
    tensor = weight(rows).SerializeToString() + bytes([RAW_DATA << 3 | 2]) + varint_bytes(size)
    graph = bytes([INITIALIZER << 3 | 2]) + varint_bytes(len(tensor) + size) + tensor
    head = onnx_model(rows).SerializeToString() + bytes([GRAPH << 3 | 2]) + varint_bytes(len(graph) + size) + graph
    with path.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)


def write_external(path: Path, rows: int) -> None:
    model, tensor = onnx_model(rows), weight(rows)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": "w.bin", "offset": "0", "length": str(rows << 20)}.items():
        tensor.external_data.add(key=key, value=value)
    model.graph.initializer.append(tensor)
    path.write_bytes(model.SerializeToString())
    with path.with_name("w.bin").open("wb") as file:
        file.truncate(rows << 20)


@pytest.mark.parametrize("rows", [2048, 2049, 2100, 2252, 3000, 4096, 4097, 5000, 8192])
def test_an_onnx_file_beyond_2_gib_is_not_proved(rows: int, tmp_path: Path) -> None:
    one, two = tmp_path / "one.onnx", tmp_path / "two.onnx"
    write_external(one, rows)
    write_inline(two, rows)
    assert two.stat().st_size > LARGEST_MESSAGE
    assert "in one message, and runtimes load at most 2147483647" in str(prove(one, two).reason)


@pytest.mark.parametrize("rows", [1, 3, 64])
def test_a_smaller_onnx_file_may_hold_its_weights(rows: int, tmp_path: Path) -> None:
    one, two = tmp_path / "one.onnx", tmp_path / "two.onnx"
    write_external(one, rows)
    write_inline(two, rows)
    assert prove(one, two).reason is None


def write_tflite(path: Path, tables: int, size: int) -> None:
    """Write a model with `tables` bytes of tables, filled up with a hole, and a buffer of `size` bytes behind them."""
    made = flat_files.add_model()
    behind = made.buffers[2]
    behind.data, behind.offset, behind.size = None, tables, size
    data = flat_files.packed(made)
    assert len(data) < tables
    with path.open("wb") as file:
        file.write(data)
        file.truncate(tables + size)


@pytest.mark.parametrize("tables", [2 * GIB, 2 * GIB + 16, 3 * GIB, 5 * GIB])
def test_tflite_tables_beyond_2_gib_are_not_proved(tables: int, tmp_path: Path) -> None:
    one, two = tmp_path / "one.tflite", tmp_path / "two.tflite"
    write_tflite(one, 4096, tables)  # the larger of two large files is the first
    write_tflite(two, tables, 16)
    assert f"the second file holds {tables} bytes in one message" in str(prove(one, two, tflite=True).reason)


def test_a_tflite_file_may_hold_more_behind_its_tables(tmp_path: Path) -> None:
    one, two = tmp_path / "one.tflite", tmp_path / "two.tflite"
    write_tflite(one, 4096, 64)
    write_tflite(two, 8192, 64)
    assert prove(one, two, tflite=True).reason is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (100, 2 * GIB), (100, 2 * GIB + 1), (100, 3 * GIB), (100, 4 * GIB), (100, 1 << 40), (GIB, 2 * GIB),
        (2 * GIB - 1, 2 * GIB), (2 * GIB - 1, 1 << 33), (0, 1 << 31), (1, 1 << 62),
    ],
)  # fmt: skip
def test_a_message_beyond_2_gib_is_refused_if_the_first_is_smaller(before: int, after: int) -> None:
    with pytest.raises(UnprovedError, match=f"the second file holds {after} bytes in one message"):
        check_size(before, after)


@pytest.mark.parametrize(
    ("before", "after"), [(1, 2), (1, 2 * GIB - 1), (2 * GIB, 2 * GIB), (3 * GIB, 4 * GIB), (4 * GIB, 100)]
)
def test_other_sizes_are_not_refused(before: int, after: int) -> None:
    check_size(before, after)
