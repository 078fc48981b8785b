"""Tensors whose data lies in files beside the model: where those may be, and how they are copied."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath, PureWindowsPath
from typing import Any, Final

from graphfix.formats.files import CHUNK, Staging, reason
from graphfix.formats.onnx.file.proto import ModelProto, TensorProto
from graphfix.formats.onnx.file.wire import ROUTES, TENSOR
from graphfix.results import GraphfixError

SIGNS: Final = (b"location", b"\x70\x01")
"""Every serialized model with external data has one: the key `location`, `data_location: EXTERNAL`."""


def may_have_external(serialized: bytes | bytearray) -> bool:
    """Tell whether it is worth while to look at each tensor of a serialized skeleton."""
    return any(sign in serialized for sign in SIGNS)


def check_external(model: ModelProto, folder: Path | None, name: str) -> bool:
    """Check that the external data of a model is there and stays within the model's folder; tell whether it has any.

    `folder` is None for a model that was given as bytes. The files are not opened.

    Raises GraphfixError, which names the tensor and the location, where a location is absolute, leaves
    the folder by `..` or by a symlink, is a symlink or no regular file, is missing, or ends before
    offset + length.
    """
    sizes: dict[str, int] = {}
    tensor = None
    for tensor, entries in _external(model):
        where = f"{name}: the external data of tensor {tensor.name!r}"
        if folder is None:
            raise GraphfixError(f"{where} can't be found: bytes have no folder; give the model's path")
        location = entries.get("location", "")
        where = f"{where} at {location!r}"
        if location not in sizes:
            sizes[location] = _size(folder, location, where)
        offset, length = _count(entries, "offset", where) or 0, _count(entries, "length", where)
        end = offset + (length or 0)
        if end > sizes[location]:
            size = sizes[location]
            raise GraphfixError(f"{where} ends at byte {end}, but the file has {size} bytes; restore the whole file")
    return tensor is not None


def external_files(model: ModelProto, folder: Path) -> dict[str, Path]:
    """List the data files by location, once each, without a look at the disk."""
    locations = (entries.get("location", "") for _, entries in _external(model))
    return {location: folder / location for location in locations}


def _external(model: ModelProto) -> Iterator[tuple[TensorProto, dict[str, str]]]:
    for tensor in tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            yield tensor, {entry.key: entry.value for entry in tensor.external_data}


def tensors(message: Any, kind: str | None = None) -> Iterator[TensorProto]:  # noqa: ANN401  (any onnx message)
    """Find every TensorProto that the message holds, at any depth."""
    kind = kind or message.DESCRIPTOR.full_name
    if kind == TENSOR:
        yield message
        return
    for name, inner, singular in FIELDS[kind]:
        if singular and not message.HasField(name):
            continue
        value = getattr(message, name)
        for one in (value,) if singular else value:
            yield from tensors(one, inner)


FIELDS: Final = {
    kind: [
        (name, inner, tag in route.singular)
        for name, (tag, inner) in zip(route.names, route.fields.items(), strict=True)
    ]
    for kind, route in ROUTES.items()
}
"""Message type -> its fields that lead to tensors: name, type of the message, whether there is one only."""


def _count(entries: dict[str, str], key: str, where: str) -> int | None:
    """Read a number of bytes as the format writes it, in decimal digits."""
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit()):
        raise GraphfixError(f"{where} has the {key} {text!r}; it must be a number of bytes")
    return int(text)


def is_below(location: str) -> bool:
    """Tell whether a location can be one below the model's folder."""
    try:
        _refuse_misplaced(location, "")
    except GraphfixError:
        return False
    return True


def _refuse_misplaced(location: str, where: str) -> None:
    if not location or "\0" in location:
        raise GraphfixError(f"{where} has no file name; save the model again with its data")
    if PureWindowsPath(location).anchor:  # of either system: `/x`, `C:x`
        raise GraphfixError(f"{where} is an absolute path; move the file into the model's folder")
    if PurePath(os.path.normpath(location)).parts[:1] == (os.pardir,):
        raise GraphfixError(f"{where} leaves the model's folder; move the file into it")


def _size(folder: Path, location: str, where: str) -> int:
    """Ask how many bytes the file at a location has; refuse where it is not a file of the model's folder."""
    _refuse_misplaced(location, where)
    path = folder / location
    try:
        found = path.lstat()
        inside = path.parent.resolve(strict=True).is_relative_to(folder.resolve(strict=True))
    except OSError as error:
        raise GraphfixError(f"{where} can't be used: {reason(error)}; put the file into the model's folder") from error
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISLNK(found.st_mode):
        raise GraphfixError(f"{where} is no regular file; put the file itself into the model's folder")
    if stat.S_ISLNK(found.st_mode) or not inside:
        raise GraphfixError(f"{where} is behind a symlink; put the file itself into the model's folder")
    return found.st_size


def refuse_data_name(files: Iterable[Path], out: Path) -> None:
    """Raise GraphfixError where a model that is to be written would replace one of its data files."""
    if any(os.path.realpath(path) == os.path.realpath(out) for path in files):
        raise GraphfixError(f"{out}: this is the name of the model's own data file; choose another name")


def copy_beside(files: dict[str, Path], out: Path, staging: Staging) -> None:
    """Stage a copy of each data file at the same location under the folder of the new model `out`.

    A file that is there already is kept where it holds the same bytes. Raises GraphfixError where it holds
    others, or where a symlink leads out of the new folder; OSError of the system.
    """
    home = out.parent.resolve(strict=True)
    seen: set[Path] = set()
    for location, origin in files.items():
        new = out.parent / location
        staging.folder(new.parent)
        target = new.parent.resolve(strict=True) / new.name
        if not target.is_relative_to(home):
            raise GraphfixError(f"{new}: a symlink leads out of the new model's folder; remove it")
        if target not in seen and not _is_kept(origin, target):
            staging.copy(origin, target)
        seen.add(target)


def _is_kept(origin: Path, target: Path) -> bool:
    """Tell whether the data is at its new place already; refuse where something else is."""
    if not os.path.lexists(target):
        return False
    if target.is_file() and not target.is_symlink() and _same_bytes(origin, target):
        return True
    raise GraphfixError(f"{target}: something else of this name exists and is kept; choose another folder")


def _same_bytes(one: Path, other: Path) -> bool:
    if one.samefile(other):
        return True
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        return all(chunk == b.read(CHUNK) for chunk in iter(lambda: a.read(CHUNK), b""))
