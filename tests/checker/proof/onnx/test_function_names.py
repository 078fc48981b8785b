"""Functions that onnxruntime does not tell apart, because their domain, name and overload are equal when joined."""

from __future__ import annotations

import onnxruntime
import pytest
from onnx import FunctionProto, ModelProto, TensorProto, helper

from graphfix.checker.proof.onnx.closed_world.names import shared_function_name
from tests.support.proved import unproved

CLASHES = [
    (("d:f", "a", ""), ("d", "f:a", "")), (("d:f", "a", ""), ("d", "f", "a")), (("d", "f:a", ""), ("d", "f", "a")),
    (("d", "f", "a:b"), ("d", "f:a", "b")), (("d", "f", "a:b"), ("d:f", "a", "b")),
    (("d:f:a", "b", ""), ("d", "f:a:b", "")),
    (("d:f:a", "b", ""), ("d:f", "a:b", "")), (("d:f:a", "b", ""), ("d", "f", "a:b")),
    (("d::f", "a", ""), ("d", ":f", "a")),
    (("d::f", "a", ""), ("d:", "f", "a")), (("d:", "f", ""), ("d", ":f", "")), (("d", "f:", "a"), ("d:f", ":a", "")),
]  # fmt: skip
DISTINCT = [
    (("d", "f", ""), ("d", "f", "a")), (("d", "f", "a"), ("d", "f", "b")), (("d", "f", ""), ("e", "f", "")),
    (("d", "f:a", ""), ("d", "f:b", "")), (("d:e", "f", ""), ("d", "f", "e")), (("d", "fa", ""), ("d", "f", "a")),
]  # fmt: skip
Key = tuple[str, str, str]


def function(key: Key, op: str) -> FunctionProto:
    made = helper.make_function(
        key[0], key[1], ["a"], ["b"], [helper.make_node(op, ["a"], ["b"])], [helper.make_opsetid("", 18)]
    )
    made.overload = key[2]
    return made


def model(*operators: tuple[Key | None, str]) -> ModelProto:
    """Return a chain of nodes: each calls a function of this key, which is the operator, or is the operator itself."""
    nodes = []
    for at, (key, op) in enumerate(operators):
        ends = [f"v{at}"], [f"v{at + 1}"]
        nodes.append(helper.make_node(op, *ends) if key is None else helper.make_node(key[1], *ends, domain=key[0]))
        nodes[-1].overload = "" if key is None else key[2]
    info = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("v0", f"v{len(operators)}")]
    domains = {key[0] for key, _ in operators if key is not None}
    return helper.make_model(
        helper.make_graph(nodes, "g", info[:1], info[1:]),
        ir_version=10,
        functions=[function(key, op) for key, op in operators if key is not None],
        opset_imports=[helper.make_opsetid("", 18), *(helper.make_opsetid(domain, 1) for domain in domains)],
    )


def loads(made: ModelProto) -> bool:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail as fail:
        return "Duplicate model-local function identifier" not in str(fail)
    return True


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("keys", CLASHES, ids=str)
def test_a_new_function_of_a_joined_name_is_not_proved(keys: tuple[Key, Key], turned: bool) -> None:
    one, two = keys[::-1] if turned else keys
    before, after = model((one, "Neg"), (None, "Abs")), model((one, "Neg"), (two, "Abs"))
    before.opset_import.extend(entry for entry in after.opset_import if entry not in before.opset_import)
    assert loads(before)
    assert not loads(after)
    assert unproved(before.SerializeToString(), after.SerializeToString()) is not None
    assert "does not tell apart" in str(shared_function_name(before, after))


@pytest.mark.parametrize("keys", DISTINCT, ids=str)
def test_functions_of_different_joined_names_stay_proved(keys: tuple[Key, Key]) -> None:
    one, two = keys
    after = model((one, "Neg"), (two, "Abs"))
    before = ModelProto.FromString(after.SerializeToString())
    before.doc_string = "another file"
    assert loads(after)
    assert unproved(before.SerializeToString(), after.SerializeToString()) is None


def test_a_clash_that_the_first_file_has_is_no_reason() -> None:
    made = model((CLASHES[0][0], "Neg"), (CLASHES[0][1], "Abs"))
    assert shared_function_name(made, made) is None


def test_a_call_of_no_function_may_get_one_of_the_same_joined_name() -> None:
    (one, two), made = CLASHES[0], model((CLASHES[0][0], "Neg"), (CLASHES[0][1], "Abs"))
    before, after = (ModelProto.FromString(made.SerializeToString()) for _ in range(2))
    del before.functions[:]  # both operators are custom ones
    del after.functions[1]
    assert (before.graph.node[1].op_type, after.functions[0].name) == (two[1], one[1])
    assert "does not tell apart" in str(shared_function_name(before, after))
