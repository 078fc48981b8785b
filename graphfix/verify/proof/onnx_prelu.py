"""PRelu of float32 as the product by which onnxruntime computes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import TensorProto

from graphfix.verify.proof import meeting
from graphfix.verify.proof.onnx_meaning import PRESENT, meaning
from graphfix.verify.proof.onnx_nodes import PRODUCTS, channels
from graphfix.verify.proof.onnx_ops import LEGACY_END
from graphfix.verify.proof.sizes import right_aligned

if TYPE_CHECKING:
    from graphfix.verify.proof.onnx_call import Call
    from graphfix.verify.proof.onnx_graphs import Reading
    from graphfix.verify.proof.terms import View


def product(reading: Reading, call: Call) -> View | None:
    """Give x * (1 where x >= 0, else slope): bit for bit onnxruntime's PRelu of float32, NaN and zeros included.

    None for other types, of which not every zero is the same, and where the slope may not fit the data: PRelu never
    stretches those.
    """
    data, slope = call.views
    if data is None or slope is None:
        return None
    if call.version < LEGACY_END:
        slope = channels(data, slope)
    if data.core.dtype != "float32" or data.sizes is None or slope.sizes is None or len(slope.sizes) > len(data.sizes):
        return None
    facing = zip(right_aligned(slope.sizes, len(data.sizes)), data.sizes, strict=True)
    if not all(size in (1, own) for size, own in facing):
        return None
    zero, one = (
        reading.constant(onnx.helper.make_tensor("", TensorProto.FLOAT, (), [value]), str(value)) for value in (0, 1)
    )
    table, newest, told = reading.table, max(call.version, PRESENT), call.told
    keys = {op: ("", op, meaning(op, "", newest), (), ()) for op in ("GreaterOrEqual", "Where", "Mul")}
    kept = meeting.elementwise(table, keys["GreaterOrEqual"], [data, zero], told)
    factor = meeting.elementwise(table, keys["Where"], [kept, one, slope], told)
    result = meeting.elementwise(table, keys["Mul"], [data, factor], told)
    if table.spelled.setdefault(result.core, "PRelu") != "PRelu" or result.core.told != told:
        table.assumes[PRODUCTS] = None
    return result
