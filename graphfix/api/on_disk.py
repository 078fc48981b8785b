"""A source as a file: the checker, and the commands that use it, read only files.

A source that is not a file is written to a temporary file. Errors and results name the source, and never the temporary
file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from graphfix import formats
from graphfix.api import sources
from graphfix.api.model import Model, Source, name_of, written
from graphfix.results import GraphfixError, Outcome, Verdict
from graphfix.results.error_texts import shown
from graphfix.results.records import dataclass
from graphfix.results.texts import with_names, with_texts

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OnDisk:
    """A source as a file that the checker can read."""

    path: Path
    names: dict[str, str]
    """The name of the source by the path of the temporary file. Empty if the source is a file."""

    def renamed(self, value: T) -> T:
        """Return an outcome, a verdict or a listing with the name of the source in place of the temporary file.

        All fields of an outcome but its sites are searched. Only the site of the whole model has the file's name as its
        node.
        """
        if not self.names:
            return value
        replaced = partial(with_names, names=self.names)
        if isinstance(value, Outcome):
            nodes = {Path(path).name: name for path, name in self.names.items()}
            return _renamed_outcome(value, replaced, nodes)  # type: ignore[return-value]  # the same type
        made: T = with_texts(value, replaced)
        return made


@contextmanager
def on_disk(function: str, source: Source, folder: str | Path | None = None) -> Iterator[OnDisk]:
    """Yield a file with the content of a source; a temporary one is deleted at the end. Raises GraphfixError."""
    with ExitStack() as stack:
        if isinstance(source, Model):
            path, name = written(source, stack), name_of(source)
        else:
            given = sources.content(function, source, folder)
            path, name = given.path or _written(given, stack), given.name
        names = {} if str(path) == name else {str(path): name}
        stack.enter_context(sources.naming(names))
        yield OnDisk(path, names)


def _written(given: sources.Content, stack: ExitStack) -> Path:
    """Return a temporary file with the bytes, beside the model's external data if it has any. Raises GraphfixError."""
    import shutil  # # imported here because the commands, which are given files, do not need it

    path = sources.temporary(stack, None)
    try:
        path.write_bytes(given.data)
        if given.folder is not None and _has_external_data(path):
            private, path = path, sources.temporary(stack, given.folder)
            shutil.copyfile(private, path)
    except OSError as error:
        raise GraphfixError(f"{given.name}: no temporary file can be written: {error.strerror or error}") from error
    return path


def _has_external_data(path: Path) -> bool:
    try:
        return bool(formats.data_locations(path))
    except GraphfixError:  # # the code that reads the file raises it again, with the name of the source
        return False


def _renamed_outcome(outcome: Outcome, replaced: Callable[[str], str], nodes: dict[str, str]) -> Outcome:
    verdict: Verdict | None = with_texts(outcome.verdict, replaced)
    sites = outcome.sites
    first = next(iter(sites), None)
    if first is not None and first.op == "model" and first.node in nodes:
        sites = [replace(first, node=nodes[first.node]), *sites[1:]]
    texts = {name: with_texts(getattr(outcome, name), replaced) for name in ("source", "output", "notes", "assumes")}
    return replace(outcome, verdict=verdict, sites=sites, **texts)


def is_in_memory(source: object) -> bool:
    """Return whether a source is neither a path nor a loaded model, so that `folder` applies to it."""
    return not isinstance(source, (str, os.PathLike, Model))


@contextmanager
def arrays_on_disk(arrays: Mapping[str, object]) -> Iterator[Path]:
    """Yield an .npz file that contains the arrays by name; errors name it `inputs`.

    Raises GraphfixError for other objects.

    `numpy.savez` is not used, because it accepts the names as keywords and has a parameter `file`, which may be an
    input.
    """
    from zipfile import ZipFile  # # imported here, as numpy is, because few calls have arrays

    import numpy as np

    with ExitStack() as stack:
        path = sources.temporary(stack, None).with_suffix(".npz")
        with ZipFile(path, "w") as archive:
            for name, given in arrays.items():
                array = np.asarray(given)
                if not isinstance(name, str) or array.dtype == object:
                    raise GraphfixError(f"inputs {name!r} is {shown(given)}; give the name of an input, and an array")
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        stack.enter_context(sources.naming({str(path): "inputs"}))
        yield path
