"""Read the bodies of If, Loop and Scan as terms. The state of a loop keeps the shape that the body returns."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from onnx import TensorProto

from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.onnx.closed_world.loop_results import (
    enter_uncopied,
    inference_basis,
    mark_stacks,
    mark_uninferred,
    undeclared,
)
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.reading.types import dtype, set_type, type_of
from graphfix.checker.proof.onnx.reading.unrolled_loops import as_trips

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from onnx import GraphProto, ValueInfoProto

    from graphfix.checker.proof.core.sizes import Size, Sizes
    from graphfix.checker.proof.core.terms import TermTable, View
    from graphfix.checker.proof.onnx.reading.operands import Call, Environment
    from graphfix.checker.proof.onnx.reading.unrolled_loops import Reader

Guess: TypeAlias = "tuple[Size | None, ...] | None"


def _taken(call: Call) -> str | None:
    """Return the branch that an If of a constant condition takes; None if unknown, or if the If does not load."""
    condition = constant_folding.literal(call.operand(0))
    if condition is None or condition.size != 1 or not loads(call):
        return None
    return "then_branch" if condition.all() else "else_branch"


def _if(reader: Reader, call: Call, environment: Environment) -> list[View]:
    """Return the results of an If; if its condition is known they are those of the branch that it takes."""
    taken = _taken(call)
    branches = []
    for name in ("then_branch", "else_branch"):
        given = call.attributes.get(name)
        place = None if taken == name else ("if", call.operand(0), name)
        effects, occurrences = len(reader.effects), dict(reader.occurrences)
        branches.append(
            reader.body(given.g, environment, (), place, f"{call.label}.{name}") if given is not None else ()
        )
        if taken == name:
            chosen = branches[-1]
        elif taken is not None:  # it never runs: what it would do does not count
            del reader.effects[effects:]
            reader.occurrences = occurrences
    _check_branches(reader.table, call, branches)
    if taken is not None:
        return list(chosen)
    key = ("if", *call.full, tuple(call.views), *branches)
    results = []
    for index in range(len(call.outputs)):
        pair = [branch[index].sizes for branch in branches if index < len(branch)]
        results.append(reader.table.result((*key, index), call.description, _joined(pair)))
        one = next((branch[index] for branch in branches if index < len(branch)), None)
        set_type(results[-1].core, type_of(one))
    return results


def _check_branches(table: TermTable, call: Call, branches: Sequence[Sequence[View]]) -> None:
    """Raise UnprovedError unless both branches of the second file return as many values as the node, of equal types."""
    if not table.closed:
        return
    for branch in branches:
        _check_count(call, len(branch))
    for one, two in zip(*branches, strict=True):
        kinds = dtype(one.core), dtype(two.core)
        if None not in kinds and kinds[0] != kinds[1]:
            raise UnprovedError(f"the branches of {call.description} of the second file return different types")


def _check_count(call: Call, count: int) -> None:
    """Raise UnprovedError unless the node names every value that its body returns: runtimes load no other node."""
    given = call.signature_memo.signature.results
    named = given if isinstance(given, int) else len(given)
    if named != count:
        raise UnprovedError(f"{call.description} of the second file has {named} results, and its body returns {count}")


def _body(call: Call) -> GraphProto:
    if "body" not in call.attributes:
        raise UnprovedError(f"{call.description} has no body; check the model")
    return call.attributes["body"].g


def _joined(pair: Sequence[Sizes | None]) -> Guess:
    """Return the sizes that both branches have, and None for the others."""
    one, two = pair if len(pair) == 2 else (None, None)  # noqa: PLR2004 - the two branches
    if one is None or two is None or len(one) != len(two):
        return None
    return tuple(a if a == b else None for a, b in zip(one, two, strict=True))


def _repeated(reader: Reader, call: Call, environment: Environment) -> list[View]:
    """Read a Loop or Scan. If its trip count is known, and the second file may write the trips out, read them too."""
    whole = _scan if call.op == "Scan" else _loop
    if not reader.unrolled:
        return whole(reader, call, environment)
    effects, occurrences = len(reader.effects), dict(reader.occurrences)
    results = whole(reader, call, environment)
    kept, after = reader.effects[effects:], reader.occurrences
    del reader.effects[effects:]
    reader.occurrences = occurrences
    trips = as_trips(reader, call, environment)
    if trips is None:
        reader.effects += kept
        reader.occurrences = after
    return results if trips is None else trips


def _loop(reader: Reader, call: Call, environment: Environment) -> list[View]:
    """Return the results of a Loop.

    The number of the iteration and the condition enter the body before the states; a condition leaves it.
    """
    owner = ("loop", *call.full, tuple(call.views))
    states = [None if view is None else view.sizes for view in call.views[2:]]
    place = owner, reader.occurrence(owner)
    ahead = [_scalar(value) for value in _body(call).input[:2]]
    types = [TensorProto.INT64, TensorProto.BOOL, *map(type_of, call.views[2:])]
    kept, given = _settled(reader, call, environment, place, types, ([*ahead, *states], slice(2, None), 1))
    key, outside = (*owner, place[1], kept, given), _sizes_outside(states) if _surely_runs(call) else None
    return _looped(reader, call, key, kept[2:], given[1:], _body(call).output[1:], outside=outside)


def _surely_runs(call: Call) -> bool:
    """Return whether a Loop has an iteration: their number is at least 1, and the condition is true or absent."""
    count, condition = call.content(0), call.operand(1)
    if count is None or len(count) != 1 or not _is_positive(call.table, count[0]):
        return False
    truth = constant_folding.literal(condition)
    return condition is None or (truth is not None and truth.size == 1 and bool(truth.all()))


def _is_positive(table: TermTable, size: Size) -> bool:
    """Return whether a number is at least 1: it is known, or it is a size whose range the user stated."""
    if isinstance(size, int):
        return size >= 1
    return size in table.algebra.ranges and table.algebra.asked_range(size)[0] >= 1


def _sizes_outside(shapes: Sequence[Sizes | None]) -> frozenset[Size]:
    """Return the sizes of values that enter a loop: these sizes are the same in each iteration."""
    return frozenset(size for sizes in shapes for size in sizes or ())


def _scalar(value: ValueInfoProto) -> Sizes | None:
    """Return the shape of a number that the runtime makes: onnxruntime adds axes if the body declares them."""
    return None if value.type.tensor_type.shape.dim else ()


def _settled(
    reader: Reader,
    call: Call,
    environment: Environment,
    place: tuple[object, ...],
    types: Sequence[int | bytes | None],
    values: tuple[Sequence[Sizes | None], slice, int],
) -> tuple[tuple[Guess, ...], tuple[View, ...]]:
    """Read a body; return the shapes of its inputs that hold in each iteration, and the values that it returns.

    `types` are those of the inputs. `values` holds the shapes of the inputs at first, which of them are states, and how
    many results precede the states' results. A state is assumed to keep its shape. If the body returns another shape,
    the differing sizes become unknown, and the body is read again.
    """
    shapes, states, ahead = values
    before, noted = len(reader.effects), len(reader.notes.taken) if reader.notes is not None else 0
    guesses: list[Guess] = list(shapes)
    while True:
        del reader.effects[before:]
        if reader.notes is not None:
            reader.notes.forget(noted)
        occurrences, kept = dict(reader.occurrences), tuple(guesses)
        parameters = [reader.parameter(place, index, guess) for index, guess in enumerate(guesses)]
        for parameter, kind, declared in zip(parameters, types, _body(call).input, strict=False):
            set_type(parameter.core, kind)
            if call.op == "Loop":  # its states may change their shape, so runtimes do not infer one from the operands
                mark_uninferred(parameter.core, undeclared(declared, len(parameter.sizes or ())))
        given = reader.body(_body(call), environment, parameters, place, f"{call.label}.body")
        for index, view in zip(range(len(guesses))[states], given[ahead:], strict=False):
            guesses[index] = _widened(guesses[index], parameters[index], view)
        if tuple(guesses) == kept:
            return kept, given
        reader.occurrences = occurrences


def _widened(guess: Guess, parameter: View, given: View) -> Guess:
    """Return a guess without the sizes that the body does not return; None if the body returns another rank."""
    if guess is None or parameter.sizes is None or given.sizes is None or len(given.sizes) != len(guess):
        return None
    return tuple(
        size if enters == leaves else None
        for size, enters, leaves in zip(guess, parameter.sizes, given.sizes, strict=True)
    )


def _looped(
    reader: Reader,
    call: Call,
    key: tuple[object, ...],
    states: Sequence[Guess],
    given: Sequence[View],
    outputs: Sequence[ValueInfoProto],
    turns: Guess = (None,),
    outside: frozenset[Size] | None = None,
) -> list[View]:
    """Return the results of a loop: the states after the last iteration, then the values of all iterations, stacked.

    `turns` holds the number of iterations, which is the axis in front; None if the results are not stacked in front.
    `outside` holds the sizes that are the same in each iteration; None if there may be no iteration.
    """
    body, scans = _body(call), call.op == "Scan"
    enter_uncopied(reader.constants.world, key, body, call.description)
    if reader.table.closed:
        _check_count(call, len(given))
        if len(given) < len(states):
            raise UnprovedError(f"{call.description} of the second file has a body that does not return its states")
    results: list[View] = []
    for index in range(len(call.outputs)):
        inside, is_state = given[index] if index < len(given) else None, index < len(states)
        asked = None if is_state and not scans else inside
        known = None if asked is None else inference_basis(call, body, outputs[index], asked.sizes, reader.functions)
        stacked = None if is_state or inside is None else _stacked(outputs[index], inside.sizes, turns, outside)
        sizes = states[index] if is_state else stacked
        results.append(reader.table.result((*key, index, known), call.description, sizes))
        set_type(results[-1].core, type_of(inside))
    if not scans:
        mark_stacks(outputs[len(states) :], given[len(states) :], results[len(states) :])
    return results


def _stacked(output: ValueInfoProto, sizes: Sizes | None, turns: Guess, outside: frozenset[Size] | None) -> Guess:
    """Return the shape of stacked values. If there may be no iteration, only sizes that the body declares are known."""
    if sizes is None or turns is None:
        return None
    if outside is not None:
        return (*turns, *(size if isinstance(size, int) or size in outside else None for size in sizes))
    dims = output.type.tensor_type.shape.dim
    declared = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
    return (*turns, *(own if own == size else None for own, size in zip_longest(declared[: len(sizes)], sizes)))


def _scan(reader: Reader, call: Call, environment: Environment) -> list[View]:
    """Return the results of a Scan; the scanned values enter the body without the scanned axis."""
    skipped = 0 if call.since > 8 else 1  # noqa: PLR2004 - until then operand 0 holds lengths, and a batch is in front
    count = len(call.views) - skipped - call.integer("num_scan_inputs", 0)
    owner = ("scan", *call.full, tuple(call.views))
    shapes: list[Sizes | None] = []
    for index, view in enumerate(call.views[skipped:]):
        sizes = None if view is None or skipped else view.sizes
        shapes.append(_sliced(sizes, call, index - count) if index >= count and sizes is not None else sizes)
    place = owner, reader.occurrence(owner)
    types = list(map(type_of, call.views[skipped:]))
    kept, given = _settled(reader, call, environment, place, types, (shapes, slice(max(count, 0)), 0))
    axes = call.integers("scan_output_axes") or ()
    key = (*owner, place[1], kept, given)
    first = call.views[count] if not skipped and 0 <= count < len(call.views) else None
    scanned = None if first is None else first.sizes
    at = next(iter(call.integers("scan_input_axes") or ()), 0)
    turns = scanned[at] if scanned is not None and -len(scanned) <= at < len(scanned) else None
    front = None if any(axes) or skipped else (turns,)
    outside = _sizes_outside(shapes) if turns is not None and _is_positive(call.table, turns) else None
    return _looped(reader, call, key, kept[:count], given, _body(call).output, front, outside)


def _sliced(sizes: Sizes, call: Call, index: int) -> Sizes | None:
    axes = call.integers("scan_input_axes") or ()
    axis = axes[index] if index < len(axes) else 0
    if not -len(sizes) <= axis < len(sizes):
        return None
    axis %= len(sizes)
    return (*sizes[:axis], *sizes[axis + 1 :])


FLOW: Mapping[str, Callable[[Reader, Call, Environment], list[View]]] = {
    "If": _if,
    "Loop": _repeated,
    "Scan": _repeated,
}
