"""What is said of inputs with free sizes: the options that would bind them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from graphfix.engine.binding import (
    Sizes,
    _placeholder,
    bind,
    defaults,
    demand_static,
    dims_of,
    free_inputs,
    free_sites,
    proposal,
    static_shapes,
    with_defaults_named,
)
from graphfix.engine.request import Request
from graphfix.results import GraphfixError, Verdict
from graphfix.shapes.dim import UNKNOWN, symbol
from models.builders.tflite.text import model as tflite
from tests.support import engine
from tests.support.notation import model


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        ("y[2] = Neg(x[2])", ""),
        ("y[*] = Neg(x[N,3,?,S])", "x[N,3,?,S]; bind: --shape 'x=1,3,<size>,<S>'"),
        (
            "y[*] = Add(x[N,2], k[*])",
            "x[N,2], k[*]; bind: --shape x=1,2 --shape 'k=<sizes>'",
        ),
    ],
    ids=["nothing is free", "sizes", "a rank"],
)
def test_each_free_input_is_proposed_with_a_place_for_each_size_that_nobody_knows(text: str, proposed: str) -> None:
    assert proposal(engine.load(model(text))) == proposed


def test_a_scalar_that_an_old_tflite_file_stores_without_a_rank_is_proposed_as_one() -> None:
    data = tflite("y[N,3] = MUL(x[N,3], m[])", has_rank=False)
    assert proposal(engine.load(data)) == "x[?,3], m[*]; bind: --shape x=1,3 --shape m="


SIZES = Sizes(dims={}, shapes={}, by_default=("x is [1, 3], by default", "N is 2, by default"))
CLAIMS = ["x is [1,3], as asked for", "z is [1,3], as asked for", "N is 2", "N is 2, as asked for"]
NAMED = ["x is [1,3], by default", "z is [1,3], as asked for", "N is 2", "N is 2, by default"]


def test_a_verdict_and_its_proof_tell_which_sizes_were_bound_by_default() -> None:
    verdict = Verdict("proved", assumes=tuple(CLAIMS), proof={"status": "proved", "assumes": CLAIMS})
    found = with_defaults_named(verdict, SIZES)
    assert list(found.assumes) == NAMED
    assert found.proof == {"status": "proved", "assumes": NAMED}
    assert found.status == "proved"


def test_a_verdict_without_a_proof_has_none_then() -> None:
    found = with_defaults_named(Verdict("equal", assumes=tuple(CLAIMS)), SIZES)
    assert (list(found.assumes), found.proof) == (NAMED, None)


def test_numbers_and_ranges_and_whole_shapes_are_told_apart() -> None:
    dims = dims_of({"N": 3, "M": (2, 5)})
    sizes = Sizes(dims, {"x": [1, None], "y": [2, 3], "z": []})
    assert sizes.fixed_dims == {"N": 3}
    assert sizes.ranges == {"M": (2, 5)}
    assert sizes.fixed_shapes == {"y": [2, 3], "z": []}


def test_the_first_axis_alone_is_1_by_default_and_one_symbol_has_one_size() -> None:
    loaded = engine.load(model("y[*] = Add(x[N,M], k[M,N])"))
    assert defaults(loaded) == {"x": [1, None], "k": [1, 1]}
    assert [value.name for value in free_inputs(engine.load(model("y[2,M] = Add(x[2,M], k[2,1])")))] == ["x"]


def test_a_size_that_the_file_stores_beside_the_free_one_is_taken() -> None:
    assert defaults(engine.load(tflite("y[N,3] = MUL(x[N,3], m[3])"))) == {"x": [1, 3]}


def test_the_inputs_that_were_free_and_are_no_constants_are_bound_by_shape() -> None:
    loaded = engine.load(model("a[2] = Add(x[2], c[])\ny[N] = Add(a, z[N])\nw[2] = Neg(k[2])"))
    given = Sizes({"N": 1}, {"x": [3]}, values={"c": 0})
    found = static_shapes(loaded, given, ["x is [2], by default"], ["x", "c", "z"])
    assert (found.dims, found.shapes) == ({}, {"x": [2]})
    assert found.by_default == ("x is [2], by default",)


@pytest.mark.parametrize(
    ("target", "bind_defaults", "said"),
    [
        ("tosa", False, r"m: target tosa needs sizes: x[N,3]; bind: --shape x=1,3 (or --bind-defaults)"),
        (
            "tosa",
            True,
            (
                "m: target tosa needs sizes: x[N,3]; bind: --shape x=1,3 "
                "(--bind-defaults found none at which the model runs)"
            ),
        ),
        ("ranks", False, None),
    ],
)
def test_a_target_that_needs_sizes_says_which_options_give_them(
    target: str, bind_defaults: bool, said: str | None
) -> None:
    free = engine.load(model("y[N,3] = Neg(x[N,3])"))
    request = Request(target=target, bind_defaults=bind_defaults)
    if said is None:
        demand_static(free, Path("m"), request)
    else:
        with pytest.raises(GraphfixError) as raised:
            demand_static(free, Path("m"), request)
        assert str(raised.value) == said
    demand_static(engine.load(model("y[2,3] = Neg(x[2,3])")), Path("m"), request)


@pytest.mark.parametrize(
    ("target", "text", "asked", "said"),
    [
        ("tosa", "y[*] = Neg(x[N,2])", {}, "(or --bind-defaults)"),
        ("tosa", "y[*] = Neg(x[N,2])", {"bind_defaults": True}, "(--bind-defaults found none at which the model runs)"),
        ("tosa", "y[3,2] = Neg(x[3,2])", {}, None),
        ("explicit", "y[*] = Neg(x[N,2])", {}, None),
    ],
    ids=["sizes are free", "no defaults run", "nothing is free", "a target that takes free sizes"],
)
def test_a_target_that_needs_sizes_says_what_would_bind_them(
    target: str, text: str, asked: dict[str, bool], said: str | None
) -> None:
    loaded, request = engine.load(model(text)), Request(target=target, **asked)
    assert [site.node for site in free_sites(loaded, request.goal)] == (["x"] if said else [])
    if said is None:
        demand_static(loaded, Path("m.onnx"), request)
        return
    with pytest.raises(GraphfixError) as raised:
        demand_static(loaded, Path("m.onnx"), request)
    assert str(raised.value) == f"m.onnx: target tosa needs sizes: x[N,2]; bind: --shape x=1,2 {said}"


class Asked:
    """A model that notes what is bound."""

    def __init__(self) -> None:
        self.done: list[tuple[object, ...]] = []

    def trust_stored(self, *, trust: bool) -> None:
        self.done.append(("trust", trust))

    def bind(self, *sizes: object) -> None:
        self.done.append(("bind", *sizes))

    def set_inputs(self, values: object, *, drop: bool) -> None:
        self.done.append(("set", values, drop))

    def narrow_inputs(self, values: object) -> None:
        self.done.append(("narrow", values))


@pytest.mark.parametrize(
    ("given", "done"),
    [
        ({}, []),
        ({"trust_stored": False}, [("trust", False)]),
        ({"trust_stored": True}, [("trust", True)]),
        ({"dims": {"N": 2}}, [("bind", {"N": 2}, {}, ())]),
        ({"shapes": {"x": [2]}}, [("bind", {}, {"x": (2,)}, ())]),
        ({"values": {"c": 1}}, [("set", {"c": 1}, False)]),
        ({"values": {"c": 1}, "drop_set_inputs": True}, [("set", {"c": 1}, True)]),
        ({"values": {"c": 1}, "narrow_inputs": True}, [("set", {"c": 1}, False), ("narrow", {"c": 1})]),
        ({"narrow_inputs": True}, [("narrow", {})]),
    ],
)
def test_what_a_request_says_is_bound_and_nothing_else(given: dict[str, Any], done: list[tuple[object, ...]]) -> None:
    asked: Any = Asked()
    bind(asked, Path("m.onnx"), Request(**given))
    assert asked.done == done


def test_no_input_is_dropped_where_none_is_set() -> None:
    asked: Any = Asked()
    with pytest.raises(GraphfixError, match=r"^m\.onnx: --drop-set-inputs: no input is set; add --set NAME=VALUE"):
        bind(asked, Path("m.onnx"), Request(drop_set_inputs=True))
    assert asked.done == []


def test_a_size_without_a_name_and_one_with_a_name_have_places_of_their_own() -> None:
    assert _placeholder(symbol("S")) == "<S>"
    assert _placeholder(UNKNOWN) == "<size>"
