"""Check whether LiteRT allocates the tensors of a static model with the shapes that the file declares."""

from __future__ import annotations

import mmap
import shutil
import struct
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.file import (
    GRAPH_OPERATORS,
    GRAPH_TENSORS,
    MODEL_SUBGRAPHS,
    OPERATOR_RESULTS,
    TENSOR_SHAPE,
)
from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.files.tflite.tables import Tables
from graphfix.checker.runs.tflite import too_large
from graphfix.results.records import dataclass
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.runtimes.sessions import Sessions


@dataclass(frozen=True, slots=True)
class _Declared:
    """The declared shape of a tensor. `vector` is the place of its numbers in the file (0: no shape)."""

    graph: int
    tensor: int
    vector: int
    sizes: tuple[int, ...]


def shapes_hold(
    sessions: Sessions, path: Path, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> bool:
    """Return whether LiteRT allocates every operator's result with its declared shape.

    A kernel whose result depends on values does not change the stored shape. So LiteRT allocates a copy of the file in
    which the stored shapes of all results are wrong. If a shape is right there, LiteRT has computed it. Return False if
    an input has a free size, because an allocation has constant sizes, and also if LiteRT refuses the copy.
    """
    inputs = _inputs(path, bindings, shapes)
    if inputs is None or too_large(path):
        return False
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        wrong = Path(folder, "wrong.tflite")
        shutil.copyfile(path, wrong)
        declared = _with_wrong_shapes(wrong)
        if declared is None:
            return False
        try:
            session = sessions.load_tflite(wrong, "preserving")
            found = sessions.ask(session.request, "allocate", inputs)
        except RefusedError:
            return False
    return all(found[each.graph][each.tensor] == each.sizes for each in declared)


def _inputs(
    path: Path, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[int, tuple[int, ...]] | None:
    """Return the sizes of the main inputs, by tensor number; None if a size is free."""
    graph = read_graphs(path)[0]
    found = {}
    for at in graph.inputs:
        name = graph.names[at]
        sizes = shapes.get(name, graph.shapes[at])
        found[at] = tuple(bindings.get(f"{name}[{axis}]", size) for axis, size in enumerate(sizes))
    given = {at: tuple(size for size in sizes if size is not None) for at, sizes in found.items()}
    return given if all(len(given[at]) == len(sizes) for at, sizes in found.items()) else None


def _with_wrong_shapes(path: Path) -> list[_Declared] | None:
    """Overwrite the stored shapes of all results with wrong ones, and return the original ones.

    Return None if a result stores its shape at the same place in the file as a tensor that is no result.
    """
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        computed, others = _sorted(Tables(data))
        kept = {each.vector for each in others if each.vector}
        if any(each.vector in kept for each in computed if each.sizes):
            return None
        for each in {each.vector: each for each in computed if each.sizes}.values():
            wrong = [size + 1 for size in each.sizes]
            data[each.vector : each.vector + 4 * len(wrong)] = struct.pack(f"<{len(wrong)}i", *wrong)
        return computed


def _sorted(tables: Tables) -> tuple[list[_Declared], list[_Declared]]:
    """Return the shapes of all operators' results, and the shapes of all other tensors."""
    computed: list[_Declared] = []
    others: list[_Declared] = []
    for index, graph in enumerate(tables.root().each(MODEL_SUBGRAPHS)):
        results = {at for operator in graph.each(GRAPH_OPERATORS) for at in operator.numbers(OPERATOR_RESULTS)}
        for at, tensor in enumerate(graph.each(GRAPH_TENSORS)):
            declared = _Declared(index, at, tensor.vector(TENSOR_SHAPE)[0], tensor.numbers(TENSOR_SHAPE))
            (computed if at in results else others).append(declared)
    return computed, others
