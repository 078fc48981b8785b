"""What the proof says that shape arithmetic computes, beside onnxruntime: random chains of it, sizes of 0 included."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from graphfix.checker.proof.core.sizes import Size
from graphfix.checker.proof.core.terms import ProofValue
from graphfix.checker.proof.neutral.integer_values import LARGE, SMALL
from graphfix.runtimes.onnx import onnxruntime
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from tests.support.last_results import every_result, last_results
from tests.support.term_values import value

SIZES = (0, 1, 2, 3, 4, 7, 64, 65)
NUMBERS = (-(1 << 31), -65, -8, -4, -1, 0, 1, 2, 3, 4, 7, 64, 1 << 31, 1 << 40)
LIMIT = 1 << 31
ARITHMETIC = ("Add", "Sub", "Mul", "Div", "Div", "Mod", "Max", "Min")
Array = np.ndarray[Any, Any]


class Chain:
    """A model that computes with the sizes of its input, and gives all that it computes."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.numbers = rng, count()
        self.nodes: list[NodeProto] = []
        self.constants: dict[str, Array] = {}
        self.scalars: dict[str, list[str]] = {"int64": [], "int32": []}
        self.made("Shape", "x")
        for axis in range(2):
            self.scalars["int64"].append(self.made("Gather", "v0", self.constant(axis, "int64")))

    def constant(self, number: object, kind: str) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = np.array(number, kind)
        return name

    def made(self, op: str, *operands: str, **attributes: object) -> str:
        name = f"v{next(self.numbers)}"
        self.nodes.append(helper.make_node(op, operands, [name], **attributes))  # type: ignore[arg-type]  # onnx's hints
        return name

    def number(self, kind: str) -> str:
        if not self.scalars[kind] or self.rng.random() < 2 / 5:
            least = -LIMIT if kind == "int32" else -(1 << 62)
            return self.constant(self.rng.choice([n for n in NUMBERS if least <= n < -least]), kind)
        return self.rng.choice(self.scalars[kind])

    def step(self) -> None:
        kind = self.rng.choice(("int64", "int64", "int64", "int32"))
        form = self.rng.choice(("cast", "neg", "product", "chosen", "turned", *["arithmetic"] * 6))
        one, two = self.number(kind), self.number(kind)
        if form == "cast":
            other = "int32" if kind == "int64" else "int64"
            to = helper.np_dtype_to_tensor_dtype(np.dtype(other))
            self.scalars[other].append(self.made("Cast", one, to=to))
        elif form == "neg":
            self.scalars[kind].append(self.made("Neg", one))
        elif form == "product":
            axes = self.constant([0], "int64")
            parts = [self.made("Unsqueeze", each, axes) for each in (one, two)]
            self.scalars[kind].append(self.made("ReduceProd", self.made("Concat", *parts, axis=0), keepdims=0))
        elif form == "turned":
            self.turn([one, two, self.number(kind), self.number(kind)], kind)
        elif form == "chosen":
            test = self.made(self.rng.choice(("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")), one, two)
            self.scalars[kind].append(self.made("Where", test, self.number(kind), self.number(kind)))
        else:
            op = self.rng.choice(ARITHMETIC)
            sign = {"fmod": self.rng.choice((0, 1))} if op == "Mod" else {}
            self.scalars[kind].append(self.made(op, one, two, **sign))

    def turn(self, numbers: list[str], kind: str) -> None:
        """Put numbers into rows, take some, turn them, and one of them out again."""
        axes = self.constant([0], "int64")
        parts = [self.made("Unsqueeze", each, axes) for each in numbers]
        vector = self.made("Concat", *parts, axis=0)
        rows = self.made("Reshape", vector, self.constant(self.rng.choice(([-1, 2], [2, -1], [2, 2])), "int64"))
        bounds = self.rng.choice(((-1, -(1 << 63) + 1, -1), (0, 2, 1), (-2, 9, 1), (1, -9, -1), (0, 1, 1), (-1, 0, -1)))
        start, end, step = (self.constant([each], "int64") for each in bounds)
        taken = self.made("Slice", rows, start, end, self.constant([self.rng.choice((0, 1, -1))], "int64"), step)
        turned = self.made("Transpose", taken, perm=[1, 0]) if self.rng.random() < 2 / 3 else taken
        flat = self.made("Reshape", turned, self.constant([-1], "int64"))
        self.scalars[kind].append(self.made("Gather", flat, self.constant(self.rng.choice((0, 1, -1)), "int64")))

    def size(self) -> None:
        """Ask for a value of a computed size."""
        one, two = self.number("int64"), self.number("int64")
        if self.rng.random() < 1 / 2:
            low, high = self.constant(-99, "int64"), self.constant(99, "int64")
            ends = [self.made("Max", self.made("Min", each, high), low) for each in (one, two)]
            kind = self.rng.choice(("int64", "float32"))
            if kind == "float32":
                ends = [self.made("Cast", each, to=TensorProto.FLOAT) for each in ends]
            self.made("Range", *ends, self.constant(self.rng.choice((1, 1, 2, 3, -1)), kind))
            return
        axes = self.constant([0], "int64")
        parts = [self.made("Unsqueeze", each, axes) for each in (one, two)]
        self.made("Slice", "x", *parts, axes, self.constant([self.rng.choice((1, 1, 2, 3))], "int64"))

    def model(self) -> ModelProto:
        outputs = [helper.make_empty_tensor_value_info(name) for node in self.nodes for name in node.output]
        given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", "M"])
        stored = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(self.nodes, "g", [given], outputs, stored)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


class Told(NamedTuple):
    """How many elements and sizes the proof told, and what is wrong of them."""

    count: int
    wrong: list[str]


def told(seed: int, path: Path, child: Child) -> Told:
    rng = Random(f"computed {seed}")  # noqa: S311 - nothing is secret
    chain = Chain(rng)
    for _ in range(rng.randint(1, 5)):
        chain.step()
    chain.size()
    path.write_bytes(chain.model().SerializeToString())
    taken, table = every_result(path)
    assumed = set(table.assumptions)
    answers = [compared(chain, taken, assumed, (rng.choice(SIZES), rng.choice(SIZES)), path, child) for _ in range(4)]
    return Told(sum(answer.count for answer in answers), [text for answer in answers for text in answer.wrong])


def compared(
    chain: Chain,
    taken: Sequence[Sequence[ProofValue | None]],
    assumed: set[str],
    sizes: tuple[int, int],
    path: Path,
    child: Child,
) -> Told:
    """Compute what the proof told for two sizes, where what it assumes is so and the model runs.

    It runs in a child process: onnxruntime below 1.26 ends the process at an integer division by 0.
    """
    declared = dict(zip("NM", sizes, strict=True))
    views = [view for (view, *_) in taken if view is not None]
    elements = [value(element, declared) or 0 for view in views for element in view.content or ()]
    if assumed & {SMALL, LARGE} and max(map(abs, elements)) >= LIMIT:
        return Told(0, [])
    try:
        results = child.load(path.read_bytes()).run({"x": np.ones(sizes, np.float32)})
    except RefusedError:
        return Told(0, [])
    found, wrong = 0, []
    for node, view, result in zip(chain.nodes, views, results, strict=True):
        for term, real in claims(view, np.asarray(result)):
            says = value(term, declared)
            found += says is not None and not isinstance(term, int)
            if says not in (None, int(real)):
                wrong.append(f"{node.op_type} {node.output[0]}: {term} = {says}, not {real}, for {sizes}")
    return Told(found, wrong)


def claims(view: ProofValue, result: Array) -> list[tuple[Size, int]]:
    """The sizes and the elements that the proof knows, each with what came out."""
    dims = [] if view.sizes is None else zip(view.sizes, result.shape, strict=True)
    elements = [] if view.content is None else zip(view.content, result.ravel().tolist(), strict=True)
    return [*dims, *elements]


@pytest.mark.ci
@pytest.mark.parametrize(
    "seeds", [range(start, start + 50) for start in range(0, 200, 50)], ids=lambda each: each.start
)
def test_what_shapes_are_computed_from_is_what_onnxruntime_computes(seeds: range, tmp_path: Path) -> None:
    with Child() as child:
        answers = [told(seed, tmp_path / "m.onnx", child) for seed in seeds]
    assert [text for answer in answers for text in answer.wrong] == []
    assert sum(answer.count for answer in answers) > 2 * len(seeds)


@pytest.mark.full
def test_what_shapes_are_computed_from_is_what_onnxruntime_computes_in_many_models(tmp_path: Path) -> None:
    with Child() as child:
        answers = [told(seed, tmp_path / "m.onnx", child) for seed in range(200, 4000)]
    assert [text for answer in answers for text in answer.wrong] == []


PARTS: tuple[tuple[object, int], ...] = (
    (None, 1),
    (None, 0),
    (1, 1),
    (2, 1),
    (4, 1),
    (2, 0),
    ([2, 2], 1),
    ([1, 3], 1),
    ([3, 2], 1),
)


def split(parts: object, keep: int, place: int, sizes: tuple[int, int]) -> ModelProto:
    """A SplitToSequence along axis 1, and one tensor of it."""
    operands, stored = ["x"], [numpy_helper.from_array(np.array(place), "place")]
    if parts is not None:
        operands.append("parts")
        stored.append(numpy_helper.from_array(np.array(parts), "parts"))
    nodes = [
        helper.make_node("SplitToSequence", operands, ["s"], axis=-1, keepdims=keep),
        helper.make_node("SequenceAt", ["s", "place"], ["y"]),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", sizes[1]])
    graph = helper.make_graph(
        nodes, "g", [given], [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], stored
    )
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


@pytest.mark.parametrize("place", [0, 1, -1, 2])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_a_part_of_a_sequence_has_the_shape_that_onnxruntime_gives_it(
    parts: tuple[object, int], place: int, tmp_path: Path
) -> None:
    ran = known = 0
    for sizes in [(2, 0), (2, 1), (0, 3), (3, 4), (1, 5)]:
        model = split(*parts, place, sizes)
        (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
        results, _ = last_results(tmp_path / "m.onnx")
        try:
            (result,) = onnxruntime.load(model.SerializeToString()).run({"x": np.ones(sizes, np.float32)})
        except RefusedError:
            continue
        (view,) = results
        assert view is not None
        told = None if view.sizes is None else tuple(value(size, {"N": sizes[0]}) for size in view.sizes)
        assert told in (None, np.asarray(result).shape)
        ran, known = ran + 1, known + (told is not None)
    assert known == (ran if parts[0] is None or parts[1] else 0)  # runtimes differ: keepdims is for parts of 1 alone
