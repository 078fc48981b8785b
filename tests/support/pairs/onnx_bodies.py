"""Changes of bodies and local functions: arity, names, types, branches, imports, defaults."""

from __future__ import annotations

import random
from collections.abc import Iterator

import onnx
from onnx import FunctionProto, ModelProto, helper

from tests.support.pairs.onnx_operands import rename
from tests.support.pairs.onnx_parts import Edit, bodies, graphs, kind, names, nodes, tensor_of


@kind("body: an output fewer or more")
def _outputs(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in list(enumerate(graphs(model)))[1:]:
        for field in ("output", "input"):
            listed = getattr(graph, field)
            for place in range(len(listed)):
                yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f).pop(p)
                yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f).append(getattr(graphs(m)[at], f)[p])
            yield lambda m, at=at, f=field: getattr(graphs(m)[at], f).add(name="more")
            yield lambda m, at=at, f=field: _swap(getattr(graphs(m)[at], f))


def _swap(listed: object) -> None:
    items = list(listed)[::-1]  # type: ignore[call-overload]
    del listed[:]  # type: ignore[attr-defined]
    listed.extend(items)  # type: ignore[attr-defined]


@kind("body: an output and its result fewer or more")
def _both(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in enumerate(nodes(model)):
        if bodies(node):
            for place in range(len(node.output)):
                yield lambda m, at=at, place=place: _drop_result(m, at, place)
            yield lambda m, at=at: _add_result(m, at)


def _drop_result(model: ModelProto, at: int, place: int) -> None:
    node = nodes(model)[at]
    node.output.pop(place)
    for body in bodies(node):
        body.output.pop(min(place + (node.op_type == "Loop"), len(body.output) - 1))


def _add_result(model: ModelProto, at: int) -> None:
    node = nodes(model)[at]
    node.output.append("more")
    for body in bodies(node):
        body.output.add().CopyFrom(body.output[-2])


@kind("body: an output is another value")
def _another(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    outer = names(model.graph)
    for at, graph in list(enumerate(graphs(model)))[1:]:
        for place in range(len(graph.output)):
            for name in (*names(graph), *outer[:4], "not_there"):
                yield lambda m, at=at, p=place, name=name: setattr(graphs(m)[at].output[p], "name", name)


@kind("body: types taken out or changed")
def _types(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in list(enumerate(graphs(model)))[1:]:
        for field in ("input", "output"):
            for place, value in enumerate(getattr(graph, field)):
                yield lambda m, at=at, f=field, p=place: getattr(graphs(m)[at], f)[p].ClearField("type")
                if tensor_of(value) is not None:
                    for element in (1, 7, 9, 11):
                        yield lambda m, at=at, f=field, p=place, element=element: setattr(
                            getattr(graphs(m)[at], f)[p].type.tensor_type, "elem_type", element
                        )


@kind("body: a value named as an outer one")
def _shadow(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    outer = names(model.graph)
    for at, graph in list(enumerate(graphs(model)))[1:]:
        for name in names(graph):
            for other in outer[:6]:
                yield lambda m, at=at, name=name, other=other: rename_in(graphs(m)[at], name, other)


def rename_in(graph: onnx.GraphProto, name: str, other: str) -> None:
    """Give a value of one body another name."""
    whole = ModelProto(graph=graph)
    rename(whole, name, other)
    graph.CopyFrom(whole.graph)


@kind("body: two exchanged, one doubled, one empty")
def _exchanged(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in enumerate(nodes(model)):
        if len(bodies(node)) > 1:
            yield lambda m, at=at: _exchange(nodes(m)[at])
            yield lambda m, at=at: bodies(nodes(m)[at])[0].CopyFrom(bodies(nodes(m)[at])[1])
        for number in range(len(bodies(node))):
            yield lambda m, at=at, n=number: bodies(nodes(m)[at])[n].Clear()
            yield lambda m, at=at, n=number: bodies(nodes(m)[at])[n].ClearField("node")
            yield lambda m, at=at, n=number: bodies(nodes(m)[at])[n].ClearField("name")


def _exchange(node: onnx.NodeProto) -> None:
    one, other = bodies(node)[:2]
    kept = onnx.GraphProto.FromString(one.SerializeToString())
    one.CopyFrom(other)
    other.CopyFrom(kept)


def _functions(model: ModelProto) -> Iterator[tuple[int, FunctionProto]]:
    yield from enumerate(model.functions)


@kind("function: its domain or name")
def _name(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, function in _functions(model):
        others = (("", function.name), ("ai.onnx.ml", function.name), ("unseen", function.name), ("", "Sigmoid"))
        for domain, name in (
            *others,
            (function.domain, "other"),
            ("", "Relu"),
            ("com.microsoft", "Gelu"),
            ("ai.onnx", "g"),
        ):
            for calls in (False, True):
                for imports in (False, True):
                    yield lambda m, at=at, d=domain, n=name, c=calls, i=imports: _rename_function(m, at, d, n, c, i)


def _rename_function(model: ModelProto, at: int, domain: str, name: str, calls: bool, imports: bool) -> None:
    function = model.functions[at]
    own = (function.domain, function.name)
    function.domain, function.name = domain, name
    for node in nodes(model) if calls else ():
        if (node.domain, node.op_type) == own:
            node.domain, node.op_type = domain, name
    if imports and domain not in {it.domain for it in model.opset_import}:
        model.opset_import.add(domain=domain, version=1)


@kind("function: its imports")
def _imports(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, function in _functions(model):
        for place, it in enumerate(function.opset_import):
            yield lambda m, at=at, p=place: m.functions[at].opset_import.pop(p)
            for version in (it.version - 1, it.version + 1, it.version, 6, 9, 13, 17, 21, 999, 0):
                yield lambda m, at=at, p=place, v=version: setattr(m.functions[at].opset_import[p], "version", v)
                yield lambda m, at=at, it=it, v=version: m.functions[at].opset_import.add(domain=it.domain, version=v)
        for domain in ("com.microsoft", "unseen", "ai.onnx.ml", "ai.onnx"):
            for version in (1, 999):
                yield lambda m, at=at, d=domain, v=version: m.functions[at].opset_import.add(domain=d, version=v)


@kind("function: operands and results")
def _operands(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, function in _functions(model):
        for field in ("input", "output", "attribute"):
            listed = getattr(function, field)
            for name in ("more", *listed):
                yield lambda m, at=at, f=field, name=name: getattr(m.functions[at], f).append(name)
            for place in range(len(listed)):
                yield lambda m, at=at, f=field, p=place: getattr(m.functions[at], f).pop(p)
            if len(listed) > 1:
                yield lambda m, at=at, f=field: _swap(getattr(m.functions[at], f))


@kind("function: an attribute's default")
def _default(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, function in _functions(model):
        for name in ("more", *function.attribute):
            for value in (1, 0.5, "x", [1]):
                made = helper.make_attribute(name, value)
                yield lambda m, at=at, made=made: m.functions[at].attribute_proto.append(made)
        for place in range(len(function.attribute_proto)):
            yield lambda m, at=at, p=place: m.functions[at].attribute_proto.pop(p)


@kind("function: given twice, dropped, recursive, other fields")
def _twice(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, function in _functions(model):
        yield lambda m, at=at: m.functions.append(m.functions[at])
        yield lambda m, at=at: m.functions.insert(0, _emptied(m.functions[at]))
        yield lambda m, at=at: m.functions.append(_emptied(m.functions[at]))
        yield lambda m, at=at: m.functions.pop(at)
        call = helper.make_node(function.name, function.input, ["again"], domain=function.domain)
        yield lambda m, at=at, call=call: m.functions[at].node.append(call)
        yield lambda m, at=at: setattr(m.functions[at], "overload", "o")
        yield lambda m, at=at: setattr(m.functions[at], "doc_string", "o")
        yield lambda m, at=at: m.functions[at].metadata_props.add(key="k", value="v")
        yield lambda m, at=at: m.functions[at].value_info.add(name="x")
        info = helper.make_tensor_value_info(function.output[0] if function.output else "x", 7, [9])
        yield lambda m, at=at, info=info: m.functions[at].value_info.append(info)


def _emptied(function: FunctionProto) -> FunctionProto:
    made = FunctionProto.FromString(function.SerializeToString())
    del made.node[:]
    return made


@kind("function: a node of it")
def _node(model: ModelProto, choose: random.Random) -> Iterator[Edit]:
    for at, function in _functions(model):
        for place in range(len(function.node)):
            yield lambda m, at=at, p=place: m.functions[at].node.pop(p)
            yield lambda m, at=at, p=place: m.functions[at].node.append(m.functions[at].node[p])
            yield lambda m, at=at, p=place: m.functions[at].node.insert(0, m.functions[at].node.pop(p))
        for name in (*function.input, *function.output):
            dead = helper.make_node(choose.choice(["Relu", "Not", "NoSuch"]), [name], ["dead"])
            yield lambda m, at=at, dead=dead: m.functions[at].node.append(dead)
