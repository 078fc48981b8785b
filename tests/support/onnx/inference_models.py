"""Random models of one node for scripts/wrong_inference.py, and what its worker is sent of them."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple
from zlib import crc32

import numpy as np
from onnx import ModelProto, helper, numpy_helper

from tests.support.audit_trials import trials as variations
from tests.support.onnx import contrib_calls
from tests.support.onnx.contrib_calls.drawing import MICROSOFT, STANDARD, Draw
from tests.support.onnx.inference_draws import DRAWS
from tests.support.pairs.onnx_instances import Instance, bare, of_the_suite, redeclared
from tests.support.pairs.onnx_more_instances import more

OLDEST = 7
"""The oldest operator set that onnxruntime supports."""
FEW = 4
"""So many first nodes of a version of an operator, with other operands, attributes or types, are varied."""
SMALL = 16
"""Operands of no more elements may become constants."""


class Counts(NamedTuple):
    """How many models of each kind are made."""

    varied: int
    """Of each version of an operator of onnx's backend suite."""
    drawn: int
    """Of each operator of inference_draws."""
    added: int
    """Of each operator that onnxruntime adds, and of each standard one since operator set 23."""


def models(counts: Counts, only: Sequence[str] = ()) -> Iterator[Instance]:
    """Yield random nodes of all operators, or of those that are named; the same ones each time."""
    yield from (it for it in _models(counts, frozenset(only)) if not only or it.node.op_type in only)


def _models(counts: Counts, only: frozenset[str]) -> Iterator[Instance]:
    by_version = defaultdict(list)
    for instance in first_nodes():
        if not only or instance.node.op_type in only:
            by_version[instance.operator].append(instance)
    for operator, own in by_version.items():
        choose = random.Random(operator)  # noqa: S311 -- sizes, no secrets
        for each in variations(own, max(counts.varied, len(own)), crc32(operator.encode())):
            yield _with_constants(each, choose)
    for op in DRAWS.keys() if not only else DRAWS.keys() & only:
        yield from drawn(op, counts.drawn)
    for key in contrib_calls.CALLS:
        if key[0] in (STANDARD, MICROSOFT) and (not only or key[1] in only):
            choose = random.Random(str(key))  # noqa: S311 -- sizes, no secrets
            yield from (_with_constants(each, choose) for each in contrib_calls.trials(key, counts.added))


def first_nodes() -> Iterator[Instance]:
    """Yield a few nodes of each version of each standard operator; onnxruntime may refuse some."""
    found: Counter[str] = Counter()
    seen: set[tuple[object, ...]] = set()
    for instance in [*more(), *(it for each in of_the_suite() for it in redeclared(each))]:
        if instance.domain or instance.version < OLDEST or not instance.since:
            continue
        kinds = tuple(str(getattr(it, "dtype", "")) for it in instance.feeds.values())
        attributes = tuple(sorted(it.name for it in instance.node.attribute))
        look = (instance.operator, tuple(map(bool, instance.node.input)), attributes, kinds)
        if look not in seen and found[instance.operator] < FEW:
            seen.add(look)
            found[instance.operator] += 1
            yield instance


def drawn(op: str, count: int) -> Iterator[Instance]:
    """Yield so many random nodes of an operator of inference_draws; a few of them have no constants."""
    source = random.Random(op)  # noqa: S311 -- sizes, no secrets
    for _ in range(count):
        instance = contrib_calls.instance((STANDARD, op), DRAWS[op](Draw(source)))
        yield replace(instance, constants=frozenset()) if source.random() < 0.1 else instance


def _with_constants(instance: Instance, choose: random.Random) -> Instance:
    """Make small operands behind the first one constants, mostly: inference reads their values."""
    if instance.constants or choose.random() < 0.3:
        return instance
    small = [
        name
        for name, it in instance.feeds.items()
        if isinstance(it, np.ndarray)
        and it.size <= SMALL
        and it.dtype.kind in "iufb"
        and name != instance.node.input[0]
    ]
    return replace(instance, constants=frozenset(name for name in small if choose.random() < 0.8))


Question = tuple[bytes, list[tuple[str, bool, list[bytes]]]]
"""A model, and by operand: its name, whether it is a sequence, and its tensors."""


def question(instance: Instance) -> Question | None:
    """Return a model with inputs of known sizes and outputs of no type; None where an operand is no tensor."""
    operands = []
    for name, value in instance.given.items():
        values = value if isinstance(value, list) else [value]
        if not all(map(_is_tensor, values)):
            return None
        tensors = [numpy_helper.from_array(np.asarray(each)).SerializeToString() for each in values]
        operands.append((name, isinstance(value, list), tensors))
    return _sized(bare(instance), instance).SerializeToString(), operands


def _is_tensor(value: object) -> bool:
    """Whether it is an array; one of strings may have a 0 in their place after its size was varied."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return False
    return value.dtype != object or all(isinstance(each, (str, bytes)) for each in np.asarray(value).reshape(-1))


def _sized(model: ModelProto, instance: Instance) -> ModelProto:
    """Declare the shape of a sequence's elements where all of them have one shape."""
    for value in model.graph.input:
        given = instance.feeds[value.name]
        shapes = {np.shape(each) for each in given} if isinstance(given, list) else set()
        if len(shapes) == 1:
            element = value.type.sequence_type.elem_type.tensor_type
            element.CopyFrom(helper.make_tensor_type_proto(element.elem_type, shapes.pop()).tensor_type)
    return model


def operands_of(instance: Instance) -> list[np.ndarray | None]:
    """Return the operands in order; None for an absent one, and for one that is no tensor."""
    feeds = [instance.feeds.get(name) for name in instance.node.input]
    return [it if isinstance(it, np.ndarray) else None for it in feeds]
