"""The runs of a witness in onnx's evaluator, and which values they show: no runtime is loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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
