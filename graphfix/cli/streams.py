"""Read models from stdin and pipes, and write a model to stdout: `-` on the command line.

Child processes also open the model by its name, so a piped model is first copied into a temporary file. Reports and
messages show the name that the user wrote, not the name of the temporary file.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import stat
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

from graphfix.cli import terminal
from graphfix.report.text import Entry, Failure
from graphfix.results import GraphfixError
from graphfix.results.files.regular_files import is_descriptor
from graphfix.results.records import dataclass, field
from graphfix.results.texts import with_names

STREAM: Final = Path("-")
"""The path `-`: stdin as a model, stdout as an output."""
STDIN, STDOUT = "stdin", "stdout"
"""The names of stdin and stdout in messages and reports."""
WAIT: Final = 10.0
"""The most seconds to wait for the writer of a named pipe."""
Answer = TypeVar("Answer")


@dataclass(slots=True)
class Streams:
    """The temporary files that replace the piped models of one command."""

    folder: Path | None = None
    """The temporary folder; None if no option names a stream."""
    names: dict[str, str] = field(default_factory=dict)
    """By path of a temporary file: the name that the user wrote."""
    inputs: list[Path] = field(default_factory=list)
    """The copies of piped models."""
    output: Path | None = None
    """The temporary file of the model that will be copied to stdout."""
    data_root: Sequence[Path] = ()
    """The folders in which the user allows data files."""

    def renamed_entry(self, entry: Entry) -> Entry:
        """Return an outcome or a failure with the user's names instead of the paths of temporary files."""
        model = with_names(entry.source, self.names)
        if isinstance(entry, Failure):
            return replace(entry, source=model, error=with_names(entry.error, self.names))
        return replace(entry, source=model, output=entry.output and with_names(entry.output, self.names))

    def refusing_data_files(self, ask: Callable[..., Answer], models: list[Path]) -> Callable[..., Answer]:
        """Return `ask`, extended by a check that refuses models with data files if a stream is involved."""

        def asked(*arguments: object) -> Answer:
            self._refuse_data_files(models)
            return ask(*arguments)

        return asked if self.folder is not None else ask

    def _refuse_data_files(self, models: list[Path]) -> None:
        """Raise GraphfixError if a model from stdin, or a model that goes to stdout, has data in other files."""
        from graphfix import formats

        asked: list[tuple[Path, Sequence[Path], str]]
        asked = [(path, (), "a stream has no folder: name a file") for path in self.inputs]
        if self.output is not None:
            asked += [(path, self.data_root, "stdout takes one file: say -o OUT") for path in models]
        for path, data_root, how in asked:
            if found := formats.data_locations(path, data_root):
                raise GraphfixError(f"{path}: its data is in other files ({found[0]}); {how}")

    def table(self, *, has_model: bool) -> contextlib.AbstractContextManager[object]:
        """Return a context in which printed text goes to stderr if a model goes to stdout."""
        return contextlib.redirect_stdout(sys.stderr) if self.output and has_model else contextlib.nullcontext()

    def publish(self) -> None:
        """Copy the written model to stdout, if stdout is the output. Raises OSError, and an interrupt with a text."""
        if self.output is None or not self.output.exists():
            return
        try:
            with self.output.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        except KeyboardInterrupt as stop:
            raise type(stop)("the model on stdout is not complete") from None


@contextlib.contextmanager
def opened(options: Namespace, *models: str) -> Iterator[Streams]:
    """Replace streams among the options by temporary files, which are removed at the end of the context.

    `models` are the names of the options that contain a model or a list of models. Raises GraphfixError.
    """
    paths = [path for name in models for path in _listed(getattr(options, name))]
    streams = Streams(data_root=getattr(options, "data_root", ()))
    output = getattr(options, "output", None) == STREAM
    if not (output or any(_is_stream(path) for path in paths)):
        yield streams
        return
    from tempfile import TemporaryDirectory

    _refuse_options(options, paths, output=output)
    with TemporaryDirectory(prefix="graphfix-") as folder:
        streams.folder = Path(folder)
        if output:
            streams.output = options.output = streams.folder / STDOUT
            streams.names[str(streams.output)] = STDOUT
        for name in models:
            given = getattr(options, name)
            copies = [_copied(options, streams, path) for path in _listed(given)]
            setattr(options, name, copies if isinstance(given, list) else copies[0])
        try:
            yield streams
        except GraphfixError as error:
            raise type(error)(with_names(str(error), streams.names)) from error.__cause__


def _listed(given: Path | list[Path]) -> list[Path]:
    return given if isinstance(given, list) else [given]


def _is_stream(path: Path) -> bool:
    if path == STREAM:
        return True
    try:
        mode = path.stat().st_mode
        return stat.S_ISFIFO(mode) or (stat.S_ISREG(mode) and is_descriptor(path))
    except (OSError, ValueError):  # the reader reports the error
        return False


def _refuse_options(options: Namespace, paths: list[Path], *, output: bool) -> None:
    """Raise GraphfixError for options that can't be combined with a stream."""
    if paths.count(STREAM) > 1:
        raise GraphfixError("-: stdin is one model; name a file for the other one")
    if getattr(options, "in_place", False):
        raise GraphfixError(f"{paths[0]}: a stream can't be replaced; give -o OUT without --in-place")
    if output and options.command == "tosa":
        raise GraphfixError("-o -: tosa writes two files; name the first one: -o OUT.tosa")
    if output and options.json:
        raise GraphfixError("-o -: stdout takes the model or the document of --json, not both; use --report FILE.json")
    if output and (sys.stdout is None or sys.__stdout__ is None or sys.stdout.isatty()):
        raise GraphfixError("-o -: stdout is a terminal or closed; send it to a file or a pipe")


def _copied(options: Namespace, streams: Streams, path: Path) -> Path:
    """Return a temporary copy of a stream; return any other path unchanged. Raises GraphfixError."""
    if not _is_stream(path) or streams.folder is None:
        return path
    name = STDIN if path == STREAM else str(path)
    folder = streams.folder / str(len(streams.inputs))
    folder.mkdir()
    copy = folder / Path(name).name
    streams.names[str(copy)] = name
    streams.inputs.append(copy)
    try:
        # `_stream` limits and reports the wait for the writer of a pipe by itself, so it stands outside of the phase
        with _stream(path) as stream, terminal.one_phase(options, name, "reading the model"), copy.open("wb") as file:
            shutil.copyfileobj(stream, file)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise GraphfixError(f"{name}: can't be read: {why}; name a file") from error
    if not copy.stat().st_size:
        raise GraphfixError(f"{name}: nothing came through the pipe; send a model into it")
    return copy


def _stream(path: Path) -> BinaryIO:
    """Open a stream for reading. Raises OSError and GraphfixError."""
    if path == STREAM:
        if sys.stdin is None or sys.__stdin__ is None:
            raise GraphfixError("-: stdin is closed; send a model into it")
        if sys.stdin.isatty():
            raise GraphfixError("-: stdin is a terminal; send a model into it: graphfix show - < model.onnx")
        mode = os.fstat(sys.stdin.fileno()).st_mode
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # /dev/zero has no end
            raise GraphfixError("-: stdin is a device; send a model into it: graphfix show - < model.onnx")
        return sys.stdin.buffer
    if not (hasattr(os, "set_blocking") and hasattr(select, "poll")):  # Windows selects among sockets only
        raise GraphfixError(f"{path}: a named pipe can't be read on this system; send the model into stdin: -")
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # to open a pipe waits for its writer
    stream = os.fdopen(descriptor, "rb")
    if not is_descriptor(path) and not select.select([descriptor], [], [], WAIT)[0]:
        stream.close()
        raise GraphfixError(f"{path}: nothing was written into this pipe for {WAIT:.0f} s; start its writer first")
    os.set_blocking(descriptor, True)
    return stream
