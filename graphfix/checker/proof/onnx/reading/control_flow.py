"""Read the bodies of If, Loop and Scan as terms. A loop's state is assumed to keep its shape until the body changes it.

`Reading` in reader.py calls these rules through `FLOW`.
"""

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
    from graphfix.checker.proof.core.terms import ProofValue, TermTable
    from graphfix.checker.proof.onnx.reading.operands import Call, Environment
    from graphfix.checker.proof.onnx.reading.unrolled_loops import Reader

Guess: TypeAlias = "tuple[Size | None, ...] | None"


def _constant_branch(call: Call) -> str | None:
    """Return the attribute of the branch that an If with a constant condition runs: `then_branch` or `else_branch`.

    Return None if the condition is not a constant of one element, or if no runtime loads the node.
    """
    condition = constant_folding.constant_array(call.operand(0))
    if condition is None or condition.size != 1 or not loads(call):
        return None
    return "then_branch" if condition.all() else "else_branch"


def _if(reader: Reader, call: Call, environment: Environment) -> list[ProofValue]:
    """Return the results of an If. If its condition is constant, they are the results of the branch that runs.

    Otherwise each result is a term of the condition and of everything that both branches return.
    """
    taken = _constant_branch(call)
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
        elif taken is not None:  # This branch never runs, so its stateful operators are not counted.
            del reader.effects[effects:]
            reader.occurrences = occurrences
    _check_branches(reader.table, call, branches)
    if taken is not None:
        return list(chosen)
    key = ("if", *call.exact_key, tuple(call.views), *branches)
    results = []
    for index in range(len(call.result_names)):
        pair = [branch[index].sizes for branch in branches if index < len(branch)]
        results.append(reader.table.result((*key, index), call.description, _common_sizes(pair)))
        one = next((branch[index] for branch in branches if index < len(branch)), None)
        set_type(results[-1].core, type_of(one))
    return results


def _check_branches(table: TermTable, call: Call, branches: Sequence[Sequence[ProofValue]]) -> None:
    """Raise UnprovedError if the branches of an If of the second file do not fit the node or each other.

    Each branch must return as many values as the node has results. Types that are known in both branches must be equal.
    The first file is not checked.
    """
    if not table.closed:
        return
    for branch in branches:
        _check_count(call, len(branch))
    for one, two in zip(*branches, strict=True):
        kinds = dtype(one.core), dtype(two.core)
        if None not in kinds and kinds[0] != kinds[1]:
            raise UnprovedError(f"the branches of {call.description} of the second file return different types")


def _check_count(call: Call, count: int) -> None:
    """Raise UnprovedError if the node has another number of results than its body returns values.

    Results without a name count. Runtimes do not load such a node. `count` is the number of values that the body
    returns.
    """
    given = call.signature_memo.signature.results
    is_present = given if isinstance(given, int) else len(given)
    if is_present != count:
        raise UnprovedError(
            f"{call.description} of the second file has {is_present} results, and its body returns {count}"
        )


def _body(call: Call) -> GraphProto:
    """Return the body of a Loop or Scan. Raises UnprovedError if the node has none."""
    if "body" not in call.attributes:
        raise UnprovedError(f"{call.description} has no body; check the model")
    return call.attributes["body"].g


def _common_sizes(pair: Sequence[Sizes | None]) -> Guess:
    """Return the shape of a result of an If: the sizes that are equal in both branches, and None for each other size.

    `pair` contains the shapes that the two branches return. Return None if a rank is unknown or the ranks differ.
    """
    one, two = pair if len(pair) == 2 else (None, None)  # noqa: PLR2004 - the two branches
    if one is None or two is None or len(one) != len(two):
        return None
    return tuple(a if a == b else None for a, b in zip(one, two, strict=True))


def _repeated(reader: Reader, call: Call, environment: Environment) -> list[ProofValue]:
    """Return the results of a Loop or Scan, computed by the rules for loops, or trip by trip.

    Trips are read one by one if `reader.unrolled` is set and the trip count is constant. The second file may then
    contain the trips instead of the loop. The loop itself is read first in any case, so that its terms are in the table
    too. The stateful operators of only one reading are counted.
    """
    repeat = _scan if call.op == "Scan" else _loop
    if not reader.unrolled:
        return repeat(reader, call, environment)
    effects, occurrences = len(reader.effects), dict(reader.occurrences)
    results = repeat(reader, call, environment)
    kept, after = reader.effects[effects:], reader.occurrences
    del reader.effects[effects:]
    reader.occurrences = occurrences
    trips = as_trips(reader, call, environment)
    if trips is None:
        reader.effects += kept
        reader.occurrences = after
    return results if trips is None else trips


def _loop(reader: Reader, call: Call, environment: Environment) -> list[ProofValue]:
    """Return the results of a Loop, whose body is read once for all iterations.

    The body's inputs are the iteration number, the condition, and the states. The body returns a condition, the states,
    and the values that the Loop stacks.
    """
    owner = ("loop", *call.exact_key, tuple(call.views))
    states = [None if view is None else view.sizes for view in call.views[2:]]
    place = owner, reader.occurrence(owner)
    ahead = [_scalar(value) for value in _body(call).input[:2]]
    types = [TensorProto.INT64, TensorProto.BOOL, *map(type_of, call.views[2:])]
    kept, given = _read_until_stable(reader, call, environment, place, types, ([*ahead, *states], slice(2, None), 1))
    key, outside = (*owner, place[1], kept, given), _sizes_outside(states) if _surely_runs(call) else None
    return _loop_results(reader, call, key, kept[2:], given[1:], _body(call).output[1:], constant_sizes=outside)


def _surely_runs(call: Call) -> bool:
    """Return whether a Loop certainly has an iteration.

    Its trip count must be at least 1, and its condition true or absent. The result is False if one of them is not known
    before the run, or if the node has no trip count.
    """
    count, condition = call.content(0), call.operand(1)
    if count is None or len(count) != 1 or not _is_positive(call.table, count[0]):
        return False
    truth = constant_folding.constant_array(condition)
    return condition is None or (truth is not None and truth.size == 1 and bool(truth.all()))


def _is_positive(table: TermTable, size: Size) -> bool:
    """Return whether a size is certainly at least 1.

    It is a number of at least 1, or a size for which the user stated a range from 1 or above.
    """
    if isinstance(size, int):
        return size >= 1
    return size in table.algebra.ranges and table.algebra.asked_range(size)[0] >= 1


def _sizes_outside(shapes: Sequence[Sizes | None]) -> frozenset[Size]:
    """Return all sizes in the shapes of values that enter a loop. These sizes are the same in each iteration."""
    return frozenset(size for sizes in shapes for size in sizes or ())


def _scalar(value: ValueInfoProto) -> Sizes | None:
    """Return the shape of the iteration number or condition, which the runtime creates: () for a scalar.

    Return None (unknown rank) if the body declares axes for `value`, because onnxruntime then adds axes.
    """
    return None if value.type.tensor_type.shape.dim else ()


def _read_until_stable(
    reader: Reader,
    call: Call,
    environment: Environment,
    place: tuple[object, ...],
    types: Sequence[int | bytes | None],
    values: tuple[Sequence[Sizes | None], slice, int],
) -> tuple[tuple[Guess, ...], tuple[ProofValue, ...]]:
    """Read a body until the shapes of its states do not change; return the shapes of its inputs, and its outputs.

    The returned shapes are true in each iteration. `place` is the condition under which the body runs. `types` are the
    element types of the body's inputs. `values` has three parts: the shapes of the inputs before the first iteration,
    the slice of the inputs that are states, and how many outputs of the body precede the states.

    A state is first assumed to keep its shape. If the body returns another shape, each differing size becomes unknown
    (None), and the body is read again.
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
            # The states of a Loop may change their shape, so runtimes do not infer it from the node's operands.
            if call.op == "Loop":
                mark_uninferred(parameter.core, undeclared(declared, len(parameter.sizes or ())))
        given = reader.body(_body(call), environment, parameters, place, f"{call.label}.body")
        for index, view in zip(range(len(guesses))[states], given[ahead:], strict=False):
            guesses[index] = _widened(guesses[index], parameters[index], view)
        if tuple(guesses) == kept:
            return kept, given
        reader.occurrences = occurrences


def _widened(guess: Guess, parameter: ProofValue, given: ProofValue) -> Guess:
    """Return the assumed shape of a state with None for each size that the body changes.

    `guess` is the shape so far. `parameter` is the state as the body's input, and `given` is the state that the body
    returns. Return None if a rank is unknown or the body changes the rank.
    """
    if guess is None or parameter.sizes is None or given.sizes is None or len(given.sizes) != len(guess):
        return None
    return tuple(
        size if enters == leaves else None
        for size, enters, leaves in zip(guess, parameter.sizes, given.sizes, strict=True)
    )


def _loop_results(
    reader: Reader,
    call: Call,
    key: tuple[object, ...],
    states: Sequence[Guess],
    given: Sequence[ProofValue],
    outputs: Sequence[ValueInfoProto],
    trip_count: Guess = (None,),
    constant_sizes: frozenset[Size] | None = None,
) -> list[ProofValue]:
    """Return the results of a loop: the states after the last iteration, then the values of all iterations, stacked.

    `key` is the beginning of the results' terms. `states` are the shapes of the states. `given` and `outputs` are the
    values that the body returns and their declarations, both without a Loop's condition.

    `trip_count` contains the number of iterations, which becomes axis 0 of stacked values; the number is None if it is
    unknown. `trip_count` is None if values are not stacked along axis 0. `constant_sizes` contains the sizes that are
    the same in each iteration, or None if there may be no iteration.

    Raises UnprovedError if the body of the second file returns a number of values that does not fit the node.
    """
    body, scans = _body(call), call.op == "Scan"
    enter_uncopied(reader.constants.world, key, body, call.description)
    if reader.table.closed:
        _check_count(call, len(given))
        if len(given) < len(states):
            raise UnprovedError(f"{call.description} of the second file has a body that does not return its states")
    results: list[ProofValue] = []
    for index in range(len(call.result_names)):
        inside, is_state = given[index] if index < len(given) else None, index < len(states)
        asked = None if is_state and not scans else inside
        basis = None if asked is None else inference_basis(call, body, outputs[index], asked.sizes, reader.functions)
        stacked = (
            None if is_state or inside is None else _stacked(outputs[index], inside.sizes, trip_count, constant_sizes)
        )
        sizes = states[index] if is_state else stacked
        results.append(reader.table.result((*key, index, basis), call.description, sizes))
        set_type(results[-1].core, type_of(inside))
    if not scans:
        mark_stacks(outputs[len(states) :], given[len(states) :], results[len(states) :])
    return results


def _stacked(output: ValueInfoProto, sizes: Sizes | None, turns: Guess, outside: frozenset[Size] | None) -> Guess:
    """Return the shape of a loop's stacked values: the number of iterations, then the sizes of one value.

    `sizes` is the shape in one iteration. If `constant_sizes` is a set, a size is known if it is a number or in that
    set. If `constant_sizes` is None, there may be no iteration. Then only a number that the body declares, and that
    equals the computed size, is known. Each unknown size is None. Return None if the rank is unknown, or if the values
    are not stacked along axis 0 (`trip_count` is None).
    """
    if sizes is None or turns is None:
        return None
    if outside is not None:
        return (*turns, *(size if isinstance(size, int) or size in outside else None for size in sizes))
    dims = output.type.tensor_type.shape.dim
    declared = [dim.dim_value if dim.HasField("dim_value") else None for dim in dims]
    return (*turns, *(own if own == size else None for own, size in zip_longest(declared[: len(sizes)], sizes)))


def _scan(reader: Reader, call: Call, environment: Environment) -> list[ProofValue]:
    """Return the results of a Scan, whose body is read once for all iterations.

    The body's inputs are the states, then one part of each scanned value, without the scanned axis.
    """
    skipped = 0 if call.meaning_version > 8 else 1  # noqa: PLR2004 - a Scan 8 has lengths as operand 0, and a batch axis
    count = len(call.views) - skipped - call.integer("num_scan_inputs", 0)
    owner = ("scan", *call.exact_key, tuple(call.views))
    shapes: list[Sizes | None] = []
    for index, view in enumerate(call.views[skipped:]):
        sizes = None if view is None or skipped else view.sizes
        shapes.append(_sliced(sizes, call, index - count) if index >= count and sizes is not None else sizes)
    place = owner, reader.occurrence(owner)
    types = list(map(type_of, call.views[skipped:]))
    kept, given = _read_until_stable(reader, call, environment, place, types, (shapes, slice(max(count, 0)), 0))
    axes = call.integers("scan_output_axes") or ()
    key = (*owner, place[1], kept, given)
    first = call.views[count] if not skipped and 0 <= count < len(call.views) else None
    scanned = None if first is None else first.sizes
    at = next(iter(call.integers("scan_input_axes") or ()), 0)
    turns = scanned[at] if scanned is not None and -len(scanned) <= at < len(scanned) else None
    front = None if any(axes) or skipped else (turns,)
    outside = _sizes_outside(shapes) if turns is not None and _is_positive(call.table, turns) else None
    return _loop_results(reader, call, key, kept[:count], given, _body(call).output, front, outside)


def _sliced(sizes: Sizes, call: Call, index: int) -> Sizes | None:
    """Return the shape of one part of a scanned value: `sizes` without the scanned axis.

    `index` is the number of the value among the Scan's scanned operands. Return None if the axis is out of range.
    """
    axes = call.integers("scan_input_axes") or ()
    axis = axes[index] if index < len(axes) else 0
    if not -len(sizes) <= axis < len(sizes):
        return None
    axis %= len(sizes)
    return (*sizes[:axis], *sizes[axis + 1 :])


FLOW: Mapping[str, Callable[[Reader, Call, Environment], list[ProofValue]]] = {
    "If": _if,
    "Loop": _repeated,
    "Scan": _repeated,
}
