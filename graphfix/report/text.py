"""The entries of a report, and functions that write shapes, nodes, numbers and names as text for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from graphfix.results import GraphfixError, Outcome, Site
from graphfix.results.excerpt import JsonShape
from graphfix.results.records import dataclass, field

SHOWN = 0.005
"""Seconds. A step of less time is not listed, because it would be printed as `0.00`."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A model on which a command failed (exit status 2)."""

    command: str
    source: str
    error: str
    """The error as stderr shows it, without the program's name."""
    kind: Literal["error", "internal", "aborted", "time", "memory"] = "error"
    """`internal`: a defect of graphfix. Only in a batch: `aborted`, or stopped because of `time` or `memory`."""
    trace: str = field(default="", repr=False, compare=False)
    """Python's traceback of an internal error. `-v` prints it; reports do not contain it."""

    @classmethod
    def of(cls, command: str, source: str, error: Exception) -> Failure:
        """Return the failure for an exception that ended a command.

        A GraphfixError is expected; other exceptions are defects.
        """
        if isinstance(error, GraphfixError):
            return cls(command, source, str(error))
        if isinstance(error, MemoryError):
            return cls(command, source, f"{source}: stopped: there is no more memory", "memory")
        from graphfix.results.faults import Fault  # imported here because few commands need it

        fault = Fault.of(error)
        return cls(command, source, f"{source}: {fault.line}", "internal", fault.trace)


Entry: TypeAlias = Outcome | Failure
"""The part of a report about one model: its outcome, or the failure."""


def printable(text: str) -> str:
    r"""Return the text on one line: control characters, which names in a model may contain, become `\n`, `\x1b` ..."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def shortened(text: str, most: int) -> str:
    """Return the printable text. Of a longer text than `most` characters, the middle is replaced by its length."""
    plain = printable(text)
    if len(plain) <= most:
        return plain
    between = f" ...{len(plain) - most} more letters... "
    return f"{plain[: most // 2]}{between}{plain[-(most - most // 2) :]}"


def cut(text: str, letters: int) -> str:
    """Return the printable text, cut to at most `letters` characters."""
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
    """Return `[2,N,?]`; `[*]` for an unknown rank."""
    if shape is None:
        return "[*]"
    return f"[{','.join('?' if size is None else printable(str(size)) for size in shape)}]"


def node_text(site: Site) -> str:
    """Return `Add 'head/bias'`, or `Add#3` for a node without a name; the path follows unless the graph is `main`."""
    label = printable(site.node if site.node.startswith(f"{site.op}#") else f"{site.op} '{site.node}'")
    return label if site.graph == "main" else f"{label} in {printable(site.graph)}"


def operand_text(site: Site) -> str:
    """Return `operand 1`, or "" for a site about a whole node."""
    return "" if site.operand is None else f"operand {site.operand}"


def place_text(site: Site) -> str:
    """Return node and operand of a site: `Add 'head/bias', operand 1`."""
    return ", ".join(filter(None, (node_text(site), operand_text(site))))


def pair_text(outcome: Outcome) -> str:
    """Return `m.onnx, f.onnx`: the model, and the output or the second model if there is one."""
    return f"{outcome.source}, {outcome.output}" if outcome.output else outcome.source


EDITED: Mapping[str, str] = MappingProxyType(
    {
        "GF303": "computes what is known before the model runs",
        "GF304": "a form that the target's tools refuse or misread",
    }
)
"""By finding code: the reason for an edit of a whole node that shapes do not show."""


def node_reason(site: Site) -> str | None:
    """Return why a whole node was found or edited, and by which rewrite; None if the operand's shapes show it."""
    if site.reason is not None or site.code not in EDITED:
        return None
    return f"{EDITED[site.code]} ({site.rewrite})"


def change_text(site: Site) -> str:
    """Return `[4] -> [1,1,4]`, or the reason of a site that has one."""
    if site.reason is not None:
        return printable(site.reason)
    shapes = [shape_text(site.before)] if site.operand is not None or site.before is not None else []
    shapes += [shape_text(site.after)] if site.after is not None else []
    changed = " -> ".join(dict.fromkeys(shapes))
    return ": ".join(filter(None, (changed, node_reason(site))))


def counted(number: int, what: str) -> str:
    """Return `1 model`, `2 models`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def tally(numbers: Mapping[str, int]) -> str:
    """Return ` (equalize-ranks 12, normalize-expand 1)` without zeros; "" if all numbers are zero."""
    parts = ", ".join(f"{name} {number}" for name, number in numbers.items() if number)
    return f" ({parts})" if parts else ""


def seconds_text(seconds: Mapping[str, float]) -> str:
    """Return `1.24 s: load 0.01, plan 0.02, verify 1.21`. Steps below `SHOWN` count in the sum only."""
    steps = ", ".join(f"{step} {spent:.2f}" for step, spent in seconds.items() if spent >= SHOWN)
    return f"{sum(seconds.values()):.2f} s" + (f": {steps}" if steps else "")


def findings(outcome: Outcome) -> list[Site]:
    """Return the sites for which `check` exits with status 1: findings, and operands that were left alone."""
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
    """Return by finding code of the user's own rewrites the first line of the rewrite's page."""
    return {code: line for entry in entries if isinstance(entry, Outcome) for code, line in entry.own_codes.items()}


def folds(outcome: Outcome) -> bool:
    """Return whether the target removes explicit broadcasts instead of adding them."""
    return "fold-broadcasts" in outcome.rewrites and "equalize-ranks" not in outcome.rewrites
