"""Publish the files of a job in the batch's folder: data files first, the model last; after an error none is left."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from graphfix.batch.jobs.job import Job, output_name
from graphfix.batch.jobs.scratch import OWN
from graphfix.batch.stores import addresses
from graphfix.batch.stores.store import Digest, Store, digest_of
from graphfix.formats.neutral import publish
from graphfix.results import GraphfixError

_LONGEST: Final = 1 << 16


class Outputs:
    """The files of a job in a scratch folder, at the same relative paths as later in the batch's folder."""

    def __init__(self, job: Job, made: Path) -> None:
        self._name = output_name(job.name, job.command) or job.name
        self._made = made
        self._folder = addresses.store(job.output)

    @property
    def model(self) -> Path:
        """Return the path in the scratch folder where the child process writes the model."""
        return self._made / self._name

    def refuse(self, source: str) -> None:
        """Raise GraphfixError if the output would replace the model `source`, which is a path or a URL."""
        place = self._folder.place(self._name)
        if addresses.is_url(source) and addresses.one_name(source) == addresses.one_name(place):
            raise GraphfixError(f"{place}: the output is the input; choose another folder")
        here = self._folder.local(self._name)
        if here is None:
            return
        if here.is_dir():
            raise GraphfixError(f"{place}: a folder has the output's name; remove it, or choose another folder")
        if not addresses.is_url(source) and publish.is_one_file(addresses.local_path(source), here):
            raise GraphfixError(f"{place}: the output is the input; choose another folder")

    def published(self, source: Store, data: Mapping[str, str]) -> Sequence[Digest]:
        """Publish all files and return their digests.

        `data` maps each data file in the model's folder `source` to the name of its copy, if it has one. Raises
        GraphfixError if the name of a data file is used by something else, and OSError; then no file is left.
        """
        fresh: list[str] = []
        try:
            made = {each: name for each, name in data.items() if self.model.with_name(name).exists()}
            digests = [self._published_data(source, each, name, fresh) for each, name in made.items()]
            digests += [self._folder.publish(path, name) for name, path in self._files()]
        except BaseException:
            for name in fresh:
                with suppress(OSError):  # what failed first is the error to report
                    self._folder.remove(name)
            raise
        return digests

    def _files(self) -> list[tuple[str, Path]]:
        """Return the files that were made, the model last. The model is listed even if another batch has removed it."""
        others = [path for path in self._made.rglob("*") if path.is_file() and path != self.model]
        return [(path.relative_to(self._made).as_posix(), path) for path in (*others, self.model)]

    def _published_data(self, source: Store, location: str, copy: str, fresh: list[str]) -> Digest:
        """Publish one data file. It replaces a different file only if that file was copied from the same source."""
        name = posixpath.join(posixpath.dirname(self._name), copy)
        made, owner = self._made / name, _absolute(source, location)
        there = self._folder.identity(name)
        if there is not None and there.size == made.stat().st_size:
            same = self._folder.digest(name)
            if same.sha256 == digest_of(made, name).sha256:
                made.unlink()
                return same
        source_line = self._folder.read_text(f"{OWN}/{name}.source", _LONGEST)
        if there is not None and source_line != owner:
            what = "something else of this name is there, and is kept"
            raise GraphfixError(f"{self._folder.place(name)}: {what}; remove it, or choose another folder")
        self._folder.write_text(f"{OWN}/{name}.source", owner)
        if there is None:
            fresh.append(name)
        digest = self._folder.publish(made, name)
        made.unlink(missing_ok=True)  # a store has a copy
        return digest


def _absolute(store: Store, name: str) -> str:
    """Return a name of a place that does not depend on the working directory."""
    path = store.local(name)
    return store.place(name) if path is None else os.path.realpath(path)
