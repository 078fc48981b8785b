"""Files that are refused in one line, and tables that can't be written anew, each by its name."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from time import perf_counter
from types import FunctionType

import flatbuffers
import numpy as np
import pytest
from flat_files import (
    Made,
    add_model,
    buffer,
    code,
    model,
    operator,
    packed,
    quantization,
    schema,
    subgraph,
    tensor,
    unpacked,
    with_outside,
)

from graphfix.formats.tflite.file import Container, read
from graphfix.formats.tflite.records import Operator, Options, Tensor
from graphfix.results import GraphfixError

B = schema.BuiltinOperator


def refusal(data: bytes | Path) -> str:
    with pytest.raises(GraphfixError) as caught:
        read(data)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- no file of this format ---------------------------------------------------------------------------------------------


def test_a_file_of_another_kind_is_refused_by_its_identifier(tmp_path: Path) -> None:
    data = packed(add_model())
    assert "no identifier TFL3" in refusal(data[:4] + b"TFL4" + data[8:])
    assert "no identifier TFL3" in refusal(b"TFL3")
    (tmp_path / "m.tflite").write_bytes(b"\x08\x07\x12\x04onnx")
    assert refusal(tmp_path / "m.tflite").startswith(f"{tmp_path / 'm.tflite'}: no TFLite model")


def test_a_missing_an_empty_and_an_unreadable_file_are_refused(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "absent.tflite")
    (tmp_path / "empty.tflite").touch()
    assert "is empty" in refusal(tmp_path / "empty.tflite")
    assert "a folder" in refusal(tmp_path)


def test_another_schema_version_is_refused() -> None:
    assert "schema version 2, not 3" in refusal(packed(add_model(version=2)))


# --- parts that name what is not there ----------------------------------------------------------------------------------


def change(at: str, value: object) -> Callable[[Made], None]:
    """Set `subgraphs[0].tensors[1].shape` or the like."""
    path = at.replace("[", ".").replace("]", "").split(".")

    def apply(made: Made) -> None:
        for step in path[:-1]:
            made = made[int(step)] if step.isdigit() else getattr(made, step)
        setattr(made, path[-1], value)

    return apply


def produced_twice(made: Made) -> None:
    made.subgraphs[0].operators.append(operator(0, (0, 1), (2,), schema.AddOptionsT()))


def read_too_early(made: Made) -> None:
    made.subgraphs[0].tensors.append(tensor("z", (2, 3)))
    made.subgraphs[0].operators.insert(0, operator(0, (2, 1), (3,), schema.AddOptionsT()))


def per_axis(made: Made) -> None:
    scales = quantization([1, 2, 3], [0, 0, 0], 1)
    made.subgraphs[0].tensors[1] = tensor("c", (3,), "int8", 1, quantization=scales)


def int4_too_short(made: Made) -> None:
    made.subgraphs[0].tensors[1] = tensor("c", (25,), buffer=1, type=17)  # 13 bytes; the buffer has 12


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (change("subgraphs", []), "no subgraph"),
        (change("buffers", []), "buffer 0, but there are 0"),
        (change("subgraphs[0].tensors[1].buffer", 9), "tensor 1 'c' has buffer 9, but there are 3"),
        (change("subgraphs[0].tensors[0].type", 77), "tensor 0 'x' has element type 77"),
        (change("subgraphs[0].tensors[0].type", -1), "element type -1"),
        (change("subgraphs[0].tensors[0].shape", [2, -3]), r"tensor 0 'x' has the shape \[2, -3\]"),
        (change("subgraphs[0].tensors[0].shapeSignature", [-2, 3]), r"shape_signature \[-2, 3\]"),
        (change("subgraphs[0].tensors[0].shapeSignature", [-1]), r"shape \[2, 3\] and the shape_signature \[-1\]"),
        (change("subgraphs[0].tensors[1].shape", [4]), r"12 bytes, but its shape \[4\] needs 16"),
        (int4_too_short, r"12 bytes, but its shape \[25\] needs 13"),
        (per_axis, r"quantized along axis 1, but its shape is \[3\]"),
        (change("operatorCodes[0].builtinCode", 230), "builtin operator 230"),
        (change("operatorCodes[0].builtinCode", B.CUSTOM), "custom operator without a name"),
        (change("subgraphs[0].operators[0].opcodeIndex", 4), "operator code 4, but there are 1"),
        (change("subgraphs[0].operators[0].inputs", [0, 3]), "inputs of operator 0 name tensor 3, but there are 3"),
        (change("subgraphs[0].operators[0].inputs", [0, -2]), "name tensor -2"),
        (change("subgraphs[0].operators[0].outputs", [-2]), "outputs of operator 0 name tensor -2"),
        (change("subgraphs[0].inputs", [5]), "inputs name tensor 5"),
        (change("subgraphs[0].outputs", [-1]), "outputs name tensor -1"),
        (produced_twice, "operators 0 and 1 produce tensor 2 'y'"),
        (read_too_early, "operator 0 reads tensor 2 'y', which is not produced before it"),
        (change("subgraphs[0].operators[0].inputs", [2, 1]), "operator 0 reads tensor 2 'y'"),
        (change("subgraphs[0].operators[0].outputs", [1]), "operator 0 produces tensor 1 'c', an input or a constant"),
        (change("subgraphs[0].operators[0].outputs", [0]), "operator 0 produces tensor 0 'x', an input or a constant"),
        (change("metadata[0].buffer", 8), "metadata 'min_runtime_version' has buffer 8"),
        (change("signatureDefs[0].subgraphIndex", 1), "signature 'serving_default' has subgraph 1"),
        (change("signatureDefs[0].outputs[0].tensorIndex", 3), "'serving_default': its tensors name tensor 3"),
    ],
)
def test_a_part_that_can_not_be_is_refused_by_its_name(spoil: Callable[[Made], None], why: str) -> None:
    made = add_model()
    read(packed(made))
    spoil(made)
    with pytest.raises(GraphfixError, match=why):
        read(packed(made))


def shorter(made: Made) -> None:
    made.subgraphs[0].tensors[1].shape = [2]


def optional(made: Made) -> None:
    made.subgraphs[0].operators[0].inputs = [0, -1]


def scalar_scales(made: Made) -> None:
    made.subgraphs[0].tensors[1] = tensor("c", (), "int8", 1, quantization=quantization([1, 2], [0, 0], 5))


def one_scale(made: Made) -> None:
    made.subgraphs[0].tensors[1] = tensor("c", (3,), "int8", 1, quantization=quantization([1], [0], 5))


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(shorter, id="a constant longer than its shape"),
        pytest.param(optional, id="an operand that is not given"),
        pytest.param(scalar_scales, id="scales of a scalar"),
        pytest.param(one_scale, id="one scale, whatever its axis"),
        pytest.param(change("subgraphs[0].inputs", [0, 1]), id="an input that is a constant"),
        pytest.param(change("subgraphs[0].inputs", [0, 0]), id="an input given twice"),
        pytest.param(change("subgraphs[0].outputs", [2, 1, 0, 2]), id="outputs that are constant, input, the same"),
        pytest.param(change("subgraphs[0].tensors[0].shapeSignature", []), id="a signature without dims"),
        pytest.param(change("subgraphs[0].tensors[0].shapeSignature", [7, 7]), id="a signature of other sizes"),
        pytest.param(change("description", None), id="no description"),
        pytest.param(change("metadata", None), id="no metadata"),
        pytest.param(change("signatureDefs", None), id="no signatures"),
    ],
)
def test_what_litert_takes_is_read(spoil: Callable[[Made], None]) -> None:
    made = add_model()
    spoil(made)
    assert read(packed(made)).subgraphs[0].operators


def loop(cond: int, body: int) -> bytes:
    made = schema.WhileOptionsT()
    made.condSubgraphIndex, made.bodySubgraphIndex = cond, body
    main = subgraph([tensor("x", (1,)), tensor("y", (1,))], [operator(0, (0,), (1,), made)], (0,), (1,))
    return packed(model([main, subgraph([], [], (), ())], [code(B.WHILE)], [buffer()]))


@pytest.mark.parametrize(
    ("bodies", "why"),
    [((1, 2), "runs subgraph 2 of 2"), ((-1, 1), "runs subgraph -1 of 2"), ((1, 0), "runs itself")],
)
def test_a_subgraph_that_is_not_there_or_runs_itself_is_refused(bodies: tuple[int, int], why: str) -> None:
    read(loop(1, 1))
    with pytest.raises(GraphfixError, match=why):
        read(loop(*bodies))


def test_a_chain_of_subgraphs_too_deep_to_follow_is_refused() -> None:
    def calls(other: int) -> Made:
        made = schema.CallOnceOptionsT()
        made.initSubgraphIndex = other
        return subgraph([], [operator(0, (), (), made)], (), ())

    def chain_of(count: int) -> bytes:
        graphs = [*(calls(index + 1) for index in range(count)), subgraph([], [], (), ())]
        return packed(model(graphs, [code(B.CALL_ONCE)], [buffer()]))

    assert len(read(chain_of(50)).subgraphs) == 51
    assert "more than 100 deep" in refusal(chain_of(1200))


@pytest.mark.parametrize("field", ["offset", "size"])
def test_a_payload_behind_the_tables_that_leaves_the_file_is_refused(field: str) -> None:
    made = add_model()
    made.buffers[1] = schema.BufferT()
    data = with_outside(made, [(made.buffers[1], "offset", "size", bytes(12))])
    read(data)
    setattr(made.buffers[1], field, len(data) - 4)
    tables = packed(made)
    assert "lie outside" in refusal(tables + data[len(tables) :])


# --- fields that nobody knows -------------------------------------------------------------------------------------------


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
    def hindrances(data: bytes) -> list[str | None]:
        container = read(data)
        graph = container.subgraphs[0]
        return [
            container.hindrance,
            container.subgraph_hindrance(0),
            container.operator_hindrance(graph.operators[0]),
            container.tensor_hindrance(graph.tensors[0]),
        ]

    assert hindrances(packed(add_model())) == [None] * 4
    for at, table in enumerate(("Model", "SubGraph", "Operator", "Tensor")):
        found = hindrances(strange(table, add_model()))
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
    spoil(container)
    out = container.tobytes()
    assert out.endswith(data)
    again = read(out)
    graph = again.subgraphs[0]
    expected = "its {} table has fields beyond the known ones".format
    assert again.tensor_hindrance(graph.tensors[0]) == (expected("Tensor") if table == "Tensor" else None)
    assert again.tensor_hindrance(graph.tensors[-1]) is None
    assert again.operator_hindrance(graph.operators[0]) == (expected("Operator") if table == "Operator" else None)
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
    assert read(packed(made)).hindrance is None
    assert read(strange("Buffer", made)).hindrance == "its Buffer table has fields beyond the known ones"


# --- any bytes ----------------------------------------------------------------------------------------------------------


def spoil(container: Container) -> None:
    """Ask for all that the container gives, and change something of each kind."""
    graph = container.subgraphs[0]
    for operator_ in graph.operators:
        container.options(operator_)
        operator_.inputs = operator_.inputs[::-1]
    for tensor_ in graph.tensors:
        tensor_.shape = (1, *tensor_.shape)
    for index in range(len(container.buffers)):
        assert len(container.data(index)) == container.size(index)
    graph.tensors.append(Tensor("new", (1, 2), (-1, 2), True, 0, container.add_buffer(bytes(8))))
    graph.operators.append(Operator(container.code(B.PACK, 2), (-1,), (-1,), options=Options(59, ((1, "i", 2),))))
    graph.changed = True
    container.note("key", "text")


def survives(data: bytes) -> bool:
    """Read and, where that goes, change and write: anything but GraphfixError is a failure."""
    try:
        container = read(data)
        spoil(container)
        for part in chain(container.subgraphs[0].operators, container.subgraphs[0].tensors):
            part.changed = True
        out = container.tobytes()
    except GraphfixError as error:
        assert "\n" not in str(error)
        return False
    return read(out).buffers != []


def full_model() -> Made:
    """A small model with something of each kind."""
    made = add_model()
    made.subgraphs[0].tensors[1] = tensor("c", (3,), "int8", 1, quantization=quantization([1, 2, 3], [0, 0, 0]))
    made.subgraphs[0].tensors[0].shapeSignature = [-1, 3]
    options = schema.ReshapeOptionsT()
    options.newShape = [3, 2]
    made.operatorCodes.append(code(B.RESHAPE))
    made.subgraphs[0].tensors.append(tensor("z", (3, 2)))
    made.subgraphs[0].operators.append(operator(1, (2,), (3,), options))
    loop_options = schema.WhileOptionsT()
    loop_options.condSubgraphIndex = loop_options.bodySubgraphIndex = 1
    made.operatorCodes.append(code(B.WHILE))
    made.subgraphs[0].operators.append(operator(2, (), (), loop_options))
    made.subgraphs.append(subgraph([], [], (), ()))
    return made


def test_a_file_cut_at_any_length_is_refused_or_read() -> None:
    data = packed(full_model())
    assert survives(data)
    results = [survives(data[:length]) for length in range(1, len(data))]
    assert results.count(True) < len(data) // 4


@pytest.mark.parametrize("pattern", [0x01, 0x80, 0xFF], ids=hex)
def test_a_file_with_any_byte_flipped_is_refused_or_read(pattern: int) -> None:
    made = full_model()
    made.buffers.append(schema.BufferT())
    made.subgraphs[0].tensors.append(tensor("far", (3,), buffer=3))
    data = with_outside(made, [(made.buffers[3], "offset", "size", np.zeros(3, np.float32).tobytes())])
    results = [survives(data[:at] + bytes([data[at] ^ pattern]) + data[at + 1 :]) for at in range(len(data))]
    assert 0 < results.count(False) < len(data)


def aliased(count: int) -> bytes:
    """`count` tensors that are one table."""
    data = packed(add_model())
    graph = read(data).subgraphs[0]
    # A new vector behind the file: it can only refer forward, so a table stands behind it.
    vtable = struct.pack("<2H", 4, 4)
    vector = struct.pack("<I", count)
    vector += b"".join(struct.pack("<I", 4 * (count - index) + 4) for index in range(count))
    data += bytes(-len(data) % 4)
    start = len(data)
    place = read(data).subgraphs[0].place
    slot = field_of(data, place, 0)
    assert len(graph.tensors) == 3
    return data[:slot] + struct.pack("<I", start - slot) + data[slot + 4 :] + vector + vtable + struct.pack("<i", 4)


def field_of(data: bytes, table: int, slot: int) -> int:
    vtable = table - struct.unpack_from("<i", data, table)[0]
    return table + int(struct.unpack_from("<H", data, vtable + 4 + 2 * slot)[0])


def aliases() -> Iterator[int]:
    yield from (3, 100_000)


@pytest.mark.parametrize("count", aliases())
def test_a_table_that_is_referred_to_very_often_is_read_as_often_in_little_time(count: int) -> None:
    start = perf_counter()
    container = read(aliased(count))
    assert len(container.subgraphs[0].tensors) == count
    assert perf_counter() - start < 20
