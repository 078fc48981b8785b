"""Take custom operators that LiteRT does not know out of a model: results become inputs, operands outputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphfix.checker.runs.tflite import too_large
from graphfix.checker.runs.tflite.objects import packed, read

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


def cut_alike(paths: tuple[Path, Path], names: frozenset[str], folder: Path) -> tuple[Path, Path] | str:
    """Write both models without these custom operators into a folder; a string says why they can't be cut alike."""
    if any(map(too_large, paths)):
        return "a model above 1 GiB is not cut there"
    written = []
    taken: list[list[_Taken]] = []
    for which, path in zip(("before", "after"), paths, strict=True):
        model = read(path)
        found = _cut(model, names)
        if isinstance(found, str):
            return found
        taken.append(found)
        written.append(folder / f"{which}-{len(names)}.tflite")
        written[-1].write_bytes(packed(model))
    if taken[0] != taken[1]:
        return "the two models do not have it alike"
    return written[0], written[1]


def _cut(model: Any, names: frozenset[str]) -> list[_Taken] | str:  # noqa: ANN401 - generated
    codes = {at for at, code in enumerate(model.operatorCodes) if _custom_name(code) in names}
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
