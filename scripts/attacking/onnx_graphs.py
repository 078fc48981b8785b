"""Build a random ONNX model of a family: which blocks it may contain, and with which options its pair is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from attacking import onnx_blocks as blocks
from attacking import onnx_layers as layers
from attacking.onnx_draft import Draft

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

Block = "Callable[[Draft], None]"
PLAIN = (blocks.unary, blocks.binary, blocks.binary, blocks.transpose, blocks.lift, blocks.concat, blocks.reduction)
FAMILIES = {
    "elementwise": (blocks.choice, blocks.integers, blocks.binary, blocks.softmax),
    "products": (blocks.product, blocks.gemm, blocks.softmax, blocks.reduction),
    "attention": (layers.attention, layers.normalization, blocks.product),
    "recurrence": (layers.recurrence, blocks.product),
    "normalizations": (layers.normalization, layers.normalization, blocks.softmax),
    "windows": (layers.windows, layers.pools, layers.small_pool, blocks.collapse, blocks.slice_),
    "bodies": (layers.condition, layers.loop, layers.scan),
    "functions": (layers.function, blocks.binary),
    "shapes": (blocks.computed_shape, blocks.reshape, blocks.slice_, blocks.gather),
    "types": (blocks.cast, blocks.strings, blocks.quantized, blocks.integers),
    "lies": (
        layers.windows,
        layers.small_pool,
        blocks.collapse,
        layers.lie,
        layers.lie,
        blocks.slice_,
        blocks.computed_shape,
    ),
    "opsets": (*PLAIN, blocks.softmax, blocks.reshape, layers.normalization, blocks.product, layers.attention),
    "set": (blocks.reshape, blocks.integers, blocks.binary),
    "same": (blocks.binary, blocks.choice),
    "narrow": (blocks.integers, blocks.gather),
    "dims": (blocks.computed_shape, blocks.reshape, layers.windows, layers.pools, blocks.collapse),
    "external": (blocks.product, blocks.gemm, blocks.reshape, blocks.gather),
}
OPSETS = {
    "opsets": (7, 8, 23, 24),
    "attention": (13, 17, 21, 23),
    "normalizations": (9, 13, 17, 21, 23),
    "types": (13, 17, 19, 21),
}
DEFAULT_OPSETS = (13, 17, 18, 21)


def _named_shape(draft: Draft) -> None:
    """Add a Reshape whose target is an input of the model; the option `--set` states the input's value."""
    value = draft.input("float32", ("N", 3))
    target = draft.input("int64", (3,), value=np.array([1, -1, 3]))
    draft.node("Reshape", [value, target], "float32", (1, "N", 3))
    draft.options["values"] = {target.name: "[1,-1,3]"}


def _equal_sizes(draft: Draft) -> None:
    """Add an Add of inputs with the sizes `N` and `K`; the option `--same` states that both are equal."""
    one, other = draft.input("float32", ("N", 3)), draft.input("float32", ("K", 3))
    draft.node("Add", [one, other], "float32", ("N", 3))
    draft.options["same"] = ["N=K"]


def _narrow(draft: Draft) -> None:
    """Add a Gather whose indices are an int64 input, which may be int32 in the second file (`narrow_inputs`)."""
    at = draft.input("int64", ("N", 2), low=0, high=3)
    draft.node("Gather", [draft.weights(4, 3), at], "float32", ("N", 2, 3))
    draft.options["narrow_inputs"] = True


def _bound(draft: Draft) -> None:
    """Bind the symbol `N` to a number or to the range `2..5`, and list the sizes that runs may use."""
    draft.input("float32", ("N", "M", 3))
    if draft.rng.random() < 0.6:
        number = draft.rng.choice([1, 2, 4])
        draft.options["dims"] = {"N": str(number)}
        draft.sizes["N"] = (number,)
    else:
        draft.options["dims"] = {"N": "2..5"}
        draft.sizes["N"] = (2, 3, 5)


STARTS: dict[str, Callable[[Draft], None]] = {
    "set": _named_shape,
    "same": _equal_sizes,
    "narrow": _narrow,
    "dims": _bound,
}


def drafted(rng: random.Random, family: str) -> Draft:
    """Return a random graph of a family, of about 5 to 40 nodes."""
    draft = Draft(rng, rng.choice(OPSETS.get(family, DEFAULT_OPSETS)))
    if family in STARTS:
        STARTS[family](draft)
    count = rng.choice([5, 8, 12, 20, 35])
    for _ in range(3 * count):
        rng.choice(FAMILIES[family] if rng.random() < 0.5 else PLAIN)(draft)
        if len(draft.nodes) >= count:
            break
    return draft
