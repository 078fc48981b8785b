"""The first files of TFLite pairs: one-operator models of all builtin operators, and variants of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from models.builders.tflite.text import pack, tree
from tests.support.pairs.tflite_file import BITS, KINDS, Model, listed, packed, unpacked
from tests.support.pairs.tflite_operators import texts


class Seed(NamedTuple):
    """A first file: `op` is the builtin operator that it is there for."""

    name: str
    op: str
    file: bytes


@cache
def seeds() -> tuple[Seed, ...]:
    """Every seed: the texts, each with an input or all of them made constants."""
    found = []
    for number, (op, letter, text, scaled) in enumerate(texts()):
        file = _file(text, scaled)
        found += [Seed(f"{number} {op} {letter}{way}", op, each) for way, each in _variants(file)]
    return tuple(found)


def _file(text: str, scaled: bool) -> bytes:
    made = tree(text)
    for graph in made.subgraphs:
        for tensor in graph.tensors:
            tensor.quantization = tensor.quantization if scaled else None
    return pack(made)


def _variants(file: bytes) -> Iterator[tuple[str, bytes]]:
    """As it is, each input a constant, all of them."""
    yield "", file
    inputs = listed(unpacked(file).subgraphs[0].inputs)
    chosen = [*([at] for at in inputs), *([inputs] if len(inputs) > 1 else [])]
    for each in chosen:
        model = unpacked(file)
        if all(_held(model, at) for at in each):
            model.subgraphs[0].inputs = np.asarray([at for at in inputs if at not in each], np.int32)
            yield f" constant {','.join(map(str, each))}", packed(model)


def _held(model: Model, at: int) -> bool:
    """Give a tensor a buffer, where its size is one and its elements are numbers."""
    tensor = model.subgraphs[0].tensors[at]
    if tensor.type not in BITS or -1 in listed(tensor.shapeSignature):
        return False
    count = int(np.prod(listed(tensor.shape)))
    random = np.random.default_rng(at)
    made = schema.BufferT()
    if tensor.type == KINDS.FLOAT32:
        data = random.choice([-2, -0.5, 0.25, 1, 3], size=count).astype(np.float32).tobytes()
    elif BITS[tensor.type] in (8, 32, 64, 16):
        data = random.integers(0, 2, count).astype(f"<i{BITS[tensor.type] // 8}").tobytes()
    else:
        data = bytes(-(-count * BITS[tensor.type] // 8))
    made.data = np.frombuffer(data, np.uint8)
    model.buffers.append(made)
    tensor.buffer = len(model.buffers) - 1
    return True
