"""The engine: what is applied in which order, and what is said of what was changed, found or left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from graphfix.engine import run
from graphfix.engine.open_sizes import Seen
from graphfix.engine.policy import Policy
from graphfix.graph.edits import Assume, Canonicalize, Edit, Fold, Leave, Lift, Refused, Stretch
from graphfix.graph.protocols import ANY, BROADCASTING, Applier, ModelRewrite, Rewrite, Step, UntilNothingChanges, flat
from graphfix.graph.view import Graph, Node, Value
from graphfix.results import GraphfixError, Site
from graphfix.shapes.dim import Incompatible, Undecided
from graphfix.targets import registry
from graphfix.targets.registry import run_for
from graphfix.targets.target import OF_CONSTANTS
from rewrites import ALL
from tests.support.named import rules
from tests.support.notation import node
from tests.support.shape_dialect import parse

EQUALIZE, MATERIALIZE = rules("equalize-ranks", "materialize-broadcasts")


class Notes:
    """A model for the engine that only notes what it is asked: a graph of nodes, edits that are not carried out."""

    format = "none"
    changed = False
    expand_limit = 0
    added = 0
    inferring = 0.0
    assumes: Sequence[str] = ()

    def __init__(self, *nodes: Node, path: str = "main", refuse: str | None = None) -> None:
        """Hold these nodes in one graph."""
        self.graph = Graph(path)
        for index, planned in enumerate(nodes):
            moved = Node(
                planned.op,
                planned.domain,
                planned.version,
                f"{planned.op.lower()}{index}",
                index,
                self.graph,
                planned.operands,
                planned.results,
                planned.attributes,
                planned.row,
            )
            self.graph.nodes.append(moved)
        self.graphs = [self.graph]
        self.refuse = refuse
        self.applied: list[tuple[str, list[Edit]]] = []
        self.notes: list[tuple[str, str]] = []

    def refresh(self) -> None:
        """There is nothing to look at anew."""

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Note the edits, or refuse them."""
        if self.refuse is not None:
            raise Refused(self.refuse)
        self.applied.append((node.name, list(edits)))
        return node

    def applier(self, edits: Sequence[Edit]) -> Applier:
        """What notes the edits."""
        return lambda node: self.apply(node, edits)

    def note(self, key: str, text: str) -> None:
        """Note the line."""
        self.notes.append((key, text))


EXPLICIT = Policy()


def rewrite(*edits: Edit, raises: Exception | None = None, code: str = "GF101") -> Rewrite:
    def plan(_: Node) -> Iterator[Edit]:
        yield from edits
        if raises is not None:
            raise raises

    return Rewrite("tested", "", BROADCASTING, code, plan)


ADD = "y[2,3] = Add(x[2,3], b[3])"


def sites(*rewrites: Step, model: Notes | None = None, done: str = "changed") -> Sequence[Site]:
    return run.run(model or Notes(node(ADD)), rewrites, EXPLICIT, done).sites  # type: ignore[arg-type] -- a stand-in


def test_edits_are_carried_out_counted_and_listed() -> None:
    model = Notes(node(ADD), node("z[2,3] = Mul(y[2,3], b[3])"))
    report = run.run(model, [rewrite(Lift(1, (0,)))], EXPLICIT)  # type: ignore[arg-type] -- a stand-in
    assert model.applied == [("add0", [Lift(1, (0,))]), ("mul1", [Lift(1, (0,))])]
    assert report.rewrites == {"tested": 2}
    assert report.sites[0] == Site("GF101", "add0", "Add", "main", 1, (3,), (1, 3), "changed", "tested")


@pytest.mark.parametrize(
    ("edit", "operand", "after"),
    [
        (Lift(1, (0,)), 1, (1, 3)),
        (Stretch(1, (0,), parse("[2, 3]")), 1, (2, 3)),
        (Stretch(1, (0,), parse("[N, 3]")), 1, ("N", 3)),
        (Canonicalize(parse("[2, 3]")), 0, (2, 3)),
        (Fold(), 0, (2, 3)),
    ],
)
def test_a_site_says_the_shape_after(edit: Edit, operand: int, after: tuple[int | str, ...]) -> None:
    (site,) = sites(rewrite(edit))
    assert (site.operand, site.after, site.code) == (operand, after, edit.code)


def test_check_finds_what_fix_changes() -> None:
    assert [site.status for site in sites(rewrite(Lift(1, (0,))), done="found")] == ["found"]


def test_a_refusal_of_the_format_leaves_every_edit_of_the_node() -> None:
    model = Notes(node(ADD), refuse="the format can't")
    report = run.run(model, [rewrite(Lift(1, (0,)), Stretch(0, (1,), parse("[2, 3]")))], EXPLICIT)  # type: ignore[arg-type] -- a stand-in
    assert report.rewrites == {"tested": 0}
    assert [(site.code, site.operand, site.status, site.reason) for site in report.sites] == [
        ("GF101", 1, "left", "the format can't"),
        ("GF102", 0, "left", "the format can't"),
    ]


def test_what_is_left_on_purpose_is_no_edit() -> None:
    model = Notes(node(ADD))
    (site,) = sites(rewrite(Leave(1, "a reason", "GF102")), model=model)
    assert model.applied == []
    assert (site.status, site.reason, site.before, site.after) == ("exempt", "a reason", (3,), None)
    (site,) = sites(rewrite(Leave(1, "a reason", "GF103", "left")))
    assert site.status == "left"


def test_an_assumption_is_noted_in_the_file_and_in_the_report() -> None:
    model = Notes(node(ADD))
    report = run.run(model, [rewrite(Assume(1, "N is never 1", "GF103"))], EXPLICIT)  # type: ignore[arg-type] -- a stand-in
    assert model.notes == [("graphfix.assumes", "N is never 1")]
    assert report.assumes == ["N is never 1"]
    assert [(site.status, site.reason) for site in report.sites] == [("exempt", "it is assumed that N is never 1")]
    assert report.rewrites == {"tested": 0}


def test_an_undecided_plan_is_a_site_of_the_rewrites_code() -> None:
    model = Notes(node(ADD))
    (site,) = sites(rewrite(Lift(1, (0,)), raises=Undecided("nobody knows"), code="GF202"), model=model)
    assert (site.code, site.status, site.reason, site.operand) == ("GF202", "left", "nobody knows", None)
    assert model.applied == []  # what was yielded before is not carried out


def test_an_unranked_operand_is_gf104() -> None:
    model = Notes(node("y[*] = MatMul(a[*], b[2,3])"))
    assert [(site.code, site.status) for site in sites(MATERIALIZE, model=model)] == [("GF104", "left")]


def test_operands_that_never_meet_end_the_run_with_gf105() -> None:
    model = Notes(node("y[*] = Add(a[2,3], b[4,3])"))
    with pytest.raises(GraphfixError, match=r"^Add 'add0': \[2, 3\] and \[4, 3\] do not broadcast \(GF105\)$"):
        run.run(model, ALL, EXPLICIT)  # type: ignore[arg-type] -- a stand-in


@pytest.mark.parametrize("path", ["main/if_0.then_branch", "function local.f"])
def test_operands_of_a_body_that_never_meet_are_left(path: str) -> None:
    model = Notes(node(ADD), path=path)
    (site,) = sites(rewrite(raises=Incompatible("[2] and [3] do not broadcast")), model=model)
    assert (site.code, site.status, site.graph) == ("GF105", "left", path)
    assert site.reason == "[2] and [3] do not broadcast (in a body that may never run)"


def test_all_nodes_together_or_none() -> None:
    def plan(node: Node) -> Iterator[Edit]:
        yield Lift(1, (0,), "GF201")
        if node.op == "Mul":
            raise Undecided("nobody knows")

    def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterator[Edit]]]:
        yield from ((node, plan(node)) for graph in graphs for node in graph.nodes)

    whole = ModelRewrite("tested", "", "GF201", plan_model)
    model = Notes(node(ADD), node("z[2,3] = Mul(y[2,3], b[3])"))
    found = sites(whole, model=model)
    assert model.applied == []
    assert [(site.node, site.code) for site in found] == [("mul1", "GF201"), ("add0", "GF201")]
    reason = "all of the model's nodes change or none, and Mul 'mul1' stays: nobody knows"
    assert [site.reason for site in found] == ["nobody knows", reason]
    model = Notes(node(ADD))
    sites(whole, model=model)
    assert model.applied == [("add0", [Lift(1, (0,), "GF201")])]


def test_nodes_that_look_alike_are_judged_apart_where_something_differs() -> None:
    texts = [
        "a[2,3] = Pow(x[2,3], e:const[1,1]{2.0})",
        "b[2,3] = Pow(x[2,3], e:const[1,3]{2.0, 2.0, 2.0})",
        "c[2,3] = Add(x[2,3], e[1,3])",
        "d[2,3] = Add(x[2,3], e[1,3])",
        "f[N,3] = Add(x[N,3], e[M,3])",
        "g[N,3] = Add(x[N,3], e[N,3])",
        "h[2,3] = Gemm(x[4,2], w[4,3], e[1,3], transA=1)",
        "i[4,3] = Gemm(x[4,2], w[2,3], e[1,3])",
    ]
    model = Notes(*(node(text) for text in texts))
    report = run.run(model, rules(*run_for("explicit")), EXPLICIT)  # type: ignore[arg-type] -- a stand-in
    assert [(name, [edit.operand for edit in edits if isinstance(edit, Stretch)]) for name, edits in model.applied] == [
        ("pow1", [1]),
        ("add2", [1]),
        ("add3", [1]),
        ("add4", [0, 1]),
        ("gemm6", [2]),
        ("gemm7", [2]),
    ]
    assert [site.node for site in report.sites if site.status == "exempt"] == ["pow0"]


def test_every_undecided_node_is_reported_though_they_look_alike() -> None:
    texts = ["y[*] = MatMul(a[*], b[2,3])", "z[*] = MatMul(c[*], d[2,3])", "w[*] = MatMul(a[*], b[2,3])"]
    model = Notes(*(node(text) for text in texts))
    found = sites(MATERIALIZE, model=model)
    assert [(site.node, site.reason) for site in found] == [
        ("matmul0", "the rank of 'a' is not known"),
        ("matmul1", "the rank of 'c' is not known"),
        ("matmul2", "the rank of 'a' is not known"),
    ]


def test_rewrites_run_in_the_order_they_are_given() -> None:
    assert [rule.name for rule in flat(ALL)] == list(registry.REWRITES)
    assert [rule.name for rule in flat(rules(*run_for("explicit")))] == [
        "repair-shapes",
        "upgrade-legacy-broadcast",
        "normalize-expand",
        "equalize-ranks",
        "materialize-broadcasts",
    ]
    assert all(rule.page for rule in flat(ALL))


def test_a_node_with_a_contradicted_shape_is_never_taken_for_one_that_looks_alike() -> None:
    plain = node(ADD)
    old = plain.operand(1)
    stale = Value(
        old.name, old.shape, old.dtype, old.kind, old.graph, "the stored shape [4] contradicts the computed [3]"
    )
    model = Notes(plain, plain.reading((plain.operands[0], stale)))
    found = sites(EQUALIZE, model=model)
    assert [(site.node, site.code, site.status) for site in found] == [
        ("add0", "GF101", "changed"),
        ("add1", "GF204", "left"),
    ]


def test_a_constant_is_never_taken_for_a_variable_that_looks_alike() -> None:
    model = Notes(node("y[2,3,6] = MatMul(a[2,3,4], w[4,6])"), node("z[2,3,6] = MatMul(a[2,3,4], w:const[4,6])"))
    found = sites(EQUALIZE, model=model)
    assert [(site.node, site.status) for site in found] == [("matmul0", "changed"), ("matmul1", "exempt")]


def test_nodes_that_look_alike_in_two_graphs_are_reported_of_their_own() -> None:
    model, body = Notes(node(ADD), node(ADD)), Notes(node(ADD), node(ADD), path="main/if.then_branch")
    model.graphs += body.graphs
    found = sites(EQUALIZE, model=model)
    assert [(site.graph, site.node) for site in found] == [
        (graph, name) for graph in ("main", "main/if.then_branch") for name in ("add0", "add1")
    ]


def test_attributes_are_part_of_what_a_plan_may_ask() -> None:
    model = Notes(
        node("y[N,N] = Gemm(a[N,N], b[N,N], c[1,N])"),
        node("z[N,N] = Gemm(a[N,N], b[N,N], c[1,N], transA=1)"),
        node("u[N,N] = Gemm(a[N,N], b[N,N], c[1,N], transB=1)"),
    )
    sites(MATERIALIZE, model=model)
    stretched = [edit.by for _, edits in model.applied for edit in edits if isinstance(edit, Stretch)]
    assert stretched == [(((0, 0), (1, 1)),), (((0, 1), (1, 1)),), (((0, 0), (1, 0)),)]


def test_rewrites_that_tell_more_run_until_nothing_is_left_to_do() -> None:
    """The second one makes work for the first one, twice; what was left in between is not reported."""
    turns = [0, 0]

    def first(_: Node) -> Iterator[Edit]:
        turns[0] += 1
        if turns[1] < 2:
            raise Undecided("too early")
        if turns[1] == 2:
            yield Fold()

    def second(_: Node) -> Iterator[Edit]:
        turns[1] += 1
        if turns[1] <= 2:
            yield Fold()

    pair = UntilNothingChanges((Rewrite("a", "", ANY, "GF303", first), Rewrite("b", "", ANY, "GF303", second)))
    model = Notes(node(ADD))
    report = run.run(model, [pair], EXPLICIT)  # type: ignore[arg-type] -- a stand-in
    assert turns == [4, 4]
    assert report.rewrites == {"a": 1, "b": 2}
    assert [(site.rewrite, site.status) for site in report.sites] == [
        ("b", "changed"),
        ("b", "changed"),
        ("a", "changed"),
    ]


class Growing(Notes):
    """A model that every second node makes 5 bytes larger."""

    def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
        """Note the edits, and what they add."""
        self.added += 5 if node.index % 2 else 0
        return super().apply(node, edits)


def test_of_nodes_that_look_alike_each_says_the_bytes_that_it_adds() -> None:
    edits = Lift(1, (0,)), Stretch(1, (0,), parse("[2, 3]"))
    model = Growing(*(node(ADD) for _ in range(5)))
    found = sites(rewrite(*edits), model=model)
    assert [(site.node, site.code, site.bytes or 0) for site in found] == [
        (f"add{at}", code, 5 if at % 2 and code == "GF101" else 0) for at in range(5) for code in ("GF101", "GF102")
    ]
    assert [name for name, _ in model.applied] == [f"add{at}" for at in range(5)]


def test_of_nodes_that_look_alike_each_counts_where_sizes_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[list[int]] = []

    def told(_: object, seen: Seen, __: object) -> Sequence[object]:
        counted.append([len(nodes) for nodes in seen.meetings.values()])
        return ()

    monkeypatch.setattr(run, "open_sizes", told)
    text = "y[?,3] = Add(a[N,3], b[M,3])"
    stretch = Stretch(0, (1,), parse("[N, 3]"), "GF103")
    sites(rewrite(stretch, code="GF103"), model=Notes(*(node(text) for _ in range(3))))
    assert counted == [[3]]


@pytest.mark.parametrize("source", ["mine.py", ""])
def test_edits_of_the_users_own_that_fail_are_an_error_and_others_a_defect(source: str) -> None:
    class Failing(Notes):
        def apply(self, node: Node, edits: Sequence[Edit]) -> Node:
            raise KeyError(f"{node.op}\n{len(edits)}")

    own = replace(rewrite(Lift(1, (0,))), source=source)
    with pytest.raises(GraphfixError if source else KeyError) as raised:
        sites(own, model=Failing(node(ADD)))
    if source:
        assert str(raised.value) == r"mine.py: Add 'add0': its edits can't be carried out: KeyError: 'Add\n1'"


class Renewed(Notes):
    """It notes how often it was to be looked at anew."""

    renewed = 0

    def renew(self) -> None:
        """Count it."""
        self.renewed += 1


@pytest.mark.parametrize(
    ("names", "stays", "turns"),
    [
        (("materialize-broadcasts",), False, [2, 2]),
        (("equalize-ranks",), True, [2, 2]),
        (("equalize-ranks",), False, [1, 1]),
        (("another",), True, [1, 1]),
        ((), True, [1, 1]),
    ],
    ids=["stretches", "lifts where one stays", "lifts alone", "edits of another", "no edits"],
)
def test_what_makes_constants_runs_again_where_nodes_were_made_of_known_results(
    names: tuple[str, ...], turns: list[int], *, stays: bool
) -> None:
    asked = dict.fromkeys(OF_CONSTANTS, 0)

    def counting(name: str) -> Rewrite:
        def plan(_: Node) -> Iterator[Edit]:
            asked[name] += 1
            if stays:
                raise Undecided("its elements are not known")
            yield from ()

        return Rewrite(name, "", ANY, "GF303", plan)

    def editing(name: str) -> Rewrite:
        return Rewrite(name, "", BROADCASTING, "GF101", lambda _: iter([Lift(1, (0,))]))

    model = Renewed(node(ADD))
    report = run.run(model, [*map(counting, OF_CONSTANTS), *map(editing, names)], EXPLICIT)  # type: ignore[arg-type] -- a stand-in
    assert list(asked.values()) == turns
    assert model.renewed == sum(turns) - 2
    left = [site.rewrite for site in report.sites if site.status == "left"]
    assert left == list(OF_CONSTANTS) * stays  # each is said once
