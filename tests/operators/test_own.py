"""The catalogue's normalizations and operators with a rule of their own, asked of onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from graphfix.operators.row import Seen
from graphfix.results.runtime_facts import ATTENTION_STRETCHES_MASKS
from tests.support.needs import by_release
from tests.support.runtimes.one_node import (
    MICROSOFT,
    NEWEST,
    Array,
    Key,
    Refused,
    lifted,
    name_of,
    numbers,
    reference,
    row_of,
    run,
    same_bits,
    stretched,
)

FLOATS = ("float32", "float64", "float16")
NORMS: dict[Key, tuple[int, ...]] = {
    ("", "LayerNormalization", 1): (1, 9, 17, NEWEST),
    ("", "SimplifiedLayerNormalization", 1): (1, NEWEST),
    ("", "RMSNormalization", 23): (23, NEWEST),
}
SKIPS: tuple[Key, ...] = (
    (MICROSOFT, "SkipLayerNormalization", 1),
    (MICROSOFT, "SkipSimplifiedLayerNormalization", 1),
)


def gaussian(*shape: int) -> Array:
    return np.random.default_rng([7, *shape]).standard_normal(shape, dtype=np.float32)


def placed(key: Key, x: Array, parameters: list[Array]) -> list[Array | None]:
    """Put the parameters where the row says that its operands are."""
    operands = row_of(key).operands
    by_index = {operand.index: part for operand, part in zip(operands, parameters, strict=True)}
    return [x, *(by_index.get(index) for index in range(1, max(by_index) + 1))]


def normalized(key: Key, x: Array, parameters: list[Array]) -> Array:
    exact = x.astype(np.float64)
    if key[1] == "LayerNormalization":
        exact -= exact.mean(axis=-1, keepdims=True)
    scaled = exact / np.sqrt((exact**2).mean(axis=-1, keepdims=True) + 1e-5) * parameters[0]
    return np.asarray(scaled + parameters[1] if len(parameters) > 1 else scaled)


@pytest.mark.needs_release("onnxruntime>=1.24")  # an older one takes no scale of another shape than the axes
@pytest.mark.parametrize("key", NORMS, ids=name_of)
@pytest.mark.parametrize("kind", FLOATS)
def test_a_scale_is_right_aligned_onto_the_input_and_keeps_its_bits_when_lifted(key: Key, kind: str) -> None:
    entry = row_of(key)
    assert (entry.style, entry.onto) == ("unidirectional", 0)
    x = numbers(kind, 2, 3, 8)
    for version in NORMS[key]:
        for shape in ((8,), (1,), (3, 8), (1, 1, 8), (2, 1, 1)):
            parameters = [numbers(kind, *shape, seed=operand.index) for operand in entry.operands]
            implicit = run(key[1], *placed(key, x, parameters), opset=version)
            tolerance = 1e-2 if kind == "float16" else 1e-5
            expected = normalized(key, x, parameters)
            np.testing.assert_allclose(implicit[0], expected, rtol=tolerance, atol=tolerance, err_msg=str(shape))
            higher = [lifted(parameter, 3) for parameter in parameters]
            answer = run(key[1], *placed(key, x, higher), opset=version)
            assert same_bits(answer, implicit), shape


@pytest.mark.needs_release("onnxruntime>=1.24")  # the same
@pytest.mark.parametrize("key", NORMS, ids=name_of)
def test_a_full_size_scale_takes_another_kernel_and_changes_bits(key: Key) -> None:
    entry = row_of(key)
    x = gaussian(4, 8, 64)
    parameters = [gaussian(64) + np.float32(operand.index) for operand in entry.operands]
    implicit = run(key[1], *placed(key, x, parameters), opset=key[2])
    full_size = [stretched(parameter, x.shape) for parameter in parameters]
    explicit = run(key[1], *placed(key, x, full_size), opset=key[2])
    np.testing.assert_allclose(explicit[0], implicit[0], rtol=1e-4, atol=1e-5)
    assert not same_bits(explicit, implicit)
    for operand in entry.operands:
        assert operand.keep_rank is not None
        assert operand.keep_dims is not None
        assert operand.keep_dims.holds(Seen(1, constant=True))


@pytest.mark.parametrize("key", SKIPS, ids=name_of)
@pytest.mark.parametrize("kind", ["float32", "float16"])
def test_a_skip_of_rank_2_or_batch_1_is_lifted_and_stretched_with_the_same_bits(key: Key, kind: str) -> None:
    entry = row_of(key)
    assert (entry.onto, [operand.index for operand in entry.operands]) == (0, [1])
    x, gamma = numbers(kind, 2, 3, 8), numbers(kind, 8)

    def answer(skip: Array) -> list[Array]:
        return run(key[1], x, skip, gamma, domain=MICROSOFT)

    for shape in ((3, 8), (1, 3, 8)):
        skip = numbers(kind, *shape, seed=1)
        implicit = answer(skip)
        assert same_bits(answer(lifted(skip, 3)), implicit), shape
        assert same_bits(answer(stretched(skip, x.shape)), implicit), shape


@pytest.mark.parametrize("key", SKIPS, ids=name_of)
def test_other_skips_and_lifted_per_axis_parameters_are_refused(key: Key) -> None:
    x, skip, gamma = numbers("float32", 2, 3, 8), numbers("float32", 3, 8), numbers("float32", 8)
    for wrong in (numbers("float32", 8), numbers("float32", 1, 1, 8)):
        with pytest.raises(Refused):
            run(key[1], x, wrong, gamma, domain=MICROSOFT)
    with pytest.raises(Refused):
        run(key[1], x, skip, lifted(gamma, 3), domain=MICROSOFT)
    with pytest.raises(Refused):
        run(key[1], x, lifted(skip, 4), gamma, domain=MICROSOFT)


# --- a rule of their own: mask-like operands, by the shapes that the runtime takes and refuses -----------


def attention(mask: Array, version: int = 23) -> list[Array]:
    query, key = gaussian(2, 4, 3, 8), gaussian(2, 4, 5, 8)
    return run("Attention", query, key, key, mask, opset=version)


def newest_attention(mask: Array) -> list[Array]:
    return attention(mask, NEWEST)


def packed_weights(mask: Array) -> list[Array]:
    operands = (gaussian(2, 3, 16), gaussian(16, 48), gaussian(48), None, None, mask)
    return run("Attention", *operands, domain=MICROSOFT, num_heads=4)


def multi_head(mask: Array) -> list[Array]:
    operands = (gaussian(2, 3, 32), gaussian(2, 5, 32), gaussian(2, 5, 32), None, None, mask)
    return run("MultiHeadAttention", *operands, domain=MICROSOFT, num_heads=4)


def decoder(mask: Array) -> list[Array]:
    step, past = gaussian(2, 1, 32), gaussian(2, 4, 8, 8)
    operands = (step, step, step, None, mask, past, past, np.array([5], dtype=np.int32))
    op = "DecoderMaskedMultiHeadAttention"
    return run(op, *operands, domain=MICROSOFT, results=3, num_heads=4, past_present_share_buffer=1)[:1]


def grouped(mask: Array) -> list[Array]:
    past = np.zeros((2, 2, 0, 8), dtype=np.float32)
    lengths = (np.full(2, 2, dtype=np.int32), np.array(3, dtype=np.int32))
    operands = (
        gaussian(2, 3, 32),
        gaussian(2, 3, 16),
        gaussian(2, 3, 16),
        past,
        past,
        *lengths,
        None,
        None,
        None,
        mask,
    )
    heads = {"num_heads": 4, "kv_num_heads": 2}
    return run("GroupQueryAttention", *operands, domain=MICROSOFT, results=3, **heads)[:1]


def linear(beta: Array) -> list[Array]:
    x = gaussian(2, 3, 32)
    heads = {"q_num_heads": 4, "kv_num_heads": 4, "update_rule": "delta"}
    return run("LinearAttention", x, x, x, None, None, beta, domain=MICROSOFT, results=2, **heads)[:1]


def gated(gate: Array) -> list[Array]:
    return run("GatedAdd", gaussian(2, 3, 4), gaussian(2, 3, 4), gate, domain=MICROSOFT)


def mixed_before(gates: Array) -> list[Array]:
    return run("HyperConnectionPreMix", gaussian(2, 3, 4), gates, domain=MICROSOFT)


def mixed_behind(gates: Array) -> list[Array]:
    return run("HyperConnectionPostMix", gaussian(2, 3, 4), gaussian(2, 4), gates, domain=MICROSOFT)


STRETCHED_MASKS = "5 1,5 3,1"
NEWEST_MASKS = (
    (f"3,5 1,1,3,5 2,1,3,5 {STRETCHED_MASKS}", "2,3,5")
    if ATTENTION_STRETCHES_MASKS.holds(onnxruntime.__version__)
    else ("3,5 1,1,3,5 2,1,3,5", f"2,3,5 {STRETCHED_MASKS}")
)
"""The masks that the newest operator set takes and refuses, in the installed version."""
GATES = ("2,3,1 2,3 2,3,4", "1 3,1 1,3,1 2,1,1")
"""The gates of streams [2,3,4] that HyperConnection operators take and refuse."""
MASKS = {
    "Attention-23": (("", "Attention", 23), 3, attention, "3,5 4,3,5 1,1,3,5 2,1,3,5", "5 1,5 3,1 2,1,1,5"),
    f"Attention-{NEWEST}": (("", "Attention", 23), 3, newest_attention, *NEWEST_MASKS),
    "packed": ((MICROSOFT, "Attention", 1), 5, packed_weights, "2,4,3,3 1,4,3,3 2,1,3,3", "3,3 2,4,1,3"),
    "multi-head": ((MICROSOFT, "MultiHeadAttention", 1), 5, multi_head, "2,4,3,5 1,1,3,5", "3,5 2,4,1,5"),
    "decoder": (
        (MICROSOFT, "DecoderMaskedMultiHeadAttention", 1),
        *(4, decoder, "2,4,1,6 1,4,1,6 2,1,1,6", "1,6 2,4,1,1"),
    ),
    "grouped": ((MICROSOFT, "GroupQueryAttention", 1), 10, grouped, "2,4,3,3 1,1,3,3", "3,3 2,4,1,3"),
    "linear": ((MICROSOFT, "LinearAttention", 1), 5, linear, "2,3,1 2,3,4", "3,4 1,3,4 1,1,1 2,3,2"),
    "gates before": ((MICROSOFT, "HyperConnectionPreMix", 1), 1, mixed_before, *GATES),
    "gates behind": ((MICROSOFT, "HyperConnectionPostMix", 1), 2, mixed_behind, *GATES),
    "gate": ((MICROSOFT, "GatedAdd", 1), 2, gated, "2,3,1", "1 1,3,1 2,1,1 2,3,4"),
}
"""The row, the operand, how to ask, the shapes that are taken, the shapes that are refused."""


OLDEST = {"linear": "onnxruntime>=1.26"} | dict.fromkeys(("gate", "gates before", "gates behind"), "onnxruntime>=1.31")
"""The first releases that run an operator."""


def shapes(words: str) -> list[tuple[int, ...]]:
    return [tuple(int(size) for size in word.split(",")) for word in words.split()]


@pytest.mark.parametrize("name", by_release(MASKS, OLDEST))
def test_a_mask_like_operand_follows_a_rule_of_its_own_and_is_exempt(name: str) -> None:
    key, index, answer, taken, refused = MASKS[name]
    entry = row_of(key)
    assert entry.style == "own"
    assert [operand.index for operand in entry.operands] == [index]
    assert entry.left is not None
    assert all(operand.keep_rank == operand.keep_dims == entry.left for operand in entry.operands)
    results = {answer(gaussian(*shape))[0].shape for shape in shapes(taken)}
    assert len(results) == 1, "the operand's shape leaves the result's alone"
    for shape in shapes(refused):
        with pytest.raises(Refused):
            answer(gaussian(*shape))


def test_einsum_stretches_equal_labels_but_refuses_ellipses_of_different_rank() -> None:
    x = gaussian(2, 3)
    result = run("Einsum", x, gaussian(1, 3), opset=12, equation="ij,ij->ij")
    np.testing.assert_allclose(result[0], x * gaussian(1, 3), rtol=1e-6)
    entry = row_of(("", "Einsum", 12))
    assert entry.variadic
    assert [operand.index for operand in entry.taking_part(3)] == [0, 1, 2]
    assert all(operand.keep_rank == entry.left for operand in entry.taking_part(3))
    declared = (x, gaussian(3))
    with pytest.raises(Refused):  # the refusal is onnx's inference, which must know both shapes
        run("Einsum", *declared, opset=12, constants=(0, 1), equation="...i,...i->...i")


def test_expand_broadcasts_both_ways_and_has_no_operand_to_rewrite() -> None:
    entry = row_of(("", "Expand", 8))
    assert (entry.style, entry.operands, entry.variadic) == ("own", (), False)
    for version in (8, 13, NEWEST):
        x = numbers("float32", 3, 1)
        for target, expected in (([4], (3, 4)), ([2, 1, 4], (2, 3, 4)), ([], (3, 1)), ([0], (3, 0))):
            result = run("Expand", x, np.array(target, dtype=np.int64), opset=version)
            np.testing.assert_array_equal(result[0], np.broadcast_to(x, expected))


def test_scaler_and_imputer_repeat_an_attribute_and_no_operand() -> None:
    x = np.array([[np.nan, 1, np.nan, 2]], dtype=np.float32)
    filled = run("Imputer", x, domain="ai.onnx.ml", imputed_value_floats=[7.0], replaced_value_float=float("nan"))
    np.testing.assert_array_equal(filled[0], [[7, 1, 7, 2]])
    scaled = run("Scaler", filled[0], domain="ai.onnx.ml", offset=[1.0], scale=[2.0])
    np.testing.assert_array_equal(scaled[0], [[12, 0, 12, 2]])
    for op in ("Imputer", "Scaler"):
        entry = row_of(("ai.onnx.ml", op, 1))
        assert (entry.style, entry.operands) == ("own", ())


# --- asked of onnx.reference: onnxruntime 1.31 loads neither operator set 27 nor the training domain ---


@pytest.mark.needs_release("onnx>=1.22")
def test_linear_attention_of_onnx_takes_beta_per_head_or_for_all_heads_and_no_other_shape() -> None:
    entry = row_of(("", "LinearAttention", 27))
    assert (entry.style, [operand.index for operand in entry.operands]) == ("own", [5])
    x, past, decay = gaussian(2, 3, 32), gaussian(2, 4, 8, 8), gaussian(2, 3, 4)
    heads = {"q_num_heads": 4, "kv_num_heads": 4, "update_rule": "gated_delta"}

    def answer(beta: Array) -> list[Array]:
        return reference("LinearAttention", x, x, x, past, decay, beta, opset=27, results=2, **heads)

    shared = gaussian(2, 3, 1)
    np.testing.assert_allclose(answer(shared)[0], answer(stretched(shared, (2, 3, 4)))[0], rtol=1e-5)
    for shape in ((3, 4), (1, 3, 4), (1, 1, 1)):
        with pytest.raises(ValueError, match=r"rank 3|reshape"):
            answer(gaussian(*shape))


@pytest.mark.parametrize(("op", "tensors"), [("Adagrad", 3), ("Adam", 4), ("Momentum", 3)])
def test_an_optimizer_applies_one_rate_to_tensors_of_different_shapes(op: str, tensors: int) -> None:
    attributes: dict[str, object] = {"norm_coefficient": 0.0}
    if op == "Momentum":
        attributes |= {"alpha": 0.9, "beta": 0.9, "mode": "standard"}
    scalars = (np.array(0.5, dtype=np.float32), np.array(3, dtype=np.int64))

    def states(*shapes: tuple[int, ...]) -> list[Array]:
        return [np.abs(gaussian(*shape)) + index for index in range(tensors) for shape in shapes]

    def updated(*shapes: tuple[int, ...]) -> Array:
        results = (tensors - 1) * len(shapes)
        training = "ai.onnx.preview.training"
        return reference(op, *scalars, *states(*shapes), domain=training, results=results, **attributes)[0]

    np.testing.assert_allclose(updated((2, 3), (5,)), updated((2, 3)), rtol=1e-6)
    entry = row_of(("ai.onnx.preview.training", op, 1))
    assert [operand.index for operand in entry.operands] == [0, 1]


ASKED = {
    ("", "LinearAttention", 27),
    *(("ai.onnx.preview.training", op, 1) for op in ("Adagrad", "Adam", "Momentum")),
    *NORMS,
    *SKIPS,
    *(key for key, *_ in MASKS.values()),
    ("", "Einsum", 12),
    ("", "Expand", 8),
    ("ai.onnx.ml", "Imputer", 1),
    ("ai.onnx.ml", "Scaler", 1),
}
"""The rows that this file asks."""
