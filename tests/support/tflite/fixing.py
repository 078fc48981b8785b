"""A TFLite model before and after a run of the rewrites: as text, part by part, and what holds of every such run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ai_edge_litert.schema_py_generated as schema

import graphfix
from graphfix.api import pipeline
from models.builders.tflite.text import model
from tests.support import engine
from tests.support.onnx.fixing import asked, lines, listed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphfix.results import Outcome
    from graphfix.shapes.dim import Size


def fixed_file(folder: Path, file: bytes, target: str) -> tuple[Outcome, bytes]:
    """Fix a model with its verification, and return the outcome and the bytes of the result."""
    (folder / "in.tflite").write_bytes(file)
    outcome = graphfix.fix_file(folder / "in.tflite", folder / "out.tflite", target=target)
    return outcome, (folder / "out.tflite").read_bytes()


@dataclass(frozen=True)
class Fixed:
    """A model after a run of the rewrites."""

    before: bytes
    data: bytes
    outcome: Outcome
    view: list[str]
    """The main graph as the engine derived it."""
    everything: list[str]
    """All subgraphs."""

    @property
    def counts(self) -> dict[str, int]:
        return {name: count for name, count in self.outcome.rewrites.items() if count}

    @property
    def left(self) -> list[tuple[str, int | None, str]]:
        return [(it.code, it.operand, it.reason or "") for it in self.outcome.sites if it.status in ("left", "exempt")]

    @property
    def tree(self) -> Any:  # noqa: ANN401 -- the object API has no types
        return tree(self.data)


def tree(data: bytes) -> Any:  # noqa: ANN401 -- the object API has no types
    """Read a file with LiteRT's object API: an independent reader."""
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))


def fixed(
    before: bytes | str,
    *,
    bind: Mapping[str, Size] | None = None,
    stable: bool = True,
    **options: Any,  # noqa: ANN401 -- as `graphfix.fix` takes them; `rewrites` are run in place of the target's
) -> Fixed:
    """Run the rewrites, and see that what holds of every model holds: the fresh view, the second run."""
    file = model(before) if isinstance(before, str) else before
    opened = engine.load(file)
    if bind:
        opened.bind(bind, {})
    outcome = pipeline.fix(opened, *asked(options))
    graphs = opened.finish()
    view, everything, data = listed(graphs), lines(graphs), opened.tobytes()
    again = engine.load(data)
    assert lines(again.graphs) == everything, "the derived view is not that of the written file"
    if stable:
        second = pipeline.fix(again, *asked(options))
        assert not any(second.rewrites.values()), second.sites
        assert again.tobytes() == data
    return Fixed(file, data, outcome, view, everything)
