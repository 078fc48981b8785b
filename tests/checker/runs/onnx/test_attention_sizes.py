"""Decoders with attention operators: which sizes of their inputs hang together, and on what they are run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from graphfix.checker.files.onnx.skeleton import read
from graphfix.checker.files.pair import Pair
from graphfix.checker.runs.inputs.interface import onnx_interface
from graphfix.checker.runs.onnx import attention_sizes as attention_module
from graphfix.checker.runs.onnx.attention_sizes import attention_limits, attention_sizes
from graphfix.checker.runs.onnx.input_limits import limits
from graphfix.checker.runs.sizes.free_sizes import Free, free_dims
from graphfix.checker.runs.sizes.related_sizes import Relations, related
from tests.support.by_runs import verify
from tests.support.written import Written

MICROSOFT = ', "com.microsoft": 1'
PACKED = """g (int64[batch,new] ids, int64[batch,all] mask, float[batch,2,past,head] k, float[batch,2,past,head] v)
    => (float[batch,new,64] y, float[batch,2,all,head] pk, float[batch,2,all,head] pv)
    <int64[1] one = {1}, int64 at = {1}> {
    s = ReduceSum<keepdims = 0>(mask, one) t = Sub(s, one) last = Cast<to = 6>(t)
    shape = Shape(mask) n = Gather(shape, at) total = Cast<to = 6>(n)
    e = Gather(table, ids) q = MatMul(e, w)
    y, pk, pv = com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2, do_rotary = 1>
        (q, , , k, v, last, total, cos, sin) }"""
ROWS = 128
RANDOM = np.random.default_rng(0)
WEIGHTS = {
    "table": RANDOM.normal(size=(9, 32)).astype(np.float32),
    "w": RANDOM.normal(size=(32, 128)).astype(np.float32),
    "cos": np.ones((ROWS, 8), np.float32),
    "sin": np.zeros((ROWS, 8), np.float32),
}


def decoder(written: Written, text: str = PACKED, **weights: np.ndarray) -> Path:
    return written(text, opset=21, domains=MICROSOFT, **{**WEIGHTS, **weights})


def relations(inputs: str, nodes: str) -> Relations:
    header = f'<ir_version: 8, opset_import: ["" : 21{MICROSOFT}]>'
    return attention_sizes(parser.parse_model(f"{header} g ({inputs}) => (float[N] y) {{ {nodes} }}"))


def sizes_run(before: Path, after: Path, **asked: object) -> list[dict[str, int]]:
    verdict = verify(before, after, **asked)
    assert verdict.status == "equal", verdict.reason
    return [dict(run.bindings) for run in verdict.runs if run.optimizations == "off"]


def of_sizes(batch: int, new: int, past: int) -> dict[str, int]:
    return {"batch": batch, "new": new, "past": past, "head": 16, "all": past + new}


def test_a_decoder_is_run_with_and_without_past_positions_and_in_batches(written: Written) -> None:
    model = decoder(written)
    assert sizes_run(model, decoder(written)) == [
        of_sizes(1, 5, 7),
        of_sizes(1, 1, 1),
        of_sizes(2, 1, 2),
        of_sizes(3, 5, 0),
        of_sizes(1, 37, 67),
    ]


@pytest.mark.ci
@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ({"batch": 2}, of_sizes(2, 1, 5)),
        ({"new": 4}, of_sizes(1, 4, 5)),
        ({"all": 9, "new": 4}, of_sizes(1, 4, 5)),
        ({"all": 9}, of_sizes(3, 1, 8)),
        ({"batch": 2, "past": 0}, of_sizes(2, 3, 0)),
    ],
    ids=["a batch: one new position", "new positions", "two of three lengths", "all positions", "no past"],
)
def test_other_sizes_follow_from_those_that_are_asked_for(
    written: Written, asked: Mapping[str, int], first: dict[str, int]
) -> None:
    assert sizes_run(decoder(written), decoder(written), bindings=asked)[0] == first


def test_a_difference_in_a_decoder_is_found(written: Written) -> None:
    other = np.where(np.arange(128) == 3, 2, 1) * WEIGHTS["w"]
    assert verify(decoder(written), decoder(written, w=other.astype(np.float32))).status == "different"


def test_no_position_of_a_mask_is_padding(written: Written) -> None:
    model = read(decoder(written))
    shapes = {"ids": (2, 1), "mask": (2, 8), "k": (2, 2, 7, 16), "v": (2, 2, 7, 16)}
    low, high = limits(model, shapes).intervals["mask"]
    assert (low, int(high)) == (1, 1)


def test_a_decoder_with_heads_of_their_own_keys_is_run_in_batches_behind_past_positions(written: Written) -> None:
    text = """g (float[batch,new,64] q, int32[batch,all] mask, float[batch,4,past,head] k, float[batch,4,past,head] v)
        => (float[batch,new,64] y, float[batch,4,all,head] pk, float[batch,4,all,head] pv) {
        y, pk, pv = com.microsoft.MultiHeadAttention<num_heads = 4>(q, q, q, , mask, , k, v) }"""
    models = [written(text, domains=MICROSOFT) for _ in range(2)]
    assert sizes_run(*models)[:3] == [of_sizes(3, 5, 7), of_sizes(1, 1, 1), of_sizes(2, 2, 2)]


NUMBERS = "float[N,S,64] q, float[N,2,P,H] k, float[N,2,P,H] v, int32[N] last, int32 total"


def test_lengths_that_are_inputs_are_those_of_past_and_new_positions() -> None:
    nodes = "y, a, b = com.microsoft.GroupQueryAttention<num_heads=4, kv_num_heads=2>(q,q,q,k,v,last,total)"
    header = f'<ir_version: 8, opset_import: ["" : 21{MICROSOFT}]>'
    model = parser.parse_model(f"{header} g ({NUMBERS}) => (float[N] y) {{ {nodes} }}")
    known = limits(model, {"q": (2, 3, 64), "k": (2, 2, 4, 16), "v": (2, 2, 4, 16), "last": (2,), "total": ()})
    assert known.intervals == {"last": (6, 6), "total": (7, 7)}


@pytest.mark.parametrize(
    ("total", "table", "expected"),
    [
        ("total", "float[20,8] cos", {"last": (8, 8), "at": (0, 19)}),
        ("stated", "float[20,8] cos", {"last": (6, 6), "stated": (7, 7), "at": (0, 19)}),
        ("stated", "float[1,8] cos", {"last": (6, 6), "stated": (7, 7), "at": (0, 0)}),
    ],
)
def test_positions_are_rows_of_the_table(total: str, table: str, expected: dict[str, tuple[int, int]]) -> None:
    nodes = f"y, a, b = com.microsoft.GroupQueryAttention<num_heads=4>(q,q,q,k,v,last,{total},cos,sin,at)"
    header = f'<ir_version: 8, opset_import: ["" : 21{MICROSOFT}]>'
    attended = "float[2,3,64] q, float[2,2,4,16] k, float[2,2,4,16] v"
    inputs = f"{attended}, int32[2] last, int32 stated, {table}, float[30,8] sin, int64[2,3] at"
    model = parser.parse_model(f"{header} g ({inputs}) => (float[N] y) <int32 total = {{9}}> {{ {nodes} }}")
    assert dict(attention_limits(model)) == expected | ({} if total == "stated" else {"total": (9, 9)})
    without = parser.parse_model(f"{header} g (float[N] q) => (float[N] y) {{ y = Neg(q) }}")
    assert list(attention_limits(without)) == []


@pytest.mark.parametrize(
    ("one", "other", "numbers", "equal"),
    [
        ("A", "B", {}, [("A", "B")]),
        ("A", 3, {"A": 3}, []),
        (3, "A", {"A": 3}, []),
        ("A", "A", {}, []),
        ("A", None, {}, []),
        (None, "A", {}, []),
        (3, None, {}, []),
        (3, 4, {}, []),
    ],
)
def test_two_sizes_are_equal_where_both_are_known_and_one_is_free(
    one: int | str | None, other: int | str | None, numbers: dict[str, int], equal: list[tuple[str, str]]
) -> None:
    found = attention_module._Collected()
    found.same(one, other)
    assert (found.numbers, list(found.equal)) == (numbers, equal)
    found.same("A", 5)
    assert found.numbers["A"] == numbers.get("A", 5)


GROUPS = "com.microsoft.GroupQueryAttention<num_heads = 4, kv_num_heads = 2>"
HEADS = "com.microsoft.MultiHeadAttention<num_heads = 4>"
CASES = ({"N": 1}, {"S": 1}, {"P": 0})


@pytest.mark.parametrize(
    ("inputs", "nodes", "expected"),
    [
        (
            "float[N,S,128] q, float[M,G,P,H] k, float[M,G,R,H] v, int32[N] l, int32 t",
            f"y, a, b = {GROUPS}(q, , , k, v, l, t)",
            Relations({"G": 2, "H": 16}, (("M", "N"), ("R", "P")), {}, CASES),
        ),
        (
            "float[N,S,64] q, float[N,S,32] x, float[N,2,P,H] k, float[N,2,P,H] v, int32[N] l, int32 t, float[S,T] b",
            f"y, a, b = {GROUPS}(q, x, x, k, v, l, t, , , , b)",
            Relations({"H": 16}, (), {"T": ("P", "S")}, CASES),
        ),
        (
            "float[N,1,64] q, float[N,2,P,H] k, float[N,2,P,H] v, int32[N] l, int32 t",
            f"y, a, b = {GROUPS}(q, q, q, k, v, l, t)",
            Relations({"H": 16}),
        ),
        (
            "float[N,S,64] q, float[N,2,9,H] k, float[N,2,9,H] v, int32[N] l, int32 t, float[1,1,S,T] b",
            f"y, a, b = {GROUPS}(q, q, q, k, v, l, t, , , , b)",
            Relations({"H": 16}, (), {"T": ("S",)}),
        ),
        (
            "float[N,S,64] q, float[N,2,P,H] k, float[N,2,P,H] v, int32[N] l, int32 t",
            f"y, a, b = {GROUPS[:-1]}, sliding_window_cache = 1, local_window_size = 32>(q, q, q, k, v, l, t)",
            Relations({"H": 16, "P": 32}),
        ),
        (
            "float[N,S,64] q, float[N,S,64] x, float[N,4,P,H] k, float[N,4,P,H] v, int32[N,T] mask",
            f"y, a, b = {HEADS}(q, x, x, , mask, , k, v)",
            Relations({"H": 16}, (), {"T": ("P", "S")}),
        ),
        (
            "float[N,S,64] q, float[N,G,L,H] k, float[N,G,L,H] v",
            f"y = {HEADS}(q, k, v)",
            Relations({"G": 4, "H": 16}),
        ),
        (
            "float[N,4,S,16] q, float[N,2,S,16] x, bool[S,T] mask, float[N,2,P,H] k, float[N,2,P,H] v",
            "y, a, b = Attention(q, x, x, mask, k, v)",
            Relations({"H": 16}, (), {"T": ("P", "S")}),
        ),
        ("float[N] q", "y = Neg(q)", Relations()),
        (
            "float[N,S,64] q, float[M,G,L,H] k, float[O,F,L,I] v",
            f"y = {HEADS}(q, k, v)",
            Relations({"G": 4, "F": 4, "H": 16, "I": 16}, (("M", "N"), ("O", "N"))),
        ),
        (
            "float[N,S,64] q, float[N,2,P,H] k, float[N,2,P,H] v, int32[N] l, int32 t",
            f"y, a, b = {GROUPS[:-1]}, sliding_window_cache = 0, local_window_size = 32>(q, q, q, k, v, l, t)",
            Relations({"H": 16}, (), {}, CASES),
        ),
        (
            "float[1,S,64] q, float[1,2,P,H] k, float[1,2,P,H] v, int32[1] l, int32 t",
            f"y, a, b = {GROUPS}(q, q, q, k, v, l, t)",
            Relations({"H": 16}),
        ),
        (
            "float[2,5,64] q, float[N,2,P,H] k, float[N,2,P,H] v, int32[2] l, int32 t, float[S,P] b",
            f"y, a, b = {GROUPS}(q, q, q, k, v, l, t, , , , b)",
            Relations({"N": 2, "H": 16}, (), {}, ({"P": 0},)),
        ),
        (
            "float[N,S,64] q, float[N,4,P,H] k, float[N,G,R,I] v, int32[N,T] mask, float[N,4,S,U] bias",
            f"y, a, b = {HEADS}(q, q, q, , mask, bias, k, v)",
            Relations({"H": 16, "G": 4, "I": 16}, (("R", "P"),), {"T": ("P", "S"), "U": ("P", "S")}),
        ),
        (
            "float[N,S,64] q, float[N,L,32] x, bool[S,T] mask, float[N,G,P,H] k, float[N,G,P,H] v",
            "y, a, b = Attention<q_num_heads = 4, kv_num_heads = 2>(q, x, x, mask, k, v)",
            Relations({"G": 2, "H": 16}, (), {"T": ("P", "L")}),
        ),
    ],
    ids=[
        "packed queries: the head size is a part of all heads' sizes",
        "a bias has past and new positions",
        "one new position",
        "a cache of a stated length",
        "a sliding window is full",
        "key padding has past and new positions",
        "keys of an encoder",
        "heads on an axis of their own",
        "no attention",
        "each size of an encoder's keys and values",
        "a window that does not slide",
        "a batch of one",
        "numbers are no cases, and what is past is no sum",
        "two masks",
        "new positions are those of the keys",
    ],
)
def test_relations_of_sizes(inputs: str, nodes: str, expected: Relations) -> None:
    assert relations(inputs, nodes) == expected


def free(**dims: Sequence[int | str]) -> Free:
    inputs = [onnx.helper.make_tensor_value_info(name, 1, list(axes)) for name, axes in dims.items()]
    interface = onnx_interface(onnx.helper.make_model(onnx.helper.make_graph([], "g", inputs, [])))
    found = free_dims(interface, interface, Pair(Path(), Path()))
    assert isinstance(found, Free)
    return found


def test_equal_labels_are_one_and_keep_what_was_equal_before() -> None:
    found = related(free(x=("A", "B"), y=("C", "D")), Relations({"A": 4}, (("C", "B"), ("D", "C"))))
    assert found.labels == ("D",)
    assert found.complete({"D": 3}) == {"A": 4, "B": 3, "C": 3, "D": 3}


def test_a_sum_of_itself_is_left_free() -> None:
    assert related(free(x=("A", "B")), Relations(sums={"A": ("A", "B")})).labels == ("A", "B")


def test_a_case_against_a_stated_size_is_dropped() -> None:
    found = related(free(x=("A", "B")), Relations(numbers={"A": 2}, cases=({"A": 1}, {"B": 1})))
    assert found.cases == [{"B": 1}]


def test_no_other_case_is_chosen_where_a_stated_size_is_one() -> None:
    assert related(free(x=("A", "B")), Relations(numbers={"A": 2}, cases=({"A": 2}, {"B": 1}))).cases == ()
