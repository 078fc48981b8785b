"""Ask a module of graphfix's environment, in a process of its own: what the process that measures must not import."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1]


class AskingError(Exception):
    """A process gave no answer: the last line of what it said."""


def ask(python: Path, module: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of `python -m module`, which reads JSON and prints JSON. Raises AskingError.

    The question has a `model`; files beside it are named in the answer as if they were here.
    """
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-P", "-m", module],
        input=json.dumps(question),
        env=variables | {"PYTHONPATH": str(SCRIPTS), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise AskingError((done.stderr.strip().splitlines() or ["?"])[-1][:160])
    return dict(json.loads(done.stdout.replace(f"{Path(question['model']).parent}/", "")))
