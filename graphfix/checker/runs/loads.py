"""Observe whether the second file loads wherever the first file loads.

A runtime infers shapes, plans buffers and folds constants when it loads a file. The proof does not model these steps,
so a load is observed like a run. Loads that the runs make are recorded here, too, and not repeated.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.results import Load, Verdict
from graphfix.results.progress import Progress
from graphfix.results.records import dataclass, field
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from graphfix.runtimes.sessions import OnnxSession

    Ways: TypeAlias = Mapping[str, tuple[Callable[[], object], Callable[[], object]]]

PLAIN = "onnxruntime without optimizations"
OPTIMIZED = "onnxruntime with optimizations"
NOT_LOADED = "the first file does not load"
"""The reason why the load of the second file decides nothing."""


@dataclass(frozen=True, slots=True)
class Loads:
    """The observed loads of two files."""

    progress: Progress = field(repr=False)
    _refusals: dict[tuple[str, int], RefusedError | None] = field(default_factory=dict)
    """(way to load, file 0 or 1) -> the refusal by the runtime; None if the file loaded."""

    def watched(self, side: int, load: Callable[..., OnnxSession]) -> Callable[..., OnnxSession]:
        """Return the function `load` (for file 0 or 1, in onnxruntime) with its outcomes recorded.

        A load with additional outputs is not recorded, because the runtime loads a changed copy of the file.
        """

        def opened(*, optimized: bool = False, **options: object) -> OnnxSession:
            key = OPTIMIZED if optimized else PLAIN, side
            is_copy = any(options.values())
            try:
                session = load(optimized=optimized, **options)
            except RefusedError as error:
                if not is_copy:
                    self._refusals[key] = error
                raise
            if not is_copy:
                self._refusals[key] = None
            return session

        return opened

    def record_loaded(self, way: str) -> None:
        """Record that a run has shown that the second file loads in this way."""
        self._refusals[way, 1] = None

    def judge(self, verdict: Verdict, ways: Ways, left_out: Mapping[str, str]) -> Verdict:
        """Return the verdict with the loads: "different" if the first file loads in some way but the second does not.

        `ways` maps each way to load a file to two functions that open the first and the second file. A file is opened
        only if its outcome is not recorded, and the first file only if the second was refused. `left_out` maps the ways
        that are not tried to the reason. If a limit stopped the load of the second file, that load decides nothing.
        """
        observed: list[str] = []
        reasons = dict(left_out)
        for way, openers in ways.items():
            error = self._refusal(way, openers)
            if error is None:
                observed.append(way)
            elif self._outcome(way, 0, openers[0]) is not None:
                reasons[way] = NOT_LOADED
            elif error.stopped:
                reasons[way] = str(error)
            else:
                failure = f"the second file does not load in {way}, the first does: {error}"
                return _failed(verdict, Load(tuple(observed), reason=_joined(reasons), failure=failure))
        return replace(verdict, load=Load(tuple(observed), reason=_joined(reasons)))

    def _refusal(self, way: str, openers: tuple[Callable[[], object], Callable[[], object]]) -> RefusedError | None:
        """Return why the second file is refused, or why the first was, if that is recorded.

        None if the second file loads.
        """
        return self._refusals.get((way, 0)) or self._outcome(way, 1, openers[1])

    def _outcome(self, way: str, side: int, opener: Callable[[], object]) -> RefusedError | None:
        """Return why a file is refused in a way to load; None if it loads.

        Load it only if its outcome is not recorded.
        """
        if (way, side) not in self._refusals:
            self.progress(f"loading the {'second' if side else 'first'} model in {way}")
            try:
                opener()
            except RefusedError as error:
                self._refusals[way, side] = error
            else:
                self._refusals[way, side] = None
        return self._refusals[way, side]


def without_runs(load: Load | None) -> str:
    """Return the reason of a verdict for which files were loaded but not run."""
    load = load or Load()
    if load.failure is not None:
        return load.failure
    if load.observed:
        return f"nothing was run; the second file loads in {', '.join(load.observed)}"
    return f"nothing was run, and the load was not observed: {load.reason}"


def _failed(verdict: Verdict, load: Load) -> Verdict:
    """Return the verdict as "different" because of a failed load. If it is "different" already, its reason is kept."""
    if verdict.status == "different":
        return replace(verdict, load=load)  # a run shows more: the values or the runtime's message
    return replace(verdict, status="different", reason=load.failure, load=load)


def _joined(reasons: Mapping[str, str]) -> str | None:
    """Return `in LiteRT with XNNPACK: why`, with the ways that have one reason grouped; None without a reason."""
    ways: dict[str, list[str]] = {}
    for way, reason in reasons.items():
        ways.setdefault(reason, []).append(way)
    return "; ".join(f"in {', '.join(way_names)}: {reason}" for reason, way_names in ways.items()) or None
