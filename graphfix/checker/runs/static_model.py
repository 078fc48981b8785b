"""A model of fixed sizes: its inputs and outputs, and the inputs that a verification would run it on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphfix.checker.runs import given_inputs
from graphfix.checker.runs.interface import Interface, litert_interface, onnx_interface
from graphfix.checker.runs.seeded_inputs import Choice, seeded
from graphfix.checker.runs.sizes import shape_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from graphfix.checker.runs.input_limits import Limits
    from graphfix.runtimes import session as runtime


@dataclass(frozen=True, slots=True)
class StaticModel:
    """The interface of a model without free sizes, and what the values of its inputs must keep to."""

    interface: Interface
    limits: Limits

    def seeded(self, seed: int) -> dict[str, object]:
        """Return the inputs of a seed by name."""
        return dict(seeded(self.interface, {}, self.limits, Choice(), (seed, 0)).feeds)

    def given(self, path: Path) -> Mapping[str, object]:
        """Read the inputs of an .npz or a test_data_set folder by name. Raises GraphfixError where they do not fit."""
        return given_inputs.load(path, self.interface).feeds


def static_onnx(path: Path) -> StaticModel:
    """Read an ONNX model. Raises GraphfixError for what is none."""
    from graphfix.checker.files.onnx.skeleton import read
    from graphfix.checker.runs.onnx.input_limits import limits

    model = read(path)
    interface = onnx_interface(model)
    return StaticModel(interface, limits(model, {spec.name: shape_of(spec, {}) for spec in interface.inputs}))


def static_tflite(path: Path, reported: runtime.ModelDetails) -> StaticModel:
    """Read a TFLite model of which LiteRT has reported the interface."""
    from graphfix.checker.files.tflite.graphs import read_graphs
    from graphfix.checker.runs.tflite.input_limits import limits

    names = {spec.index: spec.name for spec in reported.inputs}
    shapes = {spec.name: spec.shape for spec in reported.inputs}
    return StaticModel(litert_interface(reported), limits(read_graphs(path), 0, names, shapes))
