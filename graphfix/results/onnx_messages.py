"""onnx's message classes without the rest of the package.

`import onnx` takes four times as long and twice the memory. The classes are identical with those of `import onnx`,
whether it is imported before or after this module. Reading, rewriting and writing a model needs no other part of onnx
and no numpy. A module that needs more imports it itself.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onnx import (
        AttributeProto,
        FunctionProto,
        GraphProto,
        ModelProto,
        NodeProto,
        OperatorSetIdProto,
        SparseTensorProto,
        TensorProto,
        TensorShapeProto,
        TypeProto,
        ValueInfoProto,
    )

__all__ = (
    "AttributeProto",
    "FunctionProto",
    "GraphProto",
    "ModelProto",
    "NodeProto",
    "OperatorSetIdProto",
    "SparseTensorProto",
    "TensorProto",
    "TensorShapeProto",
    "TypeProto",
    "ValueInfoProto",
)
MODULE = "onnx.onnx_ml_pb2"
"""The module of onnx that defines the message classes."""


def _messages() -> ModuleType:
    """Return the module of the message classes.

    If onnx is imported later, it creates another module object with the same classes.
    """
    if MODULE in sys.modules:
        return sys.modules[MODULE]
    package = PathFinder.find_spec("onnx")
    spec = PathFinder.find_spec(MODULE, package.submodule_search_locations) if package is not None else None
    if spec is None or spec.loader is None:  # onnx is no folder on the path
        import onnx

        return sys.modules[onnx.ModelProto.__module__]
    module = module_from_spec(spec)
    spec.loader.exec_module(module)  # protobuf has one class a message, however often it is described
    return module


if not TYPE_CHECKING:
    _module = _messages()
    globals().update({name: getattr(_module, name) for name in __all__})
