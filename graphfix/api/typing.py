"""The types in the signatures of the public functions, for programs that annotate their own functions."""

from graphfix.api.model import Source
from graphfix.engine.request import Dims, Same, Shapes, Values
from graphfix.graph.protocols import Step
from graphfix.results import Status, VerdictStatus
from graphfix.results.excerpt import JsonShape
from graphfix.results.progress import Progress
from graphfix.targets.registry import Broadcasts, TargetName, Unknown

__all__ = [
    "Broadcasts",
    "Dims",
    "JsonShape",
    "Progress",
    "Same",
    "Shapes",
    "Source",
    "Status",
    "Step",
    "TargetName",
    "Unknown",
    "Values",
    "VerdictStatus",
]
