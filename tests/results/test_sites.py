"""Sites of alike nodes are held once, and read as a list of sites that each name their node."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from graphfix.results import Site
from graphfix.results.sites import Sites, kinds

LIFT = Site("GF101", "first", "Add", "main", 1, (4,), (1, 4), "changed", "equalize-ranks", "why", 3, True, "rounds")
STRETCH = Site("GF102", "first", "Add", "main", 1, (1, 4), (3, 4), "changed", "materialize-broadcasts")


def alike() -> Sites:
    sites = Sites([LIFT])
    sites.alike("second", [LIFT, STRETCH])
    return sites


def test_an_alike_site_differs_in_its_node_alone() -> None:
    assert list(alike()) == [LIFT, replace(LIFT, node="second"), replace(STRETCH, node="second")]


def test_rows_say_each_sites_node_without_making_it() -> None:
    assert [(node, site.code) for node, site in alike().rows(1)] == [("second", "GF101"), ("second", "GF102")]


def test_kinds_name_the_nodes_of_all_sites_that_are_alike_in_order() -> None:
    assert [(site.code, nodes) for site, nodes in kinds(alike())] == [
        ("GF101", ["first", "second"]),
        ("GF102", ["second"]),
    ]


def test_kinds_of_a_plain_list_and_of_renamed_sites_name_their_own_nodes() -> None:
    assert [nodes for _, nodes in kinds([LIFT, STRETCH])] == [["first"], ["first"]]
    sites = alike()
    sites.rename(1, "other")
    assert [nodes for _, nodes in kinds(sites)] == [["first", "other"], ["second"]]


def test_a_site_that_is_renamed_after_all_were_read_has_the_new_name() -> None:
    sites = alike()
    assert [site.node for site in sites] == ["first", "second", "second"]
    sites.rename(0, "other")
    assert [site.node for site in sites] == ["other", "second", "second"]


def test_indexes_and_slices_are_those_of_a_list() -> None:
    sites, listed = alike(), list(alike())
    assert (sites[-1], sites[1:], len(sites)) == (listed[-1], listed[1:], 3)
    sites[1:] = [STRETCH]
    sites[:0] = [replace(LIFT, node="zero")]
    del sites[1]
    assert [site.node for site in sites] == ["zero", "first"]
    sites.insert(1, replace(LIFT, node="one"))
    assert [site.node for site in sites] == ["zero", "one", "first"]
    with pytest.raises(TypeError):
        sites[0] = [LIFT]  # type: ignore[call-overload]


def test_they_equal_any_sequence_of_the_same_sites() -> None:
    assert alike() == tuple(alike())
    assert tuple(alike()) == alike()
    assert Sites() == ()
    assert alike() != [LIFT]


def test_a_pickle_of_them_says_the_same() -> None:
    assert pickle.loads(pickle.dumps(alike())) == alike()  # noqa: S301 -- our own bytes
