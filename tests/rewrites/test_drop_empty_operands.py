"""Operands without elements that go from a CONCATENATION or a Concat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix import api, formats
from graphfix.graph.edits import Replace
from models.builders.tflite.text import model
from rewrites.tosa.drop_empty_operands import plan
from tests.support.notation import model as onnx_proto
from tests.support.notation import node
from tests.support.proved import unproved

if TYPE_CHECKING:
    from pathlib import Path

JOINED = """
subgraph main(x[3,4], z[2,4]) -> y:
a[0,4] = SLICE(x, b:const:int32[2]{0,0}, s:const:int32[2]{0,4})
e[3,4] = SLICE(x, b, t:const:int32[2]{3,4})
y[5,4] = CONCATENATION(a, e, z, axis=0)
"""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("y[4,8] = tflite.CONCATENATION(a[0,8], b[1,8], c[3,8], axis=0)", (1, 2)),
        ("y[8,4] = tflite.CONCATENATION(a[8,3], b[8,0], c[8,1], axis=1)", (0, 2)),
        ("y[3,8] = tflite.CONCATENATION(a[0,8], b[3,8], axis=0)", (1,)),
        ("y[1,9,1] = Concat(a[1,7,1], b[1,0,1], c[1,2,1], axis=1)", (0, 2)),
    ],
)
def test_operands_without_elements_go(text: str, kept: tuple[int, ...]) -> None:
    (edit,) = plan(node(text))
    assert isinstance(edit, Replace)
    assert edit.node.operands == kept
    assert dict(edit.node.attributes)["axis"] in (0, 1)


@pytest.mark.parametrize(
    "text",
    [
        "y[4,8] = tflite.CONCATENATION(b[1,8], c[3,8], axis=0)",
        "y[4,8] = Concat(b[1,8], c[3,8], axis=0)",
        "y[0,8] = tflite.CONCATENATION(b[0,8], c[0,8], axis=0)",
        "y[N,8] = tflite.CONCATENATION(b[N,8], c[*], axis=0)",
    ],
    ids=["none is empty", "none is empty in ONNX", "all are", "a size that is not known"],
)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


def test_what_is_left_is_proved_and_a_fault_in_it_is_not(tmp_path: Path) -> None:
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(JOINED))
    outcome = api.fix_file(before, after, target="tosa", only=["drop-empty-operands"])
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)
    assert [len(each.operands) for each in formats.load(after).graphs[0].nodes if each.op == "CONCATENATION"] == [2]
    for wrong in (JOINED.replace("a, e, z", "z, e"), JOINED.replace("a, e, z", "e, z, a").replace("{0,0}", "{0,1}")):
        after.write_bytes(model(wrong))
        assert api.verify(before, after, proof="only").status != "proved"


def test_a_part_that_has_elements_may_not_go(tmp_path: Path) -> None:
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(JOINED.replace("{0,4}", "{1,4}").replace("a[0,4]", "a[1,4]").replace("y[5", "y[6")))
    after.write_bytes(model(JOINED.replace("a, e, z", "e, z").replace("{0,4}", "{1,4}").replace("a[0,4]", "a[1,4]")))
    assert api.verify(before, after, proof="only").status != "proved"


# --- ONNX -----------------------------------------------------------------------------------------------------------


def onnx_model(text: str) -> bytes:
    return onnx_proto(text).SerializeToString()


EMPTY = "y[2,7] = Concat(r, e:const[2,0], s, axis=1)"
ONNX = f"r[2,4] = Relu(x[2,4])\ns[2,3] = Neg(z[2,3])\n{EMPTY}"


def test_the_one_operand_that_is_left_is_the_result() -> None:
    (edit,) = plan(node("y[1,7,1] = Concat(a[1,7,1], b[1,0,1], axis=1)"))
    assert isinstance(edit, Replace)
    assert (edit.node.op, edit.node.operands, edit.node.attributes) == ("Identity", (0,), ())


LEFT = {
    "a constant": (ONNX, ["r[2,4] = Relu(x[2,4])", "s[2,3] = Neg(z[2,3])", "y[2,7] = Concat(r[2,4], s[2,3])"]),
    "what is computed of constants": (
        "m[1,0] = Max(e:const[1,0], e)\nr[1,4] = Relu(x[1,4])\ny[1,4] = Concat(r, m, axis=1)",
        ["r[1,4] = Relu(x[1,4])", "y[1,4] = Identity(r[1,4])"],
    ),
    "a slice of an input": (
        (
            "s[4,0] = Slice(x[4,4], a:const:int64[1]{0}, b:const:int64[1]{0}, c:const:int64[1]{1})\n"
            "m[4,0] = Mul(s, k:const[1,1]{2.0})\nr[4,4] = Relu(x)\ny[4,4] = Concat(r, m, axis=1)"
        ),
        ["r[4,4] = Relu(x[4,4])", "y[4,4] = Identity(r[4,4])"],
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("case", LEFT)
def test_an_onnx_model_is_proved_without_the_empty_operand(case: str, tmp_path: Path) -> None:
    text, nodes = LEFT[case]
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    before.write_bytes(onnx_model(text))
    outcome = api.fix_file(before, after, target="tosa")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert not [site for site in outcome.sites if site.status == "left"]
    assert [str(each) for each in formats.load(after).graphs[0].nodes] == nodes


WRONG = {
    "another order": ("Concat(r, s, axis=1)", "Concat(s, r, axis=1)"),
    "another operand": ("Concat(r, s, axis=1)", "Concat(r, z, axis=1)"),
    "an operand is missing": ("y[2,7] = Concat(r, s, axis=1)", "y[2,4] = Identity(r)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_fault_beside_the_empty_operand_is_not_proved(case: str) -> None:
    right = ONNX.replace(EMPTY, "y[2,7] = Concat(r, s, axis=1)")
    assert unproved(onnx_model(ONNX), onnx_model(right)) is None
    old, new = WRONG[case]
    assert old in right
    assert unproved(onnx_model(ONNX), onnx_model(right.replace(old, new))) is not None


@pytest.mark.parametrize(
    "text",
    [
        "y[2,4] = Concat(x[2,4], e:const[1,0], axis=1)",
        "y[2,4] = Concat(x[2,4], e:const:int32[2,0], axis=1)",
        "y[2,4] = Concat(x[2,4], e:const[0], axis=1)",
    ],
    ids=["other sizes beside the axis", "another type", "another rank"],
)
def test_an_empty_operand_that_the_operator_refuses_counts(text: str) -> None:
    """Where the second file alone has it, a runtime may refuse the file."""
    assert unproved(onnx_model("y[2,4] = Identity(x[2,4])"), onnx_model(text)) is not None
