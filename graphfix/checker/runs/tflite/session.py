"""A TFLite model in LiteRT, as the checker sees it: named outputs, and the face that LiteRT tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.checker.runs.interface import Dim, Face, Port

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.runtimes import litert
    from graphfix.runtimes.process import Child, LitertSession

_UNQUANTIZED_KINDS = "fcb"


@dataclass(frozen=True, slots=True)
class Opener:
    """Loads one file on one kernel set, for one of its SignatureDefs or (None) for subgraph 0."""

    child: Child
    path: Path
    kernels: str
    signature: str | None = None

    def __call__(self) -> Named:
        """Load it as it is. Raises RefusedError."""
        return Named(self.child.load_tflite(self.path, self.kernels, signature=self.signature), self.signature)

    def exposing(self, names: Sequence[str]) -> Named:
        """Load it with further outputs. XNNPACK keeps no inner tensors: the builtin kernels show them."""
        kernels = "builtin" if self.kernels == "xnnpack" else self.kernels
        return Named(self.child.load_tflite(self.path, kernels, signature=self.signature, expose=names))


@dataclass(frozen=True, slots=True)
class Named:
    """A session whose outputs are names."""

    session: LitertSession
    signature: str | None = None

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of what `run` answers."""
        return tuple(port.name for port in self.session.outputs)

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once. Raises RefusedError."""
        return self.session.run(feeds)


def face_of(face: litert.Face) -> Face:
    """Give the checker's form of what LiteRT tells; a label of a free dim is `name[axis]`."""
    inputs = tuple(map(_port, face.inputs))
    return Face(inputs, (), tuple(map(_port, face.outputs)), inputs)


def outputs_disagree(before: Face, after: Face) -> str | None:
    """Say how the declared outputs differ where the inputs do not, or None.

    A model whose inputs were given sizes declares other outputs, rightly; the runs compare the real ones.
    """
    if [port.dims for port in before.inputs] != [port.dims for port in after.inputs]:
        return None
    for a, b in zip(before.outputs, after.outputs, strict=True):
        pairs = list(zip(a.dims or (), b.dims or (), strict=False))
        sizes_differ = any(isinstance(m, int) and isinstance(n, int) and m != n for m, n in pairs)
        if len(a.dims or ()) != len(b.dims or ()) or sizes_differ:
            return f"the output '{a.name}' is {_listed(a)} in the first, {_listed(b)} in the second"
    return None


def _port(port: litert.Port) -> Port:
    dims: tuple[Dim, ...] = tuple(
        size if free >= 0 and size >= 0 else f"{port.name}[{axis}]"
        for axis, (size, free) in enumerate(zip(port.shape, port.shape_signature or port.shape, strict=True))
    )
    dtype: np.dtype[Any] = np.dtype(object) if port.dtype == "bytes" else np.dtype(port.dtype)
    # some converters leave parameters behind on tensors of floats, where they mean nothing
    quantized = port.scales and dtype.kind not in _UNQUANTIZED_KINDS
    parameters = (port.scales, port.zero_points, port.quantized_axis) if quantized else ()
    return Port(port.name, "tensor", dtype, dims, parameters, port.alias)


def _listed(port: Port) -> str:
    return f"[{', '.join(map(str, port.dims or ()))}]"
