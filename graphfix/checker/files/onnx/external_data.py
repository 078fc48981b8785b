"""Find and check the data files of an ONNX model for the proof and the runs.

The rule is that of docs/behaviour.md, "External data". By its name a data file lies below the model's folder. With
links resolved, it lies in that folder, in the folder of the resolved model file, or in a folder that the user allows.
The working folder never matters. The rewriter implements the same rule in `formats/onnx/file/data_home.py`.
"""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path, PurePath, PureWindowsPath
from stat import S_ISREG
from typing import TYPE_CHECKING

from graphfix.checker.files.constant_bytes import Opened, Payload
from graphfix.checker.files.onnx import skeleton
from graphfix.checker.files.onnx.tensors import byte_size, odd_location
from graphfix.results import GraphfixError
from graphfix.results.error_texts import shown
from graphfix.results.onnx_messages import TensorProto
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from google.protobuf.message import Message  # type: ignore[import-untyped]  # protobuf ships no stubs
    from onnx import ModelProto

_SIGNS = (b"location", b"\x70\x01")
"""Every serialized model with external data has one: the key `location`, or `data_location: EXTERNAL`."""
_HALVES = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
_IN_MEMORY = "*/_ORT_"
"""The mark of locations that onnxruntime reads as addresses in memory, such as `*/_ORT_MEM_ADDR_/*`."""
_MOST_DIGITS = 20
"""Digits of 2**64 - 1, the largest size of a file. Python raises ValueError for more than 4300 digits."""
_ROUTES = frozenset(
    "graph functions training_info initialization algorithm initializer sparse_initializer values "
    "indices t g tensors graphs sparse_tensor sparse_tensors "
    "tensor_value sparse_tensor_value sequence_value optional_value map_value "
    "tensor_values sparse_tensor_values sequence_values optional_values map_values".split()
)
"""The fields of onnx's messages that lead to a TensorProto: of a model, a sequence, an optional or a map."""


@dataclass(frozen=True, slots=True)
class ExternalData:
    """The data files of one model, and the folders in which they may lie."""

    model: Path
    """The model, as messages name it."""
    home: Path
    """The model's folder, absolute: locations are relative to it."""
    own: tuple[Path, ...]
    """With links resolved, the model's folder and the folder of the resolved model file."""
    allowed: tuple[Path, ...]
    """With links resolved, the folders that the user allows."""
    files: dict[str, Path] = field(default_factory=dict)
    """By location: the file, with links resolved, of each tensor that `file` was called for."""

    @classmethod
    def of(cls, model: Path, data_root: Sequence[Path] = ()) -> ExternalData:
        """Resolve the folders of a model, without reading the model."""
        own = _resolved(model.parent), _resolved(model).parent
        return cls(model, model.parent.absolute(), own, tuple(map(_resolved, data_root)))

    def check(self, message: Message) -> None:
        """Check the data file of every tensor, used or not. Raises GraphfixError for data that must not be read."""
        for tensor in tensors(message):
            if is_external(tensor):
                self.span(tensor, self.file(tensor).stat().st_size)

    def file(self, tensor: TensorProto) -> Path:
        """Return the data file of a tensor, with links resolved. Raises GraphfixError if it must not be read."""
        location = _entries(tensor).get("location", "")
        if location not in self.files:
            self.files[location] = self._found(tensor.name, location)
        return self.files[location]

    def span(self, tensor: TensorProto, size: int) -> tuple[int, int]:
        """Return the offset and the length of a tensor's data in a file of `size` bytes.

        Raises GraphfixError if the file ends before the data that is stated, or else before the bytes of the shape.
        """
        entries = _entries(tensor)
        offset = self._number(tensor.name, entries.get("offset", "0"))
        rest = size - offset
        stated = self._number(tensor.name, entries.get("length", "0"))
        needed = stated or max(byte_size(tensor), 0)
        if needed > rest:
            shortfall = f"{self.model.parent / entries['location']}: holds {max(rest, 0)} bytes from {offset} on"
            raise GraphfixError(f"{shortfall}, {tensor.name!r} needs {needed}; restore the whole file")
        return offset, stated if "length" in entries else rest

    def bytes_of(self, message: Message) -> tuple[int, int]:
        """Return the bytes of a checked model with its data files, and the bytes of memory that onnxruntime allocates.

        Data files are mapped and allocate nothing. Weights in the model file are in memory twice during loading, and
        kernels of float32 make a copy of weights with 16 bits.
        """
        inside = self.model.stat().st_size
        files = sum(file.stat().st_size for file in set(self.files.values()))
        halves = [t for t in tensors(message) if is_external(t) and t.data_type in _HALVES]
        return inside + files, 2 * inside + 2 * sum(map(byte_size, halves))

    @property
    def folder(self) -> Path | None:
        """Return the folder that holds all files; None if there is no file."""
        return Path(os.path.commonpath([file.parent for file in self.files.values()])) if self.files else None

    def model_with_data(self) -> ModelProto:
        """Read the model with all its data. Raises GraphfixError."""
        model = skeleton.read(self.model, full_below=sys.maxsize)
        self._embed(model)
        return model

    def runnable(self) -> Path | bytes:
        """Return the model for a runtime: its path if it has no data file, else bytes with locations in `folder`.

        Raises GraphfixError.
        """
        if not self.files:
            return self.model
        model = skeleton.read(self.model, full_below=sys.maxsize)
        self.relocate(model)
        return bytes(model.SerializeToString())

    def relocate(self, message: Message) -> None:
        """Replace the locations in a checked model by the resolved files, relative to `folder`.

        Runtimes have their own rules for links: onnxruntime 1.31 refuses a link that leaves the folder it is given.
        Without links, every runtime reads the files that were checked.
        """
        folder = self.folder
        if folder is None:
            return
        names = {location: file.relative_to(folder).as_posix() for location, file in self.files.items()}
        for tensor in filter(is_external, tensors(message)):
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = names.get(entry.value, entry.value)

    def number(self, message: Message) -> bool:
        """Replace the locations in a checked model by consecutive numbers, in the order of the tensors.

        Return False, and change nothing, for a location that not every runtime reads as a plain name.
        """
        external = [tensor for tensor in tensors(message) if is_external(tensor)]
        if any(odd_location(tensor) is not None for tensor in external):
            return False
        numbers = {location: str(number) for number, location in enumerate(self.files)}
        for tensor in external:
            for entry in tensor.external_data:
                if entry.key == "location":
                    entry.value = numbers[entry.value]
        return True

    def _embed(self, message: Message) -> None:
        for tensor in tensors(message) if self.files else ():
            if is_external(tensor):
                with ExitStack() as stack:
                    file = Opened.at(self.file(tensor), stack)
                    offset, length = self.span(tensor, file.size)
                    tensor.raw_data = Payload(file, offset, length).read(0, length)
                tensor.ClearField("external_data")
                tensor.data_location = TensorProto.DEFAULT

    def _found(self, name: str, location: object) -> Path:
        where = f"{self.model}: the data of {name!r} lies at {location!r}"
        if not isinstance(location, str) or not location or "\0" in location:  # bytes that are no UTF-8 stay bytes
            raise GraphfixError(f"{where}, which names no file; save the model again with its data")
        if _IN_MEMORY in location:
            raise GraphfixError(f"{where}: onnxruntime reads memory there; save the model again with its data")
        file = _resolved(self.home / location)
        folders = (*self.own, *self.allowed) if _is_below(location) else self.allowed
        if not any(file.is_relative_to(folder) for folder in folders):
            how = f"copy it into the folder, or allow its place: --data-root {file.parent}"
            raise GraphfixError(f"{where}, out of the model's folder; {how}")
        try:
            regular = S_ISREG(file.stat().st_mode)
        except OSError as error:
            raise GraphfixError(f"{where}, which can't be read: {error.strerror}; restore the file") from None
        if not regular:
            raise GraphfixError(f"{where}, which is not a file; put the data file there")
        return file

    def _number(self, name: str, declared: object) -> int:
        if isinstance(declared, str) and len(declared) <= _MOST_DIGITS and declared.isascii() and declared.isdecimal():
            return int(declared)
        place = f"{name!r} states {shown(declared)} as a place in its file"
        raise GraphfixError(f"{self.model}: {place}; give a number of bytes")


def may_have_external(serialized: bytes | bytearray) -> bool:
    """Return whether a serialized model may have external data; False is certain."""
    return any(sign in serialized for sign in _SIGNS)


def checked(path: Path, model: Message, data_root: Sequence[Path] = ()) -> ExternalData:
    """Return the data files of a model that was read from `path`. Raises GraphfixError if a data file is refused."""
    data = ExternalData.of(path, data_root)
    data.check(model)
    return data


def tensors(message: Message) -> Iterator[TensorProto]:
    """Yield every tensor that one of onnx's messages holds, at any depth, in the order of the file."""
    pending = [message]
    while pending:
        each = pending.pop()
        if isinstance(each, TensorProto):
            yield each
            continue
        inside: list[Message] = []
        for descriptor, value in each.ListFields():
            if descriptor.name == "node":  # most nodes have no attribute, and need no list of their fields
                for node in value:
                    inside += node.attribute
            elif descriptor.name in _ROUTES and descriptor.message_type is not None:
                inside += (value,) if hasattr(value, "ListFields") else value
        pending += reversed(inside)


def is_external(tensor: TensorProto) -> bool:
    """Return whether a tensor's data lies in another file."""
    return bool(tensor.data_location == TensorProto.EXTERNAL)


def _entries(tensor: TensorProto) -> dict[str, str]:
    return {entry.key: entry.value for entry in tensor.external_data}


def _is_below(location: str) -> bool:
    """Return whether a location names a file below its folder: it is relative on any system, and has no '..'."""
    return not PureWindowsPath(location).anchor and os.pardir not in PurePath(location).parts


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))
