"""A size that only the second file declares, and that no rule derives, is no fact: runtimes lean on it all the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import onnx
import onnx.parser
import pytest
from onnx import AttributeProto, GraphProto, ModelProto, TensorProto, ValueInfoProto, helper

from graphfix.checker.proof import Proof
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<ir_version: 10, opset_import: ["" : 17]>\n'
TOP = HEAD + "g (float[N,3] x) => (int64[2,K] y) { z = NonZero(x)  y = Neg(z) }"
OPEN = (
    HEAD
    + "g (float[N,3] x, float[M,3] w) => (int64[2,K] y, int64[2,L] v) { z = NonZero(x)  y = Neg(z)  v = NonZero(w) }"
)
BRANCH = HEAD + (
    "g (float[N,3] x, bool c) => (int64[2,K] y) { y = If(c)<then_branch = one () => (int64[2,A] r)"
    " { z = NonZero(x)  r = Neg(z) }, else_branch = two () => (int64[2,B] q) { q = NonZero(x) }> }"
)
LOOP = HEAD + (
    "g (float[N,3] x, int64 n, bool c) => (float[N,3] y, int64[P,2,K] s) { y, s = Loop(n, c, x)<body = b (int64 i,"
    " bool k, float[N,3] t) => (bool kk, float[N,3] u, int64[2,Q] r) { kk = Identity(k)  u = Relu(t)  z = NonZero(u)"
    "  r = Neg(z) }> }"
)
SCAN = HEAD + (
    "g (float[N,3] x) => (int64[N,1,Q] y) { y = Scan<num_scan_inputs = 1, body = b (float[3] t) => (int64[1,Q] r)"
    " { z = NonZero(t)  r = Neg(z) }>(x) }"
)
CALL = (
    '<ir_version: 10, opset_import: ["" : 17, "local" : 1]>\n'
    "g (float[N,3] x) => (int64[2,K] y) { y = local.F(x) }\n"
    '<domain: "local", opset_import: ["" : 17]>\n'
    "F (a) => (b) { z = NonZero(a)  b = Neg(z) }"
)
CONCAT = HEAD + (
    "g (float[N,3] x, float[M,K] w) => (float[P,Q] y, float[P,Q] v) { z = Concat<axis = 0>(x, w)  y = Neg(z)"
    "  v = Concat<axis = 0>(x, w) }"
)
SEQUENCE = HEAD + (
    "g (float[N,3] x) => (int64[2,K] y) { n = NonZero(x)  z = SequenceConstruct(n)  i = Constant<value_int = 0>()"
    "  y = SequenceAt(z, i) }"
)


def stated(name: str, *sizes: int | str | None, kind: int = TensorProto.INT64) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, sizes)


def body(model: ModelProto) -> GraphProto:
    return next(each.g for node in model.graph.node for each in node.attribute if each.type == AttributeProto.GRAPH)


def proved(before: ModelProto, after: ModelProto, tmp_path: Path) -> Proof:
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    for path, model in zip(paths, (before, after), strict=True):
        path.write_bytes(model.SerializeToString())
    return prove(*paths)


def sized(info: ValueInfoProto, axis: int, size: int | str) -> None:
    dim = info.type.tensor_type.shape.dim[axis]
    dim.Clear()
    if isinstance(size, int):
        dim.dim_value = size
    else:
        dim.dim_param = size


def held(*sizes: int | None) -> ValueInfoProto:
    tensor = helper.make_tensor_type_proto(TensorProto.INT64, sizes)
    return helper.make_value_info("z", helper.make_sequence_type_proto(tensor))


def _in_function(model: ModelProto) -> None:
    model.functions[0].value_info.append(stated("z", 2, 5))


def _swapped(model: ModelProto) -> None:
    """Both results get the name that the first file gives to one value: K where it is L."""
    sized(model.graph.output[1], 1, "K")


CHANGES: dict[str, tuple[str, Callable[[ModelProto], object]]] = {
    "a number, at the top": (TOP, lambda model: model.graph.value_info.append(stated("z", 2, 5))),
    "a number, of an output": (TOP, lambda model: sized(model.graph.output[0], 1, 5)),
    "another rank": (TOP, lambda model: model.graph.value_info.append(stated("z", 2, None, None))),
    "a number of a rank that is known, the other one right": (
        TOP,
        lambda model: model.graph.value_info.append(stated("z", None, 1)),
    ),
    "a number, in a branch": (BRANCH, lambda model: body(model).value_info.append(stated("z", 2, 5))),
    "a number, of a branch's output": (BRANCH, lambda model: sized(body(model).output[0], 1, 5)),
    "a number, in a Loop": (LOOP, lambda model: body(model).value_info.append(stated("z", 2, 5))),
    "a number, of a Loop's output": (LOOP, lambda model: sized(body(model).output[2], 1, 5)),
    "a number, of a Loop's input": (LOOP, lambda model: sized(body(model).input[2], 0, 5)),
    "a number, of a Loop's stacked result": (LOOP, lambda model: sized(model.graph.output[1], 2, 5)),
    "a number, in a Scan": (SCAN, lambda model: body(model).value_info.append(stated("z", 1, 3))),
    "a number, of a Scan's output": (SCAN, lambda model: sized(body(model).output[0], 1, 3)),
    "a number, in a function": (CALL, _in_function),
    "a number, of a call's result": (CALL, lambda model: sized(model.graph.output[0], 1, 5)),
    "a size that operands of a Concat have, but for the empty": (
        CONCAT,
        lambda model: model.graph.value_info.append(stated("z", None, 3, kind=TensorProto.FLOAT)),
    ),
    "what a sequence holds": (SEQUENCE, lambda model: model.graph.value_info.append(held(2, 5))),
    "a name that another size has": (OPEN, _swapped),
    "the name of an input's size": (OPEN, lambda model: sized(model.graph.output[0], 1, "N")),
    "one name for two inputs": (OPEN, lambda model: sized(model.graph.input[1], 0, "N")),
    "the name of another size, in a value_info": (
        OPEN,
        lambda model: model.graph.value_info.append(stated("z", 2, "L")),
    ),
    "the name of a size around it, in a branch": (
        BRANCH,
        lambda model: body(model).value_info.append(stated("z", 2, "N")),
    ),
    "the name of a size around it, in a Loop": (LOOP, lambda model: sized(body(model).output[2], 1, "N")),
    "the name that a number's place has": (OPEN, lambda model: sized(model.graph.output[0], 0, "N")),
}  # fmt: skip


@pytest.mark.parametrize("what", CHANGES)
def test_what_nothing_derives_is_not_taken_from_the_second_file(what: str, tmp_path: Path) -> None:
    text, change = CHANGES[what]
    before = onnx.parser.parse_model(text)
    after = onnx.ModelProto.FromString(before.SerializeToString())
    assert proved(before, after, tmp_path).reason is None
    change(after)
    assert before != after
    found = proved(before, after, tmp_path)
    assert found.status == "not proved"
    assert found.reason is not None
    assert any(word in found.reason for word in ("declare", "calls two sizes", "known to be")), found.reason


def test_what_the_first_file_says_of_the_same_value_may_be_said_again(tmp_path: Path) -> None:
    before, after = onnx.parser.parse_model(TOP), onnx.parser.parse_model(TOP)
    before.graph.value_info.append(stated("z", None, 5))
    after.graph.value_info.append(stated("z", 2, 5))
    assert proved(before, after, tmp_path).reason is None
    after.graph.node[0].output[0] = after.graph.node[1].input[0] = after.graph.value_info[0].name = "other"
    assert proved(before, after, tmp_path).status == "not proved"


def test_a_name_of_a_size_belongs_to_the_value_not_to_the_name_that_this_has(tmp_path: Path) -> None:
    """The first file gives one name to two sizes that are one in fact; in the second another value has that name."""
    text = (
        "g (float[N,3] x, float[M,3] w) => (int64[2,A] y, int64[2,B] v) { p = NonZero(x)  q = Abs(p)  r = NonZero(w)"
        "  y = Neg(q)  v = Neg(r) }"
    )
    before, after = (
        onnx.parser.parse_model(HEAD + text),
        onnx.parser.parse_model(
            HEAD
            + text.replace("q = Abs(p)", "o = Abs(p)")
            .replace("Neg(q)", "Neg(o)")
            .replace("r = ", "q = ")
            .replace("(r)", "(q)")
        ),
    )
    for model in (before, after):
        model.graph.value_info.extend([stated("p", 2, "K"), stated("q", 2, "K")])
    assert proved(before, before, tmp_path).reason is None
    found = proved(before, after, tmp_path)
    assert found.status == "not proved"
    assert "calls two sizes 'K'" in str(found.reason)


POOL = "MaxPool<ceil_mode = 1, kernel_shape = [{}], strides = [{}], auto_pad = {}>(x)"
DERIVED = {
    "windows of which the last reaches behind the end": (POOL.format(3, 2, '"NOTSET"'), 30, 15),
    "windows that end with the axis": (POOL.format(2, 2, '"VALID"'), 30, 15),
    "a target of 0 that copies nothing": ("Reshape<allowzero = 1>(x, s)", 30, 0),
}
OPEN_TO_DOUBT = {
    "windows of which the last starts behind the end": (POOL.format(2, 3, '"NOTSET"'), 3, 2),
    "windows that reach behind the end by another formula": (POOL.format(3, 2, '"VALID"'), 30, 15),
}


def stated_result(node: str, size: int, result: int) -> tuple[ModelProto, ModelProto]:
    """The model of a node twice: its result is declared in the second alone."""
    text = f"g (float[N,1,{size}] x) => (float[A,B,C] y) {{ s = Constant<value_ints = [2, 1, 0]>()  v = {node}"
    before, after = (onnx.parser.parse_model(f"{HEAD}{text}  y = Neg(v) }}") for _ in range(2))
    after.graph.value_info.append(stated("v", None, 1, result, kind=TensorProto.FLOAT))
    return before, after


@pytest.mark.parametrize("case", DERIVED)
def test_a_size_that_a_rule_derives_may_be_declared(case: str, tmp_path: Path) -> None:
    assert proved(*stated_result(*DERIVED[case]), tmp_path).reason is None


@pytest.mark.parametrize("case", OPEN_TO_DOUBT)
def test_a_size_on_which_runtimes_do_not_agree_may_not_be_declared(case: str, tmp_path: Path) -> None:
    assert "which it is not known to be" in str(proved(*stated_result(*OPEN_TO_DOUBT[case]), tmp_path).reason)
