"""Ask the proof about two files in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.support.checked import verify


def unproved(before: bytes, after: bytes, bindings: Mapping[str, int] | None = None) -> str | None:
    """Say why two models are not proved equal, or None where they are."""
    with tempfile.TemporaryDirectory() as folder:
        one, two = Path(folder, "before"), Path(folder, "after")
        one.write_bytes(before)
        two.write_bytes(after)
        verdict = verify(one, two, bindings=bindings, proof="only")
    return None if verdict.status == "proved" else f"not proved: {verdict.proof}"
