"""Notes about ONNX nodes for reports: the parts of a node's term, and the node's own indexing maps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import onnx

from graphfix.checker.files.onnx import operators as onnx_ops
from graphfix.checker.proof.core.indexing_maps import Note
from graphfix.checker.proof.neutral.broadcast import broadcast_of
from graphfix.checker.proof.neutral.explain import isolated
from graphfix.checker.proof.onnx.reading.node_results import mapped_result

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from onnx import AttributeProto

    from graphfix.checker.proof.core.sizes import Algebra
    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.onnx.reading.operands import Call


def note_of(algebra: Algebra, call: Call, path: str, results: Sequence[ProofValue | None]) -> Note:
    """Return the note about a node in the graph `path`, with these results."""
    by_maps = results and results[0] is not None and broadcast_of(results[0].core) is not None
    compared = call.mapped_key[2:] if by_maps else call.exact_key[2:]
    return Note(
        graph=path,
        label=call.label,
        description=call.description,
        op=f"{call.domain}.{call.op}" if call.domain else call.op,
        names=(tuple(call.operand_names), tuple(call.result_names)),
        operands=tuple(call.views),
        results=tuple(results),
        parts=_parts(compared, call.attributes),
        isolated=_isolated(algebra, call),
    )


def _isolated(algebra: Algebra, call: Call) -> Core | None:
    """Return the core of a node's first result with each operand as a separate value; None if it does not broadcast."""
    name = (call.domain, call.op)
    if name in onnx_ops.UNARY or not any(call.views):
        return None
    table, views = isolated(algebra, call.views)
    seen = mapped_result(replace(call, table=table, views=views))
    if seen is None or (name in onnx_ops.QUANTIZING and len(call.views) > 1 and _alone(seen.core)):
        return None
    return seen.core


def _alone(core: Core) -> bool:
    """Return whether a core reads exactly one operand by a map."""
    found = broadcast_of(core)
    return found is not None and len(found[0]) == 1


def _parts(compared: Sequence[object], attributes: Mapping[str, AttributeProto]) -> dict[str, tuple[object, str]]:
    """Return the operator's version and its attributes by name, each as a compared object and its printed form.

    `compared` contains the version in which the operator got its meaning, and pairs of an attribute's name and form.
    """
    since, last_version = compared
    parts = {"operator set": (since, str(since))}
    pairs: tuple[tuple[str, object], ...] = last_version  # type: ignore[assignment]  # a key may contain any object
    return parts | {f"attribute {name!r}": (form, _text(attributes[name])) for name, form in pairs}


def _text(attribute: AttributeProto) -> str:
    """Return the printed value of an attribute. An attribute with tensors is printed as "a tensor"."""
    if attribute.HasField("t") or attribute.tensors or attribute.HasField("sparse_tensor"):
        return "a tensor"
    value = onnx.helper.get_attribute_value(attribute)
    return repr(value.decode("utf-8", "replace")) if isinstance(value, bytes) else str(value)
