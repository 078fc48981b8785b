"""What is made of the tools' answers, without the tools: their calls alone are replaced."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from graphfix.engine.request import Request
from graphfix.results import Conversion, GraphfixError, Outcome, Site
from graphfix.runtimes import tosa
from graphfix.runtimes.session import RefusedError
from graphfix.tosa import command, convert
from tests.support.runtimes.tosa_loop import onnx_file, tflite

if TYPE_CHECKING:
    from pathlib import Path

NEG = "g (float[2] x) => (float[2] y) {y = Neg(x)}"
CONFORMS = tosa.Validation((), {"tosa.negate": 1})


class Tools:
    """Tools that answer what a test says, and what they were asked."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.validation = CONFORMS
        self.refuses = ""
        self.asked: list[tuple[str, str, bool]] = []
        patch.setattr(tosa, "versions", lambda: dict.fromkeys((*tosa.CONVERTERS.values(), tosa.TOSA_TOOLS), "1"))
        patch.setattr(tosa, "convert", self.convert)
        patch.setattr(tosa, "validate", self.validate)

    def convert(self, tool: str, model: Path, out: Path, *, narrow: bool) -> None:
        self.asked.append((tool, model.name, narrow))
        if self.refuses:
            raise RefusedError(self.refuses)
        out.write_bytes(b"bytecode")

    def validate(self, bytecode: Path, out: Path) -> tosa.Validation:
        if self.validation.valid:
            out.write_bytes(b"tosa of " + bytecode.read_bytes())
        return self.validation


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    return Tools(monkeypatch)


def made(model: Path, **options: Any) -> Outcome:  # noqa: ANN401
    """What became of a model, with its files beside it."""
    return command.tosa_file(model, model.with_name("m.tosa"), check_result=False, **options)


def written(model: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in model.parent.iterdir() if path != model}


def test_what_conforms_is_written_with_its_bytecode(tools: Tools, tmp_path: Path) -> None:
    model = onnx_file(tmp_path, NEG)
    outcome = made(model)
    done = outcome.conversion
    assert done is not None
    assert (done.status, done.tool, done.reason) == ("converted", "torch-mlir", None)
    assert (outcome.output, done.bytecode) == (str(tmp_path / "m.tosa"), str(tmp_path / "m.mlirbc"))
    assert dict(done.operators) == {"tosa.negate": 1}
    assert done.versions == {"torch-mlir": "1", "tosa-tools": "1"}
    assert {"convert", "validate"} <= set(outcome.seconds or ())
    assert "run" not in (outcome.seconds or ())
    assert written(model) == {"m.tosa": b"tosa of bytecode", "m.mlirbc": b"bytecode"}
    assert tools.asked == [("torch-mlir", "fixed.onnx", True)]


def test_no_numbers_are_narrowed_where_some_rewrites_alone_are_asked_for(tools: Tools, tmp_path: Path) -> None:
    made(onnx_file(tmp_path, NEG), only=["equalize-ranks"])
    assert [narrow for _, _, narrow in tools.asked] == [False]


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        (("one",), "tosa-opt: one"),
        (("one", "two"), "tosa-opt: one (and 1 more)"),
        (("one", "two", "three"), "tosa-opt: one (and 2 more)"),
    ],
)
def test_what_does_not_conform_is_refused_with_the_first_reason(
    tools: Tools, tmp_path: Path, errors: tuple[str, ...], reason: str
) -> None:
    tools.validation = tosa.Validation(errors)
    model = onnx_file(tmp_path, NEG)
    outcome = made(model)
    assert outcome.conversion is not None
    assert (outcome.output, outcome.conversion.status, outcome.conversion.reason) == (None, "refused", reason)
    assert written(model) == {}


def test_what_a_converter_refuses_has_its_reason(tools: Tools, tmp_path: Path) -> None:
    tools.refuses = "no such operator"
    model = onnx_file(tmp_path, NEG)
    outcome = made(model, run=True)
    assert outcome.conversion is not None
    assert (outcome.conversion.status, outcome.conversion.reason) == ("refused", "no such operator")
    assert outcome.output is None
    assert written(model) == {}


def test_what_holds_custom_operators_is_not_run(tools: Tools, tmp_path: Path) -> None:
    tools.validation = tosa.Validation((), {"tosa.add": 1, "tosa.custom:Own": 2, "tosa.custom:Other": 1})
    model = tflite(tmp_path, "y[2] = CUSTOM.Own(x[2])")
    outcome = made(model, run=True)
    assert outcome.conversion is not None
    assert outcome.conversion.status == "not run"
    assert outcome.conversion.reason == "it holds custom operators, which only their owner runs: Own, Other"
    assert "run" in (outcome.seconds or ())
    assert written(model) == {}
    assert tools.asked[0][:2] == ("tosa-converter-for-tflite", "fixed.tflite")


@pytest.mark.usefixtures("tools")
def test_the_bytecode_needs_a_name_of_its_own(tmp_path: Path) -> None:
    model = onnx_file(tmp_path, NEG)
    with pytest.raises(GraphfixError, match=r"m\.mlirbc: the bytecode gets this name; name the TOSA file, such as m\."):
        command.tosa_file(model, tmp_path / "m.mlirbc")


@pytest.mark.usefixtures("tools")
def test_inputs_that_are_not_there_are_told_first(tmp_path: Path) -> None:
    model = onnx_file(tmp_path, NEG)
    with pytest.raises(GraphfixError, match=r"none\.npz: no such file; --inputs takes"):
        made(model, run=True, inputs=[tmp_path / "none.npz"])


@pytest.mark.parametrize(
    ("installed", "said"),
    [
        ((), "torch-mlir and tosa-tools are not installed: "),
        (("tosa-tools",), "torch-mlir is not installed: "),
        (("torch-mlir", "tosa-converter-for-tflite"), "tosa-tools is not installed: "),
    ],
)
def test_each_tool_that_is_missing_is_named(
    installed: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tosa, "versions", lambda: dict.fromkeys(installed, "1"))
    with pytest.raises(GraphfixError) as raised:
        made(onnx_file(tmp_path, NEG))
    assert str(raised.value).startswith(said)


@pytest.mark.parametrize(
    ("operators", "status", "reason"),
    [
        ({"tosa.add": 2}, "agrees", None),
        (
            {"tosa.add": 2, "tosa.custom:Own": 1, "tosa.custom:Other": 1},
            "not run",
            "it holds custom operators, which only their owner runs: Own, Other",
        ),
    ],
    ids=["TOSA's own", "custom ones"],
)
def test_what_was_converted_is_run_beside_the_original_unless_it_holds_custom_operators(
    tools: Tools,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    operators: dict[str, int],
    status: str,
    reason: str | None,
) -> None:
    asked: list[str] = []

    def agreement(done: Conversion, *models: Path | Request) -> Conversion:
        asked.extend(each.name for each in models if not isinstance(each, Request))
        return replace(done, status="agrees")

    monkeypatch.setattr("graphfix.tosa.agreement.agreement", agreement)
    tools.validation = tosa.Validation((), operators)
    files = convert.Files(*(tmp_path / name for name in ("original", "fixed", "bytecode", "tosa")))
    done, seconds = convert.convert(files, "torch-mlir", Request(run=True))
    assert (done.status, done.reason, done.operators) == (status, reason, operators)
    assert asked == (["original", "fixed", "tosa"] if status == "agrees" else [])
    assert set(seconds) == {"convert", "validate", "run"}
    assert convert.convert(files, "torch-mlir", Request())[0].status == "converted"


def test_a_model_that_no_converter_takes_is_blocked_before_it_is_written(tools: Tools, tmp_path: Path) -> None:
    model = onnx_file(tmp_path, "g (float[4] x) => (int64[1,N] y) {y = NonZero(x)}")
    outcome = made(model)
    assert outcome.conversion == convert.blocked("torch-mlir")
    assert (outcome.command, outcome.output, tools.asked, written(model)) == ("tosa", None, [], {})


def test_a_model_that_is_not_written_for_another_reason_has_no_conversion(
    tools: Tools, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = onnx_file(tmp_path, NEG)
    asked: list[Request] = []

    def rewritten(source: Path, output: Path, request: Request) -> Outcome:
        asked.append(request)
        assert (source, output.suffix) == (model, ".onnx")
        left = Site("GF305", "n", "Neg", "main", None, None, None, "left", None, "why")
        return Outcome("fix", str(source), "onnx", sites=(left,), output=None)

    monkeypatch.setattr(command.pipeline, "rewrite_file", rewritten)
    outcome = command.tosa_file(model, tmp_path / "m.tosa", atol=0.5, rtol=0.25)
    assert (outcome.command, outcome.conversion, tools.asked, written(model)) == ("tosa", None, [], {})
    (request,) = asked
    assert (request.target, request.stop_where_blocked, request.atol, request.rtol) == ("tosa", True, None, None)
