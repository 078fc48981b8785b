"""Print every error message of the project with its place; reasons that a report gives are listed apart.

    python scripts/list_errors.py             the errors: what a user reads on stderr, with exit status 2
    python scripts/list_errors.py --reasons   what completes "left alone because", or says why nothing was proved
    python scripts/list_errors.py --counts    how many of each kind there are

A message is found where its exception is made. The parts that are not literal are shown as the code has them.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("graphfix", "rewrites")
REASONS = frozenset(
    "Refused Undecided Incompatible UnrankedOperand StaleShape MissingOperandError UnprovedError UnreadError "
    "RefusedError _Fault".split()
)
"""Exceptions that are answers: a report, or a verdict, has their text."""
EXCEPTIONS = frozenset(
    "GraphfixError OverwriteError RewriteError BindingError MalformedError MalformedModelError UnknownVersionError "
    "UnsupportedFieldError OutsideError StoppedError TooLongError ValueError TypeError ArgumentTypeError IndexError "
    "AttributeError".split()
)
"""Errors, and what becomes one at the boundary, with the file in front."""
FAILURES = frozenset({"reasons", "_no_model"})
"""Functions that make one."""


@dataclass(frozen=True, slots=True)
class Message:
    """One place that makes an error or a reason."""

    path: str
    line: int
    kind: str
    text: str

    @property
    def is_reason(self) -> bool:
        """Whether it is no error."""
        return self.kind in REASONS


def messages(root: Path = ROOT) -> Iterator[Message]:
    """Yield all of them, in the order of files and lines."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found = [_message(name, call) for call in ast.walk(tree) if isinstance(call, ast.Call)]
            yield from sorted((each for each in found if each is not None), key=lambda each: each.line)


def _message(path: str, call: ast.Call) -> Message | None:
    """The message that a call makes; None where it makes no exception, or has no text."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in REASONS | EXCEPTIONS | FAILURES or not call.args:
        return None
    return Message(path, call.lineno, name, _text(call.args[-1 if name == "_no_model" else 0]))


def _text(node: ast.expr) -> str:
    """A text as a reader of the code sees it, without its quotes."""
    match node:
        case ast.Constant():
            return str(node.value)
        case ast.JoinedStr():
            return "".join(_text(part) for part in node.values)
        case ast.FormattedValue():
            shown = "" if node.conversion < 0 else f"!{chr(node.conversion)}"
            return f"{{{ast.unparse(node.value)}{shown}}}"
        case _:
            return f"{{{ast.unparse(node)}}}"


def main() -> None:
    """Print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reasons", action="store_true", help="the reasons in place of the errors")
    parser.add_argument("--counts", action="store_true", help="only how many there are")
    asked = parser.parse_args()
    found = [each for each in messages() if each.is_reason == asked.reasons]
    for each in () if asked.counts else found:
        print(f"{each.path}:{each.line}: {each.kind}: {each.text}")
    print(f"{len(found)}: {dict(Counter(each.kind for each in found).most_common())}")


if __name__ == "__main__":
    main()
