"""What a data set expects of an output: sequences element by element, texts and truth values exactly."""

from __future__ import annotations

import numpy as np
import pytest

from graphfix.checker.runs.inputs.given_inputs import expectation

ONE, TWO = np.float32([1, 2]), np.float32([1, 3])
MET: list[tuple[object, object]] = [
    ([ONE, TWO], [ONE, TWO]),
    ((ONE, TWO), [ONE, TWO]),
    (np.array(["a", "b"]), np.array(["a", "b"])),
    (np.array([True, False]), np.array([True, False])),
    (None, None),
]
MISSED: list[tuple[object, object]] = [
    ([ONE, TWO], [ONE, ONE]),
    ([ONE], [ONE, TWO]),
    (ONE, [ONE, TWO]),
    (np.array(["a", "b"]), np.array(["a", "c"])),
    (np.array([True, False]), np.array([True, True])),
    (ONE, None),
    (ONE, ONE[:1]),
    ([np.float64(1001.0005)], [np.float64(1000)]),
]


@pytest.mark.parametrize(("got", "wanted"), MET)
def test_an_output_as_it_is_expected_is_no_matter(got: object, wanted: object) -> None:
    assert expectation({"y": got}, {"y": wanted}) is None


@pytest.mark.parametrize(("got", "wanted"), MISSED)
def test_an_output_that_is_not_as_expected_is_named(got: object, wanted: object) -> None:
    assert "the output 'y' is not what the data set expects" in str(expectation({"y": got}, {"y": wanted}))
