"""The forms of a model that the Python functions accept.

These are a path, bytes, a file object, a message of onnx or onnx-ir, and a Model.

The rewriter reads a source from memory. The checker reads only files (`graphfix.api.on_disk`). Errors name a source
that is not a file `<bytes>`, `<ModelProto>`, `<onnx_ir.Model>` or `<file>`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from graphfix import formats
from graphfix.results import GraphfixError
from graphfix.results.files.regular_files import file_path
from graphfix.results.records import dataclass
from graphfix.results.texts import with_names, with_texts

if TYPE_CHECKING:
    import onnx_ir
    from onnx import ModelProto

    from graphfix.formats.onnx import OnnxModel
    from graphfix.formats.tflite.model import TfliteModel

Unloaded: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO | ModelProto | onnx_ir.Model"
"""Every form in which a model that is not loaded is accepted."""
ACCEPTED = "a path, bytes, a binary file object, an onnx.ModelProto, an onnx_ir.Model or a graphfix.Model"
NO_NAME = "<bytes>"
"""The name that the readers of both formats use for a model that is not a file."""


@dataclass(frozen=True, slots=True)
class Content:
    """A source: either a file, or bytes."""

    name: str
    """The path as it was given, or `<bytes>`, `<ModelProto>`, `<onnx_ir.Model>`, `<file>`."""
    path: Path | None
    data: bytes = b""
    folder: Path | None = None
    """The folder in which the external data of the bytes lies."""


def content(function: str, source: Unloaded, folder: str | Path | None = None) -> Content:
    """Return the file or the bytes of a source that is not a loaded model.

    `function` is the name of the public function, for errors. Raises GraphfixError for an object of another type.
    """
    if isinstance(source, (str, os.PathLike)):
        if folder is not None:
            raise GraphfixError(f"{source}: folder is {str(folder)!r}; leave it out: a path has its own folder")
        path = file_path(function, source)
        return Content(str(path), path)
    name, data, own = _data(function, source)
    given = own if folder is None else _folder(function, folder)
    return Content(name, None, data, given)


def _data(function: str, source: object) -> tuple[str, bytes, Path | None]:
    """Return the name of a source in memory, its bytes, and the folder of its data if the source states it."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return NO_NAME, bytes(source), None
    ir = sys.modules.get("onnx_ir")  # # an object of this class can exist only if the package is imported
    if ir is not None and isinstance(source, ir.Model):
        return "<onnx_ir.Model>", _serialized("<onnx_ir.Model>", ir.to_proto(source)), _data_folder(ir, source)
    if hasattr(source, "read"):
        return _read(function, source)
    from onnx import ModelProto  # # imported here, because the import takes time that a path does not need

    if isinstance(source, ModelProto):
        return "<ModelProto>", _serialized("<ModelProto>", source), None
    raise GraphfixError(f"{function} takes {ACCEPTED}, not {type(source).__name__}")


def _read(function: str, source: Any) -> tuple[str, bytes, Path | None]:  # noqa: ANN401 -- any object that has `read`
    """Return the name, the bytes and the folder of an open file."""
    data = source.read()
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise GraphfixError(f"{function} takes files that are open in binary mode: open(path, 'rb')")
    path = getattr(source, "name", None)
    if isinstance(path, str) and os.path.isfile(path):  # noqa: PTH113 -- no OSError for a long name
        return path, bytes(data), Path(path).parent
    return "<file>", bytes(data), None


def _serialized(name: str, message: ModelProto) -> bytes:
    try:
        return bytes(message.SerializeToString())
    except Exception as error:  # protobuf's errors differ between its implementations
        why = "keep its weights as external data, and give `folder`"
        raise GraphfixError(f"{name}: the message can't be serialized ({error}); {why}") from error


def _data_folder(ir: Any, model: Any) -> Path | None:  # noqa: ANN401 -- of a package that may be absent
    """Return the folder of the first tensor of an onnx_ir.Model that is external."""
    tensors = (value.const_value for graph in (model.graph,) for value in graph.initializers.values())
    folders = (tensor.base_dir for tensor in tensors if isinstance(tensor, ir.ExternalTensor))
    first = next(folders, None)
    return Path(first) if first else None


def _folder(function: str, folder: object) -> Path:
    """Return a folder as a path. Raises GraphfixError if it is not a folder."""
    path = file_path(function, folder)
    if not os.path.isdir(path):  # noqa: PTH112 -- Path.is_dir raises OSError for a long name
        raise GraphfixError(f"folder is {str(folder)!r}: no such folder; give the folder that holds the data files")
    return path


def loaded(given: Content, data_roots: Sequence[Path] = ()) -> OnnxModel | TfliteModel:
    """Read a model. Raises GraphfixError if the content is not a model."""
    if given.path is not None:
        return formats.load(given.path, data_roots)
    with naming({NO_NAME: given.name}):
        return formats.load(given.data, data_roots, given.folder)


def temporary(stack: ExitStack, folder: Path | None) -> Path:
    """Return the path of a temporary file, which the stack deletes.

    With a `folder` the file lies in it, because the locations of external data are relative to the model's folder.
    """
    import tempfile  # # imported here because the commands, which are given files, do not need it

    if folder is None:
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="graphfix-"))
        return Path(os.path.realpath(made)) / "model"
    try:
        descriptor, name = tempfile.mkstemp(prefix=".graphfix-", dir=folder)
    except OSError as error:
        why = "the checker reads files, so a temporary one is written beside the data"
        raise GraphfixError(f"{folder}: {(error.strerror or str(error)).lower()}; {why}") from error
    os.close(descriptor)
    path = Path(name)
    stack.callback(path.unlink, missing_ok=True)
    return path


@contextmanager
def naming(names: Mapping[str, str]) -> Iterator[None]:
    """Replace texts, such as the paths of temporary files, in an error."""
    try:
        yield
    except GraphfixError as error:
        error.args = tuple(with_texts(each, partial(with_names, names=names)) for each in error.args)
        raise
