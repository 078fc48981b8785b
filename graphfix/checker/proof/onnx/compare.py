"""Compare two ONNX models: first their inputs and outputs, then the terms of their outputs."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from onnx import TensorProto, TypeProto

from graphfix.checker.files.equal_sizes import NONE_EQUAL, EqualSizes, equal_sizes
from graphfix.checker.files.onnx.file import Source
from graphfix.checker.files.onnx.graphs import bodies, every_graph, every_node
from graphfix.checker.proof.core.result import Proof, UnprovedError
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import Core, ProofValue, TermTable, value_of
from graphfix.checker.proof.neutral.compare import (
    assumed_ranges,
    binding_options,
    check_declared_input,
    check_declared_output,
    check_effects,
    check_size,
    conclusion,
    refuse_unknown,
)
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.onnx.closed_world import load_inference
from graphfix.checker.proof.onnx.closed_world.declared import element_type
from graphfix.checker.proof.onnx.closed_world.external_operands import moved_operand
from graphfix.checker.proof.onnx.closed_world.model_parts import key_of, unlisted
from graphfix.checker.proof.onnx.closed_world.names import INLINED, shared_function_name
from graphfix.checker.proof.onnx.closed_world.new_nodes import ClosedWorld
from graphfix.checker.proof.onnx.closed_world.validate import imported
from graphfix.checker.proof.onnx.reading import unrolled_loops
from graphfix.checker.proof.onnx.reading.constants import FileConstants
from graphfix.checker.proof.onnx.reading.inputs import FreeSizes, constant_inputs, constant_of, declared_dims, is_named
from graphfix.checker.proof.onnx.reading.operands import Environment
from graphfix.checker.proof.onnx.reading.reader import Reading
from graphfix.checker.proof.onnx.reading.stored_sizes import StoredSizes
from graphfix.results.claims import assumptions, equal_dims

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence
    from contextlib import ExitStack

    from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

    from graphfix.checker.files.pair import Pair
    from graphfix.checker.files.set_values import Array
    from graphfix.checker.proof.core.sizes import Size
    from graphfix.checker.proof.neutral.explain import Notes

INITIALIZERS_ALONE_SINCE = 4
"""From this IR version on, an initializer need not be an input, and a caller may override it only if it is one.

Before this version, every initializer must be an input too.
"""


def compared(pair: Pair, stack: ExitStack, notes: Notes | None = None, *, sorts: bool = False) -> Proof:
    """Return the proof for two ONNX files.

    Raises UnprovedError if the files differ in something that no node computes or can't be read completely. Raises
    GraphfixError if a file is not a model. Files stay open until `stack` is closed. `notes` collects notes about nodes,
    if the caller needs any. With `sorts`, the nodes are first sorted into the order of execution, in which most files
    already are. If only the second file is not in that order, UnprovedError is raised.
    """
    check_size(pair.before.stat().st_size, pair.after.stat().st_size)
    table = TermTable(Algebra())
    sources = tuple(Source(path, stack, pair.data_root) for path in (pair.before, pair.after))
    constants = Constants(table)
    one, two = sources[0].read({INLINED, *unrolled_loops.LOOPS}), sources[1].read({INLINED})
    if sorts and [_put_in_order(model.graph) for model in (one, two)] == [False, True]:
        raise UnprovedError("the nodes of the second file are not in the order of execution, those of the first are")
    narrowed = _narrowed(one, two) if pair.narrow_inputs else frozenset[str]()
    _interface(one, two, pair.values, narrowed)
    refuse_unknown(_input_dims(one), _input_dims(two), pair)
    load_inference.expect_questions(two)
    constant, sizes = constant_inputs(_inputs(one), _input_dims(one), pair)
    assumed, pair = _assumed(one.graph, pair.bindings), replace(pair, bindings={**pair.bindings, **sizes})
    equal = equal_sizes(pair, _input_dims(one))
    world = ClosedWorld()
    table.budget.allow(sum(1 for model in (one, two) for _ in every_node(model)))
    unrolled = not unrolled_loops.LOOPS.isdisjoint(sources[0].words) and unrolled_loops.may_contain_trips(one, two)
    first = Reading(table, FileConstants(sources[0], constants, world), one, notes=notes, unrolled=unrolled)
    environment = _environment(first, pair, equal, constant)
    if pair.trust_stored is not False:
        read, all_sizes = environment.values, pair.trust_stored is True
        environment.trusted_sizes = StoredSizes.of(one.graph, table.arithmetic, read, all_sizes=all_sizes)
    outputs = first.run(one.graph, environment)
    table.close()
    world.closed = True
    second = first.for_second_file(FileConstants(sources[1], constants, world), two)
    other = _environment(second, pair, equal, constant, narrowed)
    theirs = second.run(two.graph, other)
    for mine, shown, view in zip(one.graph.output, two.graph.output, theirs, strict=True):
        check_declared_output(table, mine.name, (declared_dims(mine), declared_dims(shown)), view.sizes)
    _defaults(first, second, pair.values)
    check_effects(first.effects, second.effects, "random or unknown operators")
    for source in sources:
        source.check()
    odd = [world.reason, world.size_names.unknown(), unlisted(one, two, (first.called, second.called))]
    odd += [moved_operand(one, two), shared_function_name(one, two), load_inference.objection(one, two, second)]
    table.objections += [reason for reason in odd if reason is not None]
    outcome = list(zip((output.name for output in one.graph.output), outputs, theirs, strict=True))
    believed = () if environment.trusted_sizes is None else tuple(environment.trusted_sizes.trusted)
    assumes = [*assumed, *table.assumptions, *assumptions(believed), *assumed_ranges(table.algebra)]
    proof = replace(conclusion(table, outcome, assumes), believed=believed)
    sites = tuple(first.definitions.sites)
    return replace(proof, status="bounded", inexact=sites) if proof.proved and sites else proof


def note_nodes(pair: Pair, stack: ExitStack, notes: Notes) -> TermTable:
    """Read the first file, add a note for each broadcasting node to `notes`, and return the table of terms.

    Raises UnprovedError and GraphfixError.
    """
    table, source = TermTable(Algebra()), Source(pair.before, stack)
    model = source.read({INLINED})
    reading = Reading(table, FileConstants(source, Constants(table)), model, notes=notes)
    reading.run(model.graph, _environment(reading, pair))
    return table


def _narrowed(one: ModelProto, two: ModelProto) -> frozenset[str]:
    """Return the names of inputs that are int64 in the first file and int32 in the second."""
    wide = {info.name for info in _inputs(one) if info.type.tensor_type.elem_type == TensorProto.INT64}
    narrow = {info.name for info in _inputs(two) if info.type.tensor_type.elem_type == TensorProto.INT32}
    return frozenset(wide & narrow)


def _interface(one: ModelProto, two: ModelProto, values: Collection[str], narrowed: frozenset[str]) -> None:
    """Raise UnprovedError unless the inputs and outputs of both files have equal names and types, in the same order.

    Inputs in `values`, which have a fixed value, may be missing in the second file. Inputs in `narrowed` are int64 in
    the first file and int32 in the second. The declared shapes of inputs must not contradict each other. Initializers,
    versions of operator sets and training graphs are checked too.
    """
    _check_initializers(one, two)
    _check_versions(one, two)
    for what, ours, theirs in (
        ("input", _without(_inputs(one), set(values) - {info.name for info in _inputs(two)}), _inputs(two)),
        ("output", one.graph.output, two.graph.output),
    ):
        names = [[info.name for info in infos] for infos in (ours, theirs)]
        if names[0] != names[1]:
            first, second = (", ".join(map(str, side)) or "none" for side in names)
            raise UnprovedError(f"the {what}s of the first file are {first}, of the second {second}")
        for mine, other in zip(ours, theirs, strict=True):
            if _kind(mine.type) != _kind(other.type) and not (what == "input" and mine.name in narrowed):
                raise UnprovedError(f"the {what} {mine.name!r} has another type")
            if what == "input":
                check_declared_input(mine.name, (declared_dims(mine), declared_dims(other)))
    if _training(one) != _training(two):
        raise UnprovedError("the models hold different training graphs")


def _check_versions(one: ModelProto, two: ModelProto) -> None:
    """Raise UnprovedError if the second file imports an older operator set, in which a node may mean less."""
    if _older(imported(one.opset_import), imported(two.opset_import)):
        raise UnprovedError("the second file is stated in an older operator set, in which a node may mean less")
    declared = {key_of(each): imported(each.opset_import) for each in one.functions}
    for each in two.functions:
        if _older(declared.get(key_of(each), {}), imported(each.opset_import)):
            raise UnprovedError(f"the second file states the function {each.name!r} in an older operator set")


def _older(ours: Mapping[str, int], theirs: Mapping[str, int]) -> bool:
    """Return whether an operator set has a lower version in `theirs` than in `ours`. A missing set is ignored."""
    return any(theirs.get(domain, version) < version for domain, version in ours.items())


def _inputs(model: ModelProto) -> list[ValueInfoProto]:
    """Return the inputs that a caller may set. Before IR version 4 these are the inputs that are not initializers."""
    initializer_names = (
        set() if model.ir_version >= INITIALIZERS_ALONE_SINCE else {each.name for each in model.graph.initializer}
    )
    return [info for info in model.graph.input if info.name not in initializer_names]


def _without(infos: Sequence[ValueInfoProto], names: Collection[str]) -> list[ValueInfoProto]:
    return [info for info in infos if info.name not in names]


def _input_dims(model: ModelProto) -> dict[str, tuple[int | str, ...] | None]:
    """Return the declared dims of the inputs, by name; None if no rank is declared.

    A free size is its symbol, or `NAME[AXIS]` if it has no symbol.
    """
    declared: dict[str, tuple[int | str, ...] | None] = {}
    for info in _inputs(model):
        kind, dims = info.type.tensor_type, list[int | str]()
        for axis, dim in enumerate(kind.shape.dim):
            symbol = dim.dim_param if is_named(dim.dim_param) else f"{info.name}[{axis}]"
            dims.append(dim.dim_value if dim.HasField("dim_value") and dim.dim_value >= 0 else symbol)
        declared[info.name] = tuple(dims) if kind.HasField("shape") else None
    return declared


def _check_initializers(before: ModelProto, model: ModelProto) -> None:
    """Raise UnprovedError if an initializer of `model` is not an input of its type and shape, before IR version 4.

    In bodies, initializers that the first file (`before`) has without an input are accepted too.
    """
    if model.ir_version >= INITIALIZERS_ALONE_SINCE:
        return
    inner_names = _inner(before) if before.ir_version < INITIALIZERS_ALONE_SINCE else set()
    for name in sorted(_inner(model) - inner_names):
        raise UnprovedError(f"the initializer {name!r} of a body is none of its inputs")
    declared = {info.name: info.type.tensor_type for info in model.graph.input}
    for tensor in model.graph.initializer:
        kind = declared.get(tensor.name)
        if kind is None or kind.elem_type != tensor.data_type:
            raise UnprovedError(f"the initializer {tensor.name!r} is no input of its type")
        dims = [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.shape.dim]
        if kind.HasField("shape") and any(a not in (None, b) for a, b in zip(dims, tensor.dims, strict=False)):
            raise UnprovedError(f"the initializer {tensor.name!r} is no input of its shape")


def _inner(model: ModelProto) -> set[str]:
    """Return the names of initializers of bodies that are not inputs of their body."""
    found: set[str] = set()
    for graph in islice(every_graph(model.graph), 1, None):
        found |= {tensor.name for tensor in graph.initializer} - {info.name for info in graph.input}
    return found


def _training(model: ModelProto) -> list[bytes]:
    return [info.SerializeToString(deterministic=True) for info in model.training_info]


def _kind(given: TypeProto) -> bytes:
    """Return a serialized type, without the shape of a tensor and without the denotation."""
    bare = TypeProto()
    bare.CopyFrom(given)
    bare.ClearField("denotation")
    if bare.HasField("tensor_type"):
        bare.tensor_type.ClearField("shape")
    return bytes(bare.SerializeToString(deterministic=True))


def _environment(
    reading: Reading,
    pair: Pair,
    equal: EqualSizes = NONE_EQUAL,
    constant: Mapping[str, Array] = MappingProxyType({}),
    narrowed: frozenset[str] = frozenset(),
) -> Environment:
    """Return an environment with the inputs of a file as values.

    `constant` are inputs with a fixed value, and `narrowed` are the inputs that are int32 in the second file only.
    Raises UnprovedError if the second file accepts fewer shapes than the first, or other shapes.
    """
    environment = Environment(imported(reading.model.opset_import))
    free = FreeSizes.of(reading.table.arithmetic, equal, pair, _inputs(reading.model))
    for info in _inputs(reading.model):
        if info.name in constant:
            tensor = constant_of(info, constant[info.name])
            environment.values[info.name] = reading.constants.constant(tensor, info.name)
            continue
        sizes = free.shape(info)
        core, new = reading.table.find_or_create_core(("input", info.name), f"input {info.name!r}", counted=False)
        if new:
            core.sizes = sizes
            core.dtype = element_type(info.type)
        elif not _alike(core.sizes, sizes):
            how = binding_options(info.name, core.sizes, sizes)
            raise UnprovedError(f"the input {info.name!r} takes other shapes{how}")
        if info.name in narrowed:
            core = _as_int32(reading.table, core, info.name)
        environment.values[info.name] = value_of(core)
    return environment


def _as_int32(table: TermTable, core: Core, name: str) -> Core:
    """Return the core of an int32 input of the second file for an int64 input of the first file.

    The proof assumes that both contain the same numbers.
    """
    narrow, _ = table.find_or_create_core(("narrow input", name), f"input {name!r}", counted=False)
    narrow.sizes, narrow.dtype = core.sizes, TensorProto.INT32
    table.int64_cores[narrow] = core
    table.assumptions[f"the input {name!r} holds whole numbers of 32 bits"] = None
    return narrow


def _alike(ours: tuple[Size, ...] | None, theirs: tuple[Size, ...] | None) -> bool:
    """Return whether two shapes of an input agree: the ranks are equal, and a number faces the same number.

    Two symbols always agree. Two unknown ranks agree.
    """
    if ours is None or theirs is None:
        return ours is theirs
    return len(ours) == len(theirs) and all(
        a == b or not (isinstance(a, int) or isinstance(b, int)) for a, b in zip(ours, theirs, strict=True)
    )


def _defaults(one: Reading, two: Reading, values: Collection[str]) -> None:
    """Raise UnprovedError if initializers that a caller may override differ, except those of the inputs in `values`."""
    ours, theirs = (_overridable(reading) for reading in (one, two))
    for name in {**ours, **theirs}:
        if name not in values and ours.get(name) != theirs.get(name):
            raise UnprovedError(f"the input {name!r} has another default value")


def _overridable(reading: Reading) -> dict[str, ProofValue]:
    """Return the initializers that are inputs too, by name, so a caller may override them."""
    inputs = {info.name for info in _inputs(reading.model)}
    overridable = [tensor for tensor in reading.model.graph.initializer if tensor.name in inputs]
    sparse = [tensor for tensor in reading.model.graph.sparse_initializer if tensor.values.name in inputs]
    return {
        **{tensor.name: reading.constants.constant(tensor, tensor.name) for tensor in overridable},
        **{tensor.values.name: reading.constants.sparse(tensor) for tensor in sparse},
    }


def _assumed(graph: GraphProto, bindings: Mapping[str, int]) -> list[str]:
    """Return an assumption for each symbol that several axes of inputs share: these axes have equal sizes.

    A symbol in `bindings` is a number, so it needs no assumption.
    """
    places: dict[str, list[str]] = {}
    for info in graph.input:
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            if is_named(dim.dim_param) and not dim.HasField("dim_value") and dim.dim_param not in bindings:
                places.setdefault(dim.dim_param, []).append(f"{info.name}[{axis}]")
    return [equal_dims(name, at) for name, at in places.items() if len(at) > 1]


# --- the order of nodes ---------------------------------------------------------------------------------------------


def _put_in_order(graph: GraphProto) -> bool:
    """Sort the nodes of the main graph as onnxruntime does when it loads a file. Return whether a node moved.

    Each node is moved in front of the first node that reads its results. Nodes that read each other's results can't be
    sorted, and the reader then finds that a value is missing. Bodies are not sorted, because onnxruntime refuses
    unsorted bodies.
    """
    nodes = list(graph.node)
    origin = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    order: dict[int, None] = {}
    for first in range(len(nodes)):
        path = {first: _names_read(nodes[first])}
        while path:
            at, names = next(reversed(path.items()))
            makers = (origin.get(name, at) for name in names)
            late = next((maker for maker in makers if maker not in order and maker not in path), None)
            if late is None:
                order.setdefault(at)
                del path[at]
            else:
                path[late] = _names_read(nodes[late])
    ranks = dict(zip(order, range(len(nodes)), strict=True))
    places = iter(range(len(nodes)))  # sort calls `key` once for each node, in the order of the file
    graph.node.sort(key=lambda _: ranks[next(places)])
    return list(order) != sorted(order)


def _names_read(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node and its bodies read from the graph around the node."""
    yield from node.input
    for body in bodies([node]):
        made = {name for inner in body.node for name in inner.output}
        made.update(info.name for info in body.input)
        made.update(tensor.name for tensor in body.initializer)
        for inner in body.node:
            yield from (name for name in _names_read(inner) if name not in made)
        yield from (info.name for info in body.output if info.name not in made)
