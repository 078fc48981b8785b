"""Which values a seeded input takes: the type's, within an interval, one of the constants it is compared with."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import Interface, TensorSpec
from graphfix.checker.runs.inputs.seeded_inputs import Choice, UnfedError, choices, seeded

MANY = 4000


def spec(dtype: object, *dims: int | str, **changes: object) -> TensorSpec:
    kind = changes.pop("kind", "tensor")
    return TensorSpec("x", kind, None if dtype is None else np.dtype(dtype), dims, **changes)  # type: ignore[arg-type,call-overload]


def interface(*specs: TensorSpec, **changes: object) -> Interface:
    return Interface(specs, (), (), specs, **changes)  # type: ignore[arg-type]


def made(one: TensorSpec, limits: Limits | None = None, choice: Choice | None = None, seed: int = 0) -> object:
    return seeded(interface(one), {"N": MANY}, limits or Limits(), choice or Choice(), (seed, 0)).feeds["x"]


def array(one: TensorSpec, limits: Limits | None = None, choice: Choice | None = None) -> np.ndarray:
    found = made(one, limits, choice)
    assert isinstance(found, np.ndarray)
    return found


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        (np.int64, range(11)),
        (np.uint8, range(11)),
        (ml_dtypes.int4, range(8)),
        (ml_dtypes.uint4, range(11)),
        (ml_dtypes.int2, range(2)),
        (ml_dtypes.uint2, range(4)),
        (np.bool_, range(2)),
    ],
)
def test_integers_that_nothing_bounds_are_small(dtype: type, values: range) -> None:
    found = array(spec(dtype, "N"))
    assert found.dtype == np.dtype(dtype)
    assert set(found.astype(int).tolist()) == set(values)
    fewer = array(spec(dtype, "N"), choice=Choice(most=1))
    assert set(fewer.astype(int).tolist()) == {0, 1}


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_a_quantized_input_has_all_numbers_of_its_type(dtype: type) -> None:
    found = array(spec(dtype, 40, MANY // 8, quantization=((0.5,),)))
    info = np.iinfo(dtype)
    assert (found.dtype, found.min() < info.min + 99, found.max() > info.max - 99) == (np.dtype(dtype), True, True)
    assert found.shape == (40, MANY // 8)


@pytest.mark.parametrize(
    ("dtype", "interval", "low", "high"),
    [
        (np.int64, (2, 5), 2, 5),
        (np.int64, (1.5, 4.5), 2, 4),
        (np.int64, (7, 3), 7, 7),
        (np.uint8, (-5, 2), 0, 2),
        (np.uint8, (-5, -2), 0, 0),
        (np.int8, (120, 300), 120, 127),
        (np.int8, (-300, -127), -128, -127),
        (ml_dtypes.int4, (0.5, 3.5), 1, 3),
    ],
)
def test_whole_numbers_reach_both_ends_of_their_interval(
    dtype: type, interval: tuple[float, float], low: int, high: int
) -> None:
    found = array(spec(dtype, "N"), Limits({"x": interval})).astype(int)
    assert set(found.tolist()) == set(range(low, high + 1))


def test_floats_are_drawn_within_their_interval() -> None:
    found = array(spec(np.float32, "N"), Limits({"x": (0.0, 4.5)}))
    assert (found.dtype, 0 <= found.min() < 0.1, 4.4 < found.max() <= 4.5) == (np.float32, True, True)
    assert len(set(found.tolist())) > 1000
    whole = array(spec(np.float32, "N"), Limits({"x": (0, 4)}))
    assert set(whole.tolist()) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("turn", "share", "value"), [(0, 0.25, 700.0), (1, 0.25, 30.0), (2, 0, -1), (3, 0.25, 700.0), (5, 0, -1)]
)
def test_a_quarter_of_a_tensor_is_a_constant_that_it_is_compared_with(turn: int, share: float, value: float) -> None:
    known = Limits(compared={"x": (700.0, 30.0)})
    found = array(spec(np.int64, "N"), known, Choice(turn))
    assert np.mean(found > 10) == pytest.approx(share, abs=0.05)
    assert set(found[found > 10].tolist()) <= {value}
    scalar = array(spec(np.int64), known, Choice(turn))
    assert (scalar.item() == value) == (share > 0)
    bounded = array(spec(np.int64), Limits({"x": (0, 50)}, {"x": (700.0, 30.0)}), Choice(turn))
    assert (0 <= bounded.item() <= 50, bounded.item() == min(value, 50)) == (True, share > 0)


def test_elements_that_are_given_are_taken_where_they_fill_the_input() -> None:
    known = Limits(given={"x": (1, 8, 3)})
    assert array(spec(np.int32, 3), known).tolist() == [1, 8, 3]
    assert array(spec(np.int32, 1, 3), known).tolist() == [[1, 8, 3]]
    assert array(spec(np.int32, 4), known).shape == (4,)


def test_every_kind_of_input_has_values() -> None:
    words = array(spec(object, 30, 10))
    assert (words.shape, {"a", "", "10"} <= set(words.ravel().tolist())) == ((30, 10), True)
    assert array(spec(object)).shape == ()
    sequence = made(spec(np.float32, 2, kind="sequence"))
    assert isinstance(sequence, list)
    assert [each.shape for each in sequence] == [(2,)] * 3
    assert not np.array_equal(sequence[0], sequence[1])
    optional = made(spec(np.float32, 2, kind="optional sequence"))
    assert isinstance(optional, list)
    numbers = made(spec(np.float32, kind="map"))
    assert isinstance(numbers, dict)
    assert list(numbers) == ["a", "bc", "def"]
    assert array(spec(None, 2)).dtype == np.float32
    complex_ = array(spec(np.complex64, "N"))
    assert (complex_.dtype, complex_.real.std() > 0.5, complex_.imag.std() > 0.5) == (np.complex64, True, True)
    assert array(spec(ml_dtypes.float8_e8m0fnu, "N")).astype(float).min() > 0
    assert array(spec(ml_dtypes.bfloat16, "N")).astype(float).min() < -1


@pytest.mark.parametrize(
    ("softness", "scales"), [(0, [1, 0.1, 0.01, 1]), (1, [0.1, 0.01, 1, 0.1]), (2, [0.01, 1, 0.1, 0.01])]
)
def test_rows_are_loud_and_soft_in_turn(softness: int, scales: list[float]) -> None:
    found = array(spec(np.float32, 4, MANY), choice=Choice(softness=softness))
    assert found.std(axis=1) == pytest.approx(scales, rel=0.1)
    assert array(spec(np.float32, MANY), choice=Choice(softness=softness)).std() == pytest.approx(scales[0], rel=0.1)


def test_an_input_keeps_its_values_when_another_one_goes() -> None:
    x, y = spec(np.float32, 3), TensorSpec("y", "tensor", np.dtype(np.float32), (3,))
    both = seeded(interface(y, x), {}, Limits(), Choice(), (5, 1)).feeds
    alone = seeded(interface(x), {}, Limits(), Choice(), (5, 1)).feeds
    assert np.array_equal(np.asarray(both["x"]), np.asarray(alone["x"]))
    for seed in ((5, 2), (4, 1)):
        other = seeded(interface(x), {}, Limits(), Choice(), seed).feeds
        assert not np.array_equal(np.asarray(other["x"]), np.asarray(alone["x"]))
    constant = np.float32([7])
    fed = seeded(interface(x, constant=((y, constant),)), {}, Limits(), Choice(), (5, 1)).feeds
    assert (fed["y"] is constant, list(fed)) == (True, ["y", "x"])


@pytest.mark.parametrize(
    ("dims", "said"),
    [
        ((1,) * 33, "has 33 axes: no values are made for more than 32"),
        ((1 << 14, (1 << 14) + 1), "more than 268435456"),
    ],
)
def test_no_values_are_made_for_what_memory_or_numpy_do_not_hold(dims: tuple[int, ...], said: str) -> None:
    with pytest.raises(UnfedError, match=said):
        made(spec(np.float32, *dims))
    assert array(spec(np.float32, *(1,) * 32)).shape == (1,) * 32


@pytest.mark.parametrize(
    ("specs", "known", "number", "expected"),
    [
        ([spec(np.float32)], Limits(), 0, [(0, 10, 0)]),
        ([spec(np.float32)], Limits(), 4, [(4, 10, 1)]),
        ([spec(np.int64)], Limits(), 0, [(0, 10, 0), (0, 1, 0)]),
        ([spec(np.int64)], Limits({"x": (0, 4)}), 0, [(0, 10, 0)]),
        ([spec(np.int64)], Limits({"y": (0, 4)}), 1, [(1, 10, 1), (1, 1, 1)]),
        ([spec(np.float32)], Limits(compared={"x": (1.0, 2.0)}), 1, [(1, 10, 1), (2, 10, 1), (3, 10, 1)]),
        ([spec(np.float32)], Limits(compared={"x": (1.0,) * 9}), 0, [(turn, 10, 0) for turn in range(4)]),
        ([spec(np.float32)], Limits(compared={"y": (1.0, 2.0)}), 0, [(0, 10, 0)]),
        ([spec(None)], Limits(), 0, [(0, 10, 0)]),
    ],
)
def test_constants_are_tried_in_turn_and_then_smaller_integers(
    specs: list[TensorSpec], known: Limits, number: int, expected: list[tuple[int, int, int]]
) -> None:
    assert [(c.turn, c.most, c.softness) for c in choices(interface(*specs), known, number)] == expected
