"""What both formats' edits share: fresh names, dead nodes, and the order of new nodes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from graphfix.formats.neutral import editing
from graphfix.formats.neutral.editing import FreshNames, NewNodes, bypass, remove_dead, replace_node
from graphfix.formats.neutral.insertion import Order
from graphfix.graph.edits import Bypass, Edit, Lift, New, Numbers, Refused, Source, Stretch
from graphfix.graph.protocols import Applier
from graphfix.graph.view import Graph, Kind, MissingOperandError, Node, Value
from graphfix.shapes.dim import Shape


@dataclass
class State:
    """A state of edits without a file."""

    dead: dict[Value, None] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    quantizes: bool = False

    def put(self, node: Node, index: int, value: Value) -> Node:
        operands = (*node.operands[:index], value, *node.operands[index + 1 :])
        return replace_node(self, node, node.reading(operands))

    def carry(self, node: Node) -> None:
        """Nothing is carried along."""

    def is_gone(self, node: Node) -> bool:
        return node.name in self.removed

    def remove(self, node: Node) -> None:
        self.removed.append(node.name)
        replace_node(self, node, node.reading(()))


def value(graph: Graph, name: str, kind: Kind, place: int | None = None) -> Value:
    return Value(name, Shape((2,)), "float32", kind, graph, None, place)


def chain(*names: str) -> Graph:
    """Nodes of which each reads the one before it, x -> names[0] -> names[1] ...; the last is the output."""
    graph = Graph("main")
    source = value(graph, "x", "input")
    graph.inputs = [source]
    for place, name in enumerate(names):
        result = value(graph, name, "result", place)
        graph.nodes.append(Node("Op", "", 1, name, place, graph, (source,), (result,), {}, None))
        graph.note(place, source)
        source = result
    graph.outputs = {source}
    return graph


def test_a_name_that_is_taken_gets_a_number() -> None:
    fresh = FreshNames({"x", "x_1"})
    assert [fresh("x"), fresh("y"), fresh("x"), fresh("y")] == ["x_2", "y", "x_3", "y_1"]


@dataclass
class Model:
    """A model of which nothing but this is asked."""

    changed: bool = False


def applier(model: Model, state: State, edit: Edit, lift: Any) -> Applier:  # noqa: ANN401
    """What carries out an edit that every check lets pass."""
    return editing.applier(model, state, [edit], lambda *_: None, lift, lift, lift, lift)


def test_an_edit_that_is_refused_while_it_is_carried_out_leaves_the_model_unchanged() -> None:
    graph, model = chain("a", "b"), Model()

    def refuse(*_: object) -> Value:
        raise Refused("the numbers of 'x' can't be read")

    apply = applier(model, State(), Lift(0, (0,)), refuse)
    with pytest.raises(Refused, match="can't be read"):
        apply(graph.nodes[1])
    assert not model.changed
    assert applier(model, State(), Lift(0, (0,)), lambda *_: graph.inputs[0])(graph.nodes[1]).operands == (
        graph.inputs[0],
    )
    assert model.changed


@pytest.mark.parametrize("edit", [Lift(1, (0,)), Stretch(1, (0,), Shape((2,)))], ids=["lift", "stretch"])
def test_an_edit_of_an_operand_that_is_not_there_names_node_and_operand(edit: Edit) -> None:
    apply = applier(Model(), State(), edit, lambda *_: None)
    with pytest.raises(MissingOperandError, match="Op 'b' has no operand 1"):
        apply(chain("a", "b").nodes[1])


def test_what_only_served_a_bypassed_node_stays_and_what_only_served_the_edit_goes() -> None:
    graph, state = chain("a", "b", "c"), State()
    bypass(state, graph.nodes[1], 0)
    assert graph.nodes[2].operands == graph.nodes[0].results
    graph.nodes[2] = state.put(graph.nodes[2], 0, graph.inputs[0])
    assert remove_dead(state, lambda node: node.name != "b") == []
    assert state.removed == ["b", "a"]


def test_a_node_that_may_not_go_stays_although_nobody_reads_it() -> None:
    graph, state = chain("a", "b"), State()
    state.put(graph.nodes[1], 0, graph.inputs[0])
    assert remove_dead(state, lambda _: False) == []
    assert state.removed == []


def test_neither_an_input_nor_what_is_still_read_goes() -> None:
    """A node goes where none of its results is read, nobody says that it must stay, and it is a node at all."""
    graph, state = chain("a", "b"), State()
    state.dead.update(dict.fromkeys((graph.inputs[0], *graph.nodes[0].results)))
    assert remove_dead(state, lambda _: True) == []
    assert state.removed == []


def test_a_node_in_the_place_of_another_reads_its_operands_and_what_that_read_has_lost_a_reader() -> None:
    graph, state = chain("a", "b"), State()
    last, first, constant = graph.nodes[1], graph.nodes[0], value(graph, "k", "constant")
    new = replace_node(state, last, last.reading((graph.inputs[0], None, constant)))
    assert graph.nodes[1] is new
    assert constant.reads == [(new, 2)]
    assert graph.inputs[0].reads == [(first, 0), (new, 0)]
    assert list(state.dead) == [*first.results]
    assert not any(result.is_used for result in first.results if result is not None)


def test_what_one_of_the_results_is_read_of_does_not_go() -> None:
    graph, state = chain("a"), State()
    unread = value(graph, "unread", "result", 0)
    graph.nodes[0] = Node("Op", "", 1, "a", 0, graph, (graph.inputs[0],), (unread, *graph.nodes[0].results), {}, None)
    state.dead[unread] = None
    assert remove_dead(state, lambda _: True) == []
    assert state.removed == []
    graph.outputs = set()
    assert remove_dead(state, lambda _: True) == []
    assert state.removed == ["a"]


def test_a_constant_that_is_read_again_is_not_returned() -> None:
    graph, state = chain("a"), State()
    constant = value(graph, "k", "constant")
    graph.nodes[0] = state.put(graph.nodes[0], 0, constant)
    state.dead[constant] = None
    assert remove_dead(state, lambda _: True) == []


def test_a_dead_constant_is_returned() -> None:
    graph, state = chain("a"), State()
    constant = value(graph, "k", "constant")
    state.dead[constant] = None
    assert remove_dead(state, lambda _: True) == [constant]


def test_a_new_node_stands_before_its_first_reader_and_before_new_nodes_that_read_it() -> None:
    graph = chain("a", "b")
    order = Order(graph)
    made = [value(graph, name, "result", -1 - at) for at, name in enumerate(("late", "early"))]
    order.enter(Node("Op", "", 1, "late", -1, graph, (graph.inputs[0],), (made[0],), {}, None), 1)
    order.enter(Node("Op", "", 1, "early", -2, graph, (made[0],), (made[1],), {}, None), 0)
    order.gone.add(0)
    order.arrange()
    keys = order.keys(2)
    assert [node.name for node in graph.nodes] == ["late", "early", "b"]
    assert sorted(range(len(keys)), key=keys.__getitem__)[:3] == [2, 3, 1]


# --- what stands in the place of a node -------------------------------------------------------------------------------


@dataclass
class Made:
    """A builder that notes what it makes, each by its operator."""

    graph: Graph
    noted: list[str] = field(default_factory=list)

    def new(self, new: New, operands: tuple[Value, ...], node: Node) -> Value:
        self.noted.append(f"{new.op}({', '.join(operand.name for operand in operands)}) for {node.name}")
        return value(self.graph, new.op, "result")

    def new_constant(self, numbers: Numbers, node: Node) -> Value:
        self.noted.append(f"{numbers.elements} for {node.name}")
        return value(self.graph, f"k{len(self.noted)}", "constant")


def new(op: str, *operands: Source) -> New:
    return New(op, operands, Shape((2,)), "float32")


def test_each_new_node_is_made_once_and_after_those_that_it_reads() -> None:
    graph = chain("a", "b")
    shared = new("shared", 0)
    left, right = new("left", shared, Numbers((1,), (), "int64")), new("right", graph.inputs[0], shared)
    builder = Made(graph)
    found = NewNodes(builder, graph.nodes[1]).operands(new("last", left, right, shared, 0))
    assert [operand.name for operand in found] == ["left", "right", "shared", "a"]
    assert builder.noted == ["shared(a) for b", "(1,) for b", "left(shared, k2) for b", "right(x, shared) for b"]


def test_what_one_new_node_made_serves_the_next_one_too() -> None:
    graph = chain("a", "b")
    shared, builder = new("shared", 0), Made(graph)
    made = NewNodes(builder, graph.nodes[1])
    first, second = (made.operands(new(op, shared)) for op in ("one", "two"))
    assert first == second
    assert builder.noted == ["shared(a) for b"]


def test_the_last_of_them_is_not_made_itself() -> None:
    graph = chain("a", "b")
    builder = Made(graph)
    assert NewNodes(builder, graph.nodes[1]).operands(new("last")) == ()
    assert builder.noted == []


@dataclass
class Bypassing(State):
    """A state that notes which nodes are carriers now, and which nodes are gone."""

    carried: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    def carry(self, node: Node) -> None:
        self.carried.append(node.name)

    def is_gone(self, node: Node) -> bool:
        return node.name in self.gone


@pytest.mark.parametrize(("new_one", "removed"), [(True, ["a"]), (False, [])], ids=["a new node", "a node of the file"])
def test_a_node_that_edits_made_for_the_bypassed_one_alone_goes_at_once(new_one: bool, removed: list[str]) -> None:
    graph, state = chain("a", "b"), Bypassing()
    if new_one:
        made = value(graph, "a", "result", -1)
        graph.made.append(Node("Op", "", 1, "a", -1, graph, (graph.inputs[0],), (made,), {}, None))
        graph.nodes[1] = state.put(graph.nodes[1], 0, made)
    node = applier(Model(), state, Bypass(0, graph.inputs[0]), lambda *_: None)(graph.nodes[1])
    assert node.operands == (graph.inputs[0],)
    assert state.carried == ["b"]
    assert state.removed == removed


def test_a_new_node_that_another_reads_too_stays() -> None:
    graph, state = chain("a", "b", "c"), Bypassing()
    made = value(graph, "m", "result", -1)
    graph.made.append(Node("Op", "", 1, "m", -1, graph, (graph.inputs[0],), (made,), {}, None))
    for at in (1, 2):
        graph.nodes[at] = state.put(graph.nodes[at], 0, made)
    applier(Model(), state, Bypass(0, graph.inputs[0]), lambda *_: None)(graph.nodes[1])
    assert state.removed == []


@pytest.mark.parametrize(
    ("name", "gone", "refused"),
    [("a", [], False), ("a", ["a"], True), ("a", ["b"], False), ("x", ["a", "b"], False), ("unread", [], True)],
)
def test_what_another_edit_took_out_is_not_read_in_the_place_of_another(
    name: str, gone: list[str], refused: bool
) -> None:
    graph, state = chain("a", "b", "c"), Bypassing(gone=gone)
    values = {"a": graph.nodes[0].results[0], "x": graph.inputs[0], "unread": value(graph, "unread", "input")}
    source, model = values[name], Model()
    assert source is not None
    apply = applier(model, state, Bypass(0, source), lambda *_: None)
    if refused:
        with pytest.raises(Refused, match=f"'{name}' is not what it was when this was planned"):
            apply(graph.nodes[2])
    else:
        assert apply(graph.nodes[2]).operands == (source,)
    assert model.changed is not refused


def test_names_of_one_stem_are_counted_and_reserved_letters_give_way() -> None:
    fresh = FreshNames({"x"})
    assert [fresh("x") for _ in range(3)] == ["x_1", "x_2", "x_3"]
    again = FreshNames({"x", "x_1", "x_2", "x_4"})
    assert [again("x") for _ in range(3)] == ["x_3", "x_5", "x_6"]
    reserving = FreshNames({"x_y"}, reserved="/")
    assert [reserving("x/y"), reserving("/"), reserving("/")] == ["x_y_1", "_", "__1"]


@pytest.mark.parametrize(
    ("place", "is_read_again", "removed"),
    [(-1, False, ["made"]), (-1, True, []), (0, False, [])],
    ids=["of an edit", "of an edit, and read by another", "of the file"],
)
def test_what_an_edit_made_for_the_bypassed_operand_alone_goes_at_once(
    place: int, removed: list[str], *, is_read_again: bool
) -> None:
    graph, state = chain("a", "b", "c"), State()
    source, reader = graph.inputs[0], graph.nodes[1]
    if place < 0:
        result = value(graph, "made", "result", place)
        made = Node("Op", "", 1, "made", place, graph, (source,), (result,), {}, None)
        graph.made.append(made)
        graph.note(place, source)
        reader = state.put(reader, 0, result)
        if is_read_again:
            state.put(graph.nodes[2], 0, result)
    apply = editing.applier(Model(), state, [Bypass(0, source)], lambda *_: None, *[lambda *_: None] * 4)  # type: ignore[arg-type, return-value]
    assert apply(reader).operands == (source,)
    assert state.removed == removed
