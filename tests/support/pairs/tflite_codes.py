"""Changes of TFLite operators, of their options and of the operator codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ai_edge_litert import schema_py_generated as schema

from tests.support.pairs.tflite_fields import Change, array, operators_of, put, twin
from tests.support.pairs.tflite_file import CODES, NAMES, Model, listed

LAST_CODE = max(NAMES)
UNKNOWN = (LAST_CODE + 1, 250, 300, 1000, -1)
"""Builtin codes that no runtime has."""


def options_dropped(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        if operator.builtinOptions is not None:
            yield from put(operator, builtinOptions=None, builtinOptionsType=0)
        if operator.builtinOptions2 is not None:
            yield from put(operator, builtinOptions2=None, builtinOptions2Type=0)


def options_of_another_type(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        for name in ("AddOptions", "ReshapeOptions", "NegOptions", "ConcatenationOptions", "CastOptions"):
            number = getattr(schema.BuiltinOptions, name)
            if number != operator.builtinOptionsType:
                made = getattr(schema, f"{name}T")()
                yield from put(operator, builtinOptions=made, builtinOptionsType=number)
        yield from put(operator, builtinOptionsType=operator.builtinOptionsType ^ 1)
        yield from put(operator, builtinOptionsType=200)


def options_of_the_second_union(model: Model) -> Iterator[None]:
    for _, operator in operators_of(model):
        for name in ("DilateOptions", "StablehloConcatenateOptions", "StablehloShiftLeftOptions"):
            number = getattr(schema.BuiltinOptions2, name)
            made = getattr(schema, f"{name}T")()
            yield from put(operator, builtinOptions2=made, builtinOptions2Type=number)


def code_of_another_operator(model: Model) -> Iterator[None]:
    for code in model.operatorCodes:
        for number in (*range(LAST_CODE + 1), *UNKNOWN):
            if number != max(code.builtinCode, code.deprecatedBuiltinCode):
                low = number if 0 <= number < CODES.PLACEHOLDER_FOR_GREATER_OP_CODES else 127
                yield from put(code, builtinCode=number, deprecatedBuiltinCode=low)


def code_written_otherwise(model: Model) -> Iterator[None]:
    """One of the two fields alone, which readers take the greater one of."""
    for code in model.operatorCodes:
        number = max(code.builtinCode, code.deprecatedBuiltinCode)
        for low in (0, number, 127, -1):
            if low < 128:
                yield from put(code, deprecatedBuiltinCode=low)
        yield from put(code, builtinCode=0)
        yield from put(code, customCode=b"Custom")


def version_of_an_operator(model: Model) -> Iterator[None]:
    for code in model.operatorCodes:
        for version in (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 77, -1):
            if version != code.version:
                yield from put(code, version=version)


def _new_code(number: int, version: int = 1, custom: bytes | None = None) -> Model:
    made = schema.OperatorCodeT()
    made.builtinCode, made.deprecatedBuiltinCode = number, min(max(number, -128), 127)
    made.version, made.customCode = version, custom
    return made


def unused_code_added(model: Model) -> Iterator[None]:
    held = model.operatorCodes
    for number, version, custom in (
        (CODES.NEG, 1, None), (CODES.NEG, 99, None), (CODES.CUSTOM, 1, b"Unknown"), (CODES.CUSTOM, 1, None),
        (CODES.DELEGATE, 1, None), (CODES.CALL, 1, None), (CODES.STABLEHLO_SORT, 1, None),
        (CODES.CUSTOM, 1, b"FlexAdd"),
        *((number, 1, None) for number in UNKNOWN),
    ):  # fmt: skip
        made = _new_code(number, version, custom)
        yield from put(model, operatorCodes=[*held, made])
    yield from put(model, operatorCodes=[*held, twin(held[0])])


def unused_code_dropped(model: Model) -> Iterator[None]:
    used = {operator.opcodeIndex for _, operator in operators_of(model)}
    if len(model.operatorCodes) - 1 not in used:
        yield from put(model, operatorCodes=model.operatorCodes[:-1])


def operators_in_another_order(model: Model) -> Iterator[None]:
    for graph in model.subgraphs:
        held = graph.operators or []
        for at in range(len(held) - 1):
            yield from put(graph, operators=[*held[:at], held[at + 1], held[at], *held[at + 2 :]])


def operator_dropped(model: Model) -> Iterator[None]:
    for graph in model.subgraphs:
        held = graph.operators or []
        for at in range(len(held)):
            yield from put(graph, operators=held[:at] + held[at + 1 :])


def operator_doubled(model: Model) -> Iterator[None]:
    """A copy that nobody reads, with results of its own, and one that makes the same results again."""
    for graph in model.subgraphs:
        for at, operator in enumerate(graph.operators or []):
            held, count = graph.operators, len(graph.tensors)
            yield from put(graph, operators=[*held[: at + 1], twin(operator), *held[at + 1 :]])
            copied = twin(operator)
            outputs = listed(operator.outputs)
            graph.tensors += [twin(graph.tensors[each]) for each in outputs]
            copied.outputs = array(range(count, count + len(outputs)))
            yield from put(graph, operators=[*held, copied])
            yield from put(graph, operators=[copied, *held])
            del graph.tensors[count:]


def unused_operator_added(model: Model) -> Iterator[None]:
    """One that reads the first input, of many codes: some fail, some have an effect, some no runtime has."""
    graph = model.subgraphs[0]
    if not graph.tensors:
        return
    source = next(iter(listed(graph.inputs)), 0)
    numbers = (
        CODES.NEG, CODES.ABS, CODES.SHAPE, CODES.RANK, CODES.RESHAPE, CODES.SQUEEZE, CODES.CUSTOM, CODES.CAST,
        CODES.LOGICAL_NOT, CODES.ZEROS_LIKE, CODES.WHERE, CODES.STABLEHLO_SORT, CODES.ADD, CODES.TILE,
        CODES.EXPAND_DIMS, CODES.BROADCAST_TO, 250,
    )  # fmt: skip
    for number in numbers:
        graph.tensors.append(twin(graph.tensors[source]))
        graph.tensors[-1].name, graph.tensors[-1].buffer = b"extra", 0
        model.operatorCodes.append(_new_code(number))
        made = schema.OperatorT()
        made.opcodeIndex = len(model.operatorCodes) - 1
        made.inputs, made.outputs = array([source]), array([len(graph.tensors) - 1])
        yield from put(graph, operators=[*(graph.operators or []), made])
        made.inputs = array([source, source])
        yield from put(graph, operators=[made, *(graph.operators or [])])
        graph.tensors.pop()
        model.operatorCodes.pop()


CHANGES: Mapping[str, Change] = {
    change.__name__: change
    for change in (
        options_dropped,
        options_of_another_type,
        options_of_the_second_union,
        code_of_another_operator,
        code_written_otherwise,
        version_of_an_operator,
        unused_code_added,
        unused_code_dropped,
        operators_in_another_order,
        operator_dropped,
        operator_doubled,
        unused_operator_added,
    )
}
