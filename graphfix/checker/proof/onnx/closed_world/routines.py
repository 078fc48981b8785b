"""Operators that onnxruntime computes by several routines, which it chooses by shapes and by constants at load.

onnxruntime chooses some routines by the operands' shapes, packs constant matrices when it loads a file, and reads some
constants at load. Measured with onnxruntime 1.31.1, optimizations off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.files.onnx import operators as onnx_ops

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.onnx.reading.operands import Call

ROUTINES = (
    "an operator returns the same last bit and the same sign of zero for every shape of its operands, and for operands"
    " in the file as for computed operands"
)
"""An assumption if equal nodes read operands that are stretched, or stored, in different ways."""
OVERFLOWS = (
    "no power of whole numbers is beyond its type or 2**53, and no float that is cast to them or quantized to 4 bits"
    " beyond the type"
)
"""An assumption if equal Pow, Cast or QuantizeLinear nodes read operands that are stretched in different ways."""
_FLOATS = frozenset({TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BFLOAT16, None})
_BY_SHAPE = frozenset(
    ("", op)
    for op in (
        "Acos Acosh Asin Asinh Atan Atanh Celu Cos Cosh Elu Erf Exp Gelu Log Mish Selu Sigmoid Sin Sinh Softplus"
        " Softsign Swish Tan Tanh Pow Max Min Where PRelu LayerNormalization SimplifiedLayerNormalization"
        " RMSNormalization"
    ).split()
) | {(onnx_ops.MS, op) for op in ("Gelu", "QuickGelu", "FastGelu", "ScaledSiLU")}
"""Operators on floats for which onnxruntime uses another routine at the end of a buffer, or for other operand sizes."""
_PACKING: Mapping[tuple[str, str], tuple[int, ...]] = {
    **{operator: places[:2] for operator, places in {**onnx_ops.PRODUCTS, **onnx_ops.GEMMS}.items()},
    **dict.fromkeys((("", "LSTM"), ("", "GRU")), (1, 2)),
}
"""The matrices that onnxruntime packs at load if they are constant, by operator.

The operands' shapes decide how onnxruntime sums the products.
"""
TWO_WAYS = _BY_SHAPE | _PACKING.keys() | {
    ("", "Cast"), ("", "CastLike"), ("", "QuantizeLinear"), (onnx_ops.MS, "QuantizeLinear"),
}  # fmt: skip
POWER = 2
"""The number of operands of a Pow."""
_HALF_BYTES = frozenset({TensorProto.INT4, TensorProto.UINT4})


def _ranks(rank: int, *operands: tuple[str, tuple[int, ...]]) -> dict[str, dict[int, int]]:
    """Return `rank` for each operand index, by operator.

    Each of `operands` contains operators, separated by spaces, and the indices of their operands.
    """
    return {op: dict.fromkeys(places, rank) for ops, places in operands for op in ops.split()}


_LOOKED_AT: Mapping[str, Mapping[int, int]] = {
    **_ranks(
        1,
        ("Expand Reshape Tile Split Squeeze Unsqueeze Upsample CenterCropPad AffineGrid TopK", (1,)),
        ("ReduceMean ReduceSum ReduceMax ReduceMin ReduceProd ReduceSumSquare", (1,)),
        ("ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp", (1,)),
        ("ConstantOfShape", (0,)), ("Slice", (1, 2, 3, 4)), ("Pad", (1, 3)), ("Resize", (1, 2, 3)), ("Col2Im", (1, 2)),
        ("MaxUnpool", (2,)),
    ),
    **_ranks(
        0,
        ("Range", (0, 1, 2)), ("MelWeightMatrix", (0, 1, 2, 3, 4)), ("DFT", (1, 2)), ("STFT", (1, 3)),
        ("CumSum Trilu SequenceAt", (1,)), ("HannWindow HammingWindow BlackmanWindow", (0,)),
    ),
}  # fmt: skip
"""The operands whose elements a runtime reads when it loads a file, by operator, with the rank that they must have.

If an operand has another rank, a runtime accepts the operand only if it is computed, or only if it is stored.
"""


def enter_mapped(call: Call, core: Core) -> None:
    """Record how the operands of an operator that reads by maps are stretched and stored. Unit axes are ignored.

    `core` is the core of the node's result.
    """
    operator = call.domain, call.op
    if operator in TWO_WAYS:
        _enter_routine(call, core, operator)
    if call.domain:
        _enter_stored(call, core, read_by_maps(*operator))


def _enter_routine(call: Call, core: Core, operator: tuple[str, str]) -> None:
    """Record how the operands decide the routine of a node.

    If an earlier node of the same core was recorded with another routine, an assumption is recorded.
    """
    # operand 0 of a Where is the condition, and its other operands may be missing
    kind = next(iter(call.operand_types[call.op == "Where" :]), None)
    assumed = _assumed(call, floats=kind in _FLOATS)
    if assumed is None:
        return
    packs = _PACKING.get(operator, ())
    taken = [call.operand(at) for at in packs] or call.views
    form = tuple([None if view is None else _stretch(view) for view in taken]), _packed(call, packs), _raised(call)
    if call.table.routines.setdefault(core, form) != form:
        call.table.assumptions[assumed] = None


def _assumed(call: Call, *, floats: bool) -> str | None:
    """Return the assumption that is needed if equal nodes use different routines; None if no assumption is needed."""
    if call.op == "QuantizeLinear":
        to = next(iter(call.operand_types[2:]), call.integer("output_dtype", 0))  # the type of the zero point
        return OVERFLOWS if to in _HALF_BYTES else None
    if call.op in ("Cast", "CastLike"):
        to = call.integer("to", 0) if call.op == "Cast" else next(iter(call.operand_types[1:]), None)
        return OVERFLOWS if floats and to not in _FLOATS else None
    if floats:
        return ROUTINES
    return OVERFLOWS if call.op == "Pow" else None


def enter_exact(call: Call, core: Core) -> None:
    """Record which operands the file stores, for an operator that the proof does not read by indexing maps."""
    packs = _PACKING.get((call.domain, call.op), ())
    if packs and call.table.routines.setdefault(core, packed := _packed(call, packs)) != packed:
        call.table.assumptions[ROUTINES] = None
    if call.domain or call.op in _LOOKED_AT:
        _enter_stored(call, core, packs)


def read_by_maps(domain: str, op: str) -> tuple[int, ...]:
    """Return the indices of the operands that an operator reads by maps."""
    operator = domain, op
    for kind in (onnx_ops.EACH, onnx_ops.PRODUCTS, onnx_ops.GEMMS):
        if operator in kind:
            return kind[operator]
    return 0, *onnx_ops.ONTO.get(operator, ())


def _enter_stored(call: Call, core: Core, besides: tuple[int, ...]) -> None:
    """Record which operands the file stores, except those in `besides`. Both files must store the same operands.

    A difference that a runtime may notice becomes an objection.
    """
    stored = tuple([at for at in call.stored_operands() if at not in besides])
    stored_operands = call.table.stored_operands
    if not call.table.closed:
        stored_operands.setdefault(core, set()).add(stored)
    elif (
        core in stored_operands
        and stored not in stored_operands[core]
        and not any(_alike(call, stored, first) for first in stored_operands[core])
    ):
        call.table.objections.append(
            f"{call.description} of the second file computes an operand that the first one holds, or the other way"
        )


def _alike(call: Call, one: tuple[int, ...], two: tuple[int, ...]) -> bool:
    """Return whether a runtime treats two sets of stored operands alike. For its own operators that is unknown.

    `one` and `two` are the operands' indices. Operands in only one set must have the rank that the operator requires.
    """
    if call.domain:
        return False
    ranks = _LOOKED_AT[call.op]
    return all(call.rank(at) == ranks.get(at, call.rank(at)) for at in {*one} ^ {*two})


def _packed(call: Call, packs: tuple[int, ...]) -> tuple[tuple[int, int | None], ...]:
    """Return those operands of `packs` that onnxruntime may pack when it loads the file, with their ranks.

    The ranks are included because a matrix is packed, but a stack of one matrix may not be packed.
    """
    return tuple([(at, call.rank(at)) for at in call.stored_operands() if at in packs]) if packs else ()


def _stretch(view: ProofValue) -> object:
    """Return how a value is stretched: the axes and sizes of its map, without unit axes."""
    if view.axes is None or view.sizes is None:
        return view.axes, view.sizes, view.broadcast_shapes
    return tuple([pair for pair in zip(view.axes, view.sizes, strict=True) if pair[1] != 1])


def _raised(call: Call) -> object:
    """Return the shapes by which onnxruntime decides whether to compute a power by 2 or 3 as a product.

    Return None if the shapes do not matter, or if the node is not a Pow of known ranks.

    onnxruntime checks the exponent once if one exponent is repeated along an innermost axis of several elements. Which
    exponent is repeated depends on the ranks too: over `[64,1]` a scalar is not repeated, but `[1,1]` is. Source:
    `Broadcaster` and `PowImpl` in onnxruntime.
    """
    views = [view for view in call.views if view is not None]
    if call.op != "Pow" or len(views) != POWER or any(view.sizes is None for view in views):
        return None
    base, exponent = (view.sizes or (1,) for view in views)
    shared = isinstance(base[-1], int) and base[-1] != 1 and exponent[-1] == 1
    return None if shared else (base, exponent)
