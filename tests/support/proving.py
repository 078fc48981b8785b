"""The proof's functions, with two paths and the statements about inputs as keywords in place of a `Pair`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphfix.checker import proof
from graphfix.checker.files.pair import Pair

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.proof import Proof
    from graphfix.checker.proof.core.indexing_maps import Reads


def prove(before: Path, after: Path, **stated: Any) -> Proof:  # noqa: ANN401 -- the fields of Pair
    """Ask the proof about two files; ONNX files unless `tflite` is stated."""
    return proof.prove(Pair(before, after, **stated))


def maps(path: Path, **stated: Any) -> tuple[Reads, ...]:  # noqa: ANN401 -- the fields of Pair
    """Return the maps of a file's nodes."""
    return proof.maps(Pair(path, path, **stated))
