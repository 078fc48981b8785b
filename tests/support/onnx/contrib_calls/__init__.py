"""Random one-node models of the operators that onnxruntime adds, and of the standard ones since operator set 23.

`CALLS` has a generator for each operator that has a CPU kernel; `trials` makes instances of one. The sizes 0 and 1,
absent operands and results, and uncommon attributes occur often, so onnxruntime refuses some of the models.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import numpy as np
from onnx import helper

from tests.support.onnx.contrib_calls import (
    arrangements,
    attention,
    classical,
    elementwise,
    normalizations,
    products,
    quantized,
    searches,
    windows,
)
from tests.support.onnx.contrib_calls.drawing import Call, Draw, Draws, Key
from tests.support.pairs.onnx_instances import Instance

CALLS: dict[Key, Draws] = {
    **arrangements.CALLS,
    **attention.CALLS,
    **classical.CALLS,
    **elementwise.CALLS,
    **normalizations.CALLS,
    **products.CALLS,
    **quantized.CALLS,
    **searches.CALLS,
    **windows.CALLS,
}
VERSIONS = {"": 17, "ai.onnx.ml": 3}
"""The operator set of a domain that a model imports if the call names none; 1 for all other domains."""


def trials(operator: Key, count: int, seed: int = 0) -> Iterator[Instance]:
    """So many random instances of an operator, the same ones for the same seed."""
    random = Random(f"{operator} {seed}")  # noqa: S311 -- sizes, no secrets
    for _ in range(count):
        yield instance(operator, CALLS[operator](Draw(random)))


def instance(operator: Key, call: Call) -> Instance:
    """The node of a call, with operands called o0, o1, ... and results called r0, r1, ..."""
    domain, op = operator
    names = ["" if value is None else f"o{at}" for at, value in enumerate(call.operands)]
    results = _trimmed([f"r{at}" if named else "" for at, named in enumerate(call.results)])
    node = helper.make_node(op, names, results, domain=domain, **call.attributes)
    feeds = {f"o{at}": _plain(value) for at, value in enumerate(call.operands) if value is not None}
    constants = frozenset(f"o{at}" for at in call.constants if f"o{at}" in feeds)
    declared = {f"r{at}": helper.np_dtype_to_tensor_dtype(np.dtype(kind)) for at, kind in call.declared.items()}
    return Instance(node, call.version or VERSIONS.get(domain, 1), feeds, "random", constants, declared)


def _trimmed(names: list[str]) -> list[str]:
    while names and not names[-1]:
        names.pop()
    return names


def _plain(value: object) -> object:
    return value if isinstance(value, (list, dict)) else np.asarray(value)
