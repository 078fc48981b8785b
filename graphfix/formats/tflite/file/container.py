"""TFLite files: a model is read without its weights, and written as new tables in front of the old file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from graphfix.formats.neutral.files import Piece, Source, open_source, reason, staged
from graphfix.formats.neutral.publish import refuse_name
from graphfix.formats.tflite import IDENTIFIER, IDENTIFIER_AT, validate
from graphfix.formats.tflite.file import zip_archive
from graphfix.formats.tflite.file.options import read_options, values_of
from graphfix.formats.tflite.file.reader import FlatBuffer, MalformedError
from graphfix.formats.tflite.file.rebuild import Rebuilder
from graphfix.formats.tflite.file.records import NEW, Buffer, Code, Operator, Signature, Subgraph, Tensor
from graphfix.formats.tflite.file.schema import (
    BUFFER,
    CUSTOM,
    METADATA,
    MODEL,
    OPERATOR,
    SUBGRAPH,
    TENSOR,
    Layout,
)
from graphfix.formats.tflite.file.tables import Parts, read_parts
from graphfix.formats.tflite.file.writer import ALIGNMENT, PAGE, Block, TooLongError
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    import numpy as np

BIG: Final = 1 << 20
"""If a file has more bytes than this, the length of the block in front of it is a multiple of a memory page."""
DEPENDENCIES: Final = "model_control_dependencies"
"""The metadata entry that contains operators' indices (LiteRT's control edges)."""
NOTES: Final = "; "
"""The separator between the notes of one metadata entry."""


@dataclass(slots=True, eq=False)
class Container:
    """A model that was read: records of its parts, and the file.

    Edits change the records. Everything else is copied from the file when the model is saved.
    """

    path: Path | None
    """The path that the model was read from; None if it was read from bytes."""
    source: Source
    parts: Parts
    flat: FlatBuffer
    blocker: str | None
    """The reason why no operator of the file can be edited; completes "left alone because".

    None if operators can be edited.
    """
    given: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    """Constants that replaced inputs of the main subgraph.

    LiteRT reads the stored file, and so receives them as inputs.
    """

    @property
    def codes(self) -> list[Code]:
        """Return the operator codes, by index."""
        return self.parts.codes

    @property
    def subgraphs(self) -> list[Subgraph]:
        """Return the subgraphs, by index; the first one is the main subgraph."""
        return self.parts.subgraphs

    @property
    def buffers(self) -> list[Buffer]:
        """Return the buffers, by index; tensors without a payload use the first one."""
        return self.parts.buffers

    @property
    def signatures(self) -> list[Signature]:
        """Return the signatures (SignatureDefs) by which callers run subgraphs."""
        return self.parts.signatures

    @property
    def metadata(self) -> list[tuple[str, int]]:
        """Return the metadata entries, each as (name, index of its buffer)."""
        return self.parts.metadata

    # --- what the file holds ------------------------------------------------------------------------------------------

    def holds(self, buffer: int) -> bool:
        """Return whether a buffer has bytes, so that a tensor with this buffer is a constant."""
        found = self.buffers[buffer]
        return found.present or found.data is not None

    def has_elements(self, tensor: Tensor) -> bool:
        """Return whether a tensor that no operator computes is a constant.

        Its elements are in the file or in another file, or it has no elements. A variable is not a constant.
        """
        return not tensor.variable and (self.holds(tensor.buffer) or bool(tensor.external) or 0 in tensor.shape)

    def size(self, buffer: int) -> int:
        """Return the number of bytes of a buffer's payload."""
        found = self.buffers[buffer]
        if found.place == NEW:
            return len(found.data or b"")
        start, stop = self.parts.payloads[buffer]
        return stop - start

    def data(self, buffer: int) -> bytes:
        """Read the payload of a buffer; return b"" if it has no payload.

        Raises GraphfixError if the file can't be read any more.
        """
        found = self.buffers[buffer]
        if found.place == NEW:
            return found.data or b""
        try:
            return bytes(self.source.read(*self.parts.payloads[buffer]))
        except OSError as error:
            raise GraphfixError(f"{self.source.name}: {reason(error)}; read it again") from error

    def options(self, operator: Operator) -> Mapping[str, object]:
        """Return the builtin options of an operator by the schema's names; missing options have their defaults.

        Return {} for an operator without options, and for one whose options graphfix does not read. A copy of an
        operator has the options of the original. Raises GraphfixError if the options lie outside of the file.
        """
        if operator.options is not None:
            return values_of(operator.options)
        try:
            return {} if operator.place == NEW else read_options(self.flat, operator.place)
        except MalformedError as error:
            what = f"the options of an operator are cut short: {error}"
            raise GraphfixError(f"{self.source.name}: {what}; get the file again") from error

    def subgraph_blocker(self, index: int) -> str | None:
        """Return why no operator of the subgraph can be edited, or None if its operators can be edited."""
        return self._blocker(self.subgraphs[index].place, SUBGRAPH)

    def operator_blocker(self, operator: Operator) -> str | None:
        """Return why the operator can't be edited, or None if it can."""
        return self._blocker(operator.place, OPERATOR)

    def tensor_blocker(self, tensor: Tensor) -> str | None:
        """Return why the tensor can't be changed, or None if it can."""
        return self._blocker(tensor.place, TENSOR)

    def _blocker(self, place: int, layout: Layout) -> str | None:
        """Return why the table at `place` can't be rewritten, or None if it can. A new table (NEW) can be written."""
        return None if place == NEW else _unknown(self.flat, place, layout)

    @property
    def insertion_blocker(self) -> str | None:
        """Return why no operator may be inserted or removed, or None if it may."""
        if any(name == DEPENDENCIES for name, _ in self.metadata):
            return f"the metadata {DEPENDENCIES!r} names operators by their index, which would change"
        return None

    # --- what is added ------------------------------------------------------------------------------------------------

    def code(self, builtin: int, version: int) -> int:
        """Return the index of the code of a builtin operator at this version; add the code if it is missing."""
        for index, code in enumerate(self.codes):
            if builtin != CUSTOM and (code.builtin, code.version) == (builtin, version):
                return index
        self.codes.append(Code(builtin, version))
        return len(self.codes) - 1

    def add_buffer(self, data: bytes) -> int:
        """Add a buffer with these bytes; return its index."""
        if not self.buffers:
            self.buffers.append(Buffer())  # Tensors without a payload use buffer 0.
        self.buffers.append(Buffer(present=True, data=data))
        return len(self.buffers) - 1

    def note(self, key: str, text: str) -> None:
        """Append a text to the metadata entry `key`, which is created if needed; a text is never added twice.

        Raises GraphfixError if the file's entry has fields that would be lost.
        """
        for index, (name, buffer) in enumerate(self.metadata):
            if name == key:
                notes = self.data(buffer).decode(errors="backslashreplace").rstrip("\0").split(NOTES)
                if text not in notes:
                    self._refuse_unknown_metadata(index, key)
                    notes = [note for note in notes if note]
                    self.metadata[index] = (key, self.add_buffer(NOTES.join([*notes, text]).encode()))
                return
        self.metadata.append((key, self.add_buffer(text.encode())))

    def _refuse_unknown_metadata(self, index: int, key: str) -> None:
        """Raise GraphfixError if the file's metadata entry at `index` has fields that graphfix does not know."""
        places = self.parts.metadata_places
        why = self._blocker(places[index] if index < len(places) else NEW, METADATA)
        if why is not None:
            raise GraphfixError(f"{self.source.name}: the metadata {key!r} can't be added to: {why}; remove it")

    # --- the file that is written -------------------------------------------------------------------------------------

    def refuse_output(self, out: Path) -> None:
        """Raise GraphfixError if writing to `out` would replace a file that contains buffers of the model."""
        if self.path is None or not self.parts.external:
            return
        for name in self.parts.external:
            if out.resolve() == (self.path.parent / name).resolve():
                raise GraphfixError(f"{out}: this file holds buffers of {self.source.name}; choose another name")

    def tobytes(self, *, changed: bool = True) -> bytes:
        """Return the file as bytes; with `changed=False` the bytes as they were read.

        Raises GraphfixError as `save` does.
        """
        self.source.check()
        data = self.source.data
        pieces = self._pieces() if changed else [(0, len(data))]
        return b"".join(data[slice(*piece)] if isinstance(piece, tuple) else piece for piece in pieces)

    def save(self, out: Path, *, changed: bool = True) -> Sequence[Path]:
        """Write the model to `out`; with `changed=False` write a verbatim copy of the file that was read.

        No other file is written, so the returned sequence is empty. A file at `out`, which may be the model's own file,
        is replaced when everything is written. If writing fails, no new file remains.

        Raises GraphfixError in these cases:

        - the system refuses (no room, no permission)
        - the source was changed since it was read
        - the tables of the result would be longer than the 2 GiB that the format allows
        - the model has buffers in other files, and `out` is in another folder or is one of these files
        """
        self.source.check()
        self.refuse_output(out)
        with staged(out) as staging:
            refuse_name(out)
            self._refuse_folder(out)
            staging.write(out, self.source, self._pieces() if changed else [(0, len(self.source.data))])
        return staging.placed_files

    def _refuse_folder(self, out: Path) -> None:
        """Raise GraphfixError if the model has buffers in files of its folder and `out` is in another folder."""
        if self.parts.external and self.path is not None and not self.path.parent.samefile(out.parent):
            names = ", ".join(map(repr, self.parts.external))
            raise GraphfixError(f"{out}: the model has buffers in files of its folder ({names}); write it there")

    def _pieces(self) -> Sequence[Piece]:
        """Return the changed file as pieces: the block of new tables, then the old file with patched ZIP offsets."""
        if self.blocker is not None:
            raise GraphfixError(f"{self.source.name}: can't be changed: {self.blocker}; convert the model again")
        size = len(self.source.data)
        tables = Rebuilder(self.flat, self.parts).model()
        try:
            block = Block().build(tables, IDENTIFIER, PAGE if size > BIG else ALIGNMENT, self._reach())
        except TooLongError:
            what = "its tables and the new ones would pass 2 GiB, which the format can't address"
            raise GraphfixError(f"{self.source.name}: {what}; add less, or keep weights outside of them") from None
        return [block, *_patched(size, zip_archive.moved(self.source, len(block)))]

    def _reach(self) -> int:
        """Return a position in the old file behind which there are no tables.

        This is the begin of the first payload or option that is stored outside of the tables, or the file's end.
        """
        outside = [self.parts.payloads[index][0] for index in self.parts.outside]
        starts = [start for start, _ in self.parts.custom_spans]
        return min([len(self.source.data), *outside, *starts])


def _patched(size: int, patches: Sequence[zip_archive.Patch]) -> Iterator[Piece]:
    """Yield the old file in pieces, with the bytes of the patches at their positions."""
    start = 0
    for position, data in patches:
        yield (start, position)
        yield data
        start = position + len(data)
    yield (start, size)


def _unknown(flat: FlatBuffer, place: int, layout: Layout) -> str | None:
    """Return why the table at `place` can't be rewritten: it has fields beyond `layout`. Return None if it can."""
    if flat.has_unknown(place, layout):
        return f"its {layout.table} table has fields beyond the known ones"
    return None


def _file_blocker(flat: FlatBuffer, parts: Parts) -> str | None:
    """Return why the file can't be edited: a table that every change rewrites has unknown fields.

    Return None if it can.
    """
    why = _unknown(flat, parts.model, MODEL)
    for index in parts.outside:
        why = why or _unknown(flat, parts.buffers[index].place, BUFFER)
    for place in parts.custom_outside:
        why = why or _unknown(flat, place, OPERATOR)
    for graph in parts.subgraphs if parts.custom_outside else ():
        why = why or _unknown(flat, graph.place, SUBGRAPH)
    return why


def read(source: Path | bytes) -> Container:
    """Read a TFLite model without its weights.

    A model must have the identifier TFL3. Its tables and vectors must lie inside of the file, and its parts must refer
    to one another as `validate` requires.

    Raises GraphfixError, one line with the source's name, if the source is missing, empty or unreadable, or if it is
    not such a model.
    """
    opened = open_source(source)
    if bytes(opened.data[IDENTIFIER_AT]) != IDENTIFIER:
        raise GraphfixError(f"{opened.name}: no TFLite model: it has no identifier TFL3; give the path of one")
    flat = FlatBuffer(opened.data)
    try:
        parts = read_parts(flat, opened)
        validate.check(parts, len(opened.data), lambda operator: read_options(flat, operator.place))
        blocker = _file_blocker(flat, parts)
    except (MalformedError, validate.OutsideError) as error:
        raise GraphfixError(f"{opened.name}: no TFLite model, or cut short: {error}; get the file again") from error
    except validate.MalformedModelError as error:
        raise GraphfixError(f"{opened.name}: the model contradicts itself: {error}; convert it again") from error
    path = None if isinstance(source, bytes) else source
    return Container(path, opened, parts, flat, blocker)
