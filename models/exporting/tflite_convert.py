"""Make a model with TensorFlow, give its weights a repeating pattern, and convert it.

The bytes depend on the versions of the libraries: the names that TensorFlow counts up are those of a fresh process
(each model is made in one), weights take their pattern from their names, representative data have seeds, and the
converter writes its version but neither time nor path. Two things are left: an int8 scale comes from a run on the
processor, and the converter orders equal DEQUANTIZE operators in the middle of a graph anew each time (such a file is
left out: Gemma and an unrolled LSTM in int8).
"""

from __future__ import annotations

import contextlib
import io
import math
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from models.exporting.from_keras.layers import Converter, Tensor
from models.exporting.from_keras.model import Export, Input

PERIOD = 17
KEPT = ("state", "cache", "count", "step", "seed")
"""Parts of the names of variables that are no weights: they keep the value they were made with."""
_EMBEDDINGS = ("emb", "wte", "wpe", "shared", "token", "position")
_SCALES = ("gamma", "scale", "alpha")


def pattern(name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return PERIOD values over and over, from a start that the name chooses, as large as a weight of that name is."""
    start = zlib.crc32(name.encode()) % PERIOD
    steps = (np.arange(math.prod(shape)) + start) * 7 % PERIOD
    values = ((steps - PERIOD // 2) / (PERIOD // 2)).reshape(shape)
    part = name.rpartition("/")[2]
    if "variance" in part:
        return (1 + np.abs(values) / 2).astype(np.float32)
    if any(word in part for word in _SCALES):
        return (1 + values / 4).astype(np.float32)
    if len(shape) < 2:
        return (values / 8).astype(np.float32)
    embeds = any(word in name for word in _EMBEDDINGS) and "kernel" not in part and len(shape) < 4
    return (values * (0.5 if embeds else 1.6 / math.sqrt(math.prod(shape[:-1])))).astype(np.float32)


def set_weights(variables: Iterable[Tensor]) -> None:
    """Give each weight its pattern."""
    for variable in variables:
        name = getattr(variable, "path", variable.name).removesuffix(":0")
        weight = "float32" in str(variable.dtype) and not any(word in name for word in KEPT)
        if weight:
            variable.assign(pattern(name, tuple(variable.shape)))


def spec(given: Input, sizes: dict[str, int]) -> Tensor:
    """Return an input's tf.TensorSpec."""
    return tf.TensorSpec(given.shape(sizes), given.dtype, given.name)


def _function(export: Export, _folder: str) -> Converter:
    """Return the converter of a function, which is traced once."""
    (inputs,) = export.model.signatures.values()
    made = export.model.make()
    traced = tf.function(made, autograph=True).get_concrete_function(*[spec(one, export.bound()) for one in inputs])
    holder = tf.Module()
    holder.made, holder.variables_kept = made, list(traced.graph.variables)  # a graph holds its variables weakly
    set_weights(holder.variables_kept)
    return tf.lite.TFLiteConverter.from_concrete_functions([traced], holder)


def _keras(export: Export, _folder: str) -> Converter:
    """Return the converter of a functional Keras model."""
    import keras

    (inputs,) = export.model.signatures.values()
    bound = export.bound()
    given = [keras.Input(batch_shape=one.shape(bound), dtype=one.dtype, name=one.name) for one in inputs]
    model = keras.Model(given, export.model.make(*given), name=export.model.name)
    set_weights(model.weights)
    return tf.lite.TFLiteConverter.from_keras_model(model)


def _signatures(export: Export, folder: str) -> Converter:
    """Return the converter of a saved model, written to a folder, with a method for each signature."""
    made = export.model.make()
    bound = export.bound()
    traced = {}
    for name, inputs in export.model.signatures.items():
        method = tf.function(getattr(made, name))
        traced[name] = method.get_concrete_function(*[spec(one, bound) for one in inputs])
    set_weights({id(one): one for graph in traced.values() for one in graph.graph.variables}.values())
    tf.saved_model.save(made, folder, signatures=traced)
    return tf.lite.TFLiteConverter.from_saved_model(folder, signature_keys=list(traced))


_CONVERTERS = {"function": _function, "keras": _keras, "signatures": _signatures, "stateful": _signatures}


def _samples(export: Export) -> Iterator[object]:
    """Give the representative data: two values of one size for each signature, as the calibrator needs it."""
    for signature in export.model.signatures:
        for feed in export.samples(signature):
            yield feed if len(export.model.signatures) == 1 else (signature, feed)


def _quantize(converter: Converter, export: Export) -> None:
    """Set what the variant asks of the converter."""
    if export.quantization == "float":
        return
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if export.quantization == "fp16":
        converter.target_spec.supported_types = [tf.float16]
    if export.quantization in {"int8", "int8io", "int16x8"}:
        converter.representative_dataset = lambda: _samples(export)
    if export.quantization == "int8io":
        converter.inference_input_type = converter.inference_output_type = tf.int8
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if export.quantization == "int8":
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if export.quantization == "int16x8":
        wide = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.target_spec.supported_ops = [wide, tf.lite.OpsSet.TFLITE_BUILTINS]


def convert(export: Export) -> bytes:
    """Return the file of a model in one of its variants; builtin operators only."""
    with tempfile.TemporaryDirectory() as folder:
        converter = _CONVERTERS[export.model.via](export, folder)
        converter.experimental_enable_resource_variables = export.model.via == "stateful"
        _quantize(converter, export)
        with contextlib.redirect_stdout(io.StringIO()):  # Keras tells there what it saves
            return bytes(converter.convert())
