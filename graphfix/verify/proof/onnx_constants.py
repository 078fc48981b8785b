"""Constant nodes: a tensor, a sparse one, or numbers and strings that stand for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
from onnx import AttributeProto, TensorProto

from graphfix.verify.proof.outcome import UnprovedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.verify.proof.onnx_graphs import Reading
    from graphfix.verify.proof.terms import View


def constant_node(reading: Reading, attributes: Mapping[str, AttributeProto], told: str) -> View:
    """Read a Constant node: a tensor, or numbers and strings that stand for one. Raises UnprovedError for any other."""
    name, given = next(iter(attributes.items()), ("", AttributeProto()))
    if name == "value":
        return reading.constant(given.t, told)
    if name == "sparse_value":
        return reading.sparse(given.sparse_tensor)
    kinds = {"value_int": TensorProto.INT64, "value_ints": TensorProto.INT64, "value_float": TensorProto.FLOAT,
             "value_floats": TensorProto.FLOAT, "value_string": TensorProto.STRING,
             "value_strings": TensorProto.STRING}  # fmt: skip
    if name not in kinds:
        raise UnprovedError(f"{told} holds no constant of a known form; check the model")
    value = onnx.helper.get_attribute_value(given)
    values = value if name.endswith("s") else [value]
    dims = [len(values)] if name.endswith("s") else []
    return reading.constant(onnx.helper.make_tensor("", kinds[name], dims, list(values)), told)
