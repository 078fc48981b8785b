"""The cases of onnx's own backend suite: models with stored inputs and outputs, from memory or from files."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import onnx
from onnx import ModelProto, numpy_helper
from onnx.backend.test.case.test_case import TestCase
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")

Values = tuple[object, ...]
"""Arrays; lists of them for sequences, None for an absent optional."""


@dataclass(frozen=True, slots=True)
class Case:
    """A model and what it was recorded to give."""

    name: str
    model: ModelProto
    sets: tuple[tuple[Values, Values], ...]
    """(inputs, outputs), each in the order of the graph's."""
    rtol: float
    atol: float

    @property
    def ops(self) -> frozenset[tuple[str, str]]:
        """(domain, operator) of the nodes of the main graph and of local functions."""
        nodes = [*self.model.graph.node, *(node for function in self.model.functions for node in function.node)]
        return frozenset(("" if node.domain == "ai.onnx" else node.domain, node.op_type) for node in nodes)

    def feeds(self, inputs: Values) -> dict[str, object]:
        """The inputs by name; initializers that are inputs too stand behind them and keep their values."""
        return dict(zip([value.name for value in self.model.graph.input], inputs, strict=False))


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case of the installed onnx, sorted by name; names that occur twice get their kind's in front."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the makers of the cases divide by zero on purpose
        raw = [*load_model_tests(kind="node"), *(case for kind in FOLDERS for case in load_model_tests(kind=kind))]
        made = [*(_case(case) for case in raw), *_light()]
    return tuple(sorted(made, key=lambda case: case.name))


def _case(case: TestCase) -> Case:
    name = case.name if case.kind == "node" else f"{case.kind}/{case.name}"
    if case.model is not None:
        sets = tuple((_plain(inputs), _plain(outputs)) for inputs, outputs in case.data_sets or ())
        return Case(name, case.model, sets, case.rtol, case.atol)
    folder = Path(case.model_dir or "")
    model = onnx.load(folder / "model.onnx")
    sets = tuple(_stored(at, model) for at in sorted(folder.glob("test_data_set_*")))
    return Case(name, model, sets, case.rtol, case.atol)


def _plain(values: Sequence[object]) -> Values:
    return tuple(numpy_helper.to_array(it) if isinstance(it, onnx.TensorProto) else it for it in values)


def _stored(folder: Path, model: ModelProto) -> tuple[Values, Values]:
    pairs = (("input", model.graph.input), ("output", model.graph.output))
    inputs, outputs = (tuple(_values(folder, stem, values)) for stem, values in pairs)
    return inputs, outputs


def _values(folder: Path, stem: str, values: Sequence[onnx.ValueInfoProto]) -> Iterator[object]:
    for index in range(len(list(folder.glob(f"{stem}_*.pb")))):
        raw = (folder / f"{stem}_{index}.pb").read_bytes()
        kind = values[index].type.WhichOneof("value")
        if kind == "sequence_type":
            yield numpy_helper.to_list(onnx.SequenceProto.FromString(raw))
        elif kind == "optional_type":
            yield numpy_helper.to_optional(onnx.OptionalProto.FromString(raw))
        else:
            yield numpy_helper.to_array(onnx.TensorProto.FromString(raw))


def _light() -> Iterator[Case]:
    """Nine classification networks with constants for weights; their inputs are made as onnx's runner makes them."""
    for path in sorted(Path(onnx.__file__).parent.glob("backend/test/data/light/*.onnx")):
        model = onnx.load(path)
        weights = {tensor.name for tensor in model.graph.initializer}
        free = [value for value in model.graph.input if value.name not in weights]
        inputs = tuple(Runner.generate_dummy_data(value) for value in free)
        output = numpy_helper.to_array(
            onnx.TensorProto.FromString(path.with_name(f"{path.stem}_output_0.pb").read_bytes())
        )
        yield Case(f"light/{path.stem}", model, ((inputs, (np.asarray(output),)),), 2e-3, 1e-7)
