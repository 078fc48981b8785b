"""The first tensor that two models compute differently."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from graphfix.checker.runs.comparing.first_difference import first_place
from graphfix.checker.task import Criterion
from graphfix.runtimes.session import RefusedError, SessionBy

Values = Mapping[str, object]
Opener = Callable[[Sequence[str]], SessionBy]
NAMES = ("a", "b", "c", "y")


def producers(*names: str, op: str = "Add") -> dict[str, tuple[str, str]]:
    return {name: (op, f"{op}#{name}") for name in names}


def opener(values: Values, again: Values | None = None, most: int = 1000, asked: list[int] | None = None) -> Opener:
    """Open a model whose output is y, and whose inner tensors are shown by name; `again`: what later runs change."""

    def opened(expose: Sequence[str]) -> SessionBy:
        if len(expose) > most:
            raise RefusedError("too many outputs")
        if asked is not None:
            asked.append(len(expose))
        runs = []

        def run(_: Mapping[str, object]) -> list[object]:
            runs.append(1)
            shown = {**values, **(again or {})} if len(runs) > 1 else values
            return [
                each if isinstance(each := shown[name], tuple) else np.asarray(each, np.float32)
                for name in ("y", *expose)
            ]

        return SessionBy(("y", *expose), run)

    return opened


SAME = {"a": [1, 2], "b": [0, 0], "c": [3, 4], "y": [5, 6]}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"y": [5, 7]}, ("y", [1], 6.0, 7.0, 1), id="the output"),
        pytest.param({"y": [5, 7], "c": [9, 9]}, ("c", [0], 3.0, 9.0, 2), id="an inner tensor"),
        pytest.param({"y": [5, 7], "b": [0, -0.0]}, ("y", [1], 6.0, 7.0, 1), id="a sign before a value"),
        pytest.param({"a": [-1, 2], "b": [0, -0.0]}, ("a", [0], 1.0, -1.0, 1), id="a value before a sign"),
        pytest.param({"b": [0, -0.0]}, ("b", [1], 0.0, -0.0, 1), id="a sign alone"),
        pytest.param({"b": [0, -0.0], "y": [np.nan, 6]}, ("y", [0], 5.0, "nan", 1), id="NaN"),
        pytest.param({"a": [[[1, 2]]]}, None, id="another rank"),
        pytest.param({"b": 0}, None, id="stretched"),
        pytest.param({"a": [[1, 2], [1, 2]]}, None, id="repeated"),
        pytest.param({"a": [[1], [2]]}, ("a", [], "float32[2]", "float32[2, 1]", 1), id="both stretched"),
        pytest.param({"a": [1, 2, 3]}, ("a", [], "float32[2]", "float32[3]", 1), id="other sizes"),
    ],
)
def test_the_first_tensor_that_differs_is_the_place(changes: Values, expected: tuple[object, ...] | None) -> None:
    models = producers(*NAMES), producers(*NAMES)
    found = first_place(models, ["y"], (opener(SAME), opener({**SAME, **changes})), {}, Criterion())
    if expected is None:
        assert found is None
        return
    assert found is not None
    tensor, index, before, after, count = expected
    assert found.as_record() == {
        "tensor": tensor, "producer": f"Add#{tensor}", "index": index, "before": before, "after": after, "count": count,
    }  # fmt: skip


def test_tensors_that_both_models_have_and_that_two_runs_agree_on_are_compared() -> None:
    other = {"a": [9, 9], "c": [8, 8], "y": [5, 6]}
    first = opener(SAME, again={"a": [7, 7]})
    found = first_place((producers(*NAMES), producers("a", "c", "y")), ["y"], (first, opener(other)), {}, Criterion())
    assert found is not None
    assert found.tensor == "c"
    assert first_place((producers("b"), producers("y")), ["y"], (first, opener(other)), {}, Criterion()) is None


@pytest.mark.parametrize(
    ("tensor", "op", "other"),
    [("c", "Mul", "Mul#c"), ("c", "Add", ""), ("y", "Mul", "")],
    ids=["another operator", "the same one", "an output"],
)
def test_an_inner_tensor_that_another_operator_makes_names_both(tensor: str, op: str, other: str) -> None:
    models = producers(tensor), producers(tensor, op=op)
    found = first_place(models, ["y"], (opener(SAME), opener({**SAME, tensor: [0, 1]})), {}, Criterion())
    assert found is not None
    assert (found.other_producer, found.as_record().get("other_producer", "")) == (other, other)


def test_a_long_model_is_asked_for_some_tensors_at_a_time() -> None:
    names = [f"t{at}" for at in range(300)]
    values = {**{name: [1] for name in names}, "y": [1]}
    for place, loads in ((3, [64]), (70, [64, 128]), (299, [64, 128, 108]), (None, [64, 128, 108])):
        changed = values if place is None else {**values, f"t{place}": [2]}
        asked: list[int] = []
        models = producers(*names, "y"), producers(*names, "y")
        found = first_place(models, ["y"], (opener(values, asked=asked), opener(changed)), {}, Criterion())
        assert asked == loads
        assert (found and found.tensor) == (None if place is None else f"t{place}")


def test_tensors_that_a_runtime_does_not_show_are_passed_over() -> None:
    names = [f"t{at}" for at in range(70)]
    values = {**{name: [1] for name in names}, "y": [1]}
    changed = {**values, "t3": [2], "t69": [2]}
    models = producers(*names), producers(*names)
    found = first_place(models, [], (opener(values, most=6), opener(changed)), {}, Criterion())
    assert found is not None
    assert found.tensor == "t69"


def test_a_tolerance_holds_between_the_models_and_not_between_two_runs() -> None:
    loose = Criterion(atol=0.5)
    models = producers(*NAMES), producers(*NAMES)
    near = opener({**SAME, "a": [1.25, 2], "c": [9, 9]})
    found = first_place(models, ["y"], (opener(SAME, again={"c": [3.25, 4]}), near), {}, loose)
    assert found is not None
    assert (found.tensor, dict(found.difference.counts)) == ("a", {"tolerance": 1})


def test_the_first_of_two_signs_of_zero_is_the_place() -> None:
    zeros, negative = {"a": [0.0], "b": [0.0], "y": [1]}, {"a": [-0.0], "b": [-0.0], "y": [1]}
    models = producers("a", "b", "y"), producers("a", "b", "y")
    found = first_place(models, ["y"], (opener(zeros), opener(negative)), {}, Criterion())
    assert found is not None
    assert found.tensor == "a"


def test_sequences_are_compared_element_by_element() -> None:
    values = {"a": ([1.0], [2.0, 3.0]), "y": [1]}
    models = producers("a", "y"), producers("a", "y")
    for changed, expected in ((values, None), ({**values, "a": ([1.0], [2.0, 4.0])}, "a"), ({**values, "a": ()}, "a")):
        found = first_place(models, ["y"], (opener(values), opener(changed)), {}, Criterion())
        assert (found and found.tensor) == expected
