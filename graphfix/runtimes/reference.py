"""onnx's reference evaluator: slow, for the models that onnxruntime has no kernels for.

It knows bfloat16 arithmetic. What it does not know, the `broadcast` and `axis` attributes of operator
sets 1 to 6, is added here after the operator specification of those versions (Operators changelog,
Add-1, Add-6, Gemm-1, PRelu-6): B's axes stand at `axis` of A, by default at its last axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.runtimes import Refused, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from onnx.reference import ReferenceEvaluator

_FOREIGN = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
_BINARY: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Xor": np.logical_xor,
    "Equal": np.equal,
    "Less": np.less,
    "Greater": np.greater,
}
_LAST_LEGACY_OPSET = 6


@dataclass(frozen=True, slots=True)
class ReferenceSession:
    """A model in onnx's reference evaluator, with the names of its outputs."""

    evaluator: ReferenceEvaluator
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once. Raises Refused with the evaluator's message."""
        try:
            with np.errstate(all="ignore"):
                if set(self.outputs) <= set(self.evaluator.output_names):
                    return list(self.evaluator.run(list(self.outputs), dict(feeds)))
                values = self.evaluator.run(None, dict(feeds), intermediate=True)
                return [values[name] for name in self.outputs]
        except _FOREIGN as error:
            raise Refused(f"onnx.reference: {one_line(error)}") from None


def load(model: Path, *, expose: Sequence[str] = ()) -> ReferenceSession:
    """Load a file, weights and external data included, with `expose` as further outputs. Raises Refused."""
    from onnx import load as load_model
    from onnx.reference import ReferenceEvaluator

    try:
        proto = load_model(model)
        opset = next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 1)
        evaluator = ReferenceEvaluator(proto, new_ops=_legacy() if opset <= _LAST_LEGACY_OPSET else None)
    except (*_FOREIGN, OSError) as error:
        raise Refused(f"onnx.reference: {one_line(error)}") from None
    return ReferenceSession(evaluator, (*evaluator.output_names, *expose))


def at_axis(a: np.ndarray, b: np.ndarray, axis: int | None) -> np.ndarray:
    """Give B the unit axes that put it at `axis` of A: [3,4] at axis 1 of [2,3,4,5] -> [3,4,1]."""
    if axis is None or b.ndim == 0:
        return b
    start = axis + a.ndim if axis < 0 else axis
    return b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))


def _legacy() -> list[type]:
    """Make evaluator classes with the meaning of operator sets 1 to 6."""
    from onnx.reference.op_run import OpRun

    def binary(name: str, function: Callable[..., Any]) -> type:
        def run(self: Any, a: np.ndarray, b: np.ndarray, **_: object) -> tuple[np.ndarray]:  # noqa: ANN401 - OpRun sets attributes by name
            if not getattr(self, "broadcast", 0):
                if a.shape != b.shape:
                    raise ValueError(f"{name}: {a.shape} and {b.shape} differ without broadcast=1")
                return (_typed(function(a, b), a),)
            return (_typed(function(a, at_axis(a, b, getattr(self, "axis", None))), a),)

        return type(name, (OpRun,), {"run": run})

    def gemm(
        self: Any,  # noqa: ANN401 - OpRun sets attributes by name
        a: np.ndarray,
        b: np.ndarray,
        c: np.ndarray,
        **_: object,
    ) -> tuple[np.ndarray]:
        left = a.T if getattr(self, "transA", 0) else a
        right = b.T if getattr(self, "transB", 0) else b
        alpha, beta = getattr(self, "alpha", 1.0), getattr(self, "beta", 1.0)
        return ((alpha * (left @ right) + beta * c).astype(a.dtype),)

    def prelu(_: object, x: np.ndarray, slope: np.ndarray, **__: object) -> tuple[np.ndarray]:
        aligned = slope if slope.size == 1 else slope.reshape((-1,) + (1,) * (x.ndim - 2))
        return (np.where(x < 0, x * aligned, x).astype(x.dtype),)

    made = [binary(name, function) for name, function in _BINARY.items()]
    return [*made, type("Gemm", (OpRun,), {"run": gemm}), type("PRelu", (OpRun,), {"run": prelu})]


def _typed(result: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Keep the operand's type (numpy widens some quotients), and comparisons boolean."""
    return result if result.dtype == np.bool_ else result.astype(like.dtype)
