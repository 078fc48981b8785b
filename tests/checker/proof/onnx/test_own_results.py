"""Fixed exports whose sizes follow from a part of the shape arithmetic are proved; wrong sizes beside them are not.

Three kinds: attention with a position bias of another batch, windows whose shape has an unknown element, and masks
that an Expand stretches in front of a Where.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from onnx import ModelProto, TensorProto, helper

import graphfix
from tests.support.proving import prove

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.proof import Proof

HEAD = '<ir_version: 9, opset_import: ["" : 18]>\n'
NUMBERS = "".join(
    f"{name} = Constant<value_ints = [{number}]>()  "
    for name, number in {"zero": 0, "one": 1, "eight": 8, "open": -1, "w": 14, "c": 96}.items()
)
SIZES = NUMBERS + "batch = Shape<start = 0, end = 1>(x)  length = Shape<start = 1, end = 2>(x)  "
BIAS = f"bias = Constant<value = float[1,96] {{{','.join(['0.5'] * 96)}}}>()  "

ALIBI = (
    "g (float[M,S,16] x, bool[{axis},1,S,S] mask, float[N,1,S] alibi) => (float[A] y) {{ {sizes}"
    " h = Constant<value_ints = [{heads}]>()  k = Transpose<perm = [0, 2, 1]>(x)  r = MatMul(x, k)"
    " often = Concat<axis = 0>(h, one, one)  rows = Tile(r, often)  slopes = Tile(alibi, often)"
    " scores = Add(rows, slopes)  t = Concat<axis = 0>(batch, h, length, open)  v = Reshape(scores, t)"
    " low = Constant<value_float = -10.0>()  y = Where(mask, low, v) }}"
)
"""The scores of heads*M and heads*N rows fit only where these are equal, if there is more than one head."""
RELATIVE = (
    "g (float[M,S,16] x, bool[M,1,S,S] mask, float[{axis},1,S] slopes) => (float[A] y) {{ {sizes}"
    " h = Constant<value_ints = [{heads}]>()  own = Shape<start = 0, end = 1>(x)  often = Concat<axis = 0>(h, one, one)"
    " rows = Tile(x, often)  parts = Concat<axis = 0>(open, length, eight)  p = Reshape(rows, parts)"
    " q = Transpose<perm = [0, 2, 1]>(p)  scores = MatMul(p, q)  count = Mul(own, h)"
    " biases = Concat<axis = 0>(count, length, length)  z = ConstantOfShape(biases)  sum = Add(scores, z)"
    " t = Concat<axis = 0>(open, h, length, length)  v = Reshape(sum, t)"
    " back = Concat<axis = 0>(own, h, length, open)"
    " low = Constant<value_float = -10.0>()  masked = Where(mask, low, v)  all = Tile(slopes, often)"
    " kept = Add(sum, all)  again = Reshape(kept, back)  y = Add(masked, again) }}"
)
ATTENTION = {
    f"{name}, {heads} heads, a mask of {axis} rows": text.format(sizes=SIZES, heads=heads, axis=axis)
    for name, text in {"slopes": ALIBI, "relative positions": RELATIVE}.items()
    for heads in (2, 3, 4)
    for axis in ("M", "N")
}

UNKNOWN = {
    "divided": "square = Mul(length, length)  u = Div(square, length)",
    "given": "u = Identity(given)",
    "counted": "found = NonZero(x)  u = Shape<start = 1, end = 2>(found)",
    "rest": "u = Mod(open, length)",
}
"""How an element of a shape is computed, which no rule may know."""
WINDOWS = {
    "windows": "t = Concat<axis = 0>(batch, u, w, c)  v = Reshape(x, t)",
    "windows of all images": "t = Concat<axis = 0>(u, w, c)  v = Reshape(x, t)",
    "tokens": "t = Concat<axis = 0>(batch, u, c)  v = Reshape(x, t)",
    "windows in front": "t = Concat<axis = 0>(u, batch, w, c)  v = Reshape(x, t)",
    "a token in front": "t = Concat<axis = 0>(batch, one, u)  e = Expand(bias, t)  v = Concat<axis = 1>(e, x)",
    "repeated": "t = Concat<axis = 0>(one, u, one)  v = Tile(x, t)",
    "padded": "t = Concat<axis = 0>(zero, u, zero, zero, zero, zero)  v = Pad(x, t)",
    "filled": "t = Concat<axis = 0>(batch, u, c)  v = ConstantOfShape(t)",
    "cut": "v = Slice(x, zero, u, one)",
}
WINDOWED = {
    f"{name}, {how}": f"g (float[N,S,96] x, int64[1] given) => (float[A] y) {{ {SIZES} {BIAS} {element}  {window}"
    "  half = Constant<value_float = 0.5>()  z = Add(v, half)  s = Mul(z, bias)  y = Relu(s) }"
    for name, window in WINDOWS.items()
    for how, element in UNKNOWN.items()
}

TARGETS = {
    "the other's shape": "t = Shape(x)",
    "sizes": "one = Constant<value_ints = [1]>()  b = Shape<start = 0, end = 1>(x)  s = Shape<start = 2, end = 3>(x)"
    "  t = Concat<axis = 0>(b, one, s, s)",
    "ones": "t = Constant<value_ints = [1, 4, 1, 1]>()",
    "the mask's batch": "one = Constant<value_ints = [1]>()  b = Shape<start = 0, end = 1>(mask)"
    "  s = Shape<start = 2, end = 3>(x)  t = Concat<axis = 0>(b, one, s, s)",
}
MASKED = {
    f"{name}, mask [{mask}], value {value or 'of any rank'}": f"g (bool[{mask}] mask, float[N,4,S,S] x,"
    f" float[{value}] o) => (float[A] y) {{ {target}  e = Expand(mask, t)  y = Where(e, o, x) }}"
    for name, target in TARGETS.items()
    for mask in ("N,1,1,S", "1,1,S,S", "M,1,S,1")
    for value in ("", "1", "N,1,S,S")
}


def parsed(text: str) -> ModelProto:
    """Return a model whose outputs are declared without a shape."""
    model = onnx.parser.parse_model(HEAD + text)
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    return model


def exported(text: str) -> ModelProto:
    """Return a model with the stored shapes of an exporter: a name of its own for each open size, constants too."""
    model = onnx.shape_inference.infer_shapes(parsed(text), data_prop=True)
    constants = {node.output[0] for node in model.graph.node if node.op_type == "Constant"}
    for info in model.graph.value_info:
        for axis, dim in enumerate(info.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value") or (info.name in constants and not axis):
                dim.dim_param = f"unk__{info.name}_{axis}"
    return model


def fixed(model: ModelProto, target: str, folder: Path) -> Proof:
    """Fix a model and prove the result."""
    before, after = folder / "before.onnx", folder / "after.onnx"
    before.write_bytes(model.SerializeToString())
    loaded = graphfix.load(before)
    graphfix.fix(loaded, target=target)
    loaded.save(after)
    return prove(before, after)


def compared(one: ModelProto, two: ModelProto, folder: Path) -> Proof:
    paths = folder / "one.onnx", folder / "two.onnx"
    for path, model in zip(paths, (one, two), strict=True):
        path.write_bytes(model.SerializeToString())
    return prove(*paths)


def declared(text: str, *sizes: int | str | None) -> ModelProto:
    """Return a model that stores a shape of the value `v`."""
    model = parsed(text)
    model.graph.value_info.append(helper.make_tensor_value_info("v", TensorProto.FLOAT, sizes))
    return model


def shape_of(text: str, name: str, feeds: dict[str, np.ndarray]) -> tuple[int, ...]:
    """Return the shape of a value in onnxruntime."""
    model = parsed(text)
    if name != model.graph.output[0].name:
        model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    taken = {info.name: feeds[info.name] for info in session.get_inputs() if info.name in feeds}
    return tuple(session.run([name], taken)[0].shape)


@pytest.mark.alike(3)
@pytest.mark.parametrize("target", ["explicit", "compact"])
@pytest.mark.parametrize("case", [*ATTENTION, *WINDOWED])
def test_sizes_that_a_part_of_a_shape_gives_are_proved(case: str, target: str, tmp_path: Path) -> None:
    assert fixed(parsed({**ATTENTION, **WINDOWED}[case]), target, tmp_path).reason is None


@pytest.mark.parametrize("case", [*ATTENTION, *WINDOWED])
def test_names_that_an_exporter_stores_do_not_matter(case: str, tmp_path: Path) -> None:
    assert fixed(exported({**ATTENTION, **WINDOWED}[case]), "explicit", tmp_path).reason is None


@pytest.mark.alike(3)
@pytest.mark.parametrize("target", ["explicit", "compact"])
@pytest.mark.parametrize("case", MASKED)
def test_a_mask_is_stretched_in_front_of_a_choice_or_by_it(case: str, target: str, tmp_path: Path) -> None:
    assert fixed(parsed(MASKED[case]), target, tmp_path).reason is None


@pytest.mark.parametrize("heads", range(1, 25))
@pytest.mark.parametrize("axis", ["M", "N"])
def test_one_head_may_have_another_batch_and_more_have_not(heads: int, axis: str, tmp_path: Path) -> None:
    text = ALIBI.format(sizes=SIZES, heads=heads, axis=axis)
    found = compared(parsed(text), declared(text, "M", heads, "S", "S"), tmp_path)
    if heads > 1:
        assert found.reason is None
        return
    assert "calls two sizes 'S'" in str(found.reason)
    feeds = {"x": np.ones((1, 1, 16), np.float32), "mask": np.ones((1, 1, 1, 1), bool)}
    assert shape_of(text, "v", {**feeds, "alibi": np.ones((5, 1, 1), np.float32)}) == (1, 1, 1, 5)


WRONG: dict[str, tuple[int | str | None, ...]] = {
    "windows": ("N", "S", 14, 96),
    "windows of all images": ("N", 14, 96),
    "tokens": ("N", "N", 96),
    "windows in front": ("S", "N", 14, 96),
    "repeated": ("N", "S", 96),
    "padded": ("N", "S", 96),
    "filled": ("N", "S", 96),
    "cut": ("N", "S", 96),
}
"""By window: the shape of `v`, with a name for the unknown size that is the name of another size."""


@pytest.mark.parametrize("how", ["given", "counted"])
@pytest.mark.parametrize("name", WRONG)
def test_an_unknown_size_has_no_name_and_no_number(name: str, how: str, tmp_path: Path) -> None:
    text, wrong = WINDOWED[f"{name}, {how}"], WRONG[name]
    at = [axis for axis, size in enumerate(wrong) if isinstance(size, str) and (name, axis) in _UNKNOWN_AXES]
    right = [None if axis in at else size for axis, size in enumerate(wrong)]
    numbered = [7 if axis in at else size for axis, size in enumerate(wrong)]
    assert compared(parsed(text), declared(text, *right), tmp_path).reason is None
    assert "calls two sizes" in str(compared(parsed(text), declared(text, *wrong), tmp_path).reason)
    assert "not known to be" in str(compared(parsed(text), declared(text, *numbered), tmp_path).reason)
    if how == "counted":
        return
    feeds = {"x": np.ones((2, 42, 96), np.float32), "given": np.array([_GIVEN[name]])}
    sizes = {"N": 2, "S": 42}
    (axis,) = at
    ran = shape_of(text, "v", feeds)
    assert all(ran[other] == sizes.get(str(size), size) for other, size in enumerate(wrong) if other != axis)
    assert ran[axis] not in (7, sizes[str(wrong[axis])])


_UNKNOWN_AXES = {
    (name, axis)
    for name, axis in {
        "windows": 1, "windows of all images": 0, "tokens": 1, "windows in front": 0,
        "repeated": 1, "padded": 1, "filled": 1, "cut": 1,
    }.items()
}  # fmt: skip
_GIVEN = {
    "windows": 3, "windows of all images": 6, "tokens": 42, "windows in front": 3,
    "repeated": 2, "padded": 5, "filled": 5, "cut": 3,
}  # fmt: skip
"""By window: an element with which the model runs at x[2,42,96]."""


@pytest.mark.parametrize("own", ["x", "o"])
@pytest.mark.parametrize("count", range(2, 12))
def test_a_mask_that_stretches_the_result_stays(count: int, own: str, tmp_path: Path) -> None:
    """The unknown element, or the number, of the target is the size of the result."""
    element = f"Constant<value_ints = [{count}]>()" if own == "x" else "Identity(given)"
    text = (
        f"g (bool[N,1,1,S] mask, float[N,1,1,S] x, float o, int64[1] given) => (float[A] y) {{ u = {element}"
        "  one = Constant<value_ints = [1]>()  b = Shape<start = 0, end = 1>(x)  s = Shape<start = 3, end = 4>(x)"
        "  t = Concat<axis = 0>(b, u, one, s)  e = Expand(mask, t)  y = Where(e, o, x) }"
    )
    for target in ("explicit", "compact"):
        assert fixed(parsed(text), target, tmp_path).reason is None
    bare = text.replace("e = Expand(mask, t)", "e = Identity(mask)")
    assert compared(parsed(text), parsed(bare), tmp_path).status == "not proved"
    feeds = {"mask": np.ones((2, 1, 1, 3), bool), "x": np.ones((2, 1, 1, 3), np.float32), "o": np.float32(1)}
    given = {**feeds, "o": np.array(1, np.float32), "given": np.array([count])}
    assert shape_of(text, "y", given) == (2, count, 1, 3) != shape_of(bare, "y", given)
