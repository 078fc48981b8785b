"""Parts of a second TFLite file that the first lacks: which may be new, and what is said of each that may not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from graphfix.checker.files.constant_bytes import stored_bytes
from graphfix.checker.files.tflite.file import REQUIRED_OF_GRAPH, REQUIRED_PARTS
from graphfix.checker.files.tflite.records import Model, Operator, Quantization, Subgraph, Tensor
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.tflite.closed_world.file_inventory import DEPENDENCIES, check_parts
from tests.support.tflite.rule_calls import QUANTIZED


def tensor(name: str, stored: tuple[int, ...] = (2, 3), dtype: str = "float32", **more: Any) -> Tensor:  # noqa: ANN401
    made = Tensor(name, dtype, stored, stored, None, variable=False, payload=None)
    return made._replace(**more)


def operator(name: str, *inputs: int) -> Operator:
    return Operator(name, 1, inputs, (1,), {}, (), (name,))


def graph(*tensors: Tensor, name: str = "main", operators: tuple[str, ...] = ("NEG",)) -> Subgraph:
    """A subgraph whose first tensor is its input, and the second its output."""
    return Subgraph(tensors, tuple(operator(each, 0) for each in operators), (0,), (1,), name, REQUIRED_OF_GRAPH)


MAIN = graph(tensor("x"), tensor("y"), tensor("c", (3,), payload=stored_bytes(bytes(12))))
OTHER = graph(tensor("u"), tensor("v"), name="other")
ONE = Model(3, (("NEG", 1), ("ADD", 2)), (MAIN, OTHER), (), (), REQUIRED_PARTS, identified=True, flat_bytes=99)


def why(one: Model, two: Model) -> str:
    """Return why the second file may not be read; empty if it may."""
    try:
        check_parts(one, two)
    except UnprovedError as error:
        return str(error)
    return ""


def tensors(model: Model, at: int, **changes: Any) -> Model:  # noqa: ANN401
    """Return a model with a tensor of the main subgraph changed."""
    main = model.subgraphs[0]
    made = list(main.tensors)
    made[at] = made[at]._replace(**changes)
    return replace(model, subgraphs=(replace(main, tensors=tuple(made)), *model.subgraphs[1:]))


def added(model: Model, *more: Tensor) -> Model:
    main = model.subgraphs[0]
    return replace(model, subgraphs=(replace(main, tensors=(*main.tensors, *more)), *model.subgraphs[1:]))


def ran(model: Model, *names: str) -> Model:
    """Return a model with these operators in the main subgraph."""
    made = replace(model.subgraphs[0], operators=tuple(operator(name, 0) for name in names))
    return replace(model, subgraphs=(made, *model.subgraphs[1:]))


VERSIONS: list[tuple[int, int, str]] = [
    (3, 3, ""),
    (2, 3, ""),
    (2, 2, ""),
    (3, 2, "the second file has schema version 2, and runtimes read 3"),
    (2, 4, "the second file has schema version 4, and runtimes read 3"),
]


@pytest.mark.parametrize(("one", "two", "expected"), VERSIONS)
def test_the_schema_is_the_firsts_or_the_one_that_runtimes_read(one: int, two: int, expected: str) -> None:
    assert why(replace(ONE, version=one), replace(ONE, version=two)) == expected


def test_a_part_that_the_first_file_has_is_in_the_second() -> None:
    lacks = "the second file has no identifier, or lacks a part that the first one has"
    part = min(REQUIRED_PARTS)
    fewer = replace(ONE, given=REQUIRED_PARTS - {part})
    assert why(ONE, replace(ONE, identified=False)) == why(ONE, fewer) == lacks
    assert why(fewer, fewer) == why(fewer, ONE) == why(replace(ONE, identified=False), ONE) == ""
    assert why(ONE, replace(ONE, given=REQUIRED_PARTS | {77})) == ""
    bare = replace(ONE, subgraphs=(MAIN, replace(OTHER, given=REQUIRED_OF_GRAPH - {min(REQUIRED_OF_GRAPH)})))
    assert why(ONE, bare) == "subgraph 1 of the second file lacks a part that it has in the first one"
    assert why(bare, bare) == why(bare, ONE) == ""


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (("RESHAPE", 1), ""),
        (("RESHAPE", 2), "only the second file asks for RESHAPE in version 2"),
        (("RESHAPE", 0), "only the second file asks for RESHAPE in version 0"),
        (("TILE", 2), ""),
        (("TILE", 3), "only the second file asks for TILE in version 3"),
        (("BROADCAST_TO", 1), "only the second file asks for BROADCAST_TO in version 1"),
        (("BROADCAST_TO", 3), ""),
        (("MUL", 1), ""),
        (("MUL", 2), "only the second file asks for MUL in version 2"),
        (("ADD", 2), ""),
        (("ADD", 1), ""),
        (("ADD", 3), "only the second file asks for ADD in version 3"),
        (("CONV_2D", 1), "only the second file asks for CONV_2D in version 1"),
        (("CONV_2D", 0), "only the second file asks for CONV_2D in version 0"),
        (("custom Own", 1), "only the second file asks for custom Own in version 1"),
    ],
)
def test_operators_that_every_runtime_has_may_be_new(code: tuple[str, int], expected: str) -> None:
    assert why(ONE, replace(ONE, codes=(*ONE.codes, code))) == expected


A, B = stored_bytes(b"a"), stored_bytes(b"b")
DIFFER = "the metadata is not the same"
METADATA: list[tuple[tuple[tuple[str, object], ...], tuple[tuple[str, object], ...], str]] = [
    ((("k", A),), (("k", stored_bytes(b"a")),), ""),
    ((("k", A),), (("k", B),), DIFFER),
    ((("k", A),), (("l", A),), DIFFER),
    ((("k", A),), (), DIFFER),
    ((), (("k", A),), DIFFER),
    ((("k", A), ("l", B)), (("l", B), ("k", A)), DIFFER),
    ((("k", None),), (("k", None),), ""),
    ((("k", None),), (("k", A),), DIFFER),
    ((("k", A),), (("k", None),), DIFFER),
    ((), (("graphfix.assumes", A),), ""),
    ((("graphfix.assumes", A), ("k", A)), (("k", A), ("graphfix.assumes", B)), ""),
    ((("keep_stablehlo_constant", A), ("k", A)), (("k", A),), ""),
    ((("keep_stablehlo_constant", A),), (("keep_stablehlo_constant", B),), DIFFER),
    ((), (("keep_stablehlo_constant", A),), DIFFER),
    (((DEPENDENCIES, A),), (), ""),
    (((DEPENDENCIES, A),), ((DEPENDENCIES, A),), ""),
    (((DEPENDENCIES, A),), ((DEPENDENCIES, B),), DIFFER),
]


@pytest.mark.parametrize(("one", "two", "expected"), METADATA)
def test_metadata_is_the_same_but_for_what_no_runtime_reads(one: Any, two: Any, expected: str) -> None:  # noqa: ANN401
    assert why(replace(ONE, metadata=one), replace(ONE, metadata=two)) == expected


def test_an_order_of_operators_counts_where_one_keeps_a_state() -> None:
    entry = ((DEPENDENCIES, A),)
    lacks = f"the second file lacks the metadata {DEPENDENCIES!r}, and operators keep a state"
    for name in ("NEG", "ADD", "VAR_HANDLE", "custom Own", "RANDOM_UNIFORM"):
        one = ran(replace(ONE, metadata=entry), "NEG", name)
        assert why(one, replace(one, metadata=())) == ("" if name in ("NEG", "ADD") else lacks)
    held_ = added(replace(ONE, metadata=entry), tensor("w", variable=True))
    assert why(held_, replace(held_, metadata=())) == lacks
    one, two = replace(ONE, metadata=entry), ran(replace(ONE, metadata=entry), "NEG", "NEG")
    moved = f"the metadata {DEPENDENCIES!r} names operators by their index, and others stand there"
    assert why(one, two) == moved
    assert why(replace(one, metadata=(("k", A),)), replace(two, metadata=(("k", A),))) == ""


def test_subgraphs_are_the_same_but_for_the_last_ones() -> None:
    differ, variables = "the subgraphs are not the same, by number and names", "the files have other variables"
    alone = replace(ONE, subgraphs=(MAIN,))
    assert why(ONE, alone) == ""
    assert why(alone, ONE) == why(ONE, replace(ONE, subgraphs=(OTHER,))) == differ
    assert why(ONE, replace(ONE, subgraphs=(MAIN, replace(OTHER, name="b")))) == differ
    none = replace(ONE, subgraphs=())
    assert why(ONE, none) == why(none, ONE) == "a file has no subgraph"
    own = replace(ONE, subgraphs=(MAIN, graph(*OTHER.tensors, tensor("w", variable=True), name="other")))
    assert why(own, own) == ""
    assert why(own, alone) == why(ONE, own) == why(own, ONE) == variables
    one, two = added(ONE, tensor("w", (5,), variable=True)), added(ONE, tensor("w", (7,), variable=True))
    assert why(one, two) == variables
    assert why(one, added(ONE, tensor("w", (5,), "int32", variable=True))) == variables
    order = added(ONE, tensor("a", (5,), variable=True), tensor("b", (7,), variable=True))
    assert why(order, added(ONE, tensor("b", (7,), variable=True), tensor("a", (5,), variable=True))) == ""


BY_AXIS = Quantization((b"\0\0\0?\0\0\0?", (0, 0), ()), 0)
NEW: dict[str, tuple[Tensor, str]] = {
    "a constant": (tensor("n", (5,), payload=stored_bytes(bytes(20))), ""),
    "a computed one": (tensor("n", (5,)), ""),
    "a scalar": (tensor("n", (), payload=stored_bytes(bytes(4))), ""),
    "half a byte more": (tensor("n", (3,), "int4", payload=stored_bytes(bytes(2))), ""),
    "half a byte less": (
        tensor("n", (3,), "int4", payload=stored_bytes(bytes(1))),
        "has 1 bytes, and its shape needs 2",
    ),
    "texts": (tensor("n", (2,), "string", payload=stored_bytes(bytes(5))), ""),
    "texts that are computed": (tensor("n", (2,), "string"), ""),
    "with one scale": (tensor("n", dtype="int8", quantization=QUANTIZED), ""),
    "with more bytes": (tensor("n", (5,), payload=stored_bytes(bytes(24))), "has 24 bytes, and its shape needs 20"),
    "with fewer bytes": (
        tensor("n", (5,), "int64", payload=stored_bytes(bytes(39))),
        "has 39 bytes, and its shape needs 40",
    ),
    "with scales that do not fit": (
        tensor("n", quantization=replace(BY_AXIS, loads=False)),
        "has scales that do not fit it, or of a kind of their own"),
    "with scales of a kind": (
        tensor("n", quantization=replace(QUANTIZED, key=(*QUANTIZED.key[:2], (1,)))),
        "has scales that do not fit it, or of a kind of their own"),
    "sparse": (tensor("n", odd=("sparse", 1)), "is sparse or in another file"),
    "a negative size": (tensor("n", (2, -3)), "has the shape [2, -3]"),
    "another shape in its signature": (
        tensor("n", (1, 3), signature=(-1, 3)), "has the shape [1, 3] and another in its signature"),
    "of an unknown type": (tensor("n", dtype="99"), "has the type 99, which is not known"),
    "of a type without a width": (tensor("n", dtype="resource"), ""),
    "too large": (tensor("n", (1 << 30, 1 << 30, 2)), "has more elements than a runtime counts"),
    "as large as may be": (tensor("n", (1 << 30, 1 << 30, 4), "int8"), ""),
    "an element larger": (tensor("n", ((1 << 62) + 1,), "int8"), "has more elements than a runtime counts"),
}  # fmt: skip


@pytest.mark.parametrize("name", NEW)
def test_a_tensor_may_be_new_where_every_runtime_takes_it(name: str) -> None:
    new, fault = NEW[name]
    assert why(ONE, added(ONE, new)) == (fault and f"the tensor 'n' of the second file {fault}")
    assert why(added(ONE, new), added(ONE, new._replace(name="m"))) == ""


def test_a_variable_with_bytes_or_of_texts_is_one_of_the_first_file() -> None:
    fault = "the tensor 'w' of the second file is a variable that has bytes, or is of strings"
    for more in ({"payload": stored_bytes(bytes(24))}, {"dtype": "string"}):
        made = tensor("w", variable=True, **more)
        plain = tensor("w", variable=True, dtype=made.dtype)
        first = (
            plain if "payload" in more else tensor("w", variable=True, dtype="string", stored=(2, 3), signature=(1,))
        )
        assert why(added(ONE, first), added(ONE, made)) == fault
        assert why(added(ONE, made), added(ONE, made)) == ""


def test_a_constant_of_more_bytes_than_its_shape_is_read_by_the_same_operators() -> None:
    long = added(ONE, tensor("n", (5,), payload=stored_bytes(bytes(24))))
    assert why(long, ran(long, "ABS")) == "the tensor 'n' of the second file has 24 bytes, and its shape needs 20"
    sparse = added(ONE, tensor("n", (5,), payload=stored_bytes(bytes(24)), odd=("sparse", 1)))
    assert why(sparse, ran(sparse, "ABS")) == ""
    other = added(ONE, tensor("n", (5,), payload=stored_bytes(bytes(28))))
    assert why(long, other) == "the tensor 'n' of the second file has 28 bytes, and its shape needs 20"


SIGNED = ("serve", 0, (("a", 0),), (("b", 1),))
SIGNATURES: list[tuple[tuple[object, ...], str]] = [
    (("serve", 0, (("a", 0),), (("b", 1),)), ""),
    (("other", 0, (("a", 0),), (("b", 1),)), "the signatures are not the same"),
    (("serve", 1, (("a", 0),), (("b", 1),)), "the signatures are not the same"),
    (("serve", 0, (("c", 0),), (("b", 1),)), "the signatures are not the same"),
    (("serve", 0, (("a", 0),), (("c", 1),)), "the signatures are not the same"),
    (("serve", 0, (("a", 1),), (("b", 1),)), "a signature names a tensor that is none of the inputs"),
    (("serve", 0, (("a", 0),), (("b", 0),)), "a signature names a tensor that is none of the outputs"),
    (("serve", 2, (), ()), "there is no subgraph 2, which a signature names"),
    (("serve", -1, (), ()), "there is no subgraph -1, which a signature names"),
]


@pytest.mark.parametrize(("signature", "expected"), SIGNATURES)
def test_signatures_name_the_same_places(signature: Any, expected: str) -> None:  # noqa: ANN401
    assert why(replace(ONE, signatures=(SIGNED,)), replace(ONE, signatures=(signature,))) == expected


def test_signatures_may_name_other_tensors_at_the_same_places() -> None:
    main = replace(MAIN, tensors=(*MAIN.tensors[1:], MAIN.tensors[0]), inputs=(2,), outputs=(0,))
    two = replace(ONE, subgraphs=(main, OTHER), signatures=(("serve", 0, (("a", 2),), (("b", 0),)),))
    assert why(replace(ONE, signatures=(SIGNED,)), two) == ""
    assert why(ONE, two) == why(two, ONE) == "the signatures are not the same"


AT_ONE_SIZE = "; compare them at one size: --shape x=2,3, or --dim NAME=SIZE"
ENDS: list[tuple[int, dict[str, Any], str]] = [
    (0, {"name": "z"}, "the input 'x' has another name"),
    (1, {"name": "z"}, "the output 'y' has another name"),
    (0, {"dtype": "int32"}, "the input 'x' has another type or quantization"),
    (1, {"dtype": "int32"}, "the output 'y' has another type or quantization"),
    (0, {"quantization": QUANTIZED}, "the input 'x' has another type or quantization"),
    (1, {"quantization": QUANTIZED}, "the output 'y' has another type or quantization"),
    (0, {"dims": (2, 5), "stored": (2, 5)}, "the input 'x' has another declared shape"),
    (0, {"stored": (1, 3)}, "the input 'x' has another declared shape"),
    (0, {"signature": (-1, 3)}, "the input 'x' has another declared shape"),
    (0, {"dims": (None, 3)}, f"the input 'x' has another declared shape{AT_ONE_SIZE}"),
    (0, {"payload": stored_bytes(bytes(24))}, "the input 'x' lies on a constant's buffer"),
    (1, {"dims": (2, 5), "stored": (2, 5)}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("at", "changes", "expected"), ENDS)
def test_inputs_and_outputs_are_the_same(at: int, changes: dict[str, Any], expected: str) -> None:
    assert why(ONE, tensors(ONE, at, **changes)) == expected
    if "payload" in changes:
        made = tensors(ONE, at, **changes)
        assert why(made, ONE) == why(made, made) == expected


def test_inputs_and_outputs_of_a_body_are_the_same() -> None:
    def body(**changes: Any) -> Model:  # noqa: ANN401
        made = OTHER.tensors[0]._replace(**changes)
        return replace(ONE, subgraphs=(MAIN, replace(OTHER, tensors=(made, OTHER.tensors[1]))))

    assert why(ONE, body(name="w")) == "the input 'u' of subgraph 1 has another name"
    assert why(ONE, body(dims=(None, 3))) == "the input 'u' of subgraph 1 has another declared shape"


def test_inputs_and_outputs_are_as_many_and_as_many_tensors() -> None:
    def ends(inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Model:
        return replace(ONE, subgraphs=(replace(MAIN, inputs=inputs, outputs=outputs), OTHER))

    assert why(ONE, ends((0, 0), (1,))) == "the number of inputs is 1 in the first file, 2 in the second"
    assert why(ends((0, 0), (1,)), ONE) == "the number of inputs is 2 in the first file, 1 in the second"
    assert why(ONE, ends((0,), ())) == "the number of outputs is 1 in the first file, 0 in the second"
    twice = added(ONE, tensor("x"))
    shared = "other inputs and outputs are one tensor"
    apart = replace(twice, subgraphs=(replace(twice.subgraphs[0], inputs=(0, 3)), OTHER))
    assert why(ends((0, 0), (1,)), apart) == why(apart, ends((0, 0), (1,))) == shared
    assert why(apart, apart) == ""
