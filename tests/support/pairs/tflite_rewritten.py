"""Broadcasts of a TFLite model written otherwise: lifts, stretches, computed constants, operators of one meaning.

Some say the same and some do not: what the proof says of them is what is judged. See tflite_changes for the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from tests.support.pairs.tflite_draft import Draft, options
from tests.support.pairs.tflite_fields import Change, array, put
from tests.support.pairs.tflite_file import CODES, KINDS, Model, listed
from tests.support.pairs.tflite_restated import RESTATED

View = Callable[[Draft, int], Iterator[tuple[list[Model], int]]]
"""From an operand the operators that make another of it, and that one."""


def rewritten(model: Model, view: View) -> Iterator[None]:
    """Each operand of each operator through the view."""
    for graph in model.subgraphs:
        draft = Draft(model, graph)
        for place, operator in enumerate(graph.operators or []):
            held = listed(operator.inputs)
            for at, operand in enumerate(held):
                if operand < 0 or graph.tensors[operand].isVariable or graph.tensors[operand].type == KINDS.RESOURCE:
                    continue
                tensors, buffers, codes = len(graph.tensors), len(model.buffers), len(model.operatorCodes)
                for new, result in view(draft, operand):
                    kept, operator.inputs = operator.inputs, array([*held[:at], result, *held[at + 1 :]])
                    yield from put(graph, operators=[*graph.operators[:place], *new, *graph.operators[place:]])
                    operator.inputs = kept
                    del graph.tensors[tensors:], model.buffers[buffers:], model.operatorCodes[codes:]


def dims(draft: Draft, at: int) -> list[int]:
    return listed(draft.graph.tensors[at].shape)


def _lift_shapes(shape: list[int]) -> list[list[int]]:
    return [
        [1, *shape],
        [1, 1, *shape],
        [*shape, 1],
        [1] * (8 - len(shape)) + shape,
        [1] * (9 - len(shape)) + shape,
        shape,
    ]


def reshaped(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    for to in _lift_shapes(dims(draft, at)):
        targets = (to, [-1, *to[1:]], [0, *to[1:]], [-2, *to[1:]], [[size] for size in to])
        for target, dtype in ((target, dtype) for target in targets for dtype in ("int32", "int64")):
            made = draft.like(at, to)
            yield [draft.operator(CODES.RESHAPE, [at, draft.constant(target, dtype)], [made])], made
        for operands in ([at], [at, draft.constant(to)]):
            for stated in (None, to, [*to, 1], to[::-1]):
                made = draft.like(at, to)
                given = options("ReshapeOptions", newShape=None if stated is None else array(stated))
                yield [draft.operator(CODES.RESHAPE, operands, [made], given)], made


def expanded(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    shape = dims(draft, at)
    rank = len(shape)
    for axis, to in (
        (0, [1, *shape]),
        (-1, [*shape, 1]),
        (rank, [*shape, 1]),
        (-rank - 1, [1, *shape]),
        (rank + 1, [*shape, 1]),
        (1, [*shape[:1], 1, *shape[1:]]),
    ):
        for value, dtype in (
            (axis, "int32"),
            ([axis], "int32"),
            (axis, "int64"),
            ([axis, axis], "int32"),
            (axis, "int16"),
            ([[axis]], "int32"),
        ):
            made = draft.like(at, to)
            yield [draft.operator(CODES.EXPAND_DIMS, [at, draft.constant(value, dtype)], [made])], made
    made = draft.like(at, [1, *shape])
    yield [draft.operator(CODES.EXPAND_DIMS, [at, draft.constant(0)], [made], options("ExpandDimsOptions"))], made


def squeezed(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    shape = dims(draft, at)
    for axes in ([], [0], [-1], [len(shape)], [0, 0], [-9]):
        for given in (axes, None):
            kept = [
                size
                for axis, size in enumerate(shape)
                if size != 1 or (given and axis not in [each % max(len(shape), 1) for each in given])
            ]
            made = draft.like(at, kept)
            yield (
                [
                    draft.operator(
                        CODES.SQUEEZE,
                        [at],
                        [made],
                        options("SqueezeOptions", squeezeDims=None if given is None else array(given)),
                    )
                ],
                made,
            )


def lifted_and_squeezed(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    shape = dims(draft, at)
    middle, made = draft.like(at, [1, *shape]), draft.like(at, shape)
    lift = draft.operator(CODES.EXPAND_DIMS, [at, draft.constant(0)], [middle])
    yield (
        [lift, draft.operator(CODES.SQUEEZE, [middle], [made], options("SqueezeOptions", squeezeDims=array([0])))],
        made,
    )
    yield [lift, draft.operator(CODES.RESHAPE, [middle, draft.constant(shape)], [made])], made


def _stretches(draft: Draft, at: int) -> list[list[int]]:
    shape = dims(draft, at)
    found = [
        shape,
        [1, *shape],
        [2, *shape],
        [*([1] * (8 - len(shape))), *shape],
        [*([1] * (9 - len(shape))), *shape],
        [0, *shape],
    ]
    found += [listed(tensor.shape) for tensor in draft.graph.tensors[:6]]
    found += [[size if axis != other else 2 * size for axis, size in enumerate(shape)] for other in range(len(shape))]
    return [list(each) for each in dict.fromkeys(map(tuple, found))]


def broadcast_to(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    for to in _stretches(draft, at):
        for value, dtype, version in (
            (to, "int32", 2),
            (to, "int64", 2),
            (to, "int32", 1),
            (to, "int32", 3),
            ([to], "int32", 2),
            (to, "int16", 2),
        ):
            made = draft.like(at, to)
            yield [draft.operator(CODES.BROADCAST_TO, [at, draft.constant(value, dtype)], [made], None, version)], made
        made = draft.like(at, to)
        yield (
            [draft.operator(CODES.BROADCAST_TO, [at, draft.constant(to)], [made], options("BroadcastToOptions"), 2)],
            made,
        )


def broadcast_in_dim(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    shape = dims(draft, at)
    for to in _stretches(draft, at):
        if len(to) < len(shape):
            continue
        axes = list(range(len(to) - len(shape), len(to)))
        made = draft.like(at, to)
        yield [draft.operator(CODES.STABLEHLO_BROADCAST_IN_DIM, [at, draft.constant(axes, "int64")], [made])], made
        given = options("StablehloBroadcastInDimOptions", broadcastDimensions=np.asarray(axes, np.int64))
        yield [draft.operator(CODES.STABLEHLO_BROADCAST_IN_DIM, [at], [made], given)], made


def tiled(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    shape = dims(draft, at)
    for to in _stretches(draft, at):
        if len(to) != len(shape):
            continue
        times = [new // old if old else 1 for new, old in zip(to, shape, strict=True)]
        for value, dtype in (
            (times, "int32"),
            (times, "int64"),
            ([times], "int32"),
            (times, "int16"),
            (times[1:], "int32"),
            ([1, *times], "int32"),
        ):
            made = draft.like(at, to)
            yield [draft.operator(CODES.TILE, [at, draft.constant(value, dtype)], [made])], made


def at_run_time(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    """Stretched or reshaped to the SHAPE of tensors, as they are and after one operator on them."""
    shape = dims(draft, at)
    for other in dict.fromkeys([at, *listed(draft.graph.inputs)]):
        to = dims(draft, other)
        sizes, own, both = (draft.tensor([len(each)], KINDS.INT32) for each in (to, shape, max(to, shape, key=len)))
        read = draft.operator(CODES.SHAPE, [other], [sizes], options("ShapeOptions", outType=KINDS.INT32))
        mine = draft.operator(CODES.SHAPE, [at], [own], options("ShapeOptions", outType=KINDS.INT32))
        made = draft.like(at, to)
        yield [read, draft.operator(CODES.BROADCAST_TO, [at, sizes], [made], None, 2)], made
        yield [read, draft.operator(CODES.RESHAPE, [at, sizes], [made])], made
        arguments = draft.operator(CODES.BROADCAST_ARGS, [sizes, own], [both])
        stretched = draft.like(at, max(to, shape, key=len))
        yield [read, mine, arguments, draft.operator(CODES.BROADCAST_TO, [at, both], [stretched], None, 2)], stretched
        longer, lifted = draft.tensor([len(shape) + 1], KINDS.INT32), draft.like(at, [1, *shape])
        joined = draft.operator(
            CODES.CONCATENATION, [draft.constant([1]), own], [longer], options("ConcatenationOptions")
        )
        yield [mine, joined, draft.operator(CODES.RESHAPE, [at, longer], [lifted])], lifted
        yield [mine, joined, draft.operator(CODES.BROADCAST_TO, [at, longer], [lifted], None, 2)], lifted


def cast_to_itself(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    kind = draft.graph.tensors[at].type
    made = draft.like(at, dims(draft, at))
    yield [draft.operator(CODES.CAST, [at], [made])], made
    for one, two in ((kind, kind), (0, 0), (2, 4)):
        yield [draft.operator(CODES.CAST, [at], [made], options("CastOptions", inDataType=one, outDataType=two))], made


def cast_and_back(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    for other in (KINDS.INT64, KINDS.FLOAT32, KINDS.UINT8, KINDS.BOOL, KINDS.INT32):
        middle, made = draft.tensor(dims(draft, at), other), draft.like(at, dims(draft, at))
        yield [draft.operator(CODES.CAST, [at], [middle]), draft.operator(CODES.CAST, [middle], [made])], made


def identities(draft: Draft, at: int) -> Iterator[tuple[list[Model], int]]:
    """Operators that may return their operand as it is."""
    shape = dims(draft, at)
    rank = len(shape)
    zeros, ones = [0] * rank, [1] * rank

    def one(code: int, *operands: int, given: Model = None, version: int = 1) -> tuple[list[Model], int]:
        made = draft.like(at, shape)
        return [draft.operator(code, [at, *operands], [made], given, version)], made

    yield one(CODES.TRANSPOSE, draft.constant(range(rank)))
    yield one(CODES.TRANSPOSE, draft.constant(range(-rank, 0)))
    yield one(CODES.SLICE, draft.constant(zeros), draft.constant(shape))
    yield one(CODES.SLICE, draft.constant(zeros), draft.constant([-1] * rank))
    yield one(CODES.SLICE, draft.constant(zeros), draft.constant([-2] * rank))
    yield one(CODES.SLICE, draft.constant(zeros, "int64"), draft.constant(shape))
    for masks in ({}, {"endMask": 255}, {"offset": True}, {"beginMask": 255, "endMask": 255}, {"ellipsisMask": 1}):
        given = options("StridedSliceOptions", **masks)
        yield one(CODES.STRIDED_SLICE, draft.constant(zeros), draft.constant(shape), draft.constant(ones), given=given)
    for axis in (0, -1, rank, -rank - 1):
        yield one(CODES.CONCATENATION, given=options("ConcatenationOptions", axis=axis))
    yield one(CODES.CONCATENATION)
    yield one(CODES.PAD, draft.constant([[0, 0]] * rank if rank else np.zeros((0, 2))))
    yield one(CODES.REVERSE_V2, draft.constant([0]))
    yield one(CODES.GATHER, draft.constant(range(shape[0] if shape else 1)), given=options("GatherOptions"))
    yield one(CODES.DEQUANTIZE)
    yield one(CODES.QUANTIZE)
    yield one(CODES.RELU)
    yield one(CODES.ADD_N)
    yield one(CODES.SUM, draft.constant(np.zeros(0)), given=options("ReducerOptions", keepDims=True))
    yield one(CODES.MEAN, draft.constant(np.zeros(0)), given=options("ReducerOptions"))
    yield one(CODES.SPLIT, given=options("SplitOptions", numSplits=1))
    yield one(CODES.CUMSUM, draft.constant(0))


def _as(view: View) -> Change:
    return lambda model: rewritten(model, view)


VIEWS: Mapping[str, View] = {
    "written_by_reshape": reshaped, "written_by_expand_dims": expanded, "written_by_squeeze": squeezed,
    "written_there_and_back": lifted_and_squeezed, "written_by_broadcast_to": broadcast_to,
    "written_by_broadcast_in_dim": broadcast_in_dim, "written_by_tile": tiled, "written_by_cast": cast_to_itself,
    "written_by_casts": cast_and_back, "written_by_identity": identities, "written_at_run_time": at_run_time,
}  # fmt: skip


REWRITTEN: Mapping[str, Change] = {**{name: _as(view) for name, view in VIEWS.items()}, **RESTATED}
