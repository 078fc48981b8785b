"""Which codes count: the longest beginning that fits decides."""

from __future__ import annotations

import pytest

from graphfix.report.findings.selection import CodeSelection, names_a_code

CODES = ("GF101", "GF102", "GF201", "GF305")


@pytest.mark.parametrize(
    ("select", "ignore", "taken"),
    [
        ((), (), "GF101 GF102 GF201 GF305"),
        (("GF1",), (), "GF101 GF102"),
        (("GF101", "GF3"), (), "GF101 GF305"),
        ((), ("GF1",), "GF201 GF305"),
        (("GF1",), ("GF102",), "GF101"),
        (("GF102",), ("GF1",), "GF102"),
        (("ALL",), ("GF",), ""),
        (("GF",), ("ALL",), "GF101 GF102 GF201 GF305"),
        (("ALL", "GF102"), ("GF1",), "GF102 GF201 GF305"),
        (("GF101",), ("GF101",), ""),
        (("ALL",), ("ALL",), ""),
    ],
)
def test_the_longest_beginning_decides_and_of_two_the_ignored_one(
    select: tuple[str, ...], ignore: tuple[str, ...], taken: str
) -> None:
    selection = CodeSelection(select, ignore)
    assert " ".join(code for code in CODES if selection.takes(code)) == taken


@pytest.mark.parametrize(
    ("prefix", "names"),
    [("GF", True), ("GF10", True), ("GF101", True), ("ALL", True), ("", False), ("GF9", False), ("GF1011", False)],
)
def test_a_beginning_names_a_code_or_none(prefix: str, names: bool) -> None:
    assert names_a_code(prefix, CODES) is names
