"""Remove metadata entries that mislead the converter (TFLite only; only with target tosa, or where it is named).

    keep_stablehlo_constant       the converter leaves every constant as stablehlo.constant, and nothing converts
    model_control_dependencies    the converter makes tfl.control_node of its edges, and refuses the model

Files of LiteRT's PyTorch converter have the first entry. The converter to TOSA looks up its name only: an entry that
contains `false`, or nothing, has the same effect. LiteRT does not read it.

The second entry lists pairs of operators that have to run in that order. LiteRT uses it to run operators with side
effects in order, and to save memory. The entry stays in a model with a custom operator, a variable or another operator
that keeps a state. Without such operators, each result depends on the operands only.

The converter's library contains the name of one other entry, debug_metadata: positions in the source of the model, for
error messages. Only a damaged debug_metadata aborts the converter. These entries have no effect (measured with
tosa-converter-for-tflite 2026.2.0): min_runtime_version, CONVERSION_METADATA, reduced_precision_support,
TFLITE_METADATA, buffer_location, LiteRtStamp and an unknown name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graphfix.graph.edits import DropMetadata, Edit
from graphfix.graph.view import Graph, Node
from graphfix.operators.row import TFLITE
from graphfix.operators.tflite_reviewed import STATEFUL
from graphfix.targets.tosa.tflite import DEPENDENCIES, METADATA

CODE = "GF304"


def plan_model(graphs: Sequence[Graph]) -> Iterator[tuple[Node, Iterable[Edit]]]:
    """Yield the first node of the main graph, with an edit for each entry to remove."""
    main = next(graph for graph in graphs if graph.path == "main")
    first = next((node for node in main.nodes if node.operands), None)
    kept = {DEPENDENCIES} if any(map(_is_stateful, (node for graph in graphs for node in graph.nodes))) else set()
    names = [name for name in dict.fromkeys(main.metadata) if name in METADATA and name not in kept]
    if first is not None and names:
        yield first, [DropMetadata(name, METADATA[name], CODE) for name in names]


def _is_stateful(node: Node) -> bool:
    """Return whether the operator's place in the order of operators may matter."""
    variables = (value for value in node.operands if value is not None and value.kind == "input")
    return node.domain != TFLITE or node.op in STATEFUL or any(value not in node.graph.inputs for value in variables)
