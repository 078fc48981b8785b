"""The small scope of each row of TFLite's catalogue: which cases it is given, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

from tests.support.runtimes.litert_groups import WITH_SHAPES
from tests.support.small_scope.tflite.cases import Case, shapes
from tests.support.small_scope.tflite.rows import (
    choices,
    constant_choices,
    constants,
    equals,
    in_dims,
    old_choices,
    onto_shapes,
    pairs,
    predicates,
    products,
    slopes,
    three,
    tiles,
    triples,
    unequals,
)


@dataclass(frozen=True, slots=True)
class Scope:
    """The cases of one row and one element type."""

    op: str
    dtype: str
    cases: Callable[[bool], Iterable[Case]]
    """Whether N is one size -> the cases; those that nothing meets in are among them, with no sizes."""
    alike: int | None = 0
    """How many last axes of an operand do not broadcast; None where no operand is ever rewritten."""
    ranks: bool = False
    """Whether only the rank of operand 0 becomes that of the result."""
    runs: bool = True
    """Whether LiteRT has a kernel."""
    again: bool = False
    """Whether only what fix makes of it runs."""
    label: str = ""
    kernels: tuple[str, ...] = ("BUILTIN_REF", WITH_SHAPES)
    """The kernel sets of LiteRT that have it."""

    @property
    def id(self) -> str:
        return "-".join(filter(None, (self.op, self.dtype, self.label)))


BOTH, LOW, MIXED = ("input", "input"), (0, 1), (0, 1, 2)
OTHERS = {
    "float32 int32": "SUB MUL DIV FLOOR_DIV FLOOR_MOD SQUARED_DIFFERENCE POW MAXIMUM MINIMUM LESS LESS_EQUAL GREATER"
    " GREATER_EQUAL EQUAL NOT_EQUAL",
    "bool": "LOGICAL_AND LOGICAL_OR",
    "int32": "ADD BITWISE_XOR RIGHT_SHIFT",
    "int8": "ADD SUB MUL MAXIMUM MINIMUM SQUARED_DIFFERENCE LESS EQUAL",
}
"""By element types: operators whose pairs are those of fewer axes than the ones of ADD in float32."""
KERNELS_OF_EQUALS = {
    "ATAN2": "float32",
    "STABLEHLO_ADD": "float32",
    "STABLEHLO_MULTIPLY": "float32",
    "STABLEHLO_MAXIMUM": "float32",
    "STABLEHLO_MINIMUM": "float32",
    "STABLEHLO_AND": "bool",
    "STABLEHLO_SHIFT_LEFT": "int32",
}
NO_KERNEL = (
    "STABLEHLO_SUBTRACT STABLEHLO_DIVIDE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER STABLEHLO_COMPARE".split()
)


def _elementwise() -> Iterator[Scope]:
    yield Scope("ADD", "float32", partial(pairs, "ADD", "float32", (0, 1, 2, 3)))
    yield Scope("ADD", "float32", partial(constants, "ADD", "float32"), label="constants")
    yield Scope("MUL", "int8", partial(constants, "MUL", "int8"), label="constants")
    for dtypes, names in OTHERS.items():
        for op, dtype in product(names.split(), dtypes.split()):
            yield Scope(op, dtype, partial(pairs, op, dtype, MIXED if dtype == dtypes.split()[0] else LOW))
    yield Scope("SELECT_V2", "float32", partial(choices, "float32", list(triples())))
    yield Scope("SELECT_V2", "int8", partial(choices, "int8", list(product(shapes(*LOW), repeat=3))))
    yield Scope("SELECT_V2", "float32", partial(constant_choices, "float32"), label="constants")


def _own() -> Iterator[Scope]:
    yield Scope("PRELU", "float32", partial(slopes, "float32", "input", (0, 1, 2, 3)), alike=None)
    yield Scope("PRELU", "float32", partial(slopes, "float32", "constant", MIXED), alike=None, label="constants")
    yield Scope("PRELU", "int8", partial(slopes, "int8", "input", MIXED), alike=None)
    for dtype in ("float32", "int32", "int8"):
        yield Scope("SELECT", dtype, partial(old_choices, dtype, ("input",) * 3), alike=None)
    kinds = ("constant", "input", "input")
    yield Scope("SELECT", "float32", partial(old_choices, "float32", kinds), alike=None, label="constants")
    for at, turns in enumerate(product((False, True), repeat=2)):
        label = f"turned{at}" if at else ""
        yield Scope("BATCH_MATMUL", "float32", partial(products, "float32", turns, BOTH), alike=2, label=label)
    yield Scope("BATCH_MATMUL", "int8", partial(products, "int8", (False, False), BOTH), alike=2)
    for at, kinds in enumerate((("constant", "input"), ("input", "constant"))):
        cases = partial(products, "float32", (False, False), kinds)
        yield Scope("BATCH_MATMUL", "float32", cases, alike=2, label=f"constant{at}")


def _spelled() -> Iterator[Scope]:
    for kind in ("numbers", "shape", "given"):
        cases = partial(onto_shapes, "float32", kind)
        yield Scope("BROADCAST_TO", "float32", cases, ranks=True, label=kind)
    yield Scope("BROADCAST_TO", "int8", partial(onto_shapes, "int8", "numbers"), ranks=True)
    for dtype in ("float32", "int32"):
        yield Scope("TILE", dtype, partial(tiles, dtype), ranks=True)
        yield Scope("STABLEHLO_BROADCAST_IN_DIM", dtype, partial(in_dims, dtype), ranks=True, runs=False, again=True)


def _equal() -> Iterator[Scope]:
    for op, dtype in KERNELS_OF_EQUALS.items():
        kernels = (WITH_SHAPES,) if op in ("STABLEHLO_SHIFT_LEFT", "STABLEHLO_AND") else ("BUILTIN_REF", WITH_SHAPES)
        yield Scope(op, dtype, partial(equals, op, dtype, 2), alike=None, kernels=kernels)
        yield Scope(op, dtype, partial(unequals, op, dtype), alike=None, runs=False, label="unequal")
    for count in (2, 3):
        yield Scope("ADD_N", "float32", partial(equals, "ADD_N", "float32", count), alike=None, label=str(count))
    yield Scope("ADD_N", "float32", partial(unequals, "ADD_N", "float32"), alike=None, runs=False, label="unequal")
    for op in NO_KERNEL:
        dtype = "bool" if op == "STABLEHLO_OR" else "float32"
        yield Scope(op, dtype, partial(equals, op, dtype, 2), alike=None, runs=False)
        yield Scope(op, dtype, partial(unequals, op, dtype), alike=None, runs=False, label="unequal")
    yield Scope("STABLEHLO_CLAMP", "float32", partial(three, "STABLEHLO_CLAMP", "float32"), alike=None, runs=False)
    cases = partial(predicates, "float32")
    yield Scope("STABLEHLO_SELECT", "float32", cases, alike=None, runs=False)


SCOPES: tuple[Scope, ...] = (*_elementwise(), *_own(), *_spelled(), *_equal())
