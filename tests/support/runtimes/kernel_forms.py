"""Random nodes of TFLite's broadcasting operators in two forms: operands as they are, lifted or stretched.

Both forms of a pair compute the same by the operator's definition. tests/whole/test_kernel_choice.py asks LiteRT and
the proof about them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from models.builders.tflite.text import Quantized, model
from tests.support.runtimes.litert_groups import KERNELS, Job, Ran, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

FLOATS, WHOLE, BYTES = "float32", "int32 int64", "int8q uint8q"
COMPARING: Final = frozenset("LESS LESS_EQUAL GREATER GREATER_EQUAL EQUAL NOT_EQUAL".split())
DIVIDING: Final = frozenset({"DIV", "FLOOR_DIV", "FLOOR_MOD"})
ACTIVATED: Final = frozenset({"ADD", "SUB", "MUL", "DIV"})
SELECTING: Final = frozenset({"MAXIMUM", "MINIMUM"})
KINDS: Final[Mapping[str, str]] = {
    "ADD": f"{FLOATS} {BYTES} int16q {WHOLE}",
    "SUB": f"{FLOATS} {BYTES} int16q {WHOLE}",
    "MUL": f"{FLOATS} {BYTES} int16q {WHOLE}",
    "DIV": f"{FLOATS} uint8q int32",
    "FLOOR_DIV": "int32 int8 int16",
    "FLOOR_MOD": f"{FLOATS} {WHOLE} int8 int16",
    "SQUARED_DIFFERENCE": f"{FLOATS} int32 int8q",
    "POW": f"{FLOATS} int32",
    "MAXIMUM": f"{FLOATS} {BYTES} int16q {WHOLE}",
    "MINIMUM": f"{FLOATS} {BYTES} int16q {WHOLE}",
    "PRELU": f"{FLOATS} {BYTES} int16q",
    "BITWISE_XOR": "int8 uint8 int16 uint16 int32 uint32",
    "RIGHT_SHIFT": "int8 uint8 int16 uint16 int32 uint32",
    "LOGICAL_AND": "bool",
    "LOGICAL_OR": "bool",
    **dict.fromkeys(COMPARING - {"EQUAL", "NOT_EQUAL"}, f"{FLOATS} {WHOLE}"),
    **dict.fromkeys(("EQUAL", "NOT_EQUAL"), f"{FLOATS} {WHOLE} bool"),
}
"""The element types that LiteRT's kernels accept, by operator; `q`: quantized."""
SPECIAL: Final = np.float32([0, -0.0, 1, np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e-40, -1e-40, 2, 0.5])
ONTO: Final = (
    ((3, 37), (37,)),
    ((3, 37), (1, 1)),
    ((3, 37), ()),
    ((3, 37), (3, 1)),
    ((2, 3, 5), (3, 1)),
    ((5,), (1,)),
    ((1, 4), (1, 1)),
)
"""Shapes of both operands: the second is broadcast onto the first."""
SHAPES: Final = (*ONTO, ((4, 1), (1, 1, 1)), ((3, 1), (2, 1, 9)))
ZERO_POINTS: Final = {"int8": -7, "uint8": 120, "int16": 0}
SCALES: Final = (0.003, 0.02, 0.11, 0.5, 1.0)
DIVISORS: Final = ((2, 100), (121, 256))
HALF: Final = 0.5
GROUP: Final = 120
"""How many runs share a process."""
Array = np.ndarray
EDITS: Final = ("none", "lift", "stretch")


@dataclass(frozen=True)
class Pair:
    """One node in two files with the same inputs."""

    name: str
    before: bytes
    after: bytes
    feeds: tuple[Array, ...]


def pairs(random: np.random.Generator, count: int) -> Iterator[Pair]:
    """Yield `count` random pairs of each operator and type."""
    for op, kinds in KINDS.items():
        for kind in kinds.split():
            for _ in range(count):
                yield _pair(random, op, kind)


def _pair(random: np.random.Generator, op: str, kind: str) -> Pair:
    shapes = SHAPES[random.integers(len(ONTO) if op == "PRELU" else len(SHAPES))]
    if op != "PRELU" and random.random() < HALF:
        shapes = shapes[1], shapes[0]
    quantized, dtype = kind.endswith("q"), kind.removesuffix("q")
    operands = [_elements(random, op, dtype, shape, at) for at, shape in enumerate(shapes)]
    constant = random.choice([-1, 0, 1])
    if op == "PRELU" or dtype == "bool" or np.isnan(operands[constant].astype(float)).any():
        constant = -1
    scales = [float(scale) for scale in random.choice(SCALES, 3)]
    if op in SELECTING:
        scales = scales[:1] * 3
    activated = op in ACTIVATED and (dtype == FLOATS or quantized) and random.random() < HALF
    edits = [EDITS[at] for at in random.choice(3, 2)]
    files = [
        _file(op, operands, constant, each, scales if quantized else None, activated=activated)
        for each in (("none", "none"), edits)
    ]
    name = f"{op} {kind} {shapes} {edits} constant {constant} activated {activated} scales {scales}"
    return Pair(name, *files, tuple(each for at, each in enumerate(operands) if at != constant))


def _file(
    op: str,
    operands: Sequence[Array],
    constant: int,
    edits: Sequence[str],
    scales: Sequence[float] | None,
    *,
    activated: bool,
) -> bytes:
    whole = np.broadcast_shapes(*(operand.shape for operand in operands))
    dtype = operands[0].dtype.name
    lines, names = [], []
    for name, at, edit in zip("ab", range(2), edits, strict=True):
        array, lifted = operands[at], (1,) * (len(whole) - operands[at].ndim) + operands[at].shape
        to = {"none": array.shape, "lift": lifted, "stretch": whole}[edit]
        if at == constant:
            array = np.broadcast_to(array, to) if edit == "stretch" else array.reshape(to)
        text = _operand(name, array, constant=at == constant)
        if at != constant and edit != "none":
            sizes = f"n{name}:const:int32[{len(whole)}]{{{_listed(to)}}}"
            moved = f"m{name}:{dtype}[{_listed(to)}]"
            lines.append(f"{moved} = {'RESHAPE' if edit == 'lift' else 'BROADCAST_TO'}({text}, {sizes})")
            text = f"m{name}"
        names.append(text)
    option = ", fused_activation_function=RELU6" if activated else ""
    lines.append(f"y:{'bool' if op in COMPARING else dtype}[{_listed(whole)}] = {op}({', '.join(names)}{option})")
    zero = ZERO_POINTS.get(dtype, 0)
    a, b, y = (None if scales is None else Quantized(scale, zero) for scale in (scales or (1.0,) * 3))
    by_name = {"a": a, "ma": a, "b": b, "mb": b, "y": None if op in COMPARING else y}
    order = [f"{name}:{dtype}[{_listed(each.shape)}]" for name, each in zip("ab", operands, strict=True)]
    inputs = [text for at, text in enumerate(order) if at != constant]
    return model(f"subgraph main({', '.join(inputs)}):\n" + "\n".join(lines), quantization=by_name)


def _listed(shape: Sequence[int]) -> str:
    return ",".join(map(str, shape))


def _operand(name: str, array: Array, *, constant: bool) -> str:
    if not constant:
        return name
    numbers = [repr(each).replace("inf", "1e999") for each in array.ravel().tolist()]
    return f"{name}:const:{array.dtype.name}[{_listed(array.shape)}]{{{','.join(numbers)}}}"


def _elements(random: np.random.Generator, op: str, dtype: str, shape: Sequence[int], at: int) -> Array:
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype == FLOATS:
        chosen = random.random(shape) < HALF
        return np.where(chosen, random.choice(SPECIAL, shape), random.normal(0, 3, shape)).astype(np.float32)
    info = np.iinfo(dtype)
    if op == "POW" or (op == "RIGHT_SHIFT" and at):
        return random.integers(0, 5, shape).astype(dtype)
    if op in DIVIDING and at:  # neither by 0, nor by the zero point, nor by -1
        return random.integers(*DIVISORS[dtype == "uint8"], shape).astype(dtype)
    return np.asarray(random.integers(info.min, info.max, shape, endpoint=True, dtype=dtype))


def answers(asked: Sequence[tuple[bytes, tuple[Array, ...]]]) -> list[list[Ran]]:
    """Run each file with its inputs on each of KERNELS."""
    jobs = [Job(file, kernels, feeds) for file, feeds in asked for kernels in KERNELS]
    ran = [each for group in run([jobs[at : at + GROUP] for at in range(0, len(jobs), GROUP)]) for each in group]
    return [ran[at : at + len(KERNELS)] for at in range(0, len(ran), len(KERNELS))]


def same_bits(one: Ran, two: Ran) -> bool:
    """Return whether two runs agree in every bit but the payload of NaN, or both fail."""
    if not (one.fine and two.fine):
        return one.fine == two.fine
    return all(
        a.shape == b.shape and a.dtype == b.dtype and _bits(a) == _bits(b)
        for a, b in zip(one.outputs, two.outputs, strict=True)
    )


def _bits(array: Array) -> bytes:
    if array.dtype.kind != "f":
        return array.tobytes()
    return np.where(np.isnan(array), np.array(np.nan, array.dtype), array).tobytes()
