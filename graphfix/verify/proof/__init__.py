"""Prove two models equal for all inputs and all sizes: both are read into one table of terms, and compared there."""

from __future__ import annotations

from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.verify.proof.maps import reads_of
from graphfix.verify.proof.notes import Notes
from graphfix.verify.proof.outcome import Proof, UnprovedError, explained

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.verify.proof.maps import Reads

_NO_NUMBERS: Mapping[str, int] = MappingProxyType({})
_NO_SHAPES: Mapping[str, Sequence[int]] = MappingProxyType({})
_PIECE = 1 << 20


def prove(
    before: Path,
    after: Path,
    *,
    bindings: Mapping[str, int] = _NO_NUMBERS,
    shapes: Mapping[str, Sequence[int]] = _NO_SHAPES,
    tflite: bool = False,
) -> Proof:
    """Compare two files of one format, under the given sizes of free dims, without a runtime.

    No payload is in memory as a whole. What can't be read as a model is not proved, with the reason; a file that
    is none at all raises GraphfixError.
    """
    try:
        if _copied(before, after, tflite=tflite):
            return Proof("proved")
        if tflite:
            from graphfix.verify.proof.tflite_models import compared as compared_tflite

            compare = compared_tflite
        else:
            from graphfix.verify.proof.onnx_models import compared

            compare = compared
        with ExitStack() as stack:
            proof = compare(before, after, stack, bindings, shapes)
        wanted = frozenset(number for number in proof.cores if number is not None)
        if not wanted:
            return proof
        # Nothing of a node is kept but its term: where two have no match, both files are read again to tell why.
        notes = Notes(wanted)
        with ExitStack() as stack:
            compare(before, after, stack, bindings, shapes, notes)
        return explained(proof, notes)
    except UnprovedError as unproved:
        return Proof("not proved", str(unproved))
    except (LookupError, ValueError) as error:  # fewer operands than an operator has, numbers that are no axis
        return Proof("not proved", f"a node is malformed: {type(error).__name__} {error}")
    except RecursionError:
        return Proof("not proved", "the model is nested too deeply")


def maps(
    path: Path,
    *,
    bindings: Mapping[str, int] = _NO_NUMBERS,
    shapes: Mapping[str, Sequence[int]] = _NO_SHAPES,
    tflite: bool = False,
) -> tuple[Reads, ...]:
    """Give the indexing maps of every node of a file that broadcasts, in the order in which the proof reads them.

    They are printed from the terms that are compared, with each operand as a value of its own. A function is read at
    each call. Raises GraphfixError for what is no model, and UnprovedError for what can't be read as a whole.
    """
    notes = Notes()
    with ExitStack() as stack:
        if tflite:
            from graphfix.verify.proof.tflite_models import noted as noted_tflite

            noted_tflite(path, stack, bindings, shapes, notes)
        else:
            from graphfix.verify.proof.onnx_models import noted

            noted(path, stack, bindings, shapes, notes)
    return tuple(map(reads_of, notes.taken))


def _copied(before: Path, after: Path, *, tflite: bool) -> bool:
    """Whether both files hold the same bytes, and name the same files beside them."""
    if before.stat().st_size != after.stat().st_size or not (tflite or before.parent == after.parent):
        return False
    with before.open("rb") as one, after.open("rb") as two:
        while piece := one.read(_PIECE):
            if piece != two.read(_PIECE):
                return False
    return True


__all__ = ["Proof", "UnprovedError", "maps", "prove"]
