"""A model through the TOSA tools, step by step, as the tests marked `tosa` do it; they need the extra `tosa`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.parser
import pytest

import graphfix
from graphfix.api import format_of
from graphfix.runtimes import tosa
from graphfix.runtimes.process import Child
from graphfix.tosa.convert import converter
from models.builders.tflite.text import model as tflite_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

needs_tools = pytest.mark.tosa


def tflite(folder: Path, text: str) -> Path:
    path = folder / "m.tflite"
    path.write_bytes(tflite_model(text))
    return path


def onnx_file(folder: Path, graph: str, *, opset: int = 17) -> Path:
    path = folder / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}'), path)
    return path


def convert(model: Path, out: Path) -> None:
    """Convert by the tool of the file's format."""
    tosa.convert(converter(format_of(model)), model, out)


def validated(model: Path) -> tosa.Validation:
    """Convert and validate, with the flatbuffer beside the model."""
    convert(model, model.with_suffix(".mlirbc"))
    return tosa.validate(model.with_suffix(".mlirbc"), model.with_suffix(".tosa"))


def ran(model: Path, *inputs: np.ndarray) -> tosa.Computed:
    assert validated(model).errors == ()
    return tosa.run(model.with_suffix(".tosa"), inputs)


def prepared(model: Path, *, check_result: bool = True) -> Path:
    """The model with target `tosa` applied, every free size bound by default."""
    out = model.with_name(f"fixed_{model.name}")
    outcome = graphfix.fix_file(model, out, target="tosa", bind_defaults=True, check_result=check_result)
    assert outcome.output is not None, outcome.verdict
    return out


def feeds_of(model: Path, *, seed: int) -> dict[str, np.ndarray]:
    """Seeded inputs of a TFLite model: floats and whole numbers of both signs, none of them 0."""
    source = np.random.default_rng(seed)
    with Child() as child:
        specs = child.load_tflite(model, "reference").inputs
    return {spec.name: _values(np.dtype(spec.dtype), spec.shape, source) for spec in specs}


def _values(dtype: np.dtype, shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    if dtype == np.bool_:
        return np.asarray(source.random(shape) < 0.5)
    if dtype.kind == "f":
        return np.asarray(source.uniform(-2, 2, shape)).astype(dtype)
    sign = 1 if dtype.kind == "u" else np.where(source.random(shape) < 0.5, -1, 1)
    return np.asarray(source.integers(1, 40, shape) * sign).astype(dtype)


def litert_reference(model: Path, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What LiteRT's reference kernels compute."""
    with Child() as child:
        session = child.load_tflite(model, "reference")
        names = session.outputs
        return dict(zip(names, map(np.asarray, session.run(feeds)), strict=True))


def fed(model: Path, feeds: Mapping[str, np.ndarray]) -> Iterator[np.ndarray]:
    """The inputs in the order in which the model takes them."""
    with Child() as child:
        yield from (feeds[spec.name] for spec in child.load_tflite(model, "reference").inputs)
