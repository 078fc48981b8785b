"""Set half_pixel_centers for a nearest-neighbour enlargement by 2, 4, 8 .. (TFLite only).

    RESIZE_NEAREST_NEIGHBOR(x[1,4,4,3], [8,8])  ->  the same with half_pixel_centers=True

The old coordinates are floor(i * 0.5), and those of the centers floor((i + 0.5) * 0.5). Both select the same elements
if an axis is repeated by a power of 2, because then no float is rounded. The converter to TOSA computes the old
coordinates wrongly: it rounds instead of truncating. Nodes with other factors are not changed, and are reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Replace
from graphfix.graph.view import Node
from graphfix.operators.row import TFLITE

OP = "RESIZE_NEAREST_NEIGHBOR"
ON = frozenset({(TFLITE, OP)})
CODE = "GF304"
CENTERS = "half_pixel_centers"
IMAGE = slice(1, 3)
"""The axes that are resized: rows and columns."""


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement by an equal node with the option half_pixel_centers."""
    data, result = node.operand(0), node.results[0]
    if result is None or node.attributes.get(CENTERS) or node.attributes.get("align_corners"):
        return
    if not (data.ranked.static and result.ranked.static):
        return
    pairs = zip(data.shape.numbers[IMAGE], result.shape.numbers[IMAGE], strict=True)
    if all(have and want % have == 0 and (want // have).bit_count() == 1 for have, want in pairs):
        options = ((CENTERS, True),)
        yield Replace(New(OP, (0, 1), result.shape, result.dtype, options, version=node.version), CODE)
