"""What is made of the answers of the TOSA tools, with stand-ins for their processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphfix.results import GraphfixError
from graphfix.results.faults import Fault, InternalError
from graphfix.runtimes import tosa
from graphfix.runtimes.process import Ended
from graphfix.runtimes.session import RefusedError

WELL = Ended("", False, (), "")


class Tools:
    """Stands in for the processes: each writes files, and ends as a test says, the next in its turn."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.ends: list[Ended] = []
        self.answer: object = None
        self.written: list[Mapping[str, str]] = []
        self.commands: list[Sequence[str]] = []
        self.given: Any = None
        patch.setattr(tosa, "finished", self.finished)
        patch.setattr(tosa, "_absent", lambda _: False)
        patch.setattr(tosa, "_tosa_opt", lambda: "tosa-opt")

    def finished(
        self,
        _: str,
        command: Sequence[str],
        complaint: Callable[[str], str],
        *,
        given: bytes = b"",
        folder: Path | None = None,
        seconds: float,
    ) -> Ended:
        assert seconds == 2.5
        assert complaint("Assertion `x' failed") == "Assertion `x' failed"
        self.commands.append(command)
        if given:
            self.given = pickle.loads(given)  # noqa: S301 - written here
        if self.answer is not None:
            Path(command[-1]).write_bytes(pickle.dumps(self.answer))
        for name, text in self.written.pop(0).items() if self.written else ():
            assert folder is not None
            (folder / name).write_text(text, encoding="utf-8")
        return self.ends.pop(0) if self.ends else WELL


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> Tools:
    return Tools(monkeypatch)


@pytest.mark.parametrize(
    ("ended", "answer", "said", "aborted"),
    [
        (Ended("SIGABRT", True, ("a", "b"), "c"), None, "tosa-tools aborts the process (SIGABRT): a", True),
        (Ended("SIGSEGV", True, (), "c"), None, "tosa-tools aborts the process (SIGSEGV): c", True),
        (Ended("SIGSEGV", True, (), ""), None, "tosa-tools aborts the process (SIGSEGV)", True),
        (Ended("SIGSEGV", True, (), ""), ("done", 1), "tosa-tools aborts the process (SIGSEGV)", True),
        (Ended("exit status 1", False, (), "no libz"), None, "tosa-tools fails: no libz", True),
        (Ended("", False, (), ""), None, "tosa-tools fails", True),
        (Ended("", False, ("a", "b"), "c"), ("refused", "d"), "tosa-tools: a", False),
        (Ended("", False, (), "c"), ("refused", "d\ne"), "tosa-tools: d e", False),
    ],
    ids=[
        "aborts with words",
        "aborts, and has printed something",
        "aborts without a word",
        "aborts behind its answer",
        "fails",
        "fails without a word",
        "refuses, and has complained",
        "refuses",
    ],
)
def test_a_tool_that_does_not_answer_is_refused_in_its_words(
    tools: Tools, ended: Ended, answer: object, said: str, aborted: bool
) -> None:
    tools.ends, tools.answer = [ended], answer
    with pytest.raises(RefusedError) as refused:
        tosa.run(Path("m.tosa"), [], seconds=2.5)
    assert (str(refused.value), refused.value.aborted) == (said, aborted)


def test_a_fault_of_graphfix_in_the_process_of_a_tool_is_raised(tools: Tools) -> None:
    tools.answer = ("fault", Fault.of(KeyError("x")))
    with pytest.raises(InternalError, match="KeyError: 'x'"):
        tosa.run(Path("m.tosa"), [], seconds=2.5)


@pytest.mark.parametrize(
    ("said", "reason"),
    [((), None), (("other", "OpPow: x is less than 0", "OpDiv: y"), "OpPow: x is less than 0"), (("other",), None)],
)
def test_what_the_reference_model_computes_is_returned_with_what_it_met(
    tools: Tools, said: tuple[str, ...], reason: str | None
) -> None:
    tools.answer = ("done", ([np.float32([1])], "unpredictable"))
    tools.ends = [Ended("", False, said, "")]
    found = tosa.run(Path("m.tosa"), (np.float32([2]),), seconds=2.5)
    assert ([output.tolist() for output in found.outputs], found.status, found.reason) == (
        [[1]],
        "unpredictable",
        reason,
    )
    assert list(tools.commands[0][2:5]) == ["-m", "graphfix.runtimes.worker", "run"]
    assert tools.given == (str(Path("m.tosa").resolve()), [np.float32([2])])


@pytest.mark.parametrize(
    ("tool", "verb", "narrow", "more"),
    [
        (tosa.CONVERTER, "tflite", True, ()),
        (tosa.TORCH_MLIR, "onnx", True, (True,)),
        (tosa.TORCH_MLIR, "onnx", False, (False,)),
    ],
)
def test_a_file_is_converted_by_the_tool_of_its_format(
    tools: Tools,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    tool: str,
    verb: str,
    narrow: bool,
    more: Sequence[bool],
) -> None:
    moved: list[tuple[str, Path]] = []
    monkeypatch.setattr(tosa.shutil, "move", lambda made, out: moved.append((str(made), out)))
    model = tmp_path / "m"
    model.touch()
    tools.answer = ("done", None)
    tosa.convert(tool, model, tmp_path / "out", narrow=narrow, seconds=2.5)
    given, made, *rest = tools.given
    assert (given, tuple(rest), tools.commands[0][4]) == (str(model), tuple(more), verb)
    assert moved == [(made, tmp_path / "out")]


def test_a_model_that_can_not_be_read_is_told_before_any_tool_is_asked(tools: Tools, tmp_path: Path) -> None:
    with pytest.raises(GraphfixError, match="none: No such file or directory; give the path of a TFLite or ONNX file"):
        tosa.convert(tosa.CONVERTER, tmp_path / "none", tmp_path / "out", seconds=2.5)
    assert tools.commands == []


LISTED = """"builtin.module"() ({
  "func.func"() <{sym_name = "main"}> ({
    %0 = "tosa.add"(%a, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %1 = "tosa.add"(%0, %b) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %2 = "tosa.custom"(%1) <{operator_name = "Frob", domain_name = "d"}> : (tensor<2xf32>) -> tensor<2xf32>
    %3 = "tosa.custom"<{}>(%1) : (tensor<2xf32>) -> tensor<2xf32>
    "func.return"(%2) : (tensor<2xf32>) -> ()
"""
LEFT = '%0 = "tfl.elu"(%a) : x\n%1 = "tfl.elu"(%0) : x\n%2 = "tfl.cos"(%1) : x\n"func.return"(%2) : x\n'
MADE = {"made.tosa": "graph"}
UNKNOWN = Ended("", False, ("operation 'x.y' is unknown",), "")


def test_the_operators_of_a_module_that_conforms_are_counted_and_it_is_kept(tools: Tools, tmp_path: Path) -> None:
    tools.written = [{"listing.mlir": LISTED, **MADE}]
    found = tosa.validate(tmp_path / "m.mlirbc", tmp_path / "m.tosa", seconds=2.5)
    assert found.valid
    assert found.operators == {"tosa.add": 2, "tosa.custom:Frob": 1, "tosa.custom": 1}
    assert (tmp_path / "m.tosa").read_text(encoding="utf-8") == "graph"
    assert len(tools.commands) == 1
    assert tools.commands[0][:2] == ["tosa-opt", str(tmp_path / "m.mlirbc")]


@pytest.mark.parametrize(
    ("ends", "written", "errors"),
    [
        ([WELL], [{}], ("tosa-opt wrote no flatbuffer, and does not say why",)),
        ([Ended("", False, ("a", "b"), "c")], [MADE], ("a", "b")),
        ([Ended("SIGABRT", True, (), "c")], [MADE], ("tosa-opt ends with SIGABRT: c",)),
        ([Ended("SIGABRT", True, ("a",), "c")], [MADE], ("a",)),
        (
            [Ended("", False, ("a",), "c")],
            [{"listing.mlir": LEFT, **MADE}],
            ("operators that were not converted are left: tfl.elu (2), tfl.cos (1)",),
        ),
        (
            [UNKNOWN, WELL],
            [{}, {"listing.mlir": LEFT}],
            ("operators that were not converted are left: tfl.elu (2), tfl.cos (1)",),
        ),
        ([UNKNOWN, WELL], [MADE, {}], UNKNOWN.errors),
        ([UNKNOWN, Ended("", False, ("d",), "")], [{}, {}], ("d",)),
    ],
    ids=[
        "nothing was written",
        "it complains",
        "it aborts",
        "it aborts with words",
        "operators are left",
        "they are of an unknown dialect",
        "an unknown dialect, and nothing more is said",
        "an unknown dialect, and another error",
    ],
)
def test_what_is_wrong_with_a_module_is_said_and_it_is_not_kept(
    tools: Tools, tmp_path: Path, ends: list[Ended], written: list[Mapping[str, str]], errors: tuple[str, ...]
) -> None:
    tools.ends, tools.written = ends, written
    asked = len(ends)
    found = tosa.validate(tmp_path / "m.mlirbc", tmp_path / "m.tosa", seconds=2.5)
    assert (found.errors, found.valid, found.operators) == (errors, False, {})
    assert not (tmp_path / "m.tosa").exists()
    assert len(tools.commands) == asked
    assert [("--allow-unregistered-dialect" in command) for command in tools.commands] == [False, True][:asked]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("loc(\"y\"(\"m.tflite\":0:0)): error: 'tfl.prelu' op 'alpha' should", "tfl.prelu: 'alpha' should at 'y'"),
        ("<unknown>:0: error: loc(\"nn\"): 'tosa.const' op is not", "tosa.const: is not at 'nn'"),
        ("error: nothing is placed", "nothing is placed"),
        ("m.mlir:1:2: error: a word", "a word"),
        ("x.cc:5: Assertion `a' failed.", "Assertion `a' failed"),
        ("LLVM ERROR: out of memory", "LLVM ERROR: out of memory"),
        ("  OpPow: x is less than 0", "OpPow: x is less than 0"),
        ("in OpPow: x", ""),
        ("a warning", ""),
        ("", ""),
    ],
)
def test_a_line_that_complains_is_read(line: str, said: str) -> None:
    assert tosa._complaint(line) == said


def test_a_tool_is_absent_where_one_of_its_packages_is(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"torch_mlir", "onnx", "tosa_reference_model"}
    monkeypatch.setattr(tosa.importlib.util, "find_spec", lambda name: name if name in there else None)
    monkeypatch.setattr(tosa.metadata, "version", lambda tool: f"{tool} 1")
    assert tosa.versions() == {tool: f"{tool} 1" for tool in (tosa.TORCH_MLIR, tosa.TOSA_TOOLS)}
    there.remove("onnx")
    assert list(tosa.versions()) == [tosa.TOSA_TOOLS]
    with pytest.raises(RefusedError, match=r"^torch-mlir is not installed: pip install") as refused:
        tosa.convert(tosa.TORCH_MLIR, Path(__file__), Path("out"))
    assert refused.value.missing_kernel


def test_tools_that_were_built_without_tosa_opt_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Distribution:
        def locate_file(self, name: str) -> Path:
            return tmp_path / name

    monkeypatch.setattr(tosa, "_absent", lambda _: False)
    monkeypatch.setattr(tosa.metadata, "distribution", lambda _: Distribution())
    with pytest.raises(RefusedError, match="this tosa-tools was built without tosa-opt: pip install") as refused:
        tosa.validate(tmp_path / "m.mlirbc")
    assert refused.value.missing_kernel
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tosa-opt").touch()
    assert tosa._tosa_opt() == str(tmp_path / "bin" / "tosa-opt")
