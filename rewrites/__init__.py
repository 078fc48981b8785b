"""The rewrites, in the order in which they run: one module each, a docstring and a pure plan."""

from __future__ import annotations

from collections.abc import Container, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from graphfix.graph.protocols import ModelRewrite, Rewrite, Step, UntilNothingChanges, rewrite

if TYPE_CHECKING:
    ALL: tuple[Step, ...]
    """Every step, in order."""

ORDER: tuple[str | tuple[str, ...], ...] = (
    "broadcasts.repair_shapes",
    "broadcasts.upgrade_legacy_broadcast",
    "tosa.drop_import_metadata",
    "tosa.upgrade_opset",
    "tosa.densify_constants",
    (
        "tosa.inline_decided_branches",
        "tosa.fold_shape_arithmetic",
        "tosa.unroll_loops",
        "tosa.drop_empty_operands",
        "tosa.rfft2d_rank",
        "tosa.select_v1_to_v2",
        "tosa.pow_to_mul",
        "tosa.resize_nearest_to_expand",
        "tosa.decompose_prelu",
        "tosa.decompose_gelu",
        "tosa.decompose_normalization",
        "tosa.decompose_attention",
        "tosa.unroll_recurrence",
        "tosa.sequence_at_to_slice",
        "tosa.reverse_sequence_to_gather",
        "tosa.einsum_pairs",
        "tosa.resize_sizes_to_scales",
        "tosa.clamp_quantize",
        "tosa.cast_of_floats",
        "tosa.decompose_floor_div",
        "tosa.resize_nearest_centers",
        "tosa.decompose_cumsum",
        "tosa.one_hot_to_equal",
    ),
    "tosa.state_ranks",
    "tosa.concat_constant_operands",
    "broadcasts.normalize_expand",
    ("broadcasts.fold_broadcasts",),
    "broadcasts.tile_for_broadcast_to",
    "broadcasts.reshape_for_unit_axes",
    "tosa.batch_matmul_batch_dims",
    "tosa.atan2_operands",
    "tosa.prelu_alpha_rank",
    "broadcasts.equalize_ranks",
    "broadcasts.materialize_broadcasts",
)
"""The modules by their names in this package; those in brackets run in turn until nothing changes."""


def steps(names: Container[str] | None = None) -> tuple[Step, ...]:
    """The steps with the rewrites of these names alone, or all: what does not run is not imported."""
    made: list[Step] = []
    for entry in ORDER:
        group = _named(names, [entry] if isinstance(entry, str) else entry)
        made += group if isinstance(entry, str) else [UntilNothingChanges(group)] * bool(group)
    return tuple(made)


def _named(names: Container[str] | None, modules: Sequence[str]) -> tuple[Rewrite | ModelRewrite, ...]:
    wanted = (module for module in modules if names is None or _name(module) in names)
    return tuple(rewrite(import_module(f"rewrites.{module}")) for module in wanted)


def _name(module: str) -> str:
    return module.rpartition(".")[2].replace("_", "-")


def __getattr__(name: str) -> tuple[Step, ...]:
    """Import all of them where `ALL` is asked for."""
    if name != "ALL":
        raise AttributeError(f"module 'rewrites' has no attribute {name!r}")
    return steps()
