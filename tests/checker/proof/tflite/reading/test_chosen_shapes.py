"""A shape that SELECT_V2 chooses by EQUAL is the broadcast of two in one form only; LiteRT tells the others from it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from models.builders.tflite.text import model as tflite
from tests.support.proving import prove
from tests.support.runtimes.litert_runs import Job, Ran, run

BEFORE = "y[?,?] = ADD(a[N,M], b[K,L])"
SIZES = ((3, 4), (1, 4), (3, 1), (1, 1), (2, 2), (0, 4), (1, 0), (0, 1))
"""Of both operands, each with each: where they don't meet the first model fails."""


def written_out(flag: str = "EQUAL(sa, o)", chosen: str = "sb, sa", ones: str = "1,1", flag_of_b: str = "fb") -> str:
    """The same with both operands stretched, or with a fault in what is chosen."""
    return f"""
    sa:int32[2] = SHAPE(a[N,M], out_type=INT32)
    sb:int32[2] = SHAPE(b[K,L], out_type=INT32)
    fa:bool[2] = {flag.replace(" o", " o:const:int32[2]{" + ones + "}")}
    ma:int32[2] = SELECT_V2(fa, {chosen})
    ea[?,?] = BROADCAST_TO(a[N,M], ma)
    fb:bool[2] = EQUAL(sb, p:const:int32[2]{{1,1}})
    mb:int32[2] = SELECT_V2({flag_of_b}, sa, sb)
    eb[?,?] = BROADCAST_TO(b, mb)
    y[?,?] = ADD(ea, eb)
    """


FAULTS = {
    "the branches exchanged": written_out(chosen="sa, sb"),
    "flags of the other shape": written_out(flag="EQUAL(sb, o)"),
    "equal to 2": written_out(ones="2,2"),
    "equal to 2 in one axis": written_out(ones="1,2"),
    "equal to 0": written_out(ones="0,0"),
    "not equal": written_out(flag="NOT_EQUAL(sa, o)"),
    "greater": written_out(flag="GREATER(sa, o)"),
    "the shape of the other operand in its own place": written_out(chosen="sb, sb"),
    "flags of the first for the second": written_out(flag_of_b="fa"),
}


def results(path: Path) -> list[Ran]:
    """What a model returns at each pair of sizes."""
    jobs = []
    for one, two in product(SIZES, repeat=2):
        a = np.arange(np.prod(one), dtype=np.float32).reshape(one)
        b = 100 * np.arange(np.prod(two), dtype=np.float32).reshape(two)
        jobs.append(Job(path, "reference", {"a": a, "b": b}))
    return run(jobs)


def saved(path: Path, text: str) -> Path:
    path.write_bytes(tflite(text))
    return path


def keeps(before: Ran, after: Ran) -> bool:
    """Whether the second model returns what the first one does, where that returns something."""
    if not before.fine:
        return True
    return after.fine and all(map(np.array_equal, before.outputs, after.outputs))


def test_the_form_is_proved_and_keeps_every_result(tmp_path: Path) -> None:
    before, after = saved(tmp_path / "a.tflite", BEFORE), saved(tmp_path / "b.tflite", written_out())
    found = prove(before, after, tflite=True)
    assert (found.status, found.reason) == ("proved", None)
    pairs = list(zip(results(before), results(after), strict=True))
    assert sum(one.fine for one, _ in pairs) > len(SIZES)
    assert all(keeps(one, two) for one, two in pairs)
    assert not any(two.signal for _, two in pairs)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_any_other_choice_is_not_proved_and_computes_something_else(fault: str, tmp_path: Path) -> None:
    before, after = saved(tmp_path / "a.tflite", BEFORE), saved(tmp_path / "b.tflite", fault)
    assert prove(before, after, tflite=True).status == "not proved"
    assert not all(map(keeps, results(before), results(after)))
