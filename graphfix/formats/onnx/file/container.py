"""ONNX files: a model is read without its payloads, and written with the original bytes of each."""

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
"""The IR version from which a model names its operator sets (onnx.proto, ModelProto.opset_import)."""


@dataclass(slots=True, eq=False)
class Container:
    """A model as it was read: its messages, to be edited, and where the payloads lie that stayed behind."""

    skeleton: ModelProto
    """An ordinary model in which each payload >= THRESHOLD is a marker in `raw_data`, without the additions."""
    path: Path | None
    """Where it was read from; None for bytes."""
    source: Source
    nonce: bytes
    cuts: Sequence[Cut]
    has_external: bool = False
    """Whether some tensor has its data in another file."""
    home: DataHome | None = None
    """The folders in which the model's data files may lie; None for a model of bytes."""
    locations: Sequence[str] = ()
    """The locations of the data files when the model was read. Copies are numbered by them, even if edits drop some."""
    additions: Additions | None = None
    """What is added while the model is written."""

    @property
    def proto(self) -> ModelProto:
        """The skeleton, with everything in it: what is added becomes messages where somebody looks."""
        if self.additions is not None:
            serialized = self._serialized()
            self.additions = None
            self.skeleton.ParseFromString(serialized)
        return self.skeleton

    def is_cut(self, tensor: TensorProto) -> bool:
        """Tell whether the tensor's payload stayed in the source. A copy of a cut tensor is cut."""
        return self.cut(tensor) is not None

    def check_external(self) -> bool:
        """Check the external data of every tensor; tell whether there is any. Raises GraphfixError."""
        return check_external(self.proto, self.home, self.source.name)

    def tobytes(self) -> bytes:
        """Serialize the whole model in memory. Raises GraphfixError as `save` does."""
        self.source.check()
        data = self.source.data
        return b"".join(data[slice(*p)] if isinstance(p, tuple) else p for p in self._pieces(self._serialized()))

    def refuse_output(self, out: Path) -> None:
        """Raise GraphfixError where writing to `out` would replace a data file that the model needs."""
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
        """Write the model, with `changed=False` a verbatim copy of what was read; return the data files made.

        A file at `out`, be it the one that was read, is replaced when all is written; on any failure nothing
        is left. Where `out` is in the model's folder external data is not opened, else each data file is copied into
        the folder of `out` and called after it (`copied_names`), or after `final_name`: the name that `out` gets later.

        Raises GraphfixError where the system refuses (no room, no permission), the source was changed
        since it was read, or a data file would be replaced.
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
        """Stage the data files that the new model needs; return a mapping from old to new locations."""
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
        """Serialize a copy of the skeleton whose locations are those of the copied data files."""
        model = ModelProto()
        model.CopyFrom(self.proto)
        rename(model, names)
        return bytes(model.SerializeToString(deterministic=True))

    def cut(self, tensor: TensorProto) -> Cut | None:
        """Find where the payload of a tensor lies in the source; None where it did not stay there."""
        return cut_of(tensor.raw_data, self.nonce, self.cuts)

    def elements(self, tensor: TensorProto) -> NDArray[Any] | None:
        """Read a tensor wherever its payload lies; None where that can't be read as what the tensor says.

        The bytes of a big payload are read from the file each time.
        """
        from onnx.numpy_helper import to_array  # few models ask for an array

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
        try:
            serialized: bytes = self.skeleton.SerializeToString(deterministic=True)
        except EncodeError as error:
            what = f"{self.source.name}: the model can't be serialized ({error}); split it"
            raise GraphfixError(what) from error
        return serialized if self.additions is None else self.additions.woven(serialized)

    def _pieces(self, serialized: bytes | bytearray) -> Sequence[Piece]:
        return Weaver(serialized, self.nonce, self.cuts).pieces()


def read(source: Path | bytes, data_root: Sequence[Path] = (), folder: Path | None = None) -> Container:
    """Read an ONNX model without its payloads; its data files may also lie in the folders of `data_root`.

    The locations of the data files are relative to the model's file, or to `folder` for bytes.

    What counts as a model: records that end exactly where the source ends, that protobuf can parse, with
    a graph, an IR version, and from IR version 3 on at least one opset_import. Writers put opset_import
    behind the graph, so this finds files that were cut short; a part that protobuf takes for complete
    and that has all three is a model. The bytes of a payload are not looked at.

    Raises GraphfixError, one line with the source's name, where the source is missing, empty, unreadable
    or no such model, or where `check_external` finds fault.
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
    """List the locations of a model's data files: those below its folder, and those that `data_root` allows.

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
    try:
        return cutter.skeleton()
    except MalformedError as error:
        raise _no_model(name, str(error)) from error


def _parsed(skeleton: bytes, name: str) -> ModelProto:
    proto = ModelProto()
    try:
        proto.ParseFromString(skeleton)
    except DecodeError as error:
        raise _no_model(name, "a message in it is damaged") from error
    _refuse_incomplete(proto, name)
    return proto


def _refuse_incomplete(proto: ModelProto, name: str) -> None:
    missing = [what for what in ("graph", "ir_version") if not proto.HasField(what)]
    if proto.ir_version >= OPSETS_SINCE and not proto.opset_import:
        missing.append("opset_import")
    if missing:
        raise _no_model(name, f"it has no {' and no '.join(missing)}")


def _no_model(name: str, why: str) -> GraphfixError:
    """A file that calls itself a TFLite model and has not the mark of one is read as ONNX: both is said."""
    neither = "no TFLite model (it has no identifier TFL3), and " if name.lower().endswith(".tflite") else ""
    return GraphfixError(f"{name}: {neither}no ONNX model, or cut short: {why}; get the file again")
