"""Writing TFLite files: what no edit names comes out as it went in, and LiteRT reads what was made."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from conftest import zoo_models
from flat_files import (
    Made,
    add_model,
    buffer,
    code,
    in_child,
    metadata,
    model,
    operator,
    packed,
    quantization,
    run,
    schema,
    subgraph,
    tensor,
    tree,
    unpacked,
    with_outside,
)

from graphfix.formats.tflite import file as files
from graphfix.formats.tflite.file import Container, read
from graphfix.formats.tflite.records import NEW, Operator, Options, Quantization, Tensor
from graphfix.results import GraphfixError

B = schema.BuiltinOperator


def add_reshape(container: Container, source: int, to: tuple[int, ...], graph: int = 0) -> int:
    """Append `RESHAPE(source)` at the end of a subgraph; give the new tensor."""
    record = container.subgraphs[graph]
    given = record.tensors[source]
    shape = container.add_buffer(struct.pack(f"<{len(to)}i", *to))
    record.tensors.append(Tensor("made/shape", (len(to),), None, True, 2, shape))
    record.tensors.append(Tensor("made/result", to, None, True, given.type, 0, quantization=given.quantization))
    made = len(record.tensors) - 1
    options = Options(17, ((0, "i*", to),))
    opcode = container.code(B.RESHAPE, 1)
    record.operators.append(Operator(opcode, (source, made - 1), (made,), options=options, changed=True))
    record.changed = True
    return made


def without_reshape(told: Made, codes: int, graph: int = 0) -> Made:
    """Take off what `add_reshape` appended, and see that it is what was asked for."""
    record = told.subgraphs[graph]
    node, result, shape, payload = (
        record.operators.pop(),
        record.tensors.pop(),
        record.tensors.pop(),
        told.buffers.pop(),
    )
    assert (result.name, shape.name) == (b"made/result", b"made/shape")
    assert list(node.outputs) == [len(record.tensors) + 1]
    assert list(node.builtinOptions.newShape) == list(result.shape)
    assert bytes(payload.data) == np.array(result.shape, np.int32).tobytes()
    del told.operatorCodes[codes:]
    return told


# --- whole models -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", zoo_models("tflite"))
def test_a_real_model_keeps_all_but_what_was_added(path: Path, tmp_path: Path) -> None:
    before = path.read_bytes()
    container = read(path)
    source = container.subgraphs[0].inputs[0]
    add_reshape(container, source, (1, *container.subgraphs[0].tensors[source].shape))
    container.save(tmp_path / "out.tflite")
    after = (tmp_path / "out.tflite").read_bytes()
    told = unpacked(before)
    assert tree(without_reshape(unpacked(after), len(told.operatorCodes))) == tree(told)
    assert len(after) - len(before) < 50_000
    same_archive(before, after)
    assert in_child(run, after) == in_child(run, before)  # three have operators that LiteRT lacks: both say so


def same_archive(before: bytes, after: bytes) -> None:
    assert zipfile.is_zipfile(io.BytesIO(before)) == zipfile.is_zipfile(io.BytesIO(after))
    if not zipfile.is_zipfile(io.BytesIO(before)):
        return
    old, new = zipfile.ZipFile(io.BytesIO(before)), zipfile.ZipFile(io.BytesIO(after))
    assert new.testzip() is None
    assert {name: new.read(name) for name in new.namelist()} == {name: old.read(name) for name in old.namelist()}
    for entry in new.infolist():
        assert after[entry.header_offset :].startswith(b"PK\3\4")
    at = after.rindex(b"PK\5\6")
    length, offset = struct.unpack_from("<II", after, at + 12)
    assert offset + length == at


def test_nothing_changed_is_a_plain_copy(tmp_path: Path) -> None:
    data = packed(add_model())
    container = read(data)
    assert container.tobytes(changed=False) == data
    container.save(tmp_path / "out.tflite", changed=False)
    assert (tmp_path / "out.tflite").read_bytes() == data


def test_the_old_file_follows_the_block_byte_for_byte_at_the_same_alignment() -> None:
    data = packed(add_model())
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    assert out.endswith(data)
    assert (len(out) - len(data)) % 16 == 0
    assert out[4:8] == b"TFL3"


def test_the_block_before_a_big_file_is_whole_pages() -> None:
    made = add_model()
    made.buffers[1] = buffer(np.zeros(1 << 18, np.float32))  # 1 MiB, more than its tensor needs
    data = packed(made)
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    assert (len(container.tobytes()) - len(data)) % 4096 == 0


def test_a_written_file_can_be_changed_again() -> None:
    data = packed(add_model())
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    again = read(container.tobytes())
    made = add_reshape(again, 2, (3, 2))
    again.subgraphs[0].outputs = (made,)
    status, value = in_child(run, again.tobytes())
    assert status == "value"
    assert value == in_child(run, data)[1]


# --- single parts -----------------------------------------------------------------------------------------------------


def test_payloads_are_aligned_to_16_bytes() -> None:
    container = read(packed(add_model()))
    payloads = [bytes([at]) * 33 for at in range(1, 9)]
    for payload in payloads:
        container.add_buffer(payload)
    out = container.tobytes()
    assert [out.index(payload) % 16 for payload in payloads] == [0] * 8
    assert [bytes(entry.data) for entry in unpacked(out).buffers[3:]] == payloads


def test_an_operator_code_is_added_once_with_the_old_field_capped() -> None:
    container = read(packed(add_model()))
    assert container.code(B.ADD, 1) == 0
    assert [container.code(B.ADD, 2), container.code(B.BROADCAST_TO, 3), container.code(B.BROADCAST_TO, 3)] == [1, 2, 2]
    codes = [
        (entry.deprecatedBuiltinCode, entry.builtinCode, entry.version)
        for entry in unpacked(container.tobytes()).operatorCodes
    ]
    assert codes == [(0, 0, 1), (0, 0, 2), (127, 130, 3)]


def test_a_changed_operator_keeps_what_the_record_does_not_hold() -> None:
    made = add_model()
    node = made.subgraphs[0].operators[0]
    node.builtinOptions.fusedActivationFunction = 1
    node.mutatingVariableInputs, node.intermediates, node.debugMetadataIndex = [True, False], [2], 4
    container = read(packed(made))
    record = container.subgraphs[0]
    record.operators[0].inputs = (1, 0)
    record.operators[0].changed = record.changed = True
    found = unpacked(container.tobytes()).subgraphs[0].operators[0]
    expected = unpacked(packed(made)).subgraphs[0].operators[0]
    assert list(found.inputs) == [1, 0]
    expected.inputs = found.inputs
    assert tree(found) == tree(expected)


def test_new_options_take_the_place_of_both_unions() -> None:
    made = add_model()
    node = made.subgraphs[0].operators[0]
    node.builtinOptions2, node.builtinOptions2Type = schema.DilateOptionsT(), schema.BuiltinOptions2.DilateOptions
    container = read(packed(made))
    record = container.subgraphs[0]
    record.operators[0].options = Options(59, ((1, "i", -1), (0, "i", 2)))
    record.operators[0].changed = record.changed = True
    found = unpacked(container.tobytes()).subgraphs[0].operators[0]
    assert isinstance(found.builtinOptions, schema.PackOptionsT)
    assert (found.builtinOptions.axis, found.builtinOptions.valuesCount) == (-1, 2)
    assert (found.builtinOptions2Type, found.builtinOptions2) == (0, None)


def test_no_options_take_the_old_ones_away() -> None:
    container = read(packed(add_model()))
    record = container.subgraphs[0]
    record.operators[0].options = Options(0)
    record.operators[0].changed = record.changed = True
    found = unpacked(container.tobytes()).subgraphs[0].operators[0]
    assert (found.builtinOptionsType, found.builtinOptions) == (0, None)


def test_a_changed_tensor_keeps_what_the_record_does_not_hold() -> None:
    made = add_model()
    variant = schema.VariantSubTypeT()
    variant.shape, variant.type = [4], 2
    old = made.subgraphs[0].tensors[0]
    old.shapeSignature, old.variantTensors, old.hasRank = [-1, 3], [variant], True
    old.quantization = quantization([0.5], [3])
    container = read(packed(made))
    record = container.subgraphs[0]
    record.tensors[0].shape, record.tensors[0].signature = (5, 3), None
    record.tensors[0].changed = record.changed = True
    found = unpacked(container.tobytes()).subgraphs[0].tensors[0]
    expected = unpacked(packed(made)).subgraphs[0].tensors[0]
    assert (list(found.shape), found.shapeSignature) == ([5, 3], None)
    found.shape, found.shapeSignature = expected.shape, expected.shapeSignature
    assert tree(found) == tree(expected)


def test_a_lifted_constant_shares_the_buffer_and_moves_its_quantized_axis() -> None:
    made = add_model()
    scales = quantization([0.1, 0.2, 0.3], [1, 2, 3], 0)
    scales.min, scales.max = [0.0, 1.0, 2.0], [1.0, 2.0, 3.0]
    made.subgraphs[0].tensors[1] = tensor("c", (3,), "int8", 1, quantization=scales)
    container = read(packed(made))
    record = container.subgraphs[0]
    old = record.tensors[1]
    assert old.quantization is not None
    moved = replace(old.quantization, dimension=2)
    record.tensors.append(replace(old, name="c/lifted", shape=(1, 1, 3), quantization=moved, place=NEW))
    record.changed = True
    told = unpacked(container.tobytes()).subgraphs[0].tensors
    assert (told[3].name, list(told[3].shape), told[3].buffer, told[3].type) == (b"c/lifted", [1, 1, 3], 1, 9)
    assert told[3].quantization.quantizedDimension == 2
    told[3].quantization.quantizedDimension = 0
    assert tree(told[3].quantization) == tree(told[1].quantization)


def test_an_unmoved_quantization_is_shared_and_none_is_left_out() -> None:
    made = add_model()
    made.subgraphs[0].tensors[0].quantization = quantization([0.5], [3])
    container = read(packed(made))
    record = container.subgraphs[0]
    record.tensors.append(replace(record.tensors[0], name="same", place=NEW))
    record.tensors.append(replace(record.tensors[0], name="none", quantization=None, place=NEW))
    record.changed = True
    told = unpacked(container.tobytes()).subgraphs[0].tensors
    assert tree(told[3].quantization) == tree(told[0].quantization)
    assert told[4].quantization is None
    assert isinstance(record.tensors[3].quantization, Quantization)


def test_a_scalar_tensor_keeps_its_empty_shape_and_a_signature_is_written() -> None:
    container = read(packed(add_model()))
    record = container.subgraphs[0]
    record.tensors.append(Tensor("scalar", (), None, True, 0, 0))
    record.tensors.append(Tensor("free", (1, 3), (-1, 3), True, 0, 0))
    record.changed = True
    told = unpacked(container.tobytes()).subgraphs[0].tensors
    assert (told[3].hasRank, list(told[3].shape), told[3].shapeSignature) == (True, [], None)
    assert list(told[4].shapeSignature) == [-1, 3]


def test_only_the_changed_subgraph_is_written_anew() -> None:
    made = add_model()
    other = subgraph(
        [tensor("a", (2,)), tensor("b", (2,))], [operator(0, (0, 0), (1,), schema.AddOptionsT())], (0,), (1,)
    )
    made.subgraphs.append(other)
    data = packed(made)
    container = read(data)
    place = container.subgraphs[0].place
    add_reshape(container, 0, (1, 2), graph=1)
    out = container.tobytes()
    assert tree(without_reshape(unpacked(out), 1, graph=1)) == tree(unpacked(data))
    again = read(out)
    assert again.subgraphs[0].place == len(out) - len(data) + place
    assert again.subgraphs[1].place < len(out) - len(data)


# --- metadata ---------------------------------------------------------------------------------------------------------


def notes(data: bytes) -> dict[str, bytes]:
    told = unpacked(data)
    return {entry.name.decode(): bytes(told.buffers[entry.buffer].data) for entry in told.metadata}


def test_notes_make_one_entry_and_are_never_written_twice() -> None:
    container = read(packed(add_model()))
    for text in ("x[0] = 4", "x[1] = 3", "x[0] = 4"):
        container.note("graphfix.assumes", text)
    out = container.tobytes()
    assert notes(out) == {"min_runtime_version": b"1.5.0", "graphfix.assumes": b"x[0] = 4; x[1] = 3"}
    again = read(out)
    again.note("graphfix.assumes", "x[1] = 3")
    assert again.metadata == read(out).metadata
    again.note("graphfix.assumes", "y")
    assert notes(again.tobytes())["graphfix.assumes"] == b"x[0] = 4; x[1] = 3; y"


def test_a_note_is_written_into_a_model_without_metadata_or_buffers() -> None:
    made = model([subgraph([], [], (), ())], [code(0)], [])
    container = read(packed(made))
    container.note("key", "text")
    assert notes(container.tobytes()) == {"key": b"text"}
    assert container.metadata == [("key", 1)]


# --- what lies behind the tables --------------------------------------------------------------------------------------


def outside_model() -> Made:
    made = add_model()
    made.buffers[1] = schema.BufferT()
    return made


def test_payloads_behind_the_tables_move_with_the_file() -> None:
    values = np.array([5, 6, 7], np.float32).tobytes()
    made = outside_model()
    data = with_outside(made, [(made.buffers[1], "offset", "size", values)])
    container = read(data)
    assert (container.holds(1), container.size(1), container.data(1)) == (True, 12, values)
    assert in_child(run, data)[0] == "value"
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    found = unpacked(out).buffers[1]
    assert out[found.offset : found.offset + found.size] == values
    assert in_child(run, out) == in_child(run, data)
    assert read(out).data(1) == values


def custom_model() -> tuple[Made, Made]:
    """A model whose second subgraph has a custom operator with options behind the tables."""
    made = add_model()
    made.operatorCodes.append(code(B.CUSTOM, 1, "Own"))
    node = operator(1, (0,), (1,))
    made.subgraphs.append(subgraph([tensor("a", (2,)), tensor("b", (2,))], [node], (0,), (1,)))
    return made, node


def test_large_options_behind_the_tables_move_with_the_file_in_every_subgraph() -> None:
    made, node = custom_model()
    data = with_outside(made, [(node, "largeCustomOptionsOffset", "largeCustomOptionsSize", b"options!")])
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    found = unpacked(out).subgraphs[1].operators[0]
    assert out[found.largeCustomOptionsOffset :][: found.largeCustomOptionsSize] == b"options!"
    found.largeCustomOptionsOffset = node.largeCustomOptionsOffset
    assert tree(found) == tree(unpacked(data).subgraphs[1].operators[0])


def zipped(data: bytes) -> bytes:
    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("labels.txt", "cat\ndog\n")
        archive.writestr("deep/more.txt", "x" * 999, zipfile.ZIP_DEFLATED)
        archive.comment = b"a comment"
    return out.getvalue()


def test_an_archive_behind_the_model_moves_with_it() -> None:
    data = zipped(packed(add_model()))
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    out = container.tobytes()
    same_archive(data, out)
    assert zipfile.ZipFile(io.BytesIO(out)).read("labels.txt") == b"cat\ndog\n"


@pytest.mark.parametrize(
    "behind",
    [
        pytest.param(lambda data: zipped(b"12345678") + data[:0], id="offsets that count from the archive's own begin"),
        pytest.param(lambda data: zipped(data)[len(data) :][:-1], id="cut short"),
        pytest.param(lambda _: b"PK\5\6" + bytes(18), id="an empty archive at 0"),
        pytest.param(lambda _: b"PK\5\6", id="a signature alone"),
        pytest.param(lambda data: zipped(data)[len(data) :].replace(b"PK\1\2", b"PK\1\3"), id="no entries"),
        pytest.param(lambda data: zipped(data)[len(data) :].replace(b"PK\3\4", b"PK\3\5"), id="no local headers"),
    ],
)
def test_what_only_looks_like_an_archive_is_left(behind: Callable[[bytes], bytes]) -> None:
    data = packed(add_model())
    data += behind(data)
    container = read(data)
    add_reshape(container, 0, (1, 2, 3))
    assert container.tobytes().endswith(data)


# --- what can't be written --------------------------------------------------------------------------------------------


def test_tables_that_a_reference_could_not_reach_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    container = read(packed(add_model()))
    monkeypatch.setattr(files.Container, "_reach", lambda _: 2**31 - 16)
    with pytest.raises(GraphfixError, match="2 GiB"):
        container.tobytes()


def test_an_output_that_holds_buffers_of_the_model_is_refused(tmp_path: Path) -> None:
    made = add_model()
    group = schema.ExternalBufferGroupT()
    group.name = "weights.bin"
    made.externalBufferGroups = [group]
    (tmp_path / "m.tflite").write_bytes(packed(made))
    (tmp_path / "other").mkdir()
    container = read(tmp_path / "m.tflite")
    with pytest.raises(GraphfixError, match=r"weights\.bin: this file holds buffers"):
        container.save(tmp_path / "weights.bin")
    with pytest.raises(GraphfixError, match=r"buffers in files of its folder \(weights\.bin\)"):
        container.save(tmp_path / "other" / "m.tflite")
    container.save(tmp_path / "out.tflite", changed=False)
    assert (tmp_path / "out.tflite").read_bytes() == packed(made)


def test_a_failed_save_leaves_nothing(tmp_path: Path) -> None:
    container = read(packed(add_model()))
    (tmp_path / "folder").mkdir()
    with pytest.raises(GraphfixError, match="no file that can be replaced"):
        container.save(tmp_path / "folder")
    with pytest.raises(GraphfixError, match="can't be written"):
        container.save(tmp_path / "absent" / "m.tflite")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_a_source_that_changed_since_it_was_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(packed(add_model()))
    container = read(path)
    with path.open("ab") as file:
        file.write(b"more")
    with pytest.raises(GraphfixError, match="changed while it was in use"):
        container.save(tmp_path / "out.tflite")


def test_control_dependencies_stay_a_metadata_entry() -> None:
    made = add_model()
    made.metadata.append(metadata("model_control_dependencies", 2))
    container = read(packed(made))
    container.note("key", "text")
    assert [entry.name for entry in unpacked(container.tobytes()).metadata] == [
        b"min_runtime_version",
        b"model_control_dependencies",
        b"key",
    ]
