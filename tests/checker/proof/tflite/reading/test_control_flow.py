"""An IF whose condition is known and a WHILE whose trips are known are what runs of them; no others are."""

from __future__ import annotations

import pytest

from models.builders.tflite.text import model
from tests.support.proved import unproved

BRANCHES = "subgraph yes(v[2]):\nt[2] = NEG(v)\nsubgraph no(v[2]):\nt[2] = ABS(v)"
CHOICE = "y[2] = IF({0}, x[2], then=yes, else=no)\n" + BRANCHES
DECIDED = {
    "true": ("c:const:bool[]{1}", "NEG", True),
    "true, but the other branch": ("c:const:bool[]{1}", "ABS", False),
    "false": ("c:const:bool[]{0}", "ABS", True),
    "false, but the other branch": ("c:const:bool[]{0}", "NEG", False),
    "a vector of one": ("c:const:bool[1]{1}", "NEG", True),
    "a vector of two": ("c:const:bool[2]{1,1}", "NEG", False),
    "an input": ("c:bool[]", "NEG", False),
}


@pytest.mark.parametrize("name", DECIDED)
def test_a_branch_takes_the_place_of_an_if_where_the_condition_is_known(name: str) -> None:
    condition, op, expected = DECIDED[name]
    head = "subgraph main(x[2], c:bool[]):\n" if name == "an input" else "subgraph main(x[2]):\n"
    before = head + CHOICE.format(condition)
    after = f"{head}y[2] = {op}(x)\n{BRANCHES}"
    assert (unproved(model(before), model(after)) is None) is expected


LOOP = """subgraph main(x[2], z[2], m:int32[]):
n:int32[], p[2], q[2] = WHILE({first}, x, z, cond=test, body=turn)
y[2] = SUB(p, q)
"""
BODIES = """subgraph test(i:int32[], v[2], w[2]) -> b:
b:bool[] = LESS(i, c:const:int32[]{{3}})
subgraph turn(i:int32[], v[2], w[2]) -> {returned}:
j:int32[] = ADD(i, c:const:int32[]{{1}})
{turn}"""
ZERO, ONE = "i:const:int32[]{0}", "i:const:int32[]{2}"
NEGATED, PASSED = ("j, t, w", "t[2] = NEG(v)"), "p[2] = NEG(x)\ny[2] = SUB(p, z)"
# first number, (what a turn returns, what it computes), main in the second file -> whether it is proved
TRIPS: dict[str, tuple[str, tuple[str, str], str, bool]] = {
    "one trip": (ONE, NEGATED, PASSED, True),
    "three trips": (ZERO, NEGATED, "a[2] = NEG(x)\nb[2] = NEG(a)\np[2] = NEG(b)\ny[2] = SUB(p, z)", True),
    "two in the place of three": (ZERO, NEGATED, "a[2] = NEG(x)\np[2] = NEG(a)\ny[2] = SUB(p, z)", False),
    "four in the place of three": (
        ZERO,
        NEGATED,
        "a[2] = NEG(x)\nb[2] = NEG(a)\nd[2] = NEG(b)\np[2] = NEG(d)\ny[2] = SUB(p, z)",
        False,
    ),
    "an input that a turn does not change, of two": (
        ONE,
        ("j, v, t", "t[2] = NEG(w)"),
        "p[2] = NEG(z)\ny[2] = SUB(x, p)",
        True,
    ),
    "two inputs that a turn does not change": (ONE, ("j, v, w", ""), "y[2] = SUB(x, z)", True),
    "no trip": ("i:const:int32[]{3}", NEGATED, "y[2] = SUB(x, z)", True),
    "a number of trips that is an input": ("m", NEGATED, PASSED, False),
    "both are computed": (
        ONE,
        ("j, t, u", "t[2] = NEG(v)\nu[2] = ABS(w)"),
        "p[2] = NEG(x)\nq[2] = ABS(z)\ny[2] = SUB(p, q)",
        True,
    ),
    "both inputs at the other's place": (ONE, ("j, w, v", ""), "y[2] = SUB(z, x)", False),
    "one input at the other's place": (ONE, ("j, t, v", "t[2] = NEG(w)"), "p[2] = NEG(z)\ny[2] = SUB(p, x)", False),
    "one value twice": (ONE, ("j, t, t", "t[2] = NEG(v)"), "p[2] = NEG(x)\ny[2] = SUB(p, p)", False),
    "a constant": (
        ONE,
        ("j, t, k", "t[2] = MUL(v, k:const[2]{1.0,2.0})"),
        "p[2] = MUL(x, h:const[2]{1.0,2.0})\ny[2] = SUB(p, h)",
        False,
    ),
    "an operator with a state": (
        ONE,
        ("j, t, w", "t[2] = CUSTOM.Op(v)"),
        "p[2] = CUSTOM.Op(x)\ny[2] = SUB(p, z)",
        False,
    ),
}


@pytest.mark.parametrize("name", TRIPS)
def test_the_trips_of_a_loop_take_its_place_where_their_number_is_known(name: str) -> None:
    first, (returned, turn), after, expected = TRIPS[name]
    bodies = BODIES.format(returned=returned, turn=turn).rstrip()
    before = LOOP.format(first=first) + "s:int32[] = NEG(m)\n" + bodies
    second = f"subgraph main(x[2], z[2], m:int32[]):\ns:int32[] = NEG(m)\n{after}\n{bodies}"
    assert (unproved(model(before, outputs=["s", "y"]), model(second, outputs=["s", "y"])) is None) is expected


@pytest.mark.parametrize(("other", "expected"), [(ZERO, True), (ONE, False)])
def test_a_loop_that_both_files_run_is_compared_as_a_loop(other: str, expected: bool) -> None:
    bodies = BODIES.format(returned="j, t, w", turn="t[2] = NEG(v)")
    before, after = (LOOP.format(first=first) + "s:int32[] = NEG(m)\n" + bodies for first in (ZERO, other))
    assert (unproved(model(before), model(after)) is None) is expected


@pytest.mark.parametrize(("kind", "expected"), [("", True), (":int32", False)])
def test_a_loop_whose_test_takes_other_types_is_no_number_of_trips(kind: str, expected: bool) -> None:
    bodies = BODIES.format(returned="j, t, w", turn="t[2] = NEG(v)").replace("[], v[2], w", f"[], v{kind}[2], w", 1)
    before = LOOP.format(first=ONE) + "s:int32[] = NEG(m)\n" + bodies
    second = f"subgraph main(x[2], z[2], m:int32[]):\ns:int32[] = NEG(m)\n{PASSED}\n{bodies}"
    assert (unproved(model(before, outputs=["s", "y"]), model(second, outputs=["s", "y"])) is None) is expected
