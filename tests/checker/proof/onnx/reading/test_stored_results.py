"""The shapes that the first file stores of results of operators without rules: which of them are believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx.parser
import pytest

from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

DOMAINS = '"" : 17, "own" : 1, "com.microsoft" : 1'
# nodes that make s, the stored shapes -> the values whose stored shape is believed
STORED = {
    "one": ("s = own.Frob(x)", "float[2,3] s", "s"),
    "none": ("s = own.Frob(x)", "float[2,3] a", ""),
    "of two results": ("a, b = own.Frob(x) s = Add(a, b)", "float[2,3] a, float[3] b", "a b"),
    "beside a result without a name": ("a, , b = own.Frob(x) s = Add(a, b)", "float[2,3] a, float[3] b", "a b"),
    "of equal values only that of the first": (
        "a = com.microsoft.Foo(x) b = com.microsoft.Foo(x) s = Add(a, b)", "float[2,3] a, float[2,3] b", "a"),
    "of different values both": ("a = own.Frob(x) b = own.Frob(x) s = Add(a, b)", "float[2,3] a, float[2,3] b", "a b"),
    "of an operator with a rule": ("s = com.microsoft.Gelu(x)", "float[2,3] s", ""),
    "of a standard operator": ("s = Exp(x)", "float[2,3] s", ""),
}  # fmt: skip


def saved(path: Path, nodes: str, stored: str) -> Path:
    head = f"<ir_version: 8, opset_import: [{DOMAINS}]>"
    made = onnx.parser.parse_model(f"{head} g (float[2,3] x) => (float[2,3] y) <{stored}> {{ {nodes} }}")
    path.write_bytes(made.SerializeToString())
    return path


@pytest.mark.parametrize("name", STORED)
def test_the_stored_shape_of_a_result_is_believed_where_no_rule_says_it(name: str, tmp_path: Path) -> None:
    nodes, stored, believed = STORED[name]
    before = saved(tmp_path / "before.onnx", f"{nodes} y = Add(s, x)", stored)
    proof = prove(before, saved(tmp_path / "after.onnx", f"{nodes} t = Identity(s) y = Add(t, x)", stored))
    assert proof.reason is None
    assert [each.value for each in proof.believed] == believed.split()
