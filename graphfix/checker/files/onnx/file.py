"""An ONNX file as the proof reads it: messages without payloads, and where in which file each payload lies."""

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
"""float_data, raw_data, double_data: their bytes are the elements' bytes."""

_WHOLE = 1 << 25
"""A file up to this size is read as it is: its weights are no burden, and a walk over its fields takes longer."""


@dataclass(slots=True, eq=False)
class Source:
    """One file of the two, open for as long as constants are compared."""

    path: Path
    stack: ExitStack
    data_root: Sequence[Path] = ()
    """Folders besides the model's own in which data files may lie."""
    mark: bytes = field(default_factory=lambda: os.urandom(16))
    """Begins the placeholder of a payload: made anew for each reading, so that no file can hold it."""
    files: dict[Path, Opened] = field(default_factory=dict)
    external: ExternalData = field(init=False)
    words: frozenset[bytes] = frozenset()
    """Those of the words that were asked for that stand somewhere in the file: no name holds any other of them."""

    def __post_init__(self) -> None:
        self.external = ExternalData.of(self.path, self.data_root)

    def read(self, words: Iterable[bytes]) -> ModelProto:
        """Read the model with a placeholder for each big payload, which contains its place. Raises GraphfixError.

        The external data of all tensors is checked, including tensors that no node reads.
        """
        self._open(self.path)
        data = skeleton.message(self.path, self._placeholder, full_below=_WHOLE)
        self.words = frozenset(word for word in words if word in data)
        model = skeleton.parsed(self.path, data)
        if may_have_external(data):
            self.external.check(model)
        return model

    def _placeholder(self, number: int, start: int, end: int) -> bytes:
        place = self.mark + _PLACE.pack(number, start, end)
        return bytes([_STRING_FIELD, len(place)]) + place

    def payload(self, tensor: TensorProto) -> Payload | None:
        """Return the elements of a tensor as little-endian bytes; None for types whose elements are no whole bytes."""
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
        """Say what is wrong with how a tensor is stored; None where nothing is. Raises GraphfixError."""
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
        """Return the field of a payload that was left out, its first byte and the one behind it."""
        number, start, end = _PLACE.unpack(tensor.string_data[0][len(self.mark) :])
        return number, start, end

    def _cut(self, tensor: TensorProto) -> Payload | None:
        if len(tensor.string_data) > 1 or tensors.fields(tensor) != {tensors.STRINGS}:
            return None  # one payload in several pieces, of which some were too small to be left out
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
        """Write out the elements of a typed field. Raises GraphfixError."""
        flat = TensorProto()
        flat.CopyFrom(tensor)
        try:
            flat.dims[:] = [prod(tensor.dims)]  # numpy limits the number of axes
            return stored_bytes(numpy_helper.to_array(flat).tobytes())
        except ValueError:
            reason = f"{name!r} does not hold the elements that its shape {list(tensor.dims)} asks for"
            raise GraphfixError(f"{self.path}: {reason}; export it again") from None

    def _external(self, tensor: TensorProto) -> Payload:
        file = self._open(self.external.file(tensor))
        return Payload(file, *self.external.span(tensor, file.size))

    def stored(self, tensor: TensorProto) -> bytes:
        """Return the serialized tensor without its name, with a digest of its data file in place of the location.

        Raises GraphfixError.
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
        if path not in self.files:
            self.files[path] = Opened.at(path, self.stack)
        return self.files[path]

    def check(self) -> None:
        """Raise GraphfixError where a file is another now than it was when it was opened."""
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
    return skeleton.varint_bytes(number << 3 | 2) + skeleton.varint_bytes(len(body)) + body
