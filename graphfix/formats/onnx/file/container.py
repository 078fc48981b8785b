"""Read an ONNX model without its large payloads, and write it with the original bytes of each payload."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]  # has no types

from graphfix.formats.neutral.files import Piece, Source, Staging, open_source, staged
from graphfix.formats.neutral.publish import refuse_name
from graphfix.formats.onnx.file.additions import Additions
from graphfix.formats.onnx.file.data_home import DataHome, copied_names, is_inside
from graphfix.formats.onnx.file.external import (
    check_external,
    copy_beside,
    external_files,
    may_have_external,
    payload,
    refuse_data_name,
    refuse_kept_links,
    rename,
)
from graphfix.formats.onnx.file.payloads import NONCE, Cut, Cutter, Weaver, cut_of
from graphfix.formats.onnx.file.wire import MalformedError
from graphfix.results import GraphfixError
from graphfix.results.onnx_messages import ModelProto, TensorProto
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

OPSETS_SINCE: Final = 3
"""The IR version since which a model must import its operator sets (onnx.proto, ModelProto.opset_import)."""


@dataclass(slots=True, eq=False)
class Container:
    """A model as it was read: its messages, which edits change, and the positions of the payloads in the source."""

    skeleton: ModelProto
    """A model in which each payload of at least THRESHOLD bytes is a marker in `raw_data`. It lacks the additions."""
    path: Path | None
    """The path from which the model was read; None for bytes."""
    source: Source
    nonce: bytes
    cuts: Sequence[Cut]
    has_external: bool = False
    """Whether some tensor has its data in another file."""
    home: DataHome | None = None
    """The folders in which the model's data files may lie; None for a model of bytes without a folder."""
    locations: Sequence[str] = ()
    """The locations of the data files when the model was read.

    Copies of data files are numbered by these locations, even if edits drop some of them.
    """
    additions: Additions | None = None
    """Records that are added when the model is written; None if there are no additions."""

    @property
    def proto(self) -> ModelProto:
        """The complete skeleton. Additions are first parsed into messages, so a caller that reads `proto` sees them."""
        if self.additions is not None:
            serialized = self._serialized()
            self.additions = None
            self.skeleton.ParseFromString(serialized)
        return self.skeleton

    def is_cut(self, tensor: TensorProto) -> bool:
        """Return whether the payload of a tensor stayed in the source. A copy of such a tensor is also cut."""
        return self.cut(tensor) is not None

    def check_external(self) -> bool:
        """Check the external data of every tensor, and return whether there is any. Raises GraphfixError."""
        return check_external(self.proto, self.home, self.source.name)

    def tobytes(self) -> bytes:
        """Return the whole model serialized in memory.

        Raises GraphfixError if the source was changed since it was read, or if the model can't be serialized.
        """
        self.source.check()
        data = self.source.data
        return b"".join(data[slice(*p)] if isinstance(p, tuple) else p for p in self._pieces(self._serialized()))

    def refuse_output(self, out: Path) -> None:
        """Raise GraphfixError if writing to `out` would replace a data file that the model needs."""
        if not self.has_external or self.home is None:
            return
        locations = external_files(self.proto)
        refuse_data_name((self.home.folder / each for each in locations), out)

    def copied_data(self, out: Path) -> Mapping[str, Path]:
        """Return the path of the copy of each data file that a model at `out` needs, by location.

        No copy is needed in the model's folder, and in a folder where each location already refers to the same file.
        Raises GraphfixError if no data file can be named after `out`.
        """
        home, locations = self.home, external_files(self.proto) if self.has_external else []
        if home is None or not locations or home.folder.samefile(out.parent):
            return {}
        if all(home.is_kept(each, DataHome.of_new(out, ())) for each in locations):
            return {}
        names = copied_names(self.locations, out.name)
        return {location: out.parent / names[location] for location in locations}

    def save(self, out: Path, *, changed: bool = True, final_name: str = "") -> Sequence[Path]:
        """Write the model to `out`, or with `changed=False` an identical copy. Return the data files that were made.

        An existing file at `out` is replaced only when everything is written, even if it is the source. On any failure
        no file is left.

        If `out` is in the model's folder, external data is not opened. Otherwise each data file is copied into the
        folder of `out`. The copy is named after `out` (`copied_names`), or after `final_name`, the name that `out` gets
        later.

        Raises GraphfixError if the system refuses (no room, no permission), if the source was changed since it was
        read, or if a data file would be replaced.
        """
        self.source.check()
        serialized = self._serialized()
        with staged(out) as staging:
            refuse_name(out)
            names = self._place_external(out.with_name(final_name or out.name), staging)
            if any(old != new for old, new in names.items()):
                serialized, changed = self._renamed(names), True
            pieces = self._pieces(serialized) if changed else [(0, len(self.source.data))]
            staging.write(out, self.source, pieces)
        return staging.placed_files

    def _place_external(self, out: Path, staging: Staging) -> Mapping[str, str]:
        """Stage the data files that the new model needs, and return a mapping from old to new locations."""
        home = self.home
        if home is None or not self.has_external or not (locations := external_files(self.proto)):
            return {}
        self.refuse_output(out)
        copies = self.copied_data(out)
        if not copies:
            refuse_kept_links(locations, out, DataHome.of_new(out, home.roots))
            return {}
        self.check_external()
        files = {new: home.resolved(old, f"{self.source.name}: {old!r}") for old, new in copies.items()}
        copy_beside(files, staging)
        return {old: new.name for old, new in copies.items()}

    def _renamed(self, names: Mapping[str, str]) -> bytes:
        """Return a serialized copy of the skeleton in which the locations are those of the copied data files."""
        model = ModelProto()
        model.CopyFrom(self.proto)
        rename(model, names)
        return bytes(model.SerializeToString(deterministic=True))

    def cut(self, tensor: TensorProto) -> Cut | None:
        """Return the position of a tensor's payload in the source; None if the payload is in the skeleton."""
        return cut_of(tensor.raw_data, self.nonce, self.cuts)

    def elements(self, tensor: TensorProto) -> NDArray[Any] | None:
        """Return the elements of a tensor as an array, wherever its payload lies.

        Returns None if the payload can't be read or does not fit the tensor's type and shape. The bytes of a big
        payload are read from the file each time.
        """
        from onnx.numpy_helper import to_array  # Imported here, because few models need an array.

        tensor_with_data = TensorProto()
        tensor_with_data.CopyFrom(tensor)
        try:
            cut = self.cut(tensor)
            if cut is not None:
                tensor_with_data.MergeFromString(b"".join(bytes(self.source.read(*span)) for span in cut.records))
                tensor_with_data.raw_data = tensor_with_data.raw_data if cut.raw is not None else b""
            if tensor_with_data.data_location == TensorProto.EXTERNAL:
                if self.home is None:
                    return None
                tensor_with_data.raw_data = payload(tensor, self.home)
                tensor_with_data.data_location = TensorProto.DEFAULT
            return to_array(tensor_with_data)
        except (DecodeError, GraphfixError, OSError, TypeError, ValueError):
            return None

    def _serialized(self) -> bytes | bytearray:
        """Return the skeleton with the additions, serialized.

        Raises GraphfixError if protobuf refuses it, because it is too big.
        """
        try:
            serialized: bytes = self.skeleton.SerializeToString(deterministic=True)
        except EncodeError as error:
            what = f"{self.source.name}: the model can't be serialized ({error}); split it"
            raise GraphfixError(what) from error
        return serialized if self.additions is None else self.additions.woven(serialized)

    def _pieces(self, serialized: bytes | bytearray) -> Sequence[Piece]:
        return Weaver(serialized, self.nonce, self.cuts).pieces()


def read(source: Path | bytes, data_root: Sequence[Path] = (), folder: Path | None = None) -> Container:
    """Return an ONNX model without its large payloads. Its data files may also lie in the folders of `data_root`.

    The locations of the data files are relative to the model's file, or to `folder` for bytes.

    A source is a model if it consists of records that end exactly at its end and that protobuf can parse. It must have
    a graph, an IR version, and from IR version 3 on at least one opset_import. Writers put opset_import behind the
    graph, so files that were cut short are usually detected. The bytes of a payload are not checked.

    Raises GraphfixError, one line with the source's name, if the source is missing, empty, unreadable or not an ONNX
    model, or if `check_external` finds a fault.
    """
    opened = open_source(source)
    cutter = Cutter(opened, os.urandom(NONCE))
    skeleton = _skeleton(cutter, opened.name)
    proto = _parsed(skeleton, opened.name)
    path = None if isinstance(source, bytes) else source
    container = Container(proto, path, opened, cutter.nonce, cutter.cuts)
    place = path if path is not None else folder / "model" if folder is not None else None
    container.home = DataHome.of(place, data_root) if place is not None else None
    container.has_external = may_have_external(skeleton) and container.check_external()
    container.locations = external_files(proto) if container.has_external else ()
    return container


def external_locations(source: Path, data_root: Sequence[Path] = ()) -> Sequence[str]:
    """Return the locations of a model's data files: those below its folder, and those that `data_root` allows.

    A location below the folder is listed even if there is no such file. Raises GraphfixError if the source is not an
    ONNX model.
    """
    opened = open_source(source)
    skeleton = _skeleton(Cutter(opened, os.urandom(NONCE)), opened.name)
    if not may_have_external(skeleton):
        return ()
    home = DataHome.of(source, data_root)
    return [each for each in external_files(_parsed(skeleton, opened.name)) if _is_listed(each, home)]


def _is_listed(location: str, home: DataHome) -> bool:
    if not location or "\0" in location:
        return False
    return is_inside(location) or home.allows(location, Path(os.path.realpath(home.folder / location)))


def _skeleton(cutter: Cutter, name: str) -> bytes:
    """Return the model without its big payloads. Raises GraphfixError if the bytes are not protobuf records."""
    try:
        return cutter.skeleton()
    except MalformedError as error:
        raise _no_model(name, str(error)) from error


def _parsed(skeleton: bytes, name: str) -> ModelProto:
    """Return the parsed skeleton. Raises GraphfixError if protobuf can't parse it or if a required part is missing."""
    proto = ModelProto()
    try:
        proto.ParseFromString(skeleton)
    except DecodeError as error:
        raise _no_model(name, "a message in it is damaged") from error
    _refuse_incomplete(proto, name)
    return proto


def _refuse_incomplete(proto: ModelProto, name: str) -> None:
    """Raise GraphfixError if the model has no graph, no IR version, or no opset_import.

    Its IR version must be at least OPSETS_SINCE for the last fault.
    """
    missing = [what for what in ("graph", "ir_version") if not proto.HasField(what)]
    if proto.ir_version >= OPSETS_SINCE and not proto.opset_import:
        missing.append("opset_import")
    if missing:
        raise _no_model(name, f"it has no {' and no '.join(missing)}")


def _no_model(name: str, why: str) -> GraphfixError:
    """Return the error for a file that is not an ONNX model.

    A file named `.tflite` without TFLite's identifier is read as ONNX. Then the text states that it is neither.
    """
    neither = "no TFLite model (it has no identifier TFL3), and " if name.lower().endswith(".tflite") else ""
    return GraphfixError(f"{name}: {neither}no ONNX model, or cut short: {why}; get the file again")
