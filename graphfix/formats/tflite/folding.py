"""What nodes compute that follows from constants and from the sizes of the inputs: LiteRT computes it once."""

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
    """The known results of the main subgraph; LiteRT is asked for all of them when the first one is wanted."""

    container: Container
    current: bytes | None = None
    """The file with the edits so far, where new nodes compute what is to be known; None: the one that was read."""
    _tensors: frozenset[int] | None = None
    _folded: frozenset[int] = frozenset()
    _bytes: dict[int, bytes] = field(default_factory=dict)
    _why: str | None = None

    def knows(self, tensor: int) -> bool:
        """Whether the elements follow from constants and sizes that are numbers."""
        return tensor in self._look()

    def folds(self, tensor: int) -> bool:
        """Whether they do, and are shape arithmetic: no weights that the model unpacks."""
        return tensor in self._look() and tensor in self._folded

    def _look(self) -> frozenset[int]:
        if self._tensors is None:
            main = self.container.subgraphs[0]
            free = any(FREE in (main.tensors[at].signature or ()) for at in main.inputs if at != ABSENT)
            in_file = {at for at, record in enumerate(main.tensors) if record.place != NEW or self.current is not None}
            computed_values, self._folded = computed(self.container)
            self._tensors = frozenset() if free else computed_values & in_file
        return self._tensors

    def elements(self, tensor: int) -> bytes:
        """The elements as they lie in memory. Raises Refused where LiteRT does not run the model."""
        if not self._bytes and self._why is None:
            self._ask()
        if self._why is not None:
            raise Refused(f"LiteRT, which computes it, does not run the model ({self._why})")
        return self._bytes[tensor]

    def _ask(self) -> None:
        from graphfix.runtimes.litert import evaluation  # few models are asked about

        main = self.container.subgraphs[0]
        inputs = {at: main.tensors[at].shape for at in main.inputs if at != ABSENT}
        model = self.current or self.container.path or bytes(self.container.source.data)
        try:
            self._bytes = evaluation.elements(model, inputs, sorted(self._tensors or ()), self.container.given)
        except RefusedError as error:
            self._why = str(error)
