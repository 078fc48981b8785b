"""Compare two model files by a proof and by runs on equal inputs. The checker imports no code of the rewriter."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.task import Task
    from graphfix.results import Verdict
    from graphfix.runtimes.process import Child, Runtime


def started(path: Path) -> Child:
    """Start a process for the runs of the model `path`. The process imports the runtime while the caller continues.

    Raise GraphfixError if the file can't be read, or if its content shows that it is no model.
    """
    from graphfix.checker.files import is_tflite
    from graphfix.checker.runs.early import MODULES
    from graphfix.runtimes.process import Child

    runtime: Runtime = "LiteRT" if is_tflite(path) else "onnxruntime"
    child = Child()
    child.start(runtime, MODULES[runtime])
    return child


def verify(task: Task) -> Verdict:
    """Prove that the two models of a task are equal, run both on equal inputs, and compare every output bit by bit.

    TFLite models run on each kernel set of LiteRT, and also for every SignatureDef that belongs to another subgraph
    than subgraph 0. A kernel set on which the first model does not run decides nothing.

    The status of the verdict is "proved", "equal" (shown by the runs only), "different" (a run differs) or "undecided".
    The status "contradicted" has priority over all others: a value of the first model had another size in a run than
    `task.claims` states.

    Raise GraphfixError for an unreadable file, files of two formats, an unknown input name, or inputs that do not fit.
    """
    from graphfix.checker.verdict import compare

    return compare(task)
