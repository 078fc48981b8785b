"""Local functions: the nodes that call one, and the results of each call, inferred from the body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from graphfix.formats.onnx.file.messages import Steps, steps
from graphfix.formats.onnx.infer.budget import Budget
from graphfix.formats.onnx.infer.scope import NOTHING_KNOWN, GraphScope, Known, Read, enter_bodies, versions_of
from graphfix.operators.row import standard
from graphfix.results.onnx_messages import AttributeProto, FunctionProto, NodeProto
from graphfix.results.records import dataclass, field
from graphfix.shapes.dim import Dim, Shape, Size

FunctionKey: TypeAlias = tuple[str, str]
"""(domain, name)."""
DEPTH = 100
"""Calls inside functions are followed to this depth."""
RUNTIMES_OWN = frozenset(
    "ai.onnx.ml ai.onnx.training ai.onnx.preview ai.onnx.preview.training com.microsoft com.microsoft.nchwc"
    " com.microsoft.experimental com.microsoft.dml com.ms.internal.nhwc org.pytorch.aten".split()
)
"""Domains of runtimes' own operators: onnxruntime runs the operator, not a local function of the same name."""


def local_functions(functions: Sequence[FunctionProto]) -> dict[FunctionKey, FunctionProto]:
    """Return the functions that a node can call.

    Left out are those in `RUNTIMES_OWN`, and those of which several have one name (overloads).
    """
    keys = [(function.domain, function.name) for function in functions]
    return {
        key: function
        for key, function in zip(keys, functions, strict=True)
        if standard(key[0]) and key[0] not in RUNTIMES_OWN and keys.count(key) == 1
    }


@dataclass(slots=True)
class Calls:
    """The functions of a model, and the results that were inferred for single calls."""

    functions: Mapping[FunctionKey, FunctionProto]
    budget: Budget = field(default_factory=Budget)
    """Bounds the work. A function that is longer than the rest of the budget is not read: its results are unknown."""
    _steps: dict[FunctionKey, Steps] = field(default_factory=dict)
    _returned: dict[object, list[Known]] = field(default_factory=dict)
    _open: list[FunctionKey] = field(default_factory=list)
    """The functions that are being read. Every runtime refuses a function that calls itself."""
    _count: int = 0

    def results(self, read: Read, scope: GraphScope, node: NodeProto) -> Sequence[Known]:
        """Return the facts about each result of a call; () if its function can't be read."""
        key = (node.domain, node.op_type)
        if key in self._open or len(self._open) > DEPTH:
            return ()
        bindings = bound(self.functions[key], [(scope, node)])
        given = [_given(scope, name) for name in node.input]
        attributes = tuple(
            [None if attribute is None else attribute.SerializeToString() for attribute in bindings.values()]
        )
        question = (key, attributes, tuple(given))
        found = self._returned.get(question)
        if found is None:
            if not self.budget.allows(len(self._steps_of(key))):
                return ()
            found = self._returned[question] = self._read(read, key, bindings, given)
        return found

    def _steps_of(self, key: FunctionKey) -> Steps:
        found = self._steps.get(key)
        if found is None:
            found = self._steps[key] = steps(self.functions[key].node)
        return found

    def _read(
        self,
        read: Read,
        key: FunctionKey,
        bindings: Mapping[str, AttributeProto | None],
        given: Sequence[Known],
    ) -> list[Known]:
        function = self.functions[key]
        self._count += 1
        path = f"call {self._count}"
        inner = GraphScope(path, self._steps_of(key), None, None, versions_of(function.opset_import))
        inner.bindings = bindings
        enter_bodies(inner)
        self._open.append(key)
        absent = [NOTHING_KNOWN] * (len(function.input) - len(given))
        read(inner, dict(zip(function.input, (*given, *absent), strict=False)))
        self._open.pop()
        return [_outside(inner, name, path) for name in function.output]


def _given(scope: GraphScope, name: str) -> Known:
    """Return the facts about an operand; an absent operand has no shape and no type."""
    if not name:
        return NOTHING_KNOWN
    return Known(scope.shape(name), scope.dtype(name), scope.vector(name), scope.leans(name))


def _outside(inner: GraphScope, name: str, path: str) -> Known:
    """Return a result for the caller, without the names of sizes inside the function, which have no meaning outside."""
    shape, elements = inner.shape(name), inner.vector(name)
    own = f"?{path}"
    outer = None if shape.axes is None else Shape(tuple([_renamed(size, own) for size in shape.axes]))
    if outer is None and shape.parts and not any(own in part for part in shape.parts):
        outer = shape
    renamed = None if elements is None else tuple([_renamed(size, own) for size in elements])
    return Known(outer, inner.dtype(name), renamed)


def _renamed(size: Size, own: str) -> Size:
    if isinstance(size, int):
        return size
    # the name of a term holds the names that it is computed of: ?=2*{?call 1:v.0}
    local = any(f"{own}{mark}" in part for part in size.parts for mark in ":/")
    return Dim((), size.lo, size.hi) if local else size


def bound(function: FunctionProto, calls: Sequence[tuple[GraphScope, NodeProto]]) -> dict[str, AttributeProto | None]:
    """Return the attributes that calls pass to a function, by name; None if calls differ, or it is not known."""
    defaults = {attribute.name: attribute for attribute in function.attribute_proto}
    found: dict[str, AttributeProto | None] = {}
    for name in (*function.attribute, *defaults):
        values = [_attribute(scope, node, name, defaults.get(name)) for scope, node in calls]
        found[name] = values[0] if values and all(value == values[0] for value in values) else None
    return found


def _attribute(scope: GraphScope, node: NodeProto, name: str, default: AttributeProto | None) -> AttributeProto | None:
    """Return the attribute of a call; a reference is resolved by the function around the call."""
    given = next((attribute for attribute in node.attribute if attribute.name == name), None)
    if given is None:
        return default
    if not given.ref_attr_name:
        bound_attribute: AttributeProto = given
        return bound_attribute
    outer = scope.bound(given.ref_attr_name)
    if outer is None:
        return None
    renamed = AttributeProto()
    renamed.CopyFrom(outer)
    renamed.name = name
    return renamed
