"""What a proof ends with: proved, or the first pair of nodes that have no match, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.indexing_maps import Reads
    from graphfix.results import InexactSite
    from graphfix.results.claims import StoredShape, StoredSize

SIDES = ("before", "after")
STORED_SHAPES = "the stored shapes of the first file's tensors"
"""What a proof of TFLite models assumes, unless LiteRT allocates the same."""
NO_SIZE_IS_0 = "no size that a Reshape is given as a term is 0, which would stand for another"
NONE_WITHOUT_ELEMENTS = "no tensor with a size of 0 is reduced over an axis that is counted from the end, such as -1"
"""What is assumed because of such a value onnxruntime keeps all axes as they are."""
NO_SIZE_BESIDE_IS_0 = "no size beside a -1 of a RESHAPE is 0, which the kernel passes over"
SOME_IMAGE = "no size that a window of a pool slides over is 0"
SOME_SCORES = "no size of what a QLinearSoftmax reads is 0"
"""An assumption: onnxruntime returns no value for scores without elements."""
SOME_PIXELS = "no size of an image that an InstanceNormalization or a RoiAlign reads is 0"
"""An assumption: of an empty image that another node computes onnxruntime reads an element, which crashes."""
SOME_TERMS = "no matrix product whose operands differ in their batch sums over a size of 0"
"""An assumption: over a size of 0 onnxruntime returns the batch of the first operand, not the batch of both."""
ABOUT_SIZE_0 = frozenset(
    {SOME_IMAGE, SOME_PIXELS, SOME_SCORES, SOME_TERMS, NO_SIZE_IS_0, NONE_WITHOUT_ELEMENTS, NO_SIZE_BESIDE_IS_0}
)
"""What a proof assumes away: of runs at a size of 0 it says nothing then."""


@dataclass(frozen=True, slots=True)
class Proof:
    """What the proof found."""

    status: str
    """`proved`, `bounded` (proved but for operators that are written in others which round otherwise: what they compute
    is to be compared in runs) or `not proved`."""
    reason: str | None = None
    """Why it is not proved."""
    before: str | None = None
    """The first node of the first file that has no match, and of the second."""
    after: str | None = None
    cores: tuple[int | None, int | None] = (None, None)
    """The numbers of their results, by which their nodes are found when the files are read again."""
    nodes: tuple[Reads | None, Reads | None] = (None, None)
    """The two with their operands and maps."""
    assumes: tuple[str, ...] = ()
    """What it assumes: the files only declare it."""
    believed: tuple[StoredSize | StoredShape, ...] = ()
    """The stored sizes among them."""
    notes: tuple[str, ...] = ()
    """What the first file declares wrongly and the second does not: no runtime minds."""
    copied: bool = False
    """Whether the second file and its data files have the same bytes as the first file and its data files."""
    inexact: tuple[InexactSite, ...] = ()
    """The operators that are written in others, which compute the same but for its rounding: of `bounded` alone."""

    @property
    def proved(self) -> bool:
        """Whether the two files are equal for all inputs, under what is assumed."""
        return self.status == "proved"

    @property
    def matched(self) -> bool:
        """Whether all of the second file is known to compute the same as in the first, but for its rounding."""
        return self.status in ("proved", "bounded")

    def document(self, seconds: float) -> Mapping[str, object]:
        """Return the proof as the JSON document shows it."""
        first: dict[str, object] | None = None
        if self.before is not None or self.after is not None:
            nodes = {which: node and node.document() for which, node in zip(SIDES, self.nodes, strict=True)}
            first = {"before": self.before, "after": self.after, "nodes": nodes}
        return {
            "status": self.status,
            "reason": self.reason,
            "first": first,
            "assumes": list(self.assumes),
            "notes": list(self.notes),
            "inexact": [site.operator for site in self.inexact],
            "seconds": round(seconds, 6),
        }


class UnprovedError(Exception):
    """The two files differ in what no node computes, or one can't be read as a whole: the reason."""


class UnsortedError(UnprovedError):
    """A node reads a value that only a later node makes."""
