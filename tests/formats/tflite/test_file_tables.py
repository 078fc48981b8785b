"""Tables that are written anew: what the record does not hold is kept, what it holds is written."""

from __future__ import annotations

from dataclasses import replace

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.file.records import NEW, Code, Options, Quantization, Signature, Tensor
from graphfix.formats.tflite.file.tables import read_scales
from tests.support.tflite.flat_files import (
    add_model,
    code,
    metadata,
    operator,
    packed,
    quantization,
    schema,
    signature,
    subgraph,
    tensor,
    tree,
    unpacked,
    with_outside,
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


def test_all_that_a_file_says_is_read() -> None:
    made = add_model()
    made.operatorCodes.extend([code(B.CUSTOM, 3, "Own"), code(B.BROADCAST_TO, 2), code(B.NEG)])
    x, c, y = made.subgraphs[0].tensors
    x.shapeSignature, x.quantization = [-1, 3], quantization([0.5, 0.25, 2.0], [1, 2, 3], 1)
    c.quantization = quantization([0.5], [7])
    y.hasRank = True
    node, plain = operator(1, (1, -1, 0), (2, 3)), operator(2, (0,), (4,))
    tensors = [
        tensor("p", (), hasRank=True),
        tensor("q", (4,), "int8", isVariable=True),
        *(tensor(name, (2,)) for name in "rst"),
    ]
    made.subgraphs.append(subgraph(tensors, [plain, node], (0, 1), (4, 3), "other"))
    made.signatureDefs.append(signature("more", {"a": 1, "b": 0}, {"z": 4}, 1))
    made.buffers[1] = schema.BufferT()
    values = bytes(range(12))
    data = with_outside(
        made,
        [
            (made.buffers[1], "offset", "size", values),
            (node, "largeCustomOptionsOffset", "largeCustomOptionsSize", b"the options"),
        ],
    )
    container = read(data)
    parts = container.parts
    assert parts.codes == [Code(B.ADD, 1), Code(B.CUSTOM, 3, "Own"), Code(B.BROADCAST_TO, 2), Code(B.NEG, 1)]
    assert parts.unused_codes == {3}
    assert [code.place for code in parts.codes] == parts.code_places
    one, two = parts.subgraphs
    assert [(graph.name, graph.inputs, graph.outputs) for graph in (one, two)] == [
        ("main", (0,), (2,)),
        ("other", (0, 1), (4, 3)),
    ]
    found = [(each.name, each.shape, each.signature, each.has_rank, each.type, each.buffer) for each in one.tensors]
    assert found == [
        ("x", (2, 3), (-1, 3), False, 0, 0),
        ("c", (3,), None, False, 0, 1),
        ("y", (2, 3), None, True, 0, 0),
    ]
    assert [(each.name, each.has_rank, each.type, each.variable) for each in two.tensors] == [
        ("p", True, 0, False),
        ("q", False, 9, True),
        *((name, False, 0, False) for name in "rst"),
    ]
    assert not any(each.sparse or each.external or each.changed for each in (*one.tensors, *two.tensors))
    scales = [each.quantization and (each.quantization.scales, each.quantization.dimension) for each in one.tensors]
    assert scales == [(3, 1), (1, 0), None]
    bits = [0x3F000000, 0x3E800000, 0x40000000]
    read_ones = [read_scales(container.flat, each.quantization) for each in one.tensors]
    assert read_ones == [(tuple(bits), (1, 2, 3), 0, 0, 1), (tuple(bits[:1]), (7,), 0, 0, None), ()]
    assert [(each.code, each.inputs, each.outputs) for each in one.operators] == [(0, (0, 1), (2,))]
    assert [(each.code, each.inputs, each.outputs) for each in two.operators] == [
        (2, (0,), (4,)),
        (1, (1, -1, 0), (2, 3)),
    ]
    assert [each.present for each in parts.buffers] == [False, True, True]
    assert [data[slice(*span)] for span in parts.payloads] == [b"", values, b"1.5.0"]
    assert parts.outside == [1]
    assert parts.custom_outside == {two.operators[1].place}
    assert [data[slice(*span)] for span in parts.custom_spans] == [b"the options"]
    assert parts.signatures == [
        Signature("serving_default", 0, (("x", 0),), (("y", 2),)),
        Signature("more", 1, (("a", 1), ("b", 0)), (("z", 4),)),
    ]
    assert parts.metadata == parts.metadata_read == [("min_runtime_version", 2)]
    assert (parts.metadata_count, len(parts.metadata_places), len(parts.signature_places)) == (1, 1, 2)
    assert (parts.external, parts.kept_signatures) == ([], None)


def test_metadata_of_one_name_is_dropped_with_its_places() -> None:
    made = add_model()
    made.metadata = [metadata(name, at) for name, at in (("a", 0), ("b", 2), ("a", 1), ("c", 0))]
    container = read(packed(made))
    places = container.parts.metadata_places
    container.note("new", "text")
    container.parts.drop_metadata("a")
    assert container.metadata == [("b", 2), ("c", 0), ("new", 3)]
    assert container.parts.metadata_read == [("b", 2), ("c", 0)]
    assert container.parts.metadata_places == [places[1], places[3]]
    assert container.parts.metadata_count == 4
    container.parts.drop_metadata("new")
    assert container.metadata == container.parts.metadata_read == [("b", 2), ("c", 0)]
