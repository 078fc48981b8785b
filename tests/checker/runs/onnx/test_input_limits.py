"""What inputs of ONNX models may hold, by what reads them. The numbers are those of the operator specification."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper, parser

from graphfix.checker.runs.inputs.input_limits import (
    MOST_STEPS,
    before_rounding,
    below,
    meet,
    of_branches,
    shortest,
    solved,
    solved_mod,
    solved_unary,
)
from graphfix.checker.runs.onnx.input_limits import limits

SHAPES = {"x": (5, 7, 3), "i": (2, 2), "j": (3,), "n": (), "f": (4,)}
HEADER = '<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>'
BRANCHES = """y = If(c) <then_branch = t () => (float[?] a) { a = Gather(x, j) },
    else_branch = e () => (float[?] a) { a = Gather<axis = 2>(x, i) }>"""


def model(nodes: str, **weights: object) -> onnx.ModelProto:
    text = (
        f"{HEADER} g (float[A,B,C] x, int64[D,E] i, int64[K] j, int64 n, float[F] f, int64[?] o) => (float[?] y)"
        f" {{ {nodes} }}"
    )
    proto = parser.parse_model(text)
    for name, value in weights.items():
        proto.graph.initializer.append(numpy_helper.from_array(np.asarray(value), name))
    return proto


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        # what indexes
        ("y = Gather(x, i)", {"i": (0, 4)}),
        ("y = Gather<axis = 1>(x, i)", {"i": (0, 6)}),
        ("y = Gather<axis = -1>(x, i)", {"i": (0, 2)}),
        ("y = Gather<axis = -3>(x, i)", {"i": (0, 4)}),
        ("y = Gather<axis = 3>(x, i)", {"i": (0, 0)}),
        ("y = Gather<axis = -4>(x, i)", {"i": (0, 0)}),
        ("y = GatherElements<axis = 2>(x, i)", {"i": (0, 2)}),
        ("y = ScatterElements<axis = 1>(x, i, x)", {"i": (0, 6)}),
        ("y = ArrayFeatureExtractor(x, i)", {"i": (0, 2)}),
        ("y = GatherND(x, i)", {"i": (0, 4)}),
        ("y = GatherND(x, j)", {"j": (0, 2)}),
        ("y = GatherND<batch_dims = 1>(x, i)", {"i": (0, 2)}),
        ("y = ScatterND(x, i, x)", {"i": (0, 4)}),
        ("y = GatherND(x, o)", {"o": (0, 4)}),
        ("k = Unsqueeze(j, zero) y = GatherND(x, k)", {"j": (0, 2)}),
        ("q = Unknown(x) y = GatherND(q, j)", {"j": (0, 0)}),
        ("u = Unknown(j) y = GatherND(x, u)", {}),
        ("y = OneHot(i, six, f)", {"i": (0, 5)}),
        ("y = OneHot(i, n, f)", {"i": (0, 1), "n": (2, 10)}),
        ("y = ReverseSequence(x, j)", {"j": (1, 5)}),
        ("y = ReverseSequence<time_axis = 1>(x, j)", {"j": (1, 7)}),
        ("y, z = TopK(x, n)", {"n": (1, 3)}),
        ("y, z = TopK<axis = 0>(x, n)", {"n": (1, 5)}),
        ("y, z = TopK<k = 2>(x)", {}),
        ("y, z = LSTM(x, w, w, , j)", {"j": (1, 5)}),
        ("y, z = GRU<layout = 1>(x, w, w, , j)", {"j": (1, 7)}),
        ("y, z = RNN(x, w, w, ,)", {}),
        ("y, z = RNN(x, w, w)", {}),
        ("y = NegativeLogLikelihoodLoss(x, i)", {"i": (0, 6)}),
        ("y = SoftmaxCrossEntropyLoss(x, i)", {"i": (0, 6)}),
        ("y = RoiAlign(x, w, j)", {"j": (0, 4)}),
        ("y = com.microsoft.RotaryEmbedding(x, i, w, w)", {"i": (0, 8)}),
        ("y = RotaryEmbedding(x, w, w, i)", {"i": (0, 8)}),
        ("y = RotaryEmbedding(x, w, w)", {}),
        ("y = com.microsoft.EmbedLayerNormalization(i, j, w, f, x, w, w, w, n)",
         {"i": (0, 8), "j": (0, 4), "n": (0, 3)}),
        ("y = com.microsoft.EmbedLayerNormalization(i, j, w, f, , w, w)", {"i": (0, 8)}),
        ("y = com.microsoft.EmbedLayerNormalization(i, j, w, f, , w, w, n)", {"i": (0, 8)}),
        # what steers
        ("y = ConstantOfShape(j)", {"j": (1, 4)}),
        ("y = Expand(x, j)", {"j": (1, 1)}),
        ("y = Tile(x, j)", {"j": (1, 2)}),
        ("y = Range(n, j, i)", {"n": (0, 1), "j": (2, 6), "i": (1, 2)}),
        ("y = Range(n, n, n)", {"n": (2, 2)}),
        ("y = Loop<body = b (int64 t, bool d) => (bool e) { e = Identity(d) }>(n, )", {"n": (1, 4)}),
        ("y = Upsample(x, f)", {"f": (1, 2)}),
        ("s = SequenceConstruct(x) y = SequenceAt(s, n)", {"n": (0, 0)}),
        ("s = SequenceConstruct(x) y = SequenceErase(s, n)", {"n": (0, 0)}),
        ("y = Scatter<axis = 1>(x, i, x)", {"i": (0, 6)}),
        ("y = com.microsoft.GatherBlockQuantized(x, i, x)", {"i": (0, 4)}),
        ("y = Pad(x, j)", {"j": (0, 1)}),
        ("y = Resize(x, , f, j)", {"f": (1, 2), "j": (1, 8)}),
        ("y = Slice(x, j, o, , n)", {"j": (0, 0), "o": (1, 8), "n": (1, 1)}),
        ('y = BitShift<direction = "LEFT">(j, n)', {"n": (0, 3)}),
        ("y = CumSum(x, n)", {"n": (0, 0)}),
        ("y = Trilu(x, n)", {"n": (-1, 1)}),
        ("y = Div(j, n)", {"n": (1, 10)}),
        ("y = Mod(j, n)", {"n": (1, 10)}),
        ("y = Pow(j, n)", {"n": (0, 3)}),
        ("y = Div(f, f)", {}),
        ("y = Mod<fmod = 1>(f, f)", {}),
        ("y = Pow(x, f)", {}),
        # how values are followed back
        ("k = Identity(i) y = Gather(x, k)", {"i": (0, 4)}),
        ("k = Concat<axis = 0>(j, o) y = Gather(x, k)", {"j": (0, 4), "o": (0, 4)}),
        ("k = Where(c, j, o) y = Gather(x, k)", {"j": (0, 4), "o": (0, 4)}),
        ("k = Where(j, o, n) y = Gather(x, k)", {"o": (0, 4), "n": (0, 4)}),
        ("k = Gather(j, i) y = Gather(x, k)", {"j": (0, 4), "i": (0, 2)}),
        ("k = Clip(j, , n) y = Gather(x, k)", {"j": (0, 4)}),
        ("k = Add(j, six) y = Gather<axis = 1>(x, k)", {"j": (-6, 0)}),
        ("k = Sub(six, j) y = Gather(x, k)", {"j": (2, 6)}),
        ("k = Sub(j, six) y = Gather(x, k)", {"j": (6, 10)}),
        ("k = Add(j, n) y = Gather(x, k)", {"j": (0, 2), "n": (0, 2)}),
        ("k = Sub(j, n) y = Gather(x, k)", {}),
        ("k = Mul(j, six) y = Gather<axis = 1>(x, k)", {"j": (0, 1)}),
        ("k = Div(j, six) y = Gather(x, k)", {"j": (0, 24)}),
        ("k = Mod(j, six) y = Gather<axis = 1>(x, k)", {"j": (0, 5)}),
        ("k = Mod(six, j) y = Gather(x, k)", {"j": (1, 10)}),
        ("k = Add(j, texts) y = Gather(x, k)", {}),
        ("k = Neg(j) y = Gather(x, k)", {"j": (-4, 0)}),
        ("k = Cast<to = 7>(f) y = Gather(x, k)", {"f": (0, 4.5)}),
        ("g = Floor(f) k = Cast<to = 7>(g) y = Gather(x, k)", {"f": (0, 4.5)}),
        ("k = ReduceSum<keepdims = 0>(j, zero) y = Gather(x, k) z = Gather(x, i)", {"j": (0, 4 / 3), "i": (0, 4)}),
        ("k = ReduceSum<keepdims = 0>(x, last) h = Cast<to = 7>(k) y = Gather(x, h) z = Gather(x, i)",
         {"x": (0, 1.5), "i": (0, 4)}),
        ("k = ReduceSum<keepdims = 0>(j) y = Gather(x, k)", {}),
        ("k = ReduceSum<keepdims = 0>(j, six) y = Gather(x, k)", {}),
        ("k = ReduceSum<keepdims = 0>(o, zero) y = Gather(x, k) z = Gather(x, i)", {"o": (0, 4), "i": (0, 4)}),
        ("k = ReduceSum<axes = [0]>(j) y = Gather(x, k) z = Gather(x, i)", {"j": (0, 4 / 3), "i": (0, 4)}),
        ("k = ReduceProd<keepdims = 0, axes = [0]>(j) y = Gather(x, k) z = Gather(x, i)", {"i": (0, 4)}),
        ("k = ReduceSum<keepdims = 0, noop = [0]>(j) y = Gather(x, k) z = Gather(x, i)", {"i": (0, 4)}),
        ("k = ReduceSum(x, all) y = Expand(x, k) z = Gather(x, i)", {"x": (1 / 105, 1 / 105), "i": (0, 4)}),
        ("k = ReduceSum(x, some) y = Expand(x, k) z = Gather(x, i)", {"i": (0, 4)}),
        ("k = ReduceSum(x, before) y = Expand(x, k) z = Gather(x, i)", {"i": (0, 4)}),
        ("k = ReduceSum(x, behind) y = Expand(x, k) z = Gather(x, i)", {"i": (0, 4)}),
        ("u = Unknown(j) k = ReduceSum(u, zero) y = Gather(x, k)", {}),
        ("q = Compress(j, c) k = ReduceSum(q, zero) y = Gather(x, k) z = Gather(x, i)", {"i": (0, 4)}),
        ("k = Add(j, n) y = Expand(x, k)", {"j": (0, 0.5), "n": (0, 0.5)}),
        ("k = Add(j, n) y = CumSum(x, k)", {"j": (0, 0), "n": (0, 0)}),
        ("k = Add(j, n) y = Trilu(x, k)", {"j": (-1, 0.5), "n": (-1, 0.5)}),
        ("s = Shape(x) q = ConstantOfShape(s) y = Gather<axis = 1>(q, j)", {"j": (0, 6)}),
        ("k = Max(j) y = Gather(x, k)", {"j": (0, 4)}),
        ("k = Max(j, n) l = Min(k, k) y = Gather(x, l)", {"j": (0, 4), "n": (0, 4)}),
        ("k = Concat<axis = 0>(five, j) l = Sub(k, six) m = Concat<axis = 0>(l, k) y = Gather(x, m)", {"j": (6, 6)}),
        ("k = Unknown(j) y = Gather(x, k)", {}),
        ("k = Mul(j, six) l = Add(k, six) y = Expand(x, l)", {"j": (-5 / 6, -5 / 6)}),
        # two that read
        ("y = Gather(x, j) z = Gather<axis = 2>(x, j)", {"j": (0, 2)}),
        ("y = Gather(x, j) z = ReverseSequence(x, j)", {"j": (1, 4)}),
        # negative indices count from the end
        ("b = Less(j, zero) s = Add(j, five) k = Where(b, s, j) y = Gather(x, k)", {"j": (0, 4)}),
        # a body reads what is around it
        (BRANCHES, {"j": (0, 4), "i": (0, 2)}),
    ],
)  # fmt: skip
def test_an_input_keeps_to_what_reads_it(nodes: str, expected: dict[str, tuple[float, float]]) -> None:
    proto = model(
        nodes, w=np.ones((9, 4), np.float32), six=np.int64([6]), five=np.int64([5]), zero=np.int64([0]),
        last=np.int64([-1]), all=np.int64([-3, 1, 2]), some=np.int64([2, 3]), before=np.int64([-4]),
        behind=np.int64([3]), texts=np.array([b"a"], object), c=np.bool_(True),
    )  # fmt: skip
    shapes = {name: shape for name, shape in SHAPES.items() if name != "o"}
    assert limits(proto, {**shapes, "o": (1,)}).intervals == expected


@pytest.mark.parametrize("kind", ["float", "double", "float16", "bfloat16", "int32"])
def test_only_divisors_and_exponents_of_whole_numbers_are_limited(kind: str) -> None:
    text = f"{HEADER} g ({kind}[F] f) => ({kind}[F] y) {{ y = Pow(f, f) }}"
    assert limits(parser.parse_model(text), {"f": (4,)}).intervals == ({"f": (0, 3)} if kind == "int32" else {})


MOVERS = """Identity Reshape Unsqueeze Squeeze Flatten Transpose Expand Tile Slice Split Gather GatherND GatherElements
    Clip Pad Compress ReduceMax ReduceMean ReduceMin Concat Max Min Mean"""


@pytest.mark.parametrize("op", MOVERS.split())
def test_operators_that_move_elements_or_choose_among_them_lead_back_to_their_operand(op: str) -> None:
    proto = model(f"k = {op}(j, w) y = Gather(x, k)", w=np.int64([0]))
    assert limits(proto, SHAPES).intervals == {"j": (0, 4)}


@pytest.mark.parametrize("op", ["Concat", "Max", "Min", "Mean"])
def test_a_result_has_elements_of_every_operand_of_some_operators(op: str) -> None:
    assert limits(model(f"k = {op}(w, j) y = Gather(x, k)", w=np.int64([0])), SHAPES).intervals == {"j": (0, 4)}


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("y = Equal(n, six)", (6.0,)),
        ("y = Equal(six, n)", (6.0,)),
        ("y = Equal(n, two)", (8.0, 4.0)),
        ("k = Add(n, six) y = Equal(k, two)", (2.0, -2.0)),
        ("y = Equal(n, six) z = Equal(n, two)", (8.0, 6.0, 4.0)),
        ("y = Equal(n, many)", (4.0, 3.0, 2.0, 1.0)),
        ("y = Equal(n, texts)", None),
        ("y = Equal(n, j)", None),
        ("y = Less(n, six)", None),
        ("y = Equal(n, rows)", (4.0, 3.0, 2.0, 1.0)),
        ("y = Equal(n, half)", (0.5,)),
        ("y = Equal(n, truth)", None),
        ("y = Equal(n, none)", None),
        ("k = Sub(n, six) y = Equal(k, two)", (14.0, 10.0)),
        ("k = Identity(n) y = Equal(k, six)", (6.0,)),
        ("y = Equal(n, n)", None),
    ],
)
def test_an_input_is_compared_with_constants(nodes: str, expected: tuple[float, ...] | None) -> None:
    proto = model(
        nodes, six=np.int64(6), two=np.int64([4, 8]), many=np.int64([1, 2, 3, 4, 5]), texts=np.array([b"a"], object),
        rows=np.int64([[1, 2, 3], [4, 5, 6]]), half=np.float32(0.5), truth=np.bool_(True), none=np.int64([]),
    )  # fmt: skip
    assert limits(proto, SHAPES).compared.get("n") == expected


def test_a_size_that_is_not_known_allows_the_index_0_alone() -> None:
    proto = model("k = NonZero(x) y = Gather<axis = 1>(k, j)")
    assert limits(proto, SHAPES).intervals == {"j": (0, 0)}
    inferred = model("k = MatMul(x, w) y = Gather<axis = 2>(k, j)", w=np.ones((3, 9), np.float32))
    assert limits(inferred, SHAPES).intervals == {"j": (0, 8)}


def test_what_a_function_reads_counts() -> None:
    proto = model("y = own.at(x, j)")
    proto.opset_import.append(helper.make_opsetid("own", 1))
    node = helper.make_node("Gather", ["a", "b"], ["c"], axis=1)
    proto.functions.append(helper.make_function("own", "at", ["a", "b"], ["c"], [node], proto.opset_import[:1]))
    assert limits(proto, SHAPES).intervals == {"j": (0, 6)}


# --- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
def test_ends_of_an_interval_lead_to_results_that_lie_in_the_other(op: str, reverse: bool) -> None:
    computed = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide}[op]
    numbers = [[3], [-3], [2, 5], [-4, -2], [-2, 4], [0, 2], [0.5]]
    for known, low, high in [
        (known, *interval) for known in numbers for interval in [(-6, 12), (3, 9), (-9, -3), (-5, 0), (0, 7), (24, 100)]
    ]:
        found = solved(op, (low, high), np.array(known), reverse=reverse)
        one_sign = min(known) > 0 or max(known) < 0
        is_solved = op in ("Add", "Sub") or (one_sign and not (op == "Div" and reverse))
        assert (found is not None) == is_solved
        if found is None:
            continue
        ends = [computed(known, end) if reverse else computed(end, known) for end in found]
        if found[0] <= found[1]:
            assert low - 1e-9 <= np.min(ends) <= np.max(ends) <= high + 1e-9
        if len(known) == 1:  # of one number nothing is lost
            assert sorted(float(end[0]) for end in ends) == pytest.approx([low, high])


def test_nothing_is_solved_beside_no_number() -> None:
    for known in (np.array([]), np.array([np.inf]), np.array([1, np.nan])):
        assert solved("Add", (0, 1), known, reverse=False) is None
        assert solved_mod((0, 1), known) is None


@pytest.mark.parametrize(
    ("interval", "known", "expected"),
    [
        ((0, 9), np.int64([4]), (0, 3)),
        ((0, 2), np.int64([4]), (0, 2)),
        ((-3, 9), np.int64([4, 6]), (0, 3)),
        ((-3, -1), np.int64([4]), (0, 0)),
        ((0, 2.5), np.float32([3]), (0, 2.5)),
        ((0, 3), np.float32([3]), (0, 2)),
        ((0, 9), np.int64([1]), (0, 0)),
        ((0, 9), np.int64([0, 4]), None),
    ],
)
def test_a_number_below_the_divisor_is_its_own_remainder(
    interval: tuple[float, float], known: np.ndarray, expected: tuple[float, float] | None
) -> None:
    assert solved_mod(interval, known) == expected


@pytest.mark.parametrize(
    ("op", "interval", "expected"),
    [
        ("Ceil", (0, 4), (-0.5, 4)),
        ("Round", (0, 4), (-0.25, 4.25)),
        ("Floor", (0, 4), (0, 4.5)),
        ("Floor", (-3, -1), (-3, -0.5)),
        ("Cast", (0, 4), (0, 4.5)),
        ("Cast", (-1, 0), (-1, 0.5)),
        ("Cast", (-3, -1), (-3, -1)),
        ("Cast", (0.5, 4.5), (1, 4.5)),
    ],
)
def test_floats_are_rounded_to_what_is_allowed(
    op: str, interval: tuple[float, float], expected: tuple[float, float]
) -> None:
    assert before_rounding(op, interval) == expected


def test_intervals_are_turned_and_joined() -> None:
    assert [solved_unary(op, (-3, 5)) for op in ("Neg", "Abs", "Relu", "Sin")] == [(-5, 3), (0, 5), (0, 5), None]
    assert solved_unary("Abs", (-3, -1)) == (0, 0)
    assert meet(None, (0, 4)) == (0, 4)
    assert meet((1, 9), (0, 4)) == (1, 4)
    assert meet((0, 2), (5, 9)) == (5, 5)
    assert [below(size) for size in (None, 0, 1, 5)] == [(0, 0), (0, 0), (0, 0), (0, 4)]
    assert [shortest(dims) for dims in ((3, 2), (3, None), (), (0, 4))] == [2, None, None, 0]


@pytest.mark.parametrize(
    ("reached", "expected"),
    [
        ([("i", (-16, -1)), ("i", (0, 15))], {"i": (0, 15)}),
        ([("i", (0, 15)), ("i", (-16, -1))], {"i": (0, 15)}),
        ([("i", (0, 4)), ("i", (4, 9))], {"i": (4, 4)}),
        ([("i", (0, 4)), ("j", (6, 9))], {"i": (0, 4), "j": (6, 9)}),
    ],
)
def test_an_element_comes_from_one_of_two_values(
    reached: list[tuple[str, tuple[float, float]]], expected: dict[str, tuple[float, float]]
) -> None:
    assert dict(of_branches(reached)) == expected


# --- how far values are followed ------------------------------------------------------------------------------------


def chain(length: int, first: str, last: str) -> str:
    names = [first, *(f"k{at}" for at in range(1, length)), last]
    return " ".join(f"{after} = Identity({before})" for before, after in pairwise(names))


@pytest.mark.parametrize(("length", "found"), [(MOST_STEPS, True), (MOST_STEPS + 1, False)])
def test_a_value_is_followed_through_so_many_nodes(length: int, found: bool) -> None:
    proto = model(f"{chain(length, 'j', 'k')} y = Gather(x, k)")
    assert limits(proto, SHAPES).intervals == ({"j": (0, 4)} if found else {})


IN_A_LOOP = "(int64 t, bool go, int64[K] p, float[5,7,3] s) => (bool e, int64[K] q, float[5,7,3] r, float[?] z)"


@pytest.mark.parametrize(("length", "found"), [(MOST_STEPS - 1, True), (MOST_STEPS, False)])
def test_what_is_passed_to_a_body_is_one_step_of_them(length: int, found: bool) -> None:
    inside = f"e = Identity(go) q = Identity(p) r = Identity(s) {chain(length, 'p', 'k')} z = Gather(x, k)"
    proto = model(f"a, b, y = Loop<body = b {IN_A_LOOP} {{ {inside} }}>(six, , j, x)", six=np.int64(6))
    assert limits(proto, SHAPES).intervals == ({"j": (0, 4)} if found else {})


def test_sizes_are_bound_to_tensors_alone() -> None:
    proto = model("q = SequenceAt(s, zero) y = Gather(q, j)", zero=np.int64(0))
    proto.graph.input.append(helper.make_tensor_sequence_value_info("s", 1, [9]))
    assert limits(proto, {**SHAPES, "s": (3,)}).intervals == {"j": (0, 8)}


def test_the_size_of_an_input_that_is_not_bound_is_not_known() -> None:
    assert limits(model("y = Gather(x, j)"), {"j": (3,)}).intervals == {"j": (0, 0)}
