"""The names that the command line offers, without what they stand for: an import costs no time."""

from __future__ import annotations

BROADCASTS = ("keep", "two-sided", "explicit")
"""What `--broadcasts` says of degenerate axes (`targets.Broadcasts`; a test compares them)."""
UNKNOWN = ("expand", "keep", "assume", "error")
"""What `--unknown` says of sizes known only at run time (`targets.Unknown`; likewise)."""
TARGETS = ("explicit", "ranks", "tosa", "compact", "onnxruntime", "litert-gpu", "ethos-u")
"""The names of `targets.TARGETS`; a test compares them."""
FORMS = ("json", "markdown", "sarif", "junit", "github")
"""What `check --format` prints beside the table (`report.TEXTS`; a test compares them)."""
RULES = (
    "repair-shapes",
    "upgrade-legacy-broadcast",
    "drop-import-metadata",
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
    "reverse-sequence-to-gather",
    "einsum-pairs",
    "resize-sizes-to-scales",
    "clamp-quantize",
    "cast-of-floats",
    "decompose-floor-div",
    "resize-nearest-centers",
    "decompose-cumsum",
    "one-hot-to-equal",
    "state-ranks",
    "concat-constant-operands",
    "normalize-expand",
    "fold-broadcasts",
    "tile-for-broadcast-to",
    "reshape-for-unit-axes",
    "batch-matmul-batch-dims",
    "atan2-operands",
    "prelu-alpha-rank",
    "equalize-ranks",
    "materialize-broadcasts",
)
"""The rewrites in the order in which they run; a test compares them with `rewrites.ALL`."""
