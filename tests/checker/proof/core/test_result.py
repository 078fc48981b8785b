"""What a proof ends with, as a program and the JSON document read it."""

from __future__ import annotations

import pytest

from graphfix.checker.proof import Proof
from graphfix.checker.proof.core.indexing_maps import Read, Reads, linalg
from graphfix.checker.proof.core.sizes import Algebra


@pytest.mark.parametrize(
    ("status", "proved", "matched"), [("proved", True, True), ("bounded", False, True), ("not proved", False, False)]
)
def test_a_status_says_what_is_known(status: str, proved: bool, matched: bool) -> None:
    proof = Proof(status)
    assert (proof.proved, proof.matched, proof.copied) == (proved, matched, False)


def test_a_proof_as_a_document() -> None:
    document = Proof("proved", assumes=("N is 2",), notes=("a note",)).document(1.23456789)
    assert document == {
        "status": "proved", "reason": None, "first": None, "assumes": ["N is 2"], "notes": ["a note"], "inexact": [],
        "seconds": 1.234568,
    }  # fmt: skip


def test_the_first_nodes_without_a_match_as_a_document() -> None:
    read = Read(1, "b[3]", (3,), "(d0) -> (d0)", of="c[3]", through="(d0) -> (d0)")
    node = Reads("main", "Add#0", "Add", "y[3] = Add(a[3], b[3])", (read,))
    document = Proof("not proved", "another", "Add#0", None, nodes=(node, None)).document(0)
    maps = [{"operand": 1, "value": "b[3]", "map": "(d0) -> (d0)", "of": "c[3]", "through": "(d0) -> (d0)"}]
    shown = {"graph": "main", "node": "Add#0", "notation": "y[3] = Add(a[3], b[3])", "maps": maps}
    assert document["first"] == {"before": "Add#0", "after": None, "nodes": {"before": shown, "after": None}}
    assert Proof("not proved", after="Add#1").document(0)["first"] == {
        "before": None, "after": "Add#1", "nodes": {"before": None, "after": None}
    }  # fmt: skip
    assert Reads("main", "Add#0", "Add", "y = Add(a)", None).document()["maps"] == []


def test_the_map_to_what_a_node_reads_in_the_end() -> None:
    assert Read(0, "a", (3,), "own").is_identity == "own"
    assert Read(0, "a", (3,), "own", "b", "through").is_identity == "through"


def test_a_map_marks_what_may_be_stretched() -> None:
    algebra = Algebra()
    n, m = algebra.symbol(("N",), "N"), algebra.symbol(("M",), "M")
    both = algebra.broadcast_size((n, m))
    assert linalg((0, 1), (n, 3), (both, 3)) == "(d0, d1) -> (d0?, d1)"
    assert linalg((0, 1), (n, 3), (n, 3)) == "(d0, d1) -> (d0, d1)"
    assert linalg((0, 1), (1, 1), (2, 1)) == "(d0, d1) -> (0, d1)"
    assert linalg((None, 0), (5,), (2, 5)) == "(d0, d1) -> (d1)"
    assert linalg((1, 0), (n, 2), (2, n)) == "(d0, d1) -> (d1, d0)"
    assert linalg((0, None), (4, 1), (4, 2)) == "(d0, d1) -> (d0, 0)"
    assert linalg((0, 1, 2), (1, 1, n), (2, 3, both), exact=2) == "(d0, d1, d2) -> (0, d1, d2)"
    assert linalg((), (), ()) == "() -> ()"
