"""The rewrites, in the order in which they run: one module each, a docstring and a pure plan."""

from __future__ import annotations

from types import ModuleType

from graphfix.edits import Rewrite
from rewrites import equalize_ranks, materialize_broadcasts, normalize_expand, upgrade_legacy_broadcast


def _rewrite(module: ModuleType, code: str, *, local: bool = False, together: bool = False) -> Rewrite:
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    operators = getattr(module, "OPERATORS", None)
    return Rewrite(name, module.plan, code, module.__doc__ or "", operators, local, together)


ALL: tuple[Rewrite, ...] = (
    _rewrite(upgrade_legacy_broadcast, "GF201", together=True),
    _rewrite(normalize_expand, "GF202"),
    _rewrite(equalize_ranks, "GF101", local=True),
    _rewrite(materialize_broadcasts, "GF103", local=True),
)
