"""What is said of a model that was done in a scratch folder names the places that the user knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from graphfix.batch.jobs.job import Job
from graphfix.batch.stores import addresses
from graphfix.batch.stores.store import Store, beginning
from graphfix.report import Entry, Failure

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
            text = self._text(entry.error)
            if text.startswith(f"{model}: "):
                text = self._job.model + text.removeprefix(str(model))
            return replace(entry, model=self._job.model, error=text)
        changed = {name: _each_text(getattr(entry, name), self._text) for name in TELLING}
        return replace(entry, model=self._job.model, **changed)

    def _text(self, text: str) -> str:
        for scratch, place in self._names.items():
            text = text.replace(scratch, place)
        return text


def _each_text(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - plain data of any shape
    """The same data with all of its texts changed."""
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: _each_text(getattr(value, field.name), change) for field in fields(value)}
        return replace(value, **inner)
    if isinstance(value, Mapping):
        return {_each_text(key, change): _each_text(each, change) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return type(value)(_each_text(each, change) for each in value)  # type: ignore[call-arg]  # a list or a tuple
    return value
