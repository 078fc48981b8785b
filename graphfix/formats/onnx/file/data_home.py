"""Resolve and open the data files of an ONNX model, whose locations are relative to the model's folder.

`external` and `container` find every data file by this module, so the working folder never matters. The rule is that of
docs/behaviour.md, "External data". The checker implements the rule again in `checker/files/onnx/external_data.py`.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath, PureWindowsPath
from typing import Final

from graphfix.formats.neutral.files import BINARY, reason
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass

NO_WAIT: Final[int] = getattr(os, "O_NONBLOCK", 0)
"""The flag with which `open` does not wait for the writer of a pipe."""
ADDRESS: Final = "*/_ORT_"
"""A part of a location whose offset onnxruntime reads as a memory address (its `tensor_external_data_info.h`)."""


@dataclass(frozen=True, slots=True)
class DataHome:
    """The folders in which the data files of one model may lie."""

    folder: Path
    """The model's folder, as an absolute path. Locations are relative to it."""
    own: Sequence[Path]
    """The model's folder and the folder of the resolved model file, both with links resolved."""
    roots: Sequence[Path]
    """Further folders that the user allows (`--data-root`), with links resolved."""

    @classmethod
    def of(cls, model: Path, roots: Sequence[Path]) -> DataHome:
        """Return the home of an existing model file."""
        resolved = Path(os.path.realpath(model)).parent
        return cls(model.parent.absolute(), (_real(model.parent), resolved), tuple(map(_real, roots)))

    @classmethod
    def of_new(cls, out: Path, roots: Sequence[Path]) -> DataHome:
        """Return the home of a model that will be written as a regular file `out`.

        An existing link there is replaced.
        """
        return cls(out.parent.absolute(), (_real(out.parent),), tuple(map(_real, roots)))

    def resolved(self, location: str, where: str) -> Path:
        """Return the data file at a location, with all links resolved.

        Raises GraphfixError if the rule refuses the location, or if the file is missing or not a regular file. The text
        of the error begins with `where`.
        """
        if ADDRESS in location:
            raise GraphfixError(f"{where} would be read from memory by onnxruntime; save the model again with its data")
        name_fault = self._name_fault(location)
        if not location or "\0" in location or (name_fault is not None and not self.roots):
            raise GraphfixError(f"{where} {name_fault or 'has no file name; save the model again with its data'}")
        try:
            file = Path(os.path.realpath(self.folder / location, strict=True))
            is_regular = stat.S_ISREG(file.stat().st_mode)
        except OSError as error:
            advice = "put the file into the model's folder"
            raise GraphfixError(f"{where} can't be used: {reason(error)}; {advice}") from error
        if not is_regular:
            raise GraphfixError(f"{where} is not a regular file; put the file itself into the model's folder")
        if not self.allows(location, file):
            how = "copy the file into it, or allow its folder"
            fault = name_fault or f"is a link out of the model's folder; {how}: --data-root {file.parent}"
            raise GraphfixError(f"{where} {fault}")
        return file

    def allows(self, location: str, file: Path) -> bool:
        """Return whether the rule allows a data file. `file` is the location with all links resolved."""
        folders = [*self.roots, *(self.own if is_inside(location) else ())]
        return any(file.is_relative_to(folder) for folder in folders)

    def is_kept(self, location: str, new: DataHome) -> bool:
        """Return whether a location refers to the same data file from the home `new`, which must allow the file."""
        file = Path(os.path.realpath(new.folder / location))
        return file == Path(os.path.realpath(self.folder / location)) and new.allows(location, file)

    def _name_fault(self, location: str) -> str | None:
        """Return why a location is not below the model's folder, with advice; None if it is below the folder."""
        if is_inside(location):
            return None
        what = "is an absolute path" if PureWindowsPath(location).anchor else "leaves the model's folder by '..'"
        place = Path(os.path.realpath(self.folder / location)).parent if "\0" not in location else ""
        return f"{what}; move the file into the model's folder, or allow its folder: --data-root {place}"


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def is_inside(location: str) -> bool:
    """Return whether a location is a path below the model's folder: relative, and without '..'."""
    # The anchor of POSIX or Windows: `/x`, `C:x`.
    return not PureWindowsPath(location).anchor and os.pardir not in PurePath(location).parts


def copied_names(locations: Iterable[str], model: str) -> dict[str, str]:
    """Return the file name of the copy of each data file, by location, for a model in another folder.

    `model` is that model's file name. For `m.onnx` the copies are called `m.onnx.data`, `m.onnx-2.data`,
    `m.onnx-3.data` ... in the order of the locations' names. So the copies of two models in one folder never have the
    same name. Raises GraphfixError for a model whose data could not be found by this name on every system.
    """
    plain = {location: posixpath.normpath(location) for location in locations}
    if plain and (not is_inside(model) or "\\" in model or "*" in model or not _is_utf8(model)):
        what = f"the location {model + '.data'!r} of its data is not a plain file name on every system"
        raise GraphfixError(f"{model!r}: {what}; choose another name")
    numbers = {name: number for number, name in enumerate(sorted(set(plain.values())), 1)}
    return {
        location: f"{model}.data" if numbers[name] == 1 else f"{model}-{numbers[name]}.data"
        for location, name in plain.items()
    }


def _is_utf8(name: str) -> bool:
    """Return whether a file name can be stored in a model. In Python, a name that is not UTF-8 contains surrogates."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def open_data(file: Path) -> int:
    """Open a data file for reading and return its descriptor. Raises OSError, also if it is not a regular file."""
    descriptor = os.open(file, os.O_RDONLY | BINARY | NO_WAIT)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "no regular file", str(file))
    return descriptor
