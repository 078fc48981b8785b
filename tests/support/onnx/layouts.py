"""Folders in which an ONNX model and its data file lie as people's tools lay them out."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from tests.support.onnx.broken import external

DATA = np.float32([1, 2, 3]).tobytes()
OTHER = np.float32([7, 7, 7]).tobytes()
"""The data of a file that is not the model's."""
READ = ("plain", "hub", "hard links", "link below", "folder link below")
REFUSED = ("hub without its model's link", "link that leaves", "two dots", "absolute")
"""A folder that holds both the model and its data makes each of them readable (`--data-root`)."""


def laid_out(root: Path, layout: str) -> Path:
    """Write y[2,3] = Add(x[2,3], b[3]), with b in a data file, in a layout below `root`; return the model's path."""
    folder = root / "model"
    folder.mkdir(parents=True)
    data = root / "secret.bin" if layout in REFUSED else folder / "w.bin"
    location = {"two dots": "../secret.bin", "absolute": str(data), "folder link below": "sub/w.bin"}
    path = external(folder / "m.onnx", location.get(layout, "w.bin"))
    match layout:
        case "hub" | "hub without its model's link":
            _as_in_a_hub(root, path, linked=layout == "hub")
        case "hard links":
            (root / "cache").write_bytes(DATA)
            os.link(root / "cache", data)
            os.link(path, root / "cached.onnx")
        case "link below":
            (folder / "store").write_bytes(DATA)
            data.symlink_to("store")
        case "folder link below":
            (folder / "store").mkdir()
            (folder / "store" / "w.bin").write_bytes(DATA)
            (folder / "sub").symlink_to("store")
        case _:
            data.write_bytes(DATA)
    if layout == "link that leaves":
        (folder / "w.bin").symlink_to("../secret.bin")
    return path


def _as_in_a_hub(root: Path, path: Path, *, linked: bool) -> None:
    """Lay the files out as the cache of a model hub: links of a snapshot into a folder of blobs."""
    blobs = root / "blobs"
    blobs.mkdir()
    (blobs / "def").write_bytes(DATA)
    (path.parent / "w.bin").symlink_to("../blobs/def")
    if linked:
        path.rename(blobs / "abc")
        path.symlink_to("../blobs/abc")
