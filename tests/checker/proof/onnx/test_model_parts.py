"""What of an ONNX file besides its graph the second file may hold: the parts of two models are compared alone."""

from __future__ import annotations

from collections.abc import Callable

import onnx.parser
import pytest
from onnx import ModelProto, TensorProto, helper

from graphfix.checker.proof.onnx.closed_world.external_operands import moved_operand
from graphfix.checker.proof.onnx.closed_world.model_parts import is_of_runtimes, key_of, unlisted

Change = Callable[[ModelProto], object]
HEAD = '<ir_version: 8, opset_import: ["" : 17, "local" : 1]>\n'
PLAIN = HEAD + "g (float[2] x) => (float[2] y) { y = Neg(x) }"
F = '<domain: "local", opset_import: ["" : 17]> F (a) => (b) { b = Relu(a) }'
CALL = HEAD + "g (float[2] x) => (float[2] y) { y = local.F(x) }\n" + F


def imported(domain: str, version: int) -> Change:
    """Import a domain in another version, or one that is not imported yet."""

    def change(model: ModelProto) -> None:
        entry = next((each for each in model.opset_import if each.domain == domain), None) or model.opset_import.add()
        entry.domain, entry.version = domain, version

    return change


def function(text: str) -> Change:
    """Put another function in the place of all."""

    def change(model: ModelProto) -> None:
        del model.functions[:]
        model.functions.append(onnx.parser.parse_function(text))

    return change


def both(*changes: Change) -> Change:
    return lambda model: [change(model) for change in changes]


def annotated(name: str, scale: str) -> Change:
    def change(model: ModelProto) -> None:
        noted = model.graph.quantization_annotation.add(tensor_name=name)
        noted.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value=scale)

    return change


def nothing(_: ModelProto) -> None:
    """Leave the file as it is."""


VERSIONS: dict[str, tuple[Change, Change, str | None]] = {
    "nothing": (nothing, nothing, None),
    "a later form": (nothing, lambda m: setattr(m, "ir_version", 10), None),
    "a form that some runtime lacks": (
        nothing, lambda m: setattr(m, "ir_version", 11), "the IR version 11, the first 8"),
    "the same form that some runtime lacks": (
        lambda m: setattr(m, "ir_version", 11), lambda m: setattr(m, "ir_version", 11), None),
    "an older form": (nothing, lambda m: setattr(m, "ir_version", 7), "the IR version 7, the first 8"),
    "no form": (nothing, lambda m: m.ClearField("ir_version"), "the IR version 0, the first 8"),
    "a form of 0": (lambda m: m.ClearField("ir_version"), lambda m: setattr(m, "ir_version", 0), "the IR version 0"),
    "a later set": (nothing, imported("", 21), None),
    "a set that some runtime lacks": (nothing, imported("", 22), "imports the operator set '' 22"),
    "the same set that some runtime lacks": (imported("", 22), imported("", 22), None),
    "an older set": (nothing, imported("", 16), "imports the operator set '' 16"),
    "the standard set for the first time": (
        lambda m: m.opset_import.pop(0), lambda m: m.opset_import.pop(0) and m.opset_import.add(version=7), None),
    "the standard set for the first time, before all runtimes": (
        lambda m: m.opset_import.pop(0), lambda m: m.opset_import.pop(0) and m.opset_import.add(version=6),
        "imports the operator set '' 6"),
    "the standard set twice": (nothing, lambda m: m.opset_import.add(version=18), "the operator set '' 18"),
    "the standard set by its other name": (nothing, imported("ai.onnx", 17), "the operator set 'ai.onnx' 17"),
    "another version of another set": (nothing, imported("local", 2), "the operator set 'local' 2"),
    "another set": (nothing, imported("more", 1), "the operator set 'more' 1"),
    "a set less": (nothing, lambda m: m.opset_import.pop(), None),
    "metadata": (nothing, lambda m: m.metadata_props.add(key="a", value="b"), "holds metadata"),
    "other metadata": (
        lambda m: m.metadata_props.add(key="a", value="c"), lambda m: m.metadata_props.add(key="a", value="b"),
        "holds metadata"),
    "the same metadata": (
        lambda m: m.metadata_props.add(key="a", value="b"), lambda m: m.metadata_props.add(key="a", value="b"), None),
    "metadata less": (lambda m: m.metadata_props.add(key="a", value="b"), nothing, None),
    "what fix writes": (nothing, lambda m: m.metadata_props.add(key="graphfix.assumes", value="b"), None),
    "a device": (nothing, lambda m: m.configuration.add(name="a"), "holds configurations of devices"),
    "an annotation": (nothing, annotated("x", "s"), "holds annotations of quantization"),
    "an annotation of another value": (annotated("x", "s"), annotated("y", "s"), None),
    "another annotation": (annotated("x", "s"), annotated("x", "t"), "holds annotations of quantization"),
    "an annotation less": (annotated("x", "s"), nothing, None),
}  # fmt: skip
OWN = F.replace("F (a)", "G (a)")
FUNCTIONS: dict[str, tuple[Change, Change, str, str, str | None]] = {
    "the same": (nothing, nothing, "F", "F", None),
    "the same, called by none": (nothing, nothing, "", "", None),
    "the same, called by the first": (nothing, nothing, "F", "", None),
    "the same, called by the second alone": (nothing, function(F), "", "F", None),
    "another that is called": (nothing, function(F.replace("Relu", "Neg")), "F", "F", None),
    "another that is not called": (
        nothing, function(F.replace("Relu", "Neg")), "F", "", "'F' of the second file is none of the first"),
    "a new one that is called": (nothing, function(OWN), "F", "G", None),
    "a new one that is not called": (nothing, function(OWN), "F", "F", "'G' of the second file is none of the first"),
    "twice": (
        nothing, lambda m: m.functions.append(m.functions[0]), "F", "F", "'F' of the second file is defined twice"),
    "twice in both": (
        lambda m: m.functions.append(m.functions[0]), lambda m: m.functions.append(m.functions[0]), "F", "F", None),
    "a new one twice": (
        nothing, both(function(OWN), lambda m: m.functions.append(m.functions[0])), "F", "G", "is defined twice"),
    "in a domain of runtimes": (
        imported("com.microsoft", 1),
        both(imported("com.microsoft", 1), function(OWN.replace('"local"', '"com.microsoft"'))), "F",
        "ms",
        "'G' of the second file is in a domain whose operators"),
    "two operands of one name": (nothing, function(OWN.replace("(a) =>", "(a, a) =>")), "F", "G", "has two operands"),
    "two results of one name": (nothing, function(OWN.replace("(b)", "(b, b)")), "F", "G", "has two operands"),
    "two attributes of one name": (
        nothing, function(OWN.replace("G (a)", "G <s, s> (a)")), "F", "G", "has two operands"),
    "an operand without a name": (
        nothing, both(function(OWN), lambda m: m.functions[0].input.append("")), "F", "G", "has two operands"),
    "a result that no node computes": (
        nothing, function(OWN.replace("=> (b)", "=> (b, c)")), "F", "G", "returns what none of its nodes computes"),
    "an operand that is returned": (nothing, function(OWN.replace("=> (b)", "=> (a)")), "F", "G", "returns what none"),
    "the name of an operator": (
        nothing, function(OWN.replace("G (a)", "Add (a)")), "F", "Add", "has the name of an op"),
    "a domain that is not imported": (
        nothing, lambda m: m.opset_import.pop(), "F", "F",
        "'F' of the second file is in a domain that the file does not"),
    "a domain that neither imports": (
        lambda m: m.opset_import.pop(), lambda m: m.opset_import.pop(), "F", "F", None),
    "a new one in a domain that neither imports": (
        lambda m: m.opset_import.pop(), both(lambda m: m.opset_import.pop(), function(OWN)), "F", "G",
        "is in a domain that"),
    "a set that the file does not import": (
        nothing, function(OWN.replace('["" : 17]', '["" : 17, "more" : 1]')), "F", "G",
        "imports the operator set 'more' 1"),
    "another version of a set": (
        nothing, function(OWN.replace('["" : 17]', '["" : 16]')), "F", "G", "imports the operator set '' 16"),
    "the set of the first file, whose own was raised": (nothing, imported("", 18), "F", "F", "the operator set '' 17"),
    "another set than the file's, as in the first": (
        function(F.replace("17", "16")), function(F.replace("17", "16")), "F", "F", None),
    "another set than the first's function": (
        function(F.replace("17", "16")), function(F.replace("17", "15")), "F", "F", "the operator set '' 15"),
}  # fmt: skip


def changed(text: str, change: Change) -> ModelProto:
    model = onnx.parser.parse_model(text)
    change(model)
    return model


def check(found: str | None, expected: str | None) -> None:
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert expected in found


@pytest.mark.parametrize(("before", "after", "reason"), VERSIONS.values(), ids=VERSIONS)
def test_versions_metadata_and_annotations(before: Change, after: Change, reason: str | None) -> None:
    check(unlisted(changed(PLAIN, before), changed(PLAIN, after), ([], [])), reason)


@pytest.mark.parametrize(("before", "after", "first", "second", "reason"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions(before: Change, after: Change, first: str, second: str, reason: str | None) -> None:
    one, two = changed(CALL, before), changed(CALL, after)
    called = tuple([("com.microsoft", "G", "") if name == "ms" else ("local", name, "")] for name in (first, second))
    check(unlisted(one, two, (called[0], called[1])), reason)


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("", True), ("ai.onnx", True), ("ai.onnx.ml", True), ("com.microsoft", True), ("com.ms.internal.nhwc", True),
        ("org.pytorch.aten", True), ("local", False), ("com.example", False),
    ],
)  # fmt: skip
def test_the_domains_of_runtimes(domain: str, expected: bool) -> None:
    assert is_of_runtimes(domain) is expected


def test_a_function_is_called_by_domain_name_and_overload() -> None:
    made = onnx.parser.parse_function(F)
    assert key_of(made) == ("local", "F", "")
    made.domain, made.overload = "ai.onnx", "o"
    assert key_of(made) == ("", "F", "o")


Stored = tuple[int, tuple[int, ...]]
"""The type and the dims of a constant in a data file."""
INT64, INT32, FLOAT = TensorProto.INT64, TensorProto.INT32, TensorProto.FLOAT
MOVED: dict[str, tuple[Stored | None, Stored, str, bool]] = {
    "a shape": (None, (INT64, (2,)), "Reshape", True),
    "a shape that was there": ((INT64, (2,)), (INT64, (2,)), "Reshape", False),
    "a shape that was there with a unit axis": ((INT64, (2,)), (INT64, (1, 2)), "Reshape", False),
    "a shape of another length": ((INT64, (3,)), (INT64, (2,)), "Reshape", True),
    "a shape of another type": ((INT32, (2,)), (INT64, (2,)), "Reshape", True),
    "a long vector": (None, (INT64, (500,)), "Split", True),
    "a matrix": (None, (INT64, (2, 2)), "Reshape", False),
    "a vector with unit axes": (None, (INT64, (1, 2, 1)), "Reshape", True),
    "integers of 32 bits": (None, (INT32, (64,)), "Add", True),
    "more integers of 32 bits": (None, (INT32, (65,)), "Add", False),
    "integers of 16 bits": (None, (TensorProto.INT16, ()), "Range", True),
    "bytes": (None, (TensorProto.INT8, ()), "Range", False),
    "scales": (None, (FLOAT, (8,)), "Resize", True),
    "more scales": (None, (FLOAT, (9,)), "Resize", False),
    "a float that is not read": (None, (FLOAT, ()), "Add", False),
    "a float of an operator that may pass it on": (None, (FLOAT, ()), "local.Mine", True),
    **{f"a float of {op}": (None, (FLOAT, ()), op, True) for op in (
        "Upsample", "Range", "OneHot", "Identity", "Loop", "Scan")},
    **{f"floats of type {kind}": (None, (kind, ()), "Range", True) for kind in (
        TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16)},
}  # fmt: skip


@pytest.mark.parametrize(("before", "after", "op", "moved"), MOVED.values(), ids=MOVED)
def test_a_constant_that_inference_reads_stays_in_the_file(
    before: Stored | None, after: Stored, op: str, moved: bool
) -> None:
    def model(stored: Stored | None) -> ModelProto:
        domain, _, name = op.rpartition(".")
        node = helper.make_node(name, ["x", "c"], ["y"], domain=domain)
        graph = helper.make_graph([node], "g", [], [])
        if stored is not None:
            tensor = graph.initializer.add(name="c", data_type=stored[0], dims=stored[1])
            tensor.data_location = TensorProto.EXTERNAL
            tensor.external_data.add(key="location", value="weights")
        return helper.make_model(graph)

    found = moved_operand(model(before), model(after))
    assert (found is not None) is moved
    assert found is None or "'c'" in found
