"""Takes the custom operators out of a TFLite model, so that LiteRT runs the rest: what they made is given instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

import flatbuffers

from tests.support.tflite.tree import NAMES, Tree, tree

if TYPE_CHECKING:
    from pathlib import Path


def without_custom(path: Path, folder: Path) -> Path:
    """The file itself, or a copy in `folder` where custom operators' results are inputs and their operands outputs."""
    model = tree(path.read_bytes())
    graph = model.subgraphs[0]
    custom = [each for each in graph.operators if _is_custom(model, each)]
    if not custom:
        return path
    made = {tensor for each in graph.operators for tensor in each.outputs}
    graph.operators = [each for each in graph.operators if not _is_custom(model, each)]
    results = [tensor for each in custom for tensor in each.outputs]
    asked = [tensor for each in custom for tensor in each.inputs if tensor in made and tensor not in results]
    outputs = [tensor for tensor in graph.outputs if tensor not in results]
    graph.inputs = [*graph.inputs, *results]
    graph.outputs = list(dict.fromkeys([*outputs, *asked]))
    model.signatureDefs = None
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    copy = folder / f"{path.parent.name}-{path.stem}-cut.tflite"
    copy.write_bytes(builder.Output())
    return copy


def _is_custom(model: Tree, operator: Tree) -> bool:
    code = model.operatorCodes[operator.opcodeIndex]
    return NAMES[max(code.builtinCode, code.deprecatedBuiltinCode)] == "CUSTOM"
