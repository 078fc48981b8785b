"""What the schema of an operator asks of a node: how many operands and results, which attributes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, cast

import onnx

from graphfix import operators


@dataclass(frozen=True, slots=True)
class Signature:
    """What a schema asks of a node."""

    inputs: range
    outputs: range
    needed: tuple[int, ...] = ()
    """The operands that may not be left out, where this program reads them."""
    attributes: Mapping[str, int] = field(default_factory=dict)
    """Name -> type."""
    required: frozenset[str] = frozenset()


ANY: Final = Signature(range(1 << 31), range(1 << 31))


@cache
def signature_of(op: str, domain: str, version: int) -> Signature:
    """The signature of an operator in a version of its operator set; ANY where onnx has no schema for it."""
    if not onnx.defs.has(op, version, domain):
        return ANY
    schema = onnx.defs.get_schema(op, version, domain)
    read = operators.row(domain, op, version) is not None or op in ("QuantizeLinear", "DequantizeLinear")
    single = onnx.defs.OpSchema.FormalParameterOption.Single
    return Signature(
        range(schema.min_input, schema.max_input + 1),
        range(schema.min_output, schema.max_output + 1),
        tuple(at for at, operand in enumerate(schema.inputs) if read and operand.option == single),
        {name: int(cast("int", attribute.type)) for name, attribute in schema.attributes.items()},
        frozenset(name for name, attribute in schema.attributes.items() if attribute.required),
    )
