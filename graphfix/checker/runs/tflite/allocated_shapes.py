"""Whether LiteRT's own allocation gives the tensors of a static model the shapes that its file states."""

from __future__ import annotations

import mmap
import shutil
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_edge_litert import schema_py_generated as schema

from graphfix.checker.files.tflite_runs import read
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.runtimes.process import Child

_LARGEST = 1 << 30
"""Bytes of the largest file that is copied for this."""
_SHAPE = 4
"""Where the vtable of a Tensor has its shape."""


@dataclass(frozen=True, slots=True)
class _Stated:
    """A shape of the file: of which tensor, where its vector begins (0: it has none), and what it says."""

    graph: int
    tensor: int
    vector: int
    sizes: tuple[int, ...]


def shapes_hold(child: Child, path: Path, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> bool:
    """Whether every operator's result is allocated as it is stated; False where LiteRT can't tell for all of them.

    A kernel whose result follows from values leaves the shape that was stored. So the question is put to a copy of
    the file in which the stored shapes of all results are wrong: what is right there, LiteRT has computed. With an
    input of a free size the answer is False: an allocation is of one size.
    """
    inputs = _inputs(path, bindings, shapes)
    if inputs is None or path.stat().st_size > _LARGEST:
        return False
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        wrong = Path(folder, "wrong.tflite")
        shutil.copyfile(path, wrong)
        stated = _spoilt(wrong)
        if stated is None:
            return False
        try:
            session = child.load_tflite(wrong, "preserving")
            found = child.ask(session.request, "allocate", inputs)
        except RefusedError:
            return False
    return all(found[each.graph][each.tensor] == each.sizes for each in stated)


def _inputs(
    path: Path, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]
) -> dict[int, tuple[int, ...]] | None:
    """Give the sizes of the main inputs by tensor; None where one is free."""
    graph = read(path)[0]
    found = {}
    for at in graph.inputs:
        name = graph.names[at]
        sizes = shapes.get(name, graph.shapes[at])
        found[at] = tuple(bindings.get(f"{name}[{axis}]", size) for axis, size in enumerate(sizes))
    given = {at: tuple(size for size in sizes if size is not None) for at, sizes in found.items()}
    return given if all(len(given[at]) == len(sizes) for at, sizes in found.items()) else None


def _spoilt(path: Path) -> list[_Stated] | None:
    """Make the stored shapes of all results wrong; give what they were, None where one can't be told apart."""
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as data:
        model = schema.Model.GetRootAs(data, 0)
        computed, others = _sorted(model)
        kept = {each.vector for each in others if each.vector}
        if any(each.vector in kept for each in computed if each.sizes):
            return None
        for each in {each.vector: each for each in computed if each.sizes}.values():
            wrong = [size + 1 for size in each.sizes]
            data[each.vector : each.vector + 4 * len(wrong)] = struct.pack(f"<{len(wrong)}i", *wrong)
        return computed


def _sorted(model: Any) -> tuple[list[_Stated], list[_Stated]]:  # noqa: ANN401 - generated, without types
    """Give the shapes of what operators compute, and of all other tensors."""
    computed: list[_Stated] = []
    others: list[_Stated] = []
    for index in range(model.SubgraphsLength()):
        graph = model.Subgraphs(index)
        results = set(_results(graph))
        for at in range(graph.TensorsLength()):
            tensor = graph.Tensors(at)
            table = tensor._tab  # noqa: SLF001 - where a vector begins is told nowhere else
            place = table.Offset(_SHAPE)
            sizes = tuple(tensor.ShapeAsNumpy().tolist()) if place else ()
            stated = _Stated(index, at, table.Vector(place) if place else 0, sizes)
            (computed if at in results else others).append(stated)
    return computed, others


def _results(graph: Any) -> Iterator[int]:  # noqa: ANN401 - generated, without types
    for index in range(graph.OperatorsLength()):
        operator = graph.Operators(index)
        for at in range(operator.OutputsLength()):
            yield operator.Outputs(at)
