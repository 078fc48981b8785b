"""Single rules of the inference on fakes: names, constants of one element, and how many nodes a loop inside counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from graphfix.formats.tflite.file.schema import STRING
from graphfix.formats.tflite.infer.analysis import UNKNOWN_TRIPS, _weight
from graphfix.formats.tflite.infer.names import declared, unique_names
from graphfix.formats.tflite.infer.scope import GraphScope
from tests.support.tflite.flat_files import TYPES

NAMES = {
    "names of their own": (["a", "b"], ["a", "b"]),
    "one name twice": (["a", "b", "a"], ["t0", "b", "t2"]),
    "no names": (["", "", "c"], ["t0", "t1", "c"]),
    "one without a name": (["a", ""], ["a", "t1"]),
    "a name that another has": (["", "t0"], ["t0_", "t0"]),
    "that one too": (["", "t0", "t0_"], ["t0__", "t0", "t0_"]),
    "a name that another has twice": (["", "t0", "t0"], ["t0", "t1", "t2"]),
}


@pytest.mark.parametrize(("given", "found"), NAMES.values(), ids=NAMES)
def test_every_tensor_has_a_name_of_its_own(given: list[str], found: list[str]) -> None:
    subgraph: Any = SimpleNamespace(tensors=[SimpleNamespace(name=name) for name in given])
    assert unique_names(subgraph) == found


@pytest.mark.parametrize(
    ("shape", "signature", "found"),
    [
        ((1, 3), None, (1, 3)),
        ((1, 3), (-1, 3), (-1, 3)),
        ((1, 3), (-1, -1), (-1, -1)),
        ((1, 3), (-1,), (1, 3)),
        ((1, 3), (1, 4), (1, -1)),
        ((), (), ()),
    ],
)
def test_a_size_is_free_where_the_signature_says_another(
    shape: tuple[int, ...], signature: tuple[int, ...] | None, found: tuple[int, ...]
) -> None:
    tensor: Any = SimpleNamespace(shape=shape, signature=signature)
    assert declared(tensor) == found


HELD = {
    "a float": (TYPES["float32"], bytes(4), {}, True),
    "two floats": (TYPES["float32"], bytes(8), {}, False),
    "less than a float": (TYPES["float32"], bytes(3), {}, False),
    "a byte": (TYPES["int8"], bytes(1), {}, True),
    "two bytes": (TYPES["int8"], bytes(2), {}, False),
    "a truth value": (TYPES["bool"], bytes(1), {}, True),
    "4 bits": (17, bytes(1), {}, True),
    "4 bits, of two bytes": (17, bytes(2), {}, False),
    "one text": (STRING, b"\1\0\0\0" + bytes(8), {}, True),
    "two texts": (STRING, b"\2\0\0\0" + bytes(12), {}, False),
    "257 texts": (STRING, b"\1\1\0\0" + bytes(12), {}, False),
    "no constant": (TYPES["float32"], bytes(4), {"constant": False}, False),
    "a constant in another file": (TYPES["float32"], bytes(4), {"external": 1}, False),
}


@pytest.mark.parametrize(("code", "data", "more", "one"), HELD.values(), ids=HELD)
def test_a_constant_of_one_element_is_known_by_its_bytes(
    code: int, data: bytes, more: dict[str, Any], one: bool
) -> None:
    scope: Any = SimpleNamespace(
        tensors=[SimpleNamespace(type=code, external=more.get("external", 0), buffer=0)],
        is_constant=lambda _: more.get("constant", True),
        container=SimpleNamespace(data=lambda _: data, size=lambda _: len(data)),
    )
    assert GraphScope._holds_one(scope, 0) is one


@pytest.mark.parametrize(
    ("bodies", "weight"),
    [
        ([None], 1),
        ([None, None], 2),
        ([2], 1 + UNKNOWN_TRIPS * 2),
        ([2, None, 2], 3 + 2 * UNKNOWN_TRIPS * 2),
        ([3], 1 + UNKNOWN_TRIPS * (1 + UNKNOWN_TRIPS * 2)),
        ([0], 1),
        ([4], 1),
        ([-1], 1),
        (["2"], 1),
    ],
)
def test_a_loop_inside_counts_its_body_as_often_as_it_may_run(bodies: list[Any], weight: int) -> None:
    def graph(held: list[Any]) -> Any:  # noqa: ANN401
        return SimpleNamespace(operators=[{} if body is None else {"body_subgraph_index": body} for body in held])

    container: Any = SimpleNamespace(
        subgraphs=[graph([]), graph(bodies), graph([None, None]), graph([2])], options=lambda operator: operator
    )
    known: dict[int, int] = {}
    assert _weight(container, 1, known) == weight
    assert known[1] == weight


def test_a_weight_that_is_known_is_not_counted_again() -> None:
    container: Any = SimpleNamespace(subgraphs=[])
    assert _weight(container, 7, {7: 5}) == 5
