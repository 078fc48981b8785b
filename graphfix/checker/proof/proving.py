"""Prove that two models compute the same for all inputs and sizes: read both into one table of terms and compare."""

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
    """Return the proof that two files of one format compute the same, without running them.

    The pair's statements about inputs (sizes, shapes, values) are assumed. Large constants are read in pieces, never
    completely. If the files can't be proved equal, the result is `not proved` with a reason, also if a node is invalid.
    Raises GraphfixError if a file is not a model, or if a data file that it names is missing.
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
        # Of a node only its term is kept. To explain two nodes without a match, both files are read again.
        notes = Notes(wanted)
        with ExitStack() as stack:
            compared(pair, stack, notes)
        return explained(proof, notes)
    except (UnprovedError, TooLargeError) as unproved:
        return Proof("not proved", str(unproved))


def _comparison(pair: Pair) -> tuple[Callable[..., Proof], Callable[..., object], Callable[..., object]]:
    """Return the format's functions that compare two files, note the nodes of one, and check that a file can be read.

    Only the library of that format is imported.
    """
    if pair.tflite:
        from graphfix.checker.proof.tflite import compare as by_tflite

        return by_tflite.compared, by_tflite.note_nodes, by_tflite.read_model
    from graphfix.checker.files.onnx.file import refuse
    from graphfix.checker.proof.onnx import compare as by_onnx

    return partial(_in_any_order, by_onnx.compared), by_onnx.note_nodes, partial(refuse, data_root=pair.data_root)


def _in_any_order(compared: Callable[..., Proof], *given: object) -> Proof:
    """Return the proof for two ONNX files.

    If a file's nodes are not in the order of execution, sort them and compare again.
    """
    try:
        return compared(*given)
    except UnsortedError:
        return compared(*given, sorts=True)


def maps(pair: Pair) -> tuple[Reads, ...]:
    """Return the indexing maps of every broadcasting node of the first file, in the order in which the nodes are read.

    The maps are printed from the terms that `prove` compares, but with each operand as a separate value. The nodes of a
    function are returned for each call. No command uses this function: it is for readers of docs/proof.md, and for
    tests that compare its result with `show --maps`. Raises GraphfixError if the file is not a model, and UnprovedError
    if the file can't be read completely.
    """
    _, note_nodes, _ = _comparison(pair)
    notes = Notes()
    with ExitStack() as stack:
        note_nodes(pair, stack, notes)
    return tuple(map(reads_of, notes.taken))
