"""onnx's message classes, without the rest of its package: `import onnx` takes four times as long and twice the memory.

They are the very classes that `import onnx` has, before it or after it. Nothing else of onnx, and no numpy, is needed
to read, rewrite and write a model; where something is, it is imported there.
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
"""Where onnx has its message classes."""


def _messages() -> ModuleType:
    """The module of the message classes. onnx makes one of its own when it is imported later, of the same classes."""
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
