"""A model of an older opset stated at a newer one, node by node where it stands: all of it, or nothing.

onnx's own version converter is not used. Measured (onnx 1.23): it drops local functions, `metadata_props` of nodes and
graphs and quantization annotations, and states a Resize of opset 10 at 11 without its coordinates, so that the result
follows other ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import GraphProto, ModelProto, NodeProto, OperatorSetIdProto

from graphfix.formats.onnx.edit.new_nodes import INITIALIZER_ALONE_SINCE_IR
from graphfix.formats.onnx.infer.analysis import Facts
from graphfix.formats.onnx.infer.scope import GraphScope, bodies_of
from graphfix.formats.onnx.opset import to_8
from graphfix.formats.onnx.opset.operators import CHANGED, KEPT
from graphfix.formats.onnx.view import Holder, constant_tensor
from graphfix.graph.edits import Refused

STANDARD = ("", "ai.onnx")


def restate(proto: ModelProto, facts: Facts, target: int, fresh: Callable[[str], str]) -> set[str]:
    """State a copy of the model at opset `target`; name the values that lost a reader.

    Raises Refused, with the node and why; the copy is then spoilt.
    """
    dropped: set[str] = set()
    version = _version(proto.opset_import, 1)
    if version < to_8.NUMPY_SINCE:
        _from_legacy(proto, target)
        version = to_8.TARGET
    if version < target:
        _Restater(proto, version, target, fresh, dropped).nodes(proto.graph, facts.main)
        _set(proto.opset_import, target)
    for function in proto.functions:
        own = _version(function.opset_import, version)
        if own < target:
            scope = facts.functions.get((function.domain, function.name))
            _Restater(proto, own, target, fresh, dropped).nodes(function, scope)
            _set(function.opset_import, target)
    return dropped


def _from_legacy(proto: ModelProto, target: int) -> None:
    why = to_8.blocker(proto) or to_8.legacy(proto)
    if why is not None:
        raise Refused(f"{why}, and so it can't be stated at opset {target}")
    to_8.restate(proto)


def _version(imports: Sequence[OperatorSetIdProto], default: int) -> int:
    return next((entry.version for entry in imports if entry.domain in STANDARD), default)


def _set(imports: Sequence[OperatorSetIdProto], version: int) -> None:
    for entry in imports:
        if entry.domain in STANDARD:
            entry.version = version


@dataclass(slots=True)
class _Restater:
    proto: ModelProto
    version: int
    target: int
    fresh: Callable[[str], str]
    dropped: set[str]

    def nodes(self, holder: Holder, scope: GraphScope | None) -> None:
        """The nodes of a scope; `scope` is None where nothing is known of its values."""
        if scope is not None:
            for body, child in bodies_of(holder.node, scope):
                self.nodes(body, child)
        bench = Bench(holder, scope, self.proto.ir_version, self.fresh, self.dropped)
        for at, node in enumerate(list(holder.node)):
            if node.domain in STANDARD:
                bench.at = at
                self._node(node, bench)
        bench.place()

    def _node(self, node: NodeProto, bench: Bench) -> None:
        old, new = (_since(node.op_type, version) for version in (self.version, self.target))
        if old is None:
            raise Refused(f"{node.op_type} '{node.name}' is no operator of opset {self.version}")
        form = CHANGED.get(node.op_type)
        if form is not None:
            try:
                form(node, self.version, bench)
            except Refused as why:
                what = f"{node.op_type} '{node.name or node.output[0]}'"
                raise Refused(f"{what} can't be stated at opset {self.target}: {why}") from None
        elif old != new and node.op_type not in KEPT:
            raise Refused(f"{node.op_type} '{node.name}' changed between opset {self.version} and {self.target}")


def _since(op: str, version: int) -> int | None:
    if not onnx.defs.has(op, version, ""):
        return None
    return onnx.defs.get_schema(op, version, "").since_version


@dataclass(slots=True)
class Bench:
    """One scope whose nodes are restated: what is known of its values, and what is added to it."""

    holder: Holder
    scope: GraphScope | None
    ir_version: int
    fresh: Callable[[str], str]
    dropped: set[str]
    """The values that lost a reader."""
    at: int = 0
    """The place of the node that is restated."""
    before: dict[int, list[NodeProto]] = field(default_factory=dict)
    after: dict[int, list[NodeProto]] = field(default_factory=dict)
    constants: dict[tuple[str, bytes, tuple[int, ...]], str] = field(default_factory=dict)

    def dims(self, name: str) -> tuple[int | None, ...] | None:
        """The sizes of a value as far as they are numbers; None where its rank is not known."""
        axes = self.scope.shape(name).axes if self.scope is not None else None
        return None if axes is None else tuple(size if isinstance(size, int) else None for size in axes)

    def dtype(self, name: str) -> int:
        """The element type of a value, 0 where it is not known."""
        return self.scope.dtype(name) if self.scope is not None else 0

    def number(self, name: str) -> Sequence[float] | None:
        """The elements of a constant of this scope, None for anything else."""
        holder = self.holder
        tensors = [constant_tensor(node) for node in holder.node if name in node.output]
        if isinstance(holder, GraphProto) and all(value.name != name for value in holder.input):
            tensors += [tensor for tensor in holder.initializer if tensor.name == name]
        return next((list(map(float, onnx.numpy_helper.to_array(it).reshape(-1))) for it in tensors if it), None)

    def constant(self, stem: str, array: NDArray[np.generic]) -> str:
        """The name of a constant, made once in this scope."""
        key = (array.dtype.name, array.tobytes(), array.shape)
        if key not in self.constants:
            tensor = onnx.numpy_helper.from_array(array, self.fresh(stem))
            name = self.constants[key] = tensor.name
            if isinstance(self.holder, GraphProto) and self.ir_version >= INITIALIZER_ALONE_SINCE_IR:
                self.holder.initializer.append(tensor)
            else:
                made = onnx.helper.make_node("Constant", [], [name], name=name, value=tensor)
                self.before.setdefault(0, []).insert(0, made)
        return self.constants[key]

    def drop(self, name: str) -> None:
        """Note that a value has a reader less."""
        self.dropped.add(name)

    def add(self, node: NodeProto, *, behind: bool = False) -> None:
        """Add a node before the one that is restated, or behind it."""
        (self.after if behind else self.before).setdefault(self.at, []).append(node)

    def place(self) -> None:
        """Put what was added where it belongs."""
        nodes = self.holder.node
        keys = [3 * at + 1 for at in range(len(nodes))]
        for groups, shift in ((self.before, 0), (self.after, 2)):
            for at, group in groups.items():
                nodes.extend(group)
                keys += [3 * at + shift] * len(group)
        following = iter(keys)
        nodes.sort(key=lambda _: next(following))
