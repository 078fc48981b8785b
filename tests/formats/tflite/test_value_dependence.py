"""Which results of a TFLite model follow from constants and sizes, and which shapes from no element of an input."""

from __future__ import annotations

import re

import pytest

from graphfix.formats.tflite.file.container import read
from graphfix.formats.tflite.infer.names import unique_names
from graphfix.formats.tflite.infer.value_dependence import computed, determined
from models.builders.tflite.text import model

SHAPE = "s:int32[2] = SHAPE(x[?,3], out_type=INT32)"
COMPUTED = {
    "a size, and what follows from it": (f"{SHAPE}\ny:int32[2] = NEG(s)", "s y", "s y"),
    "a float that follows from a size": (
        f"{SHAPE}\ny[2] = CAST(s, in_data_type=INT32, out_data_type=FLOAT32)",
        "s y",
        "s y",
    ),
    "whole numbers of constants": ("z[?] = NEG(x[?])\ny:int32[2] = NEG(c:const:int32[2]{1,2})", "y", "y"),
    "floats of constants are no shape arithmetic": ("z[?] = NEG(x[?])\ny[2] = NEG(c:const[2]{1.0,2.0})", "y", ""),
    "what follows from an input": ("y[?,3] = NEG(x[?,3])", "", ""),
    "what follows from an input and a size": (f"{SHAPE}\ny:int32[2] = ADD(s, n:int32[2])", "s", "s"),
    "random numbers": (f"{SHAPE}\ny[?,?] = RANDOM_UNIFORM(s)", "s", "s"),
}


@pytest.mark.parametrize(("text", "elements", "arithmetic"), COMPUTED.values(), ids=COMPUTED)
def test_results_that_follow_from_constants_and_sizes_alone(text: str, elements: str, arithmetic: str) -> None:
    container = read(model(text))
    names = unique_names(container.subgraphs[0])
    found = [" ".join(sorted(names[at] for at in tensors)) for tensors in computed(container)]
    assert found == [elements, arithmetic]


DETERMINED = {
    "an operator whose result has its operand's shape": ("y[?,3] = NEG(x[?,3])", True),
    "a RESHAPE by a constant": ("y[?,6] = RESHAPE(x[?,2,3], s:const:int32[2]{-1,6})", True),
    "a RESHAPE by sizes": (f"{SHAPE}\ny[?,3] = RESHAPE(z[?,3], s)", True),
    "a RESHAPE by an input": ("y[?,?] = RESHAPE(x[?,3], n:int32[2])", False),
    "as many as are true": ("y:int64[?,2] = WHERE(x:bool[?,3])", False),
    "what follows from as many as are true": ("w:int64[?,2] = WHERE(x:bool[?,3])\ny:int64[?,2] = NEG(w)", False),
}


@pytest.mark.parametrize(("text", "known"), DETERMINED.values(), ids=DETERMINED)
def test_a_shape_that_follows_from_no_element_of_an_input(text: str, known: bool) -> None:
    container = read(model(text))
    assert (unique_names(container.subgraphs[0]).index("y") in determined(container)) is known


# text -> the operands (here constants) whose elements the shape of the result follows from
HELD = {
    "RESHAPE(x[?,6], s:const:int32[2]{3,-1})": "s",
    "EXPAND_DIMS(x[?,6], a:const:int32[]{0})": "a",
    "TRANSPOSE(x[?,6], p:const:int32[2]{1,0})": "p",
    "TILE(x[?,6], m:const:int32[2]{1,2})": "m",
    "SPLIT(d:const:int32[]{1}, x[?,6], num_splits=1)": "d",
    "SPLIT_V(x[?,6], s:const:int32[1]{6}, d:const:int32[]{1}, num_splits=1)": "s d",
    "SLICE(x[?,6], b:const:int32[2]{0,1}, s:const:int32[2]{-1,2})": "b s",
    "STRIDED_SLICE(x[?], b:const:int32[1]{0}, e:const:int32[1]{1}, s:const:int32[1]{1})": "b e s",
    "GATHER(x[?,6], i:const:int32[2]{0,1}, axis=1)": "",
    "ONE_HOT(x:int32[?], d:const:int32[]{4}, u:const[]{1.0}, v:const[]{0.0}, axis=-1)": "d",
    "TOPK_V2(x[?,6], k:const:int32[]{2})": "k",
    "RESIZE_BILINEAR(x[?,5,5,2], s:const:int32[2]{8,9})": "s",
    "RESIZE_NEAREST_NEIGHBOR(x[?,5,5,2], s:const:int32[2]{8,9})": "s",
    "PAD(x[?,6], p:const:int32[2,2]{0,0,1,1})": "p",
    "PADV2(x[?,6], p:const:int32[2,2]{0,0,1,1}, v:const[]{1.0})": "p",
    "MIRROR_PAD(x[?,6], p:const:int32[2,2]{0,0,1,1})": "p",
    "SPACE_TO_BATCH_ND(x[?,4,1], k:const:int32[1]{2}, z:const:int32[1,2]{0,0})": "k z",
    "BATCH_TO_SPACE_ND(x[?,4,1], k:const:int32[1]{2}, z:const:int32[1,2]{0,0})": "k z",
    "RFFT2D(x[?,8,8], n:const:int32[2]{8,8})": "n",
    "RANGE(a:const:int32[]{0}, b:const:int32[]{4}, c:const:int32[]{1})": "a b c",
    "FILL(s:const:int32[1]{4}, v:const[]{1.0})": "s",
    "BROADCAST_TO(x[6], s:const:int32[2]{2,6})": "s",
    "BROADCAST_ARGS(a:const:int32[1]{4}, b:const:int32[1]{1})": "",
    "SPARSE_TO_DENSE(i:const:int32[1]{4}, s:const:int32[1]{9}, x[1], v:const[]{1.0})": "s",
    "SCATTER_ND(i:const:int32[1,1]{4}, x[1], s:const:int32[1]{9})": "s",
    "RANDOM_UNIFORM(s:const:int32[1]{9})": "s",
    "RANDOM_STANDARD_NORMAL(s:const:int32[1]{9})": "s",
    "TRANSPOSE_CONV(s:const:int32[4]{1,5,5,2}, w:const[2,3,3,2], x[1,5,5,2], stride_h=1, stride_w=1)": "s",
    "CONV_3D_TRANSPOSE(s:const:int32[5]{1,5,5,5,2}, w:const[1,1,1,2,2], x[1,5,5,5,2])": "s",
    "CONV_2D(x[?,6,6,2], w:const[6,3,3,2], b:const[6], stride_h=1, stride_w=1)": "",
    "FULLY_CONNECTED(x[?,6], w:const[5,6], b:const[5])": "",
    **dict.fromkeys(
        (
            f"{op}(x[?,6], a:const:int32[1]{{1}})"
            for op in "MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_ANY REDUCE_ALL REDUCE_PROD".split()
        ),
        "a",
    ),
    "ARG_MAX(x[?,6], a:const:int32[]{1})": "a",
    "ARG_MIN(x[?,6], a:const:int32[]{1})": "a",
    **dict.fromkeys(
        (
            f"UNSORTED_SEGMENT_{way}(x[4,6], i:const:int32[4], n:const:int32[]{{3}})"
            for way in "SUM MAX MIN PROD".split()
        ),
        "n",
    ),
    "SEGMENT_SUM(x[4,6], i:const:int32[4]{0,0,1,1})": "i",
    "REVERSE_V2(x[?,6], a:const:int32[1]{1})": "",
    "CUMSUM(x[?,6], a:const:int32[]{1})": "",
}


@pytest.mark.parametrize(("text", "held"), HELD.items(), ids=[text.partition("(")[0] for text in HELD])
def test_a_shape_follows_from_the_elements_of_these_operands(text: str, held: str) -> None:
    constants = re.findall(r"(\w+):const", text)
    assert is_determined(text)
    for name in constants:
        computed_one = re.sub(rf"\b{name}:const(:\w+)?(\[[^\]]*\])({{[^}}]*}})?", rf"{name}\1\2", text)
        assert computed_one != text
        assert is_determined(computed_one) is (name not in held.split()), name


def is_determined(call: str) -> bool:
    container = read(model(f"y[*] = {call}"))
    return unique_names(container.subgraphs[0]).index("y") in determined(container)
