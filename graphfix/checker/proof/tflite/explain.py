"""Notes of TFLite operators for reports: names, options and types, and the maps of each operand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.tflite.records import CUSTOM_OPTIONS
from graphfix.checker.proof.core.indexing_maps import Note
from graphfix.checker.proof.neutral.broadcast import broadcast_of
from graphfix.checker.proof.neutral.explain import isolated
from graphfix.checker.proof.tflite.kernels.unit_constants import SELECTING
from graphfix.checker.proof.tflite.operators.table import UNARY
from graphfix.checker.proof.tflite.reading.node_signature import quantized, type_of
from graphfix.checker.proof.tflite.reading.nodes import read
from graphfix.checker.proof.tflite.reading.operands import Call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphfix.checker.files.tflite.records import Operator, Subgraph, Tensor
    from graphfix.checker.proof.core.sizes import Algebra
    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.tflite.kernels.lookup_tables import Chain

NO_PART = "ubgraphIndex"
"""The end of the names of options that refer to a subgraph by number."""


def note_of(
    algebra: Algebra,
    graph: Subgraph,
    operator: Operator,
    views: Sequence[ProofValue | None],
    results: Sequence[ProofValue | None],
    place: tuple[str, str],
    chain: Chain | None,
) -> Note:
    """Return the note of an operator: the record that reports print.

    `place` is (path of the operator's subgraph, label of the operator there). `chain` is the chain of operators that
    XNNPACK may replace by a lookup table, or None.
    """
    path, label = place
    tensors = [
        tuple(graph.tensors[at].name if at >= 0 else "" for at in given)
        for given in (operator.inputs, operator.outputs)
    ]
    return Note(
        graph=path,
        label=label,
        description=label,
        op=operator.name,
        names=(tensors[0], tensors[1]),
        operands=tuple(views),
        results=tuple(results),
        parts=_parts(graph, operator, views, results, chain),
        isolated=_isolated(algebra, graph, operator, views, label),
    )


def _isolated(
    algebra: Algebra, graph: Subgraph, operator: Operator, views: Sequence[ProofValue | None], label: str
) -> Core | None:
    """Return the operator's core with each operand as a separate value; None if the operator does not broadcast."""
    if operator.name in UNARY or len(operator.outputs) != 1 or not any(views):
        return None
    table, own = isolated(algebra, views)
    inputs = [graph.tensors[at] if at >= 0 else None for at in operator.inputs]
    seen = read(Call(table, operator, own, inputs, graph.tensors[operator.outputs[0]], label))
    return None if seen is None else seen.core


def _parts(
    graph: Subgraph,
    operator: Operator,
    views: Sequence[ProofValue | None],
    results: Sequence[ProofValue | None],
    chain: Chain | None,
) -> dict[str, tuple[object, str]]:
    """Return, by name, the parts in which two operators may differ, each as (compared object, printed form).

    Parts are options, types, quantization, and properties by which LiteRT chooses a kernel.
    """
    options = {f"option {name!r}": value for name, value in operator.options.items() if not name.endswith(NO_PART)}
    parts = {name: (value, str(value)) for name, value in options.items()}
    parts["the custom options"] = operator.key[CUSTOM_OPTIONS], "other bytes"
    is_mapped = bool(results and results[0] is not None and broadcast_of(results[0].core) is not None)
    if chain is not None and (not is_mapped or operator.name in SELECTING):
        parts["the chain of operators that XNNPACK may make a lookup table of"] = chain, str(chain)
    if not is_mapped:
        parts["version"] = operator.version, str(operator.version)
    for index, (at, view) in enumerate(zip(operator.inputs, views, strict=True)):
        if at >= 0:
            tensor = graph.tensors[at]
            if not is_mapped:
                parts[f"what kind of tensor operand {index} is"] = tensor.variable, _kind_text(tensor)
            elif operator.name == "PRELU":
                parts[f"what kind of tensor operand {index} is"] = tensor.payload is None, _kind_text(tensor)
            read_as = tensor.dtype, quantized(tensor.quantization, view)
            parts[f"the type or quantization of operand {index}"] = read_as, _type_text(tensor)
    for index, at in enumerate(operator.outputs):
        tensor = graph.tensors[at]
        parts[f"the type or quantization of result {index}"] = type_of(tensor), _type_text(tensor)
    return parts


def _kind_text(tensor: Tensor) -> str:
    """Return whether a tensor is a variable, a constant, or computed, as printed."""
    if tensor.variable:
        return "a variable"
    return "computed or an input" if tensor.payload is None else "a constant"


def _type_text(tensor: Tensor) -> str:
    """Return the type of a tensor as printed: `int8, scales along axis 3`."""
    given = tensor.quantization
    if given is None:
        return tensor.dtype
    return f"{tensor.dtype}, {'one scale' if given.axis is None else f'scales along axis {given.axis}'}"
