"""Models as the engine sees them: `graphfix.load` returns the public class, which does not show the engine's verbs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from onnx import ModelProto

from graphfix import formats
from graphfix.api import pipeline
from graphfix.engine.request import Request
from graphfix.results import Outcome


def load(source: str | Path | bytes | ModelProto) -> Any:  # noqa: ANN401 -- either format
    """Return the model of a format."""
    return formats.load(Path(source) if isinstance(source, (str, os.PathLike)) else source)


def fix(model: Any, **keywords: Any) -> Outcome:  # noqa: ANN401 -- as above
    """Rewrite such a model in place."""
    return pipeline.fix(model, Request.of(keywords))
