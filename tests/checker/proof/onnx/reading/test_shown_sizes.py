"""Shapes that the first file stores are shown of results that no rule knows, and names that runtimes make are odd."""

from __future__ import annotations

from types import SimpleNamespace

import onnx.parser
import pytest

from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.onnx import contrib
from graphfix.checker.proof.onnx.closed_world.names import enter_body_names, enter_node_names
from graphfix.checker.proof.onnx.reading.reader import Reading

STORED = {"a": (2, None), "b": (3,), "": (4,)}


def shown(
    monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], known: tuple[int, ...] | None, *, ruled: bool
) -> list[tuple[object, ...] | None]:
    """The sizes of three results, the first of which has known sizes; the second one is not there."""
    table = TermTable(Algebra())
    first, last = (table.find_or_create_core((name,), name)[0] for name in ("first", "last"))
    first.sizes = known
    results = [value_of(first), None, value_of(last)]
    asked: list[tuple[str, str]] = []

    def shape(name: str, operator: str) -> tuple[int | None, ...] | None:
        asked.append((name, operator))
        return STORED.get(name)

    monkeypatch.setattr(contrib, "is_ruled", lambda _: ruled)
    call = SimpleNamespace(result_names=names, domain="own", op="F")
    found = Reading._with_stored_shapes(SimpleNamespace(table=table), call, results, SimpleNamespace(shape=shape))  # type: ignore[arg-type]
    assert all(operator == "own.F" for _, operator in asked)
    assert [view is None for view in found] == [False, True, False]
    assert results == [ProofValue(first, results[0].axes, results[0].sizes), None, ProofValue(last, None, None)]  # type: ignore[union-attr]
    sizes = [None if view is None else view.sizes for view in found]
    return [each and tuple(size if isinstance(size, int) else "?" for size in each) for each in sizes]


@pytest.mark.parametrize(
    ("names", "known", "ruled", "expected"),
    [
        (("a", "n", "b"), None, False, [(2, "?"), None, (3,)]),
        (("a", "n", "b"), (7,), False, [(7,), None, (3,)]),
        (("a", "n", "b"), (), False, [(), None, (3,)]),
        (("a", "n", "b"), None, True, [None, None, None]),
        (("a", "n", "c"), None, False, [(2, "?"), None, None]),
        (("", "n", ""), None, False, [None, None, None]),
        (("a",), None, False, [(2, "?"), None, None]),
    ],
    ids=["of both", "one is known", "a scalar is known", "a rule", "one is not stored", "no names", "names end early"],
)
def test_stored_shapes_are_shown_of_results_that_no_rule_knows(
    names: tuple[str, ...],
    known: tuple[int, ...] | None,
    ruled: bool,
    expected: list[object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert shown(monkeypatch, names, known, ruled=ruled) == expected


class World:
    """Takes what is odd."""

    def __init__(self) -> None:
        self.found: list[tuple[object, str]] = []

    def require_in_first(self, key: object, reason: str) -> None:
        self.found.append((key, reason))


MADE = "the second file has a name as runtimes make them: "


@pytest.mark.parametrize(
    ("names", "inlined", "expected"),
    [
        ("a b", True, []),
        ("a _inlfunc_F_b", True, [(("inlined", "_inlfunc_F_b"), f"{MADE}'_inlfunc_F_b'")]),
        ("x_inlfunc_y a", True, [(("inlined", "x_inlfunc_y"), f"{MADE}'x_inlfunc_y'")]),
        ("a _inlfunc_F_b", False, []),
        ("a a", False, [(("nodes", "g", "a"), "2 nodes of the second file have the name 'a'")]),
        ("a b a b a", False, [
            (("nodes", "g", "a"), "3 nodes of the second file have the name 'a'"),
            (("nodes", "g", "b"), "2 nodes of the second file have the name 'b'")]),
        ("- -", False, []),
        ("Constant Constant", False, []),
        ("Constant Constant a a", False, [(("nodes", "g", "a"), "2 nodes of the second file have the name 'a'")]),
    ],
)  # fmt: skip
def test_names_of_nodes_that_runtimes_mind(names: str, inlined: bool, expected: list[object]) -> None:
    nodes = [
        onnx.helper.make_node("Constant" if name == "Constant" else "Neg", [], [], name="" if name == "-" else name)
        for name in names.split()
    ]
    world = World()
    enter_node_names(world, "g", nodes, inlined=inlined)
    assert world.found == expected


def test_names_of_a_body_that_are_around_it() -> None:
    graph = onnx.parser.parse_graph(
        "b (float[1] i, float[1] k) => (float[1] o) <float[1] k = {1}> { o = Neg(i) q = Neg(i) }"
    )
    held = (("held", "b", "k"), "the input 'k' of a body of the second file is a constant as well")
    for around in ({"i"}, {"q"}, {"o", "z"}, set[str]()):
        world = World()
        enter_body_names(world, graph, SimpleNamespace(has_value=around.__contains__))  # type: ignore[arg-type]
        kinds = {"i": "input", "q": "result", "o": "result"}
        shadowing = sorted(around & kinds.keys())
        assert [key for key, _ in world.found[:-1]] == [("shadows", kinds[name], "b", name) for name in shadowing]
        assert [reason for _, reason in world.found[:-1]] == [
            f"a body of the second file has {name!r} anew, which is around it" for name in shadowing
        ]
        assert world.found[-1] == held
    graph.name = ""
    world = World()
    enter_body_names(world, graph, SimpleNamespace(has_value=lambda _: False))  # type: ignore[arg-type]
    assert world.found[0] == ("a body without a name", "a body of the second file has no name")
