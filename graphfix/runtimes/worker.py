"""The process of a runtime or of a TOSA tool: pickles in, pickles out.

Without a verb it holds sessions for graphfix.runtimes.process, each by a number. Messages: ("import", modules ...),
which has no answer; ("load", number, numbers to drop, runtime, model, options) -> ("done", the session's interface);
("ask", number, method, arguments ...) -> ("done", what the session's method returns); ("call", module, function,
arguments ...) -> ("done", what a function of this package returns). Each but the first may answer ("refused", message,
missing_kernel, custom), or ("fault", the Fault of an unexpected exception). The end of the input ends the process.

With a verb it does one thing for graphfix.runtimes.tosa, its arguments pickled on the standard input:

    tflite  (model, made)     tosa-converter-for-tflite writes bytecode to `made`
    onnx    (model, made)     torch-mlir does
    run     (tosa, inputs)    the reference model runs; answers (outputs, status)

The answer, ("done", value), ("refused", message) or ("fault", Fault), is pickled into the file that the command line
names, since the tools print to the standard output and error as they like.
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
"""Makes int32 of every int64 inside of the function; what is then a cast of a type to itself goes."""
_ILLEGAL = re.compile(r"failed to legalize operation '(?P<op>[^']*)'")
_ONNX_NAME = re.compile(r'name = "(onnx\.[^"]+)"')
_PLACE = re.compile(r'loc\(.*?"([^"]*)"')
_LONGEST_MESSAGE = 4096
_ERRORS = (RuntimeError, ValueError, TypeError, LookupError, AttributeError, OSError, MemoryError)


def main() -> None:
    """Do what the command line's verb says; without one serve requests until there are no more."""
    if sys.argv[1:]:
        use_tool(*sys.argv[1:])
        return
    gc.disable()  # the process lives for one pair of models; collecting takes a fifth of the time of its imports
    # what native code prints must not get between the answers
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer each request of a stream."""
    sessions: dict[int, Any] = {}
    answer: tuple[object, ...]
    while True:
        try:
            kind, *arguments = pickle.load(requests)  # noqa: S301 - the parent process writes them
        except EOFError:
            return
        if kind == "import":
            with suppress(Exception):  # the request behind it meets the same fault, and reports it
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
    """Load a model into one of these sessions, or ask one. Raises RefusedError."""
    return _loaded(sessions, *arguments) if kind == "load" else _asked(sessions, *arguments)


def _called(module: str, function: str, *arguments: object) -> object:
    return getattr(importlib.import_module(module), function)(*arguments)


def _loaded(
    sessions: dict[int, Any], number: int, dropped: Sequence[int], runtime: str, model: object, options: dict[str, Any]
) -> object:
    """Load a model, and return what its session says of it."""
    for each in dropped:  # the old model goes before the new one comes
        del sessions[each]
    sessions[number] = importlib.import_module(_MODULES[runtime]).load(model, **options)
    return sessions[number].interface


def _asked(sessions: dict[int, Any], number: int, method: str, *arguments: object) -> object:
    return getattr(sessions[number], method)(*arguments)


def use_tool(verb: str, answer: str) -> None:
    """Have a TOSA tool do one thing, and write what it answers to a file."""
    arguments = pickle.load(sys.stdin.buffer)  # noqa: S301 - the parent process writes it
    try:
        result: tuple[object, ...] = ("done", _VERBS[verb](*arguments))
    except RefusedError as error:
        result = ("refused", str(error))
    except ImportError:
        raise  # the tool's package is broken, not graphfix: the parent reports the last line of stderr
    except Exception as error:  # noqa: BLE001 - a fault of graphfix: the parent raises it
        result = ("fault", Fault.of(error))
    Path(answer).write_bytes(pickle.dumps(result, protocol=5))


def _convert_tflite(model: str, made: str) -> None:
    from tosa_converter_for_tflite import TosaConverterDebugInfo, TosaConverterOutputFormat
    from tosa_converter_for_tflite import tflite_flatbuffer_to_tosa_mlir as converted

    try:
        # bytecode: the text form writes booleans in a way that tosa-opt refuses; no debug info: it names this path
        converted(model, made, TosaConverterOutputFormat.Bytecode, TosaConverterDebugInfo.Disabled)
    except _ERRORS as error:
        raise RefusedError(f"{str(error).rstrip('.')} (it names no operator)") from None


def _convert_onnx(model: str, made: str, narrow: bool) -> None:
    """Convert an ONNX file; `narrow`: no int64 of it is larger than int32 holds, so that all become int32."""
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
    """Load an ONNX file with the shapes that onnx infers; where it can't, with those that are stored.

    A converter wants them. A wrong one can only cost the conversion, or its agreement with the original: no verdict.
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
    except (InferenceError, ValueError):  # ValueError: 2 GB is the most that a message may have
        return proto


def _drop_empty_names(proto: onnx.ModelProto) -> None:
    """Remove empty names at the end of the main graph's nodes; torch-mlir converts few operators with such names.

    Such a name means the same as no name if the operand or result is optional. A part of a Split is not, and stays.
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
    """Return MLIR's first error: the operator that it can't take, by its ONNX name if it has one still, and node."""
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
    import numpy as np
    import tosa_reference_model as reference

    values = [np.ascontiguousarray(value) for value in inputs]
    try:
        # without a level: tosa-opt has checked it, and the model ends the process where it is not kept
        outputs, status = reference.run(Path(tosa).read_bytes(), values)
    except _ERRORS as error:
        raise RefusedError(str(error) or type(error).__name__) from None
    if status == reference.GraphStatus.TOSA_ERROR:
        raise RefusedError("the reference model refuses the graph or its inputs (TOSA_ERROR)")
    # TOSA has no empty tensors: an output that the binding can't carry comes as one, with a warning only
    if any(output.size == 0 for output in outputs):
        raise RefusedError("the reference model returns no values for an output")
    return outputs, "valid" if status == reference.GraphStatus.TOSA_VALID else "unpredictable"


_VERBS: dict[str, Callable[..., object]] = {"tflite": _convert_tflite, "onnx": _convert_onnx, "run": _run_tosa}

if __name__ == "__main__":
    main()
