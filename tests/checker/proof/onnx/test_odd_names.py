"""Names and declarations that a runtime may refuse: the second file may have them where the first has the same."""

from __future__ import annotations

from collections.abc import Callable

import onnx.parser
import pytest
from onnx import GraphProto, ModelProto, TensorProto, helper

from tests.support.proved import unproved

Change = Callable[[ModelProto], object]
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
PLAIN = HEAD + "g (float[N,3] x, float[M,3] z) => (float[N,3] y) <float[N,3] a> { [one] a = Neg(x) [two] y = Relu(a) }"
SILENT = HEAD + "g (float[N,3] x) => (float[N,3] y) { a = Neg(x) b = Exp(a) c = Transpose(b) y = Neg(b) }"
LOOP = HEAD + (
    "g (float[2,3] x, int64 n, bool c) => (float[2,3] y) { a = Neg(x) [loop] y, z = Loop(n, c, a)<body = b (int64 i,"
    " bool k, float[2,3] s) => (bool kk, float[2,3] t, float[2,3] u) { kk = Identity(k) t = Relu(s) u = Neg(s) }> }"
)


def body(model: ModelProto) -> GraphProto:
    graph: GraphProto = model.graph.node[1].attribute[0].g
    return graph


def held(name: str, where: Callable[[ModelProto], GraphProto]) -> Change:
    return lambda model: where(model).initializer.append(helper.make_tensor(name, TensorProto.FLOAT, [1], [1.0]))


def main(model: ModelProto) -> GraphProto:
    return model.graph


def sparse(model: ModelProto) -> None:
    values = helper.make_tensor("", TensorProto.FLOAT, [1], [1.0])
    model.graph.sparse_initializer.append(
        helper.make_sparse_tensor(values, helper.make_tensor("i", TensorProto.INT64, [1], [0]), [3])
    )


def constants(*names: str) -> Change:
    def change(model: ModelProto) -> None:
        for at, name in enumerate(names):
            made = model.graph.node.add(op_type="Constant", name=name, output=[f"c{at}"])
            made.attribute.append(helper.make_attribute("value_float", 1.0))

    return change


def named_size(name: str, axis: int, value: int = 0) -> Change:
    """Give a size of a stored value a name."""

    def change(model: ModelProto) -> None:
        model.graph.value_info[value].type.tensor_type.shape.dim[axis].dim_param = name

    return change


def told(**shapes: list[int | str]) -> Change:
    """Declare shapes of values."""
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    return lambda model: model.graph.value_info.extend(infos)


REFUSED: dict[str, tuple[str, Change, str]] = {
    "a constant without a name": (PLAIN, held("", main), "an input, an output or a constant of the second file has no"),
    "a sparse constant without a name": (PLAIN, sparse, "the sparse constant '' is only in the second file"),
    "a constant of a body without a name": (LOOP, held("", body), "a constant of the second file has no name"),
    "a body without a name": (LOOP, lambda m: body(m).ClearField("name"), "a body of the second file has no name"),
    "a constant of a body as around it": (LOOP, held("x", body), "a body of the second file has 'x' anew"),
    "an input of a body as around it": (
        LOOP, lambda m: setattr(body(m).input[0], "name", "x"), "a body of the second file has 'x' anew"),
    "a result of a body as around it": (
        LOOP, lambda m: body(m).node.add(op_type="Neg", input=["s"], output=["x"]), "of the second file has 'x' anew"),
    "an input of a body that is a constant": (
        LOOP, held("i", body), "the input 'i' of a body of the second file is a constant as well"),
    "a value that a body returns twice": (
        LOOP.replace("u = Neg", "u = Relu"), lambda m: setattr(body(m).output[2], "name", "t"),
        "a body of the second file returns 't' twice"),
    "a tensor of no type": (
        PLAIN, lambda m: m.graph.value_info[0].type.tensor_type.ClearField("elem_type"), "the type of 'a'"),
    "a result of no type": (
        PLAIN, lambda m: m.graph.output[0].type.tensor_type.ClearField("elem_type"), "has another type"),
    "a value of a body of no type": (
        LOOP, lambda m: body(m).value_info.add(name="kk"), "the second file does not say the type of 'kk'"),
    "a declaration of no value": (
        PLAIN, lambda m: setattr(m.graph.value_info[0], "name", "no"), "declares 'no', which is not a value"),
    "two nodes of one name": (
        PLAIN, lambda m: setattr(m.graph.node[1], "name", "one"), "2 nodes of the second file have the name 'one'"),
    "a node on a device": (
        LOOP, lambda m: body(m).node[1].device_configurations.add(configuration_id="c"), "names devices"),
    "a size below 0": (
        PLAIN, lambda m: setattr(m.graph.value_info[0].type.tensor_type.shape.dim[0], "dim_value", -1),
        "says a size below 0 of 'a'"),
    "one name for two sizes": (PLAIN, named_size("M", 0), "calls two sizes 'M' that are not known to be one"),
    "a name of a number": (PLAIN, named_size("N", 1), "calls two sizes 'N' that are not known to be one"),
    "one new name for two sizes": (
        SILENT, told(a=["new", 3], b=["new", "new"]),
        "two sizes 'new' that are not known to be one: one is axis 1 of 'b'"),
    "one new name for a size and an input's": (SILENT, told(a=["N", "N"]), "calls two sizes 'N' that are not known"),
    "another size": (SILENT, told(a=["N", 4]), "the second file declares 'a' as [?,4], which it is not known to be"),
    "another rank": (SILENT, told(a=["N"]), "the second file declares 'a' as [?], which it is not known to be"),
    "two values of one name": (
        PLAIN, lambda m: m.graph.node.add(op_type="Neg", input=["x"], output=["a"]), "two values have the name 'a'"),
    "two constants of one name": (
        PLAIN, lambda m: [held("h", main)(m), held("h", main)(m)], "the graph 'g' gives one name to two values"),
}  # fmt: skip
BY_BOTH_UNREAD = frozenset({"two values of one name", "two constants of one name"})
"""What is read in neither file."""
KEPT: dict[str, tuple[str, Change]] = {
    "one new name for one size": (SILENT, told(a=["new", 3], b=["new", "three"], c=["three", "new"])),
    "the name of an input's size": (SILENT, told(a=["N", 3], c=[3, "N"])),
    "two constant nodes of one name": (PLAIN, constants("same", "same")),
    "a constant node of the name of another": (PLAIN, constants("one")),
    "nodes without names": (PLAIN, lambda m: [each.ClearField("name") for each in m.graph.node]),
    "a value of no type at all": (PLAIN, lambda m: m.graph.value_info[0].ClearField("type")),
    "a new name for a size": (PLAIN, lambda m: [named_size("new", 0)(m)]),
    "a name for a number": (PLAIN, named_size("three", 1)),
    "a constant of a body": (LOOP, held("h", body)),
    "other names in a body": (LOOP, lambda m: [
        body(m).node[1].output.__setitem__(0, "q"), setattr(body(m).output[1], "name", "q")]),
}  # fmt: skip


def changed(text: str, change: Change) -> bytes:
    model = onnx.parser.parse_model(text)
    change(model)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize(("text", "change", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_is_odd_in_the_second_file_alone_is_not_proved(text: str, change: Change, reason: str) -> None:
    assert reason in str(unproved(changed(text, lambda _: None), changed(text, change)))


ALIKE = {name: case[:2] for name, case in REFUSED.items() if name not in BY_BOTH_UNREAD}


@pytest.mark.parametrize(("text", "change"), ALIKE.values(), ids=ALIKE)
def test_what_is_odd_in_both_files_is_proved(text: str, change: Change) -> None:
    after = onnx.parser.parse_model(text)
    change(after)
    after.producer_name = "another"
    assert unproved(changed(text, change), after.SerializeToString()) is None


@pytest.mark.parametrize(("text", "change"), KEPT.values(), ids=KEPT)
def test_what_no_runtime_minds_is_proved(text: str, change: Change) -> None:
    assert unproved(changed(text, lambda _: None), changed(text, change)) is None
