"""An Einsum of several operands as Einsums of two: what onnxruntime returns for both, what is proved, what stays."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

import graphfix
from rewrites.tosa.einsum_pairs import plan
from tests.support import engine
from tests.support.checked import verify
from tests.support.notation import node
from tests.support.runtimes.onnx_runs import run

SIZES = dict(zip("abcde", (2, 3, 4, 5, 1), strict=True))


def einsum(equation: str, sizes: dict[str, int] | None = None) -> ModelProto:
    """A model of one Einsum of float32: x0, x1 ... by their letters."""
    terms = equation.partition("->")[0].split(",")
    shapes = [[(sizes or SIZES)[letter] for letter in term] for term in terms]
    ends = [helper.make_tensor_value_info(f"x{at}", TensorProto.FLOAT, shape) for at, shape in enumerate(shapes)]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    made = helper.make_node("Einsum", [end.name for end in ends], ["y"], equation=equation)
    graph = helper.make_graph([made], "g", ends, [result])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def feeds(model: ModelProto, seed: int) -> dict[str, np.ndarray]:
    source = np.random.default_rng(seed)
    shapes = {end.name: [dim.dim_value for dim in end.type.tensor_type.shape.dim] for end in model.graph.input}
    return {name: source.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}


EQUATIONS = ["abc,bcd,ab->ad", "ab,bc,cd->ad", "abcd,cdb,ab,da->bc", "ab,ab,ab->ab", "a,ab,b->", "eab,abe,be->ae"]


@pytest.mark.ci
@pytest.mark.parametrize("equation", EQUATIONS)
def test_pairs_are_proved_and_give_the_same_bits(equation: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(einsum(equation), before)
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert {len(each.input) for each in onnx.load(after).graph.node if each.op_type == "Einsum"} == {2}
    given = feeds(onnx.load(before), 1)
    assert run(onnx.load(before), **given)[0].tobytes() == run(onnx.load(after), **given)[0].tobytes()
    assert not graphfix.fix_file(after, tmp_path / "again.onnx", target="tosa").changed


@pytest.mark.ci
def test_random_equations_give_the_same_bits() -> None:
    choose, tried = random.Random(0), 0  # noqa: S311 - repeatable, no secret
    for seed in range(300):
        terms = ["".join(choose.sample("abcde", choose.randint(1, 4))) for _ in range(choose.choice((3, 3, 4)))]
        letters = sorted(set("".join(terms)))
        out = "".join(choose.sample(letters, choose.randint(0, len(letters))))
        if min(Counter("".join((*terms, out))).values()) < 2:
            continue
        tried += 1
        model = einsum(f"{','.join(terms)}->{out}", {letter: choose.choice((1, 2, 3, 5)) for letter in "abcde"})
        loaded = engine.load(model)
        engine.fix(loaded, target="tosa")
        after = onnx.load_from_string(loaded.tobytes())
        assert len(after.graph.node) == len(terms) - 1
        given = feeds(model, seed)
        assert run(model, **given)[0].tobytes() == run(after, **given)[0].tobytes(), (terms, out)
    assert tried > 100


@pytest.mark.parametrize("equation", [*EQUATIONS, "ab,ab,a,b->ba", "ea,ab,be->ab"])
def test_pairs_give_the_same_bits(equation: str) -> None:
    model = einsum(equation)
    loaded = engine.load(model)
    engine.fix(loaded, target="tosa")
    after = onnx.load_from_string(loaded.tobytes())
    assert [len(each.input) for each in after.graph.node] == [2] * equation.count(",")
    given = feeds(model, 2)
    assert run(model, **given)[0].tobytes() == run(after, **given)[0].tobytes()


KEPT = {
    "scalars alone": "y[] = Einsum(a[], b[], c[], equation=',,->')",
    "no letter": "y[] = Einsum(a[], equation='->')",
    "two operands": "y[2,4] = Einsum(a[2,3], b[3,4], equation='ab,bc->ac')",
    "a letter in one term alone": "y[2,4] = Einsum(a[2,3,5], b[3,4], c[4], equation='abe,bc,c->ac')",
    "a letter twice": "y[2,4] = Einsum(a[2,2,3], b[3,4], c[4], equation='aab,bc,c->ac')",
    "dots": "y[2,4] = Einsum(a[2,3], b[3,4], c[4], equation='...b,bc,c->...c')",
    "no result": "y[2,4] = Einsum(a[2,3], b[3,4], c[4], equation='ab,bc,c')",
    "another type": "y:float64[2,4] = Einsum(a:float64[2,3], b:float64[3,4], c:float64[4], equation='ab,bc,c->ac')",
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


def test_what_stays_is_named(tmp_path: Path) -> None:
    onnx.save(einsum("abe,bc,c->ac"), tmp_path / "m.onnx")
    sites = graphfix.check(tmp_path / "m.onnx", target="tosa").sites
    assert [site.op for site in sites if site.blocks] == ["Einsum"]


@pytest.mark.parametrize("other", ["ab,bc->ac", "ab,cb->ac"], ids=["another order", "another letter"])
def test_other_pairs_are_not_proved(other: str, tmp_path: Path) -> None:
    sizes = dict.fromkeys("abcd", 3)
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(einsum("ab,bc,cd->ad", sizes), before)
    model = einsum("ab,bc,cd->ad", sizes)
    first = helper.make_node("Einsum", ["x1", "x0"] if other == "ab,bc->ac" else ["x0", "x1"], ["t"], equation=other)
    del model.graph.node[:]
    model.graph.node.extend([first, helper.make_node("Einsum", ["t", "x2"], ["y"], equation="ac,cd->ad")])
    onnx.save(model, after)
    assert verify(before, after).status == "different"
