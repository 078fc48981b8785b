"""What a file stores of sizes, read as arithmetic: Python computes the same texts."""

from __future__ import annotations

from math import ceil, floor

import pytest
from onnx import helper

from graphfix.checker.files.onnx.stored_sizes import Numbers, computed, stored_dims, symbols

SIZES = {"N": 7, "M": 3, "past length": 11}


@pytest.mark.parametrize(
    "text",
    [
        "5", "N", "N + 1", "N - M", "M - N", "N*M", "N//2", "N//M", "-N", "N**2", "M**8", "N % 4", "(N + 1)/2", "2*N/7",
        "Max(1, N)", "Min(N, M)", "Max(N)", "Max(1, N, M)", "Min(9, N, M)", "Mod(N, 4)", "FloorDiv(N, 2)",
        "floor(N/2)", "ceiling(N/2)", "ceil(N/3)", "floor(N)", "ceiling(N)", "ceil(N/7)", " N + M ", "(N - 1)//2 + 1",
        "N//1", "N % 1", "ceiling(N/1)", "N/1", "N**1", "N//-7", "floor(N - M)",
    ],
)  # fmt: skip
def test_arithmetic_over_symbols_is_that_of_python(text: str) -> None:
    names = {
        "N": 7, "M": 3, "Max": lambda *sizes: max(sizes), "Min": lambda *sizes: min(sizes), "Mod": lambda a, b: a % b,
        "FloorDiv": lambda a, b: a // b, "floor": floor, "ceiling": ceil, "ceil": ceil,
    }  # fmt: skip
    assert computed(text, SIZES, Numbers()) == eval(text.strip(), names)  # noqa: S307


@pytest.mark.parametrize(
    "text",
    [
        "", "Q", "N + Q", "Max(N, Q)", "Max(Q, N)", "2x", "N/2", "N/0", "N//0", "N % 0", "ceiling(N/0)", "N**9", "N**0",
        "N**M**9", "1.5", "True", "'a'", "N if M else 1", "sin(N)", "Max(N, key=M)", "floor(N, M)", "Max()", "N +",
        "N and M", "+".join(["N"] * 500), "~N", "N << 1", "floor(Q/2)", "FloorDiv(N)", "x" * 1001, "N[0]",
    ],
)  # fmt: skip
def test_what_is_no_arithmetic_of_sizes_is_none(text: str) -> None:
    assert computed(text, SIZES, Numbers()) is None


def test_a_text_that_an_input_has_is_a_symbol_whatever_it_reads_as() -> None:
    assert computed("past length", SIZES, Numbers()) == 11
    assert computed("N + 1", {"N + 1": 4, "N": 7}, Numbers()) == 4
    most = "Max(" + ",".join(["N"] * 497) + ",9)"
    assert (len(most), computed(most, SIZES, Numbers())) == (1000, 9)
    assert computed(f"{most} ", SIZES, Numbers()) is None
    assert computed("N//M", {"N": 6, "M": 0}, Numbers()) is None


def test_symbols_are_found_where_they_stand_first() -> None:
    values = [
        helper.make_tensor_value_info("x", 1, ["N", 4, "?"]),
        helper.make_tensor_value_info("y", 1, [-1, "M", "N", ""]),
        helper.make_tensor_value_info("z", 1, None),
        helper.make_tensor_sequence_value_info("s", 1, ["K"]),
    ]
    graph = helper.make_graph([], "g", values, [])
    assert list(symbols(graph)) == [("N", "x", 0), ("M", "y", 1)]
    assert [stored_dims(value) for value in values] == [("N", 4, None), (None, "M", "N", None), (), ()]
    assert stored_dims(helper.make_tensor_value_info("e", 1, [0])) == (0,)
