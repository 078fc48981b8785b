"""Find constants of the second file whose storage in a data file may stop onnxruntime from loading the model.

onnxruntime infers shapes when it loads a model. onnx's inference reads sizes, axes and scales, and refuses those that
lie in a data file ("Cannot parse data from external tensors"), also for nodes that nothing reads.
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
"""By type of the constants that inference reads: the most elements that it reads, None for any number.

int64 holds shapes, axes, and the sizes of parts (Split). Other integers are scalars (Range, DFT) or vectors with an
element for each axis. Floats are the scalars of Range, and the scales of Resize and Upsample, of eight axes at most.
"""
_INTEGERS = frozenset({TensorProto.INT64, TensorProto.INT32, TensorProto.INT16})
_READS_FLOATS = frozenset("Resize Upsample Range OneHot Identity Loop Scan".split())
"""Operators whose float operands the inference reads, and those that pass an operand on."""


def moved_operand(one: ModelProto, two: ModelProto) -> str | None:
    """Return why the second model may not load: inference may read a constant that only it keeps in a data file.

    Constants are matched by name, type and dims without unit axes. For integers all operators are treated alike,
    because a constant reaches them through Identity, bodies and functions too. Returns None if there is none.
    """
    theirs = _external(two)
    found = next(iter(theirs - _external(one)), None) if theirs else None
    if found is None:
        return None
    return f"the constant {found[0]!r} lies in a data file in the second file alone, where inference can't read it"


def _external(model: ModelProto) -> Counter[tuple[str, int, tuple[int, ...]]]:
    """Count the constants of a model that lie in data files and may be read by inference."""
    found = [tensor for tensor in tensors(model) if is_external(tensor) and _may_be_read(tensor)]
    names = _read_as_floats(model) if found else frozenset()
    return Counter(
        (tensor.name, tensor.data_type, tuple(size for size in tensor.dims if size != 1))
        for tensor in found
        if tensor.data_type in _INTEGERS or tensor.name in names
    )


def _read_as_floats(model: ModelProto) -> frozenset[str]:
    """Return the names of float operands that the inference may read, directly or through other nodes."""
    return frozenset(
        name
        for node in every_node(model)
        if node.op_type in _READS_FLOATS or domain_of(node.domain)
        for name in node.input
    )


def _may_be_read(tensor: TensorProto) -> bool:
    """Return whether a constant may be a size, an axis, a scale, or a vector of them; unit axes do not matter."""
    if tensor.data_type not in _EVER_READ or sum(size != 1 for size in tensor.dims) > 1:
        return False
    most = _EVER_READ[tensor.data_type]
    return most is None or prod(tensor.dims) <= most
