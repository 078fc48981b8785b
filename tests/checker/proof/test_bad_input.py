"""Damaged files put to a proof alone: refused in one line, not proved, or proved where the damage means nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ai_edge_litert.schema_py_generated as schema
import onnx
import pytest
from onnx import TensorProto

from graphfix import api
from graphfix.results import GraphfixError
from models.builders.tflite.text import pack
from tests.support.asking import ask
from tests.support.faults.damaged import End, proofs
from tests.support.onnx.broken import ADD, functions, model
from tests.support.places import MODELS, committed_models
from tests.support.proving import prove
from tests.support.tiers import tiered
from tests.support.written import Written

if TYPE_CHECKING:
    from collections.abc import Sequence

Made = Callable[[], bytes]
ZOO = MODELS / "zoo"
FILES = committed_models()
FEW = (
    *("encoder.onnx", "explicit/expand_forms.onnx", "bodies/loop.onnx", "quantized/qdq.onnx", "legacy/axis.onnx"),
    *("bodies/function_nested.onnx", "bodies/while.tflite", "explicit/run_time_form.tflite"),
    *("operators/select_ranks.tflite", "quantized/per_channel.tflite"),
)
REAL = (ZOO / "tflite-micro" / "sine_float.tflite", ZOO / "basic-pitch" / "nmp.tflite")


def fault(end: End) -> str | None:
    """What is wrong with the end of a proof, if anything."""
    out, err = end.out.splitlines(), end.err.splitlines()
    if end.status == 2:
        return None if not out and len(err) == 1 and err[0].startswith("graphfix: ") else "not one line"
    if err or end.status not in (0, 3):
        return "words, or another status"
    answer = out[0].partition(": ")[2] if out else ""
    undecided = "undecided: nothing was run, and the load was not observed; not proved: "
    words = "proved for all inputs and sizes" if end.status == 0 else undecided
    return None if answer.startswith(words) else "another answer"


def assert_all_end_well(models: Sequence[Path], count: int, seed: int) -> None:
    ends = proofs(models, count, seed)
    assert len(ends) == count * len(models)
    wrong = [(why, end) for end in ends if (why := fault(end)) is not None]
    assert not wrong, wrong[:3]
    assert {end.status for end in ends} == {0, 2, 3}  # names that nobody reads, no models, and other models


@pytest.mark.parametrize("count", [4, pytest.param(12, marks=pytest.mark.ci)])
def test_a_damaged_file_ends_a_proof_in_one_line(count: int) -> None:
    assert_all_end_well([MODELS / name for name in FEW], count, seed=1)


@pytest.mark.full
@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_any_damaged_file_ends_a_proof_in_one_line(suffix: str) -> None:
    assert_all_end_well([path for path in FILES if path.suffix == suffix], 20, seed=2)


@pytest.mark.full
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem, marks=pytest.mark.zoo) for path in REAL])
def test_a_damaged_real_model_ends_a_proof_in_one_line(path: Path) -> None:
    assert_all_end_well([path], 300, seed=3)


def test_what_is_wrong_with_an_end_is_reported() -> None:
    right = End("m", 0, "good bad", 2, "", "graphfix: m: no model\n")
    assert fault(right) is None
    for status, out, err in ((99, "", "Traceback\n"), (-6, "", ""), (1, "a, b: different: x\n", ""), (0, "", ""),
                             (2, "", "one\ntwo\n"), (3, "a, b: undecided: nothing was run\n", "")):  # fmt: skip
        assert fault(End("m", 0, "good bad", status, out, err)) is not None


# --- what damage has brought to light ---------------------------------------------------------------------------------


def cut(text: str) -> Made:
    """A model whose last node has lost its last operand."""

    def made() -> bytes:
        broken = model(text)
        del broken.graph.node[-1].input[-1]
        return broken.SerializeToString()

    return made


def changed(change: Callable[[onnx.ModelProto], object]) -> Made:
    def made() -> bytes:
        broken = model(ADD)
        change(broken)
        return broken.SerializeToString()

    return made


def not_utf8(name: str, text: str = "g (float[2,3] x) => (float[2,3] y) { y = Gemmmm <marked = 1> (x) }") -> Made:
    """A model in which six letters of a name are bytes of no text."""
    return lambda: model(text).SerializeToString().replace(name.encode(), b"\xff" * len(name))


def held_elsewhere(**entries: str) -> Made:
    def change(made: onnx.ModelProto) -> None:
        tensor = made.graph.initializer[0]
        tensor.ClearField("float_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, text in entries.items():
            tensor.external_data.add(key=key, value=text)

    return changed(change)


def doubling() -> bytes:
    """Functions that call the next one twice, 40 deep: a small file of 2**40 nodes."""
    made = functions(40)
    for function in made.functions[:-1]:
        again = onnx.NodeProto()
        again.CopyFrom(function.node[0])
        function.node[0].output[0] = again.input[0] = "between"
        function.node.append(again)
    return made.SerializeToString()


def tagged(number: int, body: bytes) -> bytes:
    size, digits = len(body), bytearray()
    while size > 127:
        digits.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *digits, size]) + body


def messages(depth: int) -> bytes:
    """A model of bodies in attributes in nodes, each the only one of its kind."""
    graph = tagged(10, b"a description that is too long to be left where it is" * 40)
    for _ in range(depth):
        graph = tagged(1, tagged(5, tagged(6, graph)))
    return tagged(7, graph) + tagged(8, b"\x10\x11")


SAME = "proved for all inputs and sizes"
"""A node that no runtime takes, in both files: what it says is the same."""
LOOP = "g (int64 n, bool c, float[2] x) => (float[2] y) { y = Loop(n, c, x) }"
GIVEN: dict[str, tuple[Made, int, str]] = {
    "a-target-that-is-not-given": (
        cut("g (float[2,3] x, int64[2] s) => (float[2,3] y) { y = Expand(x, s) }"), 0, SAME),
    "a-shape-that-is-not-given": (
        cut("g (float[2,3] x, int64[2] s) => (float[2,3] y) { y = Reshape(x, s) }"), 0, SAME),
    "a-matrix-that-is-not-given": (
        cut("g (float[2,3] x, float[3,4] w) => (float[2,4] y) { y = MatMul(x, w) }"), 0, SAME),
    "a-loop-without-a-body": (lambda: model(LOOP).SerializeToString(), 3, "Loop#0 has no body; check the model"),
    "a-scan-without-a-body": (
        lambda: model(LOOP.replace("Loop", "Scan")).SerializeToString(), 3, "Scan#0 has no body; check the model"),
    "a-constant-of-another-type": (
        lambda: model("g () => (float y) { y = Constant <value_float = 1> () }").SerializeToString(), 3,
        "holds no constant of a known form; check the model"),
    "an-operator-set-beyond-all": (changed(lambda m: setattr(m.opset_import[0], "version", 1 << 62)), 0, SAME),
    "an-operator-that-is-no-text": (not_utf8("Gemmmm"), 0, SAME),
    "an-attribute-that-is-no-text": (not_utf8("marked"), 3, "is not UTF-8; check the model"),
    "a-size-that-is-no-text": (
        not_utf8("batchh", "g (float[batchh,3] x, float[N,3] b) => (float[M,3] y) { y = Add(x, b) }"), 0, SAME),
    "a-type-that-no-tensor-has": (
        changed(lambda m: setattr(m.graph.initializer[0], "data_type", 77)), 3,
        "the constant 'b' has the type 77, which onnx does not know"),
    "fewer-numbers-than-the-shape": (
        changed(lambda m: m.graph.initializer[0].float_data.pop()), 2,
        "'b' does not hold the elements that its shape [3] asks for; export it again"),
    "an-offset-that-is-no-number": (
        held_elsewhere(location="w.bin", offset="0x8"), 2, "'b' states '0x8' as a place in its file"),
    "a-location-with-a-nul": (held_elsewhere(location="w\0bin"), 2, "'b' lies at 'w\\x00bin', which names no file"),
    "a-location-that-is-an-address": (
        held_elsewhere(location="*/_ORT_MEM_ADDR_/*"), 2, "'*/_ORT_MEM_ADDR_/*': onnxruntime reads memory there"),
    "a-location-that-is-missing": (held_elsewhere(location="gone.bin"), 2, "at 'gone.bin', which can't be read: No"),
    "a-location-that-is-a-pipe": (held_elsewhere(location="pipe"), 2, "of 'b' lies at 'pipe', which is not a file"),
    "an-offset-of-5000-digits": (
        held_elsewhere(location="w.bin", offset="9" * 5000), 2, ".. as a place in its file; give a number of bytes"),
    "a-location-out-of-the-folder": (
        held_elsewhere(location="../w.bin"), 2, "at '../w.bin', out of the model's folder; copy it into the folder"),
    "a-range-behind-the-end": (held_elsewhere(location="w.bin", offset="9"), 2, "w.bin: holds 0 bytes from 9 on"),
    "functions-that-double": (doubling, 3, "too large to decide"),
    "functions-that-call-themselves": (
        lambda: functions(3, closed=True).SerializeToString(), 3, "is nested too deeply to be read"),
    "messages-in-messages": (lambda: messages(2000), 2, "no ONNX model: "),
    "nothing": (lambda: b"", 2, "the file is empty; get the file again"),
    "a-pointer-of-git-lfs": (
        lambda: b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n", 2, "git lfs pull"),
}  # fmt: skip
"""A file, the exit status of its proof, and what is said."""


@pytest.mark.parametrize("name", tiered(GIVEN, lambda name: name != "functions-that-double"))
def test_a_broken_onnx_model_is_reported_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, status, words = GIVEN[name]
    data = make()
    (tmp_path / "w.bin").write_bytes(bytes(4))
    os.mkfifo(tmp_path / "pipe")
    paths = tmp_path / "bad.onnx", tmp_path / "worse.onnx"
    paths[0].write_bytes(data)
    paths[1].write_bytes(data + (b"\x12\x01x" if data else b""))  # who made it is no part of it, but of the bytes
    answer = ask(capsys, "verify", "--proof-only", *paths)
    end = End(name, 0, "bad bad", answer.status, answer.out, answer.err)
    assert fault(end) is None, answer
    assert answer.status == status, answer
    assert words in answer.out + answer.err


def without_operands(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    made.subgraphs[0].operators[0].inputs = []


def with_fewer_operands(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    operator = made.subgraphs[0].operators[0]
    operator.inputs = operator.inputs[:-1]


def naming(tensor: int, where: str) -> Callable[[Any], None]:
    def change(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
        graph = made.subgraphs[0]
        setattr(graph if hasattr(graph, where) else graph.operators[0], where, [tensor])

    return change


def run_by_itself(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    for operator in made.subgraphs[0].operators:
        if operator.builtinOptionsType == schema.BuiltinOptions.IfOptions:
            operator.builtinOptions.thenSubgraphIndex = 0


CHANGED: dict[str, tuple[str, Callable[[Any], None], int, str]] = {
    "a-stretch-of-nothing": ("explicit/broadcast_to_no_op", without_operands, 0, SAME),
    "a-choice-of-one": ("operators/select_scalar", with_fewer_operands, 0, SAME),
    "an-input-that-is-missing": ("explicit/tile", naming(99, "inputs"), 2, "no TFLite model: tensor 99 is named, and"),
    "an-output-that-is-missing": (
        "explicit/tile",
        naming(99, "outputs"),
        2,
        "no TFLite model: tensor 99 is named, and",
    ),
    "an-output-that-is-none": ("explicit/tile", naming(-1, "outputs"), 2, "no TFLite model: tensor -1 is named, and"),
    "a-body-that-runs-itself": ("bodies/if", run_by_itself, 3, ""),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_broken_tflite_model_is_reported_in_one_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, change, status, words = CHANGED[name]
    made = schema.ModelT.InitFromPackedBuf((MODELS / f"{source}.tflite").read_bytes(), 0)
    change(made)
    paths = tmp_path / "bad.tflite", tmp_path / "worse.tflite"
    paths[0].write_bytes(pack(made))
    paths[1].write_bytes(paths[0].read_bytes() + bytes(4))  # what is behind the tables is no part of it
    answer = ask(capsys, "verify", "--proof-only", *paths)
    assert fault(End(name, 0, "bad bad", answer.status, answer.out, answer.err)) is None, answer
    assert answer.status == status, answer
    assert words in answer.out + answer.err


# --- what is asked for ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "suffix"), [(b"", ".onnx"), (b"\x3a\x50no\0", ".onnx"), (b"\x10\0\0\0TFL3\xff\xff", ".tflite")]
)
def test_what_is_no_model_is_no_proved_copy(
    data: bytes, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = tmp_path / f"a{suffix}", tmp_path / f"b{suffix}"
    for path in paths:
        path.write_bytes(data)
    answer = ask(capsys, "verify", "--proof-only", *paths)
    assert (answer.status, len(answer.lines)) == (2, 1), answer
    assert "get the file again" in answer.err


def test_a_copy_whose_weights_are_gone_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = tmp_path / "a.onnx", tmp_path / "b.onnx"
    for path in paths:
        path.write_bytes(held_elsewhere(location="gone.bin")())
    answer = ask(capsys, "verify", "--proof-only", *paths)
    assert answer.status == 2
    gone = "the data of 'b' lies at 'gone.bin', which can't be read: No such file or directory; restore the file"
    assert answer.lines == [f"graphfix: {paths[0]}: {gone}"]


ASKED = {
    "a-dim-of-no-input": (("--dim", "nope=3"), "--dim nope: no input has a dim of that name; free: "),
    "a-shape-of-no-input": (("--shape", "nope=3"), "there is no input 'nope'; inputs: "),
    "inputs": (("--inputs", "x.npz"), "--proof-only runs nothing: leave out --inputs, --atol and --rtol"),
    "a-tolerance": (("--atol", "0.1"), "--proof-only runs nothing: leave out --inputs, --atol and --rtol"),
}


@pytest.mark.parametrize("model_name", ["encoder.onnx", "operators/custom.tflite", "rfc/dynamic_2d.tflite"])
@pytest.mark.parametrize("name", ASKED)
def test_what_a_proof_can_make_no_use_of_is_refused(
    model_name: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options, words = ASKED[name]
    path = MODELS / model_name
    after = tmp_path / path.name
    api.fix_file(path, after, check_result=False)
    answer = ask(capsys, "verify", "--proof-only", path, after, *options)
    assert (answer.status, answer.out, len(answer.lines)) == (2, "", 1), answer
    assert words in answer.err


@pytest.mark.parametrize("way", [["--proof-only"], []], ids=["by the proof", "by the runs"])
def test_an_axis_that_is_not_free_is_named(
    written: Written, capsys: pytest.CaptureFixture[str], way: list[str]
) -> None:
    path = written("g (float[2,N] x) => (float[2,N] y) { y = Neg(x) }")
    for option, why in (
        ("x[0]=3", "axis 0 of 'x' is static: its size is 2 in the file; leave this option out"),
        ("x[4]=3", "'x' has 2 axes, numbered from 0"),
    ):
        asked = ask(capsys, "verify", *way, path, path, "--dim", option)
        assert (asked.status, asked.lines) == (2, [f"graphfix: {path}: {why}"])


def test_a_shape_that_the_input_does_not_have_is_no_size_to_prove_at(
    written: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [written(f"g (float[2,N] x) => (float[2,N] y) {{ {way}y = Neg(x) }}") for way in ("", "z = Abs(x) ")]
    rank = ask(capsys, "verify", "--proof-only", *paths, "--shape", "x=2")
    what = "input 'x' has rank 2; the shape [2] has 1; give one for each axis"
    assert (rank.status, rank.lines) == (2, [f"graphfix: {paths[0]}: {what}"])
    size = ask(capsys, "verify", "--proof-only", *paths, "--shape", "x=3,4")
    assert size.status == 3
    assert "not proved: no size fits: the input 'x' is [2, 'N'], and [3, 4] is asked for" in size.out


def test_a_verdict_says_what_it_assumes(written: Written, capsys: pytest.CaptureFixture[str]) -> None:
    text = "g (float[N] x, float[N] w) => (float[N] y) {{ {}y = Add(x, w) }}"
    paths = [written(text.format(way)) for way in ("", "s = Shape(x) ")]
    answer = ask(capsys, "verify", "--proof-only", *paths)
    assert answer.status == 0
    assert answer.out.splitlines()[1] == "  assumes the dims named 'N' are equal: x[0], w[0]"
    bound = ask(capsys, "verify", "--proof-only", "--json", *paths, "--dim", "N=4")
    assert json.loads(bound.out)["verdict"]["assumes"] == ["N = 4, as asked for"]


def _one_node(op: str, count: int) -> bytes:
    """Return a model of one node that reads its input `count` times."""
    ends = [onnx.helper.make_tensor_value_info(name, TensorProto.FLOAT, ["a", 4]) for name in "xy"]
    graph = onnx.helper.make_graph([onnx.helper.make_node(op, ["x"] * count, ["y"])], "g", ends[:1], ends[1:])
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 22)], ir_version=8)
    return bytes(made.SerializeToString())


FEW_OPERATORS = ("Where", "Range", "Slice", "Gather", "Concat", "Pad", "Resize", "Conv", "Loop", "RoiAlign")
EVERY_OPERATOR = tuple(sorted({each.name for each in onnx.defs.get_all_schemas() if not each.domain} - {"Tanh"}))


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("ops", [FEW_OPERATORS, pytest.param(EVERY_OPERATOR, marks=pytest.mark.full)], ids=len)
def test_a_node_with_too_few_operands_is_no_traceback(ops: Sequence[str], count: int, tmp_path: Path) -> None:
    """No operator of onnx in the place of a Tanh ends the proof, however many operands it asks for."""
    paths = tmp_path / "before.onnx", tmp_path / "after.onnx"
    paths[0].write_bytes(_one_node("Tanh", 1))
    for op in ops:
        paths[1].write_bytes(_one_node(op, count))
        try:
            assert not prove(*paths).proved, op
        except GraphfixError:
            continue
