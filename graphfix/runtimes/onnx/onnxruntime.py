"""onnxruntime on the CPU, one thread, so that equal models return equal bits.

It runs inside the calling process, and a model that makes onnxruntime abort takes that with it (an LSTM
on a batch of 0 does): `graphfix.runtimes.process` keeps it in a child process, and stops a hang.
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

# The types that onnxruntime's numpy bridge does not carry: (onnx element type, name in ml_dtypes).
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
# What onnxruntime puts before what it has to say: a status, the path, a place in its own source.
_PREAMBLE = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : [A-Z_]+ : |Load model from .*? failed:"
    r"|/onnxruntime_src/\S+ (?:[\w:<>~*&, \[\]=]+\((?:[^()]|\([^()]*\))*\)(?: const)?(?: \[with [^\]]*\])? )?"
)
# How it says that it is older than the model, or that its Python side lacks a type.
_LACKS = ("max supported IR version", "only *guarantees* support", "can't be converted to MLDataType")


@dataclass(frozen=True, slots=True)
class OrtSession:
    """A model in onnxruntime, with the names of its outputs."""

    session: rt.InferenceSession
    outputs: tuple[str, ...]
    shapes: tuple[str, ...] = ()
    """Further outputs: the shapes of the values that are observed."""

    @property
    def interface(self) -> tuple[str, ...]:
        """What a parent process receives: the names of the outputs."""
        return self.outputs

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once. Raises RefusedError with onnxruntime's message."""
        return self._fetched(self.outputs, feeds)

    def run_observed(self, feeds: Mapping[str, object]) -> tuple[list[object], list[tuple[int, ...]]]:
        """Run once; return the shapes of what is observed too. Raises RefusedError with onnxruntime's message."""
        values: list[Any] = self._fetched((*self.outputs, *self.shapes), feeds)
        own = len(self.outputs)
        # tuples: of 10,000s of arrays a pickle takes longer than the run
        return values[:own], [tuple(shape.tolist()) for shape in values[own:]]

    def _fetched(self, names: Sequence[str], feeds: Mapping[str, object]) -> list[Any]:
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
    """Load a model by its path (so sizes above 2 GB work) or from bytes.

    `optimized` False: no graph optimization and no prepacked weights, which alone keeps the bits of a
    weight that only changed its shape. True: all optimizations. `more` is a ModelProto whose nodes
    and outputs stand behind the model's own (see `sessions.more_outputs`); `shapes` names the last of those
    outputs, which are shapes. `folder` contains the external data of a model that is given as bytes.
    Without an `arena` freed memory goes back to the system: each run of a float16 model extends the arena by a copy of
    its weights as float32. Results are the same. Raises RefusedError.
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
                # a Shape node then runs right behind what it reads, which is freed or reused as without it
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
    """Yield the model with more nodes and outputs, without reading it.

    Protobuf merges concatenated messages, so a second ModelProto behind the file adds what it holds. The file is
    copied to a temporary place, never written beside the model.
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
    """Collect onnxruntime's exceptions: they share no base."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    own = [e for e in vars(state).values() if isinstance(e, type) and issubclass(e, Exception)]
    return (*own, *_INVALID_ARGUMENTS)


def _refused(error: Exception) -> RefusedError:
    text = str(error)
    missing = type(error).__name__ == "NotImplemented" or any(words in text for words in _LACKS)
    message = one_line(_PREAMBLE.sub("", text)) or type(error).__name__
    return RefusedError(f"onnxruntime: {message}", missing_kernel=missing)


def _to_ort(value: object, kind: str) -> rt.OrtValue:
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
    """Read an output; the types that numpy lacks are read by address, as bits."""
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
