"""Parts of error messages: a quoted value of the user, and known names that are similar to an unknown one."""

from __future__ import annotations

from collections.abc import Collection

LETTERS = 100
"""The most characters of a value that are shown."""


def shown(value: object) -> str:
    """Return `repr(value)`, cut after `LETTERS` characters."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than 4300 digits
        text = "a number of so many digits"
    return text if len(text) <= LETTERS else f"{text[:LETTERS]} .."


def hint(name: str, known_names: Collection[str], otherwise: str = "") -> str:
    """Return `; did you mean 'ADD'?` with up to three similar known names; `otherwise` if none is similar."""
    from difflib import get_close_matches  # it takes longer to import than all that is asked without a mistake

    folded = {each.casefold(): each for each in sorted(known_names, reverse=True)}
    near = [folded[each] for each in get_close_matches(name.casefold(), folded, n=3)]
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else otherwise


def no_input(name: str, known_names: Collection[str]) -> str:
    """Return the error for an unknown name of an input; `known_names` are the names of the model's inputs."""
    return f"there is no input '{name}'{_among('inputs', name, known_names)}"


def no_dim(name: str, known_names: Collection[str]) -> str:
    """Return the error for an unknown name of a dim; `known_names` are the free dims of the model's inputs."""
    return f"no input has a dim of that name{_among('free', name, known_names)}"


def _among(what: str, name: str, known_names: Collection[str]) -> str:
    """Return `; did you mean 'batch'? WHAT: batch, sequence`; the question only if a known name is near."""
    near = hint(name, known_names)
    return f"{f'{near} ' if near else '; '}{what}: {', '.join(known_names) or 'none'}"


def not_one_of(what: str, name: object, known_names: Collection[str]) -> str:
    """Return the error `WHAT 'NAME' is not one of ...`, with the known names and a hint at similar ones."""
    return f"{what} {name!r} is not one of {', '.join(known_names)}{hint(str(name), known_names)}"
