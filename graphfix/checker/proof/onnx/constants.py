"""What an ONNX file holds that no node computes: constants, however they are stored, and attributes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnx import TensorProto

from graphfix.checker.files.onnx.file import width
from graphfix.checker.proof.onnx.operands import comparable, graphs, tensor_of
from graphfix.checker.proof.onnx.types import type_name
from graphfix.checker.proof.onnx.validate import loads
from graphfix.checker.proof.result import UnprovedError
from graphfix.checker.proof.terms import whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import AttributeProto, SparseTensorProto

    from graphfix.checker.files.onnx.file import Source
    from graphfix.checker.proof.constants import Constants
    from graphfix.checker.proof.onnx.operands import Call
    from graphfix.checker.proof.terms import View

_TYPES = frozenset(TensorProto.DataType.values())


@dataclass(frozen=True, slots=True)
class FileConstants:
    """The constants and attributes of one file."""

    source: Source
    shared: Constants
    """The constants of both files."""

    def attributes(self, attributes: Mapping[str, AttributeProto]) -> tuple[object, ...]:
        """Return the comparable form of attributes, bodies left out; a tensor is the constant that it holds."""
        if not attributes:
            return ()
        return tuple((name, self._attribute(given)) for name, given in sorted(attributes.items()) if not graphs(given))

    def _attribute(self, given: AttributeProto) -> object:
        if given.HasField("t") or given.tensors:
            tensors = [given.t] if given.HasField("t") else given.tensors
            return "tensors", tuple(self.constant(tensor, given.name) for tensor in tensors)
        if given.HasField("sparse_tensor"):
            return "sparse", self.sparse(given.sparse_tensor)
        return comparable(given)

    def constant(self, tensor: TensorProto, description: str) -> View:
        """See a tensor of the file."""
        if tensor.data_type not in _TYPES:
            raise UnprovedError(
                f"the constant {description!r} has the type {tensor.data_type}, which onnx does not know"
            )
        payload = self.source.payload(tensor)
        if payload is None:
            raise UnprovedError(f"the constant {description!r} is stored in a form that is not read")
        view = self.shared.view(type_name(tensor.data_type), tensor.dims, payload, width(tensor.data_type), description)
        view.core.dtype = tensor.data_type
        return view

    def sparse(self, sparse: SparseTensorProto) -> View:
        """See a sparse tensor of the file: as it is stored."""
        parts = self.constant(sparse.values, sparse.values.name), self.constant(sparse.indices, sparse.values.name)
        core, new = self.shared.table.core(("sparse", parts, tuple(sparse.dims)), sparse.values.name, counted=False)
        if new:
            core.sizes = tuple(sparse.dims)
            core.dtype = sparse.values.data_type
        return whole(core)

    def node(self, call: Call) -> View:
        """Read a Constant node: a tensor, a sparse one, or numbers and strings that stand for one.

        Raises UnprovedError for any other.
        """
        description = call.description
        if len(call.attributes) != 1 or not loads(call):
            raise UnprovedError(f"{description} holds no constant of a known form; check the model")
        name, given = next(iter(call.attributes.items()))
        if name == "value":
            return self.constant(given.t, description)
        if name == "sparse_value":
            return self.sparse(given.sparse_tensor)
        tensor = tensor_of(name, given)
        if tensor is None:
            raise UnprovedError(f"{description} holds no constant of a known form; check the model")
        return self.constant(tensor, description)
