"""Write the TFLite models of the benchmarks: the tables first, then random weights in pieces.

    python scripts/bench_tflite.py inline|operators AMOUNT PATH

`inline` contains 64 layers x[1,16,D] @ w[D,D] + b[D], each scaled and shifted by constants of rank 1, with about AMOUNT
bytes of weights in total. `operators` contains AMOUNT operators in one chain; every other operator has a second operand
that is a constant of rank 1.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ai_edge_litert.schema_py_generated as schema
import flatbuffers
import numpy as np

LAYERS = 64
ALIGNMENT = 16
SEQUENCE = 16
CODES = (schema.BuiltinOperator.FULLY_CONNECTED, schema.BuiltinOperator.MUL, schema.BuiltinOperator.ADD)
FULLY_CONNECTED, MUL, ADD = range(3)
_VERSIONS = (5, 1, 1)
"""The version of each operator in `CODES`. FULLY_CONNECTED keeps its input's rank from version 5 on."""


@dataclass
class Plan:
    """A chain of operators, with the shape and the name of each tensor by index, and the size of each buffer."""

    shapes: list[tuple[int, ...]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    buffers: list[int] = field(default_factory=lambda: [0])
    """The bytes of each buffer. The first buffer is for tensors without data."""
    tensors: list[int] = field(default_factory=list)
    """The index of each tensor's buffer."""
    operators: list[tuple[int, tuple[int, ...], int]] = field(default_factory=list)
    """For each operator: the index of its code in `CODES`, its operands, and its result."""

    def value(self, name: str, shape: tuple[int, ...]) -> int:
        """Add a tensor without data, and return its index."""
        self.shapes.append(shape)
        self.names.append(name)
        self.tensors.append(0)
        return len(self.shapes) - 1

    def constant(self, name: str, shape: tuple[int, ...]) -> int:
        """Add a float32 constant with a new buffer, and return its index."""
        made = self.value(name, shape)
        self.tensors[made] = len(self.buffers)
        self.buffers.append(4 * math.prod(shape))
        return made

    def call(self, code: int, operands: tuple[int, ...], name: str, shape: tuple[int, ...]) -> int:
        """Add an operator, and return the index of its result."""
        made = self.value(name, shape)
        self.operators.append((code, operands, made))
        return made


def layers(total: int) -> Plan:
    """Return the plan of 64 layers with about `total` bytes of weights."""
    width = -(-math.isqrt(total // (4 * LAYERS)) // 32) * 32
    plan, shape = Plan(), (1, SEQUENCE, width)
    value = plan.value("x", shape)
    for layer in range(LAYERS):
        weight = plan.constant(f"layer.{layer}/weight", (width, width))
        bias = plan.constant(f"layer.{layer}/bias", (width,))
        value = plan.call(FULLY_CONNECTED, (value, weight, bias), f"layer.{layer}/MatMul", shape)
        for code, name in ((MUL, "scale"), (ADD, "shift")):
            constant = plan.constant(f"layer.{layer}/{name}", (width,))
            value = plan.call(code, (value, constant), f"layer.{layer}/{name}d", shape)
    return plan


def chain(count: int) -> Plan:
    """Return the plan of `count` operators in a chain; every other operator has an operand to lift."""
    plan, shape = Plan(), (1, 4, 4, 8)
    value = plan.value("x", shape)
    for index in range(count):
        other = value if index % 2 else plan.constant(f"c{index}", shape[-1:])
        value = plan.call((MUL, ADD)[index // 2 % 2], (value, other), f"t{index}", shape)
    return plan


# --- the file ---------------------------------------------------------------------------------------------------------


def _numbers(builder: flatbuffers.Builder, numbers: Sequence[int]) -> int:
    """Write a vector of int32 numbers, and return its offset."""
    return int(builder.CreateNumpyVector(np.array(numbers, np.int32)))


def _tables(builder: flatbuffers.Builder, tables: Sequence[int]) -> int:
    """Write a vector of tables, and return its offset."""
    builder.StartVector(4, len(tables), 4)
    for table in reversed(tables):
        builder.PrependUOffsetTRelative(table)
    return int(builder.EndVector())


def _table(builder: flatbuffers.Builder, name: str, **fields: Any) -> int:  # noqa: ANN401 -- numbers and offsets
    """Write a table of the schema by the generated functions for `name`, and return its offset."""
    getattr(schema, f"{name}Start")(builder)
    for key, value in fields.items():
        getattr(schema, f"{name}Add{key}")(builder, value)
    return int(getattr(schema, f"{name}End")(builder))


def _tensor(builder: flatbuffers.Builder, plan: Plan, index: int) -> int:
    """Write the table of tensor `index`, and return its offset."""
    name, shape = builder.CreateString(plan.names[index]), _numbers(builder, plan.shapes[index])
    return _table(builder, "Tensor", Shape=shape, Buffer=plan.tensors[index], Name=name, HasRank=True)


def _operator(builder: flatbuffers.Builder, code: int, operands: Sequence[int], result: int) -> int:
    """Write the table of an operator, and return its offset."""
    kind = ("FullyConnectedOptions", "MulOptions", "AddOptions")[code]
    options = _table(builder, kind, **({"KeepNumDims": True} if code == FULLY_CONNECTED else {}))
    return _table(
        builder,
        "Operator",
        OpcodeIndex=code,
        Inputs=_numbers(builder, operands),
        Outputs=_numbers(builder, [result]),
        BuiltinOptionsType=getattr(schema.BuiltinOptions, kind),
        BuiltinOptions=options,
    )


def head(plan: Plan, places: Sequence[int]) -> bytes:
    """Return the tables of the file. `places` is each buffer's distance in bytes from the end of the tables.

    The Builder counts offsets from the end, so data behind the end has a negative offset.
    """
    builder = flatbuffers.Builder(1 << 20)
    builder.Prep(ALIGNMENT, 0)
    buffers = [
        _table(builder, "Buffer", **({"Data": -place} if size else {}))
        for size, place in zip(plan.buffers, places, strict=True)
    ]
    codes = [
        _table(builder, "OperatorCode", DeprecatedBuiltinCode=code, Version=version, BuiltinCode=code)
        for code, version in zip(CODES, _VERSIONS, strict=True)
    ]
    graph = {
        "Tensors": _tables(builder, [_tensor(builder, plan, index) for index in range(len(plan.shapes))]),
        "Inputs": _numbers(builder, [0]),
        "Outputs": _numbers(builder, [plan.operators[-1][2]]),
        "Operators": _tables(builder, [_operator(builder, *each) for each in plan.operators]),
        "Name": builder.CreateString("main"),
    }
    parts = {
        "OperatorCodes": _tables(builder, codes),
        "Subgraphs": _tables(builder, [_table(builder, "SubGraph", **graph)]),
        "Buffers": _tables(builder, buffers),
    }
    builder.Finish(_table(builder, "Model", Version=3, **parts), b"TFL3")
    return bytes(builder.Output())


def write(path: Path, plan: Plan) -> None:
    """Write the tables, and behind them each buffer's length and random data, aligned and at most 16 MiB at a time."""
    places, end = [], 0
    for size in plan.buffers:
        end += -(end + 4) % ALIGNMENT
        places.append(end)
        end += 4 + size
    draw = np.random.default_rng(0)
    with path.open("wb") as file:
        file.write(head(plan, places))
        start = file.tell()
        for size, place in zip(plan.buffers, places, strict=True):
            file.write(bytes(start + place - file.tell()) + size.to_bytes(4, "little"))
            for piece in range(0, size, 1 << 24):
                count = min(size - piece, 1 << 24) // 4
                file.write(draw.uniform(-0.05, 0.05, count).astype("<f4").tobytes())


KINDS = {"inline": layers, "operators": chain}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Write a TFLite model of the benchmark.")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("amount", type=int, help="bytes of weights, or number of operators")
    parser.add_argument("path", type=Path)
    options = parser.parse_args()
    write(options.path, KINDS[options.kind](options.amount))


if __name__ == "__main__":
    main()
