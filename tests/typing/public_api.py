"""Every public function and class as a typed program uses it: `mypy --strict` reads this file, and a test runs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import numpy as np
import onnx
import onnx_ir

import graphfix
from graphfix import Change, Conversion, GraphfixError, Load, OpenSizes, Run, Site
from graphfix.adapters.onnx_ir import ExplicitBroadcastsPass


def sources(path: Path, file: BinaryIO) -> list[graphfix.Model]:
    """Load a model from each kind of source."""
    data = path.read_bytes()
    proto: onnx.ModelProto = onnx.load(path)
    ir: onnx_ir.Model = onnx_ir.from_proto(proto)
    made = [graphfix.load(str(path)), graphfix.load(path), graphfix.load(data), graphfix.load(bytearray(data))]
    made += [graphfix.load(memoryview(data)), graphfix.load(file), graphfix.load(proto), graphfix.load(ir)]
    return [*made, graphfix.load(made[0], data_root=path.parent), graphfix.load(data, folder=path.parent)]


def members(model: graphfix.Model, folder: Path) -> tuple[onnx.ModelProto, onnx_ir.Model]:
    """Use every member of a loaded model."""
    kind: Literal["onnx", "tflite"] = model.format
    graphs: Sequence[graphfix.Graph] = model.graphs
    nodes: list[graphfix.Node] = graphs[0].nodes
    values: Sequence[graphfix.Value] = [*model.inputs, *model.outputs]
    model.bind({"N": (2, 64)}, {"x": (None, 3)}, [("x[0]", "b[0]")])
    model.bind(dims={"N": 4})
    files: list[Path] = model.save(folder / f"saved.{kind}")
    data: bytes = model.tobytes()
    assert nodes
    assert values
    assert data
    assert not files
    return model.to_proto(), model.to_ir()


def fixed(path: Path) -> graphfix.Outcome:
    """Fix in memory with typed values."""
    outcome = graphfix.fix(path, target="ranks", dims={"N": 4}, shapes={"x": (4, 3)}, same=[("x[0]", "b[0]")])
    site: Site
    for site in outcome.sites:
        code: str = site.code
        before: tuple[int | str | None, ...] | None = site.before
        assert code.startswith("GF")
        assert before is not None
    model: graphfix.Model = outcome.model
    model.save(path.with_name("ranks.onnx"))
    return outcome


def files(path: Path) -> graphfix.Outcome:
    """Fix a file, check it and show it."""

    def told(text: str, done: int = 0, total: int = 0) -> None:
        print(text, done, total)  # noqa: T201 -- progress

    output = path.with_name("explicit.onnx")
    outcome = graphfix.fix_file(path, output, target="explicit", dims={"N": (2, 64)}, unknown="keep", progress=told)
    found = graphfix.check(output, target="explicit", broadcasts="explicit", values={"x": [1.0, 2.0]} if False else {})
    opened: Sequence[OpenSizes] = found.open_sizes
    changes: Sequence[Change] = outcome.changes
    converted: Conversion | None = outcome.conversion
    lines: Iterator[str] = graphfix.show(output, maps=True, around=("add", 1) if False else None)
    assert (list(opened), list(changes), converted) is not None
    assert list(lines)
    return found


def verified(path: Path, model: graphfix.Model) -> graphfix.Verdict:
    """Compare a file with a loaded model, by runs on arrays."""
    arrays = {"x": np.zeros((4, 3), np.float32), "b": np.ones((4, 3), np.float32)}
    verdict = graphfix.verify(path, model, dims={"N": 4}, inputs=arrays, proof="with", runs=1)
    runs: Sequence[Run] = verdict.runs
    load: Load | None = verdict.load
    assert runs or load
    return verdict


def explained() -> str:
    """Read a page, and the error for one that does not exist."""
    try:
        graphfix.explain("GF999")
    except GraphfixError as error:
        return str(error)
    return graphfix.explain("GF101")


def passed(model: onnx_ir.Model) -> onnx_ir.Model:
    """Run the pass of onnx-ir."""
    return onnx_ir.passes.PassManager([ExplicitBroadcastsPass(target="explicit")])(model).model
