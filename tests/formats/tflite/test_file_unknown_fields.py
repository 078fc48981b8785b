"""Tables with fields beyond the known ones: kept where they stay, named where they would be written anew."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

import flatbuffers
import pytest

from graphfix.formats.tflite.file import container as containers
from graphfix.formats.tflite.file.container import read
from graphfix.results import GraphfixError
from tests.support.tflite.change_all import change_all
from tests.support.tflite.flat_files import (
    Made,
    add_model,
    packed,
    schema,
    unpacked,
)


@pytest.fixture
def strange(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Made], bytes]:
    """Serialize with one field more in every table of a kind: an int32 behind the known slots."""

    def serialize(table: str, made: Made) -> bytes:
        start: FunctionType = getattr(schema, f"{table}Start")
        sizes: list[int] = []

        class Counting(flatbuffers.Builder):
            def StartObject(self, numfields: int) -> None:  # noqa: N802  # the builder's own name
                sizes.append(numfields)
                super().StartObject(numfields)

        start(Counting(64))

        def longer(builder: flatbuffers.Builder) -> None:
            builder.StartObject(sizes[0] + 1)
            builder.PrependInt32Slot(sizes[0], 77, 0)

        monkeypatch.setattr(schema, f"{table}Start", longer)
        data = packed(made)
        monkeypatch.setattr(schema, f"{table}Start", start)
        return data

    return serialize


Strange = Callable[[str, Made], bytes]


def test_unknown_fields_hinder_what_would_be_written_anew(strange: Strange) -> None:
    def blockers(data: bytes) -> list[str | None]:
        container = read(data)
        graph = container.subgraphs[0]
        return [
            container.blocker,
            container.subgraph_blocker(0),
            container.operator_blocker(graph.operators[0]),
            container.tensor_blocker(graph.tensors[0]),
        ]

    assert blockers(packed(add_model())) == [None] * 4
    for at, table in enumerate(("Model", "SubGraph", "Operator", "Tensor")):
        found = blockers(strange(table, add_model()))
        assert found[at] == f"its {table} table has fields beyond the known ones"
        assert found[:at] + found[at + 1 :] == [None] * 3


def test_a_model_with_unknown_fields_can_be_copied_but_not_changed(strange: Strange) -> None:
    data = strange("Model", add_model())
    container = read(data)
    assert container.tobytes(changed=False) == data
    with pytest.raises(GraphfixError, match="Model table has fields beyond the known ones"):
        container.tobytes()


@pytest.mark.parametrize("table", ["Tensor", "Operator", "OperatorCode", "Buffer", "SignatureDef", "TensorMap"])
def test_unknown_fields_of_tables_that_stay_survive(strange: Strange, table: str) -> None:
    data = strange(table, add_model())
    container = read(data)
    change_all(container)
    out = container.tobytes()
    assert out.endswith(data)
    again = read(out)
    graph = again.subgraphs[0]
    expected = "its {} table has fields beyond the known ones".format
    assert again.tensor_blocker(graph.tensors[0]) == (expected("Tensor") if table == "Tensor" else None)
    assert again.tensor_blocker(graph.tensors[-1]) is None
    assert again.operator_blocker(graph.operators[0]) == (expected("Operator") if table == "Operator" else None)
    assert len(unpacked(out).operatorCodes) == 2


def test_unknown_fields_of_a_metadata_entry_refuse_a_note_to_it(strange: Strange) -> None:
    container = read(strange("Metadata", add_model()))
    container.note("another", "text")
    with pytest.raises(GraphfixError, match="'min_runtime_version' can't be added to: its Metadata table"):
        container.note("min_runtime_version", "text")


def test_unknown_fields_of_a_buffer_that_must_move_hinder_the_file(strange: Strange) -> None:
    made = add_model()
    made.buffers[1] = schema.BufferT()
    made.buffers[1].offset, made.buffers[1].size = 16, 12
    assert read(packed(made)).blocker is None
    assert read(strange("Buffer", made)).blocker == "its Buffer table has fields beyond the known ones"


def test_unknown_fields_of_the_first_of_some_operators_with_options_behind_the_tables_hinder_the_file() -> None:
    """As those of the model's table, of a buffer, and of a graph of such an operator."""
    operators, buffers = [SimpleNamespace(place=10), SimpleNamespace(place=20)], [SimpleNamespace(place=30)] * 2
    parts: Any = SimpleNamespace(
        model=1,
        outside=[0, 1],
        buffers=buffers,
        custom_outside=[each.place for each in operators],
        subgraphs=[SimpleNamespace(place=40), SimpleNamespace(place=50)],
    )
    for place, table in ((1, "Model"), (30, "Buffer"), (10, "Operator"), (20, "Operator"), (40, "SubGraph")):
        flat: Any = SimpleNamespace(has_unknown=lambda at, _, place=place: at == place)
        assert containers._file_blocker(flat, parts) == f"its {table} table has fields beyond the known ones", place
    flat = SimpleNamespace(has_unknown=lambda at, _: at in (40, 50))
    parts.custom_outside = []
    assert containers._file_blocker(flat, parts) is None  # the graphs stay where they are
