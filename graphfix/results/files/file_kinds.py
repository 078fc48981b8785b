"""Recognize files that are not a model by their content, and refuse them with their name and advice.

The readers of the rewriter and of the checker both call `refuse_foreign` first, so every command prints the same line.
"""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from graphfix.results import GraphfixError
from graphfix.results.files.regular_files import is_descriptor, refuse_pipe

HEAD: Final = 4096
"""Bytes that are read from the beginning of a file."""
MOST_FIELDS: Final = 64
"""The most fields of a protobuf message that are read."""
LONGEST_FIELD_HEAD: Final = 20
"""The most bytes of a protobuf field's tag and length, two varints."""
ONNX_GRAPH: Final = 7
"""The number of ModelProto's graph: SavedModel and Core ML have no field of this number."""
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5
"""Wire types of protobuf."""
ZIP: Final = b"PK\3\4"


class Content:
    """The first bytes of a file, and parts that take longer to read; these are read when they are first needed."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the first bytes of a seekable file. Raises OSError."""
        self._file = file
        self.head = file.read(HEAD)

    @cached_property
    def text(self) -> str:
        """Return the first bytes as text, in lower case and without leading white space; "" for binary bytes."""
        return "" if b"\0" in self.head else self.head.decode("utf-8-sig", "replace").lstrip().lower()

    @cached_property
    def is_text(self) -> bool:
        """Return whether the first bytes are text: printable characters and white space only."""
        return bool(self.text) and all(each.isprintable() or each in "\t\n\r\f\x1b\ufffd" for each in self.text)

    @cached_property
    def members(self) -> Sequence[str]:
        """Return the names in a zip archive, also relative to its only folder; () for other and for damaged files."""
        if not self.head.startswith(ZIP):
            return ()
        import zipfile

        try:
            with zipfile.ZipFile(self._file) as archive:
                names = archive.namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return ()
        folders = {name.partition("/")[0] for name in names}
        return [*names, *(name.partition("/")[2] for name in names)] if len(folders) == 1 else names

    @cached_property
    def fields(self) -> Mapping[int, int]:
        """Return the wire types of a protobuf message's first fields by number, up to the number of an ONNX graph.

        Returns {} if the bytes are not fields, or end inside a field.
        """
        found: dict[int, int] = {}
        size = self._file.seek(0, os.SEEK_END)
        count, end = 0, 0
        for count, (number, wire, end) in enumerate(self._walk(size), 1):  # noqa: B007 -- the last ones are used below
            found.setdefault(number, wire)
            if number == ONNX_GRAPH:
                return found
        return found if end == size or count == MOST_FIELDS else {}

    def _walk(self, size: int) -> Iterator[tuple[int, int, int]]:
        """Yield the number, the wire type and the end of each field; stop at bytes that are not a field."""
        at = 0
        for _ in range(MOST_FIELDS):
            self._file.seek(at)
            start = self._file.read(LONGEST_FIELD_HEAD)
            tag, used = _number(start)
            value, more = _number(start[used:])
            wire = tag & 7
            length = {VARINT: more, FIXED_64: 8, BYTES: more and more + value, FIXED_32: 4}.get(wire)
            if not (used and tag >> 3 and length) or at + used + length > size:
                return
            at += used + length
            yield tag >> 3, wire, at


def _number(data: bytes) -> tuple[int, int]:
    """Return a varint of protobuf and the number of its bytes; (0, 0) if the bytes are not a varint."""
    number = 0
    for at, byte in enumerate(data[:10]):
        number |= (byte & 0x7F) << 7 * at
        if byte < 0x80:  # noqa: PLR2004 -- the highest bit says that another byte follows
            return number, at + 1
    return 0, 0


LFS_POINTER: Final = b"version https://git-lfs.github.com/"
FLATBUFFER_IDENTIFIER: Final = slice(4, 8)
TFLITE: Final = b"TFL3"
Test = Callable[[Content], bool]


class Kind(NamedTuple):
    """A kind of file that is not a model."""

    name: str
    """The name with its article; in brackets the feature that identifies the kind."""
    advice: str
    test: Test


def begins(*magics: bytes) -> Test:
    """Return a test for the first bytes of a file."""
    return lambda content: content.head.startswith(magics)


def identifier(*names: bytes) -> Test:
    """Return a test for the identifier of a FlatBuffer."""
    return lambda content: content.head[FLATBUFFER_IDENTIFIER] in names


def holds(*members: str) -> Test:
    """Return a test for a zip archive that has all of these members; `.suffix` and `folder/` match any such member."""
    return lambda content: all(any(_is_member(wanted, name) for name in content.members) for wanted in members)


def _is_member(wanted: str, name: str) -> bool:
    if wanted.startswith("."):
        return name.lower().endswith(wanted)
    return name.startswith(wanted) if wanted.endswith("/") else name == wanted


def text(pattern: str) -> Test:
    """Return a test for the beginning of a text by a regular expression; the text is in lower case."""
    return lambda content: re.match(pattern, content.text, re.DOTALL) is not None


def _is_saved_model(content: Content) -> bool:
    """Return whether a file is a SavedModel: schema version 1, then graphs. In ONNX, field 2 is followed by a graph."""
    return content.head.startswith(b"\x08\x01\x12") and content.fields == {1: VARINT, 2: BYTES}


def _is_graph_def(content: Content) -> bool:
    """Return whether a file is a GraphDef: its first node has a name and an operator. In ONNX, field 1 is a number."""
    node = rb"\x0a[\x80-\xff]{0,4}[\x01-\x7f]\x0a[\x01-\x7f][\x20-\x7e]+?\x12[\x01-\x40][A-Z_][A-Za-z0-9]"
    return re.match(node, content.head) is not None


def _is_core_ml(content: Content) -> bool:
    """Return whether a file is a Core ML model: a version, the model in a field from 200 on, and no ONNX graph."""
    numbers = content.fields.keys()
    return (
        content.fields.get(1) == VARINT
        and ONNX_GRAPH not in numbers
        and any(200 <= number < 1 << 12 for number in numbers)  # noqa: PLR2004
    )


def _is_onnx_tensor(content: Content) -> bool:
    """Return whether a file is a TensorProto: its type in field 2 is a number. In a ModelProto, field 2 is a name.

    The elements of a TensorProto are in one of the fields 4 to 11.
    """
    elements = {4, 5, 6, 7, 9, 10, 11}
    return content.fields.get(2) == VARINT and not elements.isdisjoint(content.fields) and max(content.fields) <= 16  # noqa: PLR2004


def _is_safetensors(content: Content) -> bool:
    """Return whether a file is safetensors: the length of a JSON text in 8 bytes, then the text."""
    return content.head[5:8] == bytes(3) and re.match(rb'\{\s*["}]', content.head[8:]) is not None


EXPORT_ORIGINAL = "export the original model to ONNX first"
TO_ONNX = "export it to ONNX first"
CONVERT = "convert it to TFLite or ONNX first"
UNZIP = "unzip it, and give a model in it"
UNPACK = "unpack it first"
GET_AGAIN = "get the file again"
ORIGINAL = "give the ONNX or TFLite model that it was made from"

KINDS: Final = (
    Kind("a pointer of Git LFS in place of the file", "fetch it: git lfs pull", begins(LFS_POINTER)),
    Kind("a pointer of DVC in place of the file", "fetch it: dvc pull", text(r"outs:\s*- (md5|hash):")),
    Kind("a PyTorch export (.pt2, zip with archive_format)", TO_ONNX, holds("archive_format")),
    Kind("a PyTorch export (.pt2, zip with serialized_exported_program.json)", TO_ONNX,
         holds("serialized_exported_program.json")),
    Kind("a TorchScript file (zip with code/ and constants.pkl)", TO_ONNX, holds("code/", "constants.pkl")),
    Kind("a PyTorch file (zip with data.pkl)", TO_ONNX, holds("data.pkl")),
    Kind("a PyTorch file (in the form before PyTorch 1.6)", TO_ONNX,
         begins(b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.")),
    Kind("a Python pickle (of PyTorch or scikit-learn, perhaps)", TO_ONNX,
         begins(b"\x80\x02", b"\x80\x03", b"\x80\x04", b"\x80\x05")),
    Kind("a Keras file (zip with config.json and metadata.json)", CONVERT, holds("config.json", "metadata.json")),
    Kind("an HDF5 file (.h5 of Keras, perhaps)", CONVERT, begins(b"\x89HDF\r\n\x1a\n")),
    Kind("a Core ML package (zip with Manifest.json)", EXPORT_ORIGINAL,
         holds("Manifest.json", ".mlmodel")),
    Kind("NumPy arrays (.npz, zip with .npy files)", "give a model; --inputs takes arrays", holds(".npy")),
    Kind("a bundle of TFLite models (zip with .tflite files, such as a .task of MediaPipe)", UNZIP, holds(".tflite")),
    Kind("a bundle of a language model (zip with TF_LITE_PREFILL_DECODE, such as a .task of MediaPipe)", UNZIP,
         holds("TF_LITE_PREFILL_DECODE")),
    Kind("a zip archive with an ONNX model", UNZIP, holds(".onnx")),
    Kind("a zip archive without a model", "give the path of an ONNX or TFLite model",
         lambda content: bool(content.members)),
    Kind("a zip archive that is cut short or damaged", GET_AGAIN, begins(b"PK\3\4")),
    Kind("an empty zip archive", GET_AGAIN, begins(b"PK\5\6")),
    Kind("a bundle of LiteRT-LM (.litertlm)", "take the .tflite models out of it, and give one of them",
         begins(b"LITERTLM")),
    Kind("an ONNX Runtime file (.ort, identifier ORTM)", "give the .onnx file that it was made from",
         identifier(b"ORTM")),
    Kind("an ExecuTorch program (.pte)", ORIGINAL, identifier(b"ET12", b"ET13")),
    Kind("a TOSA flatbuffer (identifier TOSA)", ORIGINAL, identifier(b"TOSA")),
    Kind("MLIR bytecode", ORIGINAL, begins(b"ML\xefR")),
    Kind("a TensorRT engine", ORIGINAL, begins(b"ftrt", b"ptrt")),
    Kind("a GGUF file (weights for llama.cpp, without a graph)", EXPORT_ORIGINAL,
         begins(b"GGUF", b"lmgg", b"tjgg")),
    Kind("a safetensors file (weights without a graph)", EXPORT_ORIGINAL, _is_safetensors),
    Kind("a NumPy array (.npy)", "give a model; --inputs takes arrays", begins(b"\x93NUMPY")),
    Kind("a gzip file", f"{UNPACK}: gunzip", begins(b"\x1f\x8b")),
    Kind("a bzip2 file", f"{UNPACK}: bunzip2", begins(b"BZh")),
    Kind("an xz file", f"{UNPACK}: unxz", begins(b"\xfd7zXZ\0")),
    Kind("a zstd file", f"{UNPACK}: unzstd", begins(b"\x28\xb5\x2f\xfd")),
    Kind("a 7z archive", UNPACK, begins(b"7z\xbc\xaf\x27\x1c")),
    Kind("a tar archive", f"{UNPACK}: tar -xf", lambda content: content.head[257:262] == b"ustar"),
    Kind("an ONNX model as text", "parse it with onnx.parser, and save it as binary", text(r"<[^>]*\bir_version\b")),
    Kind("an ONNX model as protobuf text", "parse it with google.protobuf.text_format, and save it as binary",
         text(r"(#[^\n]*\n)*ir_version\s*:")),
    Kind("an ONNX model as JSON", "parse it with google.protobuf.json_format, and save it as binary",
         text(r'\{\s*"(ir_?version|opset_?import|graph)"')),
    Kind("a TensorFlow.js model (JSON)", CONVERT, text(r'\{.{0,400}"modeltopology"')),
    Kind("an OpenVINO model (XML)", ORIGINAL, text(r"(<\?xml[^>]*>\s*)?<net\b")),
    Kind("an HTML page (a download that failed, perhaps)", GET_AGAIN,
         text(r"(<\?xml[^>]*>\s*|<!--.{0,2000}?-->\s*)*<(!doctype html|html|head|body)\b")),
    Kind("an XML text (the answer of a server that refused, perhaps)", GET_AGAIN, text(r"<(\?xml|error)\b")),
    Kind("a JSON text (the answer of a server that refused, perhaps)", GET_AGAIN, text(r'\{\s*"')),
    Kind("a text file", "give the path of an ONNX or TFLite model", lambda content: content.is_text),
    Kind("a TensorFlow SavedModel (saved_model.pb)", CONVERT, _is_saved_model),
    Kind("a frozen TensorFlow graph (GraphDef)", CONVERT, _is_graph_def),
    Kind("a Core ML model (.mlmodel)", EXPORT_ORIGINAL, _is_core_ml),
    Kind("an ONNX tensor (test data)", "give the model; --inputs takes a test_data_set folder", _is_onnx_tensor),
)  # fmt: skip
"""The kinds in the order of their tests: a special kind comes before a more general one."""

FOLDERS: Final = (
    ("saved_model.pb", "a TensorFlow SavedModel (folder with saved_model.pb)", CONVERT),
    ("Manifest.json", "a Core ML package (folder with Manifest.json)", EXPORT_ORIGINAL),
)
"""Kinds of folders that are models of other tools: a file in the folder, the name and the advice."""


def foreign_kind(content: Content) -> Kind | None:
    """Return the kind of a file that is not a model; None for a file that may be a model. Raises OSError."""
    if content.head[FLATBUFFER_IDENTIFIER] == TFLITE:
        return None
    return next((kind for kind in KINDS if kind.test(content)), None)


def refuse_foreign(source: Path | bytes) -> None:
    """Raise GraphfixError for a source that can't be read, and for content that is known not to be a model.

    A pipe is refused before it is opened, because `open` would wait for its writer.
    """
    try:
        if isinstance(source, bytes):
            kind = foreign_kind(Content(io.BytesIO(source)))
        else:
            refuse_no_file(source)
            with source.open("rb") as file:
                kind = foreign_kind(Content(file))
    except ValueError as error:  # a NUL in the name
        raise GraphfixError(f"{str(source)!r}: {error}; give the path of a model") from None
    except OSError as error:
        why = (error.strerror or type(error).__name__).lower()
        raise GraphfixError(f"{source!s}: {why}; give the path of a model that can be read") from None
    if kind is not None:
        name = "<bytes>" if isinstance(source, bytes) else source
        raise GraphfixError(f"{name}: {kind.name}: {kind.advice}")


def refuse_no_file(path: Path) -> None:
    """Raise GraphfixError for a folder, a device, a pipe and an empty file; OSError if the path does not exist."""
    found = path.stat()
    if stat.S_ISDIR(found.st_mode):
        raise GraphfixError(f"{path}: {_folder(path)}")
    if is_descriptor(path):
        raise GraphfixError(f"{path}: other processes can't open this name; give the path of a model")
    refuse_pipe(path, "a model")
    if not found.st_size:
        raise GraphfixError(f"{path}: the file is empty; {GET_AGAIN}")


def refuse_pointer(path: Path, head: bytes) -> None:
    """Raise GraphfixError if the first bytes of a file are those of a pointer of Git LFS."""
    if head.startswith(LFS_POINTER):
        raise GraphfixError(f"{path}: {KINDS[0].name}: {KINDS[0].advice}")


def folder_kind(path: Path) -> str | None:
    """Return the name and advice for a folder that is a model of another tool; None for any other folder."""
    return next((f"{name}: {advice}" for file, name, advice in FOLDERS if (path / file).is_file()), None)


def _folder(path: Path) -> str:
    models = sorted(each for each in path.iterdir() if each.suffix.lower() in (".onnx", ".tflite"))
    return folder_kind(path) or f"a folder; give the path of a model{f', such as {models[0]}' if models else ''}"
