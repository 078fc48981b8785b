"""Operators that the catalogue does not list are noted, so that a clean model is not taken for one that was checked."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest

import graphfix
from models.builders.tflite.text import model as tflite_model

HEAD = '<ir_version: 8, opset_import: ["" : 17, "my": 1, "ai.onnx": 17]> g (float[3] x) => (float[3] y)'
FUNCTION = '<domain: "my", opset_import: ["" : 17]> Foo (x) => (y) { y = Neg(x) }'


def notes(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f"{HEAD} {text}"), path)
    return [*graphfix.check(path).notes]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(
            "{ a = my.Foo(x) y = Neg(a) }",
            "1 node has an operator that graphfix does not know and did not check: my.Foo",
            id="another domain",
        ),
        pytest.param(
            "{ y = Fooo(x) }",
            "1 node has an operator that graphfix does not know and did not check: Fooo",
            id="an operator that ONNX does not have",
        ),
        pytest.param(
            "{ a = my.A(x) b = my.B(a) y = my.C(b) }",
            "3 nodes have operators that graphfix does not know and did not check: my.A, my.B, my.C",
            id="three",
        ),
        pytest.param(
            "{ a = my.A(x) b = my.A(a) c = my.B(b) d = my.C(c) e = my.D(d) y = my.E(e) }",
            "6 nodes have operators that graphfix does not know and did not check: my.A, my.B, my.C, 2 more",
            id="many",
        ),
    ],
)
def test_a_node_of_an_unknown_operator_is_noted(tmp_path: Path, text: str, said: str) -> None:
    assert notes(tmp_path, text) == [said]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{ a = ai.onnx.Neg(x) b = Add(a, x) y = Relu(b) }", id="the catalogue and the reviewed list"),
        pytest.param(f"{{ y = my.Foo(x) }} {FUNCTION}", id="a function of the model"),
        pytest.param("<int64[1] n = {1}> { a = Expand(x, n) y = Tile(a, n) }", id="stretches"),
    ],
)
def test_known_operators_are_not_noted(tmp_path: Path, text: str) -> None:
    assert notes(tmp_path, text) == []


def test_a_custom_operator_of_tflite_is_noted_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite_model("a[2,3] = CUSTOM.Bias(x[2,3])\ny[2,3] = NEG(a)"))
    said = "1 node has an operator that graphfix does not know and did not check: Bias"
    assert [*graphfix.check(path).notes] == [said]
