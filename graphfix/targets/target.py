"""The definition of a target: a named set of options, and the limits of its tools."""

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
    """A named set of options, and the limits of the target's tools."""

    broadcasts: Broadcasts
    """The treatment of axes of size 1 that are repeated (`--broadcasts`)."""
    rewrites: tuple[str, ...]
    """The names of the rewrites that the target runs, unless `--only` or `--skip` change that."""
    name: str = ""
    static: bool = False
    """Whether every free size must be bound to a number first."""
    max_rank: int | None = None
    """The largest number of axes that a value may have; None: no limit."""
    movement: frozenset[str] | None = None
    """The operators by which lifts and stretches are written (`moved_by`); None: all of them.

    Any other movement operator in the model is a finding.
    """
    keep_fusions: bool = False
    """Whether operands keep their shapes if onnxruntime's fusions compare these shapes (`--keep-fusions`)."""
    operators: frozenset[str] | None = None
    """The supported operators, in the names of the format `reads`; None: all operators but `not_supported`."""
    not_supported: Mapping[str, str] = field(default_factory=dict)
    """Operator -> why it is not supported. It is a dict because a batch sends targets to its processes by pickle."""
    types: frozenset[str] | None = None
    """The supported element types of values that are computed at run time; None: all types."""
    elements: bool = False
    """Whether every value must have elements, so that no size is 0."""
    outside: str = ""
    """The fate of a node that these tables do not support, for messages; empty if it is not known."""
    reads: Literal["onnx", "tflite"] | None = None
    """The format that the target's tools read, whose names the tables contain; None: both formats."""
    questions: Literal["tosa"] | None = None
    """The target whose own checks of a node run before these tables (`targets.limits`); None: no such checks."""
    evidence: tuple[str, ...] = ()
    """The sources of this row: links, and the commands of measurements."""


MOVEMENT = frozenset("RESHAPE EXPAND_DIMS SQUEEZE TILE BROADCAST_TO STABLEHLO_BROADCAST_IN_DIM".split())
"""TFLite's operators that add, remove and repeat axes. A target may support only some of them."""
ONNX_MOVEMENT = frozenset("Reshape Unsqueeze Squeeze Tile Expand".split())
"""ONNX's operators that add, remove and repeat axes.

Converters write them as operators that each target supports, except Expand, which becomes a BROADCAST_TO.
"""
MATERIALIZE = "materialize-broadcasts"
"""The name of the rewrite that makes the stretches which the option `broadcasts` controls."""
OF_CONSTANTS = ("fold-shape-arithmetic", "concat-constant-operands")
"""The rewrites that replace known results by constants.

They run again if later rewrites added nodes with known results.
"""
TILES, RESHAPES = "tile-for-broadcast-to", "reshape-for-unit-axes"
"""The rewrites that write a TFLite model's stretches and lifts as operators that a target supports (`movement`)."""


def original(value: Value) -> Value:
    """Return the file's own value behind a value that edits lifted or stretched; any other value is returned as is.

    Messages contain the name of the file's value, because an edit's value has a new name.
    """
    node = value.producer
    while node is not None and node.index < 0 and node.op in MOVEMENT | ONNX_MOVEMENT:
        value = node.operand(0)
        node = value.producer
    return value


def value_text(value: Value) -> str:
    """Return a value as text for messages: `c[N,4]`, or `c[N,4] as [1,N,4]` if an edit lifted or stretched it."""
    original_value = original(value)
    return str(value) if original_value is value else f"{original_value} as {str(value).removeprefix(value.name)}"


def moved_by(*operators: str) -> frozenset[str]:
    """Return the movement operators of a target: the given operators of TFLite, and their counterparts in ONNX.

    ONNX's Expand is only included if the target supports BROADCAST_TO.
    """
    onnx = ONNX_MOVEMENT if "BROADCAST_TO" in operators else ONNX_MOVEMENT - {"Expand"}
    return onnx.union(operators)


def moving(rewrites: Iterable[str], movement: frozenset[str] | None) -> tuple[str, ...]:
    """Return `rewrites` in the order in which they run, with rewrites that replace unsupported movement operators.

    `movement` are the movement operators that the target supports; None: all of them.
    """
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
