"""Compare two TFLite models: what callers see, then the terms of the outputs of each subgraph that can be called."""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.file import WIDTHS, read
from graphfix.checker.files.tflite.schema import UnsupportedFieldError
from graphfix.checker.proof.compare import (
    check_asked,
    check_declared_input,
    check_declared_output,
    check_effects,
    concluded,
    refuse_unknown,
)
from graphfix.checker.proof.constants import Constants
from graphfix.checker.proof.result import Proof, UnprovedError
from graphfix.checker.proof.sizes import Algebra
from graphfix.checker.proof.terms import TermTable, View, whole
from graphfix.checker.proof.tflite.reader import Reading, sizes_of
from graphfix.checker.proof.tflite.table import LOADED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import ExitStack
    from pathlib import Path

    from graphfix.checker.files.constant_bytes import Opened
    from graphfix.checker.files.tflite.file import Model, Subgraph, Tensor
    from graphfix.checker.proof.explain import Notes


def compared(
    before: Path,
    after: Path,
    stack: ExitStack,
    bindings: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    notes: Notes | None = None,
) -> Proof:
    """Read both files and compare them. Raises UnprovedError and GraphfixError."""
    table = TermTable(Algebra())
    constants = Constants(table)
    read_files = [_read(path, stack) for path in (before, after)]
    (one, _), (two, _) = read_files
    refuse_unknown(_input_dims(one), _input_dims(two), bindings, shapes)
    one, two = (_bound(model, bindings, shapes) for model in (one, two))
    for graph in two.subgraphs:
        for tensor in graph.tensors:
            _check_tensor(tensor)
    _check_versions(one, two)
    if _variables(one) != _variables(two):
        raise UnprovedError("the files have other variables")
    entries = _entries(one, two)
    first = Reading(table, constants, one, first=True, notes=notes)
    ours = [_run(first, index) for index in entries]
    table.close()
    second = Reading(table, constants, two, first=False, notes=notes)
    theirs = [_run(second, index) for index in entries]
    check_effects(first.effects, second.effects, "operators with a state")
    for _, file in read_files:
        file.check()
    outputs: list[tuple[str, View, View]] = []
    for index, mine, other in zip(entries, ours, theirs, strict=True):
        graph = one.subgraphs[index]
        for at, shown, view in zip(graph.outputs, two.subgraphs[index].outputs, other, strict=True):
            tensor, other_tensor = graph.tensors[at], two.subgraphs[index].tensors[shown]
            check_declared_output(table, tensor.name, (tensor.dims, other_tensor.dims), view.sizes)
        names = [graph.tensors[at].name for at in graph.outputs]
        outputs += zip(names, mine, other, strict=True)
    return concluded(table, outputs, list(table.assumes))


def note_nodes(
    path: Path, stack: ExitStack, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]], notes: Notes
) -> None:
    """Read one file, and note its operators: for `proving.maps`. Raises UnprovedError and GraphfixError."""
    table = TermTable(Algebra())
    model = _bound(_read(path, stack)[0], bindings, shapes)
    reading = Reading(table, Constants(table), model, first=True, notes=notes)
    for index in _callable(model):
        _run(reading, index)


def _read(path: Path, stack: ExitStack) -> tuple[Model, Opened]:
    """Read one file. Raises GraphfixError for what is no model, UnprovedError for what the schema does not know."""
    try:
        return read(path, stack)
    except UnsupportedFieldError as error:
        raise UnprovedError(str(error)) from None


def refuse(path: Path, stack: ExitStack) -> None:
    """Raises GraphfixError for a file that is no model."""
    _read(path, stack)


def _input_dims(model: Model) -> dict[str, tuple[int | str, ...] | None]:
    """Return the dims of the main subgraph's inputs; each may be resized, so that none is a number."""
    graphs = model.subgraphs[:1]
    inputs = [graph.tensors[at] for graph in graphs for at in graph.inputs]
    return {
        tensor.name: None
        if tensor.dims is None
        else tuple(f"{tensor.name}[{axis}]" for axis in range(len(tensor.dims)))
        for tensor in inputs
    }


def _bound(model: Model, bindings: Mapping[str, int], shapes: Mapping[str, Sequence[int]]) -> Model:
    """Return the inputs of the main subgraph the sizes that were asked for: `name[axis]`, or a whole shape."""
    if not model.subgraphs or not (bindings or shapes):
        return model
    main = model.subgraphs[0]
    tensors = list(main.tensors)
    for at in main.inputs:
        tensor = tensors[at]
        sizes = shapes.get(tensor.name, tensor.dims)
        if sizes is not None:
            dims = tuple(bindings.get(f"{tensor.name}[{axis}]", size) for axis, size in enumerate(sizes))
            check_asked(tensor.name, tensor.dims, dims)
            stored = tuple(old if size is None else size for size, old in zip(dims, tensor.stored, strict=False))
            tensors[at] = tensor._replace(dims=dims, stored=stored if len(dims) == len(tensor.stored) else ())
    return replace(model, subgraphs=(replace(main, tensors=tuple(tensors)), *model.subgraphs[1:]))


def _entries(one: Model, two: Model) -> list[int]:
    """Return the subgraphs that callers name; all that they see of them is the same. Raises UnprovedError."""
    if not one.subgraphs or not two.subgraphs:
        raise UnprovedError("a file has no subgraph")
    if _called(one) != _called(two):
        raise UnprovedError("the signatures are not the same")
    entries = _callable(one)
    for index in entries:
        if not 0 <= index < min(len(one.subgraphs), len(two.subgraphs)):
            raise UnprovedError(f"there is no subgraph {index}, which a signature names")
        _interface(one.subgraphs[index], two.subgraphs[index])
    return entries


def _callable(model: Model) -> list[int]:
    return sorted({0, *(signature[1] for signature in model.signatures)})


def _check_tensor(tensor: Tensor) -> None:
    """A runtime refuses some tensors, whether they are read or not. Raises UnprovedError."""
    if tensor.quantization is not None and not tensor.quantization.loads:
        raise UnprovedError(f"the scales of tensor {tensor.name!r} do not fit it")
    if tensor.variable and tensor.payload is not None:
        raise UnprovedError(f"the variable {tensor.name!r} has bytes of its own")
    width = WIDTHS.get(tensor.dtype, 0)
    if tensor.payload is not None and not tensor.odd and width and tensor.payload.length != prod(tensor.stored) * width:
        raise UnprovedError(f"the constant {tensor.name!r} has not the bytes that its shape needs")


def _check_versions(one: Model, two: Model) -> None:
    """A runtime that has the first file's operators has those of the second. Raises UnprovedError."""
    for name, version in sorted(set(two.codes).difference(one.codes)):
        oldest, newest = LOADED.get(name, (1, 1))
        if not oldest <= version <= newest:
            raise UnprovedError(f"only the second file asks for {name} in version {version}")


def _variables(model: Model) -> list[list[tuple[object, ...]]]:
    """Return the variables of each subgraph: a runtime keeps their memory from run to run."""
    return [
        sorted((tensor.dtype, tensor.stored) for tensor in graph.tensors if tensor.variable)
        for graph in model.subgraphs
    ]


def _called(model: Model) -> list[tuple[object, ...]]:
    """Return the signatures with inputs and outputs by their place in the subgraph, not by tensor."""
    found: list[tuple[object, ...]] = []
    for key, index, inputs, outputs in model.signatures:
        graph = model.subgraphs[index] if 0 <= index < len(model.subgraphs) else None
        found.append((key, index, _places(graph, inputs, "inputs"), _places(graph, outputs, "outputs")))
    return found


def _places(graph: Subgraph | None, named: tuple[tuple[str, int], ...], what: str) -> tuple[object, ...]:
    held = () if graph is None else graph.inputs if what == "inputs" else graph.outputs
    if any(at not in held for _, at in named):
        raise UnprovedError(f"a signature names a tensor that is none of the {what}")
    return tuple((name, held.index(at)) for name, at in named)


def _interface(one: Subgraph, two: Subgraph) -> None:
    for what, ours, theirs in (("input", one.inputs, two.inputs), ("output", one.outputs, two.outputs)):
        if len(ours) != len(theirs):
            raise UnprovedError(f"the number of {what}s is {len(ours)} in the first file, {len(theirs)} in the second")
        for mine, other in zip(ours, theirs, strict=True):
            _alike(what, one.tensors[mine], two.tensors[other])


def _alike(what: str, mine: Tensor, other: Tensor) -> None:
    if mine.name != other.name:
        raise UnprovedError(f"the {what} {mine.name!r} has another name")
    if (mine.dtype, mine.quantization) != (other.dtype, other.quantization):
        raise UnprovedError(f"the {what} {mine.name!r} has another type or quantization")
    if what == "input" and (mine.dims, mine.stored, mine.variable) != (other.dims, other.stored, other.variable):
        raise UnprovedError(f"the input {mine.name!r} has another declared shape")
    if what == "input":
        check_declared_input(mine.name, (mine.dims, other.dims))


def _run(reading: Reading, index: int) -> tuple[View, ...]:
    graph = reading.model.subgraphs[index]
    given = []
    for place, at in enumerate(graph.inputs):
        tensor = graph.tensors[at]
        core, new = reading.table.core(("input", index, place, tensor.dtype), f"input {tensor.name!r}", counted=False)
        if new:
            core.sizes = sizes_of(reading.table, graph, index, place)
        given.append(whole(core))
    return reading.run(index, given, f"subgraph {index}" if index else "main")
