"""The catalogue's Gemm and operators of its form, asked of onnxruntime: C is broadcast onto the product's shape."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.runtimes.one_node import (
    MICROSOFT,
    NEWEST,
    Array,
    Key,
    NoKernel,
    Refused,
    lifted,
    name_of,
    numbers,
    row_of,
    run,
    same_bits,
    stretched,
)

ONE = np.array(1, dtype=np.float32)


def gemm(key: Key, version: int, a: Array, b: Array, c: Array, **attributes: object) -> list[Array]:
    scaled: list[Array | None] = [a, b, c]
    if key[1] == "QGemm":
        scaled = [a, ONE, np.array(0, dtype=a.dtype), b, ONE, np.array(0, dtype=b.dtype), c]
    if key[1] == "FusedGemm":
        attributes |= {"activation": "LeakyRelu", "activation_alpha": 0.25}
    return run(key[1], *scaled, domain=key[0], opset=version, **attributes)


def activated(key: Key, result: Array) -> Array:
    return np.where(result < 0, result * 0.25, result) if key[1] == "FusedGemm" else result


GEMMS: dict[Key, tuple[tuple[tuple[str, str, str], ...], tuple[int, ...]]] = {
    ("", "Gemm", 7): ((("float32",) * 3, ("float64",) * 3), (7, 9, 11, 13, NEWEST)),
    (MICROSOFT, "FusedGemm", 1): ((("float32",) * 3,), (1,)),
    (MICROSOFT, "QGemm", 1): ((("uint8", "uint8", "int32"), ("int8", "int8", "int32")), (1,)),
}
GEMM_C = ((), (1,), (5,), (1, 5), (3, 1), (1, 1), (3, 5))


@pytest.mark.parametrize("key", GEMMS, ids=name_of)
@pytest.mark.parametrize("transposed", [False, True], ids=["straight", "transposed"])
def test_c_is_right_aligned_onto_the_product_lifted_to_rank_2_or_stretched(key: Key, *, transposed: bool) -> None:
    kinds, versions = GEMMS[key]
    entry = row_of(key)
    assert (entry.style, entry.max_rank) == ("gemm", 2)
    for version in versions:
        for kind_a, kind_b, kind_c in kinds:
            a, b = numbers(kind_a, 3, 4), numbers(kind_b, 4, 5, seed=1)
            product = np.matmul(a.astype(np.float64), b.astype(np.float64))
            factors = (a.T.copy(), b.T.copy()) if transposed else (a, b)
            for shape in GEMM_C:
                c = numbers(kind_c, *shape)
                answers = [
                    gemm(key, version, *factors, form, transA=int(transposed), transB=int(transposed))
                    for form in (c, lifted(c, 2), stretched(c, (3, 5)))
                ]
                np.testing.assert_allclose(
                    answers[0][0], activated(key, product + c), rtol=1e-5, err_msg=f"{version} {shape}"
                )
                assert same_bits(answers[1], answers[0]), f"{version} {shape} lifted"
                assert same_bits(answers[2], answers[0]), f"{version} {shape} stretched"


@pytest.mark.parametrize("key", GEMMS, ids=name_of)
def test_a_c_of_rank_3_is_refused_and_the_product_s_operands_are_where_the_row_says(key: Key) -> None:
    (kind_a, kind_b, kind_c), *_ = GEMMS[key][0]
    a, b, c = numbers(kind_a, 3, 4), numbers(kind_b, 4, 5), numbers(kind_c, 1, 1, 5)
    with pytest.raises(Refused):
        gemm(key, key[2], a, b, c)
    entry = row_of(key)
    assert entry.product is not None
    assert [operand.index for operand in entry.operands] == [6 if key[1] == "QGemm" else 2]
    assert entry.product == ((0, 3) if key[1] == "QGemm" else (0, 1))


def test_integers_have_no_gemm_kernel_so_floats_stand_for_them() -> None:
    with pytest.raises(NoKernel):
        run("Gemm", numbers("int32", 3, 4), numbers("int32", 4, 5), numbers("int32", 5), opset=13)
