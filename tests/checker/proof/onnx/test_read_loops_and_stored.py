"""The proof follows a Loop as long as each condition is known, and believes stored shapes where that is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx.parser
import pytest
from onnx import helper

from graphfix.checker.proof.onnx.reading import unrolled_loops
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

LOOP = """g (float[4] x{more}) => (float[4] y) <int64 n = {{3}}, bool c = {{1}}, bool f = {{0}}> {{
    y = Loop ({given}, x) <body = turn (int64 i, bool go, float[4] s) => (bool on, float[4] t) {{
        {decides}
        t = Tanh(s) }}> }}"""
ON, OFF = "on = Identity(go)", "on = Identity(f)"
OPEN = "m = ReduceMax <keepdims = 0> (s) on = Cast <to = 9> (m)"
BELOW = "k = Constant <value = int64 {2}> () on = Less(i, k)"


def trips(count: int) -> str:
    nodes = " ".join(f"v{at + 1} = Tanh(v{at})" for at in range(count))
    return f"g (float[4] x) => (float[4] y) {{ v0 = Identity(x) {nodes} y = Identity(v{count}) }}"


def proved(folder: Path, before: onnx.ModelProto | str, after: onnx.ModelProto | str, **stated: object) -> bool:
    paths = [folder / "before.onnx", folder / "after.onnx"]
    for path, made in zip(paths, (before, after), strict=True):
        header = '<ir_version: 10, opset_import: ["" : 18, "own" : 1]>\n'
        proto = onnx.parser.parse_model(header + made) if isinstance(made, str) else made
        path.write_bytes(proto.SerializeToString())
    return prove(*paths, **stated).proved


@pytest.mark.parametrize(
    ("given", "decides", "counts"),
    [
        pytest.param("n, c", ON, {3}, id="the count"),
        pytest.param("n,", ON, {3}, id="the count, without a condition"),
        pytest.param("n, f", ON, {0}, id="a condition that is false at first"),
        pytest.param("n, c", OFF, {1}, id="a condition that becomes false"),
        pytest.param("n, c", BELOW, {3}, id="a condition on the counter"),
        pytest.param(", c", BELOW, {3}, id="a condition on the counter alone"),
        pytest.param("n,", OFF, set(), id="a condition that runtimes read differently"),
        pytest.param("n, c", OPEN, set(), id="a condition on the values"),
        pytest.param("n,", OPEN, set(), id="a condition on the values, and none at first"),
        pytest.param(", c", ON, set(), id="no end"),
    ],
)
def test_a_loop_is_as_many_trips_as_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, decides: str, counts: set[int]
) -> None:
    monkeypatch.setattr(unrolled_loops, "MOST_NODES", 30)
    before = LOOP.format(given=given, decides=decides, more="")
    assert {count for count in range(1 + max(counts, default=2)) if proved(tmp_path, before, trips(count))} == counts


@pytest.mark.parametrize(("given", "decides"), [("n, u", ON), ("w, c", ON), ("w, c", BELOW)])
def test_a_loop_of_an_unknown_count_or_condition_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, decides: str
) -> None:
    monkeypatch.setattr(unrolled_loops, "MOST_NODES", 30)
    more = ", bool u" if "u" in given else ", int64 w"
    before = LOOP.format(given=given, decides=decides, more=more)
    for count in (1, 3):
        assert not proved(tmp_path, before, trips(count).replace("float[4] x)", f"float[4] x{more})"))


@pytest.mark.parametrize(("trust", "believed"), [(None, True), (True, True), (False, False)])
def test_the_stored_shape_of_a_custom_operator_is_believed_unless_it_is_not_trusted(
    tmp_path: Path, trust: bool | None, believed: bool
) -> None:
    models = []
    for shape in ("Shape(t)", "Constant <value = int64[2] {2, 3}> ()"):
        text = f"g (float[2,3] x, float[1,3] b) => (float[2,3] y, t) {{ t = own.Op(x) s = {shape} y = Expand(b, s) }}"
        made = onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 18, "own" : 1]>\n' + text)
        made.graph.output[1].CopyFrom(helper.make_tensor_value_info("t", onnx.TensorProto.FLOAT, [2, 3]))
        models.append(made)
    assert proved(tmp_path, *models, trust_stored=trust) == believed


LOOPED = (
    "y = Loop(n, c, x) <body = b (int64 i, bool k, float[2] s) => (bool l, float[2] t) { l = Identity(k) t = Neg(s) }>"
)
SCANNED = "y = Scan<num_scan_inputs = 1, body = b (float s) => (float t) { t = Neg(s) }>(x)"
NEGATED = "y = Neg(x)"
CHOSEN = (
    "z = If(c) <then_branch = d () => (float[2] p) {{ {0} p = Abs(y) }},"
    " else_branch = e () => (float[2] q) {{ q = Abs(x) }}>"
)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (LOOPED, LOOPED, False),
        (LOOPED, SCANNED, False),
        (SCANNED, NEGATED, True),
        (LOOPED, NEGATED, True),
        (LOOPED, LOOPED.replace("y = ", "w = "), True),
        (NEGATED, LOOPED, False),
        (NEGATED, "w = Neg(x)", False),
        (CHOSEN.format(LOOPED), CHOSEN.format(NEGATED), True),
        (CHOSEN.format(LOOPED), CHOSEN.format(LOOPED), False),
        (CHOSEN.format(NEGATED), NEGATED, False),
        (LOOPED, CHOSEN.format(LOOPED), False),
    ],
)
def test_a_loop_is_written_out_where_none_has_its_result(before: str, after: str, expected: bool) -> None:
    head = '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, int64 n, bool c) => (float[2] o)'
    one, two = (onnx.parser.parse_model(f"{head} {{ {nodes} o = Identity(x) }}") for nodes in (before, after))
    assert unrolled_loops.may_contain_trips(one, two) is expected
