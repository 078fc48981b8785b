"""The keywords of a Python function become a request; texts in place of typed values are parsed, with a warning."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from graphfix.engine.option_texts import PARSERS
from graphfix.engine.request import Request


def request(keywords: Mapping[str, Any], **changed: object) -> Request:
    """Return the request for the local variables of a public function, with `changed` in place of some.

    Call it directly in the public function: a warning about a text names the line that calls that function.
    Raises GraphfixError for an argument of a wrong type or value.
    """
    asked = {**keywords, **changed}
    for field in PARSERS:
        value = typed(field, asked.get(field))
        if value is not asked.get(field):
            what = "is a text of the command line, which the next version will refuse"
            warnings.warn(f"{field}={asked[field]!r} {what}; write {field}={value!r}", DeprecationWarning, stacklevel=3)
            asked[field] = value
    return Request.of(asked)


def typed(field: str, given: object) -> object:
    """Return an argument with each text parsed, and the argument itself if it has no texts. Raises GraphfixError."""
    parse = PARSERS[field]
    if isinstance(given, Mapping) and any(isinstance(each, str) for each in given.values()):
        return {key: parse(key, each) if isinstance(each, str) else each for key, each in given.items()}
    if isinstance(given, (list, tuple)) and any(isinstance(each, str) for each in given):
        return [parse("", each) if isinstance(each, str) else each for each in given]
    return given
