"""scripts/wrong_inference.py: rows of docs/load-inference.md are reproduced, and a planted wrong inference is found."""

from __future__ import annotations

import stat
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime
import pytest
import wrong_inference as script
from wrong_inference_table.rows import ROWS, row_of

from tests.support.onnx.contrib_calls import instance
from tests.support.onnx.contrib_calls.drawing import Call
from tests.support.onnx.inference_draws import DRAWS
from tests.support.onnx.inference_models import drawn, operands_of, question
from tests.support.pairs.onnx_instances import Instance

HUGE = 2**31 - 1


class Case(NamedTuple):
    """A node whose inference is wrong, and a similar one, the twin, whose inference is right."""

    op: str
    version: int
    attributes: Mapping[str, object]
    operands: Sequence[object]
    twin_attributes: Mapping[str, object]
    twin_operands: Sequence[object] | None = None
    """None where they are the operands of the wrong node."""


def data(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def scalars(*values: float) -> list[np.ndarray]:
    return [np.array(value, np.float32) for value in values]


POOL = {"kernel_shape": [2], "strides": [3]}
CASES = [
    Case("MaxPool", 12, {"kernel_shape": [3], "strides": [3], "pads": [1, 1], "ceil_mode": 1}, [data(1, 1, 5)],
         {"kernel_shape": [3], "strides": [3], "pads": [1, 1]}),
    Case("AveragePool", 10, {**POOL, "ceil_mode": 1}, [data(1, 1, 6)], {**POOL, "ceil_mode": 1}, [data(1, 1, 7)]),
    Case("AveragePool", 19, {**POOL, "ceil_mode": 1}, [data(1, 1, 6)], POOL),
    Case("LpPool", 18, {**POOL, "pads": [1, 0], "ceil_mode": 1}, [data(1, 2, 5)], {**POOL, "pads": [1, 0]}),
    Case("MaxPool", 10, {"kernel_shape": [2], "dilations": [3], "auto_pad": "SAME_UPPER"}, [data(1, 1, 8)],
         {"kernel_shape": [2], "dilations": [3]}),
    Case("AveragePool", 19, {"kernel_shape": [2], "dilations": [3], "auto_pad": "SAME_LOWER"}, [data(1, 1, 8)],
         {"kernel_shape": [2], "auto_pad": "SAME_LOWER"}),
    Case("LpPool", 18, {"kernel_shape": [2], "dilations": [3], "auto_pad": "SAME_UPPER"}, [data(1, 1, 8)],
         {"kernel_shape": [2], "dilations": [1], "auto_pad": "SAME_UPPER"}),
    Case("LpPool", 22, {"kernel_shape": [3], "strides": [2], "ceil_mode": 2}, [data(1, 1, 32)],
         {"kernel_shape": [3], "strides": [2], "ceil_mode": 0}),
    Case("LpPool", 18, {"kernel_shape": [2], "auto_pad": "VALID", "pads": [1, 1]}, [data(1, 1, 5)],
         {"kernel_shape": [2], "pads": [1, 1]}),
    Case("ConvTranspose", 11, {"strides": [2], "auto_pad": "SAME_UPPER", "output_padding": [1]},
         [data(1, 1, 4), data(1, 1, 3)], {"strides": [2], "auto_pad": "SAME_UPPER"}),
    Case("ConvTranspose", 11, {"strides": [2], "output_shape": [1]}, [data(1, 2, 2), data(2, 1, 1)],
         {"strides": [2], "output_shape": [3]}),
    Case("ConvTranspose", 22, {"strides": [2, 2], "output_shape": [1, 1], "pads": [0, 2, 0, 2]},
         [data(1, 2, 2, 1), data(2, 1, 1, 3)], {"strides": [2, 2]}),
    Case("ReduceMean", 13, {"axes": [-2]}, [data(4, 0, 3)], {"axes": [1]}),
    Case("ReduceMax", 13, {"axes": [-1], "keepdims": 0}, [data(0, 3)], {"axes": [-1]}, [data(2, 3)]),
    Case("ReduceSum", 11, {"axes": [-1]}, [data(0, 4)], {"axes": [1]}),
    Case("ReduceProd", 18, {}, [data(0, 2, 1), ints(-2)], {}, [data(0, 2, 1), ints(1)]),
    Case("ReduceSum", 13, {"noop_with_empty_axes": 3}, [data(3, 2)], {"noop_with_empty_axes": 1}),
    Case("PRelu", 9, {}, [data(1, 6), data(7, 6)], {}, [data(7, 6), data(1, 6)]),
    Case("PRelu", 16, {}, [data(3), data(2, 3)], {}, [data(2, 3), data(3)]),
    Case("Range", 11, {}, scalars(0.3, 9.3, 1.0), {}, scalars(0, 9, 1)),
    Case("Slice", 13, {}, [data(4), ints(0), ints(HUGE), ints(0), ints(-1)],
         {}, [data(4), ints(3), ints(-9), ints(0), ints(-1)]),
    Case("Slice", 10, {}, [data(3, 2), ints(2), ints(2**63 - 1), ints(1), ints(-1)],
         {}, [data(3, 2), ints(0), ints(2**63 - 1), ints(1), ints(1)]),
    Case("Unsqueeze", 10, {"axes": [1, -1]}, [data(2, 5)], {"axes": [1, 3]}),
    Case("Unsqueeze", 7, {"axes": [-1]}, [data(3)], {"axes": [1]}),
    Case("Upsample", 9, {}, [data(1, 1, 1, 5), floats(1, 1, 1, 2.6)], {}, [data(1, 1, 1, 5), floats(1, 1, 1, 2.5)]),
    Case("Upsample", 7, {"scales": [1.0, 1.0, 1.0, 2.6]}, [data(1, 1, 1, 5)], {"scales": [1.0, 1.0, 1.0, 3.0]}),
    Case("Resize", 10, {}, [data(2, 5), floats(1, 2.6)], {}, [data(2, 5), floats(1, 2)]),
    Case("Resize", 18, {}, [data(2, 5), floats(), floats(1, 2.6)], {}, [data(2, 5), floats(), floats(1, 2)]),
    Case("Resize", 18, {"axes": [-1], "keep_aspect_ratio_policy": "not_smaller"},
         [data(1, 2, 1, 6), floats(), floats(), ints(1)], {"axes": [3], "keep_aspect_ratio_policy": "not_smaller"}),
    Case("Einsum", 12, {"equation": "a,a->a"}, [data(1), data(2)], {"equation": "a,a->a"}, [data(2), data(1)]),
    Case("Einsum", 12, {"equation": "ij,jk->j"}, [data(2, 1), data(3, 2)], {"equation": "ij,jk->k"}),
    Case("CenterCropPad", 18, {}, [data(3, 2), ints(-2, 2)], {}, [data(3, 2), ints(0, 2)]),
    Case("MatMul", 13, {}, [data(1, 4, 0), data(2, 0, 2)], {}, [data(2, 4, 0), data(2, 0, 2)]),
    Case("NonZero", 13, {}, [np.array(1, np.float32)], {}, [data(2)]),
    Case("STFT", 17, {}, [data(1, 4, 1), np.array(2, np.int64), None, np.array(4, np.int64)], {"onesided": 0}),
    Case("SplitToSequence", 11, {"axis": 1, "keepdims": 0}, [data(3, 4), np.array(1, np.int64)],
         {"axis": 1, "keepdims": 1}),
]  # fmt: skip


def made(case: Case, *, twin: bool) -> Instance:
    operands = case.twin_operands if twin and case.twin_operands is not None else case.operands
    attributes = case.twin_attributes if twin else case.attributes
    constants = frozenset(at for at, it in enumerate(operands) if it is not None and (at or case.op == "Range"))
    if case.op in ("PRelu", "MatMul", "Einsum", "ConvTranspose"):
        constants = frozenset()
    return instance(("", case.op), Call(operands, attributes, constants=constants, version=case.version))


@pytest.fixture(scope="module")
def answered() -> tuple[list[script.Answer], list[script.Answer]]:
    """The installed environment's answers about the wrong nodes, and about their twins."""
    asked = [question(made(case, twin=twin)) for twin in (False, True) for case in CASES]
    found = script.answers([it for it in asked if it is not None], sys.executable)
    return found[: len(CASES)], found[len(CASES) :]


def name_of(at: int) -> str:
    return f"{CASES[at].op}-{CASES[at].version}-{at}"


@pytest.mark.needs_release("onnxruntime>=1.31")  # no older release was asked
@pytest.mark.parametrize("at", range(len(CASES)), ids=name_of)
def test_the_inference_of_a_described_node_is_wrong(
    at: int, answered: tuple[list[script.Answer], list[script.Answer]]
) -> None:
    wrong = made(CASES[at], twin=False)
    row = row_of(wrong.node, operands_of(wrong), wrong.version)
    assert row is not None
    assert "refused" not in answered[0][at], answered[0][at]
    is_wrong = row.versions.include(onnxruntime.__version__)
    assert bool(script.wrong_results(wrong, answered[0][at])) == is_wrong


@pytest.mark.needs_release("onnxruntime>=1.31")  # the same
@pytest.mark.parametrize("at", range(len(CASES)), ids=name_of)
def test_the_inference_of_its_twin_is_right(at: int, answered: tuple[list[script.Answer], list[script.Answer]]) -> None:
    twin = made(CASES[at], twin=True)
    assert "refused" not in answered[1][at], answered[1][at]
    assert script.wrong_results(twin, answered[1][at]) == []


def test_every_row_is_on_the_page() -> None:
    page = script.PAGE.read_text(encoding="utf-8")
    assert [row.words for row in ROWS if row.words not in page] == []


# --- planted faults ---------------------------------------------------------------------------------------------------


PLANT = """#!{python}
import runpy, sys
import onnx
real = onnx.shape_inference.infer_shapes
def planted(model, **options):
    inferred = real(model, **options)
    if model.graph.node[0].op_type == "Softsign":
        inferred.graph.output[0].type.tensor_type.shape.dim[0].dim_value += 1
    return inferred
onnx.shape_inference.infer_shapes = planted
if sys.argv[1] == "-c":
    exec(sys.argv[2])
else:
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.ci
def test_a_planted_wrong_inference_of_another_environment_is_found(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(PLANT.format(python=sys.executable))
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    call = Call([data(2, 3)], version=13)
    result = script.measure([instance(("", op), call) for op in ("Softsign", "Tanh")], [str(python)])
    assert result.ran.total() == 2
    assert len(result.unlisted) == 1
    assert "Softsign {} (float32[2, 3]), inferred [3, 3], real [2, 3]" in result.unlisted[0]


@pytest.mark.ci
def test_the_installed_environment_infers_the_same_nodes_rightly() -> None:
    call = Call([data(2, 3)], version=13)
    result = script.measure([instance(("", op), call) for op in ("Softsign", "Tanh")], [sys.executable])
    assert (result.ran.total(), result.wrong.total(), result.unlisted) == (2, 0, [])


@pytest.mark.ci
def test_a_wrong_node_of_a_row_that_is_missing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(script, "row_of", lambda *_: None)
    result = script.measure([made(CASES[0], twin=False)], [sys.executable])
    assert len(result.unlisted) == 1
    assert "inferred [1, 1, 3], real [1, 1, 2]" in result.unlisted[0]


def test_a_model_on_which_the_process_ends_is_refused_and_the_rest_is_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    worker = tmp_path / "worker.py"
    worker.write_text(
        "import os, sys\n"
        "with open(sys.argv[2], 'a') as out:\n"
        "    for at in range(int(sys.argv[3]), 3):\n"
        '        os.abort() if at == 1 else print(\'{"real": {}, "inferred": {}}\', file=out, flush=True)\n'
    )
    monkeypatch.setattr(script, "WORKER", worker)
    asked = question(made(CASES[0], twin=False))
    assert asked is not None
    found = script.answers([asked] * 3, sys.executable)
    assert [each.get("refused", "") for each in found] == ["", "onnxruntime ended by signal 6", ""]


# --- the table --------------------------------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_wrong_node_is_a_line_of_the_table() -> None:
    lines = script.report(script.measure([made(case, twin=False) for case in CASES[:2]], [sys.executable]))
    assert lines[2].endswith("| 2 | 2 | 2 |")
    assert any(line.startswith("| MaxPool | 12 | `ceil_mode` is 1") and line.endswith("| 1 / 1 |") for line in lines)
    assert any("inferred [1, 1, 3], real [1, 1, 2]`" in line for line in lines)


@pytest.mark.parametrize(
    ("inferred", "real", "wrong"),
    [
        ([2, 3], [2, 3], False),
        ([None, 3], [2, 3], False),
        ([None, 4], [2, 3], True),
        ([None], [2, 3], True),
        ([], [2], True),
        ([], [], False),
    ],
)
def test_a_known_size_or_a_rank_contradicts_a_shape(inferred: list[int | None], real: list[int], wrong: bool) -> None:
    assert script.contradicts(inferred, real) == wrong


@pytest.mark.parametrize("op", ["MaxPool", "Slice", "Einsum", "Loop"])
def test_the_random_nodes_are_the_same_each_time(op: str) -> None:
    one, other = ([each.node.SerializeToString() for each in drawn(op, 5)] for _ in range(2))
    assert one == other
    assert len(set(one)) > 1 or op == "Slice"  # a Slice's bounds are operands


@pytest.mark.ci
def test_random_nodes_of_each_operator_run() -> None:
    asked = [(op, made) for op in DRAWS for each in drawn(op, 8) if (made := question(each)) is not None]
    found = script.answers([made for _, made in asked], sys.executable)
    ran = {op for (op, _), answer in zip(asked, found, strict=True) if "refused" not in answer}
    assert sorted(DRAWS.keys() - ran) == []
