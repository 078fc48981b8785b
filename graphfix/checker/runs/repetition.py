"""Run one case again, each model from a fresh interpreter: what LiteRT does may depend on the sizes it ran before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from graphfix.checker.runs.original_runs import Answer
    from graphfix.runtimes.session import Session

    Opener = Callable[[], Session]
    Outputs = dict[str, object] | RefusedError

MOST_ATTEMPTS = 3
"""How often the second model fails before it is said to: a kernel may fail by what it finds in memory."""


def repetitions(opened: tuple[Opener, Opener], answer: Answer, attempts: int) -> Iterator[tuple[Outputs, Outputs]]:
    """Yield what each model returns for a case from a fresh interpreter, again where the second one fails.

    A process that dies, or is stopped, is not asked again.
    """
    for _ in range(attempts):
        before = _from_fresh(opened[0], answer)
        after = _from_fresh(opened[1], answer)
        yield before, after
        if not isinstance(after, RefusedError) or after.aborted:
            return


def _from_fresh(opener: Opener, answer: Answer) -> Outputs:
    try:
        return outputs_of(opener(), answer)
    except RefusedError as error:
        return error


def outputs_of(session: Session, answer: Answer) -> Outputs:
    """Run a case: the outputs by name, or why it was refused."""
    try:
        return dict(zip(session.outputs, session.run(answer.case.feeds), strict=True))
    except RefusedError as error:
        return error
