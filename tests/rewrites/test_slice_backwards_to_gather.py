"""A Slice with negative steps as a Gather: plans, proofs, and what is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import graphfix
from graphfix.graph.edits import New, Numbers, Replace
from graphfix.shapes.dim import Shape
from rewrites.tosa.slice_backwards_to_gather import plan
from tests.support.notation import model, node

if TYPE_CHECKING:
    from pathlib import Path


def text(data: str, bounds: str, result: str) -> str:
    given = zip(("s", "e", "a", "t"), bounds.split(), strict=False)
    operands = ", ".join(f"{name}:const:int64[{each.count(',') + 1}]{{{each}}}" for name, each in given)
    return f"y[{result}] = Slice(x[{data}], {operands})"


DONE = {
    "all of an axis": (text("2,5", "-1 -9 1 -1", "2,5"), [("Gather", (4, 3, 2, 1, 0), 1)]),
    "a part": (text("5,2", "3 0 0 -1", "3,2"), [("Gather", (3, 2, 1), 0)]),
    "every second, the axis from the back": (text("2,5", "4 -6 -1 -2", "2,3"), [("Gather", (4, 2, 0), 1)]),
    "two axes": (
        text("2,3", "-1,-1 -9,-9 0,1 -1,-1", "2,3"),
        [("Gather", (1, 0), 0), ("Gather", (2, 1, 0), 1)],
    ),
    "an axis forwards, another backwards": (
        text("4,3", "1,-1 3,-9 0,1 1,-1", "2,3"),
        [("Slice", None, None), ("Gather", (2, 1, 0), 1)],
    ),
    "a free axis beside it": (text("N,3", "-1 -9 1 -1", "N,3"), [("Gather", (2, 1, 0), 1)]),
}


def chain(edit: Replace) -> list[tuple[str, tuple[int, ...] | None, object]]:
    """Return the new nodes from the data on: operator, places and axis."""
    found: list[tuple[str, tuple[int, ...] | None, object]] = []
    each: object = edit.node
    while isinstance(each, New):
        places = each.operands[1] if each.op == "Gather" else None
        assert places is None or isinstance(places, Numbers)
        found.append((each.op, None if places is None else places.elements, dict(each.attributes).get("axis")))  # type: ignore[arg-type]
        each = each.operands[0]
    assert each == 0
    return found[::-1]


@pytest.mark.parametrize("case", DONE)
def test_each_axis_backwards_is_a_gather(case: str) -> None:
    given, nodes = DONE[case]
    (edit,) = plan(node(given))
    assert isinstance(edit, Replace)
    assert chain(edit) == nodes


def test_each_new_node_has_its_own_shape() -> None:
    (edit,) = plan(node(text("4,3,5", "1,-1 3,-9 0,1 1,-2", "2,2,5")))
    assert isinstance(edit, Replace)
    (cut, _), whole = edit.node.operands, edit.node
    assert isinstance(cut, New)
    assert (cut.op, cut.shape, cut.dtype) == ("Slice", Shape((2, 3, 5)), "float32")
    assert (whole.op, whole.shape, whole.dtype) == ("Gather", Shape((2, 2, 5)), "float32")


@pytest.mark.ci
@pytest.mark.parametrize("case", [case for case in DONE if not case.startswith("a free")])
def test_the_gather_is_proved_and_computes_the_same(case: str, tmp_path: Path) -> None:
    before, after = tmp_path / "before.onnx", tmp_path / "after.onnx"
    given, nodes = DONE[case]
    before.write_bytes(model(given).SerializeToString())
    outcome = graphfix.fix_file(before, after, target="tosa")
    assert outcome.rewrites["slice-backwards-to-gather"] == 1
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    assert all(run.status == "equal" for run in outcome.verdict.runs)
    assert [each.op for each in graphfix.load(after).graphs[0].nodes] == [op for op, *_ in nodes]
    assert [site.code for site in graphfix.check(after, target="tosa").sites if site.is_finding] == []


KEPT = {
    "forwards": text("2,5", "0 5 1 1", "2,5"),
    "no steps": text("2,5", "0 5 1", "2,5"),
    "a free size": text("2,N", "-1 -9 1 -1", "2,?"),
    "a start in front of the axis, where runtimes differ": text("2,5", "-7 -9 1 -1", "2,?"),
    "an end that onnxruntime reads as the first element": text("2,5", "-1 9223372036854775807 1 -1", "2,?"),
    "nothing is taken": text("2,5", "1 3 1 -1", "2,0"),
    "more elements than a constant should have": text("2,5000", "-1 -9000 1 -1", "2,5000"),
    "bounds of the run": "y[2,?] = Slice(x[2,5], s:int64[1], e:int64[1], a:const:int64[1]{1}, t:const:int64[1]{-1})",
    "axes of the run": text("2,5", "-1 -9 0 -1", "?,?").replace("a:const:int64[1]{0}", "a:int64[1]"),
    "steps of the run": text("2,5", "-1 -9 1 -1", "2,?").replace("t:const:int64[1]{-1}", "t:int64[1]"),
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_nothing_is_done(text: str) -> None:
    assert list(plan(node(text))) == []


BESIDE = {
    "a step of 0, which runtimes refuse": text("2,5", "-1,0 -9,5 0,1 -1,0", "2,?"),
    "a free size": text("2,N", "-1,-1 -9,-9 0,1 -1,-1", "2,?"),
    "a start in front of the axis": text("2,5", "-1,-7 -9,-9 0,1 -1,-1", "2,?"),
    "nothing is taken": text("2,5", "-1,1 -9,3 0,1 -1,-1", "2,0"),
    "more elements than a constant should have": text("2,5000", "-1,-1 -9,-9000 0,1 -1,-1", "2,5000"),
}


@pytest.mark.parametrize("text", BESIDE.values(), ids=BESIDE)
def test_one_axis_that_stays_keeps_another_one(text: str) -> None:
    assert list(plan(node(text))) == []


LIMITS = {
    "as many elements as a constant may have": (text("4096", "-1 -9000 0 -1", "4096"), tuple(range(4096))[::-1], 0),
    "from the first element": (text("2,5", "-5 -9 1 -1", "2,1"), (0,), 1),
    "the greatest end that every runtime takes": (text("2,5", "4 2147483645 1 -1", "2,0"), None, 1),
    "beside the greatest end": (
        text("2147483650", "-1 2147483645 0 -1", "4"),
        (2147483649, 2147483648, 2147483647, 2147483646),
        0,
    ),
    "behind the greatest end": (text("2147483650", "-1 2147483646 0 -1", "3"), None, 0),
    "the last axis by its number from the back": (text("2,3", "-1 -9 -1 -1", "2,3"), (2, 1, 0), 1),
    "axes that are not stated": (
        "y[2,3] = Slice(x[2,3], s:const:int64[1]{-1}, e:const:int64[1]{-9}, , t:const:int64[1]{-1})",
        (1, 0),
        0,
    ),
}


@pytest.mark.parametrize("case", LIMITS)
def test_at_the_limits_the_places_are_those_that_the_slice_takes(case: str) -> None:
    given, places, axis = LIMITS[case]
    edits = list(plan(node(given)))
    assert [chain(edit) for edit in edits if isinstance(edit, Replace)] == (
        [[("Gather", places, axis)]] if places else []
    )


@pytest.mark.parametrize("missing", ["s:const:int64[1]{-1}", "e:const:int64[1]{-9}"], ids=["its start", "its end"])
def test_a_bound_of_the_run_keeps_the_slice(missing: str) -> None:
    given = text("2,5", "-1 -9 1 -1", "2,?")
    assert list(plan(node(given.replace(missing, missing.replace("const:", "").partition("{")[0])))) == []
