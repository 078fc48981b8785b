"""What was edited is counted by operand, whatever its steps, and the first operands are listed with all of theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.report.table import done, first_operands, number_of_nodes, number_of_operands
from graphfix.results import Site
from graphfix.results.sites import Sites, kinds

LIFT = Site("GF101", "a", "Add", "main", 1, (4,), (1, 4), "changed", "equalize-ranks")
STRETCH = Site("GF102", "a", "Add", "main", 1, (1, 4), (3, 4), "changed", "materialize-broadcasts")
LEFT = Site("GF104", "c", "Add", "main", 0, None, None, "left", "equalize-ranks", "its rank is not known")


def sites() -> Sites:
    """Operand 1 of a, b and a body's a is lifted, that of a and b stretched behind them; operand 0 of b is lifted."""
    listed = Sites([LIFT])
    listed.alike("b", [LIFT, replace(LIFT, operand=0)])
    listed += [LEFT, replace(LIFT, graph="main/if.then_branch")]
    listed.alike("a", [STRETCH])
    listed.alike("b", [STRETCH])
    return listed


@pytest.mark.parametrize("held", [sites(), tuple(sites())], ids=["alike", "each by itself"])
def test_an_operand_in_two_steps_is_one_and_the_same_name_in_a_body_another(held: Sites | tuple[Site, ...]) -> None:
    edited = done(kinds(held))
    assert (number_of_operands(edited), number_of_nodes(edited)) == (4, 3)


@pytest.mark.parametrize("most", range(6))
def test_the_first_operands_have_all_of_their_steps(most: int) -> None:
    every: dict[tuple[str, str, int | None], list[str]] = {}
    for site in sites():
        if site.status == "changed":
            every.setdefault((site.graph, site.node, site.operand), []).append(site.code)
    found = {operand: [step.code for step in steps] for operand, steps in first_operands(sites(), most).items()}
    assert list(found.items()) == list(every.items())[:most]


def test_two_nodes_of_one_name_are_counted_and_listed_as_one() -> None:
    twins = Sites([LIFT])
    twins.alike("a", [LIFT])
    assert number_of_operands(kinds(twins)) == 1
    assert [len(steps) for steps in first_operands(twins, 9).values()] == [2]
