"""LiteRT asked in another process: one operator a question, on a kernel set; an abort is an answer too.

A kernel that aborts ends the fork that ran it, and the next question goes to a new one. Nothing of graphfix is used.
The model of a question is built from its record, not from text: thousands are asked, and what LiteRT refuses too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tests.support import child

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]

KERNELS = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO")
"""The reference kernels, the optimized ones, and these with XNNPACK."""
NO_DELEGATE = KERNELS[1]


@dataclass(frozen=True)
class Given:
    """An operand: its elements, and the scale and zero point of a quantized one."""

    data: Array
    scale: float | None = None
    zero: int = 0

    def reshaped(self, *shape: int) -> Given:
        return Given(self.data.reshape(shape), self.scale, self.zero)

    def stretched(self, *shape: int) -> Given:
        return Given(np.ascontiguousarray(np.broadcast_to(self.data, shape)), self.scale, self.zero)


@dataclass(frozen=True)
class Question:
    """One operator on one kernel set. `declared` is the shape that the file states for the result."""

    op: str
    operands: tuple[Given, ...]
    declared: tuple[int, ...]
    dtype: str
    scale: float | None = None
    zero: int = 0
    options: tuple[str, tuple[tuple[str, Any], ...]] | None = None
    """The class of the builtin options without its `T`, and their fields."""
    kernels: str = NO_DELEGATE
    version: int = 1


@dataclass(frozen=True)
class Answer:
    """The result, or why there is none."""

    result: Array | None = None
    error: str = ""
    """What LiteRT says."""
    signal: str = ""
    """What ended the process."""

    @property
    def array(self) -> Array:
        assert self.result is not None, self.error or self.signal
        return self.result


def ask(questions: Sequence[Question]) -> list[Answer]:
    """Answer every question, in order."""
    answers: list[Answer] = child.asked(__name__, list(questions))
    assert len(answers) == len(questions)
    return answers


# --- in the process ---------------------------------------------------------------------------------------------------


@dataclass
class KernelRunner:
    """The modules of LiteRT, imported once, in the process that forks."""

    schema: Any = field(default_factory=lambda: _module("ai_edge_litert.schema_py_generated"))
    runtime: Any = field(default_factory=lambda: _module("ai_edge_litert.interpreter"))
    flatbuffers: Any = field(default_factory=lambda: _module("flatbuffers"))

    def model(self, question: Question) -> bytes:
        schema = self.schema
        graph = schema.SubGraphT()
        graph.tensors = [self._tensor(given.data.shape, given.data.dtype.name, given) for given in question.operands]
        graph.tensors.append(
            self._tensor(question.declared, question.dtype, Given(np.zeros(1), question.scale, question.zero))
        )
        count = len(question.operands)
        graph.inputs, graph.outputs = list(range(count)), [count]
        operator = schema.OperatorT()
        operator.inputs, operator.outputs = list(range(count)), [count]
        if question.options is not None:
            name, values = question.options
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, name)
            operator.builtinOptions = getattr(schema, f"{name}T")()
            for key, value in values:
                setattr(operator.builtinOptions, key, value)
        graph.operators = [operator]
        code = schema.OperatorCodeT()
        code.builtinCode = getattr(schema.BuiltinOperator, question.op)
        code.deprecatedBuiltinCode = min(code.builtinCode, 127)
        code.version = question.version
        model = schema.ModelT()
        model.version, model.operatorCodes, model.subgraphs = 3, [code], [graph]
        model.buffers = [schema.BufferT()]
        builder = self.flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), b"TFL3")
        return bytes(builder.Output())

    def _tensor(self, shape: Sequence[int], dtype: str, given: Given) -> Any:  # noqa: ANN401 -- LiteRT has no types
        tensor = self.schema.TensorT()
        tensor.shape, tensor.hasRank, tensor.buffer = list(shape), True, 0
        tensor.type = getattr(self.schema.TensorType, dtype.upper())
        if given.scale is not None:
            tensor.quantization = self.schema.QuantizationParametersT()
            tensor.quantization.scale, tensor.quantization.zeroPoint = [given.scale], [given.zero]
        return tensor

    def answer(self, question: Question) -> Answer:
        kernels = getattr(self.runtime.OpResolverType, question.kernels)
        try:
            interpreter = self.runtime.Interpreter(
                model_content=self.model(question), experimental_op_resolver_type=kernels, num_threads=1
            )
            interpreter.allocate_tensors()
            for given, detail in zip(question.operands, interpreter.get_input_details(), strict=True):
                interpreter.set_tensor(detail["index"], given.data)
            interpreter.invoke()
        except (RuntimeError, ValueError) as why:
            return Answer(error=str(why))
        return Answer(np.array(interpreter.get_tensor(interpreter.get_output_details()[0]["index"])))


def _module(name: str) -> Any:  # noqa: ANN401 -- LiteRT has no types
    return __import__(name, fromlist=["*"])


def serve(questions: Sequence[Question]) -> list[Answer]:
    """Answer each question; each abort costs one fork."""
    runner = KernelRunner()
    return [answer or Answer(signal=ended) for answer, ended in child.in_forks(questions, runner.answer)]
