"""Which results of a TFLite model follow from constants and sizes, and which shapes from no element of an input."""

from __future__ import annotations

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
