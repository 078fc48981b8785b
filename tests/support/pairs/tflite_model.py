"""Changes of a TFLite model around its operators: subgraphs, signatures, metadata, what the file states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_fields import Change, array, put, tensors_of, twin
from tests.support.pairs.tflite_file import Model, listed


def face_of_a_subgraph(model: Model) -> Iterator[None]:
    """Inputs and outputs in another order, fewer, more, twice."""
    for graph in model.subgraphs:
        for side in ("inputs", "outputs"):
            held = listed(getattr(graph, side))
            others = [held[:-1], held[1:], held[::-1], [], [-1, *held], [*held, len(graph.tensors)]]
            others += [[*held, at] for at in range(len(graph.tensors or []))]
            others += [[at, *held[1:]] for at in range(len(graph.tensors or []))]
            for other in others:
                if other != held:
                    yield from put(graph, **{side: array(other)})


def subgraph_added(model: Model) -> Iterator[None]:
    held = model.subgraphs
    empty = schema.SubGraphT()
    for each in (empty, twin(held[0]), twin(held[-1])):
        each.name = b"extra"
        yield from put(model, subgraphs=[*held, each])
    yield from put(model, subgraphs=[twin(held[0]), *held])
    broken = twin(held[0])
    for operator in broken.operators or ():
        operator.opcodeIndex = 99
    yield from put(model, subgraphs=[*held, broken])
    fails = twin(held[0])
    for operator in fails.operators or ():
        operator.inputs = array([])
    yield from put(model, subgraphs=[*held, fails])


def subgraph_dropped(model: Model) -> Iterator[None]:
    if len(model.subgraphs) > 1:
        yield from put(model, subgraphs=model.subgraphs[:-1])
        yield from put(model, subgraphs=model.subgraphs[::-1])


def signature_added(model: Model) -> Iterator[None]:
    held = model.signatureDefs or []
    made = schema.SignatureDefT()
    made.signatureKey, made.inputs, made.outputs = b"added", [], []
    yield from put(model, signatureDefs=[*held, made])
    for index in (99, 2**31):
        made.subgraphIndex = index
        yield from put(model, signatureDefs=[*held, made])
    name = schema.TensorMapT()
    name.name, name.tensorIndex = b"x", 999
    made.subgraphIndex, made.inputs = 0, [name]
    yield from put(model, signatureDefs=[*held, made])


def signature_dropped(model: Model) -> Iterator[None]:
    held = model.signatureDefs or []
    if held:
        yield from put(model, signatureDefs=held[1:] or None)
        yield from put(model, signatureDefs=[*held, twin(held[0])])
        yield from put(model, signatureDefs=held[::-1])
        yield from put(held[0], inputs=(held[0].inputs or [])[1:])
        yield from put(held[0], outputs=(held[0].outputs or [])[1:])
        yield from put(held[0], inputs=(held[0].inputs or [])[::-1])


def metadata_changed(model: Model) -> Iterator[None]:
    held = model.metadata or []
    if held:
        yield from put(model, metadata=None)
    for name, buffer in (
        (b"note", 0),
        (b"note", 999),
        (b"min_runtime_version", 0),
        (None, 0),
        (b"reduced_precision_support", 0),
    ):
        made = schema.MetadataT()
        made.name, made.buffer = name, buffer
        yield from put(model, metadata=[*held, made])


def external_buffers(model: Model) -> Iterator[None]:
    group, made = schema.ExternalBufferGroupT(), schema.ExternalBufferT()
    group.name, made.id, made.group, made.length = b"weights.bin", 1, 0, 4
    yield from put(model, externalBufferGroups=[group], externalBuffers=[made])
    for _, tensor in tensors_of(model):
        kept = tensor.externalBuffer
        tensor.externalBuffer = 1
        yield from put(model, externalBufferGroups=[group], externalBuffers=[made])
        tensor.externalBuffer = kept


def schema_version(model: Model) -> Iterator[None]:
    for version in (0, 1, 2, 4, 255):
        yield from put(model, version=version)


CHANGES: Mapping[str, Change] = {
    change.__name__: change
    for change in (
        face_of_a_subgraph,
        subgraph_added,
        subgraph_dropped,
        signature_added,
        signature_dropped,
        metadata_changed,
        external_buffers,
        schema_version,
    )
}
