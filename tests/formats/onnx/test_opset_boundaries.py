"""Which operators change between operator sets, and from which version on nothing of a node has to change.

The witness is onnx's own history of the operators.
"""

from __future__ import annotations

import onnx
import onnx.defs
import pytest
from onnx import helper

from graphfix.formats.onnx.opset import to_8
from graphfix.formats.onnx.opset.operators import CHANGED, KEPT
from tests.support.named import rules
from tests.support.notation import model
from tests.support.onnx.fixing import fixed

VERSIONS: dict[str, set[int]] = {}
for each in onnx.defs.get_all_schemas_with_history():
    if not each.domain:
        VERSIONS.setdefault(each.name, set()).add(each.since_version)


def test_every_operator_that_changes_up_to_opset_17_is_converted_or_known_to_allow_more_or_refused() -> None:
    changed = {op for op, since in VERSIONS.items() if min(since) < 17 and any(7 < version <= 17 for version in since)}
    changed -= {op for op in changed if len({version for version in VERSIONS[op] if version <= 17}) == 1}
    assert set(CHANGED) <= changed
    assert set(KEPT) <= changed
    assert not CHANGED.keys() & KEPT
    assert changed - CHANGED.keys() - KEPT == {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"}


ROWS = """
11: y:float64[2] = Clip(x:float64[2])
    -> Clip(x)
10: y:float64[2] = Clip(x:float64[2])
    -> Clip(x, clip_min, clip_max)
10: y:float64[2] = Clip(x:float64[2], min=1.0)
    -> Clip(x, clip_min, clip_max)
10: y[2] = Clip(x[2], max=1.0)
    -> Clip(x, , clip_max)
12: y[2,3,4] = Softmax(x[2,3,4], axis=1)
    -> Flatten(x) axis; Shape(x); Softmax(y_flat) axis; Reshape(y_rows, y_shape)
13: y[2,3,4] = Softmax(x[2,3,4], axis=1)
    -> Softmax(x) axis
12: y[2], m:bool[2] = Dropout(x[2])
    -> Dropout(x)
11: y[2] = Dropout(x[2], ratio=0.25)
    -> Dropout(x, ratio)
11: y[2,3] = OneHot(i:int64[2], d:const[]{3}, v[2])
    -> OneHot(i, d, v)
14: y[2,3], a[3], c[3] = BatchNormalization(x[2,3], s[3], b[3], m[3], v[3], training_mode=1)
    -> BatchNormalization(x, s, b, m, v) training_mode
8: y[2,3,4] = BatchNormalization(x[2,3,4], s[3], b[3], m[3], v[3], spatial=1)
    -> BatchNormalization(x, s, b, m, v)
9: y[2,3,4] = BatchNormalization(x[2,3,4], s[3], b[3], m[3], v[3])
    -> BatchNormalization(x, s, b, m, v)
15: y[1,2,1,1] = RoiAlign(x[1,2,6,6], r[1,4], b:int64[1])
    -> RoiAlign(x, r, b) coordinate_transformation_mode
16: y[1,2,1,1] = RoiAlign(x[1,2,6,6], r[1,4], b:int64[1])
    -> RoiAlign(x, r, b)
10: y[*] = Resize(x[1,2,3,4], s[4], mode='linear')
    -> Resize(x, , s) coordinate_transformation_mode, mode, nearest_mode
10: y[1,2,6,4] = Resize(x[1,2,3,4], s:const[4]{1.0,1.0,2.0,1.0})
    -> Resize(x, , s) coordinate_transformation_mode, nearest_mode
11: y[1,2,6,8] = Resize(x[1,2,3,4], r[8], s:const[4]{1.0,1.0,2.0,2.0})
    -> Resize(x, r, s)
11: y[1,2,6,8] = Resize(x[1,2,3,4], r:const:float32[0]{}, s:const[4]{1.0,1.0,2.0,2.0})
    -> Resize(x, , s)
13: y[1,2,6,8] = Resize(x[1,2,3,4], r:const:float32[0]{}, s:const[4]{1.0,1.0,2.0,2.0})
    -> Resize(x, r, s)
12: y[1,2,3] = Unsqueeze(x[2,3], axes=[0])
    -> Unsqueeze(x, axes)
13: y[1,2,3] = Unsqueeze(x[2,3], a:const{0})
    -> Unsqueeze(x, a)
10: y[4,5] = Pad(x[2,3], pads=[1,0,1,2], value=0.0)
    -> Pad(x, pads)
10: y[4,5] = Pad(x[2,3], pads=[1,0,1,2], value=-0.0)
    -> Pad(x, pads, pad_value)
10: y[4,5] = Pad(x[2,3], pads=[1,0,1,2], value=2.0)
    -> Pad(x, pads, pad_value)
9: y[2,2], i:int64[2,2] = TopK(x[2,4], k=2)
    -> TopK(x, k)
9: y[3,4] = Scatter(x[3,4], i:int64[1,2], u[1,2])
    -> ScatterElements(x, i, u)
"""
"""A version, a node, and the nodes at opset 17, with the names of their attributes."""


@pytest.mark.parametrize("row", ROWS.strip().replace("\n    ->", "->").split("\n"))
def test_a_node_is_changed_up_to_the_version_that_changed_its_operator(row: str) -> None:
    version, _, rest = row.partition(": ")
    text, _, found = rest.partition("->")
    result = fixed(model(text, opset=int(version)), rewrites=rules("upgrade-opset"))
    nodes = [
        " ".join([f"{node.op_type}({', '.join(node.input)})", ", ".join(sorted(it.name for it in node.attribute))])
        for node in result.after.graph.node
    ]
    assert "; ".join(node.strip() for node in nodes) == found.strip()


def alone(op: str, version: int) -> onnx.ModelProto:
    """A model of one node without attributes."""
    graph = helper.make_graph([helper.make_node(op, ["x"], ["y"], "n")], "g", [], [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])


TRAINS = "may be in training mode (it does not say `is_test`)"
CHANGED_TO_8 = {
    1: {
        **dict.fromkeys(("BatchNormalization", "Dropout"), TRAINS),
        **dict.fromkeys(("Cast", "Tile"), "changed between opset 1 and 6"),
        **dict.fromkeys(("GlobalLpPool", "LpPool", "Pad", "Split"), "changed between opset 1 and 2"),
        "Clip": "leaves `max` to a default that opset 1 does not state",
        "Concat": "changed between opset 1 and 4",
        "Reshape": "changed between opset 1 and 5",
        "Upsample": "changed between opset 1 and 7",
    },
    6: {
        **dict.fromkeys(("BatchNormalization", "Dropout"), TRAINS),
        "Upsample": "changed between opset 1 and 7",
    },
}


@pytest.mark.parametrize("version", CHANGED_TO_8)
def test_an_operator_of_another_meaning_at_opset_8_keeps_the_model_where_it_is(version: int) -> None:
    old = sorted(op for op, since in VERSIONS.items() if min(since) <= version)
    found = {op: why for op in old if (why := to_8.blocker(alone(op, version))) is not None}
    begin = "the model can't be stated at opset 8: {} 'n' "
    assert found == {op: begin.format(op) + why for op, why in CHANGED_TO_8[version].items()}


ASKING: dict[str, tuple[str, dict[str, object], str | None]] = {
    "a normalization that does not train": ("BatchNormalization", {"is_test": 1}, None),
    "one that says that it may": ("BatchNormalization", {"is_test": 0}, TRAINS),
    "one of whole channels": ("BatchNormalization", {"is_test": 1, "spatial": 1}, None),
    "one of other statistics": (
        "BatchNormalization",
        {"is_test": 1, "spatial": 0},
        "has statistics that are not of whole channels (spatial=0), of another shape there",
    ),
    "a recurrence that returns what it wants": ("LSTM", {"output_sequence": 1}, "asks for `output_sequence`"),
    "another": ("GRU", {"output_sequence": 1}, "asks for `output_sequence`"),
    "a third": ("RNN", {"output_sequence": 1}, "asks for `output_sequence`"),
    "a clip of both bounds": ("Clip", {"min": 0.0, "max": 1.0}, None),
    "a clip of one": ("Clip", {"max": 1.0}, "leaves `min` to a default that opset 1 does not state"),
}


@pytest.mark.parametrize(("op", "attributes", "why"), ASKING.values(), ids=ASKING)
def test_what_a_node_says_of_itself_decides_too(op: str, attributes: dict[str, object], why: str | None) -> None:
    proto = alone(op, 1)
    proto.graph.node[0].attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
    assert to_8.blocker(proto) == (f"the model can't be stated at opset 8: {op} 'n' {why}" if why else None)


def test_an_operator_that_is_not_there_is_named_and_one_of_another_domain_is_left() -> None:
    proto = alone("Thing", 6)
    assert to_8.blocker(proto) == (
        "the model can't be stated at opset 8: Thing 'n' is not an operator of opset 6 and 8"
    )
    proto.graph.node[0].domain = "own"
    assert to_8.blocker(proto) is None


def test_the_version_of_another_domain_says_nothing_of_standard_operators() -> None:
    imports = [helper.make_opsetid("own", 3), helper.make_opsetid("ai.onnx", 5)]
    assert to_8.standard_version(imports) == 5
    assert to_8.standard_version(imports[:1]) == 1
    assert to_8.standard_version(imports[:1], 7) == 7
    to_8.set_standard_version(imports, 8)
    assert [entry.version for entry in imports] == [3, 8]


def test_a_default_that_was_another_is_written_down() -> None:
    """Selu of opset 1 has alpha 1.6732 and gamma 1.0507, of opset 6 more digits."""
    proto = alone("Selu", 1)
    to_8.convert(proto)
    node = proto.graph.node[0]
    assert {it.name: round(it.f, 6) for it in node.attribute} == {"alpha": 1.6732, "gamma": 1.0507}
    given = alone("Selu", 1)
    given.graph.node[0].attribute.append(helper.make_attribute("alpha", 2.0))
    to_8.convert(given)
    assert {it.name: round(it.f, 6) for it in given.graph.node[0].attribute} == {"alpha": 2.0, "gamma": 1.0507}
    newer = alone("Selu", 6)
    to_8.convert(newer)
    assert not newer.graph.node[0].attribute
    assert newer.opset_import[0].version == 8


def test_what_opset_8_no_longer_has_goes() -> None:
    gone: dict[str, tuple[dict[str, object], list[str]]] = {
        "Add": ({"broadcast": 1, "axis": 0, "consumed_inputs": [0]}, []),
        "Softmax": ({"axis": 1}, ["axis"]),
        "Dropout": ({"is_test": 1, "ratio": 0.5, "consumed_inputs": [0]}, ["ratio"]),
        "Exp": ({"consumed_inputs": [0]}, []),
    }
    for op, (attributes, left) in gone.items():
        proto = alone(op, 1)
        proto.graph.node[0].attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        to_8.convert(proto)
        assert [it.name for it in proto.graph.node[0].attribute] == left, op
