"""`graphfix tosa`: what it asks of the Python functions, how it ends, what appears, with the real tools behind it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest

from graphfix import load
from graphfix.cli import commands
from graphfix.engine.request import Request
from graphfix.report.forms import registry
from graphfix.report.table import table, unwritten
from graphfix.results import Conversion, ConversionStatus, Gap, GraphfixError, Outcome, Site, Verdict
from graphfix.runtimes import tosa
from graphfix.runtimes.extras import install_command
from graphfix.tosa import command
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite_model
from tests.support.asking import ask, listing, refused
from tests.support.notation import model
from tests.support.runtimes.tosa_loop import onnx_file, tflite

STOPPED = Site("GF305", "rnn", "LSTM", "main", None, None, None, "left", None, "it loops")
AGREEING = Conversion(
    "agrees",
    "torch-mlir",
    operators={"tosa.add": 2, "tosa.custom:Own": 1},
    bytecode="m.mlirbc",
    gaps=(Gap("y", 2.5e-5, 1e-6, within=True), Gap("score", 7e-6, None, within=True)),
    runs=3,
    beside="onnxruntime (optimizations off)",
    tolerance=1e-3,
    specification="TOSA 1.0, level 8k",
    versions={"torch-mlir": "1", "tosa-tools": "2"},
)
DONE = Outcome("tosa", "m.onnx", "onnx", "tosa", "m.tosa", changed=True, verdict=Verdict("equal"), conversion=AGREEING)
SQUARE = (
    "g (float[2,3] x, float[3] b) => (float[2,3] y) "
    "{two = Constant<value = float {2.0}>() p = Pow(x, two) y = Add(p, b)}"
)
ANY_POWER = "g (float[2,3] x, float[2,3] e) => (float[2,3] y) {y = Pow(x, e)}"


# --- the line and its status ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "ends"),
    [("converted", 0), ("agrees", 0), ("differs", 1), ("unpredictable", 1), ("refused", 2), ("not run", 3)],
)
def test_the_status_says_what_became_of_the_model(
    status: ConversionStatus, ends: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written = "m.tosa" if ends == 0 else None
    done = replace(DONE, output=written, conversion=replace(AGREEING, status=status, reason="that is how it is"))
    monkeypatch.setattr(command, "fix_and_convert", lambda *_: done)
    assert commands.main(["tosa", "m.onnx", "-o", "m.tosa", "-q"]) == ends
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == (0 if ends == 0 else 1)
    assert ("that is how it is" in said.err) == (ends != 0)


@pytest.mark.parametrize(("verdict", "ends"), [("different", 1), ("undecided", 3)])
def test_a_rewritten_model_that_is_not_found_equal_is_not_converted(
    verdict: str, ends: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = replace(DONE, output=None, conversion=None, verdict=Verdict(verdict))  # type: ignore[arg-type]  # one of them
    monkeypatch.setattr(command, "fix_and_convert", lambda *_: done)
    assert commands.main(["tosa", "m.onnx", "-o", "m.tosa"]) == ends


def test_every_option_reaches_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(command, "fix_and_convert", lambda *given: asked.append(given) or DONE)
    line = (
        "tosa m.onnx -o m.tosa --run --inputs a.npz --inputs b.npz --dim N=4 --shape x=1,3 --only equalize-ranks "
        "--skip atan2-operands --bind-defaults --max-expand-bytes 4096 --no-verify --seed 9"
    )
    named = {
        "dims": {"N": 4},
        "shapes": {"x": (1, 3)},
        "only": ["equalize-ranks"],
        "skip": ["atan2-operands"],
        "rewrites": [],
        "data_root": [],
        "bind_defaults": True,
        "max_expand_bytes": 4096,
        "check_result": False,
        "run": True,
        "inputs": [Path("a.npz"), Path("b.npz")],
        "seed": 9,
    }
    assert commands.main(line.split()) == 0
    command.tosa_file("m.onnx", "m.tosa", **named)  # type: ignore[arg-type]  # the table's values fit their names
    request = Request(**{"run_on" if name == "inputs" else name: value for name, value in named.items()})  # type: ignore[arg-type]  # as above
    assert asked == [(Path("m.onnx"), Path("m.tosa"), request)] * 2


def test_without_options_the_defaults_are_those_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    monkeypatch.setattr(command, "fix_and_convert", lambda *given: asked.append(given) or DONE)
    assert commands.main(["tosa", "m.onnx", "-o", "m.tosa"]) == 0
    command.tosa_file("m.onnx", "m.tosa")
    assert asked == [
        (Path("m.onnx"), Path("m.tosa"), Request(only=[], skip=[], rewrites=[], run_on=[], data_root=[])),
        (Path("m.onnx"), Path("m.tosa"), Request()),
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("-o", "m.mlirbc"), "the bytecode gets this name"),
        (("-o", "m.tosa", "--inputs", "a.npz"), "add --run"),
        (("-o", "nowhere/m.tosa"), "its folder does not exist"),
        (("-o", "m.tosa", "--run", "--inputs", "absent.npz"), "absent.npz: no such file"),
    ],
)
def test_what_can_not_be_is_one_line(
    options: tuple[str, ...],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    onnx_file(tmp_path, SQUARE)
    assert said in refused(capsys, tmp_path, "tosa", "m.onnx", *options)


def test_a_missing_tool_is_one_line_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tosa, "versions", dict)
    model = onnx_file(tmp_path, SQUARE)
    line = refused(capsys, tmp_path, "tosa", model, "-o", tmp_path / "m.tosa")
    assert line.endswith(f"torch-mlir and tosa-tools are not installed: {install_command('tosa')}")


# --- the report -----------------------------------------------------------------------------------------------------


def test_the_table_tells_the_operators_the_runs_and_each_output() -> None:
    lines = table(DONE).splitlines()
    assert (
        "valid TOSA 1.0, level 8k: 3 operators (tosa.add 2, tosa.custom:Own 1), by torch-mlir 1, tosa-tools 2" in lines
    )
    assert "custom operators are kept: tosa.custom:Own" in lines
    assert "run: agrees over 3 runs beside onnxruntime (optimizations off): at most 1e-06 of an output's range" in lines
    assert "  'y': 2.5e-05, 1e-06 of its range" in lines
    assert "  'score': 7e-06, constant" in lines


def test_a_refusal_names_the_findings_that_said_so_beforehand() -> None:
    done = Conversion("refused", "torch-mlir", "torch-mlir: failed to legalize torch.prim.Loop at 'rnn'")
    line = unwritten(replace(DONE, output=None, sites=(STOPPED,), conversion=done))
    assert line == (
        "m.onnx: nothing written, not converted: torch-mlir: failed to legalize torch.prim.Loop at 'rnn'; "
        "named beforehand: GF305 LSTM 'rnn': it loops"
    )


def test_the_markdown_report_has_the_differences_and_the_operators() -> None:
    lines = registry.TEXTS["markdown"]([DONE]).splitlines()
    assert "| `y` | 2.5e-05 | 1e-06 | yes |" in lines
    assert "| `score` | 7e-06 | constant | yes |" in lines
    assert "| `tosa.custom:Own` | 1 |" in lines


@pytest.mark.tosa
def test_what_no_converter_takes_is_not_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError

    monkeypatch.setattr("graphfix.checker.verify", never)
    monkeypatch.setattr(tosa, "convert", never)
    model = onnx_file(tmp_path, "g (float[4] x) => (int64[1,N] y) {y = NonZero(x)}")
    said = ask(capsys, "tosa", model, "-o", tmp_path / "out.tosa", "-q")
    assert said.status == 2
    assert "no converter takes what is named beforehand, so none was asked; named beforehand: GF305 NonZero" in said.err
    assert list(listing(tmp_path)) == ["m.onnx"]


@pytest.mark.ci
@pytest.mark.tosa
def test_the_seconds_of_each_tool_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx_file(tmp_path, SQUARE)
    seconds = json.loads(ask(capsys, "tosa", model, "-o", tmp_path / "o.tosa", "--run", "--json").out)["seconds"]
    assert {"convert", "validate", "run"} <= seconds.keys()
    assert all(spent > 0 for spent in seconds.values())


# --- the tools ------------------------------------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.tosa
def test_a_model_becomes_a_tosa_file_with_its_bytecode_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx_file(tmp_path, SQUARE)
    said = ask(capsys, "tosa", model, "-o", tmp_path / "out.tosa", "--run", "--json")
    assert (said.status, said.err) == (0, "")
    assert sorted(listing(tmp_path)) == ["m.onnx", "out.mlirbc", "out.tosa"]
    conversion = json.loads(said.out)["conversion"]
    assert (conversion["status"], conversion["bytecode"]) == ("agrees", str(tmp_path / "out.mlirbc"))
    assert conversion["operators"]["tosa.mul"] == 1
    assert conversion["gaps"][0]["relative"] < 1e-6
    x, b = np.array([[-1, 2, -3], [4, -5, 6]], np.float32), np.array([1, 10, 100], np.float32)
    answer = tosa.run(tmp_path / "out.tosa", [x, b])
    assert answer.status == "valid"
    assert np.array_equal(answer.outputs[0], x * x + b)
    assert tosa.validate(tmp_path / "out.mlirbc").valid


@pytest.mark.ci
@pytest.mark.tosa
def test_the_bits_are_those_of_the_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tflite(tmp_path, "y[2,3] = ATAN2(a[2,3], b[2,3])")
    asked = [
        ask(capsys, "tosa", model, "-o", tmp_path / "o.tosa", "--run", "--json", "--seed", seed) for seed in (5, 5, 6)
    ]
    gaps = [json.loads(said.out)["conversion"]["gaps"] for said in asked]
    assert gaps[0] == gaps[1] != gaps[2]


@pytest.mark.ci
@pytest.mark.tosa
@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("y[2,3] = FLOOR_MOD(a[2,3], b[2,3])", 2, "so none was asked; named beforehand: GF305 FLOOR_MOD#0"),
        (
            "y[2,3] = POW(a[2,3], b[2,3])",
            1,
            "run: unpredictable over 1 run beside LiteRT (reference kernels): tosa.pow met values",
        ),
        ("y:uint8[2,3] = ADD(a:uint8[2,3], b:uint8[2,3])", 2, "named beforehand: GF305 ADD#0"),
        ("y[2,3] = CUSTOM.Own(x[2,3])\nz[2,3] = ABS(y)", 3, "only their owner runs: Own; without --run it is written"),
    ],
    ids=["FLOOR_MOD", "POW", "uint8", "custom"],
)
def test_a_run_that_does_not_agree_writes_nothing_and_says_why(
    text: str, status: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tflite(tmp_path, text)
    answer = ask(capsys, "tosa", model, "-o", tmp_path / "o.tosa", "--run", "--no-verify", "-q")
    assert (answer.status, answer.out) == (status, "")
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert sorted(listing(tmp_path)) == ["m.tflite"]


@pytest.mark.ci
@pytest.mark.tosa
def test_a_custom_operator_is_kept_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tflite(tmp_path, "y[2,3] = CUSTOM.Own(x[2,3])\nz[2,3] = ABS(y)")
    said = ask(capsys, "tosa", model, "-o", tmp_path / "o.tosa")
    assert (said.status, said.err) == (0, "")
    assert "custom operators are kept: tosa.custom:Own" in said.out


@pytest.mark.ci
@pytest.mark.tosa
def test_given_inputs_are_what_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx_file(tmp_path, ANY_POWER)
    for name, sign in (("plus", 1), ("minus", -1)):
        np.savez(
            tmp_path / f"{name}.npz", x=np.full((2, 3), 1.5 * sign, np.float32), e=np.full((2, 3), 2.5, np.float32)
        )
    asked = ("tosa", model, "-o", tmp_path / "o.tosa", "--run", "-q", "--inputs", tmp_path / "plus.npz")
    assert ask(capsys, *asked).status == 0
    assert ask(capsys, *asked, "--inputs", tmp_path / "minus.npz").status == 1


@pytest.mark.ci
@pytest.mark.tosa
def test_an_older_output_stays_where_the_new_one_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "o.tosa").write_bytes(b"older")
    (tmp_path / "o.mlirbc").write_bytes(b"older")
    model = tflite(tmp_path, "y:uint8[2,3] = ADD(a:uint8[2,3], b:uint8[2,3])")
    assert ask(capsys, "tosa", model, "-o", tmp_path / "o.tosa", "-q").status == 2
    assert (tmp_path / "o.tosa").read_bytes() == (tmp_path / "o.mlirbc").read_bytes() == b"older"


@pytest.mark.ci
@pytest.mark.tosa
def test_free_sizes_are_asked_for_with_the_options_that_bind_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = onnx_file(tmp_path, "g (float[N,3] x) => (float[N,3] y) {y = Neg(x)}")
    line = refused(capsys, tmp_path, "tosa", model, "-o", tmp_path / "o.tosa")
    assert "--shape x=1,3" in line
    assert ask(capsys, "tosa", model, "-o", tmp_path / "o.tosa", "--dim", "N=4", "--run", "-q").status == 0
    assert [d.dim_param for d in onnx.load(model).graph.input[0].type.tensor_type.shape.dim] == ["N", ""]


# --- what the converted model is run beside ---------------------------------------------------------------------------


def test_the_original_of_a_run_is_the_file_or_the_signature_that_is_asked_for(tmp_path: Path) -> None:
    signatures = {"one": Signature("main", {"a": "x"}, {"b": "y"}), "two": Signature("second", {"a": "z"}, {"b": "w"})}
    several, single, onnx = tmp_path / "several.tflite", tmp_path / "single.tflite", tmp_path / "m.onnx"
    several.write_bytes(tflite_model("y[3] = NEG(x[3])\nsubgraph second:\nw[4] = ABS(z[4])", signatures=signatures))
    single.write_bytes(tflite_model("y[3] = NEG(x[3])"))
    onnx.write_bytes(model("y[3] = Neg(x[3])").SerializeToString())
    for path in (single, onnx):
        assert command._original(path, tmp_path, Request()) == path
    with pytest.raises(GraphfixError, match=f"{several}: .*signature"):
        command._original(several, tmp_path, Request())
    made = command._original(several, tmp_path, Request(signature="two"))
    assert made == tmp_path / "original.tflite"
    assert [str(node) for node in load(made).graphs[0].nodes] == ["w[4] = ABS(z[4])"]
