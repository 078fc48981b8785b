"""Check a user's rewrite before it runs, and its plan while it runs. Errors name the rewrite and the node."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from graphfix.api.own_modules import reasons
from graphfix.graph.edit_faults import fault
from graphfix.graph.protocols import ANY, BROADCASTING, Rewrite
from graphfix.operators.row import TFLITE
from graphfix.report import pages
from graphfix.report.findings.selection import OWN_CODE
from graphfix.results import GraphfixError, RewriteError
from graphfix.results.error_texts import hint, shown
from graphfix.shapes.dim import Incompatible, Undecided
from graphfix.targets.operator_names import OPERATORS
from graphfix.targets.registry import REWRITES

if TYPE_CHECKING:
    from graphfix.graph.edits import Edit
    from graphfix.graph.protocols import Plan
    from graphfix.graph.view import Node

NAME = r"[A-Za-z][A-Za-z0-9-]{0,63}"


def guarded(made: Rewrite, source: str) -> Rewrite:
    """Return the same rewrite with a plan whose errors name the rewrite.

    Raises GraphfixError for a wrong part of the module.
    """
    wrong = next(_wrong(made), None)
    if wrong is not None:
        raise GraphfixError(f"{source}: {wrong}")
    on = made.on if isinstance(made.on, str) else frozenset(made.on)
    return replace(made, on=on, plan=_checked_plan(made, source), source=source)


def _wrong(made: Rewrite) -> Iterator[str]:
    """Yield what is wrong with the parts of a rewrite."""
    if not re.fullmatch(NAME, made.name):
        yield f"a rewrite's name is of letters, digits and -, not {shown(made.name)}; give the file such a name"
    if not isinstance(made.code, str) or not (re.fullmatch(OWN_CODE, made.code) or made.code in pages.codes()):
        how = "give a code of graphfix, or letters but GF and three digits: MY101"
        yield f"CODE is {shown(made.code)}; {how}"
    if not callable(made.plan):
        yield "plan is not a function; write plan(node), which yields edits"
    if made.sees not in ("node", "operands"):
        yield f"SEES is {shown(made.sees)}; give 'node' or 'operands'"
    if not (isinstance(made.instead_of, (tuple, list)) and all(name in REWRITES for name in made.instead_of)):
        yield f"INSTEAD_OF is {shown(made.instead_of)}; give a tuple of names of graphfix's rewrites"
    yield from _wrong_on(made.on)


def _wrong_on(on: object) -> Iterator[str]:
    """Yield what is wrong with `ON`, the operators that a rewrite reads."""
    how = "give ANY, BROADCASTING, or a frozenset of (domain, operator): ('', 'Mul'), (TFLITE, 'MUL')"
    if isinstance(on, str) and on in (ANY, BROADCASTING):
        return
    if not isinstance(on, AbstractSet) or not on:
        yield f"ON is {shown(on)}; {how}"
        return
    for each in on:
        if not (isinstance(each, tuple) and [type(part) for part in each] == [str, str]):
            yield f"ON holds {shown(each)}; {how}"
            return
        domain, op = each
        operators = {"": OPERATORS["onnx"], TFLITE: OPERATORS["tflite"]}.get(domain)
        if operators is not None and op not in operators:
            yield f"ON holds {shown(each)}, and there is no such operator{hint(op, operators)}"


class _Fault(Exception):  # noqa: N818 -- what is wrong with an edit, as the rest of a sentence
    """An object that is not an edit, or an edit that can't apply to its node."""


def _checked(edit: Edit, node: Node, codes: frozenset[str], earlier: Sequence[Edit]) -> Edit:
    """Return the edit. Raises _Fault if it can't apply to the node, given the edits before it."""
    wrong = fault(edit, node, codes, earlier)
    if wrong is not None:
        raise _Fault(wrong)
    return edit


def _checked_plan(made: Rewrite, source: str) -> Plan:
    """Return a plan that checks each edit and names the source of each error."""
    codes = frozenset((made.code, *pages.codes()))

    def plan(node: Node) -> Iterator[Edit]:
        where = f"{node.op} '{node.label}': "
        edits: list[Edit] = []
        try:
            for edit in made.plan(node):
                edits.append(_checked(edit, node, codes, edits))
                yield edit
        except (Undecided, Incompatible):
            raise
        except _Fault as wrong:
            raise RewriteError(f"{source}: {where}{wrong}") from None
        except (Exception, SystemExit) as error:
            raise reasons(error, source, where) from error

    return plan
