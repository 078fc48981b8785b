"""What target tosa makes of TFLite's operators: LiteRT computes the same numbers before and after each rewrite."""

from __future__ import annotations

from typing import TYPE_CHECKING

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from models.builders.tflite.text import model, tree
from tests.support import engine
from tests.support.runtimes.litert_runs import Job, run
from tests.support.tflite import fixing

if TYPE_CHECKING:
    from pathlib import Path

CUMSUM = "y:{t}[{s}] = CUMSUM(x:{t}[{s}], a:const:int32[]{{{axis}}}{way})"
RESIZE = "y[1,{to},3] = RESIZE_NEAREST_NEIGHBOR(x[1,4,5,3], s:const:int32[2]{{{to}}})"
ONE_HOT = "y[{to}] = ONE_HOT(i:int32[2,3], d:const:int32[]{{4}}, a:const[]{{5.0}}, b:const[]{{2.0}}, axis={axis})"
CASES: dict[str, tuple[str, str]] = {
    "a running sum": ("decompose-cumsum", CUMSUM.format(t="int32", s="2,5,3", axis=1, way="")),
    "one without the number itself": (
        "decompose-cumsum", CUMSUM.format(t="int32", s="2,5,3", axis=1, way=", exclusive=True")),
    "one backwards": ("decompose-cumsum", CUMSUM.format(t="int32", s="2,5,3", axis=-1, way=", reverse=True")),
    "one backwards without the number itself": (
        "decompose-cumsum", CUMSUM.format(t="int32", s="5,3", axis=0, way=", exclusive=True, reverse=True")),
    "one of floats": ("decompose-cumsum", CUMSUM.format(t="float32", s="2,7", axis=1, way="")),
    "one of one float": ("decompose-cumsum", CUMSUM.format(t="float32", s="2,1", axis=1, way="")),
    "one of one number": ("decompose-cumsum", CUMSUM.format(t="int32", s="2,1", axis=1, way="")),
    "a quotient": ("decompose-floor-div", "y:int32[2,3] = FLOOR_DIV(a:int32[2,3], b:int32[3])"),
    "a quotient by a constant": ("decompose-floor-div", "y:int32[2,3] = FLOOR_DIV(a:int32[2,3], b:const:int32[]{-4})"),
    "a rest": ("decompose-floor-div", "y:int32[2,3] = FLOOR_MOD(a:int32[2,3], b:int32[3])"),
    "a GELU": ("decompose-gelu", "y[2,3] = GELU(x[2,3])"),
    "a GELU by Tanh": ("decompose-gelu", "y[2,3] = GELU(x[2,3], approximate=True)"),
    "floats beyond a type": ("clamp-quantize", "y:int8[2,3] = QUANTIZE(x[2,3])"),
    "floats as whole numbers": (
        "cast-of-floats", "y:int32[2,3] = CAST(x[2,3], in_data_type=FLOAT32, out_data_type=INT32)"),
    "floats as truth": ("cast-of-floats", "y:bool[2,3] = CAST(x[2,3], in_data_type=FLOAT32, out_data_type=BOOL)"),
    "classes behind": ("one-hot-to-equal", ONE_HOT.format(to="2,3,4", axis=-1)),
    "classes in front": ("one-hot-to-equal", ONE_HOT.format(to="4,2,3", axis=0)),
    "classes between": ("one-hot-to-equal", ONE_HOT.format(to="2,4,3", axis=1)),
    "the nearest": ("resize-nearest-centers", RESIZE.format(to="8,10")),
    "the nearest by another": ("resize-nearest-centers", RESIZE.format(to="16,5")),
    "a square": ("pow-to-mul", "y[2,3] = POW(x[2,3], e:const[]{2.0})"),
    "a choice of rows": ("select-v1-to-v2", "y[2,3] = SELECT(c:bool[2], a[2,3], b[2,3])"),
    "an alpha that is too long": ("prelu-alpha-rank", "y[1,2,2,3] = PRELU(x[1,2,2,3], a[1,1,1,3])"),
    "an alpha that is too short": ("prelu-alpha-rank", "y[1,2,2,3] = PRELU(x[1,2,2,3], a:const[3])"),
    "batches": ("batch-matmul-batch-dims", "y[2,3,5] = BATCH_MATMUL(a[2,3,4], b[1,4,5])"),
}  # fmt: skip


def drawn(dtype: str, shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    """Draw numbers of both signs: floats far and near, whole numbers that are not 0."""
    if dtype == "bool":
        return np.asarray(source.random(shape) < 0.5)
    if dtype == "float32":
        return (source.uniform(-3, 3, shape) ** 3).astype(dtype)
    return np.asarray(source.integers(1, 6, shape) * source.choice([-1, 1], shape)).astype(dtype)


@pytest.mark.parametrize("case", CASES)
def test_it_computes_the_same_numbers(case: str, tmp_path: Path) -> None:
    rewrite, text = CASES[case]
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(text))
    loaded = engine.load(before)
    source = np.random.default_rng(1)
    inputs = {it.name: drawn(it.dtype, it.shape.numbers, source) for it in loaded.graphs[0].inputs}
    assert engine.fix(loaded, target="tosa").rewrites[rewrite]
    after.write_bytes(loaded.tobytes())
    want, got = (each.outputs for each in run([Job(path, "reference", inputs) for path in (before, after)]))
    assert len(want) == len(got) == 1
    assert want[0].dtype == got[0].dtype
    np.testing.assert_allclose(got[0], want[0], rtol=1e-6, atol=3e-6)


KINDS = {name: kind for name, kind in vars(schema.BuiltinOptions).items() if name[0] != "_"}
OPTIONS = {name.removesuffix("Options").upper(): kind for name, kind in KINDS.items()}
OPTIONS |= dict.fromkeys(("MAXIMUM", "MINIMUM"), schema.BuiltinOptions.MaximumMinimumOptions)
NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if name[0] != "_"}


@pytest.mark.parametrize("case", CASES)
def test_new_operators_have_the_options_of_their_kind(case: str) -> None:
    before, after = tree(CASES[case][1]), fixing.fixed(CASES[case][1], target="tosa").tree
    old = {code.builtinCode for code in before.operatorCodes}
    for operator in after.subgraphs[0].operators:
        code = after.operatorCodes[operator.opcodeIndex].builtinCode
        if code not in old:
            assert operator.builtinOptionsType == OPTIONS.get(NAMES[code].replace("_", ""), 0), NAMES[code]
