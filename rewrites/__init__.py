"""The rewrites, in the order in which they run: one module each, a docstring and a pure plan."""

from __future__ import annotations

from types import ModuleType

from graphfix.graph.edits import Rewrite
from rewrites import (
    atan2_operands,
    batch_matmul_batch_dims,
    decompose_prelu,
    densify_constants,
    equalize_ranks,
    floor_div_operand,
    fold_shape_arithmetic,
    inline_decided_branches,
    materialize_broadcasts,
    normalize_expand,
    pow_square_to_mul,
    prelu_alpha_rank,
    resize_nearest_to_expand,
    rfft2d_rank,
    select_v1_to_v2,
    tosa_limits,
    upgrade_legacy_broadcast,
    upgrade_opset,
)


def _rewrite(
    module: ModuleType,
    code: str,
    *,
    local: bool = False,
    together: bool = False,
    every: bool = False,
    tells: bool = False,
) -> Rewrite:
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    operators = getattr(module, "OPERATORS", None)
    return Rewrite(name, module.plan, code, module.__doc__ or "", operators, every, local, together, tells)


ALL: tuple[Rewrite, ...] = (
    _rewrite(upgrade_legacy_broadcast, "GF201", together=True),
    _rewrite(upgrade_opset, "GF304", every=True),
    _rewrite(densify_constants, "GF304"),
    _rewrite(inline_decided_branches, "GF303", tells=True),
    _rewrite(fold_shape_arithmetic, "GF303", every=True, tells=True),
    _rewrite(rfft2d_rank, "GF304", tells=True),
    _rewrite(select_v1_to_v2, "GF304", tells=True),
    _rewrite(pow_square_to_mul, "GF304", tells=True),
    _rewrite(resize_nearest_to_expand, "GF304", tells=True),
    _rewrite(decompose_prelu, "GF304", tells=True),
    _rewrite(normalize_expand, "GF202"),
    _rewrite(batch_matmul_batch_dims, "GF304"),
    _rewrite(floor_div_operand, "GF304"),
    _rewrite(atan2_operands, "GF304"),
    _rewrite(prelu_alpha_rank, "GF304"),
    _rewrite(equalize_ranks, "GF101", local=True),
    _rewrite(materialize_broadcasts, "GF103", local=True),
    _rewrite(tosa_limits, "GF305", every=True),
)
