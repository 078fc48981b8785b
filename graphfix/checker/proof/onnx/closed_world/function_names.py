"""Find functions that onnxruntime cannot tell apart: it joins the domain, the name and the overload with colons.

The functions "f:a" and "f" with overload "a" of one domain have the same joined name: a model with both does not load.
A node that calls one of them may get the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.files.onnx.bodies import every_node
from graphfix.checker.proof.onnx.closed_world.model_parts import key_of
from graphfix.checker.proof.onnx.reading.operands import domain_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from onnx import FunctionProto, ModelProto

    from graphfix.checker.proof.onnx.closed_world.model_parts import FunctionKey


def shared_name(one: ModelProto, two: ModelProto) -> str | None:
    """Return why onnxruntime may confuse functions of the second model, unless it confuses the same ones in the first.

    Returns None if every joined name of a function has one meaning.
    """
    if not two.functions:
        return None
    theirs, ours = _meanings(two), _meanings(one)
    before, after = _by_name(one.functions), _by_name(two.functions)
    for name, keys in theirs.items():
        if name in after and len(keys) > 1 and (keys != ours.get(name) or before.get(name) != after[name]):
            return f"onnxruntime does not tell apart the functions and calls {sorted(keys)} of the second file"
    return None


def _meanings(model: ModelProto) -> Mapping[str, set[FunctionKey]]:
    """Return the functions and operators of a model by joined name."""
    found: dict[str, set[FunctionKey]] = {}
    called = ((domain_of(node.domain), node.op_type, node.overload) for node in every_node(model))
    for key in (*map(key_of, model.functions), *called):
        found.setdefault(_joined(key), set()).add(key)
    return found


def _by_name(functions: Iterable[FunctionProto]) -> Mapping[str, list[bytes]]:
    """Return the serialized functions by joined name, in the order of the file."""
    found: dict[str, list[bytes]] = {}
    for function in functions:
        found.setdefault(_joined(key_of(function)), []).append(function.SerializeToString(deterministic=True))
    return found


def _joined(key: FunctionKey) -> str:
    """Return the name by which onnxruntime finds a function; it leaves out an empty overload."""
    domain, name, overload = key
    return f"{domain}:{name}:{overload}" if overload else f"{domain}:{name}"
