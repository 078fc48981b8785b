"""Texts in plain data, parts of error messages, names of axes, and versions."""

from __future__ import annotations

import pytest

from graphfix.results import Site
from graphfix.results.axis_names import axis_fault
from graphfix.results.claims import StoredShape, StoredSize, assumptions, equal_dims
from graphfix.results.error_texts import hint, not_one_of, shown
from graphfix.results.runtime_facts import Versions, newer_than_measured, numbers
from graphfix.results.sites import Sites
from graphfix.results.texts import with_names, with_texts

INPUTS = {"x": (2, "N", None, -1), "a[0]": (3,), "r": None}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("x[0]", "axis 0 of 'x' is static: its size is 2 in the file; leave this option out"),
        ("x[1]", "axis 1 of 'x' has the name N: say --dim N=<size>"),
        ("x[2]", None),
        ("x[3]", None),
        ("x[4]", "'x' has 4 axes, numbered from 0"),
        ("x[999999999]", "'x' has 4 axes, numbered from 0"),
        ("x[99999999999999999999]", "'x' has 4 axes, numbered from 0"),
        ("a[0][0]", "axis 0 of 'a[0]' is static: its size is 3 in the file; leave this option out"),
        ("a[0]", None),
        ("r[0]", None),
        ("y[0]", None),
        ("x", None),
        ("x[0]y", None),
        ("x[a]", None),
    ],
)
def test_why_a_name_of_an_axis_can_not_be_bound(name: str, said: str | None) -> None:
    assert axis_fault(name, INPUTS) == said


def test_an_axis_of_no_elements_is_static() -> None:
    assert (
        axis_fault("x[0]", {"x": (0,)}) == "axis 0 of 'x' is static: its size is 0 in the file; leave this option out"
    )


def test_every_text_of_plain_data_is_changed_and_nothing_else() -> None:
    site = Site("GF101", "n", "Add", "main", 1, ("N", 2), (1, "N", 2), "found")
    data = {"n": [1, None, ("n", b"n")], "m": site}
    changed = with_texts(data, lambda text: text.replace("n", "x"))
    assert changed == {
        "x": [1, None, ("x", b"n")],
        "m": Site("GF101", "x", "Add", "maix", 1, ("N", 2), (1, "N", 2), "fouxd"),  # type: ignore[arg-type]  # as changed
    }
    assert with_texts(Site, str.upper) is Site


def test_names_are_replaced_in_their_order() -> None:
    assert with_names("/t/1/m and /t/1", {"/t/1/m": "m", "/t/1": "here"}) == "m and here"
    assert with_names("text", {}) == "text"


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "'a'"), ("a" * 98, repr("a" * 98)), ("a" * 99, f"'{'a' * 99} .."), (10**5000, "a number of so many digits")],
    ids=["short", "100 letters", "101 letters", "digits"],
)
def test_a_value_is_shown_in_few_letters(value: object, text: str) -> None:
    assert shown(value) == text


def test_names_that_are_near_are_offered() -> None:
    known = ["ADD", "ABS", "add", "MULTIPLY"]
    assert hint("adda", known) == "; did you mean 'ADD'?"
    assert hint("N10", ["N1", "N11", "N100"]) == "; did you mean 'N100' or 'N1' or 'N11'?"
    assert hint("N10", ["N1", "N11", "N100", "N101", "N102"]).count("'") == 6
    assert hint("zzzzzz", known) == ""
    assert hint("zzzzzz", known, "; see docs") == "; see docs"
    assert not_one_of("target", "toza", ["tosa", "ranks"]) == (
        "target 'toza' is not one of tosa, ranks; did you mean 'tosa'?"
    )


@pytest.mark.parametrize(
    ("version", "since", "before", "included"),
    [
        ("1.31.1", "", "", True),
        ("1.31", "1.31", "", True),
        ("1.30.9", "1.31", "", False),
        ("1.31.9", "", "1.32", True),
        ("1.32.0", "", "1.32", False),
        ("1.32", "", "1.32", False),
        ("1.33.0.dev2026", "1.33", "1.33.1", True),
        ("1.4", "1.31", "", False),
    ],
)
def test_a_range_of_versions_ends_before_its_end(version: str, since: str, before: str, included: bool) -> None:
    assert Versions(since, before).include(version) == included


def test_the_numbers_of_a_release() -> None:
    assert numbers("1.33.0.dev2026") == (1, 33, 0)
    assert numbers("2") == (2,)
    assert numbers("") == numbers("main") == ()


def test_only_a_newer_minor_version_of_what_was_measured_is_told() -> None:
    assert list(newer_than_measured({"onnxruntime": "1.32.9", "onnx": "1.22", "numpy": "99"})) == []
    assert list(newer_than_measured({"onnxruntime": "1.33.0", "onnx": "2.0"})) == [
        "onnxruntime 1.33.0 is newer than 1.32, with which graphfix was measured",
        "onnx 2.0 is newer than 1.23, with which graphfix was measured",
    ]


def test_what_is_assumed_of_stored_shapes_is_one_line_an_operator() -> None:
    believed: list[StoredShape | StoredSize] = [
        StoredShape("a", "my.Foo", ("2", None)),
        StoredSize("v", 1, "s0 + 1"),
        StoredShape("b", "my.Foo", ()),
        StoredShape("c", "my.Bar", ("3",)),
        StoredSize("v", 1, "s0 + 1"),
    ]
    assert assumptions(believed) == [
        "the stored size of 'v'[1] in main is 's0 + 1'",
        "the stored shapes of 2 results of my.Foo",
        "the stored shape of 'c', a result of my.Bar",
    ]
    assert StoredShape("a", "my.Foo", ("2", None, "N")).sizes == {0: "2", 2: "N"}


@pytest.mark.parametrize(
    ("number", "said"),
    [(2, "x0[0], x1[0]"), (30, "x0[0]")],
)
def test_dims_of_one_name_are_equal(number: int, said: str) -> None:
    text = equal_dims("N", [f"x{at}[0]" for at in range(number)])
    assert text.startswith(f"the dims named 'N' are equal: {said}")
    shown_ = text.count("[0]")
    assert (f" and {number - shown_} more" in text) == (number > 2)
    assert text.endswith("]") == (number == 2)


def test_sites_are_a_list_whose_rows_are_of_their_nodes() -> None:
    one, two = (Site("GF101", name, "Add", "main", 1, (1,), (1, 1), "found") for name in ("n", "m"))
    sites = Sites([one])
    sites.append(two)
    sites.insert(0, two)
    assert [site.node for site in sites] == ["m", "n", "m"]
    assert (len(sites), sites[1], sites[-1], sites[:2]) == (3, one, two, [two, one])
    assert sites == [two, one, two]
    sites.rename(0, "new")
    assert [site.node for site in sites] == ["new", "n", "m"]
    assert [(name, site.code) for name, site in sites.rows()] == [("new", "GF101"), ("n", "GF101"), ("m", "GF101")]
    sites[0] = one
    sites[1:] = [two]
    assert sites == [one, two]
    del sites[0]
    assert sites == [two]
    with pytest.raises(TypeError, match="a site takes the place of one"):
        sites[0] = [one]  # type: ignore[call-overload]  # what is refused
