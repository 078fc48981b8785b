"""Find the operator whose kernel ends the process: the last one of the shortest beginning of a model that aborts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphfix.checker.files.tflite.graphs import read_graphs
from graphfix.checker.runs.tflite import too_large
from graphfix.checker.runs.tflite.objects import packed, read
from graphfix.runtimes.session import RefusedError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphfix.runtimes.sessions import Sessions


def aborting_operator(sessions: Sessions, path: Path, kernels: str, feeds: Mapping[str, object]) -> str | None:
    """Name the operator of subgraph 0 as `ADD#3`; None where no beginning of the model aborts on these inputs."""
    if too_large(path):
        return None
    model = read(path)
    operators = list(model.subgraphs[0].operators or ())
    with tempfile.TemporaryDirectory(prefix="graphfix-") as folder:
        beginning = Path(folder, "beginning.tflite")

        def aborts(count: int) -> bool:
            beginning.write_bytes(_beginning(model, operators, count))
            try:
                sessions.load_tflite(beginning, kernels).run(feeds)
            except RefusedError as error:
                return error.aborted
            return False

        if not operators or not aborts(len(operators)):
            return None
        low, high = 0, len(operators)  # the first `low` run, the first `high` abort
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if aborts(middle) else (middle, high)
    return f"{read_graphs(path)[0].ops[high - 1].name}#{high - 1}"


def _beginning(model: Any, operators: list[Any], count: int) -> bytes:  # noqa: ANN401 - generated
    """Write a model with its first operators only, and the results of the last of them as outputs."""
    graph = model.subgraphs[0]
    graph.operators, graph.outputs = operators[:count], operators[count - 1].outputs
    model.signatureDefs = None
    return packed(model)
