"""`--dim` and `--shape`: what is bound, what is updated, what is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import onnx
import pytest

from graphfix.results import GraphfixError
from graphfix.shapes.dim import symbol
from tests.support import engine
from tests.support.notation import model, parsed
from tests.support.onnx.fixing import printed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.formats.onnx import OnnxModel
    from graphfix.shapes.dim import Size


def bound(
    proto: onnx.ModelProto,
    dims: Mapping[str, Size] | None = None,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
) -> OnnxModel:
    opened = engine.load(proto)
    opened.bind(dims or {}, shapes or {})
    return opened


def declared(proto: onnx.ModelProto, name: str) -> list[int | str | None]:
    """The dims of an input, output or value_info, in whichever scope it is."""
    pending = [proto.graph]
    while pending:
        graph = pending.pop()
        for info in (*graph.input, *graph.output, *graph.value_info):
            if info.name == name:
                dims = info.type.tensor_type.shape.dim
                return [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in dims]
        pending += [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    raise AssertionError(name)


def test_a_number_is_written_into_every_stored_shape() -> None:
    proto = model("v = Neg(x[N,T])\ny[N,T] = Add(v, b[1,T])\nz[M] = Neg(w[M])")
    proto.graph.value_info.append(onnx.helper.make_tensor_value_info("v", onnx.TensorProto.FLOAT, ["N", "T"]))
    opened = bound(proto, {"N": 4})
    assert printed(opened) == ["v[4,T] = Neg(x[4,T])", "y[4,T] = Add(v[4,T], b[1,T])", "z[M] = Neg(w[M])"]
    after = onnx.load_from_string(opened.tobytes())
    assert [declared(after, name) for name in "xvybz"] == [[4, "T"], [4, "T"], [4, "T"], [1, "T"], ["M"]]
    assert opened.changed


def test_computed_sizes_are_updated_too() -> None:
    proto = model("y[rows,8] = Concat(x[N,8], b[N,8], axis=0)")
    after = onnx.load_from_string(bound(proto, {"N": 3}).tobytes())
    assert declared(after, "y") == [6, 8]


def test_a_stored_shape_of_another_rank_is_updated() -> None:
    proto = model("y[A] = Neg(x[N,8])")
    after = onnx.load_from_string(bound(proto, {"N": 3}).tobytes())
    assert declared(after, "y") == [3, 8]


def test_stored_shapes_of_bodies_are_updated() -> None:
    proto = parsed("""main (bool c, float[N,3] x) => (float[N,3] y) {
        y = If (c) <then_branch = yes () => (float[N,3] t) { t = Neg(x) },
                    else_branch = no () => (float[N,3] e) { e = Abs(x) }> }""")
    after = onnx.load_from_string(bound(proto, {"N": 2}).tobytes())
    assert [declared(after, name) for name in "xyte"] == [[2, 3]] * 4


SHAPES = {
    "symbols": ("y[N,T] = Neg(x[N,T])", [4, 5], [4, 5]),
    "a part of it": ("y[N,T] = Neg(x[N,T])", [4, None], [4, "T"]),
    "nameless dims": ("y[?,3] = Neg(x[?,3])", [4, 3], [4, 3]),
    "an input without a rank": ("y[*] = Neg(x[*])", [4, 3], [4, 3]),
    "an input without a rank, in part": ("y[*] = Neg(x[*])", [4, None], [4, None]),
    "zero": ("y[N,3] = Neg(x[N,3])", [0, 3], [0, 3]),
}


@pytest.mark.parametrize(("text", "given", "expected"), SHAPES.values(), ids=SHAPES)
def test_a_whole_shape_is_bound(text: str, given: list[int | None], expected: list[int | str | None]) -> None:
    opened = bound(model(text), shapes={"x": given})
    after = onnx.load_from_string(opened.tobytes())
    assert declared(after, "x") == expected
    assert opened.changed


def test_the_output_of_a_nameless_dim_is_updated() -> None:
    after = onnx.load_from_string(bound(model("y[?,3] = Neg(x[?,3])"), shapes={"x": [4, 3]}).tobytes())
    assert declared(after, "y") == [4, 3]


def test_a_symbol_bound_by_one_shape_is_bound_everywhere() -> None:
    opened = bound(model("y[N,3] = Add(x[N,3], b[N,3])"), shapes={"x": [4, 3]})
    assert printed(opened) == ["y[4,3] = Add(x[4,3], b[4,3])"]


def test_what_is_stated_already_is_no_change() -> None:
    opened = bound(model("y[2,3] = Neg(x[2,3])"), shapes={"x": [2, 3]})
    assert opened.tobytes() == model("y[2,3] = Neg(x[2,3])").SerializeToString()


def test_a_range_only_narrows() -> None:
    proto = model("y[4] = Add(x[N], b[4])")
    opened = bound(proto, {"N": symbol("N", 2, 64)})
    assert not opened.changed
    assert not any(engine.fix(opened).rewrites.values())
    assert declared(onnx.load_from_string(opened.tobytes()), "x") == ["N"]


@pytest.mark.parametrize(("low", "edits"), [(1, 1), (2, 0)], ids=["1 is in it", "never 1"])
def test_a_range_that_excludes_1_proves_that_nothing_is_stretched(low: int, edits: int) -> None:
    opened = bound(model("y[4] = Add(x[N], b[4])"), {"N": symbol("N", low, 64)})
    assert engine.fix(opened).rewrites["materialize-broadcasts"] == edits


REFUSED = {
    "an unknown dim": ({"K": 2}, {}, r"--dim K: no input has a dim of that name; free: N, T"),
    "a static axis": (
        {"b[0]": 2},
        {},
        r"--dim b\[0\]: axis 0 of 'b' is static: its size is 1 in the file; leave this option out",
    ),
    "an axis with a name": ({"x[1]": 2}, {}, r"--dim x\[1\]: axis 1 of 'x' has the name T: say --dim T=<size>"),
    "no such axis": ({"b[2]": 2}, {}, r"--dim b\[2\]: 'b' has 2 axes, numbered from 0"),
    "an unknown input": ({}, {"q": [2]}, r"--shape q: there is no input 'q'; inputs: x, b"),
    "another rank": ({}, {"x": [2]}, r"--shape x: 1 dims given, the input has \[N,T\]"),
    "another number": ({}, {"b": [7, 4]}, r"--shape b: 7 contradicts the input's \[1,T\]"),
    "two numbers for one symbol": ({"T": 5}, {"x": [2, 4]}, r"--shape x: 4 contradicts the input's \[N,T\]"),
    "two shapes": ({}, {"x": [2, 4], "b": [1, 5]}, r"--shape b: 5 contradicts the input's \[1,T\]"),
}


@pytest.mark.parametrize(("dims", "shapes", "message"), REFUSED.values(), ids=REFUSED)
def test_what_contradicts_is_refused(dims: dict[str, Size], shapes: dict[str, list[int | None]], message: str) -> None:
    with pytest.raises(GraphfixError, match=f"^the model: {message}$"):
        bound(model("y[N,T] = Add(x[N,T], b[1,T])"), dims, shapes)


def test_a_model_without_free_dims_says_so() -> None:
    with pytest.raises(GraphfixError, match="free: none"):
        bound(model("y[2] = Neg(x[2])"), {"N": 2})


def test_an_initializer_that_is_an_input_is_not_free() -> None:
    with pytest.raises(GraphfixError, match="--shape b: there is no input 'b'; inputs: x"):
        bound(model("y[2,3] = Add(x[2,3], b:overridable[3])"), shapes={"b": [3]})


def test_a_stored_shape_of_a_body_that_nothing_computes_is_bound_by_name() -> None:
    proto = parsed("""main (bool c, float[N,3] x) => (float[N,3] y) {
        y = If (c) <then_branch = yes () => (float[N,3] t) { u = local.thing(x) t = Neg(u) },
                    else_branch = no () => (float[N,3] e) { e = Abs(x) }> }""")
    proto.opset_import.add(domain="local", version=1)
    after = onnx.load_from_string(bound(proto, {"N": 2}).tobytes())
    assert declared(after, "t") == [2, 3]
