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


def with_places(entry: Entry, model: Path, job: Job, source: Store, scratch: Path) -> Entry:
    """Return the entry with the places that the user knows instead of those in the folder `scratch`.

    `model` is how the entry names the model, and `source` is the store that the model was read from.
    """
    there = addresses.store(job.output)
    named = partial(with_names, names={f"{scratch}/in/": beginning(source), f"{scratch}/out/": beginning(there)})
    if isinstance(entry, Failure):
        text = named(entry.error)
        if text.startswith(f"{model}: "):
            text = job.model + text.removeprefix(str(model))
        return replace(entry, source=job.model, error=text)
    changed = {name: with_texts(getattr(entry, name), named) for name in TELLING}
    return replace(entry, source=job.model, **changed)
