"""Facts about a model file for the HTML report: its bytes, its nodes, and the versions of its operators."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from graphfix import formats
from graphfix.results import FileFacts, GraphfixError

if TYPE_CHECKING:
    from graphfix.results.onnx_messages import ModelProto, NodeProto


def file_facts(path: Path, data_root: Sequence[Path] = ()) -> FileFacts:
    """Return the facts about a model file; of a file that can't be read as a model, the bytes alone.

    The bytes are those of the file and of the data files that it names. `data_root` lists further folders in which the
    data files of an ONNX model may lie.
    """
    size = path.stat().st_size
    try:
        return _of_tflite(path) if formats.format_of(path) == "tflite" else _of_onnx(path, data_root)
    except GraphfixError:  # `verify` compares files that only the checker can read, such as those of a future version
        return FileFacts(size)


def _of_onnx(path: Path, data_root: Sequence[Path]) -> FileFacts:
    from graphfix.formats.onnx.file.container import read

    container = read(path, data_root)
    home, model = container.home, container.proto
    files = [home.resolved(each, path.name) for each in container.locations] if home is not None else []
    nodes = sum(map(_count, (model.graph.node, *(function.node for function in model.functions))))
    return FileFacts(sum(file.stat().st_size for file in (path, *files)), nodes, _operator_sets(model))


def _count(nodes: Iterable[NodeProto]) -> int:
    """Return the number of nodes, including those of the bodies inside them."""
    from graphfix.formats.onnx.edit.unroll import every_node

    return sum(1 for _ in every_node(list(nodes)))


def _operator_sets(model: ModelProto) -> str:
    """Return the operator sets that a model imports: `17, com.microsoft 1`; the first number is that of ONNX itself."""
    sets = {"" if entry.domain == "ai.onnx" else entry.domain: entry.version for entry in model.opset_import}
    return ", ".join(f"{domain} {version}".strip() for domain, version in sorted(sets.items()))


def _of_tflite(path: Path) -> FileFacts:
    from graphfix.formats.tflite.file.container import read

    container = read(path)
    files = [path.parent / name for name in container.parts.external]
    size = sum(file.stat().st_size for file in (path, *files) if file.is_file())
    return FileFacts(size, sum(len(subgraph.operators) for subgraph in container.subgraphs))
