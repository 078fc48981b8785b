"""The runs of a witness in onnx's evaluator, and which values they show: no runtime is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx.parser
import pytest

from graphfix.checker.runs.onnx import observed_sizes
from graphfix.checker.runs.witness import Witness
from graphfix.results.claims import Claims, StoredShape
from graphfix.runtimes.session import RefusedError, SessionBy

MODEL = onnx.parser.parse_model(
    '<ir_version: 8, opset_import: ["" : 17]> g (float[2] x, float[2] w) => (float[2] y, float[2] z)'
    " <float[2] w = {1, 2}, float[2] k = {3, 4}> { a = Abs(x) b, c = Split<axis = 0>(a) y = Add(a, w) z = Add(y, k) }"
)


def witness(*names: str, inputs: Sequence[str] = ("x",), believed: Sequence[str] = ()) -> Witness:
    stored = [StoredShape(name, "Own", ("2",)) for name in believed]
    return Witness(Claims(dict.fromkeys(inputs, (2,)), dict.fromkeys(names, (2,)), believed=stored))


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        (witness("c", "a", "k"), ("k", "a", "c")),
        (witness("x", "a"), ("a",)),
        (witness("w", "a"), ("w", "a")),
        (witness("w", "a", inputs=("x", "w")), ("a",)),
        (witness("unknown"), ()),
        (witness("b", believed=("y",)), ("b", "y")),
        (witness(), ()),
    ],
    ids=["in order", "an input", "a default", "a default that is fed", "nothing", "what is believed", "no claim"],
)
def test_values_with_a_claim_that_nobody_feeds_are_shown(seen: Witness, expected: tuple[str, ...]) -> None:
    assert observed_sizes._inner(MODEL, seen) == expected


def test_values_that_are_shown_are_no_outputs() -> None:
    """The evaluator returns them behind the outputs; a sequence has no sizes."""
    fed: list[Mapping[str, object]] = []
    asked: list[Sequence[str]] = []

    def load(names: Sequence[str]) -> SessionBy:
        asked.append(names)

        def run(feeds: Mapping[str, object]) -> list[object]:
            fed.append(feeds)
            return ["y", "z", np.zeros(3), [np.zeros(4)], np.zeros((5, 6))]

        return SessionBy(("y", "z", *names), run)

    seen = witness("a", "b", "c")
    session = observed_sizes.in_reference(load, MODEL, seen)  # type: ignore[arg-type]
    assert (asked, session.outputs) == ([("a", "b", "c")], ("y", "z"))
    feeds = {"x": np.zeros(2)}
    assert session.observe(feeds) == (["y", "z"], {"a": (3,), "c": (5, 6)})  # type: ignore[attr-defined]
    assert session.run(feeds) == ["y", "z"]
    assert (seen.runs, seen.observed) == (1, {"a", "c"})
    assert session.run(feeds) == ["y", "z"]
    assert (seen.runs, len(fed)) == (1, 3)


@pytest.mark.parametrize(("names", "refused", "loads"), [(("b",), 1, 2), (("b",), 2, None), ((), 1, None), ((), 0, 1)])
def test_a_copy_that_is_refused_is_replaced_by_the_model_as_it_is(
    names: tuple[str, ...], refused: int, loads: int | None
) -> None:
    asked: list[Sequence[tuple[str, str]]] = []

    class Session:
        outputs = ("y", "z")

        def run(self, _: Mapping[str, object]) -> list[object]:
            return [1, 2]

        def run_observed(self, _: Mapping[str, object]) -> tuple[list[object], list[tuple[int, ...]]]:
            return [1, 2], [(2,)] * len(asked[-1])

    def load(*, observe: Sequence[tuple[str, str]]) -> Session:
        asked.append(observe)
        if len(asked) <= refused:
            raise RefusedError("no")
        return Session()

    if loads is None:
        with pytest.raises(RefusedError, match="no"):
            observed_sizes.in_onnxruntime(load, MODEL, witness(*names))  # type: ignore[arg-type]
        return
    session = observed_sizes.in_onnxruntime(load, MODEL, witness(*names))  # type: ignore[arg-type]
    assert session.run({"x": np.zeros(2)}) == [1, 2]
    assert len(asked) == loads
    assert not asked[-1]


def test_names_of_shapes_are_new() -> None:
    assert observed_sizes._named(MODEL, ()) == []
    assert observed_sizes._named(MODEL, ("a", "b")) == [("a", "graphfix_shape0"), ("b", "graphfix_shape1")]


# --- sizes that no input says, and a default that is fed -----------------------------------------------------------

DEFAULTED = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x, float[2] c) => (float[N] y)'
    " <float[2] c = {1, 2}, float[2] d = {1, 2}> { t = Relu(x) u = Add(t, c) v = Mul(u, d) y = Neg(v) }"
)
COUNTED = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["" : 18]> g (float[N] x) => (float[M] y)'
    " { t = NonZero(x) u = Cast <to = 1> (t) y = Neg(u) }"
)
"""A model in which no input says the sizes of `t`."""
FEEDS = {"x": np.zeros(2)}
FED = ("x", "c")


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

    seen = witness(*named, inputs=FED)
    session = observed_sizes.in_reference(load, DEFAULTED, seen)
    assert asked == [loaded]
    assert session.outputs == ("y",)
    assert session.run(FEEDS) == session.run(FEEDS) == ["own"]
    assert seen.facts(ran=True).contradicted == len(loaded)
    assert (seen.runs, len(runs)) == (1, 2)


def test_what_is_no_array_has_no_sizes() -> None:
    session = SimpleNamespace(outputs=("y", "t"), run=lambda _: [1, [np.zeros(3)]])
    seen = witness("t", inputs=FED)
    assert observed_sizes.in_reference(lambda _: session, DEFAULTED, seen).run(FEEDS) == [1]
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
    load, seen = Loading(), witness("t", "x", inputs=FED)
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
    load, seen = Loading(refuses=True), witness("t", inputs=FED)
    assert observed_sizes.in_onnxruntime(load, COUNTED, seen).run(FEEDS) == ["own"]
    assert [len(observe) for observe in load.asked] == [1, 0]
    assert seen.facts(ran=True).contradicted == 0


def test_what_is_refused_without_shapes_is_refused() -> None:
    def load(*, observe: Sequence[tuple[str, str]]) -> Any:  # noqa: ANN401 - a session
        asked.append(list(observe))
        raise RefusedError("no kernel")

    asked: list[object] = []
    with pytest.raises(RefusedError, match="no kernel"):
        observed_sizes.in_onnxruntime(load, DEFAULTED, witness(inputs=FED))
    assert asked == [[]]


def test_no_shape_node_is_added_to_a_model_without_the_standard_operators() -> None:
    foreign = onnx.ModelProto()
    foreign.CopyFrom(COUNTED)
    foreign.opset_import[0].domain = "own"
    load = Loading()
    observed_sizes.in_onnxruntime(load, foreign, witness("t", inputs=FED))
    assert load.asked == [[]]
