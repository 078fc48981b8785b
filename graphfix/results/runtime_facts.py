"""Facts that differ between versions of onnx, onnxruntime, LiteRT or numpy, and the versions that were measured.

The rewriter and the checker both import this module, and it imports neither. A fact about an entry of another table is
in that table, with its `Versions`; `FACTS` has all other facts. The tests and `scripts/new_release.py` compare each
fact with the installed runtime.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType

from graphfix.results.records import dataclass

MEASURED: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "onnx": ("1.19.0", "1.23.2"),
        "onnxruntime": ("1.23.0", "1.30.0", "1.31.1", "1.32.0"),
        "ai-edge-litert": ("2.1.6", "2.3.0"),
    }
)
"""By package, the versions with which graphfix was measured; the newest is the last."""

MOST_AXES = 32
"""The most axes of an array that every numpy function used here accepts. numpy 1 has no array of more axes; numpy 2 has
arrays of up to 64, but its `broadcast_to` refuses more than 32."""


@dataclass(frozen=True, slots=True)
class Versions:
    """A range of versions of one package. A version newer than all measured versions counts as the newest of them."""

    since: str = ""
    """The first version of the range; if empty, the range includes the oldest version."""
    before: str = ""
    """The first version after the range; if empty, the range includes the newest version."""

    def include(self, version: str) -> bool:
        """Return whether the range includes a version, such as `1.31.1` or `1.33.0.dev20261127`."""
        this = numbers(version)
        return numbers(self.since) <= this and (not self.before or this < numbers(self.before))


EVERY = Versions()
"""The range of all versions."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact about a runtime that was seen in some of its versions and not in the others."""

    name: str
    """Its name in the tests and in `scripts/new_release.py`."""
    package: str
    versions: Versions
    """The versions in which it was seen."""
    what: str
    """A sentence about those versions."""
    evidence: str
    """A model that shows it, or the test that asks the installed runtime."""

    def holds(self, version: str) -> bool:
        """Return whether the fact holds in this version of its package, which need not be a measured version."""
        return self.versions.include(version)


SIZE_0_KEEPS_AXES = Fact(
    "size-0-keeps-axes",
    "onnxruntime",
    Versions(before="1.32"),
    "a reduction of a tensor without elements keeps the axes that count from the end, whatever keepdims says",
    "ReduceSum of [0,2,3,8] along -1 without keepdims returns [0,2,3,8]; since 1.32 [0,2,3]",
)
ATTENTION_STRETCHES_MASKS = Fact(
    "attention-stretches-masks",
    "onnxruntime",
    Versions(since="1.32"),
    "Attention of operator set 25 and later broadcasts its mask; before, and in older sets, it refuses that",
    "Attention with q[2,4,3,8], k[2,4,5,8] and a mask of [5], [1,5] or [3,1]",
)
RANGE_DIVIDED_IN_FLOAT64 = Fact(
    "range-divided-in-float64",
    "onnxruntime",
    Versions(before="1.32"),
    "the length of a Range of int64 is a quotient of float64; since 1.32 it is exact",
    "Range(0, 2**53 + 1, 2**53) has one element; since 1.32 it has two",
)
RANGE_COUNTED_IN_FLOAT64 = Fact(
    "range-counted-in-float64",
    "onnxruntime",
    Versions("1.30", "1.32"),
    "the limits of a Range of int64 are subtracted in float64; in older and in newer versions the difference is exact",
    "Range(-31584960600202078, 3 - 31584960600202078, 1) has four elements; before 1.30 and since 1.32 it has three",
)
FUNCTION_TWICE_REFUSED = Fact(
    "function-twice-refused",
    "onnxruntime",
    Versions(since="1.31"),
    "a model that defines a local function twice is refused; older versions load it",
    "two equal functions local.F, and a call",
)
FACTS = (
    SIZE_0_KEEPS_AXES,
    ATTENTION_STRETCHES_MASKS,
    RANGE_DIVIDED_IN_FLOAT64,
    RANGE_COUNTED_IN_FLOAT64,
    FUNCTION_TWICE_REFUSED,
)


def installed(package: str) -> str:
    """Return the version of an installed package. Raises ImportError if there is none."""
    name = package.replace("-", "_")
    version = getattr(sys.modules.get(name), "__version__", None)
    if isinstance(version, str):
        return version
    from importlib import metadata  # imported here because the import takes 0.02 s

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:  # another distribution has it, such as onnxruntime-gpu
        return str(import_module(name).__version__)


def numbers(version: str) -> tuple[int, ...]:
    """Return the numbers of a release, `1.33.0.dev2026` -> (1, 33, 0); () for an empty text."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(number) for number in release[0].split(".")) if release else ()


def newest_measured(package: str) -> str:
    """Return the minor version, such as `1.32`, of the newest release with which graphfix was measured."""
    return ".".join(MEASURED[package][-1].split(".")[:2])


def newer_than_measured(versions: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each package whose minor version is newer than all measured versions.

    `versions` maps packages to installed versions; packages that are not in `MEASURED` are skipped.
    """
    for package, version in versions.items():
        if package in MEASURED and numbers(version)[:2] > numbers(newest_measured(package)):
            newest = newest_measured(package)
            yield f"{package} {version} is newer than {newest}, with which graphfix was measured"
