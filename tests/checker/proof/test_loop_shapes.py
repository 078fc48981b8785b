"""What goes around a loop may change its shape, and what is stacked after no iteration has no known inner sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx.parser
import onnxruntime
import pytest

from graphfix.checker.proof import prove

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
SCAN = (
    "g (float[2] s, float[2,3] x) => (float[] y) <int64[1] two = {{2}}> {{ f, z = Scan<num_scan_inputs = 1, body = b"
    " (float[] i, float[3] e) => (float[] t, float[] u) {{ t = {step}  u = Identity(e) }}>(s, x)  {last} }}"
)
LOOP = (
    "g (float[2,3] x, int64 n) => (float[] y) <int64[2] sizes = {{1, 3}}, int64[1] three = {{3}}> {{ z = Loop(n, , )<"
    "body = b (int64 i, bool k) => (bool kk, {declared} u) {{ kk = Identity(k)  r = Constant<value_floats = [1.0, 2.0,"
    " 3.0]>()  v = Relu(r)  u = Identity(v) }}>  {last} }}"
)


def written(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"{number}.onnx" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(onnx.parser.parse_model(HEAD + text).SerializeToString())
    return paths


def run(path: Path, values: Mapping[str, np.ndarray]) -> list[int] | str:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    try:
        return list(session.run(None, dict(values))[0].shape)
    except Exception as error:  # noqa: BLE001 - onnxruntime's errors share no class
        return type(error).__name__


@pytest.mark.parametrize(("step", "proved"), [("Relu(i)", True), ("Concat<axis = 0>(i, i)", False)])
def test_a_state_of_a_scan_may_change_its_shape(step: str, proved: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    before, after = written(
        tmp_path, *(SCAN.format(step=step, last=last) for last in ("y = Identity(f)", "y = Reshape(f, two)"))
    )
    values = {"s": np.ones(2, np.float32), "x": np.ones((2, 3), np.float32)}
    assert (run(before, values) == run(after, values)) is proved
    assert prove(before, after).proved is proved


@pytest.mark.parametrize(("declared", "proved"), [("float[3]", True), ("float[k]", False)])
def test_no_iteration_stacks_what_the_body_declares(declared: str, proved: bool, tmp_path: Path) -> None:  # noqa: FBT001
    before, after = written(
        tmp_path, *(LOOP.format(declared=declared, last=last) for last in ("y = Identity(z)", "y = Expand(z, three)"))
    )
    values = {"x": np.ones((2, 3), np.float32), "n": np.array(0)}
    assert run(before, values) == [0, 3]
    assert prove(before, after).proved is proved
