"""LiteRT chooses kernels by shapes and constants: what the proof and the rewriter know of it, asked of LiteRT.

Random nodes of every broadcasting operator and element type, with operands as they are, lifted or stretched. Where
LiteRT returns other bits for two files, they must not be proved equal, and `fix` must not
write the second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.checker.proof.tflite.kernels.kernel_choice import ROUNDING
from tests.support import engine
from tests.support.proving import prove
from tests.support.runtimes.kernel_forms import Pair, answers, pairs, same_bits
from tests.support.runtimes.litert_groups import KERNELS

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT = KERNELS.index("AUTO")
FEW, MANY = 2, 15


def is_proved(folder: Path, before: bytes, after: bytes) -> bool | None:
    """Whether two files are proved equal; None where that assumes how sums of 8 bits are rounded."""
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, file in zip(paths, (before, after), strict=True):
        path.write_bytes(file)
    proof = prove(*paths, tflite=True)
    return None if ROUNDING in proof.assumes else proof.proved


def fixed(folder: Path, file: bytes, target: str = "explicit") -> bytes:
    path = folder / "fixed.tflite"
    path.write_bytes(file)
    loaded = engine.load(path)
    engine.fix(loaded, target=target)
    loaded.save(path)
    return path.read_bytes()


def contradictions(folder: Path, asked: list[Pair]) -> list[str]:
    """The pairs that LiteRT runs otherwise, and that are proved: hand-made, and as `fix` writes them."""
    written = [fixed(folder, pair.before) for pair in asked]
    jobs = [
        (file, pair.feeds)
        for pair, made in zip(asked, written, strict=True)
        for file in (pair.before, pair.after, made)
    ]
    runs = answers(jobs)
    found = []
    for at, (pair, made) in enumerate(zip(asked, written, strict=True)):
        before, *others = runs[3 * at : 3 * at + 3]
        for what, file, ran in zip(("edited", "fixed"), (pair.after, made), others, strict=True):
            same = [same_bits(*each) for each in zip(before, ran, strict=True)]
            if not all(same):
                proved = is_proved(folder, pair.before, file)
                if proved or (proved is None and not same[DEFAULT]):
                    found.append(f"{pair.name}, {what}: {same}")
    return found


@pytest.mark.ci
def test_litert_denies_nothing_that_is_proved(tmp_path: Path) -> None:
    asked = list(pairs(np.random.default_rng(1), FEW))
    assert contradictions(tmp_path, asked) == []


@pytest.mark.full
def test_litert_denies_nothing_that_is_proved_of_many(tmp_path: Path) -> None:
    asked = list(pairs(np.random.default_rng(2), MANY))
    assert contradictions(tmp_path, asked) == []
