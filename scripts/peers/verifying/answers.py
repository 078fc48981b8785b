"""Read what each verifier answers: of its exit status and what it printed, one word and the reason."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from peers.clock import Ended, why
from peers.verifying.record import DIFFERENT, EQUAL, FAILED, PROVED, UNDECIDED, Answer

Reader = Callable[[Ended], tuple[str, str]]
"""Returns word and reason; raises AnswerError where there is no answer."""
LONGEST = 300
GRAPHFIX = {
    "proved": PROVED,
    "bounded": PROVED,
    "equal": EQUAL,
    "different": DIFFERENT,
    "contradicted": DIFFERENT,
    "undecided": UNDECIDED,
}
"""Its words; each but the last needs its own exit status, too."""
STATUSES = {PROVED: 0, EQUAL: 0, DIFFERENT: 1, UNDECIDED: 3}
_SUMMARY = re.compile(r"Accuracy Summary .* Passed: (\d+)/(\d+) iterations")
_APART = re.compile(r"FAILED \| (.*)")


class AnswerError(Exception):
    """A process ended without an answer."""


def answered(ended: Ended, read: Reader, limit: float) -> Answer:
    """Return what a process answered; one that crashed or took too long has failed, whatever it printed."""
    if ended.late or ended.status < 0:
        word, reason = FAILED, why(ended, limit)
    else:
        try:
            word, reason = read(ended)
        except AnswerError as error:
            word, reason = FAILED, str(error) or why(ended, limit)
        except KeyError:  # a document of an error
            word, reason = FAILED, why(ended, limit)
    return Answer(word, reason[:LONGEST], ended.run.seconds, ended.run.cpu)


def graphfix(ended: Ended) -> tuple[str, str]:
    """Read the JSON document of `verify`; its exit status has to agree with it."""
    verdict = _document(ended)["verdict"]
    word = GRAPHFIX[verdict["status"]]
    if STATUSES[word] != ended.status:
        raise AnswerError
    proof = verdict["proof"] or {}
    return word, {PROVED: "", DIFFERENT: verdict["reason"]}.get(word, proof.get("reason")) or ""


def runs(ended: Ended) -> tuple[str, str]:
    """Read the status and the reason that the call of `graphfix.verify` printed."""
    said = _last(ended)
    return GRAPHFIX[said["status"]], said["reason"] or ""


def certify(ended: Ended) -> tuple[str, str]:
    """Read the report of onnxsim's `certify`.

    Refuted is different, but where all that is refuted has its own hint that this may be the rounding of constants for
    huge inputs: onnxsim's command line calls that unproven.
    """
    said = _last(ended)
    if said["ok"]:
        return PROVED, ", ".join(sorted(set(said["outputs"])))
    refuted = [detail for status, detail in said["windows"] if status == "refuted"]
    if refuted and not all(said["hint"] in detail for detail in refuted):
        return DIFFERENT, refuted[0]
    skipped = (detail for status, detail in said["windows"] if status == "skipped")
    return UNDECIDED, next(skipped, refuted[0] if refuted else "").partition(";")[0].rpartition(": ")[2]


def polygraphy(ended: Ended) -> tuple[str, str]:
    """Read the summary of `polygraphy run`; one that compared nothing says none."""
    found = _SUMMARY.search(ended.said)
    if found is None or found[2] == "0":
        raise AnswerError(_line(ended, "[!] "))
    if found[1] == found[2] and ended.status == 0:
        return EQUAL, ""
    apart = _APART.search(ended.said)
    return DIFFERENT, apart[1].strip() if apart else ""


def check(ended: Ended) -> tuple[str, str]:
    """Read what the function behind onnxsim's `check_n` returned."""
    return (EQUAL, "") if _last(ended)["same"] else (DIFFERENT, _line(ended, "The max diff is"))


def _document(ended: Ended) -> Mapping[str, Any]:
    try:
        return dict(json.JSONDecoder().raw_decode(ended.said, max(ended.said.find("{"), 0))[0])
    except ValueError:
        raise AnswerError from None


def _last(ended: Ended) -> Mapping[str, Any]:
    """Return the JSON value of the last line."""
    lines = ended.said.strip().splitlines()
    if ended.status or not lines:
        raise AnswerError
    try:
        return dict(json.loads(lines[-1]))
    except ValueError:
        raise AnswerError from None


def _line(ended: Ended, words: str) -> str:
    """Return the first line that has some words."""
    lines = (line for said in (ended.said, ended.blamed) for line in said.splitlines())
    return next((line.strip() for line in lines if words in line), "")
