"""What `help` shows of a record: its signature as a user calls it, and a text for each field."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import pytest

from graphfix.results import Gap, Outcome, Site
from graphfix.results.field_texts import annotated, described, field_texts
from graphfix.results.records import dataclass, field


@described
@dataclass(frozen=True, slots=True)
class Row:
    """A record of a test."""

    name: str
    """What it is called."""
    many: list[int] = field(default_factory=lambda: [1])
    size: int = 3
    """How large it is."""
    apart: bool = field(default=False, kw_only=True)
    made: str = field(default="", init=False)


def test_the_signature_has_names_types_and_defaults() -> None:
    signature = inspect.signature(Row)
    assert list(signature.parameters) == ["name", "many", "size", "apart"]
    defaults = {name: each.default for name, each in signature.parameters.items()}
    assert defaults == {"name": inspect.Parameter.empty, "many": [1], "size": 3, "apart": False}
    kinds = {name: each.kind for name, each in signature.parameters.items()}
    assert kinds["apart"] == inspect.Parameter.KEYWORD_ONLY
    assert {kinds[name] for name in ("name", "many", "size")} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert signature.parameters["size"].annotation == "int"


def test_each_field_has_the_text_behind_it() -> None:
    assert field_texts(Row) == {"name": "What it is called.", "size": "How large it is."}
    shown = pydoc.plain(pydoc.render_doc(Row))
    assert "What it is called." in shown
    assert "How large it is." in shown
    slots: Any = Row.__slots__
    assert set(slots) == {"name", "many", "size", "apart", "made"}
    assert slots["many"] == ""


def test_a_class_without_source_has_no_texts() -> None:
    assert field_texts(type("Made", (), {"__module__": "builtins"})) == {}


SOURCE = '''
class Other:
    name: str
    """Of another class."""

class Asked:
    """Its own text."""

    name: str
    """The first."""
    plain: int = 1
    pairs: dict[str, int]
    """The third."""

    def method(self) -> None:
        """No field."""

    last: int
'''


def test_the_fields_of_a_class_are_read_from_its_source() -> None:
    assert list(annotated(SOURCE, "Asked")) == [
        ("name", "str", "The first."),
        ("plain", "int", ""),
        ("pairs", "dict[str, int]", "The third."),
        ("last", "int", ""),
    ]


@pytest.mark.parametrize(
    ("record", "name", "words"),
    [(Outcome, "output", "written"), (Site, "code", "GF"), (Gap, "largest", "difference")],
)
def test_the_records_of_the_package_are_shown_so(record: type, name: str, words: str) -> None:
    assert name in inspect.signature(record).parameters
    assert words in pydoc.plain(pydoc.render_doc(record))
