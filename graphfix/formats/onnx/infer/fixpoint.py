"""Shapes of every value: onnx's inference on the skeleton, alternated with this program's rules to a fixed point.

Stored shapes are claims: they are stripped first and compared afterwards. onnx names the sizes that it can't compute
(`unk__3`) and carries the names along; a name means here the term that the rules compute for its first holder, or else
that value's axis. A name that is stored in the file is never evidence, except for the symbols of the graph's inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import GraphProto, ModelProto, NodeProto, TensorProto

from graphfix.formats.onnx.file.messages import body_of, write_dims
from graphfix.formats.onnx.infer.forward import ForwardPass
from graphfix.formats.onnx.infer.loops import Loops
from graphfix.formats.onnx.infer.rules import SHAPES_ALONE
from graphfix.formats.onnx.infer.scope import GraphScope, SizeNames, bodies_of
from graphfix.shapes.shape import Shape

ROUNDS = 6
"""Each round of onnx's inference costs about 1 s on 100,000 nodes; real models need 1 to 4."""
LOOP_ROUNDS = 2 * ROUNDS
"""A loop's sizes are widened one after another, each in two rounds; then nothing is assumed of its values."""
UNION_SINCE = 11
"""From this opset on onnx infers for an If what its branches' shapes have in common."""
HIDDEN = "graphfix.apart:"
"""Before a name that no node of the file has."""
CALL_BUDGET = 100_000
"""onnx infers a function's body anew at each call: above this many nodes the calls are opaque to it."""


def strip(graph: GraphProto, scope: GraphScope) -> None:
    """Remove every stored shape but those of inputs, here and in bodies (whose inputs' shapes are claims too)."""
    del graph.value_info[:]
    for value in graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    for body, child in bodies_of(graph.node, scope):
        for value in body.input:
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        strip(body, child)


def infer(main: GraphScope, model: ModelProto, names: SizeNames) -> None:
    """Fill `main` and the scopes inside it: its inputs' shapes are there already. `model` is a copy to work on."""
    strip(model.graph, main)
    _hide_branches(model.graph.node, main)
    _declare_inputs(main, model, names)
    known = {scope: dict(scope.shapes) for scope in main.walk()}
    injected: set[tuple[str, str, str]] = set()
    loops = Loops()
    rounds = LOOP_ROUNDS if any(scope.path.endswith(".body") for scope in known) else ROUNDS
    for left in range(rounds, -1, -1):
        loops.begin(abandoned=not left)
        if loops.broken or loops.abandoned:
            _forget(model, main, injected)
            loops.broken = False
        done = _round(main, model, names, loops, known)
        news = {(scope.path, name, str(scope.shapes[name])) for scope, learnt in done.gains.items() for name in learnt}
        if loops.hold and (news <= injected or left <= 1):
            return
        injected |= news
        for graph, (scope, learnt) in zip(_graphs(model.graph, main), done.gains.items(), strict=True):
            _inject(graph, learnt, scope, names)


def _hide_branches(nodes: Sequence[NodeProto], scope: GraphScope) -> None:
    """Hide the results of an If's branches from onnx before opset 11: it merges their shapes as if they were one.

    [N] and [2] become [2] there, though N is decided when the model runs. A rule of this program joins them.
    """
    for (index, attribute), child in scope.children.items():
        body = body_of(nodes[index], attribute)
        if nodes[index].op_type == "If" and scope.versions.get("", UNION_SINCE) < UNION_SINCE:
            for value in body.output:
                value.name = f"{HIDDEN}{value.name}"
        _hide_branches(body.node, child)


def _declare_inputs(main: GraphScope, model: ModelProto, names: SizeNames) -> None:
    for value in model.graph.input:
        shape = main.shapes.get(value.name)
        if shape is not None and shape.axes is not None and value.type.HasField("tensor_type"):
            write_dims(value.type.tensor_type, [names.text(size) for size in shape.axes])


def _round(
    main: GraphScope, model: ModelProto, names: SizeNames, loops: Loops, known: Mapping[GraphScope, Mapping[str, Shape]]
) -> ForwardPass:
    """Make one round: onnx's inference, then the rules over its result."""
    names.generated.clear()
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=_follows_values(main, model))
    for scope in main.walk():
        scope.shapes = dict(known[scope])
        for stale in (scope.elements, scope.unranked, scope.stale):
            stale.clear()
    forward = ForwardPass(names, loops)
    forward.run(main, inferred.graph)
    return forward


def _follows_values(main: GraphScope, model: ModelProto) -> bool:
    """Whether some shape follows from values, so that onnx must compute those too; that doubles its time."""
    every = ((step.domain, step.op) for scope in main.walk() for step in scope.steps)
    return bool(model.functions) or not SHAPES_ALONE.issuperset(every)


def _forget(model: ModelProto, main: GraphScope, injected: set[tuple[str, str, str]]) -> None:
    """Start anew: what onnx was given relied on an assumption that did not hold."""
    strip(model.graph, main)
    injected.clear()
    for scope in main.walk():
        scope.assumed.clear()


def _graphs(graph: GraphProto, scope: GraphScope) -> Iterator[GraphProto]:
    yield graph
    for body, child in bodies_of(graph.node, scope):
        yield from _graphs(body, child)


def _inject(graph: GraphProto, learnt: set[str], scope: GraphScope, names: SizeNames) -> None:
    stored = {value.name: value for value in (*graph.value_info, *graph.input)}
    for name in sorted(learnt):
        value = stored.get(name) or graph.value_info.add(name=name)
        value.type.tensor_type.elem_type = scope.dtypes.get(name, TensorProto.UNDEFINED)
        write_dims(value.type.tensor_type, [names.text(size) for size in scope.shapes[name].dims])
