"""Find constants of the second file whose storage in a data file may stop onnxruntime from loading the model.

onnxruntime infers shapes when it loads a model. onnx's inference reads sizes, axes and scales. If one of them is in a
data file, it refuses the model ("Cannot parse data from external tensors"), also for nodes whose results nothing reads.
"""

from __future__ import annotations

from collections import Counter
from math import prod
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.files.onnx.external_data import is_external, tensors
from graphfix.checker.files.onnx.graphs import every_node
from graphfix.checker.proof.onnx.reading.operands import domain_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import ModelProto

_EVER_READ: Mapping[int, int | None] = {
    TensorProto.INT64: None,
    **dict.fromkeys((TensorProto.INT32, TensorProto.INT16), 64),
    **dict.fromkeys((TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16), 8),
}
"""The most elements that inference reads from a constant, by the constant's type; None for any number.

Constants of int64 are shapes, axes, and the sizes of parts (Split). Other integers are scalars (Range, DFT) or vectors
with an element for each axis. Floats are the scalars of Range, and the scales of Resize and Upsample, of at most eight
axes.
"""
_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.INT16})
_READS_FLOATS = frozenset("Resize Upsample Range OneHot Identity Loop Scan".split())
"""Operators whose float operands the inference reads, and operators that pass an operand on."""


def moved_operand(one: ModelProto, two: ModelProto) -> str | None:
    """Return why the second model may not load; None if no reason is found.

    The reason is a constant that onnx's inference may read, if only the second model stores it in a data file.
    Constants of the two models match if their names, types and dims without unit axes are equal. Integers count for
    every operator, because they also reach operators through Identity, bodies and functions.
    """
    theirs = _external(two)
    found = next(iter(theirs - _external(one)), None) if theirs else None
    if found is None:
        return None
    return f"the constant {found[0]!r} lies in a data file in the second file alone, where inference can't read it"


def _external(model: ModelProto) -> Counter[tuple[str, int, tuple[int, ...]]]:
    """Count the constants of a model that are stored in data files and that inference may read, by name, type and dims.

    The dims are without unit axes.
    """
    found = [tensor for tensor in tensors(model) if is_external(tensor) and _may_be_read(tensor)]
    names = _read_as_floats(model) if found else frozenset()
    return Counter(
        (tensor.name, tensor.data_type, tuple(size for size in tensor.dims if size != 1))
        for tensor in found
        if tensor.data_type in _INTEGERS or tensor.name in names
    )


def _read_as_floats(model: ModelProto) -> frozenset[str]:
    """Return the names of operands that inference may read as floats, directly or through an Identity, loop or call."""
    return frozenset(
        name
        for node in every_node(model)
        if node.op_type in _READS_FLOATS or domain_of(node.domain)
        for name in node.input
    )


def _may_be_read(tensor: TensorProto) -> bool:
    """Return whether a constant may be a size, an axis, a scale, or a vector of them. Unit axes are ignored."""
    if tensor.data_type not in _EVER_READ or sum(size != 1 for size in tensor.dims) > 1:
        return False
    most = _EVER_READ[tensor.data_type]
    return most is None or prod(tensor.dims) <= most
