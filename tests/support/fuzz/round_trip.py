"""What explicit forms are folded back to: what folding alone makes, up to names and order, and never more operators."""

from __future__ import annotations

from pathlib import Path

from graphfix.results import GraphfixError
from graphfix.shapes.dim import Incompatible
from tests.support import engine
from tests.support.fuzz.structure import structure
from tests.support.proving import prove

REFUSED, UNLIKE, MORE, UNPROVED = "refused", "unlike", "more", "unproved"


def folded(file: bytes, *targets: str) -> bytes:
    """Fix a model for one target after the other."""
    for target in targets:
        model = engine.load(file)
        engine.fix(model, target=target)
        model.finish()
        file = model.tobytes()
    return file


def compared(file: bytes, back: bytes) -> dict[str, str]:
    """What is wrong with the structure of what came back of a model."""
    first, alone, now = (structure(each) for each in (file, folded(file, "compact"), back))
    found, unlike = {}, alone.unlike(now)
    if unlike:
        found[UNLIKE] = f"folding alone (-) and the way there and back (+) differ: {unlike}"
    if now.nodes.total() > first.nodes.total():
        found[MORE] = f"{now.nodes.total() - first.nodes.total()} operators more than the model had"
    return found


def faults(file: bytes, folder: Path, suffix: str) -> dict[str, str]:
    """What is wrong with the way back of one model: its structure, and the proof where the way there is proved.

    Nothing is asked of a model whose sizes do not meet: there is no way there.
    """
    try:
        there = folded(file, "explicit")
    except GraphfixError:
        return {}
    try:
        back = folded(there, "compact")
    except (GraphfixError, Incompatible) as error:
        return {REFUSED: f"{type(error).__name__}: {error}"}
    found = compared(file, back)
    paths = [folder / f"{name}{suffix}" for name in ("before", "there", "back")]
    for path, data in zip(paths, (file, there, back), strict=True):
        path.write_bytes(data)
    tflite = suffix == ".tflite"
    if not prove(paths[0], paths[2], tflite=tflite).proved and prove(paths[0], paths[1], tflite=tflite).proved:
        found[UNPROVED] = "the way there is proved, and the way back is not"
    return found
