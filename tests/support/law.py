"""The law of `fix`: status 0 exactly where `check` of the output ends with 0, and a second `fix` changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from graphfix import api
from graphfix.cli import answers
from graphfix.results import GraphfixError, Outcome
from graphfix.results.claims import SHAPES_INFERRED
from graphfix.targets import target as targets

NONE: Mapping[str, Any] = MappingProxyType({})
TARGETS = tuple(targets.TARGETS)
Options = Mapping[str, Any]


def violations(
    model: Path, target: str, folder: Path, choices: Options = NONE, bindings: Options = NONE
) -> list[str] | None:
    """Return how the law is broken for a model and a target; None where `fix` refuses the model.

    `check` gets the choices and not the bindings. Targets that need numbers get the default sizes. If LiteRT refuses
    the model at these sizes, it computes known results after the first `fix` only: a second `fix` may fold them.
    """
    fixed, again = folder / f"fixed{model.suffix}", folder / f"again{model.suffix}"
    static = targets.target_of(target).static
    try:
        outcome = api.fix_file(
            model, fixed, target=target, bind_defaults=static, check_result=False, **choices, **bindings
        )
    except GraphfixError:
        return None
    where = f"{model.name}, target {target}"
    found = api.check(fixed, target=target, **choices)
    broken = []
    if answers.status(outcome) != {0: 0, 1: 4}[answers.status(found)]:
        broken.append(f"{where}: fix ends with {answers.status(outcome)}, check finds {_listed(found)}")
    if outcome.sites_left != sum(site.is_finding for site in found.sites):
        broken.append(f"{where}: fix counts {outcome.sites_left} sites left, check finds {_listed(found)}")
    second = api.fix_file(fixed, again, target=target, check_result=False, **choices)
    if second.changed and not any(text.startswith(SHAPES_INFERRED) for text in outcome.assumes):
        edits = {name: number for name, number in second.rewrites.items() if number}
        broken.append(f"{where}: a second fix changes the output again: {edits}")
    return broken


def _listed(outcome: Outcome) -> list[str]:
    sites = [site for site in outcome.sites if site.is_finding]
    return [f"{site.status} {site.code} {site.op} {site.node}: {site.reason}" for site in sites]
