"""The page's section about the verifiers, written from the results."""

from __future__ import annotations

from collections.abc import Sequence

from peers import tables
from peers.catalogue import ONNX, TFLITE
from peers.prose import flowing
from peers.verifying import picture, prose, sums
from peers.verifying.faults import FAULTS, KINDS
from peers.verifying.record import DIFFERENT, EQUAL, FAILED, NOT_RUN, PROVED, UNDECIDED, Pair, Verification
from peers.verifying.verifiers import VERIFIERS, Verifier

NAMES = {ONNX: "ONNX", TFLITE: "TFLite"}
WORDS = (PROVED, EQUAL, DIFFERENT, UNDECIDED, FAILED)
HEADS = ("verifier", "pairs", *WORDS, "wrong", "faults found", "median s", "all s", "processor s")
MOST_REASONS = 8


def lines(found: Verification) -> list[str]:
    """Return the whole section."""
    parts = [_head(found)]
    for format_ in NAMES:
        pairs = [pair for pair in found.pairs if pair.format == format_]
        parts += _format(format_, pairs) if pairs else []
    parts += [_wrong(found.pairs), _why(found)]
    return [line for part in parts if part for line in ("", *part)][1:]


def _head(found: Verification) -> list[str]:
    claims = [f"| {each.name} | {each.said} | {each.claim} |" for each in VERIFIERS]
    kinds = sorted({kind for some in FAULTS.values() for kind in some}, key=[*KINDS].index)
    planted = [f"- {kind}: {KINDS[kind]}" for kind in kinds]
    filled = prose.HEAD.format(
        claims="\n".join(claims),
        kinds="\n".join(planted),
        distinct=sums.distinct(found.pairs),
        pairs=len(found.pairs),
        faults=sum(bool(pair.fault) for pair in found.pairs),
        picture=picture.PATH,
        **found.method,
    )
    return flowing(filled)


def _format(format_: str, pairs: Sequence[Pair]) -> list[list[str]]:
    there = [each for each in VERIFIERS if any(each.name in pair.answers for pair in pairs)]
    return [
        [f"### {NAMES[format_]}", "", *_counted(there, pairs)],
        ["What each says of each tool's results, and of the faults:", "", *_by_maker(there, pairs)],
    ]


def _counted(verifiers: Sequence[Verifier], pairs: Sequence[Pair]) -> list[str]:
    rows = []
    for each in (sums.of(verifier, pairs) for verifier in verifiers):
        words = [str(each.words[word]) for word in WORDS]
        wrong = f"**{each.wrong}**" if each.wrong else "0"
        seconds = [f"{each.median:.2f}", f"{sum(each.seconds):.0f}", f"{sum(each.cpu):.0f}"]
        rows.append([each.verifier.name, str(each.asked), *words, wrong, f"{each.found} of {each.faults}", *seconds])
    return tables.table(HEADS, rows)


def _by_maker(verifiers: Sequence[Verifier], pairs: Sequence[Pair]) -> list[str]:
    makers = [*dict.fromkeys(pair.maker for pair in pairs if pair.maker)]
    groups = {maker: [pair for pair in pairs if pair.maker == maker] for maker in makers}
    groups["faults"] = [pair for pair in pairs if pair.fault]
    rows = [
        [f"{name} ({len(some)})", *(_said(verifier, some) for verifier in verifiers)]
        for name, some in groups.items()
        if some
    ]
    return tables.table(["made by", *(each.name for each in verifiers)], rows)


def _said(verifier: Verifier, pairs: Sequence[Pair]) -> str:
    counted = sums.of(verifier, pairs)
    said = [f"{counted.words[word]} {word}" for word in WORDS if counted.words[word]]
    return ", ".join([*said, *([f"**{counted.wrong} wrong**"] if counted.wrong else [])])


def _wrong(pairs: Sequence[Pair]) -> list[str]:
    found = sums.wrong_answers(pairs)
    said = [
        f"- {verifier.name} of {pair.model}, {_made(pair)}: {answer.word}; in {pair.witness.runs} runs: "
        f"{pair.witness.status}{_brackets(pair.witness.reason)}"
        for verifier, answer, pair in found
    ]
    return ["### Wrong answers", "", *(said or ["None."])]


def _made(pair: Pair) -> str:
    return pair.maker or f"fault: {KINDS[pair.fault]}"


def _brackets(reason: str) -> str:
    return f" ({tables.plain(reason)})" if reason else ""


def _why(found: Verification) -> list[str]:
    """Why pairs are undecided or have failed, why some were not made, and which had no witness."""
    said = []
    for word in (UNDECIDED, FAILED):
        for verifier in VERIFIERS:
            counted = sums.reasons(verifier, found.pairs, word)
            said += [
                f"- {verifier.name}, {word}, {count}: {tables.plain(why)}" for why, count in counted[:MOST_REASONS]
            ]
    unseen = {pair.model: pair.witness.reason for pair in found.pairs if pair.witness.status == NOT_RUN}
    said += [f"- no witness of {model}: {tables.plain(reason)}" for model, reason in unseen.items()]
    said += [f"- no result: {tables.plain(line)}" for line in found.failures]
    return ["### Why", "", *said] if said else []
