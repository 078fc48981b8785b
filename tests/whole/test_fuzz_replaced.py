"""Random small models under every rewrite of target tosa: the same outputs, and nothing left to do."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np
import onnxruntime
import pytest

from graphfix.api import pipeline
from graphfix.engine.request import Request
from graphfix.graph.protocols import flat
from graphfix.results import GraphfixError
from graphfix.targets import target as targets
from rewrites import ALL
from tests.support import engine
from tests.support.fuzz.onnx.checks import ERRORS, WAYS, Feeds, feeds, run, same, session
from tests.support.fuzz.onnx.graph_builder import Draft
from tests.support.fuzz.onnx.graphs import draft
from tests.support.named import rules
from tests.support.onnx.fixing import lines

NAMES = [name for name in targets.target_of("tosa").rewrites if name != "materialize-broadcasts"]
"""Sizes are free here: a stretch at run time would be shape arithmetic for the next run to fold."""
RULES = rules(*(rule.name for rule in flat(ALL) if rule.name in NAMES))
SEEDS = [
    range(40),
    pytest.param(range(40, 190), marks=pytest.mark.ci),
    pytest.param(range(190, 3150), marks=pytest.mark.full),
]


def examine(seeds: Iterable[int]) -> tuple[list[str], Counter[str]]:
    """What is wrong with the models of these seeds, and how many of them each rewrite has changed."""
    wrong: list[str] = []
    counts: Counter[str] = Counter()
    for seed in seeds:
        made = draft(seed)
        opened = engine.load(made.model)
        try:
            outcome = pipeline.fix(opened, Request(target="ranks"), RULES)
        except GraphfixError as error:
            if any(True for _ in _runs(made, seed)):
                wrong.append(f"{seed}: refused, though it runs: {error}")
            continue
        view, data = lines(opened.finish()), opened.tobytes()
        counts.update(name for name, count in outcome.rewrites.items() if count)
        again = engine.load(data)
        if lines(again.graphs) != view:
            wrong.append(f"{seed}: the view is not that of the file")
        if any(pipeline.fix(again, Request(target="ranks"), RULES).rewrites.values()):
            wrong.append(f"{seed}: a second run finds more to do")
        wrong += [f"{seed}: {what}" for what in _of_the_runs(made, data, seed)]
    return wrong, counts


def _of_the_runs(made: Draft, data: bytes, seed: int) -> Iterator[str]:
    after = loaded(data)
    for way, given, expected in _runs(made, seed):
        found = run(after, given) if after is not None else "not loaded"
        if isinstance(found, str) or not same(expected, found, exact=False):
            yield f"differs ({way})"


def _runs(made: Draft, seed: int) -> Iterator[tuple[str, Feeds, list[np.ndarray]]]:
    """The runs of the original that end: none where its sizes do not meet, or it divides by zero."""
    before = loaded(made.model.SerializeToString())
    for turn, way in enumerate(WAYS):
        given = feeds(made, way, random.Random(seed), seed + turn)  # noqa: S311 -- no secret
        expected = run(before, given) if before is not None else "not loaded"
        if not isinstance(expected, str):
            yield way, given, expected


def loaded(model: bytes) -> onnxruntime.InferenceSession | None:
    try:
        return session(model)
    except ERRORS:
        return None


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_models_compute_the_same(seeds: range) -> None:
    wrong, counts = examine(seeds)
    assert wrong == []
    for name in ("upgrade-opset", "fold-shape-arithmetic", "decompose-prelu"):
        assert counts[name] > len(seeds) // 20, name
    assert counts["inline-decided-branches"]
