"""Free sizes of inputs bound to numbers: what is refused, which shapes are updated, and who computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from graphfix.formats.neutral.equal_sizes import Sum
from graphfix.formats.tflite.binding import bind, equal_labels, state_free
from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.infer.names import declared, free, unique_names
from graphfix.formats.tflite.infer.value_dependence import determined
from graphfix.results import GraphfixError
from graphfix.runtimes.litert import evaluation
from graphfix.runtimes.session import RefusedError
from graphfix.shapes.dim import symbol
from models.builders.tflite.text import Signature, model
from tests.support import engine
from tests.support.places import zoo_models
from tests.support.tflite.instances import run
from tests.support.tiers import quick_in_ci

MODEL = "t[?,3,?] = NEG(x[?,3,?])\ny[?,3,?] = ADD(t, z[?,3,1])"


def bound(text: str, dims: Mapping[str, int], **shapes: Sequence[int | None]) -> Container:
    container = read(model(text))
    bind(container, dims, shapes)
    return container


def shapes(container: Container, index: int = 0) -> dict[str, tuple[int, ...]]:
    """The stored sizes, -1 where the signature has it."""
    subgraph = container.subgraphs[index]
    return dict(zip(unique_names(subgraph), map(declared, subgraph.tensors), strict=True))


def test_the_free_sizes_are_listed_by_input_and_axis() -> None:
    assert free(read(model(MODEL))) == ["x[0]", "x[2]", "z[0]"]
    assert free(read(model("y[2] = NEG(x[2])"))) == []


def test_an_input_without_a_name_is_called_by_its_index() -> None:
    container = read(model("y[?] = NEG(x[?])"))
    container.subgraphs[0].tensors[0].name = ""
    assert free(container) == ["t0[0]"]
    assert bind(container, {"t0[0]": 4}, {})


def test_the_name_of_a_signature_is_understood() -> None:
    container = read(model("y[?] = NEG(x[?])", signatures={"serve": Signature("main", {"in": "x"}, {"out": "y"})}))
    assert free(container) == ["x[0]"]
    assert bind(container, {"in[0]": 4}, {"x": [4]})
    assert shapes(container)["y"] == (4,)


def test_all_bound_makes_every_shape_static_and_drops_the_signatures() -> None:
    container = bound(MODEL, {"x[0]": 2, "x[2]": 5, "z[0]": 1})
    assert shapes(container) == {"x": (2, 3, 5), "t": (2, 3, 5), "z": (1, 3, 1), "y": (2, 3, 5)}
    tensors = container.subgraphs[0].tensors
    assert all(tensor.signature is None and tensor.changed for tensor in tensors)
    assert container.subgraphs[0].changed


def test_some_bound_states_the_numbers_that_follow_and_leaves_the_rest_free() -> None:
    container = bound(MODEL, {"x[2]": 5}, z=[2, 3, 1])
    # y is 2: x[0] is 1 or 2 beside the 2 of z, or the model fails
    assert shapes(container) == {"x": (-1, 3, 5), "t": (-1, 3, 5), "z": (2, 3, 1), "y": (2, 3, 5)}
    assert [tensor.shape for tensor in container.subgraphs[0].tensors] == [(1, 3, 5), (1, 3, 5), (2, 3, 1), (2, 3, 5)]


def test_what_is_not_touched_is_not_changed() -> None:
    container = bound("y[?] = NEG(x[?])\nw[3] = NEG(v[3])", {"x[0]": 2})
    tensors = dict(zip(unique_names(container.subgraphs[0]), container.subgraphs[0].tensors, strict=True))
    assert [name for name, tensor in tensors.items() if tensor.changed] == ["x", "y"]


@pytest.mark.parametrize(
    ("dims", "whole"),
    [({}, {}), ({"x[0]": symbol("n", 2, 9)}, {}), ({}, {"x": [None, 3, None]})],
    ids=["nothing asked", "a range", "all left free"],
)
def test_where_no_number_is_new_nothing_changes(
    dims: Mapping[str, int], whole: Mapping[str, Sequence[int | None]]
) -> None:
    container = read(model(MODEL))
    assert not bind(container, dims, whole)
    assert not container.subgraphs[0].changed


def test_the_sizes_that_a_static_file_has_already_change_nothing() -> None:
    container = read(model("y[2,3] = NEG(x[2,3])"))
    assert not bind(container, {}, {"x": [2, 3]})


REFUSED = {
    "unknown label": (
        {"q[0]": 2},
        {},
        "--dim q[0]: no input has a dim of that name; did you mean 'z[0]' or 'x[0]'? free: x[0], x[2], z[0]",
    ),
    "a static axis": (
        {"x[1]": 3},
        {},
        "--dim x[1]: axis 1 of 'x' is static: its size is 3 in the file; leave this option out",
    ),
    "no such axis": ({"x[3]": 3}, {}, "--dim x[3]: 'x' has 3 axes, numbered from 0"),
    "unknown input": ({}, {"q": [1]}, "--shape q: there is no input 'q'; inputs: x, z"),
    "wrong rank": ({}, {"x": [1, 3]}, "--shape x: 2 dims given, the input has [?, 3, ?]"),
    "a static size": ({}, {"x": [1, 4, 1]}, "--shape x: 4 contradicts the input's [?, 3, ?]"),
    "two numbers": ({"x[0]": 2}, {"x": [3, 3, 1]}, "--shape x: 3 contradicts the input's [2, 3, ?]"),
    "too big": ({"x[0]": 2**31}, {}, "--dim x[0]: 2147483648 is more than a size of TFLite can be"),
}


@pytest.mark.parametrize(("dims", "whole", "text"), REFUSED.values(), ids=REFUSED.keys())
def test_a_contradiction_is_one_line_and_changes_nothing(
    dims: Mapping[str, int], whole: Mapping[str, Sequence[int]], text: str
) -> None:
    container = read(model(MODEL))
    with pytest.raises(GraphfixError) as refused:
        bind(container, dims, whole)
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not any(tensor.changed for tensor in container.subgraphs[0].tensors)


def test_a_file_without_any_free_size_refuses_other_numbers() -> None:
    with pytest.raises(GraphfixError, match=r"--shape x: 4 contradicts the input's \[2, 3\]"):
        bind(read(model("y[2,3] = NEG(x[2,3])")), {}, {"x": [4, 3]})


def test_an_input_of_unknown_rank_takes_the_shape_that_is_given() -> None:
    container = bound("y[*] = NEG(x[*])", {}, x=[2, 3])
    assert shapes(container) == {"x": (2, 3), "y": (2, 3)}


def test_a_scalar_of_an_old_converter_is_bound_by_an_empty_shape() -> None:
    """Without has_rank it is an input of unknown rank, and its shape was the stored one already."""
    opened = engine.load(model("y[2,3] = ADD(x[2,3], s[])", has_rank=False))
    assert not opened.graphs[0].inputs[1].shape.ranked
    opened.bind({}, {"s": ()})
    assert opened.changed
    assert [str(value) for value in engine.load(opened.tobytes()).graphs[0].inputs] == ["x[2,3]", "s[]"]


def test_litert_is_believed_before_the_own_inference(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong report of LiteRT is written: nothing here overrules it where the shape follows from sizes alone."""

    def lying(_: object, inputs: Mapping[int, Sequence[int]], __: object) -> evaluation.RunShapes:
        reported = (tuple(inputs.get(at, (9, 9)) for at in range(2)),)
        return evaluation.RunShapes(reported)

    monkeypatch.setattr(evaluation, "shapes", lying)
    assert shapes(bound("y[?] = NEG(x[?])", {"x[0]": 4}))["y"] == (9, 9)


def test_where_litert_refuses_the_own_inference_says_it_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> evaluation.RunShapes:
        raise RefusedError("LiteRT aborts the process (SIGABRT)")

    monkeypatch.setattr(evaluation, "shapes", refusing)
    container, notes = read(model("y[?] = NEG(x[?])")), list[str]()
    assert bind(container, {"x[0]": 4}, {}, notes)
    assert shapes(container)["y"] == (4,)
    (note,) = notes
    assert note.endswith("(LiteRT aborts the process (SIGABRT))")


def test_a_custom_operator_leaves_the_own_inference_and_its_result_free() -> None:
    container, notes = read(model("t[?,3] = CUSTOM.Op(x[?,3])\ny[?,3] = NEG(x)")), list[str]()
    assert bind(container, {"x[0]": 4}, {}, notes)
    assert shapes(container) == {"x": (4, 3), "t": (-1, 3), "y": (4, 3)}
    assert len(notes) == 1


def test_a_shape_that_the_data_gives_stays_free() -> None:
    container = bound(
        "c:bool[?] = GREATER(x[?], k:const[]{0.0})\ni:int64[?,1] = WHERE(c)\ng[?] = GATHER_ND(x, i)\ny[?] = NEG(x)",
        {"x[0]": 4},
    )
    assert shapes(container)["y"] == (4,)
    assert shapes(container)["i"] == (-1, 1)
    assert shapes(container)["g"] == (-1,)


def test_sizes_that_are_computed_from_sizes_become_numbers() -> None:
    container = bound(
        "s:int32[2] = SHAPE(x[?,6], out_type=INT32)\n"
        "n:int32[1] = SLICE(s, b:const:int32[1]{0}, o:const:int32[1]{1})\n"
        "t:int32[2] = CONCATENATION(n, m:const:int32[1]{-1}, axis=0)\n"
        "y[?,?] = RESHAPE(x, t)",
        {"x[0]": 4},
    )
    assert shapes(container)["y"] == (4, 6)


def test_bodies_are_updated_where_all_callers_agree() -> None:
    text = (
        "y[?] = IF(c:bool[], x[?], then=yes, else=no)\nsubgraph yes:\nt[?] = NEG(x[?])\nsubgraph no:\nt[?] = ABS(x[?])"
    )
    container = bound(text, {"x[0]": 4})
    assert shapes(container)["y"] == (4,)
    assert [shapes(container, at)["t"] for at in (1, 2)] == [(4,)] * 2
    assert [shapes(container, at)["x"] for at in (1, 2)] == [(4,)] * 2


STATED = {
    "a free size that follows": ("y[?,3] = NEG(x[2,3])", (2, 3)),
    "a stored number stays": ("y[5,?] = NEG(x[2,3])", (5, 3)),
    "a free size that does not follow": ("y[?,?] = NEG(x[?,3])", (-1, 3)),
    "nothing free": ("y[4,5] = NEG(x[2,3])", (4, 5)),
    "another rank": ("y[?] = NEG(x[2,3])", (-1,)),
    "an unknown rank": ("y[?,?] = NEG(x[*])", (-1, -1)),
}


@pytest.mark.parametrize(("text", "stated"), STATED.values(), ids=STATED)
def test_free_sizes_of_results_are_stated_where_numbers_follow(text: str, stated: tuple[int, ...]) -> None:
    container = read(model(text))
    before = shapes(container)
    state_free(container)
    assert shapes(container) == {**before, "y": stated}
    assert container.subgraphs[0].changed is (stated != before["y"])


def test_the_sizes_of_bodies_are_not_stated() -> None:
    container = read(model("y[?] = IF(c:bool[], x[2], then=yes, else=yes)\nsubgraph yes:\nt[?] = NEG(v[?])"))
    state_free(container)
    assert [shapes(container)["y"], shapes(container, 1)] == [(2,), {"v": (-1,), "t": (-1,)}]


INFERRED = {
    "a result of another rank": ("t[?,3] = CUSTOM.Op(x[?,3])\ny[?] = NEG(x)", {"y": (4, 3), "t": (-1, 3)}),
    "a result of an unknown rank": ("t[5,?] = CUSTOM.Op(x[?,3])\ny[?,3] = NEG(x)", {"y": (4, 3), "t": (5, -1)}),
    "a number that is stored and another that follows": (
        "t[?,3] = CUSTOM.Op(x[?,3])\ny[7,3] = NEG(x)",
        {"y": (4, 3), "t": (-1, 3)},
    ),
}


@pytest.mark.parametrize(("text", "found"), INFERRED.values(), ids=INFERRED)
def test_where_litert_is_not_asked_what_follows_is_stated_beside_what_is_stored(
    text: str, found: dict[str, tuple[int, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*_: object) -> evaluation.RunShapes:
        raise RefusedError("not today")

    monkeypatch.setattr(evaluation, "shapes", refusing)
    assert shapes(bound(text, {"x[0]": 4})) == {"x": (4, 3), **found}


def test_a_model_that_is_allocated_but_not_run_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "shapes", lambda *_: evaluation.RunShapes(None, "it does not run"))
    container, notes = read(model("y[?] = NEG(x[?])")), list[str]()
    assert bind(container, {"x[0]": 4}, {}, notes)
    assert shapes(container)["y"] == (4,)
    assert notes[0].endswith("(it does not run)")


def test_litert_is_not_asked_where_an_input_stays_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "shapes", lambda *_: pytest.fail("asked"))
    assert shapes(bound("y[?,?] = NEG(x[?,?])", {"x[0]": 4}))["y"] == (4, -1)


def test_the_greatest_size_is_taken() -> None:
    container = read(model("y[?,?] = NEG(x[?,?])"))
    assert bind(container, {"x[0]": 2**31 - 1}, {})
    assert shapes(container)["x"] == (2**31 - 1, -1)


EQUAL = {
    "a number of another input": ({"x[0]": 4}, (("x[0]", "z[0]"),), (4, -1), (4, -1)),
    "through a third": ({"x[0]": 4}, (("x[1]", "z[0]"), ("x[0]", "x[1]")), (4, 4), (4, -1)),
    "nothing that is bound": ({"x[0]": 4}, (("x[1]", "z[0]"),), (4, -1), (-1, -1)),
    "a sum, and a sum of that": ({"x[0]": 4}, (("z[0]", "x[0]+1"), ("z[1]", "z[0]+2")), (4, -1), (5, 7)),
    "a sum of a free size": ({"x[0]": 4}, (("z[0]", "x[0]+x[1]"),), (4, -1), (-1, -1)),
    "a number in the group": ({"x[0]": 4}, (("z[1]", "x[1]", "x[0]"),), (4, 4), (-1, 4)),
}


@pytest.mark.parametrize(("dims", "same", "x", "z"), EQUAL.values(), ids=EQUAL)
def test_what_is_equal_to_a_bound_size_is_bound(
    dims: Mapping[str, int], same: tuple[tuple[str, ...], ...], x: tuple[int, ...], z: tuple[int, ...]
) -> None:
    container = read(model("y[?,?] = NEG(x[?,?])\nw[?,?] = NEG(z[?,?])"))
    bind(container, dims, {}, same=same)
    found = shapes(container)
    assert (found["x"], found["z"]) == (x, z)


UNEQUAL = {
    "no axis": ("x[0]", "q", "--same q: no axis of an input, such as ids[0]; inputs: x, z"),
    "no input": ("x[0]", "q[0]", "--same q[0]: no axis of an input, such as ids[0]; inputs: x, z"),
    "no such axis": ("x[0]", "z[1]", "--same z[1]: 'z' has 1 axes, the first is z[0]"),
    "an unknown rank": ("x[0]", "z[0]", "--same z[0]: the rank of 'z' is not known; give its --shape too"),
}


@pytest.mark.parametrize(("one", "other", "words"), UNEQUAL.values(), ids=UNEQUAL)
def test_what_is_no_axis_is_refused_among_equal_sizes(one: str, other: str, words: str) -> None:
    rank = "*" if "rank" in words else "?"
    container = read(model(f"y[?] = NEG(x[?])\nw[{rank}] = NEG(z[{rank}])"))
    with pytest.raises(GraphfixError) as refused:
        bind(container, {}, {}, same=((one, other),))
    assert words in str(refused.value)


def test_equal_sizes_have_the_label_of_the_first_and_the_range_that_all_leave() -> None:
    container = read(model("y[?,3] = NEG(x[?,3])\nw[?,?] = NEG(z[?,?])"))
    ranges = {"x[0]": symbol("a", 2, 9), "z[1]": symbol("b", 4, 64)}
    equal, met, sums = equal_labels(container, (("x[0]", "z[1]"),), ranges)
    assert equal == {"x[0]": "x[0]", "z[1]": "x[0]"}
    assert set(met) == {"x[0]", "z[1]"}
    assert {(size.lo, size.hi) for size in met.values() if not isinstance(size, int)} == {(4, 9)}
    assert sums == {}
    equal, met, sums = equal_labels(container, (("x[0]", "z[0]+z[1]+2"),), {})
    assert (equal, met, sums) == ({}, {}, {"x[0]": Sum(("z[0]", "z[1]"), 2)})
    assert equal_labels(container, (("x[1]", "z[1]"),), {}) == ({}, {}, {})


DETERMINED = {
    "element-wise": ("y[?] = NEG(x[?])", True),
    "a constant target": ("y[?,2] = RESHAPE(x[?], s:const:int32[2]{-1,2})", True),
    "a target from SHAPE": ("s:int32[1] = SHAPE(x[?], out_type=INT32)\ny[?] = FILL(s, v:const[])", True),
    "a target from RANK": ("s:int32[] = RANK(x[?])\ny[?] = RANGE(a:const:int32[]{0}, s, b:const:int32[]{1})", True),
    "a target that is an input": ("y[?] = FILL(s:int32[1], v:const[])", False),
    "a target from an input": ("t:int32[1] = NEG(s:int32[1])\ny[?] = FILL(t, v:const[])", False),
    "a target from a variable": ("t:int32[1] = NEG(s:variable:int32[1])\ny[?] = FILL(t, v:const[])", False),
    "where": ("y:int64[?,1] = WHERE(c:bool[?])", False),
    "behind where": ("i:int64[?,1] = WHERE(c:bool[?])\ny:int64[?,1] = NEG(i)", False),
    "the shape of what the data gives": (
        "i:int64[?,1] = WHERE(c:bool[?])\ns:int32[2] = SHAPE(i, out_type=INT32)\ny[?,?] = FILL(s, v:const[])",
        False,
    ),
    "a custom operator": ("y[?] = CUSTOM.Op(x[?])", False),
    "begin of a slice": ("y[?] = SLICE(x[?], b:int32[1], s:const:int32[1]{-1})", False),
    "paddings": ("y[?] = PAD(x[?], p:int32[1,2])", False),
    "axes of a mean": ("y[?] = MEAN(x[?,2], a:int32[1])", False),
    "random numbers of a known shape": ("y[3] = RANDOM_UNIFORM(s:const:int32[1]{3})", True),
    "a target of random numbers": (
        "r[1] = RANDOM_UNIFORM(s:const:int32[1]{1})\nt:int32[1] = CAST(r)\ny[?] = FILL(t, v:const[])",
        False,
    ),
    "a branch": ("y[?] = IF(c:bool[], x[?], then=yes, else=yes)\nsubgraph yes:\nt[?] = NEG(x[?])", False),
}


@pytest.mark.parametrize(("text", "expected"), DETERMINED.values(), ids=DETERMINED.keys())
def test_a_shape_is_determined_where_no_data_reaches_it(text: str, expected: bool) -> None:
    container = read(model(text))
    y = unique_names(container.subgraphs[0]).index("y")
    assert (y in determined(container)) is expected


@pytest.mark.parametrize("path", quick_in_ci(zoo_models("tflite")))
def test_real_models_become_static_and_have_what_litert_gives(path: Path, tmp_path: Path) -> None:
    container = read(path)
    labels = free(container)
    if not labels:
        assert not bind(container, {}, {})
        return
    notes: list[str] = []
    assert bind(container, dict.fromkeys(labels, 2), {}, notes)
    assert not notes
    out = tmp_path / "bound.tflite"
    container.save(out, changed=True)
    again = read(out)
    tensors = again.subgraphs[0].tensors
    assert not any(-1 in declared(tensor) for tensor in tensors)
    (real,) = run(out, [{}])
    assert not isinstance(real, str), real
    produced = {tensor for operator in again.subgraphs[0].operators for tensor in operator.outputs}
    assert all(tuple(real[tensor] or ()) == tensors[tensor].shape for tensor in produced)
