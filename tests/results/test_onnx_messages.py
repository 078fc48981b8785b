"""The message classes of onnx are one, whether they are read before onnx or behind it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace

import onnx
import pytest

from graphfix.results import onnx_messages


def test_classes_that_are_read_alone_are_those_of_onnx(monkeypatch: pytest.MonkeyPatch) -> None:
    there = sys.modules[onnx_messages.MODULE]
    assert onnx_messages._messages() is there
    monkeypatch.delitem(sys.modules, onnx_messages.MODULE)
    alone = onnx_messages._messages()
    assert alone is not there
    made = alone.NodeProto(op_type="Add")
    assert onnx.NodeProto.FromString(made.SerializeToString()).op_type == "Add"


@pytest.mark.parametrize("missing", ["onnx", onnx_messages.MODULE])
def test_where_onnx_is_no_folder_on_the_path_it_is_imported(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    find = onnx_messages.PathFinder.find_spec

    class Finder:
        @staticmethod
        def find_spec(name: str, path: Sequence[str] | None = None) -> object:
            return None if name == missing else find(name, path)

    messages = ModuleType("messages")
    monkeypatch.delitem(sys.modules, onnx_messages.MODULE)
    monkeypatch.setitem(sys.modules, "messages", messages)
    monkeypatch.setitem(sys.modules, "onnx", SimpleNamespace(ModelProto=type("M", (), {"__module__": "messages"})))  # type: ignore[arg-type]
    monkeypatch.setattr(onnx_messages, "PathFinder", Finder)
    assert onnx_messages._messages() is messages
