"""What a module of a rewrite of one's own imports: the view that it reads, the edits that it plans, and who says no.

    from graphfix.api.rewriting import Edit, Fold, Node

These names stay, with what they mean; where they are defined may change.
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
