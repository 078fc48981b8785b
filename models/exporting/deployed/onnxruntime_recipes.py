"""What onnxruntime's own tools make of an ONNX file: optimized, fused by model type, in float16, quantized.

A recipe is a function of three arguments: the file to read, the file to write, and the numbers to calibrate with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime as ort
from onnxruntime import quantization
from onnxruntime.quantization import QuantFormat, QuantType, matmul_nbits_quantizer
from onnxruntime.quantization.matmul_bnb4_quantizer import MatMulBnb4Quantizer
from onnxruntime.quantization.shape_inference import quant_pre_process
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.float16 import convert_float_to_float16
from onnxruntime.transformers.fusion_options import FusionOptions

from models.exporting.feeds import Array

Feeds = Sequence[Mapping[str, Array]]
Recipe = Callable[[Path, Path, Feeds], None]


def saved(level: str, data: str = "") -> Recipe:
    """Return the recipe of a session's saved file; `data` is the suffix of its data file, empty for inline weights."""

    def make(source: Path, target: Path, _feeds: Feeds) -> None:
        options = ort.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
        options.optimized_model_filepath = str(target)
        if data:
            options.add_session_config_entry(
                "session.optimized_model_external_initializers_file_name", target.name + data
            )
            options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "64")
        ort.InferenceSession(str(source), options, ["CPUExecutionProvider"])
        _sort_nodes(target)

    return make


def _sort_nodes(path: Path) -> None:
    """Sort the nodes of a file with blocked convolutions by what they read, then by their results.

    onnxruntime numbers and sorts the nodes that reorder channels by their addresses: others in each process.
    """
    model = onnx.load(path, load_external_data=False)
    left = sorted(model.graph.node, key=lambda node: str(node.output[0]))
    if not any(node.op_type == "ReorderOutput" for node in left):
        return
    makers = {name for node in left for name in node.output}
    ordered: list[onnx.NodeProto] = []
    done: set[str] = set()
    while left:
        ready = next(node for node in left if makers.isdisjoint(set(node.input) - done))
        left.remove(ready)
        done.update(ready.output)
        ordered.append(onnx.NodeProto.FromString(ready.SerializeToString()))
    for node in ordered:
        if node.op_type == "ReorderOutput":
            node.name = f"ReorderOutput_{node.output[0]}"
    del model.graph.node[:]
    model.graph.node.extend(ordered)
    onnx.save(model, path)


def fused(model_type: str, heads: int = 0, hidden: int = 0, half: bool = False, **options: bool) -> Recipe:
    """Return the recipe of onnxruntime.transformers.optimizer; `options` are attributes of FusionOptions."""

    def make(source: Path, target: Path, _feeds: Feeds) -> None:
        chosen = FusionOptions(model_type)
        for name, value in options.items():
            setattr(chosen, name, value)
        made = optimizer.optimize_model(
            str(source), model_type, num_heads=heads, hidden_size=hidden, optimization_options=chosen
        )
        if half:
            made.convert_float_to_float16(keep_io_types=True)
        made.save_model_to_file(str(target))

    return make


def half(keep_types: bool, block: Sequence[str] | None = None) -> Recipe:
    """Return the recipe of onnxruntime.transformers.float16; inputs and outputs may keep float32."""

    def make(source: Path, target: Path, _feeds: Feeds) -> None:
        made = convert_float_to_float16(onnx.load(source), keep_io_types=keep_types, op_block_list=block)
        onnx.save(made, target)

    return make


def dynamic(**options: Any) -> Recipe:  # noqa: ANN401 - the arguments of quantize_dynamic
    """Return the recipe of dynamic quantization."""

    def make(source: Path, target: Path, _feeds: Feeds) -> None:
        quantization.quantize_dynamic(source, target, **options)

    return make


class _Reader(quantization.CalibrationDataReader):  # type: ignore[misc] - the package has no types
    """The feeds, one after another."""

    def __init__(self, feeds: Feeds) -> None:
        self._left = iter(feeds)

    def get_next(self) -> Mapping[str, Array] | None:
        """Return the next feed, or None behind the last one."""
        return next(self._left, None)


def static(style: str, prepared: bool = False, **options: Any) -> Recipe:  # noqa: ANN401 - of quantize_static
    """Return the recipe of static quantization in QDQ or QOperator form; `prepared` infers shapes beforehand."""

    def make(source: Path, target: Path, feeds: Feeds) -> None:
        if prepared:
            quant_pre_process(source, target, skip_symbolic_shape=False, auto_merge=True)
            source = target
        form = QuantFormat[style]
        quantization.quantize_static(source, target, _Reader(feeds), quant_format=form, **options)

    return make


def blocks(bits: int, size: int, symmetric: bool, style: str = "QOperator", **options: Any) -> Recipe:  # noqa: ANN401
    """Return the recipe of weights in blocks of so many bits; `options` are arguments of the quantizer."""

    def make(source: Path, target: Path, _feeds: Feeds) -> None:
        config = matmul_nbits_quantizer.DefaultWeightOnlyQuantConfig(
            block_size=size,
            is_symmetric=symmetric,
            bits=bits,
            quant_format=QuantFormat[style],
            **options,
        )
        made = matmul_nbits_quantizer.MatMulNBitsQuantizer(onnx.load(source), bits=bits, algo_config=config)
        made.process()
        onnx.save(made.model.model, target)

    return make


def half_quadratic(size: int) -> Recipe:
    """Return the recipe of 4-bit weights by half-quadratic quantization (HQQ)."""

    def make(source: Path, target: Path, _feeds: Feeds) -> None:
        config = matmul_nbits_quantizer.HQQWeightOnlyQuantConfig(block_size=size)
        made = matmul_nbits_quantizer.MatMulNBitsQuantizer(onnx.load(source), algo_config=config)
        made.process()
        onnx.save(made.model.model, target)

    return make


def normal_floats(kind: int, size: int) -> Recipe:
    """Return the recipe of 4-bit weights of bitsandbytes: FP4 is kind 0, NF4 is kind 1."""

    def make(source: Path, target: Path, _feeds: Feeds) -> None:
        made = MatMulBnb4Quantizer(onnx.load(source), kind, size)
        made.process()
        onnx.save(made.model.model, target)

    return make


def behind(first: Recipe, second: Recipe) -> Recipe:
    """Return the recipe of two steps: the second reads what the first writes."""

    def make(source: Path, target: Path, feeds: Feeds) -> None:
        middle = target.with_name("middle.onnx")
        first(source, middle, feeds)
        second(middle, target, feeds)

    return make


FUSED = ("bert", "bart", "clip", "conformer", "gpt2", "gpt_neox", "mmdit", "qwen3", "swin", "t5", "vit")
"""Model types whose default fusions give nodes that the CPU runs."""

RECIPES: dict[str, Recipe] = {
    "extended": saved("ORT_ENABLE_EXTENDED"),
    "all": saved("ORT_ENABLE_ALL"),
    **{f"fused_{model_type}": fused(model_type) for model_type in FUSED},
    "fused_unet": fused("unet", enable_nhwc_conv=False),
    "fused_half": fused("bert", half=True),
    "half": half(keep_types=False),
    "half_inside": half(keep_types=True),
    "dynamic": dynamic(weight_type=QuantType.QInt8),
    "dynamic_channel": dynamic(weight_type=QuantType.QInt8, per_channel=True),
    "dynamic_uint8": dynamic(weight_type=QuantType.QUInt8, reduce_range=True),
    "qdq": static("QDQ"),
    "qdq_channel": static("QDQ", per_channel=True),
    "qdq_symmetric": static("QDQ", extra_options={"ActivationSymmetric": True, "WeightSymmetric": True}),
    "qdq_prepared": static("QDQ", prepared=True, per_channel=True, activation_type=QuantType.QUInt8),
    "qdq_16": static("QDQ", activation_type=QuantType.QUInt16, weight_type=QuantType.QInt8),
    "qdq_int4": static("QDQ", weight_type=QuantType.QInt4, per_channel=True),
    "qoperator": static("QOperator", activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8),
    "qoperator_int8": static("QOperator"),
    "qoperator_channel": static("QOperator", activation_type=QuantType.QUInt8, per_channel=True),
    "qoperator_prepared": static("QOperator", prepared=True, activation_type=QuantType.QUInt8),
    "blocks16": blocks(4, 16, symmetric=True),
    "blocks16_asymmetric": blocks(4, 16, symmetric=False),
    "blocks32": blocks(4, 32, symmetric=True),
    "blocks32_asymmetric": blocks(4, 32, symmetric=False, accuracy_level=4),
    "blocks64": blocks(4, 64, symmetric=True),
    "blocks128_asymmetric": blocks(4, 128, symmetric=False),
    "blocks_qdq": blocks(4, 16, symmetric=True, style="QDQ"),
    "blocks_qdq_asymmetric": blocks(4, 32, symmetric=False, style="QDQ"),
    "blocks_embedding": blocks(4, 16, symmetric=True, op_types_to_quantize=("MatMul", "Gather")),
    "blocks8": blocks(8, 32, symmetric=False),
    "blocks2": blocks(2, 16, symmetric=True),
    "hqq": half_quadratic(16),
    "nf4": normal_floats(1, 16),
    "fp4": normal_floats(0, 16),
    "extended_dynamic": behind(saved("ORT_ENABLE_EXTENDED"), dynamic(weight_type=QuantType.QInt8)),
    "extended_blocks32": behind(saved("ORT_ENABLE_EXTENDED"), blocks(4, 32, symmetric=True)),
    "qdq_extended": behind(static("QDQ"), saved("ORT_ENABLE_EXTENDED")),
    "qdq_channel_extended": behind(static("QDQ", per_channel=True), saved("ORT_ENABLE_EXTENDED")),
    "dynamic_extended": behind(dynamic(weight_type=QuantType.QInt8), saved("ORT_ENABLE_EXTENDED")),
    "half_extended": behind(half(keep_types=True), saved("ORT_ENABLE_EXTENDED")),
    "blocks_qdq_extended": behind(blocks(4, 16, symmetric=True, style="QDQ"), saved("ORT_ENABLE_EXTENDED")),
}
