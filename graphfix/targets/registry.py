"""The names of all targets and of all rewrites, in order. A line in this module adds a rewrite or a target.

The module imports nothing but `typing`, because the command line reads it for `--help`. The target `litert-gpu` is the
module `graphfix.targets.litert_gpu`. The rewrite `equalize-ranks` is a module `equalize_ranks` in a folder of
`rewrites/`. Such a module is imported when it is needed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias, get_args

TargetName: TypeAlias = Literal["explicit", "ranks", "tosa", "compact", "onnxruntime", "litert-gpu", "ethos-u"]
TARGETS: tuple[TargetName, ...] = get_args(TargetName)
Broadcasts: TypeAlias = Literal["keep", "two-sided", "explicit"]
"""The treatment of axes of size 1 that are repeated (`--broadcasts`)."""
BROADCASTS: tuple[Broadcasts, ...] = get_args(Broadcasts)
Unknown: TypeAlias = Literal["expand", "keep", "assume", "error"]
"""The treatment of sizes that are known only at run time (`--unknown`)."""
UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)

Group: TypeAlias = Literal["explicit", "compact", "tosa", "movement"]
"""The targets that run a rewrite.

explicit: all targets that make broadcasts explicit. compact: the targets that remove explicit broadcasts. tosa: only
the target `tosa`. movement: the targets that do not support an operator which the rewrite replaces (`target.moving`).
"""
SIMPLIFY, FOLD = 1, 2


class Entry(NamedTuple):
    """A rewrite, with the targets that run it."""

    module: str
    """The rewrite's module in `rewrites/`."""
    groups: tuple[Group, ...]
    """The groups of targets that run the rewrite."""
    turn: int | None = None
    """Neighbours with the same number are run repeatedly until they change nothing.

    The repetition is necessary because each rewrite may make more values known to the others.
    """

    @property
    def name(self) -> str:
        """The name of the rewrite: `equalize-ranks` for `broadcasts.equalize_ranks`."""
        return self.module.rpartition(".")[2].replace("_", "-")


ORDER = (
    Entry("broadcasts.repair_shapes", ("explicit", "compact")),
    Entry("broadcasts.upgrade_legacy_broadcast", ("explicit", "compact")),
    Entry("tosa.drop_import_metadata", ("tosa",)),
    Entry("tosa.upgrade_opset", ("tosa",)),
    Entry("tosa.densify_constants", ("tosa",)),
    Entry("tosa.inline_decided_branches", ("tosa",), SIMPLIFY),
    Entry("tosa.fold_shape_arithmetic", ("tosa",), SIMPLIFY),
    Entry("tosa.unroll_loops", ("tosa",), SIMPLIFY),
    Entry("tosa.drop_empty_operands", ("tosa",), SIMPLIFY),
    Entry("tosa.rfft2d_rank", ("tosa",), SIMPLIFY),
    Entry("tosa.select_v1_to_v2", ("tosa",), SIMPLIFY),
    Entry("tosa.pow_to_mul", ("tosa",), SIMPLIFY),
    Entry("tosa.resize_nearest_to_expand", ("tosa",), SIMPLIFY),
    Entry("tosa.decompose_prelu", ("tosa",), SIMPLIFY),
    Entry("tosa.decompose_gelu", ("tosa",), SIMPLIFY),
    Entry("tosa.decompose_normalization", ("tosa",), SIMPLIFY),
    Entry("tosa.decompose_attention", ("tosa",), SIMPLIFY),
    Entry("tosa.unroll_recurrence", ("tosa",), SIMPLIFY),
    Entry("tosa.sequence_at_to_slice", ("tosa",), SIMPLIFY),
    Entry("tosa.reverse_sequence_to_gather", ("tosa",), SIMPLIFY),
    Entry("tosa.slice_backwards_to_gather", ("tosa",), SIMPLIFY),
    Entry("tosa.einsum_pairs", ("tosa",), SIMPLIFY),
    Entry("tosa.resize_sizes_to_scales", ("tosa",), SIMPLIFY),
    Entry("tosa.clamp_quantize", ("tosa",), SIMPLIFY),
    Entry("tosa.cast_of_floats", ("tosa",), SIMPLIFY),
    Entry("tosa.decompose_floor_div", ("tosa",), SIMPLIFY),
    Entry("tosa.resize_nearest_centers", ("tosa",), SIMPLIFY),
    Entry("tosa.decompose_cumsum", ("tosa",), SIMPLIFY),
    Entry("tosa.one_hot_to_equal", ("tosa",), SIMPLIFY),
    Entry("tosa.state_ranks", ("tosa",)),
    Entry("tosa.concat_constant_operands", ("tosa",)),
    Entry("broadcasts.normalize_expand", ("explicit", "compact")),
    Entry("broadcasts.fold_broadcasts", ("compact",), FOLD),
    Entry("broadcasts.tile_for_broadcast_to", ("movement",)),
    Entry("broadcasts.reshape_for_unit_axes", ("movement",)),
    Entry("tosa.batch_matmul_batch_dims", ("tosa",)),
    Entry("tosa.atan2_operands", ("tosa",)),
    Entry("tosa.prelu_alpha_rank", ("tosa",)),
    Entry("broadcasts.equalize_ranks", ("explicit",)),
    Entry("broadcasts.materialize_broadcasts", ("explicit",)),
)
"""The rewrites in the order in which they run."""
REWRITES = tuple(entry.name for entry in ORDER)
"""The names of all rewrites, in the order in which they run."""


def run_for(*groups: Group) -> tuple[str, ...]:
    """Return the names of the rewrites that run for one of these groups of targets, in order."""
    return tuple(entry.name for entry in ORDER if not {*groups}.isdisjoint(entry.groups))
