"""Prove two models equal for all inputs and all sizes: both are read into one table of terms, and compared there."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.verify.proof.asked import assumed
from graphfix.verify.proof.outcome import Proof, UnprovedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

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

    No payload is in memory as a whole. A node that does not mean anything is a reason not to prove; a file that is no
    model, or lacks one that it names, raises GraphfixError.
    """
    compared, refuse = _tflite() if tflite else _onnx()
    try:
        with ExitStack() as stack:
            if not (bindings or shapes) and _copied(before, after, tflite=tflite):
                refuse(before, stack)
                return Proof("proved")
            proof = compared(before, after, stack, bindings, shapes)
            return replace(proof, assumes=(*proof.assumes, *assumed(bindings, shapes))) if proof.proved else proof
    except UnprovedError as unproved:
        return Proof("not proved", str(unproved))


def _onnx() -> tuple[Callable[..., Proof], Callable[[Path, ExitStack], None]]:
    from graphfix.verify.proof.onnx_models import compared, refuse

    return compared, refuse


def _tflite() -> tuple[Callable[..., Proof], Callable[[Path, ExitStack], None]]:
    from graphfix.verify.proof.tflite_models import compared, refuse

    return compared, refuse


def _copied(before: Path, after: Path, *, tflite: bool) -> bool:
    """Whether both files hold the same bytes, and name the same files beside them."""
    if before.stat().st_size != after.stat().st_size or not (tflite or before.parent == after.parent):
        return False
    with before.open("rb") as one, after.open("rb") as two:
        while piece := one.read(_PIECE):
            if piece != two.read(_PIECE):
                return False
    return True


__all__ = ["Proof", "UnprovedError", "prove"]
