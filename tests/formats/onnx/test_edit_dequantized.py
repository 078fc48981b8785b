"""Restated constants in front of a DequantizeLinear: one that makes the same is read, and found without a search."""

from __future__ import annotations

import re

import pytest
from onnx import TensorProto

from graphfix.formats.onnx.edit.dequantized import _Group
from graphfix.formats.onnx.file.container import Container
from tests.support import engine
from tests.support.notation import model
from tests.support.onnx.fixing import fixed

SCALE = "s:const[]{0.5}, z:const:int8[]{0}"


def pair(at: int, numbers: str, *, dims: str = "1,4", read: str = "x", scale: str = "s, z") -> str:
    """A constant that is dequantized and added; with its unit axis it is restated by `compact`."""
    return (
        f"d{at}[{dims}] = DequantizeLinear(c{at}:const:int8[{dims}]{{{numbers}}}, {scale})\n"
        f"y{at}[2,4] = Add({read}[2,4], d{at}[{dims}])"
    )


def dequantized(*lines: str) -> list[str]:
    """By sum: the constant that it adds, after `compact`."""
    nodes = fixed("\n".join(lines), target="compact").view
    sources = dict(found.groups() for node in nodes if (found := re.match(r"(d\w+)\[.*Linear\((\w+)\[", node)))
    return [sources[found[1]] for node in nodes if (found := re.search(r"Add\(.*, (d\w+)\[", node))]


def test_what_stands_in_front_is_read() -> None:
    found = dequantized(pair(0, "1,2,3,4", dims="4", scale=SCALE), pair(1, "1,2,3,4", read="y0"))
    assert found == ["c0", "c0"]


def test_what_was_restated_in_place_is_read_too() -> None:
    found = dequantized(pair(0, "1,2,3,4", scale=SCALE), pair(1, "1,2,3,4", read="y0"))
    assert found == ["c0", "c0"]


def test_of_several_the_first_is_read() -> None:
    first, second = pair(0, "1,2,3,4", dims="4", scale=SCALE), pair(1, "1,2,3,4", dims="4", read="y0")
    assert dequantized(first, second, pair(2, "1,2,3,4", read="y1")) == ["c0", "c1", "c0"]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pair(1, "1,2,3,4", dims="4", read="y0"), id="it stands behind the reader"),
        pytest.param(pair(1, "1,2,3,5", read="y0"), id="other numbers"),
        pytest.param(pair(1, "1,2,3,4", read="y0", scale="t:const[]{0.5}, z"), id="another scale"),
        pytest.param(
            pair(1, "1,2,3,4", read="y0").replace(":int8", ":uint8").replace(", z", ", u:const:uint8[]{0}"),
            id="another type",
        ),
    ],
)
def test_what_is_not_the_same_in_front_is_not_read(other: str) -> None:
    assert dequantized(pair(0, "1,2,3,4", scale=SCALE), other) == ["c0", "c1"]


def test_what_was_changed_in_between_is_not_read() -> None:
    """The first has the dims that are asked for when the second is restated, and other ones for the third."""
    first = "d0[4] = DequantizeLinear(c0:const:int8[4]{1,2,3,4}, s:const[]{0.5}, z:const:int8[]{0})"
    lines = [first, "w[1,4] = Reshape(d0, to:const{1,4})", "y0[2,4] = Add(x[2,4], w[1,4])"]
    found = fixed("\n".join([*lines, pair(1, "1,2,3,4", read="y0")]), target="compact")
    assert [node for node in found.view if "Add" in node] == [
        "y0[2,4] = Add(x[2,4], d0[4])",
        "y1[2,4] = Add(y0[2,4], d0[4])",
    ]


@pytest.mark.parametrize(("gone", "left"), [(1, [3, 8]), (3, [1, 8]), (8, [1, 3])])
def test_a_place_that_is_not_of_a_kind_any_more_is_forgotten_alone(gone: int, left: list[int]) -> None:
    group = _Group()
    for place in (8, 1, 3):
        group.enter(place)
        group.read(place, b"numbers")
    assert group.unread == set()
    group.leave(gone)
    assert group.places == {b"numbers": left}
    assert sorted(group.digests) == left
    group.enter(5)
    group.leave(5)
    assert (group.unread, sorted(group.digests)) == (set(), left)


def reads(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """By name: how often a constant that is dequantized is read."""
    counts: dict[str, int] = {}
    original = Container.elements

    def elements(container: Container, tensor: TensorProto) -> object:
        if tensor.data_type == TensorProto.INT8 and len(tensor.dims):
            counts[tensor.name] = counts.get(tensor.name, 0) + 1
        return original(container, tensor)

    monkeypatch.setattr(Container, "elements", elements)
    engine.fix(engine.load(model("\n".join(lines))), target="compact")
    monkeypatch.undo()
    return counts


def chain(count: int) -> list[str]:
    numbers = [f"{at % 100},{at // 100},1,2" for at in range(count)]
    return [
        pair(at, each, read=f"y{at - 1}" if at else "x", scale="s, z" if at else SCALE)
        for at, each in enumerate(numbers)
    ]


def test_a_constant_is_read_as_often_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = reads(chain(10), monkeypatch), reads(chain(80), monkeypatch)
    assert (len(few), len(many)) == (10, 80)
    assert set(many.values()) == set(few.values())


def test_a_constant_is_read_once_for_its_digest_and_only_beside_one_of_its_kind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    alone, beside = reads(chain(1), monkeypatch), reads(chain(2), monkeypatch)
    assert beside["c0"] == alone["c0"] + 1


@pytest.mark.parametrize(("numbers", "found"), [("1,2,3,4", ["c0", "c0"]), ("1,2,3,5", ["c0", "c1_restated"])])
def test_of_what_says_its_numbers_several_times_the_first_are_compared(numbers: str, found: list[str]) -> None:
    repeated = pair(1, "1,2,3,4,1,2,3,4", dims="2,4", read="y0")
    assert dequantized(pair(0, numbers, dims="4", scale=SCALE), repeated) == found
