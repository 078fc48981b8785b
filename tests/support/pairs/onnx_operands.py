"""Changes of a node's operands, results, operator, names and place."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import chain

from onnx import ModelProto, NodeProto, defs, helper

from tests.support.pairs.onnx_parts import Edit, graphs, kind, names, nodes, version_of

ABSENT = "not_there"


def _named(model: ModelProto) -> Iterator[tuple[int, NodeProto]]:
    yield from enumerate(nodes(model))


def _set(at: int, field: str, values: list[str]) -> Edit:
    def edit(model: ModelProto) -> None:
        listed = getattr(nodes(model)[at], field)
        del listed[:]
        listed.extend(values)

    return edit


@kind("operand: one more", node=True)
def _more(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    readable = names(model.graph)
    for at, node in _named(model):
        for name in dict.fromkeys([*readable, ABSENT]):
            yield _set(at, "input", [*node.input, name])
            yield _set(at, "input", [*node.input, "", name])
            yield _set(at, "input", [name, *node.input])


@kind("operand: one fewer", node=True)
def _fewer(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for place in range(len(node.input)):
            yield _set(at, "input", [*node.input[:place], *node.input[place + 1 :]])


@kind("operand: empty", node=True)
def _empty(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for place in range(len(node.input)):
            yield _set(at, "input", [*node.input[:place], "", *node.input[place + 1 :]])


@kind("operand: trailing empty names", node=True)
def _trailing(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for count in (1, 2, 5):
            yield _set(at, "input", [*node.input, *[""] * count])
        if node.input and not node.input[-1]:
            yield _set(at, "input", [*node.input[:-1]])


@kind("operand: two swapped", node=True)
def _swapped(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for one in range(len(node.input)):
            for other in range(one):
                made = [*node.input]
                made[one], made[other] = made[other], made[one]
                yield _set(at, "input", made)


@kind("operand: another value", node=True)
def _another(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    readable = names(model.graph)
    for at, node in _named(model):
        for place, name in enumerate(node.input):
            for other in dict.fromkeys([*readable, *node.output, ABSENT]):
                if other != name:
                    yield _set(at, "input", [*node.input[:place], other, *node.input[place + 1 :]])


@kind("result: one more", node=True)
def _result_more(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for extra in (["more"], ["more", "even_more"], ["", "more"]):
            yield _set(at, "output", [*node.output, *extra])


@kind("result: one fewer", node=True)
def _result_fewer(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for place in range(len(node.output)):
            yield _set(at, "output", [*node.output[:place], *node.output[place + 1 :]])


@kind("result: empty", node=True)
def _result_empty(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for place in range(len(node.output)):
            yield _set(at, "output", [*node.output[:place], "", *node.output[place + 1 :]])


@kind("result: trailing empty names", node=True)
def _result_trailing(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for count in (1, 2, 5):
            yield _set(at, "output", [*node.output, *[""] * count])


@kind("result: two swapped or one name", node=True)
def _result_swapped(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        if len(node.output) > 1:
            yield _set(at, "output", [*node.output[::-1]])
            yield _set(at, "output", [node.output[0], node.output[0], *node.output[2:]])
        yield _set(at, "output", [*node.output, *node.output])


@kind("result: the name of another value", node=True)
def _collides(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for place, name in enumerate(node.output):
            for other in names(model.graph):
                if other != name:
                    yield _set(at, "output", [*node.output[:place], other, *node.output[place + 1 :]])


@kind("value: renamed everywhere")
def _renamed(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    """A value that is no input or output gets another name: fresh, odd, or one that another scope has."""
    interface = dict.fromkeys(it.name for it in [*model.graph.input, *model.graph.output])
    others = [it for graph in graphs(model)[1:] for it in names(graph)]
    for name in names(model.graph):
        if name not in interface:
            for other in ("fresh", " ", "a/b:0", "\u00e9", *others[:5], *interface):
                yield lambda m, name=name, other=other: rename(m, name, other)


def rename(model: ModelProto, name: str, other: str) -> None:
    """Give a value another name wherever it is read, computed or declared."""
    for node in nodes(model):
        for field in (node.input, node.output):
            for place, it in enumerate(field):
                if it == name:
                    field[place] = other
    for graph in graphs(model):
        for value in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
            if value.name == name:
                value.name = other


@kind("operator: another one", node=True)
def _operator(model: ModelProto, choose: random.Random) -> Iterator[Edit]:
    """Relatives of the operator, and operators at random."""
    listed = sorted({it.name for it in defs.get_all_schemas() if not it.domain})
    for at, node in _named(model):
        near = [group for group in RELATIVES if node.op_type in group]
        for op in sorted({*chain(*near), *choose.sample(listed, 8), "Identity", "NoSuch"}):
            if op != node.op_type:
                yield lambda m, at=at, op=op: setattr(nodes(m)[at], "op_type", op)


RELATIVES = tuple(
    tuple(line.split())
    for line in (
        "Add Sub Mul Div Pow Mod Max Min Mean Sum And Or Xor", "Greater Less Equal GreaterOrEqual LessOrEqual",
        "Relu Abs Neg Ceil Floor Round Identity Dropout Sigmoid Tanh Erf Gelu Elu Celu Selu LeakyRelu",
        "ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceProd",
        "Squeeze Unsqueeze Reshape Flatten Identity Transpose Expand Tile", "Softmax LogSoftmax Hardmax",
        "ArgMax ArgMin", "MaxPool AveragePool LpPool", "GlobalMaxPool GlobalAveragePool GlobalLpPool",
        "MatMul MatMulInteger Gemm", "Gather GatherElements GatherND", "Scatter ScatterElements ScatterND",
        "Upsample Resize", "Cast CastLike", "If Loop Scan", "RNN GRU LSTM", "Conv ConvTranspose DeformConv",
        "RandomNormalLike RandomUniformLike Bernoulli", "Concat ConcatFromSequence", "Split SplitToSequence",
        "BitwiseAnd BitwiseOr BitwiseXor", "IsNaN IsInf Not",
    )
)  # fmt: skip


@kind("node: domain", node=True)
def _domain(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for domain in ("ai.onnx", "", "ai.onnx.ml", "com.microsoft", "custom", "AI.ONNX"):
            if domain != node.domain:
                yield lambda m, at=at, domain=domain: setattr(nodes(m)[at], "domain", domain)


@kind("node: name", node=True)
def _name(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, node in _named(model):
        for name in ("named", "", *node.output, *(it.name for _, it in _named(model))):
            if name != node.name:
                yield lambda m, at=at, name=name: setattr(nodes(m)[at], "name", name)
    yield _one_name


def _one_name(model: ModelProto) -> None:
    for node in nodes(model):
        node.name = "the_same"


@kind("node: overload", node=True)
def _overload(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, __ in _named(model):
        yield lambda m, at=at: setattr(nodes(m)[at], "overload", "other")


@kind("node: text and properties", node=True)
def _text(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, __ in _named(model):
        yield lambda m, at=at: setattr(nodes(m)[at], "doc_string", "x")
        yield lambda m, at=at: nodes(m)[at].metadata_props.add(key="k", value="v")
        yield lambda m, at=at: nodes(m)[at].device_configurations.add(configuration_id="x")


@kind("node: a dead one added")
def _dead(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for name in names(graph)[:4]:
            for node in _dead_nodes(name):
                yield lambda m, at=at, node=node: graphs(m)[at].node.append(node)
        for node in graph.node:
            yield lambda m, at=at, node=node: graphs(m)[at].node.append(_copy(node))
        yield lambda m, at=at: graphs(m)[at].node.append(NodeProto())
        yield lambda m, at=at: graphs(m)[at].node.append(NodeProto(op_type="Identity"))


def _copy(node: NodeProto) -> NodeProto:
    made = NodeProto.FromString(node.SerializeToString())
    for place, name in enumerate(made.output):
        made.output[place] = f"{name}_again"
    return made


def _dead_nodes(name: str) -> Iterator[NodeProto]:
    make = helper.make_node
    for op in ("Identity", "Shape", "Size", "Not", "Relu", "Flatten", "Squeeze", "NonZero", "Dropout", "Det", "NoSuch"):
        yield make(op, [name], ["dead"])
    yield from (make("Add", [name, name], ["dead"]), make("Reshape", [name], ["dead"]), make("Cast", [name], ["dead"]))
    yield from (make("Cast", [name], ["dead"], to=1), make("Concat", [name], ["dead"], axis=0))
    yield from (make("Transpose", [name], ["dead"], perm=[0, 0]), make("Identity", [name], [name]))
    yield from (make("Identity", [name], [""]), make("Identity", [ABSENT], ["dead"]), make("Identity", [name], []))
    yield from (make("Constant", [], ["dead"]), make("Constant", [], ["dead"], value_int=1, value_float=1.0))
    yield make("Constant", [], ["dead"], value_floats=[1.0])
    yield make("NoSuch", [name], ["dead"], domain="custom")


@kind("node: dropped", node=True)
def _dropped(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for place in range(len(graph.node)):
            yield lambda m, at=at, place=place: graphs(m)[at].node.pop(place)


@kind("node: another order")
def _order(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    for at, graph in enumerate(graphs(model)):
        for place in range(1, len(graph.node)):
            yield lambda m, at=at, place=place: graphs(m)[at].node.insert(0, graphs(m)[at].node.pop(place))


@kind("operand: spelled as another domain's operator set")
def _alias(model: ModelProto, _: random.Random) -> Iterator[Edit]:
    if version_of(model):
        yield lambda m: [setattr(it, "domain", "ai.onnx") for it in nodes(m) if not it.domain] and None
