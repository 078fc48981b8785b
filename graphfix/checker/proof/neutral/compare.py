"""Steps of a proof that both formats share: requested sizes, declared shapes, stateful operators, conclusion."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, TypeAlias

from graphfix.checker.files import set_values
from graphfix.checker.files.binding_error import BindingError, check_shape
from graphfix.checker.files.equal_sizes import stated
from graphfix.checker.proof.core.iteration_space import LoopNest
from graphfix.checker.proof.core.result import Proof, UnprovedError
from graphfix.checker.proof.core.sizes import result_sizes
from graphfix.checker.proof.core.terms import Core, printed_value
from graphfix.checker.proof.neutral.explain import producer_phrase
from graphfix.results.axis_names import axis_fault
from graphfix.results.error_texts import no_dim

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from graphfix.checker.files.pair import Pair
    from graphfix.checker.proof.core.sizes import Algebra, Place, Sizes
    from graphfix.checker.proof.core.terms import ProofValue, TermTable

InputDims: TypeAlias = "Mapping[str, tuple[int | str, ...] | None]"
"""Inputs by name: for each axis its size, or its symbol if the size is free. None if the rank is unknown."""
LARGEST_MESSAGE = (1 << 31) - 1
"""The largest size of a protobuf message and of a FlatBuffer, in bytes: both use signed offsets of 32 bits."""
Dims: TypeAlias = "Sequence[int | None] | None"
"""A declared shape: None for a free size, and None instead of the shape if no rank is declared."""


def refuse_unknown(one: InputDims, two: InputDims, pair: Pair) -> None:
    """Check the names of axes and the shapes of inputs that the pair states.

    A symbol must occur in either file. Names such as `x[0]` and shapes must fit the first file. Raises GraphfixError
    for a name that no input has and for a shape of another rank. Raises UnprovedError for a shape that contradicts the
    declared one.
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
            free_names = [dim for dim in symbols if isinstance(dim, str)]
            raise BindingError(axis_fault(name, one) or f"--dim {name}: {no_dim(name, free_names)}")
    for name, shape in pair.shapes.items():
        check_shape(name, shape, one)
        dims = one[name] or ()
        if any(isinstance(dim, int) and dim != size for dim, size in zip(dims, shape, strict=False)):
            raise UnprovedError(f"no size fits: the input {name!r} is {list(dims)}, and {list(shape)} is asked for")


def assumed(pair: Pair) -> list[str]:
    """Return a sentence for each statement about inputs that the proof assumes: sizes, shapes, equal sizes, values."""
    dims = [f"{name} = {size}, as asked for" for name, size in pair.bindings.items()]
    shapes = [f"{name} is [{', '.join(map(str, shape))}], as asked for" for name, shape in pair.shapes.items()]
    return [*dims, *shapes, *stated(pair.same), *set_values.assumed(pair.values)]


def assumed_ranges(algebra: Algebra) -> list[str]:
    """Return a sentence for each requested range of sizes that the proof assumes."""
    ranges = ((symbol, algebra.ranges[symbol]) for symbol in algebra.used_ranges)
    return [f"{symbol} is {low} to {high}, as asked for" for symbol, (low, high) in ranges]


def check_asked(name: str, declared: Dims, sizes: Sequence[int | None]) -> None:
    """Raise UnprovedError if an input's declared shape contradicts the requested `sizes`. A size of None is free."""
    own = declared if declared is not None else sizes
    if len(own) != len(sizes) or any(None not in (a, b) and a != b for a, b in zip(own, sizes, strict=True)):
        raise UnprovedError(f"the input {name!r} is declared with other sizes than {list(sizes)}")


def binding_options(name: str, ours: Sequence[object] | None, theirs: Sequence[object] | None) -> str:
    """Return command-line options that bind the sizes of an input that are numbers in only one file.

    Return an empty string if no size is such a number, if the two files' numbers differ, or if a rank differs or is
    unknown. `ours` and `theirs` are the input's sizes in the first and the second file.
    """
    if ours is None or theirs is None or len(ours) != len(theirs):
        return ""
    pairs = [[size for size in pair if isinstance(size, int)] for pair in zip(ours, theirs, strict=True)]
    if all(len(numbers) != 1 for numbers in pairs) or any(len(set(numbers)) > 1 for numbers in pairs):
        return ""
    shape = ",".join(str(numbers[0]) if numbers else "?" for numbers in pairs)
    return f"; compare them at one size: --shape {shlex.quote(f'{name}={shape}')}, or --dim NAME=SIZE"


def check_declared_input(name: str, dims: tuple[Dims, Dims]) -> None:
    """Raise UnprovedError if the second file's declared shape of an input contradicts that of the first file.

    `dims` are the two declared shapes.
    """
    if _contradicts(*dims):
        raise UnprovedError(f"the input {name!r} is declared {_shape(dims[0])} before, {_shape(dims[1])} after")


def check_declared_output(table: TermTable, name: str, dims: tuple[Dims, Dims], computed: Sizes | None) -> None:
    """Record that the second file declares another shape for an output than the first file does.

    `dims` are the two declared shapes, and `computed` are the output's sizes as the proof infers them. If the second
    file's shape agrees with `computed`, this is only a note, because runtimes merely warn of a wrong declared shape.
    Otherwise it is an objection, which `conclusion` reports if it finds nothing else.
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
    """Return whether two declared shapes can't both be true: the ranks differ, or two numbers differ.

    A size that is free in one of the files contradicts nothing.
    """
    if one is None or two is None:
        return False
    return len(one) != len(two) or any(None not in (a, b) and a != b for a, b in zip(one, two, strict=True))


def _shape(dims: Dims) -> str:
    """Return a declared shape as reports print it, with `?` for a free size."""
    return f"[{','.join('?' if size is None else str(size) for size in dims or ())}]"


def check_effects(one: Sequence[tuple[Core, Place]], two: Sequence[tuple[Core, Place]], operators: str) -> None:
    """Raise UnprovedError if the stateful operators of the two files differ.

    The operators, their order and the places of execution must be equal. `one` and `two` contain the cores of these
    operators with their places. `operators` is the subject of the message.
    """
    ours, theirs = ([(core.number, place) for core, place in effects] for effects in (one, two))
    if ours != theirs:
        raise UnprovedError(f"{operators} are not the same, or not in the same order")


def check_size(before: int, after: int) -> None:
    """Raise UnprovedError if the second file is too large for runtimes, and the first file is not.

    An ONNX file is one protobuf message; larger models store weights in data files. The tables and inline buffers of a
    TFLite file are one FlatBuffer; larger models store buffers behind the FlatBuffer. `before` and `after` are the
    number of bytes of that message or FlatBuffer in each file.
    """
    if before <= LARGEST_MESSAGE < after:
        raise UnprovedError(
            f"the second file holds {after} bytes in one message, and runtimes load at most {LARGEST_MESSAGE}"
        )


def conclusion(
    table: TermTable, outputs: Sequence[tuple[str, ProofValue, ProofValue]], assumes: Sequence[str]
) -> Proof:
    """Return the proof, after both files were read into `table`: proved, or not proved with the first reason.

    It is proved if every operator of the second file is one of the first, each output is the same value in both files,
    and the second file has no objection. Nor may only the second file need that sizes fit, or that a size is not
    negative. `outputs` contains the name of each output and its value in each file.
    """
    if table.unmatched:
        theirs = table.unmatched[0]
        reason = f"{theirs.description} of the second file has no match in the first"
        ours = _counterpart(table, theirs)
        before, number = (None, None) if ours is None else (ours.description, ours.number)
        return Proof("not proved", reason, before, theirs.description, (number, theirs.number))
    for name, one, two in outputs:
        if one != two:
            return Proof(
                "not proved", f"the output {name!r} {_otherwise(one, two)}", printed_value(one), printed_value(two)
            )
    unmatched = table.unmatched_check()
    if unmatched is not None:
        return Proof("not proved", f"only the second file needs sizes to fit: {unmatched}")
    needed = table.arithmetic.newly_needed
    if needed is not None:
        return Proof("not proved", f"only the second file fails where a size is negative: {needed!r}")
    if table.objections:
        return Proof("not proved", table.objections[0])
    return Proof("proved", assumes=tuple(assumes), notes=tuple(table.notes))


def _otherwise(one: ProofValue, two: ProofValue) -> str:
    """Return how the output of the second file differs from that of the first, as a phrase."""
    if one.core is not two.core:
        return f"is another value: {producer_phrase(one)} before, {producer_phrase(two)} after"
    return f"is {producer_phrase(one)} before and after, in another shape or along other axes"


def _counterpart(table: TermTable, theirs: Core) -> Core | None:
    """Return the core of the first file that most likely corresponds to a core that only the second file has.

    Candidates are the first file's cores that the second file lacks, preferably of the same operator. The one that
    shares the most operands is returned; None without candidates.
    """
    unmatched = set(table.unmatched)
    missing = [core for core in table.cores.values() if core.counted and not core.matched and core not in unmatched]
    alike = [core for core in missing if _kind(core) == _kind(theirs)]
    read = set(_read(theirs.key))
    return max(alike or missing, key=lambda core: len(read & set(_read(core.key))), default=None)


def _read(key: tuple[object, ...]) -> Iterator[Core]:
    """Yield every core that a term contains directly, as an operand or inside a nested part of its key."""
    for part in key:
        if isinstance(part, Core):
            yield part
        elif isinstance(part, LoopNest):
            yield from _read(part.operator)
        elif isinstance(part, tuple):
            yield from _read(part)


def _kind(core: Core) -> object:
    """Return the operator of a term, to compare it with the operators of other terms."""
    operator = core.key[1]
    if isinstance(operator, LoopNest):
        operator = operator.operator
    while isinstance(operator, tuple) and operator and isinstance(operator[0], tuple):
        operator = operator[0]
    return operator[:2] if isinstance(operator, tuple) else core.key[1:3]
