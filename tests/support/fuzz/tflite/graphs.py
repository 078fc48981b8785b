"""Small random TFLite models: one to eight steps around operators that broadcast, bodies among them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

from tests.support.fuzz.tflite import moves, ops
from tests.support.fuzz.tflite.graph_builder import (
    BOOL,
    FLOAT,
    INT,
    LETTERS,
    Draft,
    GraphBuilder,
    Known,
    Source,
    aligned,
    together,
)

# --- bodies -----------------------------------------------------------------------------------------------------------


Step: TypeAlias = Callable[[GraphBuilder], None]


def branches(builder: GraphBuilder) -> None:
    """An IF: both branches get the same values."""
    taken = [value for value in builder.values[-3:] if value.free is not None and value.dtype in (FLOAT, INT)]
    if not taken or not builder.main:
        return
    condition = (
        builder.constant((), BOOL, [builder.source.odds(0.5)]) if builder.source.odds(0.2) else builder.input((), BOOL)
    )
    names, results = [], []
    for stem in ("yes", "no"):
        name, result = body(builder, stem, taken)
        names.append(name)
        results.append(result)
    one, other = results
    if one.dtype != other.dtype:
        return
    like = len(one.shape) == len(other.shape)
    free: tuple[bool, ...] | None = None
    if like and one.free is not None and other.free is not None:
        pairs = zip(one.shape, other.shape, one.free, other.free, strict=True)
        free = tuple(a != b or x or y for a, b, x, y in pairs)
    builder.add("IF", [condition, *taken], one.shape, one.dtype, free=free, then=names[0], **{"else": names[1]})


def body(builder: GraphBuilder, stem: str, taken: Sequence[Known]) -> tuple[str, Known]:
    """A subgraph that gets these values: its name, and what it gives."""
    inside = GraphBuilder(builder.source, main=False)
    given = [Known(builder.source.name("p"), value.shape, value.dtype, value.free) for value in taken]
    inside.values += given
    for _ in range(builder.source.choose.randrange(3)):
        builder.source.choose.choice(INSIDE)(inside)
    found = [value for value in inside.values if value.dtype == taken[0].dtype]
    result = found[-1] if found else given[0]
    return close(builder, inside, stem, given, [result.name]), result


def close(
    builder: GraphBuilder, inside: GraphBuilder, stem: str, given: Sequence[Known], outputs: Sequence[str]
) -> str:
    """Enter the text of a subgraph, give its name."""
    name = builder.source.name(stem)
    head = f"subgraph {name}({', '.join(inside.described(value) for value in given)}) -> {', '.join(outputs)}:"
    builder.source.bodies.append("\n".join([head, *inside.lines]))
    return name


def loop(builder: GraphBuilder) -> None:
    """A WHILE that counts to three, and carries a value whose shape is kept, or grows in the first turn."""
    found = [value for value in builder.values if value.dtype == FLOAT and value.free is not None]
    if not found or not builder.main:
        return
    x = builder.source.choose.choice(found)
    test = GraphBuilder(builder.source, main=False)
    turns = [Known(builder.source.name("i"), (), INT, ()), Known(builder.source.name("v"), x.shape, FLOAT, x.free)]
    more = test.add("LESS", [turns[0], test.number(3)], (), BOOL)
    condition = close(builder, test, "test", turns, [more.name])
    step = GraphBuilder(builder.source, main=False)
    turns = [Known(builder.source.name("i"), (), INT, ()), Known(builder.source.name("v"), x.shape, FLOAT, x.free)]
    further = step.add("ADD", [turns[0], step.number(1)], (), INT)
    other = step.constant(step.part(x.shape), FLOAT)
    whole = together(x.shape, other.shape)
    if whole is None:
        return
    grown = step.add(
        builder.source.choose.choice(("ADD", "MUL", "SUB")),
        [turns[1], other],
        whole,
        FLOAT,
        free=aligned([turns[1], other]),
    )
    again = close(builder, step, "step", turns, [further.name, grown.name])
    first = builder.number(0)
    count = Known(builder.source.name("n"), (), INT, ())
    free = grown.free if len(whole) == len(x.shape) and (whole == x.shape) else None
    result = Known(builder.source.name("w"), whole, FLOAT, free)
    results = f"{builder.described(count)}, {builder.described(result)}"
    builder.lines.append(f"{results} = WHILE({first.name}, {x.name}, cond={condition}, body={again})")
    builder.made += [count.name, result.name]
    builder.values.append(result)


INSIDE: tuple[Step, ...] = (*[ops.elementwise] * 2, moves.unary, moves.reduced, moves.moved, moves.stretched)
STEPS: tuple[Step, ...] = (
    *[ops.elementwise] * 12,
    *[ops.choice, ops.product, moves.stretched] * 2,
    *[ops.old_choice, ops.slope, ops.dense, ops.tiled],
    *[moves.unary, moves.converted, moves.joined, moves.gathered, moves.reduced, moves.padded],
    *[moves.moved] * 2,
    *[moves.reshaped] * 3,
    *[branches, loop],
)


EMPTIES = 0.4
"""How many models have sizes of 0."""


def draft(seed: int) -> Draft:
    """The model of a seed."""
    choose = random.Random(seed)  # noqa: S311 -- shapes, no secrets
    source = Source(choose, {letter: choose.choice((1, 2, 3)) for letter in LETTERS}, empties=choose.random() < EMPTIES)
    builder = GraphBuilder(source)
    ops.elementwise(builder)
    for _ in range(choose.randrange(8)):
        choose.choice(STEPS)(builder)
    if not builder.made:
        return draft(seed + 1_000_003)
    unnamed = [name for name in builder.made if source.odds(0.5)] if source.odds(0.1) else []
    sizes = [f"{letter}={size}" for letter, size in source.sizes.items()]
    comments = [" ".join(["# sizes", *sizes]), *([" ".join(["# unnamed", *unnamed])] if unnamed else [])]
    head = f"subgraph main -> {', '.join(builder.outputs())}:"
    return Draft("\n".join([*comments, head, *builder.lines, *source.bodies]))
