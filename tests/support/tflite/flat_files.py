"""TFLite files for tests of the file layer, their tables set one by one through LiteRT's object API, and read back.

Other tests write their models as text (models/builders/tflite/text.py). Here a table has the fields that a test sets,
valid or not: indices out of range, shared tables, payloads behind the tables.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "string": 5, "bool": 6, "int16": 7, "int8": 9}
"""The numbers of the element types that the tests use."""
Made = Any
"""An object of the object API, or what it takes: it has no types."""


def tensor(name: str, shape: Sequence[int], dtype: str = "float32", buffer: int = 0, **more: Made) -> Made:
    """One TensorT; `more` sets further fields by their names in the object API."""
    made = schema.TensorT()
    made.name, made.shape, made.type, made.buffer = name, list(shape), TYPES[dtype], buffer
    for field, value in more.items():
        setattr(made, field, value)
    return made


def quantization(scale: Sequence[float], zero: Sequence[int], dimension: int = 0) -> Made:
    made = schema.QuantizationParametersT()
    made.scale, made.zeroPoint, made.quantizedDimension = list(scale), list(zero), dimension
    return made


def buffer(values: Made = None) -> Made:
    made = schema.BufferT()
    if values is not None:
        made.data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8)
    return made


def code(builtin: int, version: int = 1, custom: str | None = None) -> Made:
    made = schema.OperatorCodeT()
    made.builtinCode, made.deprecatedBuiltinCode, made.version = builtin, min(builtin, 127), version
    made.customCode = custom
    return made


def operator(opcode: int, inputs: Sequence[int], outputs: Sequence[int], options: Made = None) -> Made:
    made = schema.OperatorT()
    made.opcodeIndex, made.inputs, made.outputs = opcode, list(inputs), list(outputs)
    if options is not None:
        made.builtinOptions = options
        made.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__.removesuffix("T"))
    return made


def subgraph(
    tensors: Sequence[Made],
    operators: Sequence[Made],
    inputs: Sequence[int],
    outputs: Sequence[int],
    name: str = "main",
) -> Made:
    made = schema.SubGraphT()
    made.name, made.tensors, made.operators = name, list(tensors), list(operators)
    made.inputs, made.outputs = list(inputs), list(outputs)
    return made


def model(subgraphs: Sequence[Made], codes: Sequence[Made], buffers: Sequence[Made]) -> Made:
    made = schema.ModelT()
    made.version, made.description = 3, "made for a test"
    made.subgraphs, made.operatorCodes, made.buffers = list(subgraphs), list(codes), list(buffers)
    return made


def metadata(name: str, at: int) -> Made:
    made = schema.MetadataT()
    made.name, made.buffer = name, at
    return made


def signature(key: str, inputs: dict[str, int], outputs: dict[str, int], graph: int = 0) -> Made:
    def maps(named: dict[str, int]) -> list[Made]:
        made = []
        for name, index in named.items():
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = name, index
            made.append(entry)
        return made

    made = schema.SignatureDefT()
    made.signatureKey, made.subgraphIndex = key, graph
    made.inputs, made.outputs = maps(inputs), maps(outputs)
    return made


def add_model(**more: Made) -> Made:
    """`y[2,3] = Add(x[2,3], c[3])` with a signature and a metadata entry; `more` sets fields of the ModelT."""
    made = model(
        [
            subgraph(
                [tensor("x", (2, 3)), tensor("c", (3,), buffer=1), tensor("y", (2, 3))],
                [operator(0, (0, 1), (2,), schema.AddOptionsT())],
                (0,),
                (2,),
            )
        ],
        [code(schema.BuiltinOperator.ADD)],
        [buffer(), buffer(np.arange(3, dtype=np.float32)), buffer(np.frombuffer(b"1.5.0", np.uint8))],
    )
    made.metadata = [metadata("min_runtime_version", 2)]
    made.signatureDefs = [signature("serving_default", {"x": 0}, {"y": 2})]
    for field, value in more.items():
        setattr(made, field, value)
    return made


def packed(made: Made) -> bytes:
    """Serialize a ModelT."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(made.Pack(builder), b"TFL3")
    return bytes(builder.Output())


def with_outside(made: Made, parts: Sequence[tuple[Made, str, str, bytes]]) -> bytes:
    """Serialize a ModelT with payloads behind its tables: (object, offset's field, size's field, payload) of each."""
    for owner, offset, size, payload in parts:
        setattr(owner, offset, 2**40)  # a number of the same width
        setattr(owner, size, len(payload))
    end = -(-len(packed(made)) // 16) * 16
    behind = b""
    for owner, offset, _, payload in parts:
        setattr(owner, offset, end + len(behind))
        behind += payload + bytes(-len(payload) % 16)
    data = packed(made)
    return data + bytes(end - len(data)) + behind


def unpacked(data: bytes) -> Made:
    """Read a file into a ModelT."""
    return schema.ModelT.InitFromPackedBuf(data, 0)


def tree(value: Made) -> Made:
    """Make plain, comparable data of an object of the object API, or of a list of them."""
    if hasattr(value, "__dict__"):
        return type(value).__name__, {name: tree(part) for name, part in vars(value).items()}
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, (list, tuple)):
        return [tree(part) for part in value]
    return value


def _answer(work: Callable[..., Made], args: tuple[Made, ...], results: Made) -> None:
    try:
        results.send(("value", work(*args)))
    except (RuntimeError, ValueError) as error:
        results.send(("refused", str(error).splitlines()[0]))


def in_child(work: Callable[..., Made], *args: Made) -> tuple[str, Made]:
    """Call it in a process of its own: ("value", result), ("refused", why) or ("died", exit status)."""
    here, there = multiprocessing.Pipe(duplex=False)
    child = multiprocessing.get_context("fork").Process(target=_answer, args=(work, args, there))
    child.start()
    there.close()
    try:
        answer = here.recv()
    except EOFError:
        answer = None
    child.join()
    return answer or ("died", child.exitcode)


def run(data: bytes, seed: int = 0) -> list[bytes]:
    """Outputs of LiteRT's reference kernels on seeded inputs; call it `in_child`."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    random = np.random.default_rng(seed)
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for entry in interpreter.get_input_details():
        value = random.uniform(-1, 1, tuple(entry["shape"])) * (1 if entry["dtype"] == np.float32 else 50)
        interpreter.set_tensor(entry["index"], value.astype(entry["dtype"]))
    interpreter.invoke()
    return [interpreter.get_tensor(entry["index"]).tobytes() for entry in interpreter.get_output_details()]
