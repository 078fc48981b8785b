"""What is measured of the verifiers, as records: the part `verification` of docs/benchmarks.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

PROVED, EQUAL, DIFFERENT, UNDECIDED, FAILED = "proved", "equal", "different", "undecided", "failed"
"""What an answer says; failed is a crash, an error or a time limit."""
SAME, OTHER_BITS, APART, NOT_RUN = "same bits", "other bits", "apart", "not run"
"""What the runs of a witness come to; apart is beyond any tolerance."""

Tolerance = tuple[float, float]
"""Absolute and relative, as numpy's `allclose` has them."""
NONE: Tolerance = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Witness:
    """What the outputs of both models of a pair are in runs that no verifier had a part in."""

    status: str
    beyond: tuple[str, ...] = ()
    """The verifiers that allow less than the outputs are apart."""
    runs: int = 0
    reason: str = ""
    """Why nothing was run, or how far the outputs are apart."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a verifier says of a pair, and what its process took, with that of the original alone where it needs one."""

    word: str
    reason: str = ""
    seconds: float = 0.0
    cpu: float = 0.0


@dataclass(frozen=True, slots=True)
class Pair:
    """A model of the zoo, and what a tool made of it, or the same model with a fault; answers by verifier."""

    model: str
    format: str
    maker: str = ""
    fault: str = ""
    witness: Witness = Witness(NOT_RUN)
    answers: Mapping[str, Answer] = field(default_factory=dict)
    again: bool = False
    """Whether both files are those of an earlier pair, whose answers these are."""


@dataclass(frozen=True, slots=True)
class Verification:
    """All that the section is written from."""

    pairs: tuple[Pair, ...] = ()
    method: Mapping[str, str] = field(default_factory=dict)
    failures: tuple[str, ...] = ()
    """Makers that made nothing of a model, one line each."""

    def as_json(self) -> dict[str, Any]:
        """Return a JSON value."""
        return asdict(self)


def read(kept: Mapping[str, Any]) -> Verification | None:
    """Read what was kept; None where nothing was."""
    if not kept:
        return None
    return Verification(tuple(map(_pair, kept["pairs"])), kept["method"], tuple(kept["failures"]))


def _pair(kept: Mapping[str, Any]) -> Pair:
    answers = {name: Answer(**each) for name, each in kept["answers"].items()}
    return Pair(**{**kept, "answers": answers, "witness": witness(kept["witness"])})


def witness(kept: Mapping[str, Any]) -> Witness:
    """Read a witness of a JSON value."""
    return Witness(**{**kept, "beyond": tuple(kept["beyond"])})
