"""From which version on a node stays as it is, and what of it is read on the way to opset 17: a row a node."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper, numpy_helper

from tests.support.named import rules
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import Fixed, fixed


def upgraded(text: str, opset: int) -> Fixed:
    return fixed(model(text, opset=opset), rewrites=rules("upgrade-opset"))


ROWS = """
10: y[3,4] = Slice(x[3,6], s:const{0}, e:const{4}, a:const{1})
    -> Slice(x, s, e, a)
9: y[3,4] = Slice(x[3,6], starts=[0], ends=[4], axes=[1])
    -> Slice(x, starts=[0], ends=[4], axes=[1])
9: y[2,4] = Slice(x[3,6], starts=[1,0], ends=[3,4])
    -> Slice(x, starts=[1, 0], ends=[3, 4])
10: y[2,2], i:int64[2,2] = TopK(x[2,4], k:const[1]{2}, axis=0)
    -> TopK(x, k)
9: y[3,2], i:int64[3,2] = TopK(x[3,4], k=2, axis=1)
    -> TopK(x, k=[2])
11: y[4,5] = Pad(x[2,3], p:const{1,0,1,2})
    -> Pad(x, p)
10: y:float64[4,5] = Pad(x:float64[2,3], pads=[1,0,1,2], value=1.5)
    -> Pad(x, pads=[1, 0, 1, 2], pad_value=1.5)
10: y:float16[4,5] = Pad(x:float16[2,3], pads=[1,0,1,2], value=100000.0)
    -> Pad(x, pads=[1, 0, 1, 2], pad_value=inf)
10: y[2,3] = Clip(x[2,3], min=-1.0, max=6.0)
    -> Clip(x, clip_min=-1.0, clip_max=6.0)
10: y[2,3] = Clip(x[2,3])
    -> Clip(x)
10: y:float64[2] = Clip(x:float64[2], max=6.0)
    -> Clip(x, clip_min=-3.4028234663852886e+38, clip_max=6.0)
10: y:float64[2] = Clip(x:float64[2], min=-1.0)
    -> Clip(x, clip_min=-1.0, clip_max=3.4028234663852886e+38)
11: y[2] = Clip(x[2], , b:const:float32[]{1.0})
    -> Clip(x, , b)
11: y[2] = Dropout(x[2], ratio=0.25)
    -> Dropout(x, ratio=0.25)
11: y[2] = Dropout(x[2])
    -> Dropout(x)
12: y[2] = Dropout(x[2], r:const:float32[]{0.25})
    -> Dropout(x, r)
12: y[3], z[1] = Split(x[4], split=[3,1])
    -> Split(x, split=[3, 1])
13: y[3], z[1] = Split(x[4], s:const{3,1})
    -> Split(x, s)
12: y[2] = Squeeze(x[2,1])
    -> Squeeze(x)
12: y[2,1] = ReduceSum(x[2,3], axes=[1])
    -> ReduceSum(x, axes=[1])
13: y[2,1] = ReduceSum(x[2,3], a:const{1})
    -> ReduceSum(x, a)
7: y[1,2,6,4] = Upsample(x[1,2,3,4], scales=[1.0,1.0,2.0,1.0])
    -> Resize(x, , scales=[1.0, 1.0, 2.0, 1.0])
9: y[1,2,6,4] = Upsample(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,1.0})
    -> Resize(x, , s)
10: y[1,2,3,4] = Resize(x[1,2,3,4], s:const[4]{1.0,1.0,1.0,1.0}, mode='nearest')
    -> Resize(x, , s)
12: y[1,2,6,8] = Resize(x[1,2,3,4], r:const:float32[0]{}, s:const[4]{1.0,1.0,2.0,2.0}, e:const:int64[0]{})
    -> Resize(x, , s)
12: y[1,2,6,8] = Resize(x[1,2,3,4], r[8], s:const[4]{1.0,1.0,2.0,2.0}, e:const:int64[0]{})
    -> Resize(x, r, s)
12: y[1,2,6,8] = Resize(x[1,2,3,4], , e:const:float32[0]{}, s:const{1,2,6,8})
    -> Resize(x, , , s)
10: y[3,4] = Scatter(x[3,4], i:int64[1,2], u[1,2])
    -> ScatterElements(x, i, u)
13: y[2,3,4] = BatchNormalization(x[2,3,4], s[3], b[3], m[3], v[3])
    -> BatchNormalization(x, s, b, m, v)
12: y[2,3] = Softmax(x[2,3], axis=-1)
    -> Softmax(x)
12: y[2,3] = Softmax(x[2,3], axis=1)
    -> Softmax(x)
12: y[2] = Softmax(x[2], axis=0)
    -> Softmax(x)
"""
"""A version, a node, and what it is at opset 17, with what the new constants hold."""


@pytest.mark.parametrize("row", ROWS.strip().replace("\n    ->", "->").split("\n"))
def test_a_node_is_changed_up_to_the_version_that_changed_its_operator(row: str) -> None:
    version, _, rest = row.partition(": ")
    text, _, found = rest.partition("->")
    result = upgraded(text.strip(), int(version))
    known = {tensor.name for tensor in result.before.graph.initializer}
    new = {
        tensor.name: f"{tensor.name}={numpy_helper.to_array(tensor).tolist()}"
        for tensor in result.after.graph.initializer
        if tensor.name not in known
    }
    (node,) = result.after.graph.node
    assert f"{node.op_type}({', '.join(new.get(name, name) for name in node.input)})" == found.strip()


REFUSED = {
    "a Pad of an unknown type": (
        10,
        "t = own.Thing(x[2])\ny[3] = Pad(t, pads=[0,1], value=2.0)",
        "the element type of 't' is not known",
    ),
    "training in opset 13": (
        13,
        "y[2,3], a[3], c[3], d[3], e[3] = BatchNormalization(x[2,3], s[3], b[3], m[3], v[3])",
        "it is in training mode",
    ),
    "a mask that is read, in opset 11": (11, "y[2], m:bool[2] = Dropout(x[2])\nz:bool[2] = Not(m)", "its mask is read"),
    "a Resize that makes one axis just smaller": (
        10,
        "y[1,1,4,3] = Resize(x[1,1,4,4], s:const[4]{1.0,1.0,1.0,0.99})",
        "which that opset leaves open",
    ),
    "an index from the end, in opset 10": (10, "y[2,3] = OneHot(i:int64[2], d:const[]{3}, v[2])", "indices below 0"),
}


@pytest.mark.parametrize(("opset", "text", "why"), REFUSED.values(), ids=REFUSED)
def test_what_can_not_be_stated_is_refused_up_to_the_version_that_changed_it(opset: int, text: str, why: str) -> None:
    result = upgraded(text, opset)
    assert result.after == result.before
    assert [why in left[2] for left in result.left] == [True]


@pytest.mark.parametrize(
    ("outer", "inner", "ops"), [(11, 18, ["Neg"]), (11, 17, ["Neg"]), (11, 16, ["Neg"]), (17, 11, ["Neg"])]
)
def test_a_function_says_at_least_the_opset_that_is_reached(outer: int, inner: int, ops: list[str]) -> None:
    proto = parsed(
        f"""main (float[2] x) => (float[1,2] y) {{ z = local.f(x) y = Reshape(z, s) }}
        <domain: "local", opset_import: ["" : {inner}]> f (p) => (r) {{ r = Neg(p) }}""",
        opset=outer,
    )
    proto.graph.initializer.append(numpy_helper.from_array(np.int64([1, 2]), "s"))
    after = fixed(proto, rewrites=rules("upgrade-opset")).after
    assert [node.op_type for node in after.functions[0].node] == ops
    assert [entry.version for entry in after.opset_import if not entry.domain] == [17]
    assert [entry.version for entry in after.functions[0].opset_import] == [inner if outer == 17 else max(inner, 17)]


def test_a_function_without_standard_operators_keeps_its_imports() -> None:
    proto = parsed(
        """main (float[2] x) => (float[1,2] y) { z = local.f(x) y = Unsqueeze <axes: ints = [0]> (z) }
        <domain: "local", opset_import: ["own" : 3]> f (p) => (r) { r = own.Thing(p) }""",
        opset=11,
    )
    proto.opset_import.append(helper.make_opsetid("own", 3))
    after = fixed(proto, rewrites=rules("upgrade-opset")).after
    assert [(entry.domain, entry.version) for entry in after.functions[0].opset_import if entry.domain] == [("own", 3)]
    assert [node.op_type for node in after.graph.node] == ["f", "Unsqueeze"]
