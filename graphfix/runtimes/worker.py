"""The child process of a runtime or of a TOSA tool: it reads pickled messages and writes pickled answers.

Without a verb on the command line, it serves graphfix.runtimes.process and stores sessions, each under a number:

    ("import", modules ...)                                  no answer
    ("load", number, numbers to drop, runtime, model,
     options)                                                ("done", the session's interface)
    ("ask", number, method, arguments ...)                   ("done", the result of the session's method)
    ("call", module, function, arguments ...)                ("done", the result of a function of this package)

Instead of "done", an answer may be ("refused", message, missing_kernel, custom), or ("fault", the Fault of an
unexpected exception). The process ends at the end of its input.

With a verb, it does one task for graphfix.runtimes.tosa. The arguments are pickled on the standard input:

    tflite  (model, made)           tosa-converter-for-tflite writes bytecode to `made`
    onnx    (model, made, narrow)   torch-mlir writes bytecode to `made`
    run     (tosa, inputs)          the reference model runs the file; the answer is (outputs, status)

The answer, ("done", value), ("refused", message) or ("fault", Fault), is pickled into the file that the second argument
of the command line contains. It is not printed, because the tools print to the standard output and error themselves.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from graphfix.results.faults import Fault
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    import onnx

_MODULES = {"onnxruntime": "graphfix.runtimes.onnx.onnxruntime", "LiteRT": "graphfix.runtimes.litert.interpreter"}


_PIPELINES = ("torch-onnx-to-torch-backend-pipeline", "torch-backend-to-tosa-backend-pipeline")
_NARROWING = "func.func(tosa-narrow-i64-to-i32{aggressive-rewrite=1},canonicalize)"
"""MLIR passes that turn every int64 inside the function into int32. Casts of a type to itself are then removed."""
_ILLEGAL = re.compile(r"failed to legalize operation '(?P<op>[^']*)'")
_ONNX_NAME = re.compile(r'name = "(onnx\.[^"]+)"')
_PLACE = re.compile(r'loc\(.*?"([^"]*)"')
_LONGEST_MESSAGE = 4096
_ERRORS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, OSError, MemoryError)


def main() -> None:
    """Do the task of the command line's verb. Without a verb, serve requests until the input ends."""
    if sys.argv[1:]:
        use_tool(*sys.argv[1:])
        return
    # The process lives for one pair of models only, and garbage collection takes a fifth of the time of its imports.
    gc.disable()
    # Text that native code prints must not appear between the answers, so it is redirected to the standard error.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Read requests from a stream, and write the answer to each of them, until the requests end."""
    sessions: dict[int, Any] = {}
    answer: tuple[object, ...]
    while True:
        try:
            kind, *arguments = pickle.load(requests)  # noqa: S301 - the parent process writes them
        except EOFError:
            return
        if kind == "import":
            with suppress(Exception):  # The next request raises the same error and reports it.
                for name in arguments:
                    importlib.import_module(name)
            continue
        try:
            answer = "done", _called(*arguments) if kind == "call" else answered(sessions, kind, *arguments)
        except RefusedError as error:
            answer = "refused", str(error), error.missing_kernel, error.custom
        except MemoryError:
            answer = "refused", "there is no more memory", False, ""
        except Exception as error:  # noqa: BLE001 - a fault of graphfix: the parent raises it
            answer = "fault", Fault.of(error)
        pickle.dump(answer, answers, protocol=5)
        answers.flush()


def answered(sessions: dict[int, Any], kind: str, *arguments: Any) -> object:  # noqa: ANN401 - of a message
    """Load a model into `sessions` (by number), or call a method of one of them; return the result.

    Raises RefusedError.

    `kind` is "load" or "ask", and `arguments` are those of the message.
    """
    return _loaded(sessions, *arguments) if kind == "load" else _asked(sessions, *arguments)


def _called(module: str, function: str, *arguments: object) -> object:
    return getattr(importlib.import_module(module), function)(*arguments)


def _loaded(
    sessions: dict[int, Any], number: int, dropped: Sequence[int], runtime: str, model: object, options: dict[str, Any]
) -> object:
    """Drop the sessions `dropped`, load a model as session `number`, and return the session's interface."""
    # The old models are dropped before the new one is loaded, so that not all of them are in memory.
    for each in dropped:
        del sessions[each]
    sessions[number] = importlib.import_module(_MODULES[runtime]).load(model, **options)
    return sessions[number].interface


def _asked(sessions: dict[int, Any], number: int, method: str, *arguments: object) -> object:
    return getattr(sessions[number], method)(*arguments)


def use_tool(verb: str, answer: str) -> None:
    """Do one task by a TOSA tool, and write the answer to the file `answer`.

    The arguments are on the standard input.
    """
    arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - the parent process writes it
    try:
        result: tuple[object, ...] = ("done", _VERBS[verb](*arguments))
    except RefusedError as error:
        result = ("refused", str(error))
    except ImportError:
        # The tool's package is broken, not graphfix, so the parent process reports the last line of the standard error.
        raise
    except Exception as error:  # noqa: BLE001 - a fault of graphfix: the parent raises it
        result = ("fault", Fault.of(error))
    Path(answer).write_bytes(pickle.dumps(result, protocol=5))


def _convert_tflite(model: str, made: str) -> None:
    """Convert a TFLite file to MLIR bytecode in `made`. Raises RefusedError."""
    from tosa_converter_for_tflite import TosaConverterDebugInfo, TosaConverterOutputFormat
    from tosa_converter_for_tflite import tflite_flatbuffer_to_tosa_mlir as converted

    try:
        # Bytecode, because tosa-opt refuses booleans in the text form. No debug information, because it would contain
        # this path.
        converted(model, made, TosaConverterOutputFormat.Bytecode, TosaConverterDebugInfo.Disabled)
    except _ERRORS as error:
        raise RefusedError(f"{str(error).rstrip('.')} (it names no operator)") from None


def _convert_onnx(model: str, made: str, narrow: bool) -> None:
    """Convert an ONNX file to MLIR bytecode in `made`. Raises RefusedError.

    `narrow` promises that every int64 of the model fits into int32, so all of them become int32.
    """
    from torch_mlir.dialects import torch as dialect
    from torch_mlir.extras.onnx_importer import Config, ModelInfo, NodeImporter, OnnxImportError
    from torch_mlir.ir import Context, MLIRError
    from torch_mlir.passmanager import PassManager

    context = Context()
    dialect.register_dialect(context)
    try:
        info = ModelInfo(_inferred(model), config=Config())
        module = info.create_module(context=context).operation
        NodeImporter.define_function(info.main_graph, module).import_all()
        module.verify()
        with context:
            for pipeline in (*_PIPELINES, *([_NARROWING] if narrow else [])):
                PassManager.parse(f"builtin.module({pipeline})").run(module)
        with Path(made).open("wb") as file:
            module.write_bytecode(file)
    except MLIRError as error:
        raise RefusedError(_diagnosed(error.error_diagnostics) or error.message) from None
    except (OnnxImportError, *_ERRORS) as error:
        raise RefusedError(str(error) or type(error).__name__) from None


def _inferred(model: str) -> onnx.ModelProto:
    """Return an ONNX model with the shapes that onnx infers. If the inference fails, the stored shapes remain.

    torch-mlir needs these shapes. A wrong shape can only make the conversion fail, or its result differ from the
    original, so no verdict depends on them. Raises RefusedError if the file is not ONNX.
    """
    import onnx
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]  # protobuf ships no stubs
    from onnx.shape_inference import InferenceError, infer_shapes

    try:
        proto = onnx.load(model)
    except DecodeError as error:
        raise RefusedError(f"{model} is no ONNX file: {error}") from None
    _drop_empty_names(proto)
    try:
        return infer_shapes(proto, data_prop=True)
    except (InferenceError, ValueError):  # ValueError: a message may have at most 2 GB.
        return proto


def _drop_empty_names(proto: onnx.ModelProto) -> None:
    """Remove empty names at the end of operands and results in the main graph; torch-mlir often fails on such names.

    An empty name means the same as a missing name only if the operand or result is optional. A part of a Split is not
    optional, so its empty name remains.
    """
    import onnx

    version = next((each.version for each in proto.opset_import if each.domain in ("", "ai.onnx")), 1)
    for node in proto.graph.node:
        if node.domain not in ("", "ai.onnx") or not onnx.defs.has(node.op_type, version, ""):
            continue
        schema = onnx.defs.get_schema(node.op_type, version, "")
        for names, formal in ((node.input, schema.inputs), (node.output, schema.outputs)):
            while names and not names[-1] and len(names) <= len(formal):
                if formal[len(names) - 1].option != onnx.defs.OpSchema.FormalParameterOption.Optional:
                    break
                del names[-1]


def _diagnosed(diagnostics: Iterable[Any]) -> str:
    """Return MLIR's first error: the operator that can't be converted (its ONNX name if possible) and the node.

    The text is empty if there are no errors.
    """
    for diagnostic in diagnostics:
        message = diagnostic.message[:_LONGEST_MESSAGE]
        illegal = _ILLEGAL.match(message)
        match = _ONNX_NAME.search(message)
        if illegal is not None:
            message = f"failed to legalize {match[1] if match else illegal['op']}"
        place = _PLACE.match(str(diagnostic.location)[:_LONGEST_MESSAGE])
        return f"{message} at '{place[1]}'" if place and place[1] else message
    return ""


def _run_tosa(tosa: str, inputs: list[Any]) -> tuple[list[Any], str]:
    """Run a TOSA flatbuffer in the reference model; return (outputs, "valid" or "unpredictable").

    Raises RefusedError.
    """
    import numpy as np
    import tosa_reference_model as reference

    values = [np.ascontiguousarray(value) for value in inputs]
    try:
        # No level is set, because tosa-opt has already checked it, and the reference model ends the process if it is
        # exceeded.
        outputs, status = reference.run(Path(tosa).read_bytes(), values)
    except _ERRORS as error:
        raise RefusedError(str(error) or type(error).__name__) from None
    if status == reference.GraphStatus.TOSA_ERROR:
        raise RefusedError("the reference model refuses the graph or its inputs (TOSA_ERROR)")
    # TOSA has no empty tensors. An empty output means that the Python binding could not return the output and only
    # warned.
    if any(output.size == 0 for output in outputs):
        raise RefusedError("the reference model returns no values for an output")
    return outputs, "valid" if status == reference.GraphStatus.TOSA_VALID else "unpredictable"


_VERBS: dict[str, Callable[..., object]] = {"tflite": _convert_tflite, "onnx": _convert_onnx, "run": _run_tosa}

if __name__ == "__main__":
    main()
