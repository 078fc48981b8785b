"""The question to the installed runtime for each fact that differs between versions (`results.runtime_facts`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx.parser

from graphfix.results.runtime_facts import (
    ATTENTION_STRETCHES_MASKS,
    FUNCTION_TWICE_REFUSED,
    RANGE_COUNTED_IN_FLOAT64,
    RANGE_DIVIDED_IN_FLOAT64,
    SIZE_0_KEEPS_AXES,
)
from graphfix.runtimes.onnx import onnxruntime
from graphfix.runtimes.session import RefusedError
from tests.support.runtimes.one_node import Refused, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def keeps_axes_of_nothing() -> bool:
    """Return whether a reduction along -1 without keepdims keeps the axis where there are no elements."""
    nothing = np.zeros((0, 2, 3, 8), dtype=np.float32)
    (result,) = run("ReduceSum", nothing, np.array([-1]), opset=13, keepdims=0)
    return result.shape == nothing.shape


def stretches_masks() -> bool:
    """Return whether Attention of operator set 25 takes a mask of one row."""
    query, key = np.ones((2, 4, 3, 8), dtype=np.float32), np.ones((2, 4, 5, 8), dtype=np.float32)
    try:
        run("Attention", query, key, key, np.ones((1, 5), dtype=np.float32), opset=25)
    except Refused:
        return False
    return True


def divides_in_float64() -> bool:
    """Return whether the length of a Range of int64 is a quotient of float64."""
    start, limit, step = (np.array(number, dtype=np.int64) for number in (0, (1 << 53) + 1, 1 << 53))
    (result,) = run("Range", start, limit, step, opset=11)
    return result.size == 1


def counts_in_float64() -> bool:
    """Return whether a Range of three numbers beyond 2**53 has another number of elements."""
    far = -31584960600202078
    start, limit, step = (np.array(number, dtype=np.int64) for number in (far, far + 3, 1))
    (result,) = run("Range", start, limit, step, opset=11)
    return result.size != 3


TWICE = """<ir_version: 10, opset_import: ["": 17, "local": 1]>
g (float[2] x) => (float[2] y) { y = local.F(x) }
<domain: "local", opset_import: ["": 17]> F (a) => (b) { b = Relu(a) }
"""


def refuses_a_function_twice() -> bool:
    """Return whether a model that defines a local function twice is refused."""
    proto = onnx.parser.parse_model(TWICE)
    proto.functions.append(proto.functions[0])
    try:
        onnxruntime.load(proto.SerializeToString())
    except RefusedError:
        return True
    return False


QUESTIONS: Mapping[str, Callable[[], bool]] = {
    SIZE_0_KEEPS_AXES.name: keeps_axes_of_nothing,
    ATTENTION_STRETCHES_MASKS.name: stretches_masks,
    RANGE_DIVIDED_IN_FLOAT64.name: divides_in_float64,
    RANGE_COUNTED_IN_FLOAT64.name: counts_in_float64,
    FUNCTION_TWICE_REFUSED.name: refuses_a_function_twice,
}
"""By the name of a fact: whether the installed runtime does what it says."""
