"""What the proof knows of the results of a node, as text: a model as text in, `float[B,3]` out."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

import onnx.parser
from onnx import TensorProto

from graphfix.checker.proof.core.sizes import Symbol
from graphfix.checker.proof.onnx.reading.types import dtype
from tests.support.last_results import every_result, last_results

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from graphfix.checker.proof.core.terms import ProofValue

HEAD = (
    '<ir_version: 10, opset_import: ["" : {}, "com.microsoft" : {}, "com.microsoft.nchwc" : 1,'
    ' "com.ms.internal.nhwc" : 11, "ai.onnx.ml" : {}]>\n'
)


def shown(view: ProofValue) -> str:
    """Print a type and a shape: `float[B,3]`; `?` is a size that is not known, `-` a type."""
    kind = dtype(view.core)
    name = TensorProto.DataType.Name(kind).lower() if isinstance(kind, int) else "-"
    if view.sizes is None:
        return f"{name}[*]"
    return f"{name}[{','.join(map(size, view.sizes))}]"


def size(of: object) -> str:
    return "?" if isinstance(of, Symbol) and of.key[0] == "dim" else repr(of)


def without_a_rank(inputs: str) -> list[str]:
    """Return the inputs of a text once for each that has a shape, which then has no rank."""
    shapes = re.finditer(r"\[[^]]+\]", inputs)
    return [f"{inputs[: each.start()]}[]{inputs[each.end() :]}" for each in shapes]


def agree(one: str, two: str) -> bool:
    """Return whether two texts of `shown` are of one type, and state no two sizes of one axis."""
    (kind, _, sizes), (other, _, others) = one.partition("["), two.partition("[")
    if kind != other or "*]" in (sizes, others):
        return kind == other or "-" in (kind, other)
    pairs = list(zip_longest(sizes[:-1].split(","), others[:-1].split(",")))
    return all(a == b or "?" in (a, b) for a, b in pairs)


def results(
    folder: Path, inputs: str, node: str, count: int, *, opset: int = 17, version: int = 1, learning: int = 3
) -> list[str]:
    """Return what is known of the results of the last node of a text."""
    names = ", ".join(f"y{at}" for at in range(count))
    before, _, last = f" {node}".rpartition(" y = ")
    head = HEAD.format(opset, version, learning)
    return read(folder, f"{head} g ({inputs}) => (float y0) {{ {before} {names} = {last} }}")[0]


def assumed(folder: Path, inputs: str, node: str, *, opset: int = 17) -> Sequence[str]:
    """Return what the proof assumes for what it knows of a node's first result."""
    before, _, last = f" {node}".rpartition(" y = ")
    return read(folder, f"{HEAD.format(opset, 1, 3)} g ({inputs}) => (float r) {{ {before} r = {last} }}")[1]


def read(folder: Path, text: str) -> tuple[list[str], Sequence[str]]:
    """Return what is known of the results of the last node of a model, of whose results no type is declared."""
    views, table = last_results(_stored(folder, text))
    return ["" if view is None else shown(view) for view in views], list(table.assumptions)


def every_shown(folder: Path, text: str) -> list[list[str]]:
    """Return what is known of the results of every node of a model, of whose results no type is declared."""
    found, _ = every_result(_stored(folder, text))
    return [["" if view is None else shown(view) for view in views] for views in found]


def _stored(folder: Path, text: str) -> Path:
    path = folder / "m.onnx"
    model = onnx.parser.parse_model(text)
    model.graph.output[0].ClearField("type")
    path.write_bytes(model.SerializeToString())
    return path
