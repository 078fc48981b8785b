"""Print every error message of the project with its place; reasons that a report contains are listed separately.

    python scripts/list_errors.py             the errors, which a user reads on stderr, with exit status 2
    python scripts/list_errors.py --reasons   the texts that complete "left alone because", or explain a missing proof
    python scripts/list_errors.py --counts    only how many there are of each kind

A message is found where the code creates the exception. Parts that are not literal are printed as code.
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
"""Exceptions that are results and not errors: their text appears in a report or a verdict."""
EXCEPTIONS = frozenset(
    "GraphfixError OverwriteError RewriteError BindingError MalformedError MalformedModelError UnknownVersionError "
    "UnsupportedFieldError OutsideError StoppedError TooLongError ValueError TypeError ArgumentTypeError IndexError "
    "AttributeError".split()
)
"""Errors, and exceptions that become errors at the boundary, where the file is written in front of the text."""
FAILURES = frozenset({"reasons", "_no_model"})
"""Functions that create an error from a text."""


@dataclass(frozen=True, slots=True)
class Message:
    """One place in the code that creates an error or a reason. `kind` is the name of the exception or function."""

    path: str
    line: int
    kind: str
    text: str

    @property
    def is_reason(self) -> bool:
        """Return whether this is a reason and not an error."""
        return self.kind in REASONS


def messages(root: Path = ROOT) -> Iterator[Message]:
    """Yield all messages of the project, in the order of files and lines."""
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found = [_message(name, call) for call in ast.walk(tree) if isinstance(call, ast.Call)]
            yield from sorted((each for each in found if each is not None), key=lambda each: each.line)


def _message(path: str, call: ast.Call) -> Message | None:
    """Return the message that a call creates, or None if the call creates no exception or has no arguments."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name not in REASONS | EXCEPTIONS | FAILURES or not call.args:
        return None
    return Message(path, call.lineno, name, _text(call.args[-1 if name == "_no_model" else 0]))


def _text(node: ast.expr) -> str:
    """Return the text of an expression without quotes, and with computed parts as code in braces."""
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
    """Print the errors or the reasons, and their counts."""
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
