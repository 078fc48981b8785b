"""Import what describes the exported ONNX models where PyTorch is not installed: every name of it stands for itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import ClassVar

import pytest

ABSENT = ("torch", "transformers")


class Absent(type):
    """A class of which every attribute, and what a call returns, is such a class again."""

    def __getattr__(cls, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return _made(name)

    def __call__(cls, *_: object, **__: object) -> Absent:
        return cls


class _Module(ModuleType):
    """A module that has every name."""

    __path__: ClassVar[list[str]] = []

    def __getattr__(self, name: str) -> Absent:
        if name.startswith("__"):
            raise AttributeError(name)
        return _made(name)


def _made(name: str) -> Absent:
    return Absent(name, (), {})


@contextmanager
def torch_absent() -> Iterator[None]:
    """Let modules be imported that name PyTorch; what was imported is forgotten behind it."""
    names = (*ABSENT, "torch.nn", "torch.nn.functional", "torch.nn.utils", "transformers.modeling_outputs")
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setitem(sys.modules, name, _Module(name))
        known = set(sys.modules)
        try:
            yield
        finally:
            for name in set(sys.modules) - known:
                if name.startswith("models.exporting.from_pytorch"):
                    del sys.modules[name]
