"""Wrong stored shapes, and what is stored instead."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import onnx
import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper

import graphfix
from graphfix import api
from graphfix.formats.onnx.file.messages import declared
from models.builders.tflite.text import model as tflite_model
from tests.support import engine
from tests.support.named import rules
from tests.support.notation import model
from tests.support.tflite.fixing import fixed, tree

Dims = Sequence[int | str | None]
RULE = rules("repair-shapes")


def storing(text: str, *stored: tuple[str, Dims]) -> ModelProto:
    """A model that stores these shapes and no other ones of inner values."""
    proto = model(text)
    del proto.graph.value_info[:]
    proto.graph.value_info.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in stored)
    return proto


def repaired(proto: ModelProto) -> tuple[ModelProto, graphfix.Outcome]:
    opened = engine.load(proto)
    outcome = engine.fix(opened, only=["repair-shapes"])
    return onnx.load_from_string(opened.tobytes()), outcome


CASES: dict[str, tuple[str, Dims, Dims | None, str]] = {
    "another number": (
        "v = Neg(x[2,3])\ny = Abs(v)", [2, 5], (2, 3), "the stored shape [2,5] of 'v' contradicts the computed [2, 3]"
    ),
    "another rank": (
        "v = Neg(x[2,3])\ny = Abs(v)", [3], (2, 3), "the stored shape [3] of 'v' contradicts the computed [2, 3]"
    ),
    "a symbol of the input": (
        "v = Neg(x[N,3])\ny = Abs(v)", [4, 5], ("N", 3), "the stored shape [4,5] of 'v' contradicts the computed [N, 3]"
    ),
    "a size that varies": (
        "v = Neg(x[N,3])\ny = Abs(v)", [1, 3], ("N", 3),
        "the stored shape [1,3] of 'v' is that of some sizes of the inputs alone: the computed one is [N, 3]",
    ),
    "a number that follows from nothing": (
        "v = Compress(x[2,3], c:bool[2], axis=0)\ny = Abs(v)", [4, 4], (None, 3),
        "the stored shape [4,4] of 'v' contradicts the computed [?, 3]",
    ),
    "a name beside a wrong number": (
        "v = Compress(x[2,3], c:bool[2], axis=0)\ny = Abs(v)", ["kept", 4], ("kept", 3),
        "the stored shape [kept,4] of 'v' contradicts the computed [?, 3]",
    ),
    "a refuted name": (
        "v = Concat(x[N,3], x, axis=0)\ny = Abs(v)", ["N", 3], (None, 3),
        "the stored size 'N' of 'v'[0] contradicts the computed 2*{N}",
    ),
    "what leans on a stored shape": (
        "u = my.Thing(x[2,3])\nv = Neg(u)\ny = Abs(v)", [2, 5], (2, None),
        "the stored shape [2,5] of 'v' contradicts the computed [2, 4]",
    ),
    "a rank that leans on a stored shape": (
        "u = my.Thing(x[2,3])\nv = Neg(u)\ny = Abs(v)", [8], None,
        "the stored shape [8] of 'v' contradicts the computed [2, 4]",
    ),
}  # fmt: skip
"""By name: nodes, what is stored of v, what is stored then (None: nothing), why."""


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_shape_is_restated_or_left_open(case: str) -> None:
    text, stored, right, why = CASES[case]
    believed = [("u", [2, 4])] if "u = " in text else []
    proto, outcome = repaired(storing(text, *believed, ("v", stored)))
    (site,) = [site for site in outcome.sites if site.code == "GF204"]
    assert (site.node.partition("#")[0], site.status, site.rewrite, site.reason) == (
        text.partition("v = ")[2].partition("(")[0], "changed", "repair-shapes", why
    )  # fmt: skip
    held = {info.name: declared(info) for info in proto.graph.value_info}
    assert held["v"] == right
    assert believed == [("u", [2, 4])] * ("u" in held)
    assert not [site for site in engine.fix(engine.load(proto), only=["repair-shapes"]).sites if site.code == "GF204"]


@pytest.mark.parametrize("stored", [[2, 3], ["A", 3], [None, None], ["A", "B"]], ids=str)
def test_what_says_less_stays_as_it_is(stored: Dims) -> None:
    before = storing("v = Neg(x[2,3])\ny = Abs(v)", ("v", stored))
    opened = engine.load(before.SerializeToString())
    assert not engine.fix(opened, target="explicit").changed
    assert opened.tobytes() == before.SerializeToString()


def test_the_declaration_of_an_output_is_corrected() -> None:
    proto = model("y[2,3] = Neg(x[2,3])")
    proto.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 7
    after, _ = repaired(proto)
    assert declared(after.graph.output[0]) == (2, 3)


def test_of_two_stored_shapes_the_wrong_one_is_corrected() -> None:
    proto, outcome = repaired(storing("v = Neg(x[2,3])\ny = Abs(v)", ("v", [2, 9]), ("v", [2, 3])))
    assert len(outcome.sites) == 1
    assert [declared(info) for info in proto.graph.value_info] == [(2, 3), (2, 3)]


LOOP = """<ir_version: 8, opset_import: ["" : 17]>
g (float[2] x, int64 n) => (float[2] y) {
  y = Loop(n, , x) <body = b (int64 i, bool go, float[5] state) => (bool on, float[7] r)
    <float[9] s> { on = Identity(go) s = Neg(state) r = Abs(s) }>
}"""


def test_the_shapes_of_a_body_are_corrected() -> None:
    proto, outcome = repaired(onnx.parser.parse_model(LOOP))
    (body,) = [attribute.g for attribute in proto.graph.node[0].attribute]
    infos = {info.name: declared(info) for info in (*body.input, *body.output, *body.value_info)}
    assert {infos[name] for name in ("state", "r", "s")} == {(2,)}
    assert [site.node for site in outcome.sites] == ["Neg#1", "Abs#2", "Loop#0"]


@pytest.mark.ci
@pytest.mark.parametrize("target", ["explicit", "ranks", "compact", "tosa", "onnxruntime", "litert-gpu", "ethos-u"])
def test_every_target_corrects_what_it_finds(target: str, tmp_path: Path) -> None:
    onnx.save(storing("v = Neg(x[2,3])\ny[2,3] = Add(v, b[2,3])", ("v", [2, 9])), tmp_path / "m.onnx")
    assert [site.code for site in api.check(tmp_path / "m.onnx", target=target).sites] == ["GF204"]
    outcome = api.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx", target=target)
    assert outcome.verdict is not None
    assert (outcome.verdict.status, outcome.sites_left) == ("proved", 0)
    assert not api.check(tmp_path / "f.onnx", target=target).sites


def test_without_it_the_shape_stays_and_the_node_is_left(tmp_path: Path) -> None:
    onnx.save(storing("v = Neg(x[2,3])\ny[2,3] = Add(v, b[3])", ("v", [2, 9])), tmp_path / "m.onnx")
    outcome = api.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx", skip=["repair-shapes"])
    assert {(site.code, site.node, site.status) for site in outcome.sites} == {("GF204", "Add#1", "left")}
    assert outcome.sites_left == 2  # of two rewrites


# --- TFLite -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tensor", "right"),
    [
        ("v[2,5] = NEG(x[2,3])\ny[2,3] = ABS(v)", "v", ([2, 3], None)),
        ("v[6] = NEG(x[2,3])\ny[2,3] = ABS(v)", "v", ([2, 3], None)),
        ("v[2,3] = NEG(x[2,3])\ny[3,3] = ABS(v)", "y", ([2, 3], None)),
        ("v[2,5] = NEG(x[?,3])\ny[?,3] = ABS(v)", "v", ([1, 3], [-1, 3])),
    ],
    ids=["another number", "another rank", "an output", "a free size beside it"],
)
def test_the_shape_of_a_tensor_is_corrected(text: str, tensor: str, right: tuple[list[int], list[int] | None]) -> None:
    found = fixed(tflite_model(text), rewrites=RULE)
    assert [(site.code, site.status) for site in found.outcome.sites] == [("GF204", "changed")]
    records = {each.name.decode(): each for each in tree(found.data).subgraphs[0].tensors}
    shape, signature = right
    assert list(records[tensor].shape) == shape
    stated = records[tensor].shapeSignature
    assert (None if stated is None else list(stated)) == signature
    assert not engine.fix(engine.load(found.data), only=["repair-shapes"]).changed
