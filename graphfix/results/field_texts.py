"""The signature and the field texts of a record, for `help` and for the documentation."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T", bound=type)


def described(cls: T) -> T:
    """Class decorator: `help` of the class then shows its signature and the text of each field.

    Both are made when they are first needed.
    """
    cls.__slots__ = FieldTexts(cls)  # type: ignore[attr-defined]  # a record has slots
    cls.__signature__ = SIGNATURE  # type: ignore[attr-defined]  # `inspect` looks for it
    return cls


class FieldTexts(dict[str, str]):
    """A replacement for `__slots__` in which `help` finds the text of each field.

    It reads the source when it is accessed.
    """

    def __init__(self, cls: Any) -> None:  # noqa: ANN401
        """Store the names of the slots."""
        super().__init__(dict.fromkeys(cls.__slots__, ""))
        self._cls = cls

    def __getitem__(self, name: str) -> str:
        """Return the text of a field; "" if it has none."""
        return field_texts(self._cls).get(name, "")


class RecordSignature:
    """The signature of a record's class."""

    def __get__(self, _: object, cls: Any) -> object:  # noqa: ANN401
        from inspect import Parameter, Signature

        kinds = {False: Parameter.POSITIONAL_OR_KEYWORD, True: Parameter.KEYWORD_ONLY}
        return Signature(
            [
                Parameter(each.name, kinds[bool(each.kw_only)], default=_default(each), annotation=each.type)
                for each in dataclasses.fields(cls)
                if each.init
            ]
        )


def _default(each: dataclasses.Field[Any]) -> object:
    """Return the default of a parameter. For a default factory, return a new object of it."""
    from inspect import Parameter

    if each.default_factory is not dataclasses.MISSING:
        return each.default_factory()
    return Parameter.empty if each.default is dataclasses.MISSING else each.default


SIGNATURE = RecordSignature()


def field_texts(cls: type) -> dict[str, str]:
    """Return the text of each field that has one; an empty mapping for a class without source."""
    try:
        source = _source(cls.__module__)
    except (OSError, TypeError):
        return {}
    return {name: text for name, _, text in annotated(source, cls.__name__) if text}


def annotated(source: str, name: str) -> Iterator[tuple[str, str, str]]:
    """Yield (name, annotation, text) of each field of the class `name` in a module's source; the text may be ""."""
    import ast  # few programs ask for help

    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            for field, after in zip(node.body, [*node.body[1:], None], strict=True):
                if isinstance(field, ast.AnnAssign):
                    is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
                    text = str(after.value.value) if is_text else ""  # type: ignore[union-attr]  # as `is_text` says
                    yield ast.unparse(field.target), ast.unparse(field.annotation), text


@cache
def _source(module: str) -> str:
    import inspect
    import sys

    return inspect.getsource(sys.modules[module])
