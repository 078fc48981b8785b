"""Prove two models equal for all inputs and all sizes: both are read into one table of terms, and compared there."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from graphfix.checker.files.copies import is_copy
from graphfix.checker.proof.core.budget import TooLargeError
from graphfix.checker.proof.core.indexing_maps import reads_of
from graphfix.checker.proof.core.result import Proof, UnprovedError, UnsortedError
from graphfix.checker.proof.neutral.compare import assumed
from graphfix.checker.proof.neutral.explain import Notes, explained

if TYPE_CHECKING:
    from collections.abc import Callable

    from graphfix.checker.files.pair import Pair
    from graphfix.checker.proof.core.indexing_maps import Reads


def prove(pair: Pair) -> Proof:
    """Compare two files of one format without a runtime, under the statements of the pair about their inputs.

    No payload is in memory as a whole. A node that does not mean anything is a reason not to prove; a file that is no
    model, or lacks a data file that it names, raises GraphfixError.
    """
    compared, _, refuse = _comparison(pair)
    try:
        with ExitStack() as stack:
            copied = is_copy(pair.before, pair.after, pair.data_root, tflite=pair.tflite)
            if copied and pair.is_bare:
                refuse(pair.before, stack)
                refuse(pair.after, stack)  # the first file may be a link, which may read data that a copy may not
                return Proof("proved", copied=True)
            proof = replace(compared(pair, stack), copied=copied)
        if proof.matched:
            return replace(proof, assumes=(*proof.assumes, *assumed(pair)))
        wanted = frozenset(number for number in proof.cores if number is not None)
        if not wanted:
            return proof
        # Nothing of a node is kept but its term: where two have no match, both files are read again to say why.
        notes = Notes(wanted)
        with ExitStack() as stack:
            compared(pair, stack, notes)
        return explained(proof, notes)
    except (UnprovedError, TooLargeError) as unproved:
        return Proof("not proved", str(unproved))


def _comparison(pair: Pair) -> tuple[Callable[..., Proof], Callable[..., object], Callable[..., object]]:
    """Return a format's functions `compared`, `note_nodes` and `refuse`, importing no other format's library."""
    if pair.tflite:
        from graphfix.checker.proof.tflite import compare as by_tflite

        return by_tflite.compared, by_tflite.note_nodes, by_tflite.read_model
    from graphfix.checker.files.onnx.file import refuse
    from graphfix.checker.proof.onnx import compare as by_onnx

    return partial(_in_any_order, by_onnx.compared), by_onnx.note_nodes, partial(refuse, data_root=pair.data_root)


def _in_any_order(compared: Callable[..., Proof], *given: object) -> Proof:
    """Compare two ONNX files. If the nodes of a file are not in the order of execution, sort them and compare again."""
    try:
        return compared(*given)
    except UnsortedError:
        return compared(*given, sorts=True)


def maps(pair: Pair) -> tuple[Reads, ...]:
    """Return the indexing maps of every node of the first file that broadcasts, in the order in which it is read.

    They are printed from the terms that are compared, with each operand as a separate value. A function is read at
    each call. No command asks for them: they are for readers of docs/proof.md, and for the tests that hold them beside
    those of `show --maps`. Raises GraphfixError for what is no model, UnprovedError for what can't be read as a whole.
    """
    _, note_nodes, _ = _comparison(pair)
    notes = Notes()
    with ExitStack() as stack:
        note_nodes(pair, stack, notes)
    return tuple(map(reads_of, notes.taken))
