"""What the proof computes of constants in TFLite is what every kernel set of LiteRT computes of the same operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.runtimes.litert.evaluation import KERNELS
from graphfix.runtimes.process import Child
from models.builders.tflite.text import model as tflite
from tests.support.checked import verify

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SEEDS = 4
PAIRS = ("ADD", "SUB", "MUL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL", "EQUAL", "NOT_EQUAL")
COMPARING = PAIRS[3:]
CUT = "STRIDED_SLICE({a}, b:const:int32[%s]{{%s}}, e:const:int32[%s]{{%s}}, s:const:int32[%s]{{%s}}%s)"
CUTS = {
    "a part": ("0,1,1", "2,3,3", "1,1,1", ""),
    "from the end": ("-1,-2,-3", "2,3,4", "1,1,1", ""),
    "beyond the end": ("0,1", "9,9", "1,1", ""),
    "every other": ("0,0,1", "2,3,4", "1,2,2", ""),
    "backwards": ("1,2,3", "-9,0,-9", "-1,-1,-2", ""),
    "open bounds": ("7,1,7", "7,2,7", "1,1,1", ", begin_mask=5, end_mask=5"),
    "open and backwards": ("7,7", "7,7", "-1,-1", ", begin_mask=3, end_mask=3"),
    "one of an axis": ("1,-2", "0,0", "1,1", ", shrink_axis_mask=3"),
    "a new axis": ("0,0,1", "0,2,3", "1,1,1", ", new_axis_mask=1"),
    "an ellipsis": ("0,1", "0,3", "1,1", ", ellipsis_mask=1"),
    "an ellipsis and one of an axis": ("1,0,2", "0,0,0", "1,1,1", ", ellipsis_mask=2, shrink_axis_mask=5"),
    "a new axis behind an ellipsis": ("0,0", "0,0", "1,1", ", ellipsis_mask=1, new_axis_mask=2"),
}


def cut(bounds: tuple[str, str, str, str]) -> str:
    count = bounds[0].count(",") + 1
    return CUT % (count, bounds[0], count, bounds[1], count, bounds[2], bounds[3])


KINDS = ("float32", "int32")
CASES = {
    **{f"{op} of {kind}": (f"{op}({{a}}, {{b}})", kind) for op in PAIRS for kind in KINDS},
    **{f"{op} of {kind}": (f"{op}({{a}})", kind) for op in ("NEG", "ABS", "ZEROS_LIKE") for kind in KINDS},
    **{f"STRIDED_SLICE, {name}": (cut(bounds), "float32") for name, bounds in CUTS.items()},
    "SELECT_V2": ("SELECT_V2({c}, {a}, {b})", "float32"),
}  # fmt: skip


def operands(kind: str, seed: int) -> dict[str, np.ndarray]:
    """Numbers of all sizes, none of them 0, and of which some are equal."""
    rng = np.random.default_rng(seed)

    def numbers(*sizes: int) -> np.ndarray:
        large = 10 ** rng.uniform(-6, 6, sizes) if kind == "float32" else rng.integers(1, 9, sizes)
        return (rng.choice([-1, 1], sizes) * large).astype(kind)

    a = numbers(2, 3, 4)
    return {"a": a, "b": np.where(rng.random((3, 1)) < 0.4, a[0, :, :1], numbers(3, 1)), "c": rng.random((3, 1)) < 0.5}


def declared(name: str, array: np.ndarray, *, constant: bool) -> str:
    kind = "" if array.dtype == np.float32 else f":{array.dtype.name}"
    sizes = f"[{','.join(map(str, array.shape))}]"
    elements = ",".join(map(repr, array.reshape(-1).tolist()))
    return f"{name}:const{kind}{sizes}{{{elements}}}" if constant else f"{name}{kind}{sizes}"


def by_litert(text: str, result: str, given: Mapping[str, np.ndarray], folder: Path) -> np.ndarray:
    """What all kernel sets return of operands that are inputs."""
    path = folder / "asked.tflite"
    names = {name: declared(name, array, constant=False) for name, array in given.items()}
    path.write_bytes(tflite(f"{result}[*] = {text.format(**names)}"))
    with Child() as child:
        found = [np.asarray(child.load_tflite(path, kernels).run(given)[0]) for kernels in KERNELS]
    assert len({each.tobytes() for each in found}) == 1
    return found[0]


def proved(before: str, after: str, folder: Path) -> bool:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(tflite(text))
    proof = verify(*paths, proof="only").proof
    assert proof is not None
    return bool(proof["status"] == "proved")


@pytest.mark.ci
@pytest.mark.parametrize("name", CASES)
def test_what_is_computed_of_constants_is_what_litert_returns(name: str, tmp_path: Path) -> None:
    text, kind = CASES[name]
    result = "r:bool" if name.split(maxsplit=1)[0] in COMPARING else "r" if kind == "float32" else f"r:{kind}"
    for seed in range(SEEDS):
        given = {each: array for each, array in operands(kind, seed).items() if f"{{{each}}}" in text}
        want = by_litert(text, result, given, tmp_path)
        sizes = f"[{','.join(map(str, want.shape))}]"
        suffix = "" if want.dtype == np.float32 else f":{want.dtype.name}"
        reader = "LOGICAL_AND" if want.dtype == bool else "ADD"
        used = f"y{suffix}{sizes} = {reader}({{0}}, x{suffix}{sizes})"
        constants = {each: declared(each, array, constant=True) for each, array in given.items()}
        before = f"{result}{sizes} = {text.format(**constants)}\n{used.format('r')}"
        other = want.copy()
        last = other.reshape(-1)
        last[-1] = (
            np.nextafter(last[-1], np.float32(1e30)) if want.dtype == np.float32 else 1 - last[-1].astype(np.int32)
        )
        assert proved(before, used.format(declared("r", want, constant=True)), tmp_path), before
        assert not proved(before, used.format(declared("r", other, constant=True)), tmp_path), before
