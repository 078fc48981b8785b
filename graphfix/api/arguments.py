"""Turn the keywords of a Python function into a request. Texts in place of typed values are parsed, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from graphfix.engine.option_texts import PARSERS, parse_fields
from graphfix.engine.request import Request


def request(keywords: Mapping[str, Any], **changed: object) -> Request:
    """Return the request for the local variables of a public function, with `changed` in place of some.

    Call it directly in the public function: a warning about a text names the line that calls that function.
    Raises GraphfixError for an argument of a wrong type or value.
    """
    asked = {**keywords, **changed}
    for field in PARSERS:
        texts = _texts(field, asked.get(field))
        if not texts:
            continue
        parsed = parse_fields({field: texts})
        asked["fault"] = asked.get("fault") or parsed.get("fault")
        asked[field] = _typed(asked[field], parsed.get(field))
        what = "has texts as the command line takes them, which the next minor version refuses"
        warnings.warn(f"{field} {what}; write {field}={asked[field]!r}", DeprecationWarning, stacklevel=3)
    return Request.of(asked)


def _texts(field: str, given: object) -> dict[str, str] | list[str]:
    """Return the values of an argument that are texts."""
    if field == "same":
        return [each for each in given if isinstance(each, str)] if isinstance(given, (list, tuple)) else []
    return {key: each for key, each in given.items() if isinstance(each, str)} if isinstance(given, Mapping) else {}


def _typed(given: Any, parsed: Any) -> object:  # noqa: ANN401 -- a mapping or a list
    """Return an argument with parsed values in place of its texts, or without its texts if they can't be parsed."""
    if isinstance(given, Mapping):
        return {key: each for key, each in given.items() if not isinstance(each, str)} | (parsed or {})
    return [*(each for each in given if not isinstance(each, str)), *(parsed or ())]
