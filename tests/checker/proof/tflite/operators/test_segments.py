"""Sizes that einsum multiplies by segments, and that a RANGE of floats counts to: the proof follows both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from models.builders.tflite.text import model
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

EINSUM = """
s:int32[3] = SHAPE(x[?,2,3], out_type=INT32)
t:int32[2] = UNSORTED_SEGMENT_PROD(s, i:const:int32[3]{0,1,1}, n:const:int32[]{2})
r[?,6] = RESHAPE(x, t)
"""
COUNTED = """
s:int32[2] = SHAPE(x[?,6], out_type=INT32)
n:int32[] = STRIDED_SLICE(s, b:const:int32[1]{0}, e:const:int32[1]{1}, t:const:int32[1]{1}, shrink_axis_mask=1)
f[] = CAST(n, in_data_type=INT32, out_data_type=FLOAT32)
g[?] = RANGE(o:const[]{%s}, f, d:const[]{1.0})
r[?,1] = EXPAND_DIMS(g, k:const:int32[]{1})
"""


def proved(before: str, after: str, tmp_path: Path) -> tuple[str, list[str]]:
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path, text in zip(paths, (before, after), strict=True):
        path.write_bytes(model(text))
    found = prove(*paths, tflite=True)
    return found.status, list(found.assumes)


def test_a_product_of_segments_is_a_size(tmp_path: Path) -> None:
    """[x0, 2*3] is r's shape, so that c[1,6] is stretched to what ADD makes of it."""
    after = EINSUM + "h:int32[2] = SHAPE(r, out_type=INT32)\nu[?,6] = BROADCAST_TO(c[1,6], h)\ny[?,6] = ADD(r, u)"
    assert proved(EINSUM + "y[?,6] = ADD(r, c[1,6])", after, tmp_path)[0] == "proved"


@pytest.mark.parametrize(("start", "status"), [("0.0", "proved"), ("1.0", "not proved"), ("0.5", "not proved")])
def test_a_range_of_floats_counts_to_the_size_that_was_cast(start: str, status: str, tmp_path: Path) -> None:
    """G is [x0] where it starts at 0, so r[x0,1] has no axis that stretches x[x0,6]."""
    one = COUNTED % start + "y[?,6] = ADD(x, r)"
    stretch = "h:int32[2] = SHAPE(x, out_type=INT32)\nu[?,6] = BROADCAST_TO(r, h)\n"
    two = COUNTED % start + stretch + "y[?,6] = ADD(x, u)"
    found, assumes = proved(one, two, tmp_path)
    assert found == status
    assert any("2 ** 24" in text for text in assumes) == (start != "0.5" and found == "proved")
