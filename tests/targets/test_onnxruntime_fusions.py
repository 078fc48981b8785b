"""What onnxruntime fuses by the shapes of operands: each claim of the table is asked of the runtime."""

from __future__ import annotations

import re

import pytest

from graphfix.graph.edits import Leave
from graphfix.graph.view import Node
from graphfix.targets.onnxruntime import matching as fusions
from graphfix.targets.onnxruntime.fusions import FUSIONS
from graphfix.targets.onnxruntime.matching import Change
from tests.support import engine
from tests.support.notation import model
from tests.support.onnx.fixing import fixed
from tests.support.onnx.fusion_patterns import PATTERNS
from tests.support.onnx.fusions_asked import EQUALIZE, MATERIALIZE, built, one_by_one, planned, unlike_the_table
from tests.support.onnx.optimized import operators
from tests.support.places import MODELS

NAMES = sorted({fusion.name for fusion in FUSIONS})


@pytest.mark.ci
@pytest.mark.parametrize("name", PATTERNS)
def test_what_is_left_is_what_ends_a_fusion(name: str) -> None:
    assert unlike_the_table(name) == (set(), set())


@pytest.mark.alike(10)
@pytest.mark.parametrize("target", ["ranks", "explicit"])
@pytest.mark.parametrize("name", PATTERNS)
def test_the_option_keeps_every_fusion_that_is_lost_without_it(name: str, target: str) -> None:
    before = operators(built(name).SerializeToString())
    kept = fixed(built(name), target=target, keep_fusions=True).after.SerializeToString()
    lost = fixed(built(name), target=target).after.SerializeToString()
    assert operators(kept).total() <= before.total()
    codes = {EQUALIZE.name} | ({MATERIALIZE.name} if target == "explicit" else set())
    if any(ended for (rewrite, *_), ended in one_by_one(name) if rewrite in codes):
        assert operators(lost).total() > operators(kept).total()


ONE_ELEMENT = {
    "MatMulAdd, a weight of one column",
    "LayerNormalization, a scale of one element",
    "SimplifiedLayerNormalization, a scale of one element",
    "LayerNormalization, both of one element",
}
"""What folding states as a scalar: nothing says that it had an axis before it was stretched."""


@pytest.mark.ci
@pytest.mark.parametrize("name", PATTERNS)
def test_the_target_keeps_every_fusion_and_gets_those_back_that_explicit_forms_ended(name: str) -> None:
    before = operators(built(name).SerializeToString()).total()
    folded = fixed(built(name), target="onnxruntime").after
    assert operators(folded.SerializeToString()).total() <= before
    there = fixed(built(name), target="explicit").after
    back = fixed(there, target="onnxruntime").after
    assert (operators(back.SerializeToString()).total() <= before) == (name not in ONE_ELEMENT)


@pytest.mark.alike(2)
@pytest.mark.parametrize("fusion", NAMES)
def test_every_fusion_of_the_table_is_found_in_some_pattern(fusion: str) -> None:
    found = (fusions.find(engine.load(built(name)).graphs[0]).values() for name in PATTERNS)
    assert any(place.pattern.name == fusion for each in found for fusions_ in each for place in fusions_.places)


def test_a_reason_names_the_fusion_and_says_whether_it_is_a_constant() -> None:
    graph = engine.load(built("LayerNormalization")).graphs[0]
    reasons = [edit.reason for _, edit in planned(graph, keep=True) if isinstance(edit, Leave)]
    assert "onnxruntime fuses this into LayerNormalization by this constant's shape (--keep-fusions)" in reasons
    assert "onnxruntime fuses this into LayerNormalization by this operand's shape (--keep-fusions)" in reasons


def fused(node: Node, operand: int, change: Change) -> str | None:
    """The fusion that a change of one operand's shape ends."""
    found = fusions.find(node.graph).get(node.index)
    return found.fused(node, operand, change) if found is not None else None


def test_a_scale_is_asked_for_by_its_elements_and_the_product_by_its_rank() -> None:
    graph = engine.load(built("MatMulScale after")).graphs[0]
    scale = graph.nodes[1]
    assert fused(scale, 1, "sizes") == "FusedMatMul"
    assert fused(scale, 1, "rank") is None
    assert fused(scale, 0, "rank") == "FusedMatMul"
    assert fused(graph.nodes[0], 0, "rank") is None


def test_an_operand_that_has_the_shape_of_the_others_by_an_expand_stays() -> None:
    text = (
        "e = Expand(k[1,3,8], to:const{2,3,8})\na = Add(x[2,3,8], e)\ny = LayerNormalization(a, g:const[8], b:const[8])"
    )
    graph = engine.load(model(text)).graphs[0]
    assert fused(graph.nodes[1], 1, "sizes") == "SkipLayerNormalization"


def test_a_value_with_many_readers_is_no_link() -> None:
    many = "\n".join(f"y{at} = Mul(t, s:const[]{{0.5}})" for at in range(100))
    graph = engine.load(model(f"t = MatMul(a[2,3], b[3,4])\n{many}")).graphs[0]
    assert not fusions.find(graph)


@pytest.mark.parametrize(("made", "fused"), [("[8,1,1]", True), ("[?,1,1]", False), ("[*]", False)])
def test_a_bias_of_channels_is_a_constant_of_known_sizes(made: str, fused: bool) -> None:
    text = f"b{made} = {'Neg' if fused else 'com.example.Bias'}(k:const[8,1,1])"
    text += "\nc = Conv(x[1,4,5,5], w:const[8,4,1,1])\ny[1,8,5,5] = Add(c, b)"
    assert bool(fusions.find(engine.load(model(text)).graphs[0])) is fused


def test_nothing_is_fused_in_tflite() -> None:
    graph = engine.load(MODELS / "rfc_rank_expansion.tflite").graphs[0]
    assert graph.nodes
    assert not fusions.find(graph)


def test_a_body_reads_what_is_outside_of_it() -> None:
    """A link that a body reads too is read by another node."""
    text = "t = MatMul(a[2,4,3,8], b[2,4,8,3])\ny = Mul(t, s:const[]{0.5})"
    proto = model(text)
    assert fusions.find(engine.load(proto).graphs[0])
    body = model("z = Identity(t[2,4,3,3])").graph
    del body.input[:]
    node = proto.graph.node.add(op_type="If", input=["c"], output=["w"])
    for name in ("then_branch", "else_branch"):
        node.attribute.add(name=name, type=5).g.CopyFrom(body)
    proto.graph.input.add().CopyFrom(model("n:bool = Not(c:bool[])").graph.input[0])
    proto.graph.output.add().CopyFrom(body.output[0])
    proto.graph.output[-1].name = "w"
    assert not fusions.find(engine.load(proto).graphs[0])


@pytest.mark.ci
@pytest.mark.parametrize(
    "name", ["albert", "bert_pair", "gpt2", "llama_sdpa_past", "mamba", "segformer", "swin", "t5_encoder", "vit"]
)
def test_exported_models_keep_their_fusions(name: str) -> None:
    """Computed constants, casts to the same type, ranks that onnxruntime does not infer, several layers."""
    path = MODELS / "exported" / f"{name}_legacy.onnx"
    before = operators(path.read_bytes()).total()
    kept, lost = (engine.load(path) for _ in range(2))
    engine.fix(kept, target="ranks", keep_fusions=True)
    engine.fix(lost, target="ranks")
    assert operators(kept.tobytes()).total() <= before < operators(lost.tobytes()).total()


def test_two_lines_are_fused_in_the_versions_that_fuse_each_of_them() -> None:
    convolutions = [fusion for fusion in FUSIONS if fusion.name == "Conv"]
    assert len(convolutions) == 20
    for fusion in convolutions:
        is_newer = re.search(r"Mul\(\w:channels~, ", fusion.pattern) is not None
        assert fusion.versions.since == ("1.30" if is_newer else ""), fusion.pattern


def test_a_node_without_an_operand_of_a_pattern_is_none_of_its_lines() -> None:
    graph = engine.load(model("a = Add(x[2,3,8], e[2,3,8])\ny = LayerNormalization(a, g:const[8])")).graphs[0]
    assert [fused(node, 1, "sizes") for node in graph.nodes] == ["SkipLayerNormalization", None]
