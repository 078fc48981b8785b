"""What explicit forms are folded back to: as many operators of each kind as folding alone leaves, and never more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import graphfix
from graphfix.checker.proof import prove
from graphfix.results import Outcome

if TYPE_CHECKING:
    from graphfix.graph.view import Graph

FOLD = "fold-broadcasts"


def operators(graphs: Sequence[Graph]) -> Counter[str]:
    """How many nodes of each kind there are; a constant is none, however a file holds it."""
    return Counter(node.op for graph in graphs for node in graph.nodes if node.op != "Constant")


def folded(file: bytes, *targets: str) -> tuple[bytes, Counter[str], Outcome]:
    """Fix a model for one target after the other: the file, its operators, and what the last run says."""
    for target in targets:
        model = graphfix.load(file)
        outcome = graphfix.fix(model, target=target)
        graphs = model.finish()
        file = model.tobytes()
    return file, operators(graphs), outcome


def faults(file: bytes, folder: Path, suffix: str) -> Iterator[str]:
    """What is wrong with the way back of one model: operators, and the proof where the way there is proved."""
    _, alone, _ = folded(file, "compact")
    there, _, _ = folded(file, "explicit")
    back, kinds, outcome = folded(there, "compact")
    refused = any(site.status == "left" and site.rewrite == FOLD for site in outcome.sites)
    if kinds != alone and not refused:
        yield f"{dict(kinds - alone)} more and {dict(alone - kinds)} less than without the way"
    first = operators(graphfix.load(file).graphs)
    if kinds.total() > first.total() and not refused:
        yield f"{dict(kinds - first)} more than the model had"
    paths = [folder / f"{name}{suffix}" for name in ("before", "there", "back")]
    for path, data in zip(paths, (file, there, back), strict=True):
        path.write_bytes(data)
    tflite = suffix == ".tflite"
    if not prove(paths[0], paths[2], tflite=tflite).proved and prove(paths[0], paths[1], tflite=tflite).proved:
        yield "the way there is proved, and the way back is not"
