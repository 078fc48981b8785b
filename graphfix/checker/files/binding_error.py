"""The error for a request that does not fit the model: a name, a size or a value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results import GraphfixError
from graphfix.results.error_texts import no_input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class BindingError(GraphfixError):
    """No input has this name, or the size or value does not fit the input. The verdict adds the first file's name."""


def check_shape(name: str, shape: Sequence[int], inputs: Mapping[str, Sequence[int | str] | None]) -> None:
    """Raise BindingError if no input has this name, or if the input has another rank than the shape."""
    if name not in inputs:
        raise BindingError(no_input(name, inputs))
    dims = inputs[name]
    if dims is not None and len(dims) != len(shape):
        raise BindingError(
            f"input '{name}' has rank {len(dims)}; the shape {list(shape)} has {len(shape)}; give one for each axis"
        )
