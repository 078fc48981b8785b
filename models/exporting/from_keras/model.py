"""What an exported TFLite model is: a name, how it is made, its inputs with free axes, and its variants.

An axis that is free has a name: `B` the batch, `N` another one, `T` and `S` sequences, `P` the past, `H` and `W` the
height and width. A variant is a choice of free axes, then a quantization: `free`, `batch` (only `B` and `N`), `fixed`,
`free_fp16`, `fixed_int8` and so on; the file is NAME_VARIANT.tflite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SIZES = {"B": (1, 3), "N": (2, 4), "T": (5, 8), "S": (4, 7), "P": (3, 6), "H": (16, 24), "W": (24, 16)}
"""The two sizes that a free axis gets where a model is run; the sizes of a file without free axes are the second
ones, with a batch of 1."""

QUANTIZATIONS = ("float", "fp16", "dynamic", "int8", "int8io", "int16x8")
"""Stored weights in half precision; weights in int8 alone; operators in int8, with inputs and outputs in float32 or in
int8; activations in int16 with weights in int8."""

Feed = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Input:
    """An input: floats in [-1, 1), or integers in [0, high)."""

    name: str
    dims: tuple[int | str, ...]
    dtype: str = "float32"
    high: int = 0

    def shape(self, sizes: Mapping[str, int]) -> tuple[int | None, ...]:
        """Return the shape; an axis that `sizes` does not name is free."""
        return tuple(sizes.get(dim) if isinstance(dim, str) else dim for dim in self.dims)

    def value(self, sizes: Mapping[str, int], rng: np.random.Generator) -> np.ndarray[Any, Any]:
        """Return a value of the shape that `sizes` gives."""
        shape = [sizes[dim] if isinstance(dim, str) else dim for dim in self.dims]
        if self.dtype == "float32":
            return rng.uniform(-1, 1, shape).astype(np.float32)
        if self.dtype == "bool":
            return rng.integers(0, 4, shape) > 0
        return np.minimum(rng.integers(0, self.high, shape), self.high - 1).astype(self.dtype)


def floats(name: str, *dims: int | str) -> Input:
    """Return an input of real numbers."""
    return Input(name, dims)


def ids(name: str, high: int, *dims: int | str, dtype: str = "int32") -> Input:
    """Return an input of integers in [0, high)."""
    return Input(name, dims, dtype, high)


def mask(name: str, *dims: int | str) -> Input:
    """Return an attention mask as tokenizers write it: integers 0 and 1."""
    return Input(name, dims, "int32", 2)


def flags(name: str, *dims: int | str) -> Input:
    """Return an input of booleans."""
    return Input(name, dims, "bool")


@dataclass(frozen=True)
class Model:
    """A model; `make` imports TensorFlow.

    `via` says what `make` is and which converter it goes through: `function` (`make()` gives a function of tensors),
    `keras` (`make(*inputs)` gives the outputs of a functional model) or `signatures` (`make()` gives a tf.Module with
    a method for each signature; through a saved model), `stateful` where these methods assign variables.
    """

    name: str
    make: Callable[..., Any]
    signatures: Mapping[str, tuple[Input, ...]]
    variants: tuple[str, ...]
    via: str = "function"
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def axes(self) -> list[str]:
        """Return the names of the axes that may be free, in the order of their first use."""
        inputs = [one for given in self.signatures.values() for one in given]
        return list(dict.fromkeys(dim for one in inputs for dim in one.dims if isinstance(dim, str)))


@dataclass(frozen=True)
class Export:
    """One file: a model in one of its variants."""

    model: Model
    variant: str

    @property
    def name(self) -> str:
        """The file's stem."""
        return f"{self.model.name}_{self.variant}"

    @property
    def quantization(self) -> str:
        """One of QUANTIZATIONS."""
        return self.variant.partition("_")[2] or "float"

    def bound(self) -> dict[str, int]:
        """Return the sizes of the axes that this variant fixes."""
        scope = self.variant.partition("_")[0]
        free = {"free": set(self.model.axes()), "batch": {"B", "N"}, "fixed": set[str]()}[scope]
        last = {axis: self._two(axis)[1] for axis in self.model.axes() if axis not in free}
        return last | ({"B": 1} if "B" in last else {})

    def samples(self, signature: str) -> list[Feed]:
        """Return representative data of one size."""
        sizes = {axis: self._two(axis)[1] for axis in self.free()} | self.bound()
        inputs = self.model.signatures[signature]
        return [{one.name: one.value(sizes, np.random.default_rng(seed)) for one in inputs} for seed in (1, 2)]

    def free(self) -> list[str]:
        """Return the axes that this variant leaves free."""
        bound = self.bound()
        return [axis for axis in self.model.axes() if axis not in bound]

    def feeds(self, signature: str) -> list[Feed]:
        """Return what a signature is run with: once, or for each of the two sizes that free axes get."""
        made = []
        for number in range(2 if self.free() else 1):
            sizes = {axis: self._two(axis)[number] for axis in self.free()} | self.bound()
            rng = np.random.default_rng(number)
            made.append({one.name: one.value(sizes, rng) for one in self.model.signatures[signature]})
        return made

    def _two(self, axis: str) -> tuple[int, int]:
        return {**SIZES, **self.model.sizes}[axis]


def function(
    name: str, make: Callable[..., Any], inputs: tuple[Input, ...], variants: str = "free", **sizes: tuple[int, int]
) -> Model:
    """Return a model written as a function of tensors."""
    return Model(name, make, {"serving_default": inputs}, tuple(variants.split()), "function", sizes)


def keras_model(
    name: str, make: Callable[..., Any], inputs: tuple[Input, ...], variants: str = "free", **sizes: tuple[int, int]
) -> Model:
    """Return a functional Keras model."""
    return Model(name, make, {"serving_default": inputs}, tuple(variants.split()), "keras", sizes)


def module(
    name: str,
    make: Callable[..., Any],
    signatures: Mapping[str, tuple[Input, ...]],
    variants: str = "free",
    **sizes: tuple[int, int],
) -> Model:
    """Return a model with several signatures."""
    return Model(name, make, signatures, tuple(variants.split()), "signatures", sizes)


def stateful(
    name: str,
    make: Callable[..., Any],
    signatures: Mapping[str, tuple[Input, ...]],
    variants: str = "free",
    **sizes: tuple[int, int],
) -> Model:
    """Return a model whose signatures assign variables that they share."""
    return Model(name, make, signatures, tuple(variants.split()), "stateful", sizes)
