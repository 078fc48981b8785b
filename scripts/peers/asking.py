"""Run a module in a separate process of graphfix's environment, and return its answer.

The process that measures peaks of memory must not import such a module itself.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SCRIPTS = Path(__file__).resolve().parents[1]


class AskingError(Exception):
    """The process failed; the message is the last line on its stderr, with at most 160 characters."""


def ask(python: Path, module: str, question: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer of `python -m module`, which reads `question` as JSON and prints JSON.

    `question` contains the path `model`. In the answer, the folder of the model is removed from all paths. Raise
    AskingError if the exit status is not 0.
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
