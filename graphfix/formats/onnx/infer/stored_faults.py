"""Find the stored shapes that are wrong, and the shapes to store instead.

A stored shape is wrong in three cases: the rules compute another rank or another number; a number is stored, but the
computed size varies with the inputs; or a stored name of a size is refuted (`stored_names`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal, TypeAlias

from graphfix.formats.onnx.file.messages import Dims
from graphfix.formats.onnx.infer.scope import GraphScope, Restated
from graphfix.formats.onnx.infer.stored_names import Hypotheses
from graphfix.shapes.dim import Shape, Size

Pair: TypeAlias = tuple[tuple[Size, ...], Dims]
"""The computed sizes and the stored ones."""
Fault: TypeAlias = Literal["another", "varies", "name"]
"""How a stored size is wrong: another number, the number of some input sizes alone, or a refuted name."""


def compare_stored(scopes: Sequence[GraphScope], hypotheses: Hypotheses) -> None:
    """Record the stored shapes that are wrong (`GraphScope.misstated`, `GraphScope.stale`).

    The shape of a constant is that of its tensor. onnxruntime ignores a shape that is stored beside it.
    """
    wrong: dict[Pair, bool] = {}  # a model has few distinct shapes
    for _, _, pair in _compared(scopes):
        wrong[pair] = False
    for computed, stored in wrong:
        hypotheses.enter_labels(computed, stored)
    for pair in wrong:
        wrong[pair] = _is_wrong(*pair, hypotheses)
    if not any(wrong.values()):
        return
    for scope, name, pair in [each for each in _compared(scopes) if wrong[each[2]]]:
        _note(scope, name, pair[1], hypotheses)
    for scope in scopes:
        if scope.misstated:
            _forget_constants(scope)


def _compared(scopes: Sequence[GraphScope]) -> Iterator[tuple[GraphScope, str, Pair]]:
    """Yield each stored shape of a value of known rank: its scope, the value, and the computed and stored sizes."""
    for scope in scopes:
        for name, stored in chain(scope.claims.items(), scope.other_claims):
            shape = scope.own_shape(name)
            if shape is not None and shape.axes is not None:
                yield scope, name, (shape.axes, stored)


def _forget_constants(scope: GraphScope) -> None:
    rows = zip(scope.steps.operators, scope.steps.outputs, strict=True)
    names = [name for operator, outputs in rows if operator == ("", "Constant") for name in outputs]
    names += [tensor.name for tensor in scope.graph.initializer] if scope.graph is not None else []
    for name in names:
        scope.stale.pop(name, None)
        scope.misstated.pop(name, None)


def _is_wrong(computed: Sequence[Size], stored: Dims, hypotheses: Hypotheses) -> bool:
    pairs = zip(computed, stored, strict=False)
    return len(computed) != len(stored) or any(_fault(*pair, hypotheses) is not None for pair in pairs)


def _fault(computed: Size, stored: int | str | None, hypotheses: Hypotheses, *, leans: bool = False) -> Fault | None:
    if not isinstance(stored, int):
        return "name" if stored is not None and hypotheses.is_refuted(computed, stored) else None
    if isinstance(computed, int):
        return "another" if computed != stored else None
    return "varies" if not leans and hypotheses.varies(computed, stored) else None


def _note(scope: GraphScope, name: str, stored: Dims, hypotheses: Hypotheses) -> None:
    """Record the fault of a stored shape."""
    shape, leans = scope.shape(name), name in scope.leaning
    text = f"the stored shape [{','.join('?' if size is None else str(size) for size in stored)}] of '{name}'"
    if len(stored) != shape.rank:
        faults: list[Fault | None] = ["another"]
    else:
        faults = [_fault(*pair, hypotheses, leans=leans) for pair in zip(shape.dims, stored, strict=True)]
    if "another" in faults:
        scope.stale[name] = why = f"{text} contradicts the computed {shape}"
    elif "varies" in faults:
        why = f"{text} is that of some sizes of the inputs alone: the computed one is {shape}"
    elif "name" in faults:
        axis = faults.index("name")
        have = hypotheses.terms.text(shape.dims[axis])
        why = f"the stored size '{stored[axis]}' of '{name}'[{axis}] contradicts the computed {have}"
    else:
        return  # what it is computed from is stored as well, and one of the two is wrong
    scope.misstated[name] = Restated(why, _restated(shape, stored, faults, leans=leans))


def _restated(shape: Shape, stored: Dims, faults: Sequence[Fault | None], *, leans: bool) -> Dims | None:
    """Return the dims to store; None to store no shape, if the rank follows only from other stored shapes.

    A number beside a wrong size is dropped too, unless a rule computes it.
    """
    given = shape.json or ()
    if len(given) != len(stored):
        return None if leans else given
    return tuple(
        (None if leans else size) if fault or (isinstance(said, int) and said != size) else said
        for size, said, fault in zip(given, stored, faults, strict=True)
    )
