"""Find and check the data files of an ONNX model for the proof and the runs.

The rule is described in docs/behaviour.md, "External data". A location must be below the model's folder. With links
resolved, the data file must lie in that folder, in the folder of the resolved model file, or in a folder that the user
allows. The working folder never matters. The rewriter implements the same rule in `formats/onnx/file/data_home.py`.
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
"""Byte strings: every serialized model with external data contains at least one of them.

The first is the key `location`. The second is the field `data_location: EXTERNAL`.
"""
_HALVES = frozenset({TensorProto.FLOAT16, TensorProto.BFLOAT16})
_IN_MEMORY = "*/_ORT_"
"""The mark of locations that onnxruntime reads as addresses in memory, such as `*/_ORT_MEM_ADDR_/*`."""
_MOST_DIGITS = 20
"""Digits of 2**64 - 1, the largest possible file size.

Python raises ValueError for numbers of more than 4300 digits.
"""
_ROUTES = frozenset(
    "graph functions training_info initialization algorithm initializer sparse_initializer values "
    "indices t g tensors graphs sparse_tensor sparse_tensors "
    "tensor_value sparse_tensor_value sequence_value optional_value map_value "
    "tensor_values sparse_tensor_values sequence_values optional_values map_values".split()
)
"""The fields of onnx's messages that lead to a TensorProto, in a model, a sequence, an optional or a map."""


@dataclass(frozen=True, slots=True)
class ExternalData:
    """The data files of one model, and the folders in which they may lie."""

    model: Path
    """The path of the model, as messages print it."""
    home: Path
    """The model's folder as an absolute path. Locations are relative to it."""
    own: tuple[Path, ...]
    """Two folders with links resolved: the model's folder, and the folder of the resolved model file."""
    allowed: tuple[Path, ...]
    """The folders that the user allows, with links resolved."""
    files: dict[str, Path] = field(default_factory=dict)
    """For each location that `file` was called with, the data file with links resolved."""

    @classmethod
    def of(cls, model: Path, data_root: Sequence[Path] = ()) -> ExternalData:
        """Resolve the folders of a model, without reading the model.

        `data_root` contains the folders that the user allows.
        """
        own = _resolved(model.parent), _resolved(model).parent
        return cls(model, model.parent.absolute(), own, tuple(map(_resolved, data_root)))

    def check(self, message: Message) -> None:
        """Check the data file of every tensor in `message`, even of unused tensors.

        Raises GraphfixError if a data file is missing, refused or too short.
        """
        for tensor in tensors(message):
            if is_external(tensor):
                self.span(tensor, self.file(tensor).stat().st_size)

    def file(self, tensor: TensorProto) -> Path:
        """Return the data file of a tensor, with links resolved.

        Raises GraphfixError if the file is missing or refused.
        """
        location = _entries(tensor).get("location", "")
        if location not in self.files:
            self.files[location] = self._found(tensor.name, location)
        return self.files[location]

    def span(self, tensor: TensorProto, size: int) -> tuple[int, int]:
        """Return (offset, length) of a tensor's data in a file of `size` bytes.

        If the tensor states no length, the data ends where the file ends. Raises GraphfixError if the file ends before
        the stated length. If the length is missing or 0, the file must contain the bytes that the tensor's type and
        shape need.
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
        """Return (bytes of a checked model and its data files, bytes of memory that onnxruntime allocates for it).

        Data files are mapped into memory and allocate nothing. Weights in the model file are in memory twice while the
        model is loaded. For weights with 16 bits, kernels make a copy in float32.
        """
        inside = self.model.stat().st_size
        files = sum(file.stat().st_size for file in set(self.files.values()))
        halves = [t for t in tensors(message) if is_external(t) and t.data_type in _HALVES]
        return inside + files, 2 * inside + 2 * sum(map(byte_size, halves))

    @property
    def folder(self) -> Path | None:
        """Return the innermost folder that contains all data files; None if the model has no data file."""
        return Path(os.path.commonpath([file.parent for file in self.files.values()])) if self.files else None

    def model_with_data(self) -> ModelProto:
        """Read the model, with the bytes of all data files inside its tensors. Raises GraphfixError."""
        model = skeleton.read(self.model, full_below=sys.maxsize)
        self._embed(model)
        return model

    def runnable(self) -> Path | bytes:
        """Return the model in a form that a runtime can load.

        A model without data files is returned as its path. Any other model is returned as bytes in which locations are
        relative to `folder`. Raises GraphfixError if the model can't be read.
        """
        if not self.files:
            return self.model
        model = skeleton.read(self.model, full_below=sys.maxsize)
        self.relocate(model)
        return bytes(model.SerializeToString())

    def relocate(self, message: Message) -> None:
        """Replace the locations in a checked model by the paths of the resolved files, relative to `folder`.

        Runtimes have their own rules for links: onnxruntime 1.31 refuses a link that leads out of the folder it gets.
        The new locations contain no links, so every runtime reads the files that were checked.
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
        """Replace the locations in a checked model by the numbers of the data files: "0", "1" and so on.

        Data files are numbered in the order of their first tensor. Returns False, and changes nothing, if a location is
        not one that every runtime reads as a plain name.
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
        """Copy the data of every external tensor into the tensor."""
        for tensor in tensors(message) if self.files else ():
            if is_external(tensor):
                with ExitStack() as stack:
                    file = Opened.at(self.file(tensor), stack)
                    offset, length = self.span(tensor, file.size)
                    tensor.raw_data = Payload(file, offset, length).read(0, length)
                tensor.ClearField("external_data")
                tensor.data_location = TensorProto.DEFAULT

    def _found(self, name: str, location: object) -> Path:
        """Return the resolved data file at a location. Raises GraphfixError if the location or the file is refused.

        `name` is the name of the tensor, for messages.
        """
        where = f"{self.model}: the data of {name!r} lies at {location!r}"
        # A location that is not valid UTF-8 is bytes, and not a string.
        if not isinstance(location, str) or not location or "\0" in location:
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
        """Return an offset or a length as an integer.

        Raises GraphfixError if it is not a decimal number of up to 20 digits.
        """
        if isinstance(declared, str) and len(declared) <= _MOST_DIGITS and declared.isascii() and declared.isdecimal():
            return int(declared)
        place = f"{name!r} states {shown(declared)} as a place in its file"
        raise GraphfixError(f"{self.model}: {place}; give a number of bytes")


def may_have_external(serialized: bytes | bytearray) -> bool:
    """Return whether a serialized model may have external data. If the result is False, it has none."""
    return any(sign in serialized for sign in _SIGNS)


def checked(path: Path, model: Message, data_root: Sequence[Path] = ()) -> ExternalData:
    """Return the data files of a model that was read from `path`.

    Raises GraphfixError if a data file is missing or refused.
    """
    data = ExternalData.of(path, data_root)
    data.check(model)
    return data


def tensors(message: Message) -> Iterator[TensorProto]:
    """Yield every tensor in a message of onnx, at any depth.

    A node leads to tensors by its attributes. Tensors are yielded in the order of onnx's fields.
    """
    pending = [message]
    while pending:
        each = pending.pop()
        if isinstance(each, TensorProto):
            yield each
            continue
        inside: list[Message] = []
        for descriptor, value in each.ListFields():
            # Most nodes have no attribute. Reading `node.attribute` is faster than listing the fields of each node.
            if descriptor.name == "node":
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
    """Return whether a location is below its folder: relative on every system, and without '..'."""
    return not PureWindowsPath(location).anchor and os.pardir not in PurePath(location).parts


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))
