"""Random operators whose results' sizes no file states: neither view nor proof says one that LiteRT contradicts.

Each model is one operator of a kind (`tests/support/tflite/random_shapes.py`), at random sizes, axes and options, or a
size that goes through arithmetic. The view and the proof infer by rules of their own; LiteRT runs the model. Then the
same models with free sizes and computed shapes (`tests/support/tflite/free_shapes.py`), run at several sizes, 0 and 1
among them: what a named size says of itself is computed from the sizes that the run had.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from graphfix.checker.files.tflite.file import read
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import TermTable
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.tflite import compare
from graphfix.checker.proof.tflite.closed_world.known_operators import Known
from graphfix.checker.proof.tflite.reading.reader import Reading
from graphfix.formats.tflite.infer.operators import elementwise, registry
from graphfix.formats.tflite.infer.operators.layout import NO_SIZE_IS_0
from graphfix.formats.tflite.infer.operators.products import WINDOWS_FIT
from graphfix.shapes.dim import Dim
from models.builders.tflite.text import model
from tests.support import engine
from tests.support.audit_terms import Observed, contradicted
from tests.support.faults.tflite.planted import unpacked
from tests.support.runtimes.litert_groups import KERNELS, Job, Ran, run
from tests.support.tflite.free_shapes import Sizes, freed
from tests.support.tflite.random_shapes import RANDOM

FEW, SOME, MANY = 3, 8, 300
"""Models a kind in the plain tests, in CI and in the full check."""
RUNS = 3
"""How often a model with free sizes is run at other sizes than its first ones."""
TOGETHER = 200
LEAST = 0.3
"""How many models of each kind LiteRT has to take, at the least."""
Said = Sequence[Sequence[object] | None]
"""The sizes of each output, as far as they are numbers; None for one of unknown rank."""
TYPES = {0: np.float32, 2: np.int32, 4: np.int64, 6: np.bool_}


class Case(NamedTuple):
    """A model, and what is said of its outputs."""

    kind: str
    text: str
    file: bytes
    view: Said
    proof: Said

    @property
    def job(self) -> Job:
        main = unpacked(self.file).subgraphs[0]
        tensors = [main.tensors[at] for at in main.inputs]
        return Job(self.file, KERNELS[1], tuple(np.ones(each.shape, TYPES[each.type]) for each in tensors))


def _case(kind: str, choose: random.Random, folder: Path) -> Case:
    text = RANDOM[kind](choose)
    file = model(text)
    main = unpacked(file).subgraphs[0]
    values = {value.name: value for value in engine.load(file).graphs[0].outputs}
    outputs = [values[main.tensors[at].name.decode()] for at in main.outputs]
    view = [value.shape.dims if value.shape.ranked else None for value in outputs]
    path = folder / "m.tflite"
    path.write_bytes(file)
    return Case(kind, text, file, view, _proofs(path))


def _proofs(path: Path) -> Said:
    table = TermTable(Algebra())
    with ExitStack() as stack:
        reading = Reading(table, Constants(table), read(path, stack)[0], Known([]), first=True)
        return [view.sizes for view in compare._run(reading, 0)]


def _contradicted(said: Said, ran: Ran) -> bool:
    for sizes, output in zip(said, ran.outputs, strict=True):
        numbers = [None if not isinstance(size, int) else size for size in sizes or ()]
        if sizes is not None and (
            len(numbers) != output.ndim
            or any(size not in (None, real) for size, real in zip(numbers, output.shape, strict=True))
        ):
            return True
    return False


def examine(seeds: Iterable[int], folder: Path) -> tuple[list[str], Counter[str], Counter[str]]:
    """What LiteRT contradicts; how many models of each kind ran, and of how many all sizes were said."""
    cases = [_case(kind, random.Random(f"{kind} {seed}"), folder) for seed in seeds for kind in RANDOM]  # noqa: S311
    found, ran_of, said_of = [], Counter[str](), Counter[str]()
    for at in range(0, len(cases), TOGETHER):
        part = cases[at : at + TOGETHER]
        (answers,) = run([[case.job for case in part]])
        for case, ran in zip(part, answers, strict=True):
            if not ran.fine:
                continue
            ran_of[case.kind] += 1
            for who, said in (("the view", case.view), ("the proof", case.proof)):
                said_of[who] += all(sizes is not None and all(isinstance(n, int) for n in sizes) for sizes in said)
                if _contradicted(said, ran):
                    shapes = [output.shape for output in ran.outputs]
                    found.append(f"{who} of {case.text.strip()}: {said}, LiteRT has {shapes}")
    return found, ran_of, said_of


class Open(NamedTuple):
    """A model with free sizes, and one run of it."""

    kind: str
    text: str
    file: bytes
    sizes: Sizes

    @property
    def job(self) -> Job:
        main = unpacked(self.file).subgraphs[0]
        tensors = [main.tensors[at] for at in main.inputs]
        feeds = [np.ones(self.sizes.get(each.name.decode(), each.shape), TYPES[each.type]) for each in tensors]
        return Job(self.file, KERNELS[1], tuple(feeds))


def _open(kind: str, choose: random.Random) -> Iterator[Open]:
    made = freed(RANDOM[kind](choose), choose)
    file = model(made.text)
    for sizes in made.runs(choose, RUNS):
        yield Open(kind, made.text, file, sizes)


def _view_contradiction(case: Open, ran: Ran, told: Counter[str]) -> str:
    """What the view says of a tensor and is not so in a run."""
    opened = engine.load(case.file)
    opened.trust_stored(trust=False)  # what the text states of results holds at the first sizes alone
    names = [tensor.name.decode() for tensor in unpacked(case.file).subgraphs[0].tensors]
    shapes = dict(zip(names, ran.shapes[0], strict=False))
    if {NO_SIZE_IS_0, WINDOWS_FIT} & set(opened.assumes) and any(0 in shape for shape in shapes.values()):
        return ""
    observed = Observed(shapes, lambda _: None)
    for node in opened.graphs[0].nodes:
        for value in filter(None, node.results):
            if value.shape.axes is None:
                continue
            real = shapes[value.name]
            if len(real) != len(value.shape.axes):
                return f"{value.name} is {value.shape}, LiteRT has {real}"
            for size, number in zip(value.shape.axes, real, strict=True):
                wrong = contradicted(size, number, observed) if isinstance(size, Dim) else size != number and str(size)
                told[node.op] += isinstance(size, Dim) and bool(size.parts)
                if wrong:
                    return f"{value.name} of {real}: {wrong}"
    return ""


def examine_free(seeds: Iterable[int], kinds: Iterable[str] = RANDOM) -> tuple[list[str], Counter[str], Counter[str]]:
    """What LiteRT contradicts where sizes are free; how many runs of each kind there were, and what names were said."""
    cases = [
        case
        for seed in seeds
        for kind in kinds
        for case in _open(kind, random.Random(f"free {kind} {seed}"))  # noqa: S311
    ]
    found, ran_of, told = [], Counter[str](), Counter[str]()
    for at in range(0, len(cases), TOGETHER):
        part = cases[at : at + TOGETHER]
        (answers,) = run([[case.job for case in part]])
        for case, ran in zip(part, answers, strict=True):
            if ran.fine:
                ran_of[case.kind] += 1
                wrong = _view_contradiction(case, ran, told)
                found += [f"{case.text} at {case.sizes}: {wrong}"] if wrong else []
    return found, ran_of, told


SEEDS = [
    pytest.param(range(SOME), marks=pytest.mark.ci),
    *(pytest.param(range(SOME + part, MANY, 4), marks=pytest.mark.full) for part in range(4)),
]


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_no_size_is_said_that_litert_contradicts(seeds: range, tmp_path: Path) -> None:
    found, ran_of, said_of = examine(seeds, tmp_path)
    assert found == []
    assert {kind for kind in RANDOM if ran_of[kind] < LEAST * len(seeds)} == set()
    assert min(said_of.values()) > LEAST * ran_of.total()


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_no_free_size_is_said_that_litert_contradicts(seeds: range) -> None:
    found, ran_of, told = examine_free(seeds)
    assert found == []
    assert {kind for kind in RANDOM if not ran_of[kind]} == set()
    assert told.total() > LEAST * ran_of.total()


def test_a_rule_that_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.SHAPE_RULES, "TILE", elementwise.first)  # type: ignore[arg-type]
    assert examine_free(range(FEW), ["TILE"])[0]
