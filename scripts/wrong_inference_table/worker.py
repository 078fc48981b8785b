"""Ask one environment's onnx and onnxruntime about the models of a file; wrong_inference.py starts this program.

    python wrong_inference_table/worker.py QUESTIONS ANSWERS FIRST

QUESTIONS is a pickled list of (model, operands), where operands are (name, is a sequence, serialized tensors). From
number FIRST on, one JSON line a model is appended to ANSWERS: the shapes that inference gives without the model being
run, by source, and the shapes of the results. A model on which onnxruntime aborts or hangs ends this process; the
caller starts another one behind that model. Only onnx, onnxruntime and numpy are imported, so that any environment
that has these can be asked.
"""

from __future__ import annotations

import json
import pickle
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

LONGEST_SECONDS = 20
"""A model that takes longer ends the process."""
Question = tuple[bytes, list[tuple[str, bool, list[bytes]]]]
Shapes = Mapping[str, Sequence[int | None] | None]
"""Inferred sizes by result: None for each size that is not known, and for a rank that is not known."""


def main() -> int:
    """Answer the questions from number FIRST on."""
    questions, answers, first = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    onnxruntime.set_default_logger_severity(4)
    with answers.open("a", encoding="utf-8") as out:
        asked: list[Question] = pickle.loads(questions.read_bytes())  # noqa: S301 -- wrong_inference.py wrote it
        for data, operands in asked[first:]:
            signal.alarm(LONGEST_SECONDS)
            out.write(json.dumps(answer(data, operands)) + "\n")
            out.flush()
    return 0


def answer(data: bytes, operands: Sequence[tuple[str, bool, list[bytes]]]) -> dict[str, Any]:
    """Return the inferred shapes by source and the real ones by result; `refused` where onnxruntime does not run it."""
    feeds: dict[str, Any] = {}
    for name, is_sequence, tensors in operands:
        arrays = [numpy_helper.to_array(onnx.TensorProto.FromString(each)) for each in tensors]
        feeds[name] = arrays if is_sequence else arrays[0]
    model = onnx.ModelProto.FromString(data)
    names = [value.name for value in model.graph.output]
    try:
        session = _session(data)
        results = _results(session, model, feeds)
    except Exception as error:  # noqa: BLE001 -- onnxruntime's and pybind11's own classes
        return {"refused": str(error).splitlines()[0][:300] if str(error) else type(error).__name__}
    real = {name: _shapes(value) for name, value in zip(names, results, strict=True)}
    inferred = {
        "onnx": by_onnx(model, data_prop=False),
        "onnx, data_prop": by_onnx(model, data_prop=True),
        "onnxruntime": _by_onnxruntime(session, data, real),
    }
    return {"real": real, "inferred": inferred}


def _session(data: bytes, saved: Path | None = None) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    if saved is not None:
        options.optimized_model_filepath = str(saved)
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _results(session: onnxruntime.InferenceSession, model: onnx.ModelProto, feeds: Mapping[str, Any]) -> list[Any]:
    """Run the model; where a wrong inferred size makes the run fail, run it with inputs of no declared shape."""
    try:
        return list(session.run(None, feeds))
    except Exception:  # noqa: BLE001 -- onnxruntime's own classes
        free = onnx.ModelProto.FromString(model.SerializeToString())
        for value in free.graph.input:
            value.type.tensor_type.ClearField("shape") if value.type.HasField("tensor_type") else None
        return list(_session(free.SerializeToString()).run(None, feeds))


def _shapes(value: object) -> list[list[int]] | None:
    """The shape of a tensor, those of a sequence's elements, or None for other values."""
    if isinstance(value, list):
        return [list(each.shape) for each in value if isinstance(each, np.ndarray)]
    return [list(np.shape(value))] if isinstance(value, (np.ndarray, np.generic)) else None  # type: ignore[arg-type]


def by_onnx(model: onnx.ModelProto, *, data_prop: bool) -> Shapes:
    """Return the shapes that onnx.shape_inference infers of the outputs, and of the elements of sequences."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model, data_prop=data_prop)
    except onnx.shape_inference.InferenceError:
        return {}
    return declared(inferred)


def declared(model: onnx.ModelProto) -> Shapes:
    """Return the shapes that a model declares of its outputs, and of the elements of sequences."""
    found: dict[str, list[int | None] | None] = {}
    for value in model.graph.output:
        kind = value.type
        if kind.HasField("sequence_type"):
            kind = kind.sequence_type.elem_type
        tensor = kind.tensor_type
        found[value.name] = (
            [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
            if kind.HasField("tensor_type") and tensor.HasField("shape")
            else None
        )
    return found


def _by_onnxruntime(session: onnxruntime.InferenceSession, data: bytes, real: Mapping[str, Any]) -> Shapes:
    """Return the shapes that onnxruntime inferred when it loaded the model.

    A session shows no sizes both for rank 0 and for an unknown rank. Where a result is not of rank 0, the model that
    onnxruntime saves distinguishes the two.
    """
    outputs = session.get_outputs()
    if all(output.shape or real[output.name] == [[]] for output in outputs):
        return {
            output.name: [size if isinstance(size, int) else None for size in output.shape] if output.shape else None
            for output in outputs
        }
    with tempfile.TemporaryDirectory(prefix="inference-") as folder:
        saved = Path(folder, "saved.onnx")
        _session(data, saved)
        return declared(onnx.load(str(saved)))


if __name__ == "__main__":
    sys.exit(main())
