"""The process of onnx's shape inference, called in this one with a stand-in for onnx's native module."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Sequence
from io import BytesIO
from types import ModuleType, SimpleNamespace

import pytest

from graphfix.runtimes.onnx import shape_inference_worker as worker


class InferenceError(Exception):
    """As onnx's native module has it."""


class Native:
    """Stands in for onnx's native module, the system and the watchdog, and notes what is asked of them."""

    def __init__(self, patch: pytest.MonkeyPatch, questions: Sequence[object]) -> None:
        self.done: list[object] = []
        self.answers = BytesIO()
        inference = SimpleNamespace(InferenceError=InferenceError, infer_shapes=self.infer_shapes)
        native = ModuleType("onnx.onnx_cpp2py_export")
        native.__dict__.update(defs=self, shape_inference=inference)
        patch.setitem(sys.modules, "onnx", sys.modules.get("onnx", ModuleType("onnx")))
        patch.setitem(sys.modules, "onnx.onnx_cpp2py_export", native)
        patch.setattr(worker, "os", SimpleNamespace(dup=lambda number: number + 40, dup2=self.dup2, fdopen=self.fdopen))
        patch.setattr(worker, "faulthandler", self)
        patch.setattr(sys, "stdin", SimpleNamespace(buffer=BytesIO(b"".join(map(pickle.dumps, questions)))))

    def dup2(self, *pair: int) -> None:
        self.done.append(pair)

    def fdopen(self, number: int, mode: str) -> BytesIO:
        self.done.append((number, mode))
        return self.answers

    def has_schema(self, name: str) -> None:
        self.done.append(name)

    def dump_traceback_later(self, seconds: float, *, exit: bool) -> None:  # noqa: A002 - Python's name
        assert exit
        self.done.append(f"{seconds} seconds")

    def cancel_dump_traceback_later(self) -> None:
        self.done.append("no more")

    def infer_shapes(self, model: bytes, *flags: bool) -> bytes:
        if model == b"wrong":
            raise InferenceError("onnx objects")
        if model == b"broken":
            raise RuntimeError("é")
        if model == b"large":
            raise ValueError("2 GB")
        self.done.append(flags)
        return b"shapes of " + model

    def said(self) -> list[tuple[bool, bytes]]:
        """The answers."""
        self.answers.seek(0)
        found = []
        while self.answers.tell() < len(self.answers.getvalue()):
            found.append(pickle.load(self.answers))  # noqa: S301 - written here
        return found


def test_each_question_is_answered_within_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    native = Native(monkeypatch, [(b"m", 3, True, False), (b"wrong", 4, False, False), (b"n", 5, False, True)])
    worker.main("folder")
    assert native.said() == [(False, b"shapes of m"), (True, b"onnx objects"), (False, b"shapes of n")]
    assert native.done == [
        *[(41, "wb"), (2, 1), "Relu"],
        *["3 seconds", (False, True, False), "no more"],
        *["4 seconds", "no more"],
        *["5 seconds", (False, False, True), "no more"],
    ]
    assert sys.modules["onnx"].__path__ == ["folder"]


@pytest.mark.parametrize(("model", "text"), [(b"broken", "é"), (b"large", "2 GB")])
def test_what_onnx_raises_is_an_answer(monkeypatch: pytest.MonkeyPatch, model: bytes, text: str) -> None:
    native = Native(monkeypatch, [(model, 3, False, False)])
    worker.main("folder")
    assert native.said() == [(True, text.encode())]
