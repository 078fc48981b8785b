"""What falls short on models/exported, by file and target (tests/whole/test_exported.py: the tables are exact)."""

from __future__ import annotations

from collections.abc import Mapping

NOT_PROVED: Mapping[tuple[str, str], str] = {}
"""And why."""

LEFT: Mapping[tuple[str, str], int] = {}
"""How many nodes have a site that is left."""

NOT_COMPARED: Mapping[tuple[str, str], str] = {}
"""What the runs can't compare, and why."""

NEVER_STRETCHED: Mapping[str, Mapping[str, int]] = {"onnx": {}, "tflite": {}}
"""By format and file, target explicit: nodes that are stretched at run time, and that no size stretches which the test
tries: those that the model is used at, and each free size at 1."""
