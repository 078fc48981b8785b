"""The Python function for many models: its keywords become the requests of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from graphfix.api import arguments, own_rewrites
from graphfix.batch import sources
from graphfix.batch.globs import Glob
from graphfix.batch.jobs import executors, scratch
from graphfix.batch.jobs import run as running
from graphfix.batch.jobs.batch_settings import Orders
from graphfix.batch.jobs.job import Command, Finished
from graphfix.batch.jobs.run import Workers
from graphfix.engine.request import NONE, Dims, Request, Same, Shapes, Values, is_list, is_path
from graphfix.report.text import Entry
from graphfix.results import GraphfixError
from graphfix.results.error_texts import not_one_of, shown
from graphfix.results.progress import Progress, silent
from graphfix.targets.registry import Broadcasts, TargetName, Unknown

COMMANDS: tuple[Command, ...] = ("fix", "check", "tosa")


def batch_files(
    models: Sequence[str | Path],
    output: str | Path,
    *,
    command: Command = "fix",
    exclude: Sequence[str] = (),
    jobs: int | None = None,
    client: Any = None,  # noqa: ANN401 - a distributed.Client, of an extra
    retries: int = 2,
    time_limit: float = 600.0,
    memory_limit: int | None = None,
    again: bool = False,
    target: TargetName = "explicit",
    target_file: str | Path | None = None,
    broadcasts: Broadcasts | None = None,
    unknown: Unknown = "expand",
    data_root: str | Path | Sequence[str | Path] = (),
    dims: Dims = NONE,
    shapes: Shapes = NONE,
    same: Same = (),
    trust_stored: bool | None = None,
    values: Values = NONE,
    signature: str | None = None,
    drop_set_inputs: bool = False,
    narrow_inputs: bool = False,
    only: Sequence[str] = (),
    skip: Sequence[str] = (),
    rewrites: Sequence[str | Path] = (),
    keep_fusions: bool = False,
    bind_defaults: bool = False,
    max_expand_bytes: int | None = None,
    check_result: bool = True,
    strict_proof: bool = False,
    runs: int | None = None,
    thorough: bool = False,
    seed: int = 0,
    run: bool = False,
    progress: Progress | None = None,
) -> list[Entry]:
    """Fix, check or convert many models, each in its own process, as `graphfix batch` does.

    `models` are files, folders, patterns and URLs. The results are written below `output`, a folder or a URL. A result
    that is already there, made from the same bytes by the same options and version, is not made again (`reused`).

    The function returns an entry for each model, in the order of the sources: an Outcome, or a Failure, whose `error`
    is the reason and whose `kind` is what stopped the model.

    `jobs` models are processed at once on this machine (None: one for each processor), or by the workers of `client`, a
    Client of Dask's distributed. `time_limit` is in seconds, `memory_limit` in bytes, each for one model; None is the
    machine's memory divided by the jobs. `progress` is called when a model ends.

    Raises GraphfixError for invalid options, for sources without a model, and for an `output` that is not a folder.

    The example reads a model of graphfix's repository, in the root of a clone.

    >>> from graphfix.batch import batch_files
    >>> [entry.output for entry in batch_files(["models/encoder.onnx"], "out", jobs=1, dims={"batch": 1})]
    ['out/encoder.onnx']
    """
    asked = {**locals(), "progress": None}
    _refuse_types({"models": models, "exclude": exclude, "rewrites": rewrites}, output)
    _refuse_settings(client, retries, again)
    _refuse(command, {"jobs": jobs, "time_limit": time_limit, "memory_limit": memory_limit})
    asked["rewrites"] = [str(Path(each).absolute()) if str(each).endswith(".py") else str(each) for each in rewrites]
    asked["data_root"] = [each.absolute() for each in Request.of({"data_root": data_root}).data_roots]
    request = arguments.request(asked)
    own_rewrites.load(request.rewrites)  # what is wrong with them is said once
    found = sources.models([str(each) for each in models], [Glob(str(each)) for each in exclude], str(output), command)
    here = jobs if client is None else 0
    orders = Orders(command, str(output), time_limit, memory_limit, again, here)
    with _workers(orders, client, retries) as workers, scratch.locked(str(output)):
        watch = _Watch(progress or silent, len(found))
        return list(running.run(orders.all_jobs(found, lambda _: request), workers, watch, lambda each: each.entry))


def _refuse_types(lists: Mapping[str, object], output: object) -> None:
    """Raise GraphfixError unless each value of `lists` is a list of paths and `output` is a path."""
    for name, given in lists.items():
        if not is_list(given, is_path):
            raise GraphfixError(f"{name} is {shown(given)}; give a list of paths, such as ['models']")
    if not is_path(output):
        raise GraphfixError(f"output is {shown(output)}; give the path of a folder, or a URL")


def _refuse_settings(client: object, retries: object, again: object) -> None:
    """Raise GraphfixError for arguments of types that `batch_files` does not accept."""
    if client is not None and not hasattr(client, "get_executor"):
        raise GraphfixError(f"client is {shown(client)}; give a Client of Dask's distributed, or None")
    if not isinstance(retries, Integral) or isinstance(retries, bool) or retries < 0:
        raise GraphfixError(f"retries is {shown(retries)}; give a whole number from 0 on")
    if not isinstance(again, bool):
        raise GraphfixError(f"again is {shown(again)}; give True or False")


def _refuse(command: str, numbers: Mapping[str, float | None]) -> None:
    """Raise GraphfixError for an unknown command, and for a number that is not above 0."""
    if command not in COMMANDS:
        raise GraphfixError(not_one_of("command", command, COMMANDS))
    for name, number in numbers.items():
        if number is not None and not (isinstance(number, Real) and number > 0):
            raise GraphfixError(f"{name} is {number!r}; give a number above 0, or None")


@contextmanager
def _workers(orders: Orders, client: Any, retries: int) -> Iterator[Workers]:  # noqa: ANN401 - see above
    if client is None:
        with executors.local(orders.threads) as threads:
            yield threads
        return
    from graphfix.batch.jobs import cluster

    yield cluster.cluster(client, retries)


@dataclass(slots=True)
class _Watch:
    """Hands on what is done."""

    progress: Progress
    total: int
    done: int = 0

    def finished(self, finished: Finished) -> None:
        """Tell of a model that is done."""
        self.done += 1
        self.progress(finished.job.model, self.done, self.total)

    def tick(self) -> None:
        """Nothing is told of time alone."""
