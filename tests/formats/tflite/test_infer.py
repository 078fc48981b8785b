"""What is inferred of TFLite models: shapes by rules, names of free sizes, contents, stale shapes, bodies.

Every text also runs in LiteRT at several sizes: its shapes must be instances of the inferred ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from graphfix.formats.tflite.file.container import Container, read
from graphfix.formats.tflite.infer.analysis import Facts, analyse
from graphfix.formats.tflite.infer.call import Call
from graphfix.formats.tflite.infer.names import free_axes, unique_names
from graphfix.formats.tflite.infer.operators.layout import NO_SIZE_IS_0
from graphfix.formats.tflite.infer.subgraphs import CONTROL, Analysis
from graphfix.shapes.dim import Dim, Shape, Size, same, symbol
from models.builders.tflite.text import model, pack, tree
from tests.support.places import committed_models, model_id, zoo_models
from tests.support.tflite.instances import choices, run, violations
from tests.support.tiers import quick_in_ci

SIZES = (4, 1, 2, 7, 0)


def by_name(container: Container, facts: Facts, index: int = 0) -> dict[str, Shape]:
    return dict(zip(unique_names(container.subgraphs[index]), facts.shapes, strict=True))


def infer(text: str, ranges: Mapping[str, Size] | None = None) -> dict[str, Shape]:
    container = read(model(text))
    return by_name(container, analyse(container, ranges or {})[0])


def shown(shape: Shape, names: Mapping[tuple[str, ...], str]) -> str:
    """The shape, free sizes of inputs by their labels: `[x.0, 4]`; other names are `?`."""
    if shape.axes is None:
        return str(shape)
    return f"[{', '.join(str(n) if isinstance(n, int) else names.get(n.parts, '?') for n in shape.axes)}]"


def declared_inputs(container: Container) -> list[dict[int, list[int]]]:
    free = list(dict.fromkeys(free_axes(container).values()))
    tensors = container.subgraphs[0].tensors
    stored = {tensor: tensors[tensor].shape for tensor, _ in free}
    return choices(free, stored, SIZES if len(free) < 3 else SIZES[:3])


def assert_instances(path: Path, least: int = 1) -> None:
    """LiteRT's shapes are instances of what is inferred with free sizes and with numbers, on at least so many runs.

    Where the view assumes that no size is 0, what it says of free sizes is not asked of runs that have one.
    """
    container = read(path)
    facts = analyse(container, {})[0]
    labels = {place: label for label, place in free_axes(container).items()}
    every = declared_inputs(container)
    answers = run(path, every)
    ran = 0
    for inputs, answer in zip(every, answers, strict=True):
        if isinstance(answer, str):
            continue
        ran += 1
        if NO_SIZE_IS_0 not in facts.assumes or not any(0 in shape for shape in inputs.values()):
            assert not list(violations(facts.shapes, answer)), inputs
        numbers = {label: inputs[tensor][axis] for (tensor, axis), label in labels.items()}
        assert not list(violations(analyse(container, numbers)[0].shapes, answer)), inputs
    assert ran >= least, answers


# text of one result -> what its shape is; sizes of inputs by name, as far as the rules carry them
RULES = {
    "unary": ("y[?,3] = TANH(x[?,3])", "[x.0, 3]"),
    "broadcast with a constant": ("y[?,3] = ADD(x[?,3], c:const[3])", "[x.0, 3]"),
    "broadcast of two free sizes": ("y[?] = ADD(a[?], b[?])", "[?]"),
    "residual": ("t[?,3] = NEG(x[?,3])\ny[?,3] = ADD(t, x)", "[x.0, 3]"),
    "batch matmul": ("y[?,2,5] = BATCH_MATMUL(x[?,2,3], w:const[3,5])", "[x.0, 2, 5]"),
    "batch matmul adjoint": ("y[?,3,4] = BATCH_MATMUL(x[?,2,3], w:const[4,2], adj_x=True, adj_y=True)", "[x.0, 3, 4]"),
    "fully connected": ("y[?,5] = FULLY_CONNECTED(x[?,3], w:const[5,3], )", "[x.0, 5]"),
    "fully connected over two axes": ("y[?,5] = FULLY_CONNECTED(x[?,2,3], w:const[5,6], )", "[x.0, 5]"),
    "fully connected with its axes": (
        "y[?,2,5] = FULLY_CONNECTED(x[?,2,3], w:const[5,3], , keep_num_dims=True)",
        "[x.0, 2, 5]",
    ),
    "prelu": ("y[?,2,3] = PRELU(x[?,2,3], a:const[2,3])", "[x.0, 2, 3]"),
    "conv, SAME": (
        "y[?,3,?,6] = CONV_2D(x[?,6,?,2], w:const[6,3,3,2], b:const[6], padding=SAME, stride_h=2, stride_w=1)",
        "[x.0, 3, x.2, 6]",
    ),
    "conv, VALID with dilation": (
        (
            "y[?,5,4,6] = CONV_2D(x[?,9,9,2], w:const[6,3,2,2], b:const[6], padding=VALID, stride_h=1, stride_w=2,"
            " dilation_h_factor=2, dilation_w_factor=1)"
        ),
        "[x.0, 5, 4, 6]",
    ),
    "depthwise": (
        (
            "y[?,3,3,4] = DEPTHWISE_CONV_2D(x[?,5,5,2], w:const[1,3,3,4], b:const[4], padding=VALID, stride_h=1,"
            " stride_w=1, depth_multiplier=2)"
        ),
        "[x.0, 3, 3, 4]",
    ),
    "pool": (
        "y[?,2,3,2] = MAX_POOL_2D(x[?,5,5,2], padding=VALID, stride_h=2, stride_w=1, filter_height=3, filter_width=3)",
        "[x.0, 2, 3, 2]",
    ),
    "resize": ("y[?,8,9,2] = RESIZE_BILINEAR(x[?,5,5,2], s:const:int32[2]{8,9})", "[x.0, 8, 9, 2]"),
    "rfft2d": ("y:complex64[?,8,5] = RFFT2D(x[?,8,8], n:const:int32[2]{8,8})", "[x.0, 8, 5]"),
    "rfft2d, shortened": ("y:complex64[?,4,3] = RFFT2D(x[?,8,8], n:const:int32[2]{4,4})", "[x.0, 4, 3]"),
    "pad a free size": ("y[?,7] = PAD(x[?,5], p:const:int32[2,2]{0,0,1,1})", "[x.0, 7]"),
    "mirror": ("y[?,7] = MIRROR_PAD(x[?,5], p:const:int32[2,2]{0,0,1,1})", "[x.0, 7]"),
    "space to depth": ("y[?,2,3,8] = SPACE_TO_DEPTH(x[?,4,6,2], block_size=2)", "[x.0, 2, 3, 8]"),
    "depth to space": ("y[?,4,6,2] = DEPTH_TO_SPACE(x[?,2,3,8], block_size=2)", "[x.0, 4, 6, 2]"),
    "space to batch and back": (
        (
            "s[?,2,3,1] = SPACE_TO_BATCH_ND(x[?,4,6,1], k:const:int32[2]{2,2}, z:const:int32[2,2]{0,0,0,0})\n"
            "y[?,4,6,1] = BATCH_TO_SPACE_ND(s, k, z)"
        ),
        "[x.0, 4, 6, 1]",
    ),
    "slice behind a new axis": (
        (
            "y[1,?,3] = STRIDED_SLICE(x[?,6], b:const:int32[3]{0,0,1}, e:const:int32[3]{0,0,4},"
            " s:const:int32[3]{1,1,1}, new_axis_mask=1, begin_mask=2, end_mask=2)"
        ),
        "[1, x.0, 3]",
    ),
    "reshape, the rest": ("y[?,6] = RESHAPE(x[?,2,3], s:const:int32[2]{-1,6})", "[x.0, 6]"),
    "reshape, one rank up": ("y[?,2,3] = RESHAPE(x[?,6], s:const:int32[3]{-1,2,3})", "[x.0, 2, 3]"),
    "reshape by new_shape": ("y[?,6] = RESHAPE(x[?,2,3], new_shape=[-1,6])", "[x.0, 6]"),
    "reshape to the shape of another": (
        "s:int32[2] = SHAPE(z[?,6], out_type=INT32)\ny[?,6] = RESHAPE(x[2,6], s)",
        "[z.0, 6]",
    ),
    "reshape flat and back": (
        "f[?] = RESHAPE(x[?,6], m:const:int32[1]{-1})\ny[?,6] = RESHAPE(f, s:const:int32[2]{-1,6})",
        "[x.0, 6]",
    ),
    "expand": ("y[?,1,3] = EXPAND_DIMS(x[?,3], a:const:int32[]{-2})", "[x.0, 1, 3]"),
    "squeeze": ("y[?,3] = SQUEEZE(x[?,1,3], squeeze_dims=[-2])", "[x.0, 3]"),
    "squeeze of what is 1 when it runs": ("y[?,3] = SQUEEZE(x[?,1,3])", "[*]"),
    "transpose": ("y[3,?,2] = TRANSPOSE(x[?,2,3], p:const:int32[3]{2,0,1})", "[3, x.0, 2]"),
    "concat beside a free size": ("y[?,8] = CONCATENATION(x[?,3], z[?,5], axis=-1)", "[x.0, 8]"),
    "concat along a free size": (
        (
            "t[?,3] = CONCATENATION(x[?,3], c:const[2,3], axis=0)\ny[?,3] = SLICE(t, b:const:int32[2]{2,0},"
            " s:const:int32[2]{-1,3})"
        ),
        "[x.0, 3]",
    ),
    "pack": ("y[?,2,3] = PACK(x[?,3], z[?,3], axis=1, values_count=2)", "[x.0, 2, 3]"),
    "unpack": ("a[?,3], y[?,3] = UNPACK(x[?,2,3], axis=1, num=2)", "[x.0, 3]"),
    "split": ("a[?,3], y[?,3] = SPLIT(d:const:int32[]{1}, x[?,6], num_splits=2)", "[x.0, 3]"),
    "split_v: sizes from an operand": (
        "a[?,2], y[?,4] = SPLIT_V(x[?,6], s:const:int32[2]{2,-1}, d:const:int32[]{1}, num_splits=2)",
        "[x.0, 4]",
    ),
    "strided slice of a static axis": (
        (
            "y[?,3] = STRIDED_SLICE(x[?,6], b:const:int32[2]{0,-1}, e:const:int32[2]{0,0}, s:const:int32[2]{1,-2},"
            " begin_mask=1, end_mask=3)"
        ),
        "[x.0, 3]",
    ),
    "strided slice, shrink": (
        (
            "y[6] = STRIDED_SLICE(x[?,6], b:const:int32[2]{0,0}, e:const:int32[2]{1,6}, s:const:int32[2]{1,1},"
            " shrink_axis_mask=1)"
        ),
        "[6]",
    ),
    "strided slice, ellipsis and a new axis": (
        (
            "y[?,2,1,3] = STRIDED_SLICE(x[?,2,6], b:const:int32[3]{0,0,3}, e:const:int32[3]{0,0,6},"
            " s:const:int32[3]{1,1,1}, ellipsis_mask=1, new_axis_mask=2)"
        ),
        "[x.0, 2, 1, 3]",
    ),
    "slice": ("y[?,2] = SLICE(x[?,6], b:const:int32[2]{0,1}, s:const:int32[2]{-1,2})", "[x.0, 2]"),
    "mean": ("y[?,3] = MEAN(x[?,2,2,3], a:const:int32[2]{1,2})", "[x.0, 3]"),
    "max, kept": ("y[?,1] = REDUCE_MAX(x[?,3], a:const:int32[]{-1}, keep_dims=True)", "[x.0, 1]"),
    "arg max": ("y:int64[?] = ARG_MAX(x[?,3], a:const:int32[]{1}, output_type=INT64)", "[x.0]"),
    "gather": ("y[?,4,2] = GATHER(x[?,5,2], i:const:int32[4]{0,1,2,3}, axis=1)", "[x.0, 4, 2]"),
    "gather by batch": ("y[?,4] = GATHER(x[?,5], i:int32[?,4], axis=1, batch_dims=1)", "[x.0, 4]"),
    "gather_nd": ("y[4,3] = GATHER_ND(c:const[5,3], i:const:int32[4,1]{0,1,2,3})\nz[?] = NEG(x[?])", "[4, 3]"),
    "one hot": (
        "y[?,4] = ONE_HOT(x:int32[?], d:const:int32[]{4}, u:const[]{1.0}, v:const[]{0.0}, axis=-1)",
        "[x.0, 4]",
    ),
    "tile": ("y[?,6] = TILE(x[?,3], m:const:int32[2]{1,2})", "[x.0, 6]"),
    "broadcast_to by SHAPE": (
        "s:int32[2] = SHAPE(x[?,3], out_type=INT32)\ny[?,3] = BROADCAST_TO(c:const[3], s)",
        "[x.0, 3]",
    ),
    "fill": ("s:int32[1] = SHAPE(x[?], out_type=INT32)\ny[?] = FILL(s, v:const[]{2.0})", "[x.0]"),
    "segments of a shape, as einsum makes them": (
        """
        s:int32[3] = SHAPE(x[?,2,6], out_type=INT32)
        t:int32[2] = UNSORTED_SEGMENT_PROD(s, i:const:int32[3]{0,1,1}, n:const:int32[]{2})
        y[?,12] = RESHAPE(x, t)
        """,
        "[x.0, 12]",
    ),
    "segments of rows": (
        "y[3,4] = UNSORTED_SEGMENT_SUM(x[?,4], i:int32[?], n:const:int32[]{3})",
        "[3, 4]",
    ),
    "segments that are sorted": ("y[2,4] = SEGMENT_SUM(x[4,4], i:const:int32[4]{0,0,1,1})\nz[?] = NEG(u[?])", "[2, 4]"),
    "range of floats": (
        """
        s:int32[2] = SHAPE(x[?,3], out_type=INT32)
        n:int32[] = STRIDED_SLICE(s, b:const:int32[1]{0}, e:const:int32[1]{1}, t:const:int32[1]{1}, shrink_axis_mask=1)
        f[] = CAST(n, in_data_type=INT32, out_data_type=FLOAT32)
        y[?] = RANGE(o:const[]{0.0}, f, d:const[]{1.0})
        """,
        "[x.0]",
    ),
    "range from one size to another": (
        """
        s:int32[1] = SHAPE(x[?], out_type=INT32)
        p:int32[1] = SHAPE(z[?], out_type=INT32)
        u:int32[1] = ADD(s, p)
        a:int32[] = SQUEEZE(p)
        b:int32[] = SQUEEZE(u)
        y:int32[?] = RANGE(a, b, d:const:int32[]{1})
        """,
        "[x.0]",
    ),
    "blocks of a padded axis": (
        """
        s:int32[3] = SHAPE(x[?,?,3], out_type=INT32)
        n:int32[1] = STRIDED_SLICE(s, b:const:int32[1]{1}, e:const:int32[1]{2}, t:const:int32[1]{1})
        m:int32[1] = NEG(n)
        r:int32[1] = FLOOR_MOD(m, k:const:int32[1]{2})
        p:int32[2] = CONCATENATION(o:const:int32[1]{0}, r, axis=0)
        q:int32[1,2] = RESHAPE(p, h:const:int32[2]{1,2}, new_shape=[1,2])
        v:int32[1,2] = STRIDED_SLICE(q, b2:const:int32[2]{0,0}, e2:const:int32[2]{1,2}, t2:const:int32[2]{1,1})
        w[?,?,3] = SPACE_TO_BATCH_ND(x, k, v)
        y[?,?,3] = BATCH_TO_SPACE_ND(w, k, v)
        """,
        "[x.0, x.1, 3]",
    ),
    "top": ("y[?,2], i:int32[?,2] = TOPK_V2(x[?,5], k:const:int32[]{2})", "[x.0, 2]"),
    "where": ("c:bool[?,3] = GREATER(x[?,3], z:const[]{0.0})\ny:int64[?,2] = WHERE(c)", "[?, 2]"),
    "select, rows": (
        "c:bool[?] = GREATER(x[?], z:const[]{0.0})\ny[?] = SELECT(c, x, n[?])",
        "[x.0]",
    ),
    "select_v2": ("y[?,3] = SELECT_V2(c:bool[?,1], x[?,3], n:const[3])", "[?, 3]"),
    "select_v2 of single elements keeps what is declared": (
        "y[1,1] = SELECT_V2(c:const:bool[1], a:const[], b:const[1])\nz[?] = NEG(x[?])",
        "[1, 1]",
    ),
    "rfft": ("y:complex64[?,1,5] = RFFT2D(x[?,1,8], l:const:int32[2]{1,8})", "[x.0, 1, 5]"),
    "cumsum": ("y[?,3] = CUMSUM(x[?,3], a:const:int32[]{1})", "[x.0, 3]"),
    "quantize and back": ("q:int8[?,3] = QUANTIZE(x[?,3])\ny[?,3] = DEQUANTIZE(q)", "[x.0, 3]"),
}


@pytest.mark.alike(2)
@pytest.mark.parametrize(("text", "expected"), RULES.values(), ids=RULES.keys())
def test_a_rule_carries_numbers_and_names_and_litert_agrees(text: str, expected: str, tmp_path: Path) -> None:
    data = model(text)
    container = read(data)
    facts = analyse(container, {})[0]
    shapes = by_name(container, facts)
    names = {(f"?{name}.{axis}",): f"{name}.{axis}" for name in "xz" for axis in range(4)}
    assert shown(shapes["y"], names) == expected
    assert not facts.stale
    path = tmp_path / "m.tflite"
    path.write_bytes(data)
    assert_instances(path)


# texts in which every size that can be is free: nothing is expected of them but that LiteRT agrees at all sizes
FREE_TEXTS = {
    "windows": """
        a[?,?,?,3] = CONV_2D(x[?,?,?,2], w:const[3,3,3,2], b:const[3], padding=VALID, stride_h=2, stride_w=1)
        c[?,?,?,3] = CONV_2D(x, w, b, padding=SAME, stride_h=2, stride_w=3)
        d[?,?,?,3] = MAX_POOL_2D(c, padding=SAME, stride_h=2, stride_w=2, filter_height=2, filter_width=2)
        """,
    "reshapes that cancel": """
        s:int32[3] = SHAPE(x[?,?,4], out_type=INT32)
        a:int32[1] = SLICE(s, z:const:int32[1]{1}, o:const:int32[1]{1})
        t:int32[2] = CONCATENATION(a, m:const:int32[1]{-1}, axis=0)
        y[?,?] = RESHAPE(x, t)
        w[?] = RESHAPE(x, m)
        v[?,2] = RESHAPE(x, q:const:int32[2]{-1,2})
        u[?,2] = RESHAPE(w, q)
        r[?,2] = ADD(v, u)
        h:int32[1] = SLICE(s, g:const:int32[1]{0}, o)
        f:int32[1] = MUL(h, four:const:int32[]{4})
        k[?] = FILL(f, l:const[]{1.0})
        """,
    "cuts": """
        a[?] = STRIDED_SLICE(x[?], b:const:int32[1]{1}, e:const:int32[1]{-1}, s:const:int32[1]{1})
        c[?] = STRIDED_SLICE(x, b, e, s, begin_mask=1)
        d[?] = STRIDED_SLICE(x, b, e, s, end_mask=1)
        i[?] = PAD(d, j:const:int32[1,2]{0,1})
        f[?] = STRIDED_SLICE(x, g:const:int32[1]{-2}, e, s, end_mask=1)
        h[?] = STRIDED_SLICE(x, b, k:const:int32[1]{3}, s, begin_mask=1)
        l[?] = STRIDED_SLICE(x, b, e, n:const:int32[1]{2}, begin_mask=1, end_mask=1)
        p[?] = STRIDED_SLICE(x, b, e, r:const:int32[1]{-1}, begin_mask=1, end_mask=1)
        """,
    "shape arithmetic": """
        s:int32[2] = SHAPE(x[?,3], out_type=INT32)
        n:int32[] = STRIDED_SLICE(s, z:const:int32[1]{0}, o:const:int32[1]{1}, o, shrink_axis_mask=1)
        h:int32[] = FLOOR_DIV(n, two:const:int32[]{2})
        d:int32[] = MUL(h, two)
        m:int32[] = MAXIMUM(d, one:const:int32[]{1})
        r:int32[?] = RANGE(zero:const:int32[]{0}, m, one)
        i:int32[] = SUB(n, one)
        j:int32[] = MAXIMUM(i, zero)
        t:int32[?] = RANGE(zero, j, one)
        k:int32[2] = PACK(d, three:const:int32[]{3}, axis=0, values_count=2)
        y[?,3] = FILL(k, v:const[]{1.0})
        """,
    "joins": """
        a[?,3] = CONCATENATION(x[?,3], y[?,3], axis=0)
        b[?,3] = CONCATENATION(y, x, axis=0)
        c[?,3] = ADD(a, b)
        d[?,?] = TILE(x, m:const:int32[2]{2,3})
        e[?,3] = CONCATENATION(x, x, axis=0)
        """,
    "matmul by SHAPE": """
        s:int32[3] = SHAPE(x[?,?,4], out_type=INT32)
        g:int32[2] = GATHER(s, i:const:int32[2]{0,1}, axis=0)
        p:int32[] = REDUCE_PROD(g, a:const:int32[1]{0})
        t:int32[2] = PACK(p, f:const:int32[]{4}, axis=0, values_count=2)
        m[?,4] = RESHAPE(x, t)
        c[?,5] = FULLY_CONNECTED(m, w:const[5,4], )
        q:int32[3] = CONCATENATION(g, n:const:int32[1]{5}, axis=0)
        y[?,?,5] = RESHAPE(c, q)
        r[?,?,5] = ADD(y, k:const[5])
        """,
    "the run-time form": """
        s:int32[?] = SHAPE(x[?,3], out_type=INT32)
        t:int32[?] = SHAPE(y[?,3], out_type=INT32)
        b:int32[2] = BROADCAST_ARGS(s, t)
        u[?,3] = BROADCAST_TO(x, b)
        v[?,3] = BROADCAST_TO(y, b)
        z[?,3] = ADD(u, v)
        """,
    "a target that is an input": """
        y[?,?] = FILL(s:int32[2], v:const[]{1.0})
        z[?,?] = FILL(s, w:const[]{2.0})
        r[?,?] = ADD(y, z)
        q[?] = NEG(x[?])
        """,
    "where": """
        c:bool[?] = GREATER(x[?], z:const[]{-1.0})
        i:int64[?,1] = WHERE(c)
        g[?] = GATHER_ND(x, i)
        """,
}


@pytest.mark.parametrize("text", FREE_TEXTS.values(), ids=FREE_TEXTS.keys())
def test_litert_agrees_at_all_sizes(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(model("\n".join(line.strip() for line in text.splitlines())))
    assert_instances(path, least=2)


def test_arithmetic_on_both_sides_is_one_size() -> None:
    shapes = infer(
        "a[?,?,?,3] = CONV_2D(x[?,?,?,2], w:const[3,3,3,2], b:const[3], padding=SAME, stride_h=2, stride_w=2)\n"
        "c[?,?,?,3] = CONV_2D(x, v:const[3,1,1,2], b, padding=SAME, stride_h=2, stride_w=2)"
    )
    assert all(map(same, shapes["a"].dims, shapes["c"].dims))
    assert not same(shapes["a"].dims[1], shapes["x"].dims[1])


def test_a_broadcast_of_free_sizes_is_the_same_behind_the_run_time_form() -> None:
    shapes = infer(FREE_TEXTS["the run-time form"])
    assert same(shapes["u"].dims[0], shapes["v"].dims[0])
    assert shapes["u"].dims[0] == shapes["z"].dims[0]


def test_names_are_of_the_tensor_and_its_axis_and_print_as_unknown() -> None:
    shape = infer("y[3,?] = NEG(x[3,?])")["y"]
    assert shape.dims == (3, Dim(("?x.1",)))
    assert str(shape) == "[3, ?]"


def test_equal_names_in_two_subgraphs_are_not_one_size() -> None:
    container = read(model("y[?] = NEG(x[?])\nsubgraph other:\nu[?] = NEG(x[?])", signatures=None))
    main, other = analyse(container, {})
    assert not same(by_name(container, main)["y"].dims[0], by_name(container, other, 1)["u"].dims[0])


def test_repeated_names_are_not_one_size() -> None:
    container = read(model("y[?] = NEG(x[?])\nz[?] = NEG(w[?])"))
    for tensor in container.subgraphs[0].tensors:
        tensor.name = "same"
    sizes = {shape.dims for shape in analyse(container, {})[0].shapes}
    assert len(sizes) == 2


def test_a_range_narrows_the_named_size_wherever_it_goes() -> None:
    shape = infer("y[?,3] = NEG(x[?,3])", {"x[0]": symbol("x[0]", 2, 64)})["y"]
    assert shape.dims[0] == Dim(("?x.0",), 2, 64)


def test_a_number_for_a_free_size_goes_everywhere() -> None:
    assert infer("y[?,3] = NEG(x[?,3])", {"x[0]": 5})["y"] == Shape((5, 3))


def test_a_range_by_the_name_of_a_signature_is_understood() -> None:
    from models.builders.tflite.text import Signature

    data = model("y[?] = NEG(x[?])", signatures={"serve": Signature("main", {"in": "x"}, {"out": "y"})})
    assert analyse(read(data), {"in[0]": 3})[0].shapes[0] == Shape((3,))


def facts_of(text: str) -> tuple[Container, Facts]:
    container = read(model(text))
    return container, analyse(container, {})[0]


def content(text: str, name: str) -> tuple[Size, ...] | None:
    container, facts = facts_of(text)
    return facts.contents.get(unique_names(container.subgraphs[0]).index(name))


def test_the_content_of_shape_is_the_shape() -> None:
    assert content("s:int32[2] = SHAPE(x[?,3], out_type=INT32)", "s") == (Dim(("?x.0",)), 3)


def test_contents_are_followed_through_arithmetic_back_to_the_size() -> None:
    text = """s:int32[1] = SHAPE(x[?], out_type=INT32)
d:int32[1] = MUL(s, c:const:int32[]{4})
e:int32[1] = ADD(d, f:const:int32[1]{8})
g:int32[1] = SUB(e, f)
h:int32[1] = FLOOR_DIV(g, c)"""
    assert content(text, "h") == (Dim(("?x.0",)),)
    assert content(text, "d") != content(text, "e")


def test_contents_of_constants_are_there_and_big_ones_or_matrices_are_not() -> None:
    text = "y[?] = RESHAPE(x[?,2], s:const:int32[1]{-1})\nz[?,2] = PAD(x, p:const:int32[2,2]{0,0,0,0})"
    assert content(text, "s") == (-1,)
    assert content(text, "p") is None
    assert content("y:int32[65] = ADD(x:int32[65], c:const:int32[65])", "c") is None


def test_the_elements_of_packed_vectors_are_not_followed() -> None:
    text = """p:int32[2,2] = PACK(a:const:int32[2]{1,2}, b:const:int32[2]{3,4}, axis=1, values_count=2)
t:int32[4] = RESHAPE(p, s:const:int32[1]{4})"""
    assert all(isinstance(size, Dim) for size in content(text, "t") or ())


def test_a_fused_activation_stops_the_following_of_contents() -> None:
    text = (
        "s:int32[1] = SHAPE(x[?], out_type=INT32)\n"
        "t:int32[1] = CONCATENATION(s, axis=0, fused_activation_function=RELU6)"
    )
    assert content(text, "t") != (Dim(("?x.0",)),)


def test_a_stored_shape_that_the_computed_one_contradicts_is_stale() -> None:
    container, facts = facts_of("y[4,9] = RESHAPE(x[2,3], s:const:int32[2]{3,2})\nz[4,9] = NEG(y)")
    names = unique_names(container.subgraphs[0])
    assert facts.stale[names.index("y")] == "the stored shape [4, 9] of 'y' contradicts the computed [3, 2]"
    assert facts.shapes[names.index("z")] == Shape((3, 2))


def test_another_stored_rank_is_stale() -> None:
    container, facts = facts_of("y[1,2,3] = NEG(x[?,3])")
    assert list(facts.stale) == [unique_names(container.subgraphs[0]).index("y")]


def test_a_free_size_of_the_file_is_no_claim() -> None:
    _, facts = facts_of("y[?,?] = NEG(x[2,3])")
    assert not facts.stale
    assert facts.shapes[1] == Shape((2, 3))


def test_a_stored_number_does_not_take_the_name_of_a_free_size() -> None:
    """A tool that dropped the signature of y left the placeholder 1: LiteRT gives y the size of x."""
    assert infer("y[1,3] = NEG(x[?,3])")["y"].dims == (Dim(("?x.0",)), 3)


def test_a_size_outside_of_the_range_is_stale() -> None:
    container = read(model("y[1,3] = NEG(x[?,3])"))
    facts = analyse(container, {"x[0]": symbol("x[0]", 2, 9)})[0]
    assert list(facts.stale) == [1]


def test_what_only_the_file_says_is_leaned_on_and_recorded() -> None:
    _, facts = facts_of("y[2,?] = CUSTOM.Op(x[?])\nz[2,?] = NEG(y)")
    assert facts.assumes == ["the stored shape of 'y', a result of Op"]
    assert facts.shapes[1].dims[0] == 2
    assert same(facts.shapes[1].dims[1], facts.shapes[2].dims[1])


def test_where_the_files_word_is_contradicted_by_the_files_word_nothing_is_known() -> None:
    container, facts = facts_of("y[2,3] = CUSTOM.Op(x[?])\nz[4,3] = NEG(y)")
    assert facts.stale
    assert not facts.shapes[unique_names(container.subgraphs[0]).index("z")].ranked


def test_a_missing_shape_is_a_scalar_only_where_something_says_so() -> None:
    text = "y[2] = ADD(x[2], c:const[])\nz[2] = ADD(x, u[])"
    old = read(model(text, has_rank=False))
    shapes = by_name(old, analyse(old, {})[0])
    assert shapes["c"] == Shape(())
    assert not shapes["u"].ranked
    assert infer(text)["u"] == Shape(())


def test_an_operator_that_cannot_run_has_the_declared_shape() -> None:
    _, facts = facts_of("y[2,3] = ADD(a[2,3], b[2,4])")
    assert facts.shapes[2] == Shape((2, 3))
    assert facts.assumes == ["the stored shape of 'y', a result of ADD"]


BRANCHES = """
y[{y}] = IF(c:bool[], x[{x}], then=yes, else=no)
z[?] = NEG(y)
subgraph yes(x[{inner}]):
t[?] = NEG(x)
subgraph no(x[{inner}]):
{other}
"""


def test_branches_that_agree_give_the_size_of_the_operand() -> None:
    shapes = infer(BRANCHES.format(y="?", x="?", inner="?", other="t[?] = ABS(x)"))
    assert same(shapes["y"].dims[0], shapes["x"].dims[0])


def test_branches_that_differ_give_an_unknown_size() -> None:
    other = "t[3] = SLICE(x, b:const:int32[1]{0}, s:const:int32[1]{3})"
    shapes = infer(BRANCHES.format(y="6", x="6", inner="6", other=other))
    assert isinstance(shapes["y"].dims[0], Dim)
    assert not same(shapes["y"].dims[0], shapes["x"].dims[0])


def test_a_body_has_the_numbers_of_its_caller() -> None:
    container = read(model(BRANCHES.format(y="?", x="5", inner="?", other="t[?] = ABS(x)")))
    facts = analyse(container, {})
    assert [by_name(container, facts[at], at)["t"] for at in (1, 2)] == [Shape((5,))] * 2


def test_a_body_has_the_size_that_its_callers_pass_whatever_it_declares() -> None:
    container = read(model(BRANCHES.format(y="?", x="5", inner="7", other="t[?] = ABS(x)")))
    facts = analyse(container, {})[1]
    inner = by_name(container, facts, 1)
    assert (inner["x"], inner["t"]) == (Shape((5,)), Shape((5,)))
    assert "the stored shape [7] of 'x' contradicts the computed [5]" in facts.misstated.values()


LOOP = """
n:int32[], y[{size}], k[4] = WHILE(i:int32[], x[2], w[4], cond=test, body=turn)
z[?] = NEG(y)
subgraph test(i:int32[], x[?], w[?]) -> b:
b:bool[] = LESS(i, c:const:int32[]{{3}})
subgraph turn(i:int32[], x[?], w[?]) -> j, t, w:
j:int32[] = ADD(i, c:const:int32[]{{1}})
t[?] = {turn}
"""


def test_a_loop_that_keeps_its_sizes_has_them_in_front_and_behind() -> None:
    container = read(model(LOOP.format(size="?", turn="NEG(x)")))
    facts = analyse(container, {})
    assert by_name(container, facts[0])["y"] == Shape((2,))
    assert by_name(container, facts[0])["k"] == Shape((4,))
    assert by_name(container, facts[2], 2)["t"] == Shape((2,))


def test_a_loop_that_grows_has_unknown_sizes_inside_and_behind() -> None:
    container = read(model(LOOP.format(size="2", turn="CONCATENATION(x, d:const[1], axis=0)")))
    facts = analyse(container, {})
    assert isinstance(by_name(container, facts[0])["y"].dims[0], Dim)
    assert by_name(container, facts[0])["k"] == Shape((4,))
    inside = by_name(container, facts[2], 2)
    assert isinstance(inside["x"].dims[0], Dim)
    assert not same(inside["x"].dims[0], inside["t"].dims[0])


def test_what_a_loop_shifts_from_one_value_to_the_next_is_unknown_in_all_of_them() -> None:
    text = """p[2], q[2], r[2] = WHILE(x[2], y[2], z[2], cond=test, body=turn)
subgraph test(x[?], y[?], z[?]) -> b:
b:bool[] = GREATER(c:const:int32[]{3}, d:const:int32[]{1})
subgraph turn(x[?], y[?], z[?]) -> t, x, y:
t[?] = CONCATENATION(x, d:const[1], axis=0)"""
    container = read(model(text))
    facts = analyse(container, {})
    assert all(isinstance(by_name(container, facts[0])[name].dims[0], Dim) for name in "pqr")
    assert all(isinstance(by_name(container, facts[2], 2)[name].dims[0], Dim) for name in "xyz")


def test_sizes_that_are_equal_before_each_turn_are_equal_in_the_body() -> None:
    text = """
    n:int32[], p[?,3], q[?,3] = WHILE(i:int32[], x[?,3], x, cond=test, body=turn)
    subgraph test(i:int32[], x[?,3], y[?,3]) -> b:
    b:bool[] = LESS(i, c:const:int32[]{3})
    subgraph turn(i:int32[], x[?,3], y[?,3]) -> j, t, x:
    j:int32[] = ADD(i, c:const:int32[]{1})
    t[?,3] = ADD(x, y)
    """
    container = read(model(text))
    facts = analyse(container, {})
    inside = by_name(container, facts[2], 2)
    assert same(inside["x"].dims[0], inside["y"].dims[0])


def test_sizes_that_only_some_turns_have_equal_have_names_of_their_own() -> None:
    text = """
    n:int32[], p[?,3], q[?,3] = WHILE(i:int32[], x[?,3], x, cond=test, body=turn)
    subgraph test(i:int32[], x[?,3], y[?,3]) -> b:
    b:bool[] = LESS(i, c:const:int32[]{3})
    subgraph turn(i:int32[], x[?,3], y[?,3]) -> j, t, y:
    j:int32[] = ADD(i, c:const:int32[]{1})
    t[?,3] = CONCATENATION(x, d:const[1,3], axis=0)
    """
    container = read(model(text))
    facts = analyse(container, {})
    inside, outside = by_name(container, facts[2], 2), by_name(container, facts[0])
    assert not same(inside["x"].dims[0], inside["y"].dims[0])
    assert not same(outside["p"].dims[0], outside["x"].dims[0])
    assert same(outside["q"].dims[0], outside["x"].dims[0])


def test_a_loop_that_raises_the_rank_leaves_it_unknown() -> None:
    turn = "EXPAND_DIMS(x, d:const:int32[]{0})".replace("{", "{{").replace("}", "}}")
    container = read(model(LOOP.replace("t[?] = {turn}", f"t[?,?] = {turn}").format(size="?")))
    facts = analyse(container, {})
    assert not by_name(container, facts[0])["y"].ranked
    assert not by_name(container, facts[2], 2)["t"].ranked


def test_a_branch_is_read_beside_an_operand_of_unknown_rank() -> None:
    text = BRANCHES.format(y="?", x="?", inner="?", other="t[?] = ABS(x)")
    shapes = infer(text.replace("x[?]):", "x[?], w[*]):").replace("x[?], then", "x[?], w[*], then"))
    assert not shapes["w"].ranked
    assert same(shapes["y"].dims[0], shapes["x"].dims[0])


INITIALIZING = """CALL_ONCE(init_subgraph_index=setup)
y[2] = NEG(x[2])
subgraph yes(v[7]):
t[7] = NEG(v)
subgraph no(v[7]):
t[7] = ABS(v)
subgraph setup:
a:bool[] = LESS(k:const:int32[]{1}, l:const:int32[]{2})
b[5] = IF(a, w:variable[5], then=yes, else=no)"""


def test_what_is_run_once_is_a_caller_of_what_it_runs() -> None:
    container = read(model(INITIALIZING))
    facts = analyse(container, {})
    assert [str(by_name(container, facts[at], at)["t"]) for at in (1, 2)] == ["[5]", "[5]"]


def test_a_subgraph_to_be_run_that_is_not_named_is_none() -> None:
    for text in (INITIALIZING, "z[5] = STABLEHLO_COMPOSITE(x[?])"):
        made = tree(text)
        operator = made.subgraphs[0].operators[0]
        operator.builtinOptions = operator.builtinOptions2 = None
        operator.builtinOptionsType = operator.builtinOptions2Type = 0
        container = read(pack(made))
        scopes = Analysis(container, {}).run()
        control = CONTROL[text.partition("(")[0].rpartition(" ")[2]]
        first = container.subgraphs[0].operators[0]
        assert control(Analysis(container, {}), Call(scopes[0], "", None, first)) == ()


def test_a_composite_returns_what_its_decomposition_returns_of_the_operands() -> None:
    text = """y[?,?], z[?,?] = STABLEHLO_COMPOSITE(a[?,3], b[4,5], decomposition_subgraph_index=inside)
    subgraph inside(p[1,1], q[1,1]) -> u, p:
    u[1,1] = NEG(q)"""
    container = read(model(text))
    facts = analyse(container, {})
    shapes = by_name(container, facts[0])
    assert (shapes["y"], shapes["z"]) == (Shape((4, 5)), shapes["a"])
    assert by_name(container, facts[1], 1)["u"] == Shape((4, 5))


@pytest.mark.alike(4)
@pytest.mark.parametrize("path", committed_models("tflite"), ids=model_id)
def test_made_models_are_read_without_a_contradiction_that_is_not_theirs(path: Path) -> None:
    container = read(path)
    stale = [why for facts in analyse(container, {}) for why in facts.stale.values()]
    assert bool(stale) == path.stem.startswith("result_stretched")


@pytest.mark.ci
@pytest.mark.parametrize("path", committed_models("tflite"), ids=model_id)
def test_made_models_have_in_litert_what_was_inferred(path: Path) -> None:
    assert_instances(path, least=0)


@pytest.mark.parametrize("path", quick_in_ci(zoo_models("tflite")))
def test_real_models_are_wholly_known_and_litert_agrees(path: Path) -> None:
    """Every size is a number or what the file leaves free at the inputs; at three batches where that is free."""
    container = read(path)
    facts = analyse(container, {})[0]
    assert not facts.stale
    assert all(shape.ranked for shape in facts.shapes)
    free = list(dict.fromkeys(free_axes(container).values()))
    names = {size.parts for shape in facts.shapes for size in shape.axes or () if isinstance(size, Dim)}
    assert len(names) <= 2 * len(free)
    if not free:
        return
    tensors = container.subgraphs[0].tensors
    every = choices(free, {tensor: tensors[tensor].shape for tensor, _ in free}, (1, 2, 3))
    for answer in run(path, every):
        assert not isinstance(answer, str), answer
        assert not list(violations(facts.shapes, answer))
