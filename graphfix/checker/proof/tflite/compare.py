"""Compare two TFLite models: their inventory, then the terms of the outputs of each subgraph that callers may run."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.equal_sizes import NONE_EQUAL, EqualSizes, equal_sizes
from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.names import own_names, selected
from graphfix.checker.files.tflite.schema import UnsupportedFieldError
from graphfix.checker.proof.core.result import Proof, UnprovedError
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.neutral.compare import (
    check_asked,
    check_declared_output,
    check_effects,
    check_size,
    conclusion,
    refuse_unknown,
)
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.tflite.closed_world.file_inventory import check_parts
from graphfix.checker.proof.tflite.closed_world.known_operators import Known
from graphfix.checker.proof.tflite.kernels.shared_buffers import check_buffers
from graphfix.checker.proof.tflite.reading.control_flow import fewer
from graphfix.checker.proof.tflite.reading.inputs import (
    bound,
    input_dims,
    set_arrays,
    set_constant,
    sizes_by_name,
    sizes_of,
    without_set,
)
from graphfix.checker.proof.tflite.reading.reader import Reading

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from graphfix.checker.files.constant_bytes import Opened
    from graphfix.checker.files.pair import Pair
    from graphfix.checker.files.set_values import Array
    from graphfix.checker.files.tflite.records import Model
    from graphfix.checker.proof.neutral.explain import Notes


def compared(pair: Pair, stack: ExitStack, notes: Notes | None = None) -> Proof:
    """Read both files of a pair and compare them. Raises UnprovedError and GraphfixError.

    If `notes` is not None, each operator is added to the notes.
    """
    table = TermTable(Algebra())
    constants = Constants(table)
    read_files = [read_model(path, stack) for path in (pair.before, pair.after)]
    one, two = _selected(read_files[0][0], read_files[1][0], pair.signature)
    refuse_unknown(input_dims(one), input_dims(two), pair)
    one, two = (bound(model, pair.bindings, pair.shapes) for model in (one, two))
    equal = equal_sizes(replace(pair, bindings={}, shapes={}), sizes_by_name(one))
    one, two = (bound(model, equal.numbers, {}) for model in (one, two))
    one, values = without_set(one, two, pair.values)
    constant = set_arrays(one, values)
    given = {name: constant[place].shape for place, name in enumerate(own_names(one).values()) if place in constant}
    one, two = (bound(model, {}, given) for model in (one, two))
    table.budget.allow(sum(len(graph.operators) for model in (one, two) for graph in model.subgraphs))
    check_size(one.flat_bytes, two.flat_bytes)
    check_parts(one, two)
    check_buffers(two)
    entries, inventory = _callable(one), Known(table.objections)
    reached = [_reached(model) for model in (one, two)]
    unrolled = fewer(one, two, reached)
    first = Reading(table, constants, one, inventory, first=True, notes=notes, unrolled=unrolled)
    ours = [_run(first, index, equal, constant) for index in entries]
    # Subgraphs that no operator of one file runs are read too, because a runtime loads them.
    rest = sorted(set(range(len(two.subgraphs))) - (reached[0] & reached[1]))
    ours += [_run(first, index, equal) for index in rest]
    entries += rest
    table.close()
    second = replace(first, model=two, first=False, effects=[], occurrences={})
    theirs = [_run(second, index, equal, constant) for index in entries]
    check_effects(first.effects, second.effects, "operators with a state")
    for _, file in read_files:
        file.check()
    outputs: list[tuple[str, ProofValue, ProofValue]] = []
    for index, mine, other in zip(entries, ours, theirs, strict=True):
        graph = one.subgraphs[index]
        for at, shown, view in zip(graph.outputs, two.subgraphs[index].outputs, other, strict=True):
            tensor, other_tensor = graph.tensors[at], two.subgraphs[index].tensors[shown]
            check_declared_output(table, tensor.name, (tensor.dims, other_tensor.dims), view.sizes)
        names = [graph.tensors[at].name for at in graph.outputs]
        outputs += zip(names, mine, other, strict=True)
    proof = conclusion(table, outputs, list(table.assumptions))
    sites = tuple(first.definitions.sites)
    return replace(proof, status="bounded" if proof.proved and sites else proof.status, inexact=sites)


def note_nodes(pair: Pair, stack: ExitStack, notes: Notes) -> None:
    """Read the first file, and add its operators to `notes`. Called by `proving.maps`.

    Raises UnprovedError and GraphfixError.
    """
    table = TermTable(Algebra())
    model = bound(read_model(pair.before, stack)[0], pair.bindings, pair.shapes)
    reading = Reading(table, Constants(table), model, Known(table.objections), first=True, notes=notes)
    for index in _callable(model):
        _run(reading, index)


def _selected(one: Model, two: Model, signature: str | None) -> tuple[Model, Model]:
    """Return both models as callers of a signature see them.

    Raises UnprovedError if the second file lacks the signature.
    """
    ours = selected(one, signature)
    try:
        return ours, selected(two, signature)
    except BindingError:
        raise UnprovedError(f"the second file has no signature {signature!r}") from None


def read_model(path: Path, stack: ExitStack) -> tuple[Model, Opened]:
    """Read one file.

    Raises GraphfixError if it is not a model, UnprovedError if the schema lacks a field of the file.
    """
    try:
        return read(path, stack)
    except UnsupportedFieldError as error:
        raise UnprovedError(str(error)) from None


def _callable(model: Model) -> list[int]:
    """Return the subgraphs that callers may run: the main subgraph, and those of SignatureDefs."""
    return sorted({0, *(signature[1] for signature in model.signatures)})


def _reached(model: Model) -> set[int]:
    """Return the subgraphs that callers may run, and the subgraphs that operators run in these, at any depth."""
    found: set[int] = set()
    left = [index for index in _callable(model) if index < len(model.subgraphs)]
    while left:
        index = left.pop()
        found.add(index)
        bodies = {at for operator in model.subgraphs[index].operators for _, at in operator.bodies}
        left += [at for at in bodies - found if 0 <= at < len(model.subgraphs)]
    return found


def _run(
    reading: Reading,
    index: int,
    equal: EqualSizes = NONE_EQUAL,
    constant: Mapping[int, Array] = MappingProxyType({}),
) -> tuple[ProofValue, ...]:
    """Read a subgraph with new terms as its inputs, and return its outputs.

    `constant` contains the values of the main inputs that the user sets, by position of the input. `equal` contains the
    sizes that the user states to be equal.
    """
    graph = reading.model.subgraphs[index]
    given = []
    names = {} if index else own_names(reading.model)
    for place, at in enumerate(graph.inputs):
        tensor = graph.tensors[at]
        name = names.get(at, tensor.name)
        if index == 0 and place in constant:
            check_asked(name, tensor.dims, constant[place].shape)
            given.append(set_constant(reading.constants, tensor, constant[place]))
            continue
        core, new = reading.table.find_or_create_core(
            ("input", index, place, tensor.dtype), f"input {tensor.name!r}", counted=False
        )
        if new:
            arithmetic, spot = reading.table.arithmetic, (index, place)
            core.sizes = None if tensor.dims is None else tuple(sizes_of(arithmetic, name, tensor, spot, equal))
        given.append(value_of(core))
    return reading.run(index, given, f"subgraph {index}" if index else "main")
