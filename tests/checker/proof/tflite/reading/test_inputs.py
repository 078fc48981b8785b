"""The inputs of a TFLite model as the proof reads them: free, bound and summed sizes, and constants in their place."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np
import pytest

from graphfix.checker.files.equal_sizes import NONE_EQUAL, EqualSizes
from graphfix.checker.files.tflite.file import read
from graphfix.checker.proof.core.arithmetic import Arithmetic
from graphfix.checker.proof.core.polynomials import MOST_TERMS
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.sizes import Algebra
from graphfix.checker.proof.tflite.reading.inputs import bound, sizes_by_name, sizes_of, without_set
from models.builders.tflite.text import Signature
from models.builders.tflite.text import model as tflite

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.files.tflite.records import Model

TEXT = "y[N,4] = ADD(x[N,4], z[N,4])\nw[2] = NEG(v[2])"
SIGNATURES = {"serve": Signature("main", {"first": "x", "second": "z", "third": "v"}, {"out": "y", "rest": "w"})}
LONG = tuple(f"p{at}[0]" for at in range(MOST_TERMS + 1))


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


def model(stack: ExitStack, folder: Path, text: str = TEXT, *, signed: bool = True) -> Model:
    path = folder / ("signed.tflite" if signed else "plain.tflite")
    path.write_bytes(tflite(text, signatures=SIGNATURES if signed else {}))
    return read(path, stack)[0]


def dims(found: Model) -> dict[str, object]:
    main = found.subgraphs[0]
    return {main.tensors[at].name: main.tensors[at].dims for at in main.inputs}


EQUAL: dict[str, tuple[EqualSizes, tuple[int, int], list[str]]] = {
    "a symbol of its own": (NONE_EQUAL, (0, 0), ["x[0]", "4"]),
    "an equal one": (EqualSizes(names={"x[0]": "z[0]"}), (0, 0), ["z[0]", "4"]),
    "a sum": (EqualSizes(names={"x[0]": "x[0]"}, sums={"x[0]": ("a", 2, "b")}), (0, 0), ["b+a+2", "4"]),
    "a sum of its equal": (EqualSizes(names={"x[0]": "t"}, sums={"t": ("a", 2)}), (0, 0), ["a+2", "4"]),
    "a part of a sum": (EqualSizes(sums={"t": ("x[0]", "a")}), (0, 0), ["x[0]", "4"]),
    "a sum of more than is followed": (EqualSizes(names={"x[0]": "x[0]"}, sums={"x[0]": LONG}), (0, 0), ["x[0]", "4"]),
    "in a subgraph": (EqualSizes(names={"x[0]": "z[0]"}), (1, 0), ["x[0]", "4"]),
    "a part of a sum, in a subgraph": (EqualSizes(sums={"t": ("x[0]", "a")}), (1, 0), ["x[0]", "4"]),
}


@pytest.mark.parametrize(("equal", "at", "expected"), EQUAL.values(), ids=EQUAL)
def test_a_free_size_is_a_symbol_or_what_is_stated_of_it(
    equal: EqualSizes, at: tuple[int, int], expected: list[str], stack: ExitStack, tmp_path: Path
) -> None:
    tensor = model(stack, tmp_path).subgraphs[0].tensors[0]
    assert list(map(repr, sizes_of(Arithmetic(Algebra()), "x", tensor, at, equal))) == expected


def test_sizes_that_are_stated_to_be_parts_of_a_sum_are_the_symbols_of_that_sum(
    stack: ExitStack, tmp_path: Path
) -> None:
    tensor = model(stack, tmp_path).subgraphs[0].tensors[0]
    arithmetic = Arithmetic(Algebra())
    parts = EqualSizes(sums={"t": ("x[0]", 1)})
    (part, _), (other, _), (own, _) = (
        sizes_of(arithmetic, "x", tensor, at, equal)
        for at, equal in (((0, 0), parts), ((1, 0), parts), ((0, 0), NONE_EQUAL))
    )
    assert part is arithmetic.algebra.symbol(("input", "x[0]"), "x[0]")
    assert own is arithmetic.algebra.symbol(("input", 0, 0, 0), "x[0]")
    assert other is arithmetic.algebra.symbol(("input", 1, 0, 0), "x[0]")


BOUND: dict[str, tuple[dict[str, int], dict[str, Sequence[int]], tuple[int | None, ...] | None]] = {
    "nothing": ({}, {}, (None, 4)),
    "a size": ({"x[0]": 3}, {}, (3, 4)),
    "a size that is declared so": ({"x[1]": 4}, {}, (None, 4)),
    "a shape": ({}, {"x": (5, 4)}, (5, 4)),
    "a size before a shape": ({"x[0]": 3}, {"x": (5, 4)}, (3, 4)),
    "a size of another input": ({"z[0]": 3}, {"z": (5, 4)}, (None, 4)),
    "a size that is declared otherwise": ({"x[1]": 5}, {}, None),
    "a shape that is declared otherwise": ({}, {"x": (5, 5)}, None),
    "a shape of another rank": ({}, {"x": (5, 4, 1)}, None),
}


@pytest.mark.parametrize(("bindings", "shapes", "expected"), BOUND.values(), ids=BOUND)
def test_an_input_has_the_sizes_that_are_bound_if_it_is_not_declared_otherwise(
    bindings: Mapping[str, int],
    shapes: Mapping[str, Sequence[int]],
    expected: tuple[int | None, ...] | None,
    stack: ExitStack,
    tmp_path: Path,
) -> None:
    read_model = model(stack, tmp_path)
    if expected is None:
        with pytest.raises(UnprovedError, match="the input 'x' is declared with other sizes"):
            bound(read_model, bindings, shapes)
        return
    found = bound(read_model, bindings, shapes)
    assert dims(found)["x"] == expected
    stored = read_model.subgraphs[0].tensors[0].stored
    known = tuple(old if size is None else size for size, old in zip(expected, stored, strict=True))
    assert found.subgraphs[0].tensors[0].stored == known
    assert found.subgraphs[0].tensors[2:] == read_model.subgraphs[0].tensors[2:]


def test_sizes_are_known_by_every_name_of_an_input(stack: ExitStack, tmp_path: Path) -> None:
    free = ("x[0]", 4)
    assert sizes_by_name(model(stack, tmp_path)) == {
        "x": free, "first": free, "z": ("z[0]", 4), "second": ("z[0]", 4), "v": (2,), "third": (2,),
    }  # fmt: skip


def test_an_input_that_is_set_and_that_the_second_file_lacks_is_a_constant(stack: ExitStack, tmp_path: Path) -> None:
    one = model(stack, tmp_path)
    two = model(stack, tmp_path, TEXT.replace("z[N,4]", "c:const[4]{1,2,3,4}"), signed=False)
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)
    values = {"second": tuple(map(float, rows.flat)), "third": (5.0, 6.0)}
    made, left = without_set(one, two, values)
    assert dims(made) == {"x": (None, 4), "v": (2,)}
    assert left == {"third": (5.0, 6.0)}
    main = made.subgraphs[0]
    (constant,) = (tensor for tensor in main.tensors if tensor.name == "z")
    assert (constant.dims, constant.stored) == ((3, 4), (3, 4))
    assert constant.payload is not None
    assert constant.payload.read(0, constant.payload.length) == rows.tobytes()
    ((_, _, named, _),) = made.signatures
    assert [name for name, _ in named] == ["first", "third"]
    assert without_set(one, one, values) == (one, values)


def test_a_signature_of_another_subgraph_keeps_its_inputs_where_one_is_set(stack: ExitStack, tmp_path: Path) -> None:
    text = "subgraph main(x[N,4], z[N,4]):\ny[N,4] = ADD(x, z)\nsubgraph other(a[N,4], b[N,4]):\nd[N,4] = SUB(a, b)"
    signatures = {
        "serve": Signature("main", {"first": "x", "second": "z"}, {"out": "y"}),
        "other": Signature("other", {"first": "a", "second": "b"}, {"out": "d"}),
    }
    path = tmp_path / "m.tflite"
    path.write_bytes(tflite(text, signatures=signatures))
    one = read(path, stack)[0]
    two = model(stack, tmp_path, "y[N,4] = NEG(x[N,4])", signed=False)
    made, left = without_set(one, two, {"z": (1.0,) * 8})
    assert left == {}
    assert made.subgraphs[1:] == one.subgraphs[1:]
    assert {key: [name for name, _ in named] for key, _, named, _ in made.signatures} == {
        "serve": ["first"], "other": ["first", "second"],
    }  # fmt: skip
