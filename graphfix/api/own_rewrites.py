"""Load a user's rewrites: modules, Python files, and installed rewrites by name. Check them and order them.

A file or an installed module runs only if it is named. So the result of a command does not depend on other installed
packages.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from graphfix.api.own_checks import guarded
from graphfix.api.own_modules import load_file, unusable
from graphfix.graph.protocols import (
    ModelRewrite,
    Rewrite,
    Step,
    UntilNothingChanges,
    chosen,
    flat,
    rewrite,
)
from graphfix.report import pages
from graphfix.results import GraphfixError
from graphfix.results.error_texts import hint, shown
from graphfix.results.records import dataclass
from graphfix.targets.registry import REWRITES, TARGETS

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from graphfix.engine.policy import Policy
    from graphfix.engine.request import Request

GROUP = "graphfix.rewrites"
"""The group of entry points by which a package offers its rewrites: `my-rewrite = "my_package.my_rewrite"`."""
PLACE = "normalize-expand"
"""A user's rewrite runs before this one if it names no other place.

So the operators that it adds are made explicit too.
"""


@dataclass(frozen=True, slots=True)
class Own:
    """A step that a user wrote, and its place in the order."""

    step: Step
    beside: str = PLACE
    after: bool = False
    given: str = ""
    """The file or the name by which a command line names it; empty for a Python object."""


def load(given: object) -> tuple[Own, ...]:
    """Return the rewrites that `rewrites` or `--rewrites` names. Entries that are already loaded are kept.

    Raises GraphfixError for an object that is not a rewrite, and for a name that another rewrite has.
    """
    if isinstance(given, (str, os.PathLike)) or not isinstance(given, Sequence):
        raise GraphfixError(f"rewrites is a list of modules, files and names, not {shown(given)}; write [..] around it")
    found = tuple(_own(each) for each in given)
    taken = dict.fromkeys((*REWRITES, *TARGETS), "graphfix's own")
    for each in _rewrites(found):
        if each.name in taken:
            raise GraphfixError(f"{_source(each)}: the name {each.name!r} is {taken[each.name]}; choose another")
        taken[each.name] = f"also that of {_source(each)}"
    return found


def _rewrites(owns: Iterable[Own]) -> Iterator[Rewrite | ModelRewrite]:
    """Yield the single rewrites of all steps."""
    return flat(own.step for own in owns)


def steps(request: Request, policy: Policy) -> tuple[Step, ...]:
    """Return the rewrites that run: the named ones, or those of the target and the user, without the skipped ones.

    Raises GraphfixError for a name that no rewrite has, and for rewrites that `load` refuses.
    """
    import rewrites

    owns = load(request.rewrites)
    check_names(owns, (*request.only, *request.skip))
    wanted = set(request.only or (*request.goal.rewrites, *names(owns))) - {*request.skip, *policy.left_out}
    return chosen(in_order(rewrites.ALL, owns), wanted) if owns else rewrites.steps(wanted)


def in_order(steps: Sequence[Step], owns: Sequence[Own]) -> Iterator[Step]:
    """Yield the steps, with the user's steps at their places: before or after a whole group if its rewrites repeat."""
    for step in steps:
        names = {each.name for each in flat((step,))}
        yield from (own.step for own in owns if own.beside in names and not own.after)
        yield step
        yield from (own.step for own in owns if own.beside in names and own.after)


def names(owns: Sequence[Own]) -> tuple[str, ...]:
    """Return the names of the user's rewrites."""
    return tuple(each.name for each in _rewrites(owns))


def codes(owns: Sequence[Own]) -> tuple[str, ...]:
    """Return the finding codes of the user's rewrites."""
    return tuple(each.code for each in _rewrites(owns))


def find(owns: Sequence[Own], topic: str) -> Rewrite | ModelRewrite | None:
    """Return the user's rewrite with this name, or the first one with this finding code, or None.

    A finding code of graphfix finds no rewrite.
    """
    own_code = topic.upper() if topic.upper() not in pages.codes() else None
    return next((each for each in _rewrites(owns) if each.name == topic or each.code == own_code), None)


def check_names(owns: Sequence[Own], chosen: Sequence[str]) -> None:
    """Raise GraphfixError if one of the names in `chosen` is not the name of a rewrite."""
    rewrite_names = (*REWRITES, *names(owns))
    for name in chosen:
        if name not in rewrite_names:
            how = hint(name, rewrite_names, "; `graphfix explain` lists them")
            raise GraphfixError(f"{name!r} is not a rewrite{how}")


def installed(name: str) -> Own | None:
    """Return the rewrite that an installed package offers by this name, or None.

    Raises GraphfixError for an unusable one.
    """
    found = [entry for entry in _offered() if entry.name == name]
    if len({entry.value for entry in found}) > 1:
        values = " and ".join(sorted({entry.value for entry in found}))
        raise GraphfixError(f"rewrite {name!r}: installed packages offer several: {values}; uninstall all but one")
    if not found:
        return None
    what = f"rewrite {name!r} ({found[0].value})"
    with unusable(what):
        module = found[0].load()
    if not isinstance(module, ModuleType):
        raise GraphfixError(f"{what}: the entry point names {shown(module)}; let it name a module")
    return _of_module(module, getattr(module, "__file__", None) or what, name)


def _offered() -> Iterable[EntryPoint]:
    """Return the entry points of the installed packages, without an import of any of them."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


# --- one rewrite ----------------------------------------------------------------------------------------------------


def _own(given: object) -> Own:
    """Return one entry of `rewrites` as a checked step. Raises GraphfixError for an object that is not a rewrite."""
    match given:
        case Own():
            return given
        case ModuleType():
            return _of_module(given, getattr(given, "__file__", None) or given.__name__)
        case Rewrite():
            return Own(_guarded(given))
        case UntilNothingChanges():
            parts = (_guarded(each) if isinstance(each, Rewrite) else each for each in given.rewrites)
            return Own(UntilNothingChanges(tuple(parts)))
        case ModelRewrite():
            return Own(given)
        case str() | os.PathLike():
            text = os.fspath(given)
            return replace(_of_text(text), given=text)
    raise GraphfixError(f"{shown(given)} is not a rewrite; give a module, a Rewrite, a file or an installed name")


def _guarded(given: Rewrite) -> Rewrite:
    return guarded(given, given.source or f"rewrite {given.name}")


def _of_text(text: object) -> Own:
    """Return the rewrite of a Python file, or the installed rewrite of this name.

    Raises GraphfixError if there is neither.
    """
    if not isinstance(text, str):
        raise GraphfixError(f"{shown(text)}: a path of bytes; give it as text")
    if text.endswith(".py") or os.path.basename(text) != text:  # noqa: PTH119 -- a name is not made a path of
        return _of_module(load_file(Path(text)), text)
    own = installed(text)
    if own is None:
        installed_names = sorted({entry.name for entry in _offered()})
        how = hint(text, installed_names, f"; installed: {', '.join(installed_names) or 'none'}")
        raise GraphfixError(f"rewrites {text!r}: neither a Python file (NAME.py) nor an installed rewrite{how}")
    return own


def _of_module(module: ModuleType, source: str, name: str = "") -> Own:
    """Return the rewrite that a module defines. Raises GraphfixError if a part is missing or wrong."""
    missing = [part for part in ("ON", "CODE", "plan") if not hasattr(module, part)]
    if not (module.__doc__ or "").strip():
        missing.insert(0, "the docstring")
    if missing:
        what = f"a rewrite has a docstring, ON, CODE and plan(node): it lacks {', '.join(missing)}"
        raise GraphfixError(f"{source}: {what}; add what is missing")
    made = rewrite(module) if not hasattr(module, "plan_model") else None
    if not isinstance(made, Rewrite):
        raise GraphfixError(f"{source}: a user's rewrite plans node by node; write plan(node), not plan_model")
    made = replace(made, name=name or made.name)
    beside = {key: getattr(module, key) for key in ("BEFORE", "AFTER") if hasattr(module, key)}
    if len(beside) > 1:
        raise GraphfixError(f"{source}: BEFORE and AFTER: leave one out")
    for key, value in beside.items():
        if value not in REWRITES:
            how = hint(str(value), REWRITES, "; `graphfix explain` lists them")
            raise GraphfixError(f"{source}: {key} is {shown(value)}, which is not a rewrite of graphfix{how}")
    return Own(guarded(made, source), next(iter(beside.values()), PLACE), "AFTER" in beside)


def _source(each: Rewrite | ModelRewrite) -> str:
    """Return the file of a rewrite, or its name, for errors."""
    return each.source if isinstance(each, Rewrite) and each.source else f"rewrite {each.name}"
