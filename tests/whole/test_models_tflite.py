from __future__ import annotations

import io
import itertools
import struct
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import ai_edge_litert.schema_py_generated as schema
import numpy as np
import pytest

from models.builders.tflite.cases import TFLITE_KINDS, TfliteCase, tflite_cases
from tests.support.places import MODELS, ROOT
from tests.support.runtimes.litert_runs import KERNELS, Job, Ran, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CASES = tflite_cases()
NAMES = {code: name for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)}
DTYPES = {code: name.lower() for name, code in vars(schema.TensorType).items() if isinstance(code, int)}
RFC = [case for case in CASES if case.name.startswith("rfc")]


@dataclass(frozen=True)
class File:
    """What the object API reads of a committed model."""

    model: Any

    @property
    def main(self) -> Any:  # noqa: ANN401 -- the object API has no types
        return self.model.subgraphs[0]

    @property
    def inputs(self) -> list[Any]:
        return [self.main.tensors[index] for index in self.main.inputs]

    @property
    def op(self) -> str:
        """The operator of a model that has one only."""
        (code,) = self.model.operatorCodes
        return NAMES[code.builtinCode]

    def constants(self) -> dict[str, np.ndarray]:
        """Every constant that is no text, by its name; those of scales in real numbers."""
        tensors = [tensor for graph in self.model.subgraphs for tensor in graph.tensors]
        return {
            tensor.name.decode(): real(self.content(tensor), tensor)
            for tensor in tensors
            if self.model.buffers[tensor.buffer].data is not None and DTYPES[tensor.type] != "string"
        }

    def content(self, tensor: Any) -> np.ndarray:  # noqa: ANN401 -- the object API has no types
        data = bytes(self.model.buffers[tensor.buffer].data)
        return np.frombuffer(data, DTYPES[tensor.type]).reshape(dims(tensor))


@cache
def read(name: str) -> File:
    data = (ROOT / "models" / f"{name}.tflite").read_bytes()
    return File(schema.ModelT.InitFromPackedBuf(data))


def dims(tensor: Any) -> list[int]:  # noqa: ANN401 -- the object API has no types
    shape = tensor.shapeSignature if tensor.shapeSignature is not None else tensor.shape
    return [] if shape is None else list(shape)


def real(array: np.ndarray, tensor: Any) -> np.ndarray:  # noqa: ANN401 -- the object API has no types
    """Numbers as their scales mean them."""
    scales = tensor.quantization
    if scales is None or scales.scale is None:
        return array.astype(np.float32) if array.dtype == np.float16 else array
    along = [1] * array.ndim
    if len(scales.scale) > 1:
        along[scales.quantizedDimension] = -1
    scale, zero = (np.reshape(list(it), along if len(it) > 1 else ()) for it in (scales.scale, scales.zeroPoint))
    return (array.astype(np.float64) - zero) * scale


def stored(numbers: np.ndarray, tensor: Any) -> np.ndarray:  # noqa: ANN401 -- the object API has no types
    """Real numbers as the tensor holds them: scaled, rounded, kept in range."""
    dtype = DTYPES[tensor.type]
    if tensor.quantization is None or tensor.quantization.scale is None:
        return np.asarray(numbers, dtype)
    scaled = np.round(np.asarray(numbers) / tensor.quantization.scale[0]) + tensor.quantization.zeroPoint[0]
    return np.clip(scaled, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)


def shapes(file: File) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every choice of the free sizes: 1, and each size above 1 that the inputs state, or 3."""
    declared = [dims(tensor) for tensor in file.inputs]
    sizes = {1, *itertools.chain(*declared)} - {-1, 0}
    choices = sorted(sizes if len(sizes) > 1 else {1, 3})
    free = [(at, axis) for at, shape in enumerate(declared) for axis, size in enumerate(shape) if size < 0]
    for chosen in itertools.product(choices, repeat=len(free)):
        filled = [list(shape) for shape in declared]
        for (at, axis), size in zip(free, chosen, strict=True):
            filled[at][axis] = size
        yield tuple(map(tuple, filled))


def feeds(file: File, filled: tuple[tuple[int, ...], ...], seed: int) -> dict[str, np.ndarray]:
    """Small numbers, quarters where they are real: sums and products are exact."""
    generator = np.random.default_rng(seed)
    made = {}
    for tensor, shape in zip(file.inputs, filled, strict=True):
        dtype = DTYPES[tensor.type]
        numbers = generator.integers(-8, 9, shape)
        if dtype == "string":
            made[tensor.name.decode()] = np.array([b"abc"[at % 3 : at % 3 + 1] for at in numbers.ravel()], object)
            made[tensor.name.decode()] = made[tensor.name.decode()].reshape(shape)
        elif dtype == "float32":
            made[tensor.name.decode()] = np.asarray(numbers / 4, dtype)
        else:
            made[tensor.name.decode()] = np.asarray(numbers > 0 if dtype == "bool" else numbers, dtype)
    return made


def jobs_of(case: TfliteCase) -> list[Job]:
    file = read(case.name)
    path = ROOT / "models" / f"{case.name}.tflite"
    return [
        Job(path, kernels, feeds(file, filled, seed)) for seed, filled in enumerate(shapes(file)) for kernels in KERNELS
    ]


@pytest.fixture(scope="module")
def runs() -> Mapping[str, list[tuple[Job, Ran]]]:
    """Every run of every model: name -> (what was asked, what came)."""
    jobs = [job for case in CASES for job in jobs_of(case)]
    found: dict[str, list[tuple[Job, Ran]]] = defaultdict(list)
    for job, ran in zip(jobs, run(jobs), strict=True):
        found[job.path.relative_to(MODELS).with_suffix("").as_posix()].append((job, ran))
    return found


# --- what LiteRT does with each ---------------------------------------------------------------------------------------


@pytest.mark.alike(5)
@pytest.mark.parametrize("case", [case for case in CASES if case.kind == "runs"], ids=lambda case: case.name)
def test_litert_runs_it_on_every_kernel_set(case: TfliteCase, runs: Mapping[str, list[tuple[Job, Ran]]]) -> None:
    done = {job.kernels for job, ran in runs[case.name] if ran.fine}
    assert done == set(KERNELS), [ran for _, ran in runs[case.name]]


def the_others() -> list[TfliteCase]:
    return [case for case in CASES if case.kind != "runs"]


EXPECTED_TO_FAIL: dict[str, Callable[[Job, Ran], bool]] = {
    "partly": lambda job, ran: (
        "Didn't find op for builtin opcode" in ran.error if job.kernels == "reference" else ran.fine
    ),
    "no kernel": lambda _, ran: "Didn't find op" in ran.error or "unresolved custom op" in ran.error,
    "refused": lambda job, ran: ("XNNPack" if job.kernels == "xnnpack" else "not broadcastable") in ran.error,
    "aborts": lambda _, ran: ran.signal == "SIGABRT",
}


@pytest.mark.needs_release("ai-edge-litert>=2.3")  # an older one runs nine axes
@pytest.mark.parametrize("case", the_others(), ids=lambda case: case.name)
def test_litert_fails_on_it_as_its_kind_says(case: TfliteCase, runs: Mapping[str, list[tuple[Job, Ran]]]) -> None:
    assert case.kind in TFLITE_KINDS
    for job, ran in runs[case.name]:
        if case.kind == "garbage":
            second = np.broadcast_to(job.feeds["z"], job.feeds["x"].shape)
            assert not np.allclose(ran.outputs[0], np.arctan2(job.feeds["x"], second))
        else:
            assert EXPECTED_TO_FAIL[case.kind](job, ran), (job, ran)


# --- the numbers ------------------------------------------------------------------------------------------------------

ELEMENTWISE: dict[str, Callable[..., np.ndarray]] = {
    "ADD": np.add,
    "ABS": np.abs,
    "LOGICAL_AND": np.logical_and,
    "LOGICAL_NOT": np.logical_not,
    "SELECT_V2": np.where,
}


@pytest.mark.parametrize("case", [case for case in RFC if case.kind == "runs"], ids=lambda case: case.name)
def test_the_combinations_are_numpys_for_every_size(
    case: TfliteCase, runs: Mapping[str, list[tuple[Job, Ran]]]
) -> None:
    file = read(case.name)
    (result,) = (file.main.tensors[index] for index in file.main.outputs)
    for job, ran in runs[case.name]:
        operands = [real(job.feeds[tensor.name.decode()], tensor) for tensor in file.inputs]
        try:
            expected = ELEMENTWISE[file.op](*operands)
        except ValueError:
            assert not ran.fine, job
            continue
        np.testing.assert_array_equal(ran.outputs[0], stored(expected, result), strict=True)


def turns(v: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    left = max(0, 5 - int(v["i"]))
    return [v["i"] + left, v["x"] + left * v["b"]]


def swapped(array: np.ndarray) -> np.ndarray:
    return np.swapaxes(array, -1, -2)


Value = dict[str, np.ndarray]
EXPECTED: dict[str, Callable[[Value], list[np.ndarray]]] = {
    "shapes/two_sided": lambda v: [v["x"][None] + v["z"]],
    "shapes/outer": lambda v: [v["x"] * v["z"]],
    "shapes/scalar_free": lambda v: [v["x"] - v["z"]],
    "shapes/scalar_scalar": lambda v: [v["x"] * v["z"]],
    "constants/shared": lambda v: [v["x"] + v["c"], v["z"] + v["c"], v["c"][[2, 0]]],
    "constants/shared_buffer": lambda v: [v["x"] + v["c"], v["z"] + v["c"]],
    "shapes/same_operand": lambda v: [2 * v["x"] + v["z"]],
    "shapes/output_operand": lambda v: [v["a"] + v["b"], v["x"] * (v["a"] + v["b"])],
    "operators/activation": lambda v: [np.maximum(v["x"] + v["b"], 0)],
    "shapes/zero_sizes": lambda _: [np.empty((0, 3))],
    "legacy/old_converter": lambda v: [v["x"] / 2],
    "legacy/old_converter_scalar": lambda v: [v["x"] - v["x"].max()],
    "files/variable": lambda v: [np.stack([v["x"], v["x"]])],
    "operators/strings": lambda v: [v["x"] == np.array([b"a", b"b", b"c"], object)],
    "quantized/scales_differ": lambda v: [v["x"] + v["b"]],
    "quantized/per_channel": lambda v: [(v["a"] + v["x"]) * v["b"]],
    "constants/half": lambda v: [v["x"] + v["h"], v["z"] * v["h"]],
    "operators/select_rows": lambda v: [np.stack([v["x" if row else "z"][at] for at, row in enumerate(v["c"])])],
    "operators/select_scalar": lambda v: [v["x"] if v["c"] else v["z"]],
    "operators/select_ranks": lambda v: [np.where(v["c"], v["x"], v["z"])],
    "operators/batch_matmul": lambda v: [v["a"] @ v["b"], v["c"] @ swapped(v["d"])],
    "shapes/rank_5": lambda v: [v["x"] + v["z"]],
    "shapes/rank_6": lambda v: [v["x"] * v["z"]],
    "shapes/rank_8": lambda v: [v["x"] + v["z"]],
    "shapes/rank_9_equal": lambda v: [v["x"] + v["z"]],
    "prelu": lambda v: [np.where(v["x"] < 0, v["x"] * v["alpha"], v["x"])],
    "explicit/broadcast_to": lambda v: [v["x"] + v["z"]],
    "explicit/broadcast_to_no_op": lambda v: [v["x"] + v["z"]],
    "explicit/tile": lambda v: [v["x"] + v["z"]],
    "explicit/run_time_form": lambda v: [v["x"] + v["z"]],
    "bodies/if": lambda v: [v["x"] + v["b"] if v["c"] else v["x"] * v["s"]],
    "bodies/while": turns,
    "files/signatures": lambda v: [v["x"] + v["b"]],
    "files/archive": lambda v: [v["x"] + v["b"]],
    "files/control_dependencies": lambda v: [v["x"] + v["b"], v["z"] * v["c"]],
}
UNCHECKED = {"prelu_int16": "LiteRT's kernel is off by up to a hundred units where the input is negative"}


def plain(name: str) -> str:
    """The feature's name, without its element type."""
    return name.removesuffix("_int8").removesuffix("_int16").removesuffix("_int32")


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case not in RFC and case.kind == "runs" and case.name not in UNCHECKED],
    ids=lambda case: case.name,
)
def test_a_feature_computes_what_its_line_says(case: TfliteCase, runs: Mapping[str, list[tuple[Job, Ran]]]) -> None:
    file = read(case.name)
    results = [file.main.tensors[index] for index in file.main.outputs]
    for job, ran in runs[case.name]:
        values = file.constants() | {it.name.decode(): real(job.feeds[it.name.decode()], it) for it in file.inputs}
        try:
            expected = EXPECTED[plain(case.name)](values)
        except ValueError:
            assert not ran.fine, job
            continue
        for output, number, tensor in zip(ran.outputs, expected, results, strict=True):
            rounding = 0 if DTYPES[tensor.type] not in ("int8", "int16") else 1
            wanted = stored(number, tensor)
            assert output.dtype == wanted.dtype
            np.testing.assert_allclose(output.astype(float), wanted.astype(float), rtol=0, atol=rounding)


# --- the files --------------------------------------------------------------------------------------------------------


def test_every_element_type_and_number_of_subgraphs_is_there() -> None:
    files = [read(case.name).model for case in CASES]
    types = {DTYPES[tensor.type] for file in files for graph in file.subgraphs for tensor in graph.tensors}
    assert types >= {"float32", "float16", "int8", "int16", "bool", "string", "int32"}
    assert {len(file.subgraphs) for file in files} == {1, 2, 3}


def test_the_models_stay_small() -> None:
    assert sum(len(case.data) for case in CASES) < 200_000


@pytest.mark.alike(4)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_container_keeps_the_formats_rules(case: TfliteCase) -> None:
    model = schema.Model.GetRootAs(case.data, 0)
    assert case.data[4:8] == b"TFL3"
    assert model.Buffers(0).DataLength() == 0
    for at in range(model.OperatorCodesLength()):
        code = model.OperatorCodes(at)
        assert code.DeprecatedBuiltinCode() == min(code.BuiltinCode(), 127)
    for at in range(model.BuffersLength()):
        if model.Buffers(at).DataLength():
            assert place(model.Buffers(at)) % 16 == 0


def place(buffer: Any) -> int:  # noqa: ANN401 -- the object API has no types
    """Where in the file a buffer's data begins, by FlatBuffers' own rules."""
    table = buffer._tab
    return int(table.Vector(table.Offset(4)))


def test_free_sizes_are_minus_one_in_the_signature_and_one_in_the_shape() -> None:
    x0, x1 = read("rfc/half_dynamic").inputs
    assert [list(x0.shape), list(x0.shapeSignature)] == [[2, 1], [2, -1]]
    assert [list(x1.shape), list(x1.shapeSignature)] == [[1, 1], [-1, -1]]
    assert [tensor.shapeSignature for tensor in read("rfc/equal_static_2d").inputs] == [None, None]


def test_one_buffer_serves_two_constants_of_two_ranks() -> None:
    tensors = {tensor.name: tensor for tensor in read("constants/shared_buffer").main.tensors}
    assert tensors[b"c"].buffer == tensors[b"d"].buffer != 0
    assert [list(tensors[name].shape) for name in (b"c", b"d")] == [[4], [1, 4]]


def test_signatures_name_tensors_of_their_subgraphs() -> None:
    file = read("files/signatures").model
    signatures = {it.signatureKey: it for it in file.signatureDefs}
    assert set(signatures) == {b"serving_default", b"scaled"}
    assert signatures[b"scaled"].subgraphIndex == 1
    for signature in signatures.values():
        (maps,) = signature.inputs
        assert maps.name == b"image"
        assert list(file.subgraphs[signature.subgraphIndex].inputs) == [maps.tensorIndex]


def test_the_archive_opens_with_offsets_from_the_files_begin() -> None:
    data = (ROOT / "models" / "files/archive.tflite").read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.namelist() == ["labels.txt", "vocabulary.txt"]
        assert archive.read("labels.txt") == b"cat\ndog\n"
    end = data.rindex(b"PK\5\6")
    size, offset = struct.unpack_from("<2I", data, end + 12)
    assert offset + size == end
    file = read("files/archive").model
    assert {it.name: bytes(file.buffers[it.buffer].data) for it in file.metadata} == {
        b"min_runtime_version": b"1.5.0".ljust(16, b"\0"),
        b"note": b"kept as it is",
    }
