"""Whoever asks graphfix about itself waits for nothing: few modules are imported, and little time is spent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from statistics import median

import bench_startup
import pytest

from tests.support.places import ROOT

ALLOWED = {
    "graphfix",
    "graphfix.__main__",
    "graphfix.cli",
    "graphfix.cli.batch",
    "graphfix.cli.batch.options",
    "graphfix.cli.commands",
    "graphfix.cli.configuration",
    "graphfix.cli.configuration.options",
    "graphfix.cli.lint",
    "graphfix.cli.lint.options",
    "graphfix.cli.options",
    "graphfix.cli.parser",
    "graphfix.version",
    "graphfix.cli.standard_streams",
    "graphfix.cli.status",
    "graphfix.targets",
    "graphfix.targets.registry",
}
"""Of graphfix's own modules."""
SLOW = {"dataclasses", "inspect", "tomllib", "json", "importlib.metadata", "subprocess", "threading", "tempfile"}
"""Of the standard library: each takes milliseconds."""
MOST_MULTIPLES = 3
"""How many times the interpreter's own start a question may add; 2.6 was measured with Python 3.11 on busy cores."""
UNUSED = {
    "graphfix.api.own_rewrites",
    "graphfix.checker",
    "graphfix.cli.configuration.command",
    "graphfix.cli.lint.command",
    "graphfix.cli.progress",
    "graphfix.engine.extracts",
    "graphfix.targets.onnxruntime.matching",
    "graphfix.targets.tosa.onnx",
    "graphfix.targets.tosa.tflite",
    "graphfix.targets.files",
    "graphfix.report.forms.registry",
    "graphfix.report.pages",
    "graphfix.runtimes.process",
    "rewrites.tosa",
}
"""What `fix --no-verify` for the default target has no use for."""
USED = {"dataclasses", "inspect"}
FIXES = {
    "onnx": ("models/encoder.onnx", UNUSED | {"graphfix.formats.tflite.model", "onnx", "numpy", "difflib"}),
    "tflite": ("models/prelu.tflite", UNUSED | SLOW - USED | {"graphfix.formats.onnx", "onnx", "numpy", "difflib"}),
}
MOST_TIMES = {"fix of an ONNX file": 1.0, "fix of a TFLite file": 11}
"""The floor: see `bench_startup`. Measured on an AMD EPYC 7001 of 2 GHz: 0.79 and 8.9."""
MOST_MODULES = 70
"""Beside those of the interpreter alone."""


def imported(*argv: str) -> set[str]:
    """What a fresh interpreter has imported when the command is through, beside what it always does."""
    program = (
        "import sys\nbefore = set(sys.modules)\n"
        "try:\n    import graphfix.__main__\n    from graphfix.cli.commands import main\n    main(sys.argv[1:])\n"
        "except SystemExit:\n    pass\n"
        "print('\\x00', *(set(sys.modules) - before))\n"
    )
    command = [sys.executable, "-P", "-c", program, *argv]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}  # it imports much
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=plain)
    return set(done.stdout.rpartition("\0")[2].split())


QUESTIONS = (["--help"], ["--version"], ["fix", "--help"], ["explain", "--help"], ["fix", "--no-such-option"], [])


@pytest.mark.parametrize("argv", QUESTIONS, ids=" ".join)
def test_a_question_about_the_command_line_imports_little(argv: list[str]) -> None:
    modules = imported(*argv)
    assert "graphfix.cli.commands" in modules
    assert {name for name in modules if name.partition(".")[0] in ("graphfix", "rewrites")} <= ALLOWED
    assert modules & SLOW == set()
    assert len(modules) <= MOST_MODULES


def test_a_command_that_does_something_imports_more() -> None:
    assert {"graphfix.report", "dataclasses"} <= imported("explain", "GF101")


@pytest.mark.ci
@pytest.mark.parametrize("format_", FIXES)
def test_fix_imports_nothing_that_it_has_no_use_for(format_: str, tmp_path: Path) -> None:
    model, unused = FIXES[format_]
    modules = imported("fix", str(ROOT / model), "-o", str(tmp_path / "fixed"), "--no-verify", "--isolated")
    assert (tmp_path / "fixed").exists()
    assert modules & unused == set()


@pytest.mark.ci
@pytest.mark.parametrize("name", MOST_TIMES)
def test_a_small_model_is_fixed_in_a_few_times_its_floor(name: str) -> None:
    """The median of a few rounds, in up to three tries."""
    tries = (median(bench_startup.ratios(7, {name: bench_startup.FIXES[name]})[name]) for _ in range(3))
    assert any(ratio <= MOST_TIMES[name] for ratio in tries)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["--help", "--version", "a usage error"])
def test_it_adds_at_most_three_times_the_start_of_the_interpreter(name: str) -> None:
    """Take the median of a few rounds, in up to three tries."""
    tries = (median(bench_startup.multiples(7, {name: bench_startup.COMMANDS[name]})[name]) for _ in range(3))
    assert any(multiple <= MOST_MULTIPLES for multiple in tries)
