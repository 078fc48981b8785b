"""The sizes that runs choose for free dims, and the relations between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.files.pair import Pair
from graphfix.checker.runs.inputs.interface import Dim, Interface, TensorSpec
from graphfix.checker.runs.sizes.free_sizes import Free, alternatives, free_dims, likely, principal
from graphfix.checker.runs.sizes.related_sizes import Relations, related

FLOAT = np.dtype(np.float32)


def spec(name: str, *dims: Dim) -> TensorSpec:
    return TensorSpec(name, "tensor", FLOAT, dims)


def interface(**inputs: Sequence[Dim] | None) -> Interface:
    specs = tuple(
        TensorSpec(name, "tensor", FLOAT, None if dims is None else tuple(dims)) for name, dims in inputs.items()
    )
    return Interface(specs, (), (), specs)


def free_of(*dims: Dim, **changes: object) -> Free:
    labels = tuple(dict.fromkeys(dim for dim in dims if isinstance(dim, str)))
    free = Free(labels, frozenset(dims[:1]) & frozenset(labels), {}, (spec("x", *dims),))  # type: ignore[arg-type]
    return replace(free, **changes)  # type: ignore[arg-type]


def pair(**changes: object) -> Pair:
    return replace(Pair(Path("a.onnx"), Path("b.onnx"), tflite=False), **changes)  # type: ignore[arg-type]


X = ("N", 4, "M")


@pytest.mark.parametrize(
    ("before", "after", "changes", "expected"),
    [
        pytest.param({"x": X}, {"x": X}, {}, (("N", "M"), {"N"}, {}), id="free"),
        pytest.param({"x": X}, {"x": X}, {"bindings": {"N": 2}}, (("M",), {"N"}, {"N": 2}), id="bound"),
        pytest.param({"x": X}, {"x": (3, 4, "M")}, {}, (("M",), {"N"}, {"N": 3}), id="a number in the second"),
        pytest.param({"x": X}, {"x": ("B", 4, "M")}, {"bindings": {"B": 5}}, (("M",), {"N"}, {"N": 5}), id="its name"),
        pytest.param({"x": X}, {"x": X}, {"shapes": {"x": (2, 4, 6)}}, ((), {"N"}, {"N": 2, "M": 6}), id="a shape"),
        pytest.param({"x": X, "y": ("M", "N")}, {"x": X, "y": ("M", "N")}, {}, (("N", "M"), {"N", "M"}, {}), id="two"),
        pytest.param({"x": X}, {"x": None}, {"bindings": {"M": 7}}, (("N",), {"N"}, {"M": 7}), id="no rank after"),
        pytest.param({"x": X}, {"x": (3, 4, 5)}, {"bindings": {"N": 2}}, "'N' should be 2 and 3", id="two sizes"),
        pytest.param({"x": X}, {"x": ("N", 5, "M")}, {}, "a dim of 4 should be 5", id="two numbers") ,
        pytest.param(
            {"u": None, "x": X}, {"u": None, "x": X}, {"shapes": {"x": (2, 4, 6)}}, ((), {"N"}, {"N": 2, "M": 6}),
            id="no rank",
        ),
    ],
)  # fmt: skip
def test_free_dims_are_those_that_nobody_gives(
    before: Mapping[str, Sequence[Dim] | None],
    after: Mapping[str, Sequence[Dim] | None],
    changes: Mapping[str, object],
    expected: tuple[tuple[str, ...], set[str], dict[str, int]] | str,
) -> None:
    found = free_dims(interface(**before), interface(**after), pair(**changes))
    if isinstance(expected, str):
        assert isinstance(found, str)
        assert found.endswith(expected)
    else:
        assert isinstance(found, Free)
        assert (found.labels, found.leading, found.given) == expected


@pytest.mark.parametrize("shapes", [{"x": (2, 4)}, {"x": (2, 4, 3, 1)}, {"z": (2,)}])
def test_a_shape_that_no_input_has_is_refused(shapes: Mapping[str, Sequence[int]]) -> None:
    with pytest.raises(BindingError, match=next(iter(shapes))):
        free_dims(interface(x=X), interface(x=X), pair(shapes=shapes))


@pytest.mark.parametrize(
    ("dims", "name", "said"),
    [
        (X, "K", "--dim K: no input has a dim of that name; free: M, N"),
        (("x[0]", "N"), "K", "no input has a dim of that name; free: N"),
        (("x[0]", 3), "K", "no input has a dim of that name; free: x\\[0\\]"),
        ((3,), "K", "no input has a dim of that name; free: none"),
    ],
)
def test_a_dim_that_no_input_has_is_refused_with_those_that_there_are(
    dims: Sequence[Dim], name: str, said: str
) -> None:
    with pytest.raises(BindingError, match=said):
        free_dims(interface(x=dims), interface(x=dims), pair(bindings={name: 2}))


def test_a_constant_input_gives_its_sizes() -> None:
    before = interface(x=("N", "M"))
    unranked = replace(spec("u"), dims=None), np.zeros((7, 7), np.float32)
    before = replace(before, constant=(unranked, (spec("c", "M", "K"), np.zeros((6, 2), np.float32))))
    found = free_dims(before, interface(x=("N", "M")), pair())
    assert isinstance(found, Free)
    assert (found.labels, found.given) == (("N",), {"M": 6, "K": 2})


@pytest.mark.parametrize(
    ("changes", "labels", "leading", "given"),
    [
        ({"same": [("N", "y[0]")]}, ("N", "M"), {"N"}, {}),
        ({"same": [("M", "N")]}, ("M", "y[0]"), {"M", "y[0]"}, {}),
        ({"same": [("M", "4")], "bindings": {"M": 4}}, None, set(), {}),
        ({"same": [("N", "x[1]")]}, ("M", "y[0]"), {"N", "y[0]"}, {"N": 4}),
        ({"same": [("y[0]", "N+M")]}, ("N", "M"), {"N", "y[0]"}, {}),
        ({"same": [("N", "M")], "bindings": {"M": 6}}, ("y[0]",), {"N", "y[0]"}, {"N": 6}),
    ],
)
def test_sizes_that_are_stated_to_be_equal_have_one_label(
    changes: Mapping[str, object], labels: tuple[str, ...] | None, leading: set[str], given: dict[str, int]
) -> None:
    model = interface(x=X, y=("y[0]",))
    if labels is None:
        with pytest.raises(BindingError, match="neither a symbol"):
            free_dims(model, model, pair(**changes))
        return
    found = free_dims(model, model, pair(**changes))
    assert isinstance(found, Free)
    assert (found.labels, found.leading, found.given) == (labels, leading, given)


def test_ranges_hold_for_the_label_that_stands_for_others() -> None:
    model = interface(x=("N", "M"))
    found = free_dims(model, model, pair(same=[("N", "M")], ranges={"M": (7, 9)}))
    assert isinstance(found, Free)
    assert [sizes for _, sizes in principal(found, 3)] == [{"N": size, "M": size} for size in (7, 7, 7)]
    total = free_dims(model, model, pair(same=[("M", "N+2")]))
    assert isinstance(total, Free)
    assert principal(total, 2) == [("distinct", {"N": 3, "M": 5}), ("1", {"N": 1, "M": 3})]
    fault = free_dims(model, interface(x=("N", 6)), pair(same=[("M", "N+2")]))
    assert fault == "no size fits: 'M' is stated to be a sum, and is 6: give what it is the sum of"


def test_another_name_of_an_input_names_its_axes_too() -> None:
    model = interface(x=("N", "M"))
    model = replace(model, inputs=(replace(model.inputs[0], alias="image"),))
    found = free_dims(model, model, pair(same=[("image[0]", "x[1]")]))
    assert isinstance(found, Free)
    assert found.labels == ("N",)


def test_the_principal_sets_are_distinct_sizes_then_1_2_0_and_more_distinct_ones() -> None:
    expected = [
        ("distinct", {"N": 3, "M": 5}), ("1", {"N": 1, "M": 1}), ("2", {"N": 2, "M": 2}), ("0", {"N": 0, "M": 0}),
        ("distinct", {"N": 5, "M": 7}), ("distinct", {"N": 7, "M": 11}),
    ]  # fmt: skip
    for runs in (1, 2, 4, 5, 6):
        assert principal(free_of("N", 4, "M"), runs) == expected[:runs]
    assert [len(principal(free_of("N"), runs)) for runs in (4, 5, 9, 30)] == [4, 5, 9, 30]
    assert principal(free_of(4, 4), 2) == [("given", {})] * 2


def test_every_set_but_that_of_ones_contains_one_of_the_cases_in_turn() -> None:
    free = free_of("N", "M", "K", cases=({"N": 1}, {"M": 9}))
    assert principal(free, 4) == [
        ("distinct", {"N": 1, "M": 5, "K": 7}), ("1", {"N": 1, "M": 1, "K": 1}), ("2", {"N": 2, "M": 9, "K": 2}),
        ("0", {"N": 1, "M": 5, "K": 7}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, {"N": 3, "M": 5}),
        ({"given": {"M": 8}}, {"N": 3, "M": 8}),
        ({"ranges": {"N": (4, 9), "M": (1, 2)}}, {"N": 4, "M": 2}),
        ({"ranges": {"N": (3, 3), "M": (5, 5)}}, {"N": 3, "M": 5}),
        ({"equal": {"K": "N"}}, {"N": 3, "M": 5, "K": 3}),
        ({"sums": {"K": ("N", 2, "M")}}, {"N": 3, "M": 5, "K": 10}),
        ({"sums": {"K": ("N", "L")}}, {"N": 3, "M": 5}),
        ({"sums": {"K": ("N", 1)}, "equal": {"L": "K"}}, {"N": 3, "M": 5, "K": 4, "L": 4}),
    ],
)
def test_the_sizes_of_all_labels_follow(changes: Mapping[str, object], expected: Mapping[str, int]) -> None:
    assert free_of("N", "M", **changes).complete({"N": 3, "M": 5}) == expected


def test_a_label_that_reads_as_a_sum_is_one_unless_it_is_given() -> None:
    sizes = {"N": 3, "N + 1": 7, "1+N + N": 7, "N + K": 7, "2": 7}
    assert free_of(*sizes).complete(sizes) == {"N": 3, "N + 1": 4, "1+N + N": 7, "N + K": 7, "2": 7}
    assert free_of(" 2").complete({" 2": 7}) == {" 2": 7}
    assert free_of("N", given={"N + 1": 9}).complete({"N": 3}) == {"N": 3, "N + 1": 9}


def test_inputs_are_small_enough_to_be_made() -> None:
    assert free_of("N", 4096).fits({"N": 4096})
    assert not free_of("N", 4096).fits({"N": 4097})
    two = free_of("N", specs=(spec("x", "N", 4096), spec("y", "N", 4097), spec("z", "N")))
    assert (two.fits({"N": 4095}), two.fits({"N": 4096})) == (True, False)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "2",
            [
                {"N": 2, "M": 10, "K": 12}, {"N": 2, "M": 5, "K": 6}, {"N": 3, "M": 2, "K": 6},
                {"N": 3, "M": 5, "K": 2},
            ],
        ),
        ("1", [{"N": 1, "M": 5, "K": 6}, {"N": 3, "M": 1, "K": 6}, {"N": 3, "M": 5, "K": 1}]),
        ("0", [{"N": 0, "M": 5, "K": 6}, {"N": 3, "M": 0, "K": 6}, {"N": 3, "M": 5, "K": 0}]),
        ("distinct", []),
        (
            "larger",
            [
                {"N": 2, "M": 37, "K": 67}, {"N": 3, "M": 37, "K": 67}, {"N": 3, "M": 64, "K": 64},
                {"N": 3, "M": 64, "K": 6}, {"N": 3, "M": 5, "K": 64},
            ],
        ),
    ],
)  # fmt: skip
def test_sizes_that_a_model_takes_are_changed_a_little(kind: str, expected: list[dict[str, int]]) -> None:
    assert list(alternatives(free_of("N", "M", "K"), kind, {"N": 3, "M": 5, "K": 6})) == expected


def test_labels_of_the_size_of_a_batch_change_with_it() -> None:
    found = list(alternatives(free_of("N", "M", "K"), "2", {"N": 3, "M": 3, "K": 5}))
    assert found[:2] == [{"N": 2, "M": 2, "K": 10}, {"N": 2, "M": 2, "K": 5}]
    unled = free_of(1, "M", "K")
    assert list(alternatives(unled, "2", {"M": 3, "K": 5})) == [{"M": 2, "K": 5}, {"M": 3, "K": 2}]


@pytest.mark.parametrize(
    ("base", "expected"),
    [
        ({"N": 3, "M": 1, "K": 37, "L": 37}, []),
        (
            {"N": 3, "M": 1, "K": 37, "L": 36},
            [(2, 1, 37, 67), (3, 1, 37, 67), (3, 1, 64, 64), (3, 1, 64, 36), (3, 1, 37, 64)],
        ),
        ({"N": 3, "M": 2, "K": 5, "L": 5}, [(3, 2, 64, 5), (3, 2, 5, 64)]),
    ],
)
def test_larger_sizes_have_few_elements_and_none_are_tried_where_the_last_are_large(
    base: dict[str, int], expected: list[tuple[int, ...]]
) -> None:
    found = list(alternatives(free_of("N", "M", "K", "L"), "larger", base))
    assert [tuple(sizes.values()) for sizes in found] == expected


def test_an_input_of_one_axis_has_no_batch_size() -> None:
    """All its elements are one row: `x[N]` becomes larger, `x[N,M]` along M alone."""
    assert next(iter(alternatives(free_of("N"), "larger", {"N": 3}))) == {"N": 37}
    assert list(alternatives(free_of("N", "M"), "larger", {"N": 3, "M": 5}))[:2] == [
        {"N": 2, "M": 37}, {"N": 3, "M": 37},
    ]  # fmt: skip
    unranked = free_of("N", "M", specs=(spec("x", "N", "M"), TensorSpec("u", "tensor", FLOAT, None)))
    assert next(iter(alternatives(unranked, "larger", {"N": 3, "M": 5}))) == {"N": 2, "M": 37}


def test_sizes_beyond_what_can_be_made_are_passed_over() -> None:
    free = free_of("N", 1 << 18)
    assert {sizes["N"] for sizes in alternatives(free, "distinct", None)} <= set(range(65))
    assert {sizes["N"] for sizes in likely(free)} == {3, 64}


def test_nothing_else_is_tried_of_a_model_without_free_sizes() -> None:
    assert list(alternatives(free_of(4, given={"N": 3}), "distinct", None)) == []


def test_likely_sizes_are_3_but_for_some_labels() -> None:
    found = list(likely(free_of("N", "M", "K")))
    assert found[0] == {"N": 3, "M": 3, "K": 3}
    expected = [
        {"N": 3, "M": 64, "K": 64}, {"N": 64, "M": 3, "K": 3}, {"N": 3, "M": 64, "K": 3}, {"N": 3, "M": 3, "K": 64},
        {"N": 64, "M": 64, "K": 64}, {"N": 3, "M": 224, "K": 224},
    ]  # fmt: skip
    assert found[1:7] == expected
    assert len({tuple(sizes.values()) for sizes in found}) == len(found)
    assert list(likely(free_of("N")))[:2] == [{"N": 3}, {"N": 64}]


def test_the_long_search_tries_pictures_and_sequences_without_one_set_twice() -> None:
    found = list(alternatives(free_of("N", "M", "K"), "distinct", None))
    assert found[:5] == [
        {"N": 3, "M": 64, "K": 96}, {"N": 3, "M": 64, "K": 64}, {"N": 1, "M": 64, "K": 96}, {"N": 1, "M": 64, "K": 64},
        {"N": 64, "M": 5, "K": 7},
    ]  # fmt: skip
    sets = {tuple(sizes.values()) for sizes in found}
    assert len(sets) == len(found) <= 96
    assert {(3, 3, 3), (3, 224, 224), (1, 224, 256), (224, 224, 224), (224, 256, 288), (0, 3, 3), (3, 3, 0)} <= sets
    alone = [sizes["N"] for sizes in alternatives(free_of("N"), "distinct", None)]
    assert alone == [64, 3, 32, 224, 512, 0, 320, 576, 160, 48, 128, 256, 96, 16]
    both = [tuple(sizes.values()) for sizes in alternatives(free_of("N", "M"), "distinct", None)]
    assert both == [
        (3, 64), (1, 64), (64, 5), (64, 3), (64, 1), (64, 96), (64, 64), (3, 3),
        *(
            (one, other)
            for size in (32, 224, 512)
            for one, other in (
                (3, size), (1, size), (size, 5), (size, 3), (size, 1), (size, size + 32), (size, size)
            )
        ),
        (0, 3), (3, 0),
        *((batch, size) for size in (320, 576, 160, 48, 128, 256, 96, 16) for batch in (3, 1)),
    ]  # fmt: skip


FREE = free_of("N", "P", "T", "B", given={"G": 6})


@pytest.mark.parametrize(
    ("relations", "labels", "expected"),
    [
        pytest.param(Relations(), "NPTB", {}, id="none"),
        pytest.param(Relations(numbers={"P": 4}), "NTB", {"P": 4}, id="a number"),
        pytest.param(Relations(numbers={"G": 4, "Z": 2}), "NPTB", {"G": 6}, id="a number of what is given"),
        pytest.param(Relations(equal=[("N", "P")]), "NTB", {"N": 3, "P": 3}, id="equal"),
        pytest.param(Relations(equal=[("N", "P"), ("P", "T")]), "NB", {"P": 3, "T": 3}, id="equal in turn"),
        pytest.param(Relations(equal=[("T", "P"), ("N", "T")]), "NB", {"P": 3, "T": 3}, id="equal in turn, backwards"),
        pytest.param(
            Relations(equal=[("T", "P"), ("N", "T"), ("B", "N")]), "B", {"P": 3, "T": 3, "N": 3}, id="four in turn"
        ),
        pytest.param(
            Relations(equal=[("N", "P")], numbers={"N": 2}, sums={"G": ("P", "T")}),
            "B",
            {"P": 2, "T": 4},
            id="a given sum of equals",
        ),
        pytest.param(Relations(equal=[("T", "P")], sums={"T": ("P", 1)}), "NTB", {}, id="a sum of its equal"),
        pytest.param(Relations(equal=[("N", "P"), ("P", "N")]), "NTB", {"P": 3}, id="equal twice"),
        pytest.param(Relations(equal=[("N", "G")]), "PTB", {"N": 6}, id="equal to what is given"),
        pytest.param(Relations(equal=[("G", "N")]), "PTB", {"N": 6}, id="what is given first"),
        pytest.param(Relations(equal=[("N", "Z"), ("Z", "P")]), "NPTB", {"N": 3, "P": 5}, id="equal to nothing"),
        pytest.param(Relations(equal=[("N", "P")], numbers={"P": 4}), "TB", {"N": 4, "P": 4}, id="equal to a number"),
        pytest.param(Relations(sums={"T": ("N", "P", 1)}), "NPB", {"T": 9}, id="a sum"),
        pytest.param(Relations(equal=[("N", "P")], sums={"T": ("N", "P")}), "NB", {"T": 6}, id="a sum of equals"),
        pytest.param(Relations(equal=[("T", "P")], sums={"P": ("N", 1)}), "NB", {"T": 4, "P": 4}, id="a sum by name"),
        pytest.param(Relations(sums={"T": ("N", "T")}), "NPTB", {}, id="a sum of itself"),
        pytest.param(Relations(sums={"Z": ("N", "P")}), "NPTB", {}, id="a sum of no input"),
        pytest.param(Relations(sums={"G": ("N", "P")}), "TB", {"N": 5, "P": 1}, id="a given sum"),
        pytest.param(Relations(sums={"G": ("N", "P", "T")}), "B", {"N": 4, "P": 1, "T": 1}, id="of three"),
        pytest.param(Relations(sums={"G": ("N", 2)}), "PTB", {"N": 4}, id="with a number"),
        pytest.param(Relations(sums={"G": ("N", 9)}), "PTB", {"N": 0}, id="with a larger number"),
        pytest.param(Relations(numbers={"N": 2}, sums={"G": ("N", "P")}), "TB", {"N": 2, "P": 4}, id="one known"),
    ],
)
def test_relations_between_sizes_hold_in_every_run(
    relations: Relations, labels: str, expected: Mapping[str, int]
) -> None:
    found = related(FREE, relations)
    assert found.labels == tuple(labels)
    (_, sizes), *_ = principal(found, 1)
    assert {label: sizes[label] for label in expected} == expected


def test_a_label_that_is_equal_to_a_batch_size_is_one() -> None:
    assert related(free_of("N", "M"), Relations(equal=[("M", "N")])).leading >= {"M"}
    assert "N" in related(free_of("N", "M"), Relations(equal=[("N", "M")])).leading
    assert "P" not in related(FREE, Relations(equal=[("P", "T")])).leading


@pytest.mark.parametrize(
    ("cases", "changes", "expected"),
    [
        pytest.param([{"N": 1}, {"P": 0}], {}, [{"N": 1}, {"P": 0}], id="all fit"),
        pytest.param([{"G": 1}, {"P": 0}], {}, [{"P": 0}], id="another size is given"),
        pytest.param([{"G": 1, "N": 1}, {"N": 1, "G": 1}, {"P": 0}], {}, [{"P": 0}], id="a part has another size"),
        pytest.param([{"G": 6}, {"P": 0}], {}, [], id="what is given is a case"),
        pytest.param([{"G": 6, "N": 1}, {"P": 0}], {}, [{"G": 6, "N": 1}, {"P": 0}], id="a part of a case is given"),
        pytest.param([{"N": 1}, {"P": 0}], {"ranges": {"N": (2, 5)}}, [{"P": 0}], id="out of its range"),
        pytest.param([{"N": 1}, {"P": 0}], {"ranges": {"N": (1, 5)}}, [{"N": 1}, {"P": 0}], id="in its range"),
        pytest.param([{"N": 1}, {"P": 0}], {"sums": {"N": ("P", 1)}}, [{"P": 0}], id="a sum"),
        pytest.param([{"K": 1}, {"P": 0}], {"equal": {"K": "N"}}, [{"N": 1}, {"P": 0}], id="another name"),
    ],
)
def test_cases_are_those_that_agree_with_what_is_given(
    cases: list[Mapping[str, int]], changes: Mapping[str, object], expected: list[Mapping[str, int]]
) -> None:
    assert list(related(replace(FREE, **changes), Relations(cases=cases)).cases) == expected  # type: ignore[arg-type]
