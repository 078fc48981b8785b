"""Changes of TFLite tensors and of the buffers behind them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_fields import Change, array, put, tensors_of
from tests.support.pairs.tflite_file import BITS, KINDS, Model, listed

TYPES = [number for name, number in vars(KINDS).items() if not name.startswith("_")]


def type_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in tensors_of(model):
        for number in (*TYPES, 40):
            if number != tensor.type:
                yield from put(tensor, type=number)


def shape_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in tensors_of(model):
        dims = listed(tensor.shape)
        others = [[], [1, *dims], [*dims, 1], dims[::-1], dims[1:], [int(np.prod(dims))], [*dims, 0], [1] * 9]
        for at in range(len(dims)):
            others += [[*dims[:at], size, *dims[at + 1 :]] for size in (dims[at] + 1, 1, 0, -1, 2**31 - 1)]
        for other in others:
            if other != dims:
                yield from put(tensor, shape=array(other))
        yield from put(tensor, shape=None)
        yield from put(tensor, shape=None, hasRank=False)


def signature_of_a_shape(model: Model) -> Iterator[None]:
    for _, tensor in tensors_of(model):
        dims = listed(tensor.shape)
        for other in (
            None,
            dims,
            [-1] * len(dims),
            [-1, *dims[1:]],
            [*dims, 1],
            [*dims, -1],
            [],
            [size + 1 for size in dims],
        ):
            yield from put(tensor, shapeSignature=None if other is None else array(other))


def buffer_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in tensors_of(model):
        for other in (*range(len(model.buffers)), len(model.buffers), 1000):
            if other != tensor.buffer:
                yield from put(tensor, buffer=other)


def buffer_of_a_tensor_new(model: Model) -> Iterator[None]:
    """A buffer for a tensor that had none: of the right length, and of others."""
    for _, tensor in tensors_of(model):
        bits = BITS.get(tensor.type, 8)
        size = -(-int(np.prod([abs(each) for each in listed(tensor.shape)] or [1])) * bits // 8)
        for length in {0, 1, size, size + 1} if size < 10_000 else ():
            made = schema.BufferT()
            made.data = np.ones(length, np.uint8)
            model.buffers.append(made)
            yield from put(tensor, buffer=len(model.buffers) - 1)
            model.buffers.pop()


def scales_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in tensors_of(model):
        if tensor.quantization is not None:
            yield from put(tensor, quantization=None)
        rank = len(listed(tensor.shape))
        for scale, zero, axis in (
            ([0.5], [0], 0), ([1.0], [0], 0), ([0.25], [3], 0), ([], [], 0), ([0.5], [], 0), ([], [0], 0),
            ([0.5, 0.25], [0, 0], 0), ([0.5, 0.25], [0, 0], 1), ([0.5, 0.25, 1.0], [0, 0, 0], rank - 1),
            ([0.5, 0.25], [0], 7), ([0.0], [0], 0), ([-1.0], [0], 0), ([float("nan")], [0], 0), ([0.5], [2**40], 0),
        ):  # fmt: skip
            made = schema.QuantizationParametersT()
            made.scale, made.zeroPoint = np.asarray(scale, np.float32), np.asarray(zero, np.int64)
            made.quantizedDimension = axis
            yield from put(tensor, quantization=made)


def sparsity_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in tensors_of(model):
        if tensor.sparsity is not None:
            yield from put(tensor, sparsity=None)
            continue
        yield from put(tensor, sparsity=schema.SparsityParametersT())
        dense = schema.SparsityParametersT()
        dense.traversalOrder = array(range(len(listed(tensor.shape))))
        dense.dimMetadata = []
        for size in listed(tensor.shape):
            axis = schema.DimensionMetadataT()
            axis.format, axis.denseSize = schema.DimensionType.DENSE, size
            dense.dimMetadata.append(axis)
        yield from put(tensor, sparsity=dense)


def variant_of_a_tensor(model: Model) -> Iterator[None]:
    for _, tensor in tensors_of(model):
        made = schema.VariantSubTypeT()
        made.shape = array([1])
        yield from put(tensor, variantTensors=[made])


def unused_tensor_added(model: Model) -> Iterator[None]:
    for graph in model.subgraphs:
        for shape, number, buffer in (
            ([2], KINDS.FLOAT32, 0), ([-1], KINDS.FLOAT32, 0), ([2**31 - 1] * 3, KINDS.FLOAT32, 0), ([2], 40, 0),
            ([2], KINDS.FLOAT32, 999), ([2], KINDS.STRING, 0), ([], KINDS.RESOURCE, 0), ([2], KINDS.VARIANT, 0),
            ([3], KINDS.INT4, len(model.buffers) - 1), ([99], KINDS.INT4, len(model.buffers) - 1),
            ([99], KINDS.FLOAT32, len(model.buffers) - 1), ([1] * 20, KINDS.FLOAT32, 0), ([0], KINDS.FLOAT32, 0),
        ):  # fmt: skip
            made = schema.TensorT()
            made.name, made.shape, made.type, made.buffer, made.hasRank = b"unused", array(shape), number, buffer, True
            yield from put(graph, tensors=[*(graph.tensors or []), made])
            made.isVariable = True
            yield from put(graph, tensors=[*(graph.tensors or []), made])


def tensors_renamed(model: Model) -> Iterator[None]:
    for graph, tensor in tensors_of(model):
        names = {other.name for other in graph.tensors}
        for other in (b"renamed", b"", None, *sorted(name for name in names - {tensor.name} if name)):
            yield from put(tensor, name=other)


def bits_of_a_buffer(model: Model) -> Iterator[None]:
    for buffer in model.buffers:
        held = np.asarray(listed(buffer.data), np.uint8)
        for at in {0, held.size // 2, held.size - 1} if held.size else ():
            for bit in (1, 128):
                other = held.copy()
                other[at] ^= bit
                yield from put(buffer, data=other)


def length_of_a_buffer(model: Model) -> Iterator[None]:
    for buffer in model.buffers:
        held = np.asarray(listed(buffer.data), np.uint8)
        for other in (
            None,
            held[:0],
            held[:-1],
            held[: held.size // 2],
            np.append(held, held[:1]),
            np.append(held, held),
        ):
            yield from put(buffer, data=other)


def place_of_a_buffer(model: Model) -> Iterator[None]:
    """An offset and a size, beside the data or in their place."""
    for buffer in model.buffers:
        for offset, size in ((1, 0), (0, 4), (1, 1), (16, 4), (100, 8), (2**40, 4), (4, 2**40)):
            yield from put(buffer, offset=offset, size=size)
            yield from put(buffer, offset=offset, size=size, data=None)


def buffer_added(model: Model) -> Iterator[None]:
    made = schema.BufferT()
    held = model.buffers
    yield from put(model, buffers=[*held, made])
    made.data = np.ones(7, np.uint8)
    yield from put(model, buffers=[*held, made])
    yield from put(model, buffers=[made, *held])
    made.offset = 99
    yield from put(model, buffers=[*held, made])
    yield from put(model, buffers=held[:-1])
    yield from put(model, buffers=held[::-1])
    yield from put(model, buffers=[])
    yield from put(model, buffers=None)


CHANGES: Mapping[str, Change] = {
    change.__name__: change
    for change in (
        type_of_a_tensor,
        shape_of_a_tensor,
        signature_of_a_shape,
        buffer_of_a_tensor,
        buffer_of_a_tensor_new,
        scales_of_a_tensor,
        sparsity_of_a_tensor,
        variant_of_a_tensor,
        unused_tensor_added,
        tensors_renamed,
        bits_of_a_buffer,
        length_of_a_buffer,
        place_of_a_buffer,
        buffer_added,
    )
}
