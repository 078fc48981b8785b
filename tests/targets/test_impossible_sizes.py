"""Sizes that no runtime can run are found in the view; those that run are not called impossible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from graphfix import api, formats
from graphfix.results import GraphfixError
from graphfix.runtimes.process import Child
from graphfix.runtimes.session import RefusedError
from graphfix.targets.impossible_sizes import impossible
from models.builders.tflite.text import model as tflite
from tests.support import engine
from tests.support.notation import model

WINDOW = "stride_h=1, stride_w=1, filter_height=3, filter_width=2, padding=VALID"
TAPS = "stride_h=1, stride_w=1, dilation_h_factor=1, dilation_w_factor=1, padding=VALID"
IMPOSSIBLE = {
    "reshape": ("y[*] = Reshape(x[1,192], s:const:int64[2]{2,144})", "192 elements do not fill [2,144]"),
    "reshape with a rest": ("y[*] = Reshape(x[1,10], s:const:int64[2]{4,-1})", "10 elements do not fill [4,-1]"),
    "reshape that copies": ("y[*] = Reshape(x[2,10], s:const:int64[2]{0,9})", "20 elements do not fill [0,9]"),
    "reshape to nothing": (
        "y[*] = Reshape(x[1,4], s:const:int64[2]{0,4}, allowzero=1)",
        "4 elements do not fill [0,4]",
    ),
    "squeeze": ("y[*] = Squeeze(x[2,3], a:const:int64[1]{0})", "axis 0 has the size 2, and only a size of 1 can go"),
    "expand": ("y[*] = Expand(x[2,3], s:const:int64[2]{2,4})", "the size 3 does not stretch to 4 of [2,4]"),
    "concat": ("y[*] = Concat(a[1,3,8], b[1,4,7], axis=2)", "the sizes of axis 1 are 3 and 4"),
    "concat of ranks": ("y[*] = Concat(a[1,3], b[3], axis=0)", "the ranks are 1 and 2"),
    "split": ("y[*], z[*] = Split(x[5], s:const:int64[2]{2,2})", "the parts [2,2] are not the 5 of axis 0"),
    "matmul": ("y[*] = MatMul(a[2,3], b[4,5])", "it sums over 3 of the one and 4 of the other"),
    "gemm": ("y[*] = Gemm(a[3,2], b[4,5], transA=1, transB=1)", "it sums over 3 of the one and 5 of the other"),
    "add": ("y[*] = Add(a[2,3], b[4,3])", "2"),
    "conv": ("y[*] = Conv(x[1,1,2,9], w:const[1,1,3,1])", "a window of 3 is larger than the 2 of axis 2"),
    "dilated conv": (
        "y[*] = Conv(x[1,1,9,4], w:const[1,1,1,3], dilations=[1,3], pads=[0,1,0,1])",
        "a window of 7 is larger than the 4 of axis 3 and 2 of padding",
    ),
    "channels": ("y[*] = Conv(x[1,4,9,9], w:const[1,3,1,1])", "4 channels, and the weights take 3"),
    "pool": ("y[*] = MaxPool(x[1,8,1,16], kernel_shape=[3,2])", "a window of 3 is larger than the 1 of axis 2"),
    "RESHAPE": ("y[2,144] = RESHAPE(x[1,192], s:const:int32[2]{2,144})", "192 elements do not fill [2,144]"),
    "RESHAPE by its option": ("y[2,144] = RESHAPE(x[1,192], new_shape=[2,144])", "192 elements do not fill [2,144]"),
    "CONCATENATION": ("y[1,7] = CONCATENATION(a[1,3], b[2,4], axis=1)", "the sizes of axis 0 are 1 and 2"),
    "PACK": ("y[2,3] = PACK(a[3], b[4], axis=0, values_count=2)", "the shapes are [3] and [4]"),
    "SPLIT": (
        "y[2], z[2] = SPLIT(a:const:int32[]{0}, x[5], num_splits=2)",
        "the 5 of axis 0 are not 2 equal parts",
    ),
    "FULLY_CONNECTED": ("y[2,4] = FULLY_CONNECTED(x[2,5], w:const[4,3])", "10 elements are no rows of 3"),
    "BATCH_MATMUL": (
        "y[2,5] = BATCH_MATMUL(a[2,3], b[5,4], adj_y=True)",
        "it sums over 3 of the one and 4 of the other",
    ),
    "BROADCAST_TO": (
        "y[2,4] = BROADCAST_TO(x[2,3], s:const:int32[2]{2,4})",
        "the size 3 does not stretch to 4 of [2,4]",
    ),
    "SQUEEZE": ("y[3] = SQUEEZE(x[2,3], squeeze_dims=[0])", "axis 0 has the size 2, and only a size of 1 can go"),
    "MAX_POOL_2D": (f"y[1,1,8,1] = MAX_POOL_2D(x[1,2,9,1], {WINDOW})", "a window of 3 is larger than the 2 of axis 1"),
    "CONV_2D": (
        f"y[1,1,9,1] = CONV_2D(x[1,2,9,1], w:const[1,3,1,1], b:const[1], {TAPS})",
        "a window of 3 is larger than the 2 of axis 1",
    ),
}
POSSIBLE = {
    "reshape": "y[*] = Reshape(x[2,144], s:const:int64[2]{-1,72})",
    "reshape of nothing": "y[*] = Reshape(x[0,4], s:const:int64[2]{0,4})",
    "reshape of nothing to nothing": "y[*] = Reshape(x[4,0], s:const:int64[2]{0,4}, allowzero=1)",
    "reshape that copies": "y[*] = Reshape(x[2,10], s:const:int64[3]{0,5,2})",
    "squeeze": "y[*] = Squeeze(x[1,3], a:const:int64[1]{-2})",
    "expand both ways": "y[*] = Expand(x[2,3], s:const:int64[3]{4,2,1})",
    "concat": "y[*] = Concat(a[1,3,8], b[1,3,7], axis=-1)",
    "split": "y[*], z[*] = Split(x[3,5], s:const:int64[2]{2,3}, axis=-1)",
    "vector by matrix": "y[*] = MatMul(a[4], b[7,4,5])",
    "matrix by vector": "y[*] = MatMul(a[7,3,4], b[4])",
    "gemm": "y[*] = Gemm(a[3,2], b[5,3], transA=1, transB=1)",
    "conv with padding": "y[*] = Conv(x[1,1,1,9], w:const[1,1,3,1], pads=[1,0,1,0])",
    "conv that keeps": "y[*] = Conv(x[1,1,1,9], w:const[1,1,3,1], auto_pad='SAME_UPPER')",
    "grouped conv": "y[*] = Conv(x[1,4,9,9], w:const[4,1,1,1], group=4)",
    "pool that fits": "y[*] = MaxPool(x[1,8,3,16], kernel_shape=[3,2])",
    "RESHAPE": "y[2,72] = RESHAPE(x[2,2,36], s:const:int32[2]{2,-1})",
    "CONCATENATION": "y[1,7] = CONCATENATION(a[1,3], b[1,4], axis=-1)",
    "BATCH_MATMUL": "y[2,5] = BATCH_MATMUL(a[3,2], b[3,5], adj_x=True)",
    "FULLY_CONNECTED": "y[2,4] = FULLY_CONNECTED(x[1,2,3], w:const[4,3])",
    "MAX_POOL_2D": f"y[1,1,8,1] = MAX_POOL_2D(x[1,3,9,1], {WINDOW})",
    "a pool that keeps": "y[1,2,9,1] = MAX_POOL_2D(x[1,2,9,1], " + WINDOW.replace("VALID", "SAME") + ")",
}
LENIENT = {"pool", "MAX_POOL_2D", "CONV_2D", "FULLY_CONNECTED"}
"""What a runtime runs all the same, to nothing, to a part of a window, or without the rest of the elements."""


def written(text: str, folder: Path) -> Path:
    """An ONNX operator is written in mixed case."""
    op = text.split("= ", 2)[1].partition("(")[0]
    path = folder / ("m.tflite" if op.isupper() else "m.onnx")
    path.write_bytes(tflite(text) if op.isupper() else model(text).SerializeToString())
    return path


def runs(path: Path) -> bool:
    """Whether the runtime runs a model without free sizes."""
    if path.suffix == ".onnx":
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            session = onnxruntime.InferenceSession(path, options)
            session.run(None, {spec.name: np.ones(spec.shape, np.float32) for spec in session.get_inputs()})
        except Exception:  # noqa: BLE001 -- onnxruntime's errors share no base
            return False
        return True
    with Child() as child:
        try:
            session = child.load_tflite(path, "reference")
            session.run({spec.name: np.ones(spec.shape, np.float32) for spec in session.inputs})
        except RefusedError:
            return False
    return True


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_can_not_run_is_named_with_its_shapes(tmp_path: Path, case: str) -> None:
    text, said = IMPOSSIBLE[case]
    path = written(text, tmp_path)
    found = impossible(formats.load(path))
    assert found is not None
    assert said in found
    assert text.split("= ")[1].split("(")[0] in found
    assert case in LENIENT or not runs(path)


@pytest.mark.parametrize("case", POSSIBLE)
def test_what_runs_is_not_called_impossible(tmp_path: Path, case: str) -> None:
    path = written(POSSIBLE[case], tmp_path)
    assert impossible(formats.load(path)) is None
    assert runs(path)


@pytest.mark.parametrize("format_", ["onnx", "tflite"])
def test_the_error_names_the_file_and_what_to_bind_instead(tmp_path: Path, format_: str) -> None:
    path = tmp_path / f"m.{format_}"
    texts = {
        "onnx": "y[*] = Reshape(x[1,N], s:const:int64[2]{2,144})",
        "tflite": "y[2,144] = RESHAPE(x[1,?], s:const:int32[2]{2,144})",
    }
    path.write_bytes(model(texts["onnx"]).SerializeToString() if format_ == "onnx" else tflite(texts["tflite"]))
    with pytest.raises(GraphfixError) as caught:
        api.fix_file(path, tmp_path / "o", target="tosa", shapes={"x": (1, 192)})
    said = str(caught.value)
    assert said.startswith(f"{path}: sizes that can't run: R")
    assert "of x[1,192], s[2]: 192 elements do not fill [2,144]; give other sizes: x[1," in said
    assert "--shape " in said
    assert said.endswith("(GF105)")
    assert "\n" not in said
    assert not (tmp_path / "o").exists()


def test_other_targets_leave_it_to_the_runs(tmp_path: Path) -> None:
    """A pool over too little is run by onnxruntime: to nothing."""
    path = written("y[*] = MaxPool(x[1,8,1,16], kernel_shape=[2,2])", tmp_path)
    assert api.fix_file(path, tmp_path / "o.onnx").output is not None
    with pytest.raises(GraphfixError, match="a window of 2 is larger than the 1 of axis 2"):
        api.fix_file(path, tmp_path / "p.onnx", target="tosa")


def test_a_file_that_states_such_sizes_itself_is_to_be_exported_anew(tmp_path: Path) -> None:
    path = written(IMPOSSIBLE["matmul"][0], tmp_path)
    with pytest.raises(GraphfixError, match="the file itself states these sizes: export it anew"):
        api.check(path, target="tosa")


def test_a_stored_shape_that_is_out_of_date_is_no_evidence(tmp_path: Path) -> None:
    """The result of a custom operator has only a stored shape."""
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite("t[1,5] = CUSTOM.Odd(x[1,?])\ny[2,3] = RESHAPE(t, s:const:int32[2]{2,3})"))
    assert api.check(path, target="tosa", shapes={"x": (1, 6)}).sites


def test_a_concat_of_what_has_no_elements_does_not_fit_either(tmp_path: Path) -> None:
    """Loaded with free sizes, onnxruntime passes over it; with these sizes in the file it refuses to load."""
    loaded = formats.load(written("y[*] = Concat(a[1,M,8], b[1,N,8], axis=2)", tmp_path))
    loaded.bind({"M": 1, "N": 0}, {})
    assert "the sizes of axis 1 are 1 and 0" in str(impossible(loaded))
    loaded.save(tmp_path / "static.onnx")
    assert not runs(tmp_path / "static.onnx")


def test_a_body_may_never_run(tmp_path: Path) -> None:
    text = (
        "y[2] = IF(c:bool[], x[2], then=yes, else=no)\nsubgraph yes:\nt[2] = RESHAPE(x[2], new_shape=[3])\n"
        "subgraph no:\nt[2] = NEG(x[2])"
    )
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite(text))
    assert impossible(formats.load(path)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y[*] = Gemm(a[4], b[4,5])", "a Gemm takes matrices"),
        ("y[*] = Gemm(a[3,4], b[4])", "a Gemm takes matrices"),
        ("y[*] = Gemm(a[2,3,4], b[4,5])", "a Gemm takes matrices"),
        ("y[*] = Gemm(a[3,4], b[4,5])", None),
        ("y[*] = Gemm(a[N,K], b[4,5])", None),
        ("y[*] = Gemm(a[*], b[4,5])", None),
        ("y[*] = MatMul(a[], b[4,5])", None),
        ("y[*] = MatMul(a[3,K], b[4,5])", None),
        ("y[*] = MatMul(a[3], b[4])", "it sums over 3 of the one and 4 of the other"),
        ("y[*] = MatMul(a[2,3], b[4])", "it sums over 3 of the one and 4 of the other"),
        ("y[*] = Reshape(x[2,3], s:const:int64[2]{-1,0})", None),
        ("y[*] = Reshape(x[0,3], s:const:int64[2]{-1,2})", None),
        ("y[*] = Reshape(x[2,3], s:const:int64[2]{-1,4})", "6 elements do not fill [-1,4]"),
        ("y[*] = Reshape(x[2,N], s:const:int64[2]{2,4})", None),
        ("y[*] = Reshape(x[2,3], s:int64[2])", None),
        ("y[*] = Reshape(x[2,3], s:const:int64[3]{2,3,0})", "6 elements do not fill [2,3,0]"),
        ("y[*] = Squeeze(x[N,3], a:const:int64[1]{0})", None),
        ("y[*] = Squeeze(x[1,3], a:const:int64[1]{-1})", "axis -1 has the size 3, and only a size of 1 can go"),
        ("y[*] = Squeeze(x[1,3])", None),
        ("y[*] = Expand(x[N,3], s:const:int64[2]{2,3})", None),
        ("y[*] = Expand(x[2,3], s:const:int64[1]{4})", "the size 3 does not stretch to 4 of [4]"),
        ("y[*] = Expand(x[3], s:const:int64[2]{4,1})", None),
        ("y[*] = Concat(a[N,3], b[2,4], axis=0)", "the sizes of axis 1 are 3 and 4"),
        ("y[*] = Concat(a[N,3], b[M,3], axis=1)", None),
        ("y[*] = Concat(a[1,3], b[2,3], axis=-2)", None),
        ("y[*], z[*] = Split(x[N], s:const:int64[2]{2,2})", None),
        ("y[*], z[*] = Split(x[5], s:int64[2])", None),
        ("y[*], z[*] = Split(x[3,5], s:const:int64[2]{2,2}, axis=1)", "the parts [2,2] are not the 5 of axis 1"),
        ("y[*] = MaxPool(x[1,8,3,16], kernel_shape=[3,2])", None),
        ("y[*] = MaxPool(x[1,8,3,16], kernel_shape=[4,2])", "a window of 4 is larger than the 3 of axis 2"),
        ("y[*] = MaxPool(x[1,8,1,16], kernel_shape=[3,2], pads=[1,0,1,0])", None),
        ("y[*] = MaxPool(x[1,8,N,16], kernel_shape=[3,2])", None),
        ("y[*] = MaxPool(x[1,8,1,16], kernel_shape=[3,2], auto_pad='SAME_LOWER')", None),
        ("y[*] = Conv(x[1,1,2,9], w:const[1,1,3,1], auto_pad='VALID')", "a window of 3 is larger than the 2 of axis 2"),
        ("y[*] = Conv(x[1,6,9,9], w:const[4,1,1,1], group=4)", "6 channels, and the weights take 4"),
    ],
)
def test_what_is_said_of_an_operator_at_the_bounds_of_its_rule(text: str, said: str | None) -> None:
    found = impossible(engine.load(model(text)))
    assert found is None if said is None else said in (found or "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "a[2,3] = Clip(x[2,3], , m:const[]{5.0})\ny[*] = MatMul(a, b[4,5])",
            "MatMul 'MatMul#1' of a[2,3], b[4,5]: it sums over 3 of the one and 4 of the other",
        ),
        (
            "y[*] = Conv(x[1,4,9,9], w:const[1,3,1,1], )",
            "Conv 'Conv#0' of x[1,4,9,9], w[1,3,1,1]: 4 channels, and the weights take 3",
        ),
        (
            "y[*] = Reshape(x[2,3], s:const:int64[2]{0,-1}, allowzero=1)",
            "Reshape 'Reshape#0' of x[2,3], s[2]: 6 elements do not fill [0,-1]",
        ),
        ("y[*] = Reshape(x[0,3], s:const:int64[2]{0,-1})", None),
        ("y[*] = Reshape(x[2,3], s:const:int64[2]{0,3})", None),
        ("y[*] = Reshape(x[2,3], s:const:int64[1]{-1})", None),
        (
            "y[*] = Reshape(x[2,3], s:const:int64[3]{2,3,0})",
            "Reshape 'Reshape#0' of x[2,3], s[3]: 6 elements do not fill [2,3,0]",
        ),
        ("y[*] = Reshape(x[N,3], s:const:int64[2]{7,5})", None),
        ("y[*] = Squeeze(x[2,3], a:const:int64[1]{2})", None),
        ("y[*] = Squeeze(x[2,3], a:const:int64[1]{-3})", None),
        ("y[*] = Squeeze(x[1,3], a:const:int64[1]{-2})", None),
        ("y[*] = Squeeze(x[N,3], a:const:int64[1]{0})", None),
        (
            "y[*] = Squeeze(x[1,3], a:const:int64[2]{0,-1})",
            "Squeeze 'Squeeze#0' of x[1,3], a[2]: axis -1 has the size 3, and only a size of 1 can go",
        ),
        ("y[*] = Expand(x[2,3], s:const:int64[2]{1,1})", None),
        ("y[*] = Expand(x[2,3], s:const:int64[1]{3})", None),
        ("y[*] = Expand(x[2,1], s:const:int64[2]{1,5})", None),
        (
            "y[*] = Expand(x[2,3], s:const:int64[3]{4,5,3})",
            "Expand 'Expand#0' of x[2,3], s[3]: the size 2 does not stretch to 5 of [4,5,3]",
        ),
        ("y[*] = Concat(a[2,3], b[2,4], axis=-1)", None),
        ("y[*] = Concat(a[N,3], b[2,4], axis=1)", None),
        (
            "y[*] = Concat(a[2,3], b[2,4], axis=-2)",
            "Concat 'Concat#0' of a[2,3], b[2,4]: the sizes of axis 1 are 3 and 4",
        ),
        (
            "y[*], z[*] = Split(x[2,7], s:const:int64[2]{3,5}, axis=-1)",
            "Split 'Split#0' of x[2,7], s[2]: the parts [3,5] are not the 7 of axis -1",
        ),
        ("y[*], z[*] = Split(x[2,7], s:const:int64[2]{3,4}, axis=1)", None),
        ("y[*], z[*] = Split(x[2,7], s:const:int64[2]{3,5}, axis=2)", None),
        ("y[*], z[*] = Split(x[2,7], s:const:int64[2]{3,5}, axis=-3)", None),
        ("y[*], z[*] = Split(x[N,7], s:const:int64[2]{3,5})", None),
        ("y[*], z[*] = Split(x[7,2], s:const:int64[2]{3,4}, axis=-2)", None),
        (
            "y[*], z[*] = Split(x[7,2], s:const:int64[2]{3,5}, axis=-2)",
            "Split 'Split#0' of x[7,2], s[2]: the parts [3,5] are not the 7 of axis -2",
        ),
        (
            "y[*] = Conv(x[1,1,9], w:const[1,1,3,1])",
            "Conv 'Conv#0' of x[1,1,9], w[1,1,3,1]: an image of rank 3 and weights of rank 4",
        ),
        (
            "y[*] = Conv(x[1,1,2,9], w:const[1,1,5,1], pads=[1,3,0,4])",
            "Conv 'Conv#0' of x[1,1,2,9], w[1,1,5,1]: a window of 5 is larger than the 2 of axis 2 and 1 of padding",
        ),
        ("y[*] = Conv(x[1,1,2,9], w:const[1,1,5,1], pads=[1,0])", None),
        ("y[*] = Conv(x[1,1,2,9], w:const[1,1,5,1], dilations=[1])", None),
        (
            "y[*] = Conv(x[1,4,9,9], w:const[6,3,1,1], group=2)",
            "Conv 'Conv#0' of x[1,4,9,9], w[6,3,1,1]: 4 channels, and the weights take 6",
        ),
        (
            "y[*] = MaxPool(x[1,8,3,2], kernel_shape=[3,3])",
            "MaxPool 'MaxPool#0' of x[1,8,3,2]: a window of 3 is larger than the 2 of axis 3",
        ),
        ("y[*] = MaxPool(x[1,8,3,2], kernel_shape=[3])", None),
        ("y[*] = MatMul(a[3], b[3,5])", None),
        ("y[*] = MatMul(a[3], b[3])", None),
        ("y[*] = MatMul(a[3], b[4])", "MatMul 'MatMul#0' of a[3], b[4]: it sums over 3 of the one and 4 of the other"),
        (
            "y[*] = MatMul(a[4], b[2,3,5])",
            "MatMul 'MatMul#0' of a[4], b[2,3,5]: it sums over 4 of the one and 3 of the other",
        ),
    ],
)
def test_what_is_said_of_a_node_in_whole(text: str, said: str | None) -> None:
    assert impossible(engine.load(model(text))) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y[2], z[2] = SPLIT(a:const:int32[]{0}, x[4], num_splits=2)", None),
        ("y[2,2], z[2,2] = SPLIT(a:const:int32[]{-1}, x[2,5], num_splits=2)", "the 5 of axis -1 are not 2 equal parts"),
        ("y[3], z[3] = SPLIT(a:int32[], x[5], num_splits=2)", None),
        ("y[4], z[4] = SPLIT(a:const:int32[]{1}, x[5], num_splits=2)", None),
        ("y[4], z[4] = SPLIT(a:const:int32[]{-2}, x[5], num_splits=2)", None),
        ("y[4], z[4] = SPLIT(a:const:int32[]{-1}, x[5], num_splits=2)", "the 5 of axis -1 are not 2 equal parts"),
        ("y[5] = SPLIT(a:const:int32[]{0}, x[5], num_splits=0)", None),
        ("y[5] = SPLIT(a:const:int32[]{0}, x[5], num_splits=1)", None),
        ("y[5] = SPLIT(a:const:int32[]{0}, x[5])", None),
        ("y[2,3], z[2,3] = SPLIT(a:const:int32[]{0}, x[N,3], num_splits=2)", None),
        (
            f"y[1,9,1,1] = CONV_2D(x[1,9,2,1], w:const[1,1,3,1], b:const[1], {TAPS})",
            "a window of 3 is larger than the 2 o",
        ),
        (f"y[1,9,1,1] = CONV_2D(x[1,9,2,1], w:const[1,3,1,1], b:const[1], {TAPS})", None),
        (f"y[1,1,9,1] = DEPTHWISE_CONV_2D(x[1,2,9,1], w:const[1,3,1,1], b:const[1], {TAPS})", "the 2 of axis 1"),
        (f"y[1,1,9,1] = CONV_2D(x[1,2,9,1], w:const[3,1], b:const[1], {TAPS})", None),
        (f"y[1,1,1] = CONV_2D(x[1,2,9], w:const[1,3,1,1], b:const[1], {TAPS})", None),
        ("y[2,3] = PACK(a[3], b[3], axis=0, values_count=2)", None),
        ("y[2,4] = FULLY_CONNECTED(x[2,6], w:const[4,3])", None),
        ("y[4,5] = BATCH_MATMUL(a[3,4], b[3,5], adj_x=True)", None),
        ("y[3,5] = BATCH_MATMUL(a[3,4], b[5,4], adj_y=True)", None),
        ("y[4,5] = BATCH_MATMUL(a[3,4], b[4,5], adj_x=True)", "it sums over 3 of the one and 4 of the other"),
        ("y[2,3] = BROADCAST_TO(x[2,3], s:const:int32[2]{2,1})", "the size 3 does not stretch to 1 of [2,1]"),
        ("y[2,3] = BROADCAST_TO(x[1,3], s:const:int32[2]{2,3})", None),
    ],
)
def test_what_is_said_of_an_operator_of_tflite_at_the_bounds_of_its_rule(text: str, said: str | None) -> None:
    found = impossible(engine.load(tflite(text)))
    assert found is None if said is None else said in (found or "")
