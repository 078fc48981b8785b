"""Ask what became of a model: a process of graphfix's environment runs the original and every result beside it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from peers.record import Quality

SCRIPTS = Path(__file__).resolve().parents[1]


def judged(
    model: Path, name: str, results: Mapping[str, Path], python: Path, limit: float
) -> tuple[Quality, dict[str, Quality]]:
    """Return the original's quality, and each result's; `name` is what the zoo calls the model.

    `limit` is in seconds, for one result. What ends the process of one result is said of that result.
    """
    asked = {"model": str(model), "name": name, "limit": limit}
    asked["results"] = {each: str(path) for each, path in results.items()}
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [python, "-P", "-m", "peers.judge"],
        input=json.dumps(asked),
        env=variables | {"PYTHONPATH": str(SCRIPTS), "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        nothing = Quality(False, reason=f"not judged: {(done.stderr.strip().splitlines() or ['?'])[-1][:160]}")
        return nothing, dict.fromkeys(results, nothing)
    said = json.loads(done.stdout.replace(f"{model.parent}/", ""))
    return Quality(**said["original"]), {each: Quality(**found) for each, found in said["results"].items()}
