"""The first files of TFLite pairs: one-operator models of all builtin operators, and variants of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from models.builders.tflite.text import Quantized, pack, tree
from tests.support.pairs.tflite_file import BITS, KINDS, NAMES, Model, code_of, listed, packed, unpacked
from tests.support.pairs.tflite_operators import Text, texts
from tests.support.pairs.tflite_rewritten import REWRITTEN
from tests.support.places import MODELS, committed_models

LARGEST = 4000
"""Bytes of a committed model that is a first file."""


class Seed(NamedTuple):
    """A first file, and the builtin operator, or the folder of models/, that it is there for."""

    name: str
    operator: str
    file: bytes

    @property
    def ops(self) -> frozenset[str]:
        """The builtin operators that it has."""
        model = unpacked(self.file)
        return frozenset(NAMES.get(code_of(model, it), "") for graph in model.subgraphs for it in graph.operators or ())


def seeds(*given: str) -> tuple[Seed, ...]:
    """The first files, or those of some operators.

    They are the texts, each with an input or all of them made constants, and with views around it; a sparse constant;
    and the small models of models/.
    """
    return tuple(seed for operator in given or operators() for seed in _of(operator))


def operators() -> tuple[str, ...]:
    """The builtin operators that have first files, and the folders of models/ that have some."""
    return tuple(dict.fromkeys([*(text.op for text in texts()), "DENSIFY", *_committed()]))


@cache
def _of(operator: str) -> tuple[Seed, ...]:
    found = [Seed("sparse", "DENSIFY", _sparse())] if operator == "DENSIFY" else []
    for number, text in enumerate(texts()):
        if text.op == operator:
            file = _file(text)
            made = [*_variants(file), *_chained(file)]
            found += [Seed(f"{number} {text.op} {text.letter}{way}", text.op, each) for way, each in made]
    places = _committed().get(operator, ())
    return (*found, *(Seed(str(place), operator, (MODELS / place).read_bytes()) for place in places))


@cache
def _committed() -> dict[str, list[Path]]:
    """The small models by their folder."""
    found: dict[str, list[Path]] = {}
    for path in committed_models("tflite"):
        place = path.relative_to(MODELS)
        if path.stat().st_size <= LARGEST:
            found.setdefault(f"models/{place.parent}", []).append(place)
    return found


def _file(text: Text) -> bytes:
    scales = {name: Quantized(*numbers) for name, numbers in text.scales.items()}
    made = tree(text.text, quantization=scales)
    for graph in made.subgraphs:
        for tensor in graph.tensors:
            tensor.quantization = tensor.quantization if text.scaled else None
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


def _chained(file: bytes) -> Iterator[tuple[str, bytes]]:
    """With a lift and its way back before an operand, and behind the result."""
    model = unpacked(file)
    for name in ("written_there_and_back", "result_lifted"):
        for _ in REWRITTEN[name](model):
            made = packed(model)
            break
        else:
            continue
        yield f" {name}", made
        model = unpacked(file)


def _sparse() -> bytes:
    """DENSIFY of a constant of which three elements are stored."""
    made = tree("d[2,3] = DENSIFY(c:const[3]{1.0,2.5,-3.0})\ny[2,3] = ADD(x[2,3], d)")
    tensor = next(each for each in made.subgraphs[0].tensors if each.name == "c")
    rows, columns = schema.DimensionMetadataT(), schema.DimensionMetadataT()
    rows.format, rows.denseSize = schema.DimensionType.DENSE, 2
    columns.format = schema.DimensionType.SPARSE_CSR
    columns.arraySegmentsType = columns.arrayIndicesType = schema.SparseIndexVector.Uint8Vector
    columns.arraySegments, columns.arrayIndices = schema.Uint8VectorT(), schema.Uint8VectorT()
    columns.arraySegments.values, columns.arrayIndices.values = [0, 1, 3], [1, 0, 2]
    tensor.shape, tensor.sparsity = [2, 3], schema.SparsityParametersT()
    tensor.sparsity.traversalOrder, tensor.sparsity.dimMetadata = [0, 1], [rows, columns]
    return pack(made)
