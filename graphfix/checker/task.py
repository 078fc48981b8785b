"""What two model files are asked: by which criterion they are compared, on which inputs, by proof or by runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphfix.checker.files.pair import Pair
    from graphfix.results import InexactSite
    from graphfix.results.claims import Claims
    from graphfix.runtimes.process import Child
from graphfix.results.progress import Progress


@dataclass(frozen=True, slots=True)
class Criterion:
    """Bit equality, or an explicit tolerance: |a - b| <= atol + rtol * |b| + of_largest * the largest |a|."""

    atol: float | None = None
    rtol: float | None = None
    of_largest: float | None = None
    """A part of the largest finite magnitude of the first model's value; quantized values may be a step apart then."""

    @property
    def exact(self) -> bool:
        """Whether bits are compared."""
        return self.atol is None and self.rtol is None and self.of_largest is None

    def __str__(self) -> str:
        if self.exact:
            return "bit for bit"
        more = f", or {self.of_largest:g} of the largest magnitude" if self.of_largest is not None else ""
        return f"at atol {self.atol or 0:g}, rtol {self.rtol or 0:g}{more}"


RUNS: Final = 4
"""The sets of sizes that are run where nobody asks for a number, and the pair is not proved."""
ROUNDED: Final = 1e-4
"""How far what an inexact site computes may be from the original's: a part of its largest magnitude."""


@dataclass(frozen=True, slots=True)
class Task:
    """Two files, and how they are to be compared."""

    pair: Pair
    inputs: Path | None
    """What replaces the seeded inputs of the main graph.

    An .npz (its names are input names, or what a SignatureDef calls them) or an ONNX test_data_set folder.
    """
    runs: int | None
    """The most sets of sizes that are run, beside one of larger sizes where `runs_alone`.

    None: one if the pair is proved, else `RUNS`.
    """
    seed: int
    criterion: Criterion
    proof: Literal["with", "only", "without"]
    """Whether the proof is asked as well as the runs, alone (no runtime is imported), or not at all."""
    progress: Progress = field(repr=False)
    load: bool = False
    """Whether both files are loaded where `proof` is "only". The runs observe the loads in any case."""
    copied: bool = False
    """Whether the second file is a copy of the first: then only the first is run, to check the claimed sizes."""
    runs_alone: bool = False
    """Whether nothing but the runs decides: they look at larger sizes too."""
    process: Child | None = field(default=None, repr=False)
    """The process for the runs, if it was started before the second file was written; None: the runs start one."""
    brief: bool = False
    """Whether each model is run once on each kernel set, because the pair may be proved.

    Nothing that differs is looked into then: runs that are not brief decide what it is.
    """
    thorough: bool = False
    """Whether the runs of a large model have no budget."""
    claims: Claims | None = None
    """The sizes that were taken for granted of the first model: its runs are asked for them."""
    inexact: Sequence[InexactSite] = ()
    """What the runs have to hold to its bound: the proof says it."""

    @property
    def sets(self) -> int:
        """The most sets of sizes that are tried."""
        return RUNS if self.runs is None else self.runs
