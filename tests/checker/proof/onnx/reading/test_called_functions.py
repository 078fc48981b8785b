"""Which attributes of a node count, which nodes call a function, and which operands of a Concat hold something."""

from __future__ import annotations

from collections.abc import Sequence

import onnx.parser
import pytest
from onnx import FunctionProto, NodeProto, helper

from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.core.terms import ProofValue, TermTable, value_of
from graphfix.checker.proof.onnx.reading import calls
from graphfix.checker.proof.onnx.reading.operands import Call
from tests.support.proved import unproved


def file(opset: int, node: str) -> bytes:
    head = f'<ir_version: 8, opset_import: ["" : {opset}]> g (float[2,2] x, float[2] s)'
    return onnx.parser.parse_model(f"{head} => (float[2,2] y) {{ {node} }}").SerializeToString()


# a node of which some attribute does not count, and the same with another value of one that counts
COUNTING: list[tuple[int, str, str, str]] = [
    (1, "y = Elu<alpha = 0.5, consumed_inputs = [0]>(x)", "alpha = 0.5", "alpha = 0.25"),
    (6, "y = Gemm<broadcast = 1, alpha = 0.5>(x, x, s)", "alpha = 0.5", "alpha = 0.25"),
    (6, "y = Gemm<broadcast = 1, transA = 1>(x, x, s)", "transA = 1", "transA = 0"),
    (19, "q = QuantizeLinear<axis = 0, saturate = 0>(x, s) y = Cast<to = 1>(q)", "saturate = 0", "saturate = 1"),
]


@pytest.mark.parametrize(("opset", "node", "old", "new"), COUNTING)
def test_an_attribute_counts_beside_one_that_does_not(opset: int, node: str, old: str, new: str) -> None:
    before = file(opset, node)
    assert unproved(before, before) is None
    assert unproved(before, file(opset, node.replace(old, new))) is not None


def test_an_attribute_that_does_not_count_may_go() -> None:
    node = "y = Elu<alpha = 0.5, consumed_inputs = [0]>(x)"
    assert unproved(file(1, node), file(1, node.replace(", consumed_inputs = [0]", ""))) is None


def test_a_node_that_no_runtime_has_calls_a_function() -> None:
    own, other = FunctionProto(name="Own"), FunctionProto(name="Own")
    functions = {("mine", "Own", ""): own, ("mine", "Own", "b"): other, ("", "Relu", ""): own, ("", "Own", ""): own}
    versions = {"": 17, "mine": 1}

    def called(op: str, domain: str, overload: str = "") -> FunctionProto | None:
        return calls.function_of(functions, NodeProto(op_type=op, domain=domain, overload=overload), versions)

    assert called("Own", "mine") is own
    assert called("Own", "mine", "b") is other
    assert called("Own", "mine", "c") is None
    assert called("Own", "yours") is None
    assert called("Relu", "") is None
    for domain in ("", "ai.onnx"):
        with pytest.raises(UnprovedError, match="Own is a function in the domain '', whose operators runtimes have"):
            called("Own", domain)


def concat(axis: int, *shapes: Sequence[int] | None, version: int = 13) -> Call:
    """Return a Concat of values of these sizes."""
    table = TermTable(Algebra())
    views: list[ProofValue | None] = []
    for at, sizes in enumerate(shapes):
        core, _ = table.find_or_create_core(("input", at), f"x{at}")
        core.sizes = None if sizes is None else tuple(sizes)
        views.append(value_of(core))
    return Call(
        label="Concat", domain="", op="Concat", version=version, meaning_version=version, views=views,
        operand_names=[f"x{at}" for at in range(len(shapes))], result_names=["y"],
        attributes={"axis": helper.make_attribute("axis", axis)}, description="Concat", table=table,
    )  # fmt: skip


JOINED: list[tuple[int, list[Sequence[int] | None], str, list[str]]] = [
    (1, [(2, 4), (2, 0), (2, 3)], "Concat", ["x0", "x2"]),
    (-1, [(2, 4), (2, 0), (2, 3)], "Concat", ["x0", "x2"]),
    (0, [(0, 4), (2, 4), (3, 4)], "Concat", ["x1", "x2"]),
    (-2, [(0, 4), (2, 4)], "Identity", ["x1"]),
    (1, [(2, 0), (2, 3)], "Identity", ["x1"]),
    (1, [(2, 4), (2, 3)], "Concat", ["x0", "x1"]),
    (1, [(2, 0), (2, 0)], "Concat", ["x0", "x1"]),
    (1, [(2, 4), (1, 0)], "Concat", ["x0", "x1"]),
    (1, [(2, 4), (0,)], "Concat", ["x0", "x1"]),
    (0, [(4,), (2, 0)], "Concat", ["x0", "x1"]),
    (1, [(2, 4), (2, 0), None], "Concat", ["x0", "x1", "x2"]),
    (2, [(2, 4), (2, 0)], "Concat", ["x0", "x1"]),
    (-3, [(2, 4), (2, 0)], "Concat", ["x0", "x1"]),
    (1, [], "Concat", []),
]


@pytest.mark.parametrize(("axis", "shapes", "op", "inputs"), JOINED)
def test_an_operand_without_elements_adds_nothing(
    axis: int, shapes: list[Sequence[int] | None], op: str, inputs: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "loads", lambda _: True)
    found = calls._without_empty_operands(concat(axis, *shapes))
    assert (found.op, list(found.operand_names)) == (op, inputs)
    assert [str(view.core) for view in found.views if view is not None] == inputs


def test_an_operand_without_elements_counts_where_the_node_may_not_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "loads", lambda _: False)
    given = concat(1, (2, 4), (2, 0))
    assert calls._without_empty_operands(given) is given
    assert (given.op, given.operand_names) == ("Concat", ["x0", "x1"])


def test_an_axis_from_the_end_is_none_of_an_older_concat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "loads", lambda _: True)
    for version, op in ((4, "Concat"), (11, "Identity")):
        assert calls._without_empty_operands(concat(-1, (2, 4), (2, 0), version=version)).op == op


def test_a_node_is_described_by_its_name_or_its_place() -> None:
    assert calls.described("Add", "sum", 3) == "Add 'sum'"
    assert calls.described("Add", "", 3) == "Add#3"
