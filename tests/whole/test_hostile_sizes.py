"""Files that state sizes, ranks or payloads that nothing can hold: an answer or one line, without a crash."""

from __future__ import annotations

import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from graphfix.checker.proof.neutral import constant_folding
from graphfix.cli import commands
from tests.support.notation import model


def written(folder: Path, text: str) -> str:
    path = folder / "m.onnx"
    path.write_bytes(model(text).SerializeToString())
    return str(path)


def with_weight(folder: Path, weight: bytes) -> str:
    """The file of y[2,4] = Add(x[2,4], w), w as these bytes of a TensorProto say."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    proto.ClearField("graph")
    body = graph.SerializeToString() + b"\x2a" + varint(len(weight)) + weight  # GraphProto.initializer
    path = folder / "m.onnx"
    path.write_bytes(proto.SerializeToString() + b"\x3a" + varint(len(body)) + body)  # ModelProto.graph
    return str(path)


def varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def tensor(**fields: object) -> bytes:
    made = TensorProto(name="w", data_type=TensorProto.FLOAT, **fields)  # type: ignore[arg-type] -- as the fields are
    return bytes(made.SerializeToString())


def fix(folder: Path, source: str, *options: str) -> int:
    return commands.main(["fix", source, "-o", str(folder / "f.onnx"), *options])


@pytest.mark.parametrize("sizes", ["1000000,1000000", f"{1 << 62},3"])
def test_inputs_of_such_sizes_are_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str], sizes: str) -> None:
    last = sizes.rpartition(",")[2]
    source = written(tmp_path, f"y[{sizes}] = Add(x[{sizes}], b[{last}])")
    assert fix(tmp_path, source) == 0
    said = capsys.readouterr().out
    assert "proved for all inputs and sizes; not run: input 'x' has more than 268435456 elements" in said


def of_rank(rank: int) -> str:
    return ",".join(["1"] * (rank - 1) + ["3"])


@pytest.mark.parametrize("rank", [33, 64])
def test_inputs_of_too_many_axes_are_not_made(tmp_path: Path, capsys: pytest.CaptureFixture[str], rank: int) -> None:
    source = written(tmp_path, f"y[{of_rank(rank)}] = Add(x[{of_rank(rank)}], b[3])")
    assert fix(tmp_path, source) == 0
    said = capsys.readouterr().out
    assert f"proved for all inputs and sizes; not run: input 'x' has {rank} axes: no values are made for more" in said


def test_inputs_of_32_axes_are_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path, f"y[{of_rank(32)}] = Add(x[{of_rank(32)}], b[3])")
    assert fix(tmp_path, source) == 0
    assert "1 output bit-equal over 1 run" in capsys.readouterr().out


def test_an_operand_under_sixty_five_axes_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = written(tmp_path, f"y[{of_rank(65)}] = Add(x[{of_rank(65)}], b[3])")
    assert fix(tmp_path, source) == 4
    assert "left GF301 Add#0" in capsys.readouterr().out
    assert (tmp_path / "f.onnx").read_bytes() == Path(source).read_bytes()


@pytest.mark.parametrize("rank", [32, 33, 64, 65])
def test_two_forms_of_a_constant_of_any_rank_are_equal(tmp_path: Path, rank: int) -> None:
    sizes, numbers = [1] * (rank - 1) + [4], [1.0, 2.0, 3.0, 4.0]
    forms = {"typed": {"float_data": numbers}, "raw": {"raw_data": struct.pack("<4f", *numbers)}}
    paths = []
    for name, form in forms.items():
        (tmp_path / name).mkdir()
        paths.append(with_weight(tmp_path / name, tensor(dims=sizes, **form)))
    assert commands.main(["verify", *paths, "--proof-only"]) == 0


@pytest.mark.parametrize("rank", [32, 33, 64, 65])
def test_a_computed_constant_of_any_rank_is_no_crash(tmp_path: Path, rank: int) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(
        onnx.parser.parse_model(
            f"""<ir_version: 8, opset_import: ["" : 17]> g (float[{of_rank(rank)}] x) => (z)
            <float[3] b = {{1, 2, 3}}>
            {{ s = Shape(x) c = ConstantOfShape(s) z = Add(c, b) }}"""
        ).SerializeToString()
    )
    assert fix(tmp_path, str(path)) in (0, 4)


def test_a_constant_of_33_axes_has_no_array_in_the_proof() -> None:
    core = SimpleNamespace(key=("integers", "int64"), content=(7,), sizes=())
    for rank, is_read in ((32, True), (33, False)):
        view: Any = SimpleNamespace(core=core, axes=(None,) * rank, sizes=(1,) * rank)
        assert (constant_folding.constant_array(view) is not None) == is_read


def test_a_constant_without_elements_of_a_huge_size_is_not_made(tmp_path: Path) -> None:
    for name, more in (("m.onnx", ""), ("n.onnx", "z = Identity(x)")):
        (tmp_path / name).write_bytes(
            onnx.parser.parse_model(
                f"""<ir_version: 8, opset_import: ["" : 17]> g (float[3] x) => (y)
                <int64[3] s = {{0, {1 << 62}, {1 << 62}}}>
                {{ {more} e = ConstantOfShape(s) n = Add(e, e) y = Add(x, n) }}"""
            ).SerializeToString()
        )
    assert commands.main(["verify", str(tmp_path / "m.onnx"), str(tmp_path / "n.onnx"), "--proof-only"]) in (0, 3)


@pytest.mark.parametrize("target", ["explicit", "tosa", "compact"])
def test_a_stored_constant_of_65_axes_is_no_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str
) -> None:
    source = with_weight(tmp_path, tensor(dims=[1] * 64 + [4], float_data=[0.0] * 4))
    assert commands.main(["check", source, "--target", target]) in (0, 1)
    assert capsys.readouterr().err == ""


@pytest.mark.ci
def test_the_last_of_two_payloads_counts(tmp_path: Path) -> None:
    source = with_weight(
        tmp_path, TensorProto(raw_data=bytes(5000)).SerializeToString() + tensor(dims=[4], raw_data=bytes(16))
    )
    assert fix(tmp_path, source) == 0
    assert commands.main(["verify", source, str(tmp_path / "f.onnx"), "--strict-proof"]) == 0


def test_raw_data_counts_beside_typed_data(tmp_path: Path) -> None:
    source = with_weight(tmp_path, tensor(dims=[4], raw_data=bytes(16), float_data=[0.0] * 2000))
    assert commands.main(["check", source]) == 1


def test_typed_data_beyond_the_shape_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = with_weight(tmp_path, tensor(dims=[4], float_data=[0.0] * 2000))
    assert fix(tmp_path, source) == 2
    assert "holds 8003 bytes of numbers, more than its shape [4] asks for" in capsys.readouterr().err


def test_the_size_of_a_value_that_no_array_can_have_is_not_computed(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    sizes = f"{1 << 31}, {1 << 31}, 3"
    path.write_bytes(
        onnx.parser.parse_model(
            f"""<ir_version: 8, opset_import: ["" : 17]> g (float[3] x) => (y)
            <float[3] v = {{1, 2, 3}}, int64[3] s = {{{sizes}}}> {{ e = Expand(v, s) n = Shape(e) y = Expand(x, n) }}"""
        ).SerializeToString()
    )
    assert commands.main(["check", str(path), "--target", "tosa"]) in (0, 1)
