"""Find outputs of a TFLite model that depend on a variable that is read before any operator writes it.

Variables have no content at the start of each run. XNNPACK's READ_VARIABLE then returns the present content of the
memory, and the other kernel sets refuse the read.
"""

from __future__ import annotations

import mmap
import struct
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from graphfix.checker.files.tflite.file import read
from graphfix.checker.files.tflite.records import Subgraph
from graphfix.checker.files.tflite.tables import Tables
from graphfix.checker.runs.comparing.exceptions import UNWRITTEN_VARIABLE
from graphfix.checker.runs.original_runs import Undetermined
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from graphfix.checker.files.tflite.records import Operator
    from graphfix.runtimes.session import ModelDetails

# Numbers of the TFLite schema: the model's field of operator codes, the code's field of its number, and READ_VARIABLE.
_CODES, _NUMBER, _READ_VARIABLE = 1, 3, 143


class _Read(NamedTuple):
    """A read of an unwritten variable: the name of the variable and the operator that reads it."""

    variable: str
    site: str


def reads_variables(path: Path) -> bool:
    """Return whether a file uses READ_VARIABLE.

    Only the list of operator codes is read. A malformed file returns False.
    """
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return any(code.number(_NUMBER) == _READ_VARIABLE for code in Tables(data).root().each(_CODES))
        except (struct.error, IndexError, ValueError):
            return False


def unwritten_outputs(path: Path, loaded: ModelDetails, signature: str | None = None) -> dict[str, Undetermined]:
    """Return the outputs that depend on an unwritten variable, of a signature or of subgraph 0, each with the reason.

    A variable counts as written only after an ASSIGN_VARIABLE that certainly runs before the read. The ASSIGN_VARIABLE
    may be in the subgraph itself, or in a subgraph that its operators run, as the initialization of a CALL_ONCE. If it
    is in a branch of an IF, both branches must contain one. Writes of another signature do not count. Raise
    GraphfixError for an unreadable file.
    """
    if not reads_variables(path):
        return {}
    with ExitStack() as stack:
        model, _ = read(path, stack, lenient=True)
    subgraph = dict(loaded.signatures).get(signature or "", 0) if signature else 0
    reads = _Execution(model.subgraphs).run(subgraph, {}, _State(), {})
    return {spec.name: _undetermined(reads[spec.index]) for spec in loaded.outputs if spec.index in reads}


def _undetermined(found: _Read) -> Undetermined:
    cause = f"the first model reads the variable '{found.variable}', which nothing has written ({found.site})"
    return Undetermined(UNWRITTEN_VARIABLE, cause, ", and does not determine", found.site)


@dataclass(slots=True)
class _State:
    """The variables at one moment of an execution."""

    written: set[str] = field(default_factory=set)
    """The variables that certainly have a value."""
    tainted: dict[str, _Read] = field(default_factory=dict)
    """The variables whose value depends on an unwritten variable, each with the read that caused it."""

    def copy(self) -> _State:
        return _State(set(self.written), dict(self.tainted))

    def join(self, first: _State, second: _State) -> None:
        """Set this state to the state after two branches: written in both, tainted in either."""
        self.written = first.written & second.written
        self.tainted = {**first.tainted, **second.tainted}


@dataclass(frozen=True, slots=True)
class _Execution:
    """Follows the operators of a model in the order of execution, including the bodies that operators run."""

    graphs: Sequence[Subgraph]
    running: frozenset[int] = frozenset()

    def run(self, at: int, handles: Mapping[int, str], state: _State, given: Mapping[int, _Read]) -> dict[int, _Read]:
        """Return the tensors of subgraph `at` that depend on an unwritten variable, each with the read that caused it.

        `handles` maps those inputs of the subgraph that are handles of variables to the variable. `given` maps the
        inputs that already depend on an unwritten variable to its read. `state` is updated.
        """
        if at in self.running or not 0 <= at < len(self.graphs):
            return {}  # LiteRT refuses recursion and missing subgraphs
        handles, reads = dict(handles), dict(given)
        inner = replace(self, running=self.running | {at})
        for index, op in enumerate(self.graphs[at].operators):
            found = next((reads[tensor] for tensor in op.inputs if tensor in reads), None)
            handle = next((handles[tensor] for tensor in op.inputs[:1] if tensor in handles), None)
            if op.name == "VAR_HANDLE":
                handles.update(dict.fromkeys(op.outputs, _name(op)))
            elif op.name == "ASSIGN_VARIABLE":
                _assign(handle, found, state)
            elif op.name == "READ_VARIABLE":
                where = f" of subgraph {at}" if self.running else ""
                found = _value_read(handle, f"{op.name}#{index}{where}", state)
            elif op.bodies:
                found = inner.bodies(op, handles, state, reads) or found
            if found is not None:
                reads.update(dict.fromkeys(op.outputs, found))
        return reads

    def bodies(
        self, op: Operator, handles: Mapping[int, str], state: _State, reads: Mapping[int, _Read]
    ) -> _Read | None:
        """Run the bodies of an operator; return an unwritten read on which its results may depend, or None."""
        at = [body for _, body in op.bodies]
        if op.name == "IF":
            ways = state.copy(), state.copy()
            found = [self._body(body, op.inputs[1:], handles, way, reads) for body, way in zip(at, ways, strict=False)]
            state.join(*ways)
            return next(filter(None, found), None)
        if op.name == "WHILE":
            # the options are sorted by name, so the body is listed before the condition, which runs at least once
            first = self._body(at[-1], op.inputs, handles, state, reads)
            once = state.copy()
            turns = [self._body(body, op.inputs, handles, once, reads) for body in (*at, *at)]
            state.join(state.copy(), once)
            return next(filter(None, (first, *turns)), None)
        return next(filter(None, [self._body(body, op.inputs, handles, state, reads) for body in at]), None)

    def _body(
        self,
        at: int,
        operands: Sequence[int],
        handles: Mapping[int, str],
        state: _State,
        reads: Mapping[int, _Read],
    ) -> _Read | None:
        """Run subgraph `at` with these operands; return an unwritten read on which its outputs may depend, or None."""
        graph = self.graphs[at] if 0 <= at < len(self.graphs) else Subgraph((), (), (), (), "", frozenset())
        pairs = list(zip(graph.inputs, operands, strict=False))
        own_handles = {mine: handles[theirs] for mine, theirs in pairs if theirs in handles}
        given = {mine: reads[theirs] for mine, theirs in pairs if theirs in reads}
        found = self.run(at, own_handles, state, given)
        return next((found[tensor] for tensor in graph.outputs if tensor in found), None)


def _assign(variable: str | None, found: _Read | None, state: _State) -> None:
    """Record that a variable is written; `found` is the unwritten read on which the new value depends, or None."""
    if variable is None:
        return
    state.written.add(variable)
    state.tainted.pop(variable, None)
    if found is not None:
        state.tainted[variable] = found


def _value_read(variable: str | None, site: str, state: _State) -> _Read | None:
    """Return the unwritten read on which a read value depends, or None.

    `variable` is None if the handle is unknown because a caller created the variable. The result is then None.
    """
    if variable is None:
        return None
    return state.tainted.get(variable) if variable in state.written else _Read(variable, site)


def _name(op: Operator) -> str:
    """Return the name of a variable: its container, if it has one, and its shared name."""
    container, name = (_text(op.options.get(key)) for key in ("container", "sharedName"))
    return f"{container}/{name}" if container else name


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
