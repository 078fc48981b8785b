"""ONNX files that onnxruntime takes and onnx's checker does not: nodes not in order, operators not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import onnx.checker
import onnx.parser
import pytest
from onnx import ModelProto

import graphfix
from graphfix.results import GraphfixError
from tests.support.notation import model

if TYPE_CHECKING:
    from pathlib import Path

CAPTURED = """<ir_version: 8, opset_import: ["" : 17]>
g (bool c, float[2,3] x, float[3] b) => (float[2,3] y) {
  y = If(c)<then_branch = one () => (float[2,3] r) { s = Neg(t)  r = Add(s, b) },
            else_branch = two () => (float[2,3] q) { q = Identity(t) }>
  u = Exp(x)
  t = Neg(u)
}"""


def reordered(made: ModelProto, *order: int) -> ModelProto:
    """Put the nodes of the main graph in another order."""
    nodes = [made.graph.node[at] for at in order]
    copies = [onnx.NodeProto.FromString(node.SerializeToString()) for node in nodes]
    del made.graph.node[:]
    made.graph.node.extend(copies)
    return made


UNSORTED = {
    "a reader in front": (reordered(model("t[2,3] = Neg(x[2,3])\ny[2,3] = Add(t, b[3])"), 1, 0), ["t", "y"]),
    "a chain that stands backwards": (
        reordered(model("t[2,3] = Neg(x[2,3])\nu[2,3] = Exp(t)\nv[2,3] = Abs(u)\ny[2,3] = Add(v, b[3])"), 3, 2, 1, 0),
        ["t", "u", "v", "y"],
    ),
    "two makers of one reader, in the order of its operands": (
        reordered(model("t[2,3] = Neg(x[2,3])\nu[3] = Exp(b[3])\ny[2,3] = Add(u, t)"), 2, 0, 1), ["u", "t", "y"]),
    "a value that a body reads": (onnx.parser.parse_model(CAPTURED), ["u", "t", "y"]),
}  # fmt: skip


@pytest.mark.parametrize(("proto", "made"), UNSORTED.values(), ids=UNSORTED)
def test_nodes_that_are_not_sorted_are_read_and_written_in_order(
    tmp_path: Path, proto: ModelProto, made: list[str]
) -> None:
    onnx.save(proto, tmp_path / "m.onnx")
    outcome = graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx")
    after = onnx.load(tmp_path / "f.onnx")
    onnx.checker.check_model(after)
    names = [node.output[0] for node in after.graph.node]
    assert [name for name in names if name in made] == made
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert not graphfix.check(tmp_path / "f.onnx").sites


def test_only_sorted_nodes_are_sorted_nodes_again(tmp_path: Path) -> None:
    """Other tools than onnxruntime refuse the second file, and not the first."""
    text = "t[2,3] = Neg(x[2,3])\ny[2,3] = Exp(t)"
    onnx.save(model(text), tmp_path / "sorted.onnx")
    onnx.save(reordered(model(text), 1, 0), tmp_path / "other.onnx")
    one, two = tmp_path / "sorted.onnx", tmp_path / "other.onnx"
    assert graphfix.verify(two, one, proof="only").status == "proved"
    verdict = graphfix.verify(one, two, proof="only")
    assert verdict.status == "undecided"
    assert "are not in the order of execution" in str(verdict.proof)


def test_a_second_file_whose_bodies_are_not_in_order_is_not_proved(tmp_path: Path) -> None:
    """Of the main graph onnxruntime sorts the nodes, and it refuses such a body."""
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    onnx.save(onnx.parser.parse_model(CAPTURED), before)
    backwards = CAPTURED.replace("s = Neg(t)  r = Add(s, b)", "r = Add(s, b)  s = Neg(t)")
    onnx.save(onnx.parser.parse_model(backwards), after)
    assert graphfix.verify(before, before, proof="only").status == "proved"
    assert graphfix.verify(before, after, proof="only").status == "undecided"


def test_where_nothing_changes_the_order_stays(tmp_path: Path) -> None:
    proto = reordered(model("t[2,3] = Neg(x[2,3])\ny[2,3] = Exp(t)"), 1, 0)
    onnx.save(proto, tmp_path / "m.onnx")
    graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx")
    assert (tmp_path / "f.onnx").read_bytes() == (tmp_path / "m.onnx").read_bytes()


def test_sorted_files_that_differ_are_not_proved(tmp_path: Path) -> None:
    texts = ("t[2,3] = Neg(x[2,3])\ny[2,3] = Sub(t, x)", "t[2,3] = Neg(x[2,3])\ny[2,3] = Sub(x, t)")
    paths = [tmp_path / "before.onnx", tmp_path / "after.onnx"]
    for path, text in zip(paths, texts, strict=True):
        onnx.save(reordered(model(text), 1, 0), path)
    assert graphfix.verify(*paths, proof="only").status == "undecided"
    assert graphfix.verify(*paths).status == "different"


def test_a_cycle_is_refused() -> None:
    proto = model("t[2] = Neg(x[2])\nu[2] = Exp(t)\ny[2] = Abs(u)")
    proto.graph.node[0].input[0] = "u"
    with pytest.raises(GraphfixError, match="the nodes form a cycle"):
        graphfix.load(proto)


def test_onnxruntimes_own_operators_need_not_be_imported(tmp_path: Path) -> None:
    """Its optimizer's model, saved by onnx itself, does not import them."""
    proto = model("t[2,3] = com.microsoft.QuickGelu(x[2,3])\ny[2,3] = Add(t, b[3])")
    (own,) = [entry for entry in proto.opset_import if entry.domain]
    proto.opset_import.remove(own)
    onnx.save(proto, tmp_path / "m.onnx")
    outcome = graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert {run.status for run in outcome.verdict.runs} == {"equal"}
    assert [entry.domain for entry in onnx.load(tmp_path / "f.onnx").opset_import] == [""]


def test_another_domain_has_to_be_imported() -> None:
    proto = model("t[2,3] = own.Frob(x[2,3])\ny[2,3] = Add(t, b[3])")
    del proto.opset_import[:]
    proto.opset_import.append(onnx.helper.make_opsetid("", 17))
    with pytest.raises(GraphfixError, match="of the domain 'own', which is not imported"):
        graphfix.load(proto)
