"""Bodies of Loop and Scan that return their own inputs: onnxruntime copies some of them, and the proof knows which."""

from __future__ import annotations

import numpy as np
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto

from tests.support.proved import unproved

HEAD = '<ir_version: 10, opset_import: ["" : 18]>'
FEEDS = {"x": np.array([1, 2], np.float32), "y": np.array([5, 6], np.float32)}
ROWS = np.arange(8, dtype=np.float32).reshape(4, 2)


def model(text: str) -> ModelProto:
    return onnx.parser.parse_model(f"{HEAD}\n{text}")


def loop(returned: tuple[str, str, str, str], copies: str = "", trips: int = 3) -> ModelProto:
    """Return a Loop with two states and a stacked value; `returned` are the body's outputs, `copies` nodes of it."""
    condition, one, two, stacked = returned
    kind = {"i": "int64", "c": "bool"}
    types = [kind.get(stacked.rstrip("_"), "float[2]"), kind.get(stacked.rstrip("_"), "float")]
    shape = types[1] + ("[3]" if types[1] != "float" else "[3,2]")
    return model(
        f"""g (float[2] x, float[2] y) => (float[2] A, float[2] B, {shape.replace("3", str(trips))} S)
        <int64 n = {{{trips}}}, bool t = {{1}}> {{ A, B, S = Loop(n, t, x, y) <body = b (int64 i, bool c, float[2] a,
        float[2] b) => (bool {condition}, float[2] {one}, float[2] {two}, {types[0]} {stacked})
        {{ a2 = Add(a, b) b2 = Sub(b, a) d2 = Mul(a, b) {copies} }}> }}"""
    )


def scan(returned: tuple[str, str, str], copies: str = "", reverse: int = 0) -> ModelProto:
    """Return a Scan with two states over the rows of `z`; `returned` are the body's outputs."""
    one, two, stacked = returned
    return model(
        f"""g (float[2] x, float[2] y, float[4,2] z) => (float[2] A, float[2] B, float[4,2] S) {{
        A, B, S = Scan <num_scan_inputs = 1, scan_input_directions = [{reverse}], body = b (float[2] a, float[2] b,
        float[2] q) => (float[2] {one}, float[2] {two}, float[2] {stacked})
        {{ a2 = Add(a, q) b2 = Sub(b, a) r2 = Mul(q, a) {copies} }}> (x, y, z) }}"""
    )


def outputs(made: ModelProto) -> list[np.ndarray] | None:
    """Run a model without optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {**FEEDS, "z": ROWS}
    return session.run(None, {each.name: feeds[each.name] for each in session.get_inputs()})


TRIES = 5


def differ(one: ModelProto, two: ModelProto) -> bool:
    """Whether a run differs, of a few: what is not copied depends on the memory, which may hold the same by chance."""
    return not all(all(map(np.array_equal, outputs(one), outputs(two))) for _ in range(TRIES))


def copied(names: tuple[str, ...], at: int) -> tuple[tuple[str, ...], str]:
    """Return the outputs with one of them copied, and the node that copies it."""
    copy = names[at] + "_"
    return (*names[:at], copy, *names[at + 1 :]), f"{copy} = Identity({names[at]})"


SCANS = [
    (("a2", "b2", "q"), 2), (("a2", "b2", "a"), 2), (("a2", "b2", "b"), 2), (("a2", "b", "r2"), 1),
    (("a", "b2", "r2"), 0), (("b", "b2", "r2"), 0), (("a2", "a", "r2"), 1), (("q", "b2", "r2"), 0),
    (("a2", "q", "r2"), 1),
]  # fmt: skip
"""What the body returns, and the place of an output that an Identity copies in the first file."""


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize(("names", "at"), SCANS, ids=lambda each: "-".join(each) if isinstance(each, tuple) else None)
def test_a_scan_that_returns_an_uncopied_value_is_not_proved(names: tuple[str, ...], at: int, reverse: int) -> None:
    kept, copy = copied(names, at)
    before, after = scan(kept, copy, reverse), scan(names, "", reverse)
    assert differ(before, after)
    assert "without a node that copies it" in str(unproved(before.SerializeToString(), after.SerializeToString()))
    renamed = onnx.ModelProto.FromString(after.SerializeToString())
    renamed.graph.node[0].name = "renamed"
    # its results depend on the memory, so that no two files are equal that have it
    assert "without a node that copies it" in str(unproved(after.SerializeToString(), renamed.SerializeToString()))


@pytest.mark.parametrize("trips", [2, 3, 4, 5])
def test_a_loop_that_stacks_its_iteration_number_is_not_proved(trips: int) -> None:
    names = ("c", "a2", "b2", "i")
    kept, copy = copied(names, 3)
    before, after = loop(kept, copy, trips), loop(names, "", trips)
    assert differ(before, after)
    assert "without a node that copies it" in str(unproved(before.SerializeToString(), after.SerializeToString()))
    renamed = onnx.ModelProto.FromString(after.SerializeToString())
    renamed.graph.node[0].name = "renamed"
    assert unproved(after.SerializeToString(), renamed.SerializeToString()) is None


LOOPS = [
    (("c", "a2", "d2", "b2"), 0), (("c", "a", "d2", "b2"), 1), (("c", "a2", "b", "d2"), 2), (("c", "b", "a", "a2"), 1),
    (("c", "b", "a", "a2"), 2), (("c", "a2", "b2", "a"), 3), (("c", "a2", "b2", "b"), 3),
]  # fmt: skip


@pytest.mark.parametrize(("names", "at"), LOOPS, ids=lambda each: "-".join(each) if isinstance(each, tuple) else None)
def test_other_values_that_a_loop_copies_itself_stay_proved(names: tuple[str, ...], at: int) -> None:
    kept, copy = copied(names, at)
    before, after = loop(kept, copy), loop(names)
    assert not differ(before, after)
    assert unproved(before.SerializeToString(), after.SerializeToString()) is None
