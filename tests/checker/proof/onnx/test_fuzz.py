"""Random ONNX models, fixed, then changed at random: what is proved all the same runs to the same bits."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import onnx
import pytest
from onnx import ModelProto

from graphfix import api
from graphfix.results import GraphfixError
from tests.support.faults.onnx.mutations import MUTATIONS, mutated, nodes
from tests.support.fuzz.onnx.checks import ERRORS, WAYS, Feeds, Result, feeds, run, same, session
from tests.support.fuzz.onnx.graph_builder import Draft, elements
from tests.support.fuzz.onnx.graphs import draft
from tests.support.proving import prove

OPTIONS: tuple[dict[str, str] | None, ...] = (
    None, {"target": "ranks"}, {"target": "explicit"},
    {"target": "explicit", "broadcasts": "two-sided"}, {"target": "explicit", "unknown": "keep"},
)  # fmt: skip
"""None: the changed model is the first one itself."""
SHORT, CHANGES = 30, 20
"""Models of the short test, and how often each model is changed."""
SEEDS = [
    range(SHORT),
    pytest.param(range(SHORT, 90), marks=pytest.mark.ci),
    *(pytest.param(range(90 + part, 860, 3), marks=pytest.mark.full) for part in range(3)),
]
LEAST = 0.05
"""How many of the changes leave what is proved: without them nothing would be run."""


def _fixed(model: ModelProto, options: dict[str, str] | None) -> ModelProto:
    if options is None:
        return model
    try:
        loaded = api.load(model)
        api.fix(loaded, **options)  # type: ignore[arg-type]  # the table's values fit their names
    except GraphfixError:
        return model
    return onnx.ModelProto.FromString(loaded.tobytes())


def _inputs(draft_: Draft, seed: int) -> list[Feeds]:
    """Inputs of many sizes, 0 and 1 among them; half of them override what a caller may override."""
    chosen = random.Random(seed)  # noqa: S311 -- sizes, no secrets
    made = [feeds(draft_, way, chosen, at) for at, way in enumerate((*WAYS, "free", "random"))]
    declared = {info.name for info in draft_.model.graph.input} if draft_.model.ir_version > 3 else set()
    for at, given in enumerate(made):
        for tensor in draft_.model.graph.initializer:
            if at % 2 and tensor.name in declared and tensor.data_type == onnx.TensorProto.FLOAT:
                given[tensor.name] = elements(tuple(tensor.dims), "float32", at)
    if any(node.op_type == "MatMul" for node in nodes(draft_.model)):
        # (1,3,0) by (2,0,2) gives onnxruntime (1,3,2): over nothing it forgets the batch of the right operand.
        return [given for given in made if all(array.size for array in given.values())]
    return made


def _differs(before: Result, after: Result) -> str | None:
    """What is wrong: the second model may run where the first one fails, and not the other way."""
    if isinstance(before, str):
        return None
    if isinstance(after, str):
        return f"fails: {after}"
    return None if same(before, after, exact=False) else "gives something else"


def examine(seeds: Iterable[int], folder: Path) -> tuple[list[str], Counter[str]]:
    """What is wrong, and how many changes of each kind were proved."""
    found: list[str] = []
    counts: Counter[str] = Counter()
    before, after = folder / "before.onnx", folder / "after.onnx"
    for seed in seeds:
        made = draft(seed)
        before.write_bytes(made.model.SerializeToString())
        try:
            first = session(before.read_bytes())
        except ERRORS:
            continue
        choose = random.Random(seed)  # noqa: S311 -- changes, no secrets
        fixed = _fixed(made.model, choose.choice(OPTIONS))
        runs = [(given, run(first, given)) for given in _inputs(made, seed)]
        for change in range(CHANGES):
            names, model = mutated(fixed, choose)
            after.write_bytes(model.SerializeToString())
            counts.update(all=1)
            if not _proved(before, after):
                continue
            counts.update(["proved", *names.split()])
            wrong = _run(after, runs)
            found += [f"seed {seed}, change {change}, {names}: {wrong}"] if wrong else []
    return found, counts


def _proved(before: Path, after: Path) -> bool:
    try:
        return prove(before, after).proved
    except GraphfixError:
        return False


def _run(after: Path, runs: list[tuple[Feeds, Result]]) -> str | None:
    try:
        second = session(after.read_bytes())
    except ERRORS as error:
        return f"does not load: {error}"
    return next((wrong for given, result in runs if (wrong := _differs(result, run(second, given)))), None)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_random_changes_that_are_proved_run_to_the_same_bits(seeds: range, tmp_path: Path) -> None:
    found, counts = examine(seeds, tmp_path)
    assert found == []
    assert counts["proved"] > LEAST * counts["all"]


def test_every_kind_of_change_changes_some_model() -> None:
    choose = random.Random(0)  # noqa: S311 -- changes, no secrets
    no_op = set(MUTATIONS)
    for seed in range(SHORT):
        model = draft(seed).model
        for name in sorted(no_op):
            changed = ModelProto()
            changed.CopyFrom(model)
            if MUTATIONS[name](changed, choose) and changed != model:
                no_op.discard(name)
    assert no_op == set()


def test_a_change_that_is_no_change_is_proved(tmp_path: Path) -> None:
    """So that the fuzz does not pass because nothing is ever proved."""
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    refused = []
    for seed in range(SHORT):
        model = draft(seed).model
        before.write_bytes(model.SerializeToString())
        model.doc_string = "the same"
        after.write_bytes(model.SerializeToString())
        refused += [seed] if not _proved(before, after) else []
    assert refused == []
