"""The argument of the proof's rules: one operator with its operands, their tensors, and its options."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from graphfix.checker.proof.core.sizes import numbers
from graphfix.checker.proof.core.terms import MOST_ELEMENTS, integer_type
from graphfix.results.records import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from graphfix.checker.files.tflite.records import Operator, Tensor
    from graphfix.checker.proof.core.sizes import Sizes
    from graphfix.checker.proof.core.terms import ProofValue, TermTable
    from graphfix.checker.proof.tflite.kernels.lookup_tables import Chain

LARGEST: Mapping[str, int] = MappingProxyType({"int32": (1 << 31) - 1, "int64": (1 << 63) - 1})
"""The largest number of each integer type in which models compute shapes."""


@dataclass(frozen=True, slots=True)
class Call:
    """An operator with its operands, and with the tensor of one result.

    `views` contains the proof values of the operands, and `inputs` their tensors; None for a missing operand.
    """

    table: TermTable
    operator: Operator
    views: Sequence[ProofValue | None]
    inputs: Sequence[Tensor | None]
    result: Tensor
    description: str
    chain: Chain | None = None
    """The chain of operators that XNNPACK may replace by a lookup table, with the operator's position in it."""

    def operand(self, index: int) -> ProofValue | None:
        """Return the value of an operand; None if it is missing."""
        return self.views[index] if index < len(self.views) else None

    def sizes(self, index: int) -> Sizes | None:
        """Return the shape of an operand; None if the operand is missing or its rank is unknown."""
        view = self.operand(index)
        return None if view is None else view.sizes

    def content(self, index: int) -> Sizes | None:
        """Return the elements of a scalar or vector as known integers or sizes; None if they are unknown.

        The integers must have the type of the operand's tensor, which must not be quantized.
        """
        view = self.operand(index)
        tensor = self.inputs[index] if index < len(self.inputs) else None
        if view is None or tensor is None or tensor.quantization is not None or tensor.dtype != integer_type(view):
            return None
        return view.content

    def vector(self, index: int) -> Sizes | None:
        """Return the elements of an operand that must be a vector, such as a shape; None if they are unknown."""
        view = self.operand(index)
        return None if view is None or view.sizes is None or len(view.sizes) != 1 else self.content(index)

    def target(self, index: int) -> Sizes | None:
        """Return a requested shape; None if it is unknown, or if a term in it may be negative.

        A negative size has another meaning, for example -1 in a RESHAPE.
        """
        given = self.vector(index)
        terms = [size for size in given or () if not isinstance(size, int)]
        return None if any(self.table.arithmetic.least(size) < 0 for size in terms) else given

    def known_integers(self, index: int) -> tuple[int, ...] | None:
        """Return the elements of an operand if all of them are numbers, else None."""
        return numbers(self.content(index))

    def option(self, name: str) -> object:
        """Return a field of the options; None if it is missing."""
        return self.operator.options.get(name)

    def integer(self, name: str) -> int:
        """Return an integer field of the options; 0 if it is missing."""
        value = self.option(name)
        return value if isinstance(value, int) else 0

    def result_sizes(self, terms: Sizes, *, scalar: bool = False) -> ProofValue | None:
        """Return sizes as integers of the result's type.

        For int32, the proof assumes that the sizes are below 2**31.

        Returns None if the type or a number does not allow it.
        """
        if self.result.dtype == "int32" and not all(isinstance(term, int) for term in terms):
            self.table.assumptions["sizes are below 2**31"] = None
        return self.result_integers(terms, scalar=scalar)

    def result_integers(self, terms: Sizes, *, scalar: bool = False) -> ProofValue | None:
        """Return integers as a value of the result's type.

        Returns None if the type is not int32 or int64, or a number is too large.

        Returns None also for a quantized result, and for too many integers.
        """
        largest = LARGEST.get(self.result.dtype)
        if self.result.quantization is not None or largest is None or len(terms) > MOST_ELEMENTS:
            return None
        if not all(-largest - 1 <= term <= largest for term in terms if isinstance(term, int)):
            return None
        return self.table.integers(terms, self.result.dtype, scalar=scalar)
