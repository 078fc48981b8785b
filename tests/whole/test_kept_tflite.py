"""The comparison of two TFLite files finds whatever is another, one planted fault at a time."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
import pytest

from models.builders.tflite.text import Quantized, Signature, model, pack
from tests.support.tflite import kept as kept_tflite
from tests.support.tflite.fixing import Fixed, fixed, tree
from tests.support.tflite.tree import operator_name, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.tflite.tree import Tree

TEXT = """
a:int8[2,3,4] = ADD(x:int8[2,3,4], c:const:int8[4]{1,2,3,4}, fused_activation_function=RELU)
b:int8[2,3,4] = MUL(a, s:int8[3,4])
y:int8[2,3,4] = CUSTOM.Thing(b, custom_options=b'abc')
"""


@pytest.fixture(scope="module", params=["ranks", "explicit"])
def done(request: pytest.FixtureRequest) -> Fixed:
    data = model(
        TEXT,
        quantization={"s": Quantized(0.25, 1)},
        signatures={"serve": Signature()},
        metadata={"author": b"somebody"},
    )
    made = fixed(data, target=request.param)
    assert made.outcome.changed
    assert kept_tflite.differences(made.before, made.data, made.outcome.sites) == []
    return made


def operator(found: Tree, name: str) -> Tree:
    return next(each for each in found.subgraphs[0].operators if operator_name(found, each) == name)


def tensor(found: Tree, name: str) -> Tree:
    return next(each for each in found.subgraphs[0].tensors if text(each.name) == name)


def flip(found: Tree, at: int) -> None:
    found.buffers[at].data = np.bitwise_xor(np.array(found.buffers[at].data, np.uint8), 1)


def read(found: Tree, name: str, operand: int, tensor: int) -> None:
    """Let an operator read another tensor."""
    inputs = list(operator(found, name).inputs)
    inputs[operand] = tensor
    operator(found, name).inputs = inputs


def add_code(found: Tree) -> None:
    """Ask for an operator that the model does not have."""
    found.operatorCodes.append(copy.copy(found.operatorCodes[0]))
    found.operatorCodes[-1].version = 9


FAULTS: dict[str, Callable[[Tree], object]] = {
    "a constant's byte": lambda it: flip(it, tensor(it, "c").buffer),
    "a metadata entry's bytes": lambda it: flip(it, it.metadata[0].buffer),
    "a metadata entry's name": lambda it: setattr(it.metadata[0], "name", b"editor"),
    "the description": lambda it: setattr(it, "description", b"another"),
    "a signature's name": lambda it: setattr(it.signatureDefs[0].inputs[0], "name", b"q"),
    "a tensor's name": lambda it: setattr(tensor(it, "a"), "name", b"z"),
    "a tensor's shape": lambda it: setattr(tensor(it, "s"), "shape", [12]),
    "a tensor's zero point": lambda it: setattr(tensor(it, "s").quantization, "zeroPoint", [2]),
    "an operator's options": lambda it: setattr(operator(it, "ADD").builtinOptions, "fusedActivationFunction", 0),
    "a custom operator's options": lambda it: setattr(operator(it, "Thing"), "customOptions", [97, 98, 100]),
    "an operator's version": lambda it: setattr(it.operatorCodes[operator(it, "MUL").opcodeIndex], "version", 9),
    "an operator code that no operator has": add_code,
    "the order of the inputs": lambda it: setattr(it.subgraphs[0], "inputs", it.subgraphs[0].inputs[::-1]),
    "the outputs": lambda it: setattr(it.subgraphs[0], "outputs", operator(it, "MUL").outputs),
    "an operand nobody named": lambda it: read(it, "Thing", 0, operator(it, "ADD").outputs[0]),
    "a named operand from elsewhere": lambda it: read(it, "MUL", 1, operator(it, "ADD").inputs[1]),
    "an operator that is gone": lambda it: it.subgraphs[0].operators.remove(operator(it, "Thing")),
    "the order of the operators": lambda it: it.subgraphs[0].operators.reverse(),
    "a new operator's operand": lambda it: read(it, "RESHAPE", 0, 0),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, done: Fixed) -> None:
    changed = tree(done.data)
    FAULTS[fault](changed)
    assert kept_tflite.differences(done.before, pack(changed), done.outcome.sites)


def test_an_edit_that_the_report_does_not_name_is_found(done: Fixed) -> None:
    for at, site in enumerate(done.outcome.sites):
        others = [each for each in done.outcome.sites if (each.node, each.operand) != (site.node, site.operand)]
        if site.status == "changed":
            assert kept_tflite.differences(done.before, done.data, others), at


def test_a_code_that_no_operator_had_is_missed() -> None:
    before = tree(model("y[2,3,4] = ADD(x[2,3,4], c[4])"))
    add_code(before)
    made = fixed(pack(before))
    assert kept_tflite.differences(made.before, made.data, made.outcome.sites) == []
    changed = tree(made.data)
    changed.operatorCodes[1] = changed.operatorCodes[0]
    assert "operator code 1" in str(kept_tflite.differences(made.before, pack(changed), made.outcome.sites))


def test_a_repacked_file_is_the_same(done: Fixed) -> None:
    assert kept_tflite.differences(done.before, pack(tree(done.data)), done.outcome.sites) == []


def test_a_stretched_constant_with_other_elements_is_found() -> None:
    made = fixed("y[2,3,4] = ADD(x[2,3,4], c:const[4])", target="explicit")
    changed = tree(made.data)
    old = tree(made.before)
    flip(changed, len(old.buffers))
    assert "its elements are others" in str(kept_tflite.differences(made.before, pack(changed), made.outcome.sites))
