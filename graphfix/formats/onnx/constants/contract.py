"""Check a node whose operands are constant against the ONNX specification. Only an allowed node is evaluated.

The schema is checked first: the number of operands and results, their element types, the attributes and their types.
Then the requirements of the specification's text on ranks and values are checked (`CONTRACTS`). Runtimes fail on other
nodes, or return different results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
import onnx
from numpy.typing import NDArray

from graphfix.formats.onnx.file.attributes import attributes
from graphfix.formats.onnx.schemas import KINDS, Schema, schema
from graphfix.results.onnx_messages import AttributeProto, NodeProto, TensorProto
from graphfix.results.records import dataclass

Array: TypeAlias = NDArray[Any]
NEGATIVE_AXES_SINCE = 11
"""The opset since which an axis may be negative and then counts from the end."""
BROADCASTS_SINCE = 8
"""The opset since which all operators of `_elementwise` broadcast: Min and Max since 8, the binary ones since 7."""


@dataclass(frozen=True, slots=True)
class Question:
    """A node with the arrays of its operands."""

    op: str
    version: int
    arrays: Sequence[Array | None]
    """One array for each operand; None for an absent operand."""
    attributes: Mapping[str, object]
    results: int

    def array(self, index: int) -> Array | None:
        """Return the array of operand `index`; None if the operand is absent."""
        return self.arrays[index] if index < len(self.arrays) else None

    @property
    def data(self) -> Array:
        """Return the array of operand 0.

        It is present, because the schemas of all operators in CONTRACTS require it.
        """
        array = self.array(0)
        return np.empty(0) if array is None else array

    def vector(self, index: int, attribute: str = "") -> list[int] | None:
        """Return the elements of operand `index`, or of the attribute if the operand is absent.

        Returns None if the operand does not have rank 1, or if neither the operand nor a list attribute is present.
        """
        array = self.array(index)
        if array is not None:
            return [int(it) for it in array] if array.ndim == 1 else None
        given = self.attributes.get(attribute)
        return list(given) if isinstance(given, tuple) else None

    def axis(self, default: int) -> int | None:
        """Return the axis that the attribute `axis` states, counted from the front; None if operand 0 has no such axis.

        Without the attribute, `default` is used.
        """
        given = self.attributes.get("axis", default)
        axes = self.places([given]) if isinstance(given, int) else None
        return None if axes is None else axes[0]

    def places(self, axes: Sequence[int], rank: int | None = None) -> list[int] | None:
        """Return `axes` counted from the front; None if an axis is out of range or repeated.

        `rank` is the rank in which the axes are counted. It is the rank of operand 0 by default. Negative axes are
        valid from opset 11 on.
        """
        rank = self.data.ndim if rank is None else rank
        low = -rank if self.version >= NEGATIVE_AXES_SINCE else 0
        if not all(low <= axis < rank for axis in axes):
            return None
        found = [axis % rank for axis in axes]
        return found if len(set(found)) == len(found) else None


# --- the schema -------------------------------------------------------------------------------------------------------

_COMPUTED = frozenset({KINDS[name] for name in ("INT", "INTS", "FLOAT", "FLOATS", "STRING", "TENSOR")})
"""The attribute types that an evaluated node may have."""


def allowed(message: NodeProto, version: int, arrays: Sequence[Array | None]) -> bool:
    """Return whether the specification allows this node of a standard operator on these operands.

    `version` is the opset version. `arrays` contains None for an absent operand.
    """
    operator_schema = schema(message.op_type, "", version)
    if operator_schema is None or operator_schema.deprecated or not _fits(operator_schema, message, arrays):
        return False
    question = Question(message.op_type, version, arrays, attributes(message), len(message.output))
    contract = CONTRACTS.get(message.op_type)
    return contract is None or contract(question)


def _fits(operator_schema: Schema, message: NodeProto, arrays: Sequence[Array | None]) -> bool:
    if len(arrays) not in operator_schema.operands or len(message.output) not in operator_schema.results:
        return False
    return _types_fit(operator_schema, arrays) and _attributes_fit(operator_schema, message)


def _types_fit(operator_schema: Schema, arrays: Sequence[Array | None]) -> bool:
    """Return whether the operator accepts the operands' types.

    Operands with the same type variable must have one type.
    """
    chosen: dict[str, str] = {}
    for at, array in enumerate(arrays):
        parameter = operator_schema.inputs[min(at, len(operator_schema.inputs) - 1)]
        if array is None:
            if parameter.option != "optional":
                return False
            continue
        kind = _type(array)
        if kind not in parameter.types or chosen.setdefault(parameter.variable, kind) != kind:
            return False
    return True


def _type(array: Array) -> str:
    code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return f"tensor({TensorProto.DataType.Name(code).lower()})"


def _attributes_fit(operator_schema: Schema, message: NodeProto) -> bool:
    """Return whether the schema has each attribute of the node with this type, and each required attribute is present.

    Returns False too if an attribute occurs twice, or if its value is not stored in the node itself.
    """
    names = [attribute.name for attribute in message.attribute]
    if len(set(names)) < len(names):
        return False
    for attribute in message.attribute:
        asked = operator_schema.attributes.get(attribute.name)
        if asked is None or asked.kind not in _COMPUTED or attribute.type != asked.kind:
            return False
    required = {name for name, asked in operator_schema.attributes.items() if asked.required}
    return required <= set(names) and all(map(_plain, message.attribute))


def _plain(attribute: AttributeProto) -> bool:
    """Return whether the attribute's value is stored in the node itself: it is no reference and no external tensor.

    A tensor must have exactly one element, as in ConstantOfShape.
    """
    tensor = attribute.t
    return not attribute.ref_attr_name and tensor.data_location != TensorProto.EXTERNAL and prod(tensor.dims) == 1


# --- the specification's text -----------------------------------------------------------------------------------------


def _broadcasts(*shapes: Sequence[int]) -> bool:
    """Return whether the shapes broadcast by numpy's rule."""
    try:
        np.broadcast_shapes(*map(tuple, shapes))
    except ValueError:
        return False
    return True


def _elementwise(question: Question) -> bool:
    """Return whether the operands broadcast by numpy's rule. Before BROADCASTS_SINCE all must have the same shape."""
    shapes = [array.shape for array in question.arrays if array is not None]
    if question.version < BROADCASTS_SINCE:
        return len(set(shapes)) == 1
    return _broadcasts(*shapes)


def _reshape(question: Question) -> bool:
    """Return whether the requested sizes are valid.

    At most one size is -1, and its value must be defined. A 0 copies the size of an axis, which must exist.
    """
    sizes, dims = question.vector(1, "shape"), question.data.shape
    if sizes is None or min(sizes, default=0) < -1 or sizes.count(-1) > 1:
        return False
    if question.attributes.get("allowzero"):
        return not (0 in sizes and -1 in sizes)
    return all(size != 0 or at < len(dims) for at, size in enumerate(sizes)) and _divides(sizes, dims)


def _divides(sizes: Sequence[int], dims: Sequence[int]) -> bool:
    """Return whether the size that -1 stands for can be computed, or there is no -1.

    It can't be computed if another size is 0, because 0 would be divided by 0.
    """
    copied = [dims[at] if size == 0 else size for at, size in enumerate(sizes) if size != -1]
    return -1 not in sizes or 0 not in copied


def _squeeze(question: Question) -> bool:
    """Return whether the axes are valid and have size 1, or whether no axes are stated."""
    given = question.vector(1, "axes")
    if given is None:
        return question.array(1) is None and "axes" not in question.attributes
    axes = question.places(given)
    return axes is not None and all(question.data.shape[axis] == 1 for axis in axes)


def _unsqueeze(question: Question) -> bool:
    given = question.vector(1, "axes")
    return given is not None and question.places(given, question.data.ndim + len(given)) is not None


def _flatten(question: Question) -> bool:
    axis, rank = question.attributes.get("axis", 1), question.data.ndim
    low = -rank if question.version >= NEGATIVE_AXES_SINCE else 0
    return isinstance(axis, int) and low <= axis <= rank


def _transpose(question: Question) -> bool:
    perm = question.attributes.get("perm")
    return perm is None or (isinstance(perm, tuple) and sorted(perm) == list(range(question.data.ndim)))


def _gather(question: Question) -> bool:
    """Return whether the axis exists and every index is in the range of its size."""
    axis, indices = question.axis(0), question.array(1)
    if axis is None or indices is None:
        return False
    size = question.data.shape[axis]
    low = -size if question.version >= NEGATIVE_AXES_SINCE else 0
    return bool(((low <= indices) & (indices < size)).all())


def _slice(question: Question) -> bool:
    """Return whether starts, ends, axes and steps are vectors of one length, with valid axes and steps that are not 0.

    Returns False too if numpy and runtimes may select different elements (see `_taken`).
    """
    bounds = [question.vector(at, name) for at, name in enumerate(("starts", "ends", "axes", "steps"), 1)]
    starts, ends, axes, steps = bounds
    absent = [question.array(at) is None for at in range(1, 5)]
    if starts is None or ends is None or any(it is None and not gap for it, gap in zip(bounds, absent, strict=True)):
        return False
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    lengths = {len(starts), len(ends), len(axes), len(steps)}
    if len(lengths) != 1 or question.places(axes) is None or 0 in steps:
        return False
    return all(_taken(question.data.shape[axis], *each) for axis, *each in zip(axes, starts, ends, steps, strict=True))


def _taken(size: int, start: int, end: int, step: int) -> bool:
    """Return whether numpy and the runtimes select the same elements.

    With a negative step, runtimes clamp out-of-range bounds differently from numpy. Then the bounds must be in range.
    """
    return step > 0 or (-size <= start and end <= size)


def _concat(question: Question) -> bool:
    """Return whether the axis exists and the shapes differ only along it."""
    shapes = [array.shape for array in question.arrays if array is not None]
    axis = question.axis(1)
    if axis is None or len({len(shape) for shape in shapes}) != 1:
        return False
    return len({(*shape[:axis], *shape[axis + 1 :]) for shape in shapes}) == 1


def _split(question: Question) -> bool:
    """Return whether the axis can be split as requested: by the sizes of `split`, or into equal parts."""
    axis, sizes = question.axis(0), question.vector(1, "split")
    if axis is None:
        return False
    size, count = question.data.shape[axis], question.attributes.get("num_outputs")
    if question.array(1) is not None or "split" in question.attributes:
        both = question.array(1) is not None and ("split" in question.attributes or count is not None)
        return sizes is not None and not both and _cut(sizes, size, question.results)
    if question.version >= 18 and count != question.results:  # noqa: PLR2004 -- one of the two is there from then on
        return False
    return bool(size % question.results == 0)


def _cut(sizes: Sequence[int], size: int, count: int) -> bool:
    return len(sizes) == count and sum(sizes) == size and min(sizes) >= 0


def _reduction(question: Question) -> bool:
    """Return whether the axes are valid and the operand has at least one element."""
    given = question.vector(1, "axes")
    if given is None and (question.array(1) is not None or "axes" in question.attributes):
        return False
    return question.data.size > 0 and (given is None or question.places(given) is not None)


def _cumulative(question: Question) -> bool:
    axis = question.array(1)
    return axis is not None and axis.ndim == 0 and question.places([int(axis)]) is not None


def _range(question: Question) -> bool:
    return all(array is not None and array.ndim == 0 for array in question.arrays)


def _expand(question: Question) -> bool:
    sizes = question.vector(1)
    return sizes is not None and min(sizes, default=0) >= 0 and _broadcasts(question.data.shape, sizes)


def _tile(question: Question) -> bool:
    repeats = question.vector(1)
    return repeats is not None and len(repeats) == question.data.ndim and min(repeats, default=0) >= 0


def _constant_of_shape(question: Question) -> bool:
    sizes = question.vector(0)
    return sizes is not None and min(sizes, default=0) >= 0


def _non_zero(question: Question) -> bool:
    return question.data.ndim > 0


CONTRACTS: Mapping[str, Callable[[Question], bool]] = {
    **dict.fromkeys("Where Add Sub Mul Div Mod Min Max And Or Xor".split(), _elementwise),
    **dict.fromkeys("Equal Greater Less GreaterOrEqual LessOrEqual".split(), _elementwise),
    **dict.fromkeys("ReduceSum ReduceProd ReduceMin ReduceMax".split(), _reduction),
    "Concat": _concat,
    "ConstantOfShape": _constant_of_shape,
    "CumSum": _cumulative,
    "Expand": _expand,
    "Flatten": _flatten,
    "Gather": _gather,
    "NonZero": _non_zero,
    "Range": _range,
    "Reshape": _reshape,
    "Slice": _slice,
    "Split": _split,
    "Squeeze": _squeeze,
    "Tile": _tile,
    "Transpose": _transpose,
    "Unsqueeze": _unsqueeze,
}
"""For each operator, the function that checks a node against the requirements of its text beyond the schema."""
