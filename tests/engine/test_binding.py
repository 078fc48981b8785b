"""What is said of inputs with free sizes: the options that would bind them."""

from __future__ import annotations

import pytest

from graphfix.engine.binding import proposal
from models.builders.tflite.text import model as tflite
from tests.support import engine
from tests.support.notation import model


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("y[2] = Neg(x[2])", ""),
        ("y[*] = Neg(x[N,3,?,S])", "x[N,3,?,S]; bind: --shape 'x=1,3,<size>,<S>'"),
        (
            "y[*] = Add(x[N,2], k[*])",
            "x[N,2], k[*]; bind: --shape x=1,2 --shape 'k=<sizes>'",
        ),
    ],
    ids=["nothing is free", "sizes", "a rank"],
)
def test_each_free_input_is_proposed_with_a_place_for_each_size_that_nobody_knows(text: str, proposed: str) -> None:
    assert proposal(engine.load(model(text))) == proposed


def test_a_scalar_that_an_old_tflite_file_stores_without_a_rank_is_proposed_as_one() -> None:
    data = tflite("y[N,3] = MUL(x[N,3], m[])", has_rank=False)
    assert proposal(engine.load(data)) == "x[?,3], m[*]; bind: --shape x=1,3 --shape m="
