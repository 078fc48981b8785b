"""Compare two model files by a proof and by runs on the same inputs; nothing of the rewriter is used here."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from graphfix.checker.task import Task
    from graphfix.results import Verdict
    from graphfix.runtimes.process import Child, Runtime


def started(path: Path) -> Child:
    """Start a process for the runs of a model, which imports the runtime while the caller goes on.

    Raises GraphfixError if the file can't be read, or if its content is known not to be a model.
    """
    from graphfix.checker.files import is_tflite
    from graphfix.checker.runs.early import MODULES
    from graphfix.runtimes.process import Child

    runtime: Runtime = "LiteRT" if is_tflite(path) else "onnxruntime"
    child = Child()
    child.start(runtime, MODULES[runtime])
    return child


def verify(task: Task) -> Verdict:
    """Prove the two models of a task equal, run both on the same inputs, and compare every output bit by bit.

    TFLite models run on each kernel set of LiteRT, and under every SignatureDef of another subgraph; a kernel set on
    which the first model does not run decides nothing. The verdict is "proved", "equal" by the runs alone, "different"
    wherever a run is, or "undecided"; before all of these "contradicted", where the task claims sizes of the first
    model's values that it does not have when it runs. Raises GraphfixError for an unreadable file, files of two
    formats, a name that no input has, or inputs that do not fit.
    """
    from graphfix.checker.verdict import compare

    return compare(task)
