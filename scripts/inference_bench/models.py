"""The models of bench_inference.py, loaded and run; the memory that one takes is measured in a process of its own.

    python -m inference_bench.models MODEL [--shape I=S,S,..]... [--value I=V]...        in scripts/

prints the KiB that the process takes more, at most, to load and run the model. For Linux.
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
    """A model that is loaded."""

    run: Run
    operators: Counter[str]
    """What the runtime runs."""


def load(path: Path, case: Case, *, count: bool = True) -> Loaded:
    """Load a model, with inputs of these shapes and values. Raises whatever the runtime raises."""
    return (_onnx if path.suffix == ".onnx" else _tflite)(path, case, count=count)


def _onnx(path: Path, case: Case, *, count: bool) -> Loaded:
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
    """Return numbers around 0, and of integers 0 and 1 alone: an index is one that exists."""
    source = np.random.default_rng(0)
    if np.issubdtype(dtype, np.floating):
        return source.standard_normal(shape).astype(dtype)
    return source.integers(0, 2, shape).astype(dtype)


def peak(path: Path, case: Case) -> int:
    """Return the KiB that a process takes more, at most, to load and run the model. Raises CalledProcessError."""
    shapes = [f"--shape={name}={text}" for name, text in case.shapes.items()]
    values = [f"--value={name}={text}" for name, text in case.values.items()]
    asked = [sys.executable, "-m", "inference_bench.models", str(path.resolve()), *shapes, *values]
    return int(subprocess.run(asked, cwd=SCRIPTS, check=True, capture_output=True, text=True).stdout.split()[-1])


def main() -> int:
    """Load and run a model, and print by how many KiB the most memory is above that before."""
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
    """Return a number of this process; getrusage counts what the parent had before it started this program, too."""
    return next(int(line.split()[1]) for line in lines("/proc/self/status") if line.startswith(name))


def lines(path: str) -> Sequence[str]:
    """Return the lines of a file; none where it is not there."""
    return Path(path).read_text(encoding="utf-8").splitlines() if Path(path).exists() else ()


if __name__ == "__main__":
    sys.exit(main())
