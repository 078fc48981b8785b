"""Make a random pair of TFLite files of a family: a random model, and a copy with mutations.

The mutations in `EQUAL` keep the computation. The mutations in `UNEQUAL` mostly change the computation or make the
model invalid. Each mutation changes the model in place and returns whether the model was changed.
"""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from attacking.onnx_draft import meet
from attacking.pair import Pair, Shape
from attacking.tflite_graphs import FAMILIES, drafted

if TYPE_CHECKING:
    from attacking.tflite_draft import Subgraph, TfliteDraft

EQUALS = 0.6
BROADCASTING = ("ADD", "MUL", "SUB", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "LESS", "PRELU")
OTHERS = {
    "ADD": "SUB",
    "SUB": "ADD",
    "MUL": "DIV",
    "MAXIMUM": "MINIMUM",
    "MINIMUM": "MAXIMUM",
    "RELU": "RELU6",
    "TANH": "LOGISTIC",
    "SUM": "MEAN",
    "MEAN": "SUM",
    "NEG": "ABS",
    "FLOOR": "EXP",
}
Place = tuple["Subgraph", int, int]


def _places(model: TfliteDraft) -> list[Place]:
    """Return all operands that are neither resources nor bools.

    Each result contains the subgraph, the index of the operator, and the index of the operand.
    """
    return [
        (graph, at, place)
        for graph in model.graphs
        for at, operator in enumerate(graph.graph.operators)
        for place, tensor in enumerate(operator.inputs)
        if tensor >= 0 and graph.kind(tensor) not in ("resource", "bool")
    ]


def _inserted(graph: Subgraph, at: int, place: int, operator: str, operands: list[int], shape: Shape) -> None:
    """Insert an operator before operator `at`, and let operand `place` of operator `at` read its result."""
    graph.like(operator, operands, shape)
    made = graph.graph.operators.pop()
    graph.graph.operators[at].inputs[place] = made.outputs[0]
    graph.graph.operators.insert(at, made)


def _broadcasts(graph: Subgraph, at: int) -> Shape | None:
    """Return the shape to which the first two operands of operator `at` broadcast, or None.

    The result is None if the operator does not broadcast, or if the shapes do not certainly broadcast.
    """
    operator = graph.graph.operators[at]
    if graph.model.name(operator) not in BROADCASTING:
        return None
    return meet(graph.shape(operator.inputs[0]), graph.shape(operator.inputs[1]))


def lifted(model: TfliteDraft, rng: random.Random) -> bool:
    """Make leading unit axes explicit that a broadcast adds to an operand, by RESHAPE or EXPAND_DIMS.

    Return whether the model was changed.
    """
    found = [
        (graph, at, place)
        for graph, at, place in _places(model)
        if (shape := _broadcasts(graph, at)) is not None
        and len(shape) > len(graph.shape(graph.graph.operators[at].inputs[place]))
    ]
    if not found:
        return False
    graph, at, place = rng.choice(found)
    value = graph.graph.operators[at].inputs[place]
    shape = graph.shape(value)
    full = (1,) * (len(_broadcasts(graph, at) or ()) - len(shape)) + shape
    if all(isinstance(dim, int) for dim in shape):
        _inserted(graph, at, place, "RESHAPE", [value, graph.constant([int(dim) for dim in full])], full)
    else:
        _inserted(graph, at, place, "EXPAND_DIMS", [value, graph.constant(np.array(0, np.int32))], (1, *shape))
    return True


def stretched(model: TfliteDraft, rng: random.Random) -> bool:
    """Stretch an operand of a broadcast to the result's shape, by BROADCAST_TO or by storing a larger constant.

    Return whether the model was changed.
    """
    found = [
        (graph, at, place)
        for graph, at, place in _places(model)
        if (shape := _broadcasts(graph, at)) is not None
        and all(isinstance(dim, int) for dim in shape)
        and shape != graph.shape(graph.graph.operators[at].inputs[place])
    ]
    if not found:
        return False
    graph, at, place = rng.choice(found)
    value = graph.graph.operators[at].inputs[place]
    shape = _broadcasts(graph, at) or ()
    tensor = graph.graph.tensors[value]
    if tensor.buffer:
        array = np.frombuffer(bytes(bytearray(model.file.buffers[tensor.buffer].data)), graph.kind(value))
        if array.size != math.prod(int(dim) for dim in graph.shape(value)):
            return False  # an earlier mutation has changed the tensor's type or shape
        made = graph.constant(np.broadcast_to(array.reshape(graph.shape(value)), shape).copy())
        graph.graph.tensors[made].quantization = tensor.quantization
        graph.graph.operators[at].inputs[place] = made
    else:
        _inserted(graph, at, place, "BROADCAST_TO", [value, graph.constant([int(dim) for dim in shape])], shape)
    return True


def there_and_back(model: TfliteDraft, rng: random.Random) -> bool:
    """Add a leading axis of size 1 to an operand and remove the axis again, by two RESHAPEs.

    Return whether the model was changed.
    """
    found = [
        (graph, at, place)
        for graph, at, place in _places(model)
        if not graph.graph.tensors[graph.graph.operators[at].inputs[place]].buffer
        and not graph.graph.tensors[graph.graph.operators[at].inputs[place]].isVariable
    ]
    if not found:
        return False
    graph, at, place = rng.choice(found)
    value = graph.graph.operators[at].inputs[place]
    shape = graph.shape(value)
    if any(isinstance(dim, str) for dim in shape) or len(shape) > 4:
        return False
    _inserted(graph, at, place, "RESHAPE", [value, graph.constant([1, *shape])], (1, *shape))
    _inserted(
        graph, at + 1, place, "RESHAPE", [graph.graph.operators[at + 1].inputs[place], graph.constant([*shape])], shape
    )
    return True


def renamed(model: TfliteDraft, rng: random.Random) -> bool:
    """Rename the inner tensors of one subgraph.

    Return whether the model was changed.
    """
    graph = rng.choice(model.graphs)
    face = {*graph.graph.inputs, *graph.graph.outputs}
    for at, tensor in enumerate(graph.graph.tensors):
        if at not in face:
            tensor.name = b"r" + tensor.name
    return True


def shared(model: TfliteDraft, rng: random.Random) -> bool:
    """Store a constant a second time, and let one operand read the copy.

    Return whether the model was changed.
    """
    found = [
        (graph, at, place)
        for graph, at, place in _places(model)
        if graph.graph.tensors[graph.graph.operators[at].inputs[place]].buffer
    ]
    if not found:
        return False
    graph, at, place = rng.choice(found)
    tensor = graph.graph.tensors[graph.graph.operators[at].inputs[place]]
    if tensor.sparsity is not None:
        return False
    made = graph.tensor(
        graph.kind(graph.graph.operators[at].inputs[place]),
        tuple(tensor.shape),
        None,
        bytes(bytearray(model.file.buffers[tensor.buffer].data)),
    )
    graph.graph.tensors[made].quantization = tensor.quantization
    graph.graph.operators[at].inputs[place] = made
    return True


def operand(model: TfliteDraft, rng: random.Random) -> bool:
    """Let an operand read another tensor of the same type, or exchange the first two operands.

    Return whether the model was changed.
    """
    graph, at, place = rng.choice(_places(model))
    inputs = graph.graph.operators[at].inputs
    if len(inputs) > 1 and rng.random() < 0.5:
        inputs[0], inputs[1] = inputs[1], inputs[0]
        return True
    others = [
        other
        for other in range(len(graph.graph.tensors))
        if graph.kind(other) == graph.kind(inputs[place])
        and other not in [one for late in graph.graph.operators[at:] for one in late.outputs]
    ]
    inputs[place] = rng.choice(others)
    return True


def constant(model: TfliteDraft, rng: random.Random) -> bool:
    """Change a byte of a constant's data, or its shape.

    Return whether the model was changed.
    """
    tensors = [tensor for graph in model.graphs for tensor in graph.graph.tensors if tensor.buffer]
    if not tensors:
        return False
    tensor = rng.choice(tensors)
    if rng.random() < 0.3:
        tensor.shape = rng.choice([[1, *tensor.shape], [*tensor.shape, 1], [*tensor.shape][::-1]])
        return True
    data = bytearray(model.file.buffers[tensor.buffer].data)
    if data:
        data[rng.randrange(len(data))] ^= rng.choice([1, 128])
    made = schema.BufferT()
    made.data = np.frombuffer(bytes(data), np.uint8)
    model.file.buffers.append(made)
    tensor.buffer = len(model.file.buffers) - 1
    return True


def operator(model: TfliteDraft, rng: random.Random) -> bool:
    """Replace an operator by a similar operator with default options.

    Return whether the model was changed.
    """
    found = [
        (graph, at)
        for graph in model.graphs
        for at, operator in enumerate(graph.graph.operators)
        if model.name(operator) in OTHERS
    ]
    if not found:
        return False
    graph, at = rng.choice(found)
    held = graph.graph.operators[at]
    graph.graph.operators[at] = model.operator(OTHERS[model.name(held)], held.inputs, held.outputs, graph)
    return True


def option(model: TfliteDraft, rng: random.Random) -> bool:
    """Change a field of an operator's options.

    Return whether the model was changed.
    """
    found = [
        (operator.builtinOptions, name)
        for graph in model.graphs
        for operator in graph.graph.operators
        if operator.builtinOptions is not None
        for name, value in vars(operator.builtinOptions).items()
        if isinstance(value, (int, float, bool))
    ]
    if not found:
        return False
    options, name = rng.choice(found)
    value = getattr(options, name)
    setattr(options, name, not value if isinstance(value, bool) else value + 1)
    return True


def declaration(model: TfliteDraft, rng: random.Random) -> bool:
    """Change the type, the shape, the shape signature, the scale, `isVariable` or `hasRank` of a tensor.

    Return whether the model was changed.
    """
    graph = rng.choice(model.graphs)
    tensor = rng.choice(graph.graph.tensors)
    action = rng.choice(["type", "size", "signature", "scale", "variable", "rank"])
    if action == "type":
        tensor.type = rng.choice([0, 2, 4, 9])
    elif action == "size" and len(tensor.shape):
        tensor.shape[rng.randrange(len(tensor.shape))] = rng.choice([1, 2, 4])
    elif action == "signature":
        tensor.shapeSignature = rng.choice([None, [-1] * len(tensor.shape), list(tensor.shape)])
    elif action == "scale" and tensor.quantization is not None:
        tensor.quantization.scale = [tensor.quantization.scale[0] * 2]
    elif action == "variable":
        tensor.isVariable = not tensor.isVariable
    else:
        tensor.hasRank = not tensor.hasRank
    return True


def dropped(model: TfliteDraft, rng: random.Random) -> bool:
    """Let all readers of an operator's first result read the operator's first operand instead.

    Return whether the model was changed.
    """
    graph, at, _ = rng.choice(_places(model))
    operator = graph.graph.operators[at]
    if not operator.outputs or not operator.inputs:
        return False
    for late in graph.graph.operators:
        late.inputs = [operator.inputs[0] if one == operator.outputs[0] else one for one in late.inputs]
    return True


def body(model: TfliteDraft, rng: random.Random) -> bool:
    """Let a subgraph return a random tensor of the same type in place of one of its outputs.

    Return whether the model was changed.
    """
    graph = rng.choice(model.graphs)
    if not graph.graph.outputs:
        return False
    at = rng.randrange(len(graph.graph.outputs))
    others = [one for one in range(len(graph.graph.tensors)) if graph.kind(one) == graph.kind(graph.graph.outputs[at])]
    graph.graph.outputs[at] = rng.choice(others)
    return True


def moved(model: TfliteDraft, rng: random.Random) -> bool:
    """Exchange two neighbors in the order of execution.

    Return whether the model was changed.
    """
    graph = rng.choice(model.graphs)
    operators = graph.graph.operators
    if len(operators) < 2:
        return False
    at = rng.randrange(len(operators) - 1)
    operators[at], operators[at + 1] = operators[at + 1], operators[at]
    return True


def stretched_wrongly(model: TfliteDraft, rng: random.Random) -> bool:
    """Insert a BROADCAST_TO, RESHAPE or TILE before an operand, mostly with a wrong shape.

    Return whether the model was changed.
    """
    graph, at, place = rng.choice(_places(model))
    value = graph.graph.operators[at].inputs[place]
    shape = [int(dim) if isinstance(dim, int) else 1 for dim in graph.shape(value)]
    if not shape:
        return False
    kind = rng.choice(["BROADCAST_TO", "RESHAPE", "TILE"])
    target = (
        rng.choice([[1, *shape], [*shape, 1], shape[::-1], shape])
        if kind != "TILE"
        else [rng.choice([1, 2]) for _ in shape]
    )
    _inserted(
        graph,
        at,
        place,
        kind,
        [value, graph.constant(target)],
        tuple(target) if kind != "TILE" else tuple(np.array(target) * shape),
    )
    return True


EQUAL = (lifted, lifted, stretched, stretched, there_and_back, there_and_back, renamed, shared)
UNEQUAL = (
    operand,
    operand,
    constant,
    constant,
    operator,
    option,
    declaration,
    declaration,
    dropped,
    body,
    moved,
    stretched_wrongly,
)


def pair(seed: int, family: str) -> Pair:
    """Return the pair of this seed and family; the same arguments return the same pair.

    The second file is the first file with up to three mutations.
    """
    rng = random.Random(f"{family} {seed}")  # noqa: S311 - not for secrets
    model = drafted(rng, family)
    before, feeds = model.packed(), model.feeds()
    after = model.twin()
    equal = rng.random() < EQUALS
    changes: list[str] = []
    wanted = rng.randint(1, 3)
    for _ in range(12):
        wrong = not equal and (not changes or rng.random() < 0.2)
        change = rng.choice(UNEQUAL if wrong else EQUAL)
        if change(after, rng):
            changes.append(change.__name__)
        if len(changes) == wanted:
            break
    options = {"signature": model.signature} if model.signature and rng.random() < 0.5 else {}
    return Pair(seed, family, before, after.packed(), equal, tuple(changes), feeds, options)


__all__ = ["FAMILIES", "pair"]
