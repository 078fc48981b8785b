"""Find outputs of a TFLite model that depend on variables which are read before they are written.

Every run begins with new variables. XNNPACK's READ_VARIABLE returns what is in memory then, the other kernels refuse.
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

# The schema: the model's operator codes, an operator code's number, and READ_VARIABLE's.
_CODES, _NUMBER, _READ_VARIABLE = 1, 3, 143


class _Read(NamedTuple):
    """A read of an unwritten variable: which variable, and which operator reads it."""

    variable: str
    site: str


def reads_variables(path: Path) -> bool:
    """Return whether READ_VARIABLE is among a file's operators. Only that list is read."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            return any(code.number(_NUMBER) == _READ_VARIABLE for code in Tables(data).root().each(_CODES))
        except (struct.error, IndexError, ValueError):
            return False


def unwritten_outputs(path: Path, loaded: ModelDetails, signature: str | None = None) -> dict[str, Undetermined]:
    """Return the outputs of a signature, or of subgraph 0, that follow from an unwritten variable.

    A variable is written by an ASSIGN_VARIABLE that is surely executed before: in the subgraph that is run, in what
    its operators run (the initialization of a CALL_ONCE), in both branches of an IF. What another signature writes
    is not there. Raises GraphfixError.
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
    """The state of the variables at one moment of an execution."""

    written: set[str] = field(default_factory=set)
    """Those that surely have a value."""
    tainted: dict[str, _Read] = field(default_factory=dict)
    """Those whose value follows from an unwritten one."""

    def copy(self) -> _State:
        return _State(set(self.written), dict(self.tainted))

    def join(self, first: _State, second: _State) -> None:
        """Return the state after two branches join."""
        self.written = first.written & second.written
        self.tainted = {**first.tainted, **second.tainted}


@dataclass(frozen=True, slots=True)
class _Execution:
    """Follows the operators of a model in the order of execution, bodies where they are run."""

    graphs: Sequence[Subgraph]
    running: frozenset[int] = frozenset()

    def run(self, at: int, handles: Mapping[int, str], state: _State, given: Mapping[int, _Read]) -> dict[int, _Read]:
        """Return the tensors of a subgraph that follow from an unwritten variable.

        `handles` are the inputs that stand for a variable, `given` those that already follow from an unwritten one.
        """
        if at in self.running or not 0 <= at < len(self.graphs):
            return {}  # LiteRT refuses recursion, and a body that is not there
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
        """Run the bodies of an operator; return a read on which its results may depend."""
        at = [body for _, body in op.bodies]
        if op.name == "IF":
            ways = state.copy(), state.copy()
            found = [self._body(body, op.inputs[1:], handles, way, reads) for body, way in zip(at, ways, strict=False)]
            state.join(*ways)
            return next(filter(None, found), None)
        if op.name == "WHILE":
            # the options' names are sorted: the body stands before the condition, which is run at least once
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
        graph = self.graphs[at] if 0 <= at < len(self.graphs) else Subgraph((), (), (), (), "", frozenset())
        pairs = list(zip(graph.inputs, operands, strict=False))
        own_handles = {mine: handles[theirs] for mine, theirs in pairs if theirs in handles}
        given = {mine: reads[theirs] for mine, theirs in pairs if theirs in reads}
        found = self.run(at, own_handles, state, given)
        return next((found[tensor] for tensor in graph.outputs if tensor in found), None)


def _assign(variable: str | None, found: _Read | None, state: _State) -> None:
    if variable is None:
        return
    state.written.add(variable)
    state.tainted.pop(variable, None)
    if found is not None:
        state.tainted[variable] = found


def _value_read(variable: str | None, site: str, state: _State) -> _Read | None:
    """Return the unwritten read on which a value depends; None for none, or if a caller made the variable (None)."""
    if variable is None:
        return None
    return state.tainted.get(variable) if variable in state.written else _Read(variable, site)


def _name(op: Operator) -> str:
    container, name = (_text(op.options.get(key)) for key in ("container", "sharedName"))
    return f"{container}/{name}" if container else name


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
