"""Read the constants and attributes that an ONNX file stores, as values of the proof."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnx import AttributeProto, TensorProto

from graphfix.checker.files.onnx.tensors import odd_location, width
from graphfix.checker.proof.core.result import UnprovedError
from graphfix.checker.proof.core.terms import ProofValue, value_of
from graphfix.checker.proof.onnx.closed_world.new_nodes import ClosedWorld
from graphfix.checker.proof.onnx.closed_world.validate import loads
from graphfix.checker.proof.onnx.reading.node_signature import attribute_form
from graphfix.checker.proof.onnx.reading.operands import tensor_of
from graphfix.checker.proof.onnx.reading.types import type_name
from graphfix.results.records import dataclass, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from onnx import SparseTensorProto

    from graphfix.checker.files.onnx.file import Source
    from graphfix.checker.proof.neutral.constants import Constants
    from graphfix.checker.proof.onnx.reading.node_signature import AttributeForm
    from graphfix.checker.proof.onnx.reading.operands import Call

_TYPES = frozenset(TensorProto.DataType.values())


@dataclass(frozen=True, slots=True)
class FileConstants:
    """The constants and attributes of one file: reads them from `source` and creates their terms."""

    source: Source
    shared: Constants
    """The constants of both files; equal constants share one core."""
    world: ClosedWorld = field(default_factory=ClosedWorld)
    """The record of nodes and oddities of the first file, where unusual constants are entered."""

    def attributes(self, attributes: Mapping[str, AttributeProto]) -> tuple[tuple[str, AttributeForm], ...]:
        """Return each attribute's name and comparable form, sorted by name.

        The form is the type with the content. Tensors are constants of the proof. A body has only its type, because its
        nodes are compared elsewhere.
        """
        if not attributes:
            return ()
        return tuple(
            [(name, attribute_form(each) or self._tensor_form(each)) for name, each in sorted(attributes.items())]
        )

    def _tensor_form(self, given: AttributeProto) -> AttributeForm:
        """Return the comparable form of an attribute that contains tensors or bodies.

        The form of a body is only its type.
        """
        if given.type in (AttributeProto.TENSOR, AttributeProto.TENSORS):
            tensors = [given.t] if given.type == AttributeProto.TENSOR else given.tensors
            return given.type, tuple([self.constant(tensor, given.name, is_standalone=False) for tensor in tensors])
        if given.type in (AttributeProto.SPARSE_TENSOR, AttributeProto.SPARSE_TENSORS):
            sparse = [given.sparse_tensor] if given.type == AttributeProto.SPARSE_TENSOR else given.sparse_tensors
            return given.type, tuple(map(self.sparse, sparse))
        return given.type, None

    def constant(self, tensor: TensorProto, description: str, *, is_standalone: bool = True) -> ProofValue:
        """Return a tensor of the file as a value of the proof.

        `is_standalone` is False if a node's attribute contains the tensor.

        `description` identifies the constant in reports. Raises UnprovedError for an unknown element type, a negative
        size, or a storage form that can't be read.
        """
        self._check(tensor, description, alone=is_standalone)
        if tensor.data_type not in _TYPES:
            raise UnprovedError(
                f"the constant {description!r} has the type {tensor.data_type}, which onnx does not know"
            )
        if any(size < 0 for size in tensor.dims):
            raise UnprovedError(f"the constant {description!r} has a negative size; check the model")
        payload = self.source.payload(tensor)
        if payload is None:
            raise UnprovedError(f"the constant {description!r} is stored in a form that is not read")
        view = self.shared.view(type_name(tensor.data_type), tensor.dims, payload, width(tensor.data_type), description)
        view.core.dtype = tensor.data_type
        return view

    def _check(self, tensor: TensorProto, description: str, *, alone: bool) -> None:
        """Record in the closed world whether a tensor is stored in a way that some runtime refuses.

        Such a way is an unusual location of external data, damaged content, or external data of an attribute. The
        second file may store a tensor so only if the first file does too.
        """
        location = odd_location(tensor)
        if location is not None:
            why = f"the constant {description!r} of the second file lies at {location!r}, which not every runtime reads"
            self.world.require_in_first(("location", location), why)
        fault = self.source.fault(tensor)
        if fault is None and not alone and tensor.data_location == TensorProto.EXTERNAL:
            fault = "lies in another file, and is an attribute"
        if fault is not None:
            why = f"the constant {description!r} of the second file {fault}"
            self.world.require_in_first(("tensor", self.source.stored(tensor)), why)

    def sparse(self, sparse: SparseTensorProto) -> ProofValue:
        """Return a sparse tensor of the file as a value.

        Its stored elements, indices and shape are compared as they are.

        No rule decides which sparse tensors runtimes can load. So the second file may have a sparse tensor only if the
        first file has an equal one.
        """
        parts = self.constant(sparse.values, sparse.values.name), self.constant(sparse.indices, sparse.values.name)
        core, new = self.shared.table.find_or_create_core(
            ("sparse", parts, tuple(sparse.dims)), sparse.values.name, counted=False
        )
        if new:
            core.sizes = tuple(sparse.dims)
            core.dtype = sparse.values.data_type
            self.world.require_in_first(
                core.key, f"the sparse constant {sparse.values.name!r} is only in the second file"
            )
        return value_of(core)

    def node(self, call: Call) -> ProofValue:
        """Return the value of a Constant node: a tensor, a sparse tensor, or numbers and strings in an attribute.

        Raises UnprovedError if the node has no such attribute, has several attributes, or does not load in a runtime.
        """
        description = call.description
        if len(call.attributes) != 1 or not loads(call):
            raise UnprovedError(f"{description} holds no constant of a known form; check the model")
        name, given = next(iter(call.attributes.items()))
        if name == "value":
            # The node's signature was computed before, and already contains the tensor.
            (_, (_, content)) = call.signature_memo.signature.attributes[0]
            read = content[0] if isinstance(content, tuple) else None
            return read if isinstance(read, ProofValue) else self.constant(given.t, description, is_standalone=False)
        if name == "sparse_value":
            return self.sparse(given.sparse_tensor)
        tensor = tensor_of(name, given)
        if tensor is None:
            raise UnprovedError(f"{description} holds no constant of a known form; check the model")
        return self.constant(tensor, description)
