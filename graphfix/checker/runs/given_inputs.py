"""Inputs from files: an .npz, or an ONNX test_data_set folder with the outputs it expects."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.runs.seeded_inputs import Case
from graphfix.results import GraphfixError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphfix.checker.runs.interface import Face, Port


def load(path: Path, face: Face) -> Case:
    """Read the inputs of one run. Raises GraphfixError where they are no inputs of this model."""
    if path.is_dir():
        from graphfix.checker.runs.data_set import folder  # which imports onnx

        feeds, expected = folder(path, face)
    else:
        feeds, expected = _archive(path), {}
    aliases = {port.alias: port.name for port in face.inputs if port.alias}
    feeds = {aliases.get(name, name): value for name, value in feeds.items()}
    ports = {port.name: port for port in face.inputs}
    for name in feeds:
        if name not in ports and all(name != port.name for port in face.defaults):
            raise GraphfixError(f"{path}: the model has no input '{name}'; its inputs are: {', '.join(ports)}")
    missing = [name for name in ports if name not in feeds]
    if missing:
        raise GraphfixError(f"{path}: no value for the input '{missing[0]}'; add it under that name")
    sizes: dict[str, int] = {}
    for name, value in feeds.items():
        if name in ports and isinstance(value, np.ndarray):
            _fit(path, ports[name], value, sizes)
    return Case(sizes, feeds, expected)


def _fit(path: Path, port: Port, value: np.ndarray, sizes: dict[str, int]) -> None:
    """Check a value against what the model declares, and read the sizes of the free dims from it."""
    wanted = value.dtype if port.dtype is None else port.dtype
    if value.dtype != wanted and not (wanted.kind == "O" and value.dtype.kind in "US"):
        raise GraphfixError(f"{path}: '{port.name}' is {value.dtype.name}, the model takes {wanted.name}; convert it")
    if port.dims is None:
        return
    if len(port.dims) != value.ndim:
        raise GraphfixError(f"{path}: '{port.name}' has rank {value.ndim}, the model takes {list(port.dims)}")
    for dim, size in zip(port.dims, value.shape, strict=True):
        if isinstance(dim, str):
            sizes.setdefault(dim, int(size))
        elif dim != size:
            raise GraphfixError(f"{path}: '{port.name}' is {list(value.shape)}, the model takes {list(port.dims)}")


def _archive(path: Path) -> dict[str, object]:
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise GraphfixError(f"{path}: one array without a name; save the inputs with numpy.savez")
        with archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise GraphfixError(f"{path}: can't be read: {error.strerror or error}") from None
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise GraphfixError(f"{path}: no .npz of arrays: {error}; save the inputs with numpy.savez") from None


def expectation(outputs: Mapping[str, object], expected: Mapping[str, object]) -> str | None:
    """Name the first output that is not as expected, by the tolerance of onnx's own test runner."""
    for name, value in expected.items():
        if not _near(outputs[name], value):
            return f"the output '{name}' is not what the data set expects (rtol 0.001, atol 1e-07)"
    return None


def _near(got: object, wanted: object) -> bool:
    if isinstance(wanted, list):
        if not isinstance(got, list | tuple) or len(got) != len(wanted):
            return False
        return all(_near(g, w) for g, w in zip(got, wanted, strict=True))
    if wanted is None or got is None:
        return wanted is got
    a, b = np.asarray(got), np.asarray(wanted)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "OUSb":
        return bool(np.all(a.astype(str) == b.astype(str)))
    return bool(np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-3, atol=1e-7, equal_nan=True))
