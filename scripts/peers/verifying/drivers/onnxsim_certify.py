"""onnxsim's proof by Z3: `onnxsim_certify.py BEFORE AFTER` prints one line of JSON."""

from __future__ import annotations

import json
import sys

import onnx
from onnxsim import certify

report = certify.certify(onnx.load(sys.argv[1]), onnx.load(sys.argv[2]))
print(
    json.dumps(
        {
            "ok": report.ok,
            "outputs": [*report.outputs.values()],
            "windows": [(window.status, window.detail) for window in report.windows],
            "hint": certify.NEEDS_RANGES_HINT,
        }
    )
)
