"""The error for a request that does not fit the model: an unknown input name, a wrong size or a wrong value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphfix.results import GraphfixError
from graphfix.results.error_texts import no_input

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class BindingError(GraphfixError):
    """The error for a request that does not fit the model's inputs.

    Either no input has the requested name, or the requested size or value does not fit the input. The verdict adds the
    first file's name to the message.
    """


def check_shape(name: str, shape: Sequence[int], inputs: Mapping[str, Sequence[int | str] | None]) -> None:
    """Raise BindingError if no input is called `name`, or if the rank of the input differs from the rank of `shape`.

    `inputs` contains the sizes of each input, or None if the rank of the input is unknown. An unknown rank fits every
    shape.
    """
    if name not in inputs:
        raise BindingError(no_input(name, inputs))
    dims = inputs[name]
    if dims is not None and len(dims) != len(shape):
        raise BindingError(
            f"input '{name}' has rank {len(dims)}; the shape {list(shape)} has {len(shape)}; give one for each axis"
        )
