"""The wire of protobuf: tags, the records of a message, and the fields that lead to a tensor."""

from __future__ import annotations

from types import SimpleNamespace

import onnx
import pytest
from onnx import ModelProto, TensorProto

from graphfix.formats.onnx.file import wire
from graphfix.formats.onnx.file.wire import FIXED32, FIXED64, LEN, VARINT, records, tag_of


def test_a_tag_is_the_fields_number_and_the_wire_type() -> None:
    assert [tag_of(1, VARINT), tag_of(1, LEN), tag_of(9, LEN), tag_of(16, FIXED32)] == [0x08, 0x0A, 0x4A, 0x85]


def test_records_are_found_by_tag_and_an_empty_one_counts_unless_it_must_have_a_size() -> None:
    data = memoryview(b"\x0a\x00\x12\x01a\x0a\x02bc\x08\x05")
    assert list(records(data, 0, len(data), {tag_of(1, LEN)})) == [(0, 10, 2, 2), (5, 10, 7, 9)]
    assert list(records(data, 0, len(data), {tag_of(1, LEN)}, 2)) == [(5, 10, 7, 9)]
    assert list(records(data, 0, len(data), {tag_of(1, LEN)}, 3)) == []
    assert list(records(data, 0, len(data), {tag_of(1, VARINT)})) == [(9, 8, 10, 11)]


@pytest.mark.parametrize("repeated", [True, False])
def test_a_field_is_repeated_as_either_form_of_protobufs_descriptors_says(repeated: bool) -> None:
    assert wire._repeated(SimpleNamespace(is_repeated=repeated)) is repeated
    label = 3 if repeated else 1
    assert wire._repeated(SimpleNamespace(label=label, LABEL_REPEATED=3)) is repeated


LEADING = {
    "AttributeProto": "t g sparse_tensor tensors graphs sparse_tensors",
    "FunctionProto": "node attribute_proto",
    "GraphProto": "node initializer sparse_initializer",
    "ModelProto": "graph training_info functions",
    "NodeProto": "attribute",
    "SparseTensorProto": "values indices",
    "TrainingInfoProto": "initialization algorithm",
}
"""By message: its fields by which a tensor can be reached."""
SINGULAR = {
    "AttributeProto": "t g sparse_tensor",
    "ModelProto": "graph",
    "SparseTensorProto": "values indices",
    "TrainingInfoProto": "initialization algorithm",
}
"""Those of them of which there is one."""


def test_the_fields_that_lead_to_a_tensor_are_those_of_onnx() -> None:
    routes = wire._routes(ModelProto.DESCRIPTOR)
    assert {name: set(route.names) for name, route in routes.items()} == {
        f"onnx.{name}": set(fields.split()) for name, fields in LEADING.items()
    }
    assert list(routes) == sorted(routes)
    for name, fields in LEADING.items():
        declared = getattr(onnx, name).DESCRIPTOR.fields_by_name
        route = routes[f"onnx.{name}"]
        assert route.fields == {
            declared[field].number << 3 | 2: declared[field].message_type.full_name for field in fields.split()
        }
        assert route.singular == {declared[field].number << 3 | 2 for field in SINGULAR.get(name, "").split()}


def test_a_tensor_alone_and_what_holds_none_lead_nowhere() -> None:
    assert wire._routes(TensorProto.DESCRIPTOR) == {}
    assert wire._routes(onnx.ValueInfoProto.DESCRIPTOR) == {}


def test_the_data_of_a_tensor_is_stored_packed_or_one_element_at_a_time() -> None:
    kinds = {4: FIXED32, 10: FIXED64, 5: VARINT, 7: VARINT, 11: VARINT, 6: LEN, 9: LEN}
    assert wire._data_tags() == {
        tag: kind for number, kind in kinds.items() for tag in (number << 3 | kind, number << 3 | LEN)
    }
