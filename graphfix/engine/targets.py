"""Targets: named option sets; and the names that the command line offers, without importing what they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

Broadcasts: TypeAlias = Literal["keep", "two-sided", "explicit"]
BROADCASTS: tuple[Broadcasts, ...] = get_args(Broadcasts)
Unknown: TypeAlias = Literal["expand", "keep", "assume", "error"]
UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)


@dataclass(frozen=True, slots=True)
class Target:
    """A named set of options."""

    broadcasts: Broadcasts
    """What it does with degenerate axes (`--broadcasts`)."""
    rules: tuple[str, ...]
    """The rewrites that it runs, unless `--only` or `--skip` say otherwise."""
    static: bool = False
    """Whether every free dim must be bound first."""
    max_rank: int | None = None
    """The most axes that a value may have."""
    movement: frozenset[str] | None = None
    """The operators by which lifts and stretches may be written, and that a model may have; None: all of the format's.

    Of TFLite's RESHAPE, EXPAND_DIMS, SQUEEZE, TILE, BROADCAST_TO, STABLEHLO_BROADCAST_IN_DIM; ONNX has one form each.
    """
    keep_fusions: bool = False
    """Whether what onnxruntime's fusions match by shape stays as it is (`--keep-fusions`)."""
    evidence: tuple[str, ...] = ()
    """What the row rests on: links, and the commands of measurements."""


GENERAL = ("upgrade-legacy-broadcast", "normalize-expand", "equalize-ranks", "materialize-broadcasts")
"""What every target runs that makes broadcasts explicit."""
COMPACT = ("upgrade-legacy-broadcast", "normalize-expand", "fold-broadcasts")
"""What a target runs that takes explicit forms away."""
RULES = (
    "upgrade-legacy-broadcast",
    "upgrade-opset",
    "densify-constants",
    "inline-decided-branches",
    "fold-shape-arithmetic",
    "unroll-loops",
    "drop-empty-operands",
    "rfft2d-rank",
    "select-v1-to-v2",
    "pow-to-mul",
    "resize-nearest-to-expand",
    "decompose-prelu",
    "decompose-gelu",
    "decompose-normalization",
    "decompose-attention",
    "unroll-recurrence",
    "sequence-at-to-slice",
    "einsum-pairs",
    "resize-sizes-to-scales",
    "clamp-quantize",
    "cast-of-floats",
    "decompose-floor-div",
    "resize-nearest-centers",
    "decompose-cumsum",
    "one-hot-to-equal",
    "concat-constant-operands",
    "normalize-expand",
    "fold-broadcasts",
    "batch-matmul-batch-dims",
    "atan2-operands",
    "prelu-alpha-rank",
    "equalize-ranks",
    "materialize-broadcasts",
)
"""The rewrites in the order in which they run; a test compares them with `rewrites.ALL`."""
TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        "explicit": Target("explicit", GENERAL),
        "ranks": Target("keep", GENERAL),
        "tosa": Target("keep", tuple(name for name in RULES if name not in COMPACT or name in GENERAL), static=True),
        "compact": Target("keep", COMPACT),
        "onnxruntime": Target("keep", COMPACT, keep_fusions=True),
    }
)
