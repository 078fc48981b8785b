"""Models of older opsets at 17: the same bits in onnxruntime, and nothing else of the file is touched."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx
import onnx.checker
import pytest
from onnx import ModelProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

import graphfix
from graphfix.api import pipeline
from graphfix.engine.request import Request
from tests.support import engine
from tests.support.bits import random_bits, same_bits
from tests.support.named import rules
from tests.support.notation import model, parsed
from tests.support.onnx.files import floats
from tests.support.onnx.fixing import Fixed, attribute, fixed
from tests.support.places import zoo_models
from tests.support.proved import unproved
from tests.support.runtimes.onnx_runs import run

RULES = rules("upgrade-opset")


def version(proto: ModelProto) -> int:
    return next(entry.version for entry in proto.opset_import if not entry.domain)


def upgraded(proto: ModelProto) -> Fixed:
    result = fixed(proto, rewrites=RULES)
    assert result.counts == {"upgrade-opset": 1}, result.left
    assert version(result.after) == 17
    return result


FORMS = {
    "Unsqueeze": ("y[1,2,3] = Unsqueeze(x[2,3], axes=[0])", 11),
    "Squeeze": ("y[2,3] = Squeeze(x[2,1,3], axes=[1])", 11),
    "Squeeze of every unit axis": ("y[2,3] = Squeeze(x[2,1,3])", 11),
    "ReduceSum": ("y[2,1] = ReduceSum(x[2,3], axes=[1])", 11),
    "ReduceSum of all axes": ("y[1,1] = ReduceSum(x[2,3])", 11),
    "ReduceMean keeps its attribute": ("y[2,1] = ReduceMean(x[2,3], axes=[1])", 11),
    "Split": ("y[1,3], z[2,3] = Split(x[3,3], split=[1,2])", 11),
    "Split in equal parts": ("y[2,3], z[2,3] = Split(x[4,3], axis=0)", 11),
    "Slice": ("y[1,3] = Slice(x[3,4], starts=[1,0], ends=[2,-1])", 9),
    "Slice of named axes": ("y[3,2] = Slice(x[3,4], starts=[1], ends=[3], axes=[1])", 9),
    "Slice by operands": ("y[2,4] = Slice(x[3,4], s:const[1]{1}, e:const[1]{3})", 10),
    "TopK": ("y[2,2], i:int64[2,2] = TopK(x[2,4], k=2)", 9),
    "TopK by operand": ("y[2,2], i:int64[2,2] = TopK(x[2,4], k:const[1]{2})", 10),
    "Pad": ("y[4,5] = Pad(x[2,3], pads=[1,0,1,2], value=1.5)", 10),
    "Pad with nothing": ("y[4,5] = Pad(x[2,3], pads=[1,0,1,2])", 10),
    "Pad by reflection": ("y[4,3] = Pad(x[2,3], pads=[1,0,1,0], mode='reflect')", 10),
    "Clip": ("y[2,3] = Clip(x[2,3], min=0.0, max=6.0)", 10),
    "Clip below": ("y[2,3] = Clip(x[2,3], min=-1.0)", 10),
    "Clip without bounds": ("y[2,3] = Clip(x[2,3])", 10),
    "Dropout": ("y[2,3] = Dropout(x[2,3], ratio=0.3)", 10),
    "BatchNormalization": (
        "y[2,3,4] = BatchNormalization(x[2,3,4], s:const[3], b:const[3], m:const[3], v:const[3])",
        9,
    ),
    "BatchNormalization that says spatial": (
        "y[2,3,4] = BatchNormalization(x[2,3,4], s:const[3], b:const[3], m:const[3], v:const[3], spatial=1)",
        7,
    ),
    "Softmax over the last axis": ("y[2,3] = Softmax(x[2,3])", 11),
    "Softmax over the last of three": ("y[2,3,4] = Softmax(x[2,3,4], axis=2)", 11),
    "Softmax over all but the first": ("y[2,3,4] = Softmax(x[2,3,4])", 11),
    "Softmax over all": ("y[2,3,4] = Softmax(x[2,3,4], axis=0)", 11),
    "Softmax from behind": ("y[2,3,4] = Softmax(x[2,3,4], axis=-2)", 11),
    "Softmax of unit axes": ("y[2,3,1,1] = Softmax(x[2,3,1,1])", 9),
    "LogSoftmax": ("y[2,3,4] = LogSoftmax(x[2,3,4])", 11),
    "Hardmax": ("y[2,3,4] = Hardmax(x[2,3,4])", 11),
    "Softmax of a free size": ("y[N,3,4] = Softmax(x[N,3,4])", 11),
    "Upsample": ("y[1,2,6,8] = Upsample(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,2.0})", 9),
    "Upsample by an attribute": ("y[1,2,6,8] = Upsample(x[1,2,3,4], scales=[1.0,1.0,2.0,2.0])", 7),
    "Upsample by a fraction": ("y[1,2,4,10] = Upsample(x[1,2,3,4], s:const[4]{1.0,1.0,1.5,2.5})", 9),
    "Upsample that interpolates": ("y[1,2,6,8] = Upsample(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,2.0}, mode='linear')", 9),
    "Resize of opset 10": ("y[1,2,6,8] = Resize(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,2.0})", 10),
    "Resize of opset 10 that interpolates": (
        "y[1,2,6,2] = Resize(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,0.5}, mode='linear')",
        10,
    ),
    "Resize with an empty operand": (
        "y[1,2,6,8] = Resize(x[1,2,3,4], r:const:float32[0]{}, s:const[4]{1.0,1.0,2.0,2.0})",
        11,
    ),
    "Resize to sizes": (
        "y[1,2,6,8] = Resize(x[1,2,3,4], r:const:float32[0]{}, e:const:float32[0]{}, s:const[4]{1,2,6,8})",
        11,
    ),
    "Scatter": ("y[3,4] = Scatter(x[3,4], i:const[1,2]{0,1}, u:const[1,2]{1.0,2.0})", 9),
    "RoiAlign": (
        "y[1,2,2,1] = RoiAlign(x[1,2,6,6], r:const[1,4]{0.3,0.4,4.2,4.9}, b:const[1]{0}, output_height=2)",
        10,
    ),
    "MaxPool": ("y[1,1,2,2] = MaxPool(x[1,1,4,4], kernel_shape=[2,2], strides=[2,2])", 7),
    "AveragePool": ("y[1,1,2,2] = AveragePool(x[1,1,4,4], kernel_shape=[2,2], strides=[2,2])", 7),
    "Gemm": ("y[2,4] = Gemm(x[2,3], b:const[3,4], c:const[4])", 7),
    "Cast": ("y:int32[2,3] = Cast(x[2,3], to=6)", 7),
    "Pow": ("y[2,3] = Pow(x[2,3], e:const[]{2.0})", 7),
    "ArgMax": ("y:int64[2,1] = ArgMax(x[2,3], axis=1)", 7),
    "Gather": ("y[2,3] = Gather(x[4,3], i:const[2]{3,0})", 7),
    "no legacy broadcast at opset 6": ("y[2,3] = Tanh(x[2,3])", 6),
}


@pytest.mark.parametrize(("text", "opset"), FORMS.values(), ids=FORMS)
def test_the_upgraded_node_gives_the_same_bits(text: str, opset: int) -> None:
    proto = model(text, opset=opset)
    result = upgraded(proto)
    (info,) = proto.graph.input
    sizes = [dim.dim_value or 2 for dim in info.type.tensor_type.shape.dim]
    plain = (np.random.default_rng(0).standard_normal(sizes) * 3).astype(np.float32)
    wild = random_bits("float32", max(int(np.prod(sizes)), 6))[: int(np.prod(sizes))].reshape(sizes)
    for x in (plain, wild) if "Cast" not in text and "TopK" not in text else (plain,):
        before = run(proto, x=x)
        assert all(same_bits(a, b) for a, b in zip(before, run(result.after, x=x), strict=True))


@pytest.mark.alike(4)
@pytest.mark.parametrize("opset", [7, 10])
@pytest.mark.parametrize("rank", [1, pytest.param(2, marks=pytest.mark.ci)])
@pytest.mark.parametrize("padding", ["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
def test_padding_that_a_transposed_convolution_computes_is_split_as_before(opset: int, rank: int, padding: str) -> None:
    """The text of opset 11 puts the odd element on the other side; onnxruntime always did as it says now."""
    random, odd = np.random.default_rng(0), 0
    for stride, kernel, cut in itertools.product((1, 2, 3), (1, 2, 3, 4), (None, 0, 1, 2)):
        full = 2 * stride + kernel
        if cut is not None and full - cut < 1:
            continue
        shape = {} if cut is None else {"output_shape": [full - cut] * rank}
        attributes = {"kernel_shape": [kernel] * rank, "strides": [stride] * rank, **shape}
        node = helper.make_node("ConvTranspose", ["x", "w"], ["y"], auto_pad=padding, **attributes)
        feeds = {"x": (1, 2, *[3] * rank), "w": (2, 2, *[kernel] * rank)}
        graph = helper.make_graph([node], "g", [floating(name, dims) for name, dims in feeds.items()], [floating("y")])
        before = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
        arrays = {name: random.standard_normal(dims).astype(np.float32) for name, dims in feeds.items()}
        try:
            expected = run(before, **arrays)
        except runtime.InvalidArgument:  # more asked for than there is, without explicit padding
            assert cut == 0 or (cut is not None and kernel < stride) or padding != "NOTSET"
            continue
        assert same_bits(expected[0], run(upgraded(before).after, **arrays)[0])
        odd += cut == 1
    assert odd


def floating(name: str, dims: tuple[int, ...] | None = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, dims)


REFUSED = {
    "a Softmax of unknown rank": ("y[*] = Softmax(x[*])", 11, "the rank of 'x' is not known"),
    "a Scan with batches": ("", 8, "it scans batches there"),
    "training": (
        "y[2,3,4], a[3], b[3], c[3], d[3] = BatchNormalization(x[2,3,4], s[3], t[3], m[3], v[3])",
        9,
        "it is in training mode",
    ),
    "a mask that is read": ("y[2,3], m[2,3] = Dropout(x[2,3])", 9, "its mask is read"),
    "nearest elements of something smaller": (
        "y[1,1,2,2] = Resize(x[1,1,4,4], s:const[4]{1.0,1.0,0.5,0.5})",
        10,
        "which that opset leaves open",
    ),
    "nearest elements by computed scales": ("y[*] = Resize(x[1,1,4,4], s[4])", 10, "which that opset leaves open"),
    "indices from the end": ("y[2,3] = OneHot(i:int64[2], d:const[]{3}, v:const[2]{0.0,1.0})", 9, "indices below 0"),
    "a legacy broadcast": ("y[2,3] = Add(x[2,3], b[3], broadcast=1)", 6, "has a broadcast of opset 1 to 6"),
    "spatial=0": (
        "y[2,3,4] = BatchNormalization(x[2,3,4], s[3,4], b[3,4], m[3,4], v[3,4], spatial=0)",
        7,
        "not of whole channels",
    ),
}


@pytest.mark.parametrize(("text", "opset", "reason"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_stated_leaves_the_whole_model(text: str, opset: int, reason: str) -> None:
    proto = model(f"{text}\nz[1,2] = Unsqueeze(w[2], axes=[0])", opset=opset) if text else scan()
    result = fixed(proto, rewrites=RULES)
    assert result.after == result.before
    ((code, _, why),) = result.left
    assert code == "GF304"
    assert reason in why


def scan() -> ModelProto:
    return parsed(
        """main (float[1,2,3] rows) => (float[1,2,3] y) {
        y = Scan <num_scan_inputs: int = 1, body = turn (float[3] r) => (float[3] s) { s = Neg(r) }> (, rows) }""",
        opset=8,
    )


def test_a_half_clip_has_bounds_of_its_own_type() -> None:
    result = fixed(model("y:float16[2] = Clip(x:float16[2], max=6.0)", opset=10), rewrites=RULES)
    assert {tensor.data_type for tensor in result.after.graph.initializer} == {onnx.TensorProto.FLOAT16}


def test_an_empty_operand_that_is_absent_now_goes() -> None:
    result = upgraded(model(*FORMS["Resize to sizes"][:1], opset=11))
    assert [tensor.name for tensor in result.after.graph.initializer] == ["s"]
    assert result.after.graph.node[0].input[:] == ["x", "", "", "s"]


def test_one_constant_serves_all_nodes_that_want_it() -> None:
    result = upgraded(model("a[1,2] = Unsqueeze(x[2], axes=[0])\ny[1,1,2] = Unsqueeze(a, axes=[0])", opset=11))
    assert [numpy_helper.to_array(tensor).tolist() for tensor in result.after.graph.initializer] == [[0]]


def test_bodies_and_functions_are_upgraded_too() -> None:
    proto = parsed(
        """main (bool c, float[2] x) => (float[1,2] y) {
            z = local.f(x)
            y = If (c) <then_branch = yes () => (float[1,2] t) { t = Unsqueeze <axes: ints = [0]> (x) },
                        else_branch = no () => (float[1,2] t) { t = Neg(z) }> }
        <domain: "local", opset_import: ["" : 11]> f (p) => (r) { r = Unsqueeze <axes: ints = [0]> (p) }""",
        opset=11,
    )
    result = upgraded(proto)
    (function,) = result.after.functions
    assert [node.op_type for node in function.node] == ["Constant", "Unsqueeze"]
    assert [(entry.domain, entry.version) for entry in function.opset_import] == [("", 17)]
    for c in (True, False):
        feeds = {"c": np.array(c), "x": np.float32([1, 2])}
        assert same_bits(run(proto, **feeds)[0], run(result.after, **feeds)[0])


def test_an_attribute_that_a_call_decides_is_refused() -> None:
    proto = parsed(
        """main (float[2] x) => (float[1,2] y) { z = Neg(x) y = local.f <a: ints = [0]> (z) }
        <domain: "local", opset_import: ["" : 11]> f <a> (p) => (r) { r = Unsqueeze <axes: ints = @a> (p) }""",
        opset=11,
    )
    assert "decided by the calls" in fixed(proto, rewrites=RULES).left[0][2]


def everything() -> ModelProto:
    """A model of opset 11 with one of all that a file can carry along."""
    proto = model("a[2048] = Add(x[2048], w:const[2048])\ny[1,2048] = Unsqueeze(a, axes=[0])", opset=11)
    proto.graph.initializer[0].CopyFrom(floats("w"))
    proto.metadata_props.add(key="author", value="somebody")
    proto.doc_string, proto.producer_name, proto.graph.doc_string = "model", "writer", "graph"
    proto.graph.metadata_props.add(key="g", value="v")
    proto.graph.value_info.append(helper.make_tensor_value_info("a", onnx.TensorProto.FLOAT, [2048]))
    proto.graph.quantization_annotation.add(tensor_name="a").quant_parameter_tensor_names.add(key="K", value="w")
    for at, node in enumerate(proto.graph.node):
        node.name, node.doc_string = f"node {at}", f"said {at}"
        node.metadata_props.add(key="k", value=str(at))
    proto.opset_import.append(helper.make_opsetid("own", 3))
    return ModelProto.FromString(proto.SerializeToString() + b"\xfa\x3f\x03abc")  # field 1023 is unknown


def test_nothing_else_of_the_file_is_touched() -> None:
    before = everything()
    after = upgraded(before).after
    expected = everything()
    expected.opset_import[0].version = 17
    unsqueeze = expected.graph.node[1]
    del unsqueeze.attribute[:]
    unsqueeze.input.append("axes")
    expected.graph.initializer.append(numpy_helper.from_array(np.int64([0]), "axes"))
    assert after.SerializeToString(deterministic=True) == expected.SerializeToString(deterministic=True)


def test_external_data_stays_where_it_is(tmp_path: Path) -> None:
    proto = model("a[4] = Add(x[4], w:const[4])\ny[1,4] = Unsqueeze(a, axes=[0])", opset=11)
    tensor = proto.graph.initializer[0]
    (tmp_path / "w.bin").write_bytes(np.float32([1, 2, 3, 4]).tobytes())
    for field in ("raw_data", "float_data"):
        tensor.ClearField(field)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="w.bin")
    (tmp_path / "m.onnx").write_bytes(proto.SerializeToString())
    opened = engine.load(tmp_path / "m.onnx")
    outcome = pipeline.fix(opened, Request(), RULES)
    opened.save(tmp_path / "out.onnx")
    assert outcome.rewrites == {"upgrade-opset": 1}
    after = onnx.load(tmp_path / "out.onnx", load_external_data=False)
    assert after.graph.initializer[0] == tensor
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.onnx", "out.onnx", "w.bin"]


def test_where_every_initializer_is_an_input_a_new_constant_is_a_node() -> None:
    proto = model("y[1,2] = Unsqueeze(x[2], axes=[0])", opset=9, ir=3)
    assert [node.op_type for node in upgraded(proto).after.graph.node] == ["Constant", "Unsqueeze"]


def test_a_newer_model_stays_as_it_is() -> None:
    proto = model("y[2] = Relu(x[2])", opset=18)
    assert fixed(proto, rewrites=RULES).after == proto


def test_edits_made_before_are_upgraded_with_the_rest() -> None:
    """What an earlier rewrite has put into the model is of the old opset too."""
    proto = model("y[2,N] = Add(x[2,N], b[N])", opset=11)
    result = fixed(proto, rewrites=(*rules("equalize-ranks"), *RULES))
    assert attribute(result.after.graph.node[0], "axes") is None
    x, b = np.ones((2, 3), np.float32), np.float32([1, 2, 3])
    assert same_bits(run(proto, x=x, b=b)[0], run(result.after, x=x, b=b)[0])


def test_a_legacy_broadcast_is_upgraded_in_two_steps() -> None:
    proto = model("y[2,3,4] = Add(x[2,3,4], b[3], broadcast=1, axis=1)", opset=6)
    result = fixed(proto, rewrites=(*rules("upgrade-legacy-broadcast"), *RULES))
    assert version(result.after) == 17
    x, b = np.ones((2, 3, 4), np.float32), np.float32([1, 2, 3])
    assert same_bits(run(result.after, x=x, b=b)[0], x + b[:, None])


def test_a_default_of_opset_5_is_stated_on_the_way_to_17() -> None:
    result = upgraded(model("y[2,3] = Selu(x[2,3])", opset=5))
    assert {it.name: np.float32(it.f) for it in result.after.graph.node[0].attribute} == {
        "alpha": np.float32(1.6732),
        "gamma": np.float32(1.0507),
    }
    assert unproved(result.before.SerializeToString(), result.after.SerializeToString()) is None


@pytest.mark.ci
@pytest.mark.parametrize("path", zoo_models("onnx"))
def test_a_real_model_is_upgraded_and_found_equal(path: Path, tmp_path: Path) -> None:
    outcome = graphfix.fix_file(path, tmp_path / "out.onnx", only=("upgrade-opset",), runs=2)
    assert outcome.verdict is not None
    assert outcome.verdict.status == "proved"
    after = onnx.load(tmp_path / "out.onnx")
    onnx.checker.check_model(after)
    assert version(after) >= 17
