"""The element types that ONNX operators accept and return, by onnx's schemas and by attributes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import onnx
from onnx import TensorProto, TypeProto

from graphfix.checker.files.onnx.operators import schema
from graphfix.checker.proof.onnx.closed_world.declared import element_type
from graphfix.checker.proof.onnx.reading.types import KNOWN_TYPES, dtype, set_type, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.onnx.reading.node_signature import Kinds
    from graphfix.checker.proof.onnx.reading.operands import Call

_NAMES: Mapping[str, int] = {f"tensor({name.lower()})": number for name, number in TensorProto.DataType.items()}


class OperatorTypes(NamedTuple):
    """The types that one version of an operator accepts and returns."""

    operands: Sequence[tuple[str, frozenset[str]]]
    """For each operand, the type variable that it shares with other operands, and the types that it accepts.

    The variable is empty if the operand shares its type with no other. The last entry applies to all operands that
    follow.
    """
    results: Sequence[tuple[str | int, Sequence[int]]]
    """For each result, its type (or a type variable), and the indices of the operands that share its type.

    The last entry applies to all results that follow.
    """


@cache
def accepted(op: str, domain: str, version: int, kinds: Kinds) -> bool:
    """Return whether an operator accepts operands of these types in this version. Unknown types are accepted.

    Return False if onnx does not define the operator.
    """
    operator = _operator(op, domain, version)
    if operator is None or not operator.operands:
        return operator is not None
    shared: dict[str, str] = {}
    for index, kind in enumerate(kinds):
        variable, allowed = operator.operands[min(index, len(operator.operands) - 1)]
        name = "" if kind is None else _name(kind)
        if name and (name not in allowed or (variable and shared.setdefault(variable, name) != name)):
            return False
    return True


def infer_types(call: Call, results: Iterable[ProofValue | None]) -> None:
    """Set the types of results whose types are unknown."""
    memo = call.signature_memo.result_kinds
    for index, view in enumerate(results):
        if view is None or view.core.dtype is not None or view.core.key[0] == "integers":
            continue
        place = call.operand_types, index
        if place not in memo:
            memo[place] = _kind(call, index)
        set_type(view.core, memo[place])


def _kind(call: Call, index: int) -> int | bytes | None:
    """Return the type of a result, by onnx's definition of the operator or a rule of the proof; None if unknown."""
    operator = _operator(call.op, call.domain, call.version)
    rules = (("", ()),) if operator is None else operator.results
    found = _result(call, rules[min(index, len(rules) - 1)]) if rules else None
    if found is not None or (operator is not None and not call.domain):
        return found
    from graphfix.checker.proof.onnx import contrib  # imported here because most models have no such operators

    return contrib.kind(call, index)


def _result(call: Call, rule: tuple[str | int, Sequence[int]]) -> int | bytes | None:
    """Return the type of a result; None if it is unknown.

    It follows from a rule in `_RULES`, from the schema, or from the first operand that shares its type.
    """
    own = None if call.domain else _RULES.get(call.op)
    found = None if own is None else own(call)
    kind, like = rule
    if found or isinstance(kind, int):
        return found or kind  # type: ignore[return-value]  # one of the two
    views = [view for index in like if (view := call.operand(index)) is not None]
    found = dtype(views[0].core) if views else None
    return TensorProto.UINT8 if not views and not call.domain and call.op == "QuantizeLinear" else found


def _filled(call: Call) -> int:
    """Return the type of a ConstantOfShape's result."""
    value = call.attributes.get("value")
    return TensorProto.FLOAT if value is None else int(value.t.data_type)


def _stated(name: str, default: int = 0) -> Callable[[Call], int | bytes | None]:
    """Return the rule for a type that the attribute `name` states."""
    return lambda call: call.integer(name, default)


def _stated_or_of(name: str, at: int) -> Callable[[Call], int | bytes | None]:
    """Return the rule for a type that the attribute `name` states, or else the type of operand `at`."""
    return lambda call: call.integer(name, 0) or type_of(call.operand(at))


def _moved(to: Callable[[int | bytes | None], int | bytes | None]) -> Callable[[Call], int | bytes | None]:
    """Return the rule that computes the type from that of operand 0 by the function `to`."""
    return lambda call: to(type_of(call.operand(0)))


def _sequence(kind: int | bytes | None) -> bytes | None:
    """Return the type of a sequence of tensors with this element type; None if the type is unknown or no tensor's."""
    if not isinstance(kind, int) or kind not in KNOWN_TYPES:
        return None
    return element_type(onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(kind, None)))  # type: ignore[return-value]  # no tensor


def _element(kind: int | bytes | None) -> int | bytes | None:
    """Return the type of the elements of a sequence type; None for any other type."""
    if not isinstance(kind, bytes):
        return None
    given = TypeProto()
    given.ParseFromString(kind)
    return element_type(given.sequence_type.elem_type) if given.HasField("sequence_type") else None


def _optional(call: Call) -> bytes | None:
    """Return the type of an Optional: an optional of the operand's type, or of the type that an attribute states.

    Return None if that type is unknown.
    """
    given, inner, first = TypeProto(), call.attributes.get("type"), call.operand(0)
    kind = dtype(first.core) if first is not None else None if inner is None else element_type(inner.tp)
    if isinstance(kind, bytes):
        given.optional_type.elem_type.ParseFromString(kind)
    elif kind is not None and kind in KNOWN_TYPES:
        given.optional_type.elem_type.tensor_type.elem_type = kind
    return bytes(given.SerializeToString(deterministic=True)) or None


def _held(kind: int | bytes | None) -> int | bytes | None:
    """Return the type inside an optional type; return any other type unchanged."""
    given = TypeProto()
    given.ParseFromString(kind if isinstance(kind, bytes) else b"")
    return element_type(given.optional_type.elem_type) if given.HasField("optional_type") else kind


_RULES: Mapping[str, Callable[[Call], int | bytes | None]] = {
    "Cast": _stated("to"), "ConstantOfShape": _filled, "Multinomial": _stated("dtype", TensorProto.INT32),
    "QuantizeLinear": _stated("output_dtype"), "DequantizeLinear": _stated_or_of("output_dtype", 1),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), _stated("dtype", TensorProto.FLOAT)),
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike", "EyeLike", "Bernoulli"), _stated_or_of("dtype", 0)),
    **dict.fromkeys(
        ("HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"),
        _stated("output_datatype", TensorProto.FLOAT)
    ),
    **dict.fromkeys(("SequenceConstruct", "SplitToSequence"), _moved(_sequence)),
    **dict.fromkeys(("SequenceAt", "ConcatFromSequence"), _moved(_element)),
    "Optional": _optional, "OptionalGetElement": _moved(_held), "BitCast": _stated("to"),
    "SequenceEmpty": lambda call: _sequence(call.integer("dtype", TensorProto.FLOAT)),
}  # fmt: skip
"""Rules for results whose type an attribute states, and for sequences and optionals and their elements."""


def is_open(core: Core) -> bool:
    """Return whether a value's type is unknown because no rule infers it and no operand decides it.

    The value may be a sequence or another type that is not a tensor.
    """
    # `node_results.exact_results` makes keys that begin with "whole" and end with the result's index
    key: tuple[Any, ...] = core.key
    if dtype(core) is not None or key[0] != "whole":
        return False
    operator = _operator(key[2], key[1], key[3])
    if operator is None or not operator.results:
        return False
    kind, like = operator.results[min(key[-1], len(operator.results) - 1)]
    return not isinstance(kind, int) and not like


@cache
def _operator(op: str, domain: str, version: int) -> OperatorTypes | None:
    """Return the types of an operator by onnx's schema; None if onnx has no schema for the operator."""
    operator_schema = schema(op, domain, version)
    if operator_schema is None:
        return None
    results: list[tuple[str | int, Sequence[int]]] = []
    for result in operator_schema.outputs:
        only = next(iter(result.types)) if len(result.types) == 1 else ""
        number = _NAMES.get(only)
        like = tuple(
            index
            for index, given in enumerate(operator_schema.inputs)
            if given.type_str == result.type_str and given.is_homogeneous and result.is_homogeneous
        )
        results.append((result.type_str if number is None else number, like))
    operands = [
        (given.type_str if given.is_homogeneous else "", frozenset(given.types)) for given in operator_schema.inputs
    ]
    return OperatorTypes(operands, results)


@cache
def _name(kind: int | bytes) -> str:
    """Return the name that schemas use for a type, such as "tensor(float)"; empty if the type is not fully stated.

    A number that is not one of onnx's types returns "no type".
    """
    given = TypeProto()
    if isinstance(kind, bytes):
        given.ParseFromString(kind)
    elif kind in KNOWN_TYPES:
        given.tensor_type.elem_type = kind
    else:
        return "no type"
    return _spoken(given)


def _spoken(given: TypeProto) -> str:
    """Return the name that schemas use for a type; empty if the type is not fully stated or is a map."""
    kind = given.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        number = getattr(given, kind).elem_type
        inner = TensorProto.DataType.Name(number).lower() if number in TensorProto.DataType.values() else ""
        outer = "tensor" if kind == "tensor_type" else "sparse_tensor"
    elif kind in ("sequence_type", "optional_type"):
        inner, outer = _spoken(getattr(given, kind).elem_type), "seq" if kind == "sequence_type" else "optional"
    else:
        return ""
    return f"{outer}({inner})" if inner and inner != "undefined" else ""
