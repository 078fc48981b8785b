"""The steps of action.yml run as GitHub's runner runs them: bash, an environment, files for outputs and summary."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.support.places import ROOT

ACTION = ROOT / "action.yml"
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail")
"""What `shell: bash` is on GitHub."""

HOSTILE = [
    "$(touch pwned).onnx",
    "`touch pwned`.onnx",
    '"; touch pwned; ".onnx',
    "'; touch pwned; '.onnx",
    "-o.onnx",
    "--json",
    "a b\tc.onnx",
    "*.onnx",
    "::error::x.onnx",
    "##[error]x.onnx",
    "${{ github.token }}.onnx",
    "<img src=x onerror=alert(1)>.onnx",
    "\u202egnp.onnx",
    "\x1b[31mred.onnx",
]
"""Names of files, one a line."""


def action() -> dict[str, Any]:
    """The action, parsed."""
    parsed: dict[str, Any] = yaml.safe_load(ACTION.read_text(encoding="utf-8"))
    return parsed


def step(name: str) -> dict[str, Any]:
    """One step, by its name."""
    (found,) = [each for each in action()["runs"]["steps"] if each["name"] == name]
    return dict(found)


@dataclass(frozen=True)
class Ran:
    """A step that has ended."""

    status: int
    printed: str
    outputs: dict[str, str]
    summary: str

    @property
    def commands(self) -> list[str]:
        """The lines that the runner takes for its commands: none between `::stop-commands::` and its end."""
        found, paused = [], ""
        for line in map(str.strip, self.printed.splitlines()):
            if paused:
                paused = "" if line == f"::{paused}::" else paused
            elif line.startswith("::stop-commands::"):
                paused = line.removeprefix("::stop-commands::")
            elif line.startswith("::") or "##[" in line:
                found.append(line)
        return found


def run_step(name: str, folder: Path, inputs: dict[str, str], **environment: str) -> Ran:
    """Run the script of a step in `folder`. Inputs that are not given have their defaults."""
    found = step(name)
    given = {key: each.get("default", "") for key, each in action()["inputs"].items()} | inputs
    scratch = folder / ".runner"
    scratch.mkdir(exist_ok=True)
    files = {key: scratch / key.lower() for key in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.write_bytes(b"")
    script = scratch / "script.sh"
    script.write_text(found["run"], encoding="utf-8")
    done = subprocess.run(
        [*BASH, str(script)],
        cwd=folder,
        env={
            **{key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
            "RUNNER_TEMP": str(scratch),
            "GITHUB_ACTION_PATH": str(ROOT),
            **{key: str(file) for key, file in files.items()},
            **{key: _value(text, given) for key, text in found["env"].items()},
            **environment,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )
    lines = files["GITHUB_OUTPUT"].read_text(encoding="utf-8").splitlines()
    summary = files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8", errors="surrogateescape")
    return Ran(done.returncode, done.stdout, dict(line.split("=", 1) for line in lines), summary)


def _value(text: str, inputs: dict[str, str]) -> str:
    """What an expression of the environment stands for; what is no input is the caller's to say."""
    match = re.fullmatch(r"\$\{\{ (?:inputs\.([\w-]+)|[\w.]+) \}\}", text)
    if match is None:
        raise AssertionError(f"an environment is one expression, nothing else: {text}")
    return inputs[match[1]] if match[1] else ""
