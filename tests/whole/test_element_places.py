"""LiteRT's element-wise kernels of which a result depends on an element's place: asked of LiteRT, proved and fixed.

A kernel computes elements in packets, and those that fill none by other instructions. So an element may have another
last bit, or a half may be rounded to another whole number, once a stretch moves it.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

import graphfix
from graphfix.checker.proof.tflite.kernels.kernel_choice import BY_PLACE
from models.builders.tflite.text import Quantized, model
from tests.support import engine
from tests.support.proving import prove
from tests.support.runtimes.litert_groups import KERNELS, Job, run

ELEMENTS = 67
SMALL = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
FUNCTIONS = (
    "ABS NEG EXP LOG SQRT RSQRT SIN COS TANH LOGISTIC GELU HARD_SWISH ELU RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 SQUARE"
    " LEAKY_RELU FLOOR CEIL ROUND SIGN"
).split()
TYPES = ("float32", "float16", "int8", "uint8", "int16", "int32")
ASKED = [
    *((op, kind, kind) for op in FUNCTIONS for kind in ("float32", *SMALL)),
    *(("QUANTIZE", *kinds) for kinds in product(TYPES, ("int8", "uint8", "int16", "int32"))),
    *(("DEQUANTIZE", *kinds) for kinds in product(("float16", *SMALL, "int32"), ("float32",))),
    *(("CAST", *kinds) for kinds in product((*TYPES, "int64", "bool"), repeat=2)),
]
UNIT_RESULTS = {"LOGISTIC": (8, -128), "TANH": (7, 0)}
"""Operators whose result has a fixed scale of 8 bits, by that scale's negative exponent and the zero point of int8."""


def quantized(op: str, kind: str, scale: float, *, result: bool) -> Quantized | None:
    if kind not in (*SMALL, "int32") or op == "CAST":
        return None
    if result and op in UNIT_RESULTS:
        bits, zero = UNIT_RESULTS[op]
        return Quantized(2.0**-15) if kind == "int16" else Quantized(2.0**-bits, zero + (128 if kind == "uint8" else 0))
    return Quantized(scale, {"int8": 3, "uint8": 131}.get(kind, 0))


def node(op: str, kinds: tuple[str, str], scale: float) -> bytes:
    read, made = kinds
    ends = {"x": quantized(op, read, 0.05, result=False), "y": quantized(op, made, scale, result=True)}
    text = f"subgraph main(x:{read}[{ELEMENTS}]):\n  y:{made}[{ELEMENTS}] = {op}(x)"
    return model(text, quantization={name: each for name, each in ends.items() if each is not None})


def values(kind: str, scale: float, rng: np.random.Generator) -> np.ndarray:
    """Return numbers of which many are halfway between two steps of the scale."""
    if kind == "bool":
        return rng.random(ELEMENTS) < 0.5
    if kind.startswith("float"):
        halves = (rng.integers(-40, 40, ELEMENTS) + 0.5) * scale
        return np.where(rng.random(ELEMENTS) < 0.5, halves, rng.normal(size=ELEMENTS) * 3).astype(kind)
    low, high = SMALL.get(kind, (-1000, 1000))
    return rng.integers(low, high, ELEMENTS, endpoint=True).astype(kind)


def moved(op: str, kinds: tuple[str, str], rounds: int) -> bool | None:
    """Whether a result depends on its element's place on some kernel set; None where no kernel takes these types."""
    rng, ran = np.random.default_rng(0), False
    orders = [np.arange(ELEMENTS), np.arange(ELEMENTS)[::-1], np.roll(np.arange(ELEMENTS), 5)]
    for _, scale in product(range(rounds), (0.1, 0.037)):
        file, given = node(op, kinds, scale), values(kinds[0], scale, rng)
        runs = run([[Job(file, kernels, (given[order],)) for kernels in KERNELS] for order in orders])
        for answers in zip(*runs, strict=True):
            if not all(each.fine for each in answers):
                continue
            ran = True
            results = [np.asarray(each.outputs[0]) for each in answers]
            back = [result[np.argsort(order)].tobytes() for result, order in zip(results, orders, strict=True)]
            if len(set(back)) > 1:
                return True
    return False if ran else None


def test_an_element_depends_on_its_place_where_the_proof_says_so() -> None:
    """The other way round it need not: which instructions round otherwise depends on the machine."""
    for op, kinds in (
        ("QUANTIZE", ("float32", "int8")),
        ("DEQUANTIZE", ("int8", "float32")),
        ("EXP", ("float32",) * 2),
    ):
        assert moved(op, kinds, 3) == (kinds in BY_PLACE.get(op, ()))


@pytest.mark.ci
def test_no_other_element_depends_on_its_place() -> None:
    answers = {(op, *kinds): moved(op, kinds, 1) for op, *kinds in ASKED}  # type: ignore[arg-type]
    assert sum(each is not None for each in answers.values()) > 90
    found = {key for key, depends in answers.items() if depends}
    assert found <= {(op, *kinds) for op, every in BY_PLACE.items() for kinds in every}


MOVED = [(op, *kinds) for op, every in BY_PLACE.items() for kinds in sorted(every)]
KEPT = [("EXP", "float32", "float32"), ("QUANTIZE", "int16", "int8"), ("CAST", "float32", "int32")]


@pytest.mark.parametrize(("op", "read", "made"), [*MOVED, *KEPT])
def test_a_stretch_passes_no_such_operator(op: str, read: str, made: str, tmp_path: Path) -> None:
    """Behind the operator the stretch repeats results; in front of it, it moves what the kernel computes."""
    behind = f"a:{made}[2,3] = {op}(x)\n  y:{made}[4,2,3] = BROADCAST_TO(a, s:const:int32[3]{{4,2,3}})"
    in_front = f"b:{read}[4,2,3] = BROADCAST_TO(x, s:const:int32[3]{{4,2,3}})\n  y:{made}[4,2,3] = {op}(b)"
    ends = {"x": quantized(op, read, 0.05, result=False), "y": quantized(op, made, 0.1, result=True)}
    files = []
    for name, nodes, inner in (("behind", behind, {"a": ends["y"]}), ("front", in_front, {"b": ends["x"]})):
        held = {tensor: each for tensor, each in {**ends, **inner}.items() if each is not None}
        files.append(tmp_path / f"{name}.tflite")
        files[-1].write_bytes(model(f"subgraph main(x:{read}[2,3]):\n  {nodes}", quantization=held))
    assert prove(files[0], files[1], tflite=True).proved == ((op, read, made) in KEPT)
    assert prove(files[1], files[0], tflite=True).proved == ((op, read, made) in KEPT)


STRETCHED = "b:float32[{0}] = BROADCAST_TO(x, s:const:int32[{1}]{{{0}}})\n  a:float32[{0}] = LOGISTIC(b)"
SLICED = "y:float32[1,2,3] = SLICE(a, k:const:int32[3]{{{},0,0}}, n:const:int32[3]{{1,2,3}})"
LAST = "y:float32[4,2,3] = RESHAPE(a, r:const:int32[3]{4,2,3})"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ((STRETCHED.format("4,2,3", 3), LAST), (STRETCHED.format("1,4,2,3", 4), LAST), True),
        ((STRETCHED.format("4,2,3", 3), SLICED.format(0)), (STRETCHED.format("4,2,3", 3), SLICED.format(3)), False),
    ],
    ids=["unit axes", "another place"],
)
def test_elements_at_the_same_places_are_the_same(
    one: tuple[str, str], other: tuple[str, str], same: bool, tmp_path: Path
) -> None:
    files = []
    for name, lines in (("before", one), ("after", other)):
        files.append(tmp_path / f"{name}.tflite")
        files[-1].write_bytes(model("subgraph main(x:float32[2,3]):\n  " + "\n  ".join(lines)))
    assert prove(files[0], files[1], tflite=True).proved == same


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_a_constant_of_equal_elements_is_lifted(dtype: str, tmp_path: Path) -> None:
    """Its term is one element, stretched; the places of all elements stay."""
    lines = (
        "d:float32[3] = DEQUANTIZE(c:const:int8[3]{5,5,5})"
        if dtype == "int8"
        else "d:float32[3] = LOGISTIC(c:const:float32[3]{5,5,5})"
    )
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    scale = {"c": Quantized(0.1, 3)} if dtype == "int8" else {}
    before.write_bytes(
        model(f"subgraph main(x:float32[4,3]):\n  {lines}\n  y:float32[4,3] = ADD(x, d)", quantization=scale)
    )
    outcome = graphfix.fix_file(before, after, target="ranks")
    assert outcome.verdict is not None
    assert outcome.changed
    assert outcome.verdict.status == "proved"


@pytest.mark.ci
@pytest.mark.parametrize("kind", ["int8", "uint8", "float16", "int8 by channel"])
def test_a_dequantized_constant_is_stretched_behind_where_its_place_counts(kind: str, tmp_path: Path) -> None:
    dtype, by_channel = kind.split(maxsplit=1)[0], kind.endswith("channel")
    scales = Quantized((0.1, 0.2, 0.3), (0, 0, 0), 1) if by_channel else Quantized(0.1, 3)
    text = (
        f"subgraph main(x:float32[5,3]):\n  d:float32[1,3] = DEQUANTIZE(c:const:{dtype}[1,3]{{1,2,112}})\n"
        "  y:float32[5,3] = ADD(x, d)"
    )
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(text, quantization={} if dtype == "float16" else {"c": scales}))
    outcome = graphfix.fix_file(before, after, target="explicit")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    ops = [each.op for each in engine.load(after).graphs[0].nodes]
    behind = dtype != "float16" and not by_channel
    assert ops == (["DEQUANTIZE", "TILE", "ADD"] if behind else ["DEQUANTIZE", "ADD"])
