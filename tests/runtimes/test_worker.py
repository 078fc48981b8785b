"""The process of a runtime or of a TOSA tool, called in this one with stand-ins for the runtimes and the tools."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import numpy as np
import onnx
import pytest
from onnx import helper

from graphfix.results.faults import Fault
from graphfix.runtimes import worker
from graphfix.runtimes.session import RefusedError
from tests.support.notation import model


def module(patch: pytest.MonkeyPatch, name: str, **members: object) -> None:
    """Make as if a module were installed."""
    made = ModuleType(name)
    for key, value in members.items():
        setattr(made, key, value)
    patch.setitem(sys.modules, name, made)


def raising(error: BaseException) -> Callable[..., object]:
    def call(*_: object, **__: object) -> object:
        raise error

    return call


# --- requests ---------------------------------------------------------------------------------------------------------


def answers(*messages: tuple[object, ...]) -> list[tuple[Any, ...]]:
    """What is answered to messages."""
    requests, written = BytesIO(b"".join(map(pickle.dumps, messages))), BytesIO()
    worker.serve(requests, written)
    written.seek(0)
    found = []
    while written.tell() < len(written.getvalue()):
        found.append(pickle.load(written))  # noqa: S301 - written here
    return found


def test_each_call_is_answered_and_an_import_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "asked_for.py").write_text("def twice(number):\n    return 2 * number\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    imports = ("import", "asked_for"), ("import", "there_is.none")
    assert answers(*imports) == []
    assert "asked_for" in sys.modules
    monkeypatch.delitem(sys.modules, "asked_for")
    assert answers(*imports, ("call", "asked_for", "twice", 4), ("call", "asked_for", "twice", "ab")) == [
        ("done", 8),
        ("done", "abab"),
    ]
    monkeypatch.delitem(sys.modules, "asked_for")


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (RefusedError("no kernel", missing_kernel=True, custom="Frob"), ("refused", "no kernel", True, "Frob")),
        (RefusedError("no file"), ("refused", "no file", False, "")),
        (MemoryError(), ("refused", "there is no more memory", False, "")),
    ],
    ids=["a kernel is missing", "refused", "no memory"],
)
def test_a_refusal_is_an_answer_and_the_next_request_is_answered(
    monkeypatch: pytest.MonkeyPatch, error: Exception, answer: tuple[object, ...]
) -> None:
    module(monkeypatch, "stand_in", refuse=raising(error))
    assert answers(("call", "stand_in", "refuse"), ("call", "math", "sqrt", 4.0)) == [answer, ("done", 2.0)]


def test_an_answer_is_sent_before_the_next_request_is_read() -> None:
    sent: list[int] = []

    class Answers(BytesIO):
        def flush(self) -> None:
            sent.append(len(self.getvalue()))

    written = Answers()
    worker.serve(BytesIO(pickle.dumps(("call", "math", "sqrt", 4.0))), written)
    assert sent[-1:] == [len(written.getvalue())]


def test_an_unexpected_exception_is_a_fault_and_the_next_request_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    module(monkeypatch, "stand_in", fail=raising(KeyError("x")))
    (kind, fault), after = answers(("call", "stand_in", "fail"), ("call", "math", "sqrt", 4.0))
    assert kind == "fault"
    assert isinstance(fault, Fault)
    assert "KeyError: 'x'" in str(fault)
    assert after == ("done", 2.0)


def test_a_session_is_loaded_asked_by_its_number_and_dropped_before_the_next_comes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held: list[list[int]] = []
    sessions: dict[int, Any] = {}

    def load(model: str, *, kernels: str) -> object:
        held.append(sorted(sessions))
        return SimpleNamespace(interface=f"of {model} by {kernels}", run=lambda one, two: (model, one, two))

    module(monkeypatch, "stand_in", load=load)
    monkeypatch.setattr(worker, "_MODULES", {"own": "stand_in"})
    for number, dropped, name in ((1, (), "a"), (2, (), "b"), (3, (1, 2), "c")):
        said = worker.answered(sessions, "load", number, dropped, "own", name, {"kernels": "k"})
        assert said == f"of {name} by k"
    assert held == [[], [1], []]
    assert worker.answered(sessions, "ask", 3, "run", 5, 6) == ("c", 5, 6)
    with pytest.raises(KeyError):
        worker.answered(sessions, "ask", 1, "run", 5, 6)


def test_without_a_verb_requests_are_served_and_what_native_code_prints_goes_to_stderr(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[object] = []
    system = SimpleNamespace(
        dup=lambda number: number + 40,
        fdopen=lambda number, mode: (number, mode),
        dup2=lambda *pair: done.append(pair),
    )
    monkeypatch.setattr(worker, "os", system)
    monkeypatch.setattr(worker, "gc", SimpleNamespace(disable=lambda: done.append("no collection")))
    monkeypatch.setattr(worker, "serve", lambda requests, answers: done.append((requests, answers)))
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer="requests"))
    monkeypatch.setattr(sys, "argv", ["worker.py"])
    worker.main()
    assert done == ["no collection", (2, 1), ("requests", (41, "wb"))]


# --- a tool does one thing --------------------------------------------------------------------------------------------


def used(patch: pytest.MonkeyPatch, folder: Path, verb: Callable[..., object]) -> tuple[Any, ...]:
    """What a verb writes that is given 1 and 2."""
    patch.setitem(worker._VERBS, "run", verb)
    patch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(pickle.dumps((1, 2)))))
    patch.setattr(sys, "argv", ["worker.py", "run", str(folder / "answer")])
    worker.main()
    answer: tuple[Any, ...] = pickle.loads((folder / "answer").read_bytes())  # noqa: S301 - written here
    return answer


def test_what_a_tool_answers_is_written_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert used(monkeypatch, tmp_path, lambda one, two: [two, one]) == ("done", [2, 1])
    assert used(monkeypatch, tmp_path, raising(RefusedError("no"))) == ("refused", "no")
    kind, fault = used(monkeypatch, tmp_path, raising(KeyError("x")))
    assert kind == "fault"
    assert "KeyError: 'x'" in str(fault)


def test_a_tool_that_can_not_be_imported_answers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ImportError, match="libfoo"):
        used(monkeypatch, tmp_path, raising(ImportError("libfoo.so is not there")))
    assert not (tmp_path / "answer").exists()


def test_a_tflite_file_becomes_bytecode_without_debug_info(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[object, ...]] = []
    names = {
        "TosaConverterDebugInfo": SimpleNamespace(Disabled="no debug info"),
        "TosaConverterOutputFormat": SimpleNamespace(Bytecode="bytecode"),
    }

    def converted(*arguments: object) -> None:
        asked.append(arguments)

    module(monkeypatch, "tosa_converter_for_tflite", tflite_flatbuffer_to_tosa_mlir=converted, **names)
    worker._VERBS["tflite"]("m.tflite", "made")
    assert asked == [("m.tflite", "made", "bytecode", "no debug info")]
    failing = raising(RuntimeError("it can't."))
    module(monkeypatch, "tosa_converter_for_tflite", tflite_flatbuffer_to_tosa_mlir=failing, **names)
    with pytest.raises(RefusedError, match=r"^it can't \(it names no operator\)$"):
        worker._convert_tflite("m.tflite", "made")


# --- torch-mlir -------------------------------------------------------------------------------------------------------


class MLIRError(Exception):
    """As torch_mlir.ir has it."""

    def __init__(self, message: str, *diagnostics: object) -> None:
        super().__init__(message)
        self.message, self.error_diagnostics = message, diagnostics


class OnnxImportError(Exception):
    """As torch_mlir.extras.onnx_importer has it."""


class TorchMlir:
    """Stands in for the package, and notes what it is asked; `error` is raised by the passes."""

    def __init__(self, patch: pytest.MonkeyPatch, error: Exception | None = None) -> None:
        self.done: list[object] = []
        self.error = error
        dialect = SimpleNamespace(register_dialect=lambda context: self.done.append(f"dialect of {context}"))
        module(patch, "torch_mlir")
        module(patch, "torch_mlir.dialects", torch=dialect)
        module(patch, "torch_mlir.extras")
        module(
            patch,
            "torch_mlir.extras.onnx_importer",
            Config=lambda: "the configuration",
            ModelInfo=self.info,
            NodeImporter=self,
            OnnxImportError=OnnxImportError,
        )
        module(patch, "torch_mlir.ir", Context=lambda: self, MLIRError=MLIRError)
        module(patch, "torch_mlir.passmanager", PassManager=self)
        patch.setattr(worker, "_inferred", lambda model: f"shapes of {model}")

    def __str__(self) -> str:
        return "the context"

    def __enter__(self) -> Self:
        self.done.append("enter")
        return self

    def __exit__(self, *_: object) -> None:
        self.done.append("leave")

    def info(self, model: str, config: str) -> object:
        self.done.append((model, config))
        return SimpleNamespace(main_graph="graph", create_module=self.create)

    def create(self, context: object) -> object:
        assert context is self
        return SimpleNamespace(operation=self)

    def define_function(self, graph: str, _: object) -> object:
        return SimpleNamespace(import_all=lambda: self.done.append(f"import {graph}"))

    def verify(self) -> None:
        self.done.append("verify")

    def parse(self, pipeline: str) -> object:
        return SimpleNamespace(run=lambda _: self.passed(pipeline))

    def passed(self, pipeline: str) -> None:
        if self.error is not None:
            raise self.error
        self.done.append(pipeline)

    def write_bytecode(self, file: Any) -> None:  # noqa: ANN401 - a file
        file.write(b"MLIR")


PASSES = [
    "builtin.module(torch-onnx-to-torch-backend-pipeline)",
    "builtin.module(torch-backend-to-tosa-backend-pipeline)",
]
NARROWING = "builtin.module(func.func(tosa-narrow-i64-to-i32{aggressive-rewrite=1},canonicalize))"


@pytest.mark.parametrize(("narrow", "passes"), [(False, PASSES), (True, [*PASSES, NARROWING])])
def test_an_onnx_file_goes_through_the_passes_and_is_narrowed_where_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, narrow: bool, passes: list[str]
) -> None:
    tool = TorchMlir(monkeypatch)
    worker._VERBS["onnx"]("m.onnx", str(tmp_path / "made"), narrow)
    begin = ["dialect of the context", ("shapes of m.onnx", "the configuration"), "import graph", "verify", "enter"]
    assert tool.done == [*begin, *passes, "leave"]
    assert (tmp_path / "made").read_bytes() == b"MLIR"


def diagnostic(message: str, place: str = "loc(unknown)") -> object:
    return SimpleNamespace(message=message, location=place)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MLIRError("all", diagnostic("it failed", 'loc("node")')), "it failed at 'node'"),
        (MLIRError("all"), "all"),
        (OnnxImportError("an operator"), "an operator"),
        (OnnxImportError(), "OnnxImportError"),
        (ValueError("a value"), "a value"),
    ],
    ids=["a diagnostic", "none", "the importer", "without a word", "an error of Python"],
)
def test_what_torch_mlir_refuses_is_said_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    TorchMlir(monkeypatch, error)
    with pytest.raises(RefusedError) as refused:
        worker._convert_onnx("m.onnx", str(tmp_path / "made"), narrow=False)
    assert str(refused.value) == said
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("diagnostics", "said"),
    [
        ([], ""),
        ([diagnostic("one"), diagnostic("two")], "one"),
        ([diagnostic("one", 'loc("a/b"("m.onnx":1:2))')], "one at 'a/b'"),
        ([diagnostic("one", 'loc("")')], "one"),
        ([diagnostic("failed to legalize operation 'torch.one' that was illegal")], "failed to legalize torch.one"),
        (
            [diagnostic("failed to legalize operation 'torch.operator': x {name = \"onnx.Foo\"}", 'loc("n")')],
            "failed to legalize onnx.Foo at 'n'",
        ),
        ([diagnostic('a value of {name = "onnx.Foo"} is odd')], 'a value of {name = "onnx.Foo"} is odd'),
        ([diagnostic("x" * 5000)], "x" * 4096),
    ],
)
def test_the_first_diagnostic_names_the_operator_and_the_node(diagnostics: Sequence[object], said: str) -> None:
    assert worker._diagnosed(diagnostics) == said


def test_a_file_is_given_with_the_shapes_that_onnx_infers(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    made = model("t[2,3] = Neg(x[2,3])\ny[2,3] = Clip(t)")
    made.graph.node[1].input.extend(["", ""])
    del made.graph.value_info[:]
    onnx.save(made, path)
    given = worker._inferred(str(path))
    assert [[size.dim_value for size in info.type.tensor_type.shape.dim] for info in given.graph.value_info] == [[2, 3]]
    assert list(given.graph.node[1].input) == ["t"]


@pytest.mark.parametrize("error", [onnx.shape_inference.InferenceError("wrong"), ValueError("2 GB")], ids=repr)
def test_a_file_that_onnx_infers_no_shapes_for_is_given_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    path = tmp_path / "m.onnx"
    made = model("y[2,3] = Add(x[2,3], b[2,3])")
    onnx.save(made, path)
    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", raising(error))
    assert worker._inferred(str(path)) == made


def test_what_is_no_onnx_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\xff\xff\xff")
    with pytest.raises(RefusedError) as refused:
        worker._inferred(str(path))
    assert str(refused.value).startswith(f"{path} is no ONNX file: ")


@pytest.mark.parametrize(
    ("op", "inputs", "outputs", "left"),
    [
        ("Clip", "x,,", "y", ("x", "y")),
        ("Clip", "x,,m", "y", ("x,,m", "y")),
        ("Clip", "x,m,", "y", ("x,m", "y")),
        ("Add", "x,", "y", ("x,", "y")),
        ("Dropout", "x", "y,", ("x", "y")),
        ("Split", "x", "y,", ("x", "y,")),
        ("Max", "x,", "y", ("x,", "y")),
        ("own.Clip", "x,,", "y", ("x,,", "y")),
        ("ai.onnx.Clip", "x,,", "y", ("x", "y")),
        ("Nope", "x,,", "y", ("x,,", "y")),
    ],
)
def test_empty_names_at_the_end_go_where_they_mean_the_same_as_none(
    op: str, inputs: str, outputs: str, left: tuple[str, str]
) -> None:
    domain, _, name = op.rpartition(".")
    assert _without_empty_names(name, inputs, outputs, domain, [("", 13)]) == left


@pytest.mark.parametrize(
    ("sets", "left"),
    [
        ([("", 11)], "x"),
        ([("own", 6), ("ai.onnx", 11)], "x"),
        ([("", 6)], "x,,"),  # Clip had one input then
        ([("own", 13)], "x,,"),
    ],
)
def test_whether_a_name_is_optional_is_what_the_operator_set_of_the_file_says(
    sets: list[tuple[str, int]], left: str
) -> None:
    assert _without_empty_names("Clip", "x,,", "y", "", sets)[0] == left


def _without_empty_names(
    op: str, inputs: str, outputs: str, domain: str, sets: list[tuple[str, int]]
) -> tuple[str, str]:
    node = helper.make_node(op, inputs.split(","), outputs.split(","), domain=domain)
    imports = [helper.make_opsetid(*each) for each in sets]
    made = helper.make_model(helper.make_graph([node], "g", [], []), opset_imports=imports)
    worker._drop_empty_names(made)
    return ",".join(made.graph.node[0].input), ",".join(made.graph.node[0].output)


# --- the reference model ----------------------------------------------------------------------------------------------


def reference(patch: pytest.MonkeyPatch, run: Callable[..., object]) -> None:
    status = SimpleNamespace(TOSA_VALID="VALID", TOSA_UNPREDICTABLE="UNPREDICTABLE", TOSA_ERROR="ERROR")
    module(patch, "tosa_reference_model", run=run, GraphStatus=status)


@pytest.mark.parametrize(("status", "said"), [("VALID", "valid"), ("UNPREDICTABLE", "unpredictable")])
def test_the_reference_model_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: str, said: str) -> None:
    def run(graph: bytes, values: list[np.ndarray[Any, Any]]) -> tuple[list[np.ndarray[Any, Any]], str]:
        assert graph == b"graph"
        assert all(value.flags.c_contiguous for value in values)
        return [value + 1 for value in values], status

    (tmp_path / "m.tosa").write_bytes(b"graph")
    reference(monkeypatch, run)
    square = np.arange(4.0).reshape(2, 2)
    outputs, found = worker._run_tosa(str(tmp_path / "m.tosa"), [square.T, np.float32([5])])
    assert found == said
    assert [output.tolist() for output in outputs] == [[[1, 3], [2, 4]], [6]]


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (lambda *_: ([np.ones(1)], "ERROR"), "the reference model refuses the graph or its inputs (TOSA_ERROR)"),
        (lambda *_: ([np.ones(1), np.ones(0)], "VALID"), "the reference model returns no values for an output"),
        (raising(RuntimeError("it can't")), "it can't"),
        (raising(RuntimeError()), "RuntimeError"),
    ],
    ids=["an error", "no values", "an exception", "one without a word"],
)
def test_what_the_reference_model_does_not_compute_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Callable[..., object], said: str
) -> None:
    (tmp_path / "m.tosa").write_bytes(b"graph")
    reference(monkeypatch, run)
    with pytest.raises(RefusedError) as refused:
        worker._VERBS["run"](str(tmp_path / "m.tosa"), [])
    assert str(refused.value) == said
