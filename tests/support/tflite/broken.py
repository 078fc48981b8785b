"""Small TFLite files broken in one way: part by part through LiteRT's object API, or byte by byte in the raw format."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from models.builders.tflite.text import pack, tree

if TYPE_CHECKING:
    from collections.abc import Callable

ADD = "y[2,3] = ADD(x[2,3], b:const[3])"
CHAIN = "a[2,3] = ADD(x[2,3], b:const[3])\ny[2,3] = NEG(a[2,3])"
BODIES = """
y[2,3] = IF(c:bool[], x[2,3], then=yes, else=no)
subgraph yes:
t[2,3] = ADD(x[2,3], b:const[3])
subgraph no:
t[2,3] = IF(d:const:bool[]{True}, x[2,3], then=yes, else=yes)
"""
LOOP = """
i2:int32[], y[2,3] = WHILE(i:int32[], x[2,3], cond=test, body=step)
subgraph test(i:int32[], x[2,3]) -> go:
go:bool[] = LESS(i, n:const:int32[]{3})
subgraph step(i:int32[], x[2,3]) -> j, t:
j:int32[] = ADD(i, n:const:int32[]{1})
t[2,3] = ADD(x, b:const[3])
"""


def edited(change: Callable[[Any], object], text: str = ADD) -> bytes:
    """A file after a change of its ModelT."""
    made = tree(text)
    change(made)
    return pack(made)


def ladder(depth: int) -> bytes:
    """IF in IF: each subgraph runs the next one, the last one adds a constant of rank 1."""
    lines = ["y[2,3] = IF(c:bool[], x[2,3], then=s1, else=s1)"]
    for level in range(1, depth):
        lines += [f"subgraph s{level}:", f"y[2,3] = IF(c:const:bool[], x[2,3], then=s{level + 1}, else=s{level + 1})"]
    return edited(lambda _: None, "\n".join([*lines, f"subgraph s{depth}:", ADD]))


class Raw:
    """A file as bytes that may be written over; tables are found by walking it, as FlatBuffers' internals say."""

    def __init__(self, text: str = ADD) -> None:
        self.data = bytearray(pack(tree(text)))

    @property
    def model(self) -> int:
        """The place of the Model table."""
        return self.number(0)

    def number(self, at: int, form: str = "<I") -> int:
        return int(struct.unpack_from(form, self.data, at)[0])

    def put(self, at: int, value: int, form: str = "<I") -> None:
        struct.pack_into(form, self.data, at, value)

    def vtable(self, table: int) -> int:
        return table - self.number(table, "<i")

    def entry(self, table: int, slot: int) -> int:
        """Where the vtable says how far a field lies from the table's begin."""
        return self.vtable(table) + 4 + 2 * slot

    def field(self, table: int, slot: int) -> int:
        """Where a field lies that is there."""
        distance = self.number(self.entry(table, slot), "<H")
        assert distance
        return table + distance

    def target(self, at: int) -> int:
        return at + self.number(at)

    def item(self, table: int, slot: int, index: int = 0) -> int:
        """The table that is item `index` of a vector of tables."""
        return self.target(self.target(self.field(table, slot)) + 4 + 4 * index)

    @property
    def subgraph(self) -> int:
        return self.item(self.model, 2)

    @property
    def tensor(self) -> int:
        return self.item(self.subgraph, 0)

    @property
    def operator(self) -> int:
        return self.item(self.subgraph, 3)

    @property
    def constant(self) -> int:
        """The Buffer table that holds bytes."""
        return self.item(self.model, 4, 1)


def broken(change: Callable[[Raw], object], text: str = ADD) -> bytes:
    """A file with bytes written over."""
    raw = Raw(text)
    change(raw)
    return bytes(raw.data)
