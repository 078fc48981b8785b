"""Take custom operators that LiteRT does not know out of a model: results become inputs, operands outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from graphfix.checker.runs.tflite import too_large
from graphfix.checker.runs.tflite.objects import packed, read
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class _Taken:
    """One operator that was taken out: what must be alike in both models."""

    name: str
    options: bytes
    operands: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(slots=True)
class CutModels:
    """Both models, from which one custom operator after the other is taken; to read and to write them takes long."""

    paths: tuple[Path, Path]
    folder: Path
    """Where the models without the operators are written."""
    names: list[str] = field(default_factory=list)
    """The custom operators that were taken out of both models."""
    fault: str | None = None
    """The reason why the models can't be cut alike; None if there is none so far."""
    _read: tuple[Any, ...] = ()

    def take(self, name: str) -> None:
        """Take a custom operator out of both models, unless there is a fault, or it was taken already."""
        if self.fault is None and name not in self.names:
            self.names.append(name)
            self.fault = self._taken(name)

    def _taken(self, name: str) -> str | None:
        if any(map(too_large, self.paths)):
            return "a model above 1 GiB is not cut there"
        self._read = self._read or tuple(map(read, self.paths))
        taken = [_cut(model, name) for model in self._read]
        fault = next((found for found in taken if isinstance(found, str)), None)
        return fault if fault is not None or taken[0] == taken[1] else "the two models do not have it alike"

    def written(self, which: Literal[0, 1]) -> Path:
        """Return the file of the first or the second model without what was taken."""
        path = self.folder / f"{('before', 'after')[which]}-{len(self.names)}.tflite"
        if not path.exists():
            path.write_bytes(packed(self._read[which]))
        return path


def _cut(model: Any, name: str) -> list[_Taken] | str:  # noqa: ANN401 - generated
    codes = {at for at, code in enumerate(model.operatorCodes) if _custom_name(code) == name}
    if any(op.opcodeIndex in codes for graph in model.subgraphs[1:] for op in graph.operators or ()):
        return "it stands in a body that can't be cut"
    graph = model.subgraphs[0]
    gone = [op for op in graph.operators if op.opcodeIndex in codes]
    results = _indices(op.outputs for op in gone)
    made = set(_indices(op.outputs for op in graph.operators)) - set(results)
    operands = [index for index in _indices(op.inputs for op in gone) if index in made]
    graph.operators = [op for op in graph.operators if op.opcodeIndex not in codes]
    graph.inputs = [*graph.inputs, *results]
    kept = [index for index in map(int, graph.outputs) if index not in results]
    graph.outputs = list(dict.fromkeys([*kept, *operands]))
    model.signatureDefs = None  # they would name outputs that are inputs now
    if not graph.outputs:
        return "nothing is left without it"
    return [_taken(model, graph, op) for op in gone]


def _taken(model: Any, graph: Any, op: Any) -> _Taken:  # noqa: ANN401 - generated
    def named(indices: Any) -> tuple[str, ...]:  # noqa: ANN401 - generated
        return tuple(bytes(graph.tensors[i].name or b"").decode("utf-8", "replace") if i >= 0 else "" for i in indices)

    options = bytes(bytearray(op.customOptions)) if op.customOptions is not None else b""
    return _Taken(_custom_name(model.operatorCodes[op.opcodeIndex]), options, named(op.inputs), named(op.outputs))


def _custom_name(code: Any) -> str:  # noqa: ANN401 - generated
    return bytes(code.customCode or b"").decode("utf-8", "replace")


def _indices(rows: Iterable[Any]) -> list[int]:
    """Return the tensors of many operators, each once, in order."""
    return list(dict.fromkeys(int(index) for row in rows for index in (row if row is not None else ()) if index >= 0))
