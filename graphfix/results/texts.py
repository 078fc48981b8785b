"""Change all texts in plain data, for example temporary paths into the paths that the user knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any


def with_texts(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401 - plain data of any shape
    """Return the same data with `change` applied to each text in it, also to the keys of mappings."""
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        inner = {field.name: with_texts(getattr(value, field.name), change) for field in fields(value)}
        return replace(value, **inner)
    if isinstance(value, Mapping):
        return {with_texts(key, change): with_texts(each, change) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return type(value)(with_texts(each, change) for each in value)  # type: ignore[call-arg]  # a list or a tuple
    return value


def with_names(text: str, names: Mapping[str, str]) -> str:
    """Return the text with each key of `names` replaced by its value, in the order of the mapping."""
    for old, new in names.items():
        text = text.replace(old, new)
    return text
