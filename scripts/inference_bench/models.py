"""Load and run the models of scripts/bench_inference.py, and measure the memory of one model in a separate process.

    python -m inference_bench.models MODEL [--shape I=S,S,..]... [--value I=V]...        in scripts/

This command prints by how many KiB the process's largest memory exceeds the memory before the model is loaded. For
Linux.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tosa_tables.zoo import Case

SCRIPTS = Path(__file__).resolve().parents[1]

MEMORY_RUNS = 3
Run = Callable[[], object]


@dataclass(frozen=True)
class Loaded:
    """A loaded model: a function that runs it once, and its operators."""

    run: Run
    operators: Counter[str]
    """How often the runtime runs each operator; empty if they were not counted."""


def load(path: Path, case: Case, *, count: bool = True) -> Loaded:
    """Load a model for inputs of the case's shapes and values. Raise any exception that the runtime raises.

    `count` is whether the operators are counted, which loads the model once more.
    """
    return (_onnx if path.suffix == ".onnx" else _tflite)(path, case, count=count)


def _onnx(path: Path, case: Case, *, count: bool) -> Loaded:
    """Load an ONNX model in onnxruntime with one thread."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    operators: Counter[str] = Counter()
    if count:
        operators = _optimized(path)
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {}
    for spec in session.get_inputs():
        free = [size if isinstance(size, int) else 1 for size in spec.shape]
        given = [int(size) for size in case.shapes[spec.name].split(",")] if spec.name in case.shapes else free
        feeds[spec.name] = example(given, ORT_TYPES[spec.type])
        if spec.name in case.values:
            feeds[spec.name] = np.full_like(feeds[spec.name], int(case.values[spec.name]))
    return Loaded(lambda: session.run(None, feeds), operators)


ORT_TYPES = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(uint8)": np.uint8,
    "tensor(int8)": np.int8,
    "tensor(bool)": np.bool_,
}


def _optimized(path: Path) -> Counter[str]:
    """Return how often each operator occurs in the graph that onnxruntime optimized."""
    import onnx
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        options.optimized_model_filepath = str(Path(folder, "optimized.onnx"))
        onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        graph = onnx.load(options.optimized_model_filepath, load_external_data=False).graph
    return Counter(node.op_type for node in graph.node)


def _tflite(path: Path, _: Case, *, count: bool) -> Loaded:
    """Load a TFLite model in LiteRT with one thread. Its inputs have the stored shapes."""
    from ai_edge_litert.interpreter import Interpreter

    plain: Counter[str] = Counter()
    if count:
        plain = Counter(each["op_name"] for each in Interpreter(str(path))._get_ops_details())  # noqa: SLF001
    interpreter = Interpreter(str(path), num_threads=1)
    interpreter.allocate_tensors()
    parts = sum(each["op_name"] == "DELEGATE" for each in interpreter._get_ops_details())  # noqa: SLF001
    for spec in interpreter.get_input_details():
        interpreter.set_tensor(spec["index"], example(list(spec["shape"]), spec["dtype"]))
    plain.pop("DELEGATE", None)
    return Loaded(interpreter.invoke, plain + Counter({"parts for XNNPACK": parts}))


def example(shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401 -- any type of numpy's
    """Return random numbers around 0. Integers are only 0 and 1, so that a number that is used as an index is valid."""
    source = np.random.default_rng(0)
    if np.issubdtype(dtype, np.floating):
        return source.standard_normal(shape).astype(dtype)
    return source.integers(0, 2, shape).astype(dtype)


def peak(path: Path, case: Case) -> int:
    """Return by how many KiB loading and running the model enlarges a process at most.

    Raise CalledProcessError if the process fails.
    """
    shapes = [f"--shape={name}={text}" for name, text in case.shapes.items()]
    values = [f"--value={name}={text}" for name, text in case.values.items()]
    asked = [sys.executable, "-m", "inference_bench.models", str(path.resolve()), *shapes, *values]
    return int(subprocess.run(asked, cwd=SCRIPTS, check=True, capture_output=True, text=True).stdout.split()[-1])


def main() -> int:
    """Load and run a model, and print by how many KiB the largest memory exceeds the memory before."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--value", action="append", default=[])
    options = parser.parse_args()
    shapes, values = (dict(text.split("=", 1) for text in texts) for texts in (options.shape, options.value))
    import ai_edge_litert.interpreter  # noqa: F401 -- what the runtimes take without a model is not counted
    import onnxruntime  # noqa: F401

    before = _kibibytes("VmRSS")
    loaded = load(options.model, Case(shapes, values), count=False)
    for _ in range(MEMORY_RUNS):
        loaded.run()
    print(_kibibytes("VmHWM") - before)
    return 0


def _kibibytes(name: str) -> int:
    """Return a number in KiB from this process's status file, such as `VmRSS`.

    getrusage is not used, because it includes memory of the parent process from before this program started.
    """
    return next(int(line.split()[1]) for line in lines("/proc/self/status") if line.startswith(name))


def lines(path: str) -> Sequence[str]:
    """Return the lines of a file, or an empty sequence if the file does not exist."""
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else ()


if __name__ == "__main__":
    sys.exit(main())
