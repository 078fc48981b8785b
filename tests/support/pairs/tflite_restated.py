"""Constants stretched, SELECT of the other version, results lifted: what a TFLite model computes, written otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_draft import Draft
from tests.support.pairs.tflite_fields import Change, array, put
from tests.support.pairs.tflite_file import CODES, Model, code_of, listed


def constant_stretched(model: Model) -> Iterator[None]:
    """A constant written out along one more axis or a unit axis, its bytes repeated, or with another shape."""
    for graph in model.subgraphs:
        for tensor in graph.tensors or ():
            held = (
                np.asarray(listed(model.buffers[tensor.buffer].data), np.uint8)
                if tensor.buffer < len(model.buffers)
                else array([])
            )
            if not held.size:
                continue
            shape = listed(tensor.shape)
            made = schema.BufferT()
            model.buffers.append(made)
            for to, times in (
                ([2, *shape], 2),
                ([1, *shape], 1),
                ([*shape, 1], 1),
                ([0, *shape], 0),
                ([1] * (9 - len(shape)) + shape, 1),
            ):
                made.data = np.tile(held, times)
                yield from put(tensor, shape=array(to), buffer=len(model.buffers) - 1)
            model.buffers.pop()


def select_of_the_other_version(model: Model) -> Iterator[None]:
    for code in model.operatorCodes:
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        other = {CODES.SELECT: CODES.SELECT_V2, CODES.SELECT_V2: CODES.SELECT}.get(number)
        if other is not None:
            for version in (code.version, 1, 2):
                yield from put(code, builtinCode=other, deprecatedBuiltinCode=other, version=version)


def result_lifted(model: Model) -> Iterator[None]:
    """The main result with a unit axis, and taken back by a RESHAPE or SQUEEZE behind it."""
    for graph in model.subgraphs:
        draft = Draft(model, graph)
        for at, operator in enumerate(graph.operators or []):
            outputs = listed(operator.outputs)
            if not outputs or code_of(model, operator) in (CODES.VAR_HANDLE, CODES.HASHTABLE):
                continue
            shape = listed(graph.tensors[outputs[0]].shape)
            tensors, buffers, codes = len(graph.tensors), len(model.buffers), len(model.operatorCodes)
            middle = draft.like(outputs[0], [1, *shape])
            back = draft.operator(CODES.RESHAPE, [middle, draft.constant(shape)], [outputs[0]])
            kept, operator.outputs = operator.outputs, array([middle, *outputs[1:]])
            yield from put(graph, operators=[*graph.operators[: at + 1], back, *graph.operators[at + 1 :]])
            operator.outputs = kept
            del graph.tensors[tensors:], model.buffers[buffers:], model.operatorCodes[codes:]


def lifted_throughout(model: Model) -> Iterator[None]:
    """All operands of an operator at a greater rank, the result too, and a RESHAPE back behind it."""
    for graph in model.subgraphs:
        draft = Draft(model, graph)
        for at, operator in enumerate(graph.operators or []):
            inputs, outputs = listed(operator.inputs), listed(operator.outputs)
            if not outputs or -1 in inputs or code_of(model, operator) in (CODES.VAR_HANDLE, CODES.HASHTABLE):
                continue
            highest = max(len(listed(graph.tensors[each].shape)) for each in (*inputs, *outputs))
            for rank in range(highest + 1, 10):
                tensors, buffers, codes = len(graph.tensors), len(model.buffers), len(model.operatorCodes)
                new, lifted = [], {}
                for each in dict.fromkeys(inputs):
                    to = _lifted(draft, each, rank)
                    lifted[each] = draft.like(each, to)
                    new.append(draft.operator(CODES.RESHAPE, [each, draft.constant(to)], [lifted[each]]))
                middle = draft.like(outputs[0], _lifted(draft, outputs[0], rank))
                shape = listed(graph.tensors[outputs[0]].shape)
                back = draft.operator(CODES.RESHAPE, [middle, draft.constant(shape)], [outputs[0]])
                kept = operator.inputs, operator.outputs
                operator.inputs, operator.outputs = (
                    array([lifted[each] for each in inputs]),
                    array([middle, *outputs[1:]]),
                )
                before, behind = graph.operators[:at], graph.operators[at + 1 :]
                yield from put(graph, operators=[*before, *new, operator, back, *behind])
                operator.inputs, operator.outputs = kept
                del graph.tensors[tensors:], model.buffers[buffers:], model.operatorCodes[codes:]


def _lifted(draft: Draft, at: int, rank: int) -> list[int]:
    shape = listed(draft.graph.tensors[at].shape)
    return [1] * (rank - len(shape)) + shape


RESTATED: Mapping[str, Change] = {
    "constant_stretched": constant_stretched,
    "select_of_the_other_version": select_of_the_other_version,
    "result_lifted": result_lifted,
    "lifted_throughout": lifted_throughout,
}
