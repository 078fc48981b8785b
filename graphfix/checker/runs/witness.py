"""Compare the sizes that the original's values have in a run with the sizes that the rewriter claimed for them."""

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
    """Runs a model once and returns its outputs, and the sizes of inner values by name."""
    Derive = Callable[[Mapping[str, Sizes]], Mapping[str, Sizes]]
    """Returns the sizes of further values that follow from known sizes in a run."""


def _nothing(_: Mapping[str, Sizes]) -> Mapping[str, Sizes]:
    return {}


@dataclass(frozen=True, slots=True)
class WitnessedSession:
    """A session of the original whose runs are reported to a witness."""

    outputs: tuple[str, ...]
    plainly: Callable[[Mapping[str, object]], list[object]] = field(repr=False)
    """Runs the model once without observing inner values."""
    observe: Observe = field(repr=False)
    witness: Witness
    derive: Derive = field(default=_nothing, repr=False)

    def run(self, feeds: Mapping[str, object]) -> list[object]:
        """Run the model once and report the sizes.

        A second run of the same inputs is not observed. Raise RefusedError.
        """
        if feeds is self.witness.fed:
            return self.plainly(feeds)
        values, sizes = self.observe(feeds)
        self.witness.see(feeds, sizes, self.derive)
        return values


@dataclass(slots=True)
class Witness:
    """The comparison of the sizes that the rewriter claimed with the sizes in runs of the original."""

    claims: Claims
    symbols: Sequence[tuple[str, str, int]] = ()
    """(symbol, input, axis of the input with that size) for the symbols of the sizes that the file stores."""
    runs: int = 0
    """The number of observed runs."""
    observed: set[str] = field(default_factory=set)
    contradictions: dict[str, Contradiction] = field(default_factory=dict)
    """Value -> the first contradiction to a claim about its sizes."""
    disbelieved: dict[str, Contradiction] = field(default_factory=dict)
    """Value -> the first contradiction to a stored size that the proof believes, and from which other claims follow."""
    fed: Mapping[str, object] | None = None
    """The inputs of the last observed run."""
    last: tuple[Mapping[str, Sizes], Mapping[str, Sizes]] | None = None
    """The sizes of the inputs and of the observed values in that run."""

    def see(self, feeds: Mapping[str, object], sizes: Mapping[str, Sizes], derive: Derive = _nothing) -> None:
        """Compare the sizes of one run with the claims.

        The sizes are those of the inputs (`feeds`), of observed values (`sizes`), and those that `derive` adds. A run
        with a size of 0 among its inputs is not compared.
        """
        self.runs += 1
        self.fed = feeds
        fed = {name: value.shape for name, value in feeds.items() if isinstance(value, np.ndarray)}
        if any(0 in shape for shape in fed.values()):
            # kernels treat an empty input specially: onnxruntime's ReduceMean over a negative axis does not remove the
            # axis
            return
        if (fed, sizes) == self.last:
            return  # the values differ from the last run, but the sizes do not
        self.last = fed, sizes
        all_values = {**fed, **sizes}
        derived = derive(all_values)
        self._compare_stored(fed, {**derived, **all_values})
        # if an operator was cut from the model, its results are inputs that no operator has computed
        inputs = {name: shape for name, shape in fed.items() if name in self.claims.inputs}
        run = _Run.under(self.claims.inputs, inputs)
        if run is None:
            return
        alike: dict[tuple[int, Sizes], list[str]] = {}  # grouped because large models have few distinct claims
        values = self.claims.values
        for name, have in (*inputs.items(), *sizes.items(), *derived.items()):
            if name in values:
                alike.setdefault((id(values[name]), have), []).append(name)
        # compare single names first, because a broadcast of names is known only after its parts
        for (_, have), names in sorted(alike.items(), key=lambda each: _has_broadcast(values[each[1][0]])):
            self._compare(run, values[names[0]], have, names)

    def _compare_stored(self, fed: Mapping[str, Sizes], sizes: Mapping[str, Sizes]) -> None:
        """Compare the stored sizes that the proof believes with those of a run.

        A size that can't be computed contradicts.
        """
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
        """Compare the sizes `have`, which all values `names` have, with the claim that all of them share."""
        if 0 in have and run.may_have_no_elements(claim, have):
            return
        self.observed.update(names)
        why = run.contradicted(names[0], claim, have)
        for name in names if why is not None else ():
            self.contradictions.setdefault(name, Contradiction(name, _text(claim), have, why or ""))

    def facts(self, *, ran: bool) -> Facts:
        """Return the result of the comparison for a report. `ran`: the complete original has run."""
        found = {**self.contradictions, **self.disbelieved}
        first = next((found[name] for name in (*self.disbelieved, *self.claims.values) if name in found), None)
        return Facts(self.claims.count, len(self.observed), len(found), first, ran)


@dataclass(slots=True)
class _Run:
    """The sizes that the names in claims have in one run."""

    seen_sizes: dict[tuple[str, ...], tuple[int, str]] = field(default_factory=dict)
    """Names of a claimed size -> (the size, the place where it was observed first)."""

    @classmethod
    def under(cls, claimed: Mapping[str, ClaimedShape], inputs: Mapping[str, Sizes]) -> _Run | None:
        """Return the run with the names bound to the sizes of the inputs.

        Return None if a size is out of its claimed range, because nothing was claimed for such runs.
        """
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
        """Return whether sizes with a 0 may be consistent with the claim.

        They are if the claim allows a size of 0. They also are if a kernel may have returned an operand without
        elements unchanged instead of reducing it.
        """
        if len(claim) != len(sizes):
            return len(claim) < len(sizes)
        expected = [self._known(size) for size in claim]
        return 0 in expected or all(want in (None, 1, have) for want, have in zip(expected, sizes, strict=True))

    def _known(self, size: int | Term) -> int | None:
        """Return the number that a claimed size is in this run. If it is unknown: 0 if it may be 0, else None."""
        if isinstance(size, int):
            return size
        found = self.seen_sizes.get(size.names)
        return found[0] if found is not None else None if size.least else 0

    def contradicted(self, value: str, claim: ClaimedShape, sizes: Sizes) -> str | None:
        """Return why the sizes contradict the claim, or None if they do not. "" if the sizes alone show the reason."""
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
        """Return the size that a claimed term has in this run, and the place where it was observed first.

        A term that is observed for the first time gets the size `have`.
        """
        if not term.names:
            return have, where
        if term.names not in self.seen_sizes:
            parts = [self.seen_sizes.get((name,)) for name in term.names]
            every = [part for part in parts if part is not None]
            if len(every) == len(parts):
                # numpy's rule: 1 is stretched, and a run with other differing sizes would have failed
                return next((part for part in every if part[0] != 1), every[0])
            self.seen_sizes[term.names] = have, where
        return self.seen_sizes[term.names]


def _has_broadcast(claim: ClaimedShape) -> bool:
    """Return whether a claimed size is the broadcast of several names."""
    return any(isinstance(size, Term) and len(size.names) > 1 for size in claim)


def _within(term: Term, size: int) -> bool:
    """Return whether a size is in the range of a claimed term."""
    return term.least <= size and (term.most is None or size <= term.most)


def _text(claim: ClaimedShape) -> str:
    """Return a claim as text, such as `[2,N,?]`."""
    return f"[{','.join(str(size) if isinstance(size, int) else _name(size) for size in claim)}]"


def _name(term: Term) -> str:
    """Return the name of a claimed size; "?" if it has no name or several."""
    names = term.names
    return names[0] if len(names) == 1 and not names[0].startswith("?") else "?"
