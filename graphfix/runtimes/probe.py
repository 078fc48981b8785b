"""Test whether one runtime or tool works, on a model with one Add.

`graphfix.runtimes.doctor` starts a process per test.

The model is y[2] = Add(x[2], b[2]) with b = [1, 2]. The answer is one line of the output that begins with `ANSWER`. The
prefix is necessary because a package may print other lines during its import, and may end the process with status 0.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from graphfix.runtimes.session import RefusedError, one_line

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

ANSWER = "graphfix-probe: "
WORKS = "works"

ONNX = base64.b64decode(
    "CAk6SwoOCgF4CgFiEgF5IgNBZGQSBG1haW4qEQgCEAEiCAAAgD8AAABAQgFiWg8KAXgSCgoICAESBAoCCAJiDwoBeRIKCggIARIECgIIAkIE"
    "CgAQEg=="
)
TFLITE = base64.b64decode(
    "CAAAAFRGTDOi////FAAAADwAAABIAAAAeAEAAAMAAAACAAAAJAAAAAwAAAAAAAYACAAEAAYAAAAEAAAACAAAAAAAgD8AAABAsP7//wgAAABn"
    "cmFwaGZpeAAAAAABAAAAFAAAAAAADgAYABQAEAAMAAgABAAOAAAAFAAAABwAAABcAAAAYAAAAGQAAAAEAAAAbWFpbgAAAAABAAAAFAAAAAAA"
    "DgAUAAAAEAAMAAsABAAOAAAAEAAAAAAAAAsMAAAAEAAAACz///8BAAAAAgAAAAIAAAAAAAAAAQAAAAEAAAACAAAAAQAAAAAAAAADAAAAgAAA"
    "AEAAAAAEAAAAov///wAAAAEIAAAADAAAAAEAAAB5AAAAAQAAAAIAAAAAABYAFAAQAAAADAAIAAAAAAAAAAAABwAWAAAAAAAAAQwAAAABAAAA"
    "DAAAAAEAAABiAAAAAQAAAAIAAAAAABYAEAAMAAAAAAAIAAAAAAAAAAAABwAWAAAAAAAAAQgAAAAMAAAAAQAAAHgAAAABAAAAAgAAAAEAAAAI"
    "AAAABAAEAAQAAAA="
)
MLIR = """func.func @main(%x: tensor<2xf32>, %b: tensor<2xf32>) -> tensor<2xf32> {
  %y = tosa.add %x, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %y : tensor<2xf32>
}
"""


def main(name: str, seconds: str) -> None:
    """Test one runtime or tool by its name in RUNTIMES or TOOLS, and print the answer.

    `seconds` is the time limit of each process that a tool runs in.
    """
    try:
        if name in TOOLS:
            TOOLS[name](float(seconds))
        else:
            RUNTIMES[name]()
        answer = WORKS
    except RefusedError as error:
        answer = str(error)
    except Exception as error:  # noqa: BLE001 - whatever a broken package raises at its import is the answer
        answer = f"{type(error).__name__}: {error}"
    sys.stdout.flush()
    sys.stdout.buffer.write(f"\n{ANSWER}{one_line(answer)}\n".encode(errors="backslashreplace"))
    sys.stdout.buffer.flush()


def _onnxruntime() -> None:
    """Run the probe's model in onnxruntime. Raises RefusedError if the result is wrong."""
    from graphfix.runtimes.onnx import onnxruntime

    _compare(onnxruntime.load(ONNX).run({"x": _input()}))


def _onnx_reference() -> None:
    """Run the probe's model in onnx's reference evaluator. Raises RefusedError if the result is wrong."""
    from graphfix.runtimes.onnx import reference_evaluator

    with tempfile.TemporaryDirectory() as scratch:
        _compare(reference_evaluator.load(_file(scratch, "add.onnx", ONNX)).run({"x": _input()}))


def _litert(kernels: str) -> None:
    """Run the probe's model in LiteRT with one kernel set. Raises RefusedError if the result is wrong."""
    from graphfix.runtimes.litert import interpreter

    _compare(interpreter.load(TFLITE, kernels=kernels).run({"x": _input()}))


def _tflite_reader() -> None:
    """Read the tables of the probe's model with the package `tflite`.

    Raises RefusedError if they do not contain one operator.
    """
    import tflite

    model = tflite.Model.GetRootAs(TFLITE)
    if tflite.Model.ModelBufferHasIdentifier(TFLITE, 0) and model.Subgraphs(0).OperatorsLength() == 1:
        return
    raise RefusedError("the tables of a model of one ADD are read otherwise")


def _converter(tool: str, seconds: float) -> None:
    """Convert the probe's model to TOSA by the converter `tool`. Raises RefusedError if the written file is empty."""
    from graphfix.runtimes import tosa

    with tempfile.TemporaryDirectory() as scratch:
        suffix, model = (".onnx", ONNX) if tool == tosa.TORCH_MLIR else (".tflite", TFLITE)
        made = Path(scratch, "made.mlirbc")
        tosa.convert(tool, _file(scratch, f"add{suffix}", model), made, seconds=seconds)
        if not made.stat().st_size:
            raise RefusedError(f"{tool} writes an empty file")


def _tosa_tools(seconds: float) -> None:
    """Validate a TOSA module of one add, and run it in the reference model.

    Raises RefusedError if either of them fails.
    """
    from graphfix.runtimes import tosa

    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch, "add.tosa")
        validation = tosa.validate(_file(scratch, "add.mlir", MLIR.encode()), made, seconds=seconds)
        if not validation.valid:
            raise RefusedError(f"tosa-opt refuses a module of one add: {validation.errors[0]}")
        _compare(tosa.run(made, [_input(), _input() - 2], seconds=seconds).outputs)


def _input() -> Array:
    import numpy as np

    return np.array([3, 4], np.float32)


def _compare(outputs: list[Any]) -> None:
    """Raise RefusedError if the outputs are not one array of 4 and 6."""
    computed = [output.tolist() for output in outputs]
    if computed != [[4.0, 6.0]]:
        raise RefusedError(f"[3, 4] + [1, 2] comes out as {computed}")


def _file(folder: str, name: str, content: bytes) -> Path:
    path = Path(folder, name)
    path.write_bytes(content)
    return path


RUNTIMES: Mapping[str, Callable[[], None]] = MappingProxyType(
    {
        "onnxruntime": _onnxruntime,
        "onnx": _onnx_reference,
        "tflite": _tflite_reader,
        **{f"litert-{kernels}": partial(_litert, kernels) for kernels in ("reference", "builtin", "xnnpack")},
    }
)
"""Name of a probe -> the test of a package, which runs in this process. The command line contains the name."""
TOOLS: Mapping[str, Callable[[float], None]] = MappingProxyType(
    {
        **{tool: partial(_converter, tool) for tool in ("tosa-converter-for-tflite", "torch-mlir")},
        "tosa-tools": _tosa_tools,
    }
)
"""Name of a probe -> the test of a tool that `graphfix.runtimes.tosa` starts. The test is called with a time limit."""

if __name__ == "__main__":
    main(*sys.argv[1:])
