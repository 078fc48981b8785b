"""What a caller of an ONNX model sees of it: inputs, outputs, defaults, versions, training. Both files need the same.

Each case changes the first file, the second, or both, and beside it stands the reason why they are not proved.
"""

from __future__ import annotations

from collections.abc import Callable

import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper

from tests.support.proved import unproved

Change = Callable[[ModelProto], object]
PLAIN = """<ir_version: 8, opset_import: ["" : 17, "own" : 1]>
g (float[N,3] x, float[N,3] z) => (float[N,3] y, float[N,3] w) {{ {0} v = Relu(x) w = own.F(v) }}
<domain: "own", opset_import: ["" : 17]> F (a) => (b) {{ b = Neg(a) }}"""
FIRST, SECOND = PLAIN.format("y = Add(x, z)"), PLAIN.format("k = Identity(z) y = Add(x, k)")


def kept(_: ModelProto) -> None:
    """Change nothing."""


def told(name: str, *, loss: str = "") -> Change:
    """Add a training graph."""

    def change(model: ModelProto) -> None:
        training = model.training_info.add()
        training.algorithm.name = name
        if loss:
            training.update_binding.add(key="x", value=loss)

    return change


def both(*changes: Change) -> Change:
    return lambda model: [change(model) for change in changes]


def default(name: str, *numbers: float, dims: tuple[int, ...] = (1, 3), kind: int = TensorProto.FLOAT) -> Change:
    return lambda model: model.graph.initializer.append(helper.make_tensor(name, kind, dims, numbers))


def sparse(name: str, number: float) -> Change:
    """Add a default of which one element is not 0."""
    values = helper.make_tensor(name, TensorProto.FLOAT, [1], [number])
    places = helper.make_tensor("places", TensorProto.INT64, [1], [0])
    return lambda model: model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, places, [2, 3]))


def version(number: int) -> Change:
    return lambda model: setattr(model, "ir_version", number)


def retyped(kind: int) -> Change:
    return lambda model: setattr(model.graph.input[1].type.tensor_type, "elem_type", kind)


def opset(number: int) -> Change:
    return lambda model: setattr(model.opset_import[0], "version", number)


def opset_of_function(number: int) -> Change:
    return lambda model: setattr(model.functions[0].opset_import[0], "version", number)


def shaped(*dims: int | str) -> Change:
    info = helper.make_tensor_value_info("z", TensorProto.FLOAT, dims)
    return lambda model: model.graph.input[1].CopyFrom(info)


def held_inside(*, as_input: bool) -> Change:
    """Add an If whose branches hold a constant."""

    def change(model: ModelProto) -> None:
        given = [helper.make_tensor_value_info("h", TensorProto.FLOAT, [1])] if as_input else []
        made, held = helper.make_tensor_value_info("o", TensorProto.FLOAT, [1]), helper.make_tensor("h", 1, [1], [1.0])
        branch = helper.make_graph([helper.make_node("Neg", ["h"], ["o"])], "b", given, [made], [held])
        model.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
        model.graph.node.append(helper.make_node("If", ["c"], ["u"], then_branch=branch, else_branch=branch))

    return change


ONES, TWOS = (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)
CASES: dict[str, tuple[Change, Change, str | None]] = {
    "nothing": (kept, kept, None),
    "the same training": (told("a", loss="y"), told("a", loss="y"), None),
    "another training": (told("a"), told("b"), "the models hold different training graphs"),
    "another update": (told("a", loss="y"), told("a", loss="w"), "the models hold different training graphs"),
    "a training more": (kept, told("a"), "the models hold different training graphs"),
    "a training less": (told("a"), kept, "the models hold different training graphs"),
    "trainings in another order": (
        both(told("a"), told("b")), both(told("b"), told("a")), "the models hold different training graphs"),
    "an input less": (kept, lambda m: m.graph.input.pop(), "the inputs of the first file are x, z, of the second x"),
    "an input more": (
        lambda m: m.graph.input.pop(), kept, "the inputs of the first file are x, of the second x, z"),
    "no inputs": (lambda m: m.graph.ClearField("input"), kept, "the inputs of the first file are none, of the second"),
    "inputs in another order": (
        kept, lambda m: m.graph.input.reverse(), "the inputs of the first file are x, z, of the second z, x"),
    "outputs in another order": (
        kept, lambda m: m.graph.output.reverse(), "the outputs of the first file are y, w, of the second w, y"),
    "an output less": (kept, lambda m: m.graph.output.pop(), "the outputs of the first file are y, w, of the second y"),
    "another type of an input": (kept, retyped(TensorProto.DOUBLE), "the input 'z' has another type"),
    "64 bits read as 32, which nobody asked for": (
        retyped(TensorProto.INT64), retyped(TensorProto.INT32), "the input 'z' has another type"),
    "another type of an output": (
        kept, lambda m: setattr(m.graph.output[1].type.tensor_type, "elem_type", 11),
        "the output 'w' has another type"),
    "another description of an input": (
        kept, lambda m: [setattr(m.graph.input[1], "doc_string", "a"),
                         setattr(m.graph.input[1].type, "denotation", "b")],
        None),
    "another rank of an input": (kept, shaped("N", 3, 1), "'z'"),
    "another size of an input": (kept, shaped("N", 4), "'z'"),
    "a number for a free size": (kept, shaped(5, 3), "'z'"),
    "the same default": (default("z", *ONES), default("z", *ONES), None),
    "another default": (default("z", *ONES), default("z", *TWOS), "the input 'z' has another default value"),
    "another type of a default": (
        default("z", *ONES), default("z", *ONES, kind=TensorProto.DOUBLE), "the input 'z' has another default value"),
    "a default more": (kept, default("z", *ONES), "the input 'z' has another default value"),
    "a default less": (default("x", *ONES), kept, "the input 'x' has another default value"),
    "another sparse default": (sparse("z", 1.0), sparse("z", 2.0), "the input 'z' has another default value"),
    "a later operator set": (kept, both(opset(18), opset_of_function(18)), None),
    "an older operator set": (kept, opset(16), "the second file is stated in an older operator set"),
    "an older operator set of the first": (opset(16), kept, None),
    "an older operator set of a function": (
        kept, opset_of_function(16), "the second file states the function 'F' in an older operator set"),
    # before IR version 4 every constant is an input, of which a caller sees nothing
    "an old file": (version(3), version(3), None),
    "an old file with a constant": (
        both(version(3), default("z", *ONES)), both(version(3), default("z", *ONES)), None),
    "an old file with a constant, and one that is set": (
        both(version(3), default("z", *ONES)), version(3), "the inputs of the first file are x, of the second x, z"),
    "an old file with a constant that is no input": (
        version(3), both(version(3), default("k", *ONES)), "the initializer 'k' is no input of its type"),
    "an old file with a constant of another type": (
        both(version(3), default("z", *ONES)), both(version(3), default("z", *ONES, kind=TensorProto.DOUBLE)),
        "the initializer 'z' is no input of its type"),
    "an old file with a constant of another size": (
        both(version(3), default("z", *ONES)), both(version(3), default("z", 1.0, 1.0, dims=(1, 2))),
        "the initializer 'z' is no input of its shape"),
    "an old file with a constant where the free size is another": (
        both(version(3), default("z", *ONES)), both(version(3), default("z", *ONES, *ONES, dims=(2, 3))), "Add#0"),
    "an old file with a constant in a body": (
        both(version(3), held_inside(as_input=True)), both(version(3), held_inside(as_input=False)),
        "the initializer 'h' of a body is none of its inputs"),
    "old files with a constant in a body": (
        both(version(3), held_inside(as_input=False)), both(version(3), held_inside(as_input=False)), None),
    "a file with a constant in a body": (held_inside(as_input=False), held_inside(as_input=False), None),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "reason"), CASES.values(), ids=CASES)
def test_the_second_file_has_what_a_caller_sees_of_the_first(before: Change, after: Change, reason: str | None) -> None:
    made = [onnx.parser.parse_model(text) for text in (FIRST, SECOND)]
    before(made[0])
    after(made[1])
    found = unproved(made[0].SerializeToString(), made[1].SerializeToString())
    assert (found is None) if reason is None else reason in str(found)
