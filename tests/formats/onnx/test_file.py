"""ONNX files come out as they went in: every message, every payload, but for what an edit names."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import AttributeProto, ModelProto, TensorProto, helper

from graphfix.formats.onnx.file.container import Container, read
from graphfix.formats.onnx.file.external import tensors
from graphfix.formats.onnx.file.payloads import THRESHOLD
from tests.support.onnx import files as made
from tests.support.onnx.files import DIMS, FLOAT_TYPE, NAME, VALUES, constant, field, floats, graph, model, number

UNKNOWN = 1999
"""A field number that no message of ONNX has."""

CUTS = {
    made.in_main_graph: {"a", "b"},
    made.in_branches: {"t", "e", "w"},
    made.in_attributes: {"c", "t0", "t1", "g0", "g1"},
    made.in_functions: {"f", "d"},
    made.in_sparse_tensors: {"s", ""},
    made.in_training_info: {"a", "i", "j"},
    made.with_notes: {"a"},
    made.in_typed_fields: {"f", "d", "i32", "i64", "u64", "s"},
}


def saved(container: Container, folder: Path, name: str = "out.onnx") -> bytes:
    container.save(folder / name)
    written = (folder / name).read_bytes()
    assert container.tobytes() == written
    return written


@pytest.mark.parametrize("build", CUTS, ids=lambda build: build.__name__)
@pytest.mark.parametrize("mapped", [True, False], ids=["path", "bytes"])
def test_a_model_comes_out_byte_for_byte_and_its_big_payloads_stay_in_the_file(
    build: Callable[[], ModelProto], mapped: bool, tmp_path: Path
) -> None:
    original = build().SerializeToString()
    path = tmp_path / "m.onnx"
    path.write_bytes(original)
    container = read(path if mapped else original)
    found = list(tensors(container.proto))
    assert {t.name for t in found if container.is_cut(t)} == CUTS[build]
    assert all(t.ByteSize() < 200 + len(t.doc_string) for t in found)
    written = saved(container, tmp_path)
    # Typed data stands before the name in protobuf's own order, and behind it in ours.
    assert (
        written if build is not made.in_typed_fields else ModelProto.FromString(written).SerializeToString()
    ) == original


@pytest.mark.parametrize(("size", "cut"), [(THRESHOLD - 1, False), (THRESHOLD, True)])
def test_the_threshold_is_the_payloads_own_size(size: int, cut: bool) -> None:
    tensor = helper.make_tensor("t", TensorProto.UINT8, [size], bytes(size), raw=True)
    container = read(model(tensor).SerializeToString())
    assert container.is_cut(container.proto.graph.initializer[0]) is cut


def test_nothing_changed_is_a_verbatim_copy_even_of_an_odd_spelling(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(field(14, b"") + model(floats("a")).SerializeToString() + b"\x08\x88\x80\x00")
    container = read(path)
    container.save(tmp_path / "o.onnx", changed=False)
    assert (tmp_path / "o.onnx").read_bytes() == path.read_bytes()


# --- spellings that protobuf accepts and few writers use ------------------------------------------------------------


def unpacked(tag: int, kind: int, values: list[bytes]) -> bytes:
    return b"".join(number(tag * 8 + kind) + value for value in values)


STRANGE = field(UNKNOWN, b"?" * 10) + number(UNKNOWN * 8) + b"\x05"
GROUP = number(UNKNOWN * 8 + 3) + field(9, b"?" * 5000) + b"\x08\x01" + number(UNKNOWN * 8 + 4)
STRETCH_FORMS = {
    "data before the rest": field(9, VALUES) + NAME + FLOAT_TYPE + DIMS,
    "data between the rest": NAME + field(9, VALUES) + FLOAT_TYPE + DIMS,
    "packed floats": DIMS + FLOAT_TYPE + field(4, VALUES) + NAME,
    "packed floats in two records with the name between": DIMS
    + field(4, VALUES[:5000])
    + NAME
    + field(4, VALUES[5000:]),
    "unpacked floats": NAME + unpacked(4, 5, [VALUES[i : i + 4] for i in range(0, 8192, 4)]) + DIMS + FLOAT_TYPE,
    "unpacked and packed floats": field(4, VALUES) + unpacked(4, 5, [VALUES[:4]] * 3) + NAME + FLOAT_TYPE,
    "unpacked int64": b"\x10\x07" + unpacked(7, 0, [number(i) for i in range(5000)]) + NAME,
    "unpacked doubles": b"\x10\x0b" + unpacked(10, 1, [struct.pack("<d", i) for i in range(600)]) + NAME,
    "raw data twice, the last counts": field(9, VALUES) + NAME + field(9, VALUES[::-1]) + DIMS,
    "raw data and floats": field(9, VALUES) + NAME + field(4, VALUES[::-1]) + DIMS,
    "a tag and a length longer than need be": b"\xca\x80\x00" + b"\x80\xc0\x80\x00" + VALUES + NAME,
    "unknown fields around the data": STRANGE + field(9, VALUES) + STRANGE + NAME + STRANGE,
    "an unknown group around what looks like data": GROUP + field(9, VALUES) + NAME,
    "a data number of another type": b"\x48\x05" + field(9, VALUES) + NAME,
    "external, with data all the same": field(9, VALUES) + NAME + field(12, b"d"),
}


@pytest.mark.parametrize("tensor", STRETCH_FORMS.values(), ids=STRETCH_FORMS)
def test_every_spelling_of_a_tensor_keeps_its_meaning(tensor: bytes, tmp_path: Path) -> None:
    inner = field(2, b"g") + STRANGE + field(5, tensor) + field(1, field(4, b"Relu") + STRANGE)
    original = b"\x08\x08" + STRANGE + field(7, inner) + field(8, b"\x10\x11") + STRANGE
    container = read(original)
    assert container.is_cut(container.proto.graph.initializer[0])
    assert len(container.proto.SerializeToString()) < 300 or b"????" in container.proto.SerializeToString()
    before, after = ModelProto.FromString(original), ModelProto.FromString(saved(container, tmp_path))
    assert before == after
    # Unknown fields don't take part in ==; the deterministic bytes hold them.
    assert before.SerializeToString(deterministic=True) == after.SerializeToString(deterministic=True)


def attribute_with(*tensor_parts: bytes) -> bytes:
    body = field(1, b"value") + b"".join(field(5, part) for part in tensor_parts) + b"\xa0\x01\x04"
    inner = field(1, field(4, b"Constant") + field(5, body))
    return b"\x08\x08" + field(7, inner) + field(8, b"\x10\x11")


@pytest.mark.parametrize(
    "original",
    [
        attribute_with(field(4, VALUES) + NAME, field(9, b"1234")),
        attribute_with(field(4, VALUES), field(4, VALUES[::-1])),
        attribute_with(field(9, VALUES), field(9, VALUES[::-1])),
        b"\x08\x08" + 2 * field(7, field(5, field(9, VALUES))) + field(8, b"\x10\x11"),
    ],
    ids=["floats, then small raw data", "floats twice", "raw data twice", "two halves of a graph"],
)
def test_a_message_in_two_halves_is_merged_as_protobuf_merges_it(original: bytes, tmp_path: Path) -> None:
    assert ModelProto.FromString(saved(read(original), tmp_path)) == ModelProto.FromString(original)


# --- edits -----------------------------------------------------------------------------------------------------------


def test_an_edit_of_a_cut_tensor_changes_what_it_names_and_no_other_byte_of_the_payload(tmp_path: Path) -> None:
    expected = made.in_main_graph()
    container = read(expected.SerializeToString())
    for proto in (container.proto, expected):
        proto.graph.initializer[2].dims[:] = [1, 1, 5000]
        proto.graph.initializer[2].name = "n" * 200
        proto.graph.node[0].input[0] = "a name that is longer"
    assert saved(container, tmp_path) == expected.SerializeToString()


def test_a_payload_is_written_as_often_as_its_tensor_was_copied(tmp_path: Path) -> None:
    expected = made.in_typed_fields()
    container = read(expected.SerializeToString())
    for proto in (container.proto, expected):
        for tensor in list(proto.graph.initializer):
            copy = proto.graph.initializer.add()
            copy.CopyFrom(tensor)
            copy.name += "_copy"
            body = graph(name="moved")
            body.initializer.add().CopyFrom(tensor)
            proto.graph.node.append(helper.make_node("Own", [], ["o"], domain="own", body=body))
    assert ModelProto.FromString(saved(container, tmp_path)) == expected


def test_a_tensor_or_payload_that_was_removed_is_gone(tmp_path: Path) -> None:
    expected = made.in_main_graph()
    container = read(expected.SerializeToString())
    for proto in (container.proto, expected):
        proto.graph.initializer[0].ClearField("raw_data")
        del proto.graph.initializer[2]
    assert saved(container, tmp_path) == expected.SerializeToString()


@given(st.lists(st.sampled_from(["copy", "drop", "grow", "swap", "nest"]), max_size=12), st.integers(0, 2**32))
@settings(max_examples=60)
def test_any_edits_give_what_the_same_edits_of_the_whole_model_give(verbs: list[str], seed: int) -> None:
    expected = model(*(floats(f"w{i}", 1000 + 30 * i, i) for i in range(3)))
    container = read(expected.SerializeToString())
    for proto in (container.proto, expected):
        random = np.random.default_rng(seed)
        held = proto.graph.initializer
        for verb in verbs:
            at = int(random.integers(len(held))) if held else None
            if verb == "nest" or at is None:
                proto.graph.node.append(constant(held[at] if at is not None else floats("new")))
            elif verb == "copy":
                held.add().CopyFrom(held[at])
            elif verb == "drop":
                del held[at]
            elif verb == "swap":
                held[at].CopyFrom(held[-1])
            else:
                held[at].doc_string += "x" * int(random.integers(5000))
    assert container.tobytes() == expected.SerializeToString()


# --- markers ---------------------------------------------------------------------------------------------------------


def test_a_model_that_holds_another_loads_markers_comes_out_unchanged(tmp_path: Path) -> None:
    first = read(made.in_main_graph().SerializeToString())
    forged = first.proto.SerializeToString()
    container = read(forged)
    assert not any(container.is_cut(t) for t in tensors(container.proto))
    assert saved(container, tmp_path) == forged


def test_a_markers_bytes_elsewhere_than_in_a_payload_are_left_alone(tmp_path: Path) -> None:
    expected = made.in_main_graph()
    container = read(expected.SerializeToString())
    marker = container.proto.graph.initializer[0].raw_data
    for proto in (container.proto, expected):
        proto.graph.initializer.append(helper.make_tensor("longer", TensorProto.UINT8, [25], marker + b"\0", raw=True))
        proto.graph.initializer.append(
            helper.make_tensor("wrong", TensorProto.UINT8, [24], marker[:16] + b"\xff" * 8, raw=True)
        )
        attribute = AttributeProto(name="text", type=AttributeProto.STRING, s=marker)
        proto.graph.node[0].attribute.append(attribute)
    assert saved(container, tmp_path) == expected.SerializeToString()


def test_two_loads_of_one_file_write_the_same_bytes(tmp_path: Path) -> None:
    original = made.in_main_graph().SerializeToString()
    assert read(original).proto != read(original).proto
    assert saved(read(original), tmp_path, "a") == saved(read(original), tmp_path, "b")


def test_onnx_itself_reads_what_was_written(tmp_path: Path) -> None:
    original = made.in_branches()
    container = read(original.SerializeToString())
    container.save(tmp_path / "o.onnx")
    assert onnx.load(tmp_path / "o.onnx") == original
