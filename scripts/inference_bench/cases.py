"""The models that scripts/bench_inference.py measures, and the sizes of their inputs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fetch_zoo import read_zoo
from tosa_tables.zoo import ONNX, Case

import graphfix
from models.exporting.feeds import Feed

MODELS = Path(__file__).resolve().parents[2] / "models"
EXPORTED = MODELS / "exported"
REDUNDANT = frozenset("Expand Tile Mul BROADCAST_TO TILE MUL".split())
"""Operators that may express an explicit stretch: those that repeat axes, and a product with ones."""


def zoo(patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the models of the zoo, or only those whose name or path matches a pattern.

    A pattern may also be the path of a file that is not in the zoo.
    """
    folder = MODELS / "zoo"
    paths = [
        folder / package.name / each.name
        for package in read_zoo(folder.with_suffix(".toml"))
        for each in package.models
    ]
    yield from dict.fromkeys(path for path in paths if not patterns or any(map(path.match, patterns)))
    yield from (path for path in map(Path, patterns) if path.is_file() and path.resolve() not in paths)


def redundant(patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the models of models/exported in which the target compact removes a stretch or a product with ones.

    With patterns, only models that match a pattern are considered.
    """
    for path in sorted(EXPORTED.iterdir()):
        if path.suffix in (".onnx", ".tflite") and (not patterns or any(map(path.match, patterns))):
            model = graphfix.load(path)
            before = _stretches(model)
            graphfix.fix(model, target="compact")
            if _stretches(graphfix.load(model.tobytes())) != before:
                yield path


def _stretches(model: graphfix.Model) -> Counter[str]:
    """Return how often the model contains each operator of `REDUNDANT`."""
    return Counter(node.op for graph in model.graphs for node in graph.nodes if node.op in REDUNDANT)


def case_of(path: Path) -> Case:
    """Return the shapes and values of a model's inputs.

    For an exported ONNX model, they are the first sizes in models/exported/sizes.json. Other models use the table of
    the zoo, or an empty case if the table does not contain the model. With an empty case, free sizes are 1 or, in
    TFLite, the stored size.
    """
    if path.parent != EXPORTED or path.suffix != ".onnx":
        return ONNX.get("/".join(path.parts[-2:]), Case())
    described = json.loads((EXPORTED / "sizes.json").read_text(encoding="utf-8"))[path.stem]
    feeds = {name: Feed(each["kind"], tuple(each["shape"])) for name, each in described["inputs"].items()}
    sizes = described["sizes"][0]
    return Case({name: ",".join(map(str, feed.extents(sizes))) for name, feed in feeds.items()})
