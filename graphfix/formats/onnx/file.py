"""ONNX files: a model is read without its payloads, and written with the original bytes of each in their place."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.message import DecodeError, EncodeError
from onnx import ModelProto, TensorProto

from graphfix.formats.onnx.cut import NONCE, THRESHOLD, Cut, Cutter, Weaver, cut_of
from graphfix.formats.onnx.disk import Piece, Source, open_source, staged, told
from graphfix.formats.onnx.external import ExternalData, check_external, copy_beside, may_have_external
from graphfix.formats.onnx.wire import MalformedError
from graphfix.results import GraphfixError

__all__ = ["THRESHOLD", "Container", "ExternalData", "Source", "check_external", "read"]

OPSETS_SINCE: int = 3
"""The IR version from which a model must name its operator sets (onnx.proto, ModelProto.opset_import)."""


@dataclass(slots=True, eq=False)
class Container:
    """A model as it was read: its messages to be edited, and where each payload lies that was left in the source."""

    proto: ModelProto
    """The skeleton: an ordinary model in which each payload of at least THRESHOLD bytes is a marker in `raw_data`."""
    source: Source
    nonce: bytes
    cuts: Sequence[Cut]
    path: Path | None
    """Where it was read from; None for bytes."""

    def is_cut(self, tensor: TensorProto) -> bool:
        """Whether the tensor's payload was left in the source. A copy of a tensor is cut as the tensor is."""
        return cut_of(tensor.raw_data, self.nonce, self.cuts) is not None

    def payload(self, tensor: TensorProto) -> memoryview:
        """The `raw_data` of a tensor, cut or not, as bytes in the format's order (little-endian).

        Raises ValueError where the tensor keeps its data in a typed field: `whole` reads those.
        """
        cut = cut_of(tensor.raw_data, self.nonce, self.cuts)
        raw = (0, len(tensor.raw_data)) if cut is None and tensor.HasField("raw_data") else cut and cut.raw
        if raw is None:
            raise ValueError(f"tensor {tensor.name!r} has no raw_data")
        return (memoryview(tensor.raw_data) if cut is None else self.source.data)[slice(*raw)]

    def whole(self, tensor: TensorProto) -> TensorProto:
        """A copy of the tensor that holds its payload itself, whichever field that is in."""
        copy = TensorProto()
        copy.CopyFrom(tensor)
        cut = cut_of(tensor.raw_data, self.nonce, self.cuts)
        if cut is not None:
            copy.ClearField("raw_data")
            copy.MergeFromString(b"".join(self.source.data[start:stop] for start, stop in cut.records))
        return copy

    def external(self) -> list[ExternalData]:
        """The external data of every tensor, checked anew. Raises GraphfixError as `check_external` does."""
        return check_external(self.proto, self.path and self.path.parent, self.source.name)

    def tobytes(self) -> bytes:
        """The whole model, in memory: for models that are small enough for it. Raises GraphfixError as `save` does."""
        self.source.check()
        data = self.source.data
        return b"".join(data[slice(*p)] if isinstance(p, tuple) else p for p in self._pieces()[0])

    def save(self, out: Path, *, changed: bool = True) -> None:
        """Write the model; with `changed=False` a verbatim copy of what was read.

        The payloads are copied from the source, verbatim. A file at `out`, the model's own too, is replaced when all is
        written, and on any failure nothing is left. External data stays where it is when `out` is in the model's own
        folder (it is not opened then); else each data file is copied to the same location under the folder of `out`.

        Raises GraphfixError where the system refuses (no room, no permission), the source was changed since it was read,
        or a data file would replace a different one.
        """
        if out.exists() and not out.is_file():
            raise GraphfixError(f"{out}: this is no file that can be replaced; choose another name")
        self.source.check()
        pieces, external = self._pieces(changed=changed)
        try:
            with staged() as staging:
                if external:
                    copy_beside(self.external(), out, staging)
                staging.write(out, self.source, pieces)
        except OSError as error:
            raise GraphfixError(
                f"{out}: nothing was written: {told(error)}; choose another place or make room"
            ) from error

    def _pieces(self, *, changed: bool = True) -> tuple[Sequence[Piece], bool]:
        """What the file is written from, and whether it may have external data."""
        try:
            blob = self.proto.SerializeToString(deterministic=True)
        except (EncodeError, ValueError) as error:
            raise GraphfixError(f"{self.source.name}: the model can't be serialized: {error}") from error
        pieces = Weaver(blob, self.nonce, self.cuts).pieces() if changed else [(0, len(self.source.data))]
        return pieces, may_have_external(blob)


def read(source: Path | bytes) -> Container:
    """Read an ONNX model without its payloads.

    What counts as a model: top-level records that end exactly where the source ends, that protobuf can parse, with a
    graph, an IR version and, from IR version 3 on, at least one opset_import (writers put those behind the graph, so this
    finds nearly all truncated files; what protobuf takes for a complete model that states all three is one).

    Raises GraphfixError, one line with the source's name, where it is missing, empty, unreadable, no such model, or where
    `check_external` finds fault.
    """
    opened = open_source(source)
    nonce = secrets.token_bytes(NONCE)
    cutter = Cutter(opened.data, nonce)
    proto = ModelProto()
    try:
        skeleton = cutter.skeleton()
        proto.ParseFromString(skeleton)
    except (MalformedError, DecodeError) as error:
        raise GraphfixError(
            f"{opened.name}: not an ONNX model, or cut short: {error}; get the file again"
        ) from error
    _refuse_incomplete(proto, opened.name)
    container = Container(proto, opened, nonce, cutter.cuts, None if isinstance(source, bytes) else source)
    if may_have_external(skeleton):
        container.external()
    return container


def _refuse_incomplete(proto: ModelProto, name: str) -> None:
    missing = [what for what in ("graph", "ir_version") if not proto.HasField(what)]
    if proto.ir_version >= OPSETS_SINCE and not proto.opset_import:
        missing.append("opset_import")
    if missing:
        raise GraphfixError(
            f"{name}: not an ONNX model, or cut short: it has no {' and no '.join(missing)}; get the file again"
        )
