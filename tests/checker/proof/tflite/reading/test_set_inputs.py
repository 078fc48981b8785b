"""Values of inputs that are set in a TFLite model of several subgraphs, and shapes of another rank than is stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.names import own_names
from graphfix.checker.files.tflite.records import Model
from graphfix.checker.proof.tflite.reading.inputs import (
    bound,
    set_arrays,
    without_set,
)
from graphfix.results import GraphfixError, InputValue
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

TEXT = """subgraph main(x[N,4], k[3], n:int32[]) -> y:
a[N,4] = MUL(x, k)
y[N,4] = IF(c:const:bool[]{{True}}, a, then=other, else=other)
subgraph other(u[N,4]) -> v:
v[N,4] = NEG(u)"""
SIGNATURES = {
    "serve": Signature("main", {"image": "x", "scale": "k", "count": "n"}, {"out": "y"}),
    "other": Signature("other", {"in": "u"}, {"out": "v"}),
}


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


def opened(
    folder: Path, stack: ExitStack, text: str = TEXT.format(), signatures: Mapping[str, Signature] | None = None
) -> Model:
    path = folder / f"{len(list(folder.iterdir()))}.tflite"
    path.write_bytes(tflite(text, signatures=signatures))
    return read(path, stack)[0]


def test_a_shape_of_another_rank_than_is_stored_leaves_nothing_stored(tmp_path: Path, stack: ExitStack) -> None:
    made = bound(opened(tmp_path, stack, "y[*] = NEG(x[*])"), {}, {"x": (6, 4)})
    (at,) = own_names(made)
    assert (made.subgraphs[0].tensors[at].dims, made.subgraphs[0].tensors[at].stored) == ((6, 4), ())


def test_a_tensor_of_another_subgraph_is_none_of_the_main_inputs(tmp_path: Path, stack: ExitStack) -> None:
    """The tensors of subgraphs have the same numbers."""
    one = opened(tmp_path, stack, signatures=SIGNATURES)
    two = opened(tmp_path, stack, TEXT.replace("x[N,4], ", "").replace("x, k", "x:const[1,4], k").format())
    made, left = without_set(one, two, {"x": (1.0,) * 8})
    assert left == {}
    held = made.subgraphs[0].tensors[one.subgraphs[0].inputs[0]]
    assert (held.name, held.dims, held.stored) == ("x", (2, 4), (2, 4))
    assert [[name for name, _ in named] for _, _, named, _ in made.signatures] == [["scale", "count"], ["in"]]


def test_values_stand_at_their_place_among_the_inputs(tmp_path: Path, stack: ExitStack) -> None:
    model = opened(tmp_path, stack, signatures=SIGNATURES)
    found = set_arrays(model, {"n": 2, "scale": (1.0, 2.0, 3.0)})
    assert {at: (array.dtype.name, array.tolist()) for at, array in found.items()} == {
        1: ("float32", [1.0, 2.0, 3.0]),
        2: ("int32", 2),
    }
    assert set_arrays(model, {}) == {}
    odd: list[dict[str, InputValue]] = [{"nothing": 1}, {"n": (1, 2)}, {"k": (1.0, 2.0)}, {"n": 0.5}]
    for values in odd:
        with pytest.raises(GraphfixError):
            set_arrays(model, values)
