"""What each TFLite operator computes that reads its operands by maps, and what it is beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import View, whole
from graphfix.checker.proof.neutral import broadcast, neutral_elements
from graphfix.checker.proof.tflite.kernels import kernel_choice
from graphfix.checker.proof.tflite.kernels.unit_constants import dropped_rank
from graphfix.checker.proof.tflite.operators.shapes import shaped
from graphfix.checker.proof.tflite.operators.table import CHOOSING, EACH, STATEFUL, UNARY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Quantization, Subgraph, Tensor
    from graphfix.checker.proof.core.sizes import Size
    from graphfix.checker.proof.tflite.reading.operands import Call

PLANE = 2
"""The trailing axes that a transform acts on."""
NEAREST = "RESIZE_NEAREST_NEIGHBOR"
PAIR, IMAGE_RANK = 2, 4
WHOLE = frozenset({"int32", "int64"})
"""Of these types x * 1 and x + 0 are x. Of floats they are not: kernels cut an infinity off at the largest float, and
XNNPACK takes what is no normal number for 0."""
COMMUTATIVE = frozenset("ADD MUL MAXIMUM MINIMUM LOGICAL_AND LOGICAL_OR BITWISE_XOR EQUAL NOT_EQUAL".split())
EXACT = frozenset({*WHOLE, "bool", "int8", "uint8", "int16", "uint16", "uint32"})
WITH_AXIS = {"CONCATENATION": 0, "GATHER": 0, "UNPACK": 0, "PACK": 1}
"""Operators whose option `axis` may be negative, by how many axes the result has more than operand 0."""
OLD_COORDINATES = ("alignCorners", False), ("halfPixelCenters", False)
CENTERS = ("alignCorners", False), ("halfPixelCenters", True)
ALIKE = {"SELECT": "SELECT", "SELECT_V2": "SELECT", "REAL": "REAL", "RFFT2D": "RFFT2D"}
"""Operators whose options have no fields, by what they compute once their operands' maps are known."""


def read(call: Call) -> View | None:
    """Return the result of an operator that reads its operands by maps; None where it reads them exactly."""
    given = [view for view in call.views if view is not None]
    key = _key(call)
    if not given or len(given) < len(call.views) or key is None:
        return None
    if call.operator.name in CHOOSING and not shaped(call, given):
        return None
    if kernel_choice.by_place(call, given[0]):
        return _in_place(call, key, given[0])
    dropped = dropped_rank(call, given)
    if dropped:  # the kernel sets return results of different ranks
        return call.table.result(("rank", *key, dropped, *given), call.description, None)
    result = _broadcast(call, (*key, *kernel_choice.ways(call, given)), _in_order(call, key, given))
    if result is not None:
        kernel_choice.enter_reach(call, given, result.core)
        kernel_choice.enter_rounding(call, given, result.core)
        _enter_whole(call, result)
    return result


def _in_place(call: Call, key: tuple[object, ...], view: View) -> View:
    """Return the result of an operator of which an element depends on its place among all, unit axes apart."""
    if view.axes is None or view.sizes is None:
        return call.table.result(("in place", *key, view), call.description, None)
    kept = [axis for axis, size in enumerate(view.sizes) if size != 1]
    plain = View(view.core, tuple(view.axes[axis] for axis in kept), tuple(view.sizes[axis] for axis in kept))
    result = call.table.result(("in place", *key, plain), call.description, plain.sizes)
    places = {axis: place for place, axis in enumerate(kept)}
    return View(result.core, tuple(places.get(axis) for axis in range(len(view.sizes))), view.sizes)


def _in_order(call: Call, key: tuple[object, ...], views: Sequence[View]) -> Sequence[View]:
    """Return the operands of a commutative operator in the order in which the same operands were read first.

    Floats keep their order: of two NaNs kernels return the bits of one operand. Quantized integers keep it too.
    """
    tensors = [tensor for tensor in call.inputs if tensor is not None]
    if call.operator.name not in COMMUTATIVE or len(views) != PAIR:
        return views
    kinds = {*EXACT, "float32"} if call.result.dtype == "bool" else EXACT
    if any(tensor.dtype not in kinds or tensor.quantization is not None for tensor in (*tensors, call.result)):
        return views
    one, two = views
    first = call.table.first_operands.setdefault((key, frozenset((one.core, two.core))), one.core)
    return views if one.core is first else (two, one)


def _enter_whole(call: Call, result: View) -> None:
    """Enter what a whole number is that a CAST passes on as a float: a RANGE counts to it."""
    content = call.content(0) if call.operator.name == "CAST" and call.result.dtype == "float32" else None
    if content is not None and len(content) == 1 and result.sizes == () and call.result.quantization is None:
        result.core.content = content


def _broadcast(call: Call, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    name = call.operator.name
    if name in EACH:
        return broadcast.elementwise(call.table, key, views, call.description)
    if name in UNARY and len(views) == 1:
        return broadcast.unary(call.table, key, views[0], call.description)
    count, rule = OWN.get(name, (0, None))
    return rule(call, key, views) if rule is not None and len(views) == count else None


def beside_neutral(call: Call) -> View | None:
    """Read a product with ones, or a sum with zeros that no -0.0 tells, as the other operand, stretched."""
    tensors = [tensor for tensor in (*call.inputs, call.result) if tensor is not None]
    if len(call.views) != PAIR or call.integer("fusedActivationFunction") or {each.dtype for each in tensors} - WHOLE:
        return None
    if any(tensor.quantization is not None for tensor in tensors):
        return None
    one, two = call.views
    return (
        None
        if one is None or two is None
        else neutral_elements.beside(call.table.algebra, call.operator.name, one, two)
    )


def _select(call: Call, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """SELECT: the condition is a scalar, has the shape of the others, or follows their axis 0."""
    condition, one, two = views
    if condition.sizes is None or condition.axes is None or one.sizes is None or one.sizes != two.sizes:
        return None
    rank = len(one.sizes)
    if condition.sizes == one.sizes or not condition.sizes:
        axes = (None,) * (rank - len(condition.axes)) + condition.axes
    elif len(condition.sizes) == 1 and rank > 1 and condition.sizes[0] == one.sizes[0]:
        axes = (*condition.axes, *(None,) * (rank - 1))
    else:
        return None
    uses = [(condition.core, axes), (one.core, one.axes or ()), (two.core, two.axes or ())]
    return broadcast.aligned(call.table, key, uses, one.sizes, call.description)


def canonical(operator: Operator, views: Sequence[View | None]) -> Operator:
    """Name a nearest RESIZE by the centers of elements where its old coordinates choose the same: by powers of 2.

    floor(i / f) is floor((i + 0.5) / f) for whole i and f, and floats divide by a power of 2 without rounding.
    """
    if operator.name in WITH_AXIS:
        return _counted_from_the_front(operator, views)
    if operator.name != NEAREST or len(views) != PAIR or None in views:
        return operator
    data, target = (view for view in views if view is not None)
    have, want = numbers((data.sizes or ())[1:3]), numbers(target.content)
    if have is None or want is None or len(want) != PAIR or len(data.sizes or ()) != IMAGE_RANK:
        return operator
    if not all(size and to % size == 0 and (to // size).bit_count() == 1 for size, to in zip(have, want, strict=True)):
        return operator
    name, kind, newer, others, *rest = operator.key
    if others != OLD_COORDINATES:
        return operator
    return operator._replace(key=(name, kind, newer, CENTERS, *rest))


def _counted_from_the_front(operator: Operator, views: Sequence[View | None]) -> Operator:
    """Spell a negative axis as the axis that it is: kernels add the rank."""
    axis, data = operator.options.get("axis"), views[0] if views else None
    if not isinstance(axis, int) or axis >= 0 or data is None or data.sizes is None:
        return operator
    place = axis + len(data.sizes) + WITH_AXIS[operator.name]
    name, kind, newer, others, *rest = operator.key
    if place < 0 or not isinstance(others, tuple):
        return operator
    fields = tuple(("axis", place) if field == ("axis", axis) else field for field in others)
    return operator._replace(key=(name, kind, newer, fields, *rest))


def without_empty(
    graph: Subgraph, operator: Operator, views: Sequence[View | None]
) -> tuple[Operator, Sequence[View | None]]:
    """A CONCATENATION joins what has elements: an operand of size 0 along its axis adds none.

    Of another type, or with other sizes beside the axis, LiteRT refuses it: such a one counts.
    """
    axis = operator.options.get("axis", 0)
    if operator.name != "CONCATENATION" or not isinstance(axis, int) or None in views:
        return operator, views
    kinds = [
        (type_of(graph.tensors[at]), _beside((view and view.sizes) or (), axis))
        for at, view in zip(operator.inputs, views, strict=True)
    ]
    sizes = [(view and view.sizes) or () for view in views]
    kept = [at for at, each in enumerate(sizes) if not (-len(each) <= axis < len(each) and each[axis] == 0)]
    if not 0 < len(kept) < len(views) or len(set(kinds)) > 1:
        return operator, views
    return operator._replace(inputs=tuple(operator.inputs[at] for at in kept)), [views[at] for at in kept]


def _beside(sizes: tuple[Size, ...], axis: int) -> tuple[Size | None, ...]:
    """All sizes but that of an axis, which stands as None."""
    return tuple(None if at == axis % len(sizes) else size for at, size in enumerate(sizes))


def shared_name(call: Call) -> str | None:
    """Name what operators of several names compute; None for others. A CAST of complex numbers takes the real part."""
    if call.operator.name != "CAST":
        return ALIKE.get(call.operator.name)
    operand = call.inputs[0] if call.inputs else None
    taken = call.result.dtype == "float32" and operand is not None and operand.dtype == "complex64"
    return ALIKE["REAL"] if taken else None


def _kind(call: Call) -> tuple[object, ...]:
    """Name an operator with its options, unless operators of other names compute the same."""
    name = shared_name(call)
    return (call.operator.key, call.operator.version) if name is None else (name,)


def _key(call: Call) -> tuple[object, ...] | None:
    """What an operator is, beside its operands' elements; None where an axis of scales is followed by no axis."""
    parameters = []
    for tensor, view in zip(call.inputs, call.views, strict=True):
        if tensor is None or view is None:
            return None
        parameter = quantized(tensor.quantization, view)
        if (
            tensor.quantization is not None
            and tensor.quantization.axis is not None
            and (parameter is None or not isinstance(parameter[1], int))
        ):
            return None
        parameters.append((tensor.dtype, parameter))
    if call.result.quantization is not None and call.result.quantization.axis is not None:
        return None
    return (*_kind(call), tuple(parameters), type_of(call.result))


def quantized(quantization: Quantization | None, view: View | None) -> tuple[object, object] | None:
    """Return the parameters, and the core's axis that the scales follow: a lift does not change it."""
    if quantization is None:
        return None
    axis = quantization.axis
    if axis is None:
        return quantization.key, None
    follows = view.axes[axis] if view is not None and view.axes is not None and 0 <= axis < len(view.axes) else None
    return quantization.key, ("declared", axis) if follows is None else follows


def hybrid(tensors: Sequence[Tensor | None]) -> bool:
    """Whether floats meet whole numbers: kernels round them in one way or another, by which operand is a constant."""
    kinds = {tensor.dtype for tensor in tensors if tensor is not None}
    return "float32" in kinds and not kinds.isdisjoint(("int8", "uint8", "int4"))


def keeps_quantization(call: Call) -> bool:
    """Whether the result is quantized as operand 0 is, by whichever axis follows the same axis of the core."""
    tensor = call.inputs[0] if call.inputs else None
    ours = None if tensor is None else tensor.quantization
    theirs = call.result.quantization
    if ours is None or theirs is None:
        return ours is theirs
    return ours.key == theirs.key and ours.axis is None and theirs.axis is None


def type_of(tensor: Tensor) -> tuple[object, ...]:
    """Return the type of a tensor, and how it is quantized."""
    quantization = tensor.quantization
    return tensor.dtype, None if quantization is None else (quantization.key, quantization.axis)


def stated(operator: Operator, tensor: Tensor) -> tuple[object, ...]:
    """What the file says of a result; some operators take its shape from there, and some compare the rank."""
    name = operator.name
    if name in CHOOSING or name in STATEFUL or name.startswith(("STABLEHLO", "custom ")):
        return (*type_of(tensor), tensor.dims, tensor.stored)
    return (*type_of(tensor), len(tensor.stored))


def transformed(call: Call, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """RFFT2D: each plane of the last two axes alone, so that axes of size 1 in front are axes of the view.

    The result's last two sizes are the lengths that are asked for, n and m // 2 + 1.
    """
    data, lengths = views
    wanted = call.known_integers(1)
    if data.axes is None or data.sizes is None or len(data.sizes) <= PLANE or wanted is None or len(wanted) != PLANE:
        return None
    batch = len(data.sizes) - PLANE
    kept = [axis for axis in range(len(data.sizes)) if axis >= batch or data.sizes[axis] != 1]
    plain = View(data.core, tuple(data.axes[axis] for axis in kept), tuple(data.sizes[axis] for axis in kept))
    sizes = (*plain.sizes[:-PLANE], wanted[0], wanted[1] // 2 + 1) if plain.sizes else ()
    result = whole(call.table.result(("planes", *key, plain, lengths), call.description, sizes).core)
    places = {axis: place for place, axis in enumerate(kept)}
    followed = tuple((result.axes or ())[places[axis]] if axis in places else None for axis in range(batch + PLANE))
    shape = tuple(sizes[places[axis]] if axis in places else 1 for axis in range(batch + PLANE))
    return View(result.core, followed, shape)


def multiplied(call: Call, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """BATCH_MATMUL: batch axes are broadcast, right-aligned.

    XNNPACK takes a computed operand of int8 beside floats for a constant, and multiplies what lies there beforehand.
    """
    if hybrid(call.inputs):
        key = (*key, tuple(tensor is not None and tensor.payload is not None for tensor in call.inputs))
    outer = (-1 if call.option("adjX") else -2, -2 if call.option("adjY") else -1)
    return broadcast.product(call.table, key, (views[0], views[1]), call.description, outer=outer)


def onto(call: Call, key: tuple[object, ...], views: Sequence[View]) -> View | None:
    """PRELU: alpha broadcasts onto operand 0."""
    key = (*key, *kernel_choice.of_prelu(call, views))
    return broadcast.onto(call.table, key, views[0], views[1:], call.description)


OWN: Mapping[str, tuple[int, Callable[[Call, tuple[object, ...], Sequence[View]], View | None]]] = {
    "PRELU": (2, onto),
    "SELECT": (3, _select),
    "BATCH_MATMUL": (2, multiplied),
    "RFFT2D": (2, transformed),
}
"""Operators with a rule each, and how many operands they have."""
