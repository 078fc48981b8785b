"""Models of opset 1 to 6: all of the model is stated at opset 8, or none of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

from tests.support import engine
from tests.support.checked import verify
from tests.support.notation import model
from tests.support.onnx.fixing import attribute, fixed, made_by


def version(proto: onnx.ModelProto) -> int:
    return next(entry.version for entry in proto.opset_import if not entry.domain)


def run(proto: onnx.ModelProto, **feeds: np.ndarray) -> np.ndarray:
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    result: np.ndarray = session.run(None, feeds)[0]
    return result


def ramp(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) / 4 - 3


def test_an_axis_in_the_middle() -> None:
    result = fixed(model("y[2,3,4,5] = Add(x[2,3,4,5], b[3,4], broadcast=1, axis=1)", opset=6), target="ranks")
    assert result.view == [
        "b_lifted[1,3,4,1] = Reshape(b[3,4], shape_1x3x4x1[4])",
        "y[2,3,4,5] = Add(x[2,3,4,5], b_lifted[1,3,4,1])",
    ]
    assert result.counts == {"upgrade-legacy-broadcast": 2}
    assert version(result.after) == 8
    assert list(result.after.graph.node[-1].attribute) == []
    x, b = ramp(2, 3, 4, 5), ramp(3, 4)
    assert np.array_equal(run(result.after, x=x, b=b), x + b[:, :, None])


def test_a_prelu_slope_follows_the_channels_though_the_last_axis_would_fit() -> None:
    result = fixed(model("y[2,3,4,3] = PRelu(x[2,3,4,3], s[3])", opset=6), target="explicit")
    x, s = ramp(2, 3, 4, 3), np.float32([0.25, 0.5, 2.0])
    assert np.array_equal(run(result.after, x=x, s=s), np.where(x < 0, x * s[:, None, None], x))


@pytest.mark.parametrize(("op", "function"), [("Greater", np.greater), ("Less", np.less), ("Equal", np.equal)])
def test_comparisons_on_a_leading_axis(op: str, function: np.ufunc) -> None:
    dtype = "int64" if op == "Equal" else "float32"
    text = f"y:bool[2,3] = {op}(x:{dtype}[2,3], b:{dtype}[2], broadcast=1, axis=0)"
    result = fixed(model(text, opset=6), target="explicit")
    x, b = np.array([[1, 2, 3], [4, 5, 6]], dtype), np.array([2, 5], dtype)
    assert np.array_equal(run(result.after, x=x, b=b), function(x, b[:, None]))


def test_a_suffix_is_lifted_by_the_ordinary_rewrites() -> None:
    result = fixed(model("y[2,3,4] = Mul(x[2,3,4], b[3,4], broadcast=1)", opset=6), target="ranks")
    assert result.counts == {"upgrade-legacy-broadcast": 1, "equalize-ranks": 1}
    x, b = ramp(2, 3, 4), ramp(3, 4)
    assert np.array_equal(run(result.after, x=x, b=b), x * b)


def test_a_gemm_keeps_its_transposes() -> None:
    result = fixed(model("y[3,5] = Gemm(a[4,3], b[4,5], c[5], transA=1, broadcast=1)", opset=6), target="explicit")
    gemm = result.after.graph.node[-1]
    assert [it.name for it in gemm.attribute] == ["transA"]
    a, b, c = ramp(4, 3), ramp(4, 5), ramp(5)
    assert np.allclose(run(result.after, a=a, b=b, c=c), a.T @ b + c)


def test_test_mode_attributes_go() -> None:
    text = """v = BatchNormalization(x[1,3,2,2], s[3], b[3], m[3], w[3], is_test=1)
              y[1,3,2,2] = Add(v, c[3], broadcast=1, axis=1)"""
    result = fixed(model(text, opset=6), target="ranks")
    assert attribute(result.after.graph.node[0], "is_test") is None
    assert version(result.after) == 8


def test_opset_1_hints_go() -> None:
    text = "v = Relu(x[2,3], consumed_inputs=[0])\ny[2,3] = Add(v, b[3], broadcast=1)"
    result = fixed(model(text, opset=1, ir=3), target="ranks")
    assert list(made_by(result.after, "v").attribute) == list(made_by(result.after, "y").attribute) == []


def test_a_default_that_changed_is_stated() -> None:
    """Selu of opset 1 to 5 rounds its constants to four decimals: 4e-5 of them, 300 units in the last place."""
    text = "v = Selu(x[2,3])\nw = Selu(v, alpha=2.0)\ny[2,3] = Add(w, b[2], broadcast=1, axis=0)"
    result = fixed(model(text, opset=5, ir=3), target="explicit")
    stated = [{it.name: np.float32(it.f) for it in node.attribute} for node in result.after.graph.node[:2]]
    alpha, gamma = np.float32(1.6732), np.float32(1.0507)
    assert stated == [{"alpha": alpha, "gamma": gamma}, {"alpha": np.float32(2), "gamma": gamma}]
    x, b = ramp(2, 3), ramp(2)
    v = gamma * np.where(x > 0, x, alpha * np.expm1(x))
    w = gamma * np.where(v > 0, v, 2 * np.expm1(v))
    np.testing.assert_allclose(run(result.after, x=x, b=b), w + b[:, None], rtol=2e-6)


def test_a_default_that_did_not_change_is_not_stated() -> None:
    text = "v = Selu(x[2,3])\nu = Elu(v)\ny[2,3] = Add(u, b[3], broadcast=1)"
    assert not any(node.attribute for node in fixed(model(text, opset=6), target="ranks").after.graph.node[:2])


def test_an_attribute_of_another_domain_stays() -> None:
    text = "v = Add(x[2,3], b[3], broadcast=1)\ny[2,3] = own.Dropout(v, consumed_inputs=[0], is_test=0)"
    result = fixed(model(text, opset=6), target="ranks")
    assert version(result.after) == 8
    assert {it.name for it in made_by(result.after, "y").attribute} == {"consumed_inputs", "is_test"}


CHANNELS = "x[1,3,2,2], s[3], b[3], m[3], w[3]"
PROVED = {
    "Selu": ("Selu(x[1,3,2,2])", 5),
    "a Selu that states one of its constants": ("Selu(x[1,3,2,2], gamma=1.5)", 1),
    "Clip": ("Clip(x[1,3,2,2], min=0.0, max=6.0)", 5),
    "a Clip of opset 6": ("Clip(x[1,3,2,2])", 6),
    "Elu": ("Elu(x[1,3,2,2])", 5),
    "InstanceNormalization": ("InstanceNormalization(x[1,3,2,2], s[3], b[3])", 5),
    "BatchNormalization": (f"BatchNormalization({CHANNELS}, is_test=1)", 6),
    "a BatchNormalization that says spatial": (f"BatchNormalization({CHANNELS}, is_test=1, spatial=1)", 6),
    "Dropout": ("Dropout(x[1,3,2,2], is_test=1)", 6),
    "AveragePool": ("AveragePool(x[1,3,4,4], kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2])", 6),
    "MaxPool": ("MaxPool(x[1,3,4,4], kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2])", 6),
}
WITHOUT_KERNEL = {"Clip", "Dropout"}
"""Neither runtime has these before opset 6 and 7: only the proof can say."""


@pytest.mark.parametrize("name", PROVED)
def test_what_is_stated_at_opset_8_is_proved_and_gives_the_same_bits(name: str, tmp_path: Path) -> None:
    text, opset = PROVED[name]
    proto = model(f"v = {text}\ny[1,3,2,2] = Add(v, c[3], broadcast=1, axis=1)", opset=opset, ir=3)
    result = fixed(proto, target="explicit")
    assert version(result.after) == 8
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    before.write_bytes(proto.SerializeToString())
    after.write_bytes(result.after.SerializeToString())
    assert verify(before, after, proof="only").status == "proved"
    assert verify(before, after, proof="without").status == ("undecided" if name in WITHOUT_KERNEL else "equal")


REFUSED = {
    "a bound that opset 1 leaves open": (
        "v = Clip(x[2,4], min=0.0)\ny[2,4] = Add(v, b[4], broadcast=1)",
        "leaves `max` to a default that opset 1 does not state",
        5,
    ),
    "a dropout that trains unless told not to": (
        "v = Dropout(x[2,4])\ny[2,4] = Add(v, b[4], broadcast=1)",
        "may be in training mode",
        6,
    ),
    "a normalization that trains unless told not to": (
        f"v = BatchNormalization({CHANNELS})\ny[1,3,2,2] = Add(v, c[2], broadcast=1)",
        "may be in training mode",
        6,
    ),
    "a normalization of single elements": (
        f"v = BatchNormalization({CHANNELS}, is_test=1, spatial=0)\ny[1,3,2,2] = Add(v, c[2], broadcast=1)",
        "(spatial=0)",
        6,
    ),
    "an operator that there was not": (
        "v = Cos(x[2,4])\ny[2,4] = Add(v, b[4], broadcast=1)",
        "is not an operator of opset 6",
        6,
    ),
    "an operator that means something else at opset 8": (
        "v = Upsample(x[1,1,2,2], width_scale=2.0, height_scale=2.0)\ny[1,1,4,4] = Add(v, b[4], broadcast=1)",
        "Upsample",
        1,
    ),
    "a dropout that may be training": (
        "v, m = Dropout(x[2,4], is_test=0)\ny[2,4] = Add(v, b[4], broadcast=1)\nz[2,4] = Neg(m)",
        "may be in training mode",
        6,
    ),
}


@pytest.mark.parametrize(("text", "why", "opset"), REFUSED.values(), ids=REFUSED)
def test_one_operator_without_a_meaning_leaves_the_whole_model(text: str, why: str, opset: int) -> None:
    result = fixed(model(text, opset=opset, ir=3), target="explicit")
    assert result.after == result.before
    assert not result.outcome.changed
    assert [(code, operand) for code, operand, _ in result.left] == [("GF201", None)]
    assert why in result.left[0][2]


def test_one_undecided_node_leaves_all() -> None:
    text = "v = Add(x[2,3], b[2], broadcast=1, axis=0)\ny[*] = Mul(u[*], c[3], broadcast=1)"
    result = fixed(model(text, opset=6), target="explicit")
    assert result.after == result.before
    assert [code for code, _, _ in result.left] == ["GF104", "GF201"]
    assert "all of the model's nodes change or none" in result.left[1][2]


def test_a_model_without_legacy_broadcasts_keeps_its_opset() -> None:
    result = fixed(model("y[2,3] = Relu(x[2,3])", opset=6), target="explicit")
    assert result.after == result.before


def test_opset_7_and_newer_are_kept() -> None:
    result = fixed(model("y[2,3] = Add(x[2,3], b[3])", opset=7), target="ranks")
    assert version(result.after) == 7
    assert engine.load(result.after).graphs[0].nodes[0].version == 7
