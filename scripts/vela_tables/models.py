"""The int8 models that scripts/vela_table.py takes through Vela, and their fixed forms (not run by itself)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import ai_edge_litert.schema_py_generated as schema

import graphfix
from graphfix.targets.target import target_of
from models.builders.tflite.text import model

MODELS = Path(__file__).resolve().parents[2] / "models"
TARGET = "ethos-u"
NOTHING = "upgrade-legacy-broadcast"
"""A rewrite that has no work in a TFLite model: alone it leaves only the bound sizes."""
_ELEMENTWISE = ("ADD", "MUL", "MAXIMUM", "SQUARED_DIFFERENCE")
_OPERANDS = (
    ("0-d", "2,3,4", "", "2,3,4"),
    ("vector", "2,3,4", "4", "2,3,4"),
    ("feature map", "1,32,32,16", "16", "1,32,32,16"),
    ("two-sided", "2,1,4", "3,1", "2,3,4"),
    ("rank 5", "2,2,2,3,4", "3,4", "2,2,2,3,4"),
    ("rank 5, two-sided", "2,2,2,1,4", "3,1", "2,2,2,3,4"),
)
HANDMADE: Mapping[str, str] = MappingProxyType(
    {
        f"{op}, {name}": f"y:int8[{result}] = {op}(x:int8[{first}], b:int8[{second}])"
        for op in _ELEMENTWISE
        for name, first, second, result in _OPERANDS
    }
    | {f"{op}, constant": f"y:int8[2,3,4] = {op}(x:int8[2,3,4], b:const:int8[4])" for op in _ELEMENTWISE}
    | {
        "ADD, rank 6": "y:int8[2,2,2,2,3,4] = ADD(x:int8[2,2,2,2,3,4], b:int8[3,4])",
        "ADD, rank 6, vector": "y:int8[2,2,2,2,3,4] = ADD(x:int8[2,2,2,2,3,4], b:int8[4])",
        "BATCH_MATMUL, ranks 4 and 3": "y:int8[6,2,3,5] = BATCH_MATMUL(a:int8[6,2,3,4], b:int8[2,4,5])",
        "BATCH_MATMUL, ranks 3 and 2": "y:int8[2,3,5] = BATCH_MATMUL(a:int8[2,3,4], b:int8[4,5])",
        "BATCH_MATMUL, batch 1": "y:int8[2,3,5] = BATCH_MATMUL(a:int8[2,3,4], b:int8[1,4,5])",
        "SELECT_V2, 0-d": "y:int8[2,3,4] = SELECT_V2(c:bool[2,3,4], a:int8[], b:int8[])",
        "BROADCAST_TO, ADD": """
            b:int8[2,3,4] = BROADCAST_TO(v:int8[4], s:const:int32[3]{2,3,4})
            y:int8[2,3,4] = ADD(x:int8[2,3,4], b)
        """,
        "BROADCAST_TO, ADD, feature map": """
            b:int8[1,32,32,16] = BROADCAST_TO(v:int8[16], s:const:int32[4]{1,32,32,16})
            y:int8[1,32,32,16] = ADD(x:int8[1,32,32,16], b)
        """,
    }
)
"""By what they show: the notation of models.builders.tflite.text."""


@dataclass(frozen=True)
class Variants:
    """A model in the three forms that are compared."""

    original: bytes
    bound: bytes
    """With its sizes bound, where they were free, and nothing else done to it."""
    fixed: bytes


def handmade(name: str) -> bytes:
    """Return a hand-made model, its scales and zero points those of the notation."""
    return model(HANDMADE[name])


def int8_models(group: str) -> list[Path]:
    """Return the models of `exported`, of `zoo` or `committed` (all others) that compute int8."""
    return [path for path in sorted(MODELS.rglob("*.tflite")) if _group(path) == group and _computes_int8(path)]


def _group(path: Path) -> str:
    folder = path.relative_to(MODELS).parts[0]
    return folder if folder in {"exported", "zoo"} else "committed"


def _computes_int8(path: Path) -> bool:
    made = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    return any(
        graph.tensors[index].type == schema.TensorType.INT8
        for graph in made.subgraphs
        for operator in graph.operators
        for index in operator.outputs
    )


def variants(data: bytes, target: str = TARGET, **options: str) -> Variants:
    """Fix a model for a target, its sizes bound to the default ones where the target asks for sizes.

    Raises GraphfixError where `fix` refuses it.
    """
    static = target_of(target).static
    with tempfile.TemporaryDirectory() as folder:
        source, bound, fixed = (Path(folder, f"{name}.tflite") for name in ("original", "bound", "fixed"))
        source.write_bytes(data)
        for path, only in ((bound, (NOTHING,)), (fixed, ())):
            graphfix.fix_file(
                source,
                path,
                target=target,
                only=only,
                bind_defaults=static,
                check_result=False,
                **options,  # type: ignore[arg-type]  # its keywords
            )
        return Variants(data, bound.read_bytes(), fixed.read_bytes())
