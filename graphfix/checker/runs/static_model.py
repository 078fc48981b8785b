"""A model whose sizes are all constant: its inputs and outputs, and the inputs on which a verification would run it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.checker.runs.inputs import given_inputs
from graphfix.checker.runs.inputs.interface import Interface, litert_interface, onnx_interface
from graphfix.checker.runs.inputs.seeded_inputs import Choice, seeded
from graphfix.checker.runs.sizes.free_sizes import shape_of
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.runs.inputs.input_limits import Limits
    from graphfix.results import InputValue
    from graphfix.runtimes import session as runtime
    from graphfix.runtimes.process import Child


@dataclass(frozen=True, slots=True)
class StaticModel:
    """The interface of a model without free sizes, and the limits of the values of its inputs."""

    interface: Interface
    """The interface without the inputs that are set to constants.

    Their values are still part of the inputs of a run.
    """
    limits: Limits
    arguments: tuple[str, ...]
    """The names of all inputs of the model that must be fed, in order."""
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Float input that is quantized first -> the lowest and the highest value of its quantized type."""
    steps: tuple[float | None, ...] = ()
    """For each output, the distance between adjacent quantized values; None if not quantized. Empty for ONNX."""
    float16_outputs: frozenset[str] = frozenset()
    """The outputs of an ONNX model that have a wider type than float16 but contain float16 numbers."""

    def seeded(self, seed: int) -> dict[str, object]:
        """Return the inputs for a seed, by name."""
        return dict(seeded(self.interface, {}, self.limits, Choice(), (seed, 0)).feeds)

    def given(self, path: Path) -> Mapping[str, object]:
        """Return the inputs from an .npz file or a test_data_set folder, by name.

        Raise GraphfixError if they do not fit.
        """
        return given_inputs.load(path, self.interface).feeds


def onnx_session(child: Child, path: Path, data_root: Sequence[Path], *, optimized: bool = False) -> runtime.Session:
    """Load an ONNX file in onnxruntime. Its data files may be in the model's folder or in `data_root`.

    Raise RefusedError if onnxruntime refuses the file, and GraphfixError for a data file in any other place.
    """
    from graphfix.checker.files.onnx import external_data
    from graphfix.checker.files.onnx.skeleton import read

    data = external_data.checked(path, read(path), data_root)
    return child.load(data.runnable(), folder=data.folder, optimized=optimized)


def fed_like(session: runtime.Session, original: Path, fixed: Path) -> runtime.Session:
    """Return a session of the original that accepts inputs with the integer types of the fixed model (ONNX).

    `session` runs the original. `original` and `fixed` are the files.
    """
    from graphfix.checker.files.onnx.skeleton import read
    from graphfix.checker.runs.inputs.recast import fed_as

    return fed_as(session, onnx_interface(read(original)), onnx_interface(read(fixed)))


def static_onnx(path: Path, original: Path, values: Mapping[str, InputValue]) -> StaticModel:
    """Read an ONNX model that was made from `original`, which may have more inputs: those in `values`.

    Raise GraphfixError if a file is no ONNX model.
    """
    from graphfix.checker.files.onnx.skeleton import read
    from graphfix.checker.runs.onnx.float16_outputs import float16_outputs
    from graphfix.checker.runs.onnx.input_limits import limits

    model = read(path)
    interface = onnx_interface(model)
    shapes = {spec.name: shape_of(spec, {}) for spec in interface.inputs}
    input_limits = limits(model, shapes)
    arguments = tuple(shapes)
    if values:
        constant = onnx_interface(read(original)).setting(values, {}, shapes).constant
        interface = replace(interface.without(values), constant=constant)
    return StaticModel(interface, input_limits, arguments, float16_outputs=float16_outputs(model))


def static_tflite(
    path: Path, reported: runtime.ModelDetails, original: runtime.ModelDetails, values: Mapping[str, InputValue]
) -> StaticModel:
    """Read a TFLite model that was made from another one, which may have more inputs: those in `values`.

    `reported` and `original` are the interfaces of the new and the original model, as LiteRT reports them.
    """
    from graphfix.checker.files.tflite.graphs import read_graphs
    from graphfix.checker.runs.tflite.input_limits import limits
    from graphfix.checker.runs.tflite.quantized_ends import input_ranges, output_steps

    graphs = read_graphs(path)
    names = {spec.index: spec.name for spec in reported.inputs}
    shapes = {spec.name: spec.shape for spec in reported.inputs}
    interface = litert_interface(reported)
    if values:
        constant = litert_interface(original).setting(values, {}, shapes).constant
        interface = replace(interface.without({spec.name for spec, _ in constant}), constant=constant)
    input_limits = limits(graphs, 0, names, shapes, fractional=interface.fractional)
    return StaticModel(interface, input_limits, tuple(shapes), input_ranges(graphs[0], names), output_steps(graphs[0]))
