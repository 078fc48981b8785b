"""Run both files of a proved pair in a separate process, and compare the results bit for bit."""

from __future__ import annotations

import multiprocessing
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attacking.pair import Feed, Pair

SIZES = ((1, 1), (2, 3), (3, 2), (1, 4), (4, 1), (0, 2))
"""For each of six runs, the sizes of the first and the second symbol. Further symbols use the two sizes alternately."""
KERNELS = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO")
SPECIAL = (np.nan, np.inf, -np.inf, -0.0, 0.0, 3.4e38, -3.4e38, 1e-40, 1.0, 0.5)
SECONDS = 30
NEAR = 1e-5
STEPS = 2
"""The largest difference of two 8-bit numbers if the proof makes an assumption about the rounding of their sums."""


def _sizes(pair: Pair, run: int) -> dict[str, int]:
    """Return the size of each symbol of the pair's inputs in this run, as the options of the pair allow."""
    symbols = sorted({dim for feed in pair.feeds for dim in feed.shape if isinstance(dim, str)})
    sizes = {symbol: SIZES[run][at % 2] for at, symbol in enumerate(symbols)}
    sizes |= {symbol: allowed[run % len(allowed)] for symbol, allowed in pair.sizes.items()}
    if "H" in sizes:
        sizes["H"] = (5, 6, 7, 8, 9, 4)[run]
    if pair.options.get("same"):
        sizes["K"] = sizes.get("N", 1)
    return sizes


def fed(feed: Feed, sizes: dict[str, int], run: int, rng: np.random.Generator) -> np.ndarray:
    """Return the value of an input, random unless the feed states a value.

    In runs with an odd number, some floats and some unbounded integers are special, such as NaN or the smallest
    integer.
    """
    shape = tuple(sizes[dim] if isinstance(dim, str) else dim for dim in feed.shape)
    if feed.value is not None:
        return np.asarray(feed.value)
    if feed.kind == "str":
        return rng.choice(np.array(["", "a", "bc"], object), shape)
    if feed.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool) if shape else np.array(run % 2 == 0)
    if feed.kind.startswith(("int", "uint")):
        bounds = np.iinfo(feed.kind)
        low, high = (feed.low, feed.high) if feed.low is not None else (-9, 9) if bounds.min else (0, 19)
        values = rng.integers(low, high, shape, endpoint=True).astype(feed.kind)
        odd = np.array([bounds.min, bounds.max, -1 if bounds.min else 1]).astype(feed.kind)
        rare = (rng.random(shape) < 0.2) & (run % 2 == 1) & (feed.low is None)
        return np.where(rare, rng.choice(odd, shape), values).astype(feed.kind)
    values = rng.normal(size=shape)
    rare = (rng.random(shape) < 0.15) & (run % 2 == 1)
    with np.errstate(over="ignore"):
        return np.where(rare, rng.choice(np.array(SPECIAL), shape), values).astype(feed.kind)


def unlike(one: Sequence[Any], other: Sequence[Any], *, near: bool, rounded: bool = False) -> str:
    """Return how the results differ, or an empty text if they are equal. All NaN are equal to each other.

    `near` accepts floats that differ by less than about `NEAR`, and `rounded` accepts 8-bit numbers that differ by at
    most `STEPS`.
    """
    for place, (a, b) in enumerate(zip(one, other, strict=True)):
        a, b = np.asarray(a), np.asarray(b)  # noqa: PLW2901 - sequences of numbers as arrays
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"output {place} is {b.dtype}{list(b.shape)}, not {a.dtype}{list(a.shape)}"
        if a.dtype.kind == "f":
            a, b = (np.where(np.isnan(each), np.array(np.nan, each.dtype), each) for each in (a, b))  # noqa: PLW2901
            if near and np.allclose(a, b, rtol=NEAR, atol=NEAR, equal_nan=True):
                continue
        elif rounded and a.dtype.itemsize == 1 and np.abs(a.astype(int) - b.astype(int)).max(initial=0) <= STEPS:
            continue
        if a.tolist() != b.tolist() if a.dtype == object else a.tobytes() != b.tobytes():
            return f"output {place} has other values"
    return ""


def _onnx(pair: Pair, folder: str, *, near: bool, empty: bool) -> tuple[bool, str]:
    """Run both ONNX files in onnxruntime without graph optimizations.

    Return whether the first file ran, and the error of the second file, which is empty if there is no error. Runs with
    a size of 0 are skipped unless `empty` is true. `near` is as in `unlike`.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        first = onnxruntime.InferenceSession(f"{folder}/before.onnx", options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001 - nothing is promised of a file that does not load
        return False, ""
    try:
        second = onnxruntime.InferenceSession(f"{folder}/after.onnx", options, providers=["CPUExecutionProvider"])
    except Exception as error:  # noqa: BLE001 - every kind of failure is a finding
        return True, f"does not load: {str(error)[:200]}"
    asked = {input_info.name: input_info.type for input_info in second.get_inputs()}
    rng, ran = np.random.default_rng(pair.seed), False
    for run in range(len(SIZES)):
        sizes = _sizes(pair, run)
        feeds = {feed.name: fed(feed, sizes, run, rng) for feed in pair.feeds}
        if 0 in sizes.values() and not empty:
            continue
        try:
            results = first.run(None, feeds)
        except Exception:  # noqa: BLE001, S112 - nothing is promised where the first file fails
            continue
        ran = True
        try:
            given = {
                name: feeds[name].astype(np.int32)
                if kind == "tensor(int32)" and feeds[name].dtype == np.int64
                else feeds[name]
                for name, kind in asked.items()
            }
            why = unlike(results, second.run(None, given), near=near)
        except Exception as error:  # noqa: BLE001 - every kind of failure is a finding
            why = f"fails: {str(error)[:200]}"
        if why:
            return True, f"{sizes}: {why}"
    return ran, ""


def _litert(pair: Pair, folder: str, *, near: bool, empty: bool) -> tuple[bool, str]:
    """Run both TFLite files in LiteRT with each set of kernels, and return the same two parts as `_onnx`.

    With `AUTO`, which uses XNNPACK, the last bits may always differ.
    """
    from ai_edge_litert.interpreter import OpResolverType

    ran = False
    for kernel in KERNELS:
        resolver = getattr(OpResolverType, kernel)
        for run in range(len(SIZES)):
            sizes = _sizes(pair, run)
            if 0 in sizes.values() and not empty:
                continue
            try:
                results = _invoked(pair, f"{folder}/before.tflite", resolver, run, sizes)
            except (RuntimeError, ValueError):
                continue
            ran = True
            try:
                other = _invoked(pair, f"{folder}/after.tflite", resolver, run, sizes)
            except (RuntimeError, ValueError) as error:
                return True, f"{kernel} {sizes}: fails: {str(error)[:200]}"
            if why := unlike(results, other, near=near or kernel == "AUTO", rounded=near):
                return True, f"{kernel} {sizes}: {why}"
            if not sizes and run >= 1:
                break
    return ran, ""


def _invoked(pair: Pair, path: str, resolver: object, run: int, sizes: dict[str, int]) -> list[np.ndarray]:
    """Return the results of two successive runs in one interpreter.

    The second run shows the values that variables keep.
    """
    from ai_edge_litert.interpreter import Interpreter

    runtime = Interpreter(model_path=path, experimental_op_resolver_type=resolver, num_threads=1)
    rng = np.random.default_rng(pair.seed + run)
    inputs = runtime.get_input_details()
    values = [fed(feed, sizes, run, rng) for feed in pair.feeds]
    for detail, value in zip(inputs, values, strict=True):
        if list(detail["shape"]) != list(value.shape):
            runtime.resize_tensor_input(detail["index"], value.shape, strict=True)
    runtime.allocate_tensors()
    made = []
    for _ in range(2):
        for detail, value in zip(inputs, values, strict=True):
            runtime.set_tensor(detail["index"], value)
        runtime.invoke()
        made += [runtime.get_tensor(held["index"]).copy() for held in runtime.get_output_details()]
    return made


def _serve(pipe: Any) -> None:  # noqa: ANN401 - a connection
    """Run pairs that arrive through the pipe, and send back the results, until the process is stopped."""
    while True:
        pair, folder, near, empty = pipe.recv()
        pipe.send((_litert if pair.suffix == ".tflite" else _onnx)(pair, folder, near=near, empty=empty))


class Runner:
    """A worker process that runs pairs, and that is started again after a crash or a timeout."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        """Start the worker process, and keep this end of the pipe to it."""
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def close(self) -> None:
        """Stop the worker process."""
        self._process.kill()
        self._process.join()

    def run(self, pair: Pair, folder: str, *, near: bool, empty: bool) -> tuple[bool, str]:
        """Return whether the first file ran, and the error that was found; empty if there is no error.

        A crash of the worker, or no result after `SECONDS`, is an error.
        """
        self._pipe.send((pair, folder, near, empty))
        try:
            if self._pipe.poll(SECONDS):
                found: tuple[bool, str] = self._pipe.recv()
                return found
        except EOFError:
            pass
        self.close()
        self._start()
        return True, "the runtime crashed or did not end"
