"""Formulas of TFLite operators: the faithful one is matched without any run, one with a change is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from graphfix.checker.proof.tflite.definitions.formulas import OVERFLOWING
from graphfix.checker.proof.tflite.definitions.sequence_lstm import STATES
from models.builders.tflite.text import model as tflite
from tests.rewrites.test_unroll_sequence_lstm import (
    HIDDEN,
    STEPS,
    changed,
    constant,
    gates_swapped,
    steps_swapped,
    the_wrong_activation,
)
from tests.rewrites.test_unroll_sequence_lstm import text as lstm
from tests.support import engine
from tests.support.proving import prove

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import ai_edge_litert.schema_py_generated as schema

    from graphfix.checker.proof import Proof


PLAIN = lstm(time_major=True)


def files(folder: Path, *texts: str) -> list[Path]:
    paths = [folder / f"{number}.tflite" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(tflite(text))
    return paths


def unrolled(folder: Path, text: str) -> Path:
    """Write the steps of a model's recurrence."""
    loaded, after = engine.load(files(folder, text)[0]), folder / "after.tflite"
    assert engine.fix(loaded, target="tosa").rewrites["unroll-recurrence"] == 1
    after.write_bytes(loaded.tobytes())
    return after


@pytest.fixture(scope="module")
def steps(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the steps of the plain form."""
    return unrolled(tmp_path_factory.mktemp("steps"), PLAIN).read_bytes()


@pytest.mark.parametrize(("time_major", "count"), [(True, STEPS), (False, STEPS), (True, 1), (False, 1)])
def test_the_steps_of_a_recurrence_are_matched(*, time_major: bool, count: int, tmp_path: Path) -> None:
    text = lstm(time_major=time_major, steps=count)
    proof = prove(files(tmp_path, text)[0], unrolled(tmp_path, text), tflite=True)
    assert (proof.status, STATES in proof.assumes) == ("bounded", True)


OTHERS = {
    "the same": PLAIN,
    **{
        f"operand {at}": PLAIN.replace(constant(name, *sizes), constant(f"other{name}", *sizes))
        for at, name, sizes in (
            *((at, f"w{at}", (HIDDEN, 5)) for at in range(1, 5)),
            *((at, f"r{at}", (HIDDEN, HIDDEN)) for at in range(5, 9)),
            *((at, f"b{at}", (HIDDEN,)) for at in range(12, 16)),
        )
    },
    "a clip of the cell": lstm(time_major=True, options="fused_activation_function=TANH, cell_clip=0.5"),
    "a clip of the projection": lstm(time_major=True, options="fused_activation_function=TANH, proj_clip=0.5"),
    "another activation": lstm(time_major=True, options="fused_activation_function=RELU"),
    "coupled gates": lstm(time_major=True, o1="", o5="", o12=""),
    "peepholes": lstm(
        time_major=True, o9=constant("p9", HIDDEN), o10=constant("p10", HIDDEN), o11=constant("p11", HIDDEN)
    ),
    "one peephole": lstm(time_major=True, o11=constant("p11", HIDDEN)),
    "a projection": lstm(time_major=True, o16=constant("p16", HIDDEN, HIDDEN)),
    "the steps behind": lstm(time_major=False, steps=2).replace("[2,2,", "[3,2,"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_another_recurrence_is_not_those_steps(name: str, steps: bytes, tmp_path: Path) -> None:
    after = tmp_path / "after.tflite"
    after.write_bytes(steps)
    proof = prove(files(tmp_path, OTHERS[name])[0], after, tflite=True)
    assert proof.status == ("bounded" if name == "the same" else "not proved")


@pytest.mark.parametrize("fault", [gates_swapped, steps_swapped, the_wrong_activation])
def test_other_steps_are_not_the_recurrence(
    fault: Callable[[schema.SubGraphT, list[str]], None], steps: bytes, tmp_path: Path
) -> None:
    after = tmp_path / "after.tflite"
    after.write_bytes(steps)
    changed(after, fault)
    assert prove(files(tmp_path, PLAIN)[0], after, tflite=True).status == "not proved"


# --- quotients --------------------------------------------------------------------------------------------------------

DIVIDED = """subgraph main(a:int32[2,3]{more}):
q:int32[2,3] = DIV(a, {b})
m:int32[2,3] = MUL(q, {b})
r:int32[2,3] = SUB(a, m)
w:bool[2,3] = {wrong}
s:int32[2,3] = SUB(q, one:const:int32[]{{1}})
y:int32[2,3] = SELECT_V2(w, s, q)"""
SIGNS = {
    "above": "GREATER(r, zero:const:int32[]{0})",
    "below": "LESS(r, zero:const:int32[]{0})",
    "chosen": "SELECT_V2(n:const:bool[3]{0,1,0}, u, v)",
}
BOTH = "u:bool[2,3] = GREATER(r, zero:const:int32[]{0})\nv:bool[2,3] = LESS(r, zero)\n"


def divided(divisor: str, sign: str) -> str:
    made = DIVIDED.format(b="b" if divisor == "b" else f"b:{divisor}", wrong=SIGNS[sign], more="")
    made = made.replace(f"MUL(q, b:{divisor})", "MUL(q, b)")
    return made.replace("w:bool", f"{BOTH}w:bool") if sign == "chosen" else made


@pytest.mark.parametrize(
    ("divisor", "sign", "assumed"),
    [
        ("const:int32[]{7}", "below", False),
        ("const:int32[3]{7,1,2}", "below", False),
        ("const:int32[]{-7}", "above", False),
        ("const:int32[]{-1}", "above", True),
        ("const:int32[3]{-7,-2,-3}", "above", False),
        ("const:int32[3]{7,-1,2}", "chosen", True),
        ("const:int32[3]{7,-2,2}", "chosen", False),
    ],
)
def test_the_sign_of_a_stored_divisor_decides_which_quotients_are_corrected(
    divisor: str, sign: str, assumed: bool, tmp_path: Path
) -> None:
    before = f"subgraph main(a:int32[2,3]):\ny:int32[2,3] = FLOOR_DIV(a, b:{divisor})"

    def asked(which: str) -> Proof:
        return prove(*files(tmp_path, before, divided(divisor, which)), tflite=True)

    assert (asked(sign).status, OVERFLOWING in asked(sign).assumes) == ("proved", assumed)
    assert {asked(other).status for other in SIGNS if other != sign} == {"not proved"}


# --- sums -------------------------------------------------------------------------------------------------------------

CUT = "s[{2}] = SLICE(x[2,2], b:const:int32[2]{{{1}}}, c:const:int32[2]{{{2}}})\n"
MOVED = CUT + "p[2,2] = PAD(s, z:const:int32[2,2]{{{3}}})\ny[2,2] = ADD(x, p)"
SUMS = {
    "of columns": ("a:const:int32[]{1}", "0,0", "2,1", "0,0,1,0"),
    "of rows": ("a:const:int32[]{0}", "0,0", "1,2", "1,0,0,0"),
    "from the last column": ("a:const:int32[]{-1}, reverse=True", "0,1", "2,1", "0,0,0,1"),
    "from the last row": ("a:const:int32[]{-2}, reverse=True", "1,0", "1,2", "0,1,0,0"),
}


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("given", SUMS)
def test_a_running_sum_adds_the_elements_before(name: str, given: str, tmp_path: Path) -> None:
    paths = files(tmp_path, f"y[2,2] = CUMSUM(x[2,2], {SUMS[name][0]})", MOVED.format(*SUMS[given]))
    assert prove(*paths, tflite=True).status == ("bounded" if name == given else "not proved")
