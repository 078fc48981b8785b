"""Models that break the format's rules, or that no runtime takes: what is said of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import TensorProto, helper

from tests.support.asking import ask, refused
from tests.support.onnx.broken import cyclic, edited, functions, model, nested, serialized_with, with_raw, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


BROKEN: dict[str, tuple[Callable[[], bytes], str]] = {
    "cycle": (lambda: cyclic().SerializeToString(), "cycle: Add 'p' -> Add 'q' -> Add 'p'"),
    "own-result-read": (
        lambda: model("g (float[2] x) => (float[2] a) { a = Add(x, a) }").SerializeToString(),
        "cycle",
    ),
    "unsorted-body": (
        lambda: model(
            "g (bool c, float[2] x) => (float[2] y) { y = If(c)<then_branch = t () => (float[2] b) { b = Add(x, a)"
            " a = Relu(x) }, else_branch = e () => (float[2] d) { d = Relu(x) }> }"
        ).SerializeToString(),
        "'a', which a later node makes",
    ),
    "undefined-operand": (
        lambda: edited(lambda m: m.graph.node[0].input.__setitem__(1, "z")),
        "'z', which nothing makes",
    ),
    "undefined-output": (
        lambda: edited(lambda m: setattr(m.graph.output[0], "name", "z")),
        "no node makes the output 'z'",
    ),
    "unnamed-output": (lambda: edited(lambda m: setattr(m.graph.output[0], "name", "")), "no node makes the output ''"),
    "result-twice": (lambda: edited(lambda m: m.graph.node.append(m.graph.node[0])), "'y', a name that exists already"),
    "result-named-as-input": (
        lambda: edited(lambda m: m.graph.node[0].output.__setitem__(0, "x")),
        "'x', a name that exists already",
    ),
    "initializer-twice": (
        lambda: edited(lambda m: m.graph.initializer.append(m.graph.initializer[0])),
        "'b' is given twice",
    ),
    "input-twice": (lambda: edited(lambda m: m.graph.input.append(m.graph.input[0])), "'x' is given twice"),
    "value-from-a-branch": (
        lambda: model(
            "g (float[3] x, bool c) => (float[3] z) {"
            " y = If(c) <then_branch = t () => (float[3] a) { a = Relu(x) },"
            " else_branch = e () => (float[3] d) { d = Abs(x) }>"
            " z = Add(y, a) }"
        ).SerializeToString(),
        "'a', which nothing makes",
    ),
    "payload-too-short": (lambda: edited(with_raw(b"12345")), "'b' holds 5 bytes, its shape [3] asks for 12"),
    "payload-too-long": (lambda: edited(with_raw(bytes(16))), "'b' holds 16 bytes, its shape [3] asks for 12"),
    "large-payload-too-short": (
        lambda: edited(lambda m: (with_raw(bytes(8000))(m), m.graph.initializer[0].dims.__setitem__(0, 3000))),
        "holds 8000 bytes, its shape [3000] asks for 12000",
    ),
    "too-few-numbers": (lambda: edited(lambda m: m.graph.initializer[0].float_data.pop()), "holds 2 numbers"),
    "no-payload": (lambda: edited(lambda m: m.graph.initializer[0].ClearField("float_data")), "holds 0 numbers"),
    "shape-beyond-memory": (
        lambda: edited(lambda m: m.graph.initializer[0].dims.__setitem__(0, 2**62)),
        "asks for 46116",
    ),
    "negative-shape": (lambda: edited(lambda m: m.graph.initializer[0].dims.__setitem__(0, -3)), "has the shape [-3]"),
    "element-type-of-tensor": (
        lambda: edited(lambda m: setattr(m.graph.initializer[0], "data_type", 77)),
        "'b' has the unknown element type 77",
    ),
    "element-type-of-input": (
        lambda: edited(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77)),
        "'x' has the unknown element type 77",
    ),
    "name-not-utf-8": (lambda: serialized_with(b"bb", b"\xff\xfe"), "not UTF-8"),
    "operator-not-utf-8": (lambda: serialized_with(b"Add", b"\xff\xfe\xfd"), "not UTF-8"),
    "no-operator": (lambda: edited(lambda m: setattr(m.graph.node[0], "op_type", "")), "node 0 has no operator"),
    "three-operands": (lambda: edited(lambda m: m.graph.node[0].input.append("x")), "Add 'Add#0' has 3 operands"),
    "one-operand": (lambda: edited(lambda m: m.graph.node[0].input.pop()), "Add 'Add#0' has 1 operands"),
    "absent-operand": (
        lambda: edited(lambda m: m.graph.node[0].input.__setitem__(1, "")),
        "Add 'Add#0' has no operand 1",
    ),
    "attribute-twice": (
        lambda: edited(lambda m: m.graph.node[0].attribute.extend([helper.make_attribute("k", 1)] * 2)),
        "an attribute twice",
    ),
    "attribute-of-wrong-type": (
        lambda: edited(
            lambda m: (
                m.graph.node[0].attribute.append(helper.make_attribute("axis", "one")),
                setattr(m.graph.node[0], "op_type", "Softmax"),
                m.graph.node[0].input.pop(),
            )
        ),
        "has the type STRING, the operator asks for INT",
    ),
    "attribute-missing": (
        lambda: edited(lambda m: (setattr(m.graph.node[0], "op_type", "Cast"), m.graph.node[0].input.pop())),
        "Cast 'Cast#0' has no attribute 'to'",
    ),
    "ir-version-0": (lambda: edited(lambda m: setattr(m, "ir_version", 0)), "IR version is 0"),
    "no-ir-version": (lambda: edited(lambda m: m.ClearField("ir_version")), "no ir_version"),
    "no-opset": (lambda: edited(lambda m: m.ClearField("opset_import")), "no opset_import"),
    "no-graph": (lambda: edited(lambda m: m.ClearField("graph")), "no graph"),
    "opset-0": (lambda: edited(lambda m: setattr(m.opset_import[0], "version", 0)), "version below 1"),
    "opset-99": (
        lambda: edited(lambda m: setattr(m.opset_import[0], "version", 99)),
        "version 99 of the standard operators",
    ),
    "opset-of-another-domain": (
        lambda: edited(lambda m: setattr(m.opset_import[0], "domain", "d")),
        "standard operators",
    ),
    "function-that-calls-itself": (lambda: functions(3, closed=True).SerializeToString(), "calls itself"),
    "functions-1500-deep": (lambda: functions(1500).SerializeToString(), "1500 deep"),
}


@pytest.mark.alike(2)
@pytest.mark.parametrize("name", BROKEN)
def test_a_model_that_breaks_the_format_is_refused_by_what_is_wrong(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build, words = BROKEN[name]
    path = tmp_path / "m.onnx"
    path.write_bytes(build())
    for argv in (
        ("check", path),
        ("show", path),
        ("fix", path, "-o", tmp_path / "o.onnx", "--no-verify"),
        ("fix", path, "-o", tmp_path / "o.onnx"),
        ("fix", path, "--in-place"),
    ):
        line = refused(capsys, tmp_path, *argv)
        assert str(path) in line
        assert words in line


INCOMPATIBLE = {
    "two": ("Mul(x, z)", "float[2,3] x, float[4,3] z", ["Mul 'n'", "[2, 3]", "[4, 3]"]),
    "three": ("Max(x, z, w)", "float[2] x, float[1] z, float[3] w", ["Max 'n'", "[2]", "[1]", "[3]"]),
    "gemm": ("Gemm(x, z, w)", "float[2,3] x, float[3,4] z, float[5] w", ["Gemm 'n'", "[5]", "[2, 4]"]),
    "matmul-batch": ("MatMul(x, z)", "float[2,3,4] x, float[5,4,4] z", ["MatMul 'n'", "[2, 3, 4]", "[5, 4, 4]"]),
    "symbol": ("Add(x, z)", "float[N,2] x, float[N,3] z", ["Add 'n'", "[N, 2]", "[N, 3]"]),
}


@pytest.mark.parametrize("name", INCOMPATIBLE)
def test_shapes_that_never_broadcast_are_refused_with_operator_and_shapes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call, inputs, words = INCOMPATIBLE[name]
    path = tmp_path / "m.onnx"
    path.write_bytes(model(f"g ({inputs}) => (float[] y) {{ [n] y = {call} }}").SerializeToString())
    for argv in (("check", path), ("fix", path, "-o", tmp_path / "o.onnx"), ("check", path, "--target", "ranks")):
        line = refused(capsys, tmp_path, *argv)
        assert "GF105" in line
        assert all(word in line for word in [*words, str(path)])


# --- models that are odd, and answered -------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.needs_release("onnxruntime>=1.31")  # an older one needs minutes for such depths
def test_nested_bodies_are_fixed_as_deep_as_protobuf_reads_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(nested(30).SerializeToString())
    assert ask(capsys, "fix", path, "-o", tmp_path / "o.onnx").status == 0
    assert ask(capsys, "check", tmp_path / "o.onnx").status == 0


def test_bodies_nested_deeper_than_protobuf_reads_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(wrapped(60))
    assert str(path) in refused(capsys, tmp_path, "check", path)
    assert str(path) in refused(capsys, tmp_path, "fix", path, "-o", tmp_path / "o.onnx")


@pytest.mark.ci
def test_a_name_of_two_megabytes_is_no_reason_to_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(edited(lambda m: setattr(m.graph.node[0], "name", "n" * 2_000_000)))
    assert ask(capsys, "fix", path, "-o", tmp_path / "o.onnx").status == 0
    assert [len(node.name) for node in onnx.load(tmp_path / "o.onnx").graph.node if node.op_type == "Add"] == [
        2_000_000
    ]


def test_an_error_shows_the_beginning_of_a_long_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(edited(lambda m: m.graph.node[0].input.__setitem__(0, "n" * 2_000_000)))
    assert len(refused(capsys, tmp_path, "check", path)) < 1000


def test_a_name_cannot_write_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    name = "a\n\x1b[31mb\r\u2028"
    path.write_bytes(edited(lambda m: (setattr(m.graph.node[0], "name", name), m.graph.node[0].input.append("x"))))
    line = refused(capsys, tmp_path, "check", path)
    assert line.isprintable()


def test_what_no_runtime_takes_is_proved_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(edited(lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", TensorProto.INT64)))
    answer = ask(capsys, "fix", path, "-o", tmp_path / "o.onnx")
    assert answer.status == 0
    assert "proved for all inputs and sizes; " in answer.out  # and why nothing was run
    onnx.load(tmp_path / "o.onnx")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda m: setattr(m.graph.node[0], "op_type", "Nope"), id="operator-nobody-knows"),
        pytest.param(lambda m: m.graph.node.pop() and m.graph.output.pop(), id="no-nodes-and-no-outputs"),
    ],
)
def test_what_no_runtime_takes_and_nothing_changes_is_copied(
    change: Callable[[onnx.ModelProto], object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    path.write_bytes(edited(change))
    answer = ask(capsys, "fix", path, "-o", out, "--json")
    assert answer.status == 0
    assert json.loads(answer.out)["verdict"]["status"] == "proved"
    assert out.read_bytes() == path.read_bytes()
    assert ask(capsys, "verify", path, out).status == 0


def test_a_node_without_results_that_no_schema_forbids_is_no_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    path.write_bytes(edited(lambda m: m.graph.node.append(helper.make_node("Nope", ["x"], []))))
    for argv in (("check", path), ("show", path), ("fix", path, "-o", out, "--no-verify")):
        assert ask(capsys, *argv).status in {0, 1}
    assert onnx.load(out).graph.node[-1].op_type == "Nope"


def test_a_stored_size_that_is_no_utf_8_names_nothing_and_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    graph = "g (float[N,3] x, float[3] b) => (float[N,3] z) <float[SSSS,3] y> { y = Add(x, b) z = Relu(y) }"
    path.write_bytes(model(graph).SerializeToString().replace(b"SSSS", b"\xff\xfe\x80S"))
    assert ask(capsys, "check", path).status == 1
    assert ask(capsys, "fix", path, "-o", out).status == 0
    assert b"\xff\xfe\x80S" in out.read_bytes()


ODD_SHAPES = {
    "transpose-by-what-is-no-permutation": "t = Transpose <perm = [7, 7]> (x)",
    "unsqueeze-one-axis-twice": "a = Constant <value = int64[2] {0, 0}> () t = Unsqueeze(x, a)",
    "unsqueeze-far-away": "a = Constant <value = int64[1] {77}> () t = Unsqueeze(x, a)",
    "squeeze-of-a-scalar": "a = Constant <value = int64[1] {0}> () s = ReduceSum <keepdims = 0> (x) t = Squeeze(s, a)",
    "reshape-to-less-than-nothing": "a = Constant <value = int64[3] {-1, -1, -7}> () t = Reshape(x, a)",
    "expand-to-less-than-nothing": "a = Constant <value = int64[2] {-4, 3}> () t = Expand(x, a)",
    "gather-past-the-end": "a = Constant <value_ints = [9]> () s = Shape(x) g = Gather(s, a) t = ConstantOfShape(g)",
    "concat-of-other-ranks": "a = ReduceSum <keepdims = 0> (x) t = Concat <axis = 9> (x, a)",
    "softmax-of-no-axis": "t = Softmax <axis = 99> (x)",
}


@pytest.mark.ci
@pytest.mark.parametrize("name", ODD_SHAPES)
def test_an_operator_that_can_never_run_is_no_crash(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(
        model(f"g (float[2,3] x) => (float[] y) {{ {ODD_SHAPES[name]} y = Add(x, t) }}").SerializeToString()
    )
    for argv in (("check", path), ("show", path, "--maps"), ("fix", path, "-o", tmp_path / "o.onnx")):
        answer = ask(capsys, *argv)
        assert answer.status in {0, 1, 2, 3}
        assert len(answer.lines) <= 1
    # no runtime takes it: what is written is proved to say the same
    assert (
        not (tmp_path / "o.onnx").exists()
        or ask(capsys, "verify", path, tmp_path / "o.onnx", "--proof-only").status == 0
    )
