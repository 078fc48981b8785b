"""Files that are not a model, as small as their kinds are recognized: their names, bytes and messages."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import struct
import zipfile
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from google.protobuf import json_format, text_format
from onnx import numpy_helper, printer

from tests.support.onnx.files import field, model


class Wrong(NamedTuple):
    """A file that is not a model, and how it is refused."""

    data: bytes
    message: str
    """Behind the file's name."""


def _zip(*members: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in members:
            archive.writestr(name, b"x" * 30)
    return made.getvalue()


def _npz() -> bytes:
    made = io.BytesIO()
    np.savez(made, x=np.zeros(3))
    return made.getvalue()


def _npy() -> bytes:
    made = io.BytesIO()
    np.save(made, np.zeros(3))
    return made.getvalue()


def _safetensors() -> bytes:
    head = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(head)) + head + bytes(4)


_ONNX = model()
_LEGACY_TORCH = pickle.dumps(0x1950A86A20F9469CFC6C, 2) + pickle.dumps(1001, 2)
_NODE = field(1, b"x") + field(2, b"Placeholder")
_GRAPH_DEF = field(1, _NODE) + field(1, field(1, b"y") + field(2, b"MatMul") + field(3, b"x"))
_META_GRAPH = field(1, field(4, b"serve")) + field(2, field(1, _NODE) * 300)
_TO_ONNX = "export it to ONNX first"
_ORIGINAL_TO_ONNX = "export the original model to ONNX first"
_CONVERT = "convert it to TFLite or ONNX first"
_ORIGINAL = "give the ONNX or TFLite model that it was made from"

WRONG: Mapping[str, Wrong] = {
    "weights.pt": Wrong(
        _zip("archive/data.pkl", "archive/version", "archive/data/0"), f"a PyTorch file (zip with data.pkl): {_TO_ONNX}"
    ),
    "legacy.pth": Wrong(_LEGACY_TORCH, f"a PyTorch file (in the form before PyTorch 1.6): {_TO_ONNX}"),
    "sklearn.pkl": Wrong(pickle.dumps({"a": 1}), f"a Python pickle (of PyTorch or scikit-learn, perhaps): {_TO_ONNX}"),
    "script.pt": Wrong(
        _zip("m/code/__torch__.py", "m/constants.pkl", "m/data.pkl"),
        f"a TorchScript file (zip with code/ and constants.pkl): {_TO_ONNX}",
    ),
    "export.pt2": Wrong(
        _zip("m/archive_format", "m/models/model.json"), f"a PyTorch export (.pt2, zip with archive_format): {_TO_ONNX}"
    ),
    "older.pt2": Wrong(
        _zip("serialized_exported_program.json", "version"),
        f"a PyTorch export (.pt2, zip with serialized_exported_program.json): {_TO_ONNX}",
    ),
    "m.keras": Wrong(
        _zip("metadata.json", "config.json", "model.weights.h5"),
        f"a Keras file (zip with config.json and metadata.json): {_CONVERT}",
    ),
    "m.h5": Wrong(b"\x89HDF\r\n\x1a\n" + bytes(100), f"an HDF5 file (.h5 of Keras, perhaps): {_CONVERT}"),
    "saved_model.pb": Wrong(
        b"\x08\x01" + field(2, _META_GRAPH), f"a TensorFlow SavedModel (saved_model.pb): {_CONVERT}"
    ),
    "frozen.pb": Wrong(_GRAPH_DEF, f"a frozen TensorFlow graph (GraphDef): {_CONVERT}"),
    "tfjs.json": Wrong(b'{"format": "layers-model", "modelTopology": {}}', f"a TensorFlow.js model (JSON): {_CONVERT}"),
    "face.task": Wrong(
        _zip("face_detector.tflite", "landmarks.tflite"),
        "a bundle of TFLite models (zip with .tflite files, such as a .task of MediaPipe): "
        "unzip it, and give a model in it",
    ),
    "language.task": Wrong(
        _zip("TF_LITE_PREFILL_DECODE", "TOKENIZER_MODEL", "METADATA"),
        "a bundle of a language model (zip with TF_LITE_PREFILL_DECODE, such as a .task of MediaPipe): "
        "unzip it, and give a model in it",
    ),
    "m.litertlm": Wrong(
        b"LITERTLM" + bytes(40),
        "a bundle of LiteRT-LM (.litertlm): take the .tflite models out of it, and give one of them",
    ),
    "m.mlmodel": Wrong(
        b"\x08\x04" + field(2, b"described") + b"\xa2\x1f\x03abc", f"a Core ML model (.mlmodel): {_ORIGINAL_TO_ONNX}"
    ),
    "m.zip": Wrong(
        _zip("a/model.onnx", "a/readme"), "a zip archive with an ONNX model: unzip it, and give a model in it"
    ),
    "other.zip": Wrong(_zip("readme.txt"), "a zip archive without a model: give the path of an ONNX or TFLite model"),
    "cut.zip": Wrong(_zip("archive/data.pkl")[:60], "a zip archive that is cut short or damaged: get the file again"),
    "m.npz": Wrong(_npz(), "NumPy arrays (.npz, zip with .npy files): give a model; --inputs takes arrays"),
    "m.npy": Wrong(_npy(), "a NumPy array (.npy): give a model; --inputs takes arrays"),
    "input_0.pb": Wrong(
        numpy_helper.from_array(np.zeros(3, np.float32), "x").SerializeToString(),
        "an ONNX tensor (test data): give the model; --inputs takes a test_data_set folder",
    ),
    "m.ort": Wrong(
        b"\x18\0\0\0ORTM" + bytes(40),
        "an ONNX Runtime file (.ort, identifier ORTM): give the .onnx file that it was made from",
    ),
    "m.pte": Wrong(b"\x18\0\0\0ET12" + bytes(40), f"an ExecuTorch program (.pte): {_ORIGINAL}"),
    "m.tosa": Wrong(b"\x18\0\0\0TOSA" + bytes(40), f"a TOSA flatbuffer (identifier TOSA): {_ORIGINAL}"),
    "m.mlirbc": Wrong(b"ML\xefR" + bytes(40), f"MLIR bytecode: {_ORIGINAL}"),
    "m.engine": Wrong(b"ftrt" + bytes(40), f"a TensorRT engine: {_ORIGINAL}"),
    "openvino.xml": Wrong(
        b'<?xml version="1.0"?>\n<net name="m" version="11">', f"an OpenVINO model (XML): {_ORIGINAL}"
    ),
    "m.safetensors": Wrong(_safetensors(), f"a safetensors file (weights without a graph): {_ORIGINAL_TO_ONNX}"),
    "m.gguf": Wrong(b"GGUF" + bytes(40), f"a GGUF file (weights for llama.cpp, without a graph): {_ORIGINAL_TO_ONNX}"),
    "page.onnx": Wrong(
        b"<!DOCTYPE html>\n<html><head>", "an HTML page (a download that failed, perhaps): get the file again"
    ),
    "refused.xml": Wrong(
        b'<?xml version="1.0"?>\n<Error><Code>AccessDenied',
        "an XML text (the answer of a server that refused, perhaps): get the file again",
    ),
    "refused.json": Wrong(
        b'{"error": "no such model"}',
        "a JSON text (the answer of a server that refused, perhaps): get the file again",
    ),
    "words.onnx": Wrong(
        "hello, this is a text: \u00fc\n".encode(), "a text file: give the path of an ONNX or TFLite model"
    ),
    "lfs.onnx": Wrong(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n",
        "a pointer of Git LFS in place of the file: fetch it: git lfs pull",
    ),
    "m.onnx.dvc": Wrong(
        b"outs:\n- md5: a304afb96060aad90176268345e10355\n", "a pointer of DVC in place of the file: fetch it: dvc pull"
    ),
    "m.onnx.gz": Wrong(gzip.compress(b"m"), "a gzip file: unpack it first: gunzip"),
    "m.onnx.bz2": Wrong(bz2.compress(b"m"), "a bzip2 file: unpack it first: bunzip2"),
    "m.onnx.xz": Wrong(lzma.compress(b"m"), "an xz file: unpack it first: unxz"),
    "m.onnx.zst": Wrong(b"\x28\xb5\x2f\xfd" + bytes(40), "a zstd file: unpack it first: unzstd"),
    "m.onnx.tar": Wrong(bytes(257) + b"ustar\x0000" + bytes(248), "a tar archive: unpack it first: tar -xf"),
    "m.onnxtxt": Wrong(
        printer.to_text(_ONNX).encode(), "an ONNX model as text: parse it with onnx.parser, and save it as binary"
    ),
    "m.textproto": Wrong(
        text_format.MessageToString(_ONNX).encode(),
        "an ONNX model as protobuf text: parse it with google.protobuf.text_format, and save it as binary",
    ),
    "m.onnxjson": Wrong(
        json_format.MessageToJson(_ONNX).encode(),
        "an ONNX model as JSON: parse it with google.protobuf.json_format, and save it as binary",
    ),
}
"""By a name such as people have."""
