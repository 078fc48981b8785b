"""One-node models asked of onnxruntime: the witness of what the catalogue claims."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import onnx
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from graphfix.operators import row
from graphfix.operators.row import Row

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

Array: TypeAlias = np.ndarray
Key: TypeAlias = tuple[str, str, int]
"""(domain, operator, first version): what names a row."""

Refused = (runtime.Fail, runtime.InvalidArgument, runtime.InvalidGraph, runtime.RuntimeException)
NoKernel = runtime.NotImplemented
HOST = 17
"""The version of ONNX's own operator set in models whose node is of another domain."""
MICROSOFT = "com.microsoft"


def _newest() -> int:
    """Return the newest operator set, at most 26, that the installed onnxruntime loads."""
    x, y = (helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y])
    for version in range(26, HOST, -1):
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=8)
        try:
            _session(model.SerializeToString(), packing=False)
        except Refused:
            continue
        return version
    return HOST


def name_of(key: Key) -> str:
    """Name a row in a test's id."""
    return f"{key[0]}.{key[1]}-{key[2]}".strip(".")


def row_of(key: Key) -> Row:
    """Look the row up, which must exist."""
    found = row(*key)
    assert found is not None
    return found


def numbers(dtype: str, *shape: int, seed: int = 0) -> Array:
    """Give seeded values: halves (their sums are exact), small positive integers, words; many coincide."""
    random = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return np.asarray(random.integers(0, 2, shape), dtype=bool)
    if dtype == "object":
        return np.asarray(random.choice(["a", "b", ""], size=shape), dtype=object)
    if np.issubdtype(np.dtype(dtype), np.integer):
        return np.asarray(random.integers(1, 6, shape), dtype=dtype)
    return np.asarray(random.choice([-3.5, -2, -1.5, -1, -0.5, 0.5, 1, 2.5, 3], size=shape), dtype=dtype)


def lifted(array: Array, rank: int) -> Array:
    """Add leading unit axes: [4] at rank 3 -> [1,1,4]."""
    return array.reshape((1,) * (rank - array.ndim) + array.shape)


def stretched(array: Array, shape: Sequence[int]) -> Array:
    """Repeat the array to the shape."""
    return np.array(np.broadcast_to(array, shape))


def same_bits(left: Sequence[Array], right: Sequence[Array]) -> bool:
    """Whether two lists of results are equal bit for bit, shapes and types included."""
    return len(left) == len(right) and all(
        a.shape == b.shape and a.dtype == b.dtype and _bits(a) == _bits(b) for a, b in zip(left, right, strict=True)
    )


def _bits(array: Array) -> object:
    return array.tolist() if array.dtype == object else array.tobytes()


def run(
    op: str,
    *operands: Array | None,
    domain: str = "",
    opset: int = 1,
    results: int = 1,
    constants: Collection[int] = (),
    packing: bool = False,
    **attributes: object,
) -> list[Array]:
    """Run one node without optimizations, on one thread, by default without packing constant weights.

    `opset` is the version of `domain`. The operands at `constants` are initializers, the others inputs of an
    undeclared shape. Raises Refused where onnxruntime refuses the shapes, NoKernel where it has no kernel.
    """
    node = _node(op, operands, domain, results, attributes)
    model = _model(node, operands, opset, constants)
    session = _session(model.SerializeToString(), packing)
    fed = {f"x{index}": x for index, x in enumerate(operands) if x is not None and index not in constants}
    return list(session.run(None, fed))


def reference(
    op: str, *operands: Array | None, domain: str = "", opset: int = 1, results: int = 1, **attributes: object
) -> list[Array]:
    """Run one node by onnx.reference, for what onnxruntime has no kernel for."""
    model = _model(_node(op, operands, domain, results, attributes), operands, opset, ())
    feeds = {f"x{index}": x for index, x in enumerate(operands) if x is not None}
    return [np.asarray(result) for result in ReferenceEvaluator(model).run(None, feeds)]


def _node(
    op: str, operands: Sequence[Array | None], domain: str, results: int, attributes: Mapping[str, object]
) -> onnx.NodeProto:
    names = ["" if operand is None else f"x{index}" for index, operand in enumerate(operands)]
    return helper.make_node(op, names, [f"y{index}" for index in range(results)], domain=domain, **attributes)


def _model(
    node: onnx.NodeProto, operands: Sequence[Array | None], opset: int, constants: Collection[int]
) -> onnx.ModelProto:
    present = [(index, f"x{index}", operand) for index, operand in enumerate(operands) if operand is not None]
    graph = helper.make_graph(
        [node],
        "one_node",
        [helper.make_tensor_value_info(name, _type(x), None) for index, name, x in present if index not in constants],
        [helper.make_empty_tensor_value_info(name) for name in node.output],
        [onnx.numpy_helper.from_array(x, name) for index, name, x in present if index in constants],
    )
    imports = [helper.make_opsetid(name, version) for name, version in {"": HOST, node.domain: opset}.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def _type(operand: Array) -> int:
    if operand.dtype == object:
        return onnx.TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(operand.dtype)


@lru_cache(maxsize=64)
def _session(model: bytes, packing: bool) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if not packing:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


NEWEST = _newest()
"""The newest operator set that the tests ask the installed onnxruntime about; 26 since onnxruntime 1.31."""
