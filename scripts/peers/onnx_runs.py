"""Run an ONNX model in onnxruntime without optimizations, on fixed random inputs, and count its broadcasts."""

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
"""The largest size of a protobuf message, in bytes."""


def feeds(model: Path, name: str) -> dict[str, Any]:
    """Return the inputs of a model by name. `name` is the model's name in the zoo.

    Models of the zoo with a case in the table have the sizes and values of that case, and other free sizes are 1. For
    all other models, every free size is 2.
    """
    case = ONNX.get(name, Case())
    return {each.name: _value(each, case) for each in session(str(model)).get_inputs()}


def _value(spec: Any, case: Case) -> Any:  # noqa: ANN401 -- onnxruntime has no types
    """Return an input as the case specifies it, or random numbers of the input's type and shape."""
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
    """Return a constant size, or the number that is used for a free size."""
    return size if isinstance(size, int) else 1 if case.shapes or case.values else FREE


def element(kind: str) -> int:
    """Return the number of ONNX's element type for onnxruntime's name, such as `tensor(float)`."""
    name = kind.removeprefix("tensor(").removesuffix(")").upper()
    return int(onnx.TensorProto.DataType.Value(name))


def outputs(model: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run the unchanged file, and return its outputs by name."""
    return ran(session(str(model)), given)


def counted(model: Path, given: Mapping[str, Any]) -> tuple[int, Counted]:
    """Run the model, and return the number of its nodes and the counts of the broadcast operands.

    A copy of the model is run, in which Shape nodes return the shapes of all broadcast operands and their results.
    """
    read = onnx.load(model, load_external_data=False)
    probes = onnx_probes.added(read)
    found = ran(session(read.SerializeToString(), model.parent), given)
    return onnx_probes.nodes(read.graph), count(onnx_probes.shapes(probe, found) for probe in probes)


def session(model: str | bytes, folder: Path | None = None) -> Any:  # noqa: ANN401 -- see above
    """Load a model from its path, or from bytes with the folder of its external data."""
    options = rt.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = rt.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.disable_prepacking", "1")
    if folder is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    return rt.InferenceSession(model, options, ["CPUExecutionProvider"])


def ran(loaded: Any, given: Mapping[str, Any]) -> dict[str, Any]:  # noqa: ANN401 -- see above
    """Run a session on these inputs, and return its outputs by name."""
    names = [each.name for each in loaded.get_outputs()]
    wanted = {each.name: given[each.name] for each in loaded.get_inputs()}
    return dict(zip(names, loaded.run(names, wanted), strict=True))
