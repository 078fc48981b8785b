"""GELU of float32 in other operators: the plan, the numbers that it computes, and what TOSA makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import graphfix
from graphfix.graph.edits import Replace
from graphfix.graph.view import UnrankedOperand
from rewrites.tosa.decompose_gelu import plan
from tests.support.named import rules
from tests.support.notation import node
from tests.support.runtimes.tosa_loop import litert_reference, needs_tools, prepared, ran, tflite
from tests.support.tflite.fixing import fixed

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = np.float32([-np.inf, -1e20, -30, -5, -3, -1, -1e-3, -0.0, 0, 0.5, 1, 2, 5, 1e20, np.inf, np.nan])
FORMS = {"by TANH": "True", "by ERF": "False"}


@pytest.mark.parametrize("text", ["y:int8[4] = tflite.GELU(x:int8[4])", "y:int16[4] = tflite.GELU(x:int16[4])"])
def test_a_quantized_one_stays(text: str) -> None:
    assert list(plan(node(text))) == []


def test_it_is_inexact_and_says_so() -> None:
    (edit,) = plan(node("y[2,3] = tflite.GELU(x[2,3], approximate=True)"))
    assert isinstance(edit, Replace)
    assert (edit.node.op, edit.inexact is not None) == ("MUL", True)
    outcome = fixed("y[4] = GELU(x[4], approximate=True)", rewrites=rules("decompose-gelu")).outcome
    (site,) = [site for site in outcome.sites if site.rewrite == "decompose-gelu"]
    assert site.inexact == edit.inexact


def test_a_rank_that_is_not_known_is_undecided() -> None:
    with pytest.raises(UnrankedOperand):
        list(plan(node("y[*] = tflite.GELU(x[*])")))


@pytest.mark.parametrize("approximate", FORMS.values(), ids=FORMS)
def test_both_forms_compute_the_same_over_the_whole_domain(approximate: str, tmp_path: Path) -> None:
    before = tflite(tmp_path, f"y[16] = GELU(x[16], approximate={approximate})")
    after = tmp_path / "after.tflite"
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.rewrites["decompose-gelu"] == 1
    x = np.where(np.isinf(WHOLE), np.float32(0), WHOLE)  # LiteRT's MUL and ADD cut infinities off, TOSA's do not
    want, got = (litert_reference(path, {"x": x})["y"] for path in (before, after))
    np.testing.assert_allclose(got, want, rtol=3e-7, atol=3e-6)


@pytest.mark.ci
@needs_tools
@pytest.mark.parametrize("approximate", FORMS.values(), ids=FORMS)
def test_tosa_computes_the_same_of_negative_numbers_too(approximate: str, tmp_path: Path) -> None:
    before = tflite(tmp_path, f"y[16] = GELU(x[16], approximate={approximate})")
    as_it_is = ran(before, WHOLE)
    assert np.isnan(as_it_is.outputs[0][1:6]).all(), "the converter gets it right by now: the rewrite may go"
    computed = ran(prepared(before), WHOLE)
    assert computed.status == "valid"
    np.testing.assert_allclose(computed.outputs[0], litert_reference(before, {"x": WHOLE})["y"], rtol=1e-6, atol=3e-6)
