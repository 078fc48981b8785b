"""An operator on constants of a TFLite model, and pairs of which one file holds a value and the other computes it.

The first file holds a value, the second one computes it. Where LiteRT refuses the operator, the value is what NumPy
makes of the same operands, taken generously: as a reader might that folds without asking whether a kernel would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_draft import KIND_OF, Draft, options
from tests.support.pairs.tflite_fields import array
from tests.support.pairs.tflite_file import CODES, packed

Array = np.ndarray
Compute = Callable[..., Any]
EXTREMES = (2**31 - 1, -(2**31))
"""For operators whose result is no greater than their operands."""
LARGEST = 200
"""Elements of a value that is tried."""


@dataclass(frozen=True)
class Fold:
    """An operator on constants: its operands, the type of its result, and what it may compute."""

    op: str
    operands: tuple[Array, ...]
    computes: tuple[Compute, ...]
    """From the operands and the options by name, values that a reader may take for the result."""
    result: str = "int32"
    table: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    shape: bool = False
    """Whether operand 0 is the SHAPE of an input."""

    def values(self) -> list[Array]:
        """The values that a reader may take for the result, none twice."""
        found: dict[tuple[Any, ...], Array] = {}
        for compute in self.computes:
            for wide in (False, True):
                operands = [
                    each.astype(np.int64) if wide and each.dtype.kind in "iu" else each for each in self.operands
                ]
                try:
                    with np.errstate(all="ignore"):
                        made = np.asarray(compute(*operands, **self.options)).astype(self.result)
                except Exception:  # noqa: BLE001, S112 -- NumPy too has nothing to say of them
                    continue
                if made.size <= LARGEST:
                    found.setdefault((made.shape, made.tobytes()), made)
        return list(found.values())


def folded(fold: Fold) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of files: one holds a value, the other has the operator in its place."""
    for value in fold.values():
        yield _file(fold, value, computed=False), _file(fold, value, computed=True)
        if (
            value.dtype.kind == "i"
            and value.ndim == 1
            and 0 < value.size < 5
            and set(value.tolist()) <= set(range(1, 8))
        ):
            yield _file(fold, value, computed=False, sizes=True), _file(fold, value, computed=True, sizes=True)


def _file(fold: Fold, value: Array, *, computed: bool, sizes: bool = False) -> bytes:
    """`y = SELECT_V2(c, value, x)`, or `y = BROADCAST_TO(x, value)` for `sizes`; the value held or computed."""
    model = schema.ModelT()
    model.version, model.operatorCodes, model.buffers = 3, [], [schema.BufferT()]
    graph = schema.SubGraphT()
    graph.tensors, graph.name = [], b"main"
    model.subgraphs = [graph]
    draft = Draft(model, graph)
    x = draft.tensor((), KIND_OF["float32" if sizes else value.dtype.name])
    inputs, operators = [x], []
    if fold.shape:
        shaped = draft.tensor([int(each) for each in fold.operands[0].ravel()], KIND_OF["bool"])
        inputs.append(shaped)
    if not computed:
        held = draft.constant(value, value.dtype.name)
    else:
        operands = [draft.constant(each, each.dtype.name) for each in fold.operands[fold.shape :]]
        if fold.shape:
            made = draft.tensor(fold.operands[0].shape, KIND_OF[fold.operands[0].dtype.name])
            kind = options("ShapeOptions", outType=graph.tensors[made].type)
            operators.append(draft.operator(CODES.SHAPE, [shaped], [made], kind))
            operands.insert(0, made)
        held = draft.tensor(value.shape, KIND_OF[value.dtype.name])
        table = options(fold.table, **fold.options) if fold.table else None
        operators.append(draft.operator(getattr(CODES, fold.op), operands, [held], table))
    if sizes:
        y = draft.tensor(value.tolist(), KIND_OF["float32"])
        operators.append(draft.operator(CODES.BROADCAST_TO, [x, held], [y], None, 2))
    else:
        condition, y = draft.tensor((), KIND_OF["bool"]), draft.tensor(value.shape, KIND_OF[value.dtype.name])
        inputs.append(condition)
        operators.append(draft.operator(CODES.SELECT_V2, [condition, held, x], [y]))
    graph.inputs, graph.outputs, graph.operators = array(inputs), array([y]), operators
    for at, tensor in zip((*inputs, y), (*(b"x", b"second", b"third")[: len(inputs)], b"y"), strict=True):
        graph.tensors[at].name = tensor
    return packed(model)
