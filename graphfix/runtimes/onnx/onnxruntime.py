"""Load and run ONNX models in onnxruntime: on the CPU, with one thread, so that equal models return equal bits.

onnxruntime runs inside the calling process. A model that makes onnxruntime abort (for example an LSTM on a batch of 0)
ends that process. So `graphfix.runtimes.process` runs this module in a child process, and stops the child if it hangs.
"""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfix.results.records import dataclass
from graphfix.runtimes.session import RefusedError, one_line, utf8_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import onnxruntime as rt

# The types that onnxruntime can't convert to numpy arrays: (number of the ONNX element type, name in ml_dtypes).
_EXOTIC = {
    "tensor(bfloat16)": (16, "bfloat16"),
    "tensor(float8e4m3fn)": (17, "float8_e4m3fn"),
    "tensor(float8e4m3fnuz)": (18, "float8_e4m3fnuz"),
    "tensor(float8e5m2)": (19, "float8_e5m2"),
    "tensor(float8e5m2fnuz)": (20, "float8_e5m2fnuz"),
    "tensor(uint4)": (21, "uint4"),
    "tensor(int4)": (22, "int4"),
}
_HALF_BYTE = frozenset({"tensor(uint4)", "tensor(int4)"})
_INVALID_ARGUMENTS = (RuntimeError, ValueError, TypeError)
# The parts that onnxruntime puts in front of its messages: a status, the model's path, a place in its own source code.
_PREAMBLE = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |Load model from .*? failed:"
    r"|/onnxruntime_src/\S+ (?:[\w:<>~*&, \[\]=]+\((?:[^()]|\([^()]*\))*\)(?: const)?(?: \[with [^\]]*\])? )?"
)
# Parts of messages that mean: onnxruntime is older than the model, or its Python interface lacks a type.
_LACKS = ("max supported IR version", "only *guarantees* support", "can't be converted to MLDataType")


@dataclass(frozen=True, slots=True)
class OrtSession:
    """A model that is loaded in onnxruntime, with the names of its outputs."""

    session: rt.InferenceSession
    outputs: tuple[str, ...]
    shapes: tuple[str, ...] = ()
    """The names of further outputs, which are the shapes of the observed values."""

    @property
    def interface(self) -> tuple[str, ...]:
        """The part of this session that a parent process receives: the names of the outputs."""
        return self.outputs

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once on `feeds` (by input name), and return the outputs.

        Raises RefusedError with onnxruntime's message.
        """
        return self._fetched(self.outputs, feeds)

    def run_observed(self, feeds: Mapping[str, object]) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run the model once; return the outputs and the shapes of the observed values.

        Raises RefusedError with onnxruntime's message.
        """
        values: list[Any] = self._fetched((*self.outputs, *self.shapes), feeds)
        own = len(self.outputs)
        # Tuples, because pickling tens of thousands of arrays takes longer than the run.
        return values[:own], [tuple(shape.tolist()) for shape in values[own:]]

    def _fetched(self, names: Sequence[str], feeds: Mapping[str, object]) -> list[Any]:
        """Run the model and return the outputs with these names. Raises RefusedError.

        If an input or output has a type that numpy lacks, the values are passed as OrtValue.
        """
        errors = _errors()
        types = {i.name: i.type for i in [*self.session.get_inputs(), *self.session.get_outputs()]}
        try:
            if _EXOTIC.keys().isdisjoint(types.values()):
                return list(self.session.run(names, dict(feeds)))
            values = {name: _to_ort(value, types.get(name, "")) for name, value in feeds.items()}
            return [_from_ort(v) for v in self.session.run_with_ort_values(names, values)]
        except errors as error:
            raise _refused(error) from None


def load(
    model: Path | bytes,
    *,
    optimized: bool = False,
    more: bytes = b"",
    shapes: Sequence[str] = (),
    folder: Path | None = None,
    arena: bool = True,
) -> OrtSession:
    """Load a model from its path (so models above 2 GB work) or from bytes.

    - `optimized`: if True, all graph optimizations are enabled. If False, there are no graph optimizations and no
      prepacked weights. Only then a weight whose shape alone has changed leads to the same bits.
    - `more`: a serialized ModelProto whose nodes and outputs are appended to the model's (see `sessions.more_outputs`).
    - `shapes`: the names of the last outputs of `more`, which are shapes of observed values.
    - `folder`: contains the external data of a model that is passed as bytes.
    - `arena`: if False, freed memory returns to the system. With an arena, each run of a float16 model extends the
      arena by a copy of its weights as float32. The results are equal with and without an arena.

    Raises RefusedError.
    """
    import onnxruntime as rt

    options = _options(optimized=optimized)
    options.enable_cpu_mem_arena = arena
    errors: tuple[type[Exception], ...] = (*_errors(), OSError)
    try:
        with ExitStack() as names:
            if folder is not None:
                key = "session.model_external_initializers_file_folder_path"
                options.add_session_config_entry(key, names.enter_context(utf8_name(folder.resolve())))
            if shapes:
                # A Shape node then runs directly after the node that computes its operand. So memory is freed and
                # reused as without it.
                options.execution_order = rt.ExecutionOrder.PRIORITY_BASED
            if more:
                source = names.enter_context(_extended(model, more))
            else:
                source = names.enter_context(utf8_name(model)) if isinstance(model, Path) else model
            session = rt.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except errors as error:
        raise _refused(error) from None
    outputs = tuple(output.name for output in session.get_outputs())
    return OrtSession(session, outputs[: len(outputs) - len(shapes)], tuple(shapes))


def _options(*, optimized: bool) -> rt.SessionOptions:
    """Return session options for one thread and no log; without `optimized` also without prepacked weights."""
    import onnxruntime as rt

    options = rt.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = rt.ExecutionMode.ORT_SEQUENTIAL
    levels = rt.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    if not optimized:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return options


@contextmanager
def _extended(model: Path | bytes, more: bytes) -> Iterator[str | bytes]:
    """Yield the model with the nodes and outputs of `more` appended, without parsing the model.

    Protobuf merges concatenated messages, so a second ModelProto after the file's bytes adds its content to the model.
    A file is first copied to a temporary folder; nothing is written beside the model.
    """
    if isinstance(model, bytes):
        yield model + more
        return
    with tempfile.TemporaryDirectory(prefix="graphfix-") as place:
        copy = Path(place, "model.onnx")
        shutil.copyfile(model, copy)
        with copy.open("ab") as file:
            file.write(more)
        yield str(copy)


def _errors() -> tuple[type[Exception], ...]:
    """Return all exception classes of onnxruntime, which have no common base class, and those for invalid arguments."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [e for e in vars(state).values() if isinstance(e, type) and issubclass(e, Exception)]
    return (*own, *_INVALID_ARGUMENTS)


def _refused(error: Exception) -> RefusedError:
    """Return onnxruntime's exception as a RefusedError, without the status, path and source location in the message."""
    text = str(error)
    missing = type(error).__name__ == "NotImplemented" or any(words in text for words in _LACKS)
    message = one_line(_PREAMBLE.sub("", text)) or type(error).__name__
    return RefusedError(f"onnxruntime: {message}", missing_kernel=missing)


def _to_ort(value: object, kind: str) -> rt.OrtValue:
    """Return an array as an OrtValue of the ONNX type `kind`. Raises RefusedError for int4 and uint4."""
    import numpy as np
    import onnxruntime as rt

    array = np.asarray(value)
    if kind not in _EXOTIC:
        return rt.OrtValue.ortvalue_from_numpy(array)
    if kind in _HALF_BYTE:
        raise RefusedError(f"onnxruntime takes no {kind} from numpy", missing_kernel=True)
    bits = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    return rt.OrtValue.ortvalue_from_numpy_with_onnx_type(np.asarray(bits, order="C"), _EXOTIC[kind][0])


def _from_ort(value: Any) -> object:  # noqa: ANN401 - onnxruntime has no types
    """Return an output as a numpy array. If numpy lacks the type, the bits are read from memory by address.

    Raises RefusedError if the output is not a tensor.
    """
    import ml_dtypes
    import numpy as np

    if not value.is_tensor():
        raise RefusedError("onnxruntime returns no sequence beside a type that numpy lacks", missing_kernel=True)
    kind = value.data_type()
    if kind not in _EXOTIC:
        return value.numpy()
    shape = tuple(value.shape())
    count = math.prod(shape)
    dtype = np.dtype(getattr(ml_dtypes, _EXOTIC[kind][1]))
    if kind in _HALF_BYTE:
        packed = np.frombuffer(ctypes.string_at(value.data_ptr(), (count + 1) // 2), np.uint8)
        nibbles = np.stack([packed & 15, packed >> 4], axis=-1).reshape(-1)[:count]
        return nibbles.view(dtype).reshape(shape)
    return np.frombuffer(ctypes.string_at(value.data_ptr(), count * dtype.itemsize), dtype).reshape(shape)
