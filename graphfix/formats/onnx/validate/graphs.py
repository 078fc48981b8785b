"""Check a whole model once, when it is loaded: names, order, arities, element types, sizes of payloads.

Every later step relies on these rules of the ONNX specification (docs/IR.md and the operators' schemas), which a
damaged file breaks. A model passes if onnxruntime accepts it although onnx's checker does not (operators without a
schema, attributes that a schema does not list).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NoReturn

from graphfix.formats.neutral.insertion import rearrange
from graphfix.formats.onnx.file.container import Container
from graphfix.formats.onnx.file.messages import Operator, Steps, steps, subgraphs
from graphfix.formats.onnx.schemas import newest
from graphfix.formats.onnx.validate.errors import (
    MalformedModelError,
    UnknownVersionError,
    UnsortedError,
    check_texts,
    node_text,
    place,
    short,
    shown,
    text,
)
from graphfix.formats.onnx.validate.parts import (
    ANY,
    Signature,
    attribute_fault,
    check_declared,
    check_element_type,
    check_gap,
    payload_fault,
    signature_of,
)
from graphfix.operators.row import standard
from graphfix.results.onnx_messages import (
    AttributeProto,
    FunctionProto,
    GraphProto,
    NodeProto,
    OperatorSetIdProto,
    SparseTensorProto,
    TensorProto,
)
from graphfix.results.records import dataclass

IMPORTED_BY_ITSELF: Final = frozenset({"com.microsoft", "com.microsoft.nchwc"})
"""Domains with one version, which onnxruntime imports even if the model does not."""
CALL_DEPTH: Final = 100
"""The largest depth at which functions may call functions. Runtimes do not follow deeper calls either."""


def check(container: Container) -> Steps:
    """Raise GraphfixError, with the file, the place and the fault, for a model that breaks the rules of the format.

    Return the nodes of the main graph, which were read for the check.
    """
    name = container.source.name
    try:
        return _model(container)
    except MalformedModelError as error:
        raise MalformedModelError(f"{name}: no valid ONNX model: {error}; export it again") from None
    except UnknownVersionError as error:
        raise UnknownVersionError(
            f"{name}: {error}; install a newer graphfix, or export it for an older version"
        ) from None


def _model(container: Container) -> Steps:
    """Check all graphs and functions of a model, and return the nodes of the main graph."""
    proto = container.proto
    if proto.ir_version < 1:
        raise MalformedModelError(f"its IR version is {proto.ir_version}")
    functions = frozenset((standard(function.domain), function.name) for function in proto.functions)
    validator = _Validator(container, functions)
    versions = _versions(proto.opset_import) or {"": 1}  # Before IR version 3 a model does not import operator sets.
    nodes = validator.graph(proto.graph, "main", versions, ())
    for function in proto.functions:
        validator.function(function)
    _check_recursion(proto.functions)
    return nodes


def _versions(imports: Iterable[OperatorSetIdProto]) -> dict[str, int]:
    """Return the version of each operator set by its domain, which is "" for the standard operators.

    Raises UnknownVersionError if a version is newer than the table of schemas, and MalformedModelError if it is below
    1.
    """
    versions = {standard(text(entry.domain, "an opset_import")): entry.version for entry in imports}
    version = versions.get("", 1)
    if version > newest():
        raise UnknownVersionError(f"it uses version {version} of the standard operators, known are 1 to {newest()}")
    if any(version < 1 for version in versions.values()):
        raise MalformedModelError("it imports an operator set of a version below 1")
    return versions


@dataclass(slots=True)
class _Validator:
    """The checks of the graphs and functions of one model."""

    container: Container
    functions: frozenset[tuple[str, str]]
    """The domain and name of each function of the model. A function hides an operator of the same name."""

    def graph(self, graph: GraphProto, path: str, versions: Mapping[str, int], outer: Sequence[set[str]]) -> Steps:
        """Check one graph and the bodies inside it, and return its nodes.

        `path` is the graph's place in errors. `versions` are the imported operator sets. `outer` contains the names
        that the graphs around it define, one set for each graph.
        """
        own: set[str] = set()
        _define(own, (value.name for value in graph.input), path)
        constants: set[str] = set()
        for tensor in graph.initializer:
            fault = self._tensor_fault(tensor)
            if fault is not None:
                raise MalformedModelError(f"{path}: the initializer {shown(tensor.name)} {fault}")
        for sparse in graph.sparse_initializer:
            fault = self._sparse_fault(sparse)
            if fault is not None:
                raise MalformedModelError(f"{path}: the sparse initializer {shown(sparse.values.name)} {fault}")
        names = (*(t.name for t in graph.initializer), *(s.values.name for s in graph.sparse_initializer))
        _define(constants, names, path)
        own |= constants
        for value in (*graph.input, *graph.output):
            check_declared(value, path)
        for value in graph.value_info:
            check_element_type(value, path)
        nodes, own = self._in_order(graph, path, versions, own, outer)
        _outputs((value.name for value in graph.output), own, outer, path)
        return nodes

    def _in_order(
        self, graph: GraphProto, path: str, versions: Mapping[str, int], own: set[str], outer: Sequence[set[str]]
    ) -> tuple[Steps, set[str]]:
        """Check the nodes of a graph; return them and the names that exist behind the last node.

        If the nodes of the main graph are not sorted, they are sorted first. onnxruntime sorts only the main graph.
        """
        nodes, names = steps(graph.node), set(own)
        try:
            self.nodes(nodes, path, versions, names, outer)
        except UnsortedError:
            if outer:
                raise
            sort_nodes(graph)
            nodes, names = steps(graph.node), set(own)
            self.nodes(nodes, path, versions, names, outer)
        return nodes, names

    def function(self, function: FunctionProto) -> None:
        """Check a function of the model."""
        path = f"function {shown(function.name)}"
        text(function.domain, path)
        own: set[str] = set()
        _define(own, function.input, path)
        self.nodes(steps(function.node), path, _versions(function.opset_import), own, ())
        _outputs(function.output, own, (), path)

    def nodes(
        self,
        nodes: Steps,
        path: str,
        versions: Mapping[str, int],
        own: set[str],
        outer: Sequence[set[str]],
    ) -> None:
        """Check that each node reads only values that exist before it, and computes only values with new names.

        The numbers of operands and results, and the attributes, are also checked.
        """
        signatures: dict[Operator, Signature] = {}
        messages, is_known, is_new, define = nodes.messages, own.issuperset, own.isdisjoint, own.update
        for index, (operator, _, inputs, outputs, bare) in enumerate(nodes.rows()):
            signature = signatures.get(operator)
            if signature is None:
                node = messages[index]
                _check_imported(node, index, path, versions)
                is_own = operator in self.functions
                signature = signatures[operator] = ANY if is_own else signature_of(node, index, path, versions)
            if not is_known(inputs):
                _refuse_undefined(messages, index, path, (own, *outer))
            if len(inputs) not in signature.inputs or len(outputs) not in signature.outputs:
                counts = f"{len(inputs)} operands and {len(outputs)} results"
                at = place(messages[index], index, path)
                raise MalformedModelError(f"{at} has {counts}, which its operator does not take")
            if "" in inputs:
                check_gap(messages[index], index, path, signature)
            if signature.required or not bare:
                self._attributes(messages[index], index, path, versions, signature, (*outer, own))
            if len(outputs) > 1 or not is_new(outputs):
                _check_results(messages[index], index, path, own)
            define(outputs)
        check_texts([*own, *nodes.names], path)

    def _attributes(
        self,
        node: NodeProto,
        index: int,
        path: str,
        versions: Mapping[str, int],
        signature: Signature,
        scopes: Sequence[set[str]],
    ) -> None:
        """Check the attributes of a node and the bodies in them. Raises MalformedModelError.

        `scopes` contains the names that the bodies may read, one set for each graph around them.
        """
        names = [attribute.name for attribute in node.attribute]
        if len(set(names)) < len(names) or not signature.required.issubset(names) or bytes in map(type, names):
            _refuse_attributes(names, signature, place(node, index, path))
        for attribute in node.attribute:
            fault = self._attribute_fault(attribute, signature)
            if fault is not None:
                where = f"{place(node, index, path)}, attribute {shown(attribute.name)}"
                raise MalformedModelError(f"{where} {fault}")
            bodies = [attribute.g] if attribute.type == AttributeProto.GRAPH else []
            for body in (*bodies, *attribute.graphs):
                self.graph(body, f"{path}/{short(node.name or node.op_type)}.{short(attribute.name)}", versions, scopes)

    def _attribute_fault(self, attribute: AttributeProto, signature: Signature) -> str | None:
        """Return the fault of an attribute or of a tensor in it, or None if there is none."""
        fault = attribute_fault(attribute, signature)
        tensors = [attribute.t] if attribute.type == AttributeProto.TENSOR and not attribute.ref_attr_name else []
        lone = [attribute.sparse_tensor] if attribute.HasField("sparse_tensor") else []
        for tensor in (*tensors, *attribute.tensors):
            fault = fault or self._tensor_fault(tensor)
        for sparse in (*lone, *attribute.sparse_tensors):
            fault = fault or self._sparse_fault(sparse)
        return fault

    def _tensor_fault(self, tensor: TensorProto) -> str | None:
        return payload_fault(tensor, self.container.cut(tensor))

    def _sparse_fault(self, sparse: SparseTensorProto) -> str | None:
        """Return the fault of a sparse tensor, or None if there is none."""
        fault = self._tensor_fault(sparse.values) or self._tensor_fault(sparse.indices)
        if fault is None and any(size < 0 for size in sparse.dims):
            return f"has the shape {list(sparse.dims)}"
        return fault


# --- names ---------------------------------------------------------------------------------------------------


def _refuse_attributes(names: Sequence[str], signature: Signature, at: str) -> NoReturn:
    """Raise MalformedModelError for the names of a node's attributes.

    A name is not UTF-8, occurs twice, or a required attribute is missing.
    """
    check_texts(names, at)
    if len(set(names)) < len(names):
        raise MalformedModelError(f"{at} has an attribute twice")
    raise MalformedModelError(f"{at} has no attribute {min(signature.required.difference(names))!r}")


def _define(own: set[str], names: Iterable[str], path: str) -> None:
    """Add names to the names that exist in a graph. Raises MalformedModelError if a name exists already."""
    for name in names:
        if name and name in own:
            raise MalformedModelError(f"{path}: the name {shown(name)} is given twice")
        own.add(name)
    own.add("")  # The empty name is an operand that is left out.


def _outputs(names: Iterable[str], own: set[str], outer: Sequence[set[str]], path: str) -> None:
    """Raise MalformedModelError if an output has no name, or a name that does not exist in the graph or around it."""
    for name in names:
        if not name or not any(name in scope for scope in (own, *outer)):
            raise MalformedModelError(f"{path}: no node makes the output {shown(name)}")


def _check_imported(node: NodeProto, index: int, path: str, versions: Mapping[str, int]) -> None:
    """Raise MalformedModelError if a node's operator set is not imported by the model.

    Nodes of functions are not checked, because runtimes check them at the call. onnxruntime's own domains need no
    import, because its optimizer writes models without it.
    """
    if node.domain in IMPORTED_BY_ITSELF:
        return
    if standard(node.domain) and node.domain not in versions and path.startswith("main"):
        raise MalformedModelError(f"{place(node, index, path)} is of the domain {node.domain!r}, which is not imported")


def _check_results(node: NodeProto, index: int, path: str, own: set[str]) -> None:
    """Raise MalformedModelError if a node computes a value whose name exists already."""
    for at, name in enumerate(node.output):
        if name and (name in own or name in node.output[:at]):
            raise MalformedModelError(f"{place(node, index, path)} makes {shown(name)}, a name that exists already")


def _refuse_undefined(nodes: Sequence[NodeProto], index: int, path: str, visible: Sequence[set[str]]) -> None:
    """Raise an error if a node reads a value that does not exist yet.

    The error is UnsortedError if a later node computes the value, or if a node around the body may do so. It is
    MalformedModelError if no node computes the value or if the nodes form a cycle.
    """
    name = next((name for name in nodes[index].input if not any(name in scope for scope in visible)), None)
    if name is None:
        return
    at = f"{place(nodes[index], index, path)} reads {shown(name)}"
    makers = {made: maker for maker, node in enumerate(nodes) for made in node.output if made}
    if name not in makers:
        # A later node of the graph around a body may compute it.
        raise (UnsortedError if len(visible) > 1 else MalformedModelError)(f"{at}, which nothing makes")
    from graphlib import CycleError, TopologicalSorter

    reads = {reader: {makers[read] for read in node.input if read in makers} for reader, node in enumerate(nodes)}
    try:
        TopologicalSorter(reads).prepare()
    except CycleError as error:
        ring = " -> ".join(node_text(nodes[member], member) for member in error.args[1][:4])
        raise MalformedModelError(f"{at}; the nodes form a cycle: {ring}") from None
    raise UnsortedError(f"{at}, which a later node makes: the nodes are not sorted")


# --- functions -----------------------------------------------------------------------------------------------------


def _check_recursion(functions: Sequence[FunctionProto]) -> None:
    """Raise MalformedModelError if functions call each other in a cycle, or deeper than CALL_DEPTH."""
    if not functions:
        return
    from graphlib import CycleError, TopologicalSorter

    bodies = {(function.domain, function.name): function.node for function in functions}
    calls = {key: {call for call in _called(nodes) if call in bodies} for key, nodes in bodies.items()}
    try:
        order = list(TopologicalSorter(calls).static_order())
    except CycleError as error:
        raise MalformedModelError(f"the function {shown(error.args[1][0][1])} calls itself") from None
    depth: dict[tuple[str, str], int] = {}
    for key in order:
        depth[key] = 1 + max((depth[call] for call in calls[key]), default=0)
    if depth and max(depth.values()) > CALL_DEPTH:
        raise MalformedModelError(
            f"its functions call each other {max(depth.values())} deep, at most {CALL_DEPTH} are followed"
        )


def _called(nodes: Iterable[NodeProto]) -> Iterator[tuple[str, str]]:
    """Yield domain and name of every operator that the nodes use, also in bodies."""
    for node in nodes:
        yield node.domain, node.op_type
        for attribute in node.attribute:
            for body in (attribute.g, *attribute.graphs):
                yield from _called(body.node)


# --- order ------------------------------------------------------------------------------------------------------------


def sort_nodes(graph: GraphProto) -> None:
    """Move each node of the main graph before the first node that reads its results.

    Tools that convert models to float16 append nodes behind their readers. onnxruntime sorts such a graph itself, but
    refuses bodies that are not sorted. Nodes of a cycle stay unsorted.
    """
    nodes = graph.node
    makers = {name: at for at, node in enumerate(nodes) for name in node.output if name}
    keys = [-1] * len(nodes)
    placed_nodes = 0
    for first in range(len(nodes)):
        waiting = [(first, _makers(nodes[first], makers))]
        entered = {first}
        while waiting:
            at, needed = waiting[-1]
            before = next((maker for maker in needed if keys[maker] < 0 and maker not in entered), None)
            if before is not None:
                entered.add(before)
                waiting.append((before, _makers(nodes[before], makers)))
                continue
            waiting.pop()
            if keys[at] < 0:
                keys[at], placed_nodes = placed_nodes, placed_nodes + 1
    rearrange(nodes, keys)


def _makers(node: NodeProto, makers: dict[str, int]) -> Iterator[int]:
    """Yield the indices of the nodes whose results a node reads, itself or in a body."""
    return iter([makers[name] for name in _reads(node) if name in makers])


def _reads(node: NodeProto) -> Iterator[str]:
    """Yield the names that a node reads from outside, itself and in its bodies."""
    yield from node.input
    for _, _, body in subgraphs([node]):
        own = {value.name for value in body.input} | {tensor.name for tensor in body.initializer}
        own.update(name for inner in body.node for name in inner.output)
        read = [name for inner in body.node for name in _reads(inner)]
        yield from (name for name in (*read, *(value.name for value in body.output)) if name not in own)
