"""Versions of an operator below 8 that the proof takes as one: nothing that a node leaves unsaid reads otherwise."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import AttributeProto, helper

from graphfix.checker.proof.onnx.reading import versions
from graphfix.checker.proof.onnx.reading.versions import (
    compared_attributes,
    meaning,
    version_up_to_8,
    with_old_defaults,
)
from tests.support.proof_graphs import floats, unary
from tests.support.proving import prove
from tests.support.written import Written

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx.defs import OpSchema

READ_BY_MAPS = {
    **{op: {"broadcast"} for op in "Add Sub Mul Div Pow And Or Xor Equal Greater Less Gemm".split()},
    "AveragePool": {"count_include_pad"},  # the text of set 1: "the number of elements exclude pad"
    "MaxPool": {"storage_order"},  # of an output that there was not
}
"""What reads otherwise at set 8 of a version that is taken as the same, and why it means the same."""
ONE_MEANING = {
    1: set("Abs Ceil Elu Exp Floor HardSigmoid InstanceNormalization LeakyRelu Log Neg Reciprocal Relu Selu Sigmoid "
           "Sqrt Tanh Max Min Sum Mean AveragePool MaxPool PRelu Gemm "
           "Add Sub Mul Div Pow And Or Xor Equal Greater Less".split()),
    6: set("Max Min Sum Mean AveragePool MaxPool PRelu Gemm "
           "Add Sub Mul Div Pow And Or Xor Equal Greater Less".split()),
    7: set("Max Min Sum Mean MaxPool".split()),
}  # fmt: skip
"""By operator set what means there, without attributes, what set 8 says."""


def said(given: Mapping[str, AttributeProto], schema: OpSchema) -> dict[str, object]:
    defaults = {it.name: it.default_value for it in schema.attributes.values() if it.default_value.type}
    return {name: helper.get_attribute_value(it) for name, it in (defaults | dict(given)).items()}


@pytest.mark.parametrize("version", ONE_MEANING)
def test_what_is_taken_as_one_meaning_reads_the_same_without_attributes(version: int) -> None:
    names = {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}
    one, otherwise = set[str](), defaultdict[str, set[str]](set)
    for op in names:
        if not (onnx.defs.has(op, version, "") and onnx.defs.has(op, 8, "")):
            continue
        old, new = (onnx.defs.get_schema(op, number, "") for number in (version, 8))
        given = with_old_defaults(op, "", version, {})
        if (
            old.since_version == new.since_version
            or version_up_to_8(op, "", version, frozenset(given)) == old.since_version
        ):
            continue
        one.add(op)
        before, after = (
            said(compared_attributes(op, "", version, given), old),
            said(compared_attributes(op, "", version, given), new),
        )
        otherwise[op] |= {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert one == ONE_MEANING[version]
    differing = {op: names for op, names in otherwise.items() if names}
    assert differing == {op: names for op, names in READ_BY_MAPS.items() if op in one}


def test_from_set_8_on_nothing_is_taken_as_an_older_version() -> None:
    for schema in onnx.defs.get_all_schemas_with_history():
        if not schema.domain and schema.since_version >= 8:
            assert version_up_to_8(schema.name, "", schema.since_version, frozenset()) == schema.since_version


def test_an_attribute_that_a_version_does_not_know_keeps_it_apart() -> None:
    assert version_up_to_8("Selu", "", 1, frozenset({"alpha", "gamma"})) == 6
    assert version_up_to_8("Selu", "", 1, frozenset({"alpha", "gamma", "beta"})) == 1


READ_OTHERWISE = {
    *(("Constant", version) for version in (1, 9, 11, 12)),  # a value, however it is stated
    ("ConvTranspose", 1),  # automatic padding, which `older_forms` reads
    ("NegativeLogLikelihoodLoss", 12),
    ("SoftmaxCrossEntropyLoss", 12),
    ("OneHot", 9),  # of indices below 0
    ("Resize", 11),  # an empty operand, which `older_forms` reads
    ("RoiAlign", 10),  # the default of its coordinates
}
"""What the schemas say no difference of, and is no one meaning, by the version since which it is so."""
SAME_OPERANDS = {("Dropout", 10)}
"""What is one meaning without attributes, and has other operands later."""


def test_a_version_that_only_takes_more_types_than_another_has_its_meaning() -> None:
    """From set 8 on: the same numbers of operands and results, and the same defaults."""
    alike, one = set[tuple[str, int]](), set[tuple[str, int]]()
    for op in {schema.name for schema in onnx.defs.get_all_schemas_with_history() if not schema.domain}:
        sets = [number for number in range(17, 7, -1) if onnx.defs.has(op, number, "")]
        versions = {onnx.defs.get_schema(op, number, "").since_version: number for number in sets}
        for since, version in versions.items():
            old, new = (onnx.defs.get_schema(op, at, "") for at in (version, 17))
            if since == new.since_version or new.deprecated:
                continue
            operands = [(len(it.inputs), len(it.outputs)) for it in (old, new)]
            if operands[0] == operands[1] and said({}, old).items() <= said({}, new).items():
                alike.add((op, since))
            if meaning(op, "", version, frozenset()) == new.since_version:
                one.add((op, since))
    assert alike - one == READ_OTHERWISE
    assert one - alike == SAME_OPERANDS


def test_another_operator_of_the_same_name_is_not_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    """A `Relu` of another domain has its own version, whatever the standard one accepts later."""

    def schema(op: str, _: str, version: int) -> OpSchema:
        return onnx.defs.get_schema(op, version, "")

    monkeypatch.setattr(versions, "schema", schema)
    monkeypatch.setattr(versions, "since", lambda *asked: schema(*asked).since_version)
    found = [meaning.__wrapped__("Relu", domain, 8, frozenset()) for domain in ("", "own")]
    assert found == [14, 6]


SAME = {
    "Selu of opset 1": ("y = Selu(x)", 1, "y = Selu <alpha=1.6732, gamma=1.0507> (x)", 8),
    "one constant of Selu": ("y = Selu <gamma=2.0> (x)", 5, "y = Selu <alpha=1.6732, gamma=2.0> (x)", 17),
    "bounds that are stated": ("y = Clip <min=0.0, max=6.0> (x)", 1, "y = Clip <min=0.0, max=6.0> (x)", 8),
    "a normalization that does not train": (
        "y = BatchNormalization <is_test=1, spatial=1> (x, a, a, a, a)",
        6,
        "y = BatchNormalization(x, a, a, a, a)",
        8,
    ),
    "a Dropout that does not train": ("a = Dropout <is_test=1> (x) y = Neg(a)", 6, "y = Neg(x)", 8),
}


@pytest.mark.parametrize("name", SAME)
def test_what_a_default_was_is_what_is_stated(name: str, written: Written) -> None:
    before, old, after, new = SAME[name]
    data = {"a": floats(1, 2, 3)} if "(x, a" in before else {}
    one = written(unary(before, "[2,3,4]"), opset=old, **data)
    assert prove(one, written(unary(after, "[2,3,4]"), opset=new, **data)).reason is None


def test_an_older_default_is_kept_apart_from_the_newer_one(written: Written) -> None:
    node = unary("y = Selu(x)", "[2,3,4]")
    for old, new, same in ((1, 5, True), (5, 6, False), (6, 8, True)):
        assert prove(written(node, opset=old), written(node, opset=new)).proved == same
