"""What a target is: a named set of options, and what its tools can't take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from importlib import import_module
from inspect import cleandoc
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from graphfix.results import GraphfixError
from graphfix.results.error_texts import not_one_of
from graphfix.results.records import dataclass, field
from graphfix.targets.registry import REWRITES, TARGETS, Broadcasts

if TYPE_CHECKING:
    from graphfix.graph.view import Value


@dataclass(frozen=True, slots=True)
class Target:
    """A named set of options, and what its tools can't take."""

    broadcasts: Broadcasts
    """What it does with degenerate axes (`--broadcasts`)."""
    rewrites: tuple[str, ...]
    """The names of the rewrites that it runs, unless `--only` or `--skip` say otherwise."""
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
    """Whose questions are asked of a node before these tables (`targets.limits`)."""
    evidence: tuple[str, ...] = ()
    """What the row rests on: links, and the commands of measurements."""


MOVEMENT = frozenset("RESHAPE EXPAND_DIMS SQUEEZE TILE BROADCAST_TO STABLEHLO_BROADCAST_IN_DIM".split())
"""TFLite's operators that add and repeat axes, of which a target may take only some."""
ONNX_MOVEMENT = frozenset("Reshape Unsqueeze Squeeze Tile Expand".split())
"""ONNX's. Converters write them in operators that each target takes, but an Expand as a BROADCAST_TO."""
MATERIALIZE = "materialize-broadcasts"
"""What makes the stretches that `broadcasts` is about."""
OF_CONSTANTS = ("fold-shape-arithmetic", "concat-constant-operands")
"""The rewrites that replace known results by constants: they run again if nodes with known results were made."""
TILES, RESHAPES = "tile-for-broadcast-to", "reshape-for-unit-axes"
"""What writes the stretches and lifts of a TFLite model in the operators that a target takes (`movement`)."""


def original(value: Value) -> Value:
    """Return the value of the file that edits lifted or stretched to this one: an edit's value has a new name."""
    node = value.producer
    while node is not None and node.index < 0 and node.op in MOVEMENT | ONNX_MOVEMENT:
        value = node.operand(0)
        node = value.producer
    return value


def value_text(value: Value) -> str:
    """Return `c[N,4]`, or `c[N,4] as [1,N,4]` if an edit lifted or stretched the value."""
    original_value = original(value)
    return str(value) if original_value is value else f"{original_value} as {str(value).removeprefix(value.name)}"


def moved_by(*operators: str) -> frozenset[str]:
    """A target's movement, of those of TFLite that it takes: with what may stand for them in ONNX."""
    onnx = ONNX_MOVEMENT if "BROADCAST_TO" in operators else ONNX_MOVEMENT - {"Expand"}
    return onnx.union(operators)


def moving(rewrites: Iterable[str], movement: frozenset[str] | None) -> tuple[str, ...]:
    """Return the rewrites in their order, with those that replace movement operators which a target does not take."""
    wanted = set(rewrites)
    if movement is not None and "TILE" in movement and "BROADCAST_TO" not in movement:
        wanted.add(TILES)
    if movement is not None and "RESHAPE" in movement and not {"EXPAND_DIMS", "SQUEEZE"} <= movement:
        wanted.add(RESHAPES)
    return tuple(name for name in REWRITES if name in wanted)


@cache
def target_of(name: str) -> Target:
    """Return the target of this name. Raises GraphfixError, which lists all names."""
    row: Target = _module(name).ROW
    return replace(row, name=name)


def page(name: str) -> str:
    """Return the page of a target, which is its module's docstring, as Markdown. Raises GraphfixError."""
    return f"# target {name}\n\n{cleandoc(_module(name).__doc__ or '')}\n"


def _module(name: str) -> ModuleType:
    if name not in TARGETS:
        raise GraphfixError(not_one_of("target", name, TARGETS))
    return import_module(f"graphfix.targets.{name.replace('-', '_')}")
