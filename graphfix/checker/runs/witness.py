"""Compare the sizes that the original's values have in its runs with those that were claimed of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphfix.checker.files.onnx.stored_sizes import Numbers, computed
from graphfix.results.claims import Contradiction, Facts, StoredShape, Term
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from graphfix.results.claims import ClaimedShape, Claims

    Sizes = tuple[int, ...]
    Observe = Callable[[Mapping[str, object]], tuple[list[object], Mapping[str, Sizes]]]
    """Runs a model once: its outputs, and the sizes of values inside it."""
    Derive = Callable[[Mapping[str, Sizes]], Mapping[str, Sizes]]
    """Returns the sizes of further values, which follow in a run from those that are known."""


def _nothing(_: Mapping[str, Sizes]) -> Mapping[str, Sizes]:
    return {}


@dataclass(frozen=True, slots=True)
class WitnessedSession:
    """The original, each run of which a witness sees."""

    outputs: tuple[str, ...]
    plainly: Callable[[Mapping[str, object]], list[object]] = field(repr=False)
    """Runs it once, and observes nothing."""
    observe: Observe = field(repr=False)
    witness: Witness
    derive: Derive = field(default=_nothing, repr=False)

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run once; the second run of the same inputs shows nothing new. Raises RefusedError."""
        if feeds is self.witness.fed:
            return self.plainly(feeds)
        values, sizes = self.observe(feeds)
        self.witness.see(feeds, sizes, self.derive)
        return values


@dataclass(slots=True)
class Witness:
    """What the runs of the original have shown so far."""

    claims: Claims
    symbols: Sequence[tuple[str, str, int]] = ()
    """The symbols in which sizes are stored: (the symbol, an input, the axis that has it)."""
    runs: int = 0
    """How many were seen."""
    observed: set[str] = field(default_factory=set)
    contradictions: dict[str, Contradiction] = field(default_factory=dict)
    """By value: what was found first."""
    disbelieved: dict[str, Contradiction] = field(default_factory=dict)
    """The same, for stored sizes that are believed: what other claims follow from."""
    fed: Mapping[str, object] | None = None
    """The inputs of the run that was seen last."""
    last: tuple[Mapping[str, Sizes], Mapping[str, Sizes]] | None = None
    """What was fed in that run, and what came out."""

    def see(self, feeds: Mapping[str, object], sizes: Mapping[str, Sizes], derive: Derive = _nothing) -> None:
        """Take one run into account: what was fed, the sizes of values that came out, and what follows from them."""
        self.runs += 1
        self.fed = feeds
        fed = {name: value.shape for name, value in feeds.items() if isinstance(value, np.ndarray)}
        if any(0 in shape for shape in fed.values()):
            return  # kernels have their own ways with nothing: onnxruntime's ReduceMean over a negative axis keeps it
        if (fed, sizes) == self.last:
            return  # values are other ones, sizes are not
        self.last = fed, sizes
        all_values = {**fed, **sizes}
        derived = derive(all_values)
        self._compare_stored(fed, {**derived, **all_values})
        # of a model from which an operator was cut the operator's results are fed: nobody computed them
        inputs = {name: shape for name, shape in fed.items() if name in self.claims.inputs}
        run = _Run.under(self.claims.inputs, inputs)
        if run is None:
            return
        alike: dict[tuple[int, Sizes], list[str]] = {}  # big models have few distinct claims
        values = self.claims.values
        for name, have in (*inputs.items(), *sizes.items(), *derived.items()):
            if name in values:
                alike.setdefault((id(values[name]), have), []).append(name)
        # a broadcast is known where its parts are: what has one name everywhere comes first
        for (_, have), names in sorted(alike.items(), key=lambda each: _has_broadcast(values[each[1][0]])):
            self._compare(run, values[names[0]], have, names)

    def _compare_stored(self, fed: Mapping[str, Sizes], sizes: Mapping[str, Sizes]) -> None:
        """Compare the stored sizes that are believed with those of a run; what can't be computed is none."""
        sizes_by_text: dict[str, int] = {text: fed[name][axis] for text, name, axis in self.symbols if name in fed}
        for stored in self.claims.believed:
            have = sizes.get(stored.value)
            if have is None:
                continue
            self.observed.add(stored.value)
            if isinstance(stored, StoredShape) and len(stored.dims) != len(have):
                claim = f"rank {len(stored.dims)}"
                self.disbelieved.setdefault(stored.value, Contradiction(stored.value, claim, have, ""))
            for axis, text in stored.sizes.items():
                said = int(text) if text.isdecimal() else computed(text, sizes_by_text, Numbers())
                if axis >= len(have) or said != have[axis]:
                    claim = f"'{text}' of axis {axis}"
                    why = "" if said is None else f"the stored size is {said} here"
                    self.disbelieved.setdefault(stored.value, Contradiction(stored.value, claim, have, why))

    def _compare(self, run: _Run, claim: ClaimedShape, have: Sizes, names: Sequence[str]) -> None:
        """Compare the sizes that these values have with what is claimed of all of them."""
        if 0 in have and run.may_have_no_elements(claim, have):
            return
        self.observed.update(names)
        why = run.contradicted(names[0], claim, have)
        for name in names if why is not None else ():
            self.contradictions.setdefault(name, Contradiction(name, _text(claim), have, why or ""))

    def facts(self, *, ran: bool) -> Facts:
        """Say what the runs show of the claims; `ran`: some were of the whole original."""
        found = {**self.contradictions, **self.disbelieved}
        first = next((found[name] for name in (*self.disbelieved, *self.claims.values) if name in found), None)
        return Facts(self.claims.count, len(self.observed), len(found), first, ran)


@dataclass(slots=True)
class _Run:
    """The sizes that names have in one run."""

    seen_sizes: dict[tuple[str, ...], tuple[int, str]] = field(default_factory=dict)
    """(the size, where it was met first)."""

    @classmethod
    def under(cls, claimed: Mapping[str, ClaimedShape], inputs: Mapping[str, Sizes]) -> _Run | None:
        """Bind the names that inputs have; None for sizes of which nothing was claimed: those out of a range."""
        run = cls()
        for name, sizes in inputs.items():
            for axis, (claim, size) in enumerate(zip(claimed.get(name, ()), sizes, strict=False)):
                if isinstance(claim, Term):
                    if not _within(claim, size):
                        return None
                    if claim.names:
                        run.seen_sizes.setdefault(claim.names, (size, f"axis {axis} of '{name}'"))
        return run

    def may_have_no_elements(self, claim: ClaimedShape, sizes: Sizes) -> bool:
        """Whether a value of these sizes, one of them 0, is as claimed, as far as a kernel can be held to it.

        Some size may be 0 by the claim too; or a reduction should give what is claimed, and has left an operand without
        elements as it is.
        """
        if len(claim) != len(sizes):
            return len(claim) < len(sizes)
        expected = [self._known(size) for size in claim]
        return 0 in expected or all(want in (None, 1, have) for want, have in zip(expected, sizes, strict=True))

    def _known(self, size: int | Term) -> int | None:
        """Return what a size is in this run, None where that is not known yet; what can be 0 may be."""
        if isinstance(size, int):
            return size
        found = self.seen_sizes.get(size.names)
        return found[0] if found is not None else None if size.least else 0

    def contradicted(self, value: str, claim: ClaimedShape, sizes: Sizes) -> str | None:
        """Return why sizes are not as claimed, "" where they say it themselves, None where they are."""
        if len(claim) != len(sizes):
            return ""
        for axis, (want, have) in enumerate(zip(claim, sizes, strict=True)):
            if isinstance(want, int):
                if want != have:
                    return ""
                continue
            if not _within(want, have):
                most = "" if want.most is None else f" and at most {want.most}"
                return f"axis {axis} is at least {want.least}{most}"
            expected, where = self._expected(want, have, f"axis {axis} of '{value}'")
            if expected != have:
                return f"axis {axis} has the size of {where}: {expected}"
        return None

    def _expected(self, term: Term, have: int, where: str) -> tuple[int, str]:
        """Return the size that a term has in this run, and where it was met; a new one has the size it is met with."""
        if not term.names:
            return have, where
        if term.names not in self.seen_sizes:
            parts = [self.seen_sizes.get((name,)) for name in term.names]
            every = [part for part in parts if part is not None]
            if len(every) == len(parts):
                # numpy's rule: 1 gives way; where the others differ the run would have failed
                return next((part for part in every if part[0] != 1), every[0])
            self.seen_sizes[term.names] = have, where
        return self.seen_sizes[term.names]


def _has_broadcast(claim: ClaimedShape) -> bool:
    return any(isinstance(size, Term) and len(size.names) > 1 for size in claim)


def _within(term: Term, size: int) -> bool:
    return term.least <= size and (term.most is None or size <= term.most)


def _text(claim: ClaimedShape) -> str:
    """`[2,N,?]`."""
    return f"[{','.join(str(size) if isinstance(size, int) else _name(size) for size in claim)}]"


def _name(term: Term) -> str:
    names = term.names
    return names[0] if len(names) == 1 and not names[0].startswith("?") else "?"
