"""Edits that can't be carried out on a TFLite file, each beside one that can; and what goes once nobody reads it."""

from __future__ import annotations

from typing import Any

import pytest
from ai_edge_litert.schema_py_generated import MetadataT, SparsityParametersT

from graphfix.graph.edits import (
    Bypass,
    Canonicalize,
    Edit,
    Evaluate,
    Fold,
    Lift,
    New,
    Refused,
    Replace,
    Restate,
    Stretch,
)
from graphfix.graph.view import Node, Value
from graphfix.operators.row import TFLITE
from graphfix.shapes.dim import Shape
from models.builders.tflite.text import Quantized, model, pack, tree
from tests.support import engine


def opened(text: str, **options: Any) -> Any:  # noqa: ANN401 - the engine's model
    return engine.load(model(text, **options))


def node_of(loaded: Any, op: str) -> Node:  # noqa: ANN401 - the engine's model
    return next(node for node in loaded.graphs[0].nodes if node.op == op)  # type: ignore[no-any-return]


def value_of(loaded: Any, name: str) -> Value:  # noqa: ANN401 - the engine's model
    graph = loaded.graphs[0]
    every = [*graph.inputs, *(it for node in graph.nodes for it in (*node.operands, *node.results) if it is not None)]
    return next(it for it in every if it.name == name)  # type: ignore[no-any-return]


def refusal(loaded: Any, op: str, edit: Edit) -> str:  # noqa: ANN401 - the engine's model
    """Why an edit is refused; empty where it is carried out."""
    try:
        loaded.apply(node_of(loaded, op), [edit])
    except Refused as why:
        return str(why)
    return ""


LIFTED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a constant": ("y[2,3] = ADD(x[2,3], b:const[3])", {}, ""),
    "an input": ("y[2,3] = ADD(x[2,3], b[3])", {}, ""),
    "a handle": ("y[2,3] = CUSTOM.Op(x[2,3], b:resource[1])", {}, "a resource has no shape to change"),
    "a variant": ("y[2,3] = CUSTOM.Op(x[2,3], b:variant[1])", {}, "a variant has no shape to change"),
}


@pytest.mark.parametrize("name", LIFTED)
def test_what_has_a_shape_is_lifted(name: str) -> None:
    text, options, why = LIFTED[name]
    assert refusal(opened(text, **options), "Op" if "CUSTOM" in text else "ADD", Lift(1, (0,))) == why


def test_no_operator_is_inserted_where_others_are_named_by_their_index() -> None:
    named = {"model_control_dependencies": b""}
    assert refusal(opened("y[2,3] = ADD(x[2,3], b:const[3])", metadata=named), "ADD", Lift(1, (0,))) == ""
    text = "y[2,3] = ADD(x[2,3], b[3])"
    assert "names operators by their index" in refusal(opened(text, metadata=named), "ADD", Lift(1, (0,)))
    stretch = Stretch(1, (0,), Shape((2, 3)))
    text = "y[2,3] = ADD(x[2,3], b[1,3])"
    assert "names operators by their index" in refusal(opened(text, metadata=named), "ADD", stretch)
    large = opened("y[2,3] = ADD(x[2,3], b:const[1,3])", metadata=named)
    assert refusal(large, "ADD", stretch) == ""
    large = opened("y[2,3] = ADD(x[2,3], b:const[1,3])", metadata=named)
    large.expand_limit = 0
    large.refresh()
    assert "names operators by their index" in refusal(large, "ADD", stretch)
    folded = "t[2] = TILE(x[2], r:const:int32[1]{1})\ny[2] = NEG(t)"
    assert "names operators by their index" in refusal(opened(folded, metadata=named), "TILE", Fold())
    assert refusal(opened(folded), "TILE", Fold()) == ""


FOLDED = {
    "a copy": ("t[2] = TILE(x[2], r:const:int32[1]{1})\ny[2] = NEG(t)", ""),
    "an output": ("y[2] = TILE(x[2], r:const:int32[1]{1})", "its result is an output of the graph"),
    "a copy of a variable": (
        "t[2] = TILE(v:variable[2], r:const:int32[1]{1})\ny[2] = ADD(t, x[2])",
        "'v' is a variable, which may be written before it is read here",
    ),
    "a copy of a constant": ("t[2] = TILE(k:const[2], r:const:int32[1]{1})\ny[2] = ADD(t, x[2])", ""),
    "a copy of a constant without elements": (
        "t[0] = TILE(k:const[0], r:const:int32[1]{1})\ny[0] = ADD(t, x[0])",
        "LiteRT refuses the constant 'k', which has no elements, where it takes its copy",
    ),
    "a copy of an input without elements": ("t[0] = TILE(x[0], r:const:int32[1]{1})\ny[0] = NEG(t)", ""),
    "a copy of a constant before a DEQUANTIZE": (
        "t:float16[2] = TILE(k:const:float16[2], r:const:int32[1]{1})\nd[2] = DEQUANTIZE(t)\ny[2] = ADD(d, x[2])",
        "XNNPACK leaves the result of a DEQUANTIZE unset that reads a constant",
    ),
    "a copy of an input before a DEQUANTIZE": (
        "t:float16[2] = TILE(x:float16[2], r:const:int32[1]{1})\ny[2] = DEQUANTIZE(t)",
        "",
    ),
    "a copy that is multiplied by its origin": (
        "t:int8[2] = TILE(x:int8[2], r:const:int32[1]{1})\ny:int8[2] = MUL(t, x)",
        "XNNPACK rounds the product of a value with itself otherwise than that with its copy",
    ),
    "a copy that is multiplied by another": (
        "t:int8[2] = TILE(x:int8[2], r:const:int32[1]{1})\ny:int8[2] = MUL(t, z:int8[2])",
        "",
    ),
    "a copy of floats that is multiplied by its origin": (
        "t[2] = TILE(x[2], r:const:int32[1]{1})\ny[2] = MUL(t, x)",
        "",
    ),
}


@pytest.mark.parametrize("name", FOLDED)
def test_a_copy_is_bypassed_where_its_readers_take_the_origin(name: str) -> None:
    text, why = FOLDED[name]
    assert refusal(opened(text), "TILE", Fold()) == why


BEHIND = {
    "a constant": ("t[2] = ABS(x:const[2])\ny[2] = ADD(z[2], t)", {}, ""),
    "a value": ("t[2] = ABS(x[2])\ny[2] = NEG(t)", {}, ""),
    "a variable": (
        "t[2] = ABS(x:variable[2])\ny[2] = ADD(z[2], t)",
        {},
        "'x' is a variable, which may be written before it is read here",
    ),
    "a constant without elements": (
        "t[0] = ABS(x:const[0])\ny[0] = ADD(z[0], t)",
        {},
        "LiteRT refuses the constant 'x', which has no elements, where it takes its copy",
    ),
    "other scales": (
        "t:int8[2] = ABS(x:int8[2])\ny:int8[2] = TANH(t)",
        {"x": Quantized(0.5, 3), "t": Quantized(0.25, 3)},
        "'x' and 't' have other scales or zero points",
    ),
    "another zero point": (
        "t:int8[2] = ABS(x:int8[2])\ny:int8[2] = TANH(t)",
        {"x": Quantized(0.5, 3), "t": Quantized(0.5, 4)},
        "'x' and 't' have other scales or zero points",
    ),
    "the same scale": (
        "t:int8[2] = ABS(x:int8[2])\ny:int8[2] = TANH(t)",
        {"x": Quantized(0.5, 3), "t": Quantized(0.5, 3)},
        "",
    ),
}


@pytest.mark.parametrize("name", BEHIND)
def test_an_operand_is_read_before_its_producer_where_both_stand_for_the_same(name: str) -> None:
    text, scales, why = BEHIND[name]
    loaded = opened(text, quantization=scales)
    last = loaded.graphs[0].nodes[-1]
    at = next(at for at, operand in enumerate(last.operands) if operand.name == "t")
    assert refusal(loaded, last.op, Bypass(at, value_of(loaded, "x"))) == why


RESTATED = {
    "a constant": ("y[2,3] = ADD(x[2,3], k:const[1,3])", (3,), {}, ""),
    "a constant with several scales": (
        "y:int8[2,2] = ADD(x:int8[2,2], k:const:int8[1,2])",
        (2,),
        {"k": Quantized((0.5, 0.25), 0, 1)},
        "'k' has a scale for each index of an axis",
    ),
    "half precision": ("d[1,3] = DEQUANTIZE(k:const:float16[1,3])\ny[2,3] = ADD(x[2,3], d)", (3,), {}, ""),
    "fewer numbers of 8 bits": (
        "d[1,3] = DEQUANTIZE(k:const:int8[1,3]{1,1,1})\ny[2,3] = ADD(x[2,3], d)",
        (1, 1),
        {"k": Quantized(0.5, 3)},
        "the last bit of what DEQUANTIZE makes of 'k' may depend on an element's place",
    ),
    "as many numbers of 8 bits": (
        "d[1,3] = DEQUANTIZE(k:const:int8[1,3]{1,1,1})\ny[2,3] = ADD(x[2,3], d)",
        (3,),
        {"k": Quantized(0.5, 3)},
        "",
    ),
}


@pytest.mark.parametrize("name", RESTATED)
def test_a_constant_is_stated_in_another_shape_where_its_numbers_stay(name: str) -> None:
    text, to, scales, why = RESTATED[name]
    assert refusal(opened(text, quantization=scales), "ADD", Restate(1, Shape(to))) == why


CUT = """s:int32[2] = SHAPE(x[2,3], out_type=INT32)
t:int32[2] = ADD(s, k:const:int32[2]{1,1})
y:int32[2] = MUL(t, n:int32[2])"""
KNOWN = {
    "what an input decides": (
        "t:int32[2] = ADD(n:int32[2], k:const:int32[2]{1,1})\ny:int32[2] = MUL(t, n)",
        "ADD",
        "known",
    ),
    "an output": ("y:int32[2] = SHAPE(x[2,3], out_type=INT32)", "SHAPE", "its result is an output of the graph"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_node_whose_result_is_not_known_or_returned_becomes_no_constant(name: str) -> None:
    text, op, why = KNOWN[name]
    assert why in refusal(opened(text), op, Evaluate("GF301"))


def test_a_constant_above_the_limit_is_not_made() -> None:
    for limit, why in ((8, ""), (7, "the constant would take 8 bytes, more than --max-expand-bytes")):
        loaded = opened(CUT)
        loaded.expand_limit = limit
        loaded.refresh()
        assert refusal(loaded, "ADD", Evaluate("GF301")) == why


def test_of_nodes_that_look_alike_each_is_asked_how_its_operands_are_held() -> None:
    made = tree("y[2,3] = ADD(x[2,3], b:const[3])\nz[2,3] = ADD(x, c:const[3])")
    next(tensor for tensor in made.subgraphs[0].tensors if tensor.name == "c").sparsity = SparsityParametersT()
    loaded = engine.load(pack(made))
    one, two = loaded.graphs[0].nodes
    lift = loaded.applier([Lift(1, (0,))])
    assert lift(one).operand(1).shape == Shape((1, 3))
    with pytest.raises(Refused, match="the sparse constant 'c' states its axes itself"):
        lift(two)


def new(op: str, *operands: int | New, dtype: str = "float32", shape: tuple[int, ...] = (2, 3)) -> New:
    return New(op, operands, Shape(shape), dtype, domain=TFLITE)


def test_new_nodes_do_not_compute_with_quantized_numbers() -> None:
    text = "y:int8[2,3] = SUB(x:int8[2,3], z:int8[2,3])"
    loaded = opened(text, quantization={name: Quantized(0.5, 3) for name in "xyz"})
    inner = new("NEG", 1, dtype="int8")
    last = new("ADD", 0, inner, dtype="int8")
    assert "'z' is quantized, and no scale is known for what NEG makes of it" in refusal(
        loaded, "SUB", Replace(last, "GF301")
    )
    assert refusal(loaded, "SUB", Replace(new("ADD", 0, 1, dtype="int8"), "GF301")) == ""


@pytest.mark.parametrize(("scale", "refused"), [(0.5, False), ((0.5, 0.25), True)], ids=["one scale", "two scales"])
def test_a_new_node_that_copies_elements_keeps_one_scale(scale: float | tuple[float, ...], refused: bool) -> None:
    text = "y:int8[2,2] = SUB(x:int8[2,2], z:int8[2,2])"
    loaded = opened(text, quantization={"x": Quantized(0.5, 3), "y": Quantized(0.5, 3), "z": Quantized(scale, 0, 0)})
    inner = New("SLICE", (1, 1, 1), Shape((2, 2)), "int8", domain=TFLITE)
    last = New("ADD", (0, inner), Shape((2, 2)), "int8", domain=TFLITE)
    assert ("'z' is quantized" in refusal(loaded, "SUB", Replace(last, "GF301"))) is refused


def test_a_stretch_is_written_where_the_rank_is_known() -> None:
    assert "the rank of an operand is not known" in refusal(
        opened("y[*] = ADD(x[*], b[1,3])"), "ADD", Stretch(0, (1,), Shape((2, 3)))
    )
    assert refusal(opened("y[2,3] = ADD(x[2,3], b[1,3])"), "ADD", Stretch(1, (0,), Shape((2, 3)))) == ""


def test_a_node_becomes_the_stretch_that_the_format_has() -> None:
    loaded = opened("y[2,3] = STABLEHLO_BROADCAST_IN_DIM(x[1,3], broadcast_dimensions=[0,1])")
    assert refusal(loaded, "STABLEHLO_BROADCAST_IN_DIM", Canonicalize(Shape((2, 3)))) == ""
    assert [node.op for node in loaded.finish()[0].nodes] == ["TILE"]
    loaded = opened("y:int32[2,3] = STABLEHLO_BROADCAST_IN_DIM(x:int32[3], broadcast_dimensions=[1])")
    assert refusal(loaded, "STABLEHLO_BROADCAST_IN_DIM", Canonicalize(Shape((2, 3)))) == ""
    (node,) = loaded.finish()[0].nodes
    assert (node.op, node.version) == ("BROADCAST_TO", 2)


MOVEMENTS = {
    "any": (None, ""),
    "TILE": ({"TILE"}, ""),
    "BROADCAST_TO": ({"BROADCAST_TO"}, ""),
    "neither": ({"RESHAPE"}, "can be stretched to [2,3] by TILE or BROADCAST_TO alone, and the target takes neither"),
}


@pytest.mark.parametrize("name", MOVEMENTS)
def test_a_target_takes_some_stretches_alone(name: str) -> None:
    movement, why = MOVEMENTS[name]
    loaded = opened("y[2,3] = ADD(x[2,3], b[1,3])")
    loaded.movement = movement
    loaded.refresh()
    found = refusal(loaded, "ADD", Stretch(1, (0,), Shape((2, 3)))).replace(", ", ",")
    assert why.replace(", ", ",") in found if why else not found
    if not why:
        made = [node.op for node in loaded.finish()[0].nodes]
        assert made == ["BROADCAST_TO" if name == "BROADCAST_TO" else "TILE", "ADD"]


LIFTS = {
    "any": (None, "b[3]", ""),
    "RESHAPE": ({"RESHAPE"}, "b[3]", ""),
    "EXPAND_DIMS": ({"EXPAND_DIMS"}, "b[3]", ""),
    "neither": ({"TILE"}, "b[3]", "can be lifted by RESHAPE or EXPAND_DIMS alone, and the target takes neither"),
    "a constant, and neither": ({"TILE"}, "b:const[3]", ""),
    "two free sizes and no EXPAND_DIMS": ({"RESHAPE"}, "b[?,?]", "can be lifted by EXPAND_DIMS alone"),
    "two free sizes": ({"EXPAND_DIMS"}, "b[?,?]", ""),
}


@pytest.mark.parametrize("name", LIFTS)
def test_a_target_takes_some_lifts_alone(name: str) -> None:
    movement, operand, why = LIFTS[name]
    loaded = opened(f"y[?,?,?] = ADD(x[?,?,?], {operand})")
    loaded.movement = movement
    loaded.refresh()
    found = refusal(loaded, "ADD", Lift(1, (0,)))
    assert why in found if why else not found
    assert (": bind its sizes (--dim)" in found) is (name == "two free sizes and no EXPAND_DIMS")


# --- what nobody reads any more ---------------------------------------------------------------------------------------

SERVING = {
    "SHAPE": "t:int32[2] = SHAPE(x[?,3], out_type=INT32)",
    "BROADCAST_ARGS": "t:int32[2] = BROADCAST_ARGS(n:int32[2], m:int32[2])",
    "DEQUANTIZE": "t[2] = DEQUANTIZE(h:float16[2])",
    "PACK": "t:int32[2] = PACK(n:int32[], m:int32[], axis=0, values_count=2)",
    "STRIDED_SLICE": "t[1] = STRIDED_SLICE(x[2], b:const:int32[1]{0}, e:const:int32[1]{1}, s:const:int32[1]{1})",
    "SLICE": "t[1] = SLICE(x[2], b:const:int32[1]{0}, s:const:int32[1]{1})",
    "GATHER": "t[1] = GATHER(x[2], i:const:int32[1]{0}, axis=0)",
    "CONCATENATION": "t[4] = CONCATENATION(x[2], z[2], axis=0)",
    "CAST": "t[2] = CAST(n:int32[2], in_data_type=INT32, out_data_type=FLOAT32)",
    "RESHAPE": "t[1,2] = RESHAPE(x[2], s:const:int32[2]{1,2})",
    "EXPAND_DIMS": "t[1,2] = EXPAND_DIMS(x[2], a:const:int32[]{0})",
    "SQUEEZE": "t[2] = SQUEEZE(x[1,2], squeeze_dims=[0])",
    "REDUCE_PROD": "t[] = REDUCE_PROD(x[2], a:const:int32[1]{0})",
    "RANGE": "t:int32[?] = RANGE(n:int32[], m:int32[], o:int32[])",
    **{op: f"t[2] = {op}(x[2], z[2])" for op in "MUL ADD SUB DIV MAXIMUM MINIMUM".split()},
    "FILL": "t[?] = FILL(n:int32[1], u:const[]{1.0})",
    "RFFT2D": "t:complex64[2,3] = RFFT2D(x[2,4], l:const:int32[2]{2,4})",
    "TILE": "t[4] = TILE(x[2], r:const:int32[1]{2})",
    "BROADCAST_TO": "t[2,2] = BROADCAST_TO(x[2], s:const:int32[2]{2,2})",
    "STABLEHLO_BROADCAST_IN_DIM": "t[2,2] = STABLEHLO_BROADCAST_IN_DIM(x[2], broadcast_dimensions=[1])",
    "EQUAL": "t:bool[2] = EQUAL(x[2], z[2])",
    "SELECT_V2": "t[2] = SELECT_V2(c:bool[2], x[2], z[2])",
}
KEPT = {
    "CONV_2D": "t[1,4,4,1] = CONV_2D(x[1,4,4,1], w:const[1,1,1,1], b:const[1], stride_h=1, stride_w=1)",
    "RANDOM_UNIFORM": "t[?] = RANDOM_UNIFORM(n:int32[1])",
    "Other": "t[2] = CUSTOM.Other(x[2])",
}


@pytest.mark.parametrize("op", [*SERVING, *KEPT])
def test_an_operator_that_only_served_what_was_edited_goes(op: str) -> None:
    text = {**SERVING, **KEPT}[op]
    dtype = text[: text.index("[")].removeprefix("t")
    loaded = opened(f"{text}\ny[2] = CUSTOM.Op(t, v{dtype}[2])")
    assert refusal(loaded, "Op", Bypass(0, value_of(loaded, "v"))) == ""
    loaded.changed = True
    assert [node.op for node in engine.load(loaded.tobytes()).graphs[0].nodes] == [*([op] if op in KEPT else []), "Op"]


def texts_without_a_shape() -> Any:  # noqa: ANN401 - the engine's model
    """A constant of which the file states neither a shape nor a rank, and a copy of it."""
    made = tree("t:string[*] = CUSTOM.Copy(k:const:string[2]{a,b})\ny:string[*] = CUSTOM.Op(t)")
    for tensor in made.subgraphs[0].tensors:
        tensor.shape, tensor.hasRank = None, False
    return engine.load(pack(made))


def test_a_constant_of_no_known_shape_may_have_elements() -> None:
    loaded = texts_without_a_shape()
    constant = value_of(loaded, "k")
    assert (constant.kind, constant.shape.axes) == ("constant", None)
    last = loaded.graphs[0].nodes[-1]
    assert refusal(loaded, last.op, Bypass(0, constant)) == ""
    assert [str(value) for value in loaded.graphs[0].nodes[-1].operands] == ["k[*]"]


@pytest.mark.parametrize(
    ("ranks", "why"),
    [
        ((8, 7), ""),
        ((9, 9), ""),
        ((9, 8), "the runtime broadcasts ADD up to rank 8, and the result has rank 9"),
        ((8, 9), "the runtime broadcasts ADD up to rank 8, and the result has rank 9"),
    ],
)
def test_a_new_operator_broadcasts_up_to_the_rank_of_its_kernel(ranks: tuple[int, int], why: str) -> None:
    x, b = (",".join(["2"] * rank) for rank in ranks)
    whole = (2,) * max(ranks)
    loaded = opened(f"y[{max(x, b, key=len)}] = CUSTOM.Op(x[{x}], b[{b}])")
    assert refusal(loaded, "Op", Replace(new("ADD", 0, 1, shape=whole), "GF304")) == why


@pytest.mark.parametrize("name", ["a constant", "half precision"])
def test_what_is_dequantized_is_not_made_again_where_nothing_can_be_inserted(name: str) -> None:
    """Another DEQUANTIZE stands in front of the node; a constant alone is no operator."""
    text, to, _, _ = RESTATED[name]
    made = tree(text)
    made.metadata = [MetadataT()]
    made.metadata[0].name, made.metadata[0].buffer = "model_control_dependencies", 0
    why = refusal(engine.load(pack(made)), "ADD", Restate(1, Shape(to)))
    assert ("model_control_dependencies" in why) is (name == "half precision")
    assert bool(why) is (name == "half precision")
