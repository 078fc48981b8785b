"""An ONNX file as the proof reads it: messages without large payloads, and the file and range of each payload."""

from __future__ import annotations

import hashlib
import os
import struct
from contextlib import ExitStack
from math import prod
from typing import TYPE_CHECKING

from onnx import TensorProto, numpy_helper

from graphfix.checker.files.constant_bytes import Opened, Payload, stored_bytes
from graphfix.checker.files.onnx import skeleton, tensors
from graphfix.checker.files.onnx.external_data import ExternalData, may_have_external
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from onnx import ModelProto

_PLACE = struct.Struct("<BQQ")
_STRING_FIELD = 6 << 3 | 2
_FIXED_WIDTH = frozenset({4, 9, 10})
"""float_data, raw_data and double_data. Their serialized bytes are the bytes of the elements."""

_WHOLE = 1 << 25
"""The largest file, in bytes, that is read with its weights. Cutting weights out of such a file takes longer."""


@dataclass(slots=True, eq=False)
class Source:
    """One of the two files of a proof. It stays open while constants are compared."""

    path: Path
    stack: ExitStack
    data_root: Sequence[Path] = ()
    """More folders in which data files may lie, besides the model's folder."""
    mark: bytes = field(default_factory=lambda: os.urandom(16))
    """The first bytes of each placeholder. They are random for each reading, so no file can contain them."""
    files: dict[Path, Opened] = field(default_factory=dict)
    external: ExternalData = field(init=False)
    words: frozenset[bytes] = frozenset()
    """The requested words that occur somewhere in the file. No name in the model contains any other requested word."""

    def __post_init__(self) -> None:
        self.external = ExternalData.of(self.path, self.data_root)

    def read(self, words: Iterable[bytes]) -> ModelProto:
        """Read the model. Each large payload is replaced by a placeholder that contains its place in the file.

        Payloads up to 1 KiB, and all payloads of a file up to 32 MiB, are read. Words of `words` that occur in the file
        are stored in `self.words`. The external data of all tensors is checked, including tensors that no node reads.
        Raises GraphfixError.
        """
        self._open(self.path)
        data = skeleton.message(self.path, self._placeholder, full_below=_WHOLE)
        self.words = frozenset(word for word in words if word in data)
        model = skeleton.parsed(self.path, data)
        if may_have_external(data):
            self.external.check(model)
        return model

    def _placeholder(self, number: int, start: int, end: int) -> bytes:
        """Return a serialized field `string_data` that replaces a payload.

        Its string is the mark, then the payload's field number, first byte, and the byte behind the payload.
        """
        place = self.mark + _PLACE.pack(number, start, end)
        return bytes([_STRING_FIELD, len(place)]) + place

    def payload(self, tensor: TensorProto) -> Payload | None:
        """Return the elements of a tensor as bytes, in a form in which equal tensors of one type and shape are equal.

        Elements of the types in `tensors.WIDTHS` are little-endian. Strings are the text of a Python list. int32_data
        of other types, or with numbers too large for the type, is compared as it is stored. Returns None if the payload
        is stored in several pieces.
        """
        if tensor.data_location == TensorProto.EXTERNAL:
            return self._external(tensor)
        if tensor.string_data and tensor.string_data[0].startswith(self.mark):
            return self._cut(tensor)
        if tensor.data_type == TensorProto.STRING:
            return stored_bytes(repr(list(tensor.string_data)).encode())
        if tensor.HasField("raw_data"):
            return stored_bytes(tensor.raw_data)
        if tensor.data_type not in tensors.WIDTHS or tensors.holds_too_large(tensor):
            return stored_bytes(b"typed" + tensor.int32_data.__repr__().encode())
        return self._elements(tensor, tensor.name)

    def fault(self, tensor: TensorProto) -> str | None:
        """Return why runtimes may read a tensor in different ways, or None if all runtimes read the tensor in one way.

        Raises GraphfixError if the tensor's data file can't be read.
        """
        cut = None
        if tensor.string_data and tensor.string_data[0].startswith(self.mark):
            number, start, end = self._place(tensor)
            cut = number, end - start
        found = tensors.fault(tensor, cut)
        if found is not None or tensor.data_location != TensorProto.EXTERNAL:
            return found
        fits = self._external(tensor).length == tensors.byte_size(tensor)
        return None if fits else "has more or fewer bytes in its file than its type and shape ask for"

    def _place(self, tensor: TensorProto) -> tuple[int, int, int]:
        """Return (field number, first byte, byte behind the last) of the payload that a placeholder stands for."""
        number, start, end = _PLACE.unpack(tensor.string_data[0][len(self.mark) :])
        return number, start, end

    def _cut(self, tensor: TensorProto) -> Payload | None:
        """Return the elements of a tensor whose payload was replaced by a placeholder.

        Returns None if the payload has several pieces.
        """
        if len(tensor.string_data) > 1 or tensors.fields(tensor) != {tensors.STRINGS}:
            return None  # The payload is stored in several pieces, and some were small enough to be read.
        number, start, end = self._place(tensor)
        uncut = Payload(self._open(self.path), start, end - start)
        if number in _FIXED_WIDTH:
            return uncut
        body = uncut.read(0, uncut.length)
        sized = TensorProto()
        sized.ParseFromString(_tagged(number, body))
        if tensor.data_type == TensorProto.STRING:
            return stored_bytes(repr(list(sized.string_data)).encode())
        sized.data_type = tensor.data_type
        sized.dims.extend(tensor.dims)
        readable = tensor.data_type in tensors.WIDTHS and not tensors.holds_too_large(sized)
        return self._elements(sized, tensor.name) if readable else stored_bytes(b"typed" + body)

    def _elements(self, tensor: TensorProto, name: str) -> Payload:
        """Return the elements of a tensor's typed field, such as float_data, as little-endian bytes.

        Raises GraphfixError if the number of elements does not fit the tensor's shape. `name` is the tensor's name in
        the message.
        """
        flat = TensorProto()
        flat.CopyFrom(tensor)
        try:
            flat.dims[:] = [prod(tensor.dims)]  # A shape with one axis is used because numpy limits the number of axes.
            return stored_bytes(numpy_helper.to_array(flat).tobytes())
        except ValueError:
            reason = f"{name!r} does not hold the elements that its shape {list(tensor.dims)} asks for"
            raise GraphfixError(f"{self.path}: {reason}; export it again") from None

    def _external(self, tensor: TensorProto) -> Payload:
        """Return the range of the data file that contains the elements of a tensor. Raises GraphfixError."""
        file = self._open(self.external.file(tensor))
        return Payload(file, *self.external.span(tensor, file.size))

    def stored(self, tensor: TensorProto) -> bytes:
        """Return the serialized tensor without its name and its documentation.

        A location that every runtime accepts is replaced by a SHA-256 digest of the data file. So equal tensors are
        equal even if their data files have different names. Raises GraphfixError if the data file can't be read.
        """
        bare = TensorProto()
        bare.CopyFrom(tensor)
        bare.ClearField("name")
        bare.ClearField("doc_string")
        if tensor.data_location == TensorProto.EXTERNAL and tensors.odd_location(tensor) is None:
            file = self._open(self.external.file(tensor))
            for entry in bare.external_data:
                if entry.key == "location":
                    entry.value = _sha256(Payload(file, 0, file.size))
        return bytes(bare.SerializeToString(deterministic=True))

    def _open(self, path: Path) -> Opened:
        """Open a file, or return it if it is open already."""
        if path not in self.files:
            self.files[path] = Opened.at(path, self.stack)
        return self.files[path]

    def check(self) -> None:
        """Raise GraphfixError if a file was changed or replaced after it was opened."""
        for file in self.files.values():
            file.check()


def _sha256(payload: Payload) -> str:
    digest = hashlib.sha256()
    for piece in payload.pieces():
        digest.update(piece)
    return digest.hexdigest()


def refuse(path: Path, stack: ExitStack, data_root: Sequence[Path] = ()) -> None:
    """Raise GraphfixError for a file that is not a model, or whose external data is missing or refused."""
    Source(path, stack, data_root).read(())


def _tagged(number: int, body: bytes) -> bytes:
    """Return a length-delimited protobuf field with this number and content."""
    return skeleton.varint_bytes(number << 3 | 2) + skeleton.varint_bytes(len(body)) + body
