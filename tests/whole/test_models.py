from __future__ import annotations

import itertools
import math
import subprocess
import sys
from typing import TYPE_CHECKING

import bench_models
import numpy as np
import onnx
import onnx.checker
import onnxruntime as ort
import pytest
from onnx.helper import tensor_dtype_to_np_dtype
from onnxruntime.capi.onnxruntime_pybind11_state import (
    Fail,
    InvalidArgument,
    RuntimeException,
)
from onnxruntime.capi.onnxruntime_pybind11_state import (
    NotImplemented as NoKernel,
)

from models.builders import build
from models.builders.onnx.reference import reference_cases
from tests.support.places import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from models.builders.onnx.cases import Case

MODELS = ROOT / "models"
CASES = build.all_cases()
RUNS = ("sound", "stale", "unranked", "unchecked", "random")

REFUSALS = (Fail, InvalidArgument, NoKernel, RuntimeException)

NUMPY: dict[str, Callable[..., np.ndarray]] = {
    "Abs": np.abs,
    "Add": np.add,
    "Max": lambda *operands: np.maximum.reduce(np.broadcast_arrays(*operands)),
    "Where": np.where,
}


def session(name: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.log_severity_level = 4  # a stale shape is warned of at length
    options.intra_op_num_threads = 1  # how sums are split, and so rounded, depends on the number of cores
    return ort.InferenceSession(MODELS / f"{name}.onnx", options, ["CPUExecutionProvider"])


def array(value: onnx.ValueInfoProto, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Small positive numbers: valid as repeats, trip counts and shapes too."""
    numbers = np.random.default_rng(seed).integers(1, 3, shape)
    return np.asarray(numbers, tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type))


def shapes(value: onnx.ValueInfoProto, sizes: Mapping[str, int], unknown: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Every shape that a declared one admits, symbols as `sizes` says, unknown dims over `unknown`."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return [(), (2,), (1,), (2, 3, 2)]
    choices = []
    for dim in tensor.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            choices.append((dim.dim_value,))
        else:
            choices.append((sizes[dim.dim_param],) if dim.dim_param in sizes else unknown)
    return list(itertools.product(*choices))


def free_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    constants = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in constants]


def accepted(model: onnx.ModelProto) -> bool:
    try:
        onnx.checker.check_model(model, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError):
        return False
    return True


@pytest.mark.ci
@pytest.mark.needs_release("onnx>=1.23")  # an older one writes other bytes
def test_the_committed_models_are_what_is_built() -> None:
    command = [sys.executable, "-m", "models.builders", "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.ci
def test_check_names_what_differs_is_missing_or_is_too_many(tmp_path: Path) -> None:
    build.main(["--dest", str(tmp_path)])
    assert build.differences(build.build(), tmp_path) == []
    other = tmp_path / "encoder.onnx"
    other.write_bytes(other.read_bytes()[:-1] + b"!")
    (tmp_path / "quantized/qdq.onnx").unlink()
    (tmp_path / "mine.onnx").touch()
    assert build.differences(build.build(), tmp_path) == [
        "quantized/qdq.onnx: is not there",
        "encoder.onnx: differs",
        "mine.onnx: is built by nothing",
    ]
    assert build.main(["--check", "--dest", str(tmp_path)]) == 1


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_onnx_and_the_runtime_take_each_model_as_its_kind_says(case: Case) -> None:
    model = onnx.load(MODELS / f"{case.name}.onnx")
    assert accepted(model) == (case.kind in ("sound", "no kernel", "random"))
    if case.kind in RUNS:
        given = {
            value.name: array(value, shapes(value, {}, (1,))[0], seed) for seed, value in enumerate(free_inputs(model))
        }
        results = session(case.name).run(None, given)
        assert len(results) == len(model.graph.output)
    else:
        with pytest.raises(REFUSALS):
            session(case.name)


@pytest.mark.parametrize(
    "name",
    [
        case.name
        for case in reference_cases()
        if case.kind in RUNS and len(case.model.graph.node) == 1 and case.model.graph.node[0].op_type in NUMPY
    ],
)
def test_a_reference_model_computes_what_numpy_does_at_every_size(name: str) -> None:
    model = onnx.load(MODELS / f"{name}.onnx")
    (node,) = model.graph.node
    symbols = sorted({dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim} - {""})
    runner = session(name)
    ran = 0
    for bound in itertools.product((1, 2, 5), repeat=len(symbols)):
        sizes = dict(zip(symbols, bound, strict=True))
        for chosen in itertools.product(*(shapes(value, sizes, (1, 2, 5)) for value in model.graph.input)):
            given = [
                array(value, shape, seed)
                for seed, (value, shape) in enumerate(zip(model.graph.input, chosen, strict=True))
            ]
            named = dict(zip([value.name for value in model.graph.input], given, strict=True))
            try:
                expected = NUMPY[node.op_type](*given)
            except ValueError:
                with pytest.raises(REFUSALS):
                    runner.run(None, named)
                continue
            (result,) = runner.run(None, named)
            np.testing.assert_array_equal(result, expected, strict=True)
            ran += 1
    assert ran


def test_refused_models_are_refused_by_numpy_too() -> None:
    refused = [case.model for case in CASES if case.kind == "refused"]
    assert refused
    for model in refused:
        declared = [shapes(value, {}, ())[0] for value in model.graph.input]
        with pytest.raises(ValueError, match="broadcast"):
            np.broadcast_shapes(*declared)


@pytest.mark.parametrize(("kind", "amount"), [("inline", 1_000_000), ("external", 1_000_000), ("nodes", 500)])
def test_the_benchmark_writes_models_that_run(kind: str, amount: int, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    bench_models.KINDS[kind](path, amount)
    onnx.checker.check_model(path, full_check=True)
    model = onnx.load(path)
    given = {
        value.name: array(value, shapes(value, {}, (2,))[0], seed) for seed, value in enumerate(free_inputs(model))
    }
    (result,) = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, given)
    assert result.shape == given["w" if kind == "nodes" else "x"].shape
    if kind == "nodes":
        assert len(model.graph.node) == amount
        return
    weights = [onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer]
    assert sum(array.nbytes for array in weights) >= amount
    assert len({array.tobytes() for array in weights}) == len(weights) == 128


def test_the_encoder_is_small_and_its_sizes_are_free() -> None:
    assert (MODELS / "encoder.onnx").stat().st_size < 1_000_000
    model = onnx.load(MODELS / "encoder.onnx")
    assert (model.ir_version, [(entry.domain, entry.version) for entry in model.opset_import]) == (
        8,
        [("", 17)],
    )
    runner = session("encoder")
    for batch, sequence in ((1, 1), (2, 3), (3, 64), (2, 0)):
        tokens = np.arange(batch * sequence, dtype=np.int64).reshape(batch, sequence)
        (states,) = runner.run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
        assert states.shape == (batch, sequence, 64)
        assert np.isfinite(states).all()


def test_the_encoder_does_not_see_masked_tokens_and_sees_all_others() -> None:
    runner = session("encoder")
    tokens = np.array([[5, 6, 7, 8], [9, 10, 11, 12]], np.int64)
    mask = np.array([[1, 1, 1, 0], [1, 1, 1, 1]], np.int64)
    (before,) = runner.run(None, {"input_ids": tokens, "attention_mask": mask})
    tokens[:, 3] = 200
    (after,) = runner.run(None, {"input_ids": tokens, "attention_mask": mask})
    np.testing.assert_array_equal(before[0, :3], after[0, :3])
    assert (np.abs(before[1, :3] - after[1, :3]).max(axis=-1) > 1e-3).all()


def test_the_encoder_agrees_with_numpy_on_one_sequence() -> None:
    weights = {
        tensor.name: onnx.numpy_helper.to_array(tensor)
        for tensor in onnx.load(MODELS / "encoder.onnx").graph.initializer
    }
    tokens = np.array([[3, 1, 4, 1, 5]], np.int64)
    (states,) = session("encoder").run(None, {"input_ids": tokens, "attention_mask": np.ones_like(tokens)})
    np.testing.assert_allclose(states[0], encode(weights, tokens[0]), rtol=0, atol=2e-5)


def encode(weights: Mapping[str, np.ndarray], tokens: np.ndarray) -> np.ndarray:
    """Compute the encoder's states [sequence,64] of one unmasked sequence in float64."""
    erf = np.vectorize(math.erf)

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return centred / scale * weights[f"{name}.weight"] + weights[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ weights[f"onnx::MatMul_{name}"].astype(np.float64) + weights[f"{name}.bias"]

    x = weights["embeddings.word.weight"][tokens].astype(np.float64)
    x = x + weights["embeddings.position.weight"][: len(tokens)]
    y = norm(x, "encoder.layer.0.attention_norm")
    query, key, value = (linear(y, f"encoder.layer.0.attention.{name}") for name in ("query", "key", "value"))
    heads = []
    for head in np.split(np.arange(64), 4):
        scores = query[:, head] @ key[:, head].T / 4
        share = np.exp(scores - scores.max(-1, keepdims=True))
        heads.append(share / share.sum(-1, keepdims=True) @ value[:, head])
    x = x + linear(np.concatenate(heads, -1), "encoder.layer.0.attention.output")
    up = linear(norm(x, "encoder.layer.0.ffn_norm"), "encoder.layer.0.ffn.up")
    x = x + linear(up * (1 + erf(up / math.sqrt(2))) / 2, "encoder.layer.0.ffn.down")
    return norm(x, "encoder.norm")
