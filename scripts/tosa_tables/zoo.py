"""The sizes that each real model is bound to on its way to TOSA, and inputs that it answers to (not run by itself)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphfix.engine.option_texts import parse_fields

if TYPE_CHECKING:
    from collections.abc import Mapping

ZOO = Path(__file__).resolve().parents[2] / "models" / "zoo"
SEEDS = (0, 1, 2)
PAPER, INK = 2.2, -2.0
_GLYPH, _STROKE = 14, 2


@dataclass(frozen=True)
class Case:
    """How one model is bound and fed."""

    shapes: Mapping[str, str] = field(default_factory=dict)
    """What `--shape` says; nothing: `--bind-defaults`."""
    values: Mapping[str, str] = field(default_factory=dict)
    """What `--set` says."""
    page: str = ""
    """The input that takes a page of print: on noise a text detector answers a constant, and shows nothing."""

    @property
    def bound(self) -> dict[str, object]:
        """The keywords that bind the model."""
        if not self.shapes:
            return {"bind_defaults": True}
        return parse_fields({"shapes": self.shapes, "values": self.values})


_RATE = {"sr": "16000"}
_SCORE = {"input": "1,576", "state": "2,1,128"}
ONNX: Mapping[str, Case] = {
    "basic-pitch/nmp.onnx": Case(),
    "magika/model.onnx": Case({"bytes": "1,2048"}),
    "rapidocr/ch_ppocr_mobile_v2.0_cls_mobile.onnx": Case({"x": "1,3,48,96"}, page="x"),
    "rapidocr-onnxruntime/ch_ppocr_mobile_v2.0_cls_infer.onnx": Case({"x": "1,3,48,96"}, page="x"),
    "rapidocr/PP-OCRv6_det_small.onnx": Case({"x": "1,3,64,64"}, page="x"),
    "rapidocr-onnxruntime/ch_PP-OCRv4_det_infer.onnx": Case({"x": "1,3,64,64"}, page="x"),
    "rapidocr/PP-OCRv6_rec_small.onnx": Case({"x": "1,3,48,96"}, page="x"),
    "rapidocr-onnxruntime/ch_PP-OCRv4_rec_infer.onnx": Case({"x": "1,3,48,96"}, page="x"),
    "silero-vad/silero_vad.onnx": Case(_SCORE, _RATE),
    "silero-vad/silero_vad_op18_ifless.onnx": Case(_SCORE, _RATE),
    "silero-vad/silero_vad_16k_op15.onnx": Case(_SCORE, _RATE),
    "silero-vad/silero_vad_half.onnx": Case(_SCORE),
    "silero-vad/silero_vad_openvino_16k.onnx": Case(_SCORE),
    "silero-vad/silero_vad_16k_sequence.onnx": Case({"input": "1,576", "h": "1,1,128", "c": "1,1,128"}),
}
"""The ONNX models of the zoo."""


def page(seed: int, shape: tuple[int, int, int, int]) -> np.ndarray:
    """A page of print: lines of boxes with three random strokes each, dark on light. Shape: [1, channels, h, w]."""
    source = np.random.default_rng(seed)
    height, width = shape[2:]
    sheet = np.full((height, width), PAPER, np.float32)
    for top in range(int(source.integers(3, 8)), height - _GLYPH - 2, int(1.7 * _GLYPH)):
        left, end = int(source.integers(3, 8)), width - int(source.integers(3, width // 4))
        while left + _GLYPH // 2 < end:
            box = sheet[top : top + _GLYPH, left : left + int(source.integers(_GLYPH * 2 // 5, _GLYPH * 7 // 10))]
            _letter(box, source)
            left += box.shape[1] + _STROKE
    return np.broadcast_to(sheet, shape).copy()


def _letter(box: np.ndarray, source: np.random.Generator) -> None:
    for _ in range(3):
        if source.random() < 0.5:
            at = int(source.integers(0, max(1, box.shape[1] - _STROKE)))
            box[:, at : at + _STROKE] = INK
        else:
            at = int(source.integers(0, box.shape[0] - _STROKE))
            box[at : at + _STROKE, :] = INK
