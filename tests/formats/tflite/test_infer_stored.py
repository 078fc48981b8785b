"""What a stored shape counts for beside a computed one, and which elements are followed by their types."""

from __future__ import annotations

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.infer.analysis import Facts, analyse
from graphfix.formats.tflite.infer.names import free, named_inputs, unique_names
from graphfix.shapes.dim import Size, symbol
from models.builders.tflite.text import Signature, model


def facts_of(text: str, ranges: dict[str, Size] | None = None, *, own_only: bool = False) -> tuple[list[str], Facts]:
    container = read(model(text))
    return unique_names(container.subgraphs[0]), analyse(container, ranges or {}, own_only=own_only)[0]


def shape(text: str, name: str = "y", *, own_only: bool = False) -> str:
    names, facts = facts_of(text, own_only=own_only)
    return str(facts.shapes[names.index(name)])


# text -> the shape of y, and of y where no stored shape of a result is believed
STORED = {
    "nothing follows": ("y[2,3] = CUSTOM.Op(x[?])", "[2, 3]", "[*]"),
    "a size does not follow": ("y[4,2] = WHERE(x:bool[?,2])", "[4, 2]", "[?, 2]"),
    "a stored size is free": ("y[?,2] = WHERE(x:bool[?,2])", "[?, 2]", "[?, 2]"),
    "a size that follows": ("y[?,?] = ABS(x[2,3])", "[2, 3]", "[2, 3]"),
    "a name that follows": ("y[4,3] = ABS(x[?,3])", "[?, 3]", "[?, 3]"),
    "another size": ("y[2,4] = ABS(x[2,3])", "[2, 3]", "[2, 3]"),
    "another rank": ("y[2,3,1] = ABS(x[2,3])", "[2, 3]", "[2, 3]"),
    "no rank is stored": ("y[*] = ABS(x[2,3])", "[2, 3]", "[2, 3]"),
    "by definition": ("y[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[3], broadcast_dimensions=[1])", "[2, 3]", "[2, 3]"),
    "behind one that is believed, the same": ("a[2,3] = CUSTOM.Op(x[?])\ny[2,3] = ABS(a)", "[2, 3]", "[*]"),
    "behind one that is believed, another": ("a[2,3] = CUSTOM.Op(x[?])\ny[2,4] = ABS(a)", "[*]", "[*]"),
    "behind one that is believed, through others": (
        "a[2,3] = CUSTOM.Op(x[?])\nb[2,3] = ABS(a)\nc[2,3] = NEG(b)\ny[2,4] = ABS(c)",
        "[*]",
        "[*]",
    ),
    "of an operand without a rank": ("y[2,3] = ABS(x[*])", "[*]", "[*]"),
    "of a custom operator on one": ("y[2,3] = CUSTOM.Op(x[*])", "[*]", "[*]"),
}


@pytest.mark.parametrize("name", STORED)
def test_a_stored_shape_counts_where_nothing_follows(name: str) -> None:
    text, believed, own = STORED[name]
    assert (shape(text), shape(text, own_only=True)) == (believed, own)


# text -> why y's stored shape is misstated, and whether it is stale; ranges of x
MISSTATED = {
    "another number": ("y[2,4] = ABS(x[2,3])", "the stored shape [2, 4] of 'y' contradicts the computed [2, 3]", True),
    "another rank": ("y[3] = ABS(x[2,3])", "the stored shape [3] of 'y' contradicts the computed [2, 3]", True),
    "a number for a free size": (
        "y[4,3] = ABS(x[?,3])",
        "the stored shape [4, 3] of 'y' is that of some sizes of the inputs alone: the computed one is [?, 3]",
        False,
    ),
    "free sizes": ("y[?,?] = ABS(x[?,3])", None, False),
    "the same": ("y[2,3] = ABS(x[2,3])", None, False),
    "nothing": ("y[*] = ABS(x[2,3])", None, False),
    "a number for what may not follow from an input": ("y[4,2] = WHERE(x:bool[?,2])", None, False),
}


@pytest.mark.parametrize("name", MISSTATED)
def test_a_stored_shape_that_is_not_the_computed_one_is_named(name: str) -> None:
    text, why, stale = MISSTATED[name]
    names, facts = facts_of(text)
    at = names.index("y")
    assert facts.misstated.get(at) == why
    assert (at in facts.stale) is stale


@pytest.mark.parametrize(
    ("stored", "stale"), [(1, True), (2, False), (9, False), (10, True)], ids=["below", "least", "most", "above"]
)
def test_a_stored_number_outside_of_a_range_contradicts_it(stored: int, stale: bool) -> None:
    names, facts = facts_of(f"y[{stored},3] = ABS(x[?,3])", {"x[0]": symbol("n", 2, 9)})
    assert (names.index("y") in facts.stale) is stale


def test_what_is_believed_and_what_follows_from_it_is_leaned_on() -> None:
    names, facts = facts_of("a[2,3] = CUSTOM.Op(x[?])\nb[2,3] = ABS(a)\nc[?] = ABS(x)\nd[2,3] = NEG(b)")
    assert [names[at] for at in facts.leaning] == ["a", "b", "d"]
    assert facts.assumes == ["the stored shape of 'a', a result of Op"]
    assert not facts_of("c[?] = ABS(x[?])")[1].leaning


def test_a_stored_number_for_a_size_that_does_not_follow_is_leaned_on() -> None:
    names, facts = facts_of("y[4,2] = WHERE(x:bool[?,2])\nz[4,2] = NEG(y)")
    assert [names[at] for at in facts.leaning] == ["y", "z"]
    assert facts.assumes == ["the stored shape of 'y', a result of WHERE"]


def test_another_subgraph_is_named_where_its_shapes_are_believed() -> None:
    container = read(model("y[2] = ABS(x[2])\nsubgraph other(v[2]):\nw[3] = CUSTOM.Op(v)"))
    assert analyse(container, {})[1].assumes == ["the stored shape of 'w', a result of Op in subgraph 1"]


# text -> the elements of y
FOLLOWED = {
    "int32": ("y:int32[1] = ADD(k:const:int32[1]{2147483647}, l:const:int32[1]{0})", (2147483647,)),
    "int32 that wraps": ("y:int32[1] = ADD(k:const:int32[1]{2147483647}, l:const:int32[1]{1})", "unknown"),
    "the least int32": ("y:int32[1] = ADD(k:const:int32[1]{-2147483647}, l:const:int32[1]{-1})", (-2147483648,)),
    "less than an int32": ("y:int32[1] = ADD(k:const:int32[1]{-2147483648}, l:const:int32[1]{-1})", "unknown"),
    "int64": ("y:int64[1] = ADD(k:const:int64[1]{2147483647}, l:const:int64[1]{1})", (2147483648,)),
    "a float on its way": (
        (
            "f[] = CAST(k:const:int32[]{16777215}, in_data_type=INT32, out_data_type=FLOAT32)\n"
            "y:int32[] = CAST(f, in_data_type=FLOAT32, out_data_type=INT32)"
        ),
        (16777215,),
    ),
    "a float that is rounded": (
        (
            "f[] = CAST(k:const:int32[]{16777216}, in_data_type=INT32, out_data_type=FLOAT32)\n"
            "y:int32[] = CAST(f, in_data_type=FLOAT32, out_data_type=INT32)"
        ),
        "unknown",
    ),
    "a whole float": ("y:int32[] = CAST(f:const[]{7.0}, in_data_type=FLOAT32, out_data_type=INT32)", (7,)),
    "a float that is not whole": (
        "y:int32[] = CAST(f:const[]{7.5}, in_data_type=FLOAT32, out_data_type=INT32)",
        "unknown",
    ),
    "a large float": ("y:int32[] = CAST(f:const[]{16777216.0}, in_data_type=FLOAT32, out_data_type=INT32)", "unknown"),
    "a vector of floats": ("y:int32[1] = CAST(f:const[1]{7.0}, in_data_type=FLOAT32, out_data_type=INT32)", None),
    "an int16": ("y:int32[1] = CAST(f:const:int16[1]{7}, in_data_type=INT16, out_data_type=INT32)", None),
    "an input of two axes": ("y:int32[4] = RESHAPE(k:int32[2,2], s:const:int32[1]{4})", None),
    "64 elements": ("y:int32[64] = ADD(k:const:int32[64], l:const:int32[]{0})", "64"),
    "65 elements": ("y:int32[65] = ADD(k:const:int32[65], l:const:int32[]{0})", None),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_elements_are_followed_as_far_as_their_type_holds_them(name: str) -> None:
    text, expected = FOLLOWED[name]
    names, facts = facts_of(text)
    found = facts.contents.get(names.index("y"))
    if expected == "unknown":
        assert found is not None
        assert not any(isinstance(element, int) for element in found)
    elif expected == "64":
        assert found is not None
        assert len(found) == 64
    else:
        assert found == expected


def test_an_input_has_every_name_that_callers_have_for_it() -> None:
    signatures = {
        "serve": Signature("main", {"in": "x"}, {"out": "y"}),
        "again": Signature("main", {"x": "z", "second": "z"}, {"out": "y"}),
        "other": Signature("other", {"v": "v"}, {"w": "w"}),
    }
    text = "y[?] = ADD(x[?], z[?])\nsubgraph other(v[?]):\nw[?] = ABS(v)"
    container = read(model(text, signatures=signatures))
    tensors = container.subgraphs[0].tensors
    found = {name: tensors[at].name for name, at in named_inputs(container).items()}
    assert found == {"x": "x", "z": "z", "in": "x", "second": "z"}
    assert free(container) == ["x[0]", "z[0]"]


def test_names_are_unique_whatever_the_file_calls_its_tensors() -> None:
    container = read(model("a[2] = ABS(x[2])\nb[2] = NEG(a)\nc[2] = ABS(b)"))
    graph = container.subgraphs[0]
    for tensor, name in zip(graph.tensors, ["same", "same", "", "t2"], strict=True):
        tensor.name = name
    assert unique_names(graph) == ["t0", "t1", "t2_", "t2"]


BODY = """y[{0}] = IF(c:bool[], x[{0}], then=yes, else=no)
subgraph yes(v[{1}]):
t[{1}] = NEG(v)
subgraph no(v[{1}]):
t[{1}] = ABS(v)"""
RECEIVED = {
    "the same": ("5", "5", None),
    "free": ("5", "?", None),
    "another": ("5", "7", "the stored shape [7] of 'v' contradicts the computed [5]"),
    "another rank": ("5", "5,1", "the stored shape [5, 1] of 'v' contradicts the computed [5]"),
    "none": ("5", "*", None),
}


@pytest.mark.parametrize("name", RECEIVED)
def test_a_body_that_declares_another_shape_than_it_is_given_is_named(name: str) -> None:
    outer, inner, why = RECEIVED[name]
    container = read(model(BODY.format(outer, inner)))
    facts = analyse(container, {})[1]
    assert facts.misstated.get(unique_names(container.subgraphs[1]).index("v")) == why
