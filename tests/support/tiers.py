"""The tiers of tests: no mark is what `pytest` runs, `ci` what .ci/run adds, `full` what scripts/full_check.sh does.

docs/decisions.md says what each holds ("What the tiers of tests hold").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet

Value = TypeVar("Value")

COVER = frozenset(
    "atan2_unequal.tflite batch_matmul_int8.tflite bfloat16.onnx broadcast_in_dim.tflite custom.tflite encoder.onnx"
    " expand_forms.onnx function_nested.onnx function_two_ranks.onnx half_constant.tflite if_body.onnx if_body.tflite"
    " legacy_prelu.onnx loop_rank.onnx matmul.onnx n_ary.onnx normalization.onnx opset_7.onnx per_channel.tflite"
    " prelu.tflite qdq.onnx qlinear_add.onnx rank_8.tflite rfc_crossed_dynamic_bool.tflite rfc_dynamic_1d.tflite"
    " rfc_incompatible.onnx rfc_incompatible.tflite rfc_operations.onnx rfc_result_stretched.onnx"
    " rfc_result_stretched.tflite rfc_unary_dynamic.tflite rfc_unary_dynamic_bool.tflite run_time_form.tflite"
    " scalar_free.tflite scan_body.onnx select_rows_int16.tflite shared_constant.onnx signatures.tflite strings.tflite"
    " tile.tflite while_body.tflite".split()
)
"""The committed models on which plain `pytest` runs what is asked of all: each rewrite has work in one of them, each
finding, operator and element type of the others occurs (tests/whole/test_tiers.py)."""


def tiered(
    values: Iterable[Value],
    plain: Callable[[Value], bool],
    full: Callable[[Value], bool] = lambda _: False,
    name: Callable[[Value], str] = str,
) -> list[ParameterSet]:
    """Parameters of a test: those that plain `pytest` runs, those of scripts/full_check.sh, the others marked `ci`."""
    return [
        pytest.param(
            value, id=name(value), marks=() if plain(value) else pytest.mark.full if full(value) else pytest.mark.ci
        )
        for value in values
    ]


def by_model(paths: Iterable[Path]) -> list[ParameterSet]:
    """The committed models: a cover of them, all others, and those that differ from another by their element type."""
    return tiered(paths, lambda path: path.name in COVER, lambda path: is_variant(path.stem), lambda path: path.name)


def is_variant(stem: str) -> bool:
    """Whether a model differs from another one by its element type alone; int8 stands for the others."""
    return stem.endswith(("_int16", "_bool"))
