"""What is said of a model that was done in a scratch folder names the places that the user knows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from graphfix.batch.jobs.job import Job
from graphfix.batch.stores import addresses
from graphfix.batch.stores.store import Store, beginning
from graphfix.report.text import Entry, Failure
from graphfix.results.texts import with_names, with_texts

TELLING = ("output", "verdict", "conversion", "notes", "assumes")
"""The fields of an outcome that may name a file."""


class Places:
    """The names of places in a scratch folder, and what users call them."""

    def __init__(self, job: Job, source: Store, scratch: Path) -> None:
        there = addresses.store(job.output)
        self._job = job
        self._names = {f"{scratch}/in/": beginning(source), f"{scratch}/out/": beginning(there)}

    def named(self, entry: Entry, model: Path) -> Entry:
        """The entry with the places of users; `model` is how it names the model."""
        if isinstance(entry, Failure):
            text = with_names(entry.error, self._names)
            if text.startswith(f"{model}: "):
                text = self._job.model + text.removeprefix(str(model))
            return replace(entry, source=self._job.model, error=text)
        named = partial(with_names, names=self._names)
        changed = {name: with_texts(getattr(entry, name), named) for name in TELLING}
        return replace(entry, source=self._job.model, **changed)
