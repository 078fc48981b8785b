"""What the answers of each verifier come to: counts by word, wrong ones, and seconds."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from peers.verifying.record import DIFFERENT, EQUAL, PROVED, SAME, Answer, Pair
from peers.verifying.verifiers import NAMED, Verifier


@dataclass(frozen=True, slots=True)
class Sums:
    """A verifier over some pairs."""

    verifier: Verifier
    asked: int
    words: Counter[str]
    """Answers by word; wrong ones are in their words too."""
    wrong_words: Counter[str]
    faults: int
    found: int
    """Pairs with a fault, and those that it says are different."""
    seconds: tuple[float, ...]
    cpu: tuple[float, ...]
    """Of the pairs that are asked: those of the same two files once."""

    @property
    def wrong(self) -> int:
        """Wrong answers."""
        return self.wrong_words.total()

    @property
    def median(self) -> float:
        """Median seconds of a pair."""
        return statistics.median(self.seconds) if self.seconds else 0.0


def wrong(verifier: Verifier, answer: Answer, pair: Pair) -> bool:
    """Whether the witness contradicts an answer.

    A yes is wrong where an output is apart by more than the verifier allows, a difference where all bits are the same.
    """
    if answer.word in {PROVED, EQUAL}:
        return verifier.name in pair.witness.beyond
    return answer.word == DIFFERENT and pair.witness.status == SAME


def of(verifier: Verifier, pairs: Iterable[Pair]) -> Sums:
    """Add up what a verifier says of some pairs."""
    asked = [(pair, pair.answers[verifier.name]) for pair in pairs if verifier.name in pair.answers]
    faults = [answer for pair, answer in asked if pair.fault]
    once = [answer for pair, answer in asked if not pair.again]
    return Sums(
        verifier,
        len(asked),
        Counter(answer.word for _, answer in asked),
        Counter(answer.word for pair, answer in asked if wrong(verifier, answer, pair)),
        len(faults),
        sum(answer.word == DIFFERENT for answer in faults),
        tuple(answer.seconds for answer in once),
        tuple(answer.cpu for answer in once),
    )


def wrong_answers(pairs: Iterable[Pair]) -> list[tuple[Verifier, Answer, Pair]]:
    """Return all that are wrong."""
    every = [(NAMED[name], answer, pair) for pair in pairs for name, answer in pair.answers.items()]
    return [each for each in every if wrong(*each)]


def reasons(verifier: Verifier, pairs: Iterable[Pair], word: str) -> list[tuple[str, int]]:
    """Return why a verifier says a word of what tools made, without names and numbers, the most frequent first."""
    given = (pair.answers[verifier.name] for pair in pairs if verifier.name in pair.answers and not pair.fault)
    return Counter(general(answer.reason) for answer in given if answer.word == word).most_common()


def general(reason: str) -> str:
    """Return a reason without the names, shapes and numbers of one model."""
    bare = re.sub(r"^\w+ '[^']*' of the (first|second) file", r"an operator of the \1 file", reason)
    bare = re.sub(r"'[^']*'|\([^()]*\)|\[[^\]]*\]", "..", bare)
    return re.sub(r"\b\d[\d.e+-]*\b", "N", bare).strip() or "no reason given"


def distinct(pairs: Sequence[Pair]) -> int:
    """Count pairs of different files."""
    return sum(not pair.again for pair in pairs)
