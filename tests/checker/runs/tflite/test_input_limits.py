"""What inputs of TFLite models may hold, by what reads them; and the ends of quantized models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from graphfix.checker.files.tflite.graphs import Graph, Levels, Op
from graphfix.checker.runs.inputs.input_limits import MOST_STEPS
from graphfix.checker.runs.tflite.input_limits import limits
from graphfix.checker.runs.tflite.pace import Pace
from graphfix.checker.runs.tflite.quantized_ends import input_ranges, output_steps

NAMES = ("x", "i", "j", "n", "f")
X, I, J, N, F = range(5)  # noqa: E741 - as the inputs are called
SIX, TWO, MANY, NONE, REAL = range(5, 10)
CONSTANTS = {
    SIX: np.int32([6]), TWO: np.int32(2), MANY: np.int32([4, 3, 5]), NONE: np.int32([]), REAL: np.float32([[9]]),
}  # fmt: skip
MADE = 10
SHAPES: dict[int, tuple[int | None, ...]] = {
    X: (None, 7, 3), I: (2, 2), J: (3,), N: (), F: (4,), SIX: (1,), TWO: (), MANY: (3,), NONE: (0,), REAL: (1, 1),
}  # fmt: skip
FED = {"x": (5, 7, 3), "i": (2, 2), "j": (3,), "n": (), "f": (4,)}


def graph(*ops: Op, inputs: tuple[int, ...] = (X, I, J, N, F), **changes: object) -> Graph:
    tensors = range(MADE + 6)
    values: dict[str, object] = {
        "names": tuple(NAMES[at] if at < len(NAMES) else f"t{at}" for at in tensors),
        "shapes": tuple(SHAPES.get(at, (None,)) for at in tensors),
        "constants": CONSTANTS,
        "inputs": inputs,
        "outputs": (),
        "ops": ops,
        "makers": {tensor: at for at, op in reversed(list(enumerate(ops))) for tensor in op.outputs},
    }
    return Graph(**{**values, **changes})  # type: ignore[arg-type]


def op(name: str, *inputs: int, out: int = MADE, axis: int = 0, bodies: tuple[int, ...] = ()) -> Op:
    return Op(name, inputs, (out,), axis, bodies)


@pytest.mark.parametrize(
    ("operators", "expected"),
    [
        # what indexes
        ([op("GATHER", X, I)], {"i": (0, 4)}),
        ([op("GATHER", X, I, axis=1)], {"i": (0, 6)}),
        ([op("GATHER", X, I, axis=-1)], {"i": (0, 2)}),
        ([op("GATHER", X, I, axis=-3)], {"i": (0, 4)}),
        ([op("GATHER", X, I, axis=-4)], {"i": (0, 0)}),
        ([op("GATHER", X, I, axis=3)], {"i": (0, 0)}),
        ([op("GATHER", MADE + 1, I)], {"i": (0, 0)}),
        ([op("GATHER_ND", X, I)], {"i": (0, 4)}),
        ([op("GATHER_ND", X, J)], {"j": (0, 2)}),
        ([op("GATHER_ND", X, N)], {"n": (0, 2)}),
        ([op("EMBEDDING_LOOKUP", I, X)], {"i": (0, 4)}),
        ([op("HASHTABLE_LOOKUP", I, F, X)], {"i": (0, 4)}),
        ([op("EMBEDDING_LOOKUP_SPARSE", I, F, J)], {"i": (0, 2)}),
        ([op("ONE_HOT", I, SIX, F, F)], {"i": (0, 5)}),
        ([op("ONE_HOT", I, N, F, F)], {"i": (0, 1)}),
        ([op("ONE_HOT", I, NONE, F, F)], {"i": (0, 1)}),
        ([op("SCATTER_ND", I, F, MANY)], {"i": (0, 2)}),
        ([op("SCATTER_ND", I, F, N)], {"i": (0, 0)}),
        ([op("SCATTER_ND", I, F, NONE)], {"i": (0, 0)}),
        ([op("UNKNOWN", X, I)], {}),
        # what steers
        ([op("FILL", J, F)], {"j": (1, 4)}),
        ([op("RANGE", N, SIX, SIX)], {"n": (0, 1)}),
        ([op("RANGE", SIX, N, I)], {"n": (2, 6), "i": (1, 2)}),
        ([op("TILE", X, J)], {"j": (1, 2)}),
        ([op("PAD", X, J)], {"j": (0, 1)}),
        ([op("STRIDED_SLICE", X, J, I, N)], {"j": (0, 0), "i": (1, 1), "n": (1, 1)}),
        ([op("STRIDED_SLICE", X, J)], {"j": (0, 0)}),
        ([op("SPLIT", N, X)], {"n": (0, 0)}),
        ([op("UNSORTED_SEGMENT_MAX", X, I, N)], {"i": (0, 1), "n": (2, 4)}),
        ([op("DYNAMIC_UPDATE_SLICE", X, F, J)], {"j": (0, 1)}),
        ([op("DIV", I, J)], {"j": (1, 10)}),
        ([op("POW", I, J)], {"j": (0, 3)}),
        ([op("DIV", F, F)], {}),
        ([op("RIGHT_SHIFT", I, F)], {"f": (0, 3)}),
        # how values are followed back
        ([op("RESHAPE", I, SIX), op("GATHER", X, MADE)], {"i": (0, 4)}),
        ([op("GATHER", I, J), op("GATHER", X, MADE)], {"i": (0, 4), "j": (0, 1)}),
        ([op("CONCATENATION", I, J), op("GATHER", X, MADE)], {"i": (0, 4), "j": (0, 4)}),
        ([op("SPLIT", SIX, J), op("GATHER", X, MADE)], {"j": (0, 4)}),
        ([op("SELECT", N, I, J), op("GATHER", X, MADE)], {"i": (0, 4), "j": (0, 4)}),
        ([op("SELECT_V2", N, I, J), op("GATHER", X, MADE)], {"i": (0, 4), "j": (0, 4)}),
        ([op("CAST", F), op("GATHER", X, MADE)], {"f": (0, 4.5)}),
        ([op("FLOOR", F), op("CAST", MADE, out=MADE + 1), op("GATHER", X, MADE + 1)], {"f": (0, 4.5)}),
        ([op("NEG", J), op("GATHER", X, MADE)], {"j": (-4, 0)}),
        ([op("ABS", J), op("GATHER", X, MADE)], {"j": (0, 4)}),
        ([op("ADD", J, TWO), op("GATHER", X, MADE)], {"j": (-2, 2)}),
        ([op("ADD", TWO, J), op("GATHER", X, MADE)], {"j": (-2, 2)}),
        ([op("SUB", J, TWO), op("GATHER", X, MADE)], {"j": (2, 6)}),
        ([op("SUB", SIX, J), op("GATHER", X, MADE)], {"j": (2, 6)}),
        ([op("MUL", J, TWO), op("GATHER", X, MADE)], {"j": (0, 2)}),
        ([op("FLOOR_DIV", J, TWO), op("GATHER", X, MADE)], {"j": (0, 8)}),
        ([op("FLOOR_DIV", SIX, J), op("GATHER", X, MADE)], {"j": (1, 10)}),
        ([op("FLOOR_MOD", J, TWO), op("GATHER", X, MADE)], {"j": (0, 1)}),
        ([op("FLOOR_MOD", SIX, J), op("GATHER", X, MADE)], {"j": (1, 10)}),
        ([op("ADD", I, J), op("GATHER", X, MADE)], {}),
        ([op("ADD", I, NONE), op("GATHER", X, MADE)], {}),
        ([op("UNKNOWN", I), op("GATHER", X, MADE)], {}),
        # negative indices count from the end
        ([op("ADD", J, SIX), op("SELECT", N, MADE, J, out=MADE + 1), op("GATHER", X, MADE + 1)], {"j": (0, 4)}),
        # two that read
        ([op("GATHER", X, J), op("GATHER", X, J, axis=2, out=MADE + 1)], {"j": (0, 2)}),
        # an absent operand
        ([op("RANGE", -1, N, -1)], {"n": (2, 6)}),
    ],
)  # fmt: skip
def test_an_input_keeps_to_what_reads_it(operators: list[Op], expected: Mapping[str, tuple[float, float]]) -> None:
    names = dict(enumerate(NAMES))
    assert limits([graph(*operators)], 0, names, FED, fractional=frozenset({"x", "f"})).intervals == expected


MOVERS = """RESHAPE EXPAND_DIMS SQUEEZE TRANSPOSE SLICE STRIDED_SLICE TILE BROADCAST_TO GATHER GATHER_ND UNPACK
    REVERSE_V2 REVERSE_SEQUENCE PAD REDUCE_MAX REDUCE_MIN BITCAST PACK CONCATENATION MAXIMUM MINIMUM"""


@pytest.mark.parametrize("name", MOVERS.split())
def test_operators_that_move_elements_or_choose_among_them_lead_back_to_their_operand(name: str) -> None:
    made = graph(op(name, J, TWO), op("GATHER", X, MADE))
    assert limits([made], 0, dict(enumerate(NAMES)), FED).intervals == {"j": (0, 4)}
    second = graph(op(name, TWO, J), op("GATHER", X, MADE))
    reached = limits([second], 0, dict(enumerate(NAMES)), FED).intervals
    assert (reached == {"j": (0, 4)}) == (name in ("PACK", "CONCATENATION", "MAXIMUM", "MINIMUM"))


STEERING = {
    "FILL": {0: (1, 4)}, "RANGE": {0: (0, 1), 1: (2, 6), 2: (1, 2)}, "TILE": {1: (1, 2)}, "BROADCAST_TO": {1: (1, 1)},
    "EXPAND_DIMS": {1: (0, 0)}, "PAD": {1: (0, 1)}, "PADV2": {1: (0, 1)}, "MIRROR_PAD": {1: (0, 0)},
    "RESIZE_BILINEAR": {1: (1, 8)}, "RESIZE_NEAREST_NEIGHBOR": {1: (1, 8)}, "SLICE": {1: (0, 0), 2: (1, 1)},
    "STRIDED_SLICE": {1: (0, 0), 2: (1, 1), 3: (1, 1)}, "SPLIT": {0: (0, 0)}, "TOPK_V2": {1: (1, 1)},
    "CUMSUM": {1: (0, 0)}, "ARG_MAX": {1: (0, 0)}, "ARG_MIN": {1: (0, 0)}, "REVERSE_SEQUENCE": {1: (1, 1)},
    "SEGMENT_SUM": {1: (0, 0)}, "DYNAMIC_UPDATE_SLICE": {2: (0, 1)}, "DIV": {1: (1, 10)}, "FLOOR_DIV": {1: (1, 10)},
    "FLOOR_MOD": {1: (1, 10)}, "POW": {1: (0, 3)}, "RIGHT_SHIFT": {1: (0, 3)}, "STABLEHLO_SHIFT_LEFT": {1: (0, 3)},
    **{f"UNSORTED_SEGMENT_{kind}": {1: (0, 1), 2: (2, 4)} for kind in ("SUM", "PROD", "MAX", "MIN")},
}  # fmt: skip
"""Values with which each operator's kernel computes little and fails for no operand of one element."""


@pytest.mark.parametrize("name", STEERING)
def test_operands_that_steer_how_much_is_computed_stay_small(name: str) -> None:
    operands = (J, I, N, F)
    names = dict(zip(operands, "abcd", strict=True))
    expected = {names[operands[place]]: interval for place, interval in STEERING[name].items()}
    assert limits([graph(op(name, *operands))], 0, names, {}).intervals == expected


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("IF", (N, I, J), {"i": (0, 0), "j": (0, 1)}),
        ("WHILE", (I, J), {"i": (0, 0), "j": (0, 1)}),
    ],
)
def test_what_a_body_reads_counts(name: str, operands: tuple[int, ...], expected: Mapping[str, object]) -> None:
    body = graph(op("GATHER", I, J), op("GATHER", X, I, out=MADE + 1), inputs=(I, J))
    main = graph(Op(name, operands, (MADE,), bodies=(1,)))
    assert limits([main, body], 0, dict(enumerate(NAMES)), FED).intervals == expected
    assert limits([main, body], 1, {I: "a", J: "b"}, {"a": (8,), "b": (3,)}).intervals == {"a": (0, 0), "b": (0, 7)}


def test_an_input_of_another_subgraph_does_not_count() -> None:
    other = graph(op("GATHER", X, I))
    assert limits([graph(), other], 0, dict(enumerate(NAMES)), FED).intervals == {}


def transposed(shape: int, kernel: int, data: int, *, padded: bool) -> Op:
    return Op("TRANSPOSE_CONV", (shape, kernel, data), (MADE,), strides=(2, 3), padded=padded)


@pytest.mark.parametrize(("padded", "expected"), [(True, (1, 10, 18, 8)), (False, (1, 10, 20, 8))])
def test_the_shape_that_a_transposed_convolution_asks_for_is_given(padded: bool, expected: tuple[int, ...]) -> None:
    """With SAME rows times the stride, with VALID (rows - 1) times the stride plus the kernel, as LiteRT checks it."""
    shapes = tuple({I: (8, 2, 5, 3), X: (None, 5, 6, 3)}.get(at, (3,)) for at in range(MADE + 6))
    operator = transposed(J, I, X, padded=padded)
    names, fed = {J: "j", X: "x"}, {"x": (1, 5, 6, 3)}
    assert limits([graph(operator, shapes=shapes)], 0, names, fed).given == {"j": expected}
    assert limits([graph(operator, shapes=shapes)], 0, names, {}).given == {}
    assert limits([graph(operator, shapes=shapes)], 0, {X: "x"}, fed).given == {}
    assert limits([graph(op("CONV", J, I, X), shapes=shapes)], 0, names, fed).given == {}
    assert limits([graph(operator, shapes=(*shapes[:I], (8, 2, 5), *shapes[J:]))], 0, names, fed).given == {}


# --- quantized ends ---------------------------------------------------------------------------------------------------

LEVELS = {N: Levels(0.5, -64.0, 63.5), MADE: Levels(0.25, 0.0, 63.75)}


def test_the_float_inputs_that_are_quantized_have_ranges() -> None:
    quantized = [op("QUANTIZE", X), op("QUANTIZE", F, out=MADE + 1), op("NEG", I, out=N)]
    made = graph(*quantized, op("QUANTIZE", MADE + 2), levels=LEVELS)
    assert input_ranges(made, {X: "x", F: "f", I: "i"}) == {"x": (0.0, 63.75)}


@pytest.mark.parametrize(
    ("operators", "output", "step"),
    [
        ([], N, 1.0),
        ([op("DEQUANTIZE", N)], MADE + 1, None),
        ([op("DEQUANTIZE", N, out=MADE + 1)], MADE + 1, 0.5),
        ([op("DEQUANTIZE", X, out=MADE + 1)], MADE + 1, None),
        ([op("DEQUANTIZE", N, out=MADE + 1), op("RESHAPE", MADE + 1, SIX, out=MADE + 2)], MADE + 2, 0.5),
        ([op("DEQUANTIZE", N, out=MADE + 1), op("GATHER", MADE + 1, J, out=MADE + 2)], MADE + 2, 0.5),
        ([op("DEQUANTIZE", N, out=MADE + 1), op("ADD", MADE + 1, F, out=MADE + 2)], MADE + 2, None),
    ],
)
def test_neighbouring_values_of_an_output_are_a_step_apart(
    operators: list[Op], output: int, step: float | None
) -> None:
    assert output_steps(graph(*operators, outputs=(output, X), levels=LEVELS)) == (step, None)


# --- the pace of brief runs -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kernels", "taken", "sizes", "share"),
    [
        ("xnnpack", [], {}, "same"),
        ("builtin", [0.03], {"N": 9}, "same"),
        ("builtin", [0.2], {"N": 9}, "least"),
        ("builtin", [0.2], {}, "same"),
        ("builtin", [0.2], {"N": 1, "M": 0}, "same"),
        ("builtin", [0.4], {}, "none"),
        ("builtin", [0.4], {"N": 2}, "least"),
        ("builtin", [9.0], {"N": 1}, "none"),
        ("builtin", [9.0], {"N": 3, "M": 5}, "least"),
        ("reference", [0.02, 0.01], {"N": 3}, "same"),
        ("reference", [0.1, 0.04], {"N": 1}, "same"),
        ("reference", [0.1, 0.04], {"N": 3}, "least"),
        ("reference", [0.1, 0.05], {"N": 1}, "none"),
        ("reference", [8.0, 0.4], {}, "same"),
    ],
)
def test_a_slow_kernel_set_runs_the_least_sizes_or_nothing(
    kernels: str, taken: list[float], sizes: dict[str, int], share: str
) -> None:
    assert Pace(taken).share(kernels, sizes) == share


# --- how far values are followed ------------------------------------------------------------------------------------


def chained(length: int, *, inputs: tuple[int, ...] = (0, 1)) -> Graph:
    """Tensor 1 through that many operators into the indices of tensor 0."""
    ops = [Op("RESHAPE", (at, 1), (at + 1,)) for at in range(1, length + 1)]
    ops.append(Op("GATHER", (0, length + 1), (length + 2,)))
    return Graph(
        names=tuple(f"t{at}" for at in range(length + 3)), shapes=((7,), *((3,),) * (length + 2)), constants={},
        inputs=inputs, outputs=(), ops=tuple(ops), makers={op.outputs[0]: at for at, op in enumerate(ops)},
    )  # fmt: skip


@pytest.mark.parametrize(("length", "found"), [(MOST_STEPS, True), (MOST_STEPS + 1, False)])
def test_a_value_is_followed_through_so_many_operators(length: int, found: bool) -> None:
    expected = {"i": (0, 6)} if found else {}
    assert limits([chained(length)], 0, {0: "x", 1: "i"}, {}).intervals == expected


@pytest.mark.parametrize(("length", "found"), [(MOST_STEPS - 1, True), (MOST_STEPS, False)])
def test_a_call_is_one_step_of_them(length: int, found: bool) -> None:
    main = graph(Op("WHILE", (X, J), (MADE, MADE + 1), bodies=(1,)))
    expected = {"j": (0, 6)} if found else {}
    assert limits([main, chained(length)], 0, dict(enumerate(NAMES)), FED).intervals == expected


def test_a_body_that_is_called_from_two_places_limits_the_operands_of_both() -> None:
    body = graph(op("GATHER", I, J), inputs=(I, J))
    calls = [Op("WHILE", (I, J), (MADE,), bodies=(1,)), Op("IF", (N, I, F), (MADE + 1,), bodies=(2, 1))]
    assert limits([graph(*calls), body, graph()], 0, dict(enumerate(NAMES)), FED).intervals == {
        "j": (0, 1),
        "f": (0, 1),
    }


def test_the_sizes_that_are_fed_are_those_of_one_subgraph() -> None:
    """Another subgraph has tensors of the same numbers."""
    body = graph(op("GATHER", X, J), inputs=(X, J))
    main = graph(op("GATHER", X, I), Op("WHILE", (X, J), (MADE,), bodies=(1,)))
    assert limits([main, body], 0, dict(enumerate(NAMES)), FED).intervals == {"i": (0, 4), "j": (0, 0)}


@pytest.mark.parametrize(("known", "expected"), [(np.bool_([True]), {}), (np.int32([1]), {"j": (-1, 3)})])
def test_only_beside_a_number_is_a_sum_solved(known: np.ndarray, expected: Mapping[str, object]) -> None:
    made = graph(op("ADD", J, SIX), op("GATHER", X, MADE), constants={SIX: known})
    assert limits([made], 0, dict(enumerate(NAMES)), FED).intervals == expected


def test_divisors_of_float_inputs_are_free_and_what_else_limits_them_holds() -> None:
    made = graph(op("DIV", X, F), op("RESIZE_BILINEAR", X, F, out=MADE + 1))
    assert limits([made], 0, dict(enumerate(NAMES)), FED, fractional={"f"}).intervals == {"f": (1, 8)}
    assert limits([made], 0, dict(enumerate(NAMES)), FED, fractional={"x"}).intervals == {"f": (1, 8)}
    assert limits([graph(op("DIV", X, F))], 0, dict(enumerate(NAMES)), FED, fractional={"x"}).intervals == {
        "f": (1, 10)
    }
