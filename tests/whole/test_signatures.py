"""`--signature`: one signature of a TFLite model is bound, fixed, proved and run, under the names that it has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from graphfix import api, formats
from graphfix.results import GraphfixError
from models.builders.tflite.text import Signature, model
from tests.support import engine
from tests.support.places import ROOT

TWO = """
y[?,3] = ADD(x[?,3], b:const[3])
subgraph second:
t[?,3] = MUL(z[?,3], c:const[3])
w[?,3] = IF(flag:bool[], t, then=yes, else=no)
subgraph yes:
p[?,3] = NEG(q[?,3])
subgraph no:
r[?,3] = ABS(s[?,3])
"""
SIGNATURES = {
    "add": Signature("main", {"image": "x"}, {"scores": "y"}),
    "choose": Signature("second", {"image": "z", "invert": "flag"}, {"scores": "w"}),
}


@pytest.fixture
def two(tmp_path: Path) -> Path:
    path = tmp_path / "two.tflite"
    path.write_bytes(model(TWO, signatures=SIGNATURES))
    return path


def changed(two: Path, old: str, new: str) -> Path:
    assert old in TWO
    path = two.with_name("changed.tflite")
    path.write_bytes(model(TWO.replace(old, new), signatures=SIGNATURES))
    return path


def test_what_the_signature_does_not_reach_goes_and_bodies_come_along(two: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.tflite"
    outcome = api.fix_file(two, after, signature="choose")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert "callers use the signature 'choose' alone" in outcome.verdict.assumes
    assert outcome.source == str(two)
    names = [graph.path for graph in formats.load(after).graphs]
    assert [name.partition(".")[2] for name in names] == ["", "then", "else"]
    signature = Interpreter(model_path=str(after)).get_signature_runner("choose")
    found = signature(image=np.ones((2, 3), np.float32), invert=np.array(True))["scores"]
    original = Interpreter(model_path=str(two)).get_signature_runner("choose")
    assert np.array_equal(found, original(image=np.ones((2, 3), np.float32), invert=np.array(True))["scores"])


@pytest.mark.ci
def test_its_own_names_bind_and_so_do_the_tensors(two: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.tflite"
    for name in ("image", "z"):
        asked = {"dims": {f"{name}[0]": 2}}
        assert any("z[2,3]" in line for line in api.show(two, signature="choose", **asked))
        assert api.verify(two, two, signature="choose", **asked).status == "proved"
        runs = api.verify(two, two, signature="choose", shapes={name: (2, 3)}, proof="without").runs
        assert runs
        assert all(run.status == "equal" for run in runs)
    for name in ("image", "x"):
        api.fix_file(two, after, signature="add", dims={f"{name}[0]": 2})
        assert api.verify(two, after, signature="add", shapes={name: (2, 3)}).status == "proved"
    api.fix_file(two, after, signature="choose", values={"invert": True})
    assert api.verify(two, after, signature="choose", values={"invert": True}).status == "proved"
    assert api.verify(two, after, signature="choose", values={"invert": False}).status == "different"


def test_given_inputs_have_its_names(two: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.npz"
    np.savez(data, image=np.ones((2, 3), np.float32), invert=np.array(True))
    verdict = api.verify(two, two, signature="choose", inputs=data, proof="without")
    assert verdict.status == "equal"
    assert {run.signature for run in verdict.runs} == {"choose"}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("old", "new", "signature"),
    [
        ("ABS", "NEG", "choose"),
        ("MUL", "ADD", "choose"),
        ("then=yes, else=no", "then=no, else=yes", "choose"),
        ("ADD", "MUL", "add"),
    ],
)
def test_a_fault_in_it_is_seen_and_one_beside_it_is_not(two: Path, old: str, new: str, signature: str) -> None:
    other = changed(two, old, new)
    beside = "add" if signature == "choose" else "choose"
    assert api.verify(two, other, signature=signature).status == "different"
    assert api.verify(two, other, signature=signature, proof="only").status != "proved"
    assert api.verify(two, other).status == "different"
    assert api.verify(two, other, signature=beside).status == "proved"


@pytest.mark.ci
def test_a_result_without_the_signature_is_different(two: Path, tmp_path: Path) -> None:
    after = tmp_path / "after.tflite"
    api.fix_file(two, after, signature="choose")
    verdict = api.verify(two, after, signature="add")
    assert verdict.status == "different"
    assert verdict.proof is not None
    assert verdict.proof["reason"] == "the second file has no signature 'add'"


def test_bodies_that_are_exchanged_are_not_proved(two: Path, tmp_path: Path) -> None:
    """The order in which subgraphs are met is that of the options, whatever their numbers are."""
    other = tmp_path / "other.tflite"
    text = TWO.replace("subgraph yes:\np[?,3] = NEG(q[?,3])\nsubgraph no:\nr[?,3] = ABS(s[?,3])\n", "")
    text += "subgraph no:\nr[?,3] = ABS(s[?,3])\nsubgraph yes:\np[?,3] = NEG(q[?,3])\n"
    other.write_bytes(model(text, signatures=SIGNATURES))
    assert api.verify(two, other, signature="choose").status == "proved"


@pytest.mark.parametrize("ask", ["fix", "show", "check", "verify"])
def test_an_unknown_signature_is_refused_with_those_that_there_are(two: Path, tmp_path: Path, ask: str) -> None:
    asks = {
        "fix": lambda: api.fix_file(two, tmp_path / "o.tflite", signature="nope"),
        "show": lambda: list(api.show(two, signature="nope")),
        "check": lambda: api.check(two, signature="nope"),
        "verify": lambda: api.verify(two, two, signature="nope"),
    }
    with pytest.raises(GraphfixError) as caught:
        asks[ask]()
    assert str(caught.value) == f"{two}: --signature nope: no such signature; signatures: add, choose"


def test_errors_about_a_signature_name_the_file_that_was_given(two: Path) -> None:
    with pytest.raises(GraphfixError) as caught:
        api.check(two, signature="choose", shapes={"y": (2, 3)})
    assert str(caught.value) == f"{two}: --shape y: there is no input 'y'; inputs: z, flag, image, invert"


def test_an_onnx_model_has_none() -> None:
    path = ROOT / "models" / "encoder.onnx"
    for ask in (lambda: api.check(path, signature="x"), lambda: api.verify(path, path, signature="x")):
        with pytest.raises(GraphfixError, match="only a TFLite model has signatures"):
            ask()


def test_metadata_that_counts_subgraphs_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    noted = {"model_control_dependencies": bytes([1, 1, 1, 0, 2])}
    path.write_bytes(model(TWO, signatures=SIGNATURES, metadata=noted))
    with pytest.raises(GraphfixError, match="--signature add: the metadata 'model_control_dependencies'"):
        api.check(path, signature="add")


@pytest.mark.ci
def test_sizes_of_the_main_subgraph_are_not_asked_of_the_other_signatures(two: Path, tmp_path: Path) -> None:
    outcome = api.fix_file(two, tmp_path / "o.tflite", shapes={"x": (2, 3)})
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert {run.signature for run in outcome.verdict.runs} == {"", "choose"}


def test_check_asks_for_one_of_several_functions(two: Path) -> None:
    said = "it has the signatures add, choose; choose the one to convert: --signature NAME"
    reasons = [site.reason for site in api.check(two, target="tosa", bind_defaults=True).sites if site.code == "GF305"]
    assert said in reasons
    sites = api.check(two, target="tosa", bind_defaults=True, signature="add").sites
    assert said not in [site.reason for site in sites]
    assert said not in [site.reason for site in api.check(two).sites]


GELUS = """
y[2,3] = GELU(x[2,3])
subgraph second:
w[2,3] = GELU(z[2,3])
"""
EACH = {"one": Signature("main"), "two": Signature("second")}


@pytest.mark.ci
@pytest.mark.parametrize("signature", EACH)
def test_what_is_rounded_in_a_signature_is_observed_whatever_subgraph_it_is(signature: str, tmp_path: Path) -> None:
    """The site was looked for in the subgraph that the first file has at the number of the second's."""
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(GELUS, signatures=EACH))
    verdict = api.fix_file(before, after, target="tosa", signature=signature).verdict
    assert verdict is not None
    assert (verdict.status, verdict.proof and verdict.proof["status"]) == ("equal", "bounded")
    assert "1 inexact operator off by at most" in (verdict.reason or "")


@pytest.mark.ci
def test_a_signature_is_observed_where_both_files_have_all_of_them(tmp_path: Path) -> None:
    before, after = tmp_path / "before.tflite", tmp_path / "after.tflite"
    before.write_bytes(model(GELUS, signatures=EACH))
    opened = engine.load(before)
    assert engine.fix(opened, only=["decompose-gelu"]).rewrites["decompose-gelu"] == 2
    opened.save(after)
    verdict = api.verify(before, after, signature="two")
    assert verdict.status == "equal"
    assert "1 inexact operator off by at most" in (verdict.reason or "")
