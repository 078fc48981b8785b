"""Where new nodes stand: before their first reader, once for all readers, and not where they were removed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphfix.formats.neutral.insertion import Order, rearrange
from graphfix.graph.view import Graph, Node, Value
from graphfix.shapes.dim import Shape


def value(graph: Graph, name: str, place: int | None = None) -> Value:
    return Value(name, Shape((2,)), "float32", "input" if place is None else "result", graph, None, place)


def chain(*names: str) -> Graph:
    """Nodes of which each reads the one before it, x -> names[0] -> names[1] ..."""
    graph = Graph("main")
    source = value(graph, "x")
    graph.inputs = [source]
    for place, name in enumerate(names):
        result = value(graph, name, place)
        graph.nodes.append(Node("Op", "", 1, name, place, graph, (source,), (result,), {}, None))
        source = result
    return graph


def entered(order: Order, name: str, reader: int, *operands: Value | None) -> Value:
    """Make a node for a reader, and return its result."""
    place = order.next_place
    made = value(order.graph, name, place)
    order.enter(Node("New", "", 1, name, place, order.graph, operands, (made,), {}, None), reader)
    return made


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def test_new_nodes_count_down_and_stand_before_their_readers() -> None:
    order = Order(chain("a", "b", "c"))
    assert order.next_place == -1
    entered(order, "p", 2)
    assert order.next_place == -2
    entered(order, "q", 0)
    assert [order.anchor(node) for node in (*order.graph.made, order.graph.nodes[1])] == [2, 0, 1]
    order.arrange()
    assert names(order.graph) == ["q", "a", "b", "p", "c"]


@pytest.mark.parametrize(("reader", "expected"), [(0, ["p", "a", "b", "c"]), (2, ["a", "p", "b", "c"])])
def test_what_is_made_once_stands_before_the_first_of_its_readers(reader: int, expected: list[str]) -> None:
    order = Order(chain("a", "b", "c"))
    first = order.once("key", 1, lambda: entered(order, "p", 1))
    assert order.once("key", reader, lambda: entered(order, "again", reader)) is first
    assert order.reuse("key", reader) is first
    assert order.reuse("other", reader) is None
    order.arrange()
    assert names(order.graph) == expected


def test_a_constant_that_was_made_stands_nowhere_and_serves_all() -> None:
    order = Order(chain("a"))
    constant = value(order.graph, "k")
    assert order.once("key", 0, lambda: constant) is constant
    assert order.reuse("key", 0) is constant


def test_what_was_removed_or_has_another_shape_now_is_made_again() -> None:
    order = Order(chain("a", "b"))
    made = [order.once(key, 1, lambda key=key: entered(order, key, 1)) for key in ("p", "q")]  # type: ignore[misc]
    order.gone.add(-1)
    assert order.reuse("p", 1) is None
    order.graph.made[1] = replace(order.graph.made[1], results=(value(order.graph, "q", -2),))
    assert order.reuse("q", 1) is None
    again = order.once("p", 1, lambda: entered(order, "r", 1))
    assert again not in made
    order.arrange()
    assert names(order.graph) == ["a", "q", "r", "b"]


def test_a_node_of_the_file_is_reused_where_it_is() -> None:
    order = Order(chain("a", "b"))
    result = order.graph.nodes[1].results[0]
    assert result is not None
    order.made["key"] = result
    assert order.reuse("key", 0) is result
    order.arrange()
    assert names(order.graph) == ["a", "b"]


def test_a_new_node_of_another_graph_is_not_moved_by_a_reader_here() -> None:
    outer, order = Order(chain("a", "b")), Order(chain("c", "d"))
    made = entered(outer, "p", 1)
    entered(order, "q", 1)
    order.reuse_before(made, 0)
    order.arrange()
    outer.arrange()
    assert (names(order.graph), names(outer.graph)) == (["c", "q", "d"], ["a", "p", "b"])


def test_a_new_node_that_another_new_one_reads_moves_with_it() -> None:
    order = Order(chain("a", "b", "c"))
    first = entered(order, "p", 2)
    second = entered(order, "q", 2, first, None)
    entered(order, "r", 0, second)
    order.arrange()
    assert names(order.graph) == ["p", "q", "r", "a", "b", "c"]


def test_an_early_node_stands_before_all_others_of_its_place() -> None:
    order = Order(chain("a", "b"))
    for name in "pqr":
        entered(order, name, 1)
    order.early.add(-3)
    order.gone.add(0)
    order.arrange()
    assert names(order.graph) == ["r", "p", "q", "b"]


def test_records_are_sorted_as_the_nodes_are_and_what_is_gone_comes_last() -> None:
    order = Order(chain("a", "b", "c"))
    entered(order, "p", 2)
    entered(order, "q", 0)
    order.gone.add(1)
    order.arrange()
    assert names(order.graph) == ["q", "a", "p", "c"]
    records = ["a", "b", "c", "p", "q"]
    rearrange(records, order.keys(3))
    assert records == ["q", "a", "p", "c", "b"]


def test_records_of_one_key_keep_their_order() -> None:
    records = ["a", "b", "c", "d"]
    rearrange(records, [1, 0, 1, 0])
    assert records == ["b", "d", "a", "c"]
