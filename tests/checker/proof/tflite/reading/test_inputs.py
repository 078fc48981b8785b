"""Inputs of TFLite models for the proof: names, sizes, bound sizes, and constants in their place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from graphfix.checker.files.equal_sizes import EqualSizes
from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.names import own_names
from graphfix.checker.files.tflite.records import Model
from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import Algebra, Size
from graphfix.checker.proof.tflite.reading.inputs import (
    bound,
    input_dims,
    set_arrays,
    sizes_by_name,
    sizes_of,
    without_set,
)
from graphfix.results import GraphfixError, InputValue
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

TEXT = """subgraph main(x[N,4], k[3], n:int32[]) -> y:
a[N,4] = MUL(x, k)
y[N,4] = IF(c:const:bool[]{{True}}, a, then=other, else=other)
subgraph other(u[N,4]) -> v:
v[N,4] = NEG(u)"""
SIGNATURES = {
    "serve": Signature("main", {"image": "x", "scale": "k", "count": "n"}, {"out": "y"}),
    "other": Signature("other", {"in": "u"}, {"out": "v"}),
}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def opened(
    folder: Path, stack: ExitStack, text: str = TEXT.format(), signatures: Mapping[str, Signature] | None = None
) -> Model:
    path = folder / f"{len(list(folder.iterdir()))}.tflite"
    path.write_bytes(tflite(text, signatures=signatures))
    return read(path, stack)[0]


def test_sizes_are_symbols_in_the_proof_and_by_name_the_stored_numbers(tmp_path: Path, stack: ExitStack) -> None:
    model = opened(tmp_path, stack, signatures=SIGNATURES)
    assert input_dims(model) == {"x": ("x[0]", "x[1]"), "k": ("k[0]",), "n": ()}
    assert sizes_by_name(model) == {
        "x": ("x[0]", 4), "k": (3,), "n": (), "image": ("x[0]", 4), "scale": (3,), "count": ()
    }  # fmt: skip
    free = opened(tmp_path, stack, "y[*] = NEG(x[*])")
    assert (input_dims(free), sizes_by_name(free)) == ({"x": None}, {"x": None})


def test_sizes_are_bound_by_axis_or_by_shape(tmp_path: Path, stack: ExitStack) -> None:
    model = opened(tmp_path, stack)

    def sizes(bindings: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]) -> list[tuple[object, object]]:
        made = bound(model, bindings, shapes)
        assert made.subgraphs[1:] == model.subgraphs[1:]
        return [(made.subgraphs[0].tensors[at].dims, made.subgraphs[0].tensors[at].stored) for at in own_names(made)]

    as_it_is = [((None, 4), (1, 4)), ((3,), (3,)), ((), ())]
    assert sizes({}, {}) == as_it_is
    assert sizes({"x[0]": 5}, {}) == [((5, 4), (5, 4)), *as_it_is[1:]]
    assert sizes({"x[1]": 4, "N": 7}, {}) == as_it_is
    assert sizes({}, {"x": (6, 4)}) == [((6, 4), (6, 4)), *as_it_is[1:]]
    assert sizes({"x[0]": 5}, {"k": (3,)}) == [((5, 4), (5, 4)), *as_it_is[1:]]
    assert bound(model, {}, {}) is model
    for bindings, shape in (({"x[1]": 5}, (6, 4)), ({}, (6, 5)), ({}, (6, 4, 1))):
        with pytest.raises(UnprovedError, match="the input 'x' is declared with other sizes"):
            sizes(bindings, {"x": shape})


def test_a_shape_of_another_rank_than_is_stored_leaves_nothing_stored(tmp_path: Path, stack: ExitStack) -> None:
    made = bound(opened(tmp_path, stack, "y[*] = NEG(x[*])"), {}, {"x": (6, 4)})
    (at,) = own_names(made)
    assert (made.subgraphs[0].tensors[at].dims, made.subgraphs[0].tensors[at].stored) == ((6, 4), ())


EQUAL = EqualSizes(
    names={"x[0]": "x[0]", "z[0]": "x[0]", "w[0]": "w[0]"}, numbers={}, sums={"w[0]": ("x[0]", "v[0]", 2)}
)


def test_sizes_that_are_said_to_be_equal_are_one_symbol_in_the_main_subgraph(tmp_path: Path, stack: ExitStack) -> None:
    text = "subgraph main(x[?,4], z[?,4], v[?], w[?]) -> a:\na[?,4] = NEG(x)"
    graph = opened(tmp_path, stack, text).subgraphs[0]
    arithmetic = Arithmetic(Algebra())
    tensors = {graph.tensors[at].name: graph.tensors[at] for at in graph.inputs}

    def sizes(name: str, subgraph: int = 0) -> list[Size]:
        at = subgraph, list(tensors).index(name)
        return list(sizes_of(arithmetic, name, tensors[name], at, EQUAL))

    assert sizes("x") == sizes("z")
    assert sizes("x")[1] == 4
    assert sizes("v") != sizes("x")[:1]
    assert sizes("w") == [arithmetic.add(sizes("x")[0], sizes("v")[0], 2)]
    assert sizes("x", 1) != sizes("z", 1)
    assert sizes("w", 1) != sizes("w")
    assert sizes("v", 1) != sizes("v")


def test_inputs_that_are_set_and_gone_are_constants_of_the_first_model(tmp_path: Path, stack: ExitStack) -> None:
    one = opened(tmp_path, stack, signatures=SIGNATURES)
    two = opened(tmp_path, stack, TEXT.replace(", k[3]", "").replace("k)", "k:const[3]{{1,2,3}})").format())
    values: dict[str, InputValue] = {"scale": (5.0, 6.0, 7.0), "n": 2}
    made, left = without_set(one, two, values)
    assert left == {"n": 2}
    graph, before = made.subgraphs[0], one.subgraphs[0]
    assert [graph.tensors[at].name for at in graph.inputs] == ["x", "n"]
    (at,) = set(before.inputs) - set(graph.inputs)
    held = graph.tensors[at]
    assert held.payload is not None
    assert np.frombuffer(held.payload.read(0, held.payload.length), "<f4").tolist() == [5, 6, 7]
    assert (held.dims, held.stored) == ((3,), (3,))
    assert [[name for name, _ in named] for _, _, named, _ in made.signatures] == [["image", "count"], ["in"]]
    assert made.subgraphs[1:] == one.subgraphs[1:]
    assert without_set(one, one, values) == (one, values)


def test_a_tensor_of_another_subgraph_is_none_of_the_main_inputs(tmp_path: Path, stack: ExitStack) -> None:
    """The tensors of subgraphs have the same numbers."""
    one = opened(tmp_path, stack, signatures=SIGNATURES)
    two = opened(tmp_path, stack, TEXT.replace("x[N,4], ", "").replace("x, k", "x:const[1,4], k").format())
    made, left = without_set(one, two, {"x": (1.0,) * 8})
    assert left == {}
    held = made.subgraphs[0].tensors[one.subgraphs[0].inputs[0]]
    assert (held.name, held.dims, held.stored) == ("x", (2, 4), (2, 4))
    assert [[name for name, _ in named] for _, _, named, _ in made.signatures] == [["scale", "count"], ["in"]]


def test_values_stand_at_their_place_among_the_inputs(tmp_path: Path, stack: ExitStack) -> None:
    model = opened(tmp_path, stack, signatures=SIGNATURES)
    found = set_arrays(model, {"n": 2, "scale": (1.0, 2.0, 3.0)})
    assert {at: (array.dtype.name, array.tolist()) for at, array in found.items()} == {
        1: ("float32", [1.0, 2.0, 3.0]),
        2: ("int32", 2),
    }
    assert set_arrays(model, {}) == {}
    odd: list[dict[str, InputValue]] = [{"nothing": 1}, {"n": (1, 2)}, {"k": (1.0, 2.0)}, {"n": 0.5}]
    for values in odd:
        with pytest.raises(GraphfixError):
            set_arrays(model, values)
