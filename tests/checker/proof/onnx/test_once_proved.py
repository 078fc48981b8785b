"""Pairs of ONNX models that were proved once, and are not equal: what onnxruntime makes of them, and what the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from graphfix import api
from graphfix.results.runtime_facts import RANGE_COUNTED_IN_FLOAT64, RANGE_DIVIDED_IN_FLOAT64
from tests.support.proving import prove
from tests.support.runtimes.onnx_runs import run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphfix.results.runtime_facts import Fact

RNG = np.random.default_rng(0)
FURTHEST = 1 << 53
"""The first whole number whose successor is no float64."""


FAR = 31584960600202078


class Pair(NamedTuple):
    """Two graphs over the same constants, and what tells them apart."""

    before: str
    after: str
    feeds: Mapping[str, np.ndarray]
    constants: Mapping[str, object] = {}
    fact: Fact | None = None
    """What tells them apart in some versions of onnxruntime; None: they differ in every version."""


def model(graph: str, constants: Mapping[str, object] = {}, opset: int = 18) -> ModelProto:
    made = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]>\n{graph}')
    made.graph.initializer.extend(numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items())
    return made


def saved(folder: Path, *models: ModelProto) -> list[Path]:
    paths = [folder / f"{number}.onnx" for number in range(len(models))]
    for path, each in zip(paths, models, strict=True):
        path.write_bytes(each.SerializeToString())
    return paths


CROP = (
    "g (float[1,1,4,4] x) => (float[1,1,8,8] y) "
    '{{ y = Resize <mode="linear", coordinate_transformation_mode="tf_crop_and_resize"> (x, {}, , sizes) }}'
)
PAIRS = {
    "a crop reads a part": Pair(
        CROP.format("whole"),
        CROP.format("part"),
        {"x": RNG.normal(size=(1, 1, 4, 4)).astype(np.float32)},
        {
            "whole": np.float32([0, 0, 0, 0, 1, 1, 1, 1]),
            "part": np.float32([0, 0, 0.2, 0.3, 1, 1, 0.7, 0.8]),
            "sizes": np.int64([1, 1, 8, 8]),
        },
    ),
    "a range is divided in float64": Pair(
        "g (int64[1] x) => (int64[N] y) { r = Range(zero, limit, step) y = Add(x, r) }",
        "g (int64[1] x) => (int64[N] y) { y = Add(x, two) }",
        {"x": np.int64([0])},
        {
            "zero": np.int64(0),
            "limit": np.int64(FURTHEST + 1),
            "step": np.int64(FURTHEST),
            "two": np.int64([0, FURTHEST]),
        },
        RANGE_DIVIDED_IN_FLOAT64,
    ),
    "a range is counted in float64": Pair(
        "g (int64[1] x) => (int64[N] y) { r = Range(start, limit, step) y = Add(x, r) }",
        "g (int64[1] x) => (int64[N] y) { y = Add(x, three) }",
        {"x": np.int64([0])},
        {
            "start": np.int64(-FAR),
            "limit": np.int64(3 - FAR),
            "step": np.int64(1),
            "three": np.arange(3, dtype=np.int64) - FAR,
        },
        RANGE_COUNTED_IN_FLOAT64,
    ),
    "sums of float16 are rounded once, at the end": Pair(
        "g (float16[1] x) => (float16[1] y) { s = Add(a, b) d = Sub(s, b) y = Add(x, d) }",
        "g (float16[1] x) => (float16[1] y) { y = Add(x, rounded) }",
        {"x": np.float16([0])},
        {"a": np.float16([0.3]), "b": np.float16([1000]), "rounded": np.float16([0.5])},
    ),
    "a square that overflows, over a last axis of 1": Pair(
        "g (int32[4,1] x) => (int32[4,1] y) { y = Pow(x, two) }",
        "g (int32[4,1] x) => (int32[4,1] y) { y = Mul(x, x) }",
        {"x": np.int32([[3], [70_000], [-50_000], [1 << 30]])},
        {"two": np.int32([2])},
    ),
    "a square of constants that overflows, over a last axis of 1": Pair(
        "g (int32[4,1] x) => (int32[4,1] y) { p = Pow(c, two) y = Add(x, p) }",
        "g (int32[4,1] x) => (int32[4,1] y) { p = Mul(c, c) y = Add(x, p) }",
        {"x": np.int32([[0]] * 4)},
        {"two": np.int32([2]), "c": np.int32([[3], [70_000], [-50_000], [1 << 30]])},
    ),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_what_onnxruntime_tells_apart_is_not_proved(pair: Pair, tmp_path: Path) -> None:
    models = [model(graph, pair.constants) for graph in (pair.before, pair.after)]
    (before,), (after,) = (run(each, **pair.feeds) for each in models)
    differ = (before.shape, before.tobytes()) != (after.shape, after.tobytes())
    assert differ == (pair.fact is None or pair.fact.holds(onnxruntime.__version__))
    assert prove(*saved(tmp_path, *models)).status == "not proved"


OF_FOUR = "float[1,2,3,4]"
ATTENTION = f"g ({OF_FOUR} q, {OF_FOUR} k, {OF_FOUR} v) => ({OF_FOUR} y) {{{{ y = Attention <{{}}> (q, k, v) }}}}"
ROTARY = (
    "g (float[1,2,3,4] q, float[1,3,2] k, float[1,3,2] v) => (float[1,2,3,4] y) "
    "{{ y = RotaryEmbedding <{}> (q, k, v) }}"
)
FLAGS = {"is_causal": (ATTENTION, (1, 2, 3, 4)), "interleaved": (ROTARY, (1, 3, 2))}


@pytest.mark.ci
@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("number", [2, -1])
def test_a_flag_that_is_neither_yes_nor_no_is_no_yes(flag: str, number: int, tmp_path: Path) -> None:
    graph, sizes = FLAGS[flag]
    feeds = {
        name: RNG.normal(size=size).astype(np.float32)
        for name, size in zip("qkv", [(1, 2, 3, 4), sizes, sizes], strict=True)
    }
    odd, yes = (model(graph.format(f"{flag}={each}"), opset=23) for each in (number, 1))
    assert np.abs(run(odd, **feeds)[0] - run(yes, **feeds)[0]).max() > 0.1
    before, plain = saved(tmp_path, odd, yes)
    after = tmp_path / "after.onnx"
    assert api.fix_file(plain, after, target="tosa", only=["decompose-attention"]).changed
    assert (prove(plain, after).status, prove(before, after).status) == ("bounded", "not proved")
    assert not api.fix_file(before, after, target="tosa", only=["decompose-attention"]).changed


LSTM = (
    "g (float[3,1,2] x, float[1,8,2] w, float[1,8,2] r) => (float[3,1,1,2] y) "
    "{{ y = LSTM <hidden_size=2, {}> (x, w, r) }}"
)


@pytest.mark.parametrize(
    "graph",
    [
        ATTENTION.format("scale=-0.5"),
        ATTENTION.format("scale=0.0"),
        LSTM.format('activations=["Tanh"]'),
    ],
)
def test_what_no_runtime_loads_is_read_to_the_end(graph: str, tmp_path: Path) -> None:
    one, two = (model(graph, opset=23) for _ in range(2))
    two.graph.name = "another"
    assert prove(*saved(tmp_path, one, two)).status == "proved"


SHADOWING = """g (float[3] x, float[3] v, bool c) => (float[3] y) {{
    r = Neg(x)
    y = If (c) <
        then_branch = one () => (float[3] z) {{ r = Relu(r) n = Neg(v) z = {}(n) }},
        else_branch = two () => (float[3] w) {{ w = Identity(x) }}
    >
}}"""
"""The first Relu reads the r around its body: onnx's reference does, onnxruntime refuses both files."""


def test_a_result_that_has_the_name_of_its_operand_is_not_taken_for_it(tmp_path: Path) -> None:
    models = [model(SHADOWING.format(op)) for op in ("Relu", "Identity")]
    feeds = {"x": np.float32([1, 2, 3]), "v": np.float32([1, -1, 2]), "c": np.array(True)}
    one, two = (ReferenceEvaluator(each).run(None, feeds)[0] for each in models)
    assert one.tolist() != two.tolist()
    before, after = saved(tmp_path, *models)
    assert (prove(before, before).status, prove(before, after).status) == ("proved", "not proved")


def test_a_constant_without_a_name_is_no_operand(tmp_path: Path) -> None:
    models = []
    for axes in ("k", ""):
        made = model(
            "g (float[1] x) => (float[1] y, a, b) { y = Neg(x) a = Squeeze(s, k) b = Squeeze(s, k) }",
            {"s": np.float32([[7]]), "k": np.int64([0]), "": np.int64([0])},
        )
        made.graph.node[1].input[1], made.graph.node[2].input[1] = "", axes
        models.append(made)
    before, after = saved(tmp_path, *models)
    assert (prove(before, before).status, prove(before, after).status) == ("proved", "not proved")


LOOKED_AT = {"Expand": [1, 1], "Reshape": [1, 1], "Squeeze": [1], "Unsqueeze": [1, 1, 1]}


@pytest.mark.parametrize(("op", "sizes"), LOOKED_AT.items(), ids=LOOKED_AT)
def test_operands_that_are_looked_at_are_stored_where_they_were(op: str, sizes: list[int], tmp_path: Path) -> None:
    models = []
    for operand in ("computed", "stored"):
        made = model(
            f"g (float[1] x) => (float[1] y, a, b) {{ y = Neg(x) computed = Identity(stored)"
            f" a = {op}(s, computed) b = {op}(s, {operand}) }}",
            {"s": np.float32([[7]]), "stored": np.int64(0)},
        )
        made.graph.value_info.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes) for name in "ab")
        models.append(made)
    before, after = saved(tmp_path, *models)
    verdicts = [prove(before, each, trust_stored=True).status for each in (before, after)]
    assert verdicts == ["proved", "not proved"]
