"""Declare scales instead of sizes for a linear Resize (ONNX only; only with target tosa, or where it is named).

    Resize(x[1,3,4,4], , , [1,3,8,8], mode=linear)  ->  Resize(x, [], [1,1,2,2])

torch-mlir reads scales only. onnxruntime computes the scales from the sizes, as quotients in float32, and uses only the
scales. So the bits are the same if the scales lead to the same sizes again. Sizes must be numbers. Nodes with the modes
nearest or cubic, with a crop, with a policy for the aspect ratio, or with sizes of only some axes are not changed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from graphfix.graph.edits import Edit, New, Numbers, Replace, vector
from graphfix.graph.view import Node

ON = frozenset({("", "Resize")})
CODE = "GF304"
SIZES_AT = 3
PLAIN = {"axes": None, "keep_aspect_ratio_policy": "stretch", "antialias": 0}
"""Attributes that an exporter may write, with the value that changes nothing; None: absent."""
KEPT = (
    "coordinate_transformation_mode",
    "mode",
    "cubic_coeff_a",
    "exclude_outside",
    "extrapolation_value",
    "nearest_mode",
)


def plan(node: Node) -> Iterator[Edit]:
    """Yield the replacement of a linear Resize by sizes."""
    result, value, given = node.results[0], node.operand(0), node.operands[SIZES_AT:]
    if result is None or not given or given[0] is None or node.attributes.get("mode") != "linear":
        return
    wanted, ranked = given[0].elements, value.ranked
    if wanted is None or not ranked.static or len(wanted) != ranked.rank:
        return
    if any(node.attributes.get(name, plain) != plain for name, plain in PLAIN.items()):
        return
    # This mode reads only the part of the image in operand roi.
    if node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        return
    scales = tuple(_single(float(want) / have) for want, have in zip(wanted, ranked.numbers, strict=True) if have)
    if [int(_single(scale * have)) for scale, have in zip(scales, ranked.numbers, strict=False)] != list(wanted):
        return
    roi = Numbers((), (0,), "float32")
    attributes = tuple((name, node.attributes[name]) for name in KEPT if name in node.attributes)
    operands = (0, roi, vector(scales, "float32"))
    yield Replace(New("Resize", operands, result.shape, result.dtype, attributes), CODE)


def _single(number: float) -> float:
    """Return the number rounded to float32."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded
