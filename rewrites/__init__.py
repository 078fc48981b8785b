"""The rewrites, in the order in which they run: one module each, a docstring and a pure plan."""

from __future__ import annotations

from graphfix.graph.protocols import Step, in_order, until_nothing_changes
from rewrites.broadcasts import equalize_ranks, materialize_broadcasts, normalize_expand, upgrade_legacy_broadcast
from rewrites.tosa import (
    atan2_operands,
    batch_matmul_batch_dims,
    cast_of_floats,
    clamp_quantize,
    concat_constant_operands,
    decompose_cumsum,
    decompose_floor_div,
    decompose_gelu,
    decompose_prelu,
    densify_constants,
    einsum_pairs,
    fold_shape_arithmetic,
    inline_decided_branches,
    pow_to_mul,
    prelu_alpha_rank,
    resize_nearest_centers,
    resize_nearest_to_expand,
    resize_sizes_to_scales,
    rfft2d_rank,
    select_v1_to_v2,
    sequence_at_to_slice,
    unroll_recurrence,
    upgrade_opset,
)

ALL: tuple[Step, ...] = in_order(
    upgrade_legacy_broadcast,
    upgrade_opset,
    densify_constants,
    until_nothing_changes(
        inline_decided_branches,
        fold_shape_arithmetic,
        rfft2d_rank,
        select_v1_to_v2,
        pow_to_mul,
        resize_nearest_to_expand,
        decompose_prelu,
        decompose_gelu,
        unroll_recurrence,
        sequence_at_to_slice,
        einsum_pairs,
        resize_sizes_to_scales,
        clamp_quantize,
        cast_of_floats,
        decompose_floor_div,
        resize_nearest_centers,
        decompose_cumsum,
    ),
    concat_constant_operands,
    normalize_expand,
    batch_matmul_batch_dims,
    atan2_operands,
    prelu_alpha_rank,
    equalize_ranks,
    materialize_broadcasts,
)
