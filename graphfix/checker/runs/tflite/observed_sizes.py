"""Run a TFLite model so that a witness sees the sizes of values inside it: what LiteRT has allocated after a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.checker.runs.witness import WitnessedSession

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.checker.runs.witness import Sizes, Witness
    from graphfix.runtimes.session import Session
    from graphfix.runtimes.sessions import LitertSession


def observed(session: LitertSession, witness: Witness) -> Session:
    """Watch the runs of a session of subgraph 0. Raises RefusedError."""
    claimed, fed = witness.claims.values, {spec.index for spec in session.inputs}
    tensors = {name: at for at, name in enumerate(session.tensors()) if name in claimed and at not in fed}

    def observe(feeds: Mapping[str, object]) -> tuple[list[object], Mapping[str, Sizes]]:
        values, sizes = session.run_observed(feeds, tuple(tensors.values()))
        return values, dict(zip(tensors, sizes, strict=True))

    return WitnessedSession(session.outputs, session.run, observe, witness)
