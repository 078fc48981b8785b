"""Do one job, in a thread of this process or on a worker: return a valid recorded outcome, or process the model."""

from __future__ import annotations

import posixpath
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from graphfix.batch.jobs import records
from graphfix.batch.jobs.job import Finished, Job
from graphfix.batch.jobs.publishing import Outputs
from graphfix.batch.jobs.scratch import scratch
from graphfix.batch.process.child import Child, StoppedError
from graphfix.batch.process.messages import LocalJob, Locations
from graphfix.batch.stores import addresses, urls
from graphfix.batch.stores.store import Digest, Store, beginning
from graphfix.formats.onnx.file.data_home import copied_names
from graphfix.report.text import Entry, Failure
from graphfix.results import GraphfixError, Outcome, OverwriteError
from graphfix.results.progress import silent
from graphfix.results.texts import with_names, with_texts

ADVICE = {
    "time": "give it more by --time-limit, or leave it out by --exclude",
    "memory": "give it more by --memory-limit, or leave it out by --exclude",
    "aborted": "do it alone to see why, or leave it out by --exclude",
}
"""By kind of a stopped process: the advice for the user."""
TELLING = ("output", "verdict", "conversion", "notes", "assumes")
"""The fields of an outcome that may contain the name of a file."""
_threads = threading.local()


def work(job: Job, stop: threading.Event | None = None) -> Finished:
    """Do one job; the child that does it stays for the next one of this thread.

    An error in the model or in the request, and a fault of graphfix, are returned as a failure. Raises OSError of the
    system or a store, which another try may not meet; OverwriteError, which concerns all jobs; and CancelledError when
    `stop` is set.
    """
    started = time.perf_counter()
    try:
        entry = _entry(job, stop)
    except (OverwriteError, OSError, CancelledError):
        raise
    except StoppedError as error:
        text = f"{job.model}: stopped: {error}; {ADVICE[error.kind]}"
        entry = Failure(job.command, job.model, text, error.kind)
    except Exception as error:  # noqa: BLE001 - a fault of graphfix is a failure of this model alone
        entry = Failure.of(job.command, job.model, error)
    return Finished(job, entry, round(time.perf_counter() - started, 6))


def _child() -> Child:
    """Return this thread's child; its process is ended when the thread ends."""
    if not hasattr(_threads, "child"):
        _threads.child = Child()
    child: Child = _threads.child
    return child


def _entry(job: Job, stop: threading.Event | None) -> Entry:
    earlier_record = None if job.again else records.holding(job)
    if earlier_record is not None:
        return earlier_record
    with scratch(job.output) as folder:
        return _Work(job, folder.absolute(), stop).done()


@dataclass(frozen=True, slots=True)
class _Work:
    """One job, and the scratch folder in which it is done."""

    job: Job
    scratch: Path
    stop: threading.Event | None

    def done(self) -> Entry:
        """Fetch the model, process it, publish the outputs, and write the record.

        Raises as `work` does, and StoppedError.
        """
        folder, name = addresses.parted(self.job.source)
        outputs = Outputs(self.job, self.scratch / "out")
        outputs.refuse(self.job.source)
        model, sources = self._fetched(folder, name)
        made = self._made(model, outputs.model)
        entry = with_places(made, model, self.job, folder, self.scratch)
        if isinstance(entry, Outcome):
            data = self._copied(sources) if self.job.command == "fix" else {}
            written = outputs.published(folder, data) if entry.output is not None else ()
            records.write(self.job, entry, sources, written)
        return entry

    def _copied(self, sources: Sequence[Digest]) -> Mapping[str, str]:
        """Return by location the names of the copies of data files beside the output of a fix."""
        return copied_names((each.name for each in sources[1:]), posixpath.basename(self.job.name))

    def _fetched(self, folder: Store, name: str) -> tuple[Path, Sequence[Digest]]:
        """Return the path where the model and its data files can be read, and the digests of all these files."""
        model = folder.local(name)
        path = self.scratch / "in" / urls.file_name(self.job.source) if model is None else model
        try:
            first = folder.digest(name) if model is not None else folder.fetch(name, path)
        except FileNotFoundError as error:
            raise GraphfixError(str(error)) from None
        # data files of a store are fetched from the model's own folder only
        roots = self.job.request.data_roots if model is not None else ()
        locations: Sequence[str] = self._asked(Locations(path, roots))
        names = sorted({posixpath.normpath(each) for each in locations})
        there = [each for each in names if folder.identity(each) is not None]  # what is missing is said by the child
        if model is not None:
            return path, [first, *map(folder.digest, there)]
        return path, [first, *(folder.fetch(each, self.scratch / "in" / each) for each in there)]

    def _made(self, model: Path, output: Path) -> Entry:
        job, temporary = self.job, self.scratch / "tmp"
        for needed in (output.parent, temporary):
            needed.mkdir(parents=True, exist_ok=True)
        request = job.request if job.request.progress is silent else replace(job.request, progress=silent)
        entry: Entry = self._asked(LocalJob(job.command, model, output, request, Path.cwd(), temporary))
        return entry

    def _asked(self, message: object) -> Any:  # noqa: ANN401 - what each message is answered
        return _child().ask(message, self.job.limits, self.stop)


def with_places(entry: Entry, model: Path, job: Job, source: Store, scratch: Path) -> Entry:
    """Return the entry with the places that the user knows instead of those in the folder `scratch`.

    `model` is how the entry names the model, and `source` is the store that the model was read from.
    """
    there = addresses.store(job.output)
    rename_paths = partial(with_names, names={f"{scratch}/in/": beginning(source), f"{scratch}/out/": beginning(there)})
    if isinstance(entry, Failure):
        text = rename_paths(entry.error)
        if text.startswith(f"{model}: "):
            text = job.model + text.removeprefix(str(model))
        return replace(entry, source=job.model, error=text)
    changed = {name: with_texts(getattr(entry, name), rename_paths) for name in TELLING}
    return replace(entry, source=job.model, **changed)
