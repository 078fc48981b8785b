"""A size that only the second TFLite file states of a result, and that no rule derives, is no fact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from models.builders.tflite.text import model as tflite
from tests.support.faults.tflite.planted import packed, unpacked
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.proof import Proof

FREE = "w:int64[?,2] = WHERE(x:bool[3,4])\ny:int64[?,2] = ABS(w)"
EXACT = "w[2,3] = RELU(x[2,3])\ny[2,3] = CUMSUM(w, k:const:int32[]{1})"


def proved(text: str, name: str, tmp_path: Path, *stated: tuple[list[int], list[int] | None]) -> Proof:
    """Prove a model against itself, the tensor stated so in the first and the second file."""
    paths = tmp_path / "before.tflite", tmp_path / "after.tflite"
    for path, (shape, signature) in zip(paths, stated, strict=True):
        model = unpacked(tflite(text))
        tensor = next(each for each in model.subgraphs[0].tensors if each.name == name.encode())
        tensor.shape = np.int32(shape)
        tensor.shapeSignature = None if signature is None else np.int32(signature)
        path.write_bytes(packed(model))
    return prove(*paths, tflite=True)


@pytest.mark.parametrize(
    ("text", "name", "first", "second"),
    [
        (FREE, "w", ([1, 2], [-1, 2]), ([5, 2], None)),
        (FREE, "w", ([1, 2], [-1, 2]), ([5, 2], [5, 2])),
        (FREE, "y", ([1, 2], [-1, 2]), ([5, 2], None)),
        (EXACT, "y", ([2, 3], None), ([2, 5], None)),
        (EXACT, "w", ([2, 3], None), ([2, 5], None)),
    ],
)
def test_a_size_that_nothing_derives_is_not_taken_from_the_second_file(
    text: str,
    name: str,
    first: tuple[list[int], list[int] | None],
    second: tuple[list[int], list[int] | None],
    tmp_path: Path,
) -> None:
    assert proved(text, name, tmp_path, first, first).reason is None
    found = proved(text, name, tmp_path, first, second)
    assert found.status == "not proved"
    assert "stated" in str(found.reason) or "declared" in str(found.reason)
    assert proved(text, name, tmp_path, second, second).reason is None
