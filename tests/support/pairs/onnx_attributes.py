"""Changes of a node's attributes: values, types, presence, a second field, a reference."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, NodeProto, defs, helper, numpy_helper

from tests.support.pairs.onnx_parts import Edit, kind, nodes, version_of

STRINGS = (
    "", "constant", "reflect", "edge", "wrap", "linear", "nearest", "cubic", "LINEAR", "NEAREST", "asymmetric", "floor",
    "half_pixel", "align_corners", "ceil", "round_prefer_ceil", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER", "DCR",
    "CRD", "add", "mul", "max", "none", "sum", "mean", "LEFT", "RIGHT", "forward", "reverse", "bidirectional", "Relu",
    "tanh", "avg", "INT32", "FLOAT", "INT64", "L1", "SOFTMAX", "LOGISTIC", "not_one",
)  # fmt: skip
FIELDS: dict[int, tuple[str, object]] = {
    AttributeProto.FLOAT: ("f", 0.5), AttributeProto.INT: ("i", 1), AttributeProto.STRING: ("s", b"x"),
    AttributeProto.FLOATS: ("floats", [0.5]), AttributeProto.INTS: ("ints", [1]),
    AttributeProto.STRINGS: ("strings", [b"x"]), AttributeProto.TENSOR: ("t", None), AttributeProto.GRAPH: ("g", None),
}  # fmt: skip


def other_values(attribute: AttributeProto) -> Iterator[object]:
    """Other values of the attribute's own type; none of one that refers to a function's."""
    if attribute.ref_attr_name:
        return
    value = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.INT:
        yield from (
            it for it in (value + 1, value - 1, -value, 0, 1, 2, -1, -2, 7, 10, 16, 2**31, 2**63 - 1) if it != value
        )
    elif attribute.type == AttributeProto.FLOAT:
        yield from (value + 1, -value, 0.0, -0.0, value * (1 + 2**-22), float("nan"), float("inf"), 1e-40)
    elif attribute.type == AttributeProto.STRING:
        yield from (it.encode() for it in STRINGS if it.encode() != value)
        yield from (value.upper(), value.lower(), value + b" ", value + b"\0")
    elif attribute.type in (AttributeProto.INTS, AttributeProto.FLOATS, AttributeProto.STRINGS):
        yield from _other_lists(list(value))
    elif attribute.type == AttributeProto.TENSOR:
        yield from _other_tensors(value)


def _other_lists(value: list[object]) -> Iterator[object]:
    yield from ([], value[:-1], value + value[-1:], value[::-1], [*value, *value])
    for at, it in enumerate(value):
        others = (b"Relu", b"", b"Affine") if isinstance(it, bytes) else (it + 1, it - 1, -it, 0, 1)  # type: ignore[operator]
        for other in others:
            yield [*value[:at], other, *value[at + 1 :]]


def _other_tensors(value: onnx.TensorProto) -> Iterator[object]:
    array = numpy_helper.to_array(value)
    for made in (array.reshape(-1), array.reshape(-1)[:1], array[None], array.reshape(-1)[:0], np.flip(array)):
        if made.shape != array.shape or not np.array_equal(made, array):
            yield numpy_helper.from_array(np.ascontiguousarray(made), value.name)
    if array.dtype.kind in "fiu" and array.dtype.itemsize in (1, 2, 4, 8):
        yield from (numpy_helper.from_array(array.astype(it)) for it in ("float64", "int32", "uint8", "float32"))
        yield numpy_helper.from_array(array + array.dtype.type(1))


def each(model: ModelProto) -> Iterator[tuple[int, int, AttributeProto]]:
    """(node, place, attribute) of each attribute."""
    for at, node in enumerate(nodes(model)):
        for place, attribute in enumerate(node.attribute):
            yield at, place, attribute


def put(at: int, attribute: AttributeProto, place: int | None = None) -> Edit:
    """An edit that puts an attribute into a node, in another's place or behind them."""

    def edit(model: ModelProto) -> None:
        listed = nodes(model)[at].attribute
        (listed.add() if place is None else listed[place]).CopyFrom(attribute)

    return edit


@kind("attribute: another value", node=True)
def _value(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, attribute in each(model):
        if not attribute.ref_attr_name:
            for other in other_values(attribute):
                made = helper.make_attribute(attribute.name, other, attr_type=attribute.type)
                yield put(at, made, place)


@kind("attribute: another type", node=True)
def _type(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, attribute in each(model):
        for number in (*FIELDS, 0, AttributeProto.SPARSE_TENSOR, 99):
            if number != attribute.type:
                yield _with_type(at, place, number)
        if attribute.type == AttributeProto.INT:
            yield put(at, helper.make_attribute(attribute.name, [attribute.i]), place)
            yield put(at, helper.make_attribute(attribute.name, float(attribute.i)), place)
            yield put(at, helper.make_attribute(attribute.name, str(attribute.i)), place)
            yield put(at, helper.make_attribute(attribute.name, numpy_helper.from_array(np.int64(attribute.i))), place)
        elif attribute.type == AttributeProto.FLOAT:
            yield put(at, helper.make_attribute(attribute.name, int(np.nan_to_num(attribute.f))), place)
            yield put(at, helper.make_attribute(attribute.name, [attribute.f]), place)
        elif attribute.type == AttributeProto.INTS and attribute.ints:
            yield put(at, helper.make_attribute(attribute.name, attribute.ints[0]), place)
            yield put(at, helper.make_attribute(attribute.name, [float(it) for it in attribute.ints]), place)
            yield put(
                at, helper.make_attribute(attribute.name, numpy_helper.from_array(np.array(attribute.ints))), place
            )


def _with_type(at: int, place: int, number: int) -> Edit:
    def edit(model: ModelProto) -> None:
        attribute = nodes(model)[at].attribute[place]
        data = attribute.SerializeToString()
        # an enumeration's number behind the message takes the place of the one in it, also one that it lacks
        attribute.ParseFromString(data + bytes((0xA0, 0x01, number)))

    return edit


@kind("attribute: dropped", node=True)
def _dropped(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, __ in each(model):
        yield lambda m, at=at, place=place: nodes(m)[at].attribute.pop(place)


@kind("attribute: one of the schema stated", node=True)
def _stated(model: ModelProto, choose: random.Random) -> Iterator[Edit]:
    for at, node in enumerate(nodes(model)):
        schema = _schema(model, node)
        have = {it.name for it in node.attribute}
        for name, attribute in schema.attributes.items() if schema else ():
            if name not in have:
                yield from (put(at, it) for it in _known(name, attribute, choose))


@kind("attribute: one of another version", node=True)
def _of_another_version(model: ModelProto, choose: random.Random) -> Iterator[Edit]:
    for at, node in enumerate(nodes(model)):
        own = _schema(model, node)
        have = {it.name for it in node.attribute} | set(own.attributes if own else ())
        for schema in defs.get_all_schemas_with_history():
            if (schema.name, schema.domain) == (node.op_type, node.domain):
                for name in sorted(set(schema.attributes) - have):
                    yield from (put(at, it) for it in _known(name, schema.attributes[name], choose))


def _schema(model: ModelProto, node: NodeProto) -> defs.OpSchema | None:
    domain = "" if node.domain == "ai.onnx" else node.domain
    try:
        return defs.get_schema(node.op_type, max(version_of(model, domain), 1), domain)
    except defs.SchemaError:
        return None


def _known(name: str, attribute: defs.OpSchema.Attribute, choose: random.Random) -> Iterator[AttributeProto]:
    """The default, and other values of the type."""
    if attribute.default_value.name:
        yield attribute.default_value
        for other in other_values(attribute.default_value):
            if choose.random() < 0.3:
                yield helper.make_attribute(name, other, attr_type=attribute.default_value.type)
        return
    for value in _some.get(attribute.type, ()):
        yield helper.make_attribute(name, value, attr_type=int(attribute.type))


_types = defs.OpSchema.AttrType
_some: dict[object, tuple[object, ...]] = {
    _types.INT: (0, 1, -1, 2), _types.FLOAT: (0.0, 1.0, 0.5), _types.STRING: STRINGS,
    _types.INTS: ([], [0], [1], [0, 0], [1, 1], [0, 0, 0, 0], [1, 1, 1, 1], [0, 1], [1, 0], [2, 2]),
    _types.FLOATS: ([], [0.0], [1.0, 1.0]), _types.STRINGS: ([], ["a"]),
    _types.TENSOR: (numpy_helper.from_array(np.zeros(1, np.float32)),),
}  # fmt: skip


@kind("attribute: an unknown one", node=True)
def _unknown(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, __ in enumerate(nodes(model)):
        for name, value in (("unknown", 1), ("", 1), ("axes", [0]), ("axis", 0), ("onnx_dn_name", "x"), ("name", "x")):
            yield put(at, helper.make_attribute(name, value))


@kind("attribute: given twice", node=True)
def _twice(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, __, attribute in each(model):
        yield put(at, attribute)
        for count, other in enumerate(other_values(attribute)):
            if count < 4:
                yield put(at, helper.make_attribute(attribute.name, other, attr_type=attribute.type))


@kind("attribute: a second field", node=True)
def _second_field(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, attribute in each(model):
        for number, (field, value) in FIELDS.items():
            if number != attribute.type:
                made = AttributeProto.FromString(attribute.SerializeToString())
                if isinstance(value, list):
                    getattr(made, field).extend(value)
                elif value is None:
                    getattr(made, field).SetInParent()
                else:
                    setattr(made, field, value)
                yield put(at, made, place)


@kind("attribute: a reference", node=True)
def _reference(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, attribute in each(model):
        for clear in (False, True):
            made = AttributeProto.FromString(attribute.SerializeToString())
            if clear:
                made = AttributeProto(name=attribute.name, type=attribute.type)
            made.ref_attr_name = attribute.name if not attribute.ref_attr_name else "another"
            yield put(at, made, place)


@kind("attribute: name or text", node=True)
def _name(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, place, attribute in each(model):
        for field, value in (("name", ""), ("name", attribute.name.upper()), ("name", "unknown"), ("doc_string", "x")):
            made = AttributeProto.FromString(attribute.SerializeToString())
            setattr(made, field, value)
            yield put(at, made, place)


@kind("attribute: another order", node=True)
def _order(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in enumerate(nodes(model)):
        if len(node.attribute) > 1:
            yield lambda m, at=at: _reverse(nodes(m)[at].attribute)


def _reverse(listed: object) -> None:
    items = list(listed)[::-1]  # type: ignore[call-overload]
    del listed[:]  # type: ignore[attr-defined]
    listed.extend(items)  # type: ignore[attr-defined]
