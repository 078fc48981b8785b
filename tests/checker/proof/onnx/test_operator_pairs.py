"""Pairs of graphs around one operator: nodes that it stands for are proved, and nodes that differ in one thing not."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import onnx.parser
import pytest

from graphfix.checker.proof.onnx.operators.elementwise import POWERS_ARE_PRODUCTS
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.proof import Proof

CUBE = "float[2,3,4] x"
IMAGE = "float[1,1,2,3] x"


class Pair(NamedTuple):
    """Two graphs that return `r`, of these operator sets."""

    inputs: str
    before: str
    after: str
    opset: int = 17
    later: int = 0
    """The operator set of the second graph, if it is another one."""
    kind: str = "float"


def ints(name: str, *numbers: int) -> str:
    return f"{name} = Constant<value = int64[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>() "


def floats(name: str, *numbers: float) -> str:
    return f"{name} = Constant<value = float[{len(numbers)}] {{{', '.join(map(str, numbers))}}}>() "


SIGNED = (
    "zero = Constant<value_float = 0.0>() one = Constant<value_float = 1.0>()"
    " k = {}(x, zero) f = Where(k, {}) r = Mul(x, f)"
)


def flat(axis: int, op: str) -> str:
    return f"f = Flatten<axis = {axis}>(x) t = {op}<axis = -1>(f) {ints('n', 2, 3, 4)} r = Reshape(t, n)"


def nearest(attributes: str = "") -> str:
    return f'{floats("s", 1, 1, 2, 2)} r = Resize<{attributes}mode = "nearest">(x, "", s)'


def sized(attributes: str = "") -> str:
    return f'{ints("s", 1, 1, 4, 6)} r = Resize<{attributes}mode = "linear">(x, "", "", s)'


BATCHES = "f = Flatten<axis = 1>(x) t = Softmax<axis = -1>(f) n = Shape(x) r = Reshape(t, n)"
REPEATED = (
    f"{ints('n', 1, 1, 2, 1, 3, 1)}{ints('m', 1, 1, 2, 2, 3, 2)}{ints('l', 1, 1, 4, 6)}"
    "u = Reshape(x, n) e = Expand(u, m) r = Reshape(e, l)"
)
COORDINATES = 'coordinate_transformation_mode = "{}", nearest_mode = "{}", '
LINEAR = f'{floats("s", 1, 1, 2, 2)} r = Resize<mode = "linear">(x, "", s)'
THREE = "float[2,3] x, float[3,4] y, float[4,5] z"
TURNED = "l = Constant<value = int64[2] {{{}}}>() r = ReverseSequence<{}>(x, l)"
PART = f"{ints('a', 2)}{ints('b', 4)}{ints('c', 0)} r = Slice(x, a, b, c)"
SPLIT = (
    "k = Constant<value = int64 {{2}}>() i = Constant<value = int64 {{{}}}>()"
    " q = SplitToSequence(x, k) r = SequenceAt(q, i)"
)
BYTES = "uint8[3,3] x, float[3] s"

ALIKE: dict[str, Pair] = {
    "PRelu": Pair(f"{CUBE}, float[3,1] s", "r = PRelu(x, s)", SIGNED.format("GreaterOrEqual", "one, s")),
    "PRelu of one slope": Pair(f"{CUBE}, float[1] s", "r = PRelu(x, s)", SIGNED.format("GreaterOrEqual", "one, s")),
    "PRelu of channels before set 7": Pair(
        f"{CUBE}, float[3] s", "r = PRelu(x, s)", f"{ints('a', 1)} u = Unsqueeze(s, a) r = PRelu(x, u)", 6, 17),
    "Softmax over all axes behind": Pair(
        CUBE, "r = Softmax<axis = 1>(x)", flat(1, "Softmax"), 11, 13),
    "Softmax over all axes behind by default": Pair(CUBE, "r = Softmax(x)", flat(1, "Softmax"), 11, 13),
    "Softmax over all axes": Pair(CUBE, "r = Softmax<axis = 0>(x)", flat(0, "Softmax"), 11, 13),
    "Softmax over all axes from one counted back": Pair(
        CUBE, "r = Softmax<axis = -2>(x)", flat(1, "Softmax"), 11, 13),
    "Softmax of a batch of any size": Pair("float[B,3,4] x", "r = Softmax(x)", BATCHES, 11, 13),
    "Hardmax over all axes behind": Pair(CUBE, "r = Hardmax<axis = 1>(x)", flat(1, "Hardmax"), 11, 13),
    "LogSoftmax over all axes behind": Pair(CUBE, "r = LogSoftmax<axis = 1>(x)", flat(1, "LogSoftmax"), 11, 13),
    "three factors": Pair(
        THREE, 'r = Einsum<equation = "ij,jk,kl->il">(x, y, z)',
        'p = Einsum<equation = "ij,jk->ik">(x, y) r = Einsum<equation = "ik,kl->il">(p, z)'),
    "three factors in another order of results": Pair(
        THREE, 'r = Einsum<equation = "ij, jk, kl -> li">(x, y, z)',
        'p = Einsum<equation = "ij,jk->ik">(x, y) r = Einsum<equation = "ik,kl->li">(p, z)'),
    "texts turned around": Pair(
        "float[3,2,4] x", TURNED.format("3, 3", "time_axis = 0, batch_axis = 1"),
        f"{ints('p', 2, 1, 0)} r = Gather<axis = 0>(x, p)"),
    "the front of texts turned around": Pair(
        "float[3,2,4] x", TURNED.format("2, 2", "time_axis = 0"), f"{ints('p', 1, 0, 2)} r = Gather<axis = 0>(x, p)"),
    "texts of the second axis turned around": Pair(
        "float[2,3] x", TURNED.format("3, 3", "time_axis = 1, batch_axis = 0"),
        f"{ints('p', 2, 1, 0)} r = Gather<axis = 1>(x, p)"),
    "texts of one step": Pair(
        "float[3,2,4] x", TURNED.format("1, 1", "batch_axis = 1"), f"{ints('p', 0, 1, 2)} r = Gather<axis = 0>(x, p)"),
    "nearest": Pair(IMAGE, nearest(), REPEATED),
    "nearest in front": Pair(IMAGE, nearest(COORDINATES.format("asymmetric", "floor")), REPEATED),
    "nearest, halves up": Pair(IMAGE, nearest(COORDINATES.format("half_pixel", "round_prefer_ceil")), REPEATED),
    "nearest as PyTorch does": Pair(
        IMAGE, nearest(COORDINATES.format("pytorch_half_pixel", "round_prefer_floor")), REPEATED),
    "nearest as PyTorch does, halves up": Pair(
        IMAGE, nearest(COORDINATES.format("pytorch_half_pixel", "round_prefer_ceil")), REPEATED),
    "nearest of sizes": Pair(IMAGE, f'{ints("s", 1, 1, 4, 6)} r = Resize(x, "", "", s)', REPEATED),
    "linear by sizes": Pair(IMAGE, sized(), LINEAR),
    "linear by sizes that divide badly": Pair(
        "float[1,1,3,3] x", f'{ints("s", 1, 1, 4, 8)} r = Resize<mode = "linear">(x, "", "", s)',
        f'{floats("s", 1, 1, 1.33333333, 2.66666667)} r = Resize<mode = "linear">(x, "", s)'),
    "a part of a sequence": Pair("float[6,3] x", SPLIT.format(1), PART),
    "a part of a sequence counted back": Pair("float[6,3] x", SPLIT.format(-2), PART),
    "the first part of a sequence counted back": Pair(
        "float[6,3] x", SPLIT.format(-3), PART.replace("{2}", "{0}").replace("{4}", "{2}")),
    "the last part, which is smaller": Pair(
        "float[5,3] x", SPLIT.format(2), f"{ints('a', 4)}{ints('b', 5)}{ints('c', 0)} r = Slice(x, a, b, c)"),
    "a part of a sequence without its axis": Pair(
        "float[6,3] x",
        "i = Constant<value = int64 {4}>() q = SplitToSequence<keepdims = 0>(x) r = SequenceAt(q, i)",
        f"{ints('a', 4)}{ints('b', 5)}{ints('c', 0)} p = Slice(x, a, b, c) r = Squeeze(p, c)"),
    "a part of a sequence of stated parts": Pair(
        "float[6,3] x",
        f"{ints('k', 2, 2, 2)} i = Constant<value = int64 {{1}}>() q = SplitToSequence(x, k) r = SequenceAt(q, i)",
        PART),
    "scales of the second axis by default": Pair(
        BYTES, "r = DequantizeLinear(x, s)", "r = DequantizeLinear<axis = -1>(x, s)"),
    "scales behind a new axis": Pair(
        BYTES, f"{ints('a', 0)} d = DequantizeLinear<axis = 0>(x, s) r = Unsqueeze(d, a)",
        f"{ints('a', 0)} u = Unsqueeze(x, a) r = DequantizeLinear<axis = 1>(u, s)"),
    "one scale of any axis": Pair(
        "uint8[3,3] x, float[1] s", "r = DequantizeLinear<axis = 0>(x, s)", "r = DequantizeLinear<axis = 1>(x, s)"),
    "a bias of an older sum": Pair(
        f"{CUBE}, float[3] b", "r = Add<broadcast = 1, axis = 1>(x, b)",
        f"{ints('a', 1)} u = Unsqueeze(b, a) r = Add(x, u)", 6, 17),
    "a bias of an older sum counted back": Pair(
        f"{CUBE}, float[3] b", "r = Add<broadcast = 1, axis = -2>(x, b)",
        f"{ints('a', 1)} u = Unsqueeze(b, a) r = Add(x, u)", 6, 17),
    "a bias of an older sum from the end": Pair(
        f"{CUBE}, float[4] b", "r = Add<broadcast = 1>(x, b)", "r = Add(x, b)", 6, 17),
    "a bias of a product": Pair(
        "float[2,3] x, float[3,4] y, float[4] b", "r = Gemm(x, y, b)",
        f"{ints('n', 2, 4)} e = Expand(b, n) r = Gemm(x, y, e)"),
    "a bias of an older product": Pair(
        "float[2,3] x, float[3,4] y, float[4] b", "r = Gemm<broadcast = 1>(x, y, b)", "r = Gemm(x, y, b)", 6, 17),
    "a square": Pair(CUBE, f"{floats('t', 2)} r = Pow(x, t)", "r = Mul(x, x)"),
    "a square by an integer": Pair(CUBE, f"{ints('t', 2)} r = Pow(x, t)", "r = Mul(x, x)", 12),
    "a cube": Pair(CUBE, f"{floats('t', 3)} r = Pow(x, t)", "s = Mul(x, x) r = Mul(s, x)"),
    "the greater of one": Pair(CUBE, "r = Max(x, x)", "r = Identity(x)"),
    "the greater of one and its lift": Pair(
        CUBE, f"{ints('a', 0)} u = Unsqueeze(x, a) r = Max(x, u)", f"{ints('a', 0)} r = Unsqueeze(x, a)"),
    "a normalization by a scale for all": Pair(
        f"{CUBE}, float[4] s", "r = LayerNormalization(x, s)",
        f"{ints('n', 3, 4)} e = Expand(s, n) r = LayerNormalization(x, e)"),
}  # fmt: skip
DIFFERENT: dict[str, Pair] = {
    "PRelu of what is above 0": Pair(f"{CUBE}, float[3,1] s", "r = PRelu(x, s)", SIGNED.format("Greater", "one, s")),
    "PRelu of the other side": Pair(
        f"{CUBE}, float[3,1] s", "r = PRelu(x, s)", SIGNED.format("GreaterOrEqual", "s, one")),
    "PRelu of the last axis before set 7": Pair(
        "float[2,3,3] x, float[3] s", "r = PRelu(x, s)", "r = PRelu(x, s)", 6, 17),
    "Softmax over one axis": Pair(CUBE, "r = Softmax<axis = 1>(x)", "r = Softmax<axis = 1>(x)", 11, 13),
    "Softmax over fewer axes": Pair(CUBE, "r = Softmax<axis = 0>(x)", flat(1, "Softmax"), 11, 13),
    "Softmax over all axes of a batch that may be empty": Pair(
        "float[B,3,4] x", "r = Softmax<axis = 0>(x)", BATCHES.replace("axis = 1", "axis = 0"), 11, 13),
    "Softmax over all axes of a batch that may be empty, counted back": Pair(
        "float[B,3,4] x", "r = Softmax<axis = -3>(x)", BATCHES.replace("axis = 1", "axis = -3"), 11, 13),
    "Softmax from an axis that was not counted back": Pair(
        CUBE, "r = Softmax<axis = -2>(x)", flat(1, "Softmax"), 9, 13),
    "three factors from the right": Pair(
        THREE, 'r = Einsum<equation = "ij,jk,kl->il">(x, y, z)',
        'p = Einsum<equation = "jk,kl->jl">(y, z) r = Einsum<equation = "ij,jl->il">(x, p)'),
    "three factors and a letter in one of them": Pair(
        "float[2,3] x, float[3,4] y, float[4,5] z", 'r = Einsum<equation = "ij,jk,kl->i">(x, y, z)',
        'p = Einsum<equation = "ij,jk->ik">(x, y) r = Einsum<equation = "ik,kl->i">(p, z)'),
    "three factors in double precision": Pair(
        THREE.replace("float", "double"), 'r = Einsum<equation = "ij,jk,kl->il">(x, y, z)',
        'p = Einsum<equation = "ij,jk->ik">(x, y) r = Einsum<equation = "ik,kl->il">(p, z)', kind="double"),
    "texts of other lengths": Pair(
        "float[3,2,4] x", TURNED.format("2, 3", "time_axis = 0"), f"{ints('p', 1, 0, 2)} r = Gather<axis = 0>(x, p)"),
    "texts that are turned along another axis": Pair(
        "float[2,2] x", TURNED.format("2, 2", "time_axis = 0"), f"{ints('p', 1, 0)} r = Gather<axis = 1>(x, p)"),
    "nearest, halves down from the front": Pair(
        IMAGE, nearest(COORDINATES.format("asymmetric", "round_prefer_floor")), REPEATED),
    "nearest of aligned corners": Pair(
        IMAGE, nearest(COORDINATES.format("align_corners", "round_prefer_floor")), REPEATED),
    "nearest from above": Pair(IMAGE, nearest(COORDINATES.format("half_pixel", "ceil")), REPEATED),
    "between": Pair(IMAGE, LINEAR, REPEATED),
    "nearest by other factors": Pair(IMAGE, f'{floats("s", 1, 1, 2, 2.1)} r = Resize(x, "", s)', REPEATED),
    "nearest of sizes to an aspect ratio": Pair(
        IMAGE, f'{ints("s", 1, 1, 4, 6)} r = Resize<keep_aspect_ratio_policy = "not_larger">(x, "", "", s)',
        REPEATED, 18),
    "linear by other scales": Pair(IMAGE, sized(), LINEAR.replace("2, 2", "2, 2.001")),
    "linear by sizes to an aspect ratio": Pair(
        IMAGE, sized('keep_aspect_ratio_policy = "not_larger", '), LINEAR, 18),
    "linear by sizes without aliases": Pair(IMAGE, sized("antialias = 1, "), LINEAR, 18),
    "cubic by sizes": Pair(IMAGE, sized().replace("linear", "cubic"), LINEAR.replace("linear", "cubic")),
    "another part of a sequence": Pair("float[6,3] x", SPLIT.format(0), PART),
    "a part of the other axis": Pair(
        "float[6,6] x", SPLIT.format(1).replace("Sequence(x", "Sequence<axis = 1>(x"), PART),
    "scales of the other axis": Pair(BYTES, "r = DequantizeLinear(x, s)", "r = DequantizeLinear<axis = 0>(x, s)"),
    "scales of the other axis of what has any rank": Pair(
        "uint8[A,B] x, float[3] s, int64[L] n", "u = Reshape(x, n) r = DequantizeLinear<axis = 0>(u, s)",
        "u = Reshape(x, n) r = DequantizeLinear<axis = 1>(u, s)"),
    "scales that stay where an axis was new": Pair(
        BYTES, f"{ints('a', 0)} d = DequantizeLinear<axis = 0>(x, s) r = Unsqueeze(d, a)",
        f"{ints('a', 0)} u = Unsqueeze(x, a) r = DequantizeLinear<axis = 2>(u, s)"),
    "a bias of an older sum along another axis": Pair(
        "float[2,3,3] x, float[3] b", "r = Add<broadcast = 1, axis = 1>(x, b)", "r = Add(x, b)", 6, 17),
    "a bias of a product of the other side": Pair(
        "float[2,2] x, float[2,2] y, float[2] b", "r = Gemm(x, y, b)",
        f"{ints('n', 2, 1)} e = Reshape(b, n) r = Gemm(x, y, e)"),
    "a turned square": Pair("float[2,2] x, float[2,2] y", "r = Gemm<transA = 1>(x, y)", "r = Gemm(x, y)"),
    "a second turned square": Pair("float[2,2] x, float[2,2] y", "r = Gemm<transB = 1>(x, y)", "r = Gemm(x, y)"),
    "a fourth power": Pair(CUBE, f"{floats('t', 4)} r = Pow(x, t)", "s = Mul(x, x) r = Mul(s, s)"),
    "a cube as a square": Pair(CUBE, f"{floats('t', 3)} r = Pow(x, t)", "r = Mul(x, x)"),
    "the square of one element": Pair("float[1,1] x", f"{floats('t', 2)} r = Pow(x, t)", "r = Mul(x, x)"),
    "the cube of rows of one element": Pair(
        "float[4,1] x", f"{floats('t', 3)} r = Pow(x, t)", "s = Mul(x, x) r = Mul(s, x)"),
    "a sum of one": Pair(CUBE, "r = Add(x, x)", "r = Identity(x)"),
    "a normalization by a scale of another place": Pair(
        "float[2,3,3] x, float[3] s", "r = LayerNormalization<axis = 1>(x, s)",
        f"{ints('a', 1)} u = Unsqueeze(s, a) r = LayerNormalization<axis = 1>(x, u)"),
    "a normalization without its bias": Pair(
        f"{CUBE}, float[4] s, float[4] b", "r = LayerNormalization(x, s, b)", "r = LayerNormalization(x, s)"),
}  # fmt: skip


def asked(folder: Path, pair: Pair) -> Proof:
    """Ask the proof about the two graphs."""
    paths = []
    for name, graph, opset in (("before", pair.before, pair.opset), ("after", pair.after, pair.later or pair.opset)):
        head = f'<ir_version: 8, opset_import: ["" : {opset}]>'
        model = onnx.parser.parse_model(f"{head} g ({pair.inputs}) => ({pair.kind}[] r) {{ {graph} }}")
        paths.append(folder / f"{name}.onnx")
        paths[-1].write_bytes(model.SerializeToString())
    return prove(*paths)


def proved(folder: Path, pair: Pair) -> bool:
    """Whether the second graph is proved to be the first."""
    return asked(folder, pair).proved


@pytest.mark.parametrize("what", ALIKE)
def test_the_nodes_that_an_operator_stands_for_are_proved(what: str, tmp_path: Path) -> None:
    assert proved(tmp_path, ALIKE[what])


@pytest.mark.parametrize("what", DIFFERENT)
def test_nodes_that_differ_in_one_thing_are_not_proved(what: str, tmp_path: Path) -> None:
    assert not proved(tmp_path, DIFFERENT[what])


SQUARE = f"{floats('t', 2)} r = Pow(x, t)"
PRODUCT = "r = Mul(x, x)"
BITS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a square as a product": (SQUARE, PRODUCT, (POWERS_ARE_PRODUCTS,)),
    "a product as a square": (PRODUCT, SQUARE, (POWERS_ARE_PRODUCTS,)),
    "a square as a square": (SQUARE, f"{floats('two', 2)} r = Pow(x, two)", ()),
    "a product as a product": (PRODUCT, "v = Identity(x) r = Mul(v, x)", ()),
}


@pytest.mark.parametrize(("before", "after", "assumes"), BITS.values(), ids=list(BITS))
def test_that_a_power_has_the_bits_of_a_product_is_assumed(
    before: str, after: str, assumes: tuple[str, ...], tmp_path: Path
) -> None:
    found = asked(tmp_path, Pair(CUBE, before, after))
    assert (found.proved, found.assumes) == (True, assumes)
