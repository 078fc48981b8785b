"""Records of finished models: the digests of input files, options and outputs, and the outcome.

A record is stored beside the outputs, where other programs may write. It is read as data, and a file that differs from
the form written here is not a record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from graphfix.batch.jobs import outcome_json, request_digest
from graphfix.batch.jobs.job import Job
from graphfix.batch.jobs.scratch import OWN
from graphfix.batch.stores import addresses, urls
from graphfix.batch.stores.store import Digest, Store, beginning, checked
from graphfix.results import Outcome
from graphfix.version import VERSION

FORM = 2
"""The version of the record's form."""
MOST = 128 << 20
"""The most bytes of a record. 100,000 nodes with findings take 30 MiB; a longer record is neither written nor read."""


@dataclass(frozen=True, slots=True)
class Record:
    """The record of one model."""

    form: int
    version: str
    """The version of graphfix."""
    options: str
    """The digest of the request."""
    sources: tuple[Digest, ...]
    """The digests of the model and then of its data files, with their names in the model's folder."""
    outputs: tuple[Digest, ...]
    """The digests of the outputs, with their names below the batch's folder."""
    outcome: Outcome
    """The outcome. Its paths of outputs are names below the batch's folder."""


def holding(job: Job) -> Outcome | None:
    """Return the recorded outcome of a job if it is still valid; else None.

    It is if the bytes, options and version are the same and the outputs still exist. Raises OSError if a store can't be
    reached, and GraphfixError as `request_digest.digest` does.
    """
    record = read(job)
    if record is None or record.version != VERSION or record.options != request_digest.digest(job.command, job.request):
        return None
    if job.request.excerpt and record.outcome.excerpt is None:
        return None
    folder, name = addresses.parted(job.source)
    there = addresses.store(job.output)
    first, *data = record.sources
    if first.name != urls.file_name(job.source):
        return None
    if not (_are_there(folder, (replace(first, name=name), *data)) and _are_there(there, record.outputs)):
        return None
    return _placed(job, record.outcome, there)


def read(job: Job) -> Record | None:
    """Return the record of a model, whether or not it is valid; None if there is none. Raises OSError."""
    text = addresses.store(job.output).read_text(_name(job), MOST)
    if text is None:
        return None
    try:
        record: Record = outcome_json.converter().structure(json.loads(text), Record)
        for file in (*record.sources, *record.outputs):
            checked(file.name)
    except Exception:  # noqa: BLE001 -- data of others: whatever is wrong with it, it is no record
        return None
    return record if record.form == FORM and record.sources and _has_outputs(record) else None


def _has_outputs(record: Record) -> bool:
    """Whether of all files that the outcome names it is known which bytes they have."""
    made, file_names = record.outcome.conversion, {file.name for file in record.outputs}
    output_names = (record.outcome.output, made.bytecode if made is not None else None)
    return all(name is None or name in file_names for name in output_names)


def write(job: Job, outcome: Outcome, sources: Sequence[Digest], outputs: Sequence[Digest]) -> None:
    """Remember what was made of a model: of the model first among `sources`. Raises OSError."""
    there = addresses.store(job.output)
    options = request_digest.digest(job.command, job.request)
    first, *data = sources
    first_files = (replace(first, name=urls.file_name(job.source)), *data)
    record = Record(FORM, VERSION, options, first_files, tuple(outputs), _named(outcome, there))
    text = json.dumps(outcome_json.converter().unstructure(record), allow_nan=False)
    if len(text) <= MOST:
        there.write_text(_name(job), text)


def _name(job: Job) -> str:
    return f"{OWN}/{job.name}.json"


def _are_there(store: Store, files: Sequence[Digest]) -> bool:
    return all(_is_there(store, file) for file in files)


def _is_there(store: Store, file: Digest) -> bool:
    """Whether the store has the same bytes: by its own mark, where it has one, else they are read."""
    now = store.identity(file.name)
    if now is None or now.size != file.size:
        return False
    if file.mark and now.mark:
        return file.mark == now.mark
    return store.digest(file.name).sha256 == file.sha256


def _named(outcome: Outcome, there: Store) -> Outcome:
    """The outcome with names below the folder in place of its outputs' paths: the folder may be moved."""
    folder = beginning(there)
    return _with_outputs(outcome, lambda place: place.removeprefix(folder))


def _placed(job: Job, outcome: Outcome, there: Store) -> Outcome:
    """The outcome, with the paths of today."""
    excerpt = outcome.excerpt if job.request.excerpt else None
    return replace(_with_outputs(outcome, there.place), source=job.model, excerpt=excerpt, reused=True)


def _with_outputs(outcome: Outcome, called: Callable[[str], str]) -> Outcome:
    """The outcome, with each of its outputs called otherwise."""
    if outcome.output is None:
        return outcome
    made = outcome.conversion
    if made is not None and made.bytecode is not None:
        made = replace(made, bytecode=called(made.bytecode))
    return replace(outcome, output=called(outcome.output), conversion=made)
