"""Operators of which onnxruntime's kernel reads an element of an image that has none.

The image is an input of the first file; in the second file another node computes it, and the process then crashes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.parser
import pytest

from graphfix.checker.proof.core.result import SOME_PIXELS
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from tests.support.proving import prove

PARAMETERS = "float[2] s, float[2] b, float[1,4] regions, int64[1] at"
NODES = {
    "InstanceNormalization": "r = InstanceNormalization ({image}, s, b)",
    "RoiAlign": "r = RoiAlign <output_height = 1, output_width = 1, sampling_ratio = 2> ({image}, regions, at)",
}


def files(folder: Path, node: str, image: str) -> tuple[Path, Path]:
    """Write a file whose node reads the input x[1,2,...], and one whose node reads a copy of it."""
    before, after = folder / "before.onnx", folder / "after.onnx"
    for path, name in ((before, "x"), (after, "t")):
        graph = f"g (float[1,2,{image}] x, {PARAMETERS}) => (float[?,?,?,?] r, float[?,?,?,?] t)"
        nodes = f"t = Tile (x, ones) {node.format(image=name)}"
        made = onnx.parser.parse_model(
            f'<ir_version: 8, opset_import: ["" : 17]> {graph} <int64[4] ones = {{1,1,1,1}}> {{ {nodes} }}'
        )
        onnx.save(made, path)
    return before, after


@pytest.mark.parametrize("name", NODES)
def test_an_image_may_be_computed_where_it_has_elements(name: str, tmp_path: Path) -> None:
    proof = prove(*files(tmp_path, NODES[name], "H,3"))
    assert proof.proved
    assert proof.assumes == (SOME_PIXELS,)
    assert prove(*files(tmp_path, NODES[name], "4,3")).assumes == ()


@pytest.mark.parametrize("name", NODES)
def test_an_image_without_elements_crashes_onnxruntime_where_a_node_computes_it(name: str, tmp_path: Path) -> None:
    before, after = files(tmp_path, NODES[name], "H,3")
    feeds = {
        "x": np.zeros((1, 2, 0, 3), np.float32),
        "s": np.ones(2, np.float32),
        "b": np.ones(2, np.float32),
        "regions": np.zeros((1, 4), np.float32),
        "at": np.zeros(1, np.int64),
    }
    with Child() as child:
        child.load(before).run(feeds)
        session = child.load(after)
        with pytest.raises(RefusedError, match="SIGSEGV"):
            session.run(feeds)
