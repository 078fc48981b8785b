"""The proof's own rules for sizes beside onnxruntime: random attributes and sizes, 0 and 1 included, each operator set.

A rule may know nothing; what it knows is what comes out, wherever the node runs at all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper

from graphfix.checker.proof.core.result import NO_SIZE_IS_0, NONE_WITHOUT_ELEMENTS, SOME_IMAGE
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from tests.support.last_results import last_results
from tests.support.term_values import value

IR = 8
Array = np.ndarray[Any, Any]


class Asked(NamedTuple):
    """A node on operands: those in `known` are constants of the file, the others inputs."""

    op: str
    opset: int
    operands: Sequence[Array | None]
    attributes: dict[str, object]
    results: int = 1
    known: frozenset[int] = frozenset()


def image(rng: Random, axes: int, least: int = 0) -> Array:
    return np.ones(
        [rng.randint(min(least, 1), 3), rng.choice((1, 2, 4)), *(rng.randint(least, 9) for _ in range(axes))],
        np.float32,
    )


def box(rng: Random, least: int = 0) -> Array:
    return np.ones([rng.choice((least, 1, 2, 3, 5)) for _ in range(rng.randint(1, 4))], np.float32)


def ints(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def maybe(rng: Random, **attributes: object) -> dict[str, object]:
    return {name: value for name, value in attributes.items() if rng.random() < 1 / 2}


def windowed(rng: Random, axes: int, opset: int, *, ceil: bool = False) -> dict[str, object]:
    given = maybe(
        rng,
        strides=[rng.randint(1, 3) for _ in range(axes)],
        pads=[rng.randint(0, 2) for _ in range(2 * axes)],
        **({"dilations": [rng.randint(1, 3) for _ in range(axes)]} if opset > 9 else {}),
        **({"ceil_mode": rng.randint(0, 1)} if ceil else {}),
    )
    if rng.random() < 1 / 3:
        given.pop("pads", None)
        given["auto_pad"] = rng.choice(("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"))
    return given


def pool(op: str, opsets: Sequence[int], opset_of_ceil: int) -> Callable[[Random], Asked]:
    def made(rng: Random) -> Asked:
        opset, axes = rng.choice(opsets), rng.randint(1, 2)
        kernel = [rng.randint(1, 3) for _ in range(axes)]
        given = windowed(rng, axes, opset if op == "MaxPool" or opset > 18 else 1, ceil=opset >= opset_of_ceil)
        several = op == "MaxPool" and rng.random() < 1 / 2
        return Asked(op, opset, [image(rng, axes)], {"kernel_shape": kernel, **given}, 1 + several)

    return made


def convolution(rng: Random) -> Asked:
    axes = rng.randint(1, 2)
    data = image(rng, axes)
    kernel = [rng.randint(1, 3) for _ in range(axes)]
    weight = np.ones([rng.randint(1, 3), data.shape[1], *kernel], np.float32)
    given = windowed(rng, axes, 11) | maybe(rng, kernel_shape=kernel)
    return Asked("Conv", rng.choice((7, 11, 17)), [data, weight], given)


def transposed(rng: Random) -> Asked:
    axes = rng.randint(1, 2)
    data = image(rng, axes, least=1)
    kernel = [rng.randint(1, 3) for _ in range(axes)]
    weight = np.ones([data.shape[1], rng.randint(1, 3), *kernel], np.float32)
    given = windowed(rng, axes, 11)
    given |= maybe(rng, output_padding=[rng.randint(0, 1) for _ in range(axes)])
    if rng.random() < 1 / 4:
        given["output_shape"] = [rng.randint(1, 12) for _ in range(axes)]
    if data.shape[1] == 4 and rng.random() < 1 / 2:
        given["group"] = 2
    return Asked("ConvTranspose", rng.choice((7, 11, 17)), [data, weight], given)


def resized(rng: Random) -> Asked:
    data = image(rng, 2, least=1)
    opset = rng.choice((10, 11, 13, 18, 19))
    mode = {"mode": rng.choice(("nearest", "linear"))}
    scales = [1, 1, *(rng.choice((rng.uniform(0.2, 3), rng.randint(1, 12) / rng.randint(1, 6))) for _ in range(2))]
    if opset == 10:
        return Asked("Resize", opset, [data, np.array(scales, np.float32)], mode, known=frozenset({1}))
    roi = np.zeros(0, np.float32)
    if rng.random() < 1 / 3:
        sizes = ints(*data.shape[:2], rng.randint(1, 12), rng.randint(1, 12))
        given = mode | (maybe(rng, keep_aspect_ratio_policy="not_larger") if opset > 17 else {})
        return Asked("Resize", opset, [data, roi, np.zeros(0, np.float32), sizes], given, known=frozenset({1, 2, 3}))
    return Asked("Resize", opset, [data, roi, np.array(scales, np.float32)], mode, known=frozenset({1, 2}))


def upsampled(rng: Random) -> Asked:
    scales = [1.0, 1.0, *(rng.choice((rng.uniform(1, 3), rng.randint(6, 12) / rng.randint(1, 6))) for _ in range(2))]
    data, mode = image(rng, 2, least=1), {"mode": "nearest"}
    if rng.random() < 1 / 2:
        return Asked("Upsample", 7, [data], {**mode, "scales": scales})
    return Asked("Upsample", 9, [data, np.array(scales, np.float32)], mode, known=frozenset({1}))


def sliced(rng: Random) -> Asked:
    data, opset = box(rng), rng.choice((9, 10, 13))
    axes = rng.sample(range(data.ndim), rng.randint(1, data.ndim))
    starts, ends = ([rng.choice((0, 1, 2, -1, -2, -9, 9, 1 << 40)) for _ in axes] for _ in range(2))
    if opset == 9:
        return Asked("Slice", opset, [data], {"starts": starts, "ends": ends, "axes": axes})
    axes = [axis - rng.choice((0, data.ndim)) for axis in axes]
    steps = [rng.choice((1, 1, 2, -1, -2)) for _ in axes]
    kind = np.dtype(rng.choice(("int32", "int64")))
    parts = [np.clip(ints(*part), -(1 << 31), (1 << 31) - 1).astype(kind) for part in (starts, ends, axes, steps)]
    return Asked("Slice", opset, [data, *parts], {}, known=frozenset({1, 2, 3, 4}))


def padded(rng: Random) -> Asked:
    data, opset = box(rng, least=1), rng.choice((10, 11, 18))
    pads = [rng.choice((0, 0, 1, 2, -1)) for _ in range(2 * data.ndim)]
    if opset == 10:
        return Asked("Pad", opset, [data], {"pads": pads})
    if opset == 18 and rng.random() < 1 / 2:
        axes = rng.sample(range(data.ndim), rng.randint(1, data.ndim))
        operands = [data, ints(*pads[: 2 * len(axes)]), np.float32(0) * np.ones((), np.float32), ints(*axes)]
        return Asked("Pad", opset, operands, {}, known=frozenset({1, 3}))
    return Asked("Pad", opset, [data, ints(*pads)], {}, known=frozenset({1}))


def split(rng: Random) -> Asked:
    data, opset, count = box(rng), rng.choice((11, 13, 18)), rng.randint(1, 4)
    axis = rng.randrange(-data.ndim, data.ndim)
    if rng.random() < 1 / 2:
        given: dict[str, object] = {"axis": axis, **({"num_outputs": count} if opset == 18 else {})}
        return Asked("Split", opset, [data], given, count)
    size = data.shape[axis]
    parts = [rng.randint(0, size) for _ in range(count - 1)]
    parts.append(size - sum(parts))
    if opset == 11:
        return Asked("Split", opset, [data], {"axis": axis, "split": parts}, count)
    return Asked("Split", opset, [data, ints(*parts)], {"axis": axis}, count, frozenset({1}))


def reduced(rng: Random) -> Asked:
    data, opset = box(rng), rng.choice((11, 13, 18))
    axes = [rng.randrange(-data.ndim, data.ndim) for _ in range(rng.randint(0, data.ndim))]
    given = maybe(rng, keepdims=rng.choice((0, 1, 2)))
    op = rng.choice(("ReduceSum", "ReduceMean", "ReduceL1"))
    if opset == 18 or (opset == 13 and op == "ReduceSum"):
        given |= maybe(rng, noop_with_empty_axes=rng.choice((0, 1, 2)))
        return Asked(op, opset, [data, ints(*axes)], given, known=frozenset({1}))
    return Asked(op, opset, [data], given | ({"axes": axes} if axes else {}))


def joined(rng: Random) -> Asked:
    data = box(rng)
    axis = rng.randrange(-data.ndim, data.ndim)
    others = []
    for _ in range(rng.randint(0, 2)):
        sizes = [size if rng.random() < 4 / 5 else rng.choice((0, 2)) for size in data.shape]
        sizes[axis] = rng.randint(0, 3)
        others.append(np.ones(sizes, np.float32))
    return Asked("Concat", rng.choice((4, 11, 13)), [data, *others], {"axis": axis})


def squeezed(rng: Random) -> Asked:
    data = box(rng)
    axes = [axis for axis, size in enumerate(data.shape) if size == 1]
    if rng.random() < 1 / 2:
        return Asked("Squeeze", 13, [data], {})
    return Asked(
        "Squeeze", 13, [data, ints(*(axis - rng.choice((0, data.ndim)) for axis in axes))], {}, 1, frozenset({1})
    )


def unsqueezed(rng: Random) -> Asked:
    data = box(rng)
    axes = ints(*(rng.randint(-data.ndim - 2, data.ndim + 1) for _ in range(2)))
    return Asked("Unsqueeze", 13, [data, axes], {}, known=frozenset({1}))


def reshaped(rng: Random) -> Asked:
    data = box(rng)
    target = [rng.choice((size, size, 0, -1, 1)) for size in data.shape]
    return Asked("Reshape", rng.choice((5, 14)), [data, ints(*target)], {}, known=frozenset({1}))


def flattened(rng: Random) -> Asked:
    data = box(rng)
    return Asked("Flatten", rng.choice((9, 11, 13)), [data], maybe(rng, axis=rng.randint(-data.ndim, data.ndim)))


def tiled(rng: Random) -> Asked:
    data = box(rng)
    return Asked("Tile", 13, [data, ints(*(rng.randint(0, 3) for _ in data.shape))], {}, known=frozenset({1}))


def topmost(rng: Random) -> Asked:
    data = box(rng)
    axis = rng.randrange(-data.ndim, data.ndim)
    count = ints(rng.randint(0, max(data.shape[axis], 1)))
    return Asked("TopK", 11, [data, count], {"axis": axis}, 2, frozenset({1}))


def gathered(rng: Random) -> Asked:
    data = box(rng, least=1)
    axis = rng.randrange(-data.ndim, data.ndim)
    indices = np.zeros([rng.randint(0, 3) for _ in range(rng.randint(0, 2))], np.int64)
    return Asked("Gather", rng.choice((10, 11, 13)), [data, indices], {"axis": axis})


def gathered_points(rng: Random) -> Asked:
    data = box(rng, least=1)
    batch = rng.randint(0, data.ndim - 1)
    shape = [*data.shape[:batch], *(rng.randint(1, 3) for _ in range(rng.randint(0, 2)))]
    indices = np.zeros([*shape, rng.randint(1, data.ndim - batch)], np.int64)
    return Asked("GatherND", 13, [data, indices], {"batch_dims": batch})


def positions(rng: Random) -> Asked:
    data = box(rng)
    given = maybe(rng, axis=rng.randrange(-data.ndim, data.ndim), keepdims=rng.choice((0, 1, 2)))
    return Asked(rng.choice(("ArgMax", "ArgMin")), rng.choice((8, 11, 13)), [data], given)


def counted(rng: Random) -> Asked:
    kind = np.dtype(rng.choice(("int32", "int64", "float32")))
    ends = [np.array(rng.randint(-9, 9), kind) for _ in range(2)]
    return Asked("Range", 11, [*ends, np.array(rng.choice((1, 2, 3, -1, -4)), kind)], {}, known=frozenset({0, 1, 2}))


def blocks(rng: Random) -> Asked:
    block = rng.randint(1, 3)
    if rng.random() < 1 / 2:
        data = np.ones([2, block**2 * rng.randint(1, 2), rng.randint(0, 3), 2], np.float32)
        return Asked("DepthToSpace", rng.choice((7, 13)), [data], {"blocksize": block})
    data = np.ones([2, 3, block * rng.randint(0, 3), block * 2], np.float32)
    return Asked("SpaceToDepth", rng.choice((7, 13)), [data], {"blocksize": block})


def one_hot(rng: Random) -> Asked:
    indices = np.zeros([rng.randint(0, 3) for _ in range(rng.randint(1, 2))], np.int64)
    depth = rng.choice((np.array(4), ints(4)))
    given = maybe(rng, axis=rng.randint(-indices.ndim - 1, indices.ndim))
    return Asked("OneHot", 11, [indices, depth, np.array([0, 1], np.float32)], given, known=frozenset({1}))


def compressed(rng: Random) -> Asked:
    data = box(rng, least=1)
    condition = np.array([rng.random() < 1 / 2 for _ in range(2)])
    return Asked("Compress", 11, [data, condition], maybe(rng, axis=rng.randrange(-data.ndim, data.ndim)))


def recurrent(rng: Random) -> Asked:
    op, gates = rng.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
    direction = rng.choice(("forward", "reverse", "bidirectional"))
    hidden, size, both = rng.randint(1, 3), rng.randint(1, 3), 1 + (direction == "bidirectional")
    layout = maybe(rng, layout=rng.choice((0, 0, 1)))
    data = np.ones([rng.randint(1, 4), rng.randint(1, 3), size], np.float32)
    weights = np.ones([both, gates * hidden, size], np.float32), np.ones([both, gates * hidden, hidden], np.float32)
    given = {"hidden_size": hidden, "direction": direction, **layout}
    return Asked(op, 14, [data, *weights], given, 3 if op == "LSTM" else 2)


def summed(rng: Random) -> Asked:
    equation = rng.choice(("ij,jk->ik", "bij,bjk", "ii->i", "ij->ji", "bhd,bkd->bhk", "i,j->ij", " ij , ij -> ", "ij"))
    sizes = {letter: rng.choice((1, 2, 3)) for letter in "ijkbhd"}
    terms = equation.split("->")[0].replace(" ", "").split(",")
    operands = [
        np.ones([1 if rng.random() < 1 / 5 else sizes[letter] for letter in term], np.float32) for term in terms
    ]
    return Asked("Einsum", 12, operands, {"equation": equation})


def stretched(rng: Random) -> Asked:
    data = box(rng)
    sizes = [rng.choice((size, size, 1, 3)) for size in data.shape[rng.randint(0, data.ndim - 1) :]]
    part = np.ones(sizes, np.float32)
    op, opset = rng.choice((("PRelu", 9), ("PRelu", 16), ("LayerNormalization", 17), ("RMSNormalization", 23)))
    return Asked(op, opset, [data, part], {})


def multiplied(rng: Random) -> Asked:
    rows, inner, columns = (rng.randint(0, 3) for _ in range(3))
    first, second = rng.randint(0, 1), rng.randint(0, 1)
    one = np.ones([inner, rows] if first else [rows, inner], np.float32)
    two = np.ones([columns, inner] if second else [inner, columns], np.float32)
    return Asked("Gemm", rng.choice((9, 13)), [one, two, np.ones(1, np.float32)], {"transA": first, "transB": second})


def sampled(rng: Random) -> Asked:
    data = image(rng, 2, least=1)
    grid = np.zeros([data.shape[0], rng.randint(1, 3), rng.randint(1, 3), 2], np.float32)
    return Asked("GridSample", rng.choice((16, 20)), [data, grid], {})


def filled(rng: Random) -> Asked:
    target = ints(*(rng.randint(0, 3) for _ in range(rng.randint(0, 3))))
    return Asked("ConstantOfShape", 9, [target], {}, known=frozenset({0} if rng.random() < 1 / 2 else ()))


def determinants(rng: Random) -> Asked:
    size = rng.randint(1, 3)
    stack = [rng.randint(0, 3) for _ in range(rng.randint(0, 2))]
    return Asked("Det", 11, [np.ones([*stack, size, size], np.float32)], {})


def drawn(rng: Random) -> Asked:
    return Asked(
        rng.choice(("RandomNormal", "RandomUniform")),
        9,
        [],
        {"shape": [rng.randint(0, 3) for _ in range(rng.randint(1, 3))]},
    )


def drawn_classes(rng: Random) -> Asked:
    classes = np.ones([rng.randint(0, 3), rng.randint(1, 3)], np.float32)
    return Asked("Multinomial", 9, [classes], maybe(rng, sample_size=rng.randint(1, 4)))


def split_texts(rng: Random) -> Asked:
    texts = np.full([rng.randint(0, 3) for _ in range(rng.randint(0, 3))], "a b", object)
    return Asked("StringSplit", 20, [texts], maybe(rng, maxsplit=1, delimiter=" "), 2)


def matched_texts(rng: Random) -> Asked:
    texts = np.full([rng.randint(0, 3) for _ in range(rng.randint(0, 3))], "ab", object)
    return Asked("RegexFullMatch", 20, [texts], {"pattern": "a."})


def products_of_bytes(rng: Random) -> Asked:
    """With zero points of columns, so that the operands are read exactly."""
    rows, inner, columns, batch = (rng.randint(0, 3) for _ in range(4))
    one = np.ones([*[batch] * rng.randint(0, 1), rows, inner], np.uint8)
    two = np.ones([*[rng.choice((1, batch))] * rng.randint(0, 1), inner, columns], np.uint8)
    return Asked("MatMulInteger", 10, [one, two, np.ones((), np.uint8), np.ones(columns, np.uint8)], {})


def normalized(rng: Random) -> Asked:
    data = box(rng, least=1)
    axis = rng.randrange(-data.ndim, data.ndim)
    scale = np.ones(data.shape[axis % data.ndim :], np.float32)
    return Asked("LayerNormalization", 17, [data, scale], {"axis": axis}, rng.choice((1, 3)))


KINDS: dict[str, Callable[[Random], Asked]] = {
    "max pools": pool("MaxPool", (7, 8, 10, 11, 12), 10),
    "average pools": pool("AveragePool", (7, 10, 11, 19), 10),
    "norm pools": pool("LpPool", (7, 11, 18), 18),
    **{made.__name__.replace("_", " "): made for made in (
        convolution, transposed, resized, upsampled, sliced, padded, split, reduced, joined, squeezed, unsqueezed,
        reshaped, flattened, tiled, topmost, gathered, gathered_points, positions, counted, blocks, one_hot,
        compressed, recurrent, summed, stretched, multiplied, sampled, filled, determinants, drawn, drawn_classes,
        split_texts, matched_texts, products_of_bytes, normalized,
    )},
}  # fmt: skip


def model(asked: Asked, rng: Random) -> ModelProto:
    """A model of the one node; some sizes of its inputs are declared, the others are free."""
    names = ["" if operand is None else f"x{at}" for at, operand in enumerate(asked.operands)]
    results = [f"y{at}" for at in range(asked.results)]
    node = helper.make_node(asked.op, names, results, **asked.attributes)  # type: ignore[arg-type]  # onnx's hints
    inputs, constants = [], []
    for at, (name, operand) in enumerate(zip(names, asked.operands, strict=True)):
        if operand is None:
            continue
        if at in asked.known:
            constants.append(numpy_helper.from_array(operand, name))
            continue
        dims = [size if rng.random() < 1 / 2 else f"{name}_{axis}" for axis, size in enumerate(operand.shape)]
        inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(operand.dtype), dims))
    outputs = [helper.make_empty_tensor_value_info(name) for name in results]
    graph = helper.make_graph([node], "g", inputs, outputs, constants)
    return helper.make_model(graph, ir_version=IR, opset_imports=[helper.make_opsetid("", asked.opset)])


OF_ELEMENTS = frozenset({NO_SIZE_IS_0, NONE_WITHOUT_ELEMENTS, SOME_IMAGE})
"""What is assumed of sizes, so that nothing is claimed of a model in which one is 0."""


def claimed(
    proto: ModelProto, path: Path, sizes: Mapping[str, int]
) -> tuple[list[Sequence[int | None] | None], set[str]]:
    """What the proof knows of the results' sizes, terms of declared sizes computed; and what it assumes for that."""
    path.write_bytes(proto.SerializeToString())
    results, table = last_results(path)
    known = [None if view is None else view.sizes for view in results]
    return [None if dims is None else [value(size, sizes) for size in dims] for dims in known], set(table.assumptions)


def contradiction(kind: str, seed: int, folder: Path, child: Child) -> tuple[bool, str | None]:
    """Whether the node runs, and what the proof claims of it otherwise.

    It runs in a child process: onnxruntime 1.22 and 1.30 divide by a size of 0 and end the process.
    """
    rng = Random(f"{kind} {seed}")  # noqa: S311 - nothing is secret
    asked = KINDS[kind](rng)
    proto = model(asked, rng)
    feeds = {f"x{at}": each for at, each in enumerate(asked.operands) if each is not None and at not in asked.known}
    try:
        results = child.load(proto.SerializeToString()).run(feeds)
    except RefusedError:
        return False, None
    sizes = {f"{name}_{axis}": size for name, array in feeds.items() for axis, size in enumerate(array.shape)}
    claims, assumed = claimed(proto, folder / "m.onnx", sizes)
    if assumed & OF_ELEMENTS and 0 in sizes.values():
        return True, None
    for claim, result in zip(claims, results, strict=True):
        real = np.asarray(result).shape
        if claim is not None and (
            len(claim) != len(real) or any(a not in (None, b) for a, b in zip(claim, real, strict=True))
        ):
            return True, f"{asked.op} of set {asked.opset} {asked.attributes}: {claim} for {real}"
    return True, None


def asked_of(kind: str, seeds: range, folder: Path) -> tuple[int, list[str]]:
    with Child() as child:
        answers = [contradiction(kind, seed, folder, child) for seed in seeds]
    return sum(ran for ran, _ in answers), [text for _, text in answers if text is not None]


@pytest.mark.ci
@pytest.mark.parametrize("kind", KINDS)
def test_no_size_that_a_rule_knows_contradicts_onnxruntime(kind: str, tmp_path: Path) -> None:
    ran, wrong = asked_of(kind, range(25), tmp_path)
    assert wrong == []
    assert ran


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_no_size_that_a_rule_knows_contradicts_onnxruntime_in_many_models(kind: str, tmp_path: Path) -> None:
    ran, wrong = asked_of(kind, range(1000), tmp_path)
    assert wrong == []
    assert ran > 200
