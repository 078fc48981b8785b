"""Files that are refused in one line, and tables that can't be written anew, each by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.results import GraphfixError
from tests.support.tflite.flat_files import (
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
    with_outside,
)

B = schema.BuiltinOperator


def refusal(data: bytes | Path) -> str:
    with pytest.raises(GraphfixError) as caught:
        read(data)
    message = str(caught.value)
    assert "\n" not in message
    return message


# --- no file of this format ------------------------------------------------------------------------------------------


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


# --- parts that name what is not there -------------------------------------------------------------------------------


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


def test_of_subgraphs_that_run_one_another_the_first_is_named() -> None:
    def calls(*others: int) -> Made:
        made = [schema.CallOnceOptionsT() for _ in others]
        for options, other in zip(made, others, strict=True):
            options.initSubgraphIndex = other
        return subgraph([], [operator(0, (), (), options) for options in made], (), ())

    def refused(*graphs: Made) -> str:
        return refusal(packed(model(graphs, [code(B.CALL_ONCE)], [buffer()])))

    assert "subgraph 1 has an operator that runs itself" in refused(calls(), calls(1))
    assert "subgraph 1 has an operator that runs itself" in refused(calls(3), calls(2), calls(1), calls())
    assert "subgraph 0 has an operator that runs itself" in refused(calls(2, 1), calls(), calls(0))
    assert "subgraph 1 has an operator that runs subgraph 3 of 3" in refused(calls(), calls(0, 3), calls())


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
    assert "cut short" in refusal(tables + data[len(tables) :])


def test_a_whole_file_that_contradicts_itself_is_not_called_cut_short() -> None:
    """Getting it again would not help."""
    made = add_model()
    per_axis(made)
    message = refusal(packed(made))
    assert "cut short" not in message
    assert message.endswith("convert it again")
