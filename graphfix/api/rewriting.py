"""The names that a module of a user's rewrite imports: the graph view, the edits, and the exceptions of shape rules.

    from graphfix.api.rewriting import Edit, Fold, Node

These names keep their meaning; the modules that define them may change.
"""

from __future__ import annotations

from graphfix.graph.broadcast import Alignment, BroadcastOperand, align
from graphfix.graph.edits import (
    Assume,
    Bypass,
    Canonicalize,
    Edit,
    Evaluate,
    Fold,
    Inline,
    Leave,
    Lift,
    New,
    Numbers,
    Replace,
    Restate,
    Stretch,
    reshape,
    scalar,
)
from graphfix.graph.protocols import ANY, BROADCASTING, Operators, Rewrite, rewrite
from graphfix.graph.view import Graph, Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Dim, Incompatible, Shape, Size, Undecided, same
from graphfix.shapes.shape import same_shape

__all__ = [
    "ANY",
    "BROADCASTING",
    "TFLITE",
    "Alignment",
    "Assume",
    "BroadcastOperand",
    "Bypass",
    "Canonicalize",
    "Dim",
    "Edit",
    "Evaluate",
    "Fold",
    "Graph",
    "Incompatible",
    "Inline",
    "Leave",
    "Lift",
    "New",
    "Node",
    "Numbers",
    "Operators",
    "Replace",
    "Restate",
    "Rewrite",
    "Shape",
    "Size",
    "Stretch",
    "Undecided",
    "Value",
    "align",
    "reshape",
    "rewrite",
    "same",
    "same_shape",
    "scalar",
]
