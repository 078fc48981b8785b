"""Run an ONNX model in onnxruntime without optimizations, on seeded inputs, and count what it broadcasts meanwhile."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as rt
from tosa_tables.zoo import ONNX, Case, page

from peers import onnx_probes
from peers.broadcasts import Counted, count

SEED, FREE, LARGEST = 7, 2, 10
INLINE = 2_000_000_000
"""The bytes that one message may hold."""


def feeds(model: Path, name: str) -> dict[str, Any]:
    """Make the inputs: the zoo's at the sizes that its models are used at, else every free size is 2."""
    case = ONNX.get(name, Case())
    return {each.name: _value(each, case) for each in session(str(model)).get_inputs()}


def _value(spec: Any, case: Case) -> Any:  # noqa: ANN401 -- onnxruntime has no types
    given = case.shapes.get(spec.name)
    shape = [int(size) for size in given.split(",")] if given else [_size(size, case) for size in spec.shape]
    dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(element(spec.type)))
    if spec.name in case.values:
        return np.full(shape, case.values[spec.name], dtype)
    source = np.random.default_rng([SEED, zlib.crc32(spec.name.encode())])
    if spec.name == case.page:
        return page(SEED, tuple(shape)).astype(dtype)
    if dtype.kind == "f":
        return source.normal(size=shape).astype(dtype)
    return source.integers(0, 1 if dtype == np.bool_ else LARGEST, shape, endpoint=True).astype(dtype)


def _size(size: object, case: Case) -> int:
    return size if isinstance(size, int) else 1 if case.shapes or case.values else FREE


def element(kind: str) -> int:
    """Return the type of elements of `tensor(float)`."""
    name = kind.removeprefix("tensor(").removesuffix(")").upper()
    return int(onnx.TensorProto.DataType.Value(name))


def outputs(model: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the file as it is."""
    return ran(session(str(model)), given)


def counted(model: Path, given: Mapping[str, Any]) -> tuple[int, Counted]:
    """Run a copy in which a Shape node reads what each broadcasting node reads and makes."""
    read = onnx.load(model, load_external_data=False)
    probes = onnx_probes.added(read)
    found = ran(session(read.SerializeToString(), model.parent), given)
    return onnx_probes.nodes(read.graph), count(onnx_probes.shapes(probe, found) for probe in probes)


def session(model: str | bytes, folder: Path | None = None) -> Any:  # noqa: ANN401 -- see above
    """Load a model by its path, or from bytes with the folder of its external data."""
    options = rt.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = rt.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    if folder is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return rt.InferenceSession(model, options, ["CPUExecutionProvider"])


def ran(loaded: Any, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 -- see above
    """Run a session; return its outputs by name."""
    names = [each.name for each in loaded.get_outputs()]
    wanted = {each.name: given[each.name] for each in loaded.get_inputs()}
    return dict(zip(names, loaded.run(names, wanted), strict=True))
