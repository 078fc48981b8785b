"""The rules of all standard operators, merged from the modules of the families; each operator is in one family.

A shape rule returns one shape a result, or None where it does not know the shape; it never guesses. The rules of the
operators that onnxruntime adds are in `infer.contrib`, which is imported only if a model has such an operator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphfix import operators
from graphfix.formats.onnx.infer import contrib
from graphfix.formats.onnx.infer.call import Rule
from graphfix.formats.onnx.infer.operators import (
    arithmetic,
    attention,
    elementwise,
    generators,
    indexing,
    joining,
    products,
    reductions,
    reshaping,
    sequences,
    slicing,
    windows,
)
from graphfix.formats.onnx.infer.operators.integers import BoundsRule, IntegerRule
from graphfix.operators.row import Row

_FAMILIES = (
    *(arithmetic, attention, elementwise, generators, indexing, joining),
    *(products, reductions, reshaping, sequences, slicing, windows),
)


def _merged(table: str) -> dict[str, Any]:
    """Return the rules of this table of all families; a family without such rules does not have the table."""
    return {key: rule for family in _FAMILIES for key, rule in getattr(family, table, {}).items()}


SHAPES: Mapping[tuple[str, str], Rule] = {
    **{("", op): rule for op, rule in _merged("SHAPES").items()},
    ("ai.onnx.preview", "FlexAttention"): attention.flex_attention,
}
"""By domain and operator."""
BY_STYLE: Mapping[str, Rule] = _merged("BY_STYLE")
"""By the style of the catalogue's row: the rules of the operators that are not in SHAPES."""
INTEGERS: Mapping[str, IntegerRule] = _merged("INTEGERS")
"""By standard operator: the elements of its first result."""
BOUNDS: Mapping[str, BoundsRule] = _merged("BOUNDS")
"""By standard operator: the bounds of its results."""
SHAPES_ALONE = frozenset(
    {operator for operator, rule in SHAPES.items() if rule is elementwise.first}
    | {(row.domain, row.op) for row in operators.rows() if row.style in BY_STYLE}
)
"""The operators whose results' shapes follow from the operands' shapes alone, never from the operands' elements."""


def shape_rule(domain: str, op: str, row: Row | None) -> Rule | None:
    """Return the shape rule of an operator: by its name, else by its row's style; None if there is no rule."""
    rule = SHAPES.get((domain, op))
    if rule is not None:
        return rule
    added = contrib.find(domain, op)
    return added.shapes if added is not None else BY_STYLE.get(row.style) if row is not None else None


def moves(domain: str, op: str) -> str:
    """Return the standard operator that treats integer elements as this operator does; empty if there is none."""
    added = contrib.find(domain, op)
    return "" if added is None else added.moves
