"""The task of a verification: two model files, the criterion, the inputs, and whether to prove, to run, or both."""

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
    """Bit equality, or a tolerance: |a - b| <= atol + rtol * |b| + of_largest * the largest finite |a|.

    a is the value of the first model and b that of the second. All fields are None for bit equality.
    """

    atol: float | None = None
    rtol: float | None = None
    of_largest: float | None = None
    """A fraction of the largest finite |a| of the tensor. If set, quantized values may differ by one step, too."""

    @property
    def exact(self) -> bool:
        """Whether values must be equal bit for bit."""
        return self.atol is None and self.rtol is None and self.of_largest is None

    def __str__(self) -> str:
        if self.exact:
            return "bit for bit"
        more = f", or {self.of_largest:g} of the largest magnitude" if self.of_largest is not None else ""
        return f"at atol {self.atol or 0:g}, rtol {self.rtol or 0:g}{more}"


RUNS: Final = 4
"""The number of sets of sizes that are run if the user requests no number and the pair is not proved."""
ROUNDED: Final = 1e-4
"""The bound for an inexact site: its largest |a - b|, as a fraction of the largest |a| of the original's value."""


@dataclass(frozen=True, slots=True)
class Task:
    """Two model files, and the settings for their comparison.

    `seed` is the seed of the inputs. `pair` contains the paths and the sizes that the user bound.
    """

    pair: Pair
    inputs: Path | None
    """A file that replaces the seeded inputs of the main graph; None for seeded inputs.

    The file is an .npz, whose names are those of inputs or of a SignatureDef's inputs, or an ONNX test_data_set folder.
    """
    runs: int | None
    """The largest number of sets of sizes that are run. If `runs_alone`, one set of larger sizes is run in addition.

    None: one set if the pair is proved and brief runs find no difference, else `RUNS` sets.
    """
    seed: int
    criterion: Criterion
    proof: Literal["with", "only", "without"]
    """"with": prove and run. "only": prove without runs. "without": run without a proof."""
    progress: Progress = field(repr=False)
    load: bool = False
    """Whether both files are loaded if `proof` is "only". If models are run, their loads are observed anyway."""
    copied: bool = False
    """Whether both files have the same bytes. Then only the first file is run, to check the claimed sizes."""
    runs_alone: bool = False
    """Whether only the runs decide, because there is no proof. The runs then include larger sizes."""
    process: Child | None = field(default=None, repr=False)
    """The process for the runs, started before the second file was written; None if the runs must start it."""
    brief: bool = False
    """Whether each model is run only once on each kernel set, because the pair may be proved.

    A difference is not examined in brief runs. Complete runs follow and decide.
    """
    thorough: bool = False
    """Whether the runs have no limit of time and memory."""
    claims: Claims | None = None
    """Sizes of the first model's values on which the rewriter relied. The runs of the first model check them."""
    inexact: Sequence[InexactSite] = ()
    """The sites that the proof reports as inexact. The runs compare each with the bound `ROUNDED`."""

    @property
    def sets(self) -> int:
        """The largest number of sets of sizes that are run."""
        return RUNS if self.runs is None else self.runs
