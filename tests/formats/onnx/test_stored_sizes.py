"""Sizes as exporters write them, read as arithmetic over the sizes of inputs: N is 6 and M is 4."""

from __future__ import annotations

import pytest

from graphfix.formats.onnx.infer.stored_names import Hypotheses, StoredNames
from graphfix.shapes.dim import Dim, Shape, Size, symbol
from graphfix.shapes.name_table import LONGEST
from graphfix.shapes.terms import Terms

N, M, FREE = symbol("N"), symbol("M"), Dim(("?z.0",))
NUMBERS = {N.parts: 6, M.parts: 4}


def hypotheses(terms: Terms | None = None) -> Hypotheses:
    """What is stored beside inputs x[N,M] and z[?]."""
    stored = StoredNames.of({"x": ("N", "M"), "z": (None,)}, {})
    return Hypotheses.over(stored, terms or Terms(), {"x": Shape((N, M)), "z": Shape((FREE,))})


UNDERSTOOD = {
    "N": 6,
    "7": 7,
    " N + 1": 7,
    "N - M": 2,
    "2*N*M": 48,
    "N//4": 1,
    "N % 4": 2,
    "4*N/2": 12,
    "N**2": 36,
    "N**4": 1296,
    "-(-N)": 6,
    "Max(N, 10)": 10,
    "Max(N)": 6,
    "Min(N, M, 5)": 4,
    "Mod(N, 4)": 2,
    "FloorDiv(N, 4)": 1,
    "floor(N/4)": 1,
    "ceiling(N/4)": 2,
    "ceil(N/4)": 2,
    "ceil(N/1)": 6,
    "floor(N)": 6,
    "floor(N + M)": 10,
}


@pytest.mark.parametrize(("text", "number"), UNDERSTOOD.items(), ids=UNDERSTOOD)
def test_arithmetic_over_sizes_of_inputs_is_understood(text: str, number: int) -> None:
    terms = Terms()
    size = hypotheses(terms).size(text)
    assert size is not None
    assert terms.number(size, NUMBERS) == number


LABELS = [
    *("K", "N + K", "K + N", "-K", "Max(N, K)", "floor(K/4)", "floor(N/K)", "floor(K)", "Max()", "Mod(N)"),
    *("Mod(N, 4, 2)", "Mod(N, 0)", "FloorDiv(N, 0)", "N//0", "N % 0", "N/0", "floor(N/0)", "floor(N/M)", "floor(N/-2)"),
    *("floor(N, M)", "floor()", "N**5", "N**0", "N**-1", "N**M", "sqrt(N)", "Max(N, key=M)", "x.Max(N)", "~N", "+N"),
    *(
        "True",
        "1.5",
        "'a'",
        "N if M else 2",
        "2x",
        "N +",
        "N^2",
        "N << 1",
        "N and M",
        "x[0]",
        "",
        "+".join(["N"] * 600),
    ),
]


@pytest.mark.parametrize("text", LABELS, ids=[text[:20] for text in LABELS])
def test_what_is_no_such_arithmetic_says_nothing(text: str) -> None:
    assert hypotheses().size(text) is None


@pytest.mark.parametrize(("length", "understood"), [(LONGEST, True), (LONGEST + 1, False)])
def test_a_text_that_is_too_long_says_nothing(length: int, *, understood: bool) -> None:
    assert (hypotheses().size("N".ljust(length)) == N) == understood


def test_a_number_is_itself_and_nothing_says_nothing() -> None:
    assert (hypotheses().size(5), hypotheses().size(None)) == (5, None)


def term(terms: Terms, text: str | int) -> Size:
    """A computed size: arithmetic, `?` for one that no rule knows, or `z` for one that the file has no name for."""
    known = {"?": Dim(), "z": FREE}
    size = known[text] if isinstance(text, str) and text in known else hypotheses(terms).size(text)
    assert size is not None
    return size


COMPARED: dict[str, tuple[str | int, str | int, bool, bool]] = {
    "the same": ("4*N", "4*N", False, False),
    "another multiple": ("4*N", "2*N", True, False),
    "one more": ("N + 1", "N", True, False),
    "the size of another input": ("N", "M", True, False),
    "a size that is the stored one up to a bound": ("Min(N, 16)", "N", False, True),
    "a size that is the stored one from a bound on": ("Max(N, 16)", "N", False, True),
    "a number that is computed": (5, "N", False, False),
    "a number that is stored, of a free size": ("N", 5, False, False),
    "a stored size of a further input": ("2*N", "N + M", False, False),
    "a size that no rule knows": ("?", "N", False, True),
}


@pytest.mark.parametrize(("computed", "stored", "refuted", "is_open"), COMPARED.values(), ids=COMPARED)
def test_a_stored_size_is_proved_or_refuted_or_open(
    computed: str | int, stored: str | int, *, refuted: bool, is_open: bool
) -> None:
    terms = Terms()
    held = hypotheses(terms)
    sizes = term(terms, computed), term(terms, stored)
    assert (held.refuted(*sizes), held.is_open(*sizes)) == (refuted, is_open)


VARYING: dict[str, tuple[str | int, int, bool]] = {
    "a free size": ("N", 5, True),
    "arithmetic over one": ("2*N + 1", 5, True),
    "a number": (5, 5, False),
    "another number": (7, 5, False),
    "a size that no rule knows": ("?", 5, False),
    "what is the number at every size": ("Min(N, 1)", 1, False),
}


@pytest.mark.parametrize(("computed", "stored", "varies"), VARYING.values(), ids=VARYING)
def test_a_number_that_is_stored_where_the_size_is_free_is_seen(
    computed: str | int, stored: int, *, varies: bool
) -> None:
    terms = Terms()
    assert hypotheses(terms).varies(term(terms, computed), stored) == varies


def test_a_size_on_which_the_calls_of_a_function_do_not_agree_varies() -> None:
    assert hypotheses().varies(Dim(("?function own.F.x.0",)), 5)


def test_a_label_of_one_size_is_kept_and_one_of_two_sizes_is_refuted() -> None:
    held = hypotheses()
    held.enter_labels((N, M, 3, N), ("batch", "batch", "width", "rows"))
    assert [held.is_refuted(size, name) for size, name in ((N, "batch"), (M, "batch"), (N, "rows"))] == [
        True,
        True,
        False,
    ]
    assert not held.is_refuted(Dim(), "batch")


def test_a_name_of_a_free_size_is_refuted_by_a_number_and_by_another_size() -> None:
    held = hypotheses()
    assert [held.is_refuted(5, name) for name in ("N", "K", "2*N")] == [True, False, False]
    assert [held.is_refuted(N, name) for name in ("N", "M", "K")] == [False, True, False]


def test_open_sizes_are_believed_each_by_its_axis() -> None:
    stored = StoredNames.of({"x": ("N", "M")}, {"v": ("N", "2*N", "K", 7), "x": ("N", "M"), "w": ()})
    assert set(stored.dims) == {"v"}
    terms = Terms()
    held = Hypotheses.over(stored, terms, {"x": Shape((N, M))})
    unknown = Dim()
    shape = held.believe("v", Shape((N, unknown, unknown, unknown)))
    assert shape is not None
    assert shape.dims == (N, terms.mul(N, 2), unknown, 7)
    assert [(it.value, it.axis, it.text) for it in held.believed] == [("v", 1, "2*N"), ("v", 3, "7")]
    assert held.believe("v", Shape((N, unknown))) is None
    assert held.believe("v", Shape(None)) is None
    assert held.believe("v", Shape((N, terms.mul(N, 2), unknown, 7))) is None
    assert held.believe("u", Shape((N,))) is None


def test_the_stored_shape_of_a_result_that_no_rule_knows_is_believed_as_far_as_it_is_understood() -> None:
    terms = Terms()
    held = hypotheses(terms)
    first, second, third, fourth = held.shape("v", ("N", "2*N", "K", 7))
    assert (first, second, fourth) == (N, terms.mul(N, 2), 7)
    assert third == Dim()
    assert held.shapes == {"v": ("N", "2*N", None, "7")}
