"""Tensors whose data lies in files beside the model: where those may be, and their copies beside a new model."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Final

from onnx import ModelProto, TensorProto

from graphfix.formats.onnx.disk import CHUNK, Staging, told
from graphfix.formats.onnx.wire import ROUTES, TENSOR
from graphfix.results import GraphfixError

SIGNS: Final = (b"location", b"\x70\x01")
"""One of these is in every serialized model with external data: the key `location`, or `data_location: EXTERNAL`."""


@dataclass(frozen=True, slots=True)
class ExternalData:
    """Where the data of one tensor lies (onnx.proto, TensorProto.external_data)."""

    tensor: str
    location: str
    """As the model states it: relative to the model's folder."""
    path: Path
    offset: int
    """Bytes from the start of the file."""
    length: int | None
    """Bytes; None is all from the offset on."""


def may_have_external(serialized: bytes) -> bool:
    """Whether it is worth while to look at each tensor of a serialized skeleton."""
    return any(sign in serialized for sign in SIGNS)


def check_external(model: ModelProto, folder: Path | None, name: str) -> list[ExternalData]:
    """Find the external data of a model and check that it is there and that it stays within the model's folder.

    `folder` is None for a model that was given as bytes. Raises GraphfixError, which names the tensor and the location,
    where a location is absolute, leaves the folder by `..` or by a symlink, is a symlink itself or no regular file, is
    missing, or ends before `offset + length`. The files are not opened.
    """
    found: list[ExternalData] = []
    sizes: dict[str, int] = {}
    for tensor in tensors(model):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        where = f"{name}: the external data of tensor {tensor.name!r}"
        if folder is None:
            raise GraphfixError(f"{where} can't be found: bytes have no folder; give the model's path")
        entries = {entry.key: entry.value for entry in tensor.external_data}
        location = entries.get("location", "")
        where = f"{where} at {location!r}"
        if location not in sizes:
            sizes[location] = _size(folder, location, where)
        offset, length = _count(entries, "offset", where), _count(entries, "length", where)
        end = (offset or 0) + (length or 0)
        if end > sizes[location]:
            raise GraphfixError(
                f"{where} ends at byte {end}, but the file has {sizes[location]} bytes; restore the whole file"
            )
        found.append(ExternalData(tensor.name, location, folder / location, offset or 0, length))
    return found


def tensors(message: Any, kind: str | None = None) -> Iterator[TensorProto]:  # noqa: ANN401  (any message of onnx)
    """Every TensorProto that the message holds, at any depth."""
    kind = kind or message.DESCRIPTOR.full_name
    if kind == TENSOR:
        yield message
        return
    for name, inner, repeated in FIELDS[kind]:
        if not repeated and not message.HasField(name):
            continue
        value = getattr(message, name)
        for one in value if repeated else (value,):
            yield from tensors(one, inner)


FIELDS: Final = {
    kind: [
        (name, inner, tag not in route.singular)
        for name, (tag, inner) in zip(route.names, route.fields.items(), strict=True)
    ]
    for kind, route in ROUTES.items()
}
"""Message type -> the fields that lead to tensors: name, message type, repeated."""


def _count(entries: dict[str, str], key: str, where: str) -> int | None:
    """A number of bytes as the format writes it, in decimal digits."""
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise GraphfixError(f"{where} has the {key} {text!r}; it must be a number of bytes")
    return int(text)


def _size(folder: Path, location: str, where: str) -> int:
    """How many bytes the file at a location has."""
    if not location or "\0" in location:
        raise GraphfixError(f"{where} has no file name; save the model again with its data")
    if PurePosixPath(location).is_absolute() or PureWindowsPath(location).anchor:
        raise GraphfixError(f"{where} is an absolute path; move the file into the model's folder")
    if os.path.normpath(location).split(os.sep)[0] in {os.pardir, os.curdir}:
        raise GraphfixError(f"{where} leaves the model's folder; move the file into it")
    path = folder / location
    try:
        found = path.lstat()
        home = folder.resolve(strict=True)
        if not path.parent.resolve(strict=True).is_relative_to(home):
            raise GraphfixError(f"{where} leaves the model's folder by a symlink; put the file itself there")
    except OSError as error:
        raise GraphfixError(
            f"{where} can't be used: {told(error)}; put the file into the model's folder"
        ) from error
    if stat.S_ISLNK(found.st_mode):
        raise GraphfixError(f"{where} is a symlink; put the file itself there")
    if not stat.S_ISREG(found.st_mode):
        raise GraphfixError(f"{where} is no regular file; put the data's file there")
    return found.st_size


def copy_beside(files: Iterable[ExternalData], out: Path, staging: Staging) -> None:
    """Stage a copy of each data file at the same location under the folder of the new model `out`.

    Nothing is copied where that is the folder it lies in, and a file that is there already is kept where it holds the
    same bytes. Raises GraphfixError where it holds others, where a symlink leads out of the new folder, or where `out` is
    a data file itself; OSError of the system.
    """
    home = out.parent.resolve(strict=True)
    origins = {data.location: data.path for data in files}
    seen: set[Path] = set()
    for location, origin in origins.items():
        staging.folder(out.parent / PurePosixPath(location).parent)
        target = (out.parent / location).parent.resolve() / PurePosixPath(location).name
        if not target.is_relative_to(home):
            raise GraphfixError(
                f"{out.parent / location}: a symlink leads out of the new model's folder; remove it"
            )
        if target == home / out.name:
            raise GraphfixError(f"{out}: this is the name of the model's own data file; choose another name")
        if target not in seen and not _is_kept(origin, target):
            staging.copy(origin, target)
        seen.add(target)


def _is_kept(origin: Path, target: Path) -> bool:
    """Whether the data is at its new place already."""
    if not os.path.lexists(target):
        return False
    if target.is_file() and (target.samefile(origin) or _same_bytes(origin, target)):
        return True
    raise GraphfixError(
        f"{target}: a different file of this name exists and is not overwritten; choose another folder"
    )


def _same_bytes(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        return all(chunk == b.read(CHUNK) for chunk in iter(lambda: a.read(CHUNK), b""))
