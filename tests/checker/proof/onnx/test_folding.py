"""Nodes on random constants, with random attributes: what the proof computes of one is what onnxruntime returns.

Most are no nodes that a runtime takes: of those the proof computes nothing. Kernels that onnxruntime lacks for a type
are another matter (`closed_world`).
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import ModelProto, helper, numpy_helper

from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.neutral.constant_folding import converted, paired
from graphfix.checker.proof.onnx.operators.registry import FOLDS, VIEWS
from graphfix.runtimes.onnx import onnxruntime
from graphfix.runtimes.session import RefusedError
from tests.support.last_results import last_results
from tests.support.notation import model as notation
from tests.support.runtimes.onnx_runs import run

IR = 8
OPERATORS = sorted({*FOLDS, *VIEWS, "ConstantOfShape"})
OPSETS = (7, 8, 9, 10, 11, 12, 13, 14, 17, 18, 19)
TYPES = "int64 int64 int64 int32 float32 bool uint8 int8 float64 float16 int16 uint32".split()
TEXTS = ("nearest", "linear", "floor", "asymmetric", "half_pixel", "none")
NOT_OF_CONSTANTS = frozenset({"Range", "Resize"})
"""What hardly ever comes out of a random choice of operands."""
LIKE_THE_FIRST = frozenset(
    "Add Sub Mul Div Mod Min Max Equal Less Greater LessOrEqual GreaterOrEqual Concat Where".split()
)
Array = np.ndarray[Any, Any]


def operand(rng: Random, *, vector: bool) -> Array:
    sizes = [
        rng.choice((0, 1, 1, 2, 2, 3)) for _ in range(rng.choice((0, 1, 1, 1, 1, 2) if vector else (0, 1, 2, 2, 3)))
    ]
    numbers = [rng.choice((rng.randint(-3, 4), rng.randint(0, 2))) for _ in range(int(np.prod(sizes)))]
    array = np.array(numbers, np.int64).reshape(sizes) * (1 << 31 if rng.random() < 1 / 30 else 1)
    kind = rng.choice(("int64",) * 6 + ("int32", "float32", "uint8") if vector else TYPES)
    with np.errstate(all="ignore"):
        return (array + rng.choice((0, 0.5)) if "float" in kind else array).astype(kind)


def operands(rng: Random, schema: onnx.defs.OpSchema) -> list[Array]:
    least, most = schema.min_input, min(schema.max_input, 5)
    count = min(rng.choice((least, least, least + 1, least + 2, most)), most)
    made = [operand(rng, vector=at > 0 and schema.name not in LIKE_THE_FIRST) for at in range(count)]
    if schema.name == "Slice" and rng.random() < 2 / 3:
        length = rng.choice((1, 1, 2))
        made[1:] = [np.array([rng.choice((0, 1, 2, -1, -2, 5)) for _ in range(length)]) for _ in made[1:]]
    if rng.random() < 1 / 4:
        return made
    formal = [schema.inputs[min(at, len(schema.inputs) - 1)].type_str for at in range(count)]
    with np.errstate(all="ignore"):
        return [
            each.astype(made[formal.index(name)].dtype) if name.startswith("T") else each
            for each, name in zip(made, formal, strict=True)
        ]


def attribute(rng: Random, given: onnx.defs.OpSchema.Attribute) -> onnx.AttributeProto | None:
    kind = str(given.type).rpartition(".")[2]
    if kind == "INT":
        return helper.make_attribute(given.name, rng.choice((0, 0, 1, 1, 2, -1, -2, 3, 7)))
    if kind == "INTS":
        numbers = [rng.choice((0, 1, 1, 2, -1, -2)) for _ in range(rng.choice((0, 1, 1, 2, 2, 3)))]
        return helper.make_attribute(given.name, numbers, attr_type=onnx.AttributeProto.INTS)
    if kind == "FLOAT":
        return helper.make_attribute(given.name, rng.choice((0.0, 0.5, 1.5, -1.0)))
    if kind == "TENSOR":
        held = operand(rng, vector=False).reshape(-1)[: rng.choice((1, 1, 2))]
        return helper.make_attribute(given.name, numpy_helper.from_array(held))
    return helper.make_attribute(given.name, rng.choice(TEXTS)) if kind == "STRING" else None


def model(rng: Random, op: str) -> ModelProto | None:
    opset = rng.choice(OPSETS)
    if not onnx.defs.has(op, opset):
        return None
    schema = onnx.defs.get_schema(op, opset)
    held = [
        numpy_helper.from_array(np.ascontiguousarray(each), f"x{at}") for at, each in enumerate(operands(rng, schema))
    ]
    results = [f"y{at}" for at in range(rng.choice((1, 2, 3)) if op == "Split" else 1)]
    node = helper.make_node(op, [each.name for each in held], results)
    for given in schema.attributes.values():
        made = attribute(rng, given) if given.required or rng.random() < 2 / 5 else None
        node.attribute.extend([made] if made is not None else [])
    outputs = [helper.make_empty_tensor_value_info(name) for name in results]
    graph = helper.make_graph([node], "g", [], outputs, held)
    return helper.make_model(graph, ir_version=IR, opset_imports=[helper.make_opsetid("", opset)])


def computed(proto: ModelProto, path: Path) -> list[Array | None]:
    path.write_bytes(proto.SerializeToString())
    try:
        results, _ = last_results(path)
    except UnprovedError:
        return []
    return [None if view is None else constant_folding.constant_array(view) for view in results]


def wrong(op: str, seed: int, path: Path) -> tuple[bool, str | None]:
    """Whether a node is computed, and what is wrong with that."""
    proto = model(Random(f"{op} {seed}"), op)  # noqa: S311 - nothing is secret
    arrays = [] if proto is None else computed(proto, path)
    if proto is None or all(array is None for array in arrays):
        return False, None
    told = onnx.printer.to_text(proto.graph)
    try:
        results = onnxruntime.load(proto.SerializeToString()).run({})
    except RefusedError as refused:
        return True, None if "Could not find an implementation" in str(refused) else f"{told}: {refused}"
    for array, result in zip(arrays, map(np.asarray, results), strict=True):
        if array is not None and (array.dtype, array.shape, array.tobytes()) != (
            result.dtype, result.shape, result.tobytes()
        ):  # fmt: skip
            return True, f"{told}: {array.tolist()} for {result.tolist()}"
    return True, None


def asked(op: str, seeds: range, folder: Path) -> tuple[int, list[str]]:
    answers = [wrong(op, seed, folder / "m.onnx") for seed in seeds]
    return sum(folded for folded, _ in answers), [text for _, text in answers if text is not None]


@pytest.mark.alike(2)
@pytest.mark.parametrize("op", OPERATORS)
def test_what_is_computed_of_constants_is_what_onnxruntime_returns(op: str, tmp_path: Path) -> None:
    _, texts = asked(op, range(20), tmp_path)
    assert texts == []


@pytest.mark.full
@pytest.mark.parametrize("op", OPERATORS)
def test_what_is_computed_of_many_constants_is_what_onnxruntime_returns(op: str, tmp_path: Path) -> None:
    folded, texts = asked(op, range(600), tmp_path)
    assert texts == []
    assert folded or op in NOT_OF_CONSTANTS


@pytest.mark.parametrize("to", ["float32", "float64"])
@pytest.mark.parametrize("of", ["int64", "uint64", "int32", "float64", "float32"])
def test_a_cast_rounds_as_onnxruntime_does(of: str, to: str) -> None:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 1 << 64, 40_000, np.uint64, endpoint=False) >> rng.integers(0, 40, 40_000).astype(np.uint64)
    values = bits.astype(of) if of.startswith(("int", "uint")) else rng.normal(size=40_000).astype(of) * 2.0**-30
    folded = converted(values, to)
    text = f"y:{to}[40000] = Cast(x:{of}[40000], to={1 if to == 'float32' else 11})"
    assert folded is not None
    assert folded.tobytes() == run(notation(text), x=values)[0].tobytes()
    assert converted(np.array([1e300]), "float32") is None
    assert converted(np.array([-1e-300]), "float32") is None


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
def test_a_zero_has_the_sign_that_onnxruntime_gives_it(op: str) -> None:
    x, y = np.array([[0], [1.5], [-1.5], [-3]], np.float32), np.array([[0.5, 1.5, 3, -1.5]], np.float32)
    folded = paired(op.lower(), x, y)
    assert folded is not None
    assert folded.tobytes() == run(notation(f"y[4,4] = {op}(a[4,1], b[1,4])"), a=x, b=y)[0].tobytes()
