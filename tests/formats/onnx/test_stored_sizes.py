"""Sizes as exporters write them, read as arithmetic over the sizes of inputs: N is 6 and M is 4."""

from __future__ import annotations

from typing import Any

import pytest

from graphfix.formats.onnx.infer.stored_faults import _fault, _is_wrong, _restated
from graphfix.formats.onnx.infer.stored_names import Hypotheses, StoredNames, _within
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
    "a number that is the size from a bound on": ("Min(N, 16)", 16, False, False),
    "a number of a size that no rule knows": ("?", 5, False, True),
    "a size of which another is a part": ("N + M", "N", True, False),
    "a size that is a part of another": ("N", "N + M", False, False),
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


def test_a_name_is_refuted_by_a_size_that_is_made_of_it_and_more() -> None:
    terms = Terms()
    held = hypotheses(terms)
    assert held.is_refuted(terms.add(N, M), "2*N")
    assert not held.is_refuted(terms.mul(N, 2), "N + M")


def test_a_bound_size_is_a_number_beside_the_free_ones() -> None:
    terms, stored = Terms(), StoredNames.of({"x": ("N", "M"), "z": (None,)}, {})
    held = Hypotheses.over(stored, terms, {"x": Shape((6, M)), "z": None})
    assert held.symbols == {"N": 6, "M": M}
    assert held.size("N + M") == terms.add(M, 6)
    assert held.is_refuted(M, "N + M")
    assert not held.is_refuted(M, "M")
    assert held.is_open(terms.minimum(M, 16), M)


@pytest.mark.parametrize(
    ("shape", "symbols"), [(Shape((N,)), {"N": N}), (Shape(None), {}), (None, {}), (Shape((N, M, 3)), {"N": N, "M": M})]
)
def test_symbols_are_the_sizes_of_the_axes_that_an_input_has(shape: Shape | None, symbols: dict[str, Size]) -> None:
    stored = StoredNames.of({"x": ("N", "M")}, {})
    assert Hypotheses.over(stored, Terms(), {"x": shape}).symbols == symbols
    assert Hypotheses.over(stored, Terms(), {}).symbols == {}


def test_a_symbol_may_be_any_text() -> None:
    stored = StoredNames.of({"x": ("batch size", "2x")}, {})
    held = Hypotheses.over(stored, Terms(), {"x": Shape((N, M))})
    assert [held.size(text) for text in ("batch size", "2x", "batch", "N")] == [N, M, None, None]


FAULTS: dict[str, tuple[Size, int | str | None, str | None, str | None]] = {
    "the number": (5, 5, None, None),
    "another number": (5, 6, "another", "another"),
    "a number of a free size": (N, 5, "varies", None),
    "the name": (N, "N", None, None),
    "the name of another size": (N, "M", "name", "name"),
    "a name of a number": (5, "N", "name", "name"),
    "a label": (N, "K", None, None),
    "nothing": (N, None, None, None),
    "nothing of a number": (5, None, None, None),
}


@pytest.mark.parametrize(("computed", "stored", "fault", "leaning"), FAULTS.values(), ids=FAULTS)
def test_a_stored_size_has_a_fault(
    computed: Size, stored: int | str | None, fault: str | None, leaning: str | None
) -> None:
    held = hypotheses()
    assert _fault(computed, stored, held) == fault
    assert _fault(computed, stored, held, leans=True) == leaning
    assert _is_wrong((3, computed), (3, stored), held) is (fault is not None)
    assert _is_wrong((3, computed), (3,), held)


@pytest.mark.parametrize(
    ("dims", "stored", "faults", "restated", "leaning"),
    [
        ((N, 4, 5), ("M", 3, 5), ["name", "another", None], ("N", 4, 5), (None, None, 5)),
        ((N, Dim()), ("N", 7), [None, None], ("N", None), ("N", None)),
        ((N, 4), ("K", None), [None, None], ("K", None), ("K", None)),
        ((N, 4), ("N",), ["another"], ("N", 4), None),
    ],
)
def test_sizes_are_restated_where_they_are_wrong(
    dims: tuple[Size, ...],
    stored: tuple[int | str | None, ...],
    faults: list[Any],
    restated: tuple[int | str | None, ...],
    leaning: tuple[int | str | None, ...] | None,
) -> None:
    found = _restated(Shape(dims), stored, faults, leans=False)
    assert found is not None
    assert tuple(found) == restated
    leant = _restated(Shape(dims), stored, faults, leans=True)
    assert (None if leant is None else tuple(leant)) == leaning


@pytest.mark.parametrize(
    ("size", "number", "found"),
    [
        (Dim(("N",), 2, 5), 7, 5),
        (Dim(("N",), 2, 5), 3, 5),
        (Dim(("N",), 2, 5), 4, 2),
        (Dim(("N",), 2), 7, 9),
        (Dim(("N",), 3, 3), 4, 3),
    ],
)
def test_a_number_that_is_tried_is_in_the_range_of_the_size(size: Dim, number: int, found: int) -> None:
    assert _within(size, number) == found
