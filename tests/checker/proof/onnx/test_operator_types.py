"""The types that operators accept, by onnx's schemas, and the types of results that attributes state.

The types of results are compared with those that onnx infers of the same node.
"""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest
from onnx import TensorProto, TypeProto, helper

from graphfix.checker.proof.core.terms import Core
from graphfix.checker.proof.onnx.closed_world.declared import element_type
from graphfix.checker.proof.onnx.closed_world.operator_types import accepted, is_open
from graphfix.checker.proof.onnx.reading.types import dtype, type_name
from tests.support.last_results import last_results
from tests.support.proving import prove

FLOAT, INT64, INT32, DOUBLE, UINT8, BOOL = (
    TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.DOUBLE, TensorProto.UINT8, TensorProto.BOOL
)  # fmt: skip


def tensor(kind: int, dims: list[int] | None = None) -> TypeProto:
    return helper.make_tensor_type_proto(kind, dims)


def whole(given: TypeProto) -> bytes:
    """Return the type of a value that is no tensor, as values have it."""
    found = element_type(given)
    assert isinstance(found, bytes)
    return found


SEQUENCE = whole(helper.make_sequence_type_proto(tensor(FLOAT)))
OPTIONAL = whole(helper.make_optional_type_proto(tensor(FLOAT)))
OPTIONAL_SEQUENCE = whole(helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor(FLOAT))))
SEQUENCE_OF_ANY = whole(helper.make_sequence_type_proto(tensor(TensorProto.UNDEFINED)))
NO_TYPE = 1000
ACCEPTED: list[tuple[str, int, tuple[int | bytes | None, ...], bool]] = [
    ("Add", 17, (FLOAT, FLOAT), True),
    ("Add", 17, (FLOAT, DOUBLE), False),
    ("Add", 17, (FLOAT, None), True),
    ("Add", 17, (None, DOUBLE), True),
    ("Add", 17, (BOOL, BOOL), False),
    ("Add", 6, (UINT8, UINT8), False),
    ("Add", 14, (UINT8, UINT8), True),
    ("Add", 17, (NO_TYPE, None), False),
    ("Add", 17, (SEQUENCE, None), False),
    ("Where", 17, (BOOL, FLOAT, FLOAT), True),
    ("Where", 17, (BOOL, FLOAT, DOUBLE), False),
    ("Where", 17, (FLOAT, FLOAT, FLOAT), False),
    ("Pow", 17, (FLOAT, INT64), True),
    ("Concat", 17, (INT64, INT64, INT64), True),
    ("Concat", 17, (INT64, INT64, INT32), False),
    ("Reshape", 17, (FLOAT, INT64), True),
    ("Reshape", 17, (FLOAT, INT32), False),
    ("Gather", 17, (FLOAT, INT32), True),
    ("Gather", 17, (FLOAT, FLOAT), False),
    ("Identity", 17, (SEQUENCE,), True),
    ("Identity", 12, (SEQUENCE,), False),
    ("Identity", 17, (OPTIONAL,), True),
    ("Identity", 17, (OPTIONAL_SEQUENCE,), True),
    ("Identity", 15, (OPTIONAL,), False),
    ("SequenceAt", 17, (SEQUENCE, INT64), True),
    ("SequenceAt", 17, (FLOAT, INT64), False),
    ("SequenceAt", 17, (OPTIONAL, INT64), False),
    ("SequenceAt", 17, (SEQUENCE_OF_ANY, INT64), True),
    ("Add", 17, (TensorProto.UNDEFINED, FLOAT), True),
    ("Loop", 17, (INT64, BOOL, FLOAT, INT64), True),
    ("Constant", 17, (), True),
    ("Constant", 17, (FLOAT,), True),
    ("Nothing", 17, (), False),
    ("Nothing", 17, (FLOAT,), False),
]


@pytest.mark.parametrize(("op", "version", "kinds", "expected"), ACCEPTED)
def test_the_types_of_operands(op: str, version: int, kinds: tuple[int | bytes | None, ...], expected: bool) -> None:
    assert accepted(op, "", version, kinds) is expected


def test_sizes_and_descriptions_are_no_part_of_a_type() -> None:
    described = helper.make_sequence_type_proto(tensor(FLOAT, [2, 3]))
    described.denotation = described.sequence_type.elem_type.denotation = "IMAGE"
    assert element_type(described) == SEQUENCE
    assert element_type(helper.make_optional_type_proto(tensor(FLOAT, [2]))) == OPTIONAL != SEQUENCE
    assert element_type(helper.make_sparse_tensor_type_proto(FLOAT, [2])) == element_type(
        helper.make_sparse_tensor_type_proto(FLOAT, [3])
    )
    maps = [TypeProto(), TypeProto()]
    for each, size in zip(maps, (2, 3), strict=True):
        each.map_type.key_type = INT64
        each.map_type.value_type.CopyFrom(tensor(FLOAT, [size]))
    assert element_type(maps[0]) == element_type(maps[1])
    assert element_type(tensor(INT64, [2])) == INT64
    assert described.sequence_type.elem_type.tensor_type.HasField("shape")


@pytest.mark.parametrize(
    ("kind", "name"),
    [(FLOAT, "float32"), (DOUBLE, "float64"), (BOOL, "bool"), (TensorProto.BFLOAT16, "bfloat16"), (NO_TYPE, "no type")],
)
def test_types_have_the_names_of_numpy(kind: int, name: str) -> None:
    assert type_name(kind) == name


RESULTS: dict[str, tuple[str, int]] = {
    "a cast": ("y = Cast <to = 7> (x)", 17),
    "a cast to what another has": ("y = CastLike (x, i)", 17),
    "zeros": ("y = ConstantOfShape (s)", 17),
    "ones of integers": ("y = ConstantOfShape <value = int64[1] {1}> (s)", 17),
    "a shape": ("y = Shape (x)", 17),
    "a comparison": ("y = Less (x, x)", 17),
    "bytes": ("y = QuantizeLinear (x, f)", 17),
    "bytes with a sign": ("y = QuantizeLinear (x, f, z)", 17),
    "bytes that an attribute states": ("y = QuantizeLinear <output_dtype = 3> (x, f)", 21),
    "floats again": ("y = DequantizeLinear (u, f)", 17),
    "random numbers": ("y = RandomNormal <shape = [2]> ()", 17),
    "random doubles": ("y = RandomUniform <shape = [2], dtype = 11> ()", 17),
    "random numbers as": ("y = RandomNormalLike (x)", 17),
    "random doubles as": ("y = RandomUniformLike <dtype = 11> (x)", 17),
    "an eye": ("y = EyeLike (m)", 17),
    "an eye of integers": ("y = EyeLike <dtype = 7> (m)", 17),
    "samples": ("y = Multinomial (m)", 17),
    "samples of 64 bits": ("y = Multinomial <dtype = 7> (m)", 17),
    "tosses": ("y = Bernoulli (x)", 17),
    "a window": ("y = HannWindow (n)", 17),
    "another window": ("y = HammingWindow <output_datatype = 11> (n)", 17),
    "a window of doubles": ("y = BlackmanWindow <output_datatype = 11> (n)", 17),
    "a sequence": ("y = SequenceConstruct (x, x)", 17),
    "an empty sequence": ("y = SequenceEmpty ()", 17),
    "an empty sequence of integers": ("y = SequenceEmpty <dtype = 7> ()", 17),
    "an element": ("q = SequenceConstruct (l, l) y = SequenceAt (q, n)", 17),
    "parts": ("y = SplitToSequence <axis = 0> (i)", 17),
    "joined parts": ("q = SplitToSequence <axis = 0> (i) y = ConcatFromSequence <axis = 0> (q)", 17),
    "an optional": ("y = Optional (x)", 17),
    "an optional of a sequence": ("q = SequenceConstruct (x) y = Optional (q)", 17),
    "what an optional holds": ("q = Optional (i) y = OptionalGetElement (q)", 17),
    "the value itself": ("y = OptionalGetElement (i)", 18),
    "whether an optional holds any": ("q = Optional (i) y = OptionalHasElement (q)", 17),
    "a length": ("q = SequenceConstruct (x, x) y = SequenceLength (q)", 17),
    "values and places": ("v, y = TopK (x, k)", 17),
    "bits": ("y = BitCast <to = 6> (x)", 26),
    "a non-zero": ("y = NonZero (x)", 17),
}
UNKNOWN: dict[str, str] = {
    "an element of what is not known": "q = com.microsoft.Unknown(x) y = SequenceAt(q, i)",
    "an element of a tensor": "y = SequenceAt(x, i)",
    "an element of an optional": "q = Optional(x) y = SequenceAt(q, i)",
    "joined parts of what is not known": "q = com.microsoft.Unknown(x) y = ConcatFromSequence<axis = 0>(q)",
    "a sequence of what is not known": "q = com.microsoft.Unknown(x) y = SequenceConstruct(q)",
    "a sequence of sequences": "q = SequenceConstruct(x) y = SequenceConstruct(q)",
    "an optional of what is not known": "q = com.microsoft.Unknown(x) y = Optional(q)",
    "an optional of nothing": "y = Optional()",
    "an empty sequence of no type": "y = SequenceEmpty<dtype = 1000>()",
    "what a value that is not known holds": "q = com.microsoft.Unknown(x) y = OptionalGetElement(q)",
}


@pytest.mark.parametrize("node", UNKNOWN.values(), ids=UNKNOWN)
def test_the_type_of_what_is_not_known_is_none(node: str, tmp_path: Path) -> None:
    assert last_kind(tmp_path, node) is None


def test_what_holds_no_other_value_is_what_it_holds(tmp_path: Path) -> None:
    assert last_kind(tmp_path, "q = SequenceConstruct(x) y = OptionalGetElement(q)") == SEQUENCE
    assert last_kind(tmp_path, "y = OptionalGetElement(i)") == INT64


def last_kind(folder: Path, nodes: str) -> int | bytes | None:
    """Return the type that the proof knows of the last node's result; the file declares none."""
    head = '<ir_version: 8, opset_import: ["" : 18, "com.microsoft" : 1]>'
    made = onnx.parser.parse_model(f"{head} g (float[4] x, int64 i) => (float y) {{ {nodes} }}")
    made.graph.output[0].ClearField("type")
    (folder / "m.onnx").write_bytes(made.SerializeToString())
    (view,), _ = last_results(folder / "m.onnx")
    assert view is not None
    return dtype(view.core)


INPUTS = (
    "float[4] x, float[4,4] m, int64[4] i, int64[2] s, float f, uint8[4] u, int8 z, int64 n, int64[1] k, int64[L] l"
)
FAR = TensorProto.COMPLEX128
"""A type that no value of the table has."""


@pytest.mark.parametrize(("nodes", "opset"), RESULTS.values(), ids=RESULTS)
def test_the_type_of_a_result_is_what_onnx_infers(nodes: str, opset: int, tmp_path: Path) -> None:
    """The second file may declare the type that onnx infers, and no other; the first one declares none."""
    made = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : {opset}]> g ({INPUTS}) => (float[4] o) {{ {nodes} o = Neg(x) }}'
    )
    inferred = onnx.shape_inference.infer_shapes(made, data_prop=True)
    (info,) = [each for each in inferred.graph.value_info if each.name == "y"]
    held = element_type(info.type)  # without sizes
    own = tensor(held) if isinstance(held, int) else TypeProto.FromString(held)
    reasons = []
    for kind in (own, tensor(FAR)):
        after = onnx.ModelProto.FromString(made.SerializeToString())
        after.graph.value_info.add(name="y").type.CopyFrom(kind)
        for name, model in (("before", made), ("after", after)):
            (tmp_path / name).write_bytes(model.SerializeToString())
        reasons.append(prove(tmp_path / "before", tmp_path / "after").reason)
    assert reasons == [None, "the second file declares another type of the value 'y' than it has"]


@pytest.mark.parametrize(
    ("op", "version", "result", "kind", "expected"),
    [
        ("Shape", 17, 0, None, False),  # int64 whatever the operand is
        ("Neg", 17, 0, None, False),  # that of the operand
        ("Cast", 17, 0, None, True),  # what an attribute states
        ("Cast", 17, 0, FLOAT, False),
        ("TopK", 17, 0, None, False),
        ("TopK", 17, 1, None, False),
        ("Dropout", 17, 1, None, False),  # bool
        ("LayerNormalization", 17, 0, None, False),
        ("LayerNormalization", 17, 1, None, True),  # what `stash_type` states
        ("SequenceAt", 17, 0, None, True),
        ("SequenceLength", 17, 0, None, False),
        ("Loop", 17, 0, None, True),
        ("Loop", 17, 5, None, True),  # the last entry holds for all that follow
        ("Split", 17, 3, None, False),
        ("Nothing", 17, 0, None, False),
    ],
)
def test_a_type_is_open_that_neither_the_operator_nor_an_operand_decides(
    op: str, version: int, result: int, kind: int | None, expected: bool
) -> None:
    core = Core(("whole", "", op, version, result), 0, op, must_match=True)
    core.dtype = kind
    assert is_open(core) is expected
    other = Core(("maps", "", op, version, result), 0, op, must_match=True)
    assert not is_open(other)
