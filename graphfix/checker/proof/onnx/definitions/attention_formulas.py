"""The ONNX formulas of Attention and RotaryEmbedding, for float32 and constant sizes, without a past."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from onnx import TensorProto, helper

from graphfix.checker.proof.core.sizes import all_known, numbers
from graphfix.checker.proof.onnx.definitions.formula_builder import Formula, Found, float_sizes
from graphfix.checker.proof.onnx.reading.types import dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.proof.onnx.reading.operands import Call

QUERY, KEY, VALUE, MASK = "Q", "K", "V", "mask"
OPERANDS = (QUERY, KEY, VALUE, MASK)
HEADS_BEFORE = 4
"""The rank of data [batch,heads,positions,size]."""
IN_A_ROW = 3
"""The rank of data [batch,positions,hidden], whose heads are parts of the last axis."""
MOST_PAIRS = 1 << 16
HIDDEN = -math.inf
"""The number that the specification adds to the score of a key that a query must not see."""


def attention_formula(call: Call) -> Found | None:
    """Return Attention (since 23) as nodes that compute softmax(scale * q k + bias) v.

    The scale is 1 / sqrt(size) if the node states none. Queries and keys are each multiplied by its square root, as in
    the specification. Return None for an unsupported node. The result of a query that sees no key is 0.
    """
    sizes = [float_sizes(call, at) for at in range(3)]
    if any(view is not None for view in call.views[4:]) or any(call.result_names[1:]) or not _has_sense(call):
        return None
    if call.number("softcap", 0.0) or call.integer("softmax_precision", TensorProto.FLOAT) != TensorProto.FLOAT:
        return None
    counts = call.integer("q_num_heads", 0), call.integer("kv_num_heads", 0)
    formula = Formula()
    split = all_known(
        [_by_head(formula, name, each, counts[name != QUERY]) for name, each in zip(OPERANDS[:3], sizes, strict=True)]
    )
    if split is None:
        return None
    (query, (batch, heads, asked, size)), (key, key_sizes), (value, value_sizes) = split[0], split[1], split[2]
    if key_sizes[:3] != value_sizes[:3] or key_sizes[0] != batch or key_sizes[3] != size or heads % key_sizes[1]:
        return None
    root = math.sqrt(call.number("scale", 1 / math.sqrt(size)))
    key, value = (_repeated(formula, name, each, heads) for name, each in ((key, key_sizes), (value, value_sizes)))
    turned = formula.add("Transpose", key, perm=[0, 1, 3, 2])
    scores = formula.add(
        "MatMul", formula.add("Mul", query, formula.floats(root)), formula.add("Mul", turned, formula.floats(root))
    )
    bias = _bias(formula, call, (asked, key_sizes[2]))
    if bias is None:
        return None
    weights = formula.add("Softmax", formula.add("Add", scores, bias) if bias else scores, axis=-1)
    if call.operand(3) is not None:
        highest = formula.add("ReduceMax", bias, formula.integers(-1), keepdims=1)
        blind = formula.add("Equal", highest, formula.floats(HIDDEN))
        weights = formula.add("Where", blind, formula.floats(0.0), weights)
    made = formula.add("MatMul", weights, value)
    if sizes[0] is not None and len(sizes[0]) == IN_A_ROW:
        made = formula.shaped(formula.add("Transpose", made, perm=[0, 2, 1, 3]), batch, asked, heads * value_sizes[3])
    return formula, [made], call.operands_by_name(*OPERANDS)


def _has_sense(call: Call) -> bool:
    """Return whether the scale is positive and finite and the flags are 0 or 1, as the specification requires."""
    flags = [call.flag(name) for name in ("is_causal", "interleaved")]
    return 0 < call.number("scale", 1.0) < math.inf and None not in flags


def _by_head(formula: Formula, name: str, sizes: list[int] | None, heads: int) -> tuple[str, list[int]] | None:
    """Return the name of data in the layout [batch,heads,positions,size], and its sizes; None for unknown layouts.

    `name` and `sizes` are those of the operand. An operand [batch,positions,hidden] is reshaped and transposed.
    """
    if sizes is None or len(sizes) not in (IN_A_ROW, HEADS_BEFORE):
        return None
    if len(sizes) == HEADS_BEFORE:
        return name, sizes
    if heads < 1 or sizes[2] % heads:
        return None
    split = [sizes[0], sizes[1], heads, sizes[2] // heads]
    turned = formula.add("Transpose", formula.shaped(name, *split), perm=[0, 2, 1, 3])
    return turned, [split[0], split[2], split[1], split[3]]


def _repeated(formula: Formula, name: str, sizes: list[int], heads: int) -> str:
    """Return the name of keys or values in which each head is repeated, so that there are `heads` heads.

    The copies of a head follow one another. `sizes` is [batch,heads,positions,size].
    """
    batch, own, *rest = sizes
    if own == heads:
        return name
    lifted = formula.shaped(name, batch, own, 1, *rest)
    wide = formula.add("Expand", lifted, formula.integers(batch, own, heads // own, *rest))
    return formula.shaped(wide, batch, heads, *rest)


def _bias(formula: Formula, call: Call, near: tuple[int, int]) -> str | None:
    """Return the name of the bias that is added to the scores: "" without a bias, None for an unsupported node.

    `near` is the number of queries and the number of keys. The bias contains the mask and, if `is_causal`, -infinity
    for each key whose position is after that of the query.
    """
    asked, keys = near
    order = ""
    if call.integer("is_causal", 0):
        if asked * keys > MOST_PAIRS:
            return None
        rows: Sequence[float] = [HIDDEN if key > query else 0.0 for query in range(asked) for key in range(keys)]
        order = formula.add("Constant", value=helper.make_tensor("", TensorProto.FLOAT, near, rows))
    mask = call.operand(3)
    if mask is None:
        return order
    sizes = None if mask.sizes is None else numbers(mask.sizes)
    kind = dtype(mask.core)
    if sizes is None or sizes[-2:] != near or kind not in (TensorProto.FLOAT, TensorProto.BOOL):
        return None
    added = MASK
    if kind == TensorProto.BOOL:
        added = formula.add("Where", MASK, formula.floats(0.0), formula.floats(HIDDEN))
    return formula.add("Add", added, order) if order else added


# --- rotary embeddings ----------------------------------------------------------------------------------------------


def rotary_formula(call: Call) -> Found | None:
    """Return RotaryEmbedding (since 23) as nodes that rotate pairs of elements by the angle of their position.

    Return None for an unsupported node.
    """
    sizes, heads = float_sizes(call, 0), call.integer("num_heads", 0)
    if sizes is None or len(sizes) not in (IN_A_ROW, HEADS_BEFORE):
        return None
    formula, row = Formula(), len(sizes) == IN_A_ROW
    if row and (heads < 1 or sizes[2] % heads):
        return None
    lead = [*sizes[:2], heads] if row else sizes[:3]
    size = sizes[2] // heads if row else sizes[3]
    part = call.integer("rotary_embedding_dim", 0) or size
    beside = [*sizes[:2], 1] if row else [sizes[0], 1, sizes[2]]
    angles = [_angle(formula, call, at, [*beside, part // 2]) for at in (1, 2)]
    if part % 2 or part > size or not _has_sense(call) or angles[0] is None or angles[1] is None:
        return None
    data = formula.shaped("X", *lead, size) if row else "X"
    first = formula.part(data, 3, 0, part) if part < size else data
    made = _pairs(formula, first, [*lead, part // 2], (angles[0], angles[1]), apart=call.integer("interleaved", 0) == 1)
    if part < size:
        made = formula.add("Concat", made, formula.part(data, 3, part, size), axis=3)
    return formula, [formula.shaped(made, *sizes) if row else made], call.operands_by_name("X", "cos", "sin", "at")


def _angle(formula: Formula, call: Call, at: int, wanted: list[int]) -> str | None:
    """Return the name of the cosines (`at` 1) or sines (`at` 2), reshaped to `wanted`; None if the shape does not fit.

    Without position ids the operand is [batch,positions,half]. With position ids it is a table [rows,half].
    """
    name, sizes, places = ("X", "cos", "sin")[at], float_sizes(call, at), call.operand(3)
    positions = None if places is None or places.sizes is None else numbers(places.sizes)
    each = [wanted[0], max(wanted[1:3]), wanted[3]]
    if places is None:
        return formula.shaped(name, *wanted) if sizes == each else None
    if sizes is None or sizes[1:] != each[2:] or positions is None or list(positions) != each[:2]:
        return None
    return formula.shaped(formula.add("Gather", name, "at", axis=0), *wanted)


def _pairs(formula: Formula, data: str, half: list[int], angles: tuple[str, str], *, apart: bool) -> str:
    """Return the name of the rotated data. A pair is one element of each half or, with `apart`, two adjacent elements.

    `half` is the shape of each half, and `angles` are the names of the cosines and the sines.
    """
    cos, sin = angles
    count = half[3]
    if apart:
        pairs = formula.shaped(data, *half, 2)
        x, y = (formula.shaped(formula.part(pairs, 4, at, at + 1), *half) for at in (0, 1))
    else:
        x, y = (formula.part(data, 3, at * count, (at + 1) * count) for at in (0, 1))
    add = formula.add
    real = add("Sub", add("Mul", cos, x), add("Mul", sin, y))
    imaginary = add("Add", add("Mul", sin, x), add("Mul", cos, y))
    if not apart:
        return add("Concat", real, imaginary, axis=3)
    joined = add("Concat", formula.shaped(real, *half, 1), formula.shaped(imaginary, *half, 1), axis=4)
    return formula.shaped(joined, *half[:3], 2 * count)
