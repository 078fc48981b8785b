"""Compute results that follow from constants and from sizes of the inputs; one run of LiteRT computes all of them."""

from __future__ import annotations

from graphfix.formats.tflite.file.container import Container
from graphfix.formats.tflite.file.records import ABSENT, NEW
from graphfix.formats.tflite.infer.names import FREE
from graphfix.formats.tflite.infer.value_dependence import computed
from graphfix.graph.edits import Refused
from graphfix.results.records import dataclass, field
from graphfix.runtimes.session import RefusedError


@dataclass(slots=True, eq=False)
class Evaluator:
    """The results of the main subgraph that are known before the run.

    LiteRT runs the model once, when the elements of one of these results are first requested.
    """

    container: Container
    current: bytes | None = None
    """The bytes of the file with the edits so far, so that LiteRT computes new nodes too.

    If it is None, LiteRT runs the file that was read.
    """
    _tensors: frozenset[int] | None = None
    _folded: frozenset[int] = frozenset()
    _bytes: dict[int, bytes] = field(default_factory=dict)
    _why: str | None = None

    def knows(self, tensor: int) -> bool:
        """Return whether the elements of a tensor follow from constants and from sizes that are numbers."""
        return tensor in self._look()

    def folds(self, tensor: int) -> bool:
        """Return whether the elements of a tensor are known and are shape arithmetic, not unpacked weights."""
        return tensor in self._look() and tensor in self._folded

    def _look(self) -> frozenset[int]:
        """Return the tensors whose elements are known; an empty set if an input has a free size.

        New tensors are only included if `current` contains them.
        """
        if self._tensors is None:
            main = self.container.subgraphs[0]
            free = any(FREE in (main.tensors[at].signature or ()) for at in main.inputs if at != ABSENT)
            in_file = {at for at, record in enumerate(main.tensors) if record.place != NEW or self.current is not None}
            computed_values, self._folded = computed(self.container)
            self._tensors = frozenset() if free else computed_values & in_file
        return self._tensors

    def elements(self, tensor: int) -> bytes:
        """Return the bytes of a tensor's elements in row-major order.

        Raises Refused if LiteRT does not run the model.
        """
        if not self._bytes and self._why is None:
            self._ask()
        if self._why is not None:
            raise Refused(f"LiteRT, which computes it, does not run the model ({self._why})")
        return self._bytes[tensor]

    def _ask(self) -> None:
        """Run the model in LiteRT, and store the elements of all known tensors, or the reason of a refusal."""
        from graphfix.runtimes.litert import evaluation  # The module is imported here because few models need it.

        main = self.container.subgraphs[0]
        inputs = {at: main.tensors[at].shape for at in main.inputs if at != ABSENT}
        model = self.current or self.container.path or bytes(self.container.source.data)
        try:
            self._bytes = evaluation.elements(model, inputs, sorted(self._tensors or ()), self.container.given)
        except RefusedError as error:
            self._why = str(error)
