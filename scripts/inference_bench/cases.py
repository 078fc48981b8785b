"""The models that bench_inference.py measures, and the sizes of their inputs (not run by itself)."""

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
"""What an explicit stretch is written as: by an operator that repeats, or by a product with ones."""


def zoo(patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the models of the zoo, or those whose name or path a pattern fits; a pattern may be another file's path."""
    folder = MODELS / "zoo"
    paths = [
        folder / package.name / each.name
        for package in read_zoo(folder.with_suffix(".toml"))
        for each in package.models
    ]
    yield from dict.fromkeys(path for path in paths if not patterns or any(map(path.match, patterns)))
    yield from (path for path in map(Path, patterns) if path.is_file() and path.resolve() not in paths)


def redundant(patterns: Sequence[str]) -> Iterator[Path]:
    """Yield the models of models/exported that hold a stretch, or a product with ones, that compact takes out."""
    for path in sorted(EXPORTED.iterdir()):
        if path.suffix in (".onnx", ".tflite") and (not patterns or any(map(path.match, patterns))):
            model = graphfix.load(path)
            before = _stretches(model)
            graphfix.fix(model, target="compact")
            if _stretches(graphfix.load(model.tobytes())) != before:
                yield path


def _stretches(model: graphfix.Model) -> Counter[str]:
    return Counter(node.op for graph in model.graphs for node in graph.nodes if node.op in REDUNDANT)


def case_of(path: Path) -> Case:
    """Return the sizes of a model's inputs; what is not said is 1, or what a TFLite file stores."""
    if path.parent != EXPORTED or path.suffix != ".onnx":
        return ONNX.get("/".join(path.parts[-2:]), Case())
    described = json.loads((EXPORTED / "sizes.json").read_text(encoding="utf-8"))[path.stem]
    feeds = {name: Feed(each["kind"], tuple(each["shape"])) for name, each in described["inputs"].items()}
    sizes = described["sizes"][0]
    return Case({name: ",".join(map(str, feed.extents(sizes))) for name, feed in feeds.items()})
