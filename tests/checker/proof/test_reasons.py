"""Where two models are not proved equal: the first two nodes without a match, and in what they differ."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from graphfix import api
from graphfix.checker.proof import Proof
from graphfix.cli import commands
from models.builders.tflite.text import Quantized
from models.builders.tflite.text import model as tflite
from tests.support.places import ROOT
from tests.support.proving import prove
from tests.support.written import Written

HEAD = "g (float[N,3] x, float[3] b) => (float[N,3] y) "
BIAS = np.float32([1, 2, 3])
LIFTED = "s = Constant<value_ints = [3, 1]>() l = Reshape(b, s)"
IF = """y = If (c) <then_branch = yes () => (float[N,3] t) {{ t = Add(x, {}) }},
                  else_branch = no () => (float[N,3] e) {{ e = Neg(x) }}>"""

PAIRS = {
    "operands swapped": ("y = Sub(x, b)", "y = Sub(b, x)", "operands 0 and 1 are swapped"),
    "a wrong axis lifted": (
        "y = Mul(x, b)",
        f"{LIFTED} y = Mul(x, l)",
        "operand 1 (input 'b') is read by another map: (d0, d1) -> (d1) before, (d0, d1) -> (d0) after",
    ),
    "an attribute dropped": ("y = Mod<fmod = 1>(x, b)", "y = Mod(x, b)", "attribute 'fmod' is given before only (1)"),
    "an attribute added": ("y = Mod(x, b)", "y = Mod<fmod = 1>(x, b)", "attribute 'fmod' is given after only (1)"),
    "an attribute changed": (
        "y = Softmax<axis = 1>(x)",
        "y = Softmax<axis = 0>(x)",
        "attribute 'axis' is another: 1 before, 0 after",
    ),
    "another operator": ("y = Mul(x, b)", "y = Add(x, b)", "the operator is Mul before, Add after"),
    "another value": ("t = Neg(x) y = Add(t, b)", "t = Neg(x) y = Add(t, x)",
                      "operand 1 is another value: input 'b' before, input 'x' after"),
    "another result": ("t = Neg(x) y = Mul(t, b)", "t = Neg(x) y = Mul(x, b)",
                       "operand 0 is another value: a result of Neg#0 before, input 'x' after"),
    "an operand less": ("y = Clip(x, m, m)", "y = Clip(x, m)", "3 operands are given before, 2 after"),
    "an operand left out": ("y = Clip(x, m, m)", 'y = Clip(x, "", m)', "operand 1 is given before only"),
    "an operand filled in": ('y = Clip(x, "", m)', "y = Clip(x, m, m)", "operand 1 is given after only"),
    "another operand beside one that is left out": (
        't = Neg(x) y = Clip(t, "", m)', 't = Neg(x) y = Clip(x, "", m)',
        "operand 0 is another value: a result of Neg#0 before, input 'x' after",
    ),
    "another shape": (
        "z = Constant<value_ints = [0]>() u = Unsqueeze(b, z) s = Softmax(u) y = Mul(x, s)",
        "s = Softmax(b) y = Mul(x, s)",
        "operand 0 has another shape: [1, 3] before, [3] after",
    ),
    "a movement that is no view": (
        "y = Mul(x, b)",
        "s = Constant<value_ints = [-1]>() l = Reshape(x, s) t = Shape(x) r = Reshape(l, t) y = Mul(r, b)",
        "it is not known to add, drop or stretch unit axes alone (x[N, 3], s = [-1])",
    ),
    "sizes that do not fit": (
        "z = Constant<value_ints = [2, 3]>() e = Expand(b, z) y = Mul(e, b)",
        f"z = Constant<value_ints = [2, 3]>() e = Expand(b, z) {LIFTED} y = Mul(e, l)",
        "sizes meet that do not fit: [3] before, [bc{2,3}, 3] after",
    ),
    "no counterpart": ("y = Neg(x)", "t = Neg(x) y = Abs(t)", None),
}  # fmt: skip


def unproved(before: Path, after: Path) -> Proof:
    proof = prove(before, after, tflite=before.suffix == ".tflite")
    assert not proof.proved
    return proof


@pytest.mark.parametrize(("before", "after", "why"), PAIRS.values(), ids=PAIRS)
def test_the_reason_says_in_what_two_nodes_differ(written: Written, before: str, after: str, why: str | None) -> None:
    m = np.float32(0)
    proof = unproved(*(written(f"{HEAD}{{ {body} }}", m=m) for body in (before, after)))
    unmatched = f"{proof.after} of the second file has no match in the first"
    assert proof.reason == (unmatched if why is None else f"{unmatched}: {why}")


def test_a_bit_of_a_constant_is_reported_as_other_bytes(written: Written) -> None:
    text = HEAD + "{ y = Add(x, w) }"
    proof = unproved(written(text, w=BIAS), written(text, w=np.nextafter(BIAS, np.float32(9))))
    assert proof.reason is not None
    assert proof.reason.endswith(": operand 1, the constant 'w', has the same type and shape and other bytes")


def test_a_constant_that_is_lifted_on_the_wrong_side_is_reported_by_its_map(written: Written) -> None:
    text = "g (float[3,3] x) => (float[3,3] y) { y = Add(x, w) }"
    proof = unproved(written(text, w=BIAS), written(text, w=BIAS[:, None]))
    assert proof.reason is not None
    assert "operand 1 (the constant 'w') is read by another map: (d0, d1) -> (d1) before, (d0, d1) -> (d0) after" in (
        proof.reason
    )


def test_a_stretch_by_the_wrong_operand_is_reported_by_the_sizes_that_meet(written: Written) -> None:
    text = "g (float[N] x, float[M] b, float[K] c) => (float[R] y) {{ s = Shape({}) e = Expand(x, s) y = Add(e, b) }}"
    proof = unproved(written(text.format("b")), written(text.format("c")))
    assert proof.reason is not None
    assert proof.reason.endswith(": other sizes meet: [bc{N,M}] before, [bc{N,M,K}] after")


def test_a_constant_without_elements_is_reported_by_the_sizes_that_meet_and_not_by_its_map(written: Written) -> None:
    """It has no element that an axis could follow: both maps are printed as (d0, d1) -> (d1)."""
    text = "g (float[N,3] x, bool[N] c) => (float[K,3] y) {{ t = Compress<axis = 0>(x, c) {} }}"
    stretched = "s = Constant<value_ints = [0, 3]>() e = Expand(w, s) y = Add(t, e)"
    proof = unproved(*(written(text.format(body), w=BIAS) for body in ("y = Add(t, w)", stretched)))
    assert proof.reason is not None
    assert re.search(r": other sizes meet: \[\w+, 3\] before, \[bc\{0,\w+\}, 3\] after$", proof.reason)


def test_a_node_of_a_body_is_reported_with_its_scope(written: Written) -> None:
    head = "g (bool c, float[N,3] x, float[3] b) => (float[N,3] y) "
    proof = unproved(*(written(f"{head}{{ {IF.format(name)} }}") for name in "bx"))
    assert [node and (node.graph, node.notation) for node in proof.nodes] == [
        ("main/If#0.then_branch", "t[N,3] = Add(x[N,3], b[3])"),
        ("main/If#0.then_branch", "t[N,3] = Add(x[N,3], x[N,3])"),
    ]


def test_of_several_nodes_of_a_kind_the_one_that_reads_the_same_is_reported(written: Written) -> None:
    """The first Add of the first file that has no match is another one."""
    text = "g (float[N,3] x, float[3] b) => (float[N,3] y, float[N,3] z) {{ {} }}"
    one = written(text.format("[first] y = Add(x, w) [second] t = Neg(x) z = Add(t, b)"), w=BIAS)
    two = written(text.format("[second] t = Neg(x) z = Add(b, t) [first] y = Add(w, x)"), w=BIAS)
    proof = unproved(one, two)
    assert (proof.before, proof.after) == ("Add#2", "Add#1")
    assert proof.reason is not None
    assert proof.reason.endswith("operands 0 and 1 are swapped")


@pytest.mark.parametrize("names", ["tt", "et"])
def test_bodies_that_give_another_value_are_reported_where_no_node_of_theirs_is_new(
    written: Written, names: str
) -> None:
    text = """g (bool c, float[N,3] x) => (float[N,3] y) {{
        t = Neg(x) e = Abs(x)
        y = If (c) <then_branch = yes () => (float[N,3] p) {{ p = Identity({}) }},
                    else_branch = no () => (float[N,3] q) {{ q = Identity({}) }}> }}"""
    proof = unproved(written(text.format(*"te")), written(text.format(*names)))
    assert proof.reason is not None
    assert proof.reason.endswith(
        ": what its bodies return or declare, how many results it has, or its way of computing is another"
    )


def test_another_output_is_reported_by_what_gives_it(written: Written) -> None:
    text = HEAD + "{{ t = Mul(x, b) u = Neg(t) y = Identity({}) }}"
    proof = unproved(written(text.format("u")), written(text.format("t")))
    assert proof.reason == "the output 'y' is another value: a result of Neg#1 before, a result of Mul#0 after"


TFLITE = {
    "an option": (
        "SUB(x, b, fused_activation_function=RELU)",
        "option 'fusedActivationFunction' is another: 0 before, 1 after",
    ),
    "operands swapped": ("SUB(b, x)", "operands 0 and 1 are swapped"),
}


@pytest.mark.parametrize(("changed", "why"), TFLITE.values(), ids=TFLITE)
def test_the_reason_says_in_what_two_operators_of_tflite_differ(changed: str, why: str, tmp_path: Path) -> None:
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path, operator in zip(paths, ("SUB(x, b)", changed), strict=True):
        path.write_bytes(tflite(f"subgraph main(x[N,3], b[3]):\ny[N,3] = {operator}"))
    assert unproved(*paths).reason == f"SUB#0 of the second file has no match in the first: {why}"


def test_another_scale_of_an_operand_is_reported(tmp_path: Path) -> None:
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path, scale in zip(paths, (0.5, 0.25), strict=True):
        quantization = {"x": Quantized(1.0), "w": Quantized(scale), "y": Quantized(1.0)}
        path.write_bytes(tflite("y:int8[2] = ADD(x:int8[2], w:const:int8{1,2})", quantization=quantization))
    assert unproved(*paths).reason == (
        "ADD#0 of the second file has no match in the first: the type or quantization of operand 1 is another"
    )


# --- what the files declare -----------------------------------------------------------------------------------------

DECLARED = "g (float[N,3] x, float[3] b) => (float[{}] y) {{ t = Mul(x, b) y = {}(t) }}"


@pytest.mark.parametrize("wrong", ["3", "1,4", "1,2,3"])
def test_an_output_that_the_first_file_declares_wrongly_may_be_declared_as_it_is(written: Written, wrong: str) -> None:
    """Runtimes warn of the first and run it; the second has nothing to warn of."""
    one, two = (written(DECLARED.format(shape, "Neg")) for shape in (wrong, "N,3"))
    proof = prove(one, two)
    assert proof.proved
    assert proof.notes == (f"the first file declares the output 'y' as [{wrong}], which it is not",)


def test_an_output_declared_wrongly_by_the_second_file_alone_is_not_proved(written: Written) -> None:
    proof = unproved(*(written(DECLARED.format(shape, "Neg")) for shape in ("N,3", "N,4")))
    assert proof.reason == "the second file declares 'y' as [?,4], which it is not known to be"


def test_a_number_for_a_size_that_is_not_known_is_no_correction(written: Written) -> None:
    proof = unproved(*(written(DECLARED.format(shape, "Neg")) for shape in ("3", "7,3")))
    assert proof.reason is not None
    assert "declare" in proof.reason


@pytest.mark.parametrize("shape", ["3", "2,3", "N,4"])
def test_a_node_without_a_match_is_reported_before_another_declared_shape(written: Written, shape: str) -> None:
    proof = unproved(written(DECLARED.format("N,3", "Neg")), written(DECLARED.format(shape, "Abs")))
    assert proof.reason == "Abs#1 of the second file has no match in the first: the operator is Neg before, Abs after"


# --- in reports -----------------------------------------------------------------------------------------------------


def test_reports_note_what_the_first_file_declares_wrongly(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(written(DECLARED.format(shape, "Neg"))) for shape in ("3", "N,3")]
    report = tmp_path / "report.md"
    assert commands.main(["verify", *files, "--proof-only", "--report", str(report)]) == 0
    assert "  note: the first file declares the output 'y' as [3], which it is not" in capsys.readouterr().out
    assert any(line.startswith("- note: the first file declares") for line in report.read_text().splitlines())


def test_reports_show_both_nodes_in_the_notation_with_their_maps(
    written: Written, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(written(f"{HEAD}{{ {body} }}")) for body in ("[m] y = Mul(x, b)", f"{LIFTED} [m] y = Mul(x, l)")]
    report = tmp_path / "report.md"
    assert commands.main(["verify", *files, "--proof-only", "--report", str(report)]) == 3
    expected = [
        "  before: y[N,3] = Mul(x[N,3], b[3])    # Mul 'm'",
        "      operand 0: (d0, d1) -> (d0, d1)",
        "      operand 1: (d0, d1) -> (d1)",
        "  after: y[3,3] = Mul(x[N,3], l[3,1])    # Mul 'm'",
        "      operand 0: (d0, d1) -> (d0?, d1)",
        "      operand 1: (d0, d1) -> (d0, 0), that is (d0, d1) -> (d0) of input 'b'[3]",
    ]
    assert capsys.readouterr().out.splitlines()[1:7] == expected
    lines = report.read_text().splitlines()
    at = lines.index("- first without a match, after: `y[3,3] = Mul(x[N,3], l[3,1])    # Mul 'm'`")
    assert lines[at + 2] == "  - `operand 1: (d0, d1) -> (d0, 0), that is (d0, d1) -> (d0) of input 'b'[3]`"


def test_the_document_holds_both_nodes_and_their_maps(written: Written, tmp_path: Path) -> None:
    files = [written(f"{HEAD}{{ {body} }}") for body in ("y = Mul(x, b)", f"{LIFTED} y = Mul(x, l)")]
    report = tmp_path / "report.json"
    commands.main(["verify", *map(str, files), "--proof-only", "-q", "--report", str(report)])
    first = json.loads(report.read_text())["verdict"]["proof"]["first"]
    assert (first["before"], first["after"]) == ("Mul#0", "Mul#2")
    assert first["nodes"]["before"] == {
        "graph": "main",
        "node": "Mul#0",
        "notation": "y[N,3] = Mul(x[N,3], b[3])",
        "maps": [
            {"operand": 0, "value": "x[N,3]", "map": "(d0, d1) -> (d0, d1)", "of": None, "through": None},
            {"operand": 1, "value": "b[3]", "map": "(d0, d1) -> (d1)", "of": None, "through": None},
        ],
    }
    assert first["nodes"]["after"]["maps"][1] == {
        "operand": 1,
        "value": "l[3,1]",
        "map": "(d0, d1) -> (d0, 0)",
        "of": "input 'b'[3]",
        "through": "(d0, d1) -> (d0)",
    }


def test_an_output_without_a_node_is_reported_in_one_line(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    text = HEAD + "{{ t = Mul(x, b) u = Neg(t) y = Identity({}) }}"
    files = [str(written(text.format(name))) for name in "ut"]
    commands.main(["verify", *files, "--proof-only"])
    assert capsys.readouterr().out.splitlines()[1:3] == ["  before: Neg#1[N,3]", "  after: Mul#0[N,3]"]


def test_what_is_proved_shows_no_node(written: Written, tmp_path: Path) -> None:
    path = written(f"{HEAD}{{ y = Mul(x, b) }}")
    verdict = api.fix_file(path, tmp_path / "fixed.onnx", runs=1).verdict
    assert verdict is not None
    assert verdict.proof is not None
    assert verdict.proof["first"] is None


def test_the_page_s_examples_are_what_is_printed(
    written: Written, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    head = "g (float[N,3,3] x, float[3] b) => (float[N,3,3] y) "
    written(f"{head}{{ [add] y = Add(x, b) }}").rename(tmp_path / "before.onnx")
    lifted = "shape = Constant<value_ints = [3, 1]>() lifted = Reshape(b, shape)"
    written(f"{head}{{ {lifted} [add] y = Add(x, lifted) }}").rename(tmp_path / "after.onnx")
    page = (ROOT / "docs" / "proof.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    api.fix_file(ROOT / "models" / "rfc_rank_expansion.onnx", tmp_path / "expanded.onnx", check_result=False)
    exec(compile(code, "docs/proof.md", "exec"), {})  # noqa: S102 - the project's own page
    commands.main(["verify", "before.onnx", "after.onnx", "--proof-only"])
    *printed, seconds = capsys.readouterr().out.splitlines()
    assert seconds.split()[1] in ("s", "s:")
    assert [line for line in printed if f"\n{line}\n" not in page] == []
    assert len(printed) == 10
