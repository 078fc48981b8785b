"""The type of the fixture that writes a model from text."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Written = Callable[..., Path]
