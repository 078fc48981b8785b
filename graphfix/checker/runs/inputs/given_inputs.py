"""Read inputs from files: an .npz, or an ONNX test_data_set folder with inputs and expected outputs."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from graphfix.checker.runs.inputs.seeded_inputs import Case
from graphfix.results import GraphfixError
from graphfix.results.error_texts import no_input
from graphfix.results.files.regular_files import refuse_pipe

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from google.protobuf.message import Message  # type: ignore[import-untyped]  # protobuf ships no stubs

    from graphfix.checker.runs.inputs.interface import Interface, TensorSpec

_Message = TypeVar("_Message", bound="Message")


def load(path: Path, interface: Interface) -> Case:
    """Return the inputs of one run from the file or folder `path`. Raise GraphfixError if they do not fit the model."""
    if path.is_dir():
        feeds, expected = _folder(path, interface)
    else:
        feeds, expected = _archive(path), {}
    feeds = _named(path, feeds, interface)
    specs = {spec.name: spec for spec in interface.inputs}
    sizes: dict[str, int] = {}
    for name, value in feeds.items():
        if name in specs and isinstance(value, np.ndarray):
            _fit(path, specs[name], value, sizes)
    return Case(sizes, feeds, expected)


def _named(path: Path, given: Mapping[str, object], interface: Interface) -> dict[str, object]:
    """Return the values by the names of the model's inputs, with the values of constant inputs added.

    Raise GraphfixError for an unknown name, a missing input, or a constant input with another value.
    """
    aliases = {spec.alias: spec.name for spec in interface.declared if spec.alias}
    feeds = {aliases.get(name, name): value for name, value in given.items()}
    names, declared_names = [spec.name for spec in interface.inputs], {spec.name for spec in interface.declared}
    for name in feeds:
        if name not in declared_names:
            raise GraphfixError(f"{path}: {no_input(name, names)}")
    for name, constant in interface.constant_feeds.items():
        if not np.array_equal(np.asarray(feeds.setdefault(name, constant)), constant):
            raise GraphfixError(f"{path}: '{name}' has another value than --set gives it; leave out one of the two")
    missing = [name for name in names if name not in feeds]
    if missing:
        raise GraphfixError(f"{path}: no value for the input '{missing[0]}'; add it under that name")
    return feeds


def _fit(path: Path, spec: TensorSpec, value: np.ndarray, sizes: dict[str, int]) -> None:
    """Check a value against the declared input, and store the sizes of its free dims in `sizes`.

    Raise GraphfixError.
    """
    wanted = value.dtype if spec.dtype is None else spec.dtype
    if value.dtype != wanted and not (wanted.kind == "O" and value.dtype.kind in "US"):
        raise GraphfixError(f"{path}: '{spec.name}' is {value.dtype.name}, the model takes {wanted.name}; convert it")
    if spec.dims is None:
        return
    if len(spec.dims) != value.ndim:
        raise GraphfixError(
            f"{path}: '{spec.name}' has rank {value.ndim}, the model takes {list(spec.dims)}; reshape it"
        )
    for dim, size in zip(spec.dims, value.shape, strict=True):
        if isinstance(dim, str):
            sizes.setdefault(dim, int(size))
        elif dim != size:
            raise GraphfixError(
                f"{path}: '{spec.name}' is {list(value.shape)}, the model takes {list(spec.dims)}; give these sizes"
            )


def _archive(path: Path) -> dict[str, object]:
    """Return the arrays of an .npz file by name. Raise GraphfixError if the file can't be read."""
    try:
        refuse_pipe(path, "an .npz file")
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise GraphfixError(f"{path}: one array without a name; save the inputs with numpy.savez")
        with archive:
            return {name: archive[name] for name in archive.files}
    except OSError as error:
        raise GraphfixError(
            f"{path}: can't be read: {error.strerror or error}; give an .npz file or a test_data_set folder"
        ) from None
    except zipfile.BadZipFile as error:
        raise GraphfixError(f"{path}: not an .npz file of arrays: {error}; save the inputs with numpy.savez") from None
    except (ValueError, EOFError):  # numpy suggests allow_pickle for any content that it can't read
        raise GraphfixError(f"{path}: not an .npz file, or cut short; save the inputs with numpy.savez") from None


def _folder(path: Path, interface: Interface) -> tuple[dict[str, object], dict[str, object]]:
    """Return the inputs in input_0.pb, input_1.pb ... and the expected outputs in output_0.pb ..., by name.

    The files are in the order of the model's inputs (including those with a default) and outputs.
    """
    if not (path / "input_0.pb").is_file() and interface.inputs:
        raise GraphfixError(f"{path}: no input_0.pb in it; name a test_data_set folder")
    return _values(path, "input", interface.declared), _values(path, "output", interface.outputs)


def _values(path: Path, what: str, specs: Sequence[TensorSpec]) -> dict[str, object]:
    """Return the values in the files `{what}_0.pb`, `{what}_1.pb` ..., by the names of `specs`.

    Missing files are skipped.
    """
    files = [(spec, path / f"{what}_{i}.pb") for i, spec in enumerate(specs)]
    return {spec.name: _value(file, spec) for spec, file in files if file.is_file()}


def _value(file: Path, spec: TensorSpec) -> object:
    """Return the value in a file with an ONNX tensor, sequence or optional. Raise GraphfixError."""
    import onnx  # imported here because a verification of TFLite models on seeded inputs does not need onnx
    from google.protobuf.message import DecodeError
    from onnx import numpy_helper

    try:
        data = file.read_bytes()
        if spec.kind.startswith("optional"):
            return numpy_helper.to_optional(_inside(file, onnx.OptionalProto.FromString(data)))
        if spec.kind == "sequence":
            return numpy_helper.to_list(_inside(file, onnx.SequenceProto.FromString(data)))
        return numpy_helper.to_array(_inside(file, onnx.TensorProto.FromString(data)))
    except OSError as error:
        raise GraphfixError(f"{file}: can't be read: {error.strerror}; give a file that can be read") from None
    except (DecodeError, ValueError, TypeError) as error:
        raise GraphfixError(f"{file}: no {spec.kind} of onnx: {error}; write it again with onnx") from None


def _inside(file: Path, message: _Message) -> _Message:
    """Return the message. Raise GraphfixError if its values are in a separate data file.

    onnx would look for the data file in the working folder.
    """
    from graphfix.checker.files.onnx import external_data

    if any(map(external_data.is_external, external_data.tensors(message))):
        raise GraphfixError(f"{file}: its values lie in another file; write it again with the values inside")
    return message


def expectation(outputs: Mapping[str, object], expected: Mapping[str, object]) -> str | None:
    """Return a text about the first output that differs from the expected one; None if all are close enough.

    The tolerance is that of onnx's test runner: rtol 0.001, atol 1e-07.
    """
    for name, value in expected.items():
        if not _near(outputs[name], value):
            return f"the output '{name}' is not what the data set expects (rtol 0.001, atol 1e-07)"
    return None


def _near(got: object, wanted: object) -> bool:
    """Return whether two values are equal within the tolerance of onnx's test runner. Shapes must be equal."""
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
