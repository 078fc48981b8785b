"""Targets: named option sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from graphfix.engine.offered import RULES
from graphfix.engine.spelling import not_one_of
from graphfix.operators import ethos_u, tosa
from graphfix.results import GraphfixError
from graphfix.results.records import dataclass, field

Broadcasts: TypeAlias = Literal["keep", "two-sided", "explicit"]
Unknown: TypeAlias = Literal["expand", "keep", "assume", "error"]


@dataclass(frozen=True, slots=True)
class Target:
    """A named set of options, and what its tools can't take."""

    broadcasts: Broadcasts
    """What it does with degenerate axes (`--broadcasts`)."""
    rules: tuple[str, ...]
    """The rewrites that it runs, unless `--only` or `--skip` say otherwise."""
    name: str = ""
    static: bool = False
    """Whether every free dim must be bound first."""
    max_rank: int | None = None
    """The most axes that a value may have."""
    movement: frozenset[str] | None = None
    """The operators that write lifts and stretches (`moved_by`); None: all. No other that moves may be left."""
    keep_fusions: bool = False
    """Whether what onnxruntime's fusions match by shape stays as it is (`--keep-fusions`)."""
    operators: frozenset[str] | None = None
    """The operators that it takes, in the names of the format that it reads; None: all but `not_supported`."""
    not_supported: Mapping[str, str] = field(default_factory=dict)
    """Operator -> why it is not taken; a dict, since a batch sends targets to its processes by pickle."""
    types: frozenset[str] | None = None
    """The types of what is computed when the model runs; None: all."""
    elements: bool = False
    """Whether a value must have elements."""
    outside: str = ""
    """What becomes of a node that is in none of these tables, where that is known."""
    reads: Literal["onnx", "tflite"] | None = None
    """The format that its tools read, whose operators the tables name; None: both."""
    questions: Literal["tosa"] | None = None
    """Whose questions are asked of a node before these tables (`engine.limits`)."""
    evidence: tuple[str, ...] = ()
    """What the row rests on: links, and the commands of measurements."""


MOVEMENT = frozenset("RESHAPE EXPAND_DIMS SQUEEZE TILE BROADCAST_TO STABLEHLO_BROADCAST_IN_DIM".split())
"""TFLite's operators that add and repeat axes, of which a target may take only some."""
ONNX_MOVEMENT = frozenset("Reshape Unsqueeze Squeeze Tile Expand".split())
"""ONNX's. Converters write them in operators that each target takes, but an Expand as a BROADCAST_TO."""
GENERAL = ("repair-shapes", "upgrade-legacy-broadcast", "normalize-expand", "equalize-ranks", "materialize-broadcasts")
"""What every target runs that makes broadcasts explicit."""
COMPACT = ("repair-shapes", "upgrade-legacy-broadcast", "normalize-expand", "fold-broadcasts")
"""What a target runs that takes explicit forms away."""
MATERIALIZE = "materialize-broadcasts"
"""What makes the stretches that `broadcasts` is about."""
OF_CONSTANTS = ("fold-shape-arithmetic", "concat-constant-operands")
"""The rewrites that replace known results by constants: they run again if nodes with known results were made."""
TILES, RESHAPES = "tile-for-broadcast-to", "reshape-for-unit-axes"
"""What writes the stretches and lifts of a TFLite model in the operators that a target takes (`movement`)."""
LITERT = "https://github.com/google-ai-edge/LiteRT/issues"


def moved_by(*operators: str) -> frozenset[str]:
    """A target's movement, of those of TFLite that it takes: with what may stand for them in ONNX."""
    onnx = ONNX_MOVEMENT if "BROADCAST_TO" in operators else ONNX_MOVEMENT - {"Expand"}
    return onnx.union(operators)


def moving(rules: Iterable[str], movement: frozenset[str] | None) -> tuple[str, ...]:
    """The rewrites in their order, with those that write a movement operator which the target lacks as one it takes."""
    wanted = set(rules)
    if movement is not None and "TILE" in movement and "BROADCAST_TO" not in movement:
        wanted.add(TILES)
    if movement is not None and "RESHAPE" in movement and not {"EXPAND_DIMS", "SQUEEZE"} <= movement:
        wanted.add(RESHAPES)
    return tuple(name for name in RULES if name in wanted)


_LITERT_GPU = moved_by("RESHAPE", "TILE")
_ETHOS_U = moved_by("RESHAPE", "EXPAND_DIMS", "SQUEEZE", "TILE")
TARGETS: Mapping[str, Target] = MappingProxyType(
    {
        row.name: row
        for row in (
            Target(
                "explicit",
                GENERAL,
                "explicit",
                evidence=(
                    "docs/targets.md: the time that it costs in onnxruntime and LiteRT",
                    "docs/proof.md: what is proved of each rewrite",
                ),
            ),
            Target(
                "keep",
                GENERAL,
                "ranks",
                evidence=(
                    "docs/targets.md: the time that it costs in onnxruntime and LiteRT",
                    f"{LITERT}/8980: a runtime that aligns operands of other ranks from the left, without a word",
                ),
            ),
            Target(
                "keep",
                tuple(name for name in RULES if name not in (*COMPACT, TILES, RESHAPES) or name in GENERAL),
                "tosa",
                static=True,
                max_rank=tosa.MAX_RANK,
                elements=True,
                questions="tosa",
                evidence=(
                    "https://www.mlplatform.org/tosa/tosa_spec.html: level 8k, MAX_RANK 6, no free sizes",
                    "docs/before-tosa.md: real models, converted and run",
                    "docs/tosa-values-tflite.md, docs/tosa-values-onnx.md: what the converters make of each operator",
                ),
            ),
            Target(
                "keep",
                COMPACT,
                "compact",
                evidence=("docs/targets.md: time, memory and operators against the original",),
            ),
            Target(
                "keep",
                COMPACT,
                "onnxruntime",
                keep_fusions=True,
                evidence=("docs/targets.md: time, memory and fusions against the original",),
            ),
            Target(
                "keep",
                moving(GENERAL, _LITERT_GPU),
                "litert-gpu",
                max_rank=4,
                movement=_LITERT_GPU,
                not_supported={"FILL": "the accelerator has no FILL"},
                outside="one takes the whole model off the GPU",
                reads="tflite",
                evidence=(
                    f"{LITERT}/8980: operands of mixed ranks are misaligned without a word; a RESHAPE helps",
                    f"{LITERT}/8975: the same in a decoder",
                    f"{LITERT}/9191: BROADCAST_TO is refused at rank 4 too, and takes the whole model off the GPU",
                    f"{LITERT}/6851: so is FILL",
                    f"{LITERT}/2540: `has bad input dims size: 5`",
                ),
            ),
            Target(
                "keep",
                moving(GENERAL, _ETHOS_U),
                "ethos-u",
                static=True,
                movement=_ETHOS_U,
                operators=ethos_u.OPERATORS,
                types=ethos_u.TYPES,
                elements=True,
                outside="Vela leaves it to the CPU",
                reads="tflite",
                evidence=(
                    "ethos-u-vela 5.2.0, `vela --supported-ops-report`: operators and types",
                    "scripts/vela_table.py: what is on the NPU before and after, and the cycles (docs/targets.md)",
                ),
            ),
        )
    }
)
"""By name."""


def named(name: str) -> Target:
    """The target of a name. Raises GraphfixError, which lists those that there are."""
    if name not in TARGETS:
        raise GraphfixError(not_one_of("target", name, TARGETS))
    return TARGETS[name]
