"""Check the output path, write to a scratch file, and publish the verified file: it appears complete or not at all."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from graphfix.results import GraphfixError
from graphfix.results.files.regular_files import refuse_stream

SUFFIXES = {".onnx": "onnx", ".tflite": "tflite"}
"""The format that a file suffix stands for."""
MODELS = {"onnx": "an ONNX model", "tflite": "a TFLite model"}


def refuse(source: Path, output: Path, *, in_place: bool) -> None:
    """Raise GraphfixError if the result can't be written to `output`.

    `output` may not be a folder, a stream or a path in a missing folder. It may be the input only if `in_place`.
    """
    refuse_stream(output)
    if output.is_dir():
        raise GraphfixError(f"{output}: a folder; name the output file")
    if not output.parent.is_dir():
        raise GraphfixError(f"{output}: its folder does not exist; create it first")
    refuse_name(output)
    if not in_place and is_one_file(source, output):
        raise GraphfixError(f"{output}: the output is the input; choose another name, or say --in-place")


def refuse_name(output: Path) -> None:
    """Raise GraphfixError if `output` is `-` (a stream on a command line), or exists and is not a regular file."""
    if output.name == "-":
        raise GraphfixError(f"{output}: this name is stdout on a command line; choose another name")
    if output.exists() and not output.is_file():
        raise GraphfixError(f"{output}: not a regular file, so it can't be replaced; choose another name")


def misnamed_input(source: Path, own: str) -> str | None:
    """Return a sentence if an input's suffix is that of another format than its content; None if it fits.

    `own` is the format of the content.
    """
    if SUFFIXES.get(source.suffix.lower(), own) == own:
        return None
    return f"{source.name} holds {MODELS[own]}, although its name ends with {source.suffix}: its content counts"


def misnamed(source: Path, output: Path, own: str) -> tuple[str, ...]:
    """Return a note if the output has the suffix of another format than `own`, the model's format; else an empty tuple.

    No note is returned if the input has the same suffix as the output.
    """
    suffix = output.suffix.lower()
    if suffix == source.suffix.lower() or SUFFIXES.get(suffix, own) == own:
        return ()
    return (f"{output.name} holds {MODELS[own]}, as the input does: graphfix converts none",)


def refuse_overwrite(path: Path, what: str, others: Iterable[tuple[str, Path]]) -> None:
    """Raise GraphfixError if `path` is one of the files that the command reads or writes already.

    `what` describes `path` in the message. `others` lists a description and a path for each of these files.
    """
    for other, file in others:
        if is_one_file(path, file):
            raise GraphfixError(f"{path}: {what} is {other}; choose another name")


def is_one_file(one: Path, two: Path) -> bool:
    """Return whether two paths are the same file, links included, or would be the same file if it is not created yet.

    Returns False if the paths can't be looked up.
    """
    try:
        both = one.exists() and two.exists()
        return one.samefile(two) if both else os.path.realpath(one) == os.path.realpath(two)
    except (OSError, ValueError):  # A path that can't be looked up is refused later, by the code that reads it.
        return False


@contextlib.contextmanager
def scratch(output: Path) -> Iterator[list[Path]]:
    """Return a context manager that yields a list with the path of a scratch file in the output's folder.

    The caller may append the paths of further files. All of them are deleted at the end, unless `publish` cleared the
    list. In errors the scratch file's path is replaced by the output's.
    """
    made = [output.parent / f".{output.name}.{os.urandom(8).hex()}.tmp"]
    name = str(made[0])
    try:
        yield made
    except GraphfixError as error:
        raise GraphfixError(str(error).replace(name, str(output))) from None
    finally:
        # An interrupt may happen between the renaming and `made.clear()`. If the model is published, its data files
        # must stay.
        if made and made[0].exists():
            for path in made:
                path.unlink(missing_ok=True)


def publish(made: list[Path], output: Path) -> None:
    """Rename the first file of `made` to `output` and clear the list, so that the files beside it are not deleted.

    Raises GraphfixError if the file can't be renamed.
    """
    try:
        rename(made[0], output)
    except OSError as error:
        raise GraphfixError(
            f"{output}: can't be written: {error.strerror}; make room or choose another place"
        ) from None
    made.clear()


def rename(made: Path, output: Path) -> None:
    """Rename a file. It gets the permissions of the file that it replaces, if there is one. Raises OSError."""
    if output.exists():
        from shutil import copymode

        copymode(output, made)
    made.replace(output)


@contextlib.contextmanager
def scratch_folder(output: Path) -> Iterator[Path]:
    """Return a context manager that yields a scratch folder beside the output, on the same file system.

    The folder is deleted at the end, with all files in it that were not published. In errors the paths of these files
    are replaced by the output's path.
    """
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix=f".{output.name}.", suffix=".tmp", dir=output.parent) as folder:
        try:
            yield Path(folder)
        except GraphfixError as error:
            # The files in the folder are drafts of the output, so errors must contain the output's name, which the user
            # recognizes.
            raise GraphfixError(re.sub(rf"{re.escape(folder)}[^\s:]*", lambda _: str(output), str(error))) from None


def publish_pair(first: tuple[Path, Path], second: tuple[Path, Path]) -> None:
    """Publish two files, each a pair (made path, final path). If one can't be renamed, neither file appears."""
    publish([first[0]], first[1])
    try:
        publish([second[0]], second[1])
    except BaseException as error:  # Also an interrupt, which may happen after the renaming.
        if isinstance(error, GraphfixError) or second[0].exists():
            first[1].unlink(missing_ok=True)
        raise
