"""For each ONNX row of the catalogue: how a node of it is made, its scope, and which operands may stay as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from tests.operators import test_elementwise, test_gemm, test_legacy, test_own, test_products
from tests.support.runtimes.one_node import MICROSOFT, Array, Key, numbers, same_bits
from tests.support.small_scope.onnx import cases as scope
from tests.support.small_scope.onnx.cases import ALL, UP_TO_2, Case, Sizes
from tests.support.small_scope.onnx.models import EXTENT, Recipe

Scope = Callable[[bool], list[Case]]
"""The cases of the full scope, or of the smaller one."""
Exempt = Callable[[Case, int, bool], bool]
"""Whether an operand of a case may stay as it is; the last says whether it is a constant."""
Expected = Callable[[Case, Sequence[Array]], Array]
"""The result, from the operands."""
Runs = Callable[[Sequence[Sizes]], bool]
"""Whether onnxruntime is asked about operands of these sizes."""


def anywhere(_operands: Sequence[Sizes]) -> bool:
    return True


def never(_case: Case, _position: int, _held: bool) -> bool:
    return False


def always(_case: Case, _position: int, _held: bool) -> bool:
    return True


@dataclass(frozen=True)
class Row:
    """What is asked of a row."""

    recipe: Recipe
    scope: Scope
    sites: tuple[int, ...]
    """The operands of the case that `fix` may change."""
    keeps_rank: Exempt = never
    keeps_sizes: Exempt = never
    runs: Runs = anywhere
    expected: Expected | None = None
    """What the results are by numpy, where onnxruntime has no kernel for the original."""
    stand_in: tuple[str, tuple[int, ...]] | None = None
    """The operator of ONNX's domain, and which of the operands, by which a node without a kernel is run."""
    rounded: bool = False
    """Whether what is expected is numpy's to the last bit but one."""

    def alike(self, expected: Sequence[Array], found: Sequence[Array]) -> bool:
        """Compare bits, where they are the runtime's own; shapes and types always."""
        if self.rounded:
            one, two = expected[0], found[0]
            return one.shape == two.shape and one.dtype == two.dtype and np.allclose(one, two, rtol=1e-6, atol=0)
        return same_bits(expected, found)


@cache
def _pairs(rule: scope.Rule, full: bool) -> list[Case]:
    return scope.fitting(rule, scope.pairs(ALL if full else UP_TO_2))


def _one_element(case: Case, position: int, _held: bool) -> bool:
    """Pow: an exponent of one element selects a kernel that is exact for 2 and 3."""
    return position == 1 and any(set(case.at(n)[1]) <= {1} for n in scope.SIZES)


def _under_ones(case: Case, position: int, _held: bool) -> bool:
    """Pow: an exponent of one element under axes of one selects another kernel with as many axes as the base."""
    base, exponent = case.shapes
    facing = base[-max(len(exponent), 1) :]
    return position == 1 and {*exponent, *facing} <= {1} and len(exponent) < len(base) and set(base) != {1}


def _promoted(case: Case, _position: int, _held: bool) -> bool:
    """Matrix products: a vector is promoted, and there are no batch axes to align beside it."""
    return any(len(shape) == 1 for shape in case.shapes)


def _promoted_or_packed(case: Case, position: int, held: bool) -> bool:
    """A constant matrix on the right is packed ahead of time."""
    return _promoted(case, position, held) or (position == 1 and held and len(case.shapes[1]) == 2)


def _sums_something(operands: Sequence[Sizes]) -> bool:
    """Say where onnxruntime's products can be asked: it refuses some batches of size 0, and vectors beside a 0.

    A sum over nothing has no defined bits: the result is left as it was in memory, or lacks the right operand's batch.
    """
    one, two = operands
    zeros = 0 in one[:-2] + two[:-2] or one[-1] == 0
    return not zeros and (min(len(one), len(two)) > 1 or 0 not in one + two)


def _normalizes_something(operands: Sequence[Sizes]) -> bool:
    """Say where onnxruntime's normalizations can be asked: not about a scalar, nor an empty last axis."""
    return bool(operands[0]) and operands[0][-1] != 0


def _reads(
    kinds: tuple[str, ...], place: Callable[..., list[Array | None]], *, apart: bool
) -> tuple[int | Array | None, ...]:
    """Ask a table of the catalogue's tests where the operands stand: what is not one of them is the same for all."""
    marks = [np.zeros((), dtype=kind) for kind in kinds]
    placed = place(*marks) if apart else place(marks)
    return tuple(next((at for at, mark in enumerate(marks) if mark is read), read) for read in placed)


def _elementwise(key: Key, question: test_elementwise.Question) -> Row:
    kind = question.types.split()[0]
    count = len(question.shapes[0])
    kinds = (question.first or kind, *(kind,) * (count - 1))
    rule = scope.onto_first if key[1] == "PRelu" else scope.by_numpy
    recipe = Recipe(_reads(kinds, question.place, apart=False), kinds, rule, question.attributes.get(kind, {}))
    sites = (1,) if key[1] == "PRelu" else tuple(range(count))
    cases = partial(scope.triples, rule) if count > 2 else partial(_pairs, rule)
    keeps = (_under_ones, _one_element) if key[1] == "Pow" else (never, never)
    return Row(recipe, cases, sites, *keeps)


def _product(key: Key, question: test_products.Question) -> Row:
    kinds = question.types[0]
    recipe = Recipe(_reads(kinds, question.place, apart=True), kinds, scope.by_matmul)
    quantized = kinds[0] != "float32" and key[1] != "MatMulInteger16"
    keeps = {"MatMulInteger16": _promoted}.get(
        key[1], always if "Quantize" in key[1] or quantized else _promoted_or_packed
    )
    return Row(recipe, scope.products, (0, 1), keeps, always, _sums_something)


def _gemm(key: Key) -> Row:
    kinds = test_gemm.GEMMS[key][0][0]
    reads: tuple[int | Array | None, ...] = (0, 1, 2)
    if key[1] == "QGemm":
        one, nothing = np.array(1, np.float32), np.array(0, kinds[0])
        reads = (0, one, nothing, 1, one, nothing, 2)
    activation = {"activation": "LeakyRelu", "activation_alpha": 0.25} if key[1] == "FusedGemm" else {}
    return Row(Recipe(reads, kinds, scope.by_gemm, activation), scope.gemms, (2,))


def _norm(count: int) -> Row:
    recipe = Recipe(tuple(range(count)), ("float32",), scope.onto_first)
    if count == 2:
        return Row(recipe, partial(_pairs, scope.onto_first), (1,), always, always, _normalizes_something)
    return Row(recipe, _scale_and_bias, (1, 2), always, always, _normalizes_something)


def _scale_and_bias(full: bool) -> list[Case]:
    """A bias of the scale's shape; and of one element."""
    two = _pairs(scope.onto_first, full)
    return [Case((*case.shapes, bias)) for case in two for bias in dict.fromkeys((case.shapes[1], (1,)))]


SKIP_WIDTH = 4
"""A skip's last axis is exact: gamma has its size."""


def _skips(full: bool) -> list[Case]:
    """Every batch and length, with every skip that fits and is one the runtime takes: (B,S,H), (1,S,H) or (S,H).

    The proof reads a skip only where its length is stated as the data's: kernels do not stretch it.
    """
    two = scope.pairs(scope.shapes(2), scope.shapes(1, 2))
    found = [Case(((*x, SKIP_WIDTH), (*skip, SKIP_WIDTH))) for (x, skip), _ in two if x[-1] == skip[-1]]
    return scope.fitting(scope.by_skip, found)[:: 1 if full else 2]


def _skip() -> Row:
    return Row(Recipe((0, 1, numbers("float32", SKIP_WIDTH)), ("float32",), scope.by_skip), _skips, (1,))


def _legacy(op: str) -> Row:
    """A row before operator set 7: no runtime has kernels, so what is expected is numpy's."""
    if op == "Gemm":
        recipe = Recipe((0, 1, 2), ("float32",), scope.by_gemm, {"broadcast": 1})
        return Row(recipe, scope.gemms, (2,), expected=_sum_of_products)
    if op == "PRelu":
        return Row(Recipe((0, 1), ("float32",), scope.by_channel), _slopes, (1,), expected=_leaked)
    function, kinds = (np.power, "float32") if op == "Pow" else test_legacy.PAIRS[op]
    recipe = Recipe((0, 1), (kinds.split()[0],), scope.by_axis)
    row = Row(recipe, scope.aligned, (1,), expected=partial(_at_axis, function))
    return replace(row, keeps_rank=_under_ones, keeps_sizes=_one_element, rounded=True) if op == "Pow" else row


def _at_axis(function: Callable[[Array, Array], Array], case: Case, operands: Sequence[Array]) -> Array:
    one, two = operands
    return function(one, two.reshape(scope.placed([one.shape, two.shape], dict(case.attributes))))


def _sum_of_products(case: Case, operands: Sequence[Array]) -> Array:
    names = dict(case.attributes)
    one, two, c = operands
    return np.asarray((one.T if "transA" in names else one) @ (two.T if "transB" in names else two) + c)


def _leaked(_: Case, operands: Sequence[Array]) -> Array:
    x, slope = operands
    behind = (1,) * (x.ndim - 2) if slope.ndim == 1 else ()
    return np.asarray(np.where(x < 0, x * slope.reshape(slope.shape + behind), x), x.dtype)


def _slopes(full: bool) -> list[Case]:
    data, slopes = (ALL if full else UP_TO_2), scope.shapes(0, 1)
    return scope.fitting(scope.by_channel, scope.pairs(data, slopes))


LEGACY = (*test_legacy.PAIRS, "Pow", "Gemm", "PRelu")
ROWS: dict[Key, Row] = {
    **{key: _elementwise(key, question) for key, question in test_elementwise.QUESTIONS.items()},
    (MICROSOFT, "MulInteger", 1): Row(
        Recipe((0, np.array(1, np.uint8), 1, np.array(2, np.uint8)), ("uint8",)),
        *(partial(_pairs, scope.by_numpy), (0, 1)),
        stand_in=("Mul", (0, 2)),
    ),
    **{key: _product(key, question) for key, question in test_products.QUESTIONS.items()},
    (MICROSOFT, "FusedMatMulActivation", 1): Row(
        Recipe((0, 1), ("float32",), scope.by_matmul, {"activation": "Relu"}),
        *(scope.products, (0, 1), _promoted_or_packed, always, _sums_something),
        stand_in=("MatMul", (0, 1)),
    ),
    **{key: _gemm(key) for key in test_gemm.GEMMS},
    **{key: _norm(3 if key[1] == "LayerNormalization" else 2) for key in test_own.NORMS},
    **{key: _skip() for key in test_own.SKIPS},
    **{("", op, 1): _legacy(op) for op in LEGACY},
    ("", "Expand", 8): Row(
        Recipe((0, f"{EXTENT}1"), ("float32",)), partial(_pairs, scope.by_numpy), (0,), keeps_sizes=always
    ),
}
"""The rows whose operands a rewrite may touch."""
