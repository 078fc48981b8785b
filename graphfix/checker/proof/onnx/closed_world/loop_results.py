"""The sizes that onnxruntime infers for a loop's results when it loads a file, and results that it returns uncopied.

A Loop without iterations returns stacks of the sizes that its body declares, with 0 for any undeclared size. For a
Scan, onnxruntime needs the rank of each result. onnxruntime infers sizes that the body does not declare, but fewer than
the proof's rules: for example, it infers no number for a size that a Cast converts.

onnxruntime does not copy an output of a body that no node computes. A Loop that stacks its iteration number therefore
returns [3, 3, 3] instead of [0, 1, 2], because it counts in that buffer. A Scan whose body returns a slice or a state
returns uninitialized memory. A node between the input and the output, such as Identity, makes a copy. The other inputs
of a Loop are copied.
"""

from __future__ import annotations

from operator import and_
from typing import TYPE_CHECKING

from onnx import GraphProto

from graphfix.checker.files.onnx.graphs import bodies
from graphfix.checker.proof.core.sizes import Symbol, result_sizes
from graphfix.checker.proof.onnx.reading.operands import domain_of
from graphfix.checker.proof.onnx.reading.types import is_free, is_uninferred

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import FunctionProto, NodeProto, ValueInfoProto

    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.core.terms import Core, ProofValue
    from graphfix.checker.proof.onnx.closed_world.model_parts import FunctionKey
    from graphfix.checker.proof.onnx.closed_world.new_nodes import ClosedWorld
    from graphfix.checker.proof.onnx.reading.operands import Call

INFERRED = (
    "runtimes infer as much as before of the sizes of what goes into a Loop or Scan that does not declare its own"
)
"""An assumption if a body does not declare a size that a Loop without iterations returns, or a rank that a Scan needs.
"""
_TARGETS = {"Reshape": 1, "Expand": 1, "Squeeze": 1, "Unsqueeze": 1, "Tile": 1, "ConstantOfShape": 0}
"""Operators with a result whose rank depends on the elements or length of an operand, and the index of that operand."""
_SEEN = frozenset({"Constant", "Shape"})
"""Operators for which every runtime infers the length of the result."""


def inference_basis(
    call: Call,
    body: GraphProto,
    output: ValueInfoProto,
    sizes: Sizes | None,
    functions: Mapping[FunctionKey, FunctionProto],
) -> object:
    """Return everything on which the inferred size of a body's output depends; None if the body declares enough.

    Equal results in both files mean that a runtime infers equal sizes. Unless the body declares the exact shape, the
    assumption INFERRED is recorded. `sizes` is the output's shape in the proof, and `functions` are the functions of
    the file.
    """
    loop = call.op == "Loop"
    if _is_declared(output, sizes, numbers=loop):
        return None
    call.table.assumptions[INFERRED] = None
    if _is_declared(output, sizes, numbers=loop, may_be_undeclared=is_uninferred) or (not loop and _shows_ranks(body)):
        return None
    numbers = _numbers(output, sizes) if loop else None
    return numbers or (call.version, as_written(body), _called(body, functions))


def _numbers(output: ValueInfoProto, sizes: Sizes | None) -> tuple[int, ...] | None:
    """Return the declared sizes if every size is declared and no size is known to be another number; None otherwise."""
    dims = output.type.tensor_type.shape.dim
    if sizes is None or len(dims) != len(sizes) or not all(dim.HasField("dim_value") for dim in dims):
        return None
    pairs = zip(dims, result_sizes(sizes), strict=True)
    agrees = all(not isinstance(size, int) or size == dim.dim_value for dim, size in pairs)
    return tuple(dim.dim_value for dim in dims) if agrees else None


def _is_declared(
    output: ValueInfoProto, sizes: Sizes | None, *, numbers: bool, may_be_undeclared: Callable[[object], bool] = is_free
) -> bool:
    """Return whether the output's rank and all its declared sizes are known to be right.

    If `numbers`, each undeclared size must be one for which `may_be_undeclared` returns True, because no runtime infers
    a number for it. Otherwise any size may be undeclared.
    """
    tensor = output.type.tensor_type
    if sizes is None or not tensor.HasField("shape") or len(tensor.shape.dim) != len(sizes):
        return False
    return all(
        dim.dim_value == size if dim.HasField("dim_value") else not numbers or may_be_undeclared(size)
        for dim, size in zip(tensor.shape.dim, result_sizes(sizes), strict=True)
    )


def _shows_ranks(body: GraphProto) -> bool:
    """Return whether all targets and axes in a body are constants, results of Shape, or values from outside the body.

    A runtime that infers the ranks of other operators then also infers those of Reshape, Expand, Squeeze, Unsqueeze,
    Tile and ConstantOfShape. A body that contains a body, or an operator outside the standard set, returns False.
    """
    hidden = {name for node in body.node if node.op_type not in _SEEN for name in node.output}
    return not any(_hides_rank(node, hidden) for node in body.node)


def _hides_rank(node: NodeProto, hidden: set[str]) -> bool:
    """Return whether a runtime may fail to infer the rank of a node's results.

    `hidden` are the results that a runtime can't evaluate before the run.
    """
    if domain_of(node.domain) or any(bodies([node])):
        return True
    at = _TARGETS.get(node.op_type)
    if at is None:
        return False
    stated = any(attribute.name in ("axes", "shape") for attribute in node.attribute)
    return not stated and (len(node.input) <= at or node.input[at] in hidden or not node.input[at])


def _called(body: GraphProto, functions: Mapping[FunctionKey, FunctionProto]) -> frozenset[bytes]:
    """Return the serialized functions that a body calls, directly or indirectly.

    Runtimes infer shapes through functions.
    """
    found: dict[FunctionKey, bytes] = {}
    left: list[NodeProto] = [*body.node]
    while left and functions:
        node = left.pop()
        left += [each for inner in bodies([node]) for each in inner.node]
        key = domain_of(node.domain), node.op_type, node.overload
        function = functions.get(key)
        if function is not None and key not in found:
            found[key] = function.SerializeToString(deterministic=True)
            left += function.node
    return frozenset(found.values())


def as_written(graph: GraphProto) -> bytes:
    """Return a graph, serialized without the names of nodes and values, on which shape inference does not depend."""
    bare = GraphProto()
    bare.CopyFrom(graph)
    _rename(bare, {"": ""})
    return bytes(bare.SerializeToString(deterministic=True))


def _rename(graph: GraphProto, numbers: dict[str, str]) -> None:
    """Rename the values of a graph to numbers in the order of appearance, in place.

    Drop names of nodes and descriptions.
    """

    def number(name: str) -> str:
        return numbers.setdefault(name, str(len(numbers)))

    for node in graph.node:
        node.ClearField("name")
        node.input[:], node.output[:] = map(number, node.input), map(number, node.output)
        for body in bodies([node]):
            _rename(body, numbers)
    for renamed in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
        renamed.name = number(renamed.name)
    for sparse in graph.sparse_initializer:
        sparse.values.name = number(sparse.values.name)
    for described in (graph, *graph.input, *graph.output, *graph.value_info, *graph.node):
        for field in ("doc_string", "metadata_props"):
            described.ClearField(field)
    graph.ClearField("name")


# --- sizes for which runtimes infer no number ------------------------------------------------------------------------


def mark_stacks(outputs: Sequence[ValueInfoProto], given: Sequence[ProofValue], results: Sequence[ProofValue]) -> None:
    """Mark the uninferred sizes of a Loop's scan outputs: the number of iterations, and sizes not inferred in the body.

    `outputs` are the body's declarations, `given` the body's values, and `results` the Loop's results.
    """
    for output, inside, result in zip(outputs, given, results, strict=False):
        free = [is_uninferred(size) for size in inside.sizes or ()]
        mark_uninferred(result.core, [True, *map(and_, free, undeclared(output, len(free)))])


def mark_uninferred(core: Core, axes: Sequence[bool]) -> None:
    """Mark the sizes of these axes as sizes for which runtimes infer no number.

    Only symbols that were created for an unknown size of this core are marked.
    """
    for size, is_marked in zip(core.sizes or (), axes, strict=False):
        if is_marked and isinstance(size, Symbol) and size.key[:2] == ("dim", core.number):
            size.is_uninferred = True


def undeclared(value: ValueInfoProto, rank: int) -> list[bool]:
    """Return for each axis of a body's input or output whether the body declares no number for the size."""
    dims = [not dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim]
    return [*dims, *[True] * (rank - len(dims))][:rank]


_ITERATION = 0
"""The index of the input of a Loop's body that counts the iterations."""


def enter_uncopied(world: ClosedWorld, loop: tuple[object, ...], body: GraphProto, description: str) -> None:
    """Record each output of a body that onnxruntime does not copy.

    For a Loop, the second file may have such an output if the first file has it, because both return the same wrong
    numbers. For a Scan, the result depends on the memory, so no second file may have it. `loop` is the term of the Loop
    or Scan, which is equal for equal loops of both files.
    """
    inputs = {info.name: at for at, info in enumerate(body.input)}
    for at, output in enumerate(body.output):
        source = inputs.get(output.name)
        is_scan = loop[0] == "scan"
        if source is not None and (is_scan or source == _ITERATION):
            why = f"the body of {description} of the second file returns {output.name!r} without a node that copies it"
            if is_scan:
                world.refuse(why)
            else:
                world.require_in_first(("uncopied", loop, at, source), why)
