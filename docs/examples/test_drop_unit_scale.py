"""What the rewrite of this folder does, what it leaves alone, and what it is undecided about."""

from __future__ import annotations

from pathlib import Path

import onnx.parser
import pytest

import graphfix

REWRITE = Path(__file__).with_name("drop_unit_scale.py")
HEAD = '<ir_version: 8, opset_import: ["": 17]>'


def fixed(nodes: str, x: str = "float[2,3] x") -> tuple[list[str], graphfix.Outcome]:
    """Run the rewrite alone; return the nodes after it, as `graphfix show` prints them, and the outcome."""
    model = graphfix.load(onnx.parser.parse_model(f"{HEAD} g ({x}) => (float[2,3] y) {nodes}"))
    outcome = graphfix.fix(model, rewrites=[REWRITE], only=["drop-unit-scale"])
    return [str(node) for node in graphfix.load(model.tobytes()).graphs[0].nodes], outcome


def test_a_product_with_one_goes() -> None:
    nodes, outcome = fixed("<float[1] w = {1}> { t = Mul(x, w)\n y = Relu(t) }")
    assert nodes == ["y[2,3] = Relu(x[2,3])"]
    assert [(site.code, site.status) for site in outcome.sites] == [("MY101", "changed")]


@pytest.mark.parametrize(
    ("x", "nodes"),
    [
        pytest.param("float[2,3] x", "<float[1] w = {2}> { t = Mul(x, w)\n y = Relu(t) }", id="another number"),
        pytest.param("float[2,3] x", "<float[3] w = {1, 2, 1}> { t = Mul(x, w)\n y = Relu(t) }", id="not all are one"),
        pytest.param("float[1,3] x", "<float[2,1] w = {1, 1}> { t = Mul(x, w)\n y = Relu(t) }", id="it repeats x"),
        pytest.param("float[2,3] x", "{ t = Mul(x, x)\n y = Relu(t) }", id="no constant"),
    ],
)
def test_a_product_that_says_something_stays(x: str, nodes: str) -> None:
    assert fixed(nodes, x)[1].rewrites == {"drop-unit-scale": 0}


def test_where_the_rank_is_not_known_it_says_so() -> None:
    _, outcome = fixed("<float[1] w = {1}> { t = Mul(x, w)\n y = Relu(t) }", "float[] x")
    assert [(site.code, site.status) for site in outcome.sites] == [("GF104", "left")]
