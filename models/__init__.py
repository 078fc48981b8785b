"""The models of the repository; models.builders builds them. A package, so that no other `models` stands before it."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def committed(folder: Path = FOLDER) -> list[Path]:
    """Return the model files of a folder and of those in it, in order.

    Those of zoo/, which are fetched, and of exported/ and deployed/, which scripts/ make, are left out.
    """
    models = (path for suffix in ("onnx", "tflite") for path in folder.rglob(f"*.{suffix}"))
    return sorted(path for path in models if path.relative_to(folder).parts[0] not in {"exported", "deployed", "zoo"})
