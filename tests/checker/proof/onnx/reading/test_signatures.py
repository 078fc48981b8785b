"""What a node states, as its operator set allows it: the numbers of names, empty names, and attributes."""

from __future__ import annotations

import onnx.parser
import pytest
from onnx import AttributeProto, TensorProto, helper

from graphfix.checker.proof.onnx.reading.node_signature import (
    ODD,
    NodeSignature,
    attribute_form,
    ends_named,
    is_allowed_signature,
    is_plain,
    pattern,
)

ALLOWED: dict[str, tuple[str, int, bool]] = {
    "a node": ("y = Relu(x)", 17, True),
    "no such operator": ("y = Relus(x)", 17, False),
    "an operator of a later set": ("y = Gelu(x)", 17, False),
    "an operator that was withdrawn": ("y = Upsample(x, x)", 10, False),
    "an operator before it was withdrawn": ('y = Upsample <mode = "nearest">(x, x)', 9, True),
    "an operand less": ("y = Add(x)", 17, False),
    "an operand more": ("y = Relu(x, x)", 17, False),
    "a result more": ("y, z = Relu(x)", 17, False),
    "optional operands": ("y = Clip(x, x, x)", 17, True),
    "no optional operands": ("y = Clip(x)", 17, True),
    "an optional operand without a name": ('y = Clip(x, "", x)', 17, True),
    "an optional operand without a name, at the end": ('y = Clip(x, x, "")', 17, True),
    "an operand without a name": ('y = Clip("", x)', 17, False),
    "one of several without a name": ('y = Concat <axis = 0>(x, "")', 17, False),
    "several": ("y = Concat <axis = 0>(x, x, x, x)", 17, True),
    "none of several": ("y = Concat <axis = 0>()", 17, False),
    "an optional result without a name": ('y, "" = Dropout(x)', 17, True),
    "a result without a name": ('"" = Relu(x)', 17, False),
    "one of several results without a name": ('y, "" = Split(x)', 17, False),
    "a required attribute": ("y = Concat <axis = 0>(x)", 17, True),
    "no required attribute": ("y = Concat(x)", 17, False),
    "an attribute of another type": ("y = Concat <axis = 0.5>(x)", 17, False),
    "an attribute that the operator lacks": ("y = Relu <axis = 0>(x)", 17, False),
    "an attribute of a later set": ("y = Shape <start = 1>(x)", 13, False),
    "an attribute of its set": ("y = Shape <start = 1>(x)", 15, True),
    "an attribute that became an operand": ("y = Squeeze <axes = [0]>(x)", 13, False),
    "an attribute that is no operand yet": ("y = Squeeze <axes = [0]>(x)", 11, True),
    "an operator of another domain": ("y = mine.Relu(x)", 17, False),
    "onnxruntime's quantization": ("y = com.microsoft.QuantizeLinear <axis = 0>(x, x, x)", 1, True),
    "onnxruntime's quantization without a zero point": ("y = com.microsoft.DequantizeLinear(x, x)", 1, True),
    "onnxruntime's quantization without a scale": ("y = com.microsoft.DequantizeLinear(x)", 1, False),
    "onnxruntime's quantization with too much": ("y = com.microsoft.DequantizeLinear(x, x, x, x)", 1, False),
    "onnxruntime's quantization with two results": ("y, z = com.microsoft.DequantizeLinear(x, x)", 1, False),
    "onnxruntime's quantization with an axis that is no number": (
        "y = com.microsoft.QuantizeLinear <axis = [0]>(x, x)", 1, False),
    "onnxruntime's other operators": ("y = com.microsoft.FastGelu(x)", 1, False),
}  # fmt: skip


def signature(text: str, version: int, overload: str = "") -> NodeSignature:
    (node,) = onnx.parser.parse_graph(f"g (float x) => (float y) {{ {text} }}").node
    forms = [(each.name, attribute_form(each) or (each.type, None)) for each in node.attribute]
    ends = pattern(list(node.input)), pattern(list(node.output))
    return NodeSignature(node.op_type, node.domain, overload, version, False, tuple(forms), *ends)


@pytest.mark.parametrize(("text", "version", "expected"), ALLOWED.values(), ids=ALLOWED)
def test_what_an_operator_set_allows(text: str, version: int, expected: bool) -> None:
    assert is_allowed_signature(signature(text, version)) is expected


def test_no_operator_has_an_overload() -> None:
    assert not is_allowed_signature(signature("y = Relu(x)", 17, "o"))


@pytest.mark.parametrize(
    ("names", "expected", "ends"),
    [
        ([], 0, True), (["a", "b"], 2, True), (["a", "", "b"], (True, False, True), True),
        (["a", ""], (True, False), False), ([""], (False,), False),
    ],
    ids=str,
)  # fmt: skip
def test_the_pattern_of_names(names: list[str], expected: object, ends: bool) -> None:
    assert pattern(names) == expected
    assert ends_named(pattern(names)) is ends


def attribute(text: str) -> AttributeProto:
    (node,) = onnx.parser.parse_graph(f"g (float x) => (float y) {{ y = Any <{text}>(x) }}").node
    given: AttributeProto = node.attribute[0]
    return given


@pytest.mark.parametrize("text", ["a = 1", "a = 1.5", 'a = "t"', "a = [1, 2]", "a = [0.5]", 'a = ["t"]'])
def test_an_attribute_is_what_it_holds(text: str) -> None:
    one, two = attribute(text), attribute(text)
    two.name, two.doc_string = "b", "what it is"
    form = attribute_form(one)
    assert form is not None
    assert form == attribute_form(two)
    assert form[0] == one.type
    others = [attribute_form(attribute(other)) for other in ("a = 2", "a = 2.5", 'a = "u"', "a = [2]", 'a = ["u"]')]
    assert form not in others
    two.floats.append(1.0)
    two.i = 7
    assert not is_plain(two)
    assert (attribute_form(two) or (None,))[0] == ODD


def test_a_reference_an_unknown_field_and_no_type_are_odd() -> None:
    named = attribute("a = 1")
    named.ref_attr_name = "b"
    bare = AttributeProto(name="a", i=1)
    unknown = AttributeProto.FromString(attribute("a = 1").SerializeToString() + b"\xf8\x07\x01")
    for odd in (named, bare, unknown):
        assert not is_plain(odd)
        assert (attribute_form(odd) or (None,))[0] == ODD


def test_tensors_and_bodies_are_compared_by_others() -> None:
    tensor = helper.make_attribute("a", helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0]))
    assert is_plain(tensor)
    assert attribute_form(tensor) is None
    tensor.i = 1
    assert (attribute_form(tensor) or (None,))[0] == ODD
