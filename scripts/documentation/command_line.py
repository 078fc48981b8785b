"""Write the page of the command line from the parser: commands, arguments, options, exit statuses."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from graphfix.cli.parser import commands_of, parser


def page() -> str:
    """Return the page as Markdown."""
    full_parser = parser()
    parts = [
        f"# The command line\n\n{full_parser.description}\n",
        f"{_statuses(full_parser)}\n\n## Options of graphfix itself\n",
    ]
    parts += _table(action for action in full_parser._actions if action.option_strings)  # noqa: SLF001
    for name, command in commands_of(full_parser).items():
        parts += _command(name, command)
    return "\n".join(parts) + "\n"


def _statuses(full_parser: argparse.ArgumentParser) -> str:
    """Return the exit statuses, which are listed at the end of `--help`, as a section with a table."""
    title, *lines = (full_parser.epilog or "").splitlines()
    items: list[str] = []
    for line in lines:
        number, _, rest = line.strip().partition("  ")
        if number.isdigit():
            items.append(f"| {number} | {rest.strip()}")
        else:
            items[-1] += f" {line.strip()}"
    rows = "\n".join(f"{item} |" for item in items)
    return f"## {title.rstrip(':').capitalize()}\n\n| status | says |\n| --- | --- |\n{rows}"


def _command(name: str, command: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the section of a command: its description, its usage, and a table for each group of options."""
    yield f"\n## graphfix {name}\n\n{command.description}\n\n```text\n{command.usage}\n```\n"
    for group in command._action_groups:  # noqa: SLF001
        actions = [action for action in group._group_actions if not isinstance(action, argparse._HelpAction)]  # noqa: SLF001
        if actions:
            title = {"positional arguments": "", "options": ""}.get(group.title or "", group.title)
            yield f"**{title}**\n" if title else ""
            yield from _table(actions)


def _table(actions: Iterator[argparse.Action] | list[argparse.Action]) -> Iterator[str]:
    """Yield a table with a row for each argument or option: its name and its help."""
    yield "| | |\n| --- | --- |"
    for action in actions:
        yield f"| {_name(action)} | {help_text(action)}{_choices(action)} |"
    yield ""


def _name(action: argparse.Action) -> str:
    """Return the notation of an option with its value, or of an argument, as code."""
    if not action.option_strings:
        return f"`{_metavar(action)}`"
    value = "" if action.nargs == 0 else f" {_metavar(action)}"
    return ", ".join(f"`{option}{value}`" for option in action.option_strings).replace("|", r"\|")


def _choices(action: argparse.Action) -> str:
    """Return a sentence that lists the values that an option accepts, or an empty text if any value is accepted."""
    return f". One of {', '.join(f'`{each}`' for each in action.choices)}" if action.choices else ""


def _metavar(action: argparse.Action) -> str:
    """Return the placeholder of an option's value, with ` ...` if several values are accepted."""
    shown = action.metavar or action.dest.upper()
    return str(shown) + (" ..." if action.nargs == "+" else "")


def help_text(action: argparse.Action) -> str:
    """Return the help of an option for a cell of a Markdown table."""
    return _escaped(action.help or "")


def _escaped(text: str) -> str:
    """Replace characters that have a meaning in Markdown or HTML, and replace argparse's `%%` by `%`."""
    for plain, safe in (("&", "&amp;"), ("<", "&lt;"), ("|", "&#124;"), ("*", "&#42;"), ("%%", "%")):
        text = text.replace(plain, safe)
    return text
