"""One node of an operator with operands it runs on, at each operator set whose runtime takes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, defs, helper, numpy_helper

from tests.support.onnx.backend_cases import Case, all_cases
from tests.support.pairs.onnx_run import Feeds, Result, Runner

IR_VERSION = 8
"""Of the seeds; operator sets that came later get the one that they came with."""
LARGEST = 25_000
"""Elements that the operands of an instance may have; the small ones come first."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A node, the version at which its operator set is imported, and operands by name."""

    node: NodeProto
    version: int
    feeds: Mapping[str, object]
    source: str
    constants: frozenset[str] = frozenset()
    """The operands that are initializers of the model; the others are inputs."""
    stated: Mapping[str, int] = field(default_factory=dict)
    """The element types of results that `bare` declares, because no inference of onnxruntime finds them."""

    @property
    def given(self) -> Feeds:
        """The operands that are inputs of the model."""
        return {name: value for name, value in self.feeds.items() if name not in self.constants}

    @property
    def domain(self) -> str:
        """The operator's; the standard one is empty."""
        return "" if self.node.domain == "ai.onnx" else self.node.domain

    @property
    def since(self) -> int:
        """The version of the operator that the operator set has; 0 where onnx knows none."""
        return since(self.node.op_type, self.domain, self.version)

    @property
    def operator(self) -> str:
        """Domain, operator and version."""
        return f"{self.domain}{'.' * bool(self.domain)}{self.node.op_type}-{self.since}"


def since(op: str, domain: str, version: int) -> int:
    """The version of an operator that an operator set has; 0 where it has none."""
    try:
        return int(defs.get_schema(op, version, domain).since_version)
    except defs.SchemaError:
        return 0


@cache
def versions(op: str, domain: str) -> tuple[int, ...]:
    """The versions of an operator, the youngest first."""
    found = [it.since_version for it in defs.get_all_schemas_with_history() if (it.name, it.domain) == (op, domain)]
    return tuple(sorted(found, reverse=True))


@cache
def newest(domain: str) -> int:
    """The youngest operator set of a domain that onnxruntime is likely to take."""
    return {"": 23, "ai.onnx.ml": 4}.get(domain, 1)


def imported_at(op: str, domain: str, version: int) -> int:
    """An operator set that has this version of the operator: the one before the next version, and no newer ones."""
    later = [it for it in versions(op, domain) if it > version]
    return max(version, min([newest(domain), *(it - 1 for it in later)]))


def model_of(
    nodes: Sequence[NodeProto], feeds: Feeds, outputs: Sequence[onnx.ValueInfoProto], imports: Mapping[str, int]
) -> ModelProto:
    """A model over inputs of the feeds' own types and sizes."""
    graph = helper.make_graph(nodes, "graph", [value_of(name, it) for name, it in feeds.items()], outputs)
    imported = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    ir = max([IR_VERSION, *(10 + (version > 22) for domain, version in imports.items() if not domain and version > 20)])
    return helper.make_model(graph, opset_imports=imported, ir_version=ir, producer_name="")


def value_of(name: str, value: object) -> onnx.ValueInfoProto:
    """A declared value of a value's type; an absent one is an optional tensor."""
    return helper.make_value_info(name, type_of(value))


def type_of(value: object) -> onnx.TypeProto:
    """The type of a value."""
    if value is None:
        return helper.make_optional_type_proto(helper.make_tensor_type_proto(1, None))
    if isinstance(value, Mapping):
        kinds = [type_of(it).tensor_type.elem_type for it in next(iter(value.items()))]
        made = onnx.TypeProto()
        made.map_type.key_type = kinds[0]
        made.map_type.value_type.tensor_type.elem_type = kinds[1]
        return made
    if isinstance(value, (list, tuple)):
        inner = type_of(value[0]) if value else helper.make_tensor_type_proto(1, None)
        if inner.HasField("tensor_type"):
            inner.tensor_type.ClearField("shape")
        return helper.make_sequence_type_proto(inner)
    array = np.asarray(value)
    text = array.dtype == object or array.dtype.kind in "US"
    element = onnx.TensorProto.STRING if text else helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_type_proto(element, array.shape)


def declared(instance: Instance, results: Result) -> list[onnx.ValueInfoProto]:
    """The outputs of the instance's node with the types that they had in a run."""
    names = [name for name in instance.node.output if name]
    found = []
    for name, value in zip(names, results, strict=True):
        found.append(value_of(name, value))
    return found


def bare(instance: Instance) -> ModelProto:
    """The model of an instance whose outputs are declared without a type."""
    outputs = [
        helper.make_tensor_value_info(name, instance.stated[name], None)
        if name in instance.stated
        else helper.make_empty_tensor_value_info(name)
        for name in instance.node.output
        if name
    ]
    imports = {instance.domain: instance.version} | ({} if not instance.domain else {"": 17})
    model = model_of([instance.node], instance.given, outputs, imports)
    for name in sorted(instance.constants):
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(instance.feeds[name]), name))
    return model


def of_the_suite() -> list[Instance]:
    """The models of onnx's backend suite that are one node, small enough, the smallest first."""
    return sorted(_of_the_suite(), key=lambda it: elements(it.feeds))


def elements(feeds: Feeds) -> int:
    """How many elements all operands have; those of a sequence are not counted."""
    return sum(np.size(it) for it in feeds.values() if isinstance(it, np.ndarray))


def _of_the_suite() -> Iterator[Instance]:
    for case in all_cases():
        nodes = case.model.graph.node
        if len(nodes) != 1 or not case.sets or case.model.functions or case.model.graph.initializer:
            continue
        node = NodeProto.FromString(nodes[0].SerializeToString())
        # a numpy scalar is no array to onnxruntime
        feeds = {k: it if it is None or isinstance(it, list) else np.asarray(it) for k, it in _given(case).items()}
        if elements(feeds) > LARGEST:
            continue
        domain = "" if node.domain == "ai.onnx" else node.domain
        version = next((it.version for it in case.model.opset_import if it.domain == node.domain), 1)
        if since(node.op_type, domain, version):
            yield Instance(node, version, feeds, case.name)


def _given(case: Case) -> Mapping[str, object]:
    return case.feeds(case.sets[0][0])


def redeclared(instance: Instance) -> Iterator[Instance]:
    """The same node at each version of its operator that is as old or older."""
    op, domain = instance.node.op_type, instance.domain
    for version in versions(op, domain):
        yield replace(instance, version=imported_at(op, domain, version))


def runs(instance: Instance, runner: Runner, runtime: str = "") -> tuple[str, Result] | None:
    """The runtime that runs it and what it gives; None where none does."""
    ran = runner.run(bare(instance).SerializeToString(), [instance.given], runtime)
    return (ran.runtime, ran.results[0]) if ran.runs else None
