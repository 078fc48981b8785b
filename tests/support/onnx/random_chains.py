"""Random models of shape arithmetic: sizes are taken, computed with, and used as sizes, places and counts.

Every step runs before the next one is added, so that what is made is valid; sizes are mostly symbols, 0 and 1 often.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np
from onnx import TensorProto, helper

from tests.support.onnx.random_builder import Builder, Case, floats
from tests.support.runtimes.onnx_runs import run

EXTENTS = (0, 1, 1, 2, 3, 4, 5, 6, 7)
MOST = 60
"""A size above this is not used as one."""
ELEMENTS = 5000
STEPS = 7


@dataclass(slots=True)
class Chain:
    """A model in the making, with what its values are in the run."""

    b: Builder
    numbers: list[tuple[str, int]] = field(default_factory=list)
    """Vectors of one element, and the element."""
    tensors: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)

    @property
    def random(self) -> Random:
        """The choice of everything."""
        return self.b.random

    def vector(self, value: int) -> tuple[str, int]:
        """A constant."""
        return self.b.constant([value]), value

    def number(self, low: int = 0, high: int = MOST) -> tuple[str, int]:
        """A number of the model in a range, else a constant."""
        fit = [number for number in self.numbers if low <= number[1] <= high]
        if fit and self.random.random() < 0.8:
            return self.random.choice(fit)
        return self.vector(self.random.randint(low, min(high, 4)))

    def scalar(self, vector: str) -> str:
        """The element of a vector."""
        return self.b.node("Squeeze", [vector, self.b.constant([0])])[0]

    def tensor(self, rank: int = 1) -> tuple[str, tuple[int, ...]]:
        """A tensor of at least that rank."""
        return self.random.choice([each for each in self.tensors if len(each[1]) >= rank])

    def alike(self, shape: tuple[int, ...]) -> str:
        """A tensor of that rank."""
        return self.random.choice([name for name, other in self.tensors if len(other) == len(shape)])

    def ran(self) -> dict[str, np.ndarray] | None:
        """All values; None where the model does not run."""
        case = self.b.case()
        try:
            found = run(case.proto, **case.feeds)
        except Exception:  # noqa: BLE001 -- onnxruntime's own classes
            return None
        return dict(zip([value.name for value in case.proto.graph.output], found, strict=True))


# --- numbers ----------------------------------------------------------------------------------------------------------


def taken(c: Chain) -> str:
    """A size of a tensor."""
    name, shape = c.tensor()
    axis, b = c.random.randrange(len(shape)), c.b
    how = c.random.choice(["gather", "scalar", "slice", "part"])
    if how == "part" and b.opset >= 15:
        return b.node("Shape", [name], start=axis, end=axis + 1)[0]
    whole = b.node("Shape", [name])[0]
    if how == "slice":
        return b.node("Slice", [whole, b.constant([axis]), b.constant([axis + 1])])[0]
    if how == "scalar":
        return b.node("Unsqueeze", [b.node("Gather", [whole, b.constant(axis)])[0], b.constant([0])])[0]
    return b.node("Gather", [whole, b.constant([axis])])[0]


def paired(c: Chain) -> str:
    """Arithmetic of two numbers."""
    op = c.random.choice(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"])
    one, two = c.number(-MOST), c.number(1 if op in ("Div", "Mod") else -MOST)
    if c.random.random() < 0.5:
        two = c.vector(c.random.randint(1, 5))
    sign = {"fmod": len(c.b.nodes) % 2} if op == "Mod" else {}
    return c.b.node(op, [one[0], two[0]], **sign)[0]


def chosen(c: Chain) -> str:
    """One of two numbers, by a comparison."""
    op = c.random.choice(["Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual"])
    asked = c.b.node(op, [c.number()[0], c.number()[0]])[0]
    return c.b.node("Where", [asked, c.number(-MOST)[0], c.number(-MOST)[0]])[0]


def reduced(c: Chain) -> str:
    """The sum, product, greatest or least of several numbers."""
    op = c.random.choice(["ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin"])
    several = c.b.node("Concat", [c.number(-4)[0] for _ in range(c.random.randint(1, 3))], axis=0)[0]
    return c.b.node(op, [several], keepdims=1)[0]


def cast(c: Chain) -> str:
    """Through another type and back, or negated."""
    name, _ = c.number(-MOST)
    if c.random.random() < 0.4:
        return c.b.node("Neg", [name])[0]
    there = c.b.node("Cast", [name], to=c.random.choice([TensorProto.INT32, TensorProto.FLOAT, TensorProto.BOOL]))[0]
    return c.b.node("Cast", [there], to=TensorProto.INT64)[0]


# --- tensors ----------------------------------------------------------------------------------------------------------


def reshaped(c: Chain) -> str:
    """Reshape to a computed target, with -1 or 0 in it."""
    name, _ = c.tensor()
    target = [c.number()[0] for _ in range(c.random.randint(0, 2))]
    target.insert(c.random.randint(0, len(target)), c.vector(c.random.choice([-1, -1, 0]))[0])
    return c.b.node("Reshape", [name, *c.b.node("Concat", target, axis=0)])[0]


def cut(c: Chain) -> str:
    """Slice with computed bounds, also below 0 and beyond the end."""
    name, shape = c.tensor()
    start, end = c.number(-MOST), c.number(-MOST)
    if c.random.random() < 0.3:
        start = c.vector(c.random.choice([0, 1, -1, -2]))
    if c.random.random() < 0.3:
        end = c.vector(c.random.choice([2**63 - 1, 2**31 - 1, 1, -1, -2]))
    axis, step = c.b.constant([c.random.randrange(len(shape))]), c.b.constant([c.random.choice([1, 1, 1, 2, 3])])
    return c.b.node("Slice", [name, start[0], end[0], axis, step])[0]


def expanded(c: Chain) -> str:
    """Expand to a computed shape."""
    name, shape = c.tensor()
    if shape[-1] != 1:  # counted from the front: onnxruntime leaves an axis without elements as it is
        name = c.b.node("ReduceMax", [name], axes=[len(shape) - 1], keepdims=1)[0]
    return c.b.node("Expand", [name, c.number()[0]])[0]


def counted(c: Chain) -> str:
    """Range of computed bounds."""
    start, limit = c.number(-MOST) if c.random.random() < 0.4 else c.vector(0), c.number(-MOST)
    bounds, step = [c.scalar(start[0]), c.scalar(limit[0])], c.random.choice([1, 1, 2, 3, -1, -2])
    if c.random.random() < 0.4:
        floats_ = [c.b.node("Cast", [bound], to=TensorProto.FLOAT)[0] for bound in bounds]
        return c.b.node("Range", [*floats_, c.b.constant(step, np.float32)])[0]
    found = c.b.node("Range", [*bounds, c.b.constant(step)])[0]
    return c.b.node("Cast", [found], to=TensorProto.FLOAT)[0]


def filled(c: Chain) -> str:
    """ConstantOfShape of a computed shape."""
    sizes = c.b.node("Concat", [c.number()[0] for _ in range(c.random.randint(1, 3))], axis=0)[0]
    return c.b.node("ConstantOfShape", [sizes], value=helper.make_tensor("", TensorProto.FLOAT, [1], [1.0]))[0]


def tiled(c: Chain) -> str:
    """Tile with computed counts."""
    name, shape = c.tensor()
    return c.b.node("Tile", [name, *c.b.node("Concat", [c.number(0, 5)[0] for _ in shape], axis=0)])[0]


def padded(c: Chain) -> str:
    """Pad by computed counts, also below 0."""
    name, shape = c.tensor()
    return c.b.node("Pad", [name, *c.b.node("Concat", [c.number(-2, 9)[0] for _ in (*shape, *shape)], axis=0)])[0]


def joined(c: Chain) -> str:
    """Concat of two tensors of one rank: onnxruntime aborts on others."""
    one, shape = c.tensor()
    return c.b.node("Concat", [one, c.alike(shape)], axis=c.random.randrange(len(shape)))[0]


def parted(c: Chain) -> str:
    """A part of a Split: by computed sizes, or into equal parts."""
    name, shape = c.tensor()
    axis = c.random.randrange(len(shape))
    if c.random.random() < 0.5:
        held = {"num_outputs": 2} if c.b.opset >= 18 else {}
        return c.random.choice(c.b.node("Split", [name], 2, axis=axis, **held))
    first, _ = c.number(0, shape[axis])
    size = c.b.node("Gather", [c.b.node("Shape", [name])[0], c.b.constant([axis])])[0]
    sizes = c.b.node("Concat", [first, *c.b.node("Sub", [size, first])], axis=0)[0]
    return c.random.choice(c.b.node("Split", [name, sizes], 2, axis=axis))


def gathered(c: Chain) -> str:
    """Gather at as many places as a number says."""
    name, shape = c.tensor()
    places = c.b.node("ConstantOfShape", [c.number()[0]], value=helper.make_tensor("", TensorProto.INT64, [1], [0]))[0]
    return c.b.node("Gather", [name, places], axis=c.random.randrange(len(shape)))[0]


def counted_places(c: Chain) -> str:
    """The places of what is not 0, turned: a size that depends on data."""
    name, _ = c.tensor()
    found = c.b.node("Transpose", [*c.b.node("NonZero", [name])], perm=[1, 0])[0]
    return c.b.node("Cast", [found], to=TensorProto.FLOAT)[0]


def windowed(c: Chain) -> str:
    """A pool or a convolution along the last axis."""
    name, _ = c.tensor()
    image = c.b.node("Reshape", [name, c.b.constant([1, 1, -1])])[0]
    extent = c.random.randint(1, 3)
    held = {"strides": [c.random.randint(1, 3)], "pads": [c.random.randint(0, extent - 1) for _ in range(2)]}
    if c.random.random() < 0.5:
        op = c.random.choice(["Conv", "ConvTranspose"])
        return c.b.node(op, [image, c.b.constant(floats(1, 1, extent), np.float32)], **held)[0]
    if c.random.random() < 0.4:
        held["ceil_mode"] = 1
    return c.b.node(c.random.choice(["MaxPool", "AveragePool"]), [image], kernel_shape=[extent], **held)[0]


def less(c: Chain) -> str:
    """A reduction of one axis."""
    name, shape = c.tensor()
    if len(shape) > 1 and c.random.random() < 0.5:
        return c.b.node("ReduceMax", [name], axes=[c.random.randrange(len(shape))], keepdims=0)[0]
    return c.b.node("ArgMax", [name], axis=c.random.randrange(len(shape)), keepdims=1)[0]


def resized(c: Chain) -> str:
    """Resize by scales, or to computed sizes."""
    name, _ = c.tensor()
    image = c.b.node("Reshape", [name, c.b.constant([1, 1, -1])])[0]
    held = {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}
    if c.random.random() < 0.5:
        scale = c.random.choice([0.5, 2.0, 1.5, 3.0])
        return c.b.node("Resize", [image, "", c.b.constant([1.0, 1.0, scale], np.float32)], **held)[0]
    sizes = c.b.node("Concat", [c.b.constant([1, 1]), c.number(1)[0]], axis=0)[0]
    return c.b.node("Resize", [image, "", "", sizes], **held)[0]


def listed(c: Chain) -> str:
    """A part of a sequence, or its parts joined again."""
    name, shape = c.tensor()
    axis, random = c.random.randrange(len(shape)), c.random
    split = [name, c.b.constant(random.randint(1, 3))] if random.random() < 0.6 else [name]
    held = c.b.node("SplitToSequence", split, axis=axis)[0]
    if random.random() < 0.4:
        held = c.b.node("SequenceConstruct", [name, c.alike(shape), name])[0]
    for _ in range(random.randint(0, 2)):
        places = [c.b.constant(random.choice([0, 0, 1, -1]))] if random.random() < 0.7 else []
        if random.random() < 0.6:
            held = c.b.node("SequenceInsert", [held, name, *places])[0]
        else:
            held = c.b.node("SequenceErase", [held, *places])[0]
    if random.random() < 0.4:
        return c.b.node("ConcatFromSequence", [held], axis=axis, new_axis=random.choice([0, 0, 1]))[0]
    return c.b.node("SequenceAt", [held, c.b.constant(random.choice([0, 1, -1]))])[0]


NUMBERS: tuple[Callable[[Chain], str], ...] = (taken, taken, taken, paired, paired, chosen, reduced, cast)
TENSORS: tuple[Callable[[Chain], str], ...] = (
    reshaped, reshaped, cut, cut, expanded, expanded, counted, counted, filled, tiled, padded, joined, parted,
    gathered, counted_places, windowed, less, resized, listed)  # fmt: skip


def chains(random: Random) -> Case:
    """A model of several steps, each of which runs."""
    c = Chain(Builder(random, random.choice([13, 14, 17])))
    for _ in range(2):
        shape = tuple(random.choice(EXTENTS) for _ in range(random.randint(1, 3)))
        c.tensors.append((c.b.input(floats(*shape), open_sizes=0.9), shape))
    for _ in range(STEPS):
        for made in random.choices(NUMBERS, k=random.randint(1, 3)):
            _kept(c, made, c.numbers)
        _kept(c, random.choice(TENSORS), c.tensors)
    return c.b.case()


def _kept(c: Chain, step: Callable[[Chain], str], to: list) -> None:
    """Add what a step makes, where it runs and is not too much."""
    before = len(c.b.nodes)
    name = step(c)
    values = c.ran()
    if values is None or values[name].size > ELEMENTS or (to is c.tensors and not values[name].ndim):
        del c.b.nodes[before:]
    elif to is c.numbers:
        c.numbers.append((name, int(values[name][0])))
    else:
        c.tensors.append((_as_floats(c, name, values[name]), values[name].shape))


def _as_floats(c: Chain, name: str, value: np.ndarray) -> str:
    return name if value.dtype == np.float32 else c.b.node("Cast", [name], to=TensorProto.FLOAT)[0]
