"""A size that the view has wrong is seen when the original runs: `fix` ends with 1, says so, and writes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import graphfix
from graphfix.cli import commands
from graphfix.formats.onnx import view_builder as onnx_view
from graphfix.formats.tflite import view as tflite_view
from graphfix.graph.view import Value
from graphfix.results.claims import Facts
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import model as tflite
from tests.support.notation import model
from tests.support.shape_dialect import parse

Plant = Callable[[str, str], None]

EDITED = "t[2,3] = {}(x[2,3])\ny[2,3] = {}(t, b[3])", "[1, 3]", "the view says [1,3] of 't', the runtime gave [2,3]"
EQUAL = (
    "t[1,3] = {}(b[1,3])\ny[2,3] = {}(t, x[2,3])",
    "[2, 3]",
    "the view says [2,3] of 't', the runtime gave [1,3]",
)
CASES = {"an operand that is edited": EDITED, "an operand that is left": EQUAL}
FORMATS = {".onnx": ("Relu", "Add"), ".tflite": ("ABS", "ADD")}


def write(path: Path, text: str) -> Path:
    """A model whose operators have the names of the format of `path`."""
    whole = text.format(*FORMATS[path.suffix])
    path.write_bytes(tflite(whole) if path.suffix == ".tflite" else model(whole).SerializeToString())
    return path


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Plant:
    """Let the view say another shape of a value."""

    def planted(name: str, shape: str) -> None:
        def value(given: str, inferred: Shape, *rest: object) -> Value:
            return Value(given, parse(shape) if given == name else inferred, *rest)  # type: ignore[arg-type] -- as given

        for view in (onnx_view, tflite_view):
            monkeypatch.setattr(view, "Value", value)

    return planted


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(("text", "wrong", "said"), CASES.values(), ids=CASES)
def test_a_size_that_the_view_has_wrong_stops_fix(
    tmp_path: Path, plant: Plant, capsys: pytest.CaptureFixture[str], suffix: str, text: str, wrong: str, said: str
) -> None:
    source = write(tmp_path / f"m{suffix}", text)
    plant("t", wrong)
    assert commands.main(["fix", str(source), "-o", str(tmp_path / f"f{suffix}"), "-q"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"graphfix: {source}: nothing written, contradicted by the original's run: {said}\n"
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.ci
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(("text", "said"), [(text, said) for text, _, said in CASES.values()], ids=CASES)
def test_sizes_that_the_view_has_right_are_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], suffix: str, text: str, said: str
) -> None:
    source = write(tmp_path / f"m{suffix}", text)
    assert commands.main(["fix", str(source), "-o", str(tmp_path / f"f{suffix}"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["verdict"]["facts"] == {"claimed": 2, "observed": 2, "contradicted": 0, "first": None, "ran": True}
    assert said not in str(document)


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_document_holds_the_first_contradiction(
    tmp_path: Path, plant: Plant, capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    text, wrong, said = EDITED
    source = write(tmp_path / f"m{suffix}", text)
    plant("t", wrong)
    assert commands.main(["fix", str(source), "-o", str(tmp_path / f"f{suffix}"), "--json"]) == 1
    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert (verdict["status"], verdict["reason"]) == ("contradicted", said)
    first = {"value": "t", "claim": "[1,3]", "observed": [2, 3], "why": ""}
    assert verdict["facts"] == {"claimed": 2, "observed": 2, "contradicted": 1, "first": first, "ran": True}


@pytest.mark.tosa
def test_tosa_converts_nothing_that_is_contradicted(
    tmp_path: Path, plant: Plant, capsys: pytest.CaptureFixture[str]
) -> None:
    text, wrong, said = EDITED
    source = write(tmp_path / "m.tflite", text)
    plant("t", wrong)
    assert commands.main(["tosa", str(source), "-o", str(tmp_path / "m.tosa"), "-q"]) == 1
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.ci
def test_values_in_bodies_are_claimed_and_not_observed(tmp_path: Path) -> None:
    outcome = graphfix.fix_file("models/bodies/loop.onnx", tmp_path / "f.onnx")
    assert outcome.verdict is not None
    assert outcome.verdict.facts == Facts(3, 1, 0)


# --- where no runtime runs the model --------------------------------------------------------------------------------

NOBODY_RUNS = """
t[2,3] = {}(x[2,3])
y[2,3] = {}(t, b[3])
z[2,3] = {}(x, b)
"""


def custom_onnx(path: Path) -> Path:
    """The custom operator's result has a stored shape."""
    proto = model(NOBODY_RUNS.format("own.Frob", "Add", "Add"))
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, [2, 3]))
    path.write_bytes(proto.SerializeToString())
    return path


def custom_tflite(path: Path) -> Path:
    path.write_bytes(tflite(NOBODY_RUNS.format("CUSTOM.Frob", "ADD", "ADD")))
    return path


ASSUMED = {
    custom_onnx: "the stored shape of 't', a result of own.Frob",
    custom_tflite: "the stored shape of 't', a result of Frob",
}


@pytest.mark.parametrize("written", ASSUMED, ids=["onnx", "tflite"])
def test_a_shape_that_only_the_file_says_is_used_and_named(tmp_path: Path, written: Callable[[Path], Path]) -> None:
    suffix = ".onnx" if written is custom_onnx else ".tflite"
    outcome = graphfix.fix_file(written(tmp_path / f"m{suffix}"), tmp_path / f"f{suffix}", target="ranks")
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert {(site.node[-2:], site.status) for site in outcome.sites} == {("#1", "changed"), ("#2", "changed")}
    assert ASSUMED[written] in outcome.assumes
    checked = graphfix.check(tmp_path / f"f{suffix}", target="ranks")
    assert checked.sites == []


@pytest.mark.parametrize("written", ASSUMED, ids=["onnx", "tflite"])
def test_a_shape_that_is_not_to_be_trusted_decides_nothing(tmp_path: Path, written: Callable[[Path], Path]) -> None:
    source = written(tmp_path / "m.model")
    outcome = graphfix.check(source, target="ranks", trust_stored=False)
    assert {(site.node[-2:], site.code) for site in outcome.sites} == {("#1", "GF104"), ("#2", "GF101")}
    assert not [text for text in outcome.assumes if "stored" in text]


def test_the_proof_holds_under_the_stored_shapes_alone(tmp_path: Path) -> None:
    before, after = custom_onnx(tmp_path / "m.onnx"), tmp_path / "f.onnx"
    graphfix.fix_file(before, after, target="ranks")
    assumed = graphfix.verify(before, after, proof="only")
    assert (assumed.status, ASSUMED[custom_onnx] in assumed.assumes) == ("proved", True)
    assert graphfix.verify(before, after, proof="only", trust_stored=False).status == "undecided"


def test_results_of_one_operator_are_one_line(tmp_path: Path) -> None:
    nodes = "\n".join(f"t{at}[2,3] = own.Frob(x[2,3])\ny{at}[2,3] = Add(t{at}, b[3])" for at in range(5))
    proto = model(nodes)
    infos = [onnx.helper.make_tensor_value_info(f"t{at}", onnx.TensorProto.FLOAT, [2, 3]) for at in range(5)]
    proto.graph.value_info.extend(infos)
    onnx.save(proto, tmp_path / "m.onnx")
    outcome = graphfix.fix_file(tmp_path / "m.onnx", tmp_path / "f.onnx")
    line = "the stored shapes of 5 results of own.Frob"
    assert outcome.verdict is not None
    assert [text for text in outcome.assumes if "stored" in text] == [line]
    assert [text for text in outcome.verdict.assumes if "stored" in text] == [line]


def test_what_is_stored_as_equal_is_left_as_it_is(tmp_path: Path) -> None:
    source = tmp_path / "m.tflite"
    source.write_bytes(tflite("t[2,3] = CUSTOM.Frob(x[2,3])\ny[2,3] = ADD(t, x)"))
    outcome = graphfix.fix_file(source, tmp_path / "f.tflite")
    assert list(outcome.sites) == []
    assert "the stored shape of 't', a result of Frob" in outcome.assumes
    assert (tmp_path / "f.tflite").read_bytes() == source.read_bytes()


def test_what_an_operator_states_leans_on_nothing(tmp_path: Path) -> None:
    """LiteRT has no kernel for STABLEHLO_BROADCAST_IN_DIM, and its result's shape is its parameter."""
    outcome = graphfix.fix_file("models/explicit/broadcast_in_dim.tflite", tmp_path / "f.tflite")
    assert not [site for site in outcome.sites if site.status == "left"]


@pytest.mark.parametrize("op", ["Add", "ADD"], ids=["onnx", "tflite"])
def test_what_a_stored_shape_makes_redundant_is_taken_out(tmp_path: Path, op: str) -> None:
    text = NOBODY_RUNS.replace("b[3]", "b:const[1,3]")
    if op == "Add":
        proto = model(text.format("own.Frob", "Add", "Add"))
        proto.graph.value_info.append(onnx.helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, [2, 3]))
        data, suffix = proto.SerializeToString(), ".onnx"
    else:
        data, suffix = tflite(text.format("CUSTOM.Frob", "ADD", "ADD")), ".tflite"
    (tmp_path / f"m{suffix}").write_bytes(data)
    outcome = graphfix.fix_file(tmp_path / f"m{suffix}", tmp_path / f"f{suffix}", target="compact")
    assert {(site.node[-2:], site.status) for site in outcome.sites} == {("#1", "changed"), ("#2", "changed")}
