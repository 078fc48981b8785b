"""The models of a batch: files, what folders hold and patterns name, here and behind URLs; each with its output's name.

What would make one file of two, or of a file that is read, is refused before anything is done.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath

from graphfix.batch import globs, local_search
from graphfix.batch.globs import Glob, Pattern
from graphfix.batch.jobs.job import Command, output_name
from graphfix.batch.stores import addresses, remote, urls
from graphfix.batch.stores.remote import Remote
from graphfix.batch.stores.store import checked
from graphfix.results import GraphfixError

Found = tuple[str, str]
"""A path or a URL, and its name below the source that it is of."""


def models(given: Sequence[str], exclude: Sequence[Glob], output: str, command: Command) -> list[Found]:
    """The models in the order of the sources, each once; those of a folder or a pattern are sorted by their parts.

    What an earlier batch wrote into the folder `output` is none. Raises GraphfixError where a source names no model,
    where two models would get one output, and where an output would replace a model; OSError where a store fails.
    """
    try:
        return _models_of(given, exclude, output, command)
    except GraphfixError as error:
        raise GraphfixError(urls.shown(str(error))) from None


def _models_of(given: Sequence[str], exclude: Sequence[Glob], output: str, command: Command) -> list[Found]:
    found: dict[str, Found] = {}
    for source in given:
        of = _remote if addresses.is_url(source) else _local
        for place, name in of(source, exclude, output):
            found.setdefault(addresses.one_name(place), (place, name))
    _refuse_absent(list(found.values()))
    _refuse_one_output(found.values(), command)
    _refuse_replaced(found, output, command)
    return list(found.values())


# --- here -------------------------------------------------------------------------------------------------------------


def _local(source: str, exclude: Sequence[Glob], output: str) -> Iterator[Found]:
    path = addresses.local_path(source)
    outputs = None if addresses.is_url(output) else addresses.local_path(output)
    if outputs is not None and _is_below(path, outputs):
        raise _in_the_output(source, output)
    for model, name in local_search.models([path], exclude, outputs).items():
        yield str(model), name


def _is_below(path: Path, folder: Path) -> bool:
    try:
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except ValueError:  # a name that no file can have is refused where it is read
        return False


def _in_the_output(source: str, output: str) -> GraphfixError:
    return GraphfixError(f"{source}: it lies in the folder of the outputs, {output}; choose another folder for them")


# --- behind a URL -----------------------------------------------------------------------------------------------------


def _remote(source: str, exclude: Sequence[Glob], output: str) -> Iterator[Found]:
    """Yield the models of a URL. A folder is listed once, and sorted here."""
    if _named_as_folder(source).startswith(_named_as_folder(output)):
        raise _in_the_output(source, output)
    found, none = _named(source, output)
    left = [each for each in found if not _is_excluded(*each, exclude)]
    if not left and none:
        raise local_search.nothing(source, len(found), none)
    for url, name in left:
        yield url, checked(name)


def _named(source: str, output: str) -> tuple[list[Found], str]:
    """Return the models of a URL, and the reason if there are none although one is needed."""
    if urls.split(source)[1]:  # a query may give access to one file, and to nothing else
        if not (file_name := urls.file_name(source)):
            raise GraphfixError(f"{source}: neither its path nor its query names a file; name one")
        return [(source, file_name)], ""
    folder, name = addresses.parted(source)
    if name and folder.identity(name) is not None:
        return [(source, name)], ""
    content = remote.opened(source)
    if content.is_folder():
        return _models_below(content, Pattern((), "**", None), output), local_search.NO_MODEL
    if globs.is_pattern(source):
        pattern = Pattern.of(source, source.split("/"))
        return _models_below(remote.opened("/".join((*pattern.folder, ""))), pattern, output), local_search.NOT_NAMED
    return ([(source, name)], "") if name else ([], local_search.NO_MODEL)  # a file that is not there fails for itself


def _models_below(folder: Remote, pattern: Pattern, output: str) -> list[Found]:
    """Return the files below a folder that a pattern matches, by the rules of `local_search`."""
    found = []
    outputs = _named_as_folder(output)
    for name in folder.names(pattern.depth):
        hidden = any(part.startswith(".") for part in name.split("/"))
        if hidden or not pattern.matches(name) or _named_as_folder(folder.place(name)).startswith(outputs):
            continue
        if not pattern.of_models or name.lower().endswith(local_search.SUFFIXES):
            found.append((folder.place(name), name))
    return found


def _named_as_folder(place: str) -> str:
    return f"{addresses.one_name(place).rstrip('/')}/"


def _is_excluded(url: str, name: str, exclude: Sequence[Glob]) -> bool:
    """Return whether a pattern matches a part of a URL, the URL from its beginning, or its path below the source."""
    return any(
        pattern.names_parts((name if "/" in pattern.text and "://" not in pattern.text else url).split("/"))
        for pattern in exclude
    )


# --- what is refused --------------------------------------------------------------------------------------------------


def _refuse_absent(found: Sequence[Found]) -> None:
    """Raise GraphfixError if none of the models exists here; the folder of the outputs is not made for them.

    A missing file among others fails for itself. A URL is not looked at, because that takes a request.
    """
    if found and not any(addresses.is_url(place) or os.path.lexists(place) for place, _ in found):
        raise GraphfixError(f"{found[0][0]}: no such file or folder; give the path of a model or of a folder")


def _refuse_one_output(found: Iterable[Found], command: Command) -> None:
    """Raise GraphfixError if two models have the same output, or if one output is a folder above another."""
    places: dict[str, str] = {}
    for place, name in found:
        made = _file_name(output_name(name, command) or name)
        if made in places:
            raise _one_output(place, places[made], made)
        places[made] = place
    for made, place in places.items():
        for parent in PurePosixPath(made).parents:
            if str(parent) in places:
                clash = f"its result {made} is in a folder that is a file, the result of {places[str(parent)]}"
                raise GraphfixError(f"{place}: {clash}; make two batches")


def _file_name(name: str) -> str:
    """Return the name by which the system finds a file: the file systems of macOS usually ignore case."""
    return name.casefold() if sys.platform == "darwin" else name


def _one_output(place: str, other: str, made: str) -> GraphfixError:
    if urls.shown(place) == urls.shown(other):
        what = "it is given twice, with other values in its query"
        return GraphfixError(f"{place}: {what}; give it once, or make two batches")
    how = "" if urls.split(place)[1] else "put both into one folder and name that, or "
    return GraphfixError(f"{place}: its result is {made}, which is that of {other} too; {how}make two batches")


def _refuse_replaced(found: dict[str, Found], output: str, command: Command) -> None:
    """Raise GraphfixError if an output would replace a model of the batch, also through links."""
    there = addresses.store(output)
    for _, name in found.values():
        made = output_name(name, command)
        if made is None:
            continue
        place = there.place(made)
        if addresses.one_name(place) in found:
            raise GraphfixError(f"{place}: the output is a model of the batch; choose another folder")
