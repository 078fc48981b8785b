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
    "g (float[1] s, float[1,3] x, int64[1] d) => (float[] y) <int64[1] one = {{1}}> {{ f, z = Scan<num_scan_inputs = 1,"
    " body = b (float[k] i, float[3] e) => (float[m] t, float[3] u) {{ v = Reshape(e, d)  t = Add(i, {by})"
    "  u = Identity(e) }}>(s, x)  {last} }}"
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


def run(path: Path, values: Mapping[str, np.ndarray]) -> list[int]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(values))[0].shape)


@pytest.mark.parametrize(("by", "proved"), [("i", True), ("v", False)])
def test_a_state_of_a_scan_may_change_its_shape(by: str, proved: bool, tmp_path: Path) -> None:
    lasts = ("y = Identity(f)", "y = Reshape(f, one)")
    before, after = written(tmp_path, *(SCAN.format(by=by, last=last) for last in lasts))
    assert prove(before, after).proved is proved


@pytest.mark.parametrize(("declared", "proved"), [("float[3]", True), ("float[k]", False)])
def test_no_iteration_stacks_what_the_body_declares(declared: str, proved: bool, tmp_path: Path) -> None:
    before, after = written(
        tmp_path, *(LOOP.format(declared=declared, last=last) for last in ("y = Identity(z)", "y = Expand(z, three)"))
    )
    values = {"x": np.ones((2, 3), np.float32), "n": np.array(0)}
    assert run(before, values) == [0, 3]
    assert prove(before, after).proved is proved
