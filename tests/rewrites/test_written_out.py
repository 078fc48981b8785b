"""ONNX operators written out by their definition: Gelu, normalizations, Attention and RotaryEmbedding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
from onnx import ModelProto

import graphfix
from graphfix.graph.edits import New
from graphfix.shapes.dim import Shape, Undecided
from rewrites.attention import bias
from rewrites.tosa import decompose_attention, decompose_normalization
from tests.support import engine
from tests.support.checked import verify
from tests.support.needs import by_release
from tests.support.notation import node
from tests.support.runtimes.onnx_runs import run
from tests.support.runtimes.tosa_loop import needs_tools, onnx_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from graphfix.graph.view import Node
    from graphfix.results import Outcome

OPSET = 23
QKV = "float[2,4,3,8] q, float[2,4,5,8] k, float[2,4,5,6] v"
GROUPED = "float[2,4,3,8] q, float[2,2,5,8] k, float[2,2,5,6] v"
IN_A_ROW = "float[2,3,32] q, float[2,5,16] k, float[2,5,12] v"
X, ANGLES, TABLES = "float[2,4,3,8] x", "float[2,3,4] c, float[2,3,4] s", "float[9,2] c, float[9,2] s, int64[2,3] p"
CASES = {
    "Gelu by Tanh": ("float[2,3] x", "float[2,3] y", 'Gelu<approximate="tanh">(x)'),
    "RMSNormalization": ("float[2,3,8] x, float[8] s", "float[2,3,8] y", "RMSNormalization<epsilon=0.001>(x,s)"),
    "RMSNormalization, two axes": ("float[2,3,8] x, float[3,8] s", "float[2,3,8] y", "RMSNormalization<axis=1>(x,s)"),
    "RMSNormalization by one scale": ("float[2,3,8] x, float[1] s", "float[2,3,8] y", "RMSNormalization<axis=-2>(x,s)"),
    "GroupNormalization": (
        "float[2,6,4,4] x, float[6] s, float[6] b", "float[2,6,4,4] y", "GroupNormalization<num_groups=2>(x,s,b)"
    ),
    "GroupNormalization of rank 3": (
        "float[2,6,4] x, float[6] s, float[6] b",
        "float[2,6,4] y",
        "GroupNormalization<num_groups=3,epsilon=0.01>(x,s,b)",
    ),
    "Attention": (QKV, "float[2,4,3,6] y", "Attention(q,k,v)"),
    "Attention of another scale": (QKV, "float[2,4,3,6] y", "Attention<scale=0.3>(q,k,v)"),
    "Attention, causal": (QKV, "float[2,4,3,6] y", "Attention<is_causal=1>(q,k,v)"),
    "Attention with a mask": (f"{QKV}, float[3,5] m", "float[2,4,3,6] y", "Attention(q,k,v,m)"),
    "Attention with a mask of truth values": (f"{QKV}, bool[2,1,3,5] m", "float[2,4,3,6] y", "Attention(q,k,v,m)"),
    "Attention, causal, with a mask": (
        f"{QKV}, bool[2,1,3,5] m", "float[2,4,3,6] y", "Attention<is_causal=1>(q,k,v,m)"
    ),
    "Attention of grouped heads": (GROUPED, "float[2,4,3,6] y", "Attention(q,k,v)"),
    "Attention of heads in a row": (IN_A_ROW, "float[2,3,24] y", "Attention<q_num_heads=4,kv_num_heads=2>(q,k,v)"),
    "RotaryEmbedding": (f"{X}, {ANGLES}", "float[2,4,3,8] y", "RotaryEmbedding(x,c,s)"),
    "RotaryEmbedding of neighbours": (f"{X}, {ANGLES}", "float[2,4,3,8] y", "RotaryEmbedding<interleaved=1>(x,c,s)"),
    "RotaryEmbedding of a part, by position": (
        f"{X}, {TABLES}", "float[2,4,3,8] y", "RotaryEmbedding<rotary_embedding_dim=4>(x,c,s,p)"
    ),
    "RotaryEmbedding of heads in a row": (
        f"float[2,3,32] x, {ANGLES}", "float[2,3,32] y", "RotaryEmbedding<num_heads=4>(x,c,s)"
    ),
    "RotaryEmbedding of all that": (
        f"float[2,3,32] x, {TABLES}",
        "float[2,3,32] y",
        "RotaryEmbedding<num_heads=4,interleaved=1,rotary_embedding_dim=4>(x,c,s,p)",
    ),
}  # fmt: skip


def written(folder: Path, case: tuple[str, str, str]) -> tuple[Path, Path, Outcome]:
    """The model, what is made of it, and what was done."""
    inputs, result, operator = case
    before, after = (
        onnx_file(folder, f"g ({inputs}) => ({result}) {{y = {operator}}}", opset=OPSET),
        folder / "after.onnx",
    )
    return before, after, graphfix.fix_file(before, after, target="tosa")


SINCE = {
    "RMSNormalization by one scale": "onnxruntime>=1.24",
    "Attention of grouped heads": "onnxruntime>=1.24",
    "Attention of heads in a row": "onnxruntime>=1.24",
    "RotaryEmbedding of a part, by position": "onnxruntime>=1.24",
    "Attention with a mask of truth values": "onnxruntime>=1.28",
    "Attention, causal, with a mask": "onnxruntime>=1.28",
}
"""By name of what older releases refuse or compute otherwise: the release that computes it as ONNX says."""


@pytest.mark.ci
@pytest.mark.parametrize("case", by_release(CASES, SINCE))
def test_every_form_is_proved_but_for_its_rounding_and_held_to_it(case: str, tmp_path: Path) -> None:
    before, after, outcome = written(tmp_path, CASES[case])
    assert outcome.verdict is not None
    assert outcome.verdict.status == "equal"
    assert outcome.verdict.proof is not None
    assert outcome.verdict.proof["status"] == "bounded"
    (node,) = onnx.load(before).graph.node
    assert node.op_type not in {each.op_type for each in onnx.load(after).graph.node}
    onnx.checker.check_model(onnx.load(after), full_check=True)
    again = graphfix.fix_file(after, tmp_path / "again.onnx", target="tosa")
    assert not again.changed


@pytest.mark.parametrize("case", by_release(CASES, SINCE))
def test_every_form_computes_the_same_numbers(case: str) -> None:
    inputs, result, operator = CASES[case]
    before = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["" : {OPSET}]>\ng ({inputs}) => ({result}) {{y = {operator}}}'
    )
    loaded = engine.load(before)
    engine.fix(loaded, target="tosa")
    after = onnx.load_from_string(loaded.tobytes())
    assert before.graph.node[0].op_type not in {each.op_type for each in after.graph.node}
    source = np.random.default_rng(5)
    (want,), (got,) = (run(model, **feeds) for feeds in [_fed(before, source)] for model in (before, after))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def _fed(model: ModelProto, source: np.random.Generator) -> dict[str, np.ndarray]:
    """Floats, truth values of which each row has a true one, and positions in a table of 9."""
    kinds = onnx.TensorProto
    feeds = {}
    for given in model.graph.input:
        tensor = given.type.tensor_type
        sizes = [dim.dim_value for dim in tensor.shape.dim]
        if tensor.elem_type == kinds.FLOAT:
            feeds[given.name] = source.normal(size=sizes).astype(np.float32)
        elif tensor.elem_type == kinds.INT64:
            feeds[given.name] = source.integers(0, 9, sizes)
        else:
            feeds[given.name] = source.random(sizes) < 0.5
            feeds[given.name][..., 0] = True
    return feeds


def test_a_gelu_by_the_error_function_stays_as_it_is(tmp_path: Path) -> None:
    """Torch-mlir gets it right."""
    _, _, outcome = written(tmp_path, ("float[2,3] x", "float[2,3] y", "Gelu(x)"))
    assert (outcome.changed, outcome.sites) == (False, ())


@pytest.mark.needs_release("onnxruntime>=1.28")  # in an older one such a query sees all keys
def test_a_query_that_sees_no_key_gets_zeros(tmp_path: Path) -> None:
    before, after, _ = written(tmp_path, CASES["Attention with a mask of truth values"])
    rng = np.random.default_rng(2)
    feeds = {
        name: rng.normal(size=size).astype(np.float32) for name, size in (("q", (2, 4, 3, 8)), ("k", (2, 4, 5, 8)))
    }
    feeds["v"] = rng.normal(size=(2, 4, 5, 6)).astype(np.float32)
    mask = np.ones((2, 1, 3, 5), bool)
    mask[:, :, 1] = False
    (want,), (got,) = (run(onnx.load(path), **feeds, m=mask) for path in (before, after))
    assert not want[:, :, 1].any()
    np.testing.assert_allclose(got, want, atol=1e-6)


@pytest.mark.ci
@needs_tools
@pytest.mark.parametrize("case", [name for name, (inputs, *_) in CASES.items() if "int64" not in inputs])
def test_tosa_computes_the_same(case: str, tmp_path: Path) -> None:
    from graphfix.tosa.command import tosa_file

    before, _, _ = written(tmp_path, CASES[case])
    outcome = tosa_file(before, tmp_path / "m.tosa", run=True, check_result=False)
    assert outcome.conversion is not None
    assert (outcome.conversion.status, outcome.conversion.reason) == ("agrees", None)


STAYING = {
    "a softcap": (QKV, "float[2,4,3,6] y", "Attention<softcap=2.0>(q,k,v)"),
    "half precision": ("float16[2,3] x", "float16[2,3] y", 'Gelu<approximate="tanh">(x)'),
    "a mask that is too short": (f"{QKV}, float[3,1] m", "float[2,4,3,6] y", "Attention(q,k,v,m)"),
}


@pytest.mark.parametrize("case", STAYING)
def test_what_stays_is_named(case: str, tmp_path: Path) -> None:
    inputs, result, operator = STAYING[case]
    model = onnx_file(tmp_path, f"g ({inputs}) => ({result}) {{y = {operator}}}", opset=OPSET)
    assert "GF305" in [site.code for site in graphfix.check(model, target="tosa").sites]
    assert graphfix.fix_file(model, tmp_path / "o.onnx", target="tosa").rewrites["decompose-attention"] == 0


PLANS = {
    "Attention": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6])", True),
    "with a scale": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], scale=0.5)", True),
    "a scale of 0": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], scale=0.0)", False),
    "a scale below 0": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], scale=-0.5)", False),
    "a flag that is neither": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], is_causal=2)", False),
    "an attribute that nobody knows": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], window=2)", False),
    "what a function is called with": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], scale=None)", False),
    "a softcap": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], softcap=2.0)", False),
    "no softcap": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], softcap=0.0)", True),
    "another precision": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], softmax_precision=10)", False),
    "its own precision": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], softmax_precision=1)", True),
    "what is asked of a second result": (
        "Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], qk_matmul_output_mode=2)",
        True,
    ),
    "heads in front, counted": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], q_num_heads=4, kv_num_heads=4)", True),
    "a past": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], , p[2,4,1,8], w[2,4,1,6])", False),
    "other types": ("Attention(q:float16[2,4,3,8], k:float16[2,4,5,8], v:float16[2,4,5,6])", False),
    "values of another type": ("Attention(q[2,4,3,8], k[2,4,5,8], v:float16[2,4,5,6])", False),
    "a mask": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], m[3,5])", True),
    "a mask of truth values": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], m:bool[3,5])", True),
    "a mask of another type": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], m:float16[3,5])", False),
    "a mask of fewer queries": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], m[1,5])", False),
    "a mask of fewer keys": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], m[3,4])", False),
    "heads in a row": ("Attention(q[2,3,32], k[2,5,16], v[2,5,12], q_num_heads=4, kv_num_heads=2)", True),
    "heads that are not said": ("Attention(q[2,3,32], k[2,5,16], v[2,5,12], q_num_heads=4)", False),
    "as many pairs as are written": ("Attention(q[1,1,256,8], k[1,1,256,8], v[1,1,256,8], is_causal=1)", True),
    "too many pairs": ("Attention(q[1,1,256,8], k[1,1,257,8], v[1,1,257,8], is_causal=1)", False),
    "many pairs that see each other": ("Attention(q[1,1,256,8], k[1,1,257,8], v[1,1,257,8])", True),
    "RotaryEmbedding": ("RotaryEmbedding(x[2,4,3,8], c[2,3,4], s[2,3,4])", True),
    "turned in pairs": ("RotaryEmbedding(x[2,4,3,8], c[2,3,4], s[2,3,4], interleaved=1)", True),
    "turned in no way that is known": ("RotaryEmbedding(x[2,4,3,8], c[2,3,4], s[2,3,4], interleaved=2)", False),
    "a scale that is no float": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], scale=2)", False),
    "each sees what is before it": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], is_causal=1)", True),
    "a flag below 0": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], is_causal=-1)", False),
    "keys of another type": ("Attention(q[2,4,3,8], k:float16[2,4,5,8], v[2,4,5,6])", False),
    "query heads that are not said": ("Attention(q[2,3,32], k[2,5,16], v[2,5,12], kv_num_heads=2)", False),
    "pasts that are left out": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], , , )", True),
    "a count of what is not padded": ("Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6], , , , n:int64[2])", False),
    "without a number of heads": ("RotaryEmbedding(x[2,3,32], c[2,3,4], s[2,3,4])", False),
    "sines of another type": ("RotaryEmbedding(x[2,4,3,8], c[2,3,4], s:float16[2,3,4])", False),
}


@pytest.mark.parametrize("case", PLANS)
def test_attention_is_written_out_where_it_is_understood(case: str) -> None:
    text, is_written = PLANS[case]
    assert bool(list(decompose_attention.plan(node(f"y[2,4,3,6] = {text}", opset=OPSET)))) == is_written


def test_a_second_result_of_attention_is_read_of_no_other_operator() -> None:
    text = "y[2,4,3,6], p[2,4,5,8] = Attention(q[2,4,3,8], k[2,4,5,8], v[2,4,5,6])"
    assert not list(decompose_attention.plan(node(text, opset=OPSET)))


@pytest.mark.parametrize(
    ("text", "opset", "is_written"),
    [
        ("y[2,6] = RMSNormalization(x[2,6], s[6])", 23, True),
        ("y[2,6] = RMSNormalization(x[2,6], s[6], stash_type=1)", 23, True),
        ("y[2,6] = RMSNormalization(x[2,6], s[6], stash_type=10)", 23, False),
        ("y:float16[2,6] = RMSNormalization(x:float16[2,6], s:float16[6])", 23, False),
        ("y[2,6] = RMSNormalization(x[2,6], s:float16[6])", 23, False),
        ("y[2,6,4] = GroupNormalization(x[2,6,4], s[6], b[6], num_groups=2)", 21, True),
        ("y[2,6,4] = GroupNormalization(x[2,6,4], s[2], b[2], num_groups=2)", 18, False),
    ],
)
def test_a_normalization_of_floats_is_written_out(text: str, opset: int, is_written: bool) -> None:
    assert bool(list(decompose_normalization.plan(node(text, opset=opset)))) == is_written


@pytest.mark.parametrize(
    ("plan", "text", "said"),
    [
        (decompose_attention.plan, "y[N,4,3,6] = Attention(q[N,4,3,8], k[N,4,5,8], v[N,4,5,6])", "not all numbers"),
        (decompose_normalization.plan, "y[N,6] = RMSNormalization(x[N,6], s[6])", "the sizes of x"),
        (
            decompose_normalization.plan,
            "y[2,6,4] = GroupNormalization(x[2,6,4], s[6], b[6], num_groups=4)",
            "4 groups of 6 channels",
        ),
        (
            decompose_normalization.plan,
            "y[2,6,4] = GroupNormalization(x[2,6,4], s[6], b[6], num_groups=0)",
            "0 groups of 6 channels",
        ),
    ],
)
def test_what_the_sizes_do_not_decide_is_said(plan: Callable[[Node], Iterator[object]], text: str, said: str) -> None:
    with pytest.raises(Undecided, match=said):
        list(plan(node(text, opset=OPSET)))


# --- what is no written form ----------------------------------------------------------------------------------------


def another_operator(old: str, new: str) -> Callable[[ModelProto], None]:
    def changed(model: ModelProto) -> None:
        next(node for node in model.graph.node if node.op_type == old).op_type = new

    return changed


def another_number(model: ModelProto) -> None:
    """By 1e-3 of it: no run would say so of an epsilon."""
    held = next(each for each in model.graph.initializer if each.data_type == onnx.TensorProto.FLOAT)
    array = onnx.numpy_helper.to_array(held) * np.float32(1.001)
    held.CopyFrom(onnx.numpy_helper.from_array(array, held.name))


def operands_swapped(op: str) -> Callable[[ModelProto], None]:
    def swapped(model: ModelProto) -> None:
        node = [node for node in model.graph.node if node.op_type == op][-1]
        node.input[0], node.input[1] = node.input[1], node.input[0]

    return swapped


FAULTS = {
    "Gelu by Tanh": another_operator("Tanh", "Erf"),
    "RMSNormalization": another_number,
    "GroupNormalization": another_operator("Sub", "Add"),
    "Attention": another_number,
    "RotaryEmbedding": operands_swapped("Concat"),
    "RotaryEmbedding of neighbours": operands_swapped("Sub"),
}


@pytest.mark.ci
@pytest.mark.parametrize("case", FAULTS)
def test_a_wrong_form_is_not_proved(case: str, tmp_path: Path) -> None:
    before, after, _ = written(tmp_path, CASES[case])
    model = onnx.load(after)
    FAULTS[case](model)
    onnx.save(model, after)
    assert verify(before, after, proof="only").proof["status"] == "not proved"  # type: ignore[index]  # it was asked


@pytest.mark.ci
def test_the_named_form_does_not_replace_the_written_one(tmp_path: Path) -> None:
    before, after, _ = written(tmp_path, CASES["Attention"])
    assert verify(after, before, proof="only").proof["status"] == "not proved"  # type: ignore[index]  # it was asked


@pytest.mark.parametrize(
    ("mask", "causal", "sizes"),
    [
        ("[3,4]", True, (3, 4)),
        ("[1,1,1,4]", True, (1, 1, 3, 4)),
        ("[2,1,1,4]", True, (2, 1, 3, 4)),
        ("[2,1,1,4]", False, (2, 1, 1, 4)),
        ("", True, (3, 4)),
        ("", False, None),
    ],
)
def test_a_mask_and_the_order_are_added_at_the_sizes_of_both(
    mask: str, causal: bool, sizes: tuple[int, ...] | None
) -> None:
    operands = "q[2,1,3,8], k[2,1,4,8], v[2,1,4,8]" + (f", m{mask}" if mask else "")
    found = bias.bias_of(node(f"y[2,1,3,8] = Attention({operands})", opset=23), (3, 4), causal=causal)
    assert (found.sizes if found is not None else None) == sizes
    if found is not None and mask and causal:
        assert isinstance(found.source, New)
        assert (found.source.op, found.source.shape, found.source.operands[0]) == ("Add", Shape(found.sizes), bias.MASK)
