"""The options that only `batch` has. No format is imported."""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Mapping
from types import MappingProxyType

from graphfix.cli import options
from graphfix.cli.lint import options as lint
from graphfix.cli.options import Parser, Whole

UNITS: Mapping[str, int] = MappingProxyType(
    {
        "": 1,
        "B": 1,
        **{f"{prefix}B": 1000**power for power, prefix in enumerate("KMGT", 1)},
        **{f"{prefix}iB": 1024**power for power, prefix in enumerate("KMGT", 1)},
    }
)
"""By unit: its number of bytes."""


def batch(command: Parser) -> None:
    """Add the arguments and options of `batch`."""
    what = "ONNX or TFLite files, folders, quoted patterns ('models/**/*.onnx') and URLs (s3://bucket/prefix)"
    command.add_argument("sources", metavar="SOURCE", type=_source, nargs="+", help=what)
    what = "the folder of the results and of what is remembered of them: a path or a URL; it is made"
    command.add_argument("-o", "--output", metavar="DIR", type=_folder, required=True, help=what)
    lint.sources(command)
    either = command.add_mutually_exclusive_group()
    either.add_argument("--check", action="store_true", help="list what is implicit, and write no model")
    either.add_argument("--tosa", action="store_true", help="convert each model to TOSA, as `graphfix tosa` does")
    what = "--tosa: run each converted model in the TOSA reference model beside its original"
    command.add_argument("--run", action="store_true", help=what)
    _work(command)
    options.data_root(command)
    options.choices(command)
    options.binding(command)
    options.unverified(command, "write the results without proving or running them")
    options.strict(command)
    options.runs(command)
    options.answer(command)


def _source(text: str) -> str:
    """Return a file, a folder, a pattern or a URL. Raises ArgumentTypeError for stdin and for an empty text."""
    options.refuse_empty(text)
    if text == "-":
        raise argparse.ArgumentTypeError("'-': a batch reads files; graphfix fix - -o - takes a model from stdin")
    return text


def _folder(text: str) -> str:
    """Return a folder or a URL. Raises ArgumentTypeError for stdout and for an empty text."""
    options.refuse_empty(text)
    if text == "-":
        raise argparse.ArgumentTypeError("'-' is stdout, and the results are files; give a folder")
    return text


def _work(command: Parser) -> None:
    group = command.add_argument_group("how it is done")
    either = group.add_mutually_exclusive_group()
    what = "models at once, each in a process of its own (default: as many as there are processors)"
    either.add_argument("--jobs", metavar="N", type=Whole(1), help=what)
    what = "have the workers of a Dask cluster do it: the address of its scheduler, tcp://HOST:8786"
    either.add_argument("--dask", metavar="ADDRESS", help=what)
    what = "--dask: how often a model is tried again when a store or a worker fails (default 2)"
    group.add_argument("--retries", metavar="N", type=Whole(0), default=2, help=what)
    what = "seconds after which a model is given up (default 600)"
    group.add_argument("--time-limit", metavar="SECONDS", type=duration, default=600.0, help=what)
    what = "memory that a model may need: 2GiB, 500MB (default: the machine's or the container's, divided by the jobs)"
    group.add_argument("--memory-limit", metavar="SIZE", type=size, help=what)
    what = "do all models anew, also those whose results are of the same bytes, options and version"
    group.add_argument("--again", action="store_true", help=what)


def size(text: str) -> int:
    """Return the bytes of a text such as `2GiB` or `500MB`. Raises ArgumentTypeError."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)", text, re.ASCII)
    units = {unit.upper(): bytes_ for unit, bytes_ in UNITS.items()}
    number = float(found[1]) * units.get(found[2].upper(), 0) if found is not None else 0
    if not 1 <= number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size of memory, such as 2GiB, 500MB or a number of bytes")
    return int(number)


def duration(text: str) -> float:
    """Return the seconds of a text, a number above 0. Raises ArgumentTypeError."""
    value = options.number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value
