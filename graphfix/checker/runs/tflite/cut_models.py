"""Cut operators out of TFLite models: unknown custom operators, or all operators after one whose kernel aborts.

LiteRT's object API reads a complete model into memory, so models above 1 GiB are not cut (`too_large`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.files import TFLITE_IDENTIFIER
from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.runs.tflite import too_large
from graphfix.results.records import dataclass, field
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from graphfix.runtimes.sessions import Sessions


def _read(path: Path) -> Any:  # noqa: ANN401 - generated
    """Read a file as a ModelT, which can be changed."""
    return schema.ModelT.InitFromPackedBuf(path.read_bytes(), 0)


def _packed(model: Any) -> bytes:  # noqa: ANN401 - generated
    """Return the bytes of the file for a ModelT."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), TFLITE_IDENTIFIER)
    return bytes(builder.Output())


# --- unknown custom operators: their results become inputs of the model, and their operands outputs -------------------


@dataclass(frozen=True, slots=True)
class _Taken:
    """An operator that was cut out. All fields must be equal in both models."""

    name: str
    options: bytes
    operands: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(slots=True)
class CutModels:
    """Both models, from which custom operators are cut one after the other.

    Models stay in memory, as reading is slow.
    """

    paths: tuple[Path, Path]
    folder: Path
    """The folder in which the cut models are written."""
    names: list[str] = field(default_factory=list)
    """The custom operators that were cut out of both models."""
    fault: str | None = None
    """The reason why the models can't be cut in the same way; None if there is none so far."""
    _read: tuple[Any, ...] = ()

    def take(self, name: str) -> None:
        """Cut a custom operator out of both models, unless there is a fault or it was cut already."""
        if self.fault is None and name not in self.names:
            self.names.append(name)
            self.fault = self._taken(name)

    def _taken(self, name: str) -> str | None:
        """Cut a custom operator out of both models; return why that is impossible, or None."""
        if any(map(too_large, self.paths)):
            return "a model above 1 GiB is not cut there"
        self._read = self._read or tuple(map(_read, self.paths))
        taken = [_cut(model, name) for model in self._read]
        fault = next((found for found in taken if isinstance(found, str)), None)
        return fault if fault is not None or taken[0] == taken[1] else "the two models do not have it alike"

    def written(self, which: Literal[0, 1]) -> Path:
        """Write the first (0) or the second (1) model without the cut operators, and return the path."""
        path = self.folder / f"{('before', 'after')[which]}-{len(self.names)}.tflite"
        if not path.exists():
            path.write_bytes(_packed(self._read[which]))
        return path


def _cut(model: Any, name: str) -> list[_Taken] | str:  # noqa: ANN401 - generated
    """Cut all operators of this name out of subgraph 0; return them, or the reason why that is impossible.

    The results of a cut operator become inputs of the model, and its computed operands become outputs.
    """
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
    model.signatureDefs = None  # the signatures would list outputs that are inputs now
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
    """Return the tensors in all rows, each once, in order. Absent tensors (-1) are skipped."""
    return list(dict.fromkeys(int(index) for row in rows for index in (row if row is not None else ()) if index >= 0))


# --- the operator whose kernel aborts: the last operator of the shortest beginning of the model that aborts -----------


def aborting_operator(sessions: Sessions, path: Path, kernels: str, feeds: Mapping[str, object]) -> str | None:
    """Return the operator of subgraph 0 whose kernel aborts the process, such as `ADD#3`.

    Return None if the model does not abort on these inputs, or if it is too large. The operator is found by bisection:
    it is the last operator of the shortest beginning of the model that aborts.
    """
    if too_large(path):
        return None
    model = _read(path)
    operators = list(model.subgraphs[0].operators or ())
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        beginning = Path(folder, "beginning.tflite")

        def aborts(count: int) -> bool:
            beginning.write_bytes(_beginning(model, operators, count))
            try:
                sessions.load_tflite(beginning, kernels).run(feeds)
            except RefusedError as error:
                return error.aborted
            return False

        if not operators or not aborts(len(operators)):
            return None
        low, high = 0, len(operators)  # the first `low` operators run, and the first `high` operators abort
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if aborts(middle) else (middle, high)
    return f"{read_graphs(path)[0].ops[high - 1].name}#{high - 1}"


def _beginning(model: Any, operators: list[Any], count: int) -> bytes:  # noqa: ANN401 - generated
    """Return the bytes of a model with only its first `count` operators.

    Its outputs are the results of the last one.
    """
    graph = model.subgraphs[0]
    graph.operators, graph.outputs = operators[:count], operators[count - 1].outputs
    model.signatureDefs = None
    return _packed(model)
