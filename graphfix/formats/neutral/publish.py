"""Where a result goes: it appears whole and verified, or not at all."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from graphfix.results import GraphfixError
from graphfix.results.files.regular_files import refuse_stream

SUFFIXES = {".onnx": "onnx", ".tflite": "tflite"}
"""What the end of a name says that a model is."""
MODELS = {"onnx": "an ONNX model", "tflite": "a TFLite model"}


def refuse(source: Path, output: Path, *, in_place: bool) -> None:
    """Raise GraphfixError where `output` can't take the result."""
    refuse_stream(output)
    if output.is_dir():
        raise GraphfixError(f"{output}: a folder; name the output file")
    if not output.parent.is_dir():
        raise GraphfixError(f"{output}: its folder does not exist; create it first")
    refuse_name(output)
    if not in_place and is_one_file(source, output):
        raise GraphfixError(f"{output}: the output is the input; choose another name, or say --in-place")


def refuse_name(output: Path) -> None:
    """Raise GraphfixError if `output` means a stream on a command line, or names something that is not a file."""
    if output.name == "-":
        raise GraphfixError(f"{output}: this name is stdout on a command line; choose another name")
    if output.exists() and not output.is_file():
        raise GraphfixError(f"{output}: not a regular file, so it can't be replaced; choose another name")


def misnamed_input(source: Path, own: str) -> str | None:
    """Return a sentence about a file whose suffix is that of another format than its content; None for other files."""
    if SUFFIXES.get(source.suffix.lower(), own) == own:
        return None
    return f"{source.name} holds {MODELS[own]}, although its name ends with {source.suffix}: its content counts"


def misnamed(source: Path, output: Path, own: str) -> tuple[str, ...]:
    """A line where the output, and not the input, has the suffix of another format than the model's `own`."""
    suffix = output.suffix.lower()
    if suffix == source.suffix.lower() or SUFFIXES.get(suffix, own) == own:
        return ()
    return (f"{output.name} holds {MODELS[own]}, as the input does: graphfix converts none",)


def refuse_overwrite(path: Path, what: str, others: Iterable[tuple[str, Path]]) -> None:
    """Raise GraphfixError where `path`, which is `what`, is a file that is read, or written as something else."""
    for other, file in others:
        if is_one_file(path, file):
            raise GraphfixError(f"{path}: {what} is {other}; choose another name")


def is_one_file(one: Path, two: Path) -> bool:
    """Whether two names lead to one file, by links too, or will, where there is none yet."""
    try:
        both = one.exists() and two.exists()
        return one.samefile(two) if both else os.path.realpath(one) == os.path.realpath(two)
    except (OSError, ValueError):  # what can't be looked at is refused where it is read
        return False


@contextlib.contextmanager
def scratch(output: Path) -> Iterator[list[Path]]:
    """A file name in the output's folder; it, and what the user appends, is deleted afterwards unless published."""
    made = [output.parent / f".{output.name}.{os.urandom(8).hex()}.tmp"]
    name = str(made[0])
    try:
        yield made
    except GraphfixError as error:
        raise GraphfixError(str(error).replace(name, str(output))) from None
    finally:
        # an interrupt may come between the renaming and `made.clear()`: the data files of a published model stay
        if made and made[0].exists():
            for path in made:
                path.unlink(missing_ok=True)


def publish(made: list[Path], output: Path) -> None:
    """Rename the verified file to the output's name, and keep what was made beside it."""
    try:
        rename(made[0], output)
    except OSError as error:
        raise GraphfixError(
            f"{output}: can't be written: {error.strerror}; make room or choose another place"
        ) from None
    made.clear()


def rename(made: Path, output: Path) -> None:
    """Rename a file; it gets the permissions of what it replaces. Raises OSError."""
    if output.exists():
        from shutil import copymode

        copymode(output, made)
    made.replace(output)


@contextlib.contextmanager
def scratch_folder(output: Path) -> Iterator[Path]:
    """A folder beside the output, on its file system; it is deleted afterwards with all that was not published."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix=f".{output.name}.", suffix=".tmp", dir=output.parent) as folder:
        try:
            yield Path(folder)
        except GraphfixError as error:
            # what is made in here are drafts of the output: that is the name that the user knows
            raise GraphfixError(re.sub(rf"{re.escape(folder)}[^\s:]*", lambda _: str(output), str(error))) from None


def publish_pair(first: tuple[Path, Path], second: tuple[Path, Path]) -> None:
    """Rename two files (made, name); where one can't be renamed, neither appears."""
    publish([first[0]], first[1])
    try:
        publish([second[0]], second[1])
    except BaseException as error:  # an interrupt too, which may come after the renaming
        if isinstance(error, GraphfixError) or second[0].exists():
            first[1].unlink(missing_ok=True)
        raise
