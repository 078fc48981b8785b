"""The inputs of a body that is run in several ways: which sizes all of them pass, and which are equal in each."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from graphfix.formats.tflite.infer.subgraphs import _shared
from graphfix.shapes.dim import Dim, Size, symbol

N, M, OWN, OTHER = (symbol(name) for name in ("N", "M", "own", "other"))
UNNAMED = Dim((), 0, 9)


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ((3, 3), (3, 3), [3, 3]),
        ((3,), (4,), [3, 4]),
        ((3, 4), (3, 4), [OWN, OWN]),
        ((3, 4), (4, 3), [OWN, OTHER]),
        ((N, 3), (N, 3), [OWN, OWN]),
        ((N, N), (N, N), [OWN, OWN]),
        ((N, 3), (M, 3), [OWN, OTHER]),
        ((N, 3), (Dim(N.parts, 2, 5), 3), [OWN, OWN]),
        ((Dim(), 3), (Dim(), 3), [OWN, OTHER]),
        ((3, UNNAMED), (3, UNNAMED), [OWN, OTHER]),
    ],
    ids=[
        "a number that all pass",
        "other numbers",
        "equal in each way",
        "equal in none",
        "one name",
        "one name in all",
        "other names",
        "one name in another range",
        "nothing is known",
        "no name",
    ],
)
def test_sizes_that_are_equal_in_every_way_have_one_name(
    one: Sequence[Size], other: Sequence[Size], found: list[Size]
) -> None:
    names: dict[tuple[object, ...], Dim] = {}
    assert [_shared(names, one, OWN), _shared(names, other, OTHER)] == found
