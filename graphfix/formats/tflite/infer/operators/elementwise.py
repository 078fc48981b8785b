"""Rules of operators that compute element by element: unary ones, broadcasting ones, comparisons and SELECT.

A broadcasting operator uses the rule for the style of its row in the catalogue (`BY_STYLE`).

XNNPACK replaces chains of element-wise operators by lookup tables. A table's result has the shape of the chain's
operand, and constants of one element do not change its rank. The rank of such a result therefore depends on the kernel
set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from graphfix.formats.tflite.file.records import ABSENT
from graphfix.formats.tflite.file.schema import BOOL, TENSOR_TYPES
from graphfix.formats.tflite.infer.call import Call, Results, Rule
from graphfix.formats.tflite.infer.operators.definition import Definition, Elements
from graphfix.formats.tflite.infer.operators.products import matmul
from graphfix.graph.broadcast import may_be_one
from graphfix.graph.litert.lookup_tables import BYTES, FLOATS, OF_BYTES
from graphfix.shapes import shape as shapes
from graphfix.shapes.dim import UNRANKED, Dim, Incompatible, Shape, Size
from graphfix.shapes.terms import ANY, Terms, maybe_negative

SAME_SHAPE = (
    "ABS CEIL COS ELU EXP FLOOR GELU HARD_SWISH LEAKY_RELU LOG LOGISTIC NEG RELU RELU6 RELU_0_TO_1 RELU_N1_TO_1 ROUND"
    " RSQRT SIGN SIN SQRT SQUARE TANH LOGICAL_NOT CAST QUANTIZE DEQUANTIZE FAKE_QUANT DENSIFY ZEROS_LIKE SOFTMAX"
    " LOG_SOFTMAX L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION CUMSUM REVERSE_V2 REVERSE_SEQUENCE COMPLEX_ABS REAL"
    " IMAG BUCKETIZE MATRIX_SET_DIAG DYNAMIC_UPDATE_SLICE STABLEHLO_LOGISTIC STABLEHLO_ABS"
    " STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG STABLEHLO_NEGATE STABLEHLO_RSQRT"
    " STABLEHLO_TANH STABLEHLO_CONVERT STABLEHLO_CBRT STABLEHLO_DYNAMIC_UPDATE_SLICE"
).split()
"""The operators whose result has the shape of operand 0."""
TRUTH = Dim((), 0, 1)
"""A bool element of unknown value."""


def first(call: Call) -> Results:
    """Return the result's shape, which is the shape of operand 0."""
    follow_bytes(call)
    return (call.shape(0),)


def multidirectional(call: Call) -> Results:
    """Return the result's shape: the broadcast, by numpy's rule, of the operands that the row of the catalogue lists.

    The rank is unknown if it depends on the kernel set (see `rank_depends_on_kernels`).
    """
    row = call.row
    if row is None:
        return ()
    parts = [shape for operand in row.taking_part(call.count) if (shape := call.shape(operand.index)) is not None]
    if not parts:
        return ()
    result = shapes.broadcast(*parts)
    follow_bytes(call)
    return (UNRANKED if rank_depends_on_kernels(call, result) else result,)


def unidirectional(call: Call) -> Results:
    """Return the result's shape: the shape of the operand that all other operands are broadcast onto."""
    row = call.row
    return (call.shape(row.onto),) if row is not None and row.onto is not None else ()


def equal(call: Call) -> Results:
    """Return the result's shape: the shape of any operand, which all operands must have.

    A size is a number if any operand has a number for it. Return nothing if two operands surely have different shapes,
    because kernels then read beyond an operand's end.
    """
    every = [dims for at in range(call.count) if (dims := call.dims(at)) is not None]
    if not every:
        return first(call)
    if len(set(map(len, every))) > 1:
        return ()
    columns = [*zip(*every, strict=True)]
    if any(len({size for size in column if isinstance(size, int)}) > 1 for column in columns):
        return ()
    return (Shape(tuple([next((size for size in column if isinstance(size, int)), column[0]) for column in columns])),)


def select(call: Call) -> Results:
    """Return the result's shape of SELECT or SELECT_V2, by the style of its row in the catalogue.

    If every operand has one element, a result that is declared with one element has its declared shape. If the operands
    only may have one element, the rank of such a result is unknown.
    """
    if call.row is None:
        return ()
    result = next(iter(BY_STYLE[call.row.style](call)), None)
    operands = [shape for index in range(call.count) if (shape := call.shape(index)) is not None]
    stored = call.result()
    if result is None or stored is None or not all(map(may_be_one, operands)):
        return (result,)
    if result.ranked and len(stored.shape) == result.rank:
        return (result,)
    sizes = [size for shape in operands for size in shape.axes or ()]
    if all(shape.ranked for shape in operands) and all(size == 1 for size in (*sizes, *stored.shape)):
        return (Shape(stored.shape),)
    return (result if any(size != 1 for size in stored.shape) else UNRANKED,)


# --- the choice of XNNPACK ----------------------------------------------------------------------------------------


def follow_bytes(call: Call) -> None:
    """Add an element-wise operator's results to `from_bytes` if an operand has 8 bits or is in `from_bytes` itself."""
    scope = call.scope
    for tensor in call.operator.inputs:
        if tensor != ABSENT and (tensor in scope.from_bytes or TENSOR_TYPES[scope.tensors[tensor].type][0] in BYTES):
            scope.from_bytes.update(call.operator.outputs)


def rank_depends_on_kernels(call: Call, result: Shape) -> bool:
    """Return whether the rank of an operator's result depends on the kernel set; `result` is the operands' broadcast.

    It does if only constants of one element have the rank of the broadcast, and if XNNPACK may use a lookup table. In a
    chain of element-wise operators ADD(x[2,3], c[1,1,1]) is [2,3] in XNNPACK, and [1,2,3] in the other kernel sets.
    XNNPACK does so for 8-bit ADD, SUB and MUL, and for all operators on floats that are computed from 8 bits.
    """
    record = call.result()
    if record is None or not result.ranked:
        return False
    dtype = TENSOR_TYPES[record.type][0]
    from_bytes = not call.scope.from_bytes.isdisjoint(call.operator.outputs)
    in_table = call.op in OF_BYTES if dtype in BYTES else dtype in FLOATS and from_bytes
    if not in_table:
        return False
    carrying = [shape for at in range(call.count) if (shape := _carrying(call, at)) is not None]
    return all(shape.ranked and shape.rank < result.rank for shape in carrying)


def _carrying(call: Call, at: int) -> Shape | None:
    """Return the shape of an operand; None if the operand is absent or is a constant of one element."""
    shape, tensor = call.shape(at), call.tensor(at)
    if shape is None or (call.scope.is_constant(tensor) and set(shape.axes or ()) <= {1}):
        return None
    return shape


# --- the elements of integer results ------------------------------------------------------------------------------


def cast_elements(call: Call) -> Elements | None:
    """Return the elements of operand 0.

    If the result is bool, return 1 for each element that is not 0, and 0 for others.
    """
    elements, result = call.elements(0), call.result()
    if elements is None or result is None or result.type != BOOL:
        return elements
    return tuple([int(size != 0) if isinstance(size, int) else 1 if size.lo > 0 else TRUTH for size in elements])


def negative_elements(call: Call) -> Elements | None:
    """Return the elements of operand 0 times -1."""
    elements = call.elements(0)
    return None if elements is None else tuple([call.terms.mul(size, -1) for size in elements])


def arithmetic_elements(call: Call) -> Elements | None:
    """Return the result's elements of ADD, SUB, MUL and similar operators on integer vectors and scalars.

    An operand of one element is repeated. Return None if elements are not known or there is a fused activation.
    """
    if call.number("fused_activation_function"):
        return None
    pairs = _pairs(call)
    ranks = {len(call.dims(0) or ()), len(call.dims(1) or ())}
    return None if pairs is None or max(ranks) > 1 else tuple([_computed(call, *pair) for pair in pairs])


def _pairs(call: Call) -> list[tuple[Size, Size]] | None:
    """Return the pairs of elements of both operands; None if elements are not known, or if the lengths do not fit.

    An operand of one element is repeated.
    """
    left, right = call.elements(0), call.elements(1)
    if not left or not right:
        return None
    count = max(len(left), len(right))
    if {len(left), len(right)} - {1, count}:
        return None
    return [*zip(left * (count // len(left)), right * (count // len(right)), strict=True)]


def _computed(call: Call, a: Size, b: Size) -> Size:
    """Return the result of the operator for one pair of elements; unknown for a division by 0."""
    terms = call.terms
    if call.op == "FLOOR_DIV":
        return ANY if b == 0 else a // b if isinstance(a, int) and isinstance(b, int) else terms.floordiv(a, b)
    if call.op == "FLOOR_MOD":
        return ANY if b == 0 else a % b if isinstance(a, int) and isinstance(b, int) else terms.mod(a, b)
    rules: dict[str, Callable[[Size, Size], Size]] = {
        "ADD": terms.add,
        "SUB": terms.sub,
        "MUL": terms.mul,
        "MAXIMUM": terms.maximum,
        "MINIMUM": terms.minimum,
    }
    return rules[call.op](a, b)


def comparison_elements(call: Call) -> Elements | None:
    """Return 1 or 0 for each pair of elements if their ranges decide the comparison; otherwise an unknown bool.

    For EQUAL with 1, the unknown bool is the symbol of `is_one`. Return None if elements are not known.
    """
    pairs = _pairs(call)
    if pairs is None or max(len(call.dims(index) or ()) for index in (0, 1)) > 1:
        return None
    return tuple([_compared(call, *pair) for pair in pairs])


def _compared(call: Call, a: Size, b: Size) -> Size:
    """Return the result of the comparison for one pair of elements."""
    low, high = call.terms.order(a, b)
    if call.op == "EQUAL":
        if low == high == 0:
            return 1
        return 0 if low > 0 or high < 0 else is_one(call.terms, a) if b == 1 else TRUTH
    if call.op.startswith("LESS"):
        low, high = -high, -low
    least = 0 if call.op.endswith("EQUAL") else 1
    return 1 if low >= least else 0 if high < least else TRUTH


def logical_and_elements(call: Call) -> Elements | None:
    """Return the LOGICAL_AND of two scalars; None if an operand is not a known scalar."""
    left, right = call.element(0), call.element(1)
    if left is None or right is None or call.dims(0) != () or call.dims(1) != ():
        return None
    return (0,) if 0 in (left, right) else (1,) if (left, right) == (1, 1) else (TRUTH,)


def is_one(terms: Terms, size: Size) -> Size:
    """Return the symbol for the bool "this size is 1"; equal sizes have the same symbol."""
    return terms.opaque("is 1", size, low=0, high=1)


def select_elements(call: Call) -> Elements | None:
    """Return the elements of SELECT_V2 on three vectors of equal length; None if elements are not known.

    SELECT_V2(b == 1, a, b) is the broadcast of the sizes a and b, if they broadcast.
    """
    parts = [call.elements(index) for index in range(3)]
    known_parts = [part for part in parts if part is not None]
    if len(known_parts) < len(parts) or len({len(part) for part in known_parts}) != 1 or len(call.dims(0) or ()) != 1:
        return None
    return tuple([_chosen(call.terms, *column) for column in zip(*known_parts, strict=True)])


def _chosen(terms: Terms, condition: Size, one: Size, two: Size) -> Size:
    """Return the element that a condition selects; unknown if the condition is neither a number nor "two is 1"."""
    if isinstance(condition, int):
        return one if condition else two
    if not condition.parts or condition != is_one(terms, two) or maybe_negative(one) or maybe_negative(two):
        return ANY
    try:
        (size,) = shapes.broadcast(Shape((one,)), Shape((two,))).dims
    except Incompatible:
        return ANY  # The run fails.
    return size


BY_STYLE: Mapping[str, Rule] = {
    "multidirectional": multidirectional,
    "unidirectional": unidirectional,
    "matmul": matmul,
    "equal": equal,
    "own": unidirectional,
}
"""The shape rules of broadcasting operators, by the style of their row in the catalogue."""
OPERATORS: Mapping[str, Definition] = {
    **dict.fromkeys(SAME_SHAPE, Definition(first)),
    "CAST": Definition(first, cast_elements),
    "NEG": Definition(first, negative_elements),
    "SELECT": Definition(select),
    "SELECT_V2": Definition(select, select_elements),
    "LOGICAL_AND": Definition(elements=logical_and_elements),
    **dict.fromkeys(
        ("EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"), Definition(elements=comparison_elements)
    ),
    **dict.fromkeys(
        ("ADD", "SUB", "MUL", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM", "MINIMUM"), Definition(elements=arithmetic_elements)
    ),
}
