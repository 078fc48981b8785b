"""What is written in other operators by its definition: proved but for its rounding, which the runs hold to a bound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.checker.runs.comparing.inexact_sites import apart, held_sites
from graphfix.report.verdict import verdict_text
from graphfix.results import InexactSite
from models.builders.tflite.text import model as tflite
from tests.support.checked import verify

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.results import Verdict

FORMS = {
    "by TANH": """
        a[2,8] = MUL(x[2,8], x)
        b[2,8] = MUL(a, x)
        c[2,8] = MUL(b, k1:const[1,1]{0.044715})
        d[2,8] = ADD(x, c)
        e[2,8] = MUL(d, k2:const[1,1]{0.7978845608028654})
        f[2,8] = TANH(e)
        g[2,8] = MUL(x, k3:const[1,1]{0.5})
        h[2,8] = ADD(f, k4:const[1,1]{1.0})
        y[2,8] = MUL(g, h)
        """,
    "by ERF": """
        a[2,8] = ABS(x[2,8])
        b[2,8] = MUL(a, p:const[]{0.23164189})
        c[2,8] = ADD(b, one:const[]{1.0})
        t[2,8] = DIV(one, c)
        d[2,8] = MUL(k5:const[]{0.5307027145}, t)
        e[2,8] = ADD(d, k4:const[]{-0.7265760135})
        f[2,8] = MUL(e, t)
        g[2,8] = ADD(f, k3:const[]{0.7107068705})
        h[2,8] = MUL(g, t)
        i[2,8] = ADD(h, k2:const[]{-0.142248368})
        j[2,8] = MUL(i, t)
        k[2,8] = ADD(j, k1:const[]{0.127414796})
        l[2,8] = MUL(k, t)
        m[2,8] = MUL(x, x)
        n[2,8] = MUL(m, half:const[]{-0.5})
        o[2,8] = EXP(n)
        q[2,8] = MUL(l, o)
        r[2,8] = SUB(one, q)
        s:bool[2,8] = GREATER_EQUAL(x, zero:const[]{0.0})
        u[2,8] = SELECT_V2(s, r, q)
        y[2,8] = MUL(x, u)
        """,
}
FORMS["COMPLEX_ABS"] = """
    f[3,4,8] = RESHAPE(x[1,3,4,8], s:const:int32{3,4,8}, new_shape=[3,4,8])
    z:complex64[3,4,5] = RFFT2D(f, n:const:int32{4,8})
    r[3,4,5] = REAL(z)
    i[3,4,5] = IMAG(z)
    a[3,4,5] = MUL(r, r)
    b[3,4,5] = MUL(i, i)
    c[3,4,5] = ADD(a, b)
    d[3,4,5] = SQRT(c)
    y[1,3,4,5] = RESHAPE(d, t:const:int32{1,3,4,5}, new_shape=[1,3,4,5])
    """
FAULTS = {
    "COMPLEX_ABS": (("IMAG(z)", "REAL(z)"), ("ADD(a, b)", "SUB(a, b)"), ("MUL(i, i)", "MUL(i, r)"), ("SQRT", "ABS")),
    "by TANH": (
        ("0.044715", "0.044815"),
        ("0.7978845608028654", "0.797"),
        ("{0.5}", "{0.501}"),
        ("MUL(a, x)", "MUL(a, a)"),
        ("ADD(x, c)", "SUB(x, c)"),
        ("{1.0}", "{1.001}"),
    ),
    "by ERF": (
        ("0.127414796", "0.128"),
        ("-0.7265760135", "0.7265760135"),
        ("{-0.5}", "{-0.51}"),
        ("SELECT_V2(s, r, q)", "SELECT_V2(s, q, r)"),
        ("ABS(x[2,8])", "NEG(x[2,8])"),
        ("GREATER_EQUAL(x, zero", "GREATER(half:const[]{-0.5}, zero"),
    ),
}
BEFORE = {
    "by TANH": "y[2,8] = GELU(x[2,8], approximate=True)",
    "by ERF": "y[2,8] = GELU(x[2,8], approximate=False)",
    "COMPLEX_ABS": "z:complex64[1,3,4,5] = RFFT2D(x[1,3,4,8], n:const:int32{4,8})\ny[1,3,4,5] = COMPLEX_ABS(z)",
}
GELUS = ("by TANH", "by ERF")


def compared(folder: Path, before: str, after: str, **options: object) -> Verdict:
    paths = folder / "before.tflite", folder / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(tflite(text))
    return verify(*paths, **options)  # type: ignore[arg-type]


@pytest.mark.ci
@pytest.mark.parametrize("name", FORMS)
def test_a_definition_is_proved_but_for_its_rounding(name: str, tmp_path: Path) -> None:
    verdict = compared(tmp_path, BEFORE[name], FORMS[name], runs=1)
    assert verdict.status == "equal", verdict.reason
    assert (verdict.proof or {})["status"] == "bounded"
    assert "1 inexact operator off by at most" in verdict_text(verdict)
    assert compared(tmp_path, BEFORE[name], FORMS[name], proof="only").status == "undecided"
    assert compared(tmp_path, BEFORE[name], FORMS[name], proof="without", runs=1).status == "different"


@pytest.mark.ci
@pytest.mark.parametrize(("name", "fault"), [(name, fault) for name in FAULTS for fault in FAULTS[name]])
def test_a_wrong_definition_is_refused_by_the_proof_and_by_the_runs(
    name: str, fault: tuple[str, str], tmp_path: Path
) -> None:
    wrong = FORMS[name].replace(*fault)
    assert wrong != FORMS[name]
    verdict = compared(tmp_path, BEFORE[name], wrong, runs=1)
    assert (verdict.proof or {})["status"] == "not proved"
    assert verdict.status == "different"


def test_the_other_definition_is_another_function(tmp_path: Path) -> None:
    for one, other in (("by TANH", "by ERF"), ("by ERF", "by TANH")):
        verdict = compared(tmp_path, BEFORE[one], FORMS[other], proof="only")
        assert (verdict.proof or {})["status"] == "not proved"


def test_a_name_for_what_was_written_out_is_not_proved(tmp_path: Path) -> None:
    for name, form in FORMS.items():
        verdict = compared(tmp_path, form, BEFORE[name], proof="only")
        assert (verdict.proof or {})["status"] == "not proved"


def test_what_the_first_file_has_in_both_forms_is_not_taken_for_the_other(tmp_path: Path) -> None:
    both = f"{FORMS['by TANH']}\nz[2,8] = GELU(x, approximate=True)"
    swapped = both.replace("y[2,8] = MUL", "v[2,8] = MUL").replace(
        "z[2,8] = GELU(x, approximate=True)", "z[2,8] = ABS(x)"
    )
    verdict = compared(tmp_path, both, swapped, proof="only")
    assert (verdict.proof or {})["status"] == "not proved"
    assert compared(tmp_path, both, f"{both}\n", runs=1).status == "proved"


def test_what_lies_beside_it_is_still_held_exactly(tmp_path: Path) -> None:
    before = f"{BEFORE['by TANH']}\nz[2,8] = NEG(y)"
    after = f"{FORMS['by TANH']}\nz[2,8] = ABS(y)"
    verdict = compared(tmp_path, before, after, runs=1)
    assert (verdict.status, (verdict.proof or {})["status"]) == ("different", "not proved")


SQUARES = "x[2,8] = POW(v[2,8], two:const[]{2.0})\n", "x[2,8] = MUL(v[2,8], v)\n"
"""Equal in the runs, and not proved."""


def behind(form: str, square: str) -> str:
    """The same with an operator in front."""
    return square + form.replace("x[2,8]", "x")


@pytest.mark.ci
@pytest.mark.parametrize("name", GELUS)
def test_behind_what_is_not_proved_the_runs_still_know_what_is_rounded(name: str, tmp_path: Path) -> None:
    texts = behind(BEFORE[name], SQUARES[0]), behind(FORMS[name], SQUARES[1])
    verdict = compared(tmp_path, *texts, runs=1)
    assert (verdict.status, (verdict.proof or {})["status"]) == ("equal", "not proved")
    assert (verdict.proof or {})["inexact"] == ["GELU#1"]
    wrong = behind(FORMS[name].replace(*FAULTS[name][0]), SQUARES[1])
    assert compared(tmp_path, texts[0], wrong, runs=1).status == "different"


# --- what the runs see --------------------------------------------------------------------------------------------

SITES = InexactSite("GELU#0", "y", "y"), InexactSite("GELU#4", "z", "z")


def test_a_site_that_no_run_showed_is_not_observed() -> None:
    found = held_sites(SITES, [{SITES[0]: 1e-7}, {}])
    assert (found.differs, found.open) == (None, "not observed: GELU#4")
    assert held_sites(SITES, []).open == "not observed: GELU#0, GELU#4"


def test_a_site_beyond_its_bound_differs() -> None:
    found = held_sites(SITES, [{SITES[0]: 1e-7, SITES[1]: 0.0}, {SITES[1]: 2e-4}])
    assert found.differs == "off by more than 0.0001 of the largest magnitude: GELU#4 (0.0002)"
    assert held_sites(SITES, [dict.fromkeys(SITES, np.inf)]).differs is not None
    assert held_sites(SITES, [dict.fromkeys(SITES, np.nan)]).differs is not None


def test_how_far_two_values_are_apart() -> None:
    a = np.float32([1, 2, -4, np.nan, np.inf])
    assert apart(a, a.copy()) == 0
    assert apart(a, a + np.float32([0, 0.5, 0, 0, 0])) == 0.125
    assert apart(a, np.float32([1, 2, -4, 0, np.inf])) == np.inf
    assert apart(a, np.float32([1, 2, -4, np.nan, -np.inf])) == np.inf
    assert apart(a, a[:4]) == np.inf
    assert apart(a, a.reshape(1, 5)) == 0
    assert apart(np.zeros(2, np.float32), np.float32([0, 1e-9])) == np.inf


@pytest.mark.ci
def test_beside_a_custom_operator_it_is_seen_in_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite("g[4] = GELU(x[4])\nh[4] = CUSTOM.Mine(g)\ny[4] = ADD(h, b:const[4]{1.0,2.0,3.0,4.0})"))
    outcome = graphfix.fix_file(path, tmp_path / "f.tflite", target="tosa")
    assert outcome.verdict is not None
    assert "not observed" not in verdict_text(outcome.verdict)
    assert "at GELU#0" in verdict_text(outcome.verdict)


def test_in_a_branch_nobody_sees_it(tmp_path: Path) -> None:
    text = """
    y[2,8] = IF(c:bool[], x[2,8], then=yes, else=no)
    subgraph yes:
    {}
    subgraph no:
    n[2,8] = NEG(x[2,8])
    """
    verdict = compared(tmp_path, text.format(BEFORE["by TANH"]), text.format(FORMS["by TANH"]), runs=1)
    assert (verdict.proof or {})["status"] == "bounded", verdict.proof
    assert (verdict.status, verdict.reason) == ("undecided", "not observed: GELU#0")
