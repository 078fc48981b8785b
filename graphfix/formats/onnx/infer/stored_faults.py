"""Find the stored shapes that are wrong, and what is to be stored instead.

A stored shape is wrong where the rules give another rank or another number; where they give a size that varies with the
inputs, and a number is stored; and where a stored name of a size is refuted (`stored_names`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TypeAlias

from graphfix.formats.onnx.file.messages import Dims
from graphfix.formats.onnx.infer.scope import GraphScope, Restated
from graphfix.formats.onnx.infer.stored_names import Hypotheses
from graphfix.shapes.shape import Shape, Size

Asked: TypeAlias = tuple[tuple[Size, ...], Dims, bool]
"""The computed sizes, the stored ones, and whether the computed ones lean on a stored shape."""


def compare_stored(scopes: Sequence[GraphScope], main: GraphScope, hypotheses: Hypotheses) -> None:
    """Note the stored shapes that are wrong (`GraphScope.misstated`, `GraphScope.stale`).

    Of a constant its tensor says the shape: onnxruntime does not read what is stored beside it.
    """
    known: dict[Asked, bool] = {}  # a model has few distinct shapes
    for scope in scopes:
        for name, claim in chain(scope.claims.items(), scope.other_claims):
            shape = scope.own_shape(name)
            if shape is None or shape.axes is None:
                continue
            asked = shape.axes, claim, name in scope.leaning
            if asked not in known:
                known[asked] = _is_wrong(*asked, hypotheses)
            if known[asked]:
                _note(scope, name, claim, shape, hypotheses, names=scope is main)
        if scope.misstated and scope.graph is not None:
            for name in (*(tensor.name for tensor in scope.graph.initializer), *_of_constant_nodes(scope)):
                scope.stale.pop(name, None)
                scope.misstated.pop(name, None)


def _of_constant_nodes(scope: GraphScope) -> Iterator[str]:
    for operator, outputs in zip(scope.steps.operators, scope.steps.outputs, strict=True):
        if operator == ("", "Constant"):
            yield from outputs


def _is_wrong(computed: Sequence[Size], stored: Dims, leans: bool, hypotheses: Hypotheses) -> bool:
    return (
        _contradicts(computed, stored)
        or (not leans and any(map(hypotheses.varies, computed, stored)))
        or any(map(hypotheses.is_refuted, computed, stored))
    )


def _note(scope: GraphScope, name: str, stored: Dims, shape: Shape, hypotheses: Hypotheses, *, names: bool) -> None:
    """Note what is wrong with a stored shape. Names of sizes count in the main graph alone."""
    computed, leans = shape.dims, name in scope.leaning
    text = f"the stored shape [{','.join('?' if size is None else str(size) for size in stored)}] of '{name}'"
    refuted = [axis for axis, pair in enumerate(zip(computed, stored, strict=False)) if hypotheses.is_refuted(*pair)]
    if _contradicts(computed, stored):
        scope.stale[name] = why = f"{text} contradicts the computed {shape}"
    elif not leans and any(map(hypotheses.varies, computed, stored)):
        why = f"{text} is that of some sizes of the inputs alone: the computed one is {shape}"
    elif refuted and names:
        have = hypotheses.terms.text(computed[refuted[0]])
        why = f"the stored size '{stored[refuted[0]]}' of '{name}'[{refuted[0]}] contradicts the computed {have}"
    else:
        return
    scope.misstated[name] = Restated(why, _restated(shape, stored, hypotheses, leans=leans))


def _contradicts(computed: Sequence[Size], stored: Dims) -> bool:
    """Return whether a stored shape can't be that of the value: another rank, or a number that a size can't be."""
    return len(computed) != len(stored) or any(map(_is_another, computed, stored))


def _is_another(computed: Size, stored: int | str | None) -> bool:
    return isinstance(stored, int) and isinstance(computed, int) and computed != stored


def _restated(shape: Shape, stored: Dims, hypotheses: Hypotheses, *, leans: bool) -> Dims | None:
    """Return the dims to store; None for no shape: the rank only follows from other stored shapes."""
    computed, given = shape.dims, shape.json or ()
    if len(computed) != len(stored):
        return None if leans else given
    dims: list[int | str | None] = []
    for have, size, said in zip(computed, given, stored, strict=True):
        if isinstance(said, int) and said != have:
            dims.append(None if leans else size)
        else:
            dims.append(size if hypotheses.is_refuted(have, said) else said)
    return tuple(dims)
