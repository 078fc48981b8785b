"""The entries of a report, and how their shapes, nodes, numbers and names are written for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from graphfix.results import GraphfixError, Outcome, Site
from graphfix.results.excerpt import JsonShape
from graphfix.results.records import dataclass, field

SHOWN = 0.005
"""Seconds: a step below is `0.00`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A model on which a command failed (exit status 2)."""

    command: str
    source: str
    error: str
    """The line that stderr got, without the program's name."""
    kind: Literal["error", "internal", "aborted", "time", "memory"] = "error"
    """`internal`: a fault of graphfix. In a batch also: the process aborted, or was stopped for time or memory."""
    trace: str = field(default="", repr=False, compare=False)
    """Python's traceback of an internal fault: `-v` prints it, reports do not contain it."""

    @classmethod
    def of(cls, command: str, source: str, error: Exception) -> Failure:
        """Return the failure for an exception that ended a command; a GraphfixError is expected, others are faults."""
        if isinstance(error, GraphfixError):
            return cls(command, source, str(error))
        if isinstance(error, MemoryError):
            return cls(command, source, f"{source}: stopped: there is no more memory", "memory")
        from graphfix.results.faults import Fault  # imported here because few commands need it

        fault = Fault.of(error)
        return cls(command, source, f"{source}: {fault.line}", "internal", fault.trace)


Entry: TypeAlias = Outcome | Failure
"""One model's part of a report: what was done with it, or why nothing could be."""


def printable(text: str) -> str:
    r"""The text on one line: control characters (names come from the model) are written as `\n`, `\x1b` ..."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def shortened(text: str, most: int) -> str:
    """The text as `printable` writes it; of a longer one the beginning and the end, and how much is between them."""
    plain = printable(text)
    if len(plain) <= most:
        return plain
    between = f" ...{len(plain) - most} more letters... "
    return f"{plain[: most // 2]}{between}{plain[-(most - most // 2) :]}"


def cut(text: str, letters: int) -> str:
    """The text as `printable` writes it, at most that many letters of it."""
    plain = printable(text)
    return plain if len(plain) <= letters else f"{plain[: letters - 1]}…"


def bytes_text(number: int) -> str:
    """Return a number of bytes in the largest unit that it fills: `812 B`, `1.5 kB`, `51.7 MB`."""
    value, unit = float(number), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:  # noqa: PLR2004 -- the step between two units
            break
        value, unit = value / 1000, larger
    return f"{number} B" if unit == "B" else f"{value:.1f} {unit}"


def shape_text(shape: JsonShape) -> str:
    """`[2,N,?]`; `[*]` when the rank is not known."""
    if shape is None:
        return "[*]"
    return f"[{','.join('?' if size is None else printable(str(size)) for size in shape)}]"


def node_text(site: Site) -> str:
    """`Add 'head/bias'`, `Add#3` for a node that the file gives no name; with the scope outside the main graph."""
    label = printable(site.node if site.node.startswith(f"{site.op}#") else f"{site.op} '{site.node}'")
    return label if site.graph == "main" else f"{label} in {printable(site.graph)}"


def operand_text(site: Site) -> str:
    """`operand 1`, or nothing for a site that is a whole node."""
    return "" if site.operand is None else f"operand {site.operand}"


def place_text(site: Site) -> str:
    """`Add 'head/bias', operand 1`."""
    return ", ".join(filter(None, (node_text(site), operand_text(site))))


def pair_text(outcome: Outcome) -> str:
    """`m.onnx, f.onnx`: the model, and what was made of it or is compared with it."""
    return f"{outcome.source}, {outcome.output}" if outcome.output else outcome.source


EDITED: Mapping[str, str] = MappingProxyType(
    {
        "GF303": "computes what is known before the model runs",
        "GF304": "a form that the target's tools refuse or misread",
    }
)
"""By finding code: the reason for an edit of a whole node, which shapes do not show."""


def node_reason(site: Site) -> str | None:
    """Return why a whole node was found or edited, and the rewrite; None where the shapes of an operand say it."""
    if site.reason is not None or site.code not in EDITED:
        return None
    return f"{EDITED[site.code]} ({site.rewrite})"


def change_text(site: Site) -> str:
    """`[4] -> [1,1,4]`, or why it stays; of an edit that shapes do not show what it is."""
    if site.reason is not None:
        return printable(site.reason)
    shapes = [shape_text(site.before)] if site.operand is not None or site.before is not None else []
    shapes += [shape_text(site.after)] if site.after is not None else []
    changed = " -> ".join(dict.fromkeys(shapes))
    return ": ".join(filter(None, (changed, node_reason(site))))


def counted(number: int, what: str) -> str:
    """`1 model`, `2 models`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def tally(numbers: Mapping[str, int]) -> str:
    """` (equalize-ranks 12, normalize-expand 1)` without the zeros, or nothing."""
    parts = ", ".join(f"{name} {number}" for name, number in numbers.items() if number)
    return f" ({parts})" if parts else ""


def seconds_text(seconds: Mapping[str, float]) -> str:
    """`1.24 s: load 0.01, plan 0.02, verify 1.21`; steps below a hundredth of a second are summed only."""
    steps = ", ".join(f"{step} {spent:.2f}" for step, spent in seconds.items() if spent >= SHOWN)
    return f"{sum(seconds.values()):.2f} s" + (f": {steps}" if steps else "")


def findings(outcome: Outcome) -> list[Site]:
    """The sites for which `check` ends with 1: what it found, and what it could not decide."""
    return [site for site in outcome.sites if site.is_finding]


def sites_left_text(outcome: Outcome, *, is_piped: bool) -> str:
    """Return the last line for a written model with sites left: their number, and the command that lists them.

    `is_piped`: the model went to stdout, so the command reads it from stdin.
    """
    import shlex

    written = "-" if is_piped else outcome.output or outcome.source
    check = shlex.join(("graphfix", "check", written, *outcome.check_options))
    them = "it" if outcome.sites_left == 1 else "them"
    how = " when it gets this model by stdin" if is_piped else ""
    number, target = counted(outcome.sites_left, "site"), printable(outcome.target or "")
    return f"{number} left for target {target}: {printable(check)} lists {them}{how}; --exit-zero accepts {them}"


def own_codes(entries: Iterable[Entry]) -> dict[str, str]:
    """By finding code of rewrites of the user's own: the first line of the page."""
    return {code: line for entry in entries if isinstance(entry, Outcome) for code, line in entry.own_codes.items()}


def folds(outcome: Outcome) -> bool:
    """Whether the target goes the other way: what is explicit is taken out."""
    return "fold-broadcasts" in outcome.rewrites and "equalize-ranks" not in outcome.rewrites
