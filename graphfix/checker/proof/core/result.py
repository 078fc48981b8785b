"""The result of a proof: proved, or not proved with a reason and the first nodes that have no match."""

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
"""An assumption of a proof of TFLite models, unless LiteRT allocates the same shapes."""
NO_SIZE_IS_0 = "no size that a Reshape is given as a term is 0, which would stand for another"
NONE_WITHOUT_ELEMENTS = "no tensor with a size of 0 is reduced over an axis that is counted from the end, such as -1"
"""An assumption: if a size of the tensor is 0, onnxruntime keeps an axis such as -1 instead of reducing it."""
NO_SIZE_BESIDE_IS_0 = "no size beside a -1 of a RESHAPE is 0, which the kernel passes over"
SOME_IMAGE = "no size that a window of a pool slides over is 0"
SOME_SCORES = "no size of what a QLinearSoftmax reads is 0"
"""An assumption: onnxruntime returns no value for scores without elements."""
SOME_PIXELS = "no size of an image that an InstanceNormalization or a RoiAlign reads is 0"
"""An assumption: for an empty image that another node computes, onnxruntime reads an element and crashes."""
SOME_TERMS = "no matrix product whose operands differ in their batch sums over a size of 0"
"""An assumption: over a size of 0 onnxruntime returns the batch of the first operand, not the batch of both."""
ABOUT_SIZE_0 = frozenset(
    {SOME_IMAGE, SOME_PIXELS, SOME_SCORES, SOME_TERMS, NO_SIZE_IS_0, NONE_WITHOUT_ELEMENTS, NO_SIZE_BESIDE_IS_0}
)
"""All assumptions that exclude a size of 0. A proof with one of them does not cover runs at a size of 0."""


@dataclass(frozen=True, slots=True)
class Proof:
    """The result of a proof: its status, its assumptions, and the first difference if it is not proved."""

    status: str
    """`proved`, `bounded` or `not proved`.

    `bounded` is proved except for operators that are decomposed into other operators, whose rounding differs. Runs must
    compare the results of those operators.
    """
    reason: str | None = None
    """Why the files are not proved equal; None if they are."""
    before: str | None = None
    """The first node of the first file that has no match. `after` is the first such node of the second file."""
    after: str | None = None
    cores: tuple[int | None, int | None] = (None, None)
    """The numbers of the cores of the unmatched nodes `before` and `after`.

    By these numbers the nodes are found when the files are read again.
    """
    nodes: tuple[Reads | None, Reads | None] = (None, None)
    """The unmatched nodes `before` and `after` with their operands and indexing maps."""
    assumes: tuple[str, ...] = ()
    """The assumptions of the proof: facts that the files or the user only state."""
    believed: tuple[StoredSize | StoredShape, ...] = ()
    """The stored sizes and shapes that the proof assumes."""
    notes: tuple[str, ...] = ()
    """Sentences about facts that only the first file declares wrongly. No runtime rejects such a declaration."""
    copied: bool = False
    """Whether the second file and its data files have the same bytes as the first file and its data files."""
    inexact: tuple[InexactSite, ...] = ()
    """The decomposed operators, whose results are equal except for rounding. Only a `bounded` proof has them."""

    @property
    def proved(self) -> bool:
        """Whether the two files compute the same for all inputs, under the assumptions in `assumes`."""
        return self.status == "proved"

    @property
    def matched(self) -> bool:
        """Whether the second file certainly computes the same as the first file, except for rounding (`bounded`)."""
        return self.status in ("proved", "bounded")

    def document(self, seconds: float) -> Mapping[str, object]:
        """Return the proof as a mapping for the JSON document; `seconds` is how long the proof took."""
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
    """The two files differ in something that no node computes, or a file can't be read completely.

    The message is the reason.
    """


class UnsortedError(UnprovedError):
    """A node reads a value that only a later node computes, so the nodes must be sorted first."""
