"""Constant nodes: a tensor, a sparse one, or numbers and strings that stand for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.verify.proof.onnx_call import numbers
from graphfix.verify.proof.onnx_schema import loads
from graphfix.verify.proof.outcome import UnprovedError

if TYPE_CHECKING:
    from graphfix.verify.proof.onnx_call import Call
    from graphfix.verify.proof.onnx_graphs import Reading
    from graphfix.verify.proof.terms import View


def constant_node(reading: Reading, call: Call) -> View:
    """Read a Constant node: a tensor, or numbers and strings that stand for one. Raises UnprovedError for any other."""
    told = call.told
    if len(call.attributes) != 1 or not loads(call):
        raise UnprovedError(f"{told} holds no constant of a known form; check the model")
    name, given = next(iter(call.attributes.items()))
    if name == "value":
        return reading.constant(given.t, told)
    if name == "sparse_value":
        return reading.sparse(given.sparse_tensor)
    tensor = numbers(name, given)
    if tensor is None:
        raise UnprovedError(f"{told} holds no constant of a known form; check the model")
    return reading.constant(tensor, told)
