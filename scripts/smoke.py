"""Run a set of graphfix's commands on committed models, and check the status, the text and the files of each.

    python scripts/smoke.py [GRAPHFIX]

GRAPHFIX is the command to run, `graphfix` on the PATH by default. `.ci/run` calls this script in the environments with
the lowest and with the newest releases of the dependencies, where it does not run all tests. The commands run one after
the other in a new folder with a link to `models/`, because later commands read files of earlier ones. The script runs
in any Python from 3.11 on, because it imports no module of graphfix. Status 0: each command ended as expected; else 1.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 120
"""The seconds after which a command is stopped."""


@dataclass(frozen=True)
class Step:
    """A command of graphfix and what is expected of it."""

    status: int
    command: str
    text: str
    """A regular expression that must match a part of the command's stdout or stderr."""
    files: str = ""
    """Files that the command writes, each with at least one byte."""


PROVED = r"proved for all inputs and sizes; .* bit-equal over \d+ runs?"
STEPS = (
    Step(0, "--version", r"graphfix \d"),
    Step(0, "doctor", "all that graphfix needs works"),
    Step(0, "config", r"(?m)^time-limit = 600\.0"),
    Step(0, "completion bash", "complete .*graphfix"),
    Step(0, "explain GF101", "rank"),
    Step(0, "explain equalize-ranks", r"\[1,1,4,5\]"),
    Step(0, "explain tosa", "tosa_spec"),
    # ONNX
    Step(0, "show models/rfc_rank_expansion.onnx --maps", r"operand 0: \(d0, d1, d2\) -> \(d1, d2\)"),
    Step(1, "check models/encoder.onnx --json", '"code": "GF101"'),
    Step(0, "fix models/encoder.onnx -o explicit.onnx --report r.json --report r.html --report r.md", PROVED,
         "explicit.onnx r.json r.html r.md"),
    Step(0, "check explicit.onnx", "clean"),
    Step(0, "verify models/encoder.onnx explicit.onnx", PROVED),
    Step(0, "fix models/encoder.onnx -o ranks.onnx --target ranks --report r.sarif --report r.xml", PROVED,
         "ranks.onnx r.sarif r.xml"),
    Step(0, "check ranks.onnx --target ranks", "clean for target ranks"),
    Step(0, "fix models/encoder.onnx -o fused.onnx --keep-fusions", PROVED, "fused.onnx"),
    Step(0, "fix explicit.onnx -o compact.onnx --target compact", PROVED, "compact.onnx"),
    Step(0, "check compact.onnx --target compact", "clean for target compact"),
    Step(0, "fix explicit.onnx -o onnxruntime.onnx --target onnxruntime", PROVED, "onnxruntime.onnx"),
    Step(0, "fix models/matmul.onnx -o tosa.onnx --target tosa --bind-defaults", PROVED, "tosa.onnx"),
    Step(0, "check tosa.onnx --target tosa", "clean for target tosa"),
    Step(0, "fix models/exported/bert_legacy.onnx -o bert.onnx --dim batch=2", PROVED, "bert.onnx"),
    Step(4, "fix models/bodies/loop_rank.onnx -o loop.onnx", r"\d+ sites? left for target explicit", "loop.onnx"),
    Step(0, "fix models/bodies/loop_rank.onnx -o zero.onnx --exit-zero", r"\d+ sites? left for target", "zero.onnx"),
    # TFLite
    Step(0, "show models/bodies/while.tflite", "4 nodes: ADD 2, WHILE 1, LESS 1"),
    Step(1, "check models/bodies/while.tflite --format sarif", '"ruleId": "GF101"'),
    Step(0, "fix models/bodies/while.tflite -o while.tflite", PROVED + " on 3 kernel sets", "while.tflite"),
    Step(0, "check while.tflite", "clean"),
    Step(0, "verify models/bodies/while.tflite while.tflite", PROVED + " on 3 kernel sets"),
    *(
        Step(0, f"fix models/exported/resnet_fixed_int8.tflite -o {target}.tflite --target {target}", PROVED,
             f"{target}.tflite")
        for target in ("ranks", "tosa", "litert-gpu")
    ),
    Step(0, "fix ranks.tflite -o compact.tflite --target compact", PROVED, "compact.tflite"),
    # several models, and what is refused
    Step(4, "batch models/legacy -o fixed", r"(\d+) models: \1 written", "fixed/prelu.onnx fixed/old_converter.tflite"),
    Step(1, "batch models/legacy -o checked --check", r"(\d+) models: \1 findings"),
    Step(1, "verify models/encoder.onnx models/matmul.onnx", "different: the inputs differ"),
    Step(2, "fix models/rfc/incompatible.onnx -o none.onnx", r"\[2, ?3\] and \[4, ?3\] do not broadcast"),
    Step(2, "check nothing.onnx", "nothing.onnx: no such file"),
    Step(2, "tosa models/matmul.onnx -o matmul.tosa", r"torch-mlir and tosa-tools are not installed: .*pip install"),
)  # fmt: skip


def main(graphfix: str) -> int:
    """Run all steps, print a line for each, and return the exit status."""
    begun, faults = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "models").symlink_to(ROOT / "models")
        for step in STEPS:
            before = time.monotonic()
            fault = run(graphfix, step, Path(folder))
            print(f"{'FAULT' if fault else 'ok':5}  {time.monotonic() - before:5.1f} s  graphfix {step.command}{fault}")
            faults += bool(fault)
    print(f"{len(STEPS)} commands, {faults} with a fault; {time.monotonic() - begun:.0f} s")
    return int(faults > 0)


def run(graphfix: str, step: Step, folder: Path) -> str:
    """Return the faults of a command's answer, with its output; an empty string if there is no fault."""
    command = [graphfix, *shlex.split(step.command)]
    try:
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"\n    no answer after {SECONDS} s"
    output = ended.stdout + ended.stderr
    wrong = [
        *([f"status {ended.returncode}, not {step.status}"] if ended.returncode != step.status else []),
        *([f"the output does not match {step.text!r}"] if not re.search(step.text, output) else []),
        *(["a traceback"] if "Traceback" in output or "internal error" in output else []),
        *(f"{name} is absent or empty" for name in step.files.split() if not is_written(folder / name)),
    ]
    if not wrong:
        return ""
    last = output.strip().splitlines()[-12:]
    return "".join(f"\n    {line}" for line in (f"({'; '.join(wrong)})", *last))


def is_written(path: Path) -> bool:
    """Return whether a file exists and has at least one byte."""
    return path.is_file() and path.stat().st_size > 0


if __name__ == "__main__":
    sys.exit(main(*(sys.argv[1:] or ["graphfix"])))
