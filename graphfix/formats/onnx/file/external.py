"""Find, check, read and copy the external data of an ONNX model: tensors whose data lies in other files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from graphfix.formats.neutral.files import CHUNK, Staging
from graphfix.formats.onnx.file.data_home import DataHome, open_data
from graphfix.formats.onnx.file.tensors import byte_size
from graphfix.formats.onnx.file.wire import ROUTES, TENSOR
from graphfix.results import GraphfixError
from graphfix.results.error_texts import shown
from graphfix.results.onnx_messages import ModelProto, TensorProto

MOST_DIGITS: Final = 20
"""The number of digits of 2**64 - 1, the largest file size. Python raises ValueError for more than 4300 digits."""
SIGNS: Final = (b"location", b"\x70\x01")
"""Byte strings of which each serialized model with external data contains one.

They are the key `location`, and the field `data_location` with the value EXTERNAL.
"""


def may_have_external(serialized: bytes | bytearray) -> bool:
    """Return whether a serialized skeleton may contain external data, so that each tensor must be checked."""
    return any(sign in serialized for sign in SIGNS)


def check_external(model: ModelProto, home: DataHome | None, name: str) -> bool:
    """Check the location and the length of a model's external data, and return whether the model has external data.

    `home` is None for a model that was read from bytes without a folder. The data files are not opened.

    Raises GraphfixError, with the tensor and the location, if `DataHome.resolved` refuses the location, or if the file
    ends before the tensor's data. If the length is absent or 0, the data is as long as the tensor's shape requires.
    """
    sizes: dict[str, int] = {}
    tensor = None
    for tensor, entries in _external(model):
        where = f"{name}: the external data of tensor {tensor.name!r}"
        if home is None:
            raise GraphfixError(f"{where} can't be found: bytes have no folder; give the model's path, or the folder")
        location = entries.get("location", "")
        where = f"{where} at {location!r}"
        if location not in sizes:
            sizes[location] = home.resolved(location, where).stat().st_size
        offset, length = _count(entries, "offset", where) or 0, _count(entries, "length", where)
        end = offset + (length or _byte_size(tensor))
        if end > sizes[location]:
            size = sizes[location]
            raise GraphfixError(f"{where} ends at byte {end}, but the file has {size} bytes; restore the whole file")
    return tensor is not None


def external_files(model: ModelProto) -> list[str]:
    """Return the locations of a model's data files, each once. The disk is not read."""
    return list(dict.fromkeys(entries.get("location", "") for _, entries in _external(model)))


def rename(model: ModelProto, names: Mapping[str, str]) -> None:
    """Replace the locations of data files in `model`. `names` maps old locations to new ones."""
    for tensor, _ in _external(model):
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = names.get(entry.value, entry.value)


def payload(tensor: TensorProto, home: DataHome) -> bytes:
    """Return the bytes of a tensor's external data. Raises OSError and GraphfixError."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location, where = entries.get("location", ""), f"the external data of tensor {tensor.name!r}"
    offset, length = _count(entries, "offset", where) or 0, _count(entries, "length", where)
    with os.fdopen(open_data(home.resolved(location, where)), "rb") as file:
        file.seek(offset)
        return file.read(length or byte_size(tensor))


def stated_length(tensor: TensorProto) -> int | None:
    """Return the length in bytes that the model states for a tensor's external data; None if it states none.

    Raises GraphfixError if the text is not a number.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    return _count(entries, "length", f"the external data of tensor {tensor.name!r}")


def _byte_size(tensor: TensorProto) -> int:
    """Return the number of bytes that a tensor's type and shape require; 0 if type or shape is invalid.

    Invalid tensors are reported later.
    """
    is_valid = tensor.data_type in TensorProto.DataType.values() and all(size >= 0 for size in tensor.dims)
    return byte_size(tensor) if is_valid else 0


def _external(model: ModelProto) -> Iterator[tuple[TensorProto, dict[str, str]]]:
    for tensor in tensors(model):
        if tensor.data_location == TensorProto.EXTERNAL:
            yield tensor, {entry.key: entry.value for entry in tensor.external_data}


def tensors(message: Any, kind: str | None = None) -> Iterator[TensorProto]:  # noqa: ANN401  (any onnx message)
    """Yield every TensorProto that a message contains, at any depth. `kind` is the message type."""
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
"""For each message type, its fields that lead to tensors: (field name, message type of the field, is it singular)."""


def _count(entries: dict[str, str], key: str, where: str) -> int | None:
    """Return a number of bytes, which the format stores as decimal digits; None if the key is absent.

    Raises GraphfixError for any other text.
    """
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise GraphfixError(f"{where} has the {key} {shown(text)}; it must be a number of bytes")
    return int(text)


def refuse_data_name(files: Iterable[Path], out: Path) -> None:
    """Raise GraphfixError if a model that is written to `out` would replace one of its data files."""
    if any(os.path.realpath(path) == os.path.realpath(out) for path in files):
        raise GraphfixError(f"{out}: this is the name of the model's own data file; choose another name")


def refuse_kept_links(locations: Iterable[str], out: Path, home: DataHome) -> None:
    """Raise GraphfixError if a new model `out` would refer to a data file that graphfix then refuses to read.

    `home` contains the folders in which the data files of `out` may lie. The files in them may be links, as in the
    cache of a model hub. Missing data files are skipped.
    """
    for location in locations:
        file = Path(os.path.realpath(home.folder / location))
        if file.exists() and not home.allows(location, file):
            raise GraphfixError(
                f"{out}: its data {location!r} would be a link out of its folder; write it into another folder, "
                f"where the data is copied, or allow the link: --data-root {file.parent}"
            )


def copy_beside(files: Mapping[Path, Path], staging: Staging) -> None:
    """Stage a copy of each data file. `files` maps the path of each copy to its data file, with links resolved.

    An existing file at the copy's path is kept if it has the same bytes. Raises GraphfixError if its bytes differ, and
    OSError.
    """
    for target, origin in files.items():
        if not _is_kept(origin, target):
            staging.copy(origin, target)


def _is_kept(origin: Path, target: Path) -> bool:
    """Return whether the data is already at its new path. Raise GraphfixError if something else has this path."""
    if not os.path.lexists(target):
        return False
    if target.is_file() and not target.is_symlink() and _same_bytes(origin, target):
        return True
    raise GraphfixError(f"{target}: something else of this name exists and is kept; remove it, or choose another name")


def _same_bytes(one: Path, other: Path) -> bool:
    """Return whether two files have the same bytes, or are one file."""
    if one.samefile(other):
        return True
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as a, other.open("rb") as b:
        return all(chunk == b.read(CHUNK) for chunk in iter(lambda: a.read(CHUNK), b""))
