"""Tables that are written anew: what the record does not hold is kept, what it holds is written."""

from __future__ import annotations

from dataclasses import replace

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.file.records import NEW, Options, Quantization, Tensor
from tests.support.tflite.flat_files import (
    add_model,
    operator,
    packed,
    quantization,
    schema,
    subgraph,
    tensor,
    tree,
    unpacked,
)
from tests.support.tflite.reshaping import add_reshape, without_reshape

B = schema.BuiltinOperator


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


def test_changed_results_are_written_for_the_operator_and_the_subgraph() -> None:
    container = read(packed(add_model()))
    record = container.subgraphs[0]
    record.tensors.append(replace(record.tensors[2], name="y/new", place=NEW))
    record.operators[0].outputs = record.outputs = (3,)
    record.operators[0].changed = record.changed = True
    reported = unpacked(container.tobytes()).subgraphs[0]
    assert (list(reported.operators[0].outputs), list(reported.outputs), list(reported.inputs)) == ([3], [3], [0])


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
    reported = unpacked(container.tobytes()).subgraphs[0].tensors
    assert (reported[3].name, list(reported[3].shape), reported[3].buffer, reported[3].type) == (
        b"c/lifted",
        [1, 1, 3],
        1,
        9,
    )
    assert reported[3].quantization.quantizedDimension == 2
    reported[3].quantization.quantizedDimension = 0
    assert tree(reported[3].quantization) == tree(reported[1].quantization)


def test_an_unmoved_quantization_is_shared_and_none_is_left_out() -> None:
    made = add_model()
    made.subgraphs[0].tensors[0].quantization = quantization([0.5], [3])
    container = read(packed(made))
    record = container.subgraphs[0]
    record.tensors.append(replace(record.tensors[0], name="same", place=NEW))
    record.tensors.append(replace(record.tensors[0], name="none", quantization=None, place=NEW))
    record.changed = True
    reported = unpacked(container.tobytes()).subgraphs[0].tensors
    assert tree(reported[3].quantization) == tree(reported[0].quantization)
    assert reported[4].quantization is None
    assert isinstance(record.tensors[3].quantization, Quantization)


def test_a_scalar_tensor_keeps_its_empty_shape_and_a_signature_is_written() -> None:
    container = read(packed(add_model()))
    record = container.subgraphs[0]
    record.tensors.append(Tensor("scalar", (), None, True, 0, 0))
    record.tensors.append(Tensor("free", (1, 3), (-1, 3), True, 0, 0))
    record.changed = True
    reported = unpacked(container.tobytes()).subgraphs[0].tensors
    assert (reported[3].hasRank, list(reported[3].shape), reported[3].shapeSignature) == (True, [], None)
    assert list(reported[4].shapeSignature) == [-1, 3]


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
