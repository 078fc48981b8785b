"""What the comparisons of both formats share: sizes asked for, declared shapes, operators with a state, the answer."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.files import set_values
from graphfix.checker.files.binding_error import BindingError, check_shape
from graphfix.checker.files.equal_sizes import stated
from graphfix.checker.proof.core.iteration_space import Nest
from graphfix.checker.proof.core.result import Proof, UnprovedError
from graphfix.checker.proof.core.sizes import result_sizes
from graphfix.checker.proof.core.terms import Core, shown
from graphfix.checker.proof.neutral.explain import given_by
from graphfix.results.axis_names import axis_fault
from graphfix.results.error_texts import no_dim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.checker.files.pair import Pair
    from graphfix.checker.proof.core.sizes import Algebra, Place, Sizes
    from graphfix.checker.proof.core.terms import TermTable, View

InputDims: TypeAlias = "Mapping[str, tuple[int | str, ...] | None]"
"""Inputs by name: for each axis its size, or the symbol of a free one; None where the rank is not known."""
LARGEST_MESSAGE = (1 << 31) - 1
"""Bytes of the largest protobuf message and of the largest FlatBuffer: places in both are signed, of 32 bits."""
Dims: TypeAlias = "Sequence[int | None] | None"
"""A declared shape: None for a free size; None where the rank is not declared."""


def refuse_unknown(one: InputDims, two: InputDims, pair: Pair) -> None:
    """Check the names and shapes that the pair states against the inputs of both files.

    Raises GraphfixError for a name that no input has and for a shape of another rank, UnprovedError for a shape that
    contradicts the declared one.
    """
    symbols = {dim: None for inputs in (one, two) for dims in inputs.values() for dim in dims or ()}
    places = {
        f"{name}[{axis}]"
        for name, dims in one.items()
        for axis, dim in enumerate(dims or ())
        if not isinstance(dim, int)
    }
    for name in (*pair.bindings, *pair.ranges):
        if name not in symbols and name not in places:
            known = [dim for dim in symbols if isinstance(dim, str)]
            raise BindingError(axis_fault(name, one) or f"--dim {name}: {no_dim(name, known)}")
    for name, shape in pair.shapes.items():
        check_shape(name, shape, one)
        dims = one[name] or ()
        if any(isinstance(dim, int) and dim != size for dim, size in zip(dims, shape, strict=False)):
            raise UnprovedError(f"no size fits: the input {name!r} is {list(dims)}, and {list(shape)} is asked for")


def assumed(pair: Pair) -> list[str]:
    """Return a sentence for each statement about inputs under which alone the proof holds."""
    dims = [f"{name} = {size}, as asked for" for name, size in pair.bindings.items()]
    shapes = [f"{name} is [{', '.join(map(str, shape))}], as asked for" for name, shape in pair.shapes.items()]
    return [*dims, *shapes, *stated(pair.same), *set_values.assumed(pair.values)]


def assumed_ranges(algebra: Algebra) -> list[str]:
    """Return a sentence for each range of sizes that the proof assumes."""
    ranges = ((symbol, algebra.ranges[symbol]) for symbol in algebra.used_ranges)
    return [f"{symbol} is {low} to {high}, as asked for" for symbol, (low, high) in ranges]


def check_asked(name: str, declared: Dims, sizes: Sequence[int | None]) -> None:
    """Raise UnprovedError where an input is declared with other sizes than those that are asked for."""
    own = declared if declared is not None else sizes
    if len(own) != len(sizes) or any(None not in (a, b) and a != b for a, b in zip(own, sizes, strict=True)):
        raise UnprovedError(f"the input {name!r} is declared with other sizes than {list(sizes)}")


def binding_options(name: str, ours: Sequence[object] | None, theirs: Sequence[object] | None) -> str:
    """Return the options that bind an input's sizes that are numbers in one file only; an empty text for none."""
    if ours is None or theirs is None or len(ours) != len(theirs):
        return ""
    pairs = [[size for size in pair if isinstance(size, int)] for pair in zip(ours, theirs, strict=True)]
    if all(len(numbers) != 1 for numbers in pairs) or any(len(set(numbers)) > 1 for numbers in pairs):
        return ""
    shape = ",".join(str(numbers[0]) if numbers else "?" for numbers in pairs)
    return f"; compare them at one size: --shape {shlex.quote(f'{name}={shape}')}, or --dim NAME=SIZE"


def check_declared_input(name: str, dims: tuple[Dims, Dims]) -> None:
    """Raise UnprovedError where the second file's declared shape of an input contradicts the first's."""
    if _contradicts(*dims):
        raise UnprovedError(f"the input {name!r} is declared {_shape(dims[0])} before, {_shape(dims[1])} after")


def check_declared_output(table: TermTable, name: str, dims: tuple[Dims, Dims], computed: Sizes | None) -> None:
    """Enter what the second file declares of an output and the first declares otherwise.

    Runtimes only warn of a declared shape that an output does not have: where the second file's is the one that it has,
    that is a note. Anything else is entered to be said where nothing else is found (`concluded`).
    """
    one, two = dims
    if not _contradicts(one, two) or two is None:
        return
    has = None if computed is None else result_sizes(computed)
    if has is not None and len(has) == len(two) and all(b in (None, size) for b, size in zip(two, has, strict=True)):
        table.notes[f"the first file declares the output {name!r} as {_shape(one)}, which it is not"] = None
    else:
        table.objections.append(f"the output {name!r} is declared {_shape(one)} before, {_shape(two)} after")


def _contradicts(one: Dims, two: Dims) -> bool:
    """Whether two declared shapes can't both be true: another rank, or another number. One may say more."""
    if one is None or two is None:
        return False
    return len(one) != len(two) or any(None not in (a, b) and a != b for a, b in zip(one, two, strict=True))


def _shape(dims: Dims) -> str:
    return f"[{','.join('?' if size is None else str(size) for size in dims or ())}]"


def check_effects(one: Sequence[tuple[Core, Place]], two: Sequence[tuple[Core, Place]], operators: str) -> None:
    """Raise UnprovedError where operators with a state are not the same, in the same order, executed when they are."""
    ours, theirs = ([(core.number, place) for core, place in effects] for effects in (one, two))
    if ours != theirs:
        raise UnprovedError(f"{operators} are not the same, or not in the same order")


def check_size(before: int, after: int) -> None:
    """Raise UnprovedError if runtimes may load the first file, and the second is too large for them.

    An ONNX file is one protobuf message; larger models keep weights in data files. The tables and inline buffers of a
    TFLite file are one FlatBuffer; larger models keep buffers behind it. `before` and `after` are the bytes of these.
    """
    if before <= LARGEST_MESSAGE < after:
        raise UnprovedError(
            f"the second file holds {after} bytes in one message, and runtimes load at most {LARGEST_MESSAGE}"
        )


def concluded(table: TermTable, outputs: Sequence[tuple[str, View, View]], assumes: Sequence[str]) -> Proof:
    """Say whether each output is one term, and every operator of the second file one of the first."""
    if table.unmatched:
        theirs = table.unmatched[0]
        reason = f"{theirs.description} of the second file has no match in the first"
        ours = _counterpart(table, theirs)
        before, number = (None, None) if ours is None else (ours.description, ours.number)
        return Proof("not proved", reason, before, theirs.description, (number, theirs.number))
    for name, one, two in outputs:
        if one != two:
            return Proof("not proved", f"the output {name!r} {_otherwise(one, two)}", shown(one), shown(two))
    unmatched = table.unmatched_check()
    if unmatched is not None:
        return Proof("not proved", f"only the second file needs sizes to fit: {unmatched}")
    needed = table.arithmetic.newly_needed
    if needed is not None:
        return Proof("not proved", f"only the second file fails where a size is negative: {needed!r}")
    if table.objections:
        return Proof("not proved", table.objections[0])
    return Proof("proved", assumes=tuple(assumes), notes=tuple(table.notes))


def _otherwise(one: View, two: View) -> str:
    if one.core is not two.core:
        return f"is another value: {given_by(one)} before, {given_by(two)} after"
    return f"is {given_by(one)} before and after, in another shape or along other axes"


def _counterpart(table: TermTable, theirs: Core) -> Core | None:
    """Find the operator that only the first file has: of the same kind, then the one that reads most of the same."""
    unmatched = set(table.unmatched)
    missing = [core for core in table.cores.values() if core.counted and not core.matched and core not in unmatched]
    alike = [core for core in missing if _kind(core) == _kind(theirs)]
    read = set(_read(theirs.key))
    return max(alike or missing, key=lambda core: len(read & set(_read(core.key))), default=None)


def _read(key: tuple[object, ...]) -> Iterator[Core]:
    """Return every term that a term is made of."""
    for part in key:
        if isinstance(part, Core):
            yield part
        elif isinstance(part, Nest):
            yield from _read(part.operator)
        elif isinstance(part, tuple):
            yield from _read(part)


def _kind(core: Core) -> object:
    """Name the operator of a term."""
    operator = core.key[1]
    if isinstance(operator, Nest):
        operator = operator.operator
    while isinstance(operator, tuple) and operator and isinstance(operator[0], tuple):
        operator = operator[0]
    return operator[:2] if isinstance(operator, tuple) else core.key[1:3]
