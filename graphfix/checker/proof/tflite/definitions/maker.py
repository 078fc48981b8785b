"""Build the formulas of operators out of operators in version 1, which are read like the operators of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from graphfix.checker.files.tflite.records import Operator
from graphfix.checker.proof.core.terms import value_of
from graphfix.checker.proof.neutral import constant_folding
from graphfix.checker.proof.tflite.reading.node_signature import stated
from graphfix.checker.proof.tflite.reading.nodes import read
from graphfix.checker.proof.tflite.reading.operands import Call
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Tensor
    from graphfix.checker.proof.core.terms import ProofValue
    from graphfix.checker.proof.neutral.constants import Constants

ACTIVATED: Final = ("fusedActivationFunction", 0)
OPERATORS: Final[Mapping[str, tuple[int, tuple[tuple[str, object], ...]]]] = {
    "MUL": (21, (ACTIVATED,)),
    "ADD": (11, (ACTIVATED, ("potScaleInt16", True))),
    "SUB": (28, (ACTIVATED, ("potScaleInt16", True))),
    "DIV": (29, (ACTIVATED,)),
    "EXP": (33, ()),
    "ABS": (78, ()),
    "TANH": (0, ()),
    "FLOOR": (0, ()),
    "NEG": (42, ()),
    "MAXIMUM": (39, ()),
    "MINIMUM": (39, ()),
    "EQUAL": (53, ()),
    "LESS": (41, ()),
    "GREATER": (44, ()),
    "GREATER_EQUAL": (45, ()),
    "NOT_EQUAL": (54, ()),
    "SELECT_V2": (98, ()),
    "SQRT": (0, ()),
    "SLICE": (48, ()),
    "LOGISTIC": (0, ()),
    "BATCH_MATMUL": (101, (("adjX", False), ("adjY", True), ("asymmetricQuantizeInputs", False))),
    "CONCATENATION": (10, (("axis", 0), ACTIVATED)),
    "PAD": (22, ()),
    "REAL": (0, ()),
    "IMAG": (0, ()),
}
"""Operators in formulas, in version 1: the number of their options' table, and its fields with default values."""
COMPARING: Final = frozenset({"EQUAL", "LESS", "GREATER", "GREATER_EQUAL", "NOT_EQUAL"})
"""Operators whose results are bool. Results of other operators have the last operand's type, except for `PARTS`."""
PARTS: Final = frozenset({"REAL", "IMAG"})
"""Operators that return the float32 parts of complex numbers."""


class UnreadError(Exception):
    """A formula has no term, because an operator in it is not read by maps, or because an operand is missing."""


class Value(NamedTuple):
    """An operand or a result of an operator in a formula: the proof value, and its tensor."""

    view: ProofValue
    tensor: Tensor


def _operator(name: str, fields: tuple[tuple[str, object], ...]) -> Operator:
    """Return an operator of a formula with these options."""
    return Operator(name, 1, (), (), dict(fields), (), (name, OPERATORS[name][0], 0, fields, (), (), ()))


@dataclass(frozen=True, slots=True)
class Maker:
    """Builds the formula of one operator (`call`)."""

    constants: Constants
    call: Call

    def __call__(self, name: str, *operands: Value | float, last: bool = False) -> Value:
        """Return the result of the operator `name` on these operands. Raises UnreadError.

        Numbers among the operands become constants. If `last`, the result has the type and the quantization of the
        formula's result.
        """
        _, fields = OPERATORS[name]
        values = [each if isinstance(each, Value) else self.constant(each) for each in operands]
        dtype = "bool" if name in COMPARING else "float32" if name in PARTS else values[-1].tensor.dtype
        result = self.call.result if last else self.call.result._replace(dtype=dtype, quantization=None)
        return self._read(_operator(name, fields), values, result)

    def same(self, operand: Value) -> Value:
        """Return the result of the operator that has the formula, on another operand. Raises UnreadError."""
        return self._read(self.call.operator, [operand], self.call.result)

    def _read(self, operator: Operator, values: Sequence[Value], result: Tensor) -> Value:
        """Return the result of an operator that is read by maps. Raises UnreadError if it can't be read by maps."""
        given, tensors = [value.view for value in values], [value.tensor for value in values]
        view = read(Call(self.call.table, operator, given, tensors, result, self.call.description))
        if view is None:
            raise UnreadError
        return Value(view, result)

    def exactly(self, name: str, values: Sequence[Value], sizes: tuple[int, ...], axis: int = 0) -> Value:
        """Return the result of an operator that is not read by maps. `sizes` is the shape of the result.

        The core has the same key as if the reader had read the operator from a file. `axis` is the option of that name.
        """
        _, fields = OPERATORS[name]
        fields = tuple((field, axis if field == "axis" else value) for field, value in fields)
        operator, table = _operator(name, fields), self.call.table
        result = values[0].tensor._replace(dims=sizes, stored=sizes, payload=None)
        given = tuple(value.view for value in values)
        # Each operand has a type, is no variable, and is not quantized.
        parameters = tuple((value.tensor.dtype, False, None) for value in values)
        key = ("whole", operator.key, 1, given, parameters, (stated(operator, result),), None, None, 0)
        core, new = table.find_or_create_core(key, self.call.description)
        if new:
            core.sizes = table.named_sizes(core, sizes)
        return Value(value_of(core), result)

    def operand(self, index: int) -> Value:
        """Return an operand of the operator that has the formula. Raises UnreadError if the operand is missing."""
        view, tensor = self.call.operand(index), self.call.inputs[index] if index < len(self.call.inputs) else None
        if view is None or tensor is None:
            raise UnreadError
        return Value(view, tensor)

    def constant(self, elements: float | constant_folding.Array) -> Value:
        """Return a constant: int32 for an int, float32 for a float, or an array of its own type."""
        kind = np.int32 if isinstance(elements, int) else np.float32
        array = elements if isinstance(elements, np.ndarray) else np.asarray(elements, kind)
        view = constant_folding.as_constant(self.constants, array, self.call.description)
        shape = array.shape
        result, payload = self.call.result, view.core.payload
        tensor = result._replace(dtype=array.dtype.name, dims=shape, stored=shape, quantization=None, payload=payload)
        return Value(view, tensor)
