"""What a probe prints, and what it takes for an answer that is none; with stand-ins for the runtimes and the tools."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from graphfix.runtimes import probe, tosa
from graphfix.runtimes.session import RefusedError

RIGHT, WRONG = [np.float32([4, 6])], [np.float32([4, 7])]


def raising(error: Exception) -> Callable[..., None]:
    def ask(*_: object) -> None:
        raise error

    return ask


@pytest.mark.parametrize(
    ("ask", "line"),
    [
        (lambda *_: None, "works"),
        (raising(RefusedError("no kernel\nfor it")), "no kernel for it"),
        (raising(KeyError("x")), "KeyError: 'x'"),
        (raising(ImportError("lib\udcff.so")), "ImportError: lib\\udcff.so"),
    ],
    ids=["works", "refuses", "breaks", "a name that is not UTF-8"],
)
def test_the_answer_is_one_line_behind_whatever_a_package_prints(
    monkeypatch: pytest.MonkeyPatch, ask: Callable[..., None], line: str
) -> None:
    def asked(*given: object) -> None:
        sys.stdout.write(" ".join(["hello", *map(str, given)]))
        ask()

    monkeypatch.setattr(probe, "RUNTIMES", {"own": asked})
    monkeypatch.setattr(probe, "TOOLS", {"tool": asked})
    for name, before in (("own", "hello"), ("tool", "hello 2.5")):
        printed = BytesIO()
        monkeypatch.setattr(sys, "stdout", TextIOWrapper(printed))
        probe.main(name, "2.5")
        assert printed.getvalue() == f"{before}\ngraphfix-probe: {line}\n".encode()


RUNTIMES = {
    "onnxruntime": ("graphfix.runtimes.onnx.onnxruntime.load", probe.ONNX, {}),
    "onnx": ("graphfix.runtimes.onnx.reference_evaluator.load", probe.ONNX, {}),
    "litert-reference": ("graphfix.runtimes.litert.interpreter.load", probe.TFLITE, {"kernels": "reference"}),
    "litert-builtin": ("graphfix.runtimes.litert.interpreter.load", probe.TFLITE, {"kernels": "builtin"}),
    "litert-xnnpack": ("graphfix.runtimes.litert.interpreter.load", probe.TFLITE, {"kernels": "xnnpack"}),
}


@pytest.mark.parametrize("name", RUNTIMES)
def test_a_runtime_is_asked_to_add(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    place, model, options = RUNTIMES[name]
    answers: list[list[Any]] = [RIGHT, WRONG, [], RIGHT * 2]

    def load(given: Path | bytes, **said: object) -> object:
        assert (given.read_bytes() if isinstance(given, Path) else given) == model
        assert said == options
        return SimpleNamespace(run=run)

    def run(feeds: dict[str, Any]) -> list[Any]:
        assert {key: (value.dtype.name, value.tolist()) for key, value in feeds.items()} == {"x": ("float32", [3, 4])}
        return answers.pop(0)

    monkeypatch.setattr(place, load)
    probe.RUNTIMES[name]()
    while answers:
        with pytest.raises(RefusedError, match=r"^\[3, 4\] \+ \[1, 2\] comes out as \["):
            probe.RUNTIMES[name]()


@pytest.mark.parametrize(
    ("identified", "operators", "works"), [(True, 1, True), (True, 2, False), (True, 0, False), (False, 1, False)]
)
def test_the_reader_of_tflite_is_asked_for_one_operator(
    monkeypatch: pytest.MonkeyPatch, identified: bool, operators: int, works: bool
) -> None:
    graphs = [SimpleNamespace(OperatorsLength=lambda: operators)]
    model = SimpleNamespace(
        GetRootAs=lambda content: SimpleNamespace(Subgraphs=graphs.__getitem__) if content == probe.TFLITE else None,
        ModelBufferHasIdentifier=lambda content, offset: identified and (content, offset) == (probe.TFLITE, 0),
    )
    monkeypatch.setitem(sys.modules, "tflite", SimpleNamespace(Model=model))  # type: ignore[arg-type]
    if works:
        probe.RUNTIMES["tflite"]()
        return
    with pytest.raises(RefusedError, match="the tables of a model of one ADD are read otherwise"):
        probe.RUNTIMES["tflite"]()


@pytest.mark.parametrize(
    ("name", "tool", "file", "model"),
    [
        ("tosa-converter-for-tflite", tosa.CONVERTER, "add.tflite", probe.TFLITE),
        ("torch-mlir", tosa.TORCH_MLIR, "add.onnx", probe.ONNX),
    ],
)
def test_a_converter_is_asked_for_a_file_that_is_not_empty(
    monkeypatch: pytest.MonkeyPatch, name: str, tool: str, file: str, model: bytes
) -> None:
    content = b"MLIR"

    def convert(asked: str, given: Path, made: Path, *, seconds: float) -> None:
        assert (asked, given.name, given.read_bytes(), seconds) == (tool, file, model, 2.5)
        made.write_bytes(content)

    monkeypatch.setattr(tosa, "convert", convert)
    probe.TOOLS[name](2.5)
    content = b""
    with pytest.raises(RefusedError, match=f"^{tool} writes an empty file$"):
        probe.TOOLS[name](2.5)


def test_the_tools_of_tosa_are_asked_to_check_and_to_add(monkeypatch: pytest.MonkeyPatch) -> None:
    errors: tuple[str, ...] = ()
    outputs = RIGHT

    def validate(given: Path, made: Path, *, seconds: float) -> tosa.Validation:
        assert (given.read_text(encoding="utf-8"), seconds) == (probe.MLIR, 2.5)
        made.write_bytes(b"graph")
        return tosa.Validation(errors)

    def run(graph: Path, inputs: list[Any], *, seconds: float) -> tosa.Computed:
        assert (graph.read_bytes(), [each.tolist() for each in inputs], seconds) == (b"graph", [[3, 4], [1, 2]], 2.5)
        return tosa.Computed(outputs, "valid")

    monkeypatch.setattr(tosa, "validate", validate)
    monkeypatch.setattr(tosa, "run", run)
    probe.TOOLS["tosa-tools"](2.5)
    outputs = WRONG
    with pytest.raises(RefusedError, match=r"comes out as \[\[4\.0, 7\.0\]\]"):
        probe.TOOLS["tosa-tools"](2.5)
    errors = ("a", "b")
    with pytest.raises(RefusedError, match=r"^tosa-opt refuses a module of one add: a$"):
        probe.TOOLS["tosa-tools"](2.5)
