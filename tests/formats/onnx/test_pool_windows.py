"""How often a window of a pool fits over a size that is no number: at the bounds where onnxruntime rounds otherwise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from graphfix.formats.onnx.infer.operators.windows import SOME_IMAGE, Window, pooled
from graphfix.shapes.dim import UNKNOWN, Dim, Size
from graphfix.shapes.terms import Terms

N, SOME = Dim(("N",)), Dim(("N",), 1)


def asked(size: Size, window: Window, batch: Size = N, **attributes: Any) -> tuple[Size, Terms, set[str]]:  # noqa: ANN401
    """Return the size, the terms that it is one of, and what is assumed."""
    assumes: dict[str, None] = {}
    call = SimpleNamespace(
        terms=Terms(),
        flag=lambda name, default: attributes.get(name, bool(default)),
        text=lambda name, default="": attributes.get(name, default),
        dims=lambda _: (batch, 3, size),
        scope=SimpleNamespace(assumes=assumes),
    )
    return pooled(cast("Any", call), size, window), call.terms, set(assumes)


def test_a_window_as_wide_as_its_stride_halves_the_size_and_is_there_once() -> None:
    found, terms, _ = asked(N, Window(2, 2, 1, 0, 0))
    assert found == terms.maximum(terms.floordiv(N, 2), 1)


def test_a_window_that_is_wider_by_more_than_a_stride_has_a_name_of_its_own() -> None:
    found, terms, _ = asked(N, Window(3, 1, 1, 0, 0))
    assert found == terms.opaque("pool", N, -3, 1, low=0)
    found, terms, _ = asked(N, Window(3, 2, 1, 0, 0))
    assert found == terms.opaque("pool", N, -3, 2, low=0)


def test_a_window_that_is_wider_by_less_is_there_once_at_least() -> None:
    found, terms, _ = asked(N, Window(3, 3, 1, 0, 0))
    assert found == terms.maximum(terms.floordiv(N, 3), 1)


@pytest.mark.parametrize(
    ("size", "batch", "assumed"), [(N, N, True), (SOME, N, False), (N, SOME, False), (N, 2, False)]
)
def test_an_empty_image_is_assumed_away_where_there_may_be_one(size: Size, batch: Size, assumed: bool) -> None:
    window = Window(2, 2, 1, 0, 1)
    assert (SOME_IMAGE in asked(size, window, batch)[2]) is assumed


def test_a_window_of_one_element_assumes_nothing() -> None:
    found, _, assumes = asked(N, Window(1, 1, 1, 0, 0))
    assert (found, assumes) == (N, set())


@pytest.mark.parametrize(
    ("size", "window", "attributes", "expected"),
    [
        (8, Window(3, 2, 1, 0, 0), {}, 3),
        (8, Window(3, 2, 1, 0, 0), {"ceil_mode": True}, 4),
        (7, Window(3, 2, 1, 0, 0), {"ceil_mode": True}, 3),
        (4, Window(2, 3, 1, 0, 1), {"ceil_mode": True}, 2),
        (3, Window(2, 3, 1, 0, 1), {"ceil_mode": True}, 1),
        (8, Window(3, 2, 1, 0, 0), {"ceil_mode": None}, UNKNOWN),
        (2, Window(3, 1, 1, 0, 0), {}, UNKNOWN),
        (3, Window(3, 1, 1, 0, 0), {}, 1),
        (9, Window(3, 2, 1, 0, 0), {"auto_pad": "SAME_UPPER"}, 5),
        (9, Window(3, 2, 1, 0, 0), {"auto_pad": "SAME_UPPER", "ceil_mode": True}, UNKNOWN),
        (0, Window(3, 2, 1, 0, 0), {"auto_pad": "SAME_UPPER"}, UNKNOWN),
    ],
)
def test_over_a_number_it_fits_as_often_as_onnxruntime_says(
    size: int, window: Window, attributes: dict[str, object], expected: Size
) -> None:
    assert asked(size, window, **attributes)[0] == expected
