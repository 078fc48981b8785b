"""Load a model and bind its sizes, refuse sizes that no runtime can run, and free the memory of finished models."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix import formats
from graphfix.engine import binding
from graphfix.results import GraphfixError, OverwriteError, Site

if TYPE_CHECKING:
    from graphfix.engine.binding import Sizes
    from graphfix.engine.request import Request
    from graphfix.graph.protocols import Model


OBJECTS = 100_000
"""The number of objects of finished models after which they are collected. The collection takes about 0.01 seconds."""


@contextmanager
def signed(source: Path, request: Request) -> Iterator[Path]:
    """Yield the file of the requested signature, or `source` if no signature is requested.

    The file of a signature is deleted at the end of the context. A model that was loaded from it can be written later,
    because the file stays open. Raises GraphfixError, which names `source`.
    """
    if request.signature is None:
        yield source
        return
    if formats.format_of(source) != "tflite":
        raise GraphfixError(
            f"{source}: --signature {request.signature}: only a TFLite model has signatures; leave it out"
        )
    from tempfile import TemporaryDirectory

    from graphfix.formats.tflite.signature import extract

    with TemporaryDirectory(prefix="graphfix-") as folder:
        path = Path(folder) / source.name
        extract(source, request.signature, path)
        try:
            yield path
        except GraphfixError as error:
            raise GraphfixError(str(error).replace(str(path), str(source))) from None


def bound(source: Path, request: Request) -> tuple[Model, Sizes]:
    """Return the model with its free sizes bound, also by default if that is requested, and the sizes that it then has.

    Raises GraphfixError if the model can't be read, bound, or run at these sizes.
    """
    with signed(source, request) as path:
        return _bound(path, request)


def _bound(source: Path, request: Request) -> tuple[Model, Sizes]:
    model: Model = formats.load(source, request.data_roots)
    free_inputs = binding.free_inputs(model)
    free, names = ", ".join(map(str, free_inputs)), {value.name for value in free_inputs}
    sizes = binding.bind(model, source, request)
    if request.bind_defaults:
        from graphfix.api.default_sizes import bind_defaults

        model, lines = bind_defaults(model, partial(_anew, source, request), source, sizes.values, request.data_roots)
        sizes = binding.static_shapes(model, sizes, lines, names)
    if request.goal.static or (request.bind_defaults and free):
        _refuse_impossible(model, source, free)
    return model, sizes


def several_signatures(source: Path, request: Request) -> str | None:
    """Return the reason why a model with several signatures needs one to be named, or None for any other model."""
    if request.signature is not None or formats.format_of(source) != "tflite":
        return None
    from graphfix.formats.tflite.signature import keys

    found = keys(source)
    if len(set(found.values())) < 2:  # noqa: PLR2004 -- two functions
        return None
    return f"it has the signatures {', '.join(found)}; choose the one to convert: --signature NAME"


def function_sites(source: Path, request: Request) -> list[Site]:
    """Return a finding if the model has several functions and the target supports one. Raises GraphfixError."""
    why = several_signatures(source, request) if request.goal.static else None
    return [Site("GF305", source.name, "model", "main", None, None, None, "left", None, why)] if why else []


def shown(source: Path, request: Request) -> Model:
    """Return the model of the requested signature, with the requested sizes bound. Raises GraphfixError."""
    with signed(source, request) as path:
        return _anew(path, request)


def _anew(source: Path, request: Request) -> Model:
    model: Model = formats.load(source, request.data_roots)
    binding.bind(model, source, request)
    return model


def _refuse_impossible(model: Model, source: Path, free: str) -> None:
    """Raise GraphfixError for sizes at which no runtime can run the model; `free` lists the inputs that were free."""
    from graphfix.targets.impossible_sizes import impossible

    why = impossible(model)
    if why is not None:
        how = (
            f"give other sizes: {free} (--shape or --dim)"
            if free
            else "the file itself states these sizes: export it anew"
        )
        raise GraphfixError(f"{source}: sizes that can't run: {why}; {how} (GF105)")


def refuse_reports(model: Model, request: Request) -> None:
    """Raise OverwriteError if a report would replace a data file of the model."""
    try:
        for path in request.report:
            model.refuse_output(path)
    except GraphfixError as error:
        raise OverwriteError(str(error)) from None


def refuse_reports_of(models: Sequence[Path], request: Request) -> None:
    """Raise OverwriteError if a report would replace a data file of a model that only the checker reads."""
    for path in models if any(report.exists() for report in request.report) else ():
        try:
            model = formats.load(path, request.data_roots)
        except GraphfixError:  # # the checker reports the error of this file
            continue
        refuse_reports(model, request)


def forget_models() -> None:
    """Free the memory of finished models, for a process that handles many models.

    Nodes and graphs refer to each other, and the process does not collect such cycles automatically. Objects that are
    alive now are not searched again.
    """
    if gc.get_count()[0] > OBJECTS:
        gc.collect()
        gc.freeze()
