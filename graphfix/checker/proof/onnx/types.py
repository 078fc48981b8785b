"""The element types of ONNX values: what a file says of them, and what a runtime takes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import onnx
from onnx import TensorProto, TypeProto

from graphfix.checker.files.onnx.schema import schema
from graphfix.checker.proof.sizes import result_sizes
from graphfix.checker.proof.terms import CONSTANTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from onnx import ValueInfoProto

    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.onnx.spelling import Kinds
    from graphfix.checker.proof.terms import Core, TermTable, View

_KNOWN = frozenset(TensorProto.DataType.values())
NAMES = {"float": "float32", "double": "float64"}
"""Types that onnx calls by other names than numpy."""


class OperatorTypes(NamedTuple):
    """The types of one version of an operator."""

    operands: Sequence[tuple[str, frozenset[str]]]
    """The name of a type that operands share, empty for one that each has for itself, and which it may be; the last
    one's serve all that follow."""
    results: Sequence[tuple[str | int, Sequence[int]]]
    """Of each result, the last one's for all that follow: its type, or the operands that it shares its type with."""


def element_type(given: TypeProto) -> int | bytes:
    """Return the type of a tensor's elements; of anything else the whole type, without shapes and descriptions."""
    if given.HasField("tensor_type"):
        return given.tensor_type.elem_type
    copy = TypeProto()
    copy.CopyFrom(given)
    _shapeless(copy)
    return bytes(copy.SerializeToString(deterministic=True))


def _shapeless(given: TypeProto) -> None:
    given.ClearField("denotation")
    kind = given.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        getattr(given, kind).ClearField("shape")
    elif kind in ("sequence_type", "optional_type"):
        _shapeless(getattr(given, kind).elem_type)
    elif kind == "map_type":
        _shapeless(given.map_type.value_type)


@cache
def type_name(data_type: int) -> str:
    """Return the name of a TensorProto type as constants are entered by: `float32`."""
    name: str = TensorProto.DataType.Name(data_type).lower() if data_type in _KNOWN else "no type"
    return NAMES.get(name, name)


def dtype(core: Core) -> int | bytes | None:
    """Return the type of a value; None where it is not known."""
    if core.dtype is not None or core.key[0] not in _CONSTANTS or not isinstance(core.key[1], str):
        return core.dtype
    core.dtype = _NUMBERS.get(core.key[1])
    return core.dtype


def set_type(core: Core, kind: int | bytes | None) -> None:
    """Enter the type of a value where it is not known."""
    if dtype(core) is None:
        core.dtype = kind


@cache
def accepted(op: str, domain: str, version: int, kinds: Kinds) -> bool:
    """Whether an operator takes operands of these types in this version, as far as types are known."""
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


def infer_types(call: Call, results: Iterable[View | None]) -> None:
    """Enter the types of results that are not known yet."""
    known = call.spelled.result_kinds
    for index, view in enumerate(results):
        if view is None or view.core.dtype is not None or view.core.key[0] == "integers":
            continue
        place = call.kinds, index
        if place not in known:
            operator = _operator(call.op, call.domain, call.version)
            rules = () if operator is None else operator.results
            known[place] = _result(call, rules[min(index, len(rules) - 1)]) if rules else None
        set_type(view.core, known[place])


def _result(call: Call, rule: tuple[str | int, Sequence[int]]) -> int | bytes | None:
    own = _RULES.get(call.op) if not call.domain else None
    found = None if own is None else own(call)
    kind, like = rule
    if found or isinstance(kind, int):
        return found or kind  # type: ignore[return-value]  # one of the two
    views = (call.views[index] for index in like if index < len(call.views))
    found = next((dtype(view.core) for view in views if view is not None), None)
    return TensorProto.UINT8 if found is None and call.op == "QuantizeLinear" else found


def _filled(call: Call) -> int:
    value = call.attributes.get("value")
    return TensorProto.FLOAT if value is None else int(value.t.data_type)


def _stated(name: str, default: int = 0) -> Callable[[Call], int | bytes | None]:
    return lambda call: call.integer(name, default)


def _moved(to: Callable[[int | bytes | None], int | bytes | None]) -> Callable[[Call], int | bytes | None]:
    def rule(call: Call) -> int | bytes | None:
        first = call.operand(0)
        return None if first is None else to(dtype(first.core))

    return rule


def _sequence(kind: int | bytes | None) -> bytes | None:
    if not isinstance(kind, int) or kind not in _KNOWN:
        return None
    return element_type(onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(kind, None)))  # type: ignore[return-value]  # no tensor


def _element(kind: int | bytes | None) -> int | bytes | None:
    if not isinstance(kind, bytes):
        return None
    given = TypeProto()
    given.ParseFromString(kind)
    return element_type(given.sequence_type.elem_type) if given.HasField("sequence_type") else None


_RULES: Mapping[str, Callable[[Call], int | bytes | None]] = {
    "Cast": _stated("to"), "ConstantOfShape": _filled, "Multinomial": _stated("dtype", TensorProto.INT32),
    **dict.fromkeys(("QuantizeLinear", "DequantizeLinear"), _stated("output_dtype")),
    **dict.fromkeys(("RandomNormal", "RandomUniform"), _stated("dtype", TensorProto.FLOAT)),
    **dict.fromkeys(("RandomNormalLike", "RandomUniformLike", "EyeLike", "Bernoulli"), _stated("dtype")),
    **dict.fromkeys(
        ("HannWindow", "HammingWindow", "BlackmanWindow", "MelWeightMatrix"),
        _stated("output_datatype", TensorProto.FLOAT)
    ),
    **dict.fromkeys(("SequenceConstruct", "SplitToSequence"), _moved(_sequence)),
    **dict.fromkeys(("SequenceAt", "ConcatFromSequence"), _moved(_element)),
    "SequenceEmpty": lambda call: _sequence(call.integer("dtype", TensorProto.FLOAT)),
}  # fmt: skip
"""Operators whose result's type an attribute says, or that is a sequence of their operand's or the other way round."""


@cache
def _operator(op: str, domain: str, version: int) -> OperatorTypes | None:
    known = schema(op, domain, version)
    if known is None:
        return None
    results: list[tuple[str | int, Sequence[int]]] = []
    for result in known.outputs:
        only = next(iter(result.types)) if len(result.types) == 1 else ""
        number = _NAMES.get(only)
        like = tuple(
            index
            for index, given in enumerate(known.inputs)
            if given.type_str == result.type_str and given.is_homogeneous and result.is_homogeneous
        )
        results.append((result.type_str if number is None else number, like))
    operands = [(given.type_str if given.is_homogeneous else "", frozenset(given.types)) for given in known.inputs]
    return OperatorTypes(operands, results)


@cache
def _name(kind: int | bytes) -> str:
    """Return the name by which operators name a type; empty for one that is not said."""
    given = TypeProto()
    if isinstance(kind, bytes):
        given.ParseFromString(kind)
    elif kind in _KNOWN:
        given.tensor_type.elem_type = kind
    else:
        return "no type"
    return _spoken(given)


def _spoken(given: TypeProto) -> str:
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


_CONSTANTS = CONSTANTS | {"nothing"}
"""The terms of constants: their element type comes next, unless they are stored in an odd way."""
_NUMBERS: Mapping[str, int] = {type_name(number): number for number in TensorProto.DataType.values()}
_NAMES: Mapping[str, int] = {f"tensor({name.lower()})": number for name, number in TensorProto.DataType.items()}


def check_value_infos(
    table: TermTable,
    infos: Iterable[ValueInfoProto],
    values: Mapping[str, View],
    enter_names: Callable[[ValueInfoProto, View], None],
) -> None:
    """Compare the types and sizes that a file declares of values with what they are; enter where they differ.

    Runtimes believe them, and refuse some files that declare others. So the second file says nothing that no rule
    derives, unless the first one, which loads, says it of the same value by the same name. `enter_names` takes each
    value with a size that is not a number.
    """
    for info in infos:
        name, kind = info.name, info.type
        view = values.get(name)
        if view is None:
            continue
        tensor = kind.tensor_type if kind.HasField("tensor_type") else None
        _check_type(table, name, view, element_type(kind) if tensor is None else tensor.elem_type)
        if tensor is None:
            _check_elements(table, info, view)
        elif tensor.HasField("shape"):
            dims = tuple([dim.dim_value if dim.HasField("dim_value") else -1 for dim in tensor.shape.dim])
            if min(dims, default=0) < 0:
                enter_names(info, view)
            _check_shape(table, name, view, dims)


def _check_type(table: TermTable, name: str, view: View, declared: int | bytes) -> None:
    if declared and not table.closed:
        set_type(view.core, declared)
    if declared and declared != dtype(view.core):
        if table.closed and (view, declared) not in table.misdeclared:
            table.objections.append(f"the second file declares another type of the value {name!r} than it has")
        table.misdeclared.add((view, declared))


def _check_elements(table: TermTable, info: ValueInfoProto, view: View) -> None:
    """Of the sizes of a sequence's elements no rule knows: the first file says the same."""
    said = info.type.SerializeToString(deterministic=True)
    if not table.closed:
        table.elements.add((info.name, view, said))
    elif said != element_type(info.type) and (info.name, view, said) not in table.elements:
        table.objections.append(f"the second file declares sizes of what {info.name!r} holds, which nothing says")


def _check_shape(table: TermTable, name: str, view: View, dims: tuple[int, ...]) -> None:
    if not table.closed:
        table.declared.setdefault((name, view), []).append(dims)
        return
    if view.sizes == dims:
        return
    sizes = None if view.sizes is None else result_sizes(view.sizes)
    if not _agrees(dims, (sizes, *table.declared.get((name, view), ()))):
        shape = ",".join("?" if size < 0 else str(size) for size in dims)
        table.objections.append(f"the second file declares {name!r} as [{shape}], which it is not known to be")


def _agrees(dims: tuple[int, ...], known: Sequence[Sequence[object] | None]) -> bool:
    """Whether each number that is declared stands in one of these shapes, and one of them has its rank."""
    shapes = [shape for shape in known if shape is not None and len(shape) == len(dims)]
    return bool(shapes) and all(
        size < 0 or any(shape[axis] == size for shape in shapes) for axis, size in enumerate(dims)
    )
