"""Which values of a model are loaded so that their sizes come out, and what of a run is its own result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from graphfix.checker.runs.onnx import observed_sizes
from graphfix.checker.runs.witness import Witness
from graphfix.results.claims import ClaimedShape, Claims
from graphfix.runtimes.session import RefusedError

MODEL = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x, float[2] c) => (float[N] y)'
    " <float[2] c = {1, 2}, float[2] d = {1, 2}> { t = Relu(x) u = Add(t, c) v = Mul(u, d) y = Neg(v) }"
)
COUNTED = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[M] y)'
    " { t = NonZero(x) u = Cast <to = 1> (t) y = Neg(u) }"
)
"""A model in which no input says the sizes of `t`."""
FEEDS = {"x": np.zeros(2)}


def witness(*named: str) -> Witness:
    """A witness of claims of values of one axis of 2, of which `x` and `c` are fed."""
    claims: dict[str, ClaimedShape] = dict.fromkeys(named, (2,))
    return Witness(Claims({"x": (2,), "c": (2,)}, claims))


@pytest.mark.parametrize(
    ("named", "loaded"),
    [
        (("v", "t"), ("t", "v")),
        (("t", "d"), ("d", "t")),
        (("c", "u"), ("u",)),
        (("x", "elsewhere"), ()),
        ((), ()),
    ],
)
def test_the_reference_evaluator_shows_the_values_with_a_claim_that_nobody_feeds(
    named: tuple[str, ...], loaded: tuple[str, ...]
) -> None:
    asked: list[tuple[str, ...]] = []
    runs: list[Mapping[str, object]] = []

    def load(names: tuple[str, ...]) -> Any:  # noqa: ANN401 - a session
        asked.append(names)
        shown = [np.zeros(size) for size in range(3, 3 + len(names))]

        def run(feeds: Mapping[str, object]) -> list[object]:
            runs.append(feeds)
            return ["own", *shown]

        return SimpleNamespace(outputs=("y", *names), run=run)

    seen = witness(*named)
    session = observed_sizes.in_reference(load, MODEL, seen)
    assert asked == [loaded]
    assert session.outputs == ("y",)
    assert session.run(FEEDS) == session.run(FEEDS) == ["own"]
    assert seen.facts(ran=True).contradicted == len(loaded)
    assert (seen.runs, len(runs)) == (1, 2)


def test_what_is_no_array_has_no_sizes() -> None:
    session = SimpleNamespace(outputs=("y", "t"), run=lambda _: [1, [np.zeros(3)]])
    seen = witness("t")
    assert observed_sizes.in_reference(lambda _: session, MODEL, seen).run(FEEDS) == [1]
    assert seen.facts(ran=True).observed == 0


class Loading:
    """Loads the original, or refuses to where shapes are asked for."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.asked: list[list[tuple[str, str]]] = []
        self.refuses = refuses

    def __call__(self, *, observe: Sequence[tuple[str, str]]) -> Any:  # noqa: ANN401 - a session
        self.asked.append(list(observe))
        if self.refuses and observe:
            raise RefusedError("no kernel")
        sizes = [(3,) for _ in observe]
        return SimpleNamespace(outputs=("y",), run=lambda _: ["own"], run_observed=lambda _: (["own"], sizes))


def test_onnxruntime_shows_shapes_by_names_that_the_file_has_not() -> None:
    load, seen = Loading(), witness("t", "x")
    assert observed_sizes.in_onnxruntime(load, COUNTED, seen).run(FEEDS) == ["own"]
    ((observe,),) = load.asked
    assert observe == ("t", "graphfix_shape0")
    assert seen.facts(ran=True).contradicted == 1
    taken = onnx.ModelProto()
    taken.CopyFrom(COUNTED)
    taken.graph.node[2].input[0] = taken.graph.node[1].output[0] = "graphfix_shape0"
    load = Loading()
    observed_sizes.in_onnxruntime(load, taken, seen)
    ((observe,),) = load.asked
    assert observe[0] == "t"
    assert observe[1] not in {name for node in taken.graph.node for name in (*node.input, *node.output)}


def test_onnxruntime_loads_the_model_as_it_is_where_it_refuses_to_show_shapes() -> None:
    load, seen = Loading(refuses=True), witness("t")
    assert observed_sizes.in_onnxruntime(load, COUNTED, seen).run(FEEDS) == ["own"]
    assert [len(observe) for observe in load.asked] == [1, 0]
    assert seen.facts(ran=True).contradicted == 0


def test_what_is_refused_without_shapes_is_refused() -> None:
    def load(*, observe: Sequence[tuple[str, str]]) -> Any:  # noqa: ANN401 - a session
        asked.append(list(observe))
        raise RefusedError("no kernel")

    asked: list[object] = []
    with pytest.raises(RefusedError, match="no kernel"):
        observed_sizes.in_onnxruntime(load, MODEL, witness())
    assert asked == [[]]


def test_no_shape_node_is_added_to_a_model_without_the_standard_operators() -> None:
    foreign = onnx.ModelProto()
    foreign.CopyFrom(COUNTED)
    foreign.opset_import[0].domain = "own"
    load = Loading()
    observed_sizes.in_onnxruntime(load, foreign, witness("t"))
    assert load.asked == [[]]
