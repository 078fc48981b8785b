"""Files are written from pieces, in their order, whatever their sizes."""

from __future__ import annotations

from pathlib import Path

from graphfix.formats.neutral.files import BY_KERNEL, CHUNK, open_source, staged


def test_large_pieces_stand_between_the_small_ones_around_them(tmp_path: Path) -> None:
    held = bytes(range(256)) * (BY_KERNEL // 256)
    (tmp_path / "source").write_bytes(held)
    source = open_source(tmp_path / "source")
    large = bytes([7]) * CHUNK
    with staged(tmp_path / "out") as staging:
        staging.write(tmp_path / "out", source, [b"a", large, (1, 3), b"b", (0, BY_KERNEL), memoryview(large), b"c"])
    written = (tmp_path / "out").read_bytes()
    assert len(written) == 2 * CHUNK + BY_KERNEL + 5
    assert written == b"".join([b"a", large, held[1:3], b"b", held, large, b"c"])
