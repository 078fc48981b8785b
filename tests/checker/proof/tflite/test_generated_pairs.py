"""TFLite pairs that differ in one small thing, of every builtin operator: what is proved runs to the same bits.

A pair is wrong where its first file runs on a kernel set of LiteRT and its second one does not, or returns something
else; also where the proof ends in a traceback. Nothing here knows what the proof takes.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from tests.support.pairs import tflite_judge, tflite_pairs
from tests.support.pairs.tflite_changes import CHANGES
from tests.support.pairs.tflite_file import CODES, NAMES, packed, unpacked
from tests.support.pairs.tflite_pairs import BACK, Tally, examine, folds, pairs
from tests.support.pairs.tflite_seeds import Seed, seeds
from tests.support.proving import prove

PARTS = 12
"""Tests that share the operators."""
EACH, FOLDS = 1, 6
"""First files of an operator and kind, and sets of operands of a fold and deviation, in all of them."""
LEAST = 30_000
"""Pairs in all of them."""
SHARE = 160
"""What the sample takes: one (operator, kind) in so many."""
ANYWHERE = frozenset(CHANGES) - frozenset(
    "operand_doubled results_swapped operators_in_another_order subgraph_dropped signature_dropped unused_code_dropped"
    " bits_of_a_buffer length_of_a_buffer".split()
)
"""Kinds of change for which every operator has a place."""


def _said(tally: Tally) -> list[str]:
    return [f"{found.pair}: {found.why}" for found in tally.wrong]


def _operators() -> list[str]:
    return sorted({seed.operator for seed in seeds()})


@pytest.mark.ci
def test_a_sample_of_what_is_proved_runs_to_the_same_bits(tmp_path: Path) -> None:
    tally = examine(pairs(seeds(), share=SHARE), tmp_path, brief=True)
    assert _said(tally) == []
    assert tally.counts.total("run") > tally.counts.total("tried") // 10, tally.counts.table()


@pytest.mark.ci
def test_a_sample_of_constants_that_are_computed_runs_to_the_same_bits(tmp_path: Path) -> None:
    tally = examine(folds(1, share=SHARE), tmp_path)
    assert _said(tally) == []
    assert tally.counts.total("run") > 0


@pytest.mark.full
@pytest.mark.parametrize("part", range(PARTS))
def test_what_is_proved_runs_to_the_same_bits(part: int, tmp_path: Path) -> None:
    assert _said(examine(pairs(seeds(*_operators()[part::PARTS]), EACH), tmp_path)) == []


@pytest.mark.full
def test_constants_that_are_computed_run_to_the_same_bits(tmp_path: Path) -> None:
    assert _said(examine(folds(FOLDS), tmp_path)) == []


@pytest.mark.full
def test_every_operator_is_changed_in_every_kind_of_way() -> None:
    made = list(pairs(seeds(), EACH))
    assert len(made) > LEAST
    covered = {(pair.operator, pair.kind) for pair in made}
    assert [(operator, kind) for operator in _operators() for kind in ANYWHERE if (operator, kind) not in covered] == []


@pytest.mark.ci
def test_every_operator_with_a_kernel_has_a_first_file_that_runs() -> None:
    every = [seed for seed in seeds() if "models/" not in seed.operator and "constant" not in seed.name]
    left: defaultdict[str, list[Seed]] = defaultdict(list)
    for seed in reversed(every):
        left[seed.operator].append(seed)
    runs: set[str] = set()
    while any(left.values()):  # one of each operator in turn, while it is not known to run
        asked = [(seed, seed.ops) for seed in (group.pop() for group in left.values() if group)]
        asked = [(seed, ops) for seed, ops in asked if not ops <= runs]
        ran = tflite_judge.files([seed.file for seed, _ in asked])
        runs.update(*(ops for (_, ops), each in zip(asked, ran, strict=True) if any(it.fine for it in each.values())))
    assert {name for name in NAMES.values() if name not in runs} == set(_without_kernel(set(NAMES.values()) - runs))


def _without_kernel(names: set[str]) -> list[str]:
    """Those whose code LiteRT's resolver does not know."""
    found = []
    for name in sorted(names):
        model = unpacked(seeds("NEG")[0].file)
        code = model.operatorCodes[0]
        code.builtinCode = getattr(CODES, name)
        code.deprecatedBuiltinCode = min(code.builtinCode, CODES.PLACEHOLDER_FOR_GREATER_OP_CODES)
        (ran,) = tflite_judge.files([packed(model)])
        found += [name] if all("Didn't find op" in each.error for each in ran.values()) else []
    return found


def _blind(before: Path, after: Path) -> str:
    """A proof that does not see builtin options."""
    for path in (before, after):
        model = unpacked(path.read_bytes())
        for graph in model.subgraphs:
            for operator in graph.operators:
                operator.builtinOptions, operator.builtinOptionsType = None, 0
        path.write_bytes(packed(model))
    return "" if prove(before, after, tflite=True).proved else "not proved"


@pytest.mark.ci
def test_a_proof_that_does_not_see_options_is_found_out(tmp_path: Path) -> None:
    operators = seeds("SOFTMAX", "CUMSUM")
    seen, unseen = (
        examine(pairs(operators, kinds="Options."), tmp_path, by=by) for by in (tflite_pairs.proves, _blind)
    )
    assert _said(seen) == []
    kinds = {found.pair.kind.removesuffix(BACK) for found in unseen.wrong}
    assert kinds >= {"SoftmaxOptions.beta", "CumsumOptions.exclusive", "CumsumOptions.reverse"}
