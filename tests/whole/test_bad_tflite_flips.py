"""Real TFLite models with one byte damaged: refused in one line, or LiteRT takes the result as it takes the damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ai_edge_litert.schema_py_generated as schema
import pytest

from models.builders.tflite.text import pack
from tests.support.asking import ask
from tests.support.faults.flips import FAULT, Flip, fixed, flips, forked, litert_answers, payloads, places, words
from tests.support.places import ROOT, ZOO
from tests.support.tiers import tiered

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.faults.flips import End

MIB = 1 << 20
MOST = 200
"""MiB that a run may take; undamaged it takes 20 to 45, those of the process that forks included."""
KERNELS = "BUILTIN_WITHOUT_DEFAULT_DELEGATES"

SINE = ZOO / "tflite-micro" / "sine_float.tflite"
"""Fully connected layers, a signature; nothing broadcasts."""
PITCH = ZOO / "basic-pitch" / "nmp.tflite"
"""Free sizes, shape arithmetic, SELECT_V2: of the real ones the model with most to rewrite."""
HAND = ZOO / "mediapipe" / "hand_recrop.tflite"
"""PRELU with constants of its own, STRIDED_SLICE."""
SELFIE = ZOO / "mediapipe" / "selfie_segmentation.tflite"
"""An archive behind the tables, a custom operator, half precision weights, operands to stretch."""


def zoo(path: Path, *more: object) -> object:
    return pytest.param(path, *more, id=path.stem, marks=pytest.mark.zoo)


def fault(end: End) -> str | None:
    """What is wrong with the end of a run, if anything."""
    lines = end.err.splitlines()
    if end.peak > MOST * MIB:
        return f"{end.peak // MIB} MiB"
    if end.status in (0, 4):  # 4: sites are left
        return None if (end.files, end.err) == (("o.tflite",), "") else "no file, or more, or words"
    one_line = len(lines) == 1 and lines[0].startswith("graphfix: ") and "m.tflite" in lines[0]
    return None if end.status == 2 and one_line and not end.out and not end.files else "neither fixed nor refused"


def assert_ends_well(model: Path, cases: Sequence[Flip], keep: int, folder: Path) -> None:
    """Fix each damaged file; ask LiteRT about every `keep`-th that was fixed."""
    ends = list(fixed(model, cases, folder, keep=keep))
    assert len(ends) == len(cases)
    wrong = [(why, end) for end in ends if (why := fault(end)) is not None]
    assert not wrong, wrong[:3]
    statuses = {end.status for end in ends}
    assert {0, 2} <= statuses <= {0, 2, 4}  # damage that hits nothing, and damage that does
    kept = [end for end in ends if end.kept]
    verdicts = list(litert_answers(model, kept, folder, KERNELS))
    assert len(verdicts) == len(kept) > 0
    other = [(end.flip, *pair) for end, pair in zip(kept, verdicts, strict=True) if pair[0] != pair[1]]
    assert not other, other[:3]


@pytest.mark.ci
@pytest.mark.parametrize(("model", "sample"), [zoo(SINE, 100), zoo(PITCH, 75), zoo(HAND, 60), zoo(SELFIE, 60)])
def test_a_damaged_byte_is_refused_in_one_line_or_changes_nothing_else(
    model: Path, sample: int, tmp_path: Path
) -> None:
    assert_ends_well(model, flips(model.read_bytes(), seed=20, sample=sample), 10, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize(
    ("model", "every_bit", "step", "keep"),
    [zoo(SINE, True, 1, 20), zoo(HAND, False, 1, 50), zoo(SELFIE, False, 1, 100), zoo(PITCH, False, 5, 150)],
)
def test_any_damaged_byte_is_refused_in_one_line_or_changes_nothing_else(
    model: Path, every_bit: bool, step: int, keep: int, tmp_path: Path
) -> None:
    assert_ends_well(model, flips(model.read_bytes(), seed=7, every_bit=every_bit, step=step), keep, tmp_path)


MADE = [
    "bodies/while",
    "operators/select_ranks",
    "explicit/run_time_form",
    "explicit/broadcast_in_dim",
    "constants/half",
    "quantized/per_channel_operand",
]
"""Models in which nearly every word steers what is inferred or rewritten."""


def assert_no_crash(name: str, count: int, folder: Path) -> None:
    model = ROOT / "models" / f"{name}.tflite"
    wrong = [
        (why, end) for end in fixed(model, words(model.read_bytes(), count), folder) if (why := fault(end)) is not None
    ]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("name", tiered(MADE, lambda name: name == "explicit/run_time_form"))
def test_a_word_in_the_place_of_another_is_no_crash(name: str, tmp_path: Path) -> None:
    assert_no_crash(name, 60, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("name", MADE)
def test_many_words_in_the_place_of_others_are_no_crash(name: str, tmp_path: Path) -> None:
    assert_no_crash(name, 2000, tmp_path)


def cut_results(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    loop = next(it for it in made.subgraphs[0].operators if len(it.outputs) > 1)
    loop.outputs = loop.outputs[:1]


def without_operands(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    for operator in made.subgraphs[0].operators:
        operator.inputs = []


def without_first_operands(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    for operator in made.subgraphs[0].operators:
        operator.inputs = [-1, *operator.inputs[1:]]


def scalars(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    for tensor in made.subgraphs[0].tensors:
        if tensor.quantization is not None and len(tensor.quantization.scale) > 1:
            tensor.shape = []


FOUND = {
    "a-loop-with-fewer-results": ("bodies/while", cut_results),
    "axes-of-no-operand": ("explicit/broadcast_in_dim", without_operands),
    "a-shape-of-no-operand": ("explicit/broadcast_to", without_operands),
    "a-shape-without-the-operand": ("explicit/broadcast_to", without_first_operands),
    "repeats-of-no-operand": ("explicit/tile", without_operands),
    "repeats-without-the-operand": ("explicit/tile", without_first_operands),
    "many-scales-of-a-scalar": ("quantized/per_channel_operand", scalars),
}
"""What damaged words have brought to light."""


@pytest.mark.parametrize("target", ["ranks", "explicit"])
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_is_no_crash(name: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, change = FOUND[name]
    made = schema.ModelT.InitFromPackedBuf((ROOT / "models" / f"{source}.tflite").read_bytes(), 0)
    change(made)
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(pack(made))
    answer = ask(capsys, "fix", path, "-o", out, "--no-verify", "--target", target)
    assert (answer.status, len(answer.lines), out.exists()) in ((0, 0, True), (4, 0, True), (2, 1, False)), answer


# --- the check itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["files/archive", "constants/shared_buffer", "bodies/if", "quantized/per_channel"])
def test_payloads_are_where_litert_reads_them(name: str) -> None:
    data = (ROOT / "models" / f"{name}.tflite").read_bytes()
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    held = sorted(bytes(it.data) for it in model.buffers if it.data is not None)
    assert sorted(data[start:stop] for start, stop in payloads(data)) == held


def test_an_archive_and_small_constants_are_damaged_too() -> None:
    data = (ROOT / "models" / "files/archive.tflite").read_bytes()
    assert {data.index(b"PK\3\4"), len(data) - 1, 0} <= set(places(data))
    assert any(stop - start <= 64 and start in set(places(data)) for start, stop in payloads(data))


@pytest.mark.ci
def test_an_exception_a_hang_and_an_exit_in_a_fork_are_reported_apart() -> None:
    def raises() -> int:
        raise IndexError("planted")

    def hangs() -> int:
        while True:
            pass

    def hoards() -> int:
        return len(bytearray(1 << 31))

    assert forked(lambda: 2).status == 2
    ended = forked(raises)
    assert ended.status == FAULT
    assert b"IndexError: planted" in ended.err
    assert forked(hangs, seconds=1).status < 0
    ended = forked(hoards)
    assert ended.status == FAULT
    assert b"MemoryError" in ended.err
