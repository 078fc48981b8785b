"""What the tests of the runs share: models in files."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[bytes], Path]:
    """Write a TFLite model and return its path."""
    numbers = count()

    def save(model: bytes) -> Path:
        path = tmp_path / f"m{next(numbers)}.tflite"
        path.write_bytes(model)
        return path

    return save
