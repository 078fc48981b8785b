"""Files that the examples of a page read: the page shows a message about each of them, and not how it came to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import onnx
from onnx import parser

from tests.support.notation import model
from tests.support.places import ROOT

LFS = "version https://git-lfs.github.com/spec/v1"
GRAPHS = {
    "custom": '["":17, "my.ops":1]> g (float[2,3] x, float[3] b) => (float[2,3] y)'
    " { c = my.ops.Fancy(x) y = Add(c, b) }",
    "other": '["":17, "my.ops":1]> g (float[2,3] x, float[3] b) => (float[2,3] y)'
    " { c = my.ops.Fancy(x) d = Identity(c) y = Sub(d, b) }",
    "future": '["":99]> g (float[2,3] x, float[3] b) => (float[2,3] y) { y = Add(x, b) }',
    "bfloat16": '["":22]> g (bfloat16[2,3] x, bfloat16[3] b) => (bfloat16[2,3] y) { y = Add(x, b) }',
}
"""What stands behind `opset_import: ` in onnx's text form."""


def _troubleshooting(folder: Path) -> None:
    texts = {
        "right": "y[N,M] = Add(x[N,M], b[N,M])",
        "wrong": "s[N,M] = Identity(x[N,M])\nt[M,N] = Transpose(b[N,M])\ny[N,M] = Add(s[N,M], t[M,N])",
        "clash": "y[2,3] = Add(x[2,3], b[2])",
        "optimized": "y[2,3] = Add(x[2,3], b[1,3])",
    }
    for name, text in texts.items():
        made = model(text)
        if name == "clash":
            made.graph.node[0].name = "add"
        onnx.save(made, folder / f"{name}.onnx")
    for name, text in GRAPHS.items():
        onnx.save(parser.parse_model(f"<ir_version: 10, opset_import: {text}"), folder / f"{name}.onnx")
    encoder = ROOT / "models" / "encoder.onnx"
    (folder / "page.onnx").write_text("<!DOCTYPE html><html>404</html>")
    (folder / "pointer.onnx").write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 123\n"
    )
    (folder / "cut.onnx").write_bytes(encoder.read_bytes()[:5000])
    onnx.save_model(
        onnx.load(encoder), folder / "moved.onnx", save_as_external_data=True, location="moved.data", size_threshold=0
    )
    (folder / "moved.data").unlink()


def _coming_from(folder: Path) -> None:
    for name, text in {
        "exported": "t[N,3] = Identity(x[N,3])\ny[N,3] = Add(t[N,3], b[3])",
        "optimized": "y[N,3] = Add(x[N,3], b[3])",
        "right": "y[N,M] = Add(x[N,M], b[N,M])",
        "wrong": "s[N,M] = Identity(x[N,M])\nt[M,N] = Transpose(b[N,M])\ny[N,M] = Add(s[N,M], t[M,N])",
    }.items():
        onnx.save(model(text), folder / f"{name}.onnx")


FILES: Mapping[str, Callable[[Path], None]] = MappingProxyType(
    {"docs/troubleshooting.md": _troubleshooting, "docs/coming-from.md": _coming_from}
)
"""By page: what writes its files into the folder in which its examples run."""
