"""Prove two models equal for all inputs and all sizes: both are read into one table of terms, and compared there."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.checker.files import set_values
from graphfix.checker.files.copies import is_copy
from graphfix.checker.files.equal_sizes import stated
from graphfix.checker.proof.core.budget import TooLargeError
from graphfix.checker.proof.core.indexing_maps import reads_of
from graphfix.checker.proof.core.result import Proof, UnprovedError, UnsortedError
from graphfix.checker.proof.neutral.compare import assumed
from graphfix.checker.proof.neutral.explain import Notes, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.proof.core.indexing_maps import Reads
    from graphfix.results import InputValue

_NO_NUMBERS: Mapping[str, int] = MappingProxyType({})
_NO_VALUES: Mapping[str, InputValue] = MappingProxyType({})
_NO_SHAPES: Mapping[str, Sequence[int]] = MappingProxyType({})
_NO_RANGES: Mapping[str, tuple[int, int]] = MappingProxyType({})


def prove(
    before: Path,
    after: Path,
    *,
    bindings: Mapping[str, int] = _NO_NUMBERS,
    shapes: Mapping[str, Sequence[int]] = _NO_SHAPES,
    same: Sequence[Sequence[str]] = (),
    ranges: Mapping[str, tuple[int, int]] = _NO_RANGES,
    values: Mapping[str, InputValue] = _NO_VALUES,
    signature: str | None = None,
    trust_stored: bool | None = None,
    narrow_inputs: bool = False,
    data_root: Sequence[Path] = (),
    tflite: bool = False,
) -> Proof:
    """Compare two files of one format, under the given sizes of free dims, without a runtime.

    `same`: sizes of inputs that are stated to be equal, symbols or `name[axis]`. `ranges`: by symbol or `name[axis]`,
    the least and the greatest size; that size stays free (ONNX). `values`: inputs that are taken for
    these constants in both files; the second may lack them. `signature`: the one of a TFLite model that is compared,
    alone. `trust_stored`: None believes the shapes that the first file stores of results of operators without a rule,
    True all sizes that no rule knows, False neither (ONNX). With `narrow_inputs` an input of int64 may be int32 in the
    second file: it is assumed to hold numbers that both types hold (ONNX). `data_root`: folders besides each model's
    own in which its external data may lie (ONNX).

    No payload is in memory as a whole. A node that does not mean anything is a reason not to prove; a file that is no
    model, or lacks one that it names, raises GraphfixError.
    """
    compared, _, refuse = _comparison(tflite=tflite)
    if tflite:
        compared = partial(compared, signature=signature)
    if values:
        compared = partial(compared, values=values)
    if not tflite:
        compared = partial(
            compared, trust_stored=trust_stored, narrow_inputs=narrow_inputs, data_root=data_root, ranges=ranges
        )
        refuse = partial(refuse, data_root=data_root)
        compared = partial(_in_any_order, compared)
    try:
        with ExitStack() as stack:
            copied = is_copy(before, after, data_root, tflite=tflite)
            if copied and not (bindings or shapes or same or ranges or values or signature):
                refuse(before, stack)
                refuse(after, stack)  # the first file may be a link, which may read data that a copy may not
                return Proof("proved", copied=True)
            proof = replace(compared(before, after, stack, bindings, shapes, same), copied=copied)
        if proof.matched:
            given = *assumed(bindings, shapes), *stated(same), *set_values.assumed(values)
            return replace(proof, assumes=(*proof.assumes, *given))
        wanted = frozenset(number for number in proof.cores if number is not None)
        if not wanted:
            return proof
        # Nothing of a node is kept but its term: where two have no match, both files are read again to say why.
        notes = Notes(wanted)
        with ExitStack() as stack:
            compared(before, after, stack, bindings, shapes, same, notes)
        return explained(proof, notes)
    except (UnprovedError, TooLargeError) as unproved:
        return Proof("not proved", str(unproved))


def _in_any_order(compared: Callable[..., Proof], *given: object) -> Proof:
    """Compare two ONNX files. If the nodes of a file are not in the order of execution, sort them and compare again."""
    try:
        return compared(*given)
    except UnsortedError:
        return compared(*given, sorts=True)


def _comparison(*, tflite: bool) -> tuple[Callable[..., Proof], Callable[..., object], Callable[..., None]]:
    """Return a format's functions `compared`, `note_nodes` and `refuse`, importing no other format's library."""
    if tflite:
        from graphfix.checker.proof.tflite import compare as by_tflite

        return by_tflite.compared, by_tflite.note_nodes, by_tflite.refuse
    from graphfix.checker.files.onnx.file import refuse
    from graphfix.checker.proof.onnx import compare as by_onnx

    return by_onnx.compared, by_onnx.note_nodes, refuse


def maps(
    path: Path,
    *,
    bindings: Mapping[str, int] = _NO_NUMBERS,
    shapes: Mapping[str, Sequence[int]] = _NO_SHAPES,
    tflite: bool = False,
) -> tuple[Reads, ...]:
    """Return the indexing maps of every node of a file that broadcasts, in the order in which the proof reads them.

    They are printed from the terms that are compared, with each operand as a separate value. A function is read at
    each call. No command asks for them: they are for readers of docs/proof.md, and for the tests that hold them beside
    those of `show --maps`. Raises GraphfixError for what is no model, UnprovedError for what can't be read as a whole.
    """
    _, note_nodes, _ = _comparison(tflite=tflite)
    notes = Notes()
    with ExitStack() as stack:
        note_nodes(path, stack, bindings, shapes, notes)
    return tuple(map(reads_of, notes.taken))
