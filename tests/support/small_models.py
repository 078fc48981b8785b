"""Small models for a batch, one with its data in another file, and rewrites of a user's own that misbehave."""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import numpy_helper

from tests.support.notation import model

HANG = "import time\n    time.sleep(1000)"
ABORT = "import os\n    os.abort()"
LEAVE = "import os\n    os._exit(7)"
GREEDY = "import time\n    held = b'x' * (1 << 30)\n    time.sleep(1000)"
GREEDY_LATER = (
    "import subprocess, sys, time\n"
    "    code = \"import time; held = b'x' * (1 << 30); time.sleep(1000)\"\n"
    "    subprocess.Popen([sys.executable, '-c', code], process_group=0)\n"
    "    time.sleep(1000)"
)
"""Not itself: what it starts."""
LOCKING = "import re\n    re.match('(a*)*b', 'a' * 1000)"
"""A regular expression that never ends keeps the interpreter's lock."""
FAULTY = "raise KeyError('x')"


def rewrite(folder: Path, plan: str) -> Path:
    """A file with a rewrite of the name `own`, which does this where a Mul is planned."""
    path = folder / "own.py"
    path.write_text(
        f'"""Do what no rewrite should."""\n\nON = frozenset({{("", "Mul")}})\nCODE = "MY101"\n\n\n'
        f"def plan(node):\n    {plan}\n    yield\n"
    )
    return path


def multiplying(path: Path) -> Path:
    """A model with a Mul, which the rewrite is about."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model("y[2,3] = Mul(x[2,3], b[3])").SerializeToString())
    return path


def adding(path: Path) -> Path:
    """A model that it lets be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(model("y[2,3] = Add(x[2,3], b[3])").SerializeToString())
    return path


def with_data(path: Path, location: str, number: float) -> Path:
    """A model with data in another file, each element of it this number."""
    multiplying(path)
    proto = onnx.load(path)
    weight = numpy_helper.from_array(numpy_helper.to_array(onnx.helper.make_tensor("b", 1, [3], [number] * 3)), "b")
    proto.graph.initializer.append(weight)
    del proto.graph.input[1:]
    (path.parent / location).parent.mkdir(parents=True, exist_ok=True)
    (path.parent / location).unlink(missing_ok=True)
    onnx.save(proto, path, save_as_external_data=True, location=location, size_threshold=0, convert_attribute=False)
    return path
