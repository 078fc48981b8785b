"""Which nodes onnx's shape inference may be wrong about: each node of the table is asked of the condition alone.

tests/checker/proof/onnx/test_load_inference.py asks onnxruntime what then goes wrong.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx.parser
import pytest

from graphfix.checker.proof.core.sizes import Algebra, Size
from graphfix.checker.proof.core.terms import TermTable, value_of
from graphfix.checker.proof.neutral.constant_folding import as_constant
from graphfix.checker.proof.neutral.constants import Constants
from graphfix.checker.proof.onnx.closed_world.wrong_inference import is_suspect
from graphfix.checker.proof.onnx.reading.operands import Environment

Shape = tuple[int | str, ...] | None
FARTHEST, FARTHER = (1 << 31) - 1, (1 << 31) - 2


def environment(shapes: dict[str, Shape], constants: dict[str, Any]) -> Environment:
    """Return values of these shapes (a text is a symbol) and constants."""
    table = TermTable(Algebra())
    known = Environment({"": 17})
    for name, shape in shapes.items():
        core, _ = table.find_or_create_core(("input", name), name)
        sizes: list[Size] = [table.algebra.symbol((s,), s) if isinstance(s, str) else s for s in shape or ()]
        core.sizes = None if shape is None else tuple(sizes)
        known.values[name] = value_of(core)
    for name, value in constants.items():
        known.values[name] = as_constant(Constants(table), value, name)
    return known


POOL = "kernel_shape = [3], strides = [3], pads = [1, 1]"
POOLS: dict[str, tuple[str, Shape, Shape, bool]] = {
    "no ceiling": (f"MaxPool <{POOL}> (x)", (1, 1, 5), (1, 1, 2), False),
    "a ceiling of 0": (f"MaxPool <{POOL}, ceil_mode = 0> (x)", (1, 1, 5), (1, 1, 2), False),
    "a window that begins in the padding": (f"MaxPool <{POOL}, ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 2), True),
    "a window that does not": (f"MaxPool <{POOL}, ceil_mode = 1> (x)", (1, 1, 6), (1, 1, 3), False),
    "of an average": (f"AveragePool <{POOL}, ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 2), True),
    "of a norm": (f"LpPool <{POOL}, ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 2), True),
    "over all": ("GlobalMaxPool (x)", (1, 1, 5), (1, 1, 1), False),
    "a size that is not known": (f"MaxPool <{POOL}, ceil_mode = 1> (x)", (1, 1, "N"), (1, 1, "M"), False),
    "a shape that is not known": (f"MaxPool <{POOL}, ceil_mode = 1> (x)", None, (1, 1, 2), True),
    "a result that is not known": (f"MaxPool <{POOL}, ceil_mode = 1> (x)", (1, 1, 5), None, True),
    "a result of another rank": (f"MaxPool <{POOL}, ceil_mode = 1> (x)", (1, 1, 6), (1, 1, 3, 3), True),
    "too few axes": (f"MaxPool <{POOL}, ceil_mode = 1> (x)", (1, 6), (1, 3), True),
    "no strides and pads": ("MaxPool <kernel_shape = [3], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 3), False),
    "no strides and pads, another size": (
        "MaxPool <kernel_shape = [3], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 4), True),
    "a stride": ("MaxPool <kernel_shape = [2], strides = [4], ceil_mode = 1> (x)", (1, 1, 7), (1, 1, 3), False),
    "pads in front": (
        "MaxPool <kernel_shape = [3], pads = [2, 0], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 5), False),
    "pads behind": ("MaxPool <kernel_shape = [3], pads = [0, 1], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 4), False),
    "dilations": ("MaxPool <kernel_shape = [3], dilations = [2], ceil_mode = 1> (x)", (1, 1, 7), (1, 1, 3), False),
    "dilations, another size": (
        "MaxPool <kernel_shape = [3], dilations = [2], ceil_mode = 1> (x)", (1, 1, 7), (1, 1, 5), True),
    "a second axis": (
        "MaxPool <kernel_shape = [1, 3], strides = [1, 3], pads = [0, 1, 0, 1], ceil_mode = 1> (x)",
        (1, 1, 5, 5), (1, 1, 5, 2), True),
    "a second axis that fits": (
        "MaxPool <kernel_shape = [1, 3], strides = [1, 3], pads = [0, 1, 0, 1], ceil_mode = 1> (x)",
        (1, 1, 5, 6), (1, 1, 5, 3), False),
    "too few pads": ("MaxPool <kernel_shape = [3], pads = [1], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 4), True),
    "too many strides": (
        "MaxPool <kernel_shape = [3], strides = [1, 1], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 3), True),
    "too many dilations": (
        "MaxPool <kernel_shape = [3], dilations = [1, 1], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 3), True),
    "a stride of 0": ("MaxPool <kernel_shape = [3], strides = [0], ceil_mode = 1> (x)", (1, 1, 5), (1, 1, 3), True),
    "automatic padding": ('MaxPool <kernel_shape = [3], auto_pad = "SAME_UPPER"> (x)', (1, 1, 5), (1, 1, 5), False),
    "automatic padding and a ceiling": (
        'MaxPool <kernel_shape = [3], auto_pad = "SAME_UPPER", ceil_mode = 1> (x)', (1, 1, 5), (1, 1, 3), True),
    "automatic padding and pads": (
        'MaxPool <kernel_shape = [3], auto_pad = "SAME_UPPER", pads = [1, 1]> (x)', (1, 1, 5), (1, 1, 5), True),
    "automatic padding and dilations": (
        'MaxPool <kernel_shape = [3], auto_pad = "VALID", dilations = [2]> (x)', (1, 1, 5), (1, 1, 1), True),
    "automatic padding and no dilation": (
        'MaxPool <kernel_shape = [3], auto_pad = "VALID", dilations = [1]> (x)', (1, 1, 5), (1, 1, 3), False),
    "no automatic padding": (
        'MaxPool <kernel_shape = [3], auto_pad = "NOTSET", pads = [1, 1]> (x)', (1, 1, 5), (1, 1, 5), False),
    "no automatic padding, dilated": (
        'MaxPool <kernel_shape = [3], auto_pad = "NOTSET", dilations = [2], ceil_mode = 1> (x)', (1, 1, 7), (1, 1, 3),
        False),
}  # fmt: skip


@pytest.mark.parametrize(("text", "operand", "result", "suspect"), POOLS.values(), ids=POOLS)
def test_a_pool(text: str, operand: Shape, result: Shape, suspect: bool) -> None:
    (node,) = onnx.parser.parse_graph(f"g (float x) => (float y) {{ y = {text} }}").node
    assert is_suspect(node, environment({"x": operand, "y": result}, {})) is suspect


NODES: dict[str, tuple[str, bool]] = {
    "no padding": ("ConvTranspose (x, w)", False),
    "automatic padding": ('ConvTranspose <auto_pad = "SAME_LOWER"> (x, w)', True),
    "no automatic padding": ('ConvTranspose <auto_pad = "NOTSET"> (x, w)', False),
    "output padding": ("ConvTranspose <output_padding = [0, 1]> (x, w)", True),
    "output padding of 0": ("ConvTranspose <output_padding = [0, 0]> (x, w)", False),
    "an output shape": ("ConvTranspose <output_shape = [0]> (x, w)", True),
    "no steps": ("Slice (x, one, far)", False),
    "no steps, but axes": ("Slice (x, one, far, one)", False),
    "steps without a name": ("Slice (x, one, far, one, )", False),
    "forwards to the end": ("Slice (x, one, far, one, one)", False),
    "backwards to the largest number": ("Slice (x, one, far, one, back)", True),
    "backwards to a number below it": ("Slice (x, one, farther, one, back)", False),
    "backwards to a number": ("Slice (x, one, one, one, back)", False),
    "one of two backwards": ("Slice (x, one, far, one, both)", True),
    "a step of 0": ("Slice (x, one, far, one, zero)", True),
    "steps that are not known": ("Slice (x, one, one, one, s)", True),
    "backwards to what is not known": ("Slice (x, one, s, one, back)", True),
    "forwards to what is not known": ("Slice (x, one, s, one, one)", False),
    "a Resize by whole numbers": ("Resize (x, , whole)", False),
    "a Resize by others": ("Resize (x, , half)", True),
    "a Resize to sizes": ("Resize (x, , , one)", False),
    "an Upsample by whole numbers": ("Upsample (x, whole)", False),
    "an Upsample by others": ("Upsample (x, half)", True),
    "a Resize by what is not known": ("Resize (x, , f)", False),
    "a slope of one": ("PRelu (x, units)", False),
    "a slope of the data's sizes": ("PRelu (x, z)", False),
    "a slope of fewer axes": ("PRelu (x, w)", False),
    "a slope that stretches": ("PRelu (units, x)", True),
    "a slope of more axes": ("PRelu (w, x)", True),
    "a slope that is not known": ("PRelu (x, u)", True),
    "data that is not known": ("PRelu (u, x)", True),
    "no slope": ("PRelu (x)", True),
    "a recurrence": ("LSTM <layout = 1> (x, w, w)", True),
    "a recurrence with the batch behind": ("LSTM <layout = 0> (x, w, w)", False),
    "a recurrence that does not say": ("GRU (x, w, w)", False),
    "another recurrence": ("RNN <layout = 1> (x, w, w)", True),
    "a recurrence of gates": ("GRU <layout = 1> (x, w, w)", True),
    "an operator of the list": ('Einsum <equation = "ij->i"> (x)', True),
    "an operator of another domain": ('mine.Einsum <equation = "ij->i"> (x)', False),
    "the other name of the domain": ('ai.onnx.Einsum <equation = "ij->i"> (x)', True),
    "any other operator": ("Relu (x)", False),
    **{op: (f"{op} (x)", True) for op in (
        "Attention CenterCropPad Col2Im ConcatFromSequence DFT MaxRoiPool MaxUnpool Range RoiAlign SequenceAt"
        " SequenceMap SimplifiedLayerNormalization SplitToSequence STFT Unique").split()},
}  # fmt: skip


@pytest.mark.parametrize(("text", "suspect"), NODES.values(), ids=NODES)
def test_any_other_node(text: str, suspect: bool) -> None:
    (node,) = onnx.parser.parse_graph(f"g (float x) => (float y) {{ y = {text} }}").node
    held = {
        "one": [1], "zero": [0], "back": [-1], "both": [1, -1], "far": [FARTHEST], "farther": [FARTHER],
        "half": [1.0, 0.5], "whole": [1.0, 2.0],
    }  # fmt: skip
    shapes: dict[str, Shape] = {
        "x": (2, 3), "z": (2, 3), "w": (3,), "units": (1, 1), "u": None, "s": (1,), "f": (2,), "y": None,
    }  # fmt: skip
    arrays = {
        name: np.array(values, np.float32 if isinstance(values[0], float) else np.int64)
        for name, values in held.items()
    }
    assert is_suspect(node, environment(shapes, arrays)) is suspect
