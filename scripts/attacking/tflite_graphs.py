"""Build a random TFLite model of a family.

Each public function from `binary` to `units` appends operators to a subgraph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import ai_edge_litert.schema_py_generated as schema
import numpy as np

from attacking.onnx_draft import meet
from attacking.tflite_draft import Scale, Subgraph, TfliteDraft

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from attacking.pair import Shape

BINARY = ("ADD", "MUL", "SUB", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE")
UNARY = ("RELU", "NEG", "ABS", "TANH", "EXP", "FLOOR", "LOGISTIC", "RELU6")
SCALES = (Scale(0.1, 3), Scale(0.25, 0), Scale(0.1, 3))


def numbers(rng: random.Random, shape: Sequence[int], kind: str = "float32") -> np.ndarray:
    """Return an array of random numbers around 0; integers are mostly between -60 and 60."""
    made = np.random.default_rng(rng.getrandbits(32)).normal(size=tuple(shape))
    return (made if kind == "float32" else made * 20).astype(kind)


def values(graph: Subgraph, kind: str, rank: int | None = None) -> list[int]:
    """Return the indices of the inputs and results that have this type, and this rank unless `rank` is None."""
    made = {at for operator in graph.graph.operators for at in operator.outputs} | set(graph.graph.inputs)
    return sorted(at for at in made if graph.kind(at) == kind and (rank is None or len(graph.shape(at)) == rank))


def _some(graph: Subgraph, kind: str, rank: int | None = None) -> int:
    """Return a random tensor of this type and rank, or sometimes a new input.

    A body gets no new input, so a tensor of any rank may be returned there.
    """
    rng = graph.model.rng
    found = values(graph, kind, rank)
    if found and rng.random() < 0.9:
        return found[-1] if rng.random() < 0.5 else rng.choice(found)
    if graph is not graph.model.main:
        return rng.choice(values(graph, kind))
    dims = rng.choice([(1, 2, 3), (1, 2, 3), ("N", 2, 3)])
    shape = tuple(rng.choice(dims) for _ in range(rank or rng.randint(1, 4)))
    return graph.input(kind, shape, rng.choice(SCALES) if kind in ("int8", "uint8") else None)


def _partner(graph: Subgraph, value: int) -> int:
    """Return a second operand for an operator that reads `value`, of the same type.

    The operand is another tensor that certainly broadcasts with `value`, or a new constant.
    """
    rng, kind, shape = graph.model.rng, graph.kind(value), graph.shape(value)
    fitting = [at for at in values(graph, kind) if meet(shape, graph.shape(at)) is not None]
    if fitting and rng.random() < 0.6:
        return rng.choice(fitting)
    tail = [dim if isinstance(dim, int) and rng.random() < 0.7 else 1 for dim in shape][rng.randint(0, len(shape)) :]
    return graph.constant(numbers(rng, tail, kind), rng.choice(SCALES) if kind in ("int8", "uint8") else None)


def binary(graph: Subgraph, kind: str = "float32") -> None:
    """Append an operator that broadcasts two tensors of the type `kind`, sometimes with a fused activation.

    Nothing is appended for an 8-bit MAXIMUM.
    """
    rng = graph.model.rng
    value = _some(graph, kind)
    other = _partner(graph, value)
    operator = rng.choice(BINARY if kind == "float32" else ("ADD", "MUL", "SUB", "MAXIMUM"))
    fields = (
        {"fusedActivationFunction": rng.choice([0, 0, 1, 3])}
        if operator in ("ADD", "MUL", "SUB", "DIV") and kind not in ("int32", "int64")
        else {}
    )
    if kind in ("int8", "uint8") and operator == "MAXIMUM":
        return
    operands = [value, other] if rng.random() < 0.5 else [other, value]
    graph.like(operator, operands, meet(graph.shape(value), graph.shape(other)), **fields)


def unary(graph: Subgraph, kind: str = "float32") -> None:
    """Append an elementwise operator of one operand."""
    operator = graph.model.rng.choice(UNARY if kind == "float32" else ("RELU",))
    graph.like(operator, [_some(graph, kind)])


def moves(graph: Subgraph, kind: str = "float32") -> None:
    """Append an operator that moves or reduces axes, if the operand's shape allows the operator.

    The operator is a TRANSPOSE, EXPAND_DIMS, CONCATENATION, RESHAPE, SUM, MEAN or GATHER.
    """
    rng = graph.model.rng
    value = _some(graph, kind)
    shape = graph.shape(value)
    operator = rng.choice(["TRANSPOSE", "EXPAND_DIMS", "CONCATENATION", "RESHAPE", "SUM", "GATHER"])
    if operator == "TRANSPOSE" and shape:
        order = list(range(len(shape)))
        rng.shuffle(order)
        graph.like(operator, [value, graph.constant(order)], tuple(shape[axis] for axis in order))
    elif operator == "EXPAND_DIMS" and len(shape) < 4:
        axis = rng.randint(0, len(shape))
        graph.like(operator, [value, graph.constant(np.array(axis, np.int32))], (*shape[:axis], 1, *shape[axis:]))
    elif operator == "CONCATENATION" and shape and isinstance(shape[-1], int):
        graph.like(operator, [value, value], (*shape[:-1], 2 * shape[-1]), axis=len(shape) - 1)
    elif operator == "RESHAPE" and all(isinstance(dim, int) for dim in shape) and len(shape) < 4:
        graph.like(operator, [value, graph.constant([1, *shape])], (1, *shape))
    elif operator == "SUM" and shape and kind == "float32":
        graph.like(rng.choice(["SUM", "MEAN"]), [value, graph.constant([len(shape) - 1])], shape[:-1], keepDims=False)
    elif operator == "GATHER" and shape and isinstance(shape[0], int) and kind != "uint8":
        graph.like(operator, [value, graph.constant([0, shape[0] - 1])], (2, *shape[1:]), axis=0)


def choice(graph: Subgraph) -> None:
    """Append a LESS, and a SELECT_V2 that selects by its result."""
    value = _some(graph, "float32")
    other = _partner(graph, value)
    shape = meet(graph.shape(value), graph.shape(other))
    condition = graph.like("LESS", [value, other], shape, "bool")
    graph.like("SELECT_V2", [condition, value, other], shape, "float32")


def prelu(graph: Subgraph) -> None:
    """Append a PRELU of floats or of quantized numbers, whose slope broadcasts."""
    kind = graph.model.rng.choice(["float32", "float32", "int8", "int16"])
    if kind != "float32":
        scale = Scale(0.1, 0)
        value = graph.input(kind, graph.model.rng.choice([(1, 4), (1, 2, 2, 3)]), scale)
        shape = graph.shape(value)
        slope = graph.model.rng.choice([(1,) * len(shape), shape[-1:], shape])
        graph.like("PRELU", [value, graph.constant(numbers(graph.model.rng, slope, kind), scale)])
        return
    value = _some(graph, "float32", 4)
    shape = graph.shape(value)
    slope = graph.model.rng.choice([shape[1:], shape[-1:], (1, 1, shape[-1])])
    graph.like(
        "PRELU",
        [value, graph.constant(numbers(graph.model.rng, [dim if isinstance(dim, int) else 1 for dim in slope]))],
    )


def layers(graph: Subgraph) -> None:
    """Append a FULLY_CONNECTED, a SOFTMAX or a BATCH_MATMUL."""
    rng = graph.model.rng
    value = _some(graph, "float32", 2)
    last = graph.shape(value)[-1]
    operator = rng.choice(["FULLY_CONNECTED", "SOFTMAX", "BATCH_MATMUL"])
    if operator == "SOFTMAX":
        graph.like(operator, [value], beta=rng.choice([1.0, 0.5]))
    elif isinstance(last, int):
        weights = graph.constant(numbers(rng, (2, last) if operator == "FULLY_CONNECTED" else (last, 2)))
        more = [graph.constant(numbers(rng, (2,)))] if operator == "FULLY_CONNECTED" else []
        graph.like(operator, [value, weights, *more], (*graph.shape(value)[:-1], 2))


def sequence(graph: Subgraph) -> None:
    """Append a UNIDIRECTIONAL_SEQUENCE_LSTM with constant weights."""
    rng = graph.model.rng
    major = rng.random() < 0.5
    shape: Shape = (2, 1, 3) if major else (1, 2, 3)
    value = graph.input("float32", shape)
    weights = [graph.constant(numbers(rng, (2, 3))) for _ in range(4)] + [
        graph.constant(numbers(rng, (2, 2))) for _ in range(4)
    ]
    biases = [graph.constant(numbers(rng, (2,))) for _ in range(4)]
    states = [graph.tensor("float32", (1, 2)) for _ in range(2)]
    for at in states:
        graph.graph.tensors[at].isVariable = True
    operands = [value, *weights, -1, -1, -1, *biases, -1, -1, *states, -1, -1, -1, -1]
    graph.like(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        operands,
        (*shape[:2], 2),
        fusedActivationFunction=4,
        timeMajor=major,
        cellClip=rng.choice([0.0, 1.0]),
        projClip=0.0,
    )


def condition(graph: Subgraph) -> None:
    """Append an IF whose condition is an input or a constant."""
    model, rng = graph.model, graph.model.rng
    value = _some(graph, "float32")
    flag = graph.input("bool", ()) if rng.random() < 0.6 else graph.constant(np.array(rng.random() < 0.5))
    for name in ("then", "else"):
        body = model.subgraph(name)
        inside = body.input("float32", graph.shape(value))
        body.graph.outputs.append(_few(body, inside))
    numbers_ = len(model.file.subgraphs)
    graph.like(
        "IF",
        [flag, value],
        graph.shape(value),
        "float32",
        thenSubgraphIndex=numbers_ - 2,
        elseSubgraphIndex=numbers_ - 1,
    )


def _few(body: Subgraph, value: int) -> int:
    """Append an ADD or MUL of `value` with a constant to a body, sometimes also a TANH, and return the result."""
    rng = body.model.rng
    other = body.constant(numbers(rng, [dim if isinstance(dim, int) else 1 for dim in body.shape(value)[-1:]]))
    made = body.like(rng.choice(["ADD", "MUL"]), [value, other])
    return body.like("TANH", [made]) if rng.random() < 0.5 else made


def loop(graph: Subgraph) -> None:
    """Append a WHILE that counts from 0 to a small number."""
    model, rng = graph.model, graph.model.rng
    value = _some(graph, "float32")
    shape = graph.shape(value)
    test, body = model.subgraph("cond"), model.subgraph("body")
    count = test.input("int32", ())
    test.input("float32", shape)
    test.graph.outputs.append(
        test.like("LESS", [count, test.constant(np.array(rng.choice([0, 2, 3]), np.int32))], (), "bool")
    )
    count, inside = body.input("int32", ()), body.input("float32", shape)
    body.graph.outputs += [
        body.like("ADD", [count, body.constant(np.array(1, np.int32))]),
        _few(body, inside) if rng.random() < 0.8 else inside,
    ]
    start = graph.constant(np.array(0, np.int32))
    at = len(model.file.subgraphs)
    results = [graph.tensor("int32", ()), graph.tensor("float32", shape)]
    graph.node("WHILE", [start, value], results, condSubgraphIndex=at - 2, bodySubgraphIndex=at - 1)


def variable(graph: Subgraph) -> None:
    """Append a CALL_ONCE that initializes a variable, and operators that read and change the variable."""
    model = graph.model
    start = model.subgraph("init")
    name = f"var{len(model.file.subgraphs)}"
    handle = start.tensor("resource", ())
    start.node("VAR_HANDLE", [], [handle], container="", sharedName=name)
    start.node("ASSIGN_VARIABLE", [handle, start.constant(numbers(model.rng, (3,)))], [])
    graph.node("CALL_ONCE", [], [], initSubgraphIndex=len(model.file.subgraphs) - 1)
    resource = graph.tensor("resource", ())
    graph.node("VAR_HANDLE", [], [resource], container="", sharedName=name)
    read = graph.tensor("float32", (3,))
    graph.node("READ_VARIABLE", [resource], [read])
    added = graph.like("ADD", [read, graph.constant(numbers(model.rng, (model.rng.choice([1, 3]),)))], (3,))
    graph.node("ASSIGN_VARIABLE", [resource, added], [])


def sparse(graph: Subgraph) -> None:
    """Append a DENSIFY of a sparse constant matrix, and an ADD or MUL that reads its result."""
    rng = graph.model.rng
    at = graph.tensor("float32", (2, 3), None, numbers(rng, (3,)).tobytes())
    sparsity = schema.SparsityParametersT()
    dense, packed = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    dense.format, dense.denseSize = 0, 2
    packed.format = 1
    packed.arraySegmentsType = packed.arrayIndicesType = schema.SparseIndexVector.Int32Vector
    packed.arraySegments, packed.arrayIndices = schema.Int32VectorT(), schema.Int32VectorT()
    packed.arraySegments.values, packed.arrayIndices.values = [0, 2, 3], rng.choice([[0, 2, 1], [1, 2, 0], [0, 1, 2]])
    sparsity.traversalOrder, sparsity.dimMetadata = [0, 1], [dense, packed]
    graph.graph.tensors[at].sparsity = sparsity
    weights = graph.like("DENSIFY", [at], (2, 3))
    value = graph.input("float32", (rng.choice([1, 2]), 3))
    graph.like(rng.choice(["ADD", "MUL"]), [value, weights], meet(graph.shape(value), (2, 3)))


def narrow(graph: Subgraph) -> None:
    """Append an operator on int8 or uint8 tensors, or sometimes nothing."""
    kind = graph.model.rng.choice(["int8", "uint8"])
    graph.model.rng.choice([binary, binary, moves])(graph, kind)


def add_everything(graph: Subgraph) -> None:
    """Append a broadcasting operator of int32 or int64."""
    binary(graph, graph.model.rng.choice(["int32", "int64"]))


def units(graph: Subgraph) -> None:
    """Append an ADD, MUL or SUB with a constant of one element, which may have one axis more than the other operand."""
    rng = graph.model.rng
    kind = rng.choice(["float32", "int8", "uint8", "int32"])
    value = _some(graph, kind)
    shape = graph.shape(value)
    one = (1,) * rng.randint(0, min(len(shape) + 1, 5))
    other = graph.constant(numbers(rng, one, kind), rng.choice(SCALES) if "int8" in kind else None)
    graph.like(
        rng.choice(["ADD", "MUL", "SUB"]),
        [value, other],
        meet(shape, one),
        fusedActivationFunction=rng.choice([0, 1]) if kind != "int32" else 0,
    )


PLAIN = (unary, binary, binary, moves)
FAMILIES: dict[str, tuple[Callable[[Subgraph], None], ...]] = {
    "tflite-float": (choice, layers, binary),
    "tflite-prelu": (prelu, binary),
    "tflite-lstm": (sequence, binary),
    "tflite-bodies": (condition, loop),
    "tflite-variables": (variable, binary),
    "tflite-sparse": (sparse, binary),
    "tflite-8bit": (narrow, narrow, narrow),
    "tflite-units": (units, units, narrow),
    "tflite-integers": (add_everything, choice),
    "tflite-signatures": (choice, binary, layers),
}


def drafted(rng: random.Random, family: str) -> TfliteDraft:
    """Return a random model of a family, of about 5 to 20 operators.

    The outputs are all results that no operator of the main subgraph reads.
    """
    model = TfliteDraft(rng)
    count = rng.choice([5, 8, 12, 20])
    for turn in range(3 * count):
        rng.choice(FAMILIES[family] if rng.random() < 0.5 or turn == 0 else PLAIN)(model.main)
        if len(model.main.graph.operators) >= count:
            break
    main = model.main.graph
    read = {at for operator in main.operators for at in operator.inputs}
    main.outputs = [
        at
        for operator in main.operators
        for at in operator.outputs
        if at not in read and model.main.kind(at) != "resource"
    ]
    if family == "tflite-signatures":
        _sign(model)
    return model


def _sign(model: TfliteDraft) -> None:
    """Add the signature `serve`, with a name for each input and output of the main subgraph."""
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex = b"serve", 0
    signature.inputs = [_named(f"in{at}", at) for at in model.main.graph.inputs]
    signature.outputs = [_named(f"out{at}", at) for at in model.main.graph.outputs]
    model.file.signatureDefs = [signature]
    model.signature = "serve"


def _named(name: str, at: int) -> object:
    """Return the schema's record of a signature: a name for the tensor with index `at`."""
    made = schema.TensorMapT()
    made.name, made.tensorIndex = name.encode(), at
    return made
