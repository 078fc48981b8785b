"""Run a model on inputs of another interface: drop inputs that it lacks, and convert integers to int32 or int64."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from graphfix.checker.runs.inputs.input_limits import Limits, meet
from graphfix.runtimes.session import RefusedError, SessionBy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from graphfix.checker.runs.inputs.interface import Interface
    from graphfix.runtimes.session import Session

WIDE, NARROW = np.dtype(np.int64), np.dtype(np.int32)


def _recast(session: Session, dtypes: Mapping[str, np.dtype[Any]]) -> Session:
    """Return a session that converts inputs to the types `dtypes`.

    It refuses a run if a value does not fit its type.
    """

    def cast(name: str, value: object) -> object:
        if name not in dtypes:
            return value
        given = np.asarray(value)
        found = given.astype(dtypes[name])
        if not np.array_equal(found, given):
            why = f"the input '{name}' holds a number that {dtypes[name]} can't: leave --narrow-inputs out"
            raise RefusedError(why)
        return found

    return SessionBy(
        session.outputs, lambda feeds: session.run({name: cast(name, value) for name, value in feeds.items()})
    )


def int64_inputs(interface: Interface) -> frozenset[str]:
    """Return the names of the inputs that are tensors of int64."""
    return frozenset(spec.name for spec in interface.inputs if spec.dtype == WIDE and spec.kind == "tensor")


def narrowed(before: Interface, after: Interface) -> frozenset[str]:
    """Return the names of the inputs that are int64 in the first model and int32 in the second."""
    wide = int64_inputs(before)
    return frozenset(spec.name for spec in after.inputs if spec.dtype == NARROW and spec.name in wide)


def widened(interface: Interface, names: Collection[str]) -> Interface:
    """Return the interface with the inputs `names` changed to int64."""
    specs = tuple(replace(spec, dtype=WIDE) if spec.name in names else spec for spec in interface.inputs)
    return replace(interface, inputs=specs)


def fed_with_int64(opener: Callable[..., Session], names: Collection[str]) -> Callable[..., Session]:
    """Return an opener of a model whose inputs `names` are int32. Its sessions accept int64 for them."""
    if not names:
        return opener
    return lambda *given, **options: _recast(opener(*given, **options), dict.fromkeys(names, NARROW))


def without_inputs(opener: Callable[..., Session], names: Collection[str]) -> Callable[..., Session]:
    """Return an opener of a model that lacks the inputs `names`. Its sessions drop the values of these inputs."""
    if not names:
        return opener

    def opened(*given: object, **options: object) -> Session:
        session = opener(*given, **options)
        return SessionBy(
            session.outputs, lambda feeds: session.run({key: feeds[key] for key in feeds if key not in names})
        )

    return opened


def fed_as(session: Session, taken: Interface, fed: Interface) -> Session:
    """Return a session that accepts inputs with the types of the interface `fed` and converts them to those of `taken`.

    `taken` is the interface of the model that `session` runs.
    """
    given = {spec.name: spec.dtype for spec in fed.inputs}
    other = {
        spec.name: spec.dtype for spec in taken.inputs if spec.dtype is not None and spec.dtype != given[spec.name]
    }
    return _recast(session, other) if other else session


def within_int32(limits: Limits, names: Collection[str]) -> Limits:
    """Return the limits with the values of the inputs `names` restricted to the range of int32."""
    bounds = int(np.iinfo(NARROW).min), int(np.iinfo(NARROW).max)
    intervals = {name: meet(bounds, given) if name in names else given for name, given in limits.intervals.items()}
    compared = {
        name: tuple(each for each in given if name not in names or bounds[0] <= each <= bounds[1])
        for name, given in limits.compared.items()
    }
    return replace(limits, intervals=intervals, compared=compared)
