"""Check whether a model runs at certain sizes of its inputs. Each check is one run on seeded inputs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from graphfix.checker.files import is_tflite
from graphfix.checker.runs.comparing.difference import has_number
from graphfix.checker.runs.inputs.interface import litert_interface, onnx_interface
from graphfix.checker.runs.inputs.seeded_inputs import choices, seeded
from graphfix.results.records import dataclass
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.runs.inputs.input_limits import Limits
    from graphfix.checker.runs.inputs.interface import Interface
    from graphfix.results import InputValue
    from graphfix.runtimes.session import Session

_KERNELS = "builtin"
_SECONDS = 60.0
"""The time limit of one run, in seconds. Sizes that need more time are not used as defaults."""

Taken: TypeAlias = Literal["yes", "NaN", "no"]
"""Whether a model runs at certain sizes. `NaN`: it runs, but all elements of an output are NaN."""


@dataclass(frozen=True, slots=True)
class Runs:
    """A loaded model that can be run at several sizes.

    `limits` maps shapes of the inputs to the limits of their values.
    """

    session: Session
    interface: Interface
    limits: Callable[[Mapping[str, tuple[int, ...]]], Limits]

    def takes(self, shapes: Mapping[str, Sequence[int]]) -> Taken:
        """Return whether the model runs at these shapes of all inputs: "yes", "NaN" or "no".

        Outputs without elements are ignored: the result is "no" if no output has an element.
        """
        inputs = tuple(replace(spec, dims=tuple(shapes[spec.name])) for spec in self.interface.inputs)
        interface = replace(self.interface, inputs=inputs)
        input_limits = self.limits({name: tuple(shape) for name, shape in shapes.items()})
        for choice in choices(interface, input_limits, 0):
            try:
                outputs = self.session.run(seeded(interface, {}, input_limits, choice, (0, 0)).feeds)
            except RefusedError:
                continue
            shown = [has_number(value) for value in outputs if isinstance(value, np.ndarray)]
            return "no" if set(shown) <= {None} else "NaN" if False in shown else "yes"
        return "no"


@contextmanager
def running(path: Path, values: Mapping[str, InputValue], data_root: Sequence[Path]) -> Iterator[Runs | None]:
    """Yield the loaded model, with the inputs in `values` set to constants.

    None if the runtime does not load the model.

    Raise GraphfixError for external data that is neither in the model's folder nor in `data_root`.
    """
    with Child(_SECONDS) as child:
        try:
            loaded = _tflite(child, path, values) if is_tflite(path) else _onnx(child, path, values, data_root)
        except RefusedError:
            loaded = None
        yield loaded


def _onnx(child: Child, path: Path, values: Mapping[str, InputValue], data_root: Sequence[Path]) -> Runs:
    from graphfix.checker.files.onnx import external_data
    from graphfix.checker.files.onnx.skeleton import read
    from graphfix.checker.runs.onnx.input_limits import limits

    model = read(path)
    data = external_data.checked(path, model, data_root)
    session = child.load(data.runnable(), folder=data.folder)
    return Runs(session, onnx_interface(model).setting(values, {}, {}), partial(limits, model))


def _tflite(child: Child, path: Path, values: Mapping[str, InputValue]) -> Runs:
    from graphfix.checker.files.tflite.graphs import read_graphs
    from graphfix.checker.runs.tflite.input_limits import limits

    session = child.load_tflite(path, _KERNELS)
    names = {spec.index: spec.name for spec in session.inputs}
    interface = litert_interface(session.interface).setting(values, {}, {})
    limits_of = partial(limits, read_graphs(path), 0, names, fractional=interface.fractional)
    return Runs(session, interface, limits_of)
