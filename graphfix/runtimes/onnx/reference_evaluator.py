"""Run ONNX models in onnx's reference evaluator: slow, for models that onnxruntime has no kernels for.

The evaluator computes in bfloat16, too. It does not support the attributes `broadcast` and `axis` of operator sets 1 to
6, so this module adds them. B's axes are aligned at `axis` of A, by default at A's last axes. Source: the specification
of those versions (Operators changelog, Add-1, Add-6, Gemm-1, PRelu-6).

The evaluator also reads some old operators with the defaults of a newer version. So their old defaults are written into
the model as attributes. Without these attributes, the evaluator computes wrong results for Selu before set 6 (the
constants of set 6), for AveragePool before set 7 (a mean with the padding), and for BatchNormalization of sets 7 and 8
(training mode).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.results.records import dataclass
from graphfix.runtimes.session import RefusedError, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import GraphProto, ModelProto
    from onnx.reference import ReferenceEvaluator

Array = np.ndarray[Any, Any]
_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)
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
_DEFAULTS: dict[str, tuple[range, dict[str, float]]] = {
    "Selu": (range(1, 6), {"alpha": 1.6732, "gamma": 1.0507}),
    "AveragePool": (range(1, 7), {"count_include_pad": 0}),
    "BatchNormalization": (range(7, 9), {"is_test": 1}),
}
"""Operator -> the operator sets in which the evaluator uses a wrong default, and the defaults of the specification."""


@dataclass(frozen=True, slots=True)
class ReferenceSession:
    """A model that is loaded in onnx's reference evaluator, with the names of its outputs."""

    evaluator: ReferenceEvaluator
    outputs: tuple[str, ...]

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once on `feeds` (by input name), and return the outputs.

        Raises RefusedError with the evaluator's message.
        """
        try:
            with np.errstate(all="ignore"):
                if set(self.outputs) <= set(self.evaluator.output_names):
                    return list(self.evaluator.run(list(self.outputs), dict(feeds)))
                values: Any = self.evaluator.run(None, dict(feeds), intermediate=True)
                return [values[name] for name in self.outputs]
        except _ERRORS as error:
            raise RefusedError(f"onnx.reference: {one_line(str(error))}") from None


def load(model: Path | ModelProto, *, expose: Sequence[str] = ()) -> ReferenceSession:
    """Load a file, or a model with all its weights. The values `expose` become outputs after the model's own.

    A model that is passed as a message may be changed. The external data of a file is read by onnx, which refuses
    links. Raises RefusedError.
    """
    from onnx import load as load_model
    from onnx.reference import ReferenceEvaluator

    try:
        proto = load_model(model) if isinstance(model, Path) else model
        opset = next((o.version for o in proto.opset_import if o.domain in ("", "ai.onnx")), 1)
        _declare_defaults(proto.graph, opset)
        evaluator = ReferenceEvaluator(proto, new_ops=_legacy() if opset <= _LAST_LEGACY_OPSET else None)
    except (*_ERRORS, OSError) as error:
        raise RefusedError(f"onnx.reference: {one_line(str(error))}") from None
    return ReferenceSession(evaluator, (*evaluator.output_names, *expose))


def _declare_defaults(graph: GraphProto, opset: int) -> None:
    """Write old defaults into the nodes of a graph and of its bodies where the evaluator would use other ones.

    `opset` is the operator set of the model. Nodes with more than one result are skipped.
    """
    from onnx import helper

    for node in graph.node:
        for attribute in node.attribute:
            for body in (*attribute.graphs, *((attribute.g,) if attribute.HasField("g") else ())):
                _declare_defaults(body, opset)
        sets, said = _DEFAULTS.get(node.op_type, (range(0), {}))
        if opset not in sets or node.domain not in ("", "ai.onnx") or any(node.output[1:]):
            continue
        given = {attribute.name for attribute in node.attribute}
        node.attribute.extend(helper.make_attribute(name, to) for name, to in said.items() if name not in given)


def at_axis(a: Array, b: Array, axis: int | None) -> Array:
    """Return B with unit axes appended so that B begins at `axis` of A: [3,4] at axis 1 of [2,3,4,5] -> [3,4,1].

    With `axis` None, or for a scalar B, B is returned unchanged.
    """
    if axis is None or b.ndim == 0:
        return b
    start = axis + a.ndim if axis < 0 else axis
    return b.reshape(b.shape + (1,) * (a.ndim - start - b.ndim))


def _legacy() -> list[type]:
    """Return evaluator classes that implement the operators of sets 1 to 6."""
    from onnx.reference.op_run import OpRun

    def binary(name: str, function: Callable[..., Any]) -> type:
        def run(
            _: object, a: Array, b: Array, *, broadcast: int = 0, axis: int | None = None, **__: object
        ) -> tuple[Array]:
            if not broadcast and a.shape != b.shape:
                raise ValueError(f"{name}: {a.shape} and {b.shape} differ without broadcast=1")
            return (_typed(function(a, at_axis(a, b, axis if broadcast else None)), a),)

        return type(name, (OpRun,), {"_run": run})

    def gemm(_: object, a: Array, b: Array, c: Array, **attributes: float) -> tuple[Array]:
        left = a.T if attributes.get("transA") else a
        right = b.T if attributes.get("transB") else b
        product = attributes.get("alpha", 1.0) * (left @ right)
        return ((product + attributes.get("beta", 1.0) * c).astype(a.dtype),)

    def prelu(_: object, x: Array, slope: Array, **__: object) -> tuple[Array]:
        # A slope [C] under x[N,C,H,W] becomes [C,1,1], because the channels are axis 1.
        aligned = slope if slope.size == 1 else slope.reshape((-1,) + (1,) * (x.ndim - 2))
        return (np.where(x < 0, x * aligned, x).astype(x.dtype),)

    made = [binary(name, function) for name, function in _BINARY.items()]
    return [*made, type("Gemm", (OpRun,), {"_run": gemm}), type("PRelu", (OpRun,), {"_run": prelu})]


def _typed(result: Array, like: Array) -> Array:
    """Return the result in the operand's type, because numpy widens some quotients.

    Booleans of comparisons stay booleans.
    """
    return result if result.dtype == np.bool_ else result.astype(like.dtype)
