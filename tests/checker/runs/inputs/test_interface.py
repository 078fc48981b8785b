"""Interfaces of two models: where they can't be run on the same inputs, and how one is fed what the other takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import onnx
import pytest
from onnx import parser

from graphfix.checker.files.binding_error import BindingError
from graphfix.checker.runs.inputs.input_limits import Limits
from graphfix.checker.runs.inputs.interface import (
    Dim,
    Interface,
    TensorSpec,
    assumed_defaults,
    disagreement,
    litert_interface,
    onnx_dims,
    onnx_interface,
)
from graphfix.checker.runs.inputs.recast import (
    fed_as,
    fed_with_int64,
    int64_inputs,
    narrowed,
    widened,
    within_int32,
    without_inputs,
)
from graphfix.results import InputValue
from graphfix.runtimes.session import ModelDetails, RefusedError, SessionBy, TensorDetails

F32, I32, I64 = np.dtype(np.float32), np.dtype(np.int32), np.dtype(np.int64)


def spec(name: str, *dims: Dim, dtype: np.dtype[np.generic] | None = F32, **changes: object) -> TensorSpec:
    return replace(TensorSpec(name, "tensor", dtype, dims), **changes)  # type: ignore[arg-type]


def interface(*inputs: TensorSpec, outputs: tuple[TensorSpec, ...] = (), **changes: object) -> Interface:
    return replace(Interface(inputs, (), outputs, inputs), **changes)  # type: ignore[arg-type]


X, Y, Z = spec("x", "N", 4), spec("y", 3), spec("z", 3)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (interface(X, Y), interface(X, Y), None),
        (interface(X, Y), interface(Y, X), "the inputs stand in another order: [x, y]; [y, x]"),
        (interface(X, Y), interface(X, Z), "the inputs differ: [y] only in the first, [z] only in the second"),
        (interface(X, Y), interface(X), "the inputs differ: [y] only in the first"),
        (interface(X), interface(X, Y), "the inputs differ: [y] only in the second"),
        (interface(outputs=(X,)), interface(outputs=(Y,)), "the outputs differ: [x] only in the first, [y] only in"),
        (interface(X), interface(replace(X, dtype=I64)), "the input 'x' is tensor of float32 in the first, tensor of"),
        (interface(X), interface(replace(X, dtype=None)), "tensor of float32 in the first, tensor of untyped in the"),
        (interface(X), interface(replace(X, dtype=np.dtype(object))), "tensor of string in the second"),
        (interface(X), interface(replace(X, kind="sequence")), "in the first, sequence of float32 in the second"),
        (interface(X), interface(replace(X, kind="unknown", dtype=None)), None),
        (interface(replace(X, kind="unknown", dtype=None)), interface(X), None),
        (interface(outputs=(X,)), interface(outputs=(replace(X, dtype=I64),)), "the output 'x' is tensor of float32"),
        (interface(X), interface(replace(X, quantization=(1,))), "has another quantization in the second: (1,)"),
        (interface(replace(X, quantization=(1,))), interface(X), "has another quantization in the second: none"),
        (interface(X), interface(spec("x", 3, 4)), None),
        (interface(X), interface(spec("x", "M", 5)), "the input 'x' is [N, 4] in the first, [M, 5] in the second"),
        (interface(X), interface(spec("x", "N")), "the input 'x' is [N, 4] in the first, [N] in the second"),
        (interface(X), interface(replace(X, dims=None)), None),
        (interface(replace(X, dims=None), Y), interface(X, spec("y", 4)), "the input 'y' is [3] in the first, [4] in"),
        (interface(X, outputs=(Y,)), interface(X, outputs=(spec("y", 9),)), None),
    ],
)
def test_models_that_cannot_be_equal_are_told_by_their_interfaces(
    before: Interface, after: Interface, said: str | None
) -> None:
    found = disagreement(before, after)
    assert (found is None) == (said is None)
    assert (said or "") in (found or "")


def test_a_default_that_one_model_alone_lets_a_caller_override_is_assumed() -> None:
    one, other = (interface(X, defaults=specs) for specs in ((Y, Z), (Z, X)))
    texts = [f"the default of '{name}' is not overridden: it is an input of one model only" for name in "xy"]
    assert list(assumed_defaults(one, other)) == texts
    assert assumed_defaults(one, one) == ()


NAMED = spec("serving_x:0", "N", 2, alias="x")


@pytest.mark.parametrize(
    ("values", "bindings", "shapes", "expected"),
    [
        ({"serving_x:0": (1, 2)}, {}, {}, [[1, 2]]),
        ({"x": (1, 2, 3, 4)}, {}, {}, [[1, 2], [3, 4]]),
        ({"x": (1, 2)}, {"N": 1}, {}, [[1, 2]]),
        ({"x": (1, 2)}, {"N": 2}, {}, "2 elements do not fill [2, 2]"),
        ({"x": (1, 2)}, {}, {"serving_x:0": (2, 1)}, [[1], [2]]),
        ({"q": (1, 2)}, {}, {}, "there is no input 'q'; inputs: serving_x:0, y"),
        ({"y": True}, {}, {}, "--set y: true does not fit float32"),
    ],
)
def test_an_input_is_set_to_a_constant_by_either_name(
    values: Mapping[str, InputValue],
    bindings: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
    expected: object,
) -> None:
    model = interface(NAMED, Y, defaults=(replace(NAMED), Z))
    if isinstance(expected, str):
        with pytest.raises(BindingError) as caught:
            model.setting(values, bindings, shapes)
        assert expected in str(caught.value)
        return
    found = model.setting(values, bindings, shapes)
    assert {name: array.tolist() for name, array in found.constant_feeds.items()} == {"serving_x:0": expected}
    assert (found.inputs, found.defaults, found.input_specs) == ((Y,), (Z,), (Y, NAMED))


def test_only_a_tensor_can_be_set() -> None:
    with pytest.raises(BindingError, match="the input is a sequence"):
        interface(replace(X, kind="sequence")).setting({"x": 1}, {}, {})


def test_requested_sizes_are_those_of_the_own_names() -> None:
    model = interface(NAMED, Y)
    assert model.by_own_names({"x[0]": 3, "y[0]": 4, "N": 5}, {"x": (1, 2), "y": (3,)}) == (
        {"serving_x:0[0]": 3, "y[0]": 4, "N": 5},
        {"serving_x:0": (1, 2), "y": (3,)},
    )
    known = interface(X, Y).known_as({"x": "image"})
    assert [(each.name, each.alias) for each in known.declared] == [("x", "image"), ("y", "")]
    assert known.by_own_names({"image[0]": 3}, {}) == ({"x[0]": 3}, {})


def test_an_input_without_a_rank_gets_one() -> None:
    model = interface(replace(X, dims=None), Y)
    assert (model.unranked, interface(X, Y).unranked) == (True, False)
    assert [each.dims for each in model.with_rank(2).inputs] == [("x[0]", "x[1]"), (3,)]
    other = interface(X, spec("y", 9))
    assert [each.dims for each in model.with_ranks_of(other, {}).inputs] == [("N", 4), (3,)]
    assert [each.dims for each in model.with_ranks_of(other, {"x": (7,)}).inputs] == [(7,), (3,)]
    assert [each.dims for each in model.with_ranks_of(interface(), {}).inputs] == [None, (3,)]


def test_inputs_of_floats_are_known() -> None:
    import ml_dtypes

    specs = [
        X, spec("i", dtype=I64), spec("u", dtype=None), spec("h", dtype=np.dtype(np.float16)),
        spec("b", dtype=np.dtype(ml_dtypes.bfloat16)),
    ]  # fmt: skip
    assert interface(*specs).fractional == {"x", "h", "b"}


DECLARED = """<ir_version: 8, opset_import: ["" : 17]> g (float[N,?,3] x, float y, seq(int64[2]) s,
    optional(float[N]) o, optional(seq(float[2])) p, map(int64, float) m, string[2] t, float[4] d) => (float[N] z)
    <float[4] d = {1,2,3,4}> { z = Identity(x) }"""


def test_declared_inputs_of_every_kind_are_read() -> None:
    model = parser.parse_model(DECLARED)
    model.graph.input.append(onnx.helper.make_tensor_value_info("unranked", 1, None))
    model.graph.input.append(onnx.helper.make_tensor_value_info("odd", 1, [-1, "-1", "?", "", 0]))
    found = onnx_interface(model)
    kinds = {each.name: (each.kind, each.dtype, each.dims) for each in found.declared}
    assert kinds == {
        "x": ("tensor", F32, ("N", "x[1]", 3)),
        "y": ("tensor", F32, ()),
        "s": ("sequence", I64, (2,)),
        "o": ("optional", F32, ("N",)),
        "p": ("optional sequence", F32, (2,)),
        "m": ("map", F32, ()),
        "t": ("tensor", np.dtype(object), (2,)),
        "d": ("tensor", F32, (4,)),
        "unranked": ("tensor", F32, None),
        "odd": ("tensor", F32, ("odd[0]", "odd[1]", "odd[2]", "odd[3]", 0)),
    }
    assert [each.name for each in found.defaults] == ["d"]
    assert [each.name for each in found.inputs] == [name for name in kinds if name != "d"]
    values = {value.name: value for value in model.graph.input}
    assert onnx_dims(values["x"]) == ("N", None, 3)
    assert onnx_dims(values["odd"], free="v") == ("v[0]", "v[1]", "v[2]", "v[3]", 0)
    assert onnx_dims(values["unranked"]) is None
    assert onnx_dims(values["m"]) is None


def details(
    name: str, dtype: str, shape: tuple[int, ...], signature: tuple[int, ...], **changes: object
) -> TensorDetails:
    return replace(TensorDetails(name, 0, dtype, shape, signature), **changes)  # type: ignore[arg-type]


def test_what_litert_reports_is_read() -> None:
    scaled = {"scales": (0.5,), "zero_points": (3,), "quantized_axis": 1}
    inputs = (
        details("x", "float32", (1, 4), (-1, 4), alias="image"),
        details("q", "int8", (2, 0), (2, 0), **scaled),
        details("left", "float32", (2,), (), **scaled),
        details("b", "bytes", (1,), (1,)),
        details("c", "complex64", (1,), (1,), **scaled),
        details("t", "bool", (1,), (1,), **scaled),
        details("i", "int8", (1,), (1,)),
    )
    found = {each.name: each for each in litert_interface(ModelDetails(inputs, inputs[:1])).inputs}
    assert (found["x"].dims, found["x"].alias, found["x"].quantization) == (("x[0]", 4), "image", ())
    assert (found["q"].dims, found["q"].quantization) == ((2, 0), ((0.5,), (3,), 1))
    assert (found["left"].dims, found["left"].quantization) == ((2,), ())
    assert [found[name].quantization for name in "ctib"] == [()] * 4
    assert found["b"].dtype == np.dtype(object)


# --- a model that is fed what another one takes -----------------------------------------------------------------------


def session(seen: dict[str, object]) -> SessionBy:
    def run(feeds: Mapping[str, object]) -> list[object]:
        seen.clear()
        seen.update(feeds)
        return [1]

    return SessionBy(("y",), run)


WIDE, NARROW = spec("i", dtype=I64), spec("i", dtype=I32)


def test_int64_is_fed_as_int32_where_the_numbers_fit() -> None:
    before = interface(X, WIDE, spec("j", dtype=I64), replace(WIDE, name="s", kind="sequence"))
    after = interface(X, NARROW, spec("j", dtype=I64), replace(NARROW, name="s"))
    assert int64_inputs(before) == {"i", "j"}
    names = narrowed(before, after)
    assert names == {"i"}
    assert [each.dtype for each in widened(after, names).inputs] == [F32, I64, I64, I32]
    seen: dict[str, object] = {}
    opened = fed_with_int64(lambda *_, **__: session(seen), names)(3, optimized=True)
    feeds = {"x": np.float32([0.5]), "i": np.int64([7]), "j": np.int64([8])}
    assert opened.run(feeds) == [1]
    assert {name: (np.asarray(value).dtype, np.asarray(value).tolist()) for name, value in seen.items()} == {
        "x": (F32, [0.5]), "i": (I32, [7]), "j": (I64, [8]),
    }  # fmt: skip
    with pytest.raises(RefusedError, match="'i' holds a number that int32 can't"):
        opened.run({**feeds, "i": np.int64([1 << 40])})


def test_inputs_that_a_model_lacks_are_not_fed_to_it() -> None:
    seen: dict[str, object] = {}
    opened = without_inputs(lambda *_, **__: session(seen), {"i"})()
    assert (opened.run({"x": 1, "i": 2}), seen, opened.outputs) == ([1], {"x": 1}, ("y",))


def test_an_original_takes_the_types_of_what_was_made_of_it() -> None:
    seen: dict[str, object] = {}
    fed_as(session(seen), interface(X, WIDE, spec("u", dtype=None)), interface(X, NARROW, spec("u"))).run(
        {"x": np.float32([1]), "i": np.int32([3]), "u": np.float32([2])}
    )
    assert [np.asarray(value).dtype for value in seen.values()] == [F32, I64, F32]
    same = session(seen)
    assert fed_as(same, interface(X), interface(X)) is same


def test_limits_of_narrowed_inputs_are_those_of_int32() -> None:
    low, high = -(1 << 31), (1 << 31) - 1
    known = Limits(
        {"i": (-(1 << 40), 1 << 40), "j": (-(1 << 40), 1 << 40), "k": (0, 4)},
        {name: (float(low - 1), float(low), 5.0, float(high), float(high + 1)) for name in "ij"},
    )
    found = within_int32(known, {"i", "k"})
    assert found.intervals == {"i": (low, high), "j": (-(1 << 40), 1 << 40), "k": (0, 4)}
    assert found.compared == {"i": (float(low), 5.0, float(high)), "j": known.compared["j"]}


def test_every_input_without_a_rank_gets_dims_of_its_own() -> None:
    model = interface(replace(X, dims=None), Y, replace(Z, dims=None))
    assert [each.dims for each in model.with_rank(1).inputs] == [("x[0]",), (3,), ("z[0]",)]
    assert [each.dims for each in model.with_rank(0).inputs] == [(), (3,), ()]
    assert model.with_rank(1).outputs == model.outputs


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("seq(float[N])", ("sequence", F32, ("N",))),
        ("seq(seq(float[N]))", ("unknown", None, ())),
        ("seq(map(int64, float))", ("unknown", None, ())),
        ("optional(map(int64, float))", ("unknown", None, ())),
        ("optional(seq(seq(float[N])))", ("unknown", None, ())),
        ("optional(seq(int64[N]))", ("optional sequence", I64, ("N",))),
        ("optional(optional(float[N]))", ("unknown", F32, ("N",))),
        ("sparse_tensor(float[N])", ("unknown", None, ())),
        ("map(string, int64)", ("map", I64, ())),
    ],
)
def test_kinds_of_inputs(kind: str, expected: tuple[object, ...]) -> None:
    text = f'<ir_version: 8, opset_import: ["" : 17]> g ({kind} x) => (float[N] y) {{ y = Identity(x) }}'
    (found,) = onnx_interface(parser.parse_model(text)).inputs
    assert (found.kind, found.dtype, found.dims) == expected
