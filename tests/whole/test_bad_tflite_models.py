"""TFLite models whose parts do not fit together, or whose operators can never run: what is said of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from models.builders.tflite.text import model
from tests.support.asking import ask, refused
from tests.support.places import ROOT
from tests.support.tflite.broken import ADD, BODIES, CHAIN, LOOP, edited, ladder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MODELS = ROOT / "models"
MOST = 0x7FFFFFFF


def tensor(index: int, **fields: object) -> Callable[[Any], object]:
    return lambda made: [setattr(made.subgraphs[0].tensors[index], name, it) for name, it in fields.items()]


def operator(index: int, graph: int = 0, **fields: object) -> Callable[[Any], object]:
    return lambda made: [setattr(made.subgraphs[graph].operators[index], name, it) for name, it in fields.items()]


def option(graph: int, **fields: object) -> Callable[[Any], object]:
    """Change the builtin options of the first operator of a subgraph."""
    return lambda made: [
        setattr(made.subgraphs[graph].operators[0].builtinOptions, name, it) for name, it in fields.items()
    ]


def swapped(made: Any) -> None:  # noqa: ANN401 -- the object API has no types
    made.subgraphs[0].operators.reverse()


def code(**fields: object) -> Callable[[Any], object]:
    return lambda made: [setattr(made.operatorCodes[0], name, it) for name, it in fields.items()]


# CHAIN has the tensors a x b y in the order in which its text names them.
BROKEN: dict[str, tuple[str, Callable[[Any], object], str]] = {
    "no-subgraph": (ADD, lambda made: setattr(made, "subgraphs", []), "no subgraph"),
    "another-schema": (ADD, lambda made: setattr(made, "version", 4), "schema version 4"),
    "negative-size": (ADD, tensor(0, shape=[-2, 3]), "has the shape [-2, 3]"),
    "negative-size-of-a-constant": (ADD, tensor(1, shape=[-3]), "has the shape [-3]"),
    "least-size": (ADD, tensor(0, shape=[2, -MOST - 1]), "has the shape"),
    "signature-of-another-rank": (ADD, tensor(0, shapeSignature=[-1]), "shape_signature [-1]"),
    "signature-below-free": (ADD, tensor(0, shapeSignature=[-2, 3]), "shape_signature [-2, 3]"),
    "constant-too-short": (ADD, tensor(1, shape=[4]), "12 bytes, but its shape [4] needs 16"),
    "constant-beyond-all-memory": (ADD, tensor(1, shape=[MOST] * 6), "12 bytes, but its shape"),
    "element-type": (ADD, tensor(0, type=99), "element type 99"),
    "buffer-of-tensor": (ADD, tensor(1, buffer=1 << 31), "has buffer 2147483648, but there are 2"),
    "operand-that-is-not": (ADD, operator(0, inputs=[0, 3]), "inputs of operator 0 name tensor 3"),
    "operand-minus-two": (ADD, operator(0, inputs=[-2, 1]), "name tensor -2"),
    "result-that-is-not": (ADD, operator(0, outputs=[MOST]), f"name tensor {MOST}"),
    "input-that-is-not": (ADD, lambda made: setattr(made.subgraphs[0], "inputs", [77]), "inputs name tensor 77"),
    "output-that-is-not": (ADD, lambda made: setattr(made.subgraphs[0], "outputs", [-9]), "outputs name tensor -9"),
    "operator-code-that-is-not": (ADD, operator(0, opcodeIndex=5), "operator code 5, but there are 1"),
    "operator-that-is-not": (ADD, code(builtinCode=999), "builtin operator 999"),
    "operator-below-0": (ADD, code(builtinCode=-5, deprecatedBuiltinCode=-5), "builtin operator -5"),
    "custom-operator-without-name": (ADD, code(builtinCode=32), "custom operator without a name"),
    "reads-its-own-result": (ADD, operator(0, inputs=[2, 1]), "not produced before it"),
    "reads-what-comes-later": (CHAIN, swapped, "operator 0 reads tensor 2 'a', which is not produced before it"),
    "two-producers": (CHAIN, operator(1, outputs=[2]), "operators 0 and 1 produce tensor 2 'a'"),
    "produces-an-input": (CHAIN, operator(1, outputs=[0]), "an input or a constant"),
    "produces-a-constant": (CHAIN, operator(1, outputs=[1]), "an input or a constant"),
    "runs-itself": (BODIES, option(2, thenSubgraphIndex=2), "runs itself"),
    "runs-the-main-subgraph": (BODIES, option(2, elseSubgraphIndex=0), "runs itself"),
    "run-one-another": (
        (
            "y[2,3] = IF(c:bool[], x[2,3], then=a, else=b)\n"
            "subgraph a:\nt[2,3] = IF(c:const:bool[], x[2,3], then=b, else=b)\n"
            "subgraph b:\nt[2,3] = IF(c:const:bool[], x[2,3], then=a, else=a)"
        ),
        lambda _: None,
        "runs itself",
    ),
    "while-that-is-its-own-body": (LOOP, option(0, bodySubgraphIndex=0), "runs itself"),
    "while-that-is-its-own-condition": (LOOP, option(0, condSubgraphIndex=0), "runs itself"),
    "runs-a-subgraph-that-is-not": (BODIES, option(0, thenSubgraphIndex=3), "runs subgraph 3 of 3"),
    "runs-a-subgraph-below-0": (BODIES, option(0, elseSubgraphIndex=-1), "runs subgraph -1 of 3"),
}


@pytest.mark.alike(2)
@pytest.mark.parametrize("name", BROKEN)
def test_a_model_whose_parts_do_not_fit_is_refused_by_what_is_wrong(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, change, words = BROKEN[name]
    path = tmp_path / "m.tflite"
    path.write_bytes(edited(change, text))
    for argv in (
        ("check", path),
        ("show", path),
        ("fix", path, "-o", tmp_path / "o.tflite", "--no-verify"),
        ("fix", path, "-o", tmp_path / "o.tflite"),
        ("fix", path, "--in-place"),
    ):
        line = refused(capsys, tmp_path, *argv)
        assert str(path) in line
        assert words in line


INCOMPATIBLE = {
    "two": ("y[2,3] = MUL(x[2,3], z[4,3])", ["MUL", "[2, 3]", "[4, 3]"]),
    "constant": ("y[2,3] = ADD(x[2,3], b:const[4])", ["ADD", "[2, 3]", "[4]"]),
    "three": ("y[2] = SELECT_V2(c:bool[2], x[1], z[3])", ["SELECT_V2", "[2]", "[1]", "[3]"]),
    "matmul-batch": ("y[2,3,4] = BATCH_MATMUL(x[2,3,4], z[5,4,4])", ["BATCH_MATMUL", "[2, 3, 4]", "[5, 4, 4]"]),
    "free": ("y[?,2] = SUB(x[?,2], z[?,3])", ["SUB", ", 2]", ", 3]"]),
    "zero": ("y[0,2] = MAXIMUM(x[0,2], z[5,2])", ["MAXIMUM", "[0, 2]", "[5, 2]"]),
    "comparison": ("y:bool[2] = LESS(x[2], z[7])", ["LESS", "[2]", "[7]"]),
    "behind-a-reshape": (
        "r[3,2] = RESHAPE(x[6], s:const:int32[2]{3,2})\ny[3,2] = DIV(r[3,2], z[4])",
        ["DIV", "[3, 2]", "[4]"],
    ),
}


@pytest.mark.parametrize("name", INCOMPATIBLE)
def test_shapes_that_never_broadcast_are_refused_with_operator_and_shapes(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, words = INCOMPATIBLE[name]
    path = tmp_path / "m.tflite"
    path.write_bytes(model(text))
    for argv in (
        ("check", path),
        ("fix", path, "-o", tmp_path / "o.tflite"),
        ("fix", path, "-o", tmp_path / "o.tflite", "--no-verify"),
        ("check", path, "--target", "ranks"),
    ):
        line = refused(capsys, tmp_path, *argv)
        assert "GF105" in line
        assert all(word in line for word in [*words, str(path)]), line


@pytest.mark.parametrize("name", ["rfc/incompatible", "rfc/incompatible_both"])
def test_the_combinations_that_must_be_refused_are(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "GF105" in refused(capsys, tmp_path, "fix", MODELS / f"{name}.tflite", "-o", tmp_path / "o.tflite")


def test_sizes_that_can_not_meet_in_a_body_are_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Such a branch may never be taken."""
    path = tmp_path / "m.tflite"
    path.write_bytes(model("y[2] = IF(c:bool[], x[2], then=a, else=a)\nsubgraph a:\nt[2] = ADD(x[2], b:const[3])"))
    answer = ask(capsys, "fix", path, "-o", tmp_path / "o.tflite", "--no-verify", "--json")
    assert answer.status == 4
    assert ("GF105", "left") in {(site["code"], site["status"]) for site in json.loads(answer.out)["sites"]}


# --- operators that can never run -------------------------------------------------------------------------------------

NEVER_RUN = {
    "reshape-to-less-than-nothing": "t[2,3] = RESHAPE(x[2,3], s:const:int32[3]{-1,-1,-7})",
    "reshape-to-two-free": "t[2,3] = RESHAPE(x[2,3], s:const:int32[2]{-1,-1})",
    "reshape-by-too-much": "t[2,3] = RESHAPE(x[2,3], s:const:int32[2]{2147483647,2147483647})",
    "reshape-by-zero": "t[2,3] = RESHAPE(x[2,3], s:const:int32[2]{0,-1})",
    "transpose-by-no-permutation": "t[2,3] = TRANSPOSE(x[2,3], p:const:int32[2]{7,7})",
    "transpose-below-0": "t[2,3] = TRANSPOSE(x[2,3], p:const:int32[2]{-9,0})",
    "expand-far-away": "t[2,3] = EXPAND_DIMS(x[2,3], a:const:int32[]{77})",
    "squeeze-far-away": "t[2,3] = SQUEEZE(x[2,3], squeeze_dims=[99,-99])",
    "squeeze-what-is-large": "t[2,3] = SQUEEZE(x[2,3], squeeze_dims=[0])",
    "broadcast-to-less-than-nothing": "t[2,3] = BROADCAST_TO(x[2,3], s:const:int32[2]{-4,3})",
    "broadcast-to-fewer-axes": "t[2,3] = BROADCAST_TO(x[2,3], s:const:int32[1]{3})",
    "broadcast-to-other-sizes": "t[2,3] = BROADCAST_TO(x[2,3], s:const:int32[2]{4,3})",
    "tile-below-0": "t[2,3] = TILE(x[2,3], m:const:int32[2]{-1,-2147483648})",
    "tile-beyond-memory": "t[2,3] = TILE(x[2,3], m:const:int32[2]{2147483647,2147483647})",
    "tile-of-other-rank": "t[2,3] = TILE(x[2,3], m:const:int32[5]{1,1,1,1,1})",
    "concatenation-of-no-axis": "t[2,3] = CONCATENATION(x[2,3], x, axis=9)",
    "pack-of-no-axis": "t[2,3] = PACK(x[2,3], x, axis=-77)",
    "unpack-of-no-axis": "t[2,3] = UNPACK(x[2,3], axis=77, num=1)",
    "gather-behind-the-end": "t[2,3] = GATHER(x[2,3], i:const:int32[1]{99}, axis=99)",
    "slice-below-0": "t[2,3] = SLICE(x[2,3], b:const:int32[2]{-7,99}, s:const:int32[2]{-5,-2147483648})",
    "slice-of-other-rank": "t[2,3] = SLICE(x[2,3], b:const:int32[1]{0}, s:const:int32[3]{1,1,1})",
    "stride-0": "t[2,3] = STRIDED_SLICE(x[2,3], b:const:int32[2]{0,0}, e:const:int32[2]{2,2}, s:const:int32[2]{0,0})",
    "strides-of-other-ranks": (
        "t[2,3] = STRIDED_SLICE(x[2,3], b:const:int32[1]{0}, e:const:int32[3]{2,2,2}, s:const:int32[2]{1,1})"
    ),
    "split-in-0": "t[2,3] = SPLIT(a:const:int32[]{0}, x[2,3], num_splits=0)",
    "split-along-no-axis": "t[2,3] = SPLIT(a:const:int32[]{7}, x[2,3], num_splits=1)",
    "split-by-too-much": "t[2,3] = SPLIT_V(x[2,3], s:const:int32[1]{99}, a:const:int32[]{0}, num_splits=1)",
    "pad-below-0": "t[2,3] = PAD(x[2,3], p:const:int32[2,2]{-9,-9,-9,-9})",
    "pad-of-other-rank": "t[2,3] = PAD(x[2,3], p:const:int32[4,2]{1,1,1,1,1,1,1,1})",
    "mean-along-no-axis": "t[2,3] = MEAN(x[2,3], a:const:int32[1]{9})",
    "arg-max-along-no-axis": "u:int64[2] = ARG_MAX(x[2,3], a:const:int32[]{9})\nt[2,3] = CAST(u)",
    "convolution-of-a-matrix": "t[2,3] = CONV_2D(x[2,3], w:const[3,3], b:const[3])",
    "convolution-of-stride-0": (
        "u[1,2,3,1] = RESHAPE(x[2,3], s:const:int32[4]{1,2,3,1})\n"
        "t[1,2,3,1] = CONV_2D(u, w:const[1,1,1,1], b:const[1], stride_w=0, stride_h=0, dilation_w_factor=0)"
    ),
    "pooling-of-stride-0": (
        "u[1,2,3,1] = RESHAPE(x[2,3], s:const:int32[4]{1,2,3,1})\n"
        "t[1,2,3,1] = MAX_POOL_2D(u, stride_w=0, stride_h=0, filter_width=0, filter_height=-3)"
    ),
    "depth-to-space-of-0": (
        "u[1,2,3,1] = RESHAPE(x[2,3], s:const:int32[4]{1,2,3,1})\nt[1,2,3,1] = DEPTH_TO_SPACE(u, block_size=0)"
    ),
    "space-to-depth-of-0": (
        "u[1,2,3,1] = RESHAPE(x[2,3], s:const:int32[4]{1,2,3,1})\nt[1,2,3,1] = SPACE_TO_DEPTH(u, block_size=0)"
    ),
    "resize-below-0": (
        "u[1,2,3,1] = RESHAPE(x[2,3], s:const:int32[4]{1,2,3,1})\n"
        "t[1,2,3,1] = RESIZE_BILINEAR(u, n:const:int32[2]{-1,0})"
    ),
    "fully-connected-to-a-scalar": "t[2,3] = FULLY_CONNECTED(x[2,3], w:const[], b:const[])",
    "matrix-product-of-vectors": "v[6] = RESHAPE(x[2,3], s:const:int32[1]{6})\nt[2,3] = BATCH_MATMUL(v, v)",
    "range-of-step-0": (
        "r:int32[2] = RANGE(a:const:int32[]{0}, b:const:int32[]{9}, c:const:int32[]{0})\nt[2,3] = RESHAPE(x[2,3], r)"
    ),
    "range-of-a-billion": (
        "r:int32[2] = RANGE(a:const:int32[]{0}, b:const:int32[]{1000000000}, c:const:int32[]{1})\n"
        "t[2,3] = RESHAPE(x[2,3], r)"
    ),
    "fill-with-a-billion": (
        "r:int32[2] = FILL(n:const:int32[2]{99999,99999}, v:const:int32[]{1})\nt[2,3] = RESHAPE(x[2,3], r)"
    ),
    "division-by-0": (
        "q:int32[2] = FLOOR_DIV(a:const:int32[2]{6,6}, z:const:int32[2]{0,0})\nt[2,3] = RESHAPE(x[2,3], q)"
    ),
    "one-hot-below-0": "t[2,3] = ONE_HOT(i:const:int32[2]{0,1}, d:const:int32[]{-3}, o:const[], f:const[], axis=9)",
    "broadcast-args-below-0": (
        "s:int32[2] = BROADCAST_ARGS(a:const:int32[2]{-5,3}, b:const:int32[2]{2,3})\nt[2,3] = BROADCAST_TO(x[2,3], s)"
    ),
    "broadcast-in-dim-far-away": "t[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[2,3], d:const:int64[2]{9,-9})",
    "no-operand-at-all": "t[2,3] = RESHAPE()",
    "one-operand-of-two": "t[2,3] = MUL(x[2,3])",
    "operands-left-out": "t[2,3] = MUL(, )",
    "five-operands": "t[2,3] = MUL(x[2,3], x, x, x, x)",
    "no-result": "MUL(x[2,3], x)\nt[2,3] = NEG(x)",
}


@pytest.mark.alike(6)
@pytest.mark.parametrize("target", ["ranks", "explicit"])
@pytest.mark.parametrize("name", NEVER_RUN)
def test_an_operator_that_can_never_run_is_no_crash(
    name: str, target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(model(f"{NEVER_RUN[name]}\ny[2,3] = ADD(t, k:const[3])"))
    for options in ([], ["--json"]):
        answer = ask(capsys, "fix", path, "-o", out, "--no-verify", "--target", target, *options)
        assert (answer.status, len(answer.lines)) in ((0, 0), (4, 0), (2, 1)), answer
        assert out.exists() == (answer.status != 2)
    assert ask(capsys, "show", path, "--maps").status in (0, 2)


# --- models that are odd, and answered --------------------------------------------------------------------------------


def test_bodies_are_fixed_as_deep_as_they_are_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(ladder(90))
    assert ask(capsys, "fix", path, "-o", out, "--no-verify").status == 0
    assert ask(capsys, "check", out).status == 0


@pytest.mark.ci
def test_bodies_deeper_than_that_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    for depth in (120, 1500):
        path.write_bytes(ladder(depth))
        assert "deep" in refused(capsys, tmp_path, "check", path)
        assert "deep" in refused(capsys, tmp_path, "fix", path, "-o", tmp_path / "o.tflite", "--no-verify")


@pytest.mark.ci
def test_a_name_of_two_megabytes_is_no_reason_to_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(edited(tensor(0, name="n" * 2_000_000)))
    assert ask(capsys, "fix", path, "-o", out).status == 0
    assert ask(capsys, "check", out).status == 0
    assert out.read_bytes().count(b"n" * 2_000_000) == 1


def test_an_error_shows_the_beginning_of_a_long_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(edited(tensor(0, name="n" * 2_000_000, type=99)))
    assert len(refused(capsys, tmp_path, "check", path)) < 1000


@pytest.mark.ci
def test_a_shape_of_a_thousand_axes_is_shown_by_its_beginning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(edited(tensor(0, shape=[-7] * 100_000)))
    assert len(refused(capsys, tmp_path, "check", path)) < 1000


@pytest.mark.ci
def test_a_name_can_not_write_to_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "m.tflite"
    name = "a\n\x1b[31mb\r\u2028"
    path.write_bytes(edited(tensor(0, name=name, type=99)))
    assert refused(capsys, tmp_path, "check", path).isprintable()
    path.write_bytes(edited(tensor(0, name=name)))
    for argv in (("show", path), ("check", path), ("fix", path, "-o", tmp_path / "o.tflite")):
        answer = ask(capsys, *argv)
        assert "\x1b" not in answer.out + answer.err


def test_a_name_that_is_no_utf_8_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(model("y[2,3] = ADD(xx[2,3], bbbb:const[3])").replace(b"bbbb", b"\xff\xfe\x80b"))
    assert ask(capsys, "fix", path, "-o", out, "--no-verify").status == 0
    assert b"\xff\xfe\x80b" in out.read_bytes()
    assert ask(capsys, "show", path).status == 0


@pytest.mark.ci
def test_what_litert_does_not_run_is_proved_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(model("y:bool[2,3] = ADD(x:bool[2,3], b:const:bool[3])"))
    answer = ask(capsys, "fix", path, "-o", out)
    assert answer.status == 0
    assert "Type BOOL is unsupported by op Add" in answer.out
    assert ask(capsys, "check", out).status == 0


def test_what_litert_does_not_run_and_nothing_changes_is_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "m.tflite", tmp_path / "o.tflite"
    path.write_bytes(model("y[2,3] = CUSTOM.Nobody(x[2,3])"))
    assert ask(capsys, "fix", path, "-o", out).status == 0
    assert out.read_bytes() == path.read_bytes()
