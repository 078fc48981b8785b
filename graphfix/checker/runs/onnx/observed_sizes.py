"""Run an ONNX model and report the sizes of its inner values to a witness.

onnxruntime runs a copy of the model. In the copy, a Shape node reads each value whose size does not follow from others,
so only a few bytes are returned. onnx's reference evaluator returns the inner values themselves.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

import numpy as np

from graphfix.checker.files.onnx.graphs import unused_prefix
from graphfix.checker.runs.onnx.derived_sizes import STANDARD, derived_sizes
from graphfix.checker.runs.witness import WitnessedSession
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import onnx

    from graphfix.checker.runs.comparing.first_difference import ExposingOpener
    from graphfix.checker.runs.witness import Sizes, Witness
    from graphfix.runtimes.session import Session
    from graphfix.runtimes.sessions import OnnxSession

    class Load(Protocol):
        """Loads the original with additional Shape nodes.

        `observe` contains pairs (value to read, name of the Shape's result).
        """

        def __call__(self, *, observe: Sequence[tuple[str, str]]) -> OnnxSession:
            """Return a session of the model with these Shape nodes. Raise RefusedError."""


_RESULT = "graphfix_shape"


def in_onnxruntime(load: Load, model: onnx.ModelProto, witness: Witness) -> Session:
    """Load the original in onnxruntime as a copy with Shape nodes, and return a session that the witness observes.

    If onnxruntime refuses the copy, load the original unchanged. Raise RefusedError if it refuses this, too.
    """
    claims = witness.claims
    derive = derived_sizes(model, set(claims.node_names) - claims.inputs.keys())
    names = derive.observed if any(entry.domain in STANDARD for entry in model.opset_import) else ()
    try:
        session = load(observe=_named(model, names))
    except RefusedError:
        if not names:
            raise
        names, session = (), load(observe=())
    return WitnessedSession(session.outputs, session.run, partial(_observed, session, names), witness, derive)


def in_reference(load: ExposingOpener, model: onnx.ModelProto, witness: Witness) -> Session:
    """Load the original in onnx's reference evaluator, and return a session that the witness observes.

    Raise RefusedError.
    """
    names = _inner(model, witness)
    session = load(names)
    own = len(session.outputs) - len(names)

    def observe(feeds: Mapping[str, object]) -> tuple[list[object], Mapping[str, Sizes]]:
        values = session.run(feeds)
        inner = zip(names, values[own:], strict=True)
        return values[:own], {name: value.shape for name, value in inner if isinstance(value, np.ndarray)}

    return WitnessedSession(session.outputs[:own], lambda feeds: session.run(feeds)[:own], observe, witness)


def _inner(model: onnx.ModelProto, witness: Witness) -> tuple[str, ...]:
    """Return the names of claimed values of the main graph that are no inputs, in the order of execution."""
    claims, graph = witness.claims, model.graph
    wanted = set(claims.node_names)
    names = (*(tensor.name for tensor in graph.initializer), *(name for node in graph.node for name in node.output))
    return tuple(name for name in names if name in wanted and name not in claims.inputs)


def _named(model: onnx.ModelProto, values: Sequence[str]) -> list[tuple[str, str]]:
    """Return pairs of a value and an unused name for its shape."""
    if not values:
        return []
    prefix = unused_prefix(model.graph, _RESULT)
    return [(value, f"{prefix}{at}") for at, value in enumerate(values)]


def _observed(
    session: OnnxSession, names: Sequence[str], feeds: Mapping[str, object]
) -> tuple[list[object], Mapping[str, Sizes]]:
    """Run the model; return its outputs, and the sizes of the values `names`."""
    values, sizes = session.run_observed(feeds)
    return values, dict(zip(names, sizes, strict=True))
