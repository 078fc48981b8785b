"""What the modules of models share: names for TensorFlow's types, which it does not tell, and a weight."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

Tensor: TypeAlias = Any
"""A tensor, symbolic or not; of TensorFlow or of Keras."""

Layer: TypeAlias = Any
"""A layer or a model, called with tensors."""

Converter: TypeAlias = Any
"""A tf.lite.TFLiteConverter."""

Call: TypeAlias = Callable[..., Any]
"""A function of tensors."""


def variable(name: str, *shape: int) -> Tensor:
    """Return a weight; it gets its numbers once it is known where it is used."""
    import tensorflow as tf

    return tf.Variable(tf.zeros(shape), name=name)
