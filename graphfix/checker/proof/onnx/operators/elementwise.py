"""Rules for elementwise operators on known integers and on constants: arithmetic, comparisons, Where, Cast, Dropout."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np
from onnx import TensorProto

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.files.onnx.operators import LEGACY_END
from graphfix.checker.proof.core.sizes import all_known
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, integer_type
from graphfix.checker.proof.neutral import constant_folding, integer_values
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.operators.entry import SIZE_TYPE_NUMBERS, SIZE_TYPES, Operator
from graphfix.checker.proof.onnx.reading.types import dtype, type_name, type_of
from graphfix.checker.proof.onnx.reading.versions import inference_mode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.checker.proof.core.sizes import Dims, Sizes
    from graphfix.checker.proof.core.terms import ProofValue, TermTable
    from graphfix.checker.proof.neutral.constant_folding import Array
    from graphfix.checker.proof.onnx.operators.entry import Fold, Operators
    from graphfix.checker.proof.onnx.reading.operands import Call

_EXACT = {"int32": 1 << 31, "int64": 1 << 53}
"""Integers whose magnitude is below this number are exact in both the integer type and a float of 64 bits."""
_FLOATS: Mapping[object, str] = {"float64": "<d", "float32": "<f"}
"""The storage format of one element, as the module `struct` writes it."""
_BOOL = "bool"
_PAIR, _TRIPLE = 2, 3
COUNTING = frozenset({"Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"})
"""Arithmetic that is computed on known integers.

Most sums have other elements, so the type of operand 0 is checked first.
"""
_TRAINING_AT = 2
"""The index of Dropout's operand that states whether it trains."""
DIFFERING_SHAPES_SINCE = 8
"""The first operator set in which the operands of all broadcasting operators may have different shapes."""
SQUARE, CUBE = 2, 3
_WHOLE = frozenset({TensorProto.INT32, TensorProto.INT64})
_TWO_TYPES_SINCE = 12
"""From this version on, a power accepts integers, and an exponent of another type than the base."""
_RAISED = frozenset({TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.INT64})
"""The types for which onnxruntime has a kernel of Pow."""
POWERS_ARE_PRODUCTS = (
    "a power by 2 and a PRelu of float32 have the bits of the products that they are, as in onnxruntime"
)
"""The assumption of a proof that compares a power by 2, or a PRelu, with a product."""

# --- arithmetic -----------------------------------------------------------------------------------------------------


def _arithmetic(rule: str) -> Callable[[Call], ProofValue | None]:
    """Return the rule that computes an operator on known integers. `rule` is the operation in `integer_values`."""

    def counted(call: Call) -> ProofValue | None:
        kinds = {None if view is None else integer_type(view) for view in call.views}
        if len(kinds) != 1 or (call.version < LEGACY_END and not _have_equal_sizes(call)):
            return None
        if call.flag("fmod") is None:  # onnxruntime refuses the node.
            return None
        return integer_values.computed(call.table, rule, call.views, kinds.pop())

    return counted


def _have_equal_sizes(call: Call) -> bool:
    """Return whether a node has no attributes and all its operands have one shape."""
    return not call.attributes and len({view.sizes for view in call.views if view is not None}) == 1


def _neg_view(call: Call) -> ProofValue | None:
    """Return the known integers of operand 0 with the opposite sign.

    Return None if an integer is unknown, or does not fit its type.
    """
    content, view = call.content(0), call.views[0]
    kind = None if view is None else integer_type(view)
    if content is None or kind not in SIZE_TYPE_NUMBERS:
        return None
    negated = (call.table.arithmetic.mul(element, -1) for element in content)
    turned: Sizes | None = all_known(integer_values.fitted_size(call.table, element, kind or "") for element in negated)
    return None if turned is None else _elementwise_result(call, turned, kind)


def _elementwise_result(call: Call, elements: Sizes, dtype: str) -> ProofValue:
    """Return these elements as the result of an elementwise operator.

    The result is a scalar if all operands are scalars, else a vector. `dtype` is its element type.
    """
    return call.table.integers(
        elements, dtype, scalar=all(view is not None and view.sizes == () for view in call.views)
    )


def _fit_each_other(call: Call, arrays: Sequence[Array | None]) -> bool:
    """Return whether the operator set accepts operands of these shapes: equal shapes before the operator broadcasts.

    If shapes must be equal, the node must not have attributes either.
    """
    if call.version >= (onnx_ops.LEGACY_END if call.op in onnx_ops.LEGACY else DIFFERING_SHAPES_SINCE):
        return True
    return not call.attributes and len({None if array is None else array.shape for array in arrays}) == 1


def _pair_fold(rule: str) -> Fold:
    """Return the rule that computes an operator of two constants. `rule` is the operation in `constant_folding`."""

    def computed_pair(call: Call, arrays: Sequence[Array | None]) -> Array | None:
        one, two = arrays
        if one is None or two is None or not _fit_each_other(call, arrays):
            return None
        return constant_folding.paired(rule, one, two)

    return computed_pair


def _all_fold(rule: str) -> Fold:
    """Return the rule that computes an operator of any number of constants, from left to right."""

    def computed_all(call: Call, arrays: Sequence[Array | None]) -> Array | None:
        found = arrays[0] if _fit_each_other(call, arrays) else None
        for array in arrays[1:]:
            found = None if found is None or array is None else constant_folding.paired(rule, found, array)
        return found

    return computed_all


def _single_fold(rule: str) -> Fold:
    """Return the rule that computes an operator of one constant. `rule` is the operation in `constant_folding`."""
    return lambda _, arrays: None if arrays[0] is None else constant_folding.single(rule, arrays[0])


def _mod_fold(call: Call, arrays: Sequence[Array | None]) -> Array | Sequence[Array] | None:
    """Compute a Mod of constants; None if `fmod` is set, because the sign of its result is different."""
    return None if call.integer("fmod", 0) else _pair_fold("mod")(call, arrays)


# --- Pow ------------------------------------------------------------------------------------------------------------


def has_long_rows(base: ProofValue) -> bool:
    """Return whether the last axis certainly has several elements.

    Only then does onnxruntime check a scalar exponent once for a row.
    """
    last = base.sizes[-1] if base.sizes else 1
    return isinstance(last, int) and last > 1


def is_computed_as_product(call: Call, base: ProofValue, exponent: ProofValue, number: int) -> bool:
    """Return whether onnxruntime computes a power by `number` (2 or 3) as a product.

    The exponent must be a constant of one element that equals `number`, with at most as many axes as the base.
    onnxruntime raises a base of one element by another routine, whose last bit may differ. So some size of the base
    must be a number other than 1. For integers the last axis must have several elements, because for rows of one
    element that routine returns other numbers on overflow.
    """
    kinds = {dtype(base.core), dtype(exponent.core)}
    return (
        base.sizes is not None
        and len(exponent.sizes or ()) <= len(base.sizes)
        and any(isinstance(size, int) and size != 1 for size in base.sizes)
        and (dtype(base.core) not in _WHOLE or has_long_rows(base))
        and constant_folding.is_number(exponent, number)
        and kinds <= (_RAISED | {TensorProto.FLOAT16} if number == SQUARE else _RAISED)
        and (call.version >= _TWO_TYPES_SINCE or len(kinds) == 1)
        and loads(call)
    )


def _power_fold(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute the square of a constant as a product, as onnxruntime does; None for any other power."""
    base, (data, exponent) = arrays[0], call.views
    if base is None or data is None or exponent is None or not is_computed_as_product(call, data, exponent, SQUARE):
        return None
    call.table.assumptions[POWERS_ARE_PRODUCTS] = None
    return constant_folding.paired("mul", base, base)


# --- comparisons, Where -----------------------------------------------------------------------------------------------


def _comparison(relation: str) -> Callable[[Call], ProofValue | None]:
    """Return the rule that compares known integers; it returns None unless the result is the same for all sizes.

    `relation` is equal, or begins with less or greater and may end in equal.
    """

    def rule(call: Call) -> ProofValue | None:
        kinds = {None if view is None else integer_type(view) for view in call.views}
        if len(call.views) != _PAIR or not kinds <= SIZE_TYPE_NUMBERS.keys() or len(kinds) != 1 or call.attributes:
            return None
        one, two = call.views
        found = integer_values.paired(
            one, two, lambda a, b: integer_values.decided(call.table.arithmetic, relation, a, b)
        )
        return None if found is None else _elementwise_result(call, found, _BOOL)

    return rule


def _not_view(call: Call) -> ProofValue | None:
    """Return known booleans, negated; None for any other value."""
    content = call.content(0)
    if content is None or call.views[0] is None or integer_type(call.views[0]) != _BOOL:
        return None
    return _elementwise_result(call, tuple(1 - element for element in content if isinstance(element, int)), _BOOL)


def _where_view(call: Call) -> ProofValue | None:
    """Return the known integers that a Where selects by known conditions.

    Return None if a condition or an integer is unknown.
    """
    if len(call.views) != _TRIPLE or None in call.views:
        return None
    views = [view for view in call.views if view is not None]
    condition, kinds = views[0].content, {integer_type(view) for view in views[1:]}
    kind = kinds.pop() if len(kinds) == 1 else None
    contents = [view.content for view in views]
    if condition is None or kind not in SIZE_TYPE_NUMBERS or integer_type(views[0]) != _BOOL or None in contents:
        return None
    length = max(len(view.content or ()) for view in views)
    if any(len(view.content or ()) not in (1, length) for view in views):
        return None
    columns = zip(*(integer_values.repeated(view, length) for view in views), strict=True)
    return _elementwise_result(call, tuple(one if chosen else two for chosen, one, two in columns), kind)


def _where_fold(_: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Where of constants.

    Return None if the types differ, the result is large, or an element is -0.0 or not finite.
    """
    condition, one, two = arrays
    if condition is None or one is None or two is None or one.dtype != two.dtype:
        return None
    plain = all(map(constant_folding.reproducible, (one, two))) and constant_folding.small(condition, one, two)
    return np.where(condition, one, two) if plain else None


# --- Cast -------------------------------------------------------------------------------------------------------------


def _cast_like_view(call: Call) -> ProofValue | None:
    """Return the known integers of a CastLike, in the integer type of operand 1; None for any other CastLike."""
    kind = type_of(call.operand(1))
    return _cast_to(call, SIZE_TYPES.get(kind)) if isinstance(kind, int) else None


def _cast_to(call: Call, to: str | None) -> ProofValue | None:
    """Return the known integers of operand 0 in the integer type `to`.

    A small float constant of integers is accepted too. Return None if an integer is unknown or does not fit the type.
    """
    content, view = call.content(0), call.views[0]
    if view is None or to is None or not _is_plain_cast(call):
        return None
    if content is None:
        return _whole_floats(call.table, view, to)
    if integer_type(view) == to:
        return view
    elements: Sizes | None = all_known(integer_values.fitted_size(call.table, element, to) for element in content)
    return None if elements is None else call.table.integers(elements, to, scalar=call.rank(0) == 0)


def _is_plain_cast(call: Call) -> bool:
    """Return whether a Cast has no attribute for float8, with which onnxruntime's results are arbitrary."""
    return "round_mode" not in call.attributes and call.flag("saturate", default=True) is True


def _whole_floats(table: TermTable, view: ProofValue, to: str) -> ProofValue | None:
    """Return a small constant of floats that are integers as known integers; None for any other value.

    Exporters wrote shapes in this way before operator set 9. `to` is the integer type of the result.
    """
    key = view.core.key
    form = _FLOATS.get(key[1]) if key[0] == "constant" else None
    if form is None or view.axes is None or len(view.axes) > 1 or not isinstance(key[3], bytes):
        return None
    elements = [number for (number,) in struct.iter_unpack(form, key[3])]
    if not all(number.is_integer() and abs(number) < _EXACT[to] for number in elements):
        return None
    whole_numbers = tuple(map(int, elements))
    if not view.axes or view.axes[0] is not None:
        return table.integers(whole_numbers, to, scalar=not view.axes)
    size = view.sizes[0] if view.sizes else None
    return table.integers(whole_numbers * size, to) if isinstance(size, int) and size <= MOST_ELEMENTS else None


def _cast_fold(call: Call, arrays: Sequence[Array | None]) -> Array | None:
    """Compute a Cast of a constant; None if an element does not fit the type, or if runtimes may disagree."""
    if arrays[0] is None or not _is_plain_cast(call):
        return None
    return constant_folding.converted(arrays[0], type_name(call.integer("to", 0)))


# --- Dropout ----------------------------------------------------------------------------------------------------------


def _dropout_view(call: Call) -> ProofValue | None:
    """Return operand 0, which a Dropout returns unless it trains; None if it may train or its ratio is not valid.

    Before set 7 a Dropout trains unless `is_test` is set.
    """
    training = len(call.views) > _TRAINING_AT and call.views[_TRAINING_AT] is not None
    if training or (call.version < LEGACY_END and not inference_mode(call.attributes)):
        return None
    ratio = call.operand(1)
    if ratio is None:
        return call.views[0]
    given = constant_folding.constant_array(ratio)  # Runtimes check the ratio even if they do not use it.
    return call.views[0] if given is not None and given.ndim == 0 and 0 <= given < 1 else None


# --- texts ------------------------------------------------------------------------------------------------------------


def _string_split_sizes(call: Call, index: int) -> Dims:
    """Return the dims of a result of a StringSplit.

    Result 0 has a new last axis for the parts of each text. Result 1 is the number of parts of each text.
    """
    sizes = call.sizes(0)
    return None if sizes is None or index > 1 else sizes if index else (*sizes, None)


_NAMES: Mapping[str, str] = {
    **{op: op.lower() for op in "Add Sub Mul Div Mod Max Min And Or Xor Neg Abs Sign Floor Ceil Sqrt Not".split()},
    "Equal": "equal", "Greater": "greater", "Less": "less",
    "GreaterOrEqual": "greater or equal", "LessOrEqual": "less or equal",
}  # fmt: skip
"""The name of each operator in `neutral.integer_values` and `neutral.constant_folding`."""


def _named(ops: str, rule: Callable[[str], Operator]) -> Operators:
    """Return the entries of these operators. `rule` creates an entry from the operator's name in `_NAMES`."""
    return {op: rule(_NAMES[op]) for op in ops.split()}


OPERATORS: Operators = {
    **_named("Add Sub Mul Div", lambda name: Operator(view=_arithmetic(name), fold=_pair_fold(name))),
    **_named("Max Min", lambda name: Operator(view=_arithmetic(name), fold=_all_fold(name))),
    "Mod": Operator(view=_arithmetic("mod"), fold=_mod_fold),
    **_named(
        "Equal Greater Less GreaterOrEqual LessOrEqual",
        lambda name: Operator(view=_comparison(name), fold=_pair_fold(name)),
    ),
    **_named("And Or Xor", lambda name: Operator(fold=_pair_fold(name))),
    **_named("Abs Sign Floor Ceil Sqrt", lambda name: Operator(fold=_single_fold(name))),
    "Neg": Operator(view=_neg_view, fold=_single_fold("neg")),
    "Not": Operator(view=_not_view, fold=_single_fold("not")),
    "Pow": Operator(fold=_power_fold),
    "Where": Operator(view=_where_view, fold=_where_fold),
    "Cast": Operator(view=lambda call: _cast_to(call, SIZE_TYPES.get(call.integer("to", 0))), fold=_cast_fold),
    "CastLike": Operator(view=_cast_like_view),
    "Identity": Operator(view=lambda call: call.views[0]),
    "Dropout": Operator(each_size=lambda call, _: call.sizes(0), view=_dropout_view),
    # onnxruntime returns a vector for a scalar of float8.
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), Operator(sizes=lambda call: call.sizes(0) or None)),
    "RegexFullMatch": Operator(sizes=lambda call: call.sizes(0)),
    "StringSplit": Operator(each_size=_string_split_sizes),
}
