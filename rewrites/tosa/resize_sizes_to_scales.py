"""State the factors of a linear Resize in place of its sizes (ONNX only; only with target tosa, or where it is named).

    Resize(x[1,3,4,4], , , [1,3,8,8], mode=linear)  ->  Resize(x, [], [1,1,2,2])

torch-mlir reads scales alone. onnxruntime computes them of the sizes, as quotients in float32, and goes on by them: the
same bits, where the scales lead to the same sizes again. Sizes must be numbers; nearest and cubic modes, a crop, a
policy for the aspect ratio, and sizes of some axes alone stay.
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
"""What an exporter may say that changes nothing; None: absent."""
KEPT = (
    "coordinate_transformation_mode",
    "mode",
    "cubic_coeff_a",
    "exclude_outside",
    "extrapolation_value",
    "nearest_mode",
)


def plan(node: Node) -> Iterator[Edit]:
    """Replace a linear Resize by sizes."""
    result, value, given = node.results[0], node.operand(0), node.operands[SIZES_AT:]
    if result is None or not given or given[0] is None or node.attributes.get("mode") != "linear":
        return
    wanted, ranked = given[0].elements, value.ranked
    if wanted is None or not ranked.static or len(wanted) != ranked.rank:
        return
    if any(node.attributes.get(name, plain) != plain for name, plain in PLAIN.items()):
        return
    if node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":  # it reads a part, roi
        return
    scales = tuple(_single(float(want) / have) for want, have in zip(wanted, ranked.numbers, strict=True) if have)
    if [int(_single(scale * have)) for scale, have in zip(scales, ranked.numbers, strict=False)] != list(wanted):
        return
    roi = Numbers((), (0,), "float32")
    attributes = tuple((name, node.attributes[name]) for name in KEPT if name in node.attributes)
    operands = (0, roi, vector(scales, "float32"))
    yield Replace(New("Resize", operands, result.shape, result.dtype, attributes), CODE)


def _single(number: float) -> float:
    """The number as float32 has it."""
    rounded: float = struct.unpack("f", struct.pack("f", number))[0]
    return rounded
