"""Changes of the file: versions, imports, declared types and sizes, names, what stands beside the graph."""

from __future__ import annotations

import random
from collections.abc import Iterator

import onnx
from onnx import ModelProto, TensorProto, TypeProto, helper, version_converter

from tests.support.pairs.onnx_parts import Edit, graphs, kind, names, nodes, tensor_of, version_of

DECLARED = ("input", "output", "value_info")
FUTURE = 999


@kind("versions: another operator set")
def _version(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, it in enumerate(model.opset_import):
        near = (it.version - 1, it.version + 1, it.version - 2, it.version + 2, it.version + 4, it.version - 4)
        for version in (*near, 6, 7, 9, 10, 11, 13, 17, 18, 21, 22, 25, 26, 27, 28, 1, 0, -1, FUTURE):
            if version != it.version:
                yield lambda m, at=at, version=version: setattr(m.opset_import[at], "version", version)


@kind("versions: converted by onnx", then=True)
def _converted(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    """What onnx's own converter makes of it; where it fails nothing is changed."""
    own = version_of(model)
    for version in (own + 1, own - 1, own + 2, own + 5, 13, 17, 18, 21, 9):
        if own and version != own and 6 < version < 24:
            yield lambda m, version=version: _convert(m, version)


def _convert(model: ModelProto, version: int) -> None:
    try:
        made = version_converter.convert_version(model, version)
    except Exception:  # noqa: BLE001 -- it raises what it likes
        return
    model.CopyFrom(made)


@kind("versions: an import added")
def _import(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    domains = ("ai.onnx.ml", "com.microsoft", "custom", "ai.onnx.preview.training", "ai.onnx", "", "ai.onnx.training")
    for domain in domains:
        for version in (1, 2, 3, 5, 6, FUTURE, 0, -1, version_of(model)):
            yield lambda m, domain=domain, version=version: m.opset_import.add(domain=domain, version=version)


@kind("versions: an import dropped, doubled or moved")
def _imports(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, it in enumerate(model.opset_import):
        yield lambda m, at=at: m.opset_import.pop(at)
        for version in (it.version, it.version - 1, it.version + 1):
            yield lambda m, it=it, version=version: m.opset_import.add(domain=it.domain, version=version)
            yield lambda m, it=it, version=version: m.opset_import.insert(0, helper.make_opsetid(it.domain, version))
        yield lambda m, at=at: m.opset_import[at].ClearField("version")
        yield lambda m, at=at: setattr(m.opset_import[at], "domain", "ai.onnx")


@kind("versions: IR")
def _ir(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for version in (0, 1, 2, 3, 4, 6, 7, 9, 10, 11, 12, 13, 14, 99):
        if version != model.ir_version:
            yield lambda m, version=version: setattr(m, "ir_version", version)
    yield lambda m: m.ClearField("ir_version")


@kind("file: text and properties")
def _text(_: ModelProto, __: random.Random) -> Iterator[Edit]:
    yield lambda m: m.metadata_props.add(key="k", value="v")
    yield lambda m: m.metadata_props.extend([onnx.StringStringEntryProto(key="k", value=it) for it in "vw"])
    for field in ("producer_name", "producer_version", "domain", "doc_string"):
        yield lambda m, field=field: setattr(m, field, "other")
    yield lambda m: setattr(m, "model_version", 7)
    yield lambda m: setattr(m.graph, "name", "")
    yield lambda m: setattr(m.graph, "doc_string", "x")
    yield lambda m: m.graph.metadata_props.add(key="k", value="v")
    yield lambda m: m.training_info.add()
    yield lambda m: m.configuration.add(name="c", num_devices=2)
    yield lambda m: m.ClearField("graph")


@kind("file: quantization annotation")
def _annotation(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for name in [*names(model.graph), "not_there"]:
        yield lambda m, name=name: m.graph.quantization_annotation.add(tensor_name=name)
        yield lambda m, name=name: m.graph.quantization_annotation.add(
            tensor_name=name, quant_parameter_tensor_names=[onnx.StringStringEntryProto(key="SCALE_TENSOR", value=name)]
        )


def _declared(model: ModelProto) -> Iterator[tuple[int, str, int, onnx.ValueInfoProto]]:
    for at, graph in enumerate(graphs(model)):
        for field in DECLARED:
            for place, value in enumerate(getattr(graph, field)):
                yield at, field, place, value


def _typed(at: int, field: str, place: int, made: TypeProto) -> Edit:
    return lambda m: getattr(graphs(m)[at], field)[place].type.CopyFrom(made)


@kind("declared: element type")
def _element(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, field, place, value in _declared(model):
        tensor = tensor_of(value)
        for element in (0, 1, 2, 3, 6, 7, 8, 9, 10, 11, 16, 17, 22, 99) if tensor else ():
            if element != tensor.elem_type:
                made = TypeProto.FromString(value.type.SerializeToString())
                made.tensor_type.elem_type = element
                yield _typed(at, field, place, made)


@kind("declared: kind of type")
def _type(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, field, place, value in _declared(model):
        own = value.type
        yield _typed(at, field, place, TypeProto())
        yield _typed(at, field, place, helper.make_sequence_type_proto(own))
        yield _typed(at, field, place, helper.make_optional_type_proto(own))
        if tensor_of(value):
            yield _typed(at, field, place, helper.make_sparse_tensor_type_proto(own.tensor_type.elem_type, None))
        made = TypeProto.FromString(own.SerializeToString())
        made.denotation = "IMAGE"
        yield _typed(at, field, place, made)


@kind("declared: a size")
def _size(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    symbols = sorted({dim.dim_param for *_, v in _declared(model) for dim in _dims(v) if dim.dim_param})
    for at, field, place, value in _declared(model):
        for axis, dim in enumerate(_dims(value)):
            for size in (0, 1, 2, 3, 5, -1, 2**31, dim.dim_value + 1):
                if dim.dim_param or size != dim.dim_value:
                    yield _sized(at, field, place, axis, size)
            for symbol in ("", "fresh", *symbols):
                yield _sized(at, field, place, axis, symbol)


def _dims(value: onnx.ValueInfoProto) -> list[onnx.TensorShapeProto.Dimension]:
    tensor = tensor_of(value)
    return list(tensor.shape.dim) if tensor else []


def _sized(at: int, field: str, place: int, axis: int, size: int | str) -> Edit:
    def edit(model: ModelProto) -> None:
        dim = getattr(graphs(model)[at], field)[place].type.tensor_type.shape.dim[axis]
        dim.Clear()
        if isinstance(size, int):
            dim.dim_value = size
        elif size:
            dim.dim_param = size

    return edit


@kind("declared: symbols merged or renamed")
def _symbols(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    symbols = sorted({dim.dim_param for *_, v in _declared(model) for dim in _dims(v) if dim.dim_param})
    for one in symbols:
        for other in (*symbols, "renamed"):
            if one != other:
                yield lambda m, one=one, other=other: _rename_symbol(m, one, other)
    for at, field, place, value in _declared(model):
        for axis, dim in enumerate(_dims(value)):
            if not dim.dim_param:
                yield _sized(at, field, place, axis, "N")
    yield _all_one_symbol


def _rename_symbol(model: ModelProto, one: str, other: str) -> None:
    for *_, value in _declared(model):
        for dim in _dims(value):
            if dim.dim_param == one:
                dim.dim_param = other


def _all_one_symbol(model: ModelProto) -> None:
    for _, field, _, value in _declared(model):
        for dim in _dims(value) if field == "input" else ():
            dim.dim_param = "N"


@kind("declared: rank")
def _rank(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, field, place, value in _declared(model):
        tensor = tensor_of(value)
        if tensor:
            yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f)[p].type.tensor_type.ClearField("shape")
            yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f)[p].type.tensor_type.shape.dim.add()
            for shape in ([], [1], [1, *(dim.dim_value for dim in tensor.shape.dim)]):
                made = helper.make_tensor_type_proto(tensor.elem_type, shape)
                yield _typed(at, field, place, made)


@kind("declared: value_info added")
def _value_info(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for name in [*names(graph), "not_there", ""]:
            for element, shape in (
                (1, None),
                (1, []),
                (1, [1]),
                (1, [2, 3]),
                (7, None),
                (9, [2, 3]),
                (0, [2]),
                (1, ["N"]),
            ):
                info = helper.make_tensor_value_info(name, element, shape)
                yield lambda m, at=at, info=info: graphs(m)[at].value_info.append(info)


@kind("interface: order, more, fewer, twice")
def _interface(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for field in ("input", "output"):
            listed = getattr(graph, field)
            for place in range(len(listed)):
                yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f).pop(p)
                yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f).append(getattr(graphs(m)[at], f)[p])
                if place:
                    yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f).insert(
                        0, getattr(graphs(m)[at], f).pop(p)
                    )
            for name in ("extra", *names(graph)):
                info = helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])
                yield lambda m, at=at, f=field, info=info: getattr(graphs(m)[at], f).append(info)


@kind("interface: a name")
def _interface_name(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, field, place, value in _declared(model):
        for name in ("other", "", *names(graphs(model)[at])):
            if name != value.name:
                yield lambda m, at=at, f=field, p=place, name=name: setattr(getattr(graphs(m)[at], f)[p], "name", name)


@kind("interface: text and properties")
def _interface_text(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, field, place, __ in _declared(model):
        yield lambda m, at=at, f=field, p=place: setattr(getattr(graphs(m)[at], f)[p], "doc_string", "x")
        yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f)[p].metadata_props.add(key="k", value="v")


@kind("functions: an unused one added")
def _function(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    make, relu = helper.make_function, [helper.make_node("Relu", ["a"], ["b"])]
    own = [helper.make_opsetid("", max(version_of(model), 1))]
    used = sorted({(it.domain, it.op_type) for it in nodes(model)})
    for domain, name in (("custom", "f"), ("", "f"), ("", "Sigmoid"), ("ai.onnx.ml", "f"), *used):
        for imports in (own, [], [helper.make_opsetid("", FUTURE)], [helper.make_opsetid("", 5)], own * 2):
            for body in (
                relu,
                [],
                [helper.make_node("NoSuch", ["a"], ["b"])],
                [helper.make_node("Relu", ["z"], ["b"])],
            ):
                for imported in (0, 1):
                    function = make(domain, name, ["a"], ["b"], body, imports)
                    yield lambda m, function=function, imported=imported: _with_function(m, function, imported)


def _with_function(model: ModelProto, function: onnx.FunctionProto, imported: int) -> None:
    model.functions.append(function)
    if imported and not version_of(model, function.domain):
        model.opset_import.add(domain=function.domain, version=imported)
